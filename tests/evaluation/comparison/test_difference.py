import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special, stats

from credo.evaluation.comparison.difference import (
    independent_difference,
    needed_rows,
    needed_test_rows,
    paired_difference,
)


def test_difference_on_test_sets_of_their_own_matches_the_worked_numbers():
    found = independent_difference((18, 18), (100, 150))
    assert_allclose(found.estimate, 0.06, atol=1e-12)
    assert_allclose(found.standard_error, 0.0466904701, atol=1e-9)
    # The worked half-width uses 1.96.
    half = 0.0915133214 * special.ndtri(0.975) / 1.96
    assert_allclose([found.low, found.high], [0.06 - half, 0.06 + half], atol=1e-9)
    assert_allclose(found.one_sided_p_value, 0.0993858668, atol=1e-9)
    assert not found.is_real
    assert "not distinguishable" in str(found)


@pytest.mark.parametrize(
    ("m", "half", "p"), [(1000, 0.0118113, 0.434101), (10000, 0.00373507, 0.299877)]
)
def test_one_tenth_of_a_percent_is_no_difference_on_few_rows(m, half, p):
    found = independent_difference((19 * m // 1000, 18 * m // 1000), (m, m), method="normal")
    assert_allclose((found.high - found.low) / 2, half, rtol=1e-4)
    assert_allclose(found.one_sided_p_value, p, atol=1e-6)


def test_rows_needed_for_a_verdict_match_the_worked_numbers():
    exact = 139507.7 * (special.ndtri(0.975) / 1.96) ** 2
    assert_allclose(needed_test_rows((0.019, 0.018)), exact, rtol=1e-6)
    assert_allclose(needed_test_rows((0.018, 0.019), one_sided=True), 98251.8, rtol=1e-6)


@pytest.mark.parametrize("rates", [(0.3, 0.25), (0.5, 0.6), (0.02, 0.05)])
def test_the_needed_rows_are_the_first_with_which_the_interval_excludes_zero(rates):
    m = int(np.ceil(needed_test_rows(rates)))
    variance = sum(r * (1 - r) for r in rates)
    reach = special.ndtri(0.975)
    assert abs(rates[0] - rates[1]) > reach * np.sqrt(variance / m)
    assert abs(rates[0] - rates[1]) <= reach * np.sqrt(variance / (m - 1))
    assert needed_rows(0.1, 2.0, power=0.8) > needed_rows(0.1, 2.0)
    assert needed_rows(0.0, 1.0) == np.inf


def test_needed_rows_give_the_verdict_with_the_stated_power():
    rng = np.random.default_rng(0)
    m = int(needed_test_rows((0.3, 0.2), power=0.8))
    errors = rng.binomial(m, [0.3, 0.2], size=(2000, 2))
    rates = errors / m
    error = np.sqrt((rates * (1 - rates) / m).sum(axis=1))
    share = (np.abs(rates[:, 0] - rates[:, 1]) > special.ndtri(0.975) * error).mean()
    assert abs(share - 0.8) < 0.03


def test_interval_of_few_errors_is_that_of_newcombe():
    # Newcombe (1998), method 10, his example (a): 56/70 against 48/80.
    found = independent_difference((56, 48), (70, 80), method="newcombe")
    assert_allclose([found.low, found.high], [0.0524, 0.3339], atol=1e-4)
    empty = independent_difference((0, 0), (10, 20))
    assert empty.method == "newcombe"
    assert empty.low < 0 < empty.high
    assert empty.p_value == 1.0
    opposite = independent_difference((0, 10), (10, 10))
    assert opposite.is_real
    assert "the first is better" in opposite.sentence


def test_the_interval_holds_the_true_difference_as_often_as_it_says():
    rng = np.random.default_rng(1)
    errors = rng.binomial([40, 60], [0.1, 0.15], size=(1500, 2))
    found = [independent_difference(tuple(e), (40, 60)) for e in errors]
    covered = np.mean([f.low <= -0.05 <= f.high for f in found])
    assert 0.93 < covered < 0.985


def rows(only_first, only_second, both, neither):
    first = [True] * only_first + [False] * only_second + [True] * both + [False] * neither
    second = [False] * only_first + [True] * only_second + [True] * both + [False] * neither
    return first, second


@pytest.mark.parametrize("counts", [(9, 2, 4, 30), (1, 8, 0, 3), (3, 3, 1, 1), (5, 0, 0, 5)])
def test_paired_test_is_the_binomial_test_of_the_rows_that_tell(counts):
    first, second = rows(*counts)
    k, n = min(counts[:2]), sum(counts[:2])
    exact = paired_difference(first, second, exact=True)
    assert_allclose(exact.p_value, stats.binomtest(k, n).pvalue, rtol=1e-12)
    mid = paired_difference(first, second)
    expected = 2 * stats.binom(n, 0.5).cdf(k) - stats.binom(n, 0.5).pmf(k)
    assert_allclose(mid.p_value, min(expected, 1.0), rtol=1e-12)
    assert_allclose(mid.estimate, np.mean(first) - np.mean(second), atol=1e-15)
    assert np.sign(mid.estimate) == np.sign(counts[0] - counts[1])


def test_paired_interval_follows_the_formula_and_pairing_narrows_it():
    first, second = rows(12, 4, 40, 44)
    found = paired_difference(first, second)
    p, q, n = 13 / 102, 5 / 102, 102
    half = special.ndtri(0.975) * np.sqrt((p + q - (p - q) ** 2) / n)
    assert_allclose([found.low, found.high], [p - q - half, p - q + half])
    apart = independent_difference((52, 44), (100, 100))
    assert found.high - found.low < apart.high - apart.low
    assert "the second is better" not in apart.sentence


def test_predictions_that_never_differ_are_not_distinguishable():
    found = paired_difference(*rows(0, 0, 3, 7))
    assert found.p_value == 1.0
    assert found.low < 0 < found.high


def test_paired_test_rejects_equal_models_no_more_often_than_it_says():
    rng = np.random.default_rng(2)
    tables = rng.multinomial(80, [0.1, 0.1, 0.1, 0.7], size=1500)
    for exact, allowed in ((True, 0.05), (False, 0.06)):
        rejected = [paired_difference(*rows(*t), exact=exact).p_value < 0.05 for t in tables]
        assert np.mean(rejected) <= allowed


@pytest.mark.parametrize(
    "call",
    [
        lambda: independent_difference((5, 3), (4, 10)),
        lambda: independent_difference((5, 3), (0, 10)),
        lambda: independent_difference((5, 3), (10, 10), method="guess"),
        lambda: independent_difference((0.5, 3), (10, 10)),
        lambda: paired_difference([True], [True, False]),
        lambda: paired_difference([], []),
        lambda: needed_rows(0.1, -1.0),
        lambda: needed_test_rows((1.2, 0.1)),
    ],
)
def test_what_are_no_counts_or_rates_is_refused(call):
    with pytest.raises(ValueError, match=r"must be|must not|whole"):
        call()
