import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from credo.distributions import Normal, Poisson
from credo.evaluation import coverage_curve, is_covered, probability_integral_transform


def test_each_point_is_the_share_of_covered_outcomes():
    rng = np.random.default_rng(0)
    predictive = Normal(rng.normal(size=50), rng.uniform(0.5, 2.0, 50))
    y = rng.normal(size=50)
    curve = coverage_curve(y, predictive)
    shares = [is_covered(y, predictive, level).mean() for level in curve.levels]
    assert_array_equal(curve.observed, shares)
    assert_allclose(curve.levels[[0, 9, 18]], [0.05, 0.5, 0.95])
    assert curve.n_rows == 50


def test_bands_are_exact_binomial_intervals():
    y = stats.norm.ppf((np.arange(20) + 0.5) / 20)
    curve = coverage_curve(y, Normal(np.zeros(20), 1.0), levels=[0.3, 0.7])
    for level, low, high in zip(curve.levels, curve.low, curve.high, strict=True):
        exact = stats.binomtest(round(20 * level), 20).proportion_ci(0.95, method="exact")
        assert_allclose([low, high], [exact.low, exact.high])


def test_perfect_quantiles_lie_on_the_diagonal():
    y = stats.norm.ppf((np.arange(2000) + 0.5) / 2000)
    curve = coverage_curve(y, Normal(np.zeros(2000), 1.0))
    assert_allclose(curve.observed, curve.levels, atol=1e-3)


def test_too_sure_predictions_lie_below_the_diagonal():
    y = stats.norm.ppf((np.arange(200) + 0.5) / 200)
    curve = coverage_curve(y, Normal(np.zeros(200), 0.5))
    expected = 2 * stats.norm.cdf(0.5 * stats.norm.ppf(0.5 + 0.5 * curve.levels)) - 1
    assert_allclose(curve.observed, expected, atol=0.011)
    assert (curve.observed < curve.levels).all()


@pytest.mark.parametrize("y", [[], [np.nan]])
def test_a_curve_of_no_outcomes_is_refused(y):
    with pytest.raises(ValueError, match="at least one outcome and no NaN"):
        coverage_curve(y, Normal(np.zeros(len(y)), 1.0))


def test_the_transform_is_the_cdf_at_the_outcome():
    y = np.array([-1.0, 0.3])
    assert_allclose(
        probability_integral_transform(y, Normal([0.0, 1.0], [1.0, 2.0])),
        stats.norm([0.0, 1.0], [1.0, 2.0]).cdf(y),
    )


def test_the_transform_of_a_count_splits_its_own_probability():
    counts = np.arange(60.0)
    middle = probability_integral_transform(counts, Poisson(np.full(60, 3.0)))
    law = stats.poisson(3.0)
    assert_allclose(middle, 0.5 * (law.cdf(counts) + law.cdf(counts - 1)))
    assert_allclose(law.pmf(counts) @ middle, 0.5)
