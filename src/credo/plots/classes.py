"""Pictures of classes: confusions, ROC and precision-recall curves, and what actions cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from credo.decisions.loss_matrix import LossMatrix
from credo.decisions.risk import action_regions
from credo.evaluation.classes.confusion import Confusion
from credo.evaluation.classes.ranking import PrecisionRecallCurve, RocCurve
from credo.plots.drawing import (
    Confusions,
    ExpectedLosses,
    RankedCurve,
    RocCurves,
    curve_legend,
    dressed,
    percent_axes,
)
from credo.plots.style import GRAY, axes_of, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "confusion_table",
    "drawn_confusion",
    "drawn_losses",
    "drawn_roc",
    "expected_losses",
    "precision_recall_plot",
    "roc_plot",
]

Curve = TypeVar("Curve", RocCurve, PrecisionRecallCurve)


def confusion_table(
    confusion: Confusion, ax: Axes | None = None, coverage: float = 0.9
) -> Axes:
    """Draw each cell's count and its share of the true class, with the share's interval.

    Rows are true classes and sum to 100 %; the darker a cell, the larger its share. Intervals
    are written for up to six classes, numbers for up to fifteen.
    """
    return drawn_confusion(confusion, coverage).draw(axes_of(ax))


def drawn_confusion(confusion: Confusion, coverage: float) -> Confusions:
    """Return the numbers that a table of confusions is drawn by."""
    labels = tuple(str(label) for label in confusion.labels)
    return Confusions(labels, confusion.table, confusion.shares(coverage))


def roc_plot(curves: RocCurve | Sequence[RocCurve], ax: Axes | None = None) -> Axes:
    """Draw true against false positives; the diagonal is a coin, the upper left corner perfect.

    Parameters
    ----------
    curves
        One curve, or one for each class against the rest as `evaluate_classes` gives; of more
        than seven those of the least area are named, the others gray.
    """
    shown = tuple(drawn_roc(curve) for curve in _several(curves))
    return RocCurves(shown).draw(axes_of(ax))


def drawn_roc(curve: RocCurve) -> RankedCurve:
    """Return the numbers that a ROC curve is drawn by."""
    area = (curve.area.value, curve.area.low, curve.area.high)
    rates = curve.false_positive_rate, curve.true_positive_rate
    return RankedCurve(str(curve.label), *rates, area)


def precision_recall_plot(
    curves: PrecisionRecallCurve | Sequence[PrecisionRecallCurve], ax: Axes | None = None
) -> Axes:
    """Draw precision against recall; the upper right corner is perfect.

    A coin has the share of positive rows as its precision, drawn as a dashed line where there
    is one curve.
    """
    ax = axes_of(ax)
    shown = _several(curves)
    if len(shown) == 1:
        rate = shown[0].base_rate
        ax.axhline(rate, ls="--", color=GRAY, lw=1.2, label=f"a coin: {rate:.3f}")
    for curve, color, label in dressed([_drawn(curve) for curve in shown]):
        height = 1.9 if color == GRAY else 2.0
        ax.step(curve.x, curve.y, color=color, lw=1.6, label=label, zorder=height)
    percent_axes(ax, (-0.01, 1.01))
    curve_legend(ax, "average precision, with interval", "lower left")
    return tidy(ax, "recall: found among positive rows", "precision: positive among found")


def expected_losses(
    loss: LossMatrix, ax: Axes | None = None, reject: float | None = None
) -> Axes:
    """Draw the expected loss of each action against the probability of the second class.

    The lower edge is the loss of the best rule; dotted lines mark where its action changes.

    Parameters
    ----------
    loss
        Losses for two classes.
    reject
        What it costs to leave undecided; not an action if None.
    """
    return drawn_losses(loss if reject is None else loss.with_reject(reject)).draw(axes_of(ax))


def drawn_losses(loss: LossMatrix) -> ExpectedLosses:
    """Return the numbers of the picture: losses of the actions at a hundred probabilities."""
    regions = action_regions(loss)
    p = np.unique(np.concatenate([np.linspace(0.0, 1.0, 101), regions.thresholds]))
    risk = loss.conditional_risk(np.column_stack([1.0 - p, p]))
    actions = tuple(str(action) for action in loss.actions.tolist())
    return ExpectedLosses(p, risk, regions.thresholds, actions, str(loss.labels[1]))


def _drawn(curve: PrecisionRecallCurve) -> RankedCurve:
    # Precision holds from one found row to the next, as average precision counts it.
    recall = np.append(0.0, curve.recall)
    precision = np.append(curve.precision[:1], curve.precision)
    score = curve.average_precision
    return RankedCurve(
        str(curve.label), recall, precision, (score.value, score.low, score.high)
    )


def _several(curves: Curve | Sequence[Curve]) -> list[Curve]:
    shown = list(curves) if isinstance(curves, Sequence) else [curves]
    if not shown:
        raise ValueError(
            "there must be a curve to draw; found none. Evaluate rows of at least 2 classes."
        )
    return shown
