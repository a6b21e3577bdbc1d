"""Pictures of groups of rows: maps with clouds, and what each column is like in each group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from credo.numerics.array import Array
from credo.plots.drawing import COLORS
from credo.plots.style import GRAY, INK, legend_above, shortened, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "Axis",
    "GroupMap",
    "GroupRanges",
    "GroupShares",
    "Pulls",
    "ScoreHistogram",
    "group_color",
]

MOST_DOTS = 3000
"""Rows that a map shows; more are one blot."""

MOST_NAMED = 8
"""Groups that the legend of a map names."""


def group_color(place: int) -> str:
    """Return the color of a group, counted from 0."""
    return COLORS[place % len(COLORS)]


@dataclass(frozen=True, eq=False)
class Axis:
    """An axis of a map: its name, and where which words stand; matplotlib's own if none."""

    name: str
    places: tuple[float, ...] = ()
    words: tuple[str, ...] = ()

    def draw_x(self, ax: Axes) -> None:
        """Put the words at the horizontal axis."""
        if self.places:
            ax.set_xticks(self.places, self.words)

    def draw_y(self, ax: Axes) -> None:
        """Put the words at the vertical axis."""
        if self.places:
            ax.set_yticks(self.places, self.words)


@dataclass(frozen=True, eq=False)
class GroupMap:
    """Rows at two coordinates, colored by their group, and an outline of each group.

    Attributes
    ----------
    x, y
        The axes.
    rows
        Coordinates, shape (n, 2).
    label
        The group of each row, counted from 0; -1 is none.
    names
        What the groups are called.
    outlines
        A closed curve for each group, shape (m, 2).
    """

    x: Axis
    y: Axis
    rows: Array
    label: NDArray[np.intp]
    names: tuple[str, ...]
    outlines: tuple[Array, ...] = ()

    def draw(self, ax: Axes) -> Axes:
        """Draw dots and outlines."""
        n = len(self.rows)
        shown = np.linspace(0, n - 1, min(n, MOST_DOTS)).astype(np.intp)
        strength = float(np.clip(14.0 / np.sqrt(max(len(shown), 1)), 0.25, 0.9))
        for k in (-1, *range(len(self.names))):
            own = self.rows[shown[self.label[shown] == k]]
            if not len(own):
                continue
            color = GRAY if k < 0 else group_color(k)
            name = None if k < 0 or k >= MOST_NAMED else shortened(self.names[k], 20)
            ax.plot(*own.T, "o", color=color, ms=3.4, mew=0, alpha=strength, label=name)
        for k, outline in enumerate(self.outlines):
            ax.plot(*outline.T, color=group_color(k), lw=1.5)
        self.x.draw_x(ax)
        self.y.draw_y(ax)
        _fit_limits(ax, self.rows, self.outlines)
        if self.names:
            legend_above(ax, n_columns=4)
        return tidy(ax, shortened(self.x.name, 40), shortened(self.y.name, 40))


def _fit_limits(ax: Axes, rows: Array, outlines: Sequence[Array]) -> None:
    """Show all outlines and nearly all rows."""
    ends = [np.nanquantile(rows, [0.002, 0.998], axis=0)]
    ends += [np.array([np.nanmin(one, axis=0), np.nanmax(one, axis=0)]) for one in outlines]
    low, high = np.min([e[0] for e in ends], axis=0), np.max([e[1] for e in ends], axis=0)
    margin = 0.05 * np.where(high > low, high - low, 1.0)
    ax.set_xlim(low[0] - margin[0], high[0] + margin[0])
    ax.set_ylim(low[1] - margin[1], high[1] + margin[1])


@dataclass(frozen=True, eq=False)
class GroupRanges:
    """Where most numbers of a column lie in each group, beside all rows.

    Attributes
    ----------
    name
        The column.
    low, middle, high
        Of each group, and last of all rows.
    groups
        What groups are called.
    axis
        The axis of the column.
    """

    name: str
    low: Array
    middle: Array
    high: Array
    groups: tuple[str, ...]
    axis: Axis

    def draw(self, ax: Axes) -> Axes:
        """Draw a line for each group, with a dot in its middle."""
        n = len(self.groups)
        for k in range(n + 1):
            color = GRAY if k == n else group_color(k)
            ax.hlines(k, self.low[k], self.high[k], color=color, lw=3.0, alpha=0.65)
            ax.plot(self.middle[k], k, "o", color=color, ms=5, mew=0)
        ax.set_yticks(np.arange(n + 1), [*self.groups, "all"])
        ax.set_ylim(n + 0.5, -0.5)
        self.axis.draw_x(ax)
        ax.grid(axis="x", color=GRAY, alpha=0.25, lw=0.6)
        ax.tick_params(colors=INK)
        return tidy(ax, shortened(self.name, 34))


@dataclass(frozen=True, eq=False)
class GroupShares:
    """How often each level of a category occurs in each group, beside all rows.

    Attributes
    ----------
    name, levels
        The column, and its levels that are drawn; the last may stand for all others.
    shares
        Shape (n_groups + 1, n_levels), last of all rows.
    groups
        What groups are called.
    """

    name: str
    levels: tuple[str, ...]
    shares: Array
    groups: tuple[str, ...]

    def draw(self, ax: Axes) -> Axes:
        """Draw a bar for each group, in which each level has its share."""
        n, start = len(self.groups), np.zeros(len(self.shares))
        grays = np.linspace(0.25, 0.9, len(self.levels))
        for place, level in enumerate(self.levels):
            part = self.shares[:, place]
            shade = str(float(grays[place]))
            ax.barh(np.arange(n + 1), part, 0.66, start, color=shade, ec="white", lw=0.8)
            for k in np.flatnonzero(part > 0.18):
                ink = "white" if grays[place] < 0.6 else INK
                word = shortened(level, max(4, int(part[k] * 22)))
                middle = float(start[k] + 0.5 * part[k])
                ax.text(middle, int(k), word, ha="center", va="center", color=ink, fontsize=7)
            start = start + part
        ax.set_yticks(np.arange(n + 1), [*self.groups, "all"])
        ax.set_ylim(n + 0.5, -0.5)
        ax.set_xlim(0, 1.06)
        ax.set_xticks([0, 0.5, 1], ["0", "50 %", "100 %"])
        ax.tick_params(colors=INK)
        return tidy(ax, shortened(self.name, 34))


@dataclass(frozen=True, eq=False)
class ScoreHistogram:
    """How odd rows are, with the score from which they are listed.

    Attributes
    ----------
    score
        Of each row.
    threshold
        Above it rows are listed.
    """

    score: Array
    threshold: float

    def draw(self, ax: Axes) -> Axes:
        """Draw rows on both sides of the threshold, on a scale that shows single ones."""
        # A few rows may be so odd that all others would be one bar.
        end = self.threshold + 3.0 * max(self.threshold - float(np.median(self.score)), 1e-9)
        shown = np.minimum(self.score, end)
        edges = np.histogram_bin_edges(shown, 50)
        usual = shown[self.score <= self.threshold]
        odd = shown[self.score > self.threshold]
        ax.hist(usual, edges, color=COLORS[0], alpha=0.7, label="usual")
        ax.hist(odd, edges, color=COLORS[1], alpha=0.9, label="listed as odd")
        ax.axvline(self.threshold, color=INK, lw=1.0, ls="--")
        ax.set_yscale("symlog", linthresh=10)
        ticks = [t for t in (0, 1, 5, 10, 100, 1000, 10_000, 100_000) if t <= len(shown)]
        ax.set_yticks(ticks, [f"{tick:,}" for tick in ticks])
        legend_above(ax)
        is_cut = bool((self.score > end).any())
        name = "standard deviations less probable than usual"
        return tidy(ax, f"{name} (the last bar: beyond)" if is_cut else name, "rows")


@dataclass(frozen=True, eq=False)
class Pulls:
    """How columns follow an axis: their correlations with it, first to last downwards."""

    title: str
    names: tuple[str, ...]
    pull: Array

    def draw(self, ax: Axes) -> Axes:
        """Draw a bar for each column, to the side to which it goes along the axis."""
        place = np.arange(len(self.names))
        colors = [COLORS[int(value < 0)] for value in self.pull]
        ax.barh(place, self.pull, 0.62, color=colors, alpha=0.75)
        ax.axvline(0.0, color=INK, lw=0.8)
        ax.set_yticks(place, self.names, parse_math=False)
        ax.set_ylim(len(place) - 0.4, -0.6)
        ax.set_xlim(-1.05, 1.05)
        ax.set_xticks([-1, -0.5, 0, 0.5, 1])
        ax.tick_params(colors=INK)
        return tidy(ax, f"correlation with {self.title}")
