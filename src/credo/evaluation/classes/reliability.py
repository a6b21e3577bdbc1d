"""Whether class probabilities mean what they say: reliability curves, the Brier score in parts.

The mean Brier score is reliability less resolution plus uncertainty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from credo.distributions.parameter import probability, real
from credo.numerics.array import Array, as_float
from credo.validation.argument import (
    as_categorical,
    event_column,
    label_column,
    old_arguments,
    predicted_first,
    score_column,
    score_second,
)
from credo.validation.outcome import MISSING, row_weights
from credo.validation.probability_score import row_codes
from credo.validation.proportion import share_interval
from credo.validation.score import Score

__all__ = [
    "BrierDecomposition",
    "ReliabilityCurve",
    "brier_decomposition",
    "equal_mass_bins",
    "reliability_curve",
]

N_BARS = 20


@dataclass(frozen=True, eq=False)
class ReliabilityCurve:
    """How often what was said to have probability p came true.

    Attributes
    ----------
    predicted, observed
        Mean probability in each bin, rising, and the share that came true; equal if
        calibrated.
    low, high
        Exact interval of each share.
    mass
        Weight of the rows in each bin; about equal.
    error
        Expected calibration error: mean over rows of ``abs(observed - predicted)``. Chance
        alone makes it positive; its note says by how much.
    histogram
        Weight of the rows by probability, in 20 equal steps from 0 to 1.
    label
        The class whose probability this is; None for that of the class called.
    """

    predicted: Array
    observed: Array
    low: Array
    high: Array
    mass: Array
    error: Score
    histogram: Array
    label: Any = None


RENAMED = {"share": "y_prob", "hit": "y_true", "weight": "sample_weight"}


def _probability_first(args: tuple[Any, ...], named: Mapping[str, Any]) -> bool:
    """Return whether names of the last release show that its order was meant."""
    return not named.keys().isdisjoint(RENAMED)


@old_arguments(
    _probability_first, "y_prob y_true n_bins coverage sample_weight label", **RENAMED
)
@score_second("reliability_curve(y_true, y_prob)")
def reliability_curve(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    pos_label: Any = None,
    n_bins: int = 10,
    sample_weight: ArrayLike | None = None,
    coverage: float = 0.9,
    label: Any = None,
) -> ReliabilityCurve:
    """Return observed shares against probabilities, in bins with about equally many rows.

    Parameters
    ----------
    y_true
        Whether an event came true in each row (1 or 0), or the class that did.
    y_prob
        Probability said for the event, or for the positive class, shape (n_samples,).
    pos_label
        The class that counts as positive; 1, or the second of two, if None.
    n_bins
        At most so many bins; fewer where probabilities repeat.
    sample_weight
        How much each row counts; 1 if None.
    coverage
        Probability of each interval.
    label
        What the curve is called; ``pos_label`` if None.

    Examples
    --------
    >>> curve = reliability_curve([0, 0, 1, 1, 1, 0], [0.1, 0.1, 0.1, 0.9, 0.9, 0.9], n_bins=2)
    >>> curve.predicted, curve.observed.round(3), round(curve.error.value, 3)
    (array([0.1, 0.9]), array([0.333, 0.667]), 0.233)
    """
    wanted = "reliability_curve(y_true, y_prob)"
    said = real("y_prob", probability("y_prob", score_column("y_prob", y_prob, wanted)))
    came = event_column(y_true, pos_label, wanted)
    _require_rows(said, came)
    label = pos_label if label is None else label
    rows = row_weights(sample_weight, len(said))
    place = equal_mass_bins(said, rows, n_bins)
    mass, squares = np.bincount(place, rows), np.bincount(place, rows**2)
    mean, seen = (np.bincount(place, rows * part) / mass for part in (said, came))
    trials = mass**2 / squares
    low, high = share_interval(seen * trials, trials, coverage).T
    bars = np.histogram(said, N_BARS, (0.0, 1.0), weights=rows)[0]
    chance = np.sqrt(np.bincount(place, rows**2 * said * (1.0 - said))) / mass
    error = _calibration_error(
        mean - seen, mass / mass.sum(), _spread(seen, trials), chance, coverage
    )
    return ReliabilityCurve(mean, seen, low, high, as_float(mass), error, as_float(bars), label)


def equal_mass_bins(values: Array, weight: Array, n_bins: int) -> NDArray[np.intp]:
    """Return the bin of each value: about equal weight in each, equal values never parted.

    Bins are numbered from 0 in rising order, none of them empty.
    """
    if n_bins < 1:
        raise ValueError(f"n_bins must be at least 1; found {n_bins}. Pass 10 if in doubt.")
    _, place = np.unique(values, return_inverse=True)
    mass = np.bincount(place, weight)
    middle = (np.cumsum(mass) - 0.5 * mass) / mass.sum()
    wanted = np.minimum((middle * n_bins).astype(np.intp), n_bins - 1)
    # A level of no weight joins its neighbor, lest it be a bin of its own.
    wanted = np.maximum.accumulate(wanted)
    heavy = np.unique(wanted[mass > 0])
    return np.asarray(np.searchsorted(heavy, np.minimum(wanted, heavy[-1]))[place])


def _spread(seen: Array, trials: Array) -> Array:
    # One hit and one miss more, lest a bin of hits alone be held to be sure.
    smooth = (seen * trials + 1.0) / (trials + 2.0)
    return np.asarray(np.sqrt(smooth * (1.0 - smooth) / trials))


def _calibration_error(
    gap: Array, share: Array, spread: Array, chance: Array, coverage: float
) -> Score:
    """Return the weighted mean gap with an interval that knows the bias of absolute values.

    The gap of a bin is normal, so its absolute value is folded normal; their sum is close to
    normal. The lower end leaves out what noise adds, and is 0 where calibrated probabilities
    could have such gaps; the upper end does not, to be safe.
    """
    value = float(share @ np.abs(gap))
    mean, variance = _folded(np.abs(gap), spread)
    expected, floor = _folded(np.zeros_like(gap), chance)
    z = float(special.ndtri(0.5 + 0.5 * coverage))
    reach = z * np.sqrt(share**2 @ variance)
    by_chance = float(share @ expected)
    is_explained = value <= by_chance + z * np.sqrt(share**2 @ floor)
    low = 0.0 if is_explained else max(float(2.0 * value - share @ mean - reach), 0.0)
    ends = min(low, value), float(value + reach)
    note = f"{by_chance:.2g} expected by chance if calibrated"
    return Score("calibration_error", value, *ends, False, "folded normal", note)


def _folded(distance: Array, spread: Array) -> tuple[Array, Array]:
    """Return mean and variance of the absolute value of a normal number."""
    safe = np.maximum(spread, np.finfo(float).tiny)
    ratio = distance / safe
    mean = safe * np.sqrt(2.0 / np.pi) * np.exp(-0.5 * ratio**2) + distance * (
        1.0 - 2.0 * special.ndtr(-ratio)
    )
    return mean, np.maximum(distance**2 + safe**2 - mean**2, 0.0)


def _require_rows(said: Array, came: Array) -> None:
    if said.ndim != 1 or said.shape != came.shape or not len(said):
        raise ValueError(
            "y_true and y_prob must hold one entry for each of at least one row; found shapes "
            f"{came.shape} and {said.shape}. Pass one column of probabilities and whether each "
            "row is of that class."
        )


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
