import numpy as np
import pandas as pd
from numpy.testing import assert_allclose
from sklearn.base import is_classifier

from credo.data.table.preparation import TablePreparation
from credo.data.table.table_input import named_inputs
from credo.features import SplineBasis
from credo.models import NaiveBayes
from credo.study.candidates.candidate import CLASS_MEANINGS
from credo.study.candidates.class_slate import (
    MAX_LINEAR_PARAMETERS,
    MAX_PARAMETERS,
    bayes_kinds,
    class_slate,
)

RNG = np.random.default_rng(0)


def test_a_usual_table_meets_every_classifier_in_the_order_it_is_described():
    slate = class_slate(RNG.normal(size=(200, 3)), 2)
    assert [name for name, _ in slate.candidates] == list(CLASS_MEANINGS)
    assert all(is_classifier(model) for _, model in slate.candidates)
    assert slate.notes == ()


def test_no_logistic_candidate_but_the_linear_one_has_too_many_weights():
    for n, d, n_classes in ((30, 40, 2), (300, 12, 8), (900, 90, 3)):
        X = RNG.normal(size=(n, d))
        slate = class_slate(X, n_classes)
        for name, model in slate.candidates:
            if name in ("spline", "radial"):
                n_terms = model.basis.place(X).n_columns(d)
                assert n_terms <= n
                assert (n_terms + 1) * (n_classes - 1) <= MAX_PARAMETERS
        left_out = [note.split(" was")[0] for note in slate.notes]
        assert {"linear", "baseline"} & set(left_out) == set()
        assert left_out


def test_columns_of_two_values_leave_no_spline_apart_from_the_linear_candidate():
    X = (RNG.random((60, 2)) < 0.5).astype(float)
    slate = class_slate(X, 2)
    assert "spline was left out: on these columns it is the same as linear." in slate.notes
    bases = [getattr(model, "basis", None) for _, model in slate.candidates]
    assert not any(isinstance(basis, SplineBasis) for basis in bases)


def test_naive_bayes_is_told_which_columns_are_levels_and_which_are_gaps():
    frame = pd.DataFrame({"c": ["x", "y", None] * 3, "v": [1.0, None, 2.5] * 3})
    y = np.array(["a", "b", "c"] * 3)
    kinds = bayes_kinds(TablePreparation.learn(frame, y=y))
    assert kinds == {
        "c = x": "counts",
        "c = y": "counts",
        "c is missing": "counts",
        "v is missing": "bernoulli",
    }
    models = dict(class_slate(RNG.normal(size=(50, 5)), 2, kinds).candidates)
    assert models["naive bayes"].kinds == kinds
    assert bayes_kinds(TablePreparation.learn(pd.DataFrame({"v": [1.0, 2.5, 4.0]}))) is None


def test_levels_of_categories_tell_naive_bayes_what_the_categories_themselves_do():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 3000)
    frame = pd.DataFrame(
        {
            f"c{i}": np.array(list("abc"))[rng.integers(0, 3 - y * (rng.random(3000) < 0.6))]
            for i in range(6)
        }
    )
    preparation = TablePreparation.learn(frame)
    inputs = named_inputs(preparation.prepare(frame))
    coded = NaiveBayes(kinds=bayes_kinds(preparation)).fit(inputs, y).predict_proba(inputs)
    assert_allclose(coded, NaiveBayes().fit(frame, y).predict_proba(frame), atol=2e-3)
    doubled = NaiveBayes("bernoulli").fit(inputs, y).predict_proba(inputs)
    assert np.abs(doubled - coded).max() > 0.05


def test_fifty_classes_leave_out_every_curved_logistic_candidate_with_a_note():
    slate = class_slate(RNG.normal(size=(800, 4)), 50)
    names = [name for name, _ in slate.candidates]
    assert "linear" in names
    assert {"spline", "radial"}.isdisjoint(names)
    assert [note.split(" was")[0] for note in slate.notes] == ["spline", "radial"]


def test_the_linear_candidate_is_left_out_where_its_weights_pass_the_limit():
    n_columns = MAX_LINEAR_PARAMETERS // 49
    below = class_slate(RNG.normal(size=(200, n_columns - 1)), 50)
    above = class_slate(RNG.normal(size=(200, n_columns)), 50)
    assert "linear" in dict(below.candidates)
    assert {"linear", "spline", "radial"}.isdisjoint(dict(above.candidates))
    assert above.notes[0] == (
        "linear was left out: 50 classes and 30 columns make 1,519 weights or more, too many "
        "to fit in reasonable time."
    )
    assert [note.split(" was")[0] for note in above.notes] == ["linear", "spline", "radial"]


def test_a_wide_table_keeps_the_linear_candidate_and_says_that_both_gaussians_are_left_out():
    slate = class_slate(RNG.normal(size=(60, 2000)), 2)
    names = [name for name, _ in slate.candidates]
    assert "linear" in names
    left_out = [note.split(" was")[0] for note in slate.notes]
    assert {"tied gaussian", "gaussian"} <= set(left_out)
    assert set(names) | set(left_out) == set(CLASS_MEANINGS)


def test_more_columns_than_rows_keep_the_linear_candidate_and_are_solved_in_the_dual():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(62, 2308)), np.arange(62) % 4
    slate = dict(class_slate(X, 4).candidates)
    assert "linear" in slate
    fitted = slate["linear"].fit(X, y)
    assert fitted.posterior_.mean.shape[1] <= len(X) + 1
    assert fitted.coef_.shape == (4, 2308)
