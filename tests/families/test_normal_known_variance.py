import numpy as np
from numpy.testing import assert_allclose
from scipy import integrate, stats

from credo.families import NormalKnownVariance, NormalStatistics

PRIOR = NormalKnownVariance(location=0.3, scale=0.7, variance=2.0)


def test_evidence_is_a_normal_with_correlated_rows():
    x = np.array([1.0, -0.5, 2.2])
    oracle = stats.multivariate_normal(np.full(3, 0.3), 2 * np.eye(3) + 0.49).logpdf(x)
    assert_allclose(PRIOR.log_evidence(NormalStatistics.of(x)), oracle)


def test_posterior_adds_precisions():
    posterior = PRIOR.update(NormalStatistics.of([1.0, -0.5, 2.2]))
    precision = 1 / 0.49 + 3 / 2.0
    assert_allclose(posterior.scale**-2, precision)
    assert_allclose(posterior.location, (0.3 / 0.49 + 2.7 / 2.0) / precision)


def test_posterior_variance_falls_like_one_over_n_and_map_reaches_maximum_likelihood():
    x = np.random.default_rng(0).normal(4.0, 1.0, 100_000)
    small, large = (PRIOR.update(NormalStatistics.of(x[:n])) for n in (1000, 100_000))
    assert_allclose(small.scale**2 / large.scale**2, 100, rtol=0.01)
    assert_allclose(large.mode().loc, x.mean(), atol=2e-4)


def test_expected_log_density_matches_quadrature():
    value, _ = integrate.quad(
        lambda m: stats.norm(0.3, 0.7).pdf(m) * stats.norm(m, np.sqrt(2)).logpdf(1.1), -8, 8
    )
    assert_allclose(PRIOR.expected_log_density(1.1), value)


def test_predictive_adds_variances():
    assert_allclose(PRIOR.predictive().variance(), 2.49)
