"""Whether class probabilities mean what they say."""

from __future__ import annotations

from matplotlib.axes import Axes

from credo.evaluation.classes.reliability import ReliabilityCurve
from credo.plots.drawing import Reliability
from credo.plots.style import axes_of, shortened

__all__ = ["reliability_curve"]


def reliability_curve(curve: ReliabilityCurve, ax: Axes | None = None) -> Axes:
    """Draw observed against predicted shares with interval bars; on the diagonal is calibrated.

    The gray histogram at the foot shows how often each probability was said. A bar that leaves
    out the diagonal is hard to explain by chance, though one in ten may do so.
    """
    name = "class called" if curve.label is None else str(curve.label)
    label = f"{shortened(name, 20)}, error {curve.error.value:.3f}"
    shown = Reliability(
        curve.predicted, curve.observed, curve.low, curve.high, curve.histogram, label
    )
    return shown.draw(axes_of(ax))
