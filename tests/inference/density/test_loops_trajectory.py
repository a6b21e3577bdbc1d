"""Compiled bijections against those of NumPy, all supports at once."""

import numba
import numpy as np
from numpy.testing import assert_allclose

from credo.inference.density import _loops_trajectory as loops
from credo.inference.engine.problem import Parameters
from credo.numerics.special.bijection import (
    Covariance,
    Interval,
    Ordered,
    Simplex,
    positive,
    real,
    support_table,
)

SUPPORTS = {
    "real": real(2, 2),
    "positive": positive(3),
    "below": Interval(high=5.0, shape=(2,)),
    "between": Interval(-1.0, 3.0, (3,)),
    "two": Simplex(2),
    "simplex": Simplex(5),
    "ordered": Ordered(4),
    "variance": Covariance(1),
    "covariance": Covariance(3),
}


@numba.njit
def there_and_back(table, vectors, exchange):
    loops.constrain(table, vectors, exchange)
    return loops.pull_back(table, vectors, exchange, 1)


def test_values_gradients_and_volumes_are_those_of_each_bijection():
    parameters = Parameters(SUPPORTS)
    rng = np.random.default_rng(0)
    for scale in (1.0, 6.0):
        free = scale * rng.normal(size=parameters.n_free)
        expected = parameters.constrain(free)
        slopes = {name: rng.normal(size=x.shape) for name, x in expected.items()}
        vectors = np.stack([free, np.zeros(len(free))])
        flat = np.concatenate([np.ravel(slopes[name]) for name in SUPPORTS])
        exchange = np.stack([np.zeros(len(flat)), flat])
        log_volume = there_and_back(support_table(SUPPORTS.values()), vectors, exchange)
        values, gradient = exchange[0], vectors[1]
        assert_allclose(
            values, np.concatenate([np.ravel(x) for x in expected.values()]), rtol=1e-13
        )
        assert_allclose(log_volume, parameters.log_jacobian(free), rtol=1e-12)
        pulled = parameters.pull_back(free, slopes) + parameters.jacobian_slope(free)
        assert_allclose(gradient, pulled, rtol=1e-10, atol=1e-10)


def test_other_supports_have_no_table():
    class Circle:
        shape = ()

    assert support_table([real(), Circle()]) is None
