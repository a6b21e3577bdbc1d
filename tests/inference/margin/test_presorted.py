import numpy as np
import pytest
from numpy.testing import assert_array_equal

from credo.inference.margin.presorted import Presorted


def test_rows_kept_are_sorted_as_if_they_were_alone():
    rng = np.random.default_rng(0)
    x, kept = rng.integers(0, 5, (40, 3)).astype(float), rng.uniform(size=40) < 0.6
    part, alone = Presorted.of(x).take(kept), Presorted.of(x[kept])
    assert_array_equal(part.columns, alone.columns)
    assert_array_equal(part.is_end, alone.is_end)
    for j in range(3):
        assert_array_equal(part.columns[j, part.orders[j]], np.sort(x[kept, j]))


def test_keys_tell_distinct_rows_apart_whatever_order_copies_and_units():
    x = np.random.default_rng(0).integers(0, 4, (200, 3)).astype(float)
    keys = Presorted.of(x).keys(np.random.default_rng(5))
    distinct, inverse = np.unique(x, axis=0, return_inverse=True)
    assert len(np.unique(keys)) == len(distinct)
    assert len(np.unique(np.column_stack([keys, inverse.ravel()]), axis=0)) == len(distinct)
    order = np.random.default_rng(1).permutation(200)
    twice = np.concatenate([x[order], x]) * [10.0, 0.1, 3.0] - 7.0
    assert_array_equal(
        Presorted.of(twice).keys(np.random.default_rng(5)), np.append(keys[order], keys)
    )


@pytest.mark.parametrize("n_values", [1, 3, 700, 10**9])
def test_blocks_hold_neighbors_and_never_part_equal_values(n_values):
    x = np.random.default_rng(0).integers(0, n_values, (20_000, 3)).astype(float)
    rows = Presorted.of(x)
    blocks = rows.blocks
    for j in range(3):
        ranked, number = x[rows.orders[j], j], blocks.number[j, rows.orders[j]]
        assert (np.diff(number.astype(int)) >= 0).all()
        assert not ((np.diff(ranked) == 0) & (np.diff(number) != 0)).any()
        edges = np.searchsorted(number, np.arange(len(blocks.edges[j])))
        assert_array_equal(blocks.edges[j], edges)
        changes = [
            np.ptp(ranked[number == b]) > 0 if b in number else False for b in range(256)
        ]
        assert_array_equal(blocks.is_open[j], changes)
