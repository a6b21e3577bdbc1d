import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from credo.evaluation import proportion_interval
from credo.validation.proportion import share_interval


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


def test_eighteen_in_a_hundred_has_the_normal_interval_of_the_text():
    low, high = proportion_interval(18, 100, 0.95, method="normal")
    assert_allclose([low, high], [0.18 - 0.0752993574, 0.18 + 0.0752993574], atol=1e-9)
    # With z rounded to 1.96, as texts do, the half-width is 0.0753007410.
    assert_allclose(0.5 * (high - low) * 1.96 / 1.959963985, 0.0753007410, atol=1e-9)


@pytest.mark.parametrize("hits", [0, 3, 11])
def test_the_wilson_interval_agrees_with_scipy(hits):
    theirs = stats.binomtest(hits, 11).proportion_ci(0.8, method="wilson")
    ours = proportion_interval(hits, 11, 0.8, method="wilson")
    assert_allclose(ours, [theirs.low, theirs.high], atol=1e-12)


def test_the_wilson_interval_is_right_on_average_and_the_normal_one_is_not():
    n, hits, truths = 25, np.arange(26), np.linspace(0.02, 0.98, 49)
    mean = {}
    for method in ("exact", "wilson", "normal"):
        low, high = proportion_interval(hits, n, 0.9, method).T
        inside = (low <= truths[:, None]) & (truths[:, None] <= high)
        mean[method] = (stats.binom.pmf(hits, n, truths[:, None]) * inside).sum(axis=1).mean()
    assert abs(mean["wilson"] - 0.9) < 0.01
    assert mean["normal"] < 0.86 < 0.92 < mean["exact"]


def test_counts_of_weighted_rows_need_not_be_whole_and_none_say_nothing():
    assert_allclose(share_interval([0.0, 2.5], [0.0, 2.5], 0.9)[0], [0.0, 1.0])
    low, high = share_interval(2.5, 7.5, 0.9)
    around = proportion_interval([2, 3], [7, 8], 0.9)
    assert around[0, 0] < low < around[1, 0]
    assert min(around[:, 1]) < high < max(around[:, 1]) + 0.01


def test_a_method_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="found 'wald'"):
        proportion_interval(1, 2, method="wald")
