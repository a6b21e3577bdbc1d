from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.inference.margin.zero_one_search import error_cost, search_fewest_errors


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
