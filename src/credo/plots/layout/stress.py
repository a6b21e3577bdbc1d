"""Drawings of undirected graphs by stress: boxes as far apart as their edges say.

Edges are straight, or bowed around what is in the way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from credo.graphs.structure.adjacency import Edge, connected_parts
from credo.numerics.array import Array
from credo.plots.layout.layout import Layout, Size, packed

__all__ = [
    "straight_or_bowed",
    "stress_layout",
]


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


STEPS = 150
# Nobody sees a move of a thousandth of an edge.
SMALLEST_MOVE = 1e-3
PUSHES = 200
LENGTH = 1.25


def stress_layout(
    neighbors: Mapping[str, Sequence[str]], size: Mapping[str, Size], gap: float = 0.35
) -> Layout:
    """Return a layout whose distances are those along the graph, and whose boxes are apart.

    Minimizes the stress ``sum_ij (|x_i - x_j| - d_ij)^2 / d_ij^2`` by majorization from the
    principal coordinates of the distances [gansner2004]_, then pushes boxes apart. Edges are
    straight, or bowed around a box that stands in their way.

    Parameters
    ----------
    neighbors
        Neighbors of each node, on both sides.
    size
        Width and height of each node's box.
    gap
        Free space between boxes, at least.

    Examples
    --------
    >>> boxes = dict.fromkeys("abc", (1.0, 0.5))
    >>> layout = stress_layout({"a": ["b"], "b": ["a", "c"], "c": ["b"]}, boxes)
    >>> layout.center["a"][0] < layout.center["b"][0] < layout.center["c"][0]
    True
    """
    parts = [_one_part(part, neighbors, size, gap) for part in connected_parts(neighbors)]
    return packed(parts, 2 * gap)


def _one_part(
    names: Sequence[str],
    neighbors: Mapping[str, Sequence[str]],
    size: Mapping[str, Size],
    gap: float,
) -> Layout:
    number = {name: i for i, name in enumerate(names)}
    edges = [(a, b) for a in names for b in neighbors[a] if number[a] < number[b]]
    boxes = np.array([size[name] for name in names]) + gap
    # Lengths in units of boxes, so that wide boxes get more room aside than below.
    place = _least_stress(_distances(number, edges)) * boxes.mean(axis=0) * LENGTH
    place = _apart(_snapped(_apart(place, boxes), gap / 2), boxes)
    place = place - (place - (boxes - gap) / 2).min(axis=0)
    width, height = (place + (boxes - gap) / 2).max(axis=0)
    center = {name: (float(place[i, 0]), float(place[i, 1])) for name, i in number.items()}
    plain = Layout(center, {name: size[name] for name in names}, {}, width, height)
    curves: dict[Edge, Array] = {edge: straight_or_bowed(plain, edge) for edge in edges}
    return Layout(center, plain.size, curves, float(width), float(height))


def _distances(number: Mapping[str, int], edges: Sequence[Edge]) -> Array:
    n = len(number)
    if not edges:
        return np.zeros((n, n))
    ends = np.array([(number[a], number[b]) for a, b in edges]).T
    graph = csr_array((np.ones(len(edges)), (ends[0], ends[1])), shape=(n, n))
    return np.asarray(shortest_path(graph, directed=False, unweighted=True))


def _least_stress(distance: Array) -> Array:
    """Return places of little stress, shape (n, 2), the widest direction first."""
    n = len(distance)
    if n == 1:
        return np.zeros((1, 2))
    place = _principal(distance)
    with np.errstate(divide="ignore"):
        weight = np.where(distance > 0, distance**-2.0, 0.0)
    laplacian = np.diag(weight.sum(axis=1)) - weight
    inverse = np.linalg.pinv(laplacian)
    for _ in range(STEPS):
        found = np.linalg.norm(place[:, None] - place[None], axis=2)
        pull = np.where(found > 1e-9, weight * distance / np.maximum(found, 1e-9), 0.0)
        moved = inverse @ (pull.sum(axis=1)[:, None] * place - pull @ place)
        change = float(np.abs(moved - place).max())
        place = moved
        if change < SMALLEST_MOVE:
            break
    return _turned(place)


def _principal(distance: Array) -> Array:
    """Return the principal coordinates of squared distances, slightly apart where equal."""
    n = len(distance)
    middle = np.eye(n) - 1.0 / n
    values, vectors = np.linalg.eigh(-0.5 * middle @ distance**2 @ middle)
    place = vectors[:, -2:][:, ::-1] * np.sqrt(np.maximum(values[-2:][::-1], 1e-6))
    sign = np.where(place[np.abs(place).argmax(axis=0), [0, 1]] < 0, -1.0, 1.0)
    angle = 2.4 * np.arange(n)
    return np.asarray(place * sign + 1e-3 * np.column_stack([np.cos(angle), np.sin(angle)]))


def _turned(place: Array) -> Array:
    """Return the places with the longest direction level and the first node on the left."""
    centered = place - place.mean(axis=0)
    _, _, axes = np.linalg.svd(centered, full_matrices=False)
    turned = centered @ axes.T
    sign = np.where(turned[0] > 1e-9, -1.0, 1.0)
    return np.asarray(turned * sign)


def _apart(place: Array, boxes: Array) -> Array:
    """Return the places after boxes that overlap have pushed each other aside."""
    need = 0.5 * (boxes[:, None] + boxes[None])
    is_first = np.triu(np.ones((len(place), len(place)), dtype=bool), 1)[..., None]
    for _ in range(PUSHES):
        away = place[:, None] - place[None]
        lack = need - np.abs(away)
        is_over = (lack > 1e-9).all(axis=2) & ~np.eye(len(place), dtype=bool)
        if not is_over.any():
            return place
        is_level = lack[..., 0] < lack[..., 1]
        # Of two boxes at one place, the first goes back and the second forth.
        is_tie = (away == 0) & is_first
        push = np.zeros_like(away)
        push[..., 0] = np.where(is_over & is_level, lack[..., 0], 0.0)
        push[..., 1] = np.where(is_over & ~is_level, lack[..., 1], 0.0)
        sign = np.where((away < 0) | is_tie, -1.0, 1.0)
        place = place + 0.3 * (push * sign).sum(axis=1)
    return _scaled_apart(place, need)


def _snapped(place: Array, near: float) -> Array:
    """Return the places with those that are almost level, or almost plumb, made so."""
    snapped = place.copy()
    for axis in (0, 1):
        order = np.argsort(place[:, axis], kind="stable")
        start = 0
        for end in range(1, len(order) + 1):
            group = order[start:end]
            if end == len(order) or place[order[end], axis] - place[group[0], axis] > near:
                snapped[group, axis] = place[group, axis].mean()
                start = end
    return snapped


def _scaled_apart(place: Array, need: Array) -> Array:
    """Return the places spread until nothing overlaps."""
    away = np.abs(place[:, None] - place[None])
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.min(need / away, axis=2)
    np.fill_diagonal(factor, 1.0)
    return np.asarray(place * max(1.0, float(np.nan_to_num(factor, posinf=1.0).max())))
