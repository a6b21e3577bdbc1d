"""The losses of a margin, side by side."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from credo.decisions.margin_loss import MARGIN_LOSSES
from credo.plots.style import BLUE, GRAY, INK, ORANGE, axes_of, legend_above, tidy

__all__ = ["losses"]

_COLORS = {
    "zero_one": INK,
    "logistic": BLUE,
    "hinge": ORANGE,
    "exponential": "#009E73",
    "quadratic": "#CC79A7",
}


def losses(ax: Axes | None = None) -> Axes:
    """Draw every loss against the margin ``y f(x)``, each scaled to bound the 0-1 loss.

    The logistic loss is divided by log 2, so that all curves pass through (0, 1).
    """
    ax = axes_of(ax)
    z = np.linspace(-2.0, 3.0, 501)
    ax.axvline(0.0, color=GRAY, lw=0.8)
    for name, loss in MARGIN_LOSSES.items():
        label = {"zero_one": "0-1", "logistic": "logistic / ln 2"}.get(name, name)
        height = loss.bound_factor * loss.value(z)
        width = 2.4 if name == "zero_one" else 1.7
        ax.plot(z, height, color=_COLORS[name], lw=width, label=label)
    ax.text(-0.06, 3.8, "wrong", ha="right", color=GRAY, style="italic")
    ax.text(0.06, 3.8, "right", ha="left", color=GRAY, style="italic")
    ax.set(xlim=(-2.0, 3.0), ylim=(-0.05, 4.1))
    legend_above(ax, 5)
    return tidy(ax, "margin y f(x)", "loss")
