"""Whether intervals hold as often as they claim."""

from __future__ import annotations

from matplotlib.axes import Axes

from credo.evaluation.calibration import CoverageCurve
from credo.plots.drawing import CoverageLine
from credo.plots.style import axes_of

__all__ = ["coverage_curve"]


def coverage_curve(curve: CoverageCurve, ax: Axes | None = None) -> Axes:
    """Draw observed against claimed coverage; on the diagonal predictions are calibrated.

    Below it intervals are too narrow, above it too wide. The band from ``curve.low`` to
    ``curve.high`` is where the share of endless rows may lie: where it leaves out the
    diagonal, chance does not explain the distance.
    """
    shown = CoverageLine(curve.levels, curve.observed, curve.low, curve.high, curve.n_rows)
    return shown.draw(axes_of(ax))
