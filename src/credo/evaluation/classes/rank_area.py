"""Areas under curves of ranked rows, with intervals from the influence of each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy import special

from credo.distributions.parameter import probability
from credo.numerics.array import Array, as_float
from credo.validation.proportion import share_interval
from credo.validation.score import Score

__all__ = ["Ranking", "average_precision_score", "roc_score"]


@dataclass(frozen=True, eq=False)
class Ranking:
    """Weight of positive and negative rows at and above each distinct score, falling.

    Attributes
    ----------
    threshold
        Distinct scores, falling, shape (n_scores,).
    positive_above, negative_above
        Weight of the rows at or above each.
    place
        Which distinct score each row has, shape (n_samples,).
    is_positive, weight
        Kind and weight of each row.
    """

    threshold: Array
    positive_above: Array
    negative_above: Array
    place: NDArray[np.intp]
    is_positive: NDArray[np.bool_]
    weight: Array

    @classmethod
    def of(cls, score: Array, is_positive: NDArray[np.bool_], weight: Array) -> Ranking:
        """Rank rows by falling score; rows of equal score share a place."""
        falling, place = np.unique(-score, return_inverse=True)
        masses = (
            np.bincount(place, weight * side, len(falling))
            for side in (is_positive, ~is_positive)
        )
        above = [as_float(np.cumsum(mass)) for mass in masses]
        return cls(-falling, above[0], above[1], place, is_positive, weight)

    @property
    def n_positive(self) -> float:
        """Weight of the positive rows."""
        return float(self.positive_above[-1])

    @property
    def n_negative(self) -> float:
        """Weight of the negative rows."""
        return float(self.negative_above[-1])

    @property
    def precision(self) -> Array:
        """Share of positive rows among those at or above each score."""
        total = self.positive_above + self.negative_above
        # Above every row that weighs anything nothing is found, and nothing is called.
        return np.divide(self.positive_above, total, out=np.ones_like(total), where=total > 0)

    def roc_area(self) -> tuple[float, Array]:
        """Return the area under the ROC curve and the influence of each row on it.

        The influence of a positive row is how far the share of negative rows below it is
        from the area, divided by the number of positive rows; likewise of a negative row.
        The sum of their squares, with n - 1 for n, is DeLong's variance.
        """
        positive, negative = _mass(self.positive_above), _mass(self.negative_above)
        below = 1.0 - (self.negative_above - 0.5 * negative) / self.n_negative
        above = (self.positive_above - 0.5 * positive) / self.n_positive
        area = float(positive @ below / self.n_positive)
        parts = np.where(
            self.is_positive,
            (below[self.place] - area) * (_unbiased(self.weight[self.is_positive])),
            (above[self.place] - area) * (_unbiased(self.weight[~self.is_positive])),
        )
        size = np.where(self.is_positive, self.n_positive, self.n_negative)
        return area, parts * self.weight / size

    def average_precision(self) -> tuple[float, Array]:
        """Return the mean precision over positive rows and the influence of each row on it.

        A row changes its own precision and that of all rows below it.
        """
        positive = _mass(self.positive_above)
        precision = self.precision
        mean = float(positive @ precision / self.n_positive)
        total = np.maximum(self.positive_above + self.negative_above, np.finfo(float).tiny)
        gain = _sum_from(positive * (1.0 - precision) / total)
        harm = _sum_from(positive * precision / total)
        parts = np.where(
            self.is_positive, (precision - mean + gain)[self.place], -harm[self.place]
        )
        return mean, parts * self.weight / self.n_positive

    def effective_counts(self) -> tuple[float, float]:
        """Return how many equally weighted positive and negative rows would be as sure."""
        counts = [
            rows.sum() ** 2 / (rows**2).sum()
            for rows in (self.weight[self.is_positive], self.weight[~self.is_positive])
        ]
        return float(counts[0]), float(counts[1])


def roc_score(rankings: Sequence[Ranking], coverage: float) -> Score:
    """Return the mean area under ROC curves of the same rows, one for each class."""
    areas, influences = zip(*(ranking.roc_area() for ranking in rankings), strict=True)
    value, spread = float(np.mean(areas)), _spread(influences)
    if 0 < value < 1 and spread > 0:
        return Score("auc", value, *_logit_interval(value, spread, coverage), True, "DeLong")
    counts = np.min([ranking.effective_counts() for ranking in rankings], axis=0)
    ends = _newcombe_interval(value, counts[0], counts[1], coverage)
    return Score("auc", value, *ends, True, "Newcombe")


def average_precision_score(rankings: Sequence[Ranking], coverage: float) -> Score:
    """Return the mean average precision of classes of the same rows."""
    name = "average_precision"
    means, influences = zip(*(rank.average_precision() for rank in rankings), strict=True)
    value, spread = float(np.mean(means)), _spread(influences)
    if 0 < value < 1 and spread > 0:
        ends = _logit_interval(value, spread, coverage)
        return Score(name, value, *ends, True, "jackknife")
    n = min(ranking.effective_counts()[0] for ranking in rankings)
    low, high = share_interval(value * n, n, coverage)
    return Score(name, value, float(low), float(high), True, "exact")


def _mass(cumulative: Array) -> Array:
    return np.diff(cumulative, prepend=0.0)


def _sum_from(values: Array) -> Array:
    """Return sums of each entry and all after it."""
    return np.cumsum(values[::-1])[::-1]


def _unbiased(weight: Array) -> float:
    """Return the factor of a standard error that makes up for a mean found from the rows."""
    n = weight.sum() ** 2 / (weight**2).sum()
    return float(np.sqrt(n / (n - 1.0))) if n > 1 + 1e-9 else 0.0


def _spread(influences: Sequence[Array]) -> float:
    mean = np.mean(influences, axis=0)
    return float(np.sqrt(mean @ mean))


def _logit_interval(value: float, spread: float, coverage: float) -> tuple[float, float]:
    reach = float(special.ndtri(0.5 + 0.5 * probability("coverage", coverage)))
    step = reach * spread / (value * (1.0 - value))
    low, high = special.expit(special.logit(value) + np.array([-step, step]))
    return float(low), float(high)


def _newcombe_interval(
    area: float, n_positive: float, n_negative: float, coverage: float
) -> tuple[float, float]:
    """Return the areas from which ``area`` is fewer than z standard errors away.

    With the variance that Hanley and McNeil give for exponential scores, which is known
    without an error among the rows.
    """
    z = float(special.ndtri(0.5 + 0.5 * probability("coverage", coverage)))
    extra = 0.5 * (n_positive + n_negative) - 2.0

    def excess(truth: float) -> float:
        clustering = (1.0 - truth) / (2.0 - truth) + truth / (1.0 + truth)
        pairs = max(1.0 + extra * clustering, 1.0) / (n_positive * n_negative)
        return (area - truth) ** 2 - z**2 * truth * (1.0 - truth) * pairs

    ends = 1e-12, 1.0 - 1e-12
    low = scipy.optimize.brentq(excess, ends[0], min(area, ends[1])) if area > 0 else 0.0
    high = scipy.optimize.brentq(excess, max(area, ends[0]), ends[1]) if area < 1 else 1.0
    return float(low), float(high)
