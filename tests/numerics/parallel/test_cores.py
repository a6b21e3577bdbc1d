import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from credo.numerics.parallel import cores
from credo.numerics.parallel.cores import in_parts


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("n", [0, 1, 3, 100])
def test_every_piece_is_done_once(monkeypatch, n_threads, n):
    monkeypatch.setattr(cores, "n_cores", lambda: n_threads)
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
    monkeypatch.setattr(cores, "n_cores", lambda: 2)

    def total(seed):
        x, parts = np.random.default_rng(seed).normal(size=(40, 1000)), np.zeros(40)

        def work(start, stop):
            parts[start:stop] = x[start:stop].sum(axis=1)

        in_parts(work, 40, size=10**9)
        return np.array_equal(parts, x.sum(axis=1))

    with ThreadPoolExecutor(4) as callers:
        assert all(callers.map(total, range(40)))


def test_an_error_reaches_the_caller(monkeypatch):
    monkeypatch.setattr(cores, "n_cores", lambda: 2)

    def work(start, stop):
        if start > 0:
            raise ArithmeticError("part")

    with pytest.raises(ArithmeticError, match="part"):
        in_parts(work, 8, size=10**9)
