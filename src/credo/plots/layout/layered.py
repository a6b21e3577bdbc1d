"""Layered drawings of acyclic graphs: parents above children, edges around the boxes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from credo.graphs.structure.adjacency import Edge, connected_parts
from credo.numerics.array import Array
from credo.plots.layout.layer_assignment import layers_of_least_length, narrowed_layers
from credo.plots.layout.layer_order import untangled
from credo.plots.layout.layer_position import positions
from credo.plots.layout.layer_squeeze import needed_width, squeezed_positions
from credo.plots.layout.layers import Layers, proper_layers
from credo.plots.layout.layout import Layout, Size, packed
from credo.plots.layout.port import spread_ports

__all__ = ["layered_layout"]

BEND_WIDTH = 0.06
# Edges arrive straight from above, so that there is place for an arrowhead.
STUB = 0.11
# Edges that go far to the side need height, or they would run almost level.
SLOPE = 0.11
TALLEST_GAP = 1.5
# Width of a layer that is broken in two, over the side of a square of the boxes' area.
MOST_WIDTH = 1.9
# A drawing that is wider than a full layer by this much has its long edges bent.
TOO_WIDE = 1.2


def layered_layout(
    parents: Mapping[str, Sequence[str]],
    size: Mapping[str, Size],
    gap: tuple[float, float] = (0.22, 0.38),
) -> Layout:
    """Return a layout with every child below its parents and no edge through a box.

    Layers of least total edge length, order by sweeps with exchanges, positions that keep long
    edges straight. The same graph always gives the same layout. Within a layer edges run
    straight down between the boxes, and they turn only between layers.

    Parameters
    ----------
    parents
        Parents of each node; no cycles.
    size
        Width and height of each node's box.
    gap
        Free space between boxes that stand side by side, and between layers at least.

    Examples
    --------
    >>> boxes = dict.fromkeys("abc", (1.0, 0.5))
    >>> layout = layered_layout({"a": [], "b": ["a"], "c": ["a"]}, boxes)
    >>> [round(x, 2) for x, _ in layout.center.values()]
    [1.11, 0.5, 1.72]
    """
    neighbors: dict[str, list[str]] = {name: list(parents[name]) for name in parents}
    for child in parents:
        for parent in parents[child]:
            neighbors[parent].append(child)
    parts = [
        _one_part({name: parents[name] for name in part}, size, gap)
        for part in connected_parts(neighbors)
    ]
    return packed(parts, 2 * gap[0])


def _one_part(
    parents: Mapping[str, Sequence[str]],
    size: Mapping[str, Size],
    gap: tuple[float, float],
) -> Layout:
    room = {name: size[name][0] + gap[0] for name in parents}
    area = sum(room[name] * (size[name][1] + 2 * gap[1]) for name in parents)
    most = max(MOST_WIDTH * area**0.5, 3 * max(room.values()))
    layer = narrowed_layers(parents, layers_of_least_length(parents), room, most)
    layers = untangled(proper_layers(parents, layer))
    boxes = [size[name][0] for name in parents]
    width = np.array(boxes + [BEND_WIDTH] * (len(layers.above) - layers.n_boxes))
    is_box = np.arange(len(width)) < layers.n_boxes
    x = _across(layers, width, width + gap[0] * np.where(is_box, 1.0, 0.5), most)
    x = x - (x - width / 2).min()
    drawn = {name: size[name] for name in parents}
    return _placed(layers, drawn, x, float((x + width / 2).max()), gap[1])


def _across(layers: Layers, width: Array, room: Array, most: float) -> Array:
    """Return the center of each node, with straight long edges unless that takes too wide."""
    x = positions(layers, width, room)
    limit = max(TOO_WIDE * most, needed_width(layers, room))
    if np.ptp(x) <= limit:
        return x
    return squeezed_positions(layers, room, limit)


def _placed(
    layers: Layers, size: dict[str, Size], x: Array, width: float, gap: float
) -> Layout:
    heights = np.array([height for _, height in size.values()])
    tops, bottoms = _bands(layers, heights, x, gap)
    row_of = {node: i for i, row in enumerate(layers.rows) for node in row}
    middle = {i: 0.5 * (tops[row_of[i]] + bottoms[row_of[i]]) for i in range(layers.n_boxes)}
    names = list(size)
    center = {name: (float(x[i]), middle[i]) for i, name in enumerate(names)}
    start, end = _ports(layers, x, [size[name][0] for name in names])
    curves = {}
    for edge, route in layers.routes.items():
        first, last = route[0], route[-1]
        ways = [
            (start[edge], middle[first] + heights[first] / 2, bottoms[row_of[first]]),
            *(
                (float(x[bend]), tops[row_of[bend]], bottoms[row_of[bend]])
                for bend in route[1:-1]
            ),
            (end[edge], tops[row_of[last]] - STUB, middle[last] - heights[last] / 2),
        ]
        curves[edge] = _curve(ways)
    return Layout(center, size, curves, width, float(bottoms[-1]))


def _bands(
    layers: Layers, heights: Array, x: Array, gap: float
) -> tuple[list[float], list[float]]:
    """Return top and bottom of each layer."""
    tops, bottoms = [0.0], []
    for row in layers.rows:
        tall = max((heights[i] for i in row if i < layers.n_boxes), default=0.0)
        bottoms.append(float(tops[-1] + tall))
        reach = max((abs(x[i] - x[j]) for i in row for j in layers.below[i]), default=0.0)
        tops.append(bottoms[-1] + float(np.clip(SLOPE * reach, gap, max(gap, TALLEST_GAP))))
    return tops[:-1], bottoms


def _ports(
    layers: Layers, x: Array, width: Sequence[float]
) -> tuple[dict[Edge, float], dict[Edge, float]]:
    """Return where each edge leaves its parent's box, and where it enters its child's."""
    leaving: dict[int, dict[Edge, float]] = {}
    entering: dict[int, dict[Edge, float]] = {}
    for edge, route in layers.routes.items():
        leaving.setdefault(route[0], {})[edge] = float(x[route[1]])
        entering.setdefault(route[-1], {})[edge] = float(x[route[-2]])
    both: list[dict[Edge, float]] = []
    for side in (leaving, entering):
        ports: dict[Edge, float] = {}
        for node, toward in side.items():
            ports |= spread_ports(toward, float(x[node]), width[node])
        both.append(ports)
    return both[0], both[1]


def _curve(ways: Sequence[tuple[float, float, float]]) -> Array:
    """Return control points of straight lines down each way, and of bows from way to way."""
    points = [(ways[0][0], ways[0][1])]
    for i, (x, top, bottom) in enumerate(ways):
        points += [(x, (2 * top + bottom) / 3), (x, (top + 2 * bottom) / 3), (x, bottom)]
        if i < len(ways) - 1:
            x_next, top_next, _ = ways[i + 1]
            middle = 0.5 * (bottom + top_next)
            points += [(x, middle), (x_next, middle), (x_next, top_next)]
    return np.array(points)
