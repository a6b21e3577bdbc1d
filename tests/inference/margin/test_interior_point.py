import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.features import SquaredExponential
from credo.inference.margin.interior_point import (
    balance,
    balanced,
    interior_multipliers,
    narrow_factor,
)
from credo.numerics.optimize import QuadraticProgram


def by_quadratic_program(gram, outcome, low, high, epsilon):
    n = len(outcome)
    both = np.block([[gram, -gram], [-gram, gram]])
    slope = np.concatenate([-outcome, outcome]) + epsilon
    sum_is_zero = np.repeat([1.0, -1.0], n)[None], [0.0]
    limits = np.zeros(2 * n), np.append(high, -low)
    return -QuadraticProgram(both, slope, sum_is_zero, bounds=limits).minimum().value


def objective(factor, outcome, epsilon, dual):
    weights = factor.T @ dual
    return float(outcome @ dual - epsilon * np.abs(dual).sum() - 0.5 * weights @ weights)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("cost", [0.1, 10.0, 1e4])
@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_multipliers_have_the_dual_objective_of_a_general_program(seed, cost, epsilon):
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(25, 3)) * [1.0, 10.0, 0.1]
    score = factor[:, 0] + 0.5 * rng.normal(size=25)
    outcome = score if epsilon else np.where(score > 0, 1.0, -1.0)
    weight = cost * rng.uniform(0.5, 2.0, size=25)
    low, high = -weight, weight
    if not epsilon:
        low, high = np.minimum(weight * outcome, 0.0), np.maximum(weight * outcome, 0.0)
    # Scores of multipliers of 1e4 and rows of length 10 are rounded by about 1e-9.
    tolerance = 1e-9 * max(cost, 100.0)
    dual, _ = interior_multipliers(factor, outcome, low, high, epsilon, tolerance)
    assert np.all((low <= dual) & (dual <= high))
    assert abs(dual.sum()) <= 1e-12 * np.abs(dual).sum()
    rise, fall, _ = balance(dual, low, high, outcome - factor @ (factor.T @ dual), epsilon)
    assert rise - fall <= tolerance
    best = by_quadratic_program(factor @ factor.T, outcome, low, high, epsilon)
    assert_allclose(objective(factor, outcome, epsilon, dual), best, rtol=1e-7)


def test_most_multipliers_are_at_zero_or_at_a_limit_exactly():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 2))
    sign = np.where(x[:, 0] + 0.3 * rng.normal(size=300) > 0, 1.0, -1.0)
    low, high = np.minimum(0.1 * sign, 0.0), np.maximum(0.1 * sign, 0.0)
    dual, n_steps = interior_multipliers(x, sign, low, high, 0.0, 1e-6)
    assert np.count_nonzero((dual != 0.0) & (dual != low) & (dual != high)) <= 4
    assert n_steps <= 40


def test_a_factor_has_as_few_columns_as_an_error_allows():
    x = np.random.default_rng(0).normal(size=(80, 2))
    gram = SquaredExponential(3.0)(x)
    exact, rough = narrow_factor(gram), narrow_factor(gram, 1e-4)
    assert_allclose(exact @ exact.T, gram, atol=1e-13)
    assert rough.shape[1] < exact.shape[1] < 80
    assert_allclose(rough @ rough.T, gram, atol=1.1e-4)


def test_multipliers_are_balanced_without_waking_those_at_zero():
    dual = np.array([0.0, 0.5, -0.2, 1.0, -1.0])
    found = balanced(dual, np.full(5, -1.0), np.full(5, 1.0))
    assert abs(found.sum()) < 1e-15
    assert found[0] == 0.0
