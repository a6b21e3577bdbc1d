import numpy as np
from numpy.testing import assert_allclose

from credo.distributions import Empirical, Normal


def test_crps_equals_the_double_sum_over_draws():
    rng = np.random.default_rng(0)
    draws, w = rng.normal(size=30), rng.dirichlet(np.ones(30))
    y = 0.4
    pairs = np.abs(draws[:, None] - draws)
    expected = w @ np.abs(draws - y) - 0.5 * w @ pairs @ w
    assert_allclose(Empirical(draws, w).crps(y), expected)


def test_many_draws_approach_the_distribution_they_came_from():
    d = Normal(1.0, 2.0)
    empirical = Empirical(d.sample(np.random.default_rng(1), 40_000))
    assert_allclose(empirical.quantile([0.1, 0.5, 0.9]), d.quantile([0.1, 0.5, 0.9]), atol=0.09)
    assert_allclose(empirical.crps(0.0), d.crps(0.0), atol=0.02)
    assert_allclose(empirical.interval(0.9), d.interval(0.9), atol=0.1)


def test_quantiles_of_equal_draws_are_numpy_inverted_cdf():
    draws = np.random.default_rng(2).normal(size=(11, 3))
    p = np.array([0.0, 0.05, 0.3, 0.5, 0.999, 1.0])
    expected = np.quantile(draws, p, axis=0, method="inverted_cdf")
    assert_allclose(Empirical(draws).quantile(p[:, None]), expected)


def test_repeated_draws_are_one_atom():
    d = Empirical([2.0, 1.0, 2.0, 3.0])
    assert_allclose(d.prob([1.0, 2.0, 2.5]), [0.25, 0.5, 0.0])
    assert d.mode() == 2.0
    assert_allclose(d.entropy(), 1.5 * np.log(2.0))


def test_each_column_of_draws_is_its_own_distribution():
    draws = np.random.default_rng(3).normal(size=(50, 2, 3))
    d = Empirical(draws)
    assert d.batch_shape == (2, 3)
    assert_allclose(d[1].mean(), draws[:, 1].mean(axis=0))
    assert_allclose(d[..., 0].variance(), draws[..., 0].var(axis=0))
