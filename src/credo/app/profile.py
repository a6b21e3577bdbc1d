"""How a prediction moves when one column does, all others held at a typical row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo.app.table_regression import named_inputs
from credo.data.preparation import PreparedTable
from credo.distributions.estimate import Estimate
from credo.distributions.predictive import Predictive
from credo.models.average import ModelAverage
from credo.numerics.array import Array
from credo.numerics.distance import squared_distances

__all__ = ["Profile", "profiles"]

N_POINTS = 41


@dataclass(frozen=True, eq=False)
class Profile:
    """The prediction along the training range of one column.

    Attributes
    ----------
    name
        The column of the design matrix.
    x
        Its values, from the lowest in training to the highest; 0 and 1 for an indicator.
    predictive
        The prediction at each, all other columns as in the most typical training row.
    """

    name: str
    x: Array
    predictive: Predictive

    @property
    def reach(self) -> float:
        """How far apart the highest and the lowest predictive mean are."""
        return float(np.ptp(self.predictive.mean()))

    def band(self, coverage: float = 0.9) -> Array:
        """Return the interval of the mean itself, noise left out, shape (n_points, 2)."""
        return Estimate(self.predictive.mean(), self.predictive.epistemic_std).interval(
            coverage
        )

    @property
    def sure_reach(self) -> float:
        """How far apart they are at least, in the bounds of what is known; 0 if unsure."""
        low, high = self.band().T
        return max(0.0, float(low.max() - high.min()))


def profiles(average: ModelAverage, training: PreparedTable, at_most: int) -> list[Profile]:
    """Return the profiles of the ``at_most`` columns that most surely move the prediction."""
    X, names = training.X, training.names
    axes = [_axis(column) for column in X.T]
    rows = np.repeat(_typical_row(X), sum(map(len, axes)), axis=0)
    ends = np.cumsum([0, *map(len, axes)])
    for j, axis in enumerate(axes):
        rows[ends[j] : ends[j + 1], j] = axis
    predictive = average.predict_dist(named_inputs(PreparedTable(rows, names, ())))
    found = [
        Profile(names[j], axis, predictive[ends[j] : ends[j + 1]])
        for j, axis in enumerate(axes)
    ]
    order = sorted(found, key=lambda profile: (-profile.sure_reach, -profile.reach))
    return order[:at_most]


def _typical_row(X: Array) -> Array:
    """Return the row nearest to all medians; a real one, so that its columns go together."""
    spread = np.where(np.ptp(X, axis=0) > 0, X.std(axis=0), 1.0)
    distance = squared_distances(X / spread, np.median(X, axis=0)[None] / spread)
    nearest = int(distance[:, 0].argmin())
    return X[nearest : nearest + 1]


def _axis(column: Array) -> Array:
    """Return values to try: both of two, else evenly from the lowest to the highest."""
    distinct = np.unique(column)
    if len(distinct) <= 2:
        return distinct
    return np.linspace(distinct[0], distinct[-1], N_POINTS)
