"""Decision stumps: the best threshold on the best feature, from features sorted once.

numba loads on the first call, never at import.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from credo.numerics.array import Array, as_float

__all__ = ["Presorted", "Stump", "Stumps", "best_stump"]

Codes = NDArray[np.intp]

# Weighted errors that differ by less than this share of all weight are equal: they are sums of
# the same weights in another order, and the first of such stumps is taken.
_ROUNDING = 1e-10
_WORTH_A_THREAD = 200_000


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
                ranked = columns[j, orders[j]]
                is_end[j, :-1] = ranked[1:] > ranked[:-1]

        _in_parts(sort, len(columns), columns.size)
        return cls(columns, orders, is_end)

    def take(self, is_kept: NDArray[np.bool_]) -> Presorted:
        """Return the rows that are kept, still sorted."""
        number = np.where(is_kept, np.cumsum(is_kept) - 1, -1).astype(np.int32)
        columns = np.ascontiguousarray(self.columns[:, is_kept])
        orders = np.empty(columns.shape, dtype=np.int32)
        is_end = np.zeros(columns.shape, dtype=bool)

        def select(start: int, stop: int) -> None:
            _loops().kept_orders(self.columns, self.orders, number, orders, is_end, start, stop)

        _in_parts(select, len(columns), columns.size)
        return Presorted(columns, orders, is_end)

    def keys(self, rng: np.random.Generator) -> NDArray[np.uint64]:
        """Return one random number per distinct row, the same for copies of a row.

        The numbers depend on the ranks of the values among all, so that neither the order of
        rows, nor copies of them, nor units change what a row gets.
        """
        drawn = rng.integers(0, 2**63, size=len(self.columns), dtype=np.uint64)
        multiplier = drawn * np.uint64(2) + np.uint64(1)
        keys: NDArray[np.uint64] = _loops().ranks_mixed(self.orders, self.is_end, multiplier)
        return keys


@dataclass(frozen=True)
class Stump:
    """Class ``right`` where the feature is greater than the threshold, else ``left``."""

    feature: int
    threshold: float
    left: int
    right: int

    def codes(self, column: Array) -> Codes:
        """Return the class of each value of the stump's feature."""
        is_above = (column > self.threshold).astype(np.intp)
        return np.asarray(self.left + (self.right - self.left) * is_above)


def best_stump(rows: Presorted, codes: Codes, n_classes: int, weight: Array) -> Stump:
    """Return the stump of least weighted error, the first where several are equally good.

    Thresholds lie midway between adjacent distinct values, and below all of them, which makes
    the constant stump; each side answers with its heaviest class.

    Parameters
    ----------
    codes
        Class of each row, from 0 to ``n_classes - 1``.
    weight
        Weight of each row, not negative.

    Examples
    --------
    >>> rows = Presorted.of(np.array([[1.0], [2.0], [3.0], [4.0]]))
    >>> best_stump(rows, np.array([1, 1, 0, 0]), 2, np.ones(4))
    Stump(feature=0, threshold=2.5, left=1, right=0)
    """
    if n_classes == 2:
        return _best_of_two(rows, weight * (2.0 * codes - 1.0))
    return _best_of_many(rows, codes, n_classes, weight)


def _best_of_two(rows: Presorted, signed: Array) -> Stump:
    """Return the stump for which ``|2 c - S|`` is largest.

    c is the signed weight on the left and S of all rows: error is ``(W - |2 c - S|) / 2`` if
    the sides differ in class, and ``(W - |S|) / 2``, the case c = 0, if they do not.
    """
    low, high = np.empty(len(rows.columns)), np.empty(len(rows.columns))

    def ranges(start: int, stop: int) -> None:
        _loops().signed_ranges(rows.orders, rows.is_end, signed, low, high, start, stop)

    _in_parts(ranges, len(low), rows.columns.size)
    total = float(signed.sum())
    gain = np.maximum(np.abs(2.0 * low - total), np.abs(2.0 * high - total))
    enough = gain.max() - 2.0 * _ROUNDING * float(np.abs(signed).sum())
    feature = int(np.argmax(gain >= enough))
    place, left = _loops().first_beyond(
        rows.orders[feature],
        rows.is_end[feature],
        signed,
        (total - enough) / 2.0,
        (total + enough) / 2.0,
    )
    if place < 0:
        label = int(total > 0)
        return Stump(0, -np.inf, label, label)
    is_left = 2.0 * left > total
    return Stump(feature, _threshold(rows, feature, place), int(is_left), int(not is_left))


def _best_of_many(rows: Presorted, codes: Codes, n_classes: int, weight: Array) -> Stump:
    total = as_float(np.bincount(codes, weights=weight, minlength=n_classes))
    slack = _ROUNDING * float(total.sum())
    gain = np.empty(len(rows.columns))
    position = np.empty(len(rows.columns), dtype=np.intp)

    def splits(start: int, stop: int) -> None:
        _loops().class_splits(
            rows.orders,
            rows.is_end,
            weight,
            codes,
            total,
            slack,
            gain,
            position,
            start,
            stop,
        )

    _in_parts(splits, len(gain), rows.columns.size)
    feature = int(np.argmax(gain >= gain.max() - slack))
    place = int(position[feature])
    if place < 0:
        label = int(total.argmax())
        return Stump(0, -np.inf, label, label)
    inside = rows.orders[feature, : place + 1]
    left = as_float(np.bincount(codes[inside], weights=weight[inside], minlength=n_classes))
    threshold = _threshold(rows, feature, place)
    return Stump(feature, threshold, _heaviest(left, slack), _heaviest(total - left, slack))


def _heaviest(weight: Array, slack: float) -> int:
    return int(np.argmax(weight >= weight.max() - slack))


def _threshold(rows: Presorted, feature: int, place: int) -> float:
    """Return the middle between the value at a place in the order and the next."""
    low, high = rows.columns[feature, rows.orders[feature, place : place + 2]]
    middle = 0.5 * low + 0.5 * high
    return float(middle if low <= middle < high else low)


@dataclass(frozen=True, eq=False)
class Stumps:
    """Many stumps as arrays, each of shape (n_stumps,)."""

    feature: Codes
    threshold: Array
    left: Codes
    right: Codes

    @classmethod
    def of(cls, stumps: list[Stump]) -> Stumps:
        """Return stumps in order."""
        return cls(
            np.array([s.feature for s in stumps], dtype=np.intp),
            np.array([s.threshold for s in stumps], dtype=np.float64),
            np.array([s.left for s in stumps], dtype=np.intp),
            np.array([s.right for s in stumps], dtype=np.intp),
        )

    def __len__(self) -> int:
        return len(self.feature)

    def __getitem__(self, place: int) -> Stump:
        return Stump(
            int(self.feature[place]),
            float(self.threshold[place]),
            int(self.left[place]),
            int(self.right[place]),
        )

    def votes(self, x: Array, weight: Array, n_classes: int) -> Array:
        """Return the weight of the stumps that vote for each class, shape (n, n_classes).

        The stumps on one feature are one step function of it, so that a row costs a search
        per feature, however many stumps there are.
        """
        votes = np.zeros((len(x), n_classes))
        features, first, thresholds, tables = self._steps(weight, n_classes)
        rows = np.ascontiguousarray(x, dtype=np.float64)

        def add(start: int, stop: int) -> None:
            _loops().table_votes(rows, features, first, thresholds, tables, votes, start, stop)

        _in_parts(add, len(rows), rows.size)
        return votes

    def _steps(self, weight: Array, n_classes: int) -> tuple[Codes, Codes, Array, Array]:
        """Return features in use, where their thresholds begin, thresholds, and votes."""
        order = np.lexsort((self.threshold, self.feature))
        features, count = np.unique(self.feature, return_counts=True)
        first = np.concatenate([[0], np.cumsum(count)]).astype(np.intp)
        tables = np.zeros((len(order) + len(features), n_classes))
        for f in range(len(features)):
            members = order[first[f] : first[f + 1]]
            for i in range(len(members) + 1):
                # A sum for each step leaves no rounding of differences behind.
                sides = np.append(self.right[members[:i]], self.left[members[i:]])
                tables[first[f] + f + i] = np.bincount(
                    sides, weights=weight[members], minlength=n_classes
                )
        return features.astype(np.intp), first, self.threshold[order], tables


def _in_parts(work: Callable[[int, int], None], n: int, size: int) -> None:
    """Run ``work(start, stop)`` on parts of 0 to n - 1, on all cores if that is worth it."""
    n_cores = min(_n_cores(), n)
    if size < _WORTH_A_THREAD or n_cores == 1:
        work(0, n)
        return
    edges = np.linspace(0, n, min(n, 4 * n_cores) + 1).astype(int).tolist()
    turn = iter(list(pairwise(edges)))

    def take_turns() -> None:
        for start, stop in turn:
            work(start, stop)

    # The calling thread takes its turns as well; a pool does not survive a fork.
    pool = _pool(os.getpid())
    others = [pool.submit(take_turns) for _ in range(n_cores - 1)]
    take_turns()
    for other in others:
        other.result()


@cache
def _n_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=max(_n_cores() - 1, 1))


@cache
def _loops() -> ModuleType:
    return importlib.import_module("credo.numerics._loops.stumps")
