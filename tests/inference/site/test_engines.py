from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from credo.inference import ConvergenceWarning, Status, run
from credo.inference.site.expectation_propagation import ExpectationPropagation
from credo.inference.site.laplace import SiteLaplace
from credo.inference.site.likelihood import (
    LogitLikelihood,
    NegativeBinomialLikelihood,
    OrderedLikelihood,
    PoissonLikelihood,
    ProbitLikelihood,
    StudentTLikelihood,
)
from credo.inference.site.prior import CovariancePrior, LinearPrior
from credo.inference.site.problem import SiteProblem
from credo.numerics.linear.linear_algebra import NotPositiveDefinite

FINE = {"laplace": SiteLaplace(1e-9), "ep": ExpectationPropagation(1e-8, 1000)}
engines = pytest.mark.parametrize("engine", FINE.values(), ids=FINE)

X = np.array([-1.3, -0.4, 0.1, 0.9, 1.4, 2.6, 2.7])
BINARY = np.array([0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0])
CASES = [
    (LogitLikelihood(), BINARY),
    (ProbitLikelihood(), BINARY),
    (StudentTLikelihood(0.3, 4.0), np.array([-1.0, -0.2, 0.2, 0.9, 5.0, 1.4, 1.6])),
    (PoissonLikelihood(), np.array([0.0, 2.0, 1.0, 3.0, 9.0, 4.0, 40.0])),
    (NegativeBinomialLikelihood(0.4), np.array([0.0, 2.0, 1.0, 3.0, 9.0, 4.0, 40.0])),
    (OrderedLikelihood((-0.6, 0.8)), np.array([0.0, 1.0, 0.0, 2.0, 1.0, 2.0, 2.0])),
]
IDS = [type(likelihood).__name__ for likelihood, _ in CASES]
likelihoods = pytest.mark.parametrize(("likelihood", "y"), CASES, ids=IDS)


def covariance(log_variance=0.5, log_scale=0.0, x=X):
    gap = np.subtract.outer(x, x) / np.exp(log_scale)
    return np.exp(log_variance - 0.5 * gap**2)


def brute(prior, likelihood, y):
    """Return log evidence, means and variances of hidden numbers by a grid."""
    n, step = len(y), 0.01 if len(y) == 1 else 0.25
    nodes = np.arange(-7.0, 7.0 + step, step)
    weight = np.exp(-0.5 * nodes**2)
    root = np.linalg.cholesky(prior.covariance)
    z = np.stack(np.meshgrid(*[nodes] * n), axis=-1).reshape(-1, n)
    share = np.prod(np.meshgrid(*[weight / weight.sum()] * n), axis=0).ravel()
    f = prior.mean + z @ root.T
    logs = np.sum(
        [likelihood.log_prob(np.full(len(f), v), f[:, i]) for i, v in enumerate(y)], 0
    )
    total = share * np.exp(logs)
    mean = total @ f / total.sum()
    return np.log(total.sum()), mean, total @ (f - mean) ** 2 / total.sum()


@likelihoods
def test_one_row_is_exact_by_expectation_propagation(likelihood, y):
    prior = CovariancePrior(np.array([[1.4]]), np.array([0.3]))
    found = run(FINE["ep"], SiteProblem(prior, likelihood, y[3:4]))
    log_evidence, mean, variance = brute(prior, likelihood, y[3:4])
    assert_allclose(found.log_evidence, log_evidence, rtol=1e-6)
    assert_allclose(found.posterior.mean, mean, rtol=1e-5)
    assert_allclose(found.posterior.variance, variance, rtol=1e-5)


@likelihoods
def test_three_rows_are_nearly_exact_and_propagation_is_nearer(likelihood, y):
    prior = CovariancePrior(covariance(0.3, x=X[1:4]), np.full(3, 0.2))
    problem = SiteProblem(prior, likelihood, y[1:4])
    log_evidence, mean, variance = brute(prior, likelihood, y[1:4])
    found = {name: run(engine, problem) for name, engine in FINE.items()}
    error = {
        name: abs(one.log_evidence - log_evidence)
        + np.abs(one.posterior.mean - mean).sum()
        + np.abs(one.posterior.variance - variance).sum()
        for name, one in found.items()
    }
    assert error["ep"] < 0.03
    assert error["ep"] < 0.2 * error["laplace"] < 0.2


def test_laplace_is_the_quadratic_at_the_mode():
    problem = SiteProblem(CovariancePrior(covariance()), LogitLikelihood(), BINARY)
    found = run(FINE["laplace"], problem)
    f = found.posterior.mean
    p = 1 / (1 + np.exp(-f))
    assert_allclose(np.linalg.solve(covariance(), f), BINARY - p, atol=1e-8)
    precision = np.linalg.inv(covariance()) + np.diag(p * (1 - p))
    assert_allclose(found.posterior.variance, np.linalg.inv(precision).diagonal(), rtol=1e-7)
    expected = stats.multivariate_normal(np.zeros(7), covariance()).logpdf(f)
    expected += np.sum(np.log(np.where(BINARY > 0, p, 1 - p)))
    expected += 0.5 * (7 * np.log(2 * np.pi) - np.linalg.slogdet(precision)[1])
    assert_allclose(found.log_evidence, expected, rtol=1e-10)


def differences(function, at, step=1e-4):
    units = step * np.eye(len(at))
    return np.array([(function(at + u) - function(at - u)) / (2 * step) for u in units])


@engines
@likelihoods
def test_gradients_are_those_of_the_evidence(engine, likelihood, y):
    free = likelihood.free_parameters
    weight = np.array([1.0, 2.0, 1.0, 0.5, 1.0, 1.0, 1.5])

    def inferred(theta):
        prior = CovariancePrior(covariance(*theta[:2]), theta[2] + X * 0.1)
        other = likelihood.at(theta[3:])
        return run(engine, SiteProblem(prior, other, y, weight))

    theta = np.concatenate([[0.5, 0.2, 0.3], free])
    posterior = inferred(theta).posterior
    G, K = posterior.prior_gradient(), covariance(*theta[:2])
    gap = np.subtract.outer(X, X) / np.exp(theta[1])
    found = [
        0.5 * np.sum(G * K),
        0.5 * np.sum(G * K * gap**2),
        posterior.mean_gradient().sum(),
        *posterior.parameter_gradient(),
    ]
    expected = differences(lambda t: inferred(t).log_evidence, theta)
    assert_allclose(found, expected, rtol=1e-5, atol=2e-6)


@engines
@pytest.mark.parametrize("noise", [0.0, 0.7])
def test_a_linear_prior_is_its_covariance(engine, noise):
    design = np.column_stack([X, np.ones(7), X**2])
    precision, center, extra = np.array([0.5, 2.0, 1.3]), 0.1 * X, np.full(7, noise)
    extra[2] = 2 * noise
    linear = LinearPrior(design, precision, center, extra)
    dense = CovariancePrior(design / precision @ design.T + np.diag(extra), center)
    y, weight = np.round(3 * BINARY), np.linspace(0.5, 2.0, 7)
    found, expected = (
        run(engine, SiteProblem(p, PoissonLikelihood(), y, weight)) for p in (linear, dense)
    )
    assert_allclose(found.log_evidence, expected.log_evidence, rtol=1e-9)
    assert_allclose(found.posterior.mean, expected.posterior.mean, rtol=1e-6)
    assert_allclose(found.posterior.variance, expected.posterior.variance, rtol=1e-6)
    by_design, diagonal = found.posterior.prior_gradient()
    G = expected.posterior.prior_gradient()
    assert_allclose(by_design, G @ design, rtol=1e-5, atol=1e-8)
    assert_allclose(diagonal, G.diagonal(), rtol=1e-5, atol=1e-8)


@engines
def test_a_flat_weight_is_the_limit_of_a_wide_one(engine):
    design = np.column_stack([X, np.ones(7)])
    wide, flat = (
        run(
            engine,
            SiteProblem(LinearPrior(design, np.array([1.0, p])), LogitLikelihood(), BINARY),
        )
        for p in (1e-9, 0.0)
    )
    assert_allclose(flat.posterior.mean, wide.posterior.mean, rtol=1e-5)
    density = -0.5 * np.log(2 * np.pi / 1e-9)
    assert_allclose(flat.log_evidence + density, wide.log_evidence, rtol=1e-6)


@engines
def test_a_weight_says_how_often_a_row_occurred(engine):
    weight = np.array([1, 2, 0, 3, 1, 1, 1])
    often = np.repeat(np.arange(7), weight)
    K = covariance()
    once = run(engine, SiteProblem(CovariancePrior(K), LogitLikelihood(), BINARY, 1.0 * weight))
    again = run(
        engine,
        SiteProblem(CovariancePrior(K[np.ix_(often, often)]), LogitLikelihood(), BINARY[often]),
    )
    assert_allclose(once.log_evidence, again.log_evidence, rtol=1e-7)
    assert_allclose(once.posterior.mean[often], again.posterior.mean, rtol=1e-6)


@engines
def test_an_outlier_is_ignored_by_noise_that_allows_for_it(engine):
    x = np.linspace(0.0, 3.0, 12)
    y = np.sin(x)
    y[5] += 8.0
    prior = CovariancePrior(covariance(x=x))
    rough = replace(engine, tolerance=1e-5)
    found = run(rough, SiteProblem(prior, StudentTLikelihood(0.1, 2.0), y))
    assert found.status.has_converged
    assert_allclose(found.posterior.mean, np.sin(x), atol=0.05)
    assert found.posterior.belief.precision[5] < 0


@engines
def test_sites_next_to_nothing_leave_the_prior_variance(engine):
    far = SiteProblem(
        CovariancePrior(np.eye(2) * 1e-3, np.array([40.0, 0.0])), LogitLikelihood(), np.ones(2)
    )
    assert_allclose(run(engine, far).posterior.variance[0], 1e-3, rtol=1e-8)


def test_propagation_that_does_not_settle_says_so():
    problem = SiteProblem(CovariancePrior(covariance()), LogitLikelihood(), BINARY)
    with pytest.warns(ConvergenceWarning):
        found = run(ExpectationPropagation(1e-9, max_steps=2), problem)
    assert found.status is Status.MAX_STEPS


def test_what_is_no_covariance_is_refused():
    K = np.array([[1.0, 9.0], [9.0, 1.0]])
    problem = SiteProblem(CovariancePrior(K), LogitLikelihood(), np.ones(2))
    for engine in FINE.values():
        with pytest.raises(NotPositiveDefinite, match="must be positive semidefinite"):
            run(engine, problem)


def test_settings_and_shapes_that_are_wrong_are_refused():
    with pytest.raises(ValueError, match="damping must be from 0"):
        ExpectationPropagation(damping=1.0)
    with pytest.raises(ValueError, match="one entry for each of the 2 rows"):
        SiteProblem(CovariancePrior(np.eye(2)), LogitLikelihood(), np.ones(3))


def test_sites_of_negative_precision_are_those_of_the_inverse():
    K, m = covariance(), 0.3 * np.arange(7.0)
    precision = np.array([2.0, -0.2, 0.5, 0.0, -0.1, 30.0, 1e4])
    shift = np.array([1.0, -0.4, 0.0, 0.3, 0.2, -2.0, 1e4])
    belief = CovariancePrior(K, m).conditioned(precision, shift)
    S = np.linalg.inv(np.linalg.inv(K) + np.diag(precision))
    mean = S @ (np.linalg.solve(K, m) + shift)
    assert_allclose(belief.mean, mean, rtol=1e-6)
    assert_allclose(belief.variance, S.diagonal(), rtol=1e-6)
    assert_allclose(belief.log_det, np.linalg.slogdet(np.eye(7) + K * precision)[1])
    R = np.diag(precision) - precision[:, None] * S * precision
    assert_allclose(belief.residual_precision, R, atol=1e-6)
    assert_allclose(belief.residual_precision_times(K), R @ K, atol=1e-6)
    assert_allclose(belief.residual_precision_times(m), R @ m, atol=1e-6)
    with pytest.raises(NotPositiveDefinite):
        _ = CovariancePrior(K).conditioned(-precision, shift).mean
