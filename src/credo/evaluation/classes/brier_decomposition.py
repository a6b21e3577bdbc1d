"""The Brier score taken apart: reliability, resolution and uncertainty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from credo.evaluation.classes.reliability import equal_mass_bins
from credo.numerics.array import Array, as_float
from credo.validation.argument import (
    as_categorical,
    label_column,
    old_arguments,
    predicted_first,
)
from credo.validation.outcome import MISSING, row_weights
from credo.validation.probability_score import row_codes

__all__ = ["BrierDecomposition", "brier_decomposition"]


@dataclass(frozen=True)
class BrierDecomposition:
    """The mean Brier score as a sum of parts that mean something.

    Attributes
    ----------
    reliability
        Mean squared distance, over bins, of the mean probability from the observed share;
        0 if calibrated, lower is better.
    resolution
        Mean squared distance of the observed share in a bin from the overall share; higher
        is better, and it counts negatively.
    uncertainty
        The score of always saying the overall share: what the data leave to be won.
    within_bin_variance, within_bin_covariance
        What the spread of probabilities inside bins adds, and what it wins; both are 0 if
        all rows of a bin share one probability.

    Examples
    --------
    >>> parts = BrierDecomposition(0.01, 0.1, 0.25, 0.002, 0.001)
    >>> round(parts.value, 3)
    0.161
    """

    reliability: float
    resolution: float
    uncertainty: float
    within_bin_variance: float
    within_bin_covariance: float

    @property
    def value(self) -> float:
        """The mean Brier score, exactly."""
        inside = self.within_bin_variance - self.within_bin_covariance
        return self.reliability - self.resolution + self.uncertainty + inside


@old_arguments(
    predicted_first,
    "y_proba y_true n_bins sample_weight",
    predictive="y_proba",
    y="y_true",
    weight="sample_weight",
)
def brier_decomposition(
    y_true: ArrayLike,
    y_proba: Any,
    *,
    labels: ArrayLike | None = None,
    n_bins: int = 10,
    sample_weight: ArrayLike | None = None,
) -> BrierDecomposition:
    """Return what the mean Brier score is made of, in bins of equal mass for each class.

    Rows without a class are left out. With few rows in a bin, chance adds to reliability and
    to resolution alike. Takes what `brier_score` takes, and weights.
    """
    y = label_column("y_true", y_true)
    predictive = as_categorical(y, y_proba, labels)
    codes = row_codes(predictive, y)
    known = codes != MISSING
    probability = predictive.probability[known]
    rows = row_weights(sample_weight, len(known))[known]
    columns = [1] if len(predictive.labels) == 2 else range(len(predictive.labels))
    parts = [
        _decomposed(probability[:, k], as_float(codes[known] == k), rows, n_bins)
        for k in columns
    ]
    return BrierDecomposition(*np.sum(parts, axis=0).tolist())


def _decomposed(share: Array, hit: Array, weight: Array, n_bins: int) -> list[float]:
    place = equal_mass_bins(share, weight, n_bins)
    mass = np.bincount(place, weight)
    said, seen = (np.bincount(place, weight * part) / mass for part in (share, hit))
    rows, total = mass / mass.sum(), weight.sum()
    overall = rows @ seen
    apart = share - said[place]
    return [
        float(rows @ (said - seen) ** 2),
        float(rows @ (seen - overall) ** 2),
        float(overall * (1.0 - overall)),
        float(weight @ apart**2 / total),
        float(2.0 * (weight @ (apart * (hit - seen[place]))) / total),
    ]
