from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from credo.numerics.optimize import (
    ConstrainedProblem,
    Multipliers,
    QuadraticForm,
    QuadraticProgram,
    SmoothFunction,
    dual_maximum,
    stationary_points,
)

ROOT_HALF = 0.5**0.5
SEEDS = st.integers(0, 10_000)


def linear(a, c=0.0):
    return SmoothFunction.of(QuadraticForm(np.zeros((len(a), len(a))), a, c))


def quadratic(A, b, c=0.0):
    return SmoothFunction.of(QuadraticForm(A, b, c))


CIRCLE = SmoothFunction(lambda x: x @ x - 1, lambda x: 2 * x)
ON_A_LINE = ConstrainedProblem(
    quadratic([[0.0, -1.0], [0.0, -1.0]], [-2.0, 0.0]), [linear([1.0, 2.0], -1.0)]
)
ON_A_CIRCLE = ConstrainedProblem(linear([1.0, 1.0]), [CIRCLE])


def starts(d, k=8):
    return np.random.default_rng(0).normal(size=(k, d))


def convex(seed, d=3, n_equalities=1, n_inequalities=3):
    """A strictly convex quadratic with linear constraints that some point meets."""
    rng = np.random.default_rng(seed)
    root, slope, inside = rng.normal(size=(d, d)), 3 * rng.normal(size=d), rng.normal(size=d)
    A, G = rng.normal(size=(n_equalities, d)), rng.normal(size=(n_inequalities, d))
    b, h = A @ inside, G @ inside + rng.uniform(0.1, 1.0, n_inequalities)
    curvature = root @ root.T + 0.1 * np.eye(d)
    problem = ConstrainedProblem(
        quadratic(0.5 * curvature, slope),
        [linear(a, -c) for a, c in zip(A, b, strict=True)],
        [linear(a, -c) for a, c in zip(G, h, strict=True)],
    )
    return problem, QuadraticProgram(curvature, slope, (A, b), (G, h)), inside


def test_the_worked_example_on_a_line_has_one_stationary_point_and_it_is_a_minimum():
    (point,) = stationary_points(ON_A_LINE, starts(2))
    assert_allclose(point.x, [4.0, -1.5], atol=1e-12)
    # The text writes f - multiplier * g, which turns the sign of its -1/2.
    assert_allclose([point.value, *point.multipliers.equality], [-17 / 4, 0.5], atol=1e-12)
    assert point.kind == "minimum"
    y = np.linspace(-4, 4, 801)
    along = [float(ON_A_LINE.objective.value(np.array([1 - 2 * v, v]))) for v in y]
    assert_allclose(along, y**2 + 3 * y - 2)
    assert_allclose(min(along), point.value)


def test_the_worked_example_on_a_circle_has_a_minimum_and_a_maximum():
    least, most = stationary_points(ON_A_CIRCLE, starts(2))
    assert_allclose(least.x, [-0.7071067812, -0.7071067812], atol=5e-11)
    assert_allclose(most.x, [0.7071067812, 0.7071067812], atol=5e-11)
    assert_allclose([least.value, most.value], [-1.4142135624, 1.4142135624], atol=5e-11)
    assert_allclose(least.multipliers.equality, 0.7071067812, atol=5e-11)
    assert_allclose(most.multipliers.equality, -0.7071067812, atol=5e-11)
    assert (least.kind, most.kind) == ("minimum", "maximum")
    assert_allclose([least.curvature, most.curvature], [[2**0.5], [-(2**0.5)]])


def test_several_equalities_give_the_shortest_solution_of_linear_equations():
    rng = np.random.default_rng(1)
    A, b = rng.normal(size=(2, 5)), rng.normal(size=2)
    equalities = [linear(a, -c) for a, c in zip(A, b, strict=True)]
    (point,) = stationary_points(
        ConstrainedProblem(quadratic(np.eye(5), np.zeros(5)), equalities), starts(5, 2)
    )
    assert_allclose(point.x, np.linalg.pinv(A) @ b, atol=1e-12)
    assert_allclose(point.multipliers.equality, -2 * np.linalg.solve(A @ A.T, b), atol=1e-12)
    assert point.kind == "minimum"
    assert len(point.curvature) == 3


def test_several_curved_equalities_give_what_scipy_gives():
    plane = linear([1.0, 1.0, 1.0], -0.5)
    objective = SmoothFunction(
        lambda x: float(np.exp(x[0]) + x[1] ** 2 * x[2]),
        lambda x: np.array([np.exp(x[0]), 2 * x[1] * x[2], x[1] ** 2]),
    )
    found = stationary_points(ConstrainedProblem(objective, [CIRCLE, plane]), starts(3, 12))
    minima = [point for point in found if point.kind == "minimum"]
    for start in starts(3, 4):
        peer = minimize(
            objective.value,
            start,
            method="SLSQP",
            tol=1e-14,
            constraints=[{"type": "eq", "fun": each.value} for each in (CIRCLE, plane)],
        )
        assert min(np.abs(point.x - peer.x).max() for point in minima) < 1e-5
    assert {"minimum", "maximum"} == {point.kind for point in found}


def test_kinds_on_a_circle_are_what_the_neighbors_along_it_say():
    problem = ConstrainedProblem(quadratic([[0.0, 1.0], [0.0, 0.0]], [0.3, 0.0]), [CIRCLE])
    found = stationary_points(problem, starts(2, 20))
    assert [point.kind for point in found].count("minimum") == 2
    for point in found:
        angle = np.arctan2(point.x[1], point.x[0])
        beside = [np.array([np.cos(angle + t), np.sin(angle + t)]) for t in (-0.01, 0.01)]
        rises = [float(problem.objective.value(x)) > point.value for x in beside]
        assert rises == [point.kind == "minimum"] * 2


@pytest.mark.parametrize(
    ("problem", "kinds"),
    [
        (
            ConstrainedProblem(
                quadratic(np.diag([1.0, -1.0]), [0.0, 0.0]),
                inequalities=[linear([0.0, 1.0], -1.0), linear([0.0, -1.0], -2.0)],
            ),
            {(0, 0): "saddle", (0, 1): "minimum", (0, -2): "minimum"},
        ),
        (
            ConstrainedProblem(
                quadratic(np.diag([-1.0, -1.0]), [0.0, 0.0]),
                inequalities=[linear([1.0, 0.0], -1.0), linear([0.0, 1.0], -1.0)],
            ),
            {(0, 0): "maximum", (1, 0): "saddle", (0, 1): "saddle", (1, 1): "minimum"},
        ),
        (
            ConstrainedProblem(
                quadratic(np.eye(2), [0.0, 0.0]), inequalities=[linear([1.0, 0.0])]
            ),
            {(0, 0): "minimum"},
        ),
        (
            ConstrainedProblem(
                SmoothFunction(
                    lambda x: x[0] ** 3 + x[1] ** 2,
                    lambda x: [3, 2] * x ** [2, 1],
                    lambda x: np.diag([6 * x[0], 2.0]),
                )
            ),
            {(0, 0): "degenerate"},
        ),
        (
            ConstrainedProblem(
                quadratic(np.eye(2), [0.0, 0.0]),
                [linear([1.0, 0.0], -1.0), linear([1.0, 1.0], -1.0)],
            ),
            {(1, 0): "isolated"},
        ),
        (
            ConstrainedProblem(linear([-1.0, 0.0]), inequalities=[linear([1.0, 0.0], -1.0)]),
            {(1, None): "degenerate"},
        ),
    ],
    ids=["band", "corner", "touching", "cubic", "isolated", "flat"],
)
def test_each_stationary_point_has_its_kind(problem, kinds):
    begins = np.vstack([np.zeros(2), [0.3, -0.2], starts(2)])
    for point in stationary_points(problem, begins):
        matches = [
            kind
            for place, kind in kinds.items()
            if all(c is None or abs(x - c) < 1e-6 for c, x in zip(place, point.x, strict=True))
        ]
        assert matches == [point.kind]
    assert len(stationary_points(problem, begins)) >= len(kinds)


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_a_convex_problem_has_one_minimum_which_other_methods_find(seed):
    problem, program, inside = convex(seed)
    found = stationary_points(problem, inside[None])
    minima = [point for point in found if point.kind == "minimum"]
    assert len(minima) == 1
    best, other = minima[0], program.minimum()
    assert_allclose(best.x, other.x, atol=1e-8)
    assert_allclose(best.multipliers.equality, other.multipliers.equality, atol=1e-7)
    assert_allclose(best.multipliers.inequality, other.multipliers.inequality, atol=1e-7)
    peer = minimize(
        problem.objective.value,
        inside,
        jac=problem.objective.gradient,
        method="SLSQP",
        tol=1e-12,
        constraints=[
            *({"type": "eq", "fun": g.value, "jac": g.gradient} for g in problem.equalities),
            *(
                {"type": "ineq", "fun": partial(lambda h, x: -h.value(x), h)}
                for h in problem.inequalities
            ),
        ],
    )
    assert_allclose(best.value, peer.fun, rtol=1e-6, atol=1e-6)


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_the_residual_is_zero_at_the_optimum_and_only_there(seed):
    problem, program, _ = convex(seed)
    best = program.minimum()
    multipliers = Multipliers(best.multipliers.equality, best.multipliers.inequality)
    assert problem.kkt_residual(best.x, multipliers).largest < 1e-10
    turned = Multipliers(-multipliers.equality, multipliers.inequality)
    if np.abs(multipliers.equality).max() > 1e-3:
        assert problem.kkt_residual(best.x, turned).stationarity > 1e-5
    moved = best.x + 1e-3 * np.random.default_rng(seed).normal(size=len(best.x))
    assert problem.kkt_residual(moved, multipliers).largest > 1e-6


@pytest.mark.parametrize(
    ("x", "equality", "inequality", "part", "size"),
    [
        ([0.5, 0.5], 0.0, 0.0, "stationarity", 1.0),
        ([0.5, 0.7], -1.0, 0.0, "equality", 0.2),
        ([1.5, -0.5], 0.0, 0.0, "inequality", 1 / 3),
        ([0.0, 1.0], 0.0, -0.4, "dual", 0.2),
        ([0.5, 0.5], -1.0, 0.8, "complementarity", 0.4),
    ],
)
def test_each_part_of_the_residual_is_its_condition(x, equality, inequality, part, size):
    problem = ConstrainedProblem(
        quadratic(np.eye(2), [0.0, 0.0]), [linear([1.0, 1.0], -1.0)], [linear([1.0, 0.0], -1.0)]
    )
    held = Multipliers(np.array([equality]), np.array([inequality]))
    assert_allclose(getattr(problem.kkt_residual(x, held), part), size)
    optimal = problem.kkt_residual([0.5, 0.5], Multipliers(-np.ones(1), np.zeros(1)))
    assert optimal.largest == 0


def in_other_units(function, length, size):
    """A function of x in another unit of length, in another unit of its value."""
    return SmoothFunction(
        lambda x: size * function.value(x / length),
        lambda x: size / length * np.asarray(function.gradient(x / length)),
    )


UNITS = pytest.mark.parametrize(
    ("length", "value", "held"),
    [
        (1.0, 1e-9, 1.0),
        (1.0, 1e9, 1.0),
        (1.0, 1.0, 1e-6),
        (1.0, 1.0, 1e6),
        (1e-6, 1.0, 1.0),
        (1e6, 1.0, 1.0),
        (1e6, 1e-9, 1e6),
        (1e-6, 1e9, 1e-6),
    ],
)
AT_MOST_ONE = ConstrainedProblem(
    quadratic(np.eye(1), [-6.0], 9.0), inequalities=[linear([1.0], -1.0)]
)


@UNITS
@pytest.mark.parametrize("is_start_scaled", [True, False])
def test_stationary_points_do_not_depend_on_units(length, value, held, is_start_scaled):
    problem = ConstrainedProblem(
        in_other_units(ON_A_CIRCLE.objective, length, value),
        [in_other_units(CIRCLE, length, held)],
    )
    begins = np.array([[1.0, 0.0], [-1.0, 0.0]]) * (length if is_start_scaled else 1.0)
    least, most = stationary_points(problem, begins)
    assert (least.kind, most.kind) == ("minimum", "maximum")
    assert_allclose(least.x / length, -ROOT_HALF, rtol=1e-9)
    assert_allclose(most.x / length, ROOT_HALF, rtol=1e-9)
    assert_allclose(least.value, -(2**0.5) * value, rtol=1e-9)
    assert_allclose(least.multipliers.equality * held / value, ROOT_HALF, rtol=1e-9)
    assert_allclose(least.curvature * length**2 / value, 2**0.5, rtol=1e-6)


@UNITS
def test_a_start_is_no_minimum_in_any_unit(length, value, held):
    problem = ConstrainedProblem(
        in_other_units(AT_MOST_ONE.objective, length, value),
        inequalities=[in_other_units(AT_MOST_ONE.inequalities[0], length, held)],
    )
    (point,) = stationary_points(problem, [[0.0], [0.5 * length]])
    assert point.kind == "minimum"
    assert_allclose(point.x, length)
    assert_allclose(point.multipliers.inequality * held / value, 4.0)
    dual = dual_maximum(problem, [0.0])
    assert_allclose([*dual.x / length, dual.value / value], [1.0, 4.0], rtol=1e-6)
    assert abs(dual.gap) < 1e-6 * value


@UNITS
def test_the_residual_does_not_depend_on_units(length, value, held):
    def residual(length, value, held):
        problem = ConstrainedProblem(
            in_other_units(ON_A_LINE.objective, length, value),
            [in_other_units(ON_A_LINE.equalities[0], length, held)],
            [in_other_units(CIRCLE, length, held)],
        )
        multipliers = Multipliers(np.array([0.3]), np.array([-0.2]))
        there = Multipliers(
            multipliers.equality * value / held, multipliers.inequality * value / held
        )
        return problem.kkt_residual(length * np.array([0.5, 1.2]), there)

    assert_allclose(residual(length, value, held), residual(1.0, 1.0, 1.0), rtol=1e-6)
    assert AT_MOST_ONE.kkt_residual([0.0], Multipliers(inequality=np.zeros(1))).largest == 1.0


def test_a_minimum_at_zero_is_found_where_every_derivative_up_to_the_third_is_zero():
    problem = ConstrainedProblem(
        SmoothFunction(lambda x: np.sum(x**4), lambda x: 4 * x**3, lambda x: np.diag(12 * x**2))
    )
    (point,) = stationary_points(problem, [[1.0, 2.0], [-3.0, 1e-3]])
    assert_allclose(point.x, 0.0, atol=1e-12)


def test_where_a_function_only_falls_there_is_no_stationary_point():
    falling = SmoothFunction(lambda x: np.exp(-x[0]), lambda x: -np.exp(-x))
    assert stationary_points(ConstrainedProblem(falling), [[0.0], [5.0]]) == ()


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_the_dual_value_is_never_above_the_objective_and_meets_it_at_the_optimum(seed):
    problem, program, inside = convex(seed)
    rng = np.random.default_rng(seed)
    any_multipliers = Multipliers(rng.normal(size=1), rng.exponential(size=3))
    best = program.minimum()
    assert problem.dual_value(any_multipliers, np.zeros(3)) <= best.value + 1e-9
    assert problem.duality_gap(inside, any_multipliers) >= 0
    optimal = Multipliers(best.multipliers.equality, best.multipliers.inequality)
    assert_allclose(problem.duality_gap(best.x, optimal), 0.0, atol=1e-9)


@settings(max_examples=15, deadline=None)
@given(SEEDS)
def test_the_dual_maximum_of_a_convex_problem_is_its_minimum(seed):
    problem, program, _ = convex(seed)
    best, dual = program.minimum(), dual_maximum(problem, np.zeros(3))
    assert_allclose(dual.value, best.value, rtol=1e-8, atol=1e-8)
    assert_allclose(dual.x, best.x, atol=1e-6)
    assert_allclose(dual.multipliers.inequality, best.multipliers.inequality, atol=1e-5)
    assert_allclose(dual.gap, 0.0, atol=1e-7)


def test_the_dual_of_the_circle_has_no_gap_though_it_is_not_convex():
    dual = dual_maximum(ON_A_CIRCLE, [0.0, 0.0], Multipliers(np.array([3.0])))
    assert_allclose([dual.value, *dual.x], [-(2**0.5), -ROOT_HALF, -ROOT_HALF], atol=1e-12)
    assert_allclose(dual.multipliers.equality, ROOT_HALF, atol=1e-12)
    for weight in (0.1, 0.5, 2.0):
        value = ON_A_CIRCLE.dual_value(Multipliers(np.array([weight])), [0.0, 0.0])
        assert_allclose(value, -1 / (2 * weight) - weight)


def test_a_lagrangian_that_falls_forever_has_the_dual_value_minus_infinity():
    assert ON_A_LINE.dual_value(Multipliers(np.array([0.5])), [1.0, 0.3]) == -np.inf
    assert ON_A_LINE.dual_value(Multipliers(np.array([0.5])), [4.0, -1.5]) == -np.inf
    assert ON_A_CIRCLE.dual_value(Multipliers(np.array([-1.0])), [0.0, 0.0]) == -np.inf
    with pytest.raises(ValueError, match="falls forever"):
        dual_maximum(ON_A_CIRCLE, [0.0, 0.0])


def test_differences_of_the_gradient_stand_for_a_missing_hessian():
    root = np.random.default_rng(0).normal(size=(3, 3))
    form = QuadraticForm(root, [1.0, 2.0, 3.0])
    bare = SmoothFunction(form, form.gradient)
    assert_allclose(bare.curvature(np.ones(3)), root + root.T, atol=1e-8)
    assert_allclose(SmoothFunction.of(form).curvature(np.ones(3)), root + root.T)


def test_multipliers_must_be_one_per_constraint():
    with pytest.raises(ValueError, match="one per constraint, 1; found 2"):
        ON_A_CIRCLE.lagrangian(Multipliers(np.ones(1), np.ones(1)))


def test_many_inequalities_are_refused():
    many = ConstrainedProblem(linear([1.0]), inequalities=[linear([1.0])] * 13)
    with pytest.raises(ValueError, match="at most 12"):
        stationary_points(many, [[0.0]])
