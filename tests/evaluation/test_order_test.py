import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from credo.evaluation.order_test import kruskal_p, runs_p, spearman_p, stated_p

RNG = np.random.default_rng(0)


def test_drift_of_classes_is_the_test_of_kruskal_and_wallis():
    codes = RNG.integers(0, 3, 50)
    expected = stats.kruskal(*[np.flatnonzero(codes == k) for k in range(3)]).pvalue
    assert_allclose(kruskal_p(codes), expected, rtol=1e-9)


def test_drift_of_numbers_is_the_correlation_of_spearman():
    y = np.round(RNG.normal(size=40), 1)
    assert_allclose(spearman_p(y), stats.spearmanr(y, np.arange(40)).pvalue, rtol=1e-9)


@pytest.mark.parametrize("counts", [(30, 20), (15, 25, 20), (5, 45)])
def test_number_of_runs_has_the_moments_of_shuffled_rows(counts):
    codes = np.repeat(np.arange(len(counts)), counts)
    shuffled = np.array([RNG.permutation(codes) for _ in range(4000)])
    n_runs = 1 + (shuffled[:, 1:] != shuffled[:, :-1]).sum(axis=1)
    p = np.array([runs_p(row) for row in shuffled[:1500]])
    assert (p < 0.05).mean() < 0.07
    # The p-value of one standard deviation, half a run off, tells mean and variance.
    for row in shuffled[:5]:
        runs = 1 + (row[1:] != row[:-1]).sum()
        z = max(abs(runs - n_runs.mean()) - 0.5, 0.0) / n_runs.std()
        assert_allclose(runs_p(row), 2 * stats.norm.sf(z), atol=0.06)


@pytest.mark.parametrize("counts", [(3, 3), (4, 2), (2, 2, 2), (3, 1, 2)])
def test_no_p_value_is_smaller_than_the_share_of_arrangements_as_extreme(counts):
    codes = np.repeat(np.arange(len(counts)), counts)
    orders = np.array(sorted(set(itertools.permutations(codes))))
    n_runs = 1 + (orders[:, 1:] != orders[:, :-1]).sum(axis=1)
    assert runs_p(codes) >= np.mean(n_runs == n_runs.min()) - 1e-12
    assert min(kruskal_p(order) for order in orders) >= 2 / len(orders) - 1e-12
    numbers = np.array(list(itertools.permutations(range(5))), dtype=float)
    p = np.array([spearman_p(row) for row in numbers])
    assert_allclose(p.min(), 2 / 120)


def test_ten_sorted_classes_are_as_probable_as_their_arrangements_allow():
    codes = np.repeat(np.arange(10), 3)
    n_orders = math.factorial(30) / 6**10
    assert_allclose(runs_p(codes), math.factorial(10) / n_orders, rtol=1e-9)
    assert kruskal_p(codes) > math.factorial(10) / n_orders
    assert stated_p(runs_p(codes), 1) == "p < 1e-6"


def test_alternating_rows_are_as_suspicious_as_sorted_ones():
    assert runs_p(np.arange(60) % 2) < 1e-6
    assert runs_p(np.repeat([0, 1], 30)) < 1e-6
    assert kruskal_p(np.arange(60) % 2) > 0.5
    assert runs_p(np.zeros(10, dtype=int)) == 1.0
