import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special

from credo.numerics.linear.grouped import (
    group_counts,
    group_log_factorials,
    group_moments,
    group_scatter_matrices,
    group_totals,
    share_scatters,
)

RNG = np.random.default_rng(0)
X = np.where(RNG.uniform(size=(200, 3)) < 0.1, np.nan, RNG.integers(0, 5, (200, 3)))
LABEL = RNG.integers(0, 4, 200)
WEIGHT = RNG.uniform(0, 2, 200)


def by_masks(f):
    """Return f(rows, weights) of each of five groups, the obvious way; the last is empty."""
    return np.array([f(X[g == LABEL], WEIGHT[g == LABEL, None]) for g in range(5)])


def total(x, w):
    return np.nansum(w * ~np.isnan(x), axis=0)


def test_totals_match_masks():
    weight, value = group_totals(X, LABEL, 5, WEIGHT)
    assert_allclose(weight, by_masks(total))
    assert_allclose(value, by_masks(lambda x, w: np.nansum(w * x, axis=0)))


def test_log_factorials_match_masks():
    weight, value, log_factorial = group_log_factorials(X, LABEL, 5, WEIGHT)
    assert_allclose(weight, by_masks(total))
    assert_allclose(value, by_masks(lambda x, w: np.nansum(w * x, axis=0)))
    oracle = by_masks(lambda x, w: np.nansum(w * special.gammaln(x + 1), axis=0))
    assert_allclose(log_factorial, oracle)


def test_counts_match_masks():
    for state in range(5):
        oracle = by_masks(lambda x, w, s=state: (w * (x == s)).sum(axis=0))
        assert_allclose(group_counts(X, LABEL, 5, WEIGHT, 5)[..., state], oracle)


def test_moments_match_masks():
    weight, mean, scatter = group_moments(X, LABEL, 5, WEIGHT)
    for g in range(4):
        x, w = X[g == LABEL], WEIGHT[g == LABEL, None]
        oracle = np.nansum(w * x, axis=0) / total(x, w)
        assert_allclose(mean[g], oracle)
        assert_allclose(scatter[g], np.nansum(w * (x - oracle) ** 2, axis=0))
    assert_allclose((weight[4], mean[4], scatter[4]), 0.0)


@pytest.mark.parametrize("n_groups", [5, 70_000])
def test_scatter_matrices_match_numpy_covariance(n_groups):
    x = RNG.normal(size=(200, 3)) + 1e4
    weight, mean, scatter = group_scatter_matrices(x, LABEL, n_groups, WEIGHT)
    for g in range(4):
        rows, w = x[g == LABEL], WEIGHT[g == LABEL]
        assert_allclose(weight[g], w.sum())
        assert_allclose(mean[g], np.average(rows, axis=0, weights=w))
        assert_allclose(scatter[g] / w.sum(), np.cov(rows.T, aweights=w, bias=True), rtol=1e-7)
    assert_allclose(scatter[4], 0.0)


def test_arrays_of_any_layout_and_type_are_welcome():
    plain = group_totals(X, LABEL, 5, WEIGHT)
    other = group_totals(np.asfortranarray(X), LABEL.astype(np.int8), 5, WEIGHT.tolist())
    assert_allclose(other[1], plain[1])


def test_numba_loads_on_the_first_grouped_pass_and_not_before():
    script = (
        "import sys, numpy as np\n"
        "from credo.families import NormalStatistics, NormalInverseWishart\n"
        "NormalStatistics.of([[1.0]])\n"
        "NormalStatistics.by_group([[1.0]], [0], 1)\n"
        "print([name in sys.modules for name in ('numba', 'scipy.stats', 'sklearn')])\n"
        "NormalStatistics.by_group([[1.0], [2.0]], [0, 1], 2)\n"
        "print('numba' in sys.modules)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert run.stdout.split("\n")[:2] == ["[False, False, False]", "True"]


def test_one_group_has_the_moments_of_all_rows_and_those_of_the_loop():
    alone = group_moments(X, np.zeros(200, dtype=np.intp), 1, WEIGHT)
    beside_an_empty_one = group_moments(X, np.zeros(200, dtype=np.intp), 2, WEIGHT)
    for ours, theirs in zip(alone, beside_an_empty_one, strict=True):
        assert_allclose(ours, theirs[:1], rtol=1e-12)


@pytest.mark.parametrize("offset", [0.0, 1e7])
def test_scatters_of_shares_are_those_of_weighted_rows(offset):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 3)) @ rng.normal(size=(3, 3)) + offset
    share = rng.dirichlet(np.ones(4), 500)
    weight, mean, scatter = share_scatters(x, share)
    for k in range(4):
        assert_allclose(weight[k], share[:, k].sum())
        center = np.average(x, axis=0, weights=share[:, k])
        assert_allclose(mean[k], center, rtol=1e-12, atol=1e-14)
        away = x - center
        expected = (away * share[:, k, None]).T @ away
        assert_allclose(scatter[k], expected, rtol=1e-7, atol=1e-7 * np.abs(expected).max())


def test_scatters_far_from_the_origin_are_left_to_others():
    x = np.concatenate([np.random.default_rng(0).normal(size=(9, 2)), [[1e7, 0.0]] * 3])
    x[-3:] += 1e-6 * np.arange(6.0).reshape(3, 2)
    is_far = (x[:, 0] > 10.0).astype(int)
    assert share_scatters(x, np.eye(2)[is_far]) is None
