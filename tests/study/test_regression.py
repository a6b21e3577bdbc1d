"""Candidates that read the training rows once, against fits of their own for everything."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import credo
from credo.data.error import TableError
from credo.data.sets.embedded_table import load_set
from credo.data.table.preparation import PreparedTable
from credo.evaluation import cross_validate, fold_labels
from credo.models import ModelAverage
from credo.models.gaps.gap_average import GapAverage
from credo.models.gaps.row_completion import RowCompletion
from credo.numerics.parallel import threads
from credo.study.candidates.slate import UNWEIGHED
from credo.study.job import fit_table
from credo.study.progress import silent
from credo.study.regression import regression_slate, retrained, trained
from credo.study.result.held_out import Part

RNG = np.random.default_rng(5)
X = RNG.uniform(-2, 2, size=(90, 3))
X[:, 2] = X[:, 2] > 0
Y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + RNG.normal(0, 0.2, 90)
FOLD = fold_labels(90, 4, np.random.default_rng(1))
NAMES = ("a", "b", "c")


def with_gaps(share):
    return np.where(np.random.default_rng(2).random(X.shape) < share, np.nan, X)


def training_of(values):
    completion = RowCompletion.learn(values, Y)
    slate = regression_slate(X, is_fast=True)
    part = Part(PreparedTable(values, NAMES, ()), Y, np.arange(90))
    found = trained(slate, completion, part, FOLD, silent)
    return slate, completion, found


@pytest.mark.parametrize("share", [0.0, 0.1])
def test_one_pass_gives_what_a_fit_and_a_cross_validation_of_each_give(share):
    values = with_gaps(share)
    slate, completion, (average, folds) = training_of(values)
    alone = GapAverage(ModelAverage(list(slate.candidates)), completion)
    alone.fit(pd.DataFrame(values, columns=NAMES), Y)
    assert_allclose(average.log_evidences_, alone.estimator_.log_evidences_, rtol=1e-9)
    assert_array_equal(average.feature_names_in_, NAMES)
    assert len(folds) == len(slate.candidates)
    for (_, candidate), fold in zip(slate.candidates, folds, strict=True):
        one = cross_validate(GapAverage(candidate, completion), values, Y, labels=FOLD)
        assert_allclose(fold.log_score, one.log_score, rtol=1e-7, atol=1e-9)
        assert_allclose(fold.mean, one.mean, rtol=1e-7, atol=1e-9)
        assert_allclose(fold.log_evidence, one.log_evidence, rtol=1e-9)
        assert fold.score.standard_error == pytest.approx(one.score.standard_error)


@pytest.mark.parametrize("name", UNWEIGHED)
@pytest.mark.parametrize("share", [0.0, 0.1])
def test_vectors_are_judged_without_their_fold_and_never_averaged(share, name):
    values = with_gaps(share)
    completion = RowCompletion.learn(values, Y)
    slate = regression_slate(X, y=Y).only(["linear", name])
    part = Part(PreparedTable(values, NAMES, ()), Y, np.arange(90))
    average, folds = trained(slate, completion, part, FOLD, silent)
    machine = slate.candidates[-1][1]
    if name == "relevance vectors":
        machine = average.estimators_[-1].settled()
    one = cross_validate(GapAverage(machine, completion), values, Y, labels=FOLD)
    assert_allclose(folds[-1].log_score, one.log_score, rtol=1e-7, atol=1e-9)
    assert_allclose(folds[-1].mean, one.mean, rtol=1e-7, atol=1e-9)
    assert np.isnan(average.log_evidences_[-1])
    assert average.probability_[-1] == 0.0
    assert average.probability_.sum() == pytest.approx(1.0)


def test_settings_of_support_vectors_are_in_units_of_the_outcome():
    machine = dict(regression_slate(X, y=Y).candidates)["support vectors"]
    assert_allclose(machine.C, np.array([1.0, 10.0]) * Y.std(), rtol=0.05)
    assert_allclose(machine.epsilon, 0.1 * Y.std(), rtol=0.05)


def test_a_neural_network_is_offered_where_it_is_quick():
    rows = np.random.default_rng(0).normal(size=(1200, 2))
    name = "neural network"
    assert name in dict(regression_slate(rows[:1000]).candidates)
    assert name not in dict(regression_slate(rows).candidates)
    assert name not in dict(regression_slate(np.repeat(rows[:10], 5, axis=0)).candidates)
    assert name not in dict(regression_slate(rows[:300], is_fast=True).candidates)


def test_relevance_vectors_are_offered_where_they_are_quick():
    rows = np.random.default_rng(0).normal(size=(400, 2))
    name = "relevance vectors"
    assert name in dict(regression_slate(rows[:300]).candidates)
    assert name not in dict(regression_slate(rows).candidates)
    assert name not in dict(regression_slate(np.repeat(rows[:10], 5, axis=0)).candidates)
    assert name not in dict(regression_slate(rows[:300], is_fast=True).candidates)


@pytest.mark.parametrize("seed", [1, 3])
def test_few_distinct_rows_are_no_table_for_vectors(seed):
    table = pd.DataFrame({"x": [0.0] * 29 + [1.0], "y": [0.0] * 29 + [1.5]})
    study = credo.fit(table, target="y", task="regression", seed=seed)
    assert not set(UNWEIGHED) & set(study.table().index)


@pytest.mark.parametrize("name", UNWEIGHED)
def test_vectors_alone_are_refused_since_nothing_weighs_them(name):
    table = pd.DataFrame(X, columns=NAMES).assign(outcome=Y)
    with pytest.raises(TableError, match=f"may count in an average; found {name} with"):
        credo.fit(table, target="outcome", models=[name.capitalize()])
    study = credo.fit(table, target="outcome", models=["linear", name])
    scores = study.table().loc[name]
    assert np.isnan(scores["log_evidence"])
    assert scores["probability"] == 0.0
    assert scores["log_score"] > study.table().loc["constant", "log_score"]


def test_candidates_far_too_improbable_are_not_learned_again():
    curve = np.sin(3 * X[:, 0]) + 0.01 * Y
    slate, completion = regression_slate(X, is_fast=True), RowCompletion.learn(X, curve)
    table = PreparedTable(X, NAMES, ())
    average, _ = trained(slate, completion, Part(table, curve, np.arange(90)), FOLD, silent)
    again = retrained(average, completion, table, curve)
    is_kept = np.isin(average.names_, again.names_)
    assert {"constant", "linear"} < set(again.names_)
    assert 2 < is_kept.sum() < len(average.names_)
    assert average.probability_[~is_kept].max() < 1e-12
    assert_allclose(again.log_evidences_, average.log_evidences_[is_kept], rtol=1e-9)


def test_learning_again_is_the_fit_of_the_same_candidates():
    values = with_gaps(0.1)
    slate, completion, (average, _) = training_of(values)
    table = PreparedTable(values[:60], NAMES, ())
    again = retrained(average, completion, table, Y[:60])
    alone = GapAverage(ModelAverage(list(slate.candidates)), completion)
    alone.fit(pd.DataFrame(values[:60], columns=NAMES), Y[:60])
    assert_allclose(again.log_evidences_, alone.estimator_.log_evidences_, rtol=1e-9)
    assert again.names_ == average.names_


def test_bits_do_not_depend_on_the_number_of_cores(monkeypatch):
    values = with_gaps(0.1)
    _, _, several = training_of(values)
    monkeypatch.setattr(threads, "n_cores", lambda: 1)
    _, _, single = training_of(values)
    assert_array_equal(several.average.log_evidences_, single.average.log_evidences_)
    for one, other in zip(several.folds, single.folds, strict=True):
        assert_array_equal(one.log_score, other.log_score)


def test_candidates_that_cannot_count_are_asked_about_the_first_folds_only():
    rng = np.random.default_rng(3)
    x = rng.uniform(-2, 2, size=(900, 2))
    y = np.sin(4 * x[:, 0]) + 0.5 * x[:, 1] ** 2 + rng.normal(0, 0.1, 900)
    slate, completion = regression_slate(x, is_fast=True), RowCompletion.learn(x, y)
    fold = fold_labels(900, 10, np.random.default_rng(1))
    part = Part(PreparedTable(x, ("a", "b"), ()), y, np.arange(900))
    average, folds = trained(slate, completion, part, fold, silent)
    is_asked = ~np.isnan([one.log_score for one in folds])
    is_dropped = ~is_asked.all(axis=1)
    assert 0 < is_dropped.sum() < len(folds) - 1
    assert not is_dropped[average.names_.index("constant")]
    assert average.probability_[is_dropped].max() < 1e-12
    assert (is_asked == (~is_dropped[:, None] | (fold < 3))).all()
    for (_, candidate), found, asked in zip(slate.candidates, folds, is_asked, strict=True):
        alone = cross_validate(candidate, x, y, labels=fold)
        assert_allclose(found.log_score[asked], alone.log_score[asked], rtol=1e-7, atol=1e-9)
        assert found.score.value == pytest.approx(alone.log_score[asked].mean(), rel=1e-7)


def test_a_saved_model_says_which_scores_are_estimates():
    rng = np.random.default_rng(3)
    x = rng.uniform(-2, 2, size=(1100, 2))
    y = np.sin(4 * x[:, 0]) + 0.5 * x[:, 1] ** 2 + rng.normal(0, 0.1, 1100)
    frame = pd.DataFrame(x, columns=["a", "b"]).assign(y=y)
    result = fit_table(frame, "y")
    assert result.dropped
    (note,) = [note for note in result.model.notes if note.startswith("Cross-validated in")]
    assert note in result.slate_notes
    assert all(f"{name} in 3" in note for name in result.dropped)


def test_rows_unlike_the_training_rows_in_combination_are_predicted_where_outcomes_lay():
    table = load_set("yacht")
    held_out = table.iloc[: len(table) // 3]
    study = credo.fit(table.drop(held_out.index), target="resistance")
    y = held_out["resistance"].to_numpy()
    found = study.predict_dist(held_out)
    low, high = found.interval(0.9).T
    # Free to run, means went down to -600 with standard deviations of 1,100.
    assert np.sqrt(np.mean((found.mean() - y) ** 2)) < 25.0
    assert found.std().max() < 4.0 * y.std()
    assert np.mean((low <= y) & (y <= high)) >= 0.85
