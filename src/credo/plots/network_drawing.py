"""Boxes and arrows on paper: cards where a layout says, edges along its curves."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch, Polygon
from matplotlib.path import Path

from credo.graphs.structure.adjacency import Edge
from credo.numerics.array import Array
from credo.plots.card import Card, text_width, write
from credo.plots.layout.layout import Layout

__all__ = ["draw_layout"]

MARGIN = 0.15
TITLE_SIZE, TITLE_ROW = 9.5, 0.2
LINE = "#5C6573"
FAINT = "#B4BAC4"
HEAD_LENGTH, HEAD_WIDTH = 0.095, 0.075


def draw_layout(
    layout: Layout,
    cards: Mapping[str, Card],
    is_directed: bool = True,
    cut: Collection[Edge] = (),
    title: str = "",
) -> Figure:
    """Return a figure, as large as its layout in inches, with each card in its box.

    Parameters
    ----------
    layout
        Made for the sizes of the cards.
    is_directed
        Whether edges have arrowheads.
    cut
        Edges without effect, drawn faint and dashed.
    title
        A line above the drawing.
    """
    lines = _title_lines(title, layout.width)
    top = TITLE_ROW * len(lines) + MARGIN * bool(lines)
    size = (layout.width + 2 * MARGIN, layout.height + 2 * MARGIN + top)
    figure = Figure(figsize=size, facecolor="white")
    ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    ax.set(xlim=(-MARGIN, size[0] - MARGIN), ylim=(size[1] - top - MARGIN, -MARGIN - top))
    ax.axis("off")
    for i, line in enumerate(lines):
        write(ax, 0.0, TITLE_ROW * (i + 0.5) - top, line, ha="left", fontsize=TITLE_SIZE)
    for edge, curve in layout.curves.items():
        _draw_edge(ax, curve, is_directed, edge in cut)
    for name, card in cards.items():
        card.draw(ax, layout.box(name))
    return figure


def _title_lines(title: str, width: float) -> list[str]:
    """Return a title in lines that are not wider than the drawing."""
    whole = text_width(title, TITLE_SIZE)
    if whole <= width:
        return [title] if title else []
    return textwrap.wrap(title, max(12, int(0.9 * len(title) * width / whole)))


def _draw_edge(ax: Axes, curve: Array, is_directed: bool, is_cut: bool) -> None:
    color = FAINT if is_cut else LINE
    line = curve.copy()
    if is_directed:
        end, back = curve[-1], _direction(curve)
        aside = np.array([-back[1], back[0]])
        base = end - HEAD_LENGTH * back
        corners = [end, base + HEAD_WIDTH / 2 * aside, base - HEAD_WIDTH / 2 * aside]
        ax.add_artist(Polygon(corners, facecolor=color, lw=0, zorder=2.1))
        # The line ends inside its head, so that the tip stays sharp.
        line[-2:] -= 0.6 * HEAD_LENGTH * back
    codes = [Path.MOVETO, *[Path.CURVE4] * (len(line) - 1)]
    style = {"linestyle": (0, (3, 2))} if is_cut else {}
    ax.add_artist(
        PathPatch(
            Path(line, codes), facecolor="none", edgecolor=color, lw=0.9, zorder=2, **style
        )
    )


def _direction(curve: Array) -> Array:
    """Return the unit vector along which a curve arrives."""
    for before in curve[-2::-1]:
        way = curve[-1] - before
        length = float(np.hypot(*way))
        if length > 1e-9:
            return np.asarray(way / length)
    return np.array([0.0, 1.0])
