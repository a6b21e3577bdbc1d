import numpy as np
import pytest
from scipy import stats

from credo.study.result.chance import chance_range, verdict


@pytest.mark.parametrize("n", [1, 7, 40, 206])
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_the_range_of_chance_is_what_no_binomial_tail_excludes(n, share):
    counts = np.arange(n + 1)
    below, above = stats.binom.cdf(counts, n, share), stats.binom.sf(counts - 1, n, share)
    allowed = counts[(below >= 0.025) & (above >= 0.025)]
    assert chance_range(n, share) == (allowed.min(), allowed.max())


def test_a_verdict_is_passed_on_exactly_the_counts_outside_the_range():
    low, high = chance_range(40, 0.8)
    for n_hits in range(41):
        expected = "narrow" if n_hits < low else "wide" if n_hits > high else ""
        assert verdict(np.arange(40) < n_hits, 0.8) == expected


def test_no_rows_give_no_verdict():
    assert verdict(np.zeros(0, dtype=bool), 0.9) == ""
