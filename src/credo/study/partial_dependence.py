"""Partial dependence: how a prediction moves when one column does, others as in a typical row.

A walk goes along the middle of the training values of a column; its profile is what a model
predicts on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from credo.data.table.preparation import (
    CategoryCode,
    DateCode,
    NumberCode,
    PreparedTable,
    TablePreparation,
)
from credo.distributions.categorical import Categorical
from credo.distributions.estimate import Estimate
from credo.distributions.predictive import Predictive
from credo.features.basis import column_spread
from credo.numerics.array import Array, squared_distances

__all__ = ["N_PROFILES", "Profile", "profiles"]

N_PROFILES = 6
"""Columns whose effect on the prediction is described."""

N_POINTS = 41
"""Places along the range of a number."""

N_GLANCES = 3
"""Places at which walks are compared first where they are many."""

MANY_WALKS = 100
"""More walks than this are compared first."""

BLOCK_ENTRIES = 1 << 21
"""Numbers in the rows of a few walks, which are predicted together."""

CENTRAL = (0.025, 0.975)
"""A walk leaves out the ends of a column, where a few rows decide."""


@dataclass(frozen=True, eq=False)
class Profile:
    """The prediction along the middle of the training values of one column.

    Attributes
    ----------
    name
        The column.
    x
        Its values over the central 95 % in training; of levels their places.
    labels
        Names of the levels, if it is a category.
    predictive
        The prediction at each, all other columns as in the most typical training row.
    """

    name: str
    x: Array
    labels: tuple[str, ...]
    predictive: Any

    @property
    def reaches(self) -> Array:
        """How far the mean moves, shape (1,), or the probability of each class."""
        return np.asarray(np.ptp(_moving(self.predictive), axis=0))

    @property
    def reach(self) -> float:
        """The largest of the reaches."""
        return float(self.reaches.max())

    @property
    def sure_reach(self) -> float:
        """How far a mean moves at least, in the bounds of what is known; 0 if unsure.

        Probabilities of classes have no bounds: it is their reach.
        """
        if isinstance(self.predictive, Categorical):
            return self.reach
        low, high = self.band().T
        return max(0.0, float(low.max() - high.min()))

    def band(self, coverage: float = 0.9) -> Array:
        """Return the interval of the mean itself, noise left out, shape (n_points, 2)."""
        assert isinstance(self.predictive, Predictive)
        mean = Estimate(self.predictive.mean(), self.predictive.epistemic_std)
        return mean.interval(coverage)


def profiles(
    model: Any, preparation: TablePreparation, X: Array, at_most: int
) -> list[Profile]:
    """Return the profiles of the ``at_most`` columns that move the prediction most.

    Columns that surely move it come before those that may not, each by their reach.

    Parameters
    ----------
    model
        Has ``predict_dist``, fitted to the training rows.
    preparation
        What made the design matrix.
    X
        The design matrix of the training rows.
    """
    typical = typical_row(X)

    def predict(rows: Array) -> Any:
        return model.predict_dist(PreparedTable(rows, preparation.names, ()).frame)

    moved = _farthest(_walks(preparation, X), typical, predict, at_most)
    found = [
        Profile(walk.name, walk.x, walk.labels, predictive)
        for walk, predictive in zip(moved, _walked(moved, typical, predict), strict=True)
    ]
    order = sorted(found, key=lambda profile: (profile.sure_reach == 0, -profile.reach))
    return order[:at_most]


def typical_row(X: Array) -> Array:
    """Return the row nearest to all medians; a real one, so that its columns go together."""
    spread = column_spread(X, 1.0)
    distance = squared_distances(X / spread, np.median(X, axis=0)[None] / spread)
    nearest = int(distance[:, 0].argmin())
    return X[nearest : nearest + 1]


def _moving(predictive: Any) -> Array:
    """Return what a walk moves: means, shape (n, 1), or class probabilities, (n, n_classes)."""
    if isinstance(predictive, Categorical):
        return predictive.probability
    return np.asarray(predictive.mean())[:, None]


class _Walk(NamedTuple):
    """Values that one column of the table takes, and their code from place ``start`` on."""

    name: str
    x: Array
    labels: tuple[str, ...]
    code: Array
    start: int

    def at_a_glance(self) -> _Walk:
        """Return the walk at a few of its values."""
        kept = np.unique(np.linspace(0, len(self.x) - 1, N_GLANCES).astype(np.intp))
        labels = tuple(self.labels[place] for place in kept) if self.labels else ()
        return self._replace(x=self.x[kept], labels=labels, code=self.code[kept])

    def among(self, typical: Array) -> Array:
        """Return the typical row, once for each value, with that value in it."""
        rows = np.repeat(typical, len(self.x), axis=0)
        rows[:, self.start : self.start + self.code.shape[1]] = self.code
        return rows


def _walks(preparation: TablePreparation, X: Array) -> list[_Walk]:
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


def _each_walk(preparation: TablePreparation, X: Array) -> Iterator[tuple[_Walk, bool]]:
    """Yield a walk along each column, and whether its central values differ."""
    start = 0
    for code in preparation.codes:
        if isinstance(code, CategoryCode):
            levels = tuple(name.removeprefix(f"{code.name} ") for name in code.names)
            labels = tuple(level.removeprefix("= ") for level in levels)
            places, own = np.arange(len(labels), dtype=np.float64), np.eye(len(labels))
            yield _Walk(code.name, places, labels, own, start), True
        elif code.names:
            low, high = np.quantile(X[:, start], CENTRAL)
            leads = code.is_constant or bool(low < high)
            yield _number_walk(code, X[:, start], start), leads
        start += len(code.names)


def _walked(
    moved: Sequence[_Walk], typical: Array, predict: Callable[[Array], Any]
) -> Iterator[Any]:
    """Yield the predictions of the rows along each walk.

    A few walks are predicted at a time: all rows of a wide table would be many times as large
    as the table.
    """
    ends = np.cumsum([len(walk.x) for walk in moved])
    most = max(N_POINTS, BLOCK_ENTRIES // max(typical.shape[1], 1))
    block = (ends - 1) // most
    for number in np.unique(block):
        few = [moved[place] for place in np.flatnonzero(block == number).tolist()]
        predictive = predict(np.concatenate([walk.among(typical) for walk in few]))
        stops = np.cumsum([0, *(len(walk.x) for walk in few)])
        for start, stop in pairwise(stops.tolist()):
            yield predictive[start:stop]


def _farthest(
    moved: Sequence[_Walk], typical: Array, predict: Callable[[Array], Any], at_most: int
) -> list[_Walk]:
    """Return the walks worth taking: all, or of many those that lead far at a glance."""
    if len(moved) <= MANY_WALKS:
        return list(moved)
    glances = _walked([walk.at_a_glance() for walk in moved], typical, predict)
    reach = [np.ptp(_moving(predictive), axis=0).max() for predictive in glances]
    order = np.argsort(-np.array(reach), kind="stable")
    return [moved[place] for place in np.sort(order[: max(at_most, MANY_WALKS // 2)]).tolist()]


def _number_walk(code: NumberCode | DateCode, column: Array, start: int) -> _Walk:
    """Return a walk over values that are there, or over their presence if all are equal."""
    if code.is_constant:
        labels = ("present", "missing")
        return _Walk(code.name, np.arange(2.0), labels, np.arange(2.0)[:, None], start)
    distinct = np.unique(column)
    low, high = np.quantile(column, CENTRAL)
    if low == high:
        low, high = distinct[0], distinct[-1]
    x = distinct if len(distinct) <= 2 else np.linspace(low, high, N_POINTS)
    coded = np.zeros((len(x), len(code.names)))
    coded[:, 0] = x
    return _Walk(code.names[0], x, (), coded, start)
