"""Rows along the range of one column of a table, all others as in a typical row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from credo.data.column_code import CategoryCode, DateCode, NumberCode
from credo.data.preparation import TablePreparation
from credo.numerics.array import Array
from credo.numerics.distance import squared_distances

__all__ = ["N_POINTS", "Walk", "typical_row", "walks"]

N_POINTS = 41
"""Places along the range of a number."""


class Walk(NamedTuple):
    """Values that one column of the table takes, and their code from place ``start`` on."""

    name: str
    x: Array
    labels: tuple[str, ...]
    code: Array
    start: int

    def among(self, typical: Array) -> Array:
        """Return the typical row, once for each value, with that value in it."""
        rows = np.repeat(typical, len(self.x), axis=0)
        rows[:, self.start : self.start + self.code.shape[1]] = self.code
        return rows


def walks(preparation: TablePreparation, X: Array) -> Iterator[Walk]:
    """Yield a walk over the training range of each column of the table.

    Parameters
    ----------
    preparation
        What made the design matrix.
    X
        The design matrix of the training rows.
    """
    start = 0
    for code in preparation.codes:
        if isinstance(code, CategoryCode):
            levels = tuple(name.removeprefix(f"{code.name} ") for name in code.names)
            labels = tuple(level.removeprefix("= ") for level in levels)
            yield Walk(
                code.name,
                np.arange(len(labels), dtype=np.float64),
                labels,
                np.eye(len(labels)),
                start,
            )
        elif code.names:
            yield _number_walk(code, X[:, start], start)
        start += len(code.names)


def _number_walk(code: NumberCode | DateCode, column: Array, start: int) -> Walk:
    """Return a walk over values that are there, or over their presence if all are equal."""
    if code.is_constant:
        labels = ("present", "missing")
        return Walk(code.name, np.arange(2.0), labels, np.arange(2.0)[:, None], start)
    distinct = np.unique(column)
    x = distinct if len(distinct) <= 2 else np.linspace(distinct[0], distinct[-1], N_POINTS)
    coded = np.zeros((len(x), len(code.names)))
    coded[:, 0] = x
    return Walk(code.names[0], x, (), coded, start)


def typical_row(X: Array) -> Array:
    """Return the row nearest to all medians; a real one, so that its columns go together."""
    spread = np.where(np.ptp(X, axis=0) > 0, X.std(axis=0), 1.0)
    distance = squared_distances(X / spread, np.median(X, axis=0)[None] / spread)
    nearest = int(distance[:, 0].argmin())
    return X[nearest : nearest + 1]
