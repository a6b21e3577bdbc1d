"""Threads of matrix products, chosen by the size of the work."""

import time
import warnings

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from credo import LinearRegression, LogisticRegression
from credo.numerics.parallel import threads
from credo.numerics.parallel.threads import WORTH_THREADS, side_by_side, threads_for


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
