import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from credo.data import load, save
from credo.families import Components, NormalInverseGamma, StickBreakingCategorical
from credo.inference import CollapsedGibbs, ExpectationMaximization, IncompleteRows, run
from credo.inference.latent.latent_class import LatentClassProblem
from credo.inference.latent.other_mixtures import ProcessProblem
from credo.models.latent.dirichlet_process_mixture import DirichletProcessMixture

QUICK = CollapsedGibbs(150, 80, 1)


def three_groups():
    rng = np.random.default_rng(0)
    parts = [rng.normal(0, 1, (50, 2)), rng.normal(8, 1, (30, 2))]
    return np.concatenate([*parts, rng.normal((0.0, 9.0), 0.5, (20, 2))])


@pytest.mark.parametrize("inference", [QUICK, "variational"])
def test_three_groups_are_found_and_far_rows_are_of_none(inference):
    x = three_groups()
    x[::11, 0] = np.nan
    model = DirichletProcessMixture(inference=inference, n_components=8).fit(x)
    truth = np.repeat([0, 1, 2], [50, 30, 20])
    agree = (model.labels_[:, None] == model.labels_) == (truth[:, None] == truth)
    assert agree.mean() > 0.95
    table = model.cluster_table()
    assert_allclose(table["probability"].sum(), 1.0)
    assert table["probability"].idxmax() >= 3
    assert model.concentration_ > 0
    assert_allclose(model.predict_proba(x).sum(axis=1), 1.0)
    assert model.log_prob([[60.0, 60.0]])[0] < model.log_prob(x).min()


def test_a_row_far_from_all_opens_a_cluster():
    model = DirichletProcessMixture(inference=QUICK).fit(three_groups())
    assert model.predict([[40.0, -40.0]])[0] == model.n_components_ - 1
    together = model.co_clustering()
    assert together[0, 1] > 0.8 > 0.05 > together[0, 60]


def test_tables_cluster_without_a_number():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "x": np.concatenate([rng.normal(0, 1, 40), rng.normal(9, 1, 40)]),
            "z": rng.normal(size=80),
            "kind": ["a"] * 40 + ["b"] * 40,
        }
    )
    # A category that is missing is not drawn, a number in a vector is.
    frame.loc[[3, 50], "kind"] = None
    frame.loc[[5, 60], "x"] = np.nan
    model = DirichletProcessMixture(inference=QUICK).fit(frame)
    assert (model.labels_[:40] == model.labels_[0]).mean() > 0.95
    assert list(model.sample(3, 0).columns) == ["x", "z", "kind"]


def test_a_concentration_that_is_learned_raises_the_bound_to_that_of_the_best_belief():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(0, 1, (20, 1)), rng.normal(7, 1, (20, 1))])
    data = IncompleteRows.unlabeled(x, 5)
    rows = NormalInverseGamma([3.0], 0.1, 2.0, 2.0)
    prior = Components(StickBreakingCategorical.of_process(1.0, 5), rows)
    long = ExpectationMaximization(1e-12, 5000)
    learned = ProcessProblem(data, prior, gamma=(1.0, 1.0))
    found = run(long, learned)
    objective = np.array([step.objective for step in found.trace])
    assert (np.diff(objective) >= -1e-9 * np.abs(objective[0])).all()
    # A prior that is sure of the concentration is a fixed one.
    sure = run(long, ProcessProblem(data, prior, gamma=(1e7, 1e7)))
    fixed = run(long, LatentClassProblem(data, prior))
    assert_allclose(sure.log_evidence, fixed.log_evidence, atol=1e-3)
    assert_allclose(sure.posterior.rows.location, fixed.posterior.rows.location, atol=1e-3)


def test_settings_are_checked():
    with pytest.raises(ValueError, match="concentration must be a positive number"):
        DirichletProcessMixture(concentration=-1.0).fit([[1.0], [2.0]])
    with pytest.raises(ValueError, match="X must be given"):
        DirichletProcessMixture(inference="variational", n_components=2).fit(
            three_groups()
        ).co_clustering()


def test_a_saved_process_answers_alike(tmp_path):
    x = three_groups()
    model = DirichletProcessMixture(inference=CollapsedGibbs(30, 20, 1)).fit(x)
    save(model, tmp_path / "process.credo")
    again = load(tmp_path / "process.credo")
    assert_allclose(again.predict_proba(x), model.predict_proba(x))
