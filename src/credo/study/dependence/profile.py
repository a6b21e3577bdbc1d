"""How a prediction moves when one column does, all others held at a typical row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo.data.table.preparation import PreparedTable, TablePreparation
from credo.data.table.table_input import named_inputs
from credo.distributions.estimate import Estimate
from credo.distributions.predictive import Predictive
from credo.models.ensemble.average import ModelAverage
from credo.numerics.array import Array
from credo.study.dependence.walk import farthest, typical_row, walked, walks

__all__ = ["N_PROFILES", "Profile", "profiles"]

N_PROFILES = 6
"""Columns whose effect on the prediction is described."""


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
    typical = typical_row(X)

    def tell(rows: Array) -> Predictive:
        inputs = named_inputs(PreparedTable(rows, preparation.names, ()))
        predictive = average.predict_dist(inputs)
        assert isinstance(predictive, Predictive)
        return predictive

    def reach(told: Predictive) -> float:
        return float(np.ptp(told.mean()))

    moved = farthest(walks(preparation, X), typical, tell, reach, at_most)
    found = [
        Profile(walk.name, walk.x, walk.labels, told)
        for walk, told in zip(moved, walked(moved, typical, tell), strict=True)
    ]
    order = sorted(found, key=lambda profile: (profile.sure_reach == 0, -profile.reach))
    return order[:at_most]
