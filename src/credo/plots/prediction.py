"""Predictions beside what came true; calibration: whether they hold as often as claimed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from credo.distributions.univariate import Univariate
from credo.evaluation.calibration import CoverageCurve
from credo.evaluation.classes.reliability import ReliabilityCurve
from credo.numerics.array import as_float
from credo.plots.drawing import CoverageLine, Predictions, Reliability, Residuals
from credo.plots.style import axes_of, shortened
from credo.validation.argument import old_arguments, predicted_first
from credo.validation.scores import is_covered

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "coverage_plot",
    "drawn_coverage",
    "drawn_predictions",
    "drawn_reliability",
    "drawn_residuals",
    "predictions_against_truth",
    "reliability_plot",
    "residuals",
]


_old_order = old_arguments(
    predicted_first, "y_pred y_true ax coverage", predictive="y_pred", y="y_true"
)


@_old_order
def predictions_against_truth(
    y_true: ArrayLike, y_pred: Univariate, ax: Axes | None = None, coverage: float = 0.9
) -> Axes:
    """Draw each predictive mean with its interval against the outcome.

    On the diagonal the mean was right; an interval that does not reach it has missed. Of
    more than a thousand rows every so many-th is shown; the legend counts them all. All means
    and outcomes are in the picture, but not the ends of intervals much wider than others.

    Parameters
    ----------
    y_true, y_pred
        One outcome and one distribution per row.
    coverage
        Probability of the central intervals.
    """
    return drawn_predictions(y_true, y_pred, coverage).draw(axes_of(ax))


def drawn_predictions(y_true: ArrayLike, y_pred: Univariate, coverage: float) -> Predictions:
    """Return the numbers that predictions are drawn by."""
    is_inside = is_covered(y_true, y_pred, coverage)
    low, high = y_pred.interval(coverage).T
    return Predictions(as_float(y_true), y_pred.mean(), low, high, is_inside, coverage)


@_old_order
def residuals(
    y_true: ArrayLike, y_pred: Univariate, ax: Axes | None = None, coverage: float = 0.9
) -> Axes:
    """Draw outcomes minus predictive means, in predictive standard deviations.

    A good model leaves a band without shape, as wide everywhere, most of it shaded.

    Parameters
    ----------
    y_true, y_pred
        One outcome and one distribution per row.
    coverage
        Share of normal residuals that would lie in the shaded band.
    """
    return drawn_residuals(y_true, y_pred, coverage).draw(axes_of(ax))


def drawn_residuals(y_true: ArrayLike, y_pred: Univariate, coverage: float) -> Residuals:
    """Return the numbers that residuals are drawn by."""
    mean = y_pred.mean()
    return Residuals(mean, (as_float(y_true) - mean) / y_pred.std(), coverage)


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
