"""Calibration: whether intervals hold, and classes come true, as often as they claim."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from credo.evaluation.calibration import CoverageCurve
from credo.evaluation.classes.reliability import ReliabilityCurve
from credo.plots.style import BLUE, GRAY, axes_of, legend_above, shortened, tidy

__all__ = ["coverage_plot", "reliability_plot"]


def coverage_plot(curve: CoverageCurve, ax: Axes | None = None) -> Axes:
    """Draw observed against claimed coverage; on the diagonal predictions are calibrated.

    Below it intervals are too narrow, above it too wide. The band from ``curve.low`` to
    ``curve.high`` is where the share of endless rows may lie: where it leaves out the
    diagonal, chance does not explain the distance.
    """
    ax = axes_of(ax)
    ax.plot([0, 1], [0, 1], "--", color=GRAY, lw=1.2, label="calibrated")
    ax.fill_between(curve.levels, curve.low, curve.high, color=BLUE, alpha=0.18, lw=0)
    label = f"observed, {curve.n_rows:,} rows"
    ax.plot(curve.levels, curve.observed, "o-", color=BLUE, lw=1.5, ms=4, label=label)
    ax.text(0.97, 0.05, "too sure", ha="right", color=GRAY, style="italic")
    ax.text(0.03, 0.92, "too cautious", ha="left", color=GRAY, style="italic")
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(PercentFormatter(1.0))
    legend_above(ax)
    return tidy(ax, "coverage claimed", "coverage observed")


# Share of the height that the histogram may fill, below the curve.
HISTOGRAM_HEIGHT = 0.18


def reliability_plot(curve: ReliabilityCurve, ax: Axes | None = None) -> Axes:
    """Draw observed against predicted shares with interval bars; on the diagonal is calibrated.

    The gray histogram at the foot shows how often each probability was said. A bar that leaves
    out the diagonal is hard to explain by chance, though one in ten may do so.
    """
    ax = axes_of(ax)
    tallest = max(float(curve.histogram.max()), 1e-300)
    edges = np.linspace(0.0, 1.0, len(curve.histogram) + 1)
    heights = HISTOGRAM_HEIGHT * curve.histogram / tallest
    ax.stairs(heights, edges, fill=True, color=GRAY, alpha=0.35, lw=0, label="how often said")
    ax.plot([0, 1], [0, 1], "--", color=GRAY, lw=1.2, label="calibrated")
    reach = np.abs([curve.observed - curve.low, curve.high - curve.observed])
    name = "class called" if curve.label is None else str(curve.label)
    ax.plot(curve.predicted, curve.observed, color=BLUE, lw=1.0, alpha=0.4)
    ax.errorbar(
        curve.predicted,
        curve.observed,
        yerr=reach,
        fmt="o",
        color=BLUE,
        ms=4.5,
        elinewidth=1.1,
        capsize=2.5,
        label=f"{shortened(name, 20)}, error {curve.error.value:.3f}",
    )
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(PercentFormatter(1.0))
    legend_above(ax, 3)
    return tidy(ax, "probability said", "share that came true")
