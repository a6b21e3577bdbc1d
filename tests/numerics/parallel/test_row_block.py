import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.numerics.linear.grouped import group_binary_totals, group_moments, group_totals
from credo.numerics.parallel import row_block
from credo.numerics.parallel.row_block import over_blocks, over_row_blocks

RNG = np.random.default_rng(0)
X = np.where(RNG.uniform(size=(500, 3)) < 0.1, np.nan, RNG.normal(1e6, 1.0, (500, 3)))
LABEL, WEIGHT = RNG.integers(0, 4, 500), RNG.uniform(0, 2, 500)


@pytest.fixture
def many_blocks(monkeypatch):
    monkeypatch.setattr(row_block, "BLOCK_ENTRIES", 60)


def test_blocks_cover_all_rows_once_and_in_order():
    for n_rows, n_columns in [(0, 3), (1, 1), (7, 1 << 19), (9, 1 << 30), (5, 0)]:
        blocks = over_row_blocks(lambda rows: rows, n_rows, n_columns)
        covered = [i for rows in blocks for i in range(n_rows)[rows]]
        assert covered == list(range(n_rows))


def test_blocks_have_the_size_asked_for_and_come_back_in_order():
    sizes = over_blocks(lambda rows: rows.stop - rows.start, n_rows=10, size=4)
    assert sizes == [4, 4, 2]
    starts = over_blocks(lambda rows: rows.start, n_rows=1000, size=1)
    assert starts == list(range(1000))


@pytest.mark.usefixtures("many_blocks")
def test_an_error_in_a_block_reaches_the_caller():
    def fail(rows):
        raise ArithmeticError(threading.current_thread().name)

    with pytest.raises(ArithmeticError):
        over_row_blocks(fail, 100, 10)


def test_moments_of_blocks_pool_to_the_moments_of_all_rows(monkeypatch):
    whole = group_moments(X, LABEL, 5, WEIGHT)
    totals = group_totals(X, LABEL, 5, WEIGHT)
    monkeypatch.setattr(row_block, "BLOCK_ENTRIES", 60)
    for found, expected in zip(group_moments(X, LABEL, 5, WEIGHT), whole, strict=True):
        assert_allclose(found, expected, rtol=1e-9)
    for found, expected in zip(group_totals(X, LABEL, 5, WEIGHT), totals, strict=True):
        assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.usefixtures("many_blocks")
def test_binary_totals_match_masks_and_see_other_values_in_any_block():
    x = np.where(np.isnan(X), np.nan, X > 1e6)
    total, ones, is_binary = group_binary_totals(x, LABEL, 5, WEIGHT)
    for g in range(5):
        rows, w = x[g == LABEL], WEIGHT[g == LABEL, None]
        assert_allclose(total[g], (w * ~np.isnan(rows)).sum(axis=0))
        assert_allclose(ones[g], (w * (rows == 1)).sum(axis=0))
    assert is_binary
    x[300, 1] = 0.5
    assert not group_binary_totals(x, LABEL, 5, WEIGHT)[2]
