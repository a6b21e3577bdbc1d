"""The delta method for smooth functions of a confusion table, safe at the ends of a range."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from credo.distributions.parameter import probability
from credo.evaluation.classes.confusion import Confusion
from credo.numerics.array import Array
from credo.validation.score import Score

__all__ = ["correlation", "mean_f1", "score_by_delta"]

Function = Callable[[Array], tuple[float, Array]]
"""Takes shares of cells that sum to one; returns a value and its slope in each share."""


def score_by_delta(
    name: str,
    confusion: Confusion,
    function: Function,
    coverage: float,
    bounds: tuple[float, float],
) -> Score:
    """Return a function of the table, between bounds, with an interval; higher is better.

    The standard error is taken at the table with one more row spread evenly over its cells,
    on the logit scale between the bounds. Without that row a table with no errors would seem
    to rule out errors altogether.

    Classes that neither occur nor are called are left out.
    """
    table, n = _present(confusion)
    if len(table) < 2:
        note = "only one class occurs, and is called"
        return Score(name, function(table)[0], *bounds, True, "none", note)
    value, _ = function(table)
    smooth = (n * table + 1.0 / table.size) / (n + 1.0)
    center, slope = function(smooth)
    spread = np.sqrt((smooth * (slope - (smooth * slope).sum()) ** 2).sum() / (n + 1.0))
    low, high = _logit_interval(center, float(spread), coverage, bounds)
    return Score(name, value, min(low, value), max(high, value), True, "delta")


def correlation(share: Array) -> tuple[float, Array]:
    """Return the correlation of true and predicted classes (R_K), 0 if a margin is empty."""
    true, called = share.sum(axis=1), share.sum(axis=0)
    joint = np.trace(share) - true @ called
    spread_true, spread_called = 1.0 - true @ true, 1.0 - called @ called
    if min(spread_true, spread_called) <= 0:
        return 0.0, np.zeros_like(share)
    scale = np.sqrt(spread_true * spread_called)
    value = float(joint / scale)
    slope_joint = np.eye(len(share)) - called[:, None] - true
    slope = slope_joint / scale + value * (true[:, None] / spread_true + called / spread_called)
    return value, slope


def mean_f1(share: Array) -> tuple[float, Array]:
    """Return the mean over classes of ``2 q_kk / (true_k + called_k)``."""
    weight = share.sum(axis=1) + share.sum(axis=0)
    scores = 2.0 * np.diag(share) / weight
    fall = scores / weight
    slope = np.diag(2.0 / weight) - fall[:, None] - fall
    return float(scores.mean()), slope / len(share)


def _present(confusion: Confusion) -> tuple[Array, float]:
    """Return shares of the classes there are, and the effective number of rows."""
    table = confusion.table
    is_present = table.sum(axis=0) + table.sum(axis=1) > 0
    inner = table[np.ix_(is_present, is_present)]
    total = inner.sum()
    return inner / total, float(total**2 / confusion.squares.sum())


def _logit_interval(
    center: float, spread: float, coverage: float, bounds: tuple[float, float]
) -> tuple[float, float]:
    start, length = bounds[0], bounds[1] - bounds[0]
    share = (center - start) / length
    reach = float(special.ndtri(0.5 + 0.5 * probability("coverage", coverage)))
    step = reach * spread / length / (share * (1.0 - share))
    ends = special.expit(special.logit(share) + np.array([-step, step]))
    return float(start + length * ends[0]), float(start + length * ends[1])
