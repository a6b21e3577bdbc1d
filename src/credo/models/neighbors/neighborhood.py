"""The training rows around a query, and around each training row once it is left out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from credo.numerics.array import Array
from credo.numerics.form import SMALLEST, Form
from credo.numerics.linear.neighbors import NeighborSearch

__all__ = ["FARTHEST", "Gathered", "Neighborhood", "kernel"]

Index = NDArray[np.intp]

MAX_SCORED = 4_000
FARTHEST = 1e150
NEAREST = 1e-150
DROWNED = 1e-10


@dataclass(frozen=True, eq=False)
class Gathered:
    """Neighbors of each query, nearest first, shape (n, m): rows, distances and weights."""

    index: Index
    squared: Array
    weight: Array


@dataclass(frozen=True, eq=False)
class Neighborhood:
    """Training rows in comparable units, searched on demand.

    Attributes
    ----------
    points
        Rows ``(x - center) / scale``, shape (n, d); those of no weight are left out.
    weight
        How often each row counts, shape (n,).
    center, scale
        Origin and unit of each column, shape (d,).
    """

    points: Annotated[Array, Form("n d", -FARTHEST, FARTHEST)]
    weight: Annotated[Array, Form("n", SMALLEST)]
    center: Annotated[Array, Form("d")]
    scale: Annotated[Array, Form("d", SMALLEST)]

    def __post_init__(self) -> None:
        n, d = self.points.shape if self.points.ndim == 2 else (-1, -1)
        if (self.weight.shape, self.center.shape, self.scale.shape) != ((n,), (d,), (d,)):
            raise ValueError(
                "a neighborhood needs points (n, d), a weight of each row, and center and "
                f"scale of each column; found {self.points.shape}, {self.weight.shape}, "
                f"{self.center.shape} and {self.scale.shape}. Build it by Neighborhood.of."
            )

    @classmethod
    def of(cls, X: Array, weight: Array, standardize: bool) -> Neighborhood:
        """Arrange rows of positive weight, each column in its standard deviations."""
        center, scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
        if standardize:
            center, scale = _location_and_scale(X, weight)
        return cls(_moved(X, center, scale), weight, center, scale)

    @cached_property
    def search(self) -> NeighborSearch:
        """Structure that finds the nearest rows."""
        return NeighborSearch(self.points)

    @property
    def is_whole(self) -> bool:
        """Whether every row counts at least once."""
        return bool(self.weight.min() >= 1.0)

    @property
    def n_left(self) -> int:
        """Whole weight that is left when one row is out."""
        return int(self.weight.sum() * (1.0 + 1e-12)) - 1

    def gather(self, X: Array, k: int) -> Gathered:
        """Return the nearest rows of total weight ``k`` around each query."""
        found = self._gather(_moved(X, self.center, self.scale), k)
        before = np.cumsum(found.weight, axis=1) - found.weight
        taken = np.clip(k - before, 0.0, found.weight)
        return Gathered(found.index, found.squared, taken)

    def without_each(self, rows: Index, k: int) -> Gathered:
        """Return rows of total weight ``k`` or more around training rows that count one less.

        A row leaves out itself by its index; a copy of it stays, and so does what it weighs
        beyond one.
        """
        found = self._gather(self.points[rows], k + 1)
        own = found.index == rows[:, None]
        weight = np.where(own, np.maximum(found.weight - 1.0, 0.0), found.weight)
        return Gathered(found.index, found.squared, weight)

    def scored_rows(self) -> Index:
        """Return the rows that are left out in turn: all, or evenly spaced ones of many."""
        n = len(self.points)
        return np.linspace(0, n - 1, min(n, MAX_SCORED)).astype(np.intp)

    def _gather(self, queries: Array, k: int) -> Gathered:
        n = len(self.points)
        n_rows = min(k, n)
        while True:
            squared, index = self.search.nearest(queries, n_rows)
            weight = self.weight[index]
            if n_rows == n or self.is_whole or (weight.sum(axis=1) >= k).all():
                return Gathered(index, squared, weight)
            n_rows = min(2 * n_rows, n)


def kernel(gathered: Gathered, width: float) -> Array:
    """Return how much each neighbor counts: its weight, and less the farther it is.

    ``exp(-(d^2 - nearest d^2) / (2 width^2))``: the nearest counts in full, however far away
    it is, so that no query is without neighbors.
    """
    if np.isinf(width):
        return gathered.weight
    excess = gathered.squared - gathered.squared[:, :1]
    # Beyond all numbers is far enough: such a row counts nothing.
    with np.errstate(over="ignore"):
        return np.asarray(gathered.weight * np.exp(-0.5 * excess / width / width))


def _moved(X: Array, center: Array, scale: Array) -> Array:
    """Return rows in comparable units; the clip keeps squares of distances finite."""
    moved = np.ascontiguousarray((X - center) / scale)
    return np.clip(moved, -FARTHEST, FARTHEST, out=moved)


def _location_and_scale(X: Array, weight: Array) -> tuple[Array, Array]:
    """Return mean and standard deviation of each column; one where it is constant."""
    share = weight / weight.sum()
    center = share @ X
    with np.errstate(over="ignore", under="ignore"):
        variance = share @ np.square(X - center)
    scale = np.sqrt(variance)
    is_plain = (scale > NEAREST) & (scale < FARTHEST) & (scale > DROWNED * np.abs(center))
    for j in np.flatnonzero(~is_plain):
        scale[j] = _spread(X[:, j], center[j], share)
    return center, scale


def _spread(column: Array, center: float, share: Array) -> float:
    """Return a standard deviation whose square is no number, or one that rounding drowns."""
    if column.max() == column.min():
        return 1.0
    size = np.abs(column - center).max()
    return float(size * np.sqrt(share @ np.square((column - center) / size)))
