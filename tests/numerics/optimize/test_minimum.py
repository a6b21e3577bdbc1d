import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.numerics.optimize import early_stop


def gradient_steps(x, y, step, n):
    w = np.zeros(x.shape[1])
    for _ in range(n):
        w = w - step * x.T @ (x @ w - y)
        yield w


def test_the_iterate_of_least_held_out_error_is_returned():
    rng = np.random.default_rng(0)
    x, held = rng.normal(size=(30, 25)), rng.normal(size=(200, 25))
    truth = np.zeros(25)
    truth[0] = 1.0
    y, z = x @ truth + rng.normal(size=30), held @ truth + rng.normal(size=200)

    def error(w):
        return float(np.mean((held @ w - z) ** 2))

    found = early_stop(gradient_steps(x, y, 0.01, 400), error)
    path = list(gradient_steps(x, y, 0.01, 400))
    errors = [error(w) for w in path]
    assert_allclose(found.errors, errors)
    assert found.n_steps == int(np.argmin(errors)) + 1 < 400
    assert_allclose(found.best, path[found.n_steps - 1])
    assert errors[-1] > 1.1 * error(found.best)


def test_the_first_of_equal_errors_is_kept():
    assert early_stop([3, 1, 2, 1], float).n_steps == 2


def test_patience_ends_the_search_before_all_are_tried():
    tried = early_stop(iter([5, 4, 6, 6, 1]), float, patience=2)
    assert tried.best == 4
    assert len(tried.errors) == 4


def test_nothing_to_judge_is_refused():
    with pytest.raises(ValueError, match="at least one state; found none"):
        early_stop([], float)
