import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

from credo.families import ExponentialStatistics, GammaExponential

PRIOR = GammaExponential(2.5, 1.3)


def test_predictive_matches_scipy_lomax():
    posterior = PRIOR.update(ExponentialStatistics.of([0.3, 2.0]))
    x = np.linspace(0, 5, 7)
    oracle = stats.lomax(4.5, scale=3.6)
    assert_allclose(posterior.predictive().log_prob(x), oracle.logpdf(x))


def test_evidence_matches_quadrature():
    x = np.array([0.3, 2.0, 0.1])
    value, _ = integrate.quad(
        lambda r: r**3 * np.exp(-r * x.sum()) * stats.gamma(2.5, scale=1 / 1.3).pdf(r), 0, 40
    )
    assert_allclose(np.exp(PRIOR.log_evidence(ExponentialStatistics.of(x))), value, rtol=1e-7)


def test_expected_log_density_matches_quadrature_and_rules_out_negative_times():
    value, _ = integrate.quad(
        lambda r: stats.gamma(2.5, scale=1 / 1.3).pdf(r) * (np.log(r) - 0.7 * r), 0, 60
    )
    found = PRIOR.expected_log_density([0.7, -0.1])
    assert_allclose(found, [value, -np.inf], rtol=1e-6)


def test_maximum_likelihood_map_and_mean_are_ratios_of_sums():
    s = ExponentialStatistics.of([[0.5], [2.0]], [2.0, 1.0])
    assert_allclose(s.maximum_likelihood().rate, [1.0])
    assert_allclose(PRIOR.update(s).mean().rate, [5.5 / 4.3])
    assert_allclose(PRIOR.update(s).mode().rate, [4.5 / 4.3])
    with pytest.raises(ValueError, match="total must be positive for maximum likelihood"):
        ExponentialStatistics.of([[0.0]]).maximum_likelihood()
    with pytest.raises(ValueError, match=r"shape must be above 1 .*; found 0.5\. Use mean"):
        GammaExponential(0.5, 1.0).mode()


def test_negative_times_are_refused():
    with pytest.raises(ValueError, match=r"x must be non-negative or NaN; found -2 at index 0"):
        ExponentialStatistics.of([-2.0])
