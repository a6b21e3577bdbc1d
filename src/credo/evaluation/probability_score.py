"""Scores of class probabilities against the class that came true."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.distributions.categorical import Categorical
from credo.evaluation.outcome import MISSING, class_codes, row_weights
from credo.evaluation.reliability import equal_mass_bins
from credo.numerics.array import Array, as_float

__all__ = [
    "BrierDecomposition",
    "brier_decomposition",
    "brier_score",
    "class_log_score",
    "row_codes",
]


def class_log_score(predictive: Categorical, y: ArrayLike) -> Array:
    """Return the log probability of each class that came true; higher is better.

    NaN where the class is missing; minus infinity where it was held impossible.

    Examples
    --------
    >>> sky = Categorical([[0.2, 0.8], [0.5, 0.5]], labels=["rain", "sun"])
    >>> class_log_score(sky, ["sun", "rain"]).round(3)
    array([-0.223, -0.693])
    """
    codes = row_codes(predictive, y)
    chosen = predictive.probability[np.arange(len(codes)), codes]
    with np.errstate(divide="ignore"):
        return np.where(codes == MISSING, np.nan, np.log(chosen))


def brier_score(predictive: Categorical, y: ArrayLike) -> Array:
    """Return the squared distance of each row's probabilities from what came true.

    ``sum over k of (p_k - [y = k])^2``, halved for two classes, where both terms are equal:
    then it is the squared error of the probability of either. Strictly proper, lower is
    better; NaN where the class is missing.

    Examples
    --------
    >>> sky = Categorical([[0.2, 0.8], [0.5, 0.5]], labels=["rain", "sun"])
    >>> brier_score(sky, ["sun", "rain"]).round(3)
    array([0.04, 0.25])
    """
    codes = row_codes(predictive, y)
    probability = predictive.probability
    chosen = probability[np.arange(len(codes)), codes]
    # Without an array of ones: sum (p - e)^2 = sum p^2 - 2 p_y + 1.
    score = (probability**2).sum(axis=1) - 2.0 * chosen + 1.0
    return np.where(codes == MISSING, np.nan, _scale(predictive) * np.maximum(score, 0.0))


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


def brier_decomposition(
    predictive: Categorical,
    y: ArrayLike,
    n_bins: int = 10,
    weight: ArrayLike | None = None,
) -> BrierDecomposition:
    """Return what the mean Brier score is made of, in bins of equal mass for each class.

    Rows without a class are left out. With few rows in a bin, chance adds to reliability and
    to resolution alike.
    """
    codes = row_codes(predictive, y)
    known = codes != MISSING
    probability, rows = predictive.probability[known], row_weights(weight, len(known))[known]
    columns = [1] if len(predictive.labels) == 2 else range(len(predictive.labels))
    parts = [
        _decomposed(probability[:, k], as_float(codes[known] == k), rows, n_bins)
        for k in columns
    ]
    return BrierDecomposition(*np.sum(parts, axis=0).tolist())


def row_codes(predictive: Categorical, y: ArrayLike) -> NDArray[np.intp]:
    """Return the place of each row's class among the labels, checked to be one per row."""
    if not isinstance(predictive, Categorical):
        raise TypeError(
            "predictions of classes must be a Categorical; found "
            f"{type(predictive).__name__}. Pass model.predict_dist(X), or "
            "Categorical(model.predict_proba(X), model.classes_)."
        )
    codes = class_codes(y, predictive.labels)
    if codes.shape != predictive.batch_shape:
        raise ValueError(
            "y must hold one class for each prediction; found "
            f"{len(codes)} classes for predictions of shape {predictive.batch_shape}. Pass the "
            "classes of the same rows, in the same order."
        )
    return codes


def _scale(predictive: Categorical) -> float:
    return 0.5 if len(predictive.labels) == 2 else 1.0


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
