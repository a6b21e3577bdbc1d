""""""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVC

from credo.decisions import ExponentialMargin, HingeMargin, LogisticMargin, QuadraticMargin
from credo.inference.margin.empirical_risk import (
    RiskProblem,
    error_cost,
    minimize_risk,
    search_fewest_errors,
)
from credo.numerics.optimize import check_gradient

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 4))
SIGN = np.where(X @ [1.0, -1.0, 0.5, 0.0] + 0.7 + RNG.normal(size=80) > 0, 1.0, -1.0)
WEIGHT = RNG.uniform(0.5, 2.0, 80)
SMOOTH = [LogisticMargin(), ExponentialMargin(), QuadraticMargin()]
# Soft-margin points on a line: rows 3 and 4 are on the wrong side of each other.
LINE = np.array([[-2.0], [-1.0], [0.5], [-0.5], [1.0], [2.0]])
LINE_SIGN = np.array([-1.0, -1.0, -1.0, 1.0, 1.0, 1.0])


def problem(loss, decay=0.5, penalty="ridge"):
    return RiskProblem(X, SIGN, WEIGHT, loss, decay, penalty)


@pytest.mark.parametrize("loss", SMOOTH, ids=str)
def test_gradient_and_hessian_match_differences(loss):
    at = np.array([0.3, -0.2, 0.1, 0.4, 0.2])
    task = problem(loss)
    assert check_gradient(task.value, task.gradient, at).error < 1e-6
    step = 1e-5
    found = [(task.gradient(at + step * e) - task.gradient(at - step * e)) for e in np.eye(5)]
    assert_allclose(task.hessian(at), np.array(found) / (2 * step), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("decay", [1e-3, 0.5, 20.0])
def test_logistic_ridge_is_the_logistic_regression_of_scikit_learn(decay):
    found = minimize_risk(problem(LogisticMargin(), decay))
    other = LogisticRegression(C=1 / decay, tol=1e-12, max_iter=10_000).fit(X, SIGN, WEIGHT)
    assert_allclose(found.weights, other.coef_[0], rtol=1e-5)
    assert_allclose(found.intercept, other.intercept_[0], rtol=1e-5)
    assert abs(found.gap) <= 1e-9 * found.value


@pytest.mark.parametrize("decay", [0.01, 3.0])
def test_quadratic_ridge_is_ridge_regression_on_signs(decay):
    found = minimize_risk(problem(QuadraticMargin(), decay))
    other = Ridge(alpha=decay / 2).fit(X, SIGN, WEIGHT)
    assert_allclose(np.append(found.weights, found.intercept), [*other.coef_, other.intercept_])


@pytest.mark.parametrize("decay", [0.01, 1.0, 30.0])
def test_hinge_ridge_is_the_support_vector_machine(decay):
    found = minimize_risk(problem(HingeMargin(), decay))
    other = SVC(kernel="linear", C=1 / decay, tol=1e-9).fit(X, SIGN, WEIGHT)
    least = problem(HingeMargin(), decay).value(np.append(other.coef_[0], other.intercept_))
    assert_allclose(found.value, least, rtol=1e-6)
    assert 0 <= found.gap <= 1e-6 * found.value
    assert_allclose(found.weights, other.coef_[0], atol=1e-3)


@pytest.mark.parametrize(
    ("cost", "slope", "objective"), [(0.5, 0.5, 1.875), (1.0, 1.0, 3.5), (10.0, 1.0, 30.5)]
)
def test_soft_margins_match_the_worked_example(cost, slope, objective):
    task = RiskProblem(LINE, LINE_SIGN, np.full(6, cost), HingeMargin(), 1.0)
    found = minimize_risk(task)
    assert_allclose(found.value, objective, rtol=1e-6)
    assert_allclose([found.weights[0], found.intercept], [slope, 0.0], atol=1e-4)


@pytest.mark.parametrize("loss", SMOOTH, ids=str)
def test_smooth_lasso_satisfies_its_optimality_conditions(loss):
    decay = 40.0 if isinstance(loss, QuadraticMargin) else 8.0
    task = problem(loss, decay, "lasso")
    found = minimize_risk(task)
    slope = task.gradient(np.append(found.weights, found.intercept))
    held = found.weights == 0
    assert held.any()
    assert not held.all()
    assert (np.abs(slope[:-1][held]) <= decay * (1 + 1e-6)).all()
    assert_allclose(slope[:-1][~held], -decay * np.sign(found.weights[~held]), rtol=1e-4)
    assert_allclose(slope[-1], 0.0, atol=1e-4)


@pytest.mark.parametrize("decay", [0.0, 5.0])
def test_hinge_lasso_is_never_beaten_by_a_general_search(decay):
    task = problem(HingeMargin(), decay, "lasso")
    found = minimize_risk(task)
    at = np.append(found.weights, found.intercept)
    assert_allclose(task.value(at), found.value)
    search = optimize.minimize(
        task.value, at + 0.05, method="Powell", options={"xtol": 1e-8, "ftol": 1e-12}
    )
    assert found.value <= search.fun + 1e-7
    nearby = at + 1e-3 * np.random.default_rng(1).normal(size=(200, 5))
    assert min(task.value(one) for one in nearby) >= found.value


def test_more_columns_than_rows_reach_the_same_minimum():
    wide = np.random.default_rng(2).normal(size=(12, 40))
    sign = np.where(np.arange(12) % 3 == 0, -1.0, 1.0)
    for loss in [LogisticMargin(), HingeMargin()]:
        task = RiskProblem(wide, sign, np.ones(12), loss, 2.0)
        found = minimize_risk(task)
        at = np.append(found.weights, found.intercept)
        assert_allclose(task.value(at), found.value)
        assert abs(found.gap) <= 1e-6 * found.value


def test_many_columns_take_another_method_to_the_same_place(monkeypatch):
    expected = minimize_risk(problem(LogisticMargin()))
    monkeypatch.setattr("credo.inference.margin.empirical_risk._MOST_FOR_NEWTON", 0)
    found = minimize_risk(problem(LogisticMargin()))
    assert_allclose(found.value, expected.value, rtol=1e-9)
    assert_allclose(found.weights, expected.weights, atol=1e-4)


def test_the_dual_value_is_below_every_risk():
    task = problem(LogisticMargin())
    slope = -task.loss.gradient(task.margins(np.array([0.1, 0.0, 0.2, 0.0, 0.0])))
    balance = float(task.weight * SIGN @ slope)
    heavier = (np.sign(balance) == SIGN) * slope
    slope = slope - heavier * abs(balance) / float(task.weight @ heavier)
    assert_allclose(task.weight * SIGN @ slope, 0.0, atol=1e-12)
    assert task.dual_value(slope) < minimize_risk(task).value


def fewest_in_the_plane(x, label, weight):
    """Return the least cost of any line, by trying all that pass close to two rows."""
    costs = [weight[label > 0].sum(), weight[label == 0].sum()]
    for i, j in combinations(range(len(x)), 2):
        along = x[j] - x[i]
        normal = np.array([-along[1], along[0]])
        for turn in (-1e-6, 1e-6):
            tilted = normal + turn * along
            for shift in (-1e-9, 1e-9):
                score = (x - (x[i] + x[j]) / 2) @ tilted + shift
                costs += [error_cost(s, label, weight) for s in (score, -score)]
    return min(costs)


@pytest.mark.parametrize("seed", range(6))
def test_the_search_finds_the_best_line_through_few_rows(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(14, 2))
    label = (x[:, 0] + rng.normal(size=14) > 0).astype(float)
    weight = rng.integers(1, 4, 14).astype(float)
    design = np.column_stack([x, np.ones(14)])
    _, cost = search_fewest_errors(design, label, weight, [np.array([1.0, 0.0, 0.0])], rng, 50)
    assert_allclose(cost, fewest_in_the_plane(x, label, weight))


@pytest.mark.parametrize("seed", range(5))
def test_the_answer_costs_what_it_says_and_no_more_than_any_start(seed):
    rng = np.random.default_rng(seed)
    design = np.column_stack([rng.normal(size=(60, 5)), np.ones(60)])
    label, weight = rng.integers(0, 2, 60).astype(float), rng.exponential(size=60)
    starts = list(rng.normal(size=(3, 6)))
    found, cost = search_fewest_errors(design, label, weight, starts, rng)
    assert_allclose(error_cost(design @ found, label, weight), cost)
    assert cost <= min(error_cost(design @ s, label, weight) for s in starts)


def test_a_score_of_zero_is_the_negative_side():
    assert error_cost(np.zeros(3), np.array([1.0, 1.0, 0.0]), np.ones(3)) == 2.0


def test_an_outlier_that_misleads_convex_losses_costs_one_error_only():
    x = np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0, -60.0])
    label = np.array([0.0, 0, 0, 1, 1, 1, 1])
    design = np.column_stack([x, np.ones(7)])
    least_squares = np.linalg.lstsq(design, 2 * label - 1, rcond=None)[0]
    assert error_cost(design @ least_squares, label, np.ones(7)) > 1
    rng = np.random.default_rng(0)
    assert search_fewest_errors(design, label, np.ones(7), [least_squares], rng)[1] == 1.0
