"""Whether intervals hold as often as they claim."""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo.evaluation.calibration import CoverageCurve
from credo.plots.drawing import CoverageLine
from credo.plots.style import axes_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["coverage_curve", "drawn_coverage"]


def coverage_curve(curve: CoverageCurve, ax: Axes | None = None) -> Axes:
    """Draw observed against claimed coverage; on the diagonal predictions are calibrated.

    Below it intervals are too narrow, above it too wide. The band from ``curve.low`` to
    ``curve.high`` is where the share of endless rows may lie: where it leaves out the
    diagonal, chance does not explain the distance.
    """
    return drawn_coverage(curve).draw(axes_of(ax))


def drawn_coverage(curve: CoverageCurve) -> CoverageLine:
    """Return the numbers that a coverage curve is drawn by."""
    return CoverageLine(curve.levels, curve.observed, curve.low, curve.high, curve.n_rows)
