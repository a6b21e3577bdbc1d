"""Where the boxes of a graph stand in a drawing, and along which curves its edges run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from credo.graphs.structure.adjacency import Edge
from credo.numerics.array import Array

__all__ = ["Layout", "Size", "packed"]

Size = tuple[float, float]

PACKED_ASPECT = 1.6


@dataclass(frozen=True, eq=False)
class Layout:
    """A drawing's geometry; x grows to the right, y downward, both from zero.

    Attributes
    ----------
    center
        Middle of each box.
    size
        Width and height of each box.
    curves
        For each edge the control points of cubic Bezier pieces, shape (3 n_pieces + 1, 2),
        from the border of its first box to that of its second one.
    width, height
        Size of the whole drawing.
    """

    center: dict[str, tuple[float, float]]
    size: dict[str, Size]
    curves: dict[Edge, Array]
    width: float
    height: float

    def box(self, name: str) -> tuple[float, float, float, float]:
        """Return left, top, width and height of a box."""
        (x, y), (width, height) = self.center[name], self.size[name]
        return x - width / 2, y - height / 2, width, height

    def points(self, edge: Edge, n_points: int = 24) -> Array:
        """Return points along an edge, ``n_points`` for each of its pieces."""
        control = self.curves[edge]
        t = np.linspace(0.0, 1.0, n_points)[:, None]
        pieces = [
            (1 - t) ** 3 * a + 3 * t * (1 - t) ** 2 * b + 3 * t**2 * (1 - t) * c + t**3 * d
            for a, b, c, d in (control[i : i + 4] for i in range(0, len(control) - 1, 3))
        ]
        return np.concatenate(pieces)

    def moved(self, x: float, y: float) -> Layout:
        """Return the layout to the right of ``x`` and below ``y``."""
        center = {name: (cx + x, cy + y) for name, (cx, cy) in self.center.items()}
        curves = {edge: points + np.array([x, y]) for edge, points in self.curves.items()}
        return Layout(center, self.size, curves, self.width + x, self.height + y)


def packed(parts: Sequence[Layout], gap: float) -> Layout:
    """Return layouts side by side, in as many rows as give a picture of pleasant shape.

    Parameters
    ----------
    gap
        Free space between two parts.

    Examples
    --------
    >>> one = Layout({"a": (1.0, 1.0)}, {"a": (2.0, 2.0)}, {}, 2.0, 2.0)
    >>> two = Layout({"b": (1.0, 1.0)}, {"b": (2.0, 2.0)}, {}, 2.0, 2.0)
    >>> packed([one, two], gap=1.0).center["b"]
    (4.0, 1.0)
    """
    ordered = sorted(parts, key=lambda part: -part.height)
    area = sum((part.width + gap) * (part.height + gap) for part in parts)
    widest = max([(PACKED_ASPECT * area) ** 0.5, *(part.width for part in parts)])
    placed: list[Layout] = []
    x = y = bottom = 0.0
    for part in ordered:
        if x > 0 and x + part.width > widest:
            x, y = 0.0, bottom + gap
        placed.append(part.moved(x, y))
        x += part.width + gap
        bottom = max(bottom, y + part.height)
    return _joined(placed)


def _joined(parts: Sequence[Layout]) -> Layout:
    center: dict[str, tuple[float, float]] = {}
    size: dict[str, Size] = {}
    curves: dict[Edge, Array] = {}
    for part in parts:
        center |= part.center
        size |= part.size
        curves |= part.curves
    width = max((part.width for part in parts), default=0.0)
    height = max((part.height for part in parts), default=0.0)
    return Layout(center, size, curves, width, height)
