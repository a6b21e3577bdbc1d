from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from credo.inference.margin import stumps
from credo.inference.margin.presorted import Presorted
from credo.inference.margin.stumps import Stump, Stumps, best_stump
from credo.numerics.parallel import threads


def brute_force_error(x, codes, n_classes, weight):
    """Return the least weighted error of any stump, by trying all of them."""
    errors = []
    for column in x.T:
        values = np.unique(column)
        for threshold in [-np.inf, *(values[:-1] + values[1:]) / 2, np.inf]:
            for low, high in product(range(n_classes), repeat=2):
                found = np.where(column > threshold, high, low)
                errors.append(weight[found != codes].sum())
    return min(errors)


def least_error_by_cumulative_sums(x, codes, n_classes, weight):
    """Return the least weighted error of any stump, from the weights of both sides."""
    by_class = weight[:, None] * (codes[:, None] == np.arange(n_classes))
    errors = [weight.sum() - by_class.sum(axis=0).max()]
    for column in x.T:
        order = np.argsort(column)
        left = by_class[order].cumsum(axis=0)
        kept = left.max(axis=1) + (left[-1] - left).max(axis=1)
        errors.append(weight.sum() - kept[:-1][np.diff(column[order]) > 0].max())
    return min(errors)


def error_of(stump, x, codes, weight):
    return weight[stump.codes(x[:, stump.feature]) != codes].sum()


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("n_values", [2, 4, 1000])
@pytest.mark.parametrize("seed", range(4))
def test_no_stump_has_a_smaller_weighted_error(n_classes, n_values, seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, n_values, (30, 3)).astype(float)
    codes, weight = rng.integers(0, n_classes, 30), rng.exponential(size=30)
    stump = best_stump(Presorted.of(x), codes, n_classes, weight)
    expected = brute_force_error(x, codes, n_classes, weight)
    assert_allclose(error_of(stump, x, codes, weight), expected, rtol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 7, 8, 9])
def test_few_rows_are_searched_to_the_last(n_classes, n):
    rng = np.random.default_rng(n)
    x, codes = rng.normal(size=(n, 2)), rng.integers(0, n_classes, n)
    stump = best_stump(Presorted.of(x), codes, n_classes, np.ones(n))
    expected = brute_force_error(x, codes, n_classes, np.ones(n))
    assert_allclose(error_of(stump, x, codes, np.ones(n)), expected)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("n_values", [3, 100, 10**9])
@pytest.mark.parametrize("signal", [0.0, 0.3, 3.0])
def test_what_is_skipped_in_blocks_of_rows_is_never_the_best(n_classes, n_values, signal):
    rng = np.random.default_rng(n_classes)
    x = np.floor(rng.beta(0.5, 1.0, size=(1500, 5)) * n_values)
    score = signal * x[:, 2] / n_values + rng.uniform(size=1500)
    codes = np.minimum((score * n_classes).astype(np.intp), n_classes - 1)
    weight = rng.gamma(0.1, size=1500)
    rows = Presorted.of(x)
    assert rows.blocks.is_open.shape[1] > 20
    stump = best_stump(rows, codes, n_classes, weight)
    expected = least_error_by_cumulative_sums(x, codes, n_classes, weight)
    assert_allclose(error_of(stump, x, codes, weight), expected, rtol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_first_of_equally_good_stumps_is_found_among_many_blocks(n_classes):
    values = np.arange(2000.0)
    is_odd = (values // 500).astype(np.intp) % 2
    x = np.column_stack([np.zeros(2000), values, values])
    stump = best_stump(Presorted.of(x), is_odd, n_classes, np.ones(2000))
    assert stump == Stump(1, 499.5, 0, 1)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_column_that_says_nothing_gives_the_heaviest_class(n_classes):
    codes = np.array([0, 1, 1, 0])
    weight = np.array([1.0, 2.0, 2.0, 1.0])
    stump = best_stump(Presorted.of(np.ones((4, 2))), codes, n_classes, weight)
    assert stump == Stump(0, -np.inf, 1, 1)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_first_of_equally_good_stumps_is_taken(n_classes):
    x = np.array([[0.0, 5.0, 7.0], [0.0, 6.0, 8.0], [0.0, 7.0, 9.0], [0.0, 8.0, 10.0]])
    codes = np.array([0, 1, 0, 1])
    stump = best_stump(Presorted.of(x), codes, n_classes, np.ones(4))
    assert stump == Stump(1, 5.5, 0, 1)


def test_a_threshold_between_neighboring_floats_separates_them():
    low = 1.0
    high = np.nextafter(low, 2.0)
    stump = best_stump(Presorted.of(np.array([[low], [high]])), np.array([0, 1]), 2, np.ones(2))
    assert_array_equal(stump.codes(np.array([low, high])), [0, 1])
    ends = np.array([[-1.5e308], [1.5e308]])
    assert best_stump(Presorted.of(ends), np.array([0, 1]), 2, np.ones(2)).threshold == 0.0


def test_votes_counted_by_numpy_have_the_bits_of_the_loop(monkeypatch):
    rng = np.random.default_rng(0)
    made = [
        Stump(int(rng.integers(3)), rng.integers(4) / 2, *rng.integers(3, size=2).tolist())
        for _ in range(40)
    ]
    x, weight = rng.integers(-1, 5, (200, 3)) / 2, rng.random(40)
    x[rng.random(x.shape) < 0.1] = [np.nan, np.inf, -np.inf][rng.integers(3)]
    by_numpy = Stumps.of(made).votes(x, weight, 3)
    monkeypatch.setattr(stumps, "FEW_ENTRIES", 0)
    assert_array_equal(by_numpy, Stumps.of(made).votes(x, weight, 3))


def test_votes_are_the_sum_over_stumps():
    rng = np.random.default_rng(3)
    every = [
        Stump(int(f), float(t), int(a), int(b))
        for f, t, a, b in zip(
            rng.integers(0, 4, 60),
            np.append(rng.integers(0, 5, 58) + 0.5, [-np.inf, -np.inf]),
            rng.integers(0, 3, 60),
            rng.integers(0, 3, 60),
            strict=True,
        )
    ]
    x, weight = rng.integers(0, 6, (50, 5)) + 0.0, rng.exponential(size=60)
    expected = np.zeros((50, 3))
    for stump, vote in zip(every, weight, strict=True):
        expected[np.arange(50), stump.codes(x[:, stump.feature])] += vote
    assert_allclose(Stumps.of(every).votes(x, weight, 3), expected)


def test_several_threads_find_what_one_finds(monkeypatch):
    rng = np.random.default_rng(0)
    x, codes, weight = (
        rng.normal(size=(300, 7)),
        rng.integers(0, 3, 300),
        rng.exponential(size=300),
    )
    alone = Presorted.of(x)
    found = [best_stump(alone, np.minimum(codes, k - 1), k, weight) for k in (2, 3)]
    monkeypatch.setattr(threads, "_WORTH_A_THREAD", 0)
    monkeypatch.setattr(threads, "n_cores", lambda: 3)
    shared = Presorted.of(x)
    assert_array_equal(shared.orders, alone.orders)
    assert [best_stump(shared, np.minimum(codes, k - 1), k, weight) for k in (2, 3)] == found


@pytest.mark.parametrize(
    "stump", [Stump(5, 0.0, 0, 1), Stump(-1, 0.0, 0, 1), Stump(0, 0.0, 0, 2)]
)
def test_stumps_about_other_features_or_classes_do_not_vote(stump):
    with pytest.raises(ValueError, match="stumps must ask about 2 features"):
        Stumps.of([stump]).votes(np.zeros((1, 2)), np.ones(1), 2)
    with pytest.raises(ValueError, match="2 weights of 1"):
        Stumps.of([Stump(0, 0.0, 0, 1)]).votes(np.zeros((1, 2)), np.ones(2), 2)
