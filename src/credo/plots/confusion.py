"""Which classes were taken for which."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.image import AxesImage

from credo.evaluation.classes.confusion import Confusion
from credo.numerics.array import Array
from credo.plots.style import BLUE, GRAY, INK, axes_of, shortened

__all__ = ["confusion_table"]

SHADES = LinearSegmentedColormap.from_list("credo_blue", ["#FFFFFF", BLUE])
# Beyond so many classes intervals, and then numbers, no longer fit into cells.
MOST_INTERVALS, MOST_NUMBERS = 6, 15


def confusion_table(
    confusion: Confusion, ax: Axes | None = None, coverage: float = 0.9
) -> Axes:
    """Draw each cell's count and its share of the true class, with the share's interval.

    Rows are true classes and sum to 100 %; the darker a cell, the larger its share. Intervals
    are written for up to six classes, numbers for up to fifteen.
    """
    ax = axes_of(ax)
    shares = confusion.shares(coverage)
    k = len(confusion.labels)
    image = ax.imshow(np.nan_to_num(shares[..., 0]), cmap=SHADES, vmin=0.0, vmax=1.0)
    names = [shortened(str(label), 14) for label in confusion.labels]
    turn = 90 if k > MOST_INTERVALS else 0
    ax.set_xticks(range(k), names, rotation=turn, parse_math=False)
    ax.set_yticks(range(k), names, parse_math=False)
    ax.set_xlabel("predicted")
    ax.set_ylabel("true")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    _draw_lines(image, ax, k)
    if k <= MOST_NUMBERS:
        _write(confusion, shares, ax)
    return ax


def _draw_lines(image: AxesImage, ax: Axes, k: int) -> None:
    edges = np.arange(k + 1) - 0.5
    ax.hlines(edges, -0.5, k - 0.5, color=GRAY, lw=0.6, clip_on=False)
    ax.vlines(edges, -0.5, k - 0.5, color=GRAY, lw=0.6, clip_on=False)
    ax.set(xlim=(-0.5, k - 0.5), ylim=(k - 0.5, -0.5))
    image.set_zorder(0)


def _write(confusion: Confusion, shares: Array, ax: Axes) -> None:
    k = len(confusion.labels)
    sizes = {2: "medium", 4: "small", 10: "x-small", MOST_NUMBERS: "xx-small"}
    size = next(size for most, size in sizes.items() if k <= most)
    for i, j in np.ndindex(k, k):
        words = _words(float(confusion.table[i, j]), shares[i, j], k)
        color = "white" if shares[i, j, 0] > 0.55 else INK
        ax.text(j, i, words, ha="center", va="center", color=color, fontsize=size)


def _words(count: float, share: Array, k: int) -> str:
    """Return a count, and its share and interval where they fit."""
    words = f"{count:,.0f}" if count == round(count) else f"{count:,.1f}"
    if k > MOST_INTERVALS:
        return words
    if np.isnan(share[0]):
        return f"{words}\nno rows"
    value, low, high = 100.0 * share
    return f"{words}\n{value:.0f} %\n({low:.0f} to {high:.0f})"
