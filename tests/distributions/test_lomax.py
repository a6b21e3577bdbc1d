import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

from credo.distributions.lomax import Lomax

POINTS = np.array([0.0, 0.3, 2.0, 50.0])


@pytest.mark.parametrize(("shape", "scale"), [(0.4, 1.0), (3.0, 4.0), (12.0, 0.1)])
def test_answers_match_scipy(shape, scale):
    own, oracle = Lomax(shape, scale), stats.lomax(shape, scale=scale)
    assert_allclose(own.log_prob(POINTS), oracle.logpdf(POINTS))
    assert_allclose(own.cdf(POINTS), oracle.cdf(POINTS))
    assert_allclose(own.survival(POINTS), oracle.sf(POINTS))
    assert_allclose(own.quantile([0.1, 0.5, 0.99]), oracle.ppf([0.1, 0.5, 0.99]))
    assert_allclose(own.upper_quantile(1e-30), oracle.isf(1e-30))
    assert_allclose(own.entropy(), oracle.entropy())


def test_moments_match_scipy_where_they_exist():
    assert_allclose(
        [Lomax(3.0, 4.0).mean(), Lomax(3.0, 4.0).variance()], stats.lomax(3, 0, 4).stats()
    )
    heavy = Lomax([0.9, 1.5], 1.0)
    assert_allclose(heavy.mean(), [np.inf, 2.0])
    assert_allclose(heavy.variance(), [np.nan, np.inf])


@pytest.mark.parametrize("shape", [0.8, 1.0, 3.0])
@pytest.mark.parametrize("y", [-1.0, 2.0, 9.0])
def test_crps_matches_quadrature_even_without_a_mean(shape, y):
    own = Lomax(shape, 4.0)
    before, _ = integrate.quad(lambda x: float(own.cdf(x)) ** 2, min(y, 0), y)
    after, _ = integrate.quad(
        lambda x: float(own.survival(x)) ** 2, max(y, 0), np.inf, limit=500
    )
    early = -y if y < 0 else before
    assert_allclose(own.crps(y), early + after, rtol=1e-6)


def test_distances_match_quadrature():
    own = Lomax(3.0, 4.0)
    value, _ = integrate.quad(lambda x: abs(x - 1.0) * float(own.prob(x)), 0, np.inf, limit=300)
    assert_allclose(own.expected_distance(1.0), value, rtol=1e-6)
    both, _ = integrate.quad(lambda x: 2 * float(own.cdf(x) * own.survival(x)), 0, np.inf)
    assert_allclose(own.mean_difference(), both, rtol=1e-6)


def test_negative_times_are_impossible():
    assert Lomax(2.0, 1.0).log_prob(-0.1) == -np.inf
    assert Lomax(2.0, 1.0).cdf(-0.1) == 0.0
