"""Short pieces of work on all cores, many times over."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise

import numpy as np

from credo.numerics.parallel.row_block import n_cores

__all__ = ["in_parts"]

_WORTH_A_THREAD = 200_000


def in_parts(work: Callable[[int, int], None], n: int, size: int) -> None:
    """Run ``work(start, stop)`` on parts of 0 to n - 1, on all cores if that is worth it."""
    n_threads = min(n_cores(), n)
    if size < _WORTH_A_THREAD or n_threads == 1:
        work(0, n)
        return
    edges = np.linspace(0, n, min(n, 4 * n_threads) + 1).astype(int).tolist()
    turn = iter(list(pairwise(edges)))

    def take_turns() -> None:
        for start, stop in turn:
            work(start, stop)

    # The calling thread takes its turns as well; a pool does not survive a fork.
    pool = _pool(os.getpid())
    others = [pool.submit(take_turns) for _ in range(n_threads - 1)]
    take_turns()
    for other in others:
        # A thread that has not come to it yet would find nothing left to do.
        if not other.cancel():
            other.result()


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=max(n_cores() - 1, 1))
