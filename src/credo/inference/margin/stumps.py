"""Decision stumps: the best threshold on the best feature, from features sorted once.

numba loads on the first call, never at import.
"""

from __future__ import annotations

import importlib
import itertools
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from credo.inference.margin.presorted import Blocks, Presorted
from credo.numerics.array import Array, as_float
from credo.numerics.form import Form
from credo.numerics.parallel.threads import in_parts

__all__ = ["Stump", "Stumps", "best_stump"]

FEW_ENTRIES = 20_000
"""Up to so many entries votes are counted by NumPy, with no wait for compiled loops."""

Codes = NDArray[np.intp]
Names = NDArray[np.uintp]

# Weighted errors that differ by less than this share of all weight are equal: they are sums of
# the same weights in another order, and the first of such stumps is taken.
_ROUNDING = 1e-10


@dataclass(frozen=True)
class Stump:
    """Class ``right`` where the feature is greater than the threshold, else ``left``."""

    feature: int
    threshold: float
    left: int
    right: int

    def codes(self, column: Array) -> Codes:
        """Return the class of each value of the stump's feature."""
        is_above = column > self.threshold
        return np.asarray(self.left + (self.right - self.left) * is_above, dtype=np.intp)


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
    amount, names = as_float(weight), np.asarray(codes, dtype=np.intp).view(np.uintp)
    left, gain, bound = _weighed_blocks(rows.blocks, amount, names, n_classes)
    total = left[0, :, -1].copy()
    slack = _ROUNDING * float(total.sum())
    rowwise = (amount, names, total)
    could_win = rows.blocks.is_open & (bound > gain.max() - slack)
    _raise_gains(gain, rows, rowwise, left, could_win)
    enough = float(gain.max()) - slack
    j = int(np.argmax(gain > enough))
    place, before = _loops().first_split(
        rows.orders[j],
        rows.is_end[j],
        rows.blocks.edges[j],
        could_win[j],
        *rowwise,
        left[j],
        enough,
    )
    if place < 0:
        label = _heaviest(total, slack)
        return Stump(0, -np.inf, label, label)
    sides = _heaviest(before, slack), _heaviest(total - before, slack)
    return Stump(j, _threshold(rows, j, place), *sides)


def _weighed_blocks(
    blocks: Blocks, weight: Array, names: Names, n_classes: int
) -> tuple[Array, Array, Array]:
    """Return class weights before each block, gains at edges, and bounds between them."""
    n_features, n_blocks = blocks.is_open.shape
    left = np.empty((n_features, n_classes, n_blocks + 1))
    gain, bound = np.empty(n_features), np.empty((n_features, n_blocks))

    def weigh(start: int, stop: int) -> None:
        first, last = 2 * start, min(2 * stop, n_features)
        _loops().edge_gains(blocks.number, weight, names, left, gain, bound, first, last)

    # Two features that are weighed side by side cost little more than one.
    in_parts(weigh, -(-n_features // 2), blocks.number.size)
    return left, gain, bound


def _raise_gains(
    gain: Array,
    rows: Presorted,
    rowwise: tuple[Array, Names, Array],
    left: Array,
    could_win: NDArray[np.bool_],
) -> None:
    """Raise the gain of features to that of the best split inside blocks that could win."""
    features, inside = np.nonzero(could_win)
    found = np.empty(len(features))
    given = (rows.orders, rows.is_end, rows.blocks.edges, *rowwise, left, features, inside)

    def search(start: int, stop: int) -> None:
        _loops().inner_gains(*given, found, start, stop)

    n_visited = len(features) * rows.orders.shape[1] // could_win.shape[1]
    in_parts(search, len(features), n_visited)
    np.maximum.at(gain, features, found)


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

    feature: Annotated[Codes, Form("m", 0)]
    threshold: Annotated[Array, Form("m", -np.inf)]
    left: Annotated[Codes, Form("m", 0)]
    right: Annotated[Codes, Form("m", 0)]

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
        self._require_known(x.shape[1], weight, n_classes)
        votes = np.zeros((len(x), n_classes))
        features, first, thresholds, tables = self._steps(weight, n_classes)
        rows = np.ascontiguousarray(x, dtype=np.float64)
        if rows.size <= FEW_ENTRIES:
            for f, (low, high) in enumerate(itertools.pairwise(first)):
                column = rows[:, features[f]]
                # As in the loop, no threshold lies below a missing value.
                seen = np.where(np.isnan(column), -np.inf, column)
                step = thresholds[low:high].searchsorted(seen)
                votes += tables[low + f + step]
            return votes

        def add(start: int, stop: int) -> None:
            _loops().table_votes(rows, features, first, thresholds, tables, votes, start, stop)

        in_parts(add, len(rows), rows.size)
        return votes

    def _require_known(self, n_features: int, weight: Array, n_classes: int) -> None:
        """Refuse what the loops, which check no bounds, would read outside of arrays."""
        named = (self.feature, n_features), (self.left, n_classes), (self.right, n_classes)
        is_known = all(((part >= 0) & (part < size)).all() for part, size in named)
        if not is_known or len(weight) != len(self):
            raise ValueError(
                f"stumps must ask about {n_features} features, answer with {n_classes} classes "
                f"and have a weight each; found others, or {len(weight)} weights of "
                f"{len(self)}. Pass the rows and classes they were learned from."
            )

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


@cache
def _loops() -> ModuleType:
    return importlib.import_module("credo.inference.margin._loops_stumps")
