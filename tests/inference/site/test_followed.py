import numpy as np
from numpy.testing import assert_allclose

from credo.inference import run
from credo.inference.site.expectation_propagation import ExpectationPropagation, followed_sites
from credo.inference.site.laplace import SiteLaplace, followed_mode
from credo.inference.site.likelihood import (
    LogitLikelihood,
    PoissonLikelihood,
    StudentTLikelihood,
)
from credo.inference.site.prior import CovariancePrior
from credo.inference.site.problem import SiteProblem

X = np.linspace(-2.0, 3.0, 40)
Y = (np.sin(2 * X) + np.cos(7 * X) > 0).astype(float)


def problem(variance):
    gap = np.subtract.outer(X, X)
    return SiteProblem(CovariancePrior(variance * np.exp(-0.5 * gap**2)), LogitLikelihood(), Y)


def test_a_mode_that_is_followed_is_the_mode():
    exact = run(SiteLaplace(1e-9), problem(3.2))
    found = followed_mode(problem(3.2), followed_mode(problem(3.0)))
    assert_allclose(found.log_evidence, exact.log_evidence, atol=1e-6)
    G = exact.posterior.prior_gradient()
    assert_allclose(found.prior_gradient(), G, atol=1e-3 * np.abs(G).max())


def test_sites_that_are_followed_are_those_of_propagation():
    exact = run(ExpectationPropagation(1e-9), problem(3.2))
    _, sites = followed_sites(problem(3.0))
    found, _ = followed_sites(problem(3.2), sites)
    assert_allclose(found.log_evidence, exact.log_evidence, atol=1e-6)
    G = exact.posterior.prior_gradient()
    assert_allclose(found.prior_gradient(), G, atol=1e-3 * np.abs(G).max())


def test_a_mode_of_counts_is_found_from_one_that_is_far_away():
    counts = np.round(np.exp(2.0 + 2.0 * np.sin(X)))

    def under(variance):
        prior = problem(variance).prior
        return SiteProblem(prior, PoissonLikelihood(), counts)

    exact = run(SiteLaplace(1e-9), under(40.0))
    found = followed_mode(under(40.0), followed_mode(under(0.02)), SiteLaplace(1e-5))
    assert_allclose(found.mean, exact.posterior.mean, atol=1e-4)
    assert_allclose(found.log_evidence, exact.log_evidence, atol=1e-4)


def test_outliers_are_followed_to_a_mode_with_its_curvature():
    y = np.sin(X)
    y[::8] += 6.0
    robust = SiteProblem(problem(3.0).prior, StudentTLikelihood(0.1, 2.0), y)
    found = followed_mode(robust, None, SiteLaplace(1e-9))
    slope, bend, _ = robust.likelihood.derivatives(y, found.mean)
    assert_allclose(found.dual, slope, atol=1e-5)
    assert_allclose(found.belief.precision, -bend, rtol=1e-6)
    assert (bend > 0).any()
