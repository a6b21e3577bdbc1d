import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.numerics.optimize import (
    QuadraticForm,
    Status,
    Termination,
    adam_epochs,
    bfgs,
    bracketed_root,
    coordinate_descent,
    early_stop,
    gradient_descent,
    iteratively_reweighted_least_squares,
    lbfgs,
    newton,
    newton_root,
    project_to_simplex,
    sum_of_squares,
)


def valley(x):
    return x[0] ** 2 + 10 * x[1] ** 2


def valley_slope(x):
    return np.array([2.0, 20.0]) * x


@pytest.mark.parametrize("method", ["backtracking", "reuse"])
def test_line_search_reproduces_the_worked_trace(method):
    rules = Termination(max_steps=5)
    found = gradient_descent(valley, valley_slope, [1, 1], method, termination=rules)
    steps = [info.step for info in found.trace]
    values = [info.value for info in found.trace]
    assert steps == [1 / 16, 1 / 16, 1 / 8, 1 / 8, 1 / 16]
    expected = [1.390625, 0.6252441406, 0.4176177979, 0.3832254410, 0.1543612629]
    assert_allclose(values, expected, atol=5e-11)
    assert found.status is Status.MAX_STEPS


def test_fixed_step_reproduces_the_worked_numbers():
    rules = Termination(max_steps=3)
    found = gradient_descent(valley, valley_slope, [1, 1], "fixed", 0.01, rules)
    assert_allclose(found.x, [0.941192, 0.512], rtol=1e-14)
    assert_allclose(found.value, 3.5072823809, atol=5e-11)
    assert found.n_steps == 3


def test_fixed_step_on_a_quadratic_is_a_matrix_power():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(3, 3))
    form = QuadraticForm(root @ root.T / 10, rng.normal(size=3))
    start, best = rng.normal(size=3), form.stationary_point()
    rules = Termination(max_steps=17)
    found = gradient_descent(form, form.gradient, start, "fixed", 0.2, rules)
    power = np.linalg.matrix_power(np.eye(3) - 2 * 0.2 * form.A, 17)
    assert_allclose(found.x, best + power @ (start - best))


@pytest.mark.parametrize("method", ["fixed", "backtracking", "reuse", "armijo"])
def test_every_method_reaches_the_least_squares_solution(method):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    loss = sum_of_squares(X, y)
    found = gradient_descent(loss.value, loss.gradient, np.zeros(3), method, 0.01)
    assert found.status.has_converged
    assert_allclose(found.x, np.linalg.lstsq(X, y)[0], atol=1e-5)


@pytest.mark.parametrize(
    ("rule", "status"),
    [
        ({"gradient_norm": 1e-3}, Status.GRADIENT_SMALL),
        ({"value_change": 1e-5}, Status.VALUE_STEADY),
        ({"parameter_change": 1e-3}, Status.PARAMETERS_STEADY),
    ],
)
def test_each_rule_ends_the_search_at_the_first_step_where_it_holds(rule, status):
    nothing = {"gradient_norm": 0.0, "value_change": 0.0, "parameter_change": 0.0}
    rules = Termination(**(nothing | rule))

    def run(max_steps):
        only = Termination(**nothing, max_steps=max_steps)
        return gradient_descent(lambda x: x @ x, lambda x: 2 * x, [1.0], "fixed", 0.1, only)

    found = gradient_descent(lambda x: x @ x, lambda x: 2 * x, [1.0], "fixed", 0.1, rules)
    # x_i = 0.8^i, so value 0.64^i, gradient 2 * 0.8^i and steps 0.2 * 0.8^(i-1).
    i = np.arange(1, 200)
    quantity = {
        "gradient_norm": 2 * 0.8**i,
        "value_change": 0.64 ** (i - 1) * 0.36,
        "parameter_change": 0.2 * 0.8 ** (i - 1),
    }[next(iter(rule))]
    assert found.status is status
    assert found.n_steps == i[quantity < next(iter(rule.values()))][0]
    assert_allclose(found.x, run(found.n_steps).x)


def test_at_a_stationary_point_the_search_ends_at_once():
    found = gradient_descent(valley, valley_slope, [0.0, 0.0])
    assert found.status is Status.GRADIENT_SMALL
    assert found.n_steps == 0


@pytest.mark.parametrize("method", ["backtracking", "reuse", "armijo"])
def test_halving_ends_when_no_step_lowers_the_value(method):
    calls = []

    def function(x):
        calls.append(x)
        return abs(float(x[0]))

    found = gradient_descent(function, lambda x: np.ones(1), [0.0], method)
    assert found.status is Status.NO_DESCENT
    assert len(calls) < 70
    assert found.x == 0.0


def test_halving_ends_at_zero_gradient_even_if_the_gradient_rule_is_off():
    rules = Termination(gradient_norm=0.0, value_change=0.0)
    found = gradient_descent(valley, valley_slope, [0.0, 0.0], termination=rules)
    assert found.status is Status.NO_DESCENT


def test_a_gradient_of_wrong_sign_is_not_called_convergence():
    found = gradient_descent(valley, lambda x: -valley_slope(x), [1.0, 1.0])
    assert found.status is Status.NO_DESCENT
    assert_allclose(found.x, [1.0, 1.0])


def test_too_large_a_fixed_step_is_reported_as_divergence_at_the_last_finite_point():
    with np.errstate(over="ignore"):
        found = gradient_descent(valley, valley_slope, [1.0, 1.0], "fixed", 1.0)
    assert found.status is Status.DIVERGED
    assert np.isfinite(found.value)


def test_line_search_steps_over_values_that_are_not_numbers():
    def function(x):
        return -np.log(x[0]) + x[0] if x[0] > 0 else np.nan

    found = gradient_descent(function, lambda x: 1 - 1 / x, [5.0], step=100.0)
    assert_allclose(found.x, 1.0, atol=1e-6)


def test_armijo_steps_fall_by_a_sure_part_of_the_promise():
    found = gradient_descent(valley, valley_slope, [1.0, 1.0], "armijo")
    value, x = valley(np.ones(2)), np.ones(2)
    for info in found.trace:
        slope = valley_slope(x)
        assert info.value < value - 1e-4 * info.step * slope @ slope
        x, value = x - info.step * slope, info.value
    assert_allclose(found.x, 0.0, atol=1e-5)


def test_armijo_refuses_a_fall_that_is_too_small_for_its_step():
    # This step almost mirrors the start: the value falls by 4e-6 of itself.
    rules, step = Termination(max_steps=1), 1 - 1e-6
    first = {
        method: gradient_descent(lambda x: x @ x, lambda x: 2 * x, [1.0], method, step, rules)
        for method in ("backtracking", "armijo")
    }
    assert first["backtracking"].trace[0].step == step
    assert first["armijo"].trace[0].step == step / 2


def test_projected_descent_stays_on_the_simplex_and_finds_the_nearest_point():
    target = np.array([0.9, 0.6, -0.4])
    visited = []

    def function(x):
        visited.append(x)
        return float((x - target) @ (x - target))

    found = gradient_descent(
        function, lambda x: 2 * (x - target), np.ones(3) / 3, projection=project_to_simplex
    )
    assert found.status.has_converged
    assert_allclose(found.x, [0.65, 0.35, 0.0], atol=1e-7)
    assert_allclose([x.sum() for x in visited], 1.0)
    assert min(x.min() for x in visited) >= 0


def test_parameters_may_have_any_shape():
    found = gradient_descent(lambda x: float((x**2).sum()), lambda x: 2 * x, np.ones((2, 3)))
    assert_allclose(found.x, np.zeros((2, 3)), atol=1e-8)


def test_settings_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="method must be one of"):
        gradient_descent(valley, valley_slope, [1.0, 1.0], "newton")
    with pytest.raises(ValueError, match="function must be finite at start"):
        gradient_descent(lambda x: np.inf, valley_slope, [1.0, 1.0])
    with pytest.raises(ValueError, match="max_steps must be 0 or more"):
        Termination(max_steps=-1)


def rosenbrock(x):
    return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2


def rosenbrock_slope(x):
    valley = x[1] - x[0] ** 2
    return np.array([-2 * (1 - x[0]) - 400 * x[0] * valley, 200 * valley])


def test_lbfgs_finds_what_gradient_descent_finds():
    quick = lbfgs(rosenbrock, rosenbrock_slope, [-1.2, 1.0])
    rules = Termination(max_steps=50_000, value_change=0.0)
    slow = gradient_descent(rosenbrock, rosenbrock_slope, [-1.2, 1.0], "armijo", None, rules)
    assert quick.status.has_converged
    assert_allclose(quick.x, [1.0, 1.0], atol=1e-6)
    assert_allclose(slow.x, quick.x, atol=1e-5)
    assert quick.n_steps == len(quick.trace) < slow.n_steps
    assert_allclose(quick.gradient, rosenbrock_slope(quick.x))


def test_lbfgs_keeps_to_its_bounds():
    found = lbfgs(rosenbrock, rosenbrock_slope, [0.0, 0.0], bounds=[(None, 0.5), (None, None)])
    assert_allclose(found.x, [0.5, 0.25], atol=1e-6)


def test_bfgs_with_the_hessian_of_a_bowl_needs_one_step():
    curve = np.array([[3.0, 1.0], [1.0, 2.0]])
    low = np.array([1.0, -2.0])
    found = bfgs(
        lambda x: 0.5 * (x - low) @ curve @ (x - low),
        lambda x: curve @ (x - low),
        [9.0, 9.0],
        curve,
    )
    assert_allclose(found.x, low, atol=1e-12)
    assert found.n_steps == 1


def test_bfgs_learns_the_curvature_that_it_was_not_given():
    found = bfgs(rosenbrock, rosenbrock_slope, [-1.2, 1.0], 100 * np.eye(2))
    assert_allclose(found.x, [1.0, 1.0], atol=1e-5)
    assert found.n_steps < 80


def test_bfgs_keeps_to_its_bounds():
    bounds = [(None, 0.5), (None, None)]
    found = bfgs(rosenbrock, rosenbrock_slope, [0.0, 0.0], 100 * np.eye(2), bounds)
    assert_allclose(found.x, [0.5, 0.25], atol=1e-5)


@pytest.mark.parametrize(
    ("rules", "status"),
    [
        (Termination(max_steps=2), Status.MAX_STEPS),
        (Termination(gradient_norm=1e-2, value_change=0.0), Status.GRADIENT_SMALL),
        (Termination(gradient_norm=0.0, value_change=1e-3), Status.VALUE_STEADY),
    ],
)
def test_lbfgs_says_which_rule_ended_it(rules, status):
    found = lbfgs(rosenbrock, rosenbrock_slope, [-1.2, 1.0], termination=rules)
    assert found.status is status


def test_lbfgs_with_a_wrong_gradient_does_not_claim_to_have_arrived():
    found = lbfgs(rosenbrock, lambda x: -rosenbrock_slope(x), [-1.2, 1.0])
    assert found.status is Status.NO_DESCENT


def test_coordinate_descent_never_rises_and_solves_the_linear_system():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(4, 4))
    form = QuadraticForm(root @ root.T + np.eye(4), rng.normal(size=4))

    def block(i):
        def minimize(x):
            rest = form.A[i] @ x - form.A[i, i] * x[i]
            x = x.copy()
            x[i] = -(rest + form.b[i] / 2) / form.A[i, i]
            return x

        return minimize

    found = coordinate_descent(form, [block(i) for i in range(4)], np.zeros(4))
    values = [info.value for info in found.trace]
    assert (np.diff([form(np.zeros(4)), *values]) <= 1e-12).all()
    assert found.status.has_converged
    assert_allclose(found.x, form.stationary_point(), atol=1e-5)


def test_a_block_that_does_not_minimize_is_found_out():
    found = coordinate_descent(lambda x: x @ x, [lambda x: x + 1.0], [1.0, 2.0])
    assert found.status is Status.NO_DESCENT
    assert_allclose(found.x, [1.0, 2.0])


def test_root_of_two_reproduces_the_worked_iterates():
    root = newton_root(lambda x: x * x - 2, lambda x: 2 * x, 1.0)
    expected = [1.5, 1.4166666667, 1.4142156863, 1.4142135624]
    assert_allclose(root.trace[:4], expected, atol=5e-11)
    assert root.n_steps <= 5
    assert_allclose(root.x, np.sqrt(2), rtol=1e-15)
    assert root.status is Status.ROOT_FOUND


def test_root_search_is_damped_where_the_plain_one_runs_away():
    # Plain Newton on arctan diverges from |x| > 1.39.
    root = newton_root(np.arctan, lambda x: 1 / (1 + x * x), 10.0)
    assert_allclose(root.x, 0.0, atol=1e-12)


@pytest.mark.parametrize("start", [0.0, 0.5])
def test_a_function_without_root_ends_without_claiming_one(start):
    root = newton_root(lambda x: x * x + 1, lambda x: 2 * x, start, max_steps=200)
    assert not root.status.has_converged


def test_one_step_solves_a_quadratic():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(3, 3))
    form = QuadraticForm(root @ root.T, rng.normal(size=3))
    found = newton(form, form.gradient, lambda x: 2 * form.A, rng.normal(size=3))
    assert found.n_steps == 1
    assert_allclose(found.x, form.stationary_point(), atol=1e-8)


@pytest.mark.parametrize("start", [-3.0, -0.3, 0.0, 1.0, 4.0])
def test_newton_on_the_quartic_ends_in_a_minimum_never_in_the_maximum(start):
    def f(x):
        return float(np.polyval([1, -0.5, -7, -2.5, 22], x[0]))

    found = newton(
        f,
        lambda x: np.polyval([4, -1.5, -14, -2.5], x),
        lambda x: np.diag(np.polyval([12, -3, -14], x)),
        [start],
    )
    assert found.status.has_converged
    # A value steady to 1e-12 fixes the parameters to about its square root.
    assert np.abs(found.x[0] - np.array([2.1436974804, -1.5847203287])).min() < 5e-9


def test_an_indefinite_hessian_still_gives_descent():
    def f(x):
        return float(np.cos(x[0]) + 0.1 * x[0] ** 2 + x[1] ** 4 - x[1] ** 2)

    found = newton(
        f,
        lambda x: np.array([-np.sin(x[0]) + 0.2 * x[0], 4 * x[1] ** 3 - 2 * x[1]]),
        lambda x: np.diag([-np.cos(x[0]) + 0.2, 12 * x[1] ** 2 - 2]),
        [0.1, 0.01],
    )
    values = [info.value for info in found.trace]
    assert found.status.has_converged
    assert (np.diff(values) <= 0).all()
    assert_allclose(np.abs(found.x), [2.5957390, np.sqrt(0.5)], atol=1e-6)


@pytest.mark.parametrize("curvature", [0.0, 1e-320])
def test_no_curvature_or_an_infinite_gradient_still_ends(curvature):
    flat = newton(
        lambda x: float(x[0]), lambda x: np.ones(1), lambda x: np.array([[curvature]]), [1.0]
    )
    assert flat.status is not None
    steep = newton(lambda x: 0.0, lambda x: np.array([np.inf]), lambda x: np.eye(1), [1.0])
    assert steep.status is Status.NO_DESCENT


def test_a_rounding_floor_counts_as_steady_not_as_failure():
    found = newton(
        lambda x: 1e12 + float(x @ x),
        lambda x: 2 * x,
        lambda x: 2 * np.eye(2),
        [1e-5, 1e-5],
    )
    assert found.status is Status.VALUE_STEADY


X = np.column_stack([np.ones(6), [-2.0, -1.0, 0.0, 1.0, 2.0, 3.0]])
Y = np.array([0.0, 0.0, 1.0, 0.0, 1.0, 1.0])


@pytest.mark.parametrize(
    ("max_steps", "weights", "loss"),
    [
        (1, [-0.4, 0.8], 2.6064514616),
        (2, [-0.5548878891, 1.1097757782], 2.4848743170),
        (50, [-0.6070137929, 1.2140275859], 2.4779868350),
    ],
)
def test_reweighted_least_squares_reproduces_the_worked_steps(max_steps, weights, loss):
    rules = Termination(max_steps=max_steps)
    found = iteratively_reweighted_least_squares(X, Y, termination=rules)
    assert_allclose(found.x, weights, atol=5e-10)
    assert_allclose(found.value, loss, atol=5e-10)


def test_a_prior_on_the_slope_alone_gives_the_worked_posterior_mode():
    found = iteratively_reweighted_least_squares(X, Y, precision=[0.0, 1.0])
    assert_allclose(found.x, [-0.3835268, 0.7670537], atol=5e-8)
    assert_allclose(found.value, 2.9246587436, atol=5e-10)


def test_separable_classes_have_a_finite_answer_under_a_prior():
    found = iteratively_reweighted_least_squares(X, X[:, 1] > 0.5, precision=0.1)
    assert found.status.has_converged
    assert np.abs(found.gradient).max() < 1e-6


@pytest.mark.parametrize("root", [-4.9, -1.0, 0.3, 4.99])
@pytest.mark.parametrize("steepness", [0.1, 1.0, 30.0])
def test_a_root_between_two_points_is_found_however_flat_the_ends_are(root, steepness):
    found = bracketed_root(
        lambda x: -np.tanh(steepness * (x - root)),
        lambda x: -steepness / np.cosh(steepness * (x - root)) ** 2,
        -5.0,
        5.0,
    )
    assert_allclose(found, root, atol=1e-11)


def test_a_derivative_that_says_nothing_leaves_halving():
    assert_allclose(bracketed_root(lambda x: 0.7 - x, lambda x: 0.0, 0.0, 3.0), 0.7, atol=1e-11)


def test_bfgs_ends_where_the_box_leaves_nothing_to_move():
    hessian, slope = np.array([[0.01, 0.09], [0.09, 1.0]]), np.array([-0.001, -1.0])
    bounds = [(0.0, None), (None, None)]
    found = bfgs(lambda x: 0.0, lambda x: slope.copy(), [0.0, 1.0], hessian, bounds)
    assert found.status is Status.NO_DESCENT


def test_batches_lead_to_the_least_squares_fit():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 3))
    y = x @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=600)

    def gradient(w, rows):
        return x[rows].T @ (x[rows] @ w - y[rows]) / len(rows)

    epochs = adam_epochs(gradient, np.zeros(3), 600, np.random.default_rng(1), 60, 0.05)
    *_, found = itertools.islice(epochs, 60)
    exact = np.linalg.lstsq(x, y, rcond=None)[0]
    assert_allclose(found, exact, atol=0.01)


def test_first_step_has_the_length_that_was_asked_for_downhill():
    epochs = adam_epochs(
        lambda w, rows: np.array([5.0, -3.0]), [1.0, 1.0], 4, np.random.default_rng(0), 4, 0.01
    )
    assert_allclose(next(epochs), [0.99, 1.01], atol=1e-8)


def test_early_stop_takes_the_best_pass_over_held_out_rows():
    epochs = adam_epochs(
        lambda w, rows: np.ones(1), [0.0], 10, np.random.default_rng(0), 5, 0.1
    )
    found = early_stop(itertools.islice(epochs, 40), lambda w: float((w[0] + 0.45) ** 2), 3)
    assert abs(found.best[0] + 0.45) < 0.1
    assert len(found.errors) < 40
