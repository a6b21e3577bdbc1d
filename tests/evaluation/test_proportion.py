import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from credo.evaluation import proportion_interval


@pytest.mark.parametrize("n", [1, 7, 40])
@pytest.mark.parametrize("coverage", [0.5, 0.95])
def test_the_ends_are_where_a_tail_of_the_binomial_runs_out(n, coverage):
    hits = np.arange(n + 1)
    low, high = proportion_interval(hits, n, coverage).T
    tail = 0.5 * (1 - coverage)
    assert_allclose(stats.binom.sf(hits[1:] - 1, n, low[1:]), tail, rtol=1e-8)
    assert_allclose(stats.binom.cdf(hits[:-1], n, high[:-1]), tail, rtol=1e-8)
    assert low[0] == 0.0
    assert high[-1] == 1.0


def test_it_holds_the_truth_at_least_as_often_as_it_claims():
    n, hits = 25, np.arange(26)
    low, high = proportion_interval(hits, n, 0.9).T
    for truth in np.linspace(0.01, 0.99, 99):
        inside = (low <= truth) & (truth <= high)
        assert stats.binom.pmf(hits, n, truth)[inside].sum() >= 0.9


def test_it_agrees_with_scipy():
    ours = proportion_interval(3, 11, 0.8)
    theirs = stats.binomtest(3, 11).proportion_ci(0.8, method="exact")
    assert_allclose(ours, [theirs.low, theirs.high])


@pytest.mark.parametrize(("n_hits", "n"), [(3, 2), (0, 0)])
def test_more_hits_than_trials_are_refused(n_hits, n):
    with pytest.raises(ValueError, match="n_hits must not exceed n"):
        proportion_interval(n_hits, n)
