"""Whether predictive distributions mean what they say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from credo.distributions.parameter import probability
from credo.distributions.univariate import Univariate
from credo.numerics.array import Array, as_float
from credo.validation.argument import old_arguments, predicted_first
from credo.validation.proportion import proportion_interval
from credo.validation.scores import log_score, needed_coverage

__all__ = ["CoverageCurve", "coverage_curve", "probability_integral_transform"]

LEVELS = np.linspace(0.05, 0.95, 19)


@dataclass(frozen=True, eq=False)
class CoverageCurve:
    """Share of outcomes inside central intervals, against what the intervals claim.

    Attributes
    ----------
    levels
        Probabilities that the intervals claim, shape (n_levels,).
    observed
        Share of outcomes inside; equal to ``levels`` if calibrated, below if too sure.
    low, high
        Exact interval of each share, point by point: how far it may be off by chance.
    n_rows
        Number of outcomes.
    """

    levels: Array
    observed: Array
    low: Array
    high: Array
    n_rows: int


_old_order = old_arguments(
    predicted_first, "y_pred y_true levels confidence", predictive="y_pred", y="y_true"
)


@_old_order
def coverage_curve(
    y_true: ArrayLike,
    y_pred: Univariate,
    levels: ArrayLike | None = None,
    confidence: float = 0.95,
) -> CoverageCurve:
    """Return how often central intervals of many sizes held the outcome.

    Parameters
    ----------
    y_true
        Outcomes.
    y_pred
        One distribution per row, such as ``model.predict_dist(X)``.
    levels
        Coverages to ask about; every twentieth if None.
    confidence
        Probability with which each band from ``low`` to ``high`` holds the true share.

    Examples
    --------
    >>> from credo.distributions import Normal
    >>> curve = coverage_curve([-0.5, 0.1, 0.8, 3.0], Normal([0.0] * 4, 1.0), levels=[0.5, 0.9])
    >>> curve.observed, curve.low.round(2), curve.high.round(2)
    (array([0.5 , 0.75]), array([0.07, 0.19]), array([0.93, 0.99]))
    """
    asked = np.atleast_1d(probability("levels", LEVELS if levels is None else levels))
    needed = np.ravel(needed_coverage(y_true, y_pred))
    if not len(needed) or np.isnan(needed).any():
        raise ValueError(
            f"y_true must hold at least one outcome and no NaN; found {np.isnan(needed).sum()} "
            f"NaN among {len(needed)}. Leave out rows without an outcome."
        )
    hits = (needed[:, None] <= asked).sum(axis=0)
    low, high = proportion_interval(hits, len(needed), confidence).T
    return CoverageCurve(asked, hits / len(needed), low, high, len(needed))


@_old_order
def probability_integral_transform(y_true: ArrayLike, y_pred: Univariate) -> Array:
    """Return the predictive probability of not exceeding each outcome.

    Uniform on (0, 1) if predictions are calibrated; piled up at the ends if too sure, in the
    middle if too cautious. Half the probability of ``y_true`` itself is left out if discrete.

    Examples
    --------
    >>> from credo.distributions import Normal
    >>> probability_integral_transform([0.0, 1.0], Normal([0.0, 0.0], 1.0)).round(3)
    array([0.5  , 0.841])
    """
    score = log_score(y_true, y_pred)
    below = y_pred.cdf(as_float(y_true))
    return np.asarray(below - 0.5 * np.exp(score)) if y_pred.is_discrete else below
