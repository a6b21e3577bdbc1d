import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

from credo.families import GammaPoisson, PoissonStatistics

PRIOR = GammaPoisson(2.5, 1.3)


def test_predictive_matches_scipy_negative_binomial():
    posterior = PRIOR.update(PoissonStatistics.of([3, 0, 2, 5]))
    oracle = stats.nbinom(12.5, 5.3 / 6.3)
    assert_allclose(posterior.predictive().log_prob(np.arange(9)), oracle.logpmf(np.arange(9)))


def test_evidence_matches_quadrature():
    x = np.array([3, 0, 2, 5])
    value, _ = integrate.quad(
        lambda r: stats.poisson(r).pmf(x).prod() * stats.gamma(2.5, scale=1 / 1.3).pdf(r), 0, 40
    )
    assert_allclose(np.exp(PRIOR.log_evidence(PoissonStatistics.of(x))), value, rtol=1e-7)


def test_expected_log_density_matches_quadrature():
    belief = stats.gamma(2.5, scale=1 / 1.3).pdf
    for x in (0, 4):
        value, _ = integrate.quad(lambda r, x=x: belief(r) * stats.poisson(r).logpmf(x), 0, 60)
        assert_allclose(PRIOR.expected_log_density(x), value, rtol=1e-6)


def test_maximum_likelihood_map_and_mean_are_ratios_of_sums():
    s = PoissonStatistics.of([[3], [np.nan], [1]], [1.0, 5.0, 3.0])
    assert_allclose(s.maximum_likelihood().rate, [1.5])
    assert_allclose(PRIOR.update(s).mean().rate, [8.5 / 5.3])
    assert_allclose(PRIOR.update(s).mode().rate, [7.5 / 5.3])
    with pytest.raises(ValueError, match="positive for maximum likelihood"):
        PoissonStatistics.of(np.empty((0, 1))).maximum_likelihood()


def test_only_counts_are_accepted():
    with pytest.raises(
        ValueError, match=r"x must be a count 0, 1, 2, \.\.\. or NaN; found 1.5"
    ):
        PoissonStatistics.of([[1.0], [1.5]])
    with pytest.raises(ValueError, match="found -1 at index"):
        PoissonStatistics.by_group([[-1.0]], [0], 1)
