import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.svm import SVC, SVR

from credo.features import (
    FunctionKernel,
    Linear,
    Matern52,
    Polynomial,
    SquaredExponential,
    White,
)
from credo.inference import (
    Inseparable,
    SupportProblem,
    SupportSettings,
    support_path,
    support_vectors,
)
from credo.inference.margin import support_vectors as module
from credo.inference.margin.kernel_values import kernel_values, loops
from credo.inference.margin.support_vectors import first_steps
from credo.numerics.linear.linear_algebra import NotPositiveDefinite
from credo.numerics.optimize import QuadraticProgram, maximum_margin_plane

EXACT = SupportSettings(tolerance=1e-9)
LINE = np.array([-2.0, -1.0, 0.5, -0.5, 1.0, 2.0])[:, None]
SIDE = np.array([-1.0, -1.0, -1.0, 1.0, 1.0, 1.0])


def classes(n, seed=0, d=3):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    score = x[:, 0] + x[:, 1] ** 2 - 1.0 + 0.5 * rng.normal(size=n)
    return x, np.where(score > 0, 1.0, -1.0)


def numbers(n, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    return x, np.sin(2.0 * x[:, 0]) + 0.2 * rng.normal(size=n)


def assert_not_beaten(found, problem, other):
    """The dual objective is that of another library, and not below it."""
    dual = np.zeros(len(problem.x))
    dual[other.support_] = other.dual_coef_[0]
    value = problem.outcome @ dual - problem.epsilon * np.abs(dual).sum()
    value -= 0.5 * dual @ problem.kernel(problem.x) @ dual
    assert_allclose(found.dual_objective, value, rtol=1e-6)
    assert found.dual_objective >= value - 1e-9 * abs(value)


def by_quadratic_program(problem):
    """The largest dual objective by a general program, with the multipliers in two parts."""
    gram = problem.kernel(problem.x)
    both = np.block([[gram, -gram], [-gram, gram]])
    slope = np.concatenate([-problem.outcome, problem.outcome]) + problem.epsilon
    balance = np.concatenate([np.ones(len(gram)), -np.ones(len(gram))])[None]
    most = np.concatenate([problem.high, -problem.low])
    program = QuadraticProgram(
        both, slope, (balance, np.zeros(1)), bounds=(np.zeros(len(most)), most)
    )
    found = program.minimum()
    assert found.gap <= 1e-9 * max(1.0, abs(found.value))
    return -found.value


def test_the_worked_hard_margin():
    x = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [3.0, 2.0]])
    sign = np.array([-1.0, -1.0, 1.0, 1.0])
    problem = SupportProblem.of_classes(Linear(), x, sign, np.full(4, np.inf))
    found = support_vectors(problem, EXACT)
    assert_allclose(found.dual * sign, [0.0, 0.5, 0.5, 0.0], atol=1e-9)
    assert_allclose(x.T @ found.dual, [1.0, 0.0], atol=1e-9)
    assert_allclose([found.intercept, found.margin, found.dual_objective], [-2.0, 1.0, 0.5])
    assert_allclose(found.duality_gap, 0.0, atol=1e-9)


def test_the_worked_exclusive_or():
    x = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    sign = x[:, 0] * x[:, 1]
    problem = SupportProblem.of_classes(Polynomial(2, 1.0), x, sign, np.full(4, np.inf))
    found = support_vectors(problem, EXACT)
    assert_allclose(found.dual * sign, np.full(4, 0.125))
    assert_allclose([found.dual_objective, found.squared_norm], [0.25, 0.5])
    assert_allclose(found.margin, 1.4142135624)
    assert_allclose(found.score + found.intercept, sign, atol=1e-9)


@pytest.mark.parametrize(
    ("cost", "slope", "objective", "multipliers"),
    [
        (0.5, 0.5, 1.875, [0, 0.5, 0.5, 0.5, 0.5, 0]),
        (1.0, 1.0, 3.5, [0, 1, 1, 1, 1, 0]),
        (10.0, 1.0, 30.5, [0, 5.5, 10, 10, 5.5, 0]),
    ],
)
def test_the_worked_soft_margins(cost, slope, objective, multipliers):
    problem = SupportProblem.of_classes(Linear(), LINE, SIDE, np.full(6, cost))
    found = support_vectors(problem, EXACT)
    assert_allclose(found.dual * SIDE, multipliers, atol=1e-8)
    assert_allclose(LINE[:, 0] @ found.dual, slope)
    assert_allclose(found.intercept, 0.0, atol=1e-9)
    assert_allclose([found.dual_objective, found.primal_objective], objective)


@pytest.mark.parametrize("seed", range(50))
def test_the_optimum_is_that_of_a_quadratic_program(seed):
    rng = np.random.default_rng(seed)
    kernel = [SquaredExponential(1.0), Linear(), Polynomial(3, 1.0), Matern52(0.7)][seed % 4]
    cost = rng.uniform(0.1, 3.0, size=18)
    if seed % 2:
        problem = SupportProblem.of_classes(kernel, *classes(18, seed), cost)
    else:
        problem = SupportProblem.of_numbers(kernel, *numbers(18, seed), cost, 0.1)
    found = support_vectors(problem, SupportSettings(1e-7))
    assert_allclose(found.dual_objective, by_quadratic_program(problem), rtol=1e-6)
    rounding = 1e-13 * found.dual_objective
    assert -rounding <= found.duality_gap <= 1e-5 * found.dual_objective
    assert found.residual <= 1e-7
    assert abs(found.dual.sum()) < 1e-9
    assert (found.dual >= problem.low).all()
    assert (found.dual <= problem.high).all()


@pytest.mark.parametrize("cost", [0.1, 1.0, 30.0])
def test_classes_are_parted_as_by_scikit_learn(cost):
    x, sign = classes(150)
    problem = SupportProblem.of_classes(SquaredExponential(1.0), x, sign, np.full(150, cost))
    found = support_vectors(problem, EXACT)
    other = SVC(C=cost, gamma=0.5, tol=1e-10).fit(x, sign)
    # LIBSVM keeps its rows of the kernel in float32.
    atol = 5e-6 * max(cost, 1.0)
    assert_allclose(found.score + found.intercept, other.decision_function(x), atol=atol)
    assert_array_equal(found.support, np.sort(other.support_))
    assert_not_beaten(found, problem, other)


@pytest.mark.parametrize("cost", [0.1, 1.0, 30.0])
def test_numbers_are_fitted_as_by_scikit_learn(cost):
    x, y = numbers(150)
    problem = SupportProblem.of_numbers(
        SquaredExponential(1.0), x, y, np.full(150, cost), epsilon=0.15
    )
    found = support_vectors(problem, EXACT)
    other = SVR(C=cost, gamma=0.5, tol=1e-10, epsilon=0.15).fit(x, y)
    atol = 5e-6 * max(cost, 1.0)
    assert_allclose(found.score + found.intercept, other.predict(x), atol=atol)
    assert_array_equal(found.support, np.sort(other.support_))
    assert_not_beaten(found, problem, other)


def test_every_certificate_is_what_its_definition_says():
    x, y = numbers(80)
    cost = np.random.default_rng(1).uniform(0.5, 2.0, size=80)
    problem = SupportProblem.of_numbers(SquaredExponential(0.8), x, y, cost, 0.1)
    found = support_vectors(problem)
    gram, b = problem.kernel(x), found.dual
    assert_allclose(found.score, gram @ b, atol=1e-12)
    value = y @ b - 0.1 * np.abs(b).sum() - 0.5 * b @ gram @ b
    error = np.abs(y - gram @ b - found.intercept)
    primal = 0.5 * b @ gram @ b + cost @ np.maximum(error - 0.1, 0.0)
    assert_allclose([found.dual_objective, found.primal_objective], [value, primal])
    assert_allclose(found.duality_gap, primal - value)


def test_float32_steps_end_in_a_float64_certificate(monkeypatch):
    x, sign = classes(300)
    problem = SupportProblem.of_classes(SquaredExponential(1.0), x, sign, np.full(300, 1e4))
    found = support_vectors(problem, SupportSettings(1e-3))
    gradient = sign - problem.kernel(x) @ found.dual
    rise = gradient[found.dual < problem.high].max()
    fall = gradient[found.dual > problem.low].min()
    assert_allclose(found.residual, rise - fall, atol=1e-8)
    assert rise - fall <= 1e-3
    monkeypatch.setattr(module, "NARROW", np.inf)
    wide = support_vectors(problem, SupportSettings(1e-3))
    assert_allclose(found.dual_objective, wide.dual_objective, rtol=1e-5)


@pytest.mark.parametrize("kernel", [SquaredExponential(1.0), Matern52(1.0)])
def test_a_cache_of_few_rows_changes_nothing(kernel):
    x, sign = classes(1100)
    problem = SupportProblem.of_classes(kernel, x, sign, np.ones(1100))
    whole = support_vectors(problem, SupportSettings(1e-4))
    few = support_vectors(problem, SupportSettings(1e-4, n_bytes=1e6))
    assert_allclose(few.dual_objective, whole.dual_objective, rtol=1e-7)
    assert few.residual <= 1e-4
    assert_allclose(few.score, whole.score, atol=1e-3)


@pytest.mark.parametrize("is_number", [False, True])
@pytest.mark.parametrize("kernel", [SquaredExponential(1.0), Matern52(1.0) + White(0.1)])
def test_multipliers_left_out_for_a_while_end_where_they_belong(is_number, kernel, monkeypatch):
    monkeypatch.setattr(module, "first_steps", lambda *arguments: (0, 0.0))
    cost = np.random.default_rng(2).uniform(0.5, 2.0, size=500)
    problem = SupportProblem.of_classes(kernel, *classes(500), cost)
    if is_number:
        problem = SupportProblem.of_numbers(kernel, *numbers(500), cost, 0.1)
    whole = support_vectors(problem, SupportSettings(1e-4))
    rounds = []
    plain = module._Climb._round

    def noted(climb, problem, held, active, *rest):
        rounds.append(len(active))
        return plain(climb, problem, held, active, *rest)

    monkeypatch.setattr(module, "ALL_AT_ONCE", 64)
    monkeypatch.setattr(module._Climb, "_round", noted)
    found = support_vectors(problem, SupportSettings(1e-4, n_bytes=3e5))
    assert rounds[0] == 500
    assert min(rounds) < 0.7 * 500
    assert found.residual <= 1e-4
    assert_allclose(found.dual_objective, whole.dual_objective, rtol=1e-7)
    gradient = problem.outcome - problem.kernel(problem.x) @ found.dual
    up = gradient - np.where(found.dual < 0, -problem.epsilon, problem.epsilon)
    down = gradient - np.where(found.dual > 0, problem.epsilon, -problem.epsilon)
    violation = up[found.dual < problem.high].max() - down[found.dual > problem.low].min()
    assert_allclose(found.residual, max(violation, 0.0), atol=1e-10)


def narrow_start(problem, few):
    """Multipliers and gradient in float32 after the first steps, steps taken, and the error."""
    n = len(problem.x)
    dual, gradient = np.zeros(n), problem.outcome.astype(np.float32)
    n_steps, error = first_steps(
        kernel_values(problem.kernel, problem.x), dual,
        (problem.low, problem.high, problem.epsilon), gradient, 1e-6, (1e-3, few),
    )  # fmt: skip
    return dual, gradient, n_steps, error


@pytest.mark.parametrize("is_number", [False, True])
@pytest.mark.parametrize("n", [65, 700, 2600])
def test_first_steps_gain_most_of_the_objective_and_know_the_gradient(n, is_number):
    cost = np.random.default_rng(n).uniform(0.5, 2.0, size=n)
    kernel = 1.5 * SquaredExponential(1.0)
    problem = SupportProblem.of_classes(kernel, *classes(n), cost)
    if is_number:
        problem = SupportProblem.of_numbers(kernel, *numbers(n), cost, 0.1)
    dual, gradient, n_steps, error = narrow_start(problem, n // 3)
    assert n_steps > 0
    assert abs(dual.sum()) < 1e-9
    assert np.all((problem.low <= dual) & (dual <= problem.high))
    exact = problem.outcome - kernel(problem.x) @ dual
    assert_allclose(gradient, exact, atol=1e-4 * (1.0 + np.abs(exact).max()))
    assert np.abs(gradient - exact).max() <= error + 1e-7 * np.abs(problem.outcome).max()
    value = problem.outcome @ dual - problem.epsilon * np.abs(dual).sum()
    best = support_vectors(problem).dual_objective
    least = 0.4 if is_number else 0.9
    assert least * best < value - 0.5 * dual @ (problem.outcome - exact) <= best


def test_first_steps_leave_few_multipliers_to_move():
    problem = SupportProblem.of_classes(SquaredExponential(1.0), *classes(2600), np.ones(2600))
    dual, gradient, *_ = narrow_start(problem, 400)
    rise, fall = gradient[dual < problem.high].max(), gradient[dual > problem.low].min()
    is_left = (gradient > fall) & (dual < problem.high)
    is_left |= (gradient < rise) & (dual > problem.low)
    assert 0 < np.count_nonzero(is_left) <= 400


def certificate(problem, found):
    """Residual, intercept and gap by their definitions, from scores in float64."""
    gradient = problem.outcome - problem.kernel(problem.x) @ found.dual
    kink, sign = problem.epsilon, np.sign(found.dual)
    rise = (gradient - np.where(sign < 0, -kink, kink))[found.dual < problem.high].max()
    fall = (gradient - np.where(sign > 0, kink, -kink))[found.dual > problem.low].min()
    free = (sign != 0) & (found.dual < problem.high) & (found.dual > problem.low)
    level = np.clip((gradient - kink * sign)[free].mean(), *sorted([rise, fall]))
    away, squared = gradient - level, found.dual @ (problem.outcome - gradient)
    loss = problem.high @ np.maximum(away - kink, 0.0)
    loss -= problem.low @ np.maximum(-away - kink, 0.0)
    value = problem.outcome @ found.dual - kink * np.abs(found.dual).sum()
    return [max(rise - fall, 0.0), level, squared + loss - value]


@pytest.mark.parametrize("distance", [0.0, 300.0])
@pytest.mark.parametrize("is_number", [False, True])
def test_float32_scores_stand_only_where_no_certificate_depends_on_them(
    distance, is_number, monkeypatch
):
    """Clusters that lie hundreds of length scales apart leave float32 hardly a digit."""
    monkeypatch.setattr(module, "ALL_AT_ONCE", 64)
    n = 1500
    x, sign = classes(n, d=2)
    _, y = numbers(n)
    x = x + distance * (np.arange(n) % 3 - 1.0)[:, None]
    problem = SupportProblem.of_classes(SquaredExponential(1.0), x, sign, np.ones(n))
    if is_number:
        problem = SupportProblem.of_numbers(SquaredExponential(1.0), x, y, np.ones(n), 0.3)
    found = support_vectors(problem)
    assert found.residual <= 1e-3
    exact = problem.kernel(x) @ found.dual
    says = [found.residual, found.intercept, found.duality_gap]
    assert_allclose(says, certificate(problem, found), rtol=1e-9, atol=1e-9)
    used = found.dual != 0.0
    assert_allclose(found.score[used], exact[used], atol=1e-11)
    bound = kernel_values(problem.kernel, x).moves_error(found.dual[used])
    assert np.abs(found.score - exact).max() <= bound
    n_rough = np.count_nonzero(np.abs(found.score - exact) > 1e-8)
    assert n_rough == 0 if distance else n_rough > 100


@pytest.mark.parametrize("is_number", [False, True])
@pytest.mark.parametrize("n_at_once", [200, 700])
def test_scores_kept_from_the_steps_are_as_far_off_as_was_said(
    n_at_once, is_number, monkeypatch
):
    monkeypatch.setattr(module, "ALL_AT_ONCE", n_at_once)
    problem = SupportProblem.of_classes(SquaredExponential(1.0), *classes(1500), np.ones(1500))
    if is_number:
        y = numbers(1500)[1]
        problem = SupportProblem.of_numbers(
            problem.kernel, problem.x, y, np.full(1500, 3.0), 0.2
        )
    off, bounds, plain = [], [], module._telling_score

    def noted(problem, dual, values, near, error):
        exact, is_free = problem.kernel(problem.x) @ dual, dual == 0.0
        off.append(np.abs(near - exact)[is_free])
        bounds.append(error[is_free])
        return plain(problem, dual, values, near, error)

    monkeypatch.setattr(module, "_telling_score", noted)
    found = support_vectors(problem)
    assert found.residual <= 1e-3
    is_known = np.isfinite(bounds[0])
    assert np.count_nonzero(is_known) > 100
    assert np.all(off[0][is_known] <= bounds[0][is_known])


@pytest.mark.parametrize("spread", [0.1, 1.0, 10.0, 300.0])
def test_sums_in_float32_are_as_far_off_as_was_said(spread):
    rng = np.random.default_rng(3)
    x = spread * rng.normal(size=(700, 6))
    weight = rng.normal(size=700)
    values = kernel_values(2.5 * SquaredExponential(1.0), x)
    places = np.arange(700)
    exact = values.own_sums(weight)
    error = np.abs(values.moves(places, places, weight, np.float32) - exact).max()
    assert error <= values.moves_error(weight)


@pytest.mark.parametrize("n_bytes", [1, 3072, 4096])
def test_a_cache_of_two_rows_is_enough(n_bytes):
    x, sign = classes(200)
    problem = SupportProblem.of_classes(SquaredExponential(1.0), x, sign, np.ones(200))
    few = support_vectors(problem, SupportSettings(1e-3, n_bytes=n_bytes))
    whole = support_vectors(problem)
    assert few.residual <= 1e-3
    assert_allclose(few.dual_objective, whole.dual_objective, rtol=1e-5)


@pytest.mark.parametrize("n_chosen", [1, 2, 8])
def test_rows_to_evaluate_are_the_one_needed_and_the_most_urgent_others(n_chosen):
    rng = np.random.default_rng(1)
    gradient = rng.normal(size=(6, 64)).astype(np.float32)
    up, down, present = np.zeros((3, 6, 64), dtype=np.float32)
    middle = (gradient.max() + gradient.min()) / 2.0
    urgency = np.abs(gradient - middle)
    best = urgency.argmax(axis=1) + 64 * np.arange(6)
    best = best[np.argsort(-urgency.ravel()[best])]
    for row in (int(best[2]), 133):
        chosen = np.full(n_chosen, -1, dtype=np.intp)
        n = loops().wanted_rows(present, gradient, up, down, row, chosen)
        others = [entry for entry in best if entry != row][: n_chosen - 1]
        assert chosen[:n].tolist() == [row, *others]


def test_one_row_far_away_leaves_the_others_their_digits():
    x, sign = classes(3000, d=5)
    x[0] = 1e7
    for far in (1e7, 1e20, 1e160):
        x[0] = far
        problem = SupportProblem.of_classes(SquaredExponential(1.5), x, sign, np.ones(3000))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = support_vectors(problem)
        assert found.residual <= 1e-3
        near = kernel_values(problem.kernel, x[1:])
        score = near.sums(x[1:], found.dual[1:])
        assert_allclose(found.score[1:], score, atol=1e-3)


def test_an_optimum_within_wider_limits_is_kept_along_a_path():
    x, sign = classes(400)
    apart = x + np.outer(sign, [4.0, 0.0, 0.0])
    problem = SupportProblem.of_classes(SquaredExponential(2.0), apart, sign, np.ones(400))
    path = support_path(problem, [10.0, 100.0, 1000.0])
    assert np.abs(path[0].dual).max() < 10.0
    assert path[0].n_steps > 0
    assert [one.n_steps for one in path[1:]] == [0, 0]


def test_a_hard_margin_whose_tolerance_is_out_of_reach_is_no_overlap():
    x, sign = classes(100)
    problem = SupportProblem.of_classes(SquaredExponential(0.5), x, sign, np.full(100, np.inf))
    found = support_vectors(problem, SupportSettings(1e-15))
    assert found.residual < 1e-9
    assert (sign * (found.score + found.intercept) > 1.0 - 1e-6).all()


def test_a_path_of_costs_is_the_same_as_solving_anew_in_fewer_steps():
    x, sign = classes(400)
    problem = SupportProblem.of_classes(SquaredExponential(1.0), x, sign, np.ones(400))
    factors = [0.5, 0.7, 1.0, 1.4, 2.0]
    settings = SupportSettings(1e-6)
    path = support_path(problem, factors, settings)
    anew = [support_vectors(problem.with_limits(f), settings) for f in factors]
    assert_allclose(
        [p.dual_objective for p in path], [a.dual_objective for a in anew], rtol=1e-9
    )
    for warm, cold in zip(path, anew, strict=True):
        assert_allclose(warm.score + warm.intercept, cold.score + cold.intercept, atol=1e-4)
    assert sum(p.n_steps for p in path[1:]) < 0.8 * sum(a.n_steps for a in anew[1:])


def test_a_solution_is_kept_when_it_is_started_from():
    x, y = numbers(100)
    problem = SupportProblem.of_numbers(SquaredExponential(1.0), x, y, np.ones(100), 0.1)
    first = support_vectors(problem, EXACT)
    again = support_vectors(problem, EXACT, start=first)
    assert again.n_steps == 0
    assert_allclose(again.dual, first.dual, atol=1e-12)


@pytest.mark.parametrize("is_number", [False, True])
def test_many_linear_rows_by_coordinates_reach_the_optimum_of_pairs(is_number, monkeypatch):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2500, 4)) + 3.0
    y = x @ [1.0, -1.0, 0.5, 0.0] - 2.0 + rng.normal(size=2500)
    cost = rng.uniform(0.05, 0.2, size=2500)
    kernel = 0.5 * Linear((1.0, 2.0, 1.0, 0.5))
    problem = SupportProblem.of_classes(kernel, x, np.where(y > 0, 1.0, -1.0), cost)
    if is_number:
        problem = SupportProblem.of_numbers(kernel, x, y, cost, 0.3)
    found = support_vectors(problem, SupportSettings(1e-4))
    monkeypatch.setattr(module, "MANY_ROWS", 10_000)
    pairs = support_vectors(problem, SupportSettings(1e-4))
    assert (found.method, pairs.method) == ("coordinates", "pairs")
    assert_allclose(found.dual_objective, pairs.dual_objective, rtol=1e-6)
    assert_allclose(found.score + found.intercept, pairs.score + pairs.intercept, atol=2e-3)
    assert found.residual <= 1e-4
    assert abs(found.dual.sum()) < 1e-9


def test_white_noise_softens_the_margin_by_the_squares_of_slack():
    x, sign = classes(60)
    problem = SupportProblem.of_classes(
        SquaredExponential(1.0) + White(0.5), x, sign, np.full(60, 1e6)
    )
    found = support_vectors(problem, EXACT)
    gram = SquaredExponential(1.0)(x) + 0.5 * np.eye(60)
    assert_allclose(found.score, gram @ found.dual, atol=1e-9)
    slack = 1.0 - sign * (SquaredExponential(1.0)(x) @ found.dual + found.intercept)
    assert_allclose(found.dual * sign, np.maximum(slack, 0.0) / 0.5, atol=1e-6)


@pytest.mark.parametrize("spread", [1e2, 1e3, 1e4])
def test_a_wide_column_does_not_hide_a_hard_margin(spread):
    rng = np.random.default_rng(0)
    narrow = np.append(rng.uniform(0.0, 0.2, 30), rng.uniform(0.8, 1.0, 30))
    x, sign = np.column_stack([narrow, rng.normal(0, spread, 60)]), np.repeat([-1.0, 1.0], 30)
    problem = SupportProblem.of_classes(Linear(), x, sign, np.full(60, np.inf))
    found = support_vectors(problem)
    assert found.residual <= 1e-3
    assert_allclose(found.margin, maximum_margin_plane(x, sign).margin, rtol=1e-3)


def test_a_hard_margin_of_a_millionth_is_found_and_one_of_rounding_refused():
    x, sign = np.array([[0.0], [1.0], [1.0 + 1e-6], [2.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    problem = SupportProblem.of_classes(Linear(), x, sign, np.full(4, np.inf))
    assert_allclose(support_vectors(problem).margin, 5e-7, rtol=1e-6)
    x, sign = classes(60, d=2)
    sign = np.random.default_rng(0).permutation(sign)
    hard = SupportProblem.of_classes(SquaredExponential(3.0), x, sign, np.full(60, np.inf))
    with pytest.raises(Inseparable, match="apart by more than rounding"):
        support_vectors(hard)


def test_steps_in_float32_leave_a_nearly_singular_kernel_to_others():
    x, sign = classes(200, d=5)
    problem = SupportProblem.of_classes(SquaredExponential(6.0), x, sign, np.full(200, 1e5))
    found = support_vectors(problem)
    assert found.status.has_converged
    assert found.residual <= 1e-3
    assert found.n_steps < 300 * 200


@pytest.mark.parametrize("unit", [1.0, 1e3, 1e4])
def test_units_of_a_column_change_neither_the_end_nor_the_work(unit):
    x, sign = classes(2_500)
    x = x * [1.0, unit, 1.0]
    problem = SupportProblem.of_classes(Linear(), x, sign, np.full(2_500, 10.0))
    found = support_vectors(problem)
    assert found.status.has_converged
    assert found.duality_gap <= 1e-4 * found.dual_objective
    few = SupportProblem.of_classes(Linear(), x[:40], sign[:40], np.full(40, 10.0))
    assert support_vectors(few).status.has_converged


def test_a_hard_margin_refuses_classes_that_overlap_and_says_by_how_much():
    problem = SupportProblem.of_classes(Linear(), LINE, SIDE, np.full(6, np.inf))
    with pytest.raises(Inseparable, match=r"total slack of 3 is .* 2 of 6 distinct rows"):
        support_vectors(problem)
    same = SupportProblem.of_classes(
        SquaredExponential(1.0), np.zeros((2, 1)), np.array([-1.0, 1.0]), np.full(2, np.inf)
    )
    with pytest.raises(Inseparable, match="Pass a finite C"):
        support_vectors(same)


def test_a_hard_margin_is_the_limit_of_soft_ones():
    x, sign = classes(60)
    problem = SupportProblem.of_classes(SquaredExponential(0.5), x, sign, np.full(60, np.inf))
    found = support_vectors(problem, SupportSettings(1e-7))
    largest = np.abs(found.dual).max()
    soft = SupportProblem.of_classes(
        SquaredExponential(0.5), x, sign, np.full(60, 2.0 * largest)
    )
    assert_allclose(
        support_vectors(soft, SupportSettings(1e-7)).dual_objective, found.dual_objective
    )
    assert (sign * (found.score + found.intercept)).min() > 1.0 - 1e-6


def test_a_function_that_is_no_kernel_is_refused():
    x, sign = classes(40)
    for shape in (lambda X, Z: -X @ Z.T, lambda X, Z: (X @ Z.T) ** 2 - 3.0 * X @ Z.T):
        problem = SupportProblem.of_classes(FunctionKernel(shape), x, sign, np.ones(40))
        with pytest.raises(NotPositiveDefinite, match="must be positive semidefinite"):
            support_vectors(problem)


def test_steps_that_run_out_are_reported():
    x, sign = classes(200)
    problem = SupportProblem.of_classes(SquaredExponential(1.0), x, sign, np.full(200, 10.0))
    found = support_vectors(problem, SupportSettings(1e-9, max_steps=20))
    assert found.n_steps == 20
    assert not found.status.has_converged
    assert found.residual > 1e-9


def test_steps_of_all_rounds_together_are_limited():
    """Rounds in float32 come first; each begins from an exact gradient."""
    x, sign = classes(200)
    problem = SupportProblem.of_classes(SquaredExponential(1.0), x, sign, np.full(200, 1e3))
    whole = support_vectors(problem, SupportSettings(3e-5)).n_steps
    for most in (whole // 3, whole - 1):
        found = support_vectors(problem, SupportSettings(3e-5, max_steps=most))
        assert found.n_steps == most
        assert not found.status.has_converged
