"""Calibration: whether intervals hold, and classes come true, as often as they claim."""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo.evaluation.calibration import CoverageCurve
from credo.evaluation.classes.reliability import ReliabilityCurve
from credo.plots.drawing import CoverageLine, Reliability
from credo.plots.style import axes_of, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["coverage_plot", "drawn_coverage", "drawn_reliability", "reliability_plot"]


def coverage_plot(curve: CoverageCurve, ax: Axes | None = None) -> Axes:
    """Draw observed against claimed coverage; on the diagonal predictions are calibrated.

    Below it intervals are too narrow, above it too wide. The band from ``curve.low`` to
    ``curve.high`` is where the share of endless rows may lie: where it leaves out the
    diagonal, chance does not explain the distance.
    """
    return drawn_coverage(curve).draw(axes_of(ax))


def drawn_coverage(curve: CoverageCurve) -> CoverageLine:
    """Return the numbers that a coverage curve is drawn by."""
    return CoverageLine(curve.levels, curve.observed, curve.low, curve.high, curve.n_rows)


def reliability_plot(curve: ReliabilityCurve, ax: Axes | None = None) -> Axes:
    """Draw observed against predicted shares with interval bars; on the diagonal is calibrated.

    The gray histogram at the foot shows how often each probability was said. A bar that leaves
    out the diagonal is hard to explain by chance, though one in ten may do so.
    """
    return drawn_reliability(curve).draw(axes_of(ax))


def drawn_reliability(curve: ReliabilityCurve) -> Reliability:
    """Return the numbers that a reliability curve is drawn by."""
    name = "class called" if curve.label is None else str(curve.label)
    label = f"{shortened(name, 20)}, error {curve.error.value:.3f}"
    return Reliability(
        curve.predicted, curve.observed, curve.low, curve.high, curve.histogram, label
    )
