"""Threads: how many a piece of work takes, chosen by its size in this one place.

BLAS starts threads for products of a few microseconds, which then cost more than they bring,
and much more on a busy machine. Small work then gives the same bits however many threads are
allowed; large work differs by rounding, as its products do. Work in credo's own hands is shared
by the cores item by item, in blocks of rows, or in short parts that come many times over.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from contextvars import copy_context
from functools import cache
from itertools import pairwise
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Generic, TypeVar

import numpy as np
from scipy import linalg
from threadpoolctl import ThreadpoolController

__all__ = [
    "in_parts",
    "n_cores",
    "over_blocks",
    "over_row_blocks",
    "side_by_side",
    "threads_for",
    "threads_for_factors",
    "threads_for_matrix",
]


S = TypeVar("S")
T = TypeVar("T")

WORTH_THREADS = 1e9
"""Multiplications below which one thread is as quick as several."""


WORTH_FACTOR_THREADS = 2e7
"""The cube of the size of a matrix below which one thread factors it as quickly."""


@contextmanager
def threads_for(work: float) -> Iterator[None]:
    """Let matrix products inside take one thread, unless they are worth more.

    Parameters
    ----------
    work
        Multiplications of all matrix products together, roughly; 0 for many small ones, or for
        products inside threads.
    """
    if work >= WORTH_THREADS:
        yield
        return
    with _LIMITS.asked("all"):
        yield


def threads_for_matrix(n: int) -> AbstractContextManager[None]:
    """Let work inside take the threads that factorizations of an n x n matrix are worth.

    For work whose other products are smaller, since rows come in blocks.
    """
    return threads_for(float(n) ** 3)


def threads_for_factors(n: int) -> AbstractContextManager[None]:
    """Let factorizations of an n x n matrix inside take the threads that they are worth.

    Products of matrices beside them have one thread: NumPy and SciPy may each have threads of
    their own, and those that wait for work of the one take the cores from the other.
    """
    return _LIMITS.asked("products" if float(n) ** 3 >= WORTH_FACTOR_THREADS else "all")


def side_by_side(work: Callable[[S], T], items: Sequence[S]) -> list[T]:
    """Return what ``work`` gives for each item, in order, several at a time.

    Each item has one core to itself, also for its matrix products, so that the results have
    the same bits however many cores there are. Work that raises ends all that has not begun.

    Examples
    --------
    >>> side_by_side(abs, [-1.0, 2.0])
    [1.0, 2.0]
    """
    turns = _Turns(work, items)
    # Filters of warnings belong to the process: threads that restore them undo each other.
    with warnings.catch_warnings(), threads_for(0):
        others = [
            Thread(target=copy_context().run, args=(turns.take,), daemon=True)
            for _ in range(min(n_cores(), len(items)) - 1)
        ]
        for other in others:
            other.start()
        turns.take()
        # Whoever stops the calling thread does not wait for the others.
        if all(isinstance(error, Exception) for error in turns.failed.values()):
            for other in others:
                other.join()
    return turns.results()


class _Turns(Generic[S, T]):
    """Items that threads take one by one, and what came of them."""

    def __init__(self, work: Callable[[S], T], items: Sequence[S]) -> None:
        self._work, self._items = work, items
        self._waiting = iter(range(len(items)))
        self.found: dict[int, T] = {}
        self.failed: dict[int, BaseException] = {}

    def take(self) -> None:
        """Work on one item after the other until none is left, or one has failed."""
        for turn in self._waiting:
            if self.failed:
                return
            try:
                self.found[turn] = self._work(self._items[turn])
            except BaseException as error:
                self.failed[turn] = error

    def results(self) -> list[T]:
        """Return what came of each item; raise what the first that failed had raised."""
        if self.failed:
            raise self.failed[min(self.failed)]
        return [self.found[turn] for turn in range(len(self._items))]


class _Limits:
    """One thread for all of linear algebra, or for NumPy's products, while any work asks.

    The number of threads belongs to the process: pieces of work side by side that each put
    back what they had found would leave it as it was in the middle.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._n_asking = {"all": 0, "products": 0}
        self._usual: list[tuple[Any, int]] = []

    def asked(self, kind: str) -> _Asked:
        """Limit threads while the work inside goes on; the last to end gives them back."""
        return _Asked(self, kind)

    def ask(self, kind: str, change: int) -> None:
        """Count one piece of work more or less that asks for limits of a kind."""
        with self._lock:
            if not any(self._n_asking.values()):
                found = _libraries(linalg).lib_controllers
                self._usual = [(library, library.num_threads) for library in found]
            self._n_asking[kind] += change
            # Only the first that asks and the last that ends change anything.
            if self._n_asking[kind] == (change > 0):
                for library, usual in self._usual:
                    library.set_num_threads(self._wanted(library, usual))

    def _wanted(self, library: Any, usual: int) -> int:
        is_part = self._n_asking["products"] > 0 and _is_of_numpy(library.filepath)
        return 1 if self._n_asking["all"] > 0 or is_part else usual


class _Asked:
    """A piece of work that asks for limits, which small ones do thousands of times."""

    __slots__ = ("_kind", "_limits")

    def __init__(self, limits: _Limits, kind: str) -> None:
        self._limits, self._kind = limits, kind

    def __enter__(self) -> None:
        self._limits.ask(self._kind, 1)

    def __exit__(self, *problem: object) -> None:
        self._limits.ask(self._kind, -1)


def _is_of_numpy(path: str) -> bool:
    """Whether a library was loaded for NumPy alone."""
    return "numpy" in Path(path).parent.name


_LIMITS = _Limits()


@cache
def _libraries(loaded: object) -> ThreadpoolController:
    """Return the BLAS libraries of NumPy and SciPy, both of which are loaded by then."""
    return ThreadpoolController().select(user_api="blas")


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


_WORTH_A_THREAD = 200_000


def in_parts(work: Callable[[int, int], None], n: int, size: int) -> None:
    """Run ``work(start, stop)`` on parts of 0 to n - 1, on all cores if that is worth it."""
    n_threads = 1 if size < _WORTH_A_THREAD else min(n_cores(), n)
    if n_threads == 1:
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
