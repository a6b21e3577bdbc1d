"""Rows along the middle of one column of a table, all others as in a typical row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

from credo.data.table.column_code import CategoryCode, DateCode, NumberCode
from credo.data.table.preparation import TablePreparation
from credo.features.placement import column_spread
from credo.numerics.array import Array
from credo.numerics.linear.distance import squared_distances

__all__ = ["N_POINTS", "Walk", "farthest", "typical_row", "walked", "walks"]

N_POINTS = 41
"""Places along the range of a number."""

N_GLANCES = 3
"""Places at which walks are compared first where they are many."""

MANY = 100
"""More walks than this are compared first."""

BLOCK_ENTRIES = 1 << 21
"""Numbers in the rows of a few walks, which are predicted together."""

T = TypeVar("T")

CENTRAL = (0.025, 0.975)
"""A walk leaves out the ends of a column, where a few rows decide."""


class Walk(NamedTuple):
    """Values that one column of the table takes, and their code from place ``start`` on."""

    name: str
    x: Array
    labels: tuple[str, ...]
    code: Array
    start: int

    def at_a_glance(self) -> Walk:
        """Return the walk at a few of its values."""
        kept = np.unique(np.linspace(0, len(self.x) - 1, N_GLANCES).astype(np.intp))
        labels = tuple(self.labels[place] for place in kept) if self.labels else ()
        return self._replace(x=self.x[kept], labels=labels, code=self.code[kept])

    def among(self, typical: Array) -> Array:
        """Return the typical row, once for each value, with that value in it."""
        rows = np.repeat(typical, len(self.x), axis=0)
        rows[:, self.start : self.start + self.code.shape[1]] = self.code
        return rows


def walks(preparation: TablePreparation, X: Array) -> list[Walk]:
    """Return a walk over the central 95 % of each column of the table, and over all levels.

    A number that is the same in all of these rows leads nowhere, and has no walk; if all are
    such numbers, the walks are over all their values.

    Parameters
    ----------
    preparation
        What made the design matrix.
    X
        The design matrix of the training rows.
    """
    found = list(_each_walk(preparation, X))
    return [walk for walk, leads in found if leads] or [walk for walk, _ in found]


def _each_walk(preparation: TablePreparation, X: Array) -> Iterator[tuple[Walk, bool]]:
    """Yield a walk along each column, and whether its central values differ."""
    start = 0
    for code in preparation.codes:
        if isinstance(code, CategoryCode):
            levels = tuple(name.removeprefix(f"{code.name} ") for name in code.names)
            labels = tuple(level.removeprefix("= ") for level in levels)
            places, own = np.arange(len(labels), dtype=np.float64), np.eye(len(labels))
            yield Walk(code.name, places, labels, own, start), True
        elif code.names:
            low, high = np.quantile(X[:, start], CENTRAL)
            leads = code.is_constant or bool(low < high)
            yield _number_walk(code, X[:, start], start), leads
        start += len(code.names)


def walked(moved: Sequence[Walk], typical: Array, tell: Callable[[Array], T]) -> Iterator[T]:
    """Yield what ``tell`` says of the rows along each walk.

    It is asked about a few walks at a time: all rows of a wide table would be many times as
    large as the table.
    """
    ends = np.cumsum([len(walk.x) for walk in moved])
    most = max(N_POINTS, BLOCK_ENTRIES // max(typical.shape[1], 1))
    block = (ends - 1) // most
    for number in np.unique(block):
        few = [moved[place] for place in np.flatnonzero(block == number).tolist()]
        told: Any = tell(np.concatenate([walk.among(typical) for walk in few]))
        stops = np.cumsum([0, *(len(walk.x) for walk in few)])
        for start, stop in pairwise(stops.tolist()):
            yield told[start:stop]


def farthest(
    moved: Sequence[Walk],
    typical: Array,
    tell: Callable[[Array], T],
    reach: Callable[[T], float],
    at_most: int,
) -> list[Walk]:
    """Return the walks worth taking: all, or of many those that lead far at a glance."""
    if len(moved) <= MANY:
        return list(moved)
    glances = walked([walk.at_a_glance() for walk in moved], typical, tell)
    order = np.argsort([-reach(told) for told in glances], kind="stable")
    return [moved[place] for place in np.sort(order[: max(at_most, MANY // 2)]).tolist()]


def _number_walk(code: NumberCode | DateCode, column: Array, start: int) -> Walk:
    """Return a walk over values that are there, or over their presence if all are equal."""
    if code.is_constant:
        labels = ("present", "missing")
        return Walk(code.name, np.arange(2.0), labels, np.arange(2.0)[:, None], start)
    distinct = np.unique(column)
    low, high = np.quantile(column, CENTRAL)
    if low == high:
        low, high = distinct[0], distinct[-1]
    x = distinct if len(distinct) <= 2 else np.linspace(low, high, N_POINTS)
    coded = np.zeros((len(x), len(code.names)))
    coded[:, 0] = x
    return Walk(code.names[0], x, (), coded, start)


def typical_row(X: Array) -> Array:
    """Return the row nearest to all medians; a real one, so that its columns go together."""
    spread = column_spread(X, 1.0)
    distance = squared_distances(X / spread, np.median(X, axis=0)[None] / spread)
    nearest = int(distance[:, 0].argmin())
    return X[nearest : nearest + 1]
