"""Rows in the order of each feature, sorted once for many searches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from credo.numerics.array import Array, as_float
from credo.numerics.parallel.threads import in_parts

__all__ = ["Blocks", "Presorted"]

# The number of a block is one byte.
_MOST_BLOCKS = 256
_LEAST_BLOCK = 64


@dataclass(frozen=True, eq=False)
class Blocks:
    """Runs of rows in the order of each feature, that end where the value changes.

    The weight of each class in every block bounds what any split inside one can gain, so that
    a search opens only the few blocks that could hold the best.

    Attributes
    ----------
    number
        Block of each row, shape (n_features, n_samples).
    edges
        Places in the order where blocks begin, and the number of rows at last, shape
        (n_features, n_blocks + 1).
    is_open
        Whether the value changes inside a block, shape (n_features, n_blocks).
    """

    number: NDArray[np.uint8]
    edges: NDArray[np.int32]
    is_open: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Presorted:
    """Rows in the order of each feature, for any number of searches.

    Attributes
    ----------
    columns
        The features, shape (n_features, n_samples).
    orders
        Rows in rising order of each feature, same shape.
    is_end
        Whether a larger value follows that place in the order, same shape.
    """

    columns: Array
    orders: NDArray[np.int32]
    is_end: NDArray[np.bool_]

    @classmethod
    def of(cls, x: Array) -> Presorted:
        """Return rows (n_samples, n_features) sorted by every feature."""
        columns = np.ascontiguousarray(as_float(x).T)
        orders = np.empty(columns.shape, dtype=np.int32)
        is_end = np.zeros(columns.shape, dtype=bool)

        def sort(start: int, stop: int) -> None:
            for j in range(start, stop):
                orders[j] = np.argsort(columns[j])
                is_end[j] = _ends(columns[j, orders[j]])

        in_parts(sort, len(columns), columns.size)
        return cls(columns, orders, is_end)

    def take(self, is_kept: NDArray[np.bool_]) -> Presorted:
        """Return the rows that are kept, still sorted."""
        number = np.where(is_kept, np.cumsum(is_kept) - 1, -1).astype(np.int32)
        columns = np.ascontiguousarray(self.columns[:, is_kept])
        orders = np.empty(columns.shape, dtype=np.int32)
        is_end = np.zeros(columns.shape, dtype=bool)

        def select(start: int, stop: int) -> None:
            for j in range(start, stop):
                numbers = number[self.orders[j]]
                orders[j] = numbers[numbers >= 0]
                is_end[j] = _ends(columns[j, orders[j]])

        in_parts(select, len(columns), columns.size)
        return Presorted(columns, orders, is_end)

    @cached_property
    def blocks(self) -> Blocks:
        """Neighbors in the order of each feature, taken together."""
        n_features, n = self.orders.shape
        n_blocks = min(max(n // _LEAST_BLOCK, 1), _MOST_BLOCKS)
        number = np.empty(self.orders.shape, dtype=np.uint8)
        edges = np.full((n_features, n_blocks + 1), n, dtype=np.int32)
        is_open = np.zeros((n_features, n_blocks), dtype=bool)
        least = -(-n // n_blocks)

        def cut(start: int, stop: int) -> None:
            for j in range(start, stop):
                ends = np.flatnonzero(self.is_end[j])
                cuts = _cuts(ends, least)
                edges[j, : len(cuts)] = cuts
                block = np.repeat(np.arange(n_blocks), np.diff(edges[j]))
                number[j, self.orders[j]] = block
                is_inside = ends + 1 < edges[j, block[ends] + 1]
                is_open[j, block[ends[is_inside]]] = True

        in_parts(cut, n_features, self.orders.size)
        return Blocks(number, edges, is_open)

    def keys(self, rng: np.random.Generator) -> NDArray[np.uint64]:
        """Return one random number per distinct row, the same for copies of a row.

        The numbers depend on the ranks of the values among all, so that neither the order of
        rows, nor copies of them, nor units change what a row gets.
        """
        drawn = rng.integers(0, 2**63, size=len(self.columns), dtype=np.uint64)
        multiplier = drawn * np.uint64(2) + np.uint64(1)
        keys = np.zeros(self.orders.shape[1], dtype=np.uint64)
        for order, is_end, factor in zip(self.orders, self.is_end, multiplier, strict=True):
            rank = np.cumsum(is_end, dtype=np.uint64) - is_end
            keys[order] += rank * factor
        return keys


def _ends(ranked: Array) -> NDArray[np.bool_]:
    """Return whether a larger value follows each; none follows the last."""
    return np.append(ranked[1:] > ranked[:-1], np.zeros(min(len(ranked), 1), dtype=bool))


def _cuts(ends: NDArray[np.intp], least: int) -> list[int]:
    """Return where blocks of at least ``least`` rows begin, each just behind an end.

    Examples
    --------
    >>> _cuts(np.array([0, 3, 4, 7]), 4)
    [0, 4, 8]
    """
    cuts = [0]
    while True:
        place = int(ends.searchsorted(cuts[-1] + least - 1))
        if place == len(ends):
            return cuts
        cuts.append(int(ends[place]) + 1)
