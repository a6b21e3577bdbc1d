from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import Bounds, LinearConstraint, linprog, minimize
from sklearn.svm import SVC, SVR

from credo.numerics.linear.linear_algebra import NotPositiveDefinite
from credo.numerics.optimize import (
    InfeasibleProgram,
    QuadraticProgram,
    Status,
    UnboundedProgram,
)

SEEDS = st.integers(0, 100_000)
X_WORKED = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [3.0, 2.0]])
Y_WORKED = np.array([-1.0, -1.0, 1.0, 1.0])
X_SOFT = np.array([-2.0, -1.0, 0.5, -0.5, 1.0, 2.0])
Y_SOFT = np.array([-1.0, -1.0, -1.0, 1.0, 1.0, 1.0])


def parts(seed, is_linear=False):
    """A small program, often degenerate: whole numbers, curvature of any rank."""
    rng = np.random.default_rng(seed)
    n, p, m = rng.integers(1, 5), rng.integers(0, 3), rng.integers(0, 5)

    def draw(*shape):
        whole = rng.integers(-2, 3, size=shape).astype(float)
        return whole if seed % 2 else rng.normal(size=shape)

    root = np.zeros((1, n)) if is_linear else draw(rng.integers(0, n + 1), n)
    lower = np.where(rng.random(n) < 0.5, draw(n) - 2, -np.inf)
    upper = np.where(rng.random(n) < 0.5, np.maximum(draw(n) + 2, lower), np.inf)
    equalities, inequalities = (draw(min(p, n), n), draw(min(p, n))), (draw(m, n), draw(m))
    return root.T @ root, draw(n), equalities, inequalities, (lower, upper)


def outcome(program):
    try:
        return "optimum", program.minimum()
    except InfeasibleProgram as error:
        return "infeasible", error
    except UnboundedProgram as error:
        return "unbounded", error


def least_by_enumeration(P, q, equalities, inequalities, bounds):
    """The least value at the stationary points of every choice of binding constraints."""
    eye, (lower, upper) = np.eye(len(q)), bounds
    above, below = np.isfinite(upper), np.isfinite(lower)
    C = np.vstack([inequalities[0], eye[above], -eye[below]])
    d = np.concatenate([inequalities[1], upper[above], -lower[below]])
    best = np.inf
    for chosen in (s for k in range(len(q) + 1) for s in combinations(range(len(d)), k)):
        J = np.vstack([equalities[0], C[list(chosen)]])
        right = np.concatenate([-q, equalities[1], d[list(chosen)]])
        K = np.block([[P, J.T], [J, np.zeros((len(J), len(J)))]])
        found = np.linalg.lstsq(K, right, rcond=1e-11)[0]
        x = found[: len(q)]
        is_solved = np.abs(K @ found - right).max() < 1e-9
        if is_solved and (C @ x <= d + 1e-9).all():
            best = min(best, 0.5 * x @ P @ x + q @ x)
    return best


def hard_margin(X, y):
    d = X.shape[1]
    signed = y[:, None] * np.column_stack([X, np.ones(len(X))])
    curvature = np.diag(np.repeat([1.0, 0.0], [d, 1]))
    return QuadraticProgram(
        curvature, np.zeros(d + 1), inequalities=(-signed, -np.ones(len(y)))
    )


def margin_dual(gram, y, C=np.inf):
    return QuadraticProgram(
        y[:, None] * gram * y, -np.ones(len(y)), (y[None], [0.0]), None, (0, C)
    )


def radial(X, Z, gamma=0.3):
    return np.exp(-gamma * ((X[:, None] - Z[None]) ** 2).sum(axis=-1))


def assert_optimal(found, precision=1e-12):
    assert found.status is Status.CONVERGED
    assert found.residual.largest < precision


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_the_optimum_is_the_best_of_all_choices_of_binding_constraints(seed):
    held = parts(seed)
    what, found = outcome(QuadraticProgram(*held))
    least = least_by_enumeration(*held)
    if what == "optimum":
        assert_allclose(found.value, least, rtol=1e-9, atol=1e-9)
        assert_allclose(found.gap, 0.0, atol=1e-9 * max(1.0, abs(least)))
        assert_optimal(found)
    if what == "infeasible":
        assert least == np.inf


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_linear_programs_end_as_those_of_scipy_do(seed):
    P, q, equalities, inequalities, bounds = parts(seed, is_linear=True)
    what, found = outcome(QuadraticProgram(P, q, equalities, inequalities, bounds))
    peer = linprog(q, *inequalities, *equalities, bounds=np.column_stack(bounds))
    assert what == {0: "optimum", 2: "infeasible", 3: "unbounded"}[peer.status]
    if what == "optimum":
        assert_allclose(found.value, peer.fun, rtol=1e-9, atol=1e-9)
        assert_optimal(found)


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_a_program_without_an_optimum_comes_with_the_proof(seed):
    P, q, (A, b), (G, h), (lower, upper) = parts(seed)
    what, error = outcome(QuadraticProgram(P, q, (A, b), (G, h), (lower, upper)))
    if what == "infeasible":
        proof = error.proof
        pull = proof.equality @ A + proof.inequality @ G + proof.upper - proof.lower
        sides = np.where(np.isfinite([upper, lower]), [upper, lower], 0.0)
        total = proof.equality @ b + proof.inequality @ h
        total += proof.upper @ sides[0] - proof.lower @ sides[1]
        assert_allclose(pull, 0.0, atol=1e-7)
        assert_allclose(total, -1.0)
        assert min(proof.inequality.min(initial=0), proof.upper.min(), proof.lower.min()) >= 0
    if what == "unbounded":
        way = error.direction
        assert q @ way < 0
        hits = np.concatenate([P @ way, A @ way, np.maximum(G @ way, 0.0)])
        assert_allclose(hits, 0.0, atol=1e-8)
        assert (way[np.isfinite(upper)] <= 1e-8).all()
        assert (way[np.isfinite(lower)] >= -1e-8).all()


def test_the_optimum_of_a_larger_program_is_that_of_trust_constr():
    rng = np.random.default_rng(3)
    root, q, inside = rng.normal(size=(8, 8)), 5 * rng.normal(size=8), rng.uniform(0, 1, 8)
    A, G = rng.normal(size=(2, 8)), rng.normal(size=(5, 8))
    b, h = A @ inside, G @ inside + 0.1
    program = QuadraticProgram(root @ root.T, q, (A, b), (G, h), (-1.0, 1.0))
    found = program.minimum()
    assert_optimal(found)
    peer = minimize(
        program.value,
        inside,
        jac=lambda x: program.P @ x + q,
        hess=lambda x: program.P,
        method="trust-constr",
        bounds=Bounds(-1.0, 1.0),
        constraints=[LinearConstraint(A, b, b), LinearConstraint(G, -np.inf, h)],
        options={"gtol": 1e-10, "xtol": 1e-12, "maxiter": 2000},
    )
    assert_allclose(found.x, peer.x, atol=1e-5)
    assert peer.fun - 1e-5 < found.value <= peer.fun + 1e-9


def test_multipliers_are_the_slopes_of_the_optimum_in_the_right_sides():
    rng = np.random.default_rng(2)
    root, q, inside = rng.normal(size=(5, 5)), 4 * rng.normal(size=5), rng.uniform(0, 1, 5)
    A, G = rng.normal(size=(1, 5)), rng.normal(size=(3, 5))
    sides = [A @ inside, G @ inside, np.zeros(5), np.ones(5)]

    def least(b, h, lower, upper):
        return QuadraticProgram(root @ root.T, q, (A, b), (G, h), (lower, upper)).minimum()

    held = least(*sides).multipliers
    expected = [-held.equality, -held.inequality, held.lower, -held.upper]
    for which, slopes in enumerate(expected):
        for i, slope in enumerate(slopes):
            moved = [[side.copy() for side in sides] for _ in range(2)]
            moved[0][which][i] -= 1e-5
            moved[1][which][i] += 1e-5
            before, after = (least(*each).value for each in moved)
            assert_allclose((after - before) / 2e-5, slope, atol=2e-4)
    assert all(np.abs(slopes).max() > 0.1 for slopes in expected)


def test_the_hard_margin_has_the_worked_plane_and_multipliers():
    found = hard_margin(X_WORKED, Y_WORKED).minimum()
    assert_allclose(found.x, [1.0, 0.0, -2.0], atol=1e-12)
    assert_allclose(found.multipliers.inequality, [0.0, 0.5, 0.5, 0.0], atol=1e-12)
    assert_allclose([found.value, found.dual_value], 0.5)
    dual = margin_dual(X_WORKED @ X_WORKED.T, Y_WORKED).minimum()
    assert_allclose(dual.x, [0.0, 0.5, 0.5, 0.0], atol=1e-12)
    assert_allclose(dual.value, -0.5)
    assert_allclose(dual.multipliers.equality, -2.0)


def test_exclusive_or_in_the_squared_kernel_has_the_worked_dual():
    X = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    found = margin_dual((1 + X @ X.T) ** 2, X[:, 0] * X[:, 1]).minimum()
    assert_allclose(found.x, 1 / 8)
    assert_allclose(found.value, -0.25)


@pytest.mark.parametrize(
    ("C", "w", "value", "pull"),
    [
        (0.5, 0.5, 1.875, [0.0, 0.5, 0.5, 0.5, 0.5, 0.0]),
        (1.0, 1.0, 3.5, [0.0, 1.0, 1.0, 1.0, 1.0, 0.0]),
        (10.0, 1.0, 30.5, [0.0, 5.5, 10.0, 10.0, 5.5, 0.0]),
    ],
)
def test_the_soft_margin_has_the_worked_numbers(C, w, value, pull):
    found = margin_dual(np.outer(X_SOFT, X_SOFT), Y_SOFT, C).minimum()
    assert_allclose(-found.value, value)
    assert_allclose((found.x * Y_SOFT) @ X_SOFT, w)
    assert_allclose(found.x, pull, atol=1e-10)
    assert_optimal(found)


@pytest.mark.parametrize("C", [0.05, 1.0, 100.0])
def test_the_soft_margin_dual_is_certified_and_agrees_with_scikit_learn(C):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    y = np.sign(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=150))
    found = margin_dual(radial(X, X), y, C).minimum()
    assert_optimal(found, 1e-11)
    assert abs(found.gap) < 1e-11 * abs(found.value)
    peer = SVC(C=C, gamma=0.3, tol=1e-8).fit(X, y)
    weights = np.zeros(150)
    weights[peer.support_] = np.abs(peer.dual_coef_[0])
    assert_allclose(found.x, weights, atol=1e-4 * C)
    # The bias is the multiplier of the one equality.
    assert_allclose(found.multipliers.equality, peer.intercept_, atol=1e-6 * max(C, 1))
    assert ((found.x == 0) | (found.x == C)).sum() > 20


def test_the_dual_of_an_insensitive_regression_agrees_with_scikit_learn():
    rng = np.random.default_rng(1)
    X = rng.uniform(-3, 3, size=(80, 1))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=80)
    gram, C, epsilon = radial(X, X), 2.0, 0.1
    found = QuadraticProgram(
        np.block([[gram, -gram], [-gram, gram]]),
        np.concatenate([epsilon - y, epsilon + y]),
        (np.repeat([[1.0, -1.0]], 80, axis=1), [0.0]),
        None,
        (0.0, C),
    ).minimum()
    assert_optimal(found, 1e-11)
    weights = found.x[:80] - found.x[80:]
    peer = SVR(C=C, epsilon=epsilon, gamma=0.3, tol=1e-9).fit(X, y)
    fitted = gram @ weights + found.multipliers.equality
    assert_allclose(fitted, peer.predict(X), atol=1e-6)
    assert (np.minimum(found.x[:80], found.x[80:]) == 0).all()


def test_a_hard_margin_on_rows_that_no_plane_parts_is_infeasible():
    y = Y_WORKED.copy()
    y[0] = 1.0
    with pytest.raises(InfeasibleProgram, match="must have a point in common; found none"):
        hard_margin(X_WORKED, y).minimum()
    with pytest.raises(UnboundedProgram, match="falls forever"):
        margin_dual(X_WORKED @ X_WORKED.T, y).minimum()


def test_constraints_that_contradict_are_named_before_a_value_that_falls_forever():
    apart = [[1.0, 0.0], [-1.0, 0.0]], [-1.0, -1.0]
    with pytest.raises(InfeasibleProgram):
        QuadraticProgram(np.zeros((2, 2)), [0.0, 1.0], inequalities=apart).minimum()


def test_curvature_that_is_not_positive_is_refused_with_its_eigenvalue():
    with pytest.raises(NotPositiveDefinite, match=r"smallest eigenvalue -1 against .* 3"):
        QuadraticProgram([[1.0, 2.0], [2.0, 1.0]], [0.0, 0.0])


def test_bounds_that_meet_fix_a_variable():
    found = QuadraticProgram(
        np.eye(3), [1.0, -4.0, 0.5], bounds=([2.0, 0.0, 0.0], [2.0, 3.0, np.inf])
    ).minimum()
    assert_allclose(found.x, [2.0, 3.0, 0.0])
    assert_allclose(found.multipliers.lower, [3.0, 0.0, 0.5], atol=1e-14)
    assert_allclose(found.multipliers.upper, [0.0, 1.0, 0.0], atol=1e-14)
    assert_optimal(found)


def test_an_equality_said_twice_changes_nothing():
    once = QuadraticProgram(np.eye(3), [1.0, 2.0, 3.0], ([[1.0, 1.0, 1.0]], [1.0])).minimum()
    rows = [[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]], [1.0, 2.0]
    twice = QuadraticProgram(np.eye(3), [1.0, 2.0, 3.0], rows).minimum()
    assert_allclose(twice.x, once.x)
    assert_allclose(twice.multipliers.equality @ [1.0, 2.0], once.multipliers.equality[0])


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_units_of_variables_constraints_and_value_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    root, q, inside = rng.normal(size=(4, 4)), 3 * rng.normal(size=4), rng.uniform(0, 1, 4)
    G = rng.normal(size=(6, 4))
    h = G @ inside + 0.1
    unit, by_row, size = 10 ** rng.uniform(-4, 4, 4), 10 ** rng.uniform(-4, 4, 6), 1e7
    plain = QuadraticProgram(root @ root.T, q, None, (G, h), (0.0, 1.0)).minimum()
    other = QuadraticProgram(
        size * unit[:, None] * (root @ root.T) * unit,
        size * unit * q,
        None,
        (by_row[:, None] * G * unit, by_row * h),
        (0.0, 1.0 / unit),
    ).minimum()
    assert_allclose(other.x * unit, plain.x, atol=1e-9)
    assert_allclose(other.value / size, plain.value, rtol=1e-10, atol=1e-10)
    pulls = other.multipliers.inequality * by_row / size
    assert_allclose(pulls, plain.multipliers.inequality, atol=1e-7)
    assert_optimal(other, 1e-11)


def test_hundreds_of_variables_are_solved_to_rounding():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 5))
    y = np.sign(X[:, 0] + 0.5 * rng.normal(size=300))
    found = margin_dual(radial(X, X, 0.1), y, 10.0).minimum()
    assert_optimal(found)
    assert abs(found.gap) < 1e-12 * abs(found.value)
    assert found.n_steps < 30


def test_the_residual_of_any_point_tells_which_condition_fails():
    program = QuadraticProgram(np.eye(2), [-2.0, 0.0], None, ([[1.0, 1.0]], [1.0]), (0.0, 9.0))
    found = program.minimum()
    assert program.kkt_residual(found.x, found.multipliers).largest < 1e-15
    beyond = program.kkt_residual([1.5, 0.0], found.multipliers)
    assert_allclose(beyond.inequality, 0.5 / 1.5)
    assert_allclose(beyond.stationarity, 0.5 / 2.0)
    assert program.kkt_residual([0.5, 0.0], found.multipliers).complementarity > 0.1


def test_too_few_steps_are_told():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    found = margin_dual(radial(X, X), np.sign(X[:, 0]), 1.0).minimum(max_steps=1)
    assert (found.status, found.n_steps) == (Status.MAX_STEPS, 1)
    assert found.residual.largest > 1e-3


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"P": np.eye(3)}, r"P must have shape \(2, 2\); found \(3, 3\)"),
        ({"q": [np.nan, 0.0]}, "q must be finite; found nan"),
        ({"equalities": ([[1.0, 0.0, 0.0]], [1.0])}, r"A must have shape \(1, 2\)"),
        ({"inequalities": ([[1.0, 0.0]], [np.inf])}, "h must be finite; found inf"),
        (
            {"bounds": ([0.0, 2.0], 1.0)},
            "lower must be at most upper; found 2 and 1 at index 1",
        ),
    ],
)
def test_bad_input_is_named(settings_, message):
    with pytest.raises(ValueError, match=message):
        QuadraticProgram(**{"P": np.eye(2), "q": [0.0, 0.0], **settings_})
