"""Risk of the best rule, and the probabilities at which the best action changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.decisions.loss_matrix import LossMatrix, name_array
from credo.distributions.parameter import non_negative
from credo.numerics.array import Array
from credo.numerics.quotation import quote

__all__ = [
    "ActionRegions",
    "action_regions",
    "bayes_risk",
    "binary_threshold",
    "reject_threshold",
]


@dataclass(frozen=True, eq=False)
class ActionRegions:
    """Which action is best where, as the probability of the second of two classes grows.

    Attributes
    ----------
    actions
        Actions that are best somewhere, from probability 0 to 1, shape (m,).
    thresholds
        Where one gives way to the next, rising, shape (m - 1,).
    """

    actions: NDArray[Any]
    thresholds: Array


def bayes_risk(
    probability: ArrayLike, loss: LossMatrix, weight: ArrayLike | None = None
) -> float:
    """Return the expected loss of the best rule, ``sum_x p(x) min_a R(a | x)``.

    No rule does better, whatever it does with x; the error of classification that remains is
    this risk under 0-1 loss.

    Parameters
    ----------
    probability
        ``P(class | x)`` in the order of ``loss.labels``, one row for each x.
    weight
        ``p(x)`` of each row, up to a factor; equal if None, as for rows drawn from p(x).

    Examples
    --------
    A test for a disease of one in five is positive for 90 % of the ill and 20 % of the well.

    >>> joint = np.array([[0.8 * 0.2, 0.2 * 0.9], [0.8 * 0.8, 0.2 * 0.1]])
    >>> p_x = joint.sum(axis=1)
    >>> costs = LossMatrix([[0, 10], [1, 0]], ["well", "ill"], ["send home", "treat"])
    >>> round(bayes_risk(joint / p_x[:, None], costs, p_x), 4)
    0.36
    """
    least = loss.conditional_risk(probability).min(axis=-1)
    if weight is None:
        return float(least.mean())
    shares = non_negative("weight", weight, "Pass p(x) of each row.")
    if shares.shape != least.shape or not shares.sum() > 0:
        raise ValueError(
            f"weight must give p(x) of each of {least.shape} rows, and not be all zero; found "
            f"shape {shares.shape} of sum {shares.sum():g}. Pass one number per row."
        )
    return float((shares * least).sum() / shares.sum())


def reject_threshold(cost: float, error: float = 1.0) -> float:
    """Return the largest class probability below which it pays to leave undecided.

    If every error costs ``error``: reject where ``max P(class | x) < 1 - cost / error``
    [chow1970]_. With K classes none is rejected once the cost reaches ``error (1 - 1 / K)``.

    Examples
    --------
    >>> reject_threshold(0.25)
    0.75
    """
    if not (0 <= cost < np.inf and 0 < error < np.inf):
        raise ValueError(
            f"cost must not be negative and error must be positive; found cost={cost!r}, "
            f"error={error!r}. Pass losses."
        )
    return max(1.0 - cost / error, 0.0)


def binary_threshold(loss: LossMatrix) -> float:
    """Return the probability of the second class above which the second action is better.

    ``(l10 - l00) / (l10 - l00 + l01 - l11)`` for the loss ``lij`` of action i in class j.

    Examples
    --------
    >>> costs = LossMatrix([[0, 10], [1, 0]], ["well", "ill"], ["send home", "treat"])
    >>> round(binary_threshold(costs), 4)
    0.0909
    """
    _require_binary(loss)
    if len(loss.actions) != 2:
        raise ValueError(
            f"binary_threshold needs 2 actions; found {len(loss.actions)}. Use action_regions, "
            "which gives every threshold."
        )
    (l00, l01), (l10, l11) = loss.loss
    false_alarm, miss = l10 - l00, l01 - l11
    if false_alarm <= 0 or miss <= 0:
        raise ValueError(
            "each action must be the better one in its own class; found "
            f"{quote(loss.actions[0])} "
            f"worse by {-false_alarm:g} and {-miss:g}. Order the actions like the classes, or "
            "leave out one that never pays."
        )
    return float(false_alarm / (false_alarm + miss))


def action_regions(loss: LossMatrix) -> ActionRegions:
    """Return which action is best at each probability of the second of two classes.

    Examples
    --------
    >>> costs = LossMatrix.zero_one(["well", "ill"]).with_reject(0.2)
    >>> regions = action_regions(costs)
    >>> regions.actions.tolist(), regions.thresholds
    (['well', 'reject', 'ill'], array([0.2, 0.8]))
    """
    _require_binary(loss)
    start, end = loss.loss.T
    rise = end - start
    # Two lines cross where their difference at zero is used up by that of their slopes.
    gap, bend = start[:, None] - start, rise - rise[:, None]
    crossing = np.divide(gap, bend, out=np.full_like(gap, np.nan), where=bend != 0)
    inner = np.unique(crossing[(crossing > 0) & (crossing < 1)])
    edges = np.concatenate([[0.0], inner, [1.0]])
    middle = 0.5 * (edges[1:] + edges[:-1])
    best = (start + middle[:, None] * rise).argmin(axis=1)
    is_change = np.diff(best) != 0
    kept = best[np.concatenate([[True], is_change])]
    return ActionRegions(name_array(loss.actions[kept]), inner[is_change])


def _require_binary(loss: LossMatrix) -> None:
    if len(loss.labels) != 2:
        raise ValueError(
            f"thresholds on one probability need 2 classes; found {len(loss.labels)}. Use "
            "decide, which compares all actions."
        )
