"""Predictions beside what came true."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from credo.distributions.univariate import Univariate
from credo.numerics.array import as_float
from credo.plots.drawing import Predictions, Residuals
from credo.plots.style import axes_of
from credo.validation.scores import is_covered

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "drawn_predictions",
    "drawn_residuals",
    "predictions_against_truth",
    "residuals",
]


def predictions_against_truth(
    predictive: Univariate, y: ArrayLike, ax: Axes | None = None, coverage: float = 0.9
) -> Axes:
    """Draw each predictive mean with its interval against the outcome.

    On the diagonal the mean was right; an interval that does not reach it has missed. Of
    more than a thousand rows every so many-th is shown; the legend counts them all. All means
    and outcomes are in the picture, but not the ends of intervals much wider than others.

    Parameters
    ----------
    predictive, y
        One distribution and one outcome per row.
    coverage
        Probability of the central intervals.
    """
    return drawn_predictions(predictive, y, coverage).draw(axes_of(ax))


def drawn_predictions(predictive: Univariate, y: ArrayLike, coverage: float) -> Predictions:
    """Return the numbers that predictions are drawn by."""
    is_inside = is_covered(y, predictive, coverage)
    low, high = predictive.interval(coverage).T
    return Predictions(as_float(y), predictive.mean(), low, high, is_inside, coverage)


def residuals(
    predictive: Univariate, y: ArrayLike, ax: Axes | None = None, coverage: float = 0.9
) -> Axes:
    """Draw outcomes minus predictive means, in predictive standard deviations.

    A good model leaves a band without shape, as wide everywhere, most of it shaded.

    Parameters
    ----------
    predictive, y
        One distribution and one outcome per row.
    coverage
        Share of normal residuals that would lie in the shaded band.
    """
    return drawn_residuals(predictive, y, coverage).draw(axes_of(ax))


def drawn_residuals(predictive: Univariate, y: ArrayLike, coverage: float) -> Residuals:
    """Return the numbers that residuals are drawn by."""
    mean = predictive.mean()
    return Residuals(mean, (as_float(y) - mean) / predictive.std(), coverage)
