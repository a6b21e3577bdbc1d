"""How many threads matrix products take: chosen by the size of the work, in this one place.

BLAS starts threads for products of a few microseconds, which then cost more than they bring,
and much more on a busy machine. Small work then gives the same bits however many threads are
allowed; large work differs by rounding, as its products do.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from scipy import linalg
from threadpoolctl import ThreadpoolController

__all__ = ["threads_for"]

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
    with _libraries(linalg).limit(limits=1):
        yield


@cache
def _libraries(loaded: object) -> ThreadpoolController:
    """Return the BLAS libraries of NumPy and SciPy, both of which are loaded by then."""
    return ThreadpoolController().select(user_api="blas")
