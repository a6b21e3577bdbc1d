import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from credo.evaluation.order_test import kruskal_p, runs_p, spearman_p

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


def test_alternating_rows_are_as_suspicious_as_sorted_ones():
    assert runs_p(np.arange(60) % 2) < 1e-6
    assert runs_p(np.repeat([0, 1], 30)) < 1e-6
    assert kruskal_p(np.arange(60) % 2) > 0.5
    assert runs_p(np.zeros(10, dtype=int)) == 1.0
