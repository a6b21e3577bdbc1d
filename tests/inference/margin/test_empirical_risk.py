import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVC

from credo.decisions import ExponentialMargin, HingeMargin, LogisticMargin, QuadraticMargin
from credo.inference.margin.empirical_risk import RiskProblem, minimize_risk
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
