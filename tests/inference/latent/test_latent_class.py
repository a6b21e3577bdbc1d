import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.distributions.multivariate_normal import MultivariateNormal
from credo.families import DirichletCategorical
from credo.families.component import Components
from credo.families.normal_component import expected_normal, weak_belief
from credo.inference.engine.engine import run
from credo.inference.latent.expectation_maximization import ExpectationMaximization
from credo.inference.latent.latent_class import IncompleteRows, LatentClassProblem

COVARIANCES = ("full", "tied", "diagonal", "spherical")


def rows(n=30, seed=0):
    rng = np.random.default_rng(seed)
    label = np.arange(n) % 2
    x = rng.normal(size=(n, 2)) @ [[1.0, 0.6], [0.0, 0.8]] + label[:, None] * [1.0, 2.0]
    return IncompleteRows(x, label, rng.uniform(0.5, 2.0, n), 2)


def prior_for(covariance, data):
    classes = DirichletCategorical([1.0, 2.0])
    return Components(classes, weak_belief(covariance, data.pooled(), 2))


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_bound_of_complete_rows_is_the_exact_evidence(covariance):
    data = rows()
    prior = prior_for(covariance, data)
    found = run(ExpectationMaximization(), LatentClassProblem(data, prior))
    statistics = prior.statistics_of(data.x, data.label, data.weight)
    assert_allclose(found.log_evidence, prior.log_evidence(statistics), rtol=1e-9)
    assert_allclose(found.posterior.rows.location, prior.update(statistics).rows.location)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_expected_log_density_is_that_of_the_belief(covariance):
    data = rows()
    prior = prior_for(covariance, data)
    statistics = prior.statistics_of(data.x, data.label, data.weight)
    belief = prior.update(statistics)
    point = np.array([[0.3, -0.4]])
    found = belief.expected_log_joint(point)
    if covariance in ("full", "tied"):
        assert_allclose(expected_normal(belief).log_joint(point), found)
    assert_allclose(belief.expected_log_own(point, np.array([1])), found[:, 1])
    about_rows = belief.rows.expected_log_density(point[:, None])
    if covariance == "diagonal":
        about_rows = about_rows.sum(axis=-1)
    about_classes = belief.classes.expected_log_density([0, 1])
    assert_allclose(found, about_classes + about_rows)


def test_gap_is_filled_by_its_regression_on_what_is_present():
    data = rows(6)
    x = data.x.copy()
    x[2, 1] = np.nan
    gaps = IncompleteRows(x, data.label, np.ones(6), 2)
    problem = LatentClassProblem(gaps, prior_for("full", gaps), is_point=True)
    joint = problem.start()
    found = problem.expect(joint).statistics.rows
    left = joint.density[0].condition({0: x[2, 0]})
    filled = x.copy()
    filled[2, 1] = left.mean()[0]
    first = filled[data.label == 0]
    assert_allclose(found.mean[0], first.mean(axis=0))
    scatter = (first - first.mean(axis=0)).T @ (first - first.mean(axis=0))
    scatter[1, 1] += left.covariance()[0, 0]
    assert_allclose(found.scatter[0], scatter)


def test_log_normalizer_is_the_likelihood_of_what_is_present():
    data = rows(8)
    x, label = data.x.copy(), data.label.copy()
    x[1, 0], x[2] = np.nan, np.nan
    label[3] = -1
    gaps = IncompleteRows(x, label, data.weight, 2)
    problem = LatentClassProblem(gaps, prior_for("full", gaps), is_point=True)
    start = problem.start()
    normals = [
        MultivariateNormal(start.density.loc[c], start.density.covariance()[c]) for c in (0, 1)
    ]
    share = np.exp(start.log_weight)
    logs = [np.log(share[c]) + normals[c].log_prob(x[i]) for i, c in enumerate(label)]
    logs[1] = np.log(share[1]) + normals[1].marginal(1).log_prob(x[1, 1:])
    logs[2] = np.log(share[0])
    logs[3] = np.log(sum(share[c] * np.exp(normals[c].log_prob(x[3])) for c in (0, 1)))
    assert_allclose(problem.expect(start).log_normalizer, data.weight @ np.array(logs))


def test_rows_of_two_parts_are_the_rows_of_both():
    data = rows(6)
    both = data[data.label == 0] + data[data.label == 1]
    assert_allclose(both.pooled().mean, data.pooled().mean)
    assert both.label.tolist() == [0, 0, 0, 1, 1, 1]
