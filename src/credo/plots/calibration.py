"""Whether intervals hold as often as they claim."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from credo.evaluation.calibration import CoverageCurve
from credo.plots.style import BLUE, GRAY, axes_of, legend_above, tidy

__all__ = ["coverage_curve"]


def coverage_curve(curve: CoverageCurve, ax: Axes | None = None) -> Axes:
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
