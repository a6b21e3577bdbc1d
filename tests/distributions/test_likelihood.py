import numpy as np
from numpy.testing import assert_allclose

from credo.distributions import Bernoulli, Normal


def test_log_likelihood_of_independent_rows_is_the_log_of_the_product():
    flips = np.array([1, 0, 1, 1])
    product = 0.3 * 0.7 * 0.3 * 0.3
    assert_allclose(Bernoulli(0.3).log_prob(flips).sum(), np.log(product), rtol=1e-12)
    x = np.array([0.2, -1.0, 3.0])
    assert_allclose(np.exp(Normal(0.5, 2.0).log_prob(x).sum()), Normal(0.5, 2.0).prob(x).prod())


def test_sum_of_logs_is_finite_where_the_product_underflows():
    x = np.full(5000, 1.3)
    assert Normal(0.0, 1.0).prob(x).prod() == 0.0
    expected = -5000 * (0.5 * np.log(2 * np.pi) + 0.5 * 1.3**2)
    assert_allclose(Normal(0.0, 1.0).log_prob(x).sum(), expected, rtol=1e-12)


def test_distribution_of_the_inputs_does_not_move_the_maximum_over_the_weights():
    rng = np.random.default_rng(0)
    x = rng.normal(size=20)
    y = 0.7 * x + 0.1 * rng.normal(size=20)
    slopes = np.linspace(0, 1.5, 301)
    given = Normal(slopes[:, None] * x, 0.1).log_prob(y).sum(axis=1)
    squares = ((y - slopes[:, None] * x) ** 2).sum(axis=1)
    assert_allclose(given, -10 * np.log(2 * np.pi * 0.01) - squares / 0.02)
    joint = given + Normal(0.0, 1.0).log_prob(x).sum()
    assert np.argmax(joint) == np.argmax(given)
    assert_allclose(slopes[np.argmax(given)], (x @ y) / (x @ x), atol=0.005)
