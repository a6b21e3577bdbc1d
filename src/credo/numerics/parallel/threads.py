"""How many threads matrix products take: chosen by the size of the work, in this one place.

BLAS starts threads for products of a few microseconds, which then cost more than they bring,
and much more on a busy machine. Small work then gives the same bits however many threads are
allowed; large work differs by rounding, as its products do.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import copy_context
from functools import cache
from threading import Lock, Thread
from typing import Any, Generic, TypeVar

from scipy import linalg
from threadpoolctl import ThreadpoolController

from credo.numerics.parallel.row_block import n_cores

__all__ = ["side_by_side", "threads_for", "threads_for_matrix"]

S = TypeVar("S")
T = TypeVar("T")

WORTH_THREADS = 1e9
"""Multiplications below which one thread is as quick as several."""


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
    _ONE.enter()
    try:
        yield
    finally:
        _ONE.leave()


def threads_for_matrix(n: int) -> AbstractContextManager[None]:
    """Let work inside take the threads that factorizations of an n x n matrix are worth.

    For work whose other products are smaller, since rows come in blocks.
    """
    return threads_for(float(n) ** 3)


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


class _OneThread:
    """One thread for matrix products, as long as any work asks for it.

    The number of threads belongs to the process: pieces of work side by side that each put
    back what they had found would leave it as it was in the middle.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._n_asking = 0
        self._limit: Any = None

    def enter(self) -> None:
        """Begin work on one thread."""
        with self._lock:
            if self._n_asking == 0:
                self._limit = _libraries(linalg).limit(limits=1)
            self._n_asking += 1

    def leave(self) -> None:
        """End work on one thread; the last one gives the others back."""
        with self._lock:
            self._n_asking -= 1
            if self._n_asking == 0:
                self._limit.restore_original_limits()


_ONE = _OneThread()


@cache
def _libraries(loaded: object) -> ThreadpoolController:
    """Return the BLAS libraries of NumPy and SciPy, both of which are loaded by then."""
    return ThreadpoolController().select(user_api="blas")
