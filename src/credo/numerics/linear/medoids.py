"""K-medoids: rows that stand for the rows around them, under any distance.

Swaps of a medoid for another row are judged in one look at the distances of that row: what
the others lose by each medoid that is taken away is kept, and a gain is taken at once
[schubert2021]_.
Distances come in blocks of rows, and are found anew where a table of all would not fit.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from credo.numerics.array import Array, work_array
from credo.numerics.parallel.threads import in_parts, threads_for

__all__ = ["METRICS", "Medoids", "RowDistances", "TableDistances", "swapped"]

Index = NDArray[np.intp]
Metric = str | Callable[[Array, Array], float]

METRICS = (
    "euclidean",
    "sqeuclidean",
    "cityblock",
    "chebyshev",
    "cosine",
    "correlation",
    "canberra",
    "braycurtis",
    "hamming",
)
"""Distances by name, as in ``scipy.spatial.distance``."""

KEPT = 1 << 23
"""Entries of a table of distances up to which it is kept, and not found anew."""

BLOCK, PART = 256, 32
"""Rows of distances found at a time, and by one thread."""

ROUNDING = 1e-10
"""Share of the objective that a swap must gain."""


@dataclass(frozen=True, eq=False)
class RowDistances:
    """Distances between rows (n, d) under a metric: a name, or a function of two rows."""

    x: Array
    metric: Metric

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.x)

    def to(self, others: Array) -> Array:
        """Return the distances from other rows (m, d) to these, shape (m, n)."""
        found = self._set(others, np.empty((len(others), self.n)))
        return np.asarray(np.sqrt(np.maximum(found, 0.0))) if self.is_square else found

    @property
    def is_square(self) -> bool:
        """Whether blocks have squares of distances, which may be negative by rounding."""
        return self.metric == "euclidean"

    def _set(self, others: Array, out: Array) -> Array:
        if self.metric not in ("euclidean", "sqeuclidean"):
            distance = importlib.import_module("scipy.spatial.distance")
            out[:] = distance.cdist(others, self.x, self.metric)
            return out
        origin, right = self._right
        left = np.empty((len(others), right.shape[0]))
        moved = others - origin
        left[:, :-2], left[:, -2], left[:, -1] = -2.0 * moved, 1.0, np.square(moved).sum(axis=1)
        np.matmul(left, right, out=out)
        return out if self.is_square else np.maximum(out, 0.0, out=out)

    @cached_property
    def _right(self) -> tuple[Array, Array]:
        """Mean of the rows, and what ``(-2 y, 1, |y|^2)`` is multiplied with, (d + 2, n)."""
        origin = self.x.mean(axis=0)
        moved = (self.x - origin).T
        ones = np.ones(self.n)
        return origin, np.vstack([moved, np.square(moved).sum(axis=0), ones])

    def block(self, start: int, stop: int) -> Array:
        """Return distances of all rows from some, or their squares, (stop - start, n)."""
        if self.is_kept:
            return np.asarray(self._table[start:stop])
        return self._found(start, stop)

    def gaps(self, row: int) -> Array:
        """Return the distance of every row from one of them."""
        found = self.block(row, row + 1)[0]
        return np.asarray(np.sqrt(np.maximum(found, 0.0))) if self.is_square else found

    @property
    def is_kept(self) -> bool:
        """Whether a table of all distances is kept; what is slow to find always is."""
        return callable(self.metric) or self.n**2 <= KEPT

    @cached_property
    def _table(self) -> Array:
        return self._found(0, self.n)

    def _found(self, start: int, stop: int) -> Array:
        found = work_array((stop - start, self.n))

        def work(low: int, high: int) -> None:
            for place in range(low * PART, min(high * PART, stop - start), PART):
                part = slice(place, min(place + PART, stop - start))
                self._set(self.x[start + part.start : start + part.stop], found[part])

        if not callable(self.metric):
            _ = self._right
        n_parts = -(-(stop - start) // PART)
        if callable(self.metric):
            work(0, n_parts)
        else:
            with threads_for(0):
                in_parts(work, n_parts, found.size)
        # A product leaves a little between a row and itself.
        found[np.arange(stop - start), np.arange(start, stop)] = 0.0
        return found


@dataclass(frozen=True, eq=False)
class TableDistances:
    """Distances that are known, shape (n, n)."""

    table: Array
    is_square: ClassVar[bool] = False

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.table)

    def block(self, start: int, stop: int) -> Array:
        """Return the distances of all rows from some, shape (stop - start, n)."""
        return np.asarray(self.table[start:stop])

    def gaps(self, row: int) -> Array:
        """Return the distance of every row from one of them."""
        return np.asarray(self.table[row])


@dataclass(frozen=True, eq=False)
class Medoids:
    """Rows that stand for others.

    Attributes
    ----------
    places
        Which rows they are, shape (k,).
    labels
        The nearest of them for each row, shape (n,).
    near
        Distance of each row from it, shape (n,).
    objective
        Sum of distances by weight, at the start and after each swap.
    """

    places: Index
    labels: Index
    near: Array
    objective: Array


def swapped(distances: Any, start: Index, weight: Array, max_rounds: int = 100) -> Medoids:
    """Return medoids that no swap for another row betters.

    Parameters
    ----------
    distances
        `RowDistances` or `TableDistances`.
    start
        Rows to begin with, shape (k,).
    weight
        Of each row, shape (n,).
    max_rounds
        How often all rows may be tried; none leaves the start.

    Examples
    --------
    >>> rows = np.array([[0.0], [1.0], [2.0], [9.0], [10.0]])
    >>> found = swapped(RowDistances(rows, "cityblock"), np.array([0, 1]), np.ones(5))
    >>> sorted(found.places.tolist()), found.objective[-1]
    ([1, 3], np.float64(3.0))
    """
    n, k = distances.n, len(start)
    medoid = np.array(start, dtype=np.intp)
    away = np.array([distances.gaps(int(one)) for one in medoid])
    own, second = np.empty((2, n), dtype=np.intp)
    near, next_near, loss = np.empty(n), np.empty(n), np.empty(k)
    loops = _loops()
    loops.nearest_two(away, own, second, near, next_near)
    loops.removal_losses(own, near, next_near, weight, loss)
    objective, idle = [float(weight @ near)], 0
    gains = np.empty(BLOCK)
    for _ in range(max_rounds):
        for low in range(0, n, BLOCK):
            idle, n_swaps = loops.swap_through(
                distances.block(low, min(low + BLOCK, n)),
                distances.is_square,
                low,
                weight,
                medoid,
                away,
                own,
                second,
                near,
                next_near,
                loss,
                idle,
                ROUNDING * objective[-1],
                gains,
            )
            objective.extend((objective[-1] - np.cumsum(gains[:n_swaps])).tolist())
            if idle >= n:
                return Medoids(medoid, own, near, np.array(objective))
    return Medoids(medoid, own, near, np.array(objective))


@cache
def _loops() -> ModuleType:
    return importlib.import_module("credo.numerics.linear._loops_medoids")
