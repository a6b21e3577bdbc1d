"""The nearest of many points, exactly; of points at equal distance the first in order.

Few columns use SciPy's k-d tree. Many columns use matrix products in float32, tile by tile,
which leave a few candidates of each query to rank in float64. Both then prove, query by query,
that rounding lost no neighbor; the few queries without proof look at every point.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from credo.numerics.array import Array
from credo.numerics.parallel.threads import over_blocks, threads_for
from credo.numerics.plain_time import PlainTime, by_element

if TYPE_CHECKING:
    from scipy.spatial import cKDTree

__all__ = ["TREE_COLUMNS", "NeighborSearch", "running_sums"]

Index = NDArray[np.intp]

TREE_COLUMNS = 10
"""From this many columns on a tree may visit most of its points, and products are quicker."""

LEAF = 32
MANY_QUERIES = 500
SPARE = 8
QUERY_TILE, POINT_TILE, SCAN_TILE = 256, 512, 64
ROUNDING = 1e-12
LARGEST = 1e18
"""Centered coordinates beyond this could overflow in float32 once squared."""

PLAIN_SECONDS = 0.05
"""Time that a process may spend on plain runs: then loading the compiled loops pays."""

PLAIN_SECOND_PER_TERM = 2e-7
"""What a plain run takes for each term that it adds."""

_plain_time = PlainTime(PLAIN_SECONDS)


@dataclass(frozen=True, eq=False)
class NeighborSearch:
    """Points, shape (n, d), arranged so that the nearest are found quickly.

    Examples
    --------
    >>> search = NeighborSearch(np.array([[0.0], [1.0], [2.0], [4.0]]))
    >>> squared, index = search.nearest(np.array([[1.5]]), 2)
    >>> squared.tolist(), index.tolist()
    ([[0.25, 0.25]], [[1, 2]])
    """

    points: Array

    def nearest(self, queries: Array, k: int) -> tuple[Array, Index]:
        """Return squared distances and indices of the ``k`` nearest points, each (n, k).

        Sorted by distance, then by index; ``k`` is at most the number of points.
        """
        n_points, n_columns = self.points.shape
        if queries.ndim != 2 or queries.shape[1] != n_columns or not 0 < k <= n_points:
            raise ValueError(
                f"queries must have {n_columns} columns, and ask for 1 to {n_points} points; "
                f"found shape {queries.shape} and {k} points. Pass the columns of the points."
            )
        if not len(queries):
            return np.empty((0, k)), np.empty((0, k), dtype=np.intp)
        queries = np.ascontiguousarray(queries, dtype=np.float64)
        if self.points.shape[1] < TREE_COLUMNS:
            return self._by_tree(queries, k)
        return self._by_product(queries, k)

    def build(self) -> None:
        """Prepare what the first query would prepare otherwise."""
        _ = self.tree if self.points.shape[1] < TREE_COLUMNS else self._centered

    @cached_property
    def tree(self) -> cKDTree:
        """Tree of the points; quick to build rather than balanced."""
        tree: cKDTree = importlib.import_module("scipy.spatial").cKDTree(
            self.points, leafsize=LEAF, balanced_tree=False, compact_nodes=False
        )
        return tree

    @cached_property
    def _centered(self) -> tuple[Array, NDArray[np.float32]]:
        """Return the center, and the factor (d + 1, n) of ``|y|^2 / 2 - x.y`` for rows x."""
        center = self.points.mean(axis=0)
        moved = self.points - center
        factor = np.empty((moved.shape[1] + 1, len(moved)), dtype=np.float32)
        with np.errstate(over="ignore"):
            factor[:-1] = -moved.T
            factor[-1] = 0.5 * np.square(moved).sum(axis=1)
        return center, factor

    def _by_tree(self, queries: Array, k: int) -> tuple[Array, Index]:
        n_points = len(self.points)
        n_candidates = min(k + 1, n_points)
        squared, index = self._ranked_by_tree(queries, n_candidates)
        open_rows = np.flatnonzero(_is_open(squared, k))
        squared, index = squared[:, :k], index[:, :k]
        while len(open_rows) and n_candidates < min(16 * k, n_points):
            n_candidates = min(4 * n_candidates, n_points)
            wide, wide_index = self._ranked_by_tree(queries[open_rows], n_candidates)
            squared[open_rows], index[open_rows] = wide[:, :k], wide_index[:, :k]
            is_open = _is_open(wide, k) & (n_candidates < n_points)
            open_rows = open_rows[is_open]
        return self._completed(queries, squared, index, open_rows)

    def _ranked_by_tree(self, queries: Array, n_candidates: int) -> tuple[Array, Index]:
        workers = -1 if len(queries) > MANY_QUERIES else 1
        _, found = self.tree.query(queries, n_candidates, workers=workers)
        candidates = np.asarray(found, dtype=np.intp).reshape(len(queries), n_candidates)
        return self._ranked(queries, candidates)

    def _by_product(self, queries: Array, k: int) -> tuple[Array, Index]:
        """Screen in float32, rank in float64, and look again where the screen may have erred.

        A lost neighbor y of x is nearer than the k-th candidate at distance r, so that
        ``|y| <= |x| + r``; this bounds the rounding of its score ``|y|^2 / 2 - x.y``, which
        was no less than the largest score kept.
        """
        n_points, n_columns = self.points.shape
        center, factor = self._centered
        moved = queries - center
        n_candidates = min(k + SPARE, n_points)
        if np.abs(moved).max() > LARGEST or np.abs(factor).max() > LARGEST**2:
            every = np.arange(len(queries))
            empty = np.zeros((len(queries), k))
            return self._completed(queries, empty, empty.astype(np.intp), every)
        worst, candidates = _screened(moved, factor, n_candidates)
        squared, index = self._ranked(queries, candidates)
        norm = np.sqrt(np.square(moved).sum(axis=1))
        reach = norm + np.sqrt(squared[:, k - 1])
        rounding = 2.0 * (n_columns + 8) * np.finfo(np.float32).eps * (norm + reach) * reach
        needed = 0.5 * (squared[:, k - 1] - norm**2)
        is_open = (worst - rounding <= needed) & (n_candidates < n_points)
        return self._completed(
            queries, squared[:, :k].copy(), index[:, :k].copy(), np.flatnonzero(is_open)
        )

    def _ranked(self, queries: Array, candidates: Index) -> tuple[Array, Index]:
        if _plain_time.allows(PLAIN_SECOND_PER_TERM * candidates.size * queries.shape[1]):
            return _plain_ranked(self.points, queries, candidates)
        squared, index = _loops().ranked(self.points, queries, candidates)
        return squared, index

    def _completed(
        self, queries: Array, squared: Array, index: Index, rows: Index
    ) -> tuple[Array, Index]:
        """Return the answer, its given rows found by looking at every point."""
        squared, index = np.ascontiguousarray(squared), np.ascontiguousarray(index)
        if len(rows):
            asked, k = queries[rows], squared.shape[1]
            squared[rows], index[rows] = _in_threads(
                lambda part: _loops().scan(self.points, asked[part], k), len(asked), SCAN_TILE
            )
        return squared, index


def running_sums(
    squared: Array, weight: Array, outcome: Array, width: float, counts: tuple[int, int]
) -> tuple[Array, Array, Array]:
    """Return weight (n, K), mean and scatter (n, K, m) of the nearest rows, for each count.

    Parameters
    ----------
    squared, weight
        Squared distance and weight of the neighbors, nearest first, shape (n, k).
    outcome
        Outcomes of the neighbors, shape (n, k, m).
    width
        Standard deviation of the Gaussian by which nearer rows count more, the nearest being
        one; infinity for rows that count alike.
    counts
        First and last of K successive counts; the rows asked have that weight, the last of
        them in part where need be.

    Examples
    --------
    >>> squared, weight = np.array([[0.0, 1.0, 4.0]]), np.ones((1, 3))
    >>> outcome = np.array([[[1.0], [2.0], [6.0]]])
    >>> _, mean, scatter = running_sums(squared, weight, outcome, np.inf, (1, 3))
    >>> mean.ravel(), scatter.ravel()
    (array([1. , 1.5, 3. ]), array([ 0. , 0.5, 14. ]))
    """
    arrays = [np.ascontiguousarray(part, dtype=np.float64) for part in (squared, weight)]
    outcomes = np.ascontiguousarray(outcome, dtype=np.float64)
    has_equal = bool((arrays[1] == 1.0).all())
    if has_equal and _plain_time.allows(PLAIN_SECOND_PER_TERM * outcomes.size):
        return _plain_sums(arrays[0], outcomes, float(width), counts)
    total, mean, scatter = _loops().running_sums(*arrays, outcomes, float(width), *counts)
    return total, mean, scatter


def _plain_ranked(points: Array, queries: Array, candidates: Index) -> tuple[Array, Index]:
    """Return what the loop would, bit for bit."""
    squared = np.zeros(candidates.shape)
    for f in range(points.shape[1]):
        step = queries[:, f, None] - points[candidates, f]
        squared = squared + step * step
    order = np.lexsort((candidates, squared), axis=-1)
    index = np.take_along_axis(candidates, order, axis=1)
    return np.take_along_axis(squared, order, axis=1), index


def _plain_sums(
    squared: Array, outcome: Array, width: float, counts: tuple[int, int]
) -> tuple[Array, Array, Array]:
    """Return what the loop would for neighbors of weight one, bit for bit."""
    (n, n_neighbors, n_outcomes), (first, last) = outcome.shape, counts
    rate = 0.5 / (width * width)
    factor = np.ones(squared.shape)
    if rate > 0.0:
        factor = by_element(math.exp, -(squared - squared[:, :1]) * rate)
    total = np.zeros((n, last - first + 1))
    mean, scatter = np.zeros((2, n, last - first + 1, n_outcomes))
    known, known_mean, known_scatter = np.zeros((n, 1)), np.zeros((n, 1)), np.zeros((n, 1))
    for j in range(min(n_neighbors, last)):
        part = factor[:, j, None]
        pooled = known + part
        share = part / np.where(pooled > 0.0, pooled, 1.0)
        shift = outcome[:, j] - known_mean
        known_scatter = known_scatter + known * share * shift**2
        known_mean = known_mean + share * shift
        known = pooled
        if j + 1 >= first:
            # Where there are fewer neighbors than the last count, all of them stand for it.
            place = slice(j + 1 - first, None)
            total[:, place] = known
            mean[:, place] = known_mean[:, None]
            scatter[:, place] = known_scatter[:, None]
    return total, mean, scatter


@cache
def _loops() -> ModuleType:
    return importlib.import_module("credo.numerics.linear._loops_neighbors")


def _is_open(squared: Array, k: int) -> NDArray[np.bool_]:
    """Say where a candidate beyond the ``k``-th is so near that one not seen may tie."""
    if squared.shape[1] <= k:
        return np.zeros(len(squared), dtype=bool)
    return np.asarray(squared[:, -1] <= squared[:, k - 1] * (1.0 + ROUNDING))


def _screened(
    moved: Array, factor: NDArray[np.float32], n_candidates: int
) -> tuple[Array, Index]:
    """Return the largest score kept, (n,), and the points of smallest score, (n, m)."""
    rows = np.ones((len(moved), moved.shape[1] + 1), dtype=np.float32)
    rows[:, :-1] = moved

    def tile(part: slice) -> tuple[Array, Index]:
        score = np.full((len(rows[part]), n_candidates), np.inf, dtype=np.float32)
        index = np.zeros(score.shape, dtype=np.intp)
        # One buffer for all tiles: fresh memory for each would cost more than the product.
        buffer = np.empty(len(score) * POINT_TILE, dtype=np.float32)
        for start in range(0, factor.shape[1], POINT_TILE):
            columns = factor[:, start : start + POINT_TILE]
            shape = (len(score), columns.shape[1])
            product = buffer[: shape[0] * shape[1]].reshape(shape)
            np.matmul(rows[part], columns, out=product)
            _loops().keep_smallest(product, start, score, index)
        return score[:, -1].astype(np.float64), index

    # The threads are those over queries; more of them inside each product would only wait.
    with threads_for(0):
        return _in_threads(tile, len(moved), QUERY_TILE)


def _in_threads(
    work: Callable[[slice], tuple[Array, NDArray[np.generic]]],
    n_rows: int,
    size: int,
) -> tuple[Array, Index]:
    """Return the two arrays that ``work`` gives for all rows, done in blocks by threads."""
    # Threads that all import the loops at once would wait for one another.
    _loops()
    parts = over_blocks(work, n_rows, size)
    first = np.concatenate([part[0] for part in parts])
    return first, np.concatenate([part[1] for part in parts]).astype(np.intp, copy=False)
