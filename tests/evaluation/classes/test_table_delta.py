import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.evaluation.classes.rates import correlation, mean_f1


@pytest.mark.parametrize("function", [correlation, mean_f1])
@pytest.mark.parametrize("k", [2, 4])
def test_slopes_are_finite_differences_along_tables_that_sum_to_one(function, k):
    rng = np.random.default_rng(0)
    share = rng.dirichlet(np.ones(k * k)).reshape(k, k)
    _, slope = function(share)
    for _ in range(10):
        move = rng.normal(size=(k, k))
        move -= move.mean()
        step = 1e-6 * move
        rise = function(share + step)[0] - function(share - step)[0]
        assert_allclose(rise / 2e-6, (slope * move).sum(), rtol=1e-5, atol=1e-8)
