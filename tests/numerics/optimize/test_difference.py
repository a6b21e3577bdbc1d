import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.numerics.optimize import (
    Differences,
    SumOfSquares,
    bfgs,
    check_gradient,
    finite_difference_gradient,
    gradient_descent,
    lbfgs,
    separate,
    sum_of_squares,
)


@pytest.mark.parametrize(
    ("step", "error"), [(1e-2, 1.36e-2), (1e-4, 1.36e-4), (1e-8, -6.6e-9), (1e-12, 4.3e-4)]
)
def test_forward_errors_match_the_worked_numbers(step, error):
    slope = finite_difference_gradient(lambda x: np.exp(x[0]), [1.0], "forward", step)
    assert_allclose(slope[0] - np.e, error, rtol=0.01)


def test_central_differences_are_far_better_than_forward_ones():
    errors = {
        method: abs(finite_difference_gradient(lambda x: np.exp(x[0]), [1.0], method)[0] - np.e)
        for method in ("forward", "central")
    }
    assert errors["forward"] < 1e-7
    assert errors["central"] < 1e-9


def test_steps_grow_with_the_parameters():
    slope = finite_difference_gradient(lambda x: float((x**3).sum()), [[1e8, -2.0], [0.0, 1.0]])
    assert_allclose(slope, [[3e16, 12.0], [0.0, 3.0]], rtol=1e-2, atol=1e3)
    assert_allclose(slope[0, 0], 3e16, rtol=1e-8)


def test_a_right_gradient_passes_also_where_entries_vanish():
    report = check_gradient(
        lambda x: float(np.cos(x[0]) + x[1] ** 2 * x[2]),
        lambda x: np.array([-np.sin(x[0]), 2 * x[1] * x[2], x[1] ** 2]),
        [0.7, 0.0, 3.0],
    )
    assert report.error < 1e-6


def test_a_wrong_gradient_is_located():
    with pytest.raises(ValueError, match=r"found 4 for 2 at index \(1,\)"):
        check_gradient(lambda x: x @ x, lambda x: np.array([2.0, 4.0]) * x, [1.0, 1.0])


def test_a_gradient_that_is_not_a_number_fails():
    with pytest.raises(ValueError, match="must match finite differences"):
        check_gradient(lambda x: x @ x, lambda x: np.nan * x, [1.0, 1.0])


def test_an_infinite_tolerance_only_reports():
    report = check_gradient(lambda x: x @ x, lambda x: 4 * x, [1.0, 3.0], tolerance=np.inf)
    assert_allclose([report.error, report.given, report.expected], [0.5, 4.0, 2.0])


def test_the_gradient_must_have_the_shape_of_the_parameters():
    with pytest.raises(ValueError, match="must have the shape of x"):
        check_gradient(lambda x: x @ x, lambda x: 2.0, [1.0, 3.0])


def test_unknown_difference_method_is_refused():
    with pytest.raises(ValueError, match="method must be one of"):
        finite_difference_gradient(lambda x: x @ x, [1.0], "backward")


def test_separated_functions_share_evaluations():
    calls = []

    def both(x):
        calls.append(x)
        return float(x @ x), 2 * x

    function, gradient = separate(both)
    x = np.array([1.0, 2.0])
    assert function(x) == 5.0
    assert_allclose(gradient(x), [2.0, 4.0])
    x[0] = 3.0
    assert function(x) == 13.0
    assert len(calls) == 2


def test_squared_error_gradient_is_the_normal_equations():
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(7, 3)), rng.normal(size=7), rng.normal(size=3)
    loss = sum_of_squares(X, y)
    assert_allclose(loss.gradient(w) / 2, X.T @ X @ w - X.T @ y)
    assert check_gradient(loss.value, loss.gradient, w).error < 1e-7


def test_nonlinear_least_squares_recovers_a_decay():
    t = np.linspace(0, 2, 20)
    truth = np.array([2.0, 1.3])
    loss = SumOfSquares(
        truth[0] * np.exp(-truth[1] * t),
        lambda p: p[0] * np.exp(-p[1] * t),
        lambda p: np.column_stack([np.exp(-p[1] * t), -p[0] * t * np.exp(-p[1] * t)]),
    )
    assert check_gradient(loss.value, loss.gradient, np.array([1.0, 0.4])).error < 1e-6
    residual = 2.0 * np.exp(-1.3 * t) - np.exp(-0.4 * t)
    assert_allclose(loss.value(np.array([1.0, 0.4])), residual @ residual)
    found = gradient_descent(loss.value, loss.gradient, [1.0, 0.4], "reuse")
    assert_allclose(found.x, truth, atol=1e-4)


def valley(x):
    return float((x[0] - 1.0) ** 2 + 10.0 * (x[1] - x[0] ** 2) ** 2)


def valley_slope(x):
    bend = x[1] - x[0] ** 2
    return np.array([2.0 * (x[0] - 1.0) - 40.0 * x[0] * bend, 20.0 * bend])


@pytest.mark.parametrize("search", [gradient_descent, lbfgs, bfgs])
def test_differences_find_the_same_minimum_and_say_what_they_cost(search):
    calls = []

    def counted(x):
        calls.append(x)
        return valley(x)

    start = [-1.0, 1.5]
    settings = {"method": "armijo"} if search is gradient_descent else {}
    known = search(counted, valley_slope, start, **settings)
    n_known = len(calls)
    calls.clear()
    found = search(counted, None, start, **settings)
    assert_allclose(found.x, known.x, atol=2e-5)
    assert_allclose(found.x, [1.0, 1.0], atol=1e-4)
    assert known.n_difference_values == 0
    n_gradients = found.n_difference_values / 4
    assert n_gradients == int(n_gradients) > found.n_steps
    n_others = len(calls) - found.n_difference_values
    assert 0 < n_others <= 3 * n_known


@pytest.mark.parametrize("search", [lbfgs, bfgs])
def test_differences_stay_inside_the_box(search):
    def root(x):
        assert (x >= 0.0).all()
        return float(x @ x + np.sqrt(x).sum())

    bounds = [(0.0, None), (0.0, 4.0)]
    found = search(root, None, [3.0, 4.0], bounds=bounds)
    assert_allclose(found.x, [0.0, 0.0], atol=1e-8)


def test_differences_are_gradients_in_the_middle_and_cut_short_at_a_bound():
    x = np.array([0.3, -1.2])
    assert_allclose(Differences(valley)(x), valley_slope(x), rtol=1e-8)
    at = Differences(valley, low=[0.3, -np.inf], high=[np.inf, -1.2])
    assert_allclose(at(x), valley_slope(x), rtol=1e-4)
    held = Differences(valley, low=x, high=x)
    assert_allclose(held(x), 0.0)
    assert (at.n_values, held.n_values) == (4, 0)
