import numpy as np
from numpy.testing import assert_allclose

from credo.inference import run
from credo.inference.site.expectation_propagation import ExpectationPropagation, followed_sites
from credo.inference.site.laplace import SiteLaplace, followed_mode
from credo.inference.site.likelihood import LogitLikelihood
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
