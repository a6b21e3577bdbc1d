"""How well scores order rows: ROC and precision-recall curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from credo.evaluation.classes.ranking import PrecisionRecallCurve, RocCurve
from credo.plots.style import BLUE, GRAY, ORANGE, axes_of, shortened, tidy
from credo.validation.score import Score

__all__ = ["precision_recall_plot", "roc_plot"]

# Okabe and Ito's other colors, in an order in which neighbors differ most.
COLORS = (BLUE, ORANGE, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")

Curve = TypeVar("Curve", RocCurve, PrecisionRecallCurve)


def roc_plot(curves: RocCurve | Sequence[RocCurve], ax: Axes | None = None) -> Axes:
    """Draw true against false positives; the diagonal is a coin, the upper left corner perfect.

    Parameters
    ----------
    curves
        One curve, or one for each class against the rest as `evaluate_classes` gives; of more
        than seven those of the least area are named, the others gray.
    """
    ax = axes_of(ax)
    shown = _several(curves)
    ax.plot([0, 1], [0, 1], "--", color=GRAY, lw=1.2, label="a coin")
    for curve, color, label in _colored_curves(shown, [curve.area for curve in shown]):
        x, y = curve.false_positive_rate, curve.true_positive_rate
        ax.plot(x, y, color=color, lw=1.6, label=label, zorder=_height(color))
    _percent_axes(ax)
    _legend(ax, "area, with interval", "lower right")
    return tidy(ax, "false positives among negative rows", "true positives among positive rows")


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
    for curve, color, label in _colored_curves(
        shown, [curve.average_precision for curve in shown]
    ):
        # Precision holds from one found row to the next, as average precision counts it.
        recall = np.append(0.0, curve.recall)
        precision = np.append(curve.precision[:1], curve.precision)
        ax.step(recall, precision, color=color, lw=1.6, label=label, zorder=_height(color))
    _percent_axes(ax)
    _legend(ax, "average precision, with interval", "lower left")
    return tidy(ax, "recall: found among positive rows", "precision: positive among found")


def _several(curves: Curve | Sequence[Curve]) -> list[Curve]:
    shown = list(curves) if isinstance(curves, Sequence) else [curves]
    if not shown:
        raise ValueError(
            "there must be a curve to draw; found none. Evaluate rows of at least 2 classes."
        )
    return shown


def _colored_curves(
    curves: Sequence[Curve], scores: list[Score]
) -> list[tuple[Curve, str, str]]:
    """Return curves with color and name, and last the best of too many, which share gray."""
    rising = np.argsort([score.value for score in scores], kind="stable")
    named, others = np.sort(rising[: len(COLORS)]), rising[len(COLORS) :]
    dressed = [
        (curves[i], color, _named(str(curves[i].label), scores[i]))
        for i, color in zip(named, COLORS, strict=False)
    ]
    for rank, i in enumerate(others):
        words = f"{len(others)} others: {scores[i].value:.3f} or more"
        dressed.append((curves[i], GRAY, "" if rank else words))
    return dressed


def _height(color: str) -> float:
    return 1.9 if color == GRAY else 2.0


def _named(name: str, score: Score) -> str:
    return f"{shortened(name, 20)}: {score.value:.3f} ({score.low:.3f} to {score.high:.3f})"


def _legend(ax: Axes, title: str, place: Literal["lower left", "lower right"]) -> None:
    """Put the legend into the corner that good curves leave empty."""
    size = "small" if len(ax.lines) < 6 else "x-small"
    ax.legend(
        title=title,
        loc=place,
        fontsize=size,
        title_fontsize=size,
        frameon=False,
        handlelength=1.4,
        labelspacing=0.35,
        alignment="left",
    )


def _percent_axes(ax: Axes) -> None:
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(PercentFormatter(1.0))
