"""Whether class probabilities mean what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo.evaluation.classes.reliability import ReliabilityCurve
from credo.plots.drawing import Reliability
from credo.plots.style import axes_of, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["drawn_reliability", "reliability_curve"]


def reliability_curve(curve: ReliabilityCurve, ax: Axes | None = None) -> Axes:
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
