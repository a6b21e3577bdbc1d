"""Which action is best at which probability, and what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from credo.decisions.loss_matrix import LossMatrix
from credo.decisions.risk import action_regions
from credo.plots.drawing import ExpectedLosses
from credo.plots.style import axes_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["drawn_losses", "expected_losses"]


def expected_losses(
    loss: LossMatrix, ax: Axes | None = None, reject: float | None = None
) -> Axes:
    """Draw the expected loss of each action against the probability of the second class.

    The lower edge is the loss of the best rule; dotted lines mark where its action changes.

    Parameters
    ----------
    loss
        Losses for two classes.
    reject
        What it costs to leave undecided; not an action if None.
    """
    return drawn_losses(loss if reject is None else loss.with_reject(reject)).draw(axes_of(ax))


def drawn_losses(loss: LossMatrix) -> ExpectedLosses:
    """Return the numbers of the picture: losses of the actions at a hundred probabilities."""
    regions = action_regions(loss)
    p = np.unique(np.concatenate([np.linspace(0.0, 1.0, 101), regions.thresholds]))
    risk = loss.conditional_risk(np.column_stack([1.0 - p, p]))
    actions = tuple(str(action) for action in loss.actions.tolist())
    return ExpectedLosses(p, risk, regions.thresholds, actions, str(loss.labels[1]))
