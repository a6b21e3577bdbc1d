from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, special, stats

from credo.distributions.categorical import Categorical
from credo.distributions.multivariate_normal import MultivariateNormal
from credo.distributions.student_t import StudentT
from credo.families import (
    DirichletCategorical,
    GammaExponential,
    GammaPoisson,
    Known,
    NormalInverseGamma,
    NormalInverseWishart,
    Product,
)
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
        about_classes = belief.classes.expected_log_density([0, 1])
        about_rows = expected_normal(belief.rows).log_joint(point)
        assert_allclose(about_classes + about_rows, found)
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


def poisson_rows(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return rng.poisson(np.where(rng.uniform(size=n) < 0.3, 2.0, 9.0))[:, None].astype(float)


def test_a_mixture_of_poissons_is_a_few_lines():
    rows = IncompleteRows.unlabeled(poisson_rows(), n_classes=2)
    prior = Components(DirichletCategorical([1.0, 1.0]), GammaPoisson(1.0, 0.1))
    found = run(ExpectationMaximization(), LatentClassProblem(rows, prior))
    joint = found.posterior.mean()
    assert_allclose(joint.density.rate.ravel(), [2.0, 9.0], rtol=0.15)
    assert_allclose(np.exp(joint.log_weight), [0.3, 0.7], atol=0.08)


def test_a_mixture_of_poissons_finds_the_maximum_that_brute_force_finds():
    x = poisson_rows(60)
    prior = Components(DirichletCategorical([1.0, 1.0]), GammaPoisson(1.0, 0.1))
    problem = LatentClassProblem(IncompleteRows.unlabeled(x, 2), prior, is_point=True)
    found = run(ExpectationMaximization(1e-14, 100_000), problem).posterior

    def loss(free):
        share = special.expit(free[0])
        logs = stats.poisson.logpmf(x, np.exp(free[1:]))
        return -np.log(share * np.exp(logs[:, 0]) + (1 - share) * np.exp(logs[:, 1])).sum()

    grid = product([-2.0, 0.0, 2.0], np.log([0.5, 2.0, 5.0]), np.log([4.0, 8.0, 16.0]))
    best = min((optimize.minimize(loss, start) for start in grid), key=lambda one: one.fun)
    assert_allclose(found.log_marginal(x).sum(), -best.fun, rtol=1e-9)
    assert_allclose(np.sort(found.density.rate.ravel()), np.sort(np.exp(best.x[1:])), rtol=1e-3)


FAMILIES = {
    "poisson": GammaPoisson(1.0, 0.1),
    "normal": NormalInverseGamma([4.0, 4.0], 0.1, 1.0, 4.0),
    "vector": NormalInverseWishart([4.0, 4.0], 0.1, 4.0, 4.0 * np.eye(2)),
    "product": Product.by_column(
        {0: GammaPoisson(1.0, 0.1), 1: NormalInverseGamma(4.0, 0.1, 1.0, 4.0)}
    ),
    "known": Known(StudentT(4.0, [[2.0], [9.0]], 2.0)),
}


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_bound_of_any_family_never_falls(family, gaps):
    x = np.hstack([poisson_rows(40, seed=1), poisson_rows(40, seed=2)])
    if gaps:
        x[3:9, 1] = np.nan
    label = np.where(np.arange(40) < 6, x[:, 0] > 5, -1)
    data = IncompleteRows(x, label, np.ones(40), 2)
    prior = Components(DirichletCategorical([1.0, 1.0]), FAMILIES[family])
    found = run(ExpectationMaximization(), LatentClassProblem(data, prior))
    bounds = [info.objective for info in found.trace]
    assert np.all(np.diff(bounds) >= -1e-9 * np.abs(bounds[0]))
    assert found.log_evidence >= bounds[-1] - 1e-9


def test_the_bound_is_below_the_evidence_of_all_assignments():
    x = np.array([[0.0], [1.0], [7.0], [9.0], [3.0]])
    prior = Components(DirichletCategorical([1.0, 2.0]), GammaPoisson([[1.0], [3.0]], 0.5))
    problem = LatentClassProblem(IncompleteRows.unlabeled(x, 2), prior)
    bound = run(ExpectationMaximization(), problem).log_evidence
    each = [
        prior.log_evidence(prior.statistics_of(x, list(labels)))
        for labels in product((0, 1), repeat=5)
    ]
    evidence = special.logsumexp(each)
    assert evidence - 2.0 < bound < evidence


def test_classes_that_a_row_may_not_be_of_have_no_share():
    x = poisson_rows(20)
    prior = Components(DirichletCategorical(np.ones(3)), GammaPoisson(1.0, 0.1))
    among = np.ones((20, 3), dtype=bool)
    among[:10, 2] = among[10:, 0] = False
    problem = LatentClassProblem(IncompleteRows.unlabeled(x, 3), prior, among=among)
    found = problem.expect(problem.start()).statistics
    assert found.classes.counts[0] <= 10
    assert found.classes.counts[2] <= 10
    assert_allclose(found.classes.counts.sum(), 20.0)


def test_shares_to_start_from_can_be_given():
    x = poisson_rows(30)
    prior = Components(DirichletCategorical([1.0, 1.0]), GammaPoisson(1.0, 0.1))
    data = IncompleteRows.unlabeled(x, 2)
    share = np.column_stack([x[:, 0] > 5, x[:, 0] <= 5]).astype(float)
    found = LatentClassProblem(data, prior, share=share).start()
    expected = prior.update(prior.statistics_of(x, (x[:, 0] <= 5).astype(int)))
    assert_allclose(found.rows.shape, expected.rows.shape)


def test_a_row_that_no_class_allows_is_named():
    prior = Components(DirichletCategorical([1.0, 1.0]), GammaExponential(1.0, 1.0))
    # A zero is possible, and below it nothing is.
    data = IncompleteRows(np.array([[0.0], [1.0]]), np.array([0, -1]), np.ones(2), 2)
    problem = LatentClassProblem(data, prior)
    start = problem.start()
    below = IncompleteRows(np.array([[0.0], [-1.0]]), np.array([0, -1]), np.ones(2), 2)
    with pytest.raises(ValueError, match="found row 1 with log density -inf"):
        LatentClassProblem(below, prior).expect(start)


def product_rows(n=60):
    """Return rows of two normal columns that depend, and one of counts, with gaps in all."""
    rng = np.random.default_rng(3)
    label = np.arange(n) % 2
    x = rng.multivariate_normal([0.0, 0.0], [[1.0, 0.8], [0.8, 1.0]], n) + 2.0 * label[:, None]
    x = np.column_stack([x[:, 0], rng.poisson(2.0 + 4.0 * label), x[:, 1]])
    x[rng.random(x.shape) < 0.2] = np.nan
    return x, label


VECTOR = NormalInverseWishart([0.0, 0.0], 0.5, 4.0, np.eye(2))
COUNTS = GammaPoisson(1.0, 0.5)


def run_rows(x, label, rows):
    prior = Components(DirichletCategorical([1.0, 1.0]), rows)
    data = IncompleteRows(x, label, np.ones(len(x)), 2)
    engine = ExpectationMaximization(tolerance=1e-12, max_steps=500)
    return run(engine, LatentClassProblem(data, prior))


def test_gaps_in_a_vector_of_a_product_are_learned_as_if_it_stood_alone():
    x, label = product_rows()
    mixed = Product.by_column({(0, 2): VECTOR, 1: COUNTS})
    both = run_rows(x, label, mixed)
    alone = run_rows(x[:, [0, 2]], label, VECTOR)
    counts = Components(Categorical([0.5, 0.5]), COUNTS)
    seen = counts.statistics_of(x[:, [1]], label)
    vector, rate = both.posterior.rows.parts
    assert_allclose(vector.location, alone.posterior.rows.location, rtol=1e-7)
    assert_allclose(vector.scale_matrix, alone.posterior.rows.scale_matrix, rtol=1e-7)
    assert_allclose(rate.shape, counts.update(seen).rows.shape)
    evidence = counts.rows.log_evidence(seen.rows).sum()
    assert_allclose(both.log_evidence, alone.log_evidence + evidence, rtol=1e-9)


def test_hidden_components_of_products_with_gaps_in_vectors_are_found():
    x, label = product_rows(200)
    mixed = Product.by_column({(0, 2): VECTOR, 1: COUNTS})
    hidden = np.where(np.arange(200) < 20, label, -1)
    found = run_rows(x, hidden, mixed)
    assert np.all(np.diff([step.objective for step in found.trace]) > -1e-9)
    location = found.posterior.rows.parts[0].location
    assert_allclose(location, [[0.0, 0.0], [2.0, 2.0]], atol=0.35)
    complete = np.isfinite(x).all(axis=1)
    usual = run_rows(x[complete], hidden[complete], mixed)
    filled = LatentClassProblem(
        IncompleteRows(x[complete], hidden[complete], np.ones(complete.sum()), 2),
        Components(DirichletCategorical([1.0, 1.0]), mixed),
    )
    vars(filled)["_is_joint"] = True
    engine = ExpectationMaximization(tolerance=1e-12, max_steps=500)
    assert_allclose(run(engine, filled).log_evidence, usual.log_evidence, rtol=1e-8)
