"""Threads of matrix products, chosen by the size of the work."""

import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_info, threadpool_limits

from credo import LinearRegression, LogisticRegression
from credo.numerics.linear.grouped import group_binary_totals, group_moments, group_totals
from credo.numerics.parallel import threads
from credo.numerics.parallel.threads import (
    WORTH_THREADS,
    in_parts,
    over_blocks,
    over_row_blocks,
    side_by_side,
    threads_for,
    threads_for_factors,
)


def most_threads():
    return max(part["num_threads"] for part in threadpool_info() if part["user_api"] == "blas")


def test_small_work_has_one_thread_and_large_work_those_that_were_there():
    with threadpool_limits(2, user_api="blas"):
        with threads_for(0):
            assert most_threads() == 1
        with threads_for(WORTH_THREADS):
            assert most_threads() == 2
        with pytest.raises(KeyError), threads_for(0):
            raise KeyError
        assert most_threads() == 2


def test_beside_factorizations_products_have_one_thread():
    blas = [part for part in threadpool_info() if part["user_api"] == "blas"]
    is_of_numpy = ["numpy" in part["filepath"].split("/")[-2] for part in blas]

    def n_threads():
        return [p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"]

    with threadpool_limits(2, user_api="blas"):
        with threads_for_factors(1_000):
            assert n_threads() == [1 if is_numpy else 2 for is_numpy in is_of_numpy]
            with threads_for(0):
                assert set(n_threads()) == {1}
            assert n_threads() == [1 if is_numpy else 2 for is_numpy in is_of_numpy]
        with threads_for_factors(100):
            assert set(n_threads()) == {1}
        one = threads_for(0)
        one.__enter__()
        with threads_for_factors(1_000):
            one.__exit__(None, None, None)
            assert n_threads() == [1 if is_numpy else 2 for is_numpy in is_of_numpy]
        assert set(n_threads()) == {2}


def fitted(model, n_threads):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 20))
    y = (x[:, 0] + rng.normal(size=300) > 0).astype(int)
    with threadpool_limits(n_threads, user_api="blas"):
        return model.fit(x, y).coef_.copy()


@pytest.mark.parametrize("model", [LinearRegression(), LogisticRegression()])
def test_small_fits_have_the_same_bits_however_many_threads_are_allowed(model):
    np.testing.assert_array_equal(fitted(model, 1), fitted(model, 2))


@pytest.mark.parametrize("model", [LinearRegression(), LogisticRegression()])
def test_threads_change_a_fit_by_rounding_alone(model, monkeypatch):
    alone = fitted(model, 2)
    monkeypatch.setattr(threads, "WORTH_THREADS", 0.0)
    np.testing.assert_allclose(fitted(model, 2), alone, rtol=1e-9)


def test_items_side_by_side_come_back_in_order_and_leave_the_threads_as_they_were():
    def work(item):
        with threads_for(0):
            time.sleep(0.001 * (5 - item))
        return item, most_threads(), np.geterr()["over"]

    with threadpool_limits(2, user_api="blas"), np.errstate(over="raise"):
        found = side_by_side(work, range(6))
        assert most_threads() == 2
    assert found == [(item, 1, "raise") for item in range(6)]


def test_items_side_by_side_have_the_bits_of_one_after_the_other(monkeypatch):
    def work(seed):
        rows = np.random.default_rng(seed).normal(size=(400, 60))
        return np.linalg.eigh(rows.T @ rows)[1]

    together = side_by_side(work, range(4))
    monkeypatch.setattr(threads, "n_cores", lambda: 1)
    np.testing.assert_array_equal(together, side_by_side(work, range(4)))


def test_the_first_failure_side_by_side_is_raised_and_later_items_are_not_begun():
    begun = []

    def work(item):
        begun.append(item)
        if item >= 1:
            raise KeyError(item)
        return item

    filters = list(warnings.filters)
    with pytest.raises(KeyError, match="1"):
        side_by_side(work, range(50))
    assert len(begun) < 50
    assert warnings.filters == filters
    assert side_by_side(work, []) == []


RNG = np.random.default_rng(0)
X = np.where(RNG.uniform(size=(500, 3)) < 0.1, np.nan, RNG.normal(1e6, 1.0, (500, 3)))
LABEL, WEIGHT = RNG.integers(0, 4, 500), RNG.uniform(0, 2, 500)


@pytest.fixture
def many_blocks(monkeypatch):
    monkeypatch.setattr(threads, "BLOCK_ENTRIES", 60)


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
    monkeypatch.setattr(threads, "BLOCK_ENTRIES", 60)
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


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("n", [0, 1, 3, 100])
def test_every_piece_is_done_once(monkeypatch, n_threads, n):
    monkeypatch.setattr(threads, "n_cores", lambda: n_threads)
    done = np.zeros(n, dtype=int)

    def work(start, stop):
        done[start:stop] += 1

    in_parts(work, n, size=10**9)
    assert_array_equal(done, 1)


def test_little_work_stays_in_the_calling_thread():
    seen = []
    in_parts(lambda start, stop: seen.append((start, stop, threading.get_ident())), 9, size=10)
    assert seen == [(0, 9, threading.get_ident())]


def test_several_callers_at_once_all_get_their_answer(monkeypatch):
    monkeypatch.setattr(threads, "n_cores", lambda: 2)

    def total(seed):
        x, parts = np.random.default_rng(seed).normal(size=(40, 1000)), np.zeros(40)

        def work(start, stop):
            parts[start:stop] = x[start:stop].sum(axis=1)

        in_parts(work, 40, size=10**9)
        return np.array_equal(parts, x.sum(axis=1))

    with ThreadPoolExecutor(4) as callers:
        assert all(callers.map(total, range(40)))


def test_an_error_reaches_the_caller(monkeypatch):
    monkeypatch.setattr(threads, "n_cores", lambda: 2)

    def work(start, stop):
        if start > 0:
            raise ArithmeticError("part")

    with pytest.raises(ArithmeticError, match="part"):
        in_parts(work, 8, size=10**9)
