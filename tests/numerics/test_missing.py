import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from credo.numerics import missing
from credo.numerics.missing import gap_blocks, missing_patterns, present_precision


def test_every_row_is_in_the_one_pattern_of_its_present_columns():
    rng = np.random.default_rng(0)
    x = np.where(rng.random((200, 11)) < 0.15, np.nan, 1.0)
    seen = []
    for columns, rows in missing_patterns(x):
        for row in rows:
            assert_array_equal(np.flatnonzero(~np.isnan(x[row])), columns)
        seen.extend(rows)
    assert sorted(seen) == list(range(200))
    sets = [tuple(columns) for columns, _ in missing_patterns(x)]
    assert len(set(sets)) == len(sets)


def test_complete_rows_are_one_pattern():
    ((columns, rows),) = missing_patterns(np.ones((3, 2)))
    assert columns.tolist() == [0, 1]
    assert rows.tolist() == [0, 1, 2]


def test_blocks_hold_each_row_with_gaps_once_with_its_missing_columns(monkeypatch):
    monkeypatch.setattr(missing, "BLOCK_SIZE", 20 * 11**2)
    rng = np.random.default_rng(1)
    x = np.where(rng.random((300, 11)) < 0.1, np.nan, 1.0)
    blocks = list(gap_blocks(x))
    assert max(len(block.rows) for block in blocks) <= 20
    for block in blocks:
        assert_array_equal(block.is_missing[block.code], np.isnan(x[block.rows]))
        assert len(np.unique(block.is_missing, axis=0)) == len(block.is_missing)
    rows = np.concatenate([block.rows for block in blocks])
    assert_array_equal(np.sort(rows), np.flatnonzero(np.isnan(x).any(axis=1)))
    assert not list(gap_blocks(np.ones((4, 2))))


def test_precision_of_what_is_present_is_that_of_its_own_covariance():
    rng = np.random.default_rng(2)
    root = rng.normal(size=(5, 5))
    covariance = root @ root.T
    is_missing = np.array([[True, False, False, True, False], [True] * 5])
    (some, nothing), log_det = present_precision(covariance, is_missing)
    kept = np.ix_([1, 2, 4], [1, 2, 4])
    assert_allclose(some[kept], np.linalg.inv(covariance[kept]))
    assert np.count_nonzero(some) == 9
    assert_allclose(log_det, [np.linalg.slogdet(covariance[kept])[1], 0.0], atol=1e-12)
    assert not nothing.any()
