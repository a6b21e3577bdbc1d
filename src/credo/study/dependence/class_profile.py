"""How class probabilities move when one column does, all others held at a typical row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.data.table.preparation import PreparedTable, TablePreparation
from credo.data.table.table_input import named_inputs
from credo.distributions.categorical import Categorical
from credo.numerics.array import Array
from credo.study.dependence.walk import farthest, typical_row, walked, walks

__all__ = ["ClassProfile", "class_profiles"]


@dataclass(frozen=True, eq=False)
class ClassProfile:
    """The class probabilities along the training range of one column.

    Attributes
    ----------
    name
        The column.
    x
        Its values over the central 95 % in training; of levels their places.
    labels
        Names of the levels, if it is a category.
    predictive
        The probabilities at each, all other columns as in the most typical training row.
    """

    name: str
    x: Array
    labels: tuple[str, ...]
    predictive: Categorical

    @property
    def reaches(self) -> Array:
        """How far apart the highest and the lowest probability of each class are."""
        return np.asarray(np.ptp(self.predictive.probability, axis=0))

    @property
    def reach(self) -> float:
        """The largest of the reaches."""
        return float(self.reaches.max())


def class_profiles(
    model: Any, preparation: TablePreparation, X: Array, at_most: int
) -> list[ClassProfile]:
    """Return the profiles of the ``at_most`` columns that move a probability most.

    Parameters
    ----------
    model
        A classifier with ``predict_dist``, fitted to the training rows.
    preparation
        What made the design matrix.
    X
        The design matrix of the training rows.
    """
    typical = typical_row(X)

    def tell(rows: Array) -> Categorical:
        inputs = named_inputs(PreparedTable(rows, preparation.names, ()))
        predictive: Categorical = model.predict_dist(inputs)
        return predictive

    def reach(told: Categorical) -> float:
        return float(np.ptp(told.probability, axis=0).max())

    moved = farthest(walks(preparation, X), typical, tell, reach, at_most)
    found = [
        ClassProfile(walk.name, walk.x, walk.labels, told)
        for walk, told in zip(moved, walked(moved, typical, tell), strict=True)
    ]
    return sorted(found, key=lambda profile: -profile.reach)[:at_most]
