"""Which classes were taken for which."""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo.evaluation.classes.confusion import Confusion
from credo.plots.drawing import Confusions
from credo.plots.style import axes_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["confusion_table", "drawn_confusion"]


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
