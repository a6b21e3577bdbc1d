"""Edges between boxes that stand anywhere: straight, or bowed around what is in the way."""

from __future__ import annotations

import numpy as np

from credo.graphs.structure.adjacency import Edge
from credo.numerics.array import Array
from credo.plots.layout.layout import Layout

__all__ = ["straight_or_bowed"]

BOWS = (0.0, 0.12, -0.12, 0.24, -0.24, 0.4, -0.4, 0.6, -0.6)
MARGIN = 0.04


def straight_or_bowed(layout: Layout, edge: Edge) -> Array:
    """Return control points, shape (4, 2), of the least bowed curve that meets fewest boxes.

    Parameters
    ----------
    layout
        Boxes; its curves are not read.
    edge
        Names of two boxes.
    """
    centers = np.array(list(layout.center.values()))
    halves = np.array([layout.size[name] for name in layout.center]) / 2
    is_other = np.array([name not in edge for name in layout.center])
    start, end = (np.array(layout.center[name]) for name in edge)
    side = np.array([start[1] - end[1], end[0] - start[0]])
    found = []
    for bow in BOWS:
        control = np.array([start, start, end, end])
        control[1:3] += (end - start) * np.array([[0.3], [-0.3]]) + bow * side
        curve = Layout({}, {}, {edge: control}, 0.0, 0.0).points(edge, 60)
        away = np.abs(curve[:, None] - centers[is_other]) - halves[is_other] - MARGIN
        found.append((int((away < 0).all(axis=2).any(axis=0).sum()), control))
        if found[-1][0] == 0:
            break
    return _clipped(min(found, key=lambda item: item[0])[1], layout, edge)


def _clipped(control: Array, layout: Layout, edge: Edge) -> Array:
    """Return the part of a curve that is outside the boxes at its ends."""
    t = np.linspace(0.0, 1.0, 400)
    curve = Layout({}, {}, {edge: control}, 0.0, 0.0).points(edge, len(t))
    is_free = np.ones(len(t), dtype=bool)
    for name in edge:
        away = np.abs(curve - np.array(layout.center[name])) - np.array(layout.size[name]) / 2
        is_free &= (away > 0).any(axis=1)
    if not is_free.any():
        return control
    first, last = t[is_free][[0, -1]]
    return _between(control, float(first), float(last))


def _between(control: Array, first: float, last: float) -> Array:
    """Return control points of a cubic from one parameter to another, by de Casteljau."""

    def head(points: Array, t: float) -> Array:
        rows = [points]
        while len(rows[-1]) > 1:
            rows.append((1 - t) * rows[-1][:-1] + t * rows[-1][1:])
        return np.array([row[0] for row in rows])

    until = head(control, last)
    return np.asarray(head(until[::-1], 1.0 - first / last)[::-1]) if last > 0 else control
