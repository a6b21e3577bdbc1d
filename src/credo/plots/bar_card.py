"""A node with states: its name, and for each state a label, a bar and a percentage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from numpy.typing import ArrayLike

from credo.plots.card import PAD, ROW, TITLE, Box, draw_frame, text_width, title_width, write
from credo.plots.card import ROW_SIZE as SIZE
from credo.plots.style import BLUE, GRAY, ORANGE, percent, shortened

__all__ = ["BarCard", "StateBar", "state_bars"]

BAR = 0.55
THICK = 0.09
PERCENT = 0.49
LABEL_LENGTH = 16
TRACK, REST = "#E7EBF1", "#B9BFC9"


@dataclass(frozen=True)
class StateBar:
    """A line of a card: a label, its probability, and whether it stands for several states."""

    label: str
    share: float
    is_rest: bool = False


@dataclass(frozen=True)
class BarCard:
    """A node with states.

    Attributes
    ----------
    name
        Of the variable.
    bars
        A line for each state that is shown.
    mark
        A word in the corner, such as "given"; empty if there is nothing to mark.
    """

    name: str
    bars: tuple[StateBar, ...]
    mark: str = ""

    @property
    def size(self) -> tuple[float, float]:
        """Width and height."""
        row = 2 * PAD + self._label_width + 0.06 + BAR + PERCENT
        height = TITLE + ROW * len(self.bars) + 0.6 * PAD
        return max(row, title_width(self.name, self.mark)), height

    @property
    def _label_width(self) -> float:
        return max(text_width(bar.label, SIZE) for bar in self.bars)

    def draw(self, ax: Axes, box: Box) -> None:
        """Draw frame, labels, bars and percentages."""
        draw_frame(ax, box, self.name, self.mark)
        left, top, width, _ = box
        right = left + width - PAD
        bar_left = left + PAD + self._label_width + 0.06
        middles = [top + TITLE + ROW * (i + 0.5) + 0.3 * PAD for i in range(len(self.bars))]
        for bar, middle in zip(self.bars, middles, strict=True):
            style = {"color": GRAY} if bar.is_rest else {}
            write(ax, bar_left - 0.06, middle, bar.label, ha="right", zorder=4, **style)
            write(ax, right, middle, percent(bar.share), ha="right", zorder=4, **style)
        self._draw_bars(ax, bar_left, right - PERCENT, middles)

    def _draw_bars(self, ax: Axes, left: float, right: float, middles: Sequence[float]) -> None:
        ends = [left + (right - left) * min(max(bar.share, 0.0), 1.0) for bar in self.bars]
        tracks = [_strip(left, right, middle) for middle in middles]
        strips = [_strip(left, end, middle) for end, middle in zip(ends, middles, strict=True)]
        plain = ORANGE if self.mark else BLUE
        colors = [REST if bar.is_rest else plain for bar in self.bars]
        # One artist for all bars of a card: large networks have thousands.
        bars = PolyCollection(
            [*tracks, *strips], facecolors=[TRACK] * len(tracks) + colors, lw=0, zorder=3.5
        )
        ax.add_collection(bars, autolim=False)


def _strip(left: float, right: float, middle: float) -> list[tuple[float, float]]:
    top, bottom = middle - THICK / 2, middle + THICK / 2
    return [(left, top), (right, top), (right, bottom), (left, bottom)]


def state_bars(labels: Sequence[object], shares: ArrayLike, most: int) -> tuple[StateBar, ...]:
    """Return a line for each state, or for the most probable ones and the rest in one.

    Parameters
    ----------
    labels, shares
        States in their order, and their probabilities.
    most
        Number of lines at most.

    Examples
    --------
    >>> [(bar.label, bar.share) for bar in state_bars("abcd", [0.1, 0.25, 0.5, 0.15], 3)]
    [('b', 0.25), ('c', 0.5), ('2 more', 0.25)]
    """
    texts = [shortened(str(label), LABEL_LENGTH) for label in labels]
    share = np.asarray(shares, dtype=float)
    if len(texts) <= most:
        return tuple(StateBar(t, float(p)) for t, p in zip(texts, share, strict=True))
    shown = np.sort(np.argsort(-share, kind="stable")[: most - 1])
    rest = StateBar(
        f"{len(texts) - len(shown)} more", float(np.delete(share, shown).sum()), is_rest=True
    )
    return (*(StateBar(texts[i], float(share[i])) for i in shown), rest)
