"""Which action is best at which probability, and what it costs."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from credo.decisions.loss_matrix import LossMatrix
from credo.decisions.risk import action_regions
from credo.numerics.array import Array
from credo.plots.style import (
    BLUE,
    GRAY,
    INK,
    ORANGE,
    axes_of,
    legend_above,
    percent,
    shortened,
    tidy,
)

__all__ = ["expected_losses"]

COLORS = (BLUE, ORANGE, "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
NEAR = 0.12


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
    ax = axes_of(ax)
    costs = loss if reject is None else loss.with_reject(reject)
    regions = action_regions(costs)
    p = np.unique(np.concatenate([np.linspace(0.0, 1.0, 101), regions.thresholds]))
    risk = costs.conditional_risk(np.column_stack([1.0 - p, p]))
    for k, action in enumerate(costs.actions.tolist()):
        color = COLORS[k % len(COLORS)]
        ax.plot(p, risk[:, k], color=color, lw=1.6, label=shortened(str(action)))
    ax.plot(p, risk.min(axis=1), color=INK, lw=4.5, alpha=0.25, label="best action")
    last = -1.0
    for threshold in regions.thresholds:
        ax.axvline(threshold, color=GRAY, lw=1.0, ls=":")
        # Labels of thresholds close together would run into each other; the second goes lower.
        height = 0.97 if threshold - last > NEAR else 0.90
        side: Any = "left" if threshold < 0.85 else "right"
        label = f" {percent(float(threshold))} "
        at = {"transform": ax.get_xaxis_transform(), "ha": side, "va": "top"}
        ax.text(threshold, height, label, color=INK, fontsize="small", **at)
        last = threshold
    ax.set(xlim=(0, 1), ylim=(min(0.0, float(risk.min())), _top(risk)))
    ax.xaxis.set_major_formatter(PercentFormatter(1.0))
    legend_above(ax, n_columns=4)
    return tidy(ax, f"probability of {shortened(str(costs.labels[1]))}", "expected loss")


def _top(risk: Array) -> float:
    """Return a height that shows the best rule well and one dear action in part."""
    best = float(risk.min(axis=1).max())
    largest = float(risk.max())
    return min(largest, 3.0 * best) if best > 0 else largest
