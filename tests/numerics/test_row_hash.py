import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import stats

from credo.numerics.row_hash import hashed_sample, hashed_uniform, repeat_count, row_hash

RNG = np.random.default_rng(0)


def test_hashes_follow_values_and_neither_places_nor_rounding():
    rows = RNG.normal(size=(1000, 3))
    rows[RNG.random(rows.shape) < 0.2] = np.nan
    order = RNG.permutation(1000)
    assert_array_equal(row_hash(rows[order]), row_hash(rows)[order])
    assert_array_equal(row_hash(rows * (1 + 1e-15)), row_hash(rows))
    assert_array_equal(row_hash(np.array([[-0.0]])), row_hash(np.array([[1e-17]])))
    assert len(np.unique(row_hash(rows))) == len({str(row) for row in rows})
    assert row_hash(rows[:, ::-1])[0] != row_hash(rows)[0]


def test_numbers_by_hash_are_uniform_and_independent_even_of_neighbors():
    hashes = row_hash(np.arange(20_000.0)[:, None])
    numbers = hashed_uniform(hashes, 2)
    for column in numbers.T:
        assert stats.kstest(column, "uniform").pvalue > 0.001
        assert abs(np.corrcoef(column[1:], column[:-1])[0, 1]) < 0.03
    assert abs(np.corrcoef(numbers.T)[0, 1]) < 0.03


def test_a_sample_does_not_depend_on_order_and_gives_equal_rows_their_share():
    rows = RNG.normal(size=(5000, 2))
    order = RNG.permutation(5000)
    shuffled = rows[order]
    assert_array_equal(shuffled[hashed_sample(shuffled, 700)], rows[hashed_sample(rows, 700)])
    hours = np.resize(np.arange(24.0), 24_000)[:, None]
    counts = np.unique(hours[hashed_sample(hours, 1000)], return_counts=True)[1]
    assert len(counts) == 24
    assert np.ptp(counts) <= 1
    assert_array_equal(hashed_sample(rows, 5000), np.arange(5000))


def test_repeats_are_counted():
    hashes = RNG.integers(0, 50, 300).astype(np.uint64)
    expected = [np.sum(hashes[:i] == hashes[i]) for i in range(300)]
    assert_array_equal(repeat_count(hashes), expected)
    assert len(repeat_count(hashes[:0])) == 0


@pytest.mark.parametrize("value", [0.0, np.nan, 1e300, -1e300])
def test_any_value_has_a_hash(value):
    assert len(row_hash(np.full((2, 3), value))) == 2
