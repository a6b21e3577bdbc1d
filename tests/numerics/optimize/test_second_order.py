import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.numerics.optimize import (
    MinimumStatus,
    QuadraticForm,
    Termination,
    bracketed_root,
    iteratively_reweighted_least_squares,
    newton,
    newton_root,
)


def test_root_of_two_reproduces_the_worked_iterates():
    root = newton_root(lambda x: x * x - 2, lambda x: 2 * x, 1.0)
    expected = [1.5, 1.4166666667, 1.4142156863, 1.4142135624]
    assert_allclose(root.trace[:4], expected, atol=5e-11)
    assert root.n_steps <= 5
    assert_allclose(root.x, np.sqrt(2), rtol=1e-15)
    assert root.status is MinimumStatus.ROOT_FOUND


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
    assert steep.status is MinimumStatus.NO_DESCENT


def test_a_rounding_floor_counts_as_steady_not_as_failure():
    found = newton(
        lambda x: 1e12 + float(x @ x),
        lambda x: 2 * x,
        lambda x: 2 * np.eye(2),
        [1e-5, 1e-5],
    )
    assert found.status is MinimumStatus.VALUE_STEADY


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
