"""Rows in blocks, worked on by all cores where there are many."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

__all__ = ["n_cores", "over_blocks", "over_row_blocks"]

T = TypeVar("T")

BLOCK_ENTRIES = 1 << 21
"""Numbers in a block: large enough to be worth a thread, and the same on every machine."""


def over_row_blocks(work: Callable[[slice], T], n_rows: int, n_columns: int) -> list[T]:
    """Return what ``work`` gives for each block of rows, in order.

    The blocks depend on the shape alone, so that sums do not differ in rounding from one
    machine to the next.

    Examples
    --------
    >>> over_row_blocks(lambda rows: (rows.start, rows.stop), n_rows=3, n_columns=1 << 20)
    [(0, 2), (2, 3)]
    """
    return over_blocks(work, n_rows, max(1, BLOCK_ENTRIES // max(n_columns, 1)))


def over_blocks(work: Callable[[slice], T], n_rows: int, size: int) -> list[T]:
    """Return what ``work`` gives for each block of ``size`` rows, in order.

    Threads are plain Python threads around loops that release the interpreter: such loops may
    be called from other threads and after a fork.
    """
    blocks = [slice(i, min(i + size, n_rows)) for i in range(0, max(n_rows, 1), size)]
    if len(blocks) == 1:
        return [work(blocks[0])]
    with ThreadPoolExecutor(min(len(blocks), n_cores())) as threads:
        return list(threads.map(work, blocks))


def n_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
