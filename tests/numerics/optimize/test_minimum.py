import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.numerics.optimize import (
    Status,
    Termination,
    bfgs,
    coordinate_descent,
    early_stop,
    gradient_descent,
    lbfgs,
    newton,
)
from credo.numerics.optimize import minimum as module


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


SCALE = np.array([1.0, 30.0, 900.0])


def bowl(x):
    return float(SCALE @ (x - 1.0) ** 4)


def slope(x):
    return 4.0 * SCALE * (x - 1.0) ** 3


def bend(x):
    return np.diag(12.0 * SCALE * (x - 1.0) ** 2)


def first_two(x):
    return np.array([0.5 * (1.0 + x[0]), 0.5 * (1.0 + x[1]), x[2]])


def last(x):
    return np.array([*x[:2], 0.5 * (1.0 + x[2])])


START = np.array([3.0, 3.0, 3.0])
SEARCHES = {
    "gradient descent": lambda rules: gradient_descent(
        bowl, slope, START, "armijo", termination=rules
    ),
    "newton": lambda rules: newton(bowl, slope, bend, START, rules),
    "lbfgs": lambda rules: lbfgs(bowl, slope, START, termination=rules),
    "bfgs": lambda rules: bfgs(bowl, slope, START, termination=rules),
    "coordinates": lambda rules: coordinate_descent(bowl, [first_two, last], START, rules),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_ends_when_its_time_is_used_up(name, monkeypatch):
    """The clock stands still but for one second that each value of the function takes."""
    clock = [100.0]
    monkeypatch.setattr(module, "monotonic", lambda: clock[0])
    values = []

    def timed(x, at=bowl):
        clock[0] += 1.0
        values.append(at(x))
        return values[-1]

    monkeypatch.setitem(globals(), "bowl", timed)
    whole = SEARCHES[name](Termination())
    assert whole.status.has_converged
    values.clear()
    begun = clock[0]
    found = SEARCHES[name](Termination(max_seconds=4.0))
    assert found.status is Status.MAX_SECONDS
    assert not found.status.has_converged
    assert clock[0] - begun >= 4.0
    assert 0 < found.n_steps < whole.n_steps
    assert found.n_steps == len(found.trace)
    assert found.value == whole.trace[found.n_steps - 1].value
    assert found.value <= values[0]


def test_no_time_at_all_is_one_step_and_a_negative_one_is_refused():
    found = gradient_descent(bowl, slope, START, termination=Termination(max_seconds=0.0))
    assert (found.n_steps, found.status) == (1, Status.MAX_SECONDS)
    with pytest.raises(ValueError, match="max_seconds must be 0 or more; found -1"):
        Termination(max_seconds=-1.0)
