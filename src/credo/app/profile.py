"""How a prediction moves when one column does, all others held at a typical row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from credo.data.column_code import CategoryCode, DateCode, NumberCode
from credo.data.preparation import PreparedTable, TablePreparation
from credo.data.table_input import named_inputs
from credo.distributions.estimate import Estimate
from credo.distributions.predictive import Predictive
from credo.models.average import ModelAverage
from credo.numerics.array import Array
from credo.numerics.distance import squared_distances

__all__ = ["N_PROFILES", "Profile", "profiles"]

N_PROFILES = 6
"""Columns whose effect on the prediction is described."""

N_POINTS = 41


@dataclass(frozen=True, eq=False)
class Profile:
    """The prediction along the training range of one column.

    Attributes
    ----------
    name
        The column.
    x
        Its values, from the lowest in training to the highest; of levels their places.
    labels
        Names of the levels, if it is a category.
    predictive
        The prediction at each, all other columns as in the most typical training row.
    """

    name: str
    x: Array
    labels: tuple[str, ...]
    predictive: Predictive

    @property
    def reach(self) -> float:
        """How far apart the highest and the lowest predictive mean are."""
        return float(np.ptp(self.predictive.mean()))

    @property
    def sure_reach(self) -> float:
        """How far apart they are at least, in the bounds of what is known; 0 if unsure."""
        low, high = self.band().T
        return max(0.0, float(low.max() - high.min()))

    def band(self, coverage: float = 0.9) -> Array:
        """Return the interval of the mean itself, noise left out, shape (n_points, 2)."""
        return Estimate(self.predictive.mean(), self.predictive.epistemic_std).interval(
            coverage
        )


def profiles(
    average: ModelAverage, preparation: TablePreparation, X: Array, at_most: int
) -> list[Profile]:
    """Return the profiles of the ``at_most`` columns that move the prediction most.

    Columns that surely move it come before those that may not, each by their reach.

    Parameters
    ----------
    average
        Fitted to the training rows.
    preparation
        What made the design matrix.
    X
        The design matrix of the training rows.
    """
    walks = list(_walks(preparation, X))
    typical = _typical_row(X)
    rows = np.concatenate([walk.among(typical) for walk in walks])
    predictive = average.predict_dist(named_inputs(PreparedTable(rows, preparation.names, ())))
    ends = np.cumsum([0, *(len(walk.x) for walk in walks)])
    found = [
        Profile(walk.name, walk.x, walk.labels, predictive[start:end])
        for walk, start, end in zip(walks, ends[:-1], ends[1:], strict=True)
    ]
    order = sorted(found, key=lambda profile: (profile.sure_reach == 0, -profile.reach))
    return order[:at_most]


class _Walk(NamedTuple):
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


def _walks(preparation: TablePreparation, X: Array) -> Iterator[_Walk]:
    start = 0
    for code in preparation.codes:
        if isinstance(code, CategoryCode):
            levels = tuple(name.removeprefix(f"{code.name} ") for name in code.names)
            labels = tuple(level.removeprefix("= ") for level in levels)
            yield _Walk(
                code.name,
                np.arange(len(labels), dtype=np.float64),
                labels,
                np.eye(len(labels)),
                start,
            )
        elif code.names:
            yield _number_walk(code, X[:, start], start)
        start += len(code.names)


def _number_walk(code: NumberCode | DateCode, column: Array, start: int) -> _Walk:
    """Return a walk over values that are there, or over their presence if all are equal."""
    if code.is_constant:
        labels = ("present", "missing")
        return _Walk(code.name, np.arange(2.0), labels, np.arange(2.0)[:, None], start)
    distinct = np.unique(column)
    x = distinct if len(distinct) <= 2 else np.linspace(distinct[0], distinct[-1], N_POINTS)
    coded = np.zeros((len(x), len(code.names)))
    coded[:, 0] = x
    return _Walk(code.names[0], x, (), coded, start)


def _typical_row(X: Array) -> Array:
    """Return the row nearest to all medians; a real one, so that its columns go together."""
    spread = np.where(np.ptp(X, axis=0) > 0, X.std(axis=0), 1.0)
    distance = squared_distances(X / spread, np.median(X, axis=0)[None] / spread)
    nearest = int(distance[:, 0].argmin())
    return X[nearest : nearest + 1]
