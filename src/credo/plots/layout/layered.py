"""Layered drawings of acyclic graphs (Sugiyama): parents above children, edges around boxes.

1. Each node gets a layer, children below all their parents, such that edges are short; long
   ones run through bends, so that every edge joins neighbors.
2. Layers are sorted by the middle of each node's neighbors, downward and upward in turn, and
   neighbors change places where that undoes crossings [gansner1993]_.
3. Each node is aligned with the middle one of its neighbors above or below, from the left or
   from the right, and the blocks of aligned nodes are moved together; the mean of the two
   middle ones of the four results is taken [brandes2002]_. So long edges stay straight.
4. Edges meet the sides of boxes toward their other ends, but not on each other.

Where a width is given, nodes are squeezed into it such that edges bend little.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from itertools import pairwise
from statistics import median
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import block_array, coo_array, eye_array

from credo.graphs.structure.adjacency import Edge, connected_parts
from credo.numerics.array import Array
from credo.plots.layout.layout import Layout, Size, packed

__all__ = [
    "Layers",
    "layered_layout",
    "layers_of_least_length",
    "n_crossings",
    "narrowed_layers",
    "needed_width",
    "positions",
    "proper_layers",
    "spread_ports",
    "squeezed_positions",
    "untangled",
]

Key = TypeVar("Key", bound=Hashable)
LayerRows = tuple[tuple[int, ...], ...]
INSET = 0.12
APART = 0.13

# An arrow may leave the middle of a side, but not for its corners.
SHIFT = 0.6


@dataclass(frozen=True, eq=False)
class Layers:
    """Nodes by number, boxes first and then bends, in rows from top to bottom.

    Attributes
    ----------
    rows
        Numbers of the nodes of each layer, from left to right.
    above, below
        Neighbors of each node in the layers above and below.
    n_boxes
        How many of the nodes are boxes; the others are bends of long edges.
    routes
        For each edge (parent, child) the nodes along it, both ends included.
    """

    rows: LayerRows
    above: LayerRows
    below: LayerRows
    n_boxes: int
    routes: Mapping[Edge, tuple[int, ...]]

    def places(self) -> list[int]:
        """Return the position of each node in its row."""
        place = [0] * len(self.above)
        for row in self.rows:
            for i, node in enumerate(row):
                place[node] = i
        return place

    def ordered(self, rows: Sequence[Sequence[int]]) -> Layers:
        """Return the same layers, each in another order."""
        return replace(self, rows=tuple(tuple(row) for row in rows))


def proper_layers(parents: Mapping[str, Sequence[str]], layer: Mapping[str, int]) -> Layers:
    """Return the layers with a bend wherever an edge crosses one.

    Examples
    --------
    >>> layers = proper_layers({"a": [], "b": ["a"], "c": ["a", "b"]}, {"a": 0, "b": 1, "c": 2})
    >>> layers.rows, layers.routes["a", "c"]
    (((0,), (1, 3), (2,)), (0, 3, 2))
    """
    number = {name: i for i, name in enumerate(parents)}
    rows: list[list[int]] = [[] for _ in range(max(layer.values(), default=-1) + 1)]
    for name, i in number.items():
        rows[layer[name]].append(i)
    routes, n_nodes = {}, len(number)
    for child in parents:
        for parent in parents[child]:
            crossed = range(layer[parent] + 1, layer[child])
            bends = tuple(range(n_nodes, n_nodes + len(crossed)))
            for place, bend in zip(crossed, bends, strict=True):
                rows[place].append(bend)
            n_nodes += len(bends)
            routes[parent, child] = (number[parent], *bends, number[child])
    above, below = _neighbors(routes.values(), n_nodes)
    return Layers(tuple(map(tuple, rows)), above, below, len(number), routes)


def _neighbors(routes: Iterable[tuple[int, ...]], n_nodes: int) -> tuple[LayerRows, LayerRows]:
    above: list[list[int]] = [[] for _ in range(n_nodes)]
    below: list[list[int]] = [[] for _ in range(n_nodes)]
    for route in routes:
        for top, bottom in pairwise(route):
            below[top].append(bottom)
            above[bottom].append(top)
    return tuple(map(tuple, above)), tuple(map(tuple, below))


def spread_ports(toward: Mapping[Key, float], center: float, width: float) -> dict[Key, float]:
    """Return the place of each edge on one side of a box, in the order of their other ends.

    Parameters
    ----------
    toward
        Where the other end of each edge is.
    center, width
        Of the box.

    Examples
    --------
    >>> spread_ports({"right": 9.0, "left": -9.0, "above": 0.1}, center=0.0, width=1.24)
    {'left': -0.03, 'above': 0.1, 'right': 0.23}
    """
    keys = sorted(toward, key=toward.__getitem__)
    half = max(width / 2 - INSET, 0.0)
    apart = min(APART, 2 * half / max(len(keys) - 1, 1))
    reach = apart * (len(keys) - 1) / 2
    most = max(SHIFT * half - reach, 0.0)
    shift = min(max(median(toward.values()) - center, -most), most)
    return {key: round(center + shift - reach + i * apart, 9) for i, key in enumerate(keys)}


Pairs = set[tuple[int, int]]
Rows = Sequence[Sequence[int]]


def positions(layers: Layers, width: Array, room: Array) -> Array:
    """Return the horizontal center of each node.

    Parameters
    ----------
    width, room
        Width of each node, without and with the free space it needs, shape (n_nodes,).
    """
    crossed = _crossed_bends(layers)
    found = []
    for rows, neighbors in ((layers.rows, layers.above), (layers.rows[::-1], layers.below)):
        for is_mirrored in (False, True):
            turned = [row[::-1] for row in rows] if is_mirrored else rows
            root = _blocks(turned, neighbors, crossed)
            x = _compacted(turned, root, room)
            found.append(-x if is_mirrored else x)
    return _balanced(found, width)


def _crossed_bends(layers: Layers) -> Pairs:
    """Return the edges that cross a straight piece of a long edge, and so must give way."""
    place = layers.places()
    crossed: Pairs = set()
    for row in layers.rows[1:]:
        first, left = 0, -1
        for i, node in enumerate(row):
            bend = _bend_above(layers, node)
            if bend is None and i < len(row) - 1:
                continue
            right = len(layers.above) if bend is None else place[bend]
            for low in row[first : i + 1]:
                crossed |= {
                    (up, low)
                    for up in layers.above[low]
                    if not left <= place[up] <= right and not _is_inner(layers, up, low)
                }
            first, left = i + 1, right
    return crossed


def _bend_above(layers: Layers, node: int) -> int | None:
    if node < layers.n_boxes:
        return None
    (up,) = layers.above[node]
    return up if up >= layers.n_boxes else None


def _is_inner(layers: Layers, up: int, low: int) -> bool:
    return up >= layers.n_boxes and low >= layers.n_boxes


def _blocks(rows: Rows, neighbors: Rows, crossed: Pairs) -> list[int]:
    """Return for each node the first one of the block that it is aligned with."""
    n_nodes = len(neighbors)
    root = list(range(n_nodes))
    place = [0] * n_nodes
    for row in rows:
        last = -1
        for i, node in enumerate(row):
            place[node] = i
            for end in _middle(neighbors[node], place):
                is_free = root[node] == node and last < place[end]
                if is_free and (end, node) not in crossed and (node, end) not in crossed:
                    root[node] = root[end]
                    last = place[end]
    return root


def _middle(nodes: Sequence[int], place: list[int]) -> list[int]:
    """Return the one or two nodes in the middle."""
    ordered = sorted(nodes, key=place.__getitem__)
    n = len(ordered)
    return ordered[(n - 1) // 2 : n // 2 + 1] if n else []


def _compacted(rows: Rows, root: list[int], room: Array) -> Array:
    """Return positions as far left as the blocks go, then each block as close as it can."""
    apart: dict[int, dict[int, float]] = {block: {} for block in root}
    for row in rows:
        for left, right in pairwise(row):
            need = 0.5 * (room[left] + room[right])
            before = apart[root[right]]
            before[root[left]] = max(before.get(root[left], 0.0), float(need))
    order = list(TopologicalSorter(apart).static_order())
    x = np.zeros(len(root))
    for block in order:
        x[block] = max((x[b] + need for b, need in apart[block].items()), default=0.0)
    limit = np.full(len(root), np.inf)
    for block in reversed(order):
        x[block] = max(x[block], limit[block]) if np.isfinite(limit[block]) else x[block]
        for b, need in apart[block].items():
            limit[b] = min(limit[b], x[block] - need)
    return x[root]


def _balanced(found: list[Array], width: Array) -> Array:
    """Return the mean of the two middle positions, after moving all to the narrowest."""
    spans = [((x - width / 2).min(), (x + width / 2).max()) for x in found]
    low, high = min(spans, key=lambda span: span[1] - span[0])
    moved = [
        x + (low - span[0] if i % 2 == 0 else high - span[1])
        for i, (x, span) in enumerate(zip(found, spans, strict=True))
    ]
    return np.asarray(np.sort(moved, axis=0)[1:3].mean(axis=0))


SWEEPS = 24

# Large graphs get fewer sweeps: their pictures are read for their parts.
LARGE = 2000
LARGE_SWEEPS = 8
SWAP_ROUNDS = 4


def untangled(layers: Layers) -> Layers:
    """Return the layers in an order of few crossings; the same order for the same layers."""
    n_sweeps = SWEEPS if len(layers.above) < LARGE else LARGE_SWEEPS
    starts = [
        _walked(layers, layers.below, layers.rows),
        _walked(layers, layers.above, layers.rows[::-1]),
    ]
    found = [_swept(start, n_sweeps) for start in starts]
    return min(found, key=n_crossings)


def n_crossings(layers: Layers) -> int:
    """Return how many pairs of edges cross.

    Examples
    --------
    >>> parents = {"a": [], "b": [], "c": ["b"], "d": ["a"]}
    >>> n_crossings(proper_layers(parents, {"a": 0, "b": 0, "c": 1, "d": 1}))
    1
    """
    place = layers.places()
    total = 0
    for row in layers.rows[:-1]:
        met: list[int] = []
        for node in row:
            ends = sorted(place[end] for end in layers.below[node])
            total += sum(len(met) - bisect_left(met, end + 1) for end in ends)
            for end in ends:
                insort(met, end)
    return total


def _walked(
    layers: Layers, onward: Sequence[Sequence[int]], rows: Sequence[Sequence[int]]
) -> Layers:
    """Return the layers in the order in which a walk in depth meets their nodes."""
    met: dict[int, int] = {}
    for start in (node for row in rows for node in row):
        ahead = [start]
        while ahead:
            node = ahead.pop()
            if node not in met:
                met[node] = len(met)
                ahead.extend(reversed(onward[node]))
    return layers.ordered([sorted(row, key=met.__getitem__) for row in layers.rows])


def _swept(layers: Layers, n_sweeps: int) -> Layers:
    best, fewest = layers, n_crossings(layers)
    stale = 0
    for sweep in range(n_sweeps):
        layers = _exchanged(_sorted(layers, sweep))
        crossings = n_crossings(layers)
        stale += 1
        if crossings < fewest:
            best, fewest, stale = layers, crossings, 0
        if fewest == 0 or stale > 6:
            break
    return best


def _sorted(layers: Layers, sweep: int) -> Layers:
    """Return the layers sorted downward or upward by the middle of each node's neighbors."""
    is_down = sweep % 2 == 0
    neighbors = layers.above if is_down else layers.below
    rows = [list(row) for row in layers.rows]
    place = [float(i) for i in layers.places()]
    middle = _median if sweep % 4 < 2 else _mean
    for i in range(len(rows)) if is_down else reversed(range(len(rows))):
        key = {v: middle([place[w] for w in neighbors[v]], place[v]) for v in rows[i]}
        # Ties are left alone in half of the sweeps and reversed in the others.
        row = rows[i] if sweep % 8 < 4 else rows[i][::-1]
        rows[i] = sorted(row, key=key.__getitem__)
        for j, node in enumerate(rows[i]):
            place[node] = float(j)
    return layers.ordered(rows)


def _median(places: list[float], own: float) -> float:
    """Return the median of some places, weighted to the closer side if they are even."""
    places.sort()
    n = len(places)
    if n == 0:
        return own
    if n % 2 == 1:
        return places[n // 2]
    if n == 2:
        return 0.5 * (places[0] + places[1])
    left, right = places[n // 2 - 1] - places[0], places[-1] - places[n // 2]
    if left + right == 0:
        return 0.5 * (places[n // 2 - 1] + places[n // 2])
    return (places[n // 2 - 1] * right + places[n // 2] * left) / (left + right)


def _mean(places: list[float], own: float) -> float:
    return sum(places) / len(places) if places else own


def _exchanged(layers: Layers) -> Layers:
    """Return the layers after neighbors have changed places wherever fewer edges cross."""
    rows = [list(row) for row in layers.rows]
    place = layers.places()
    for _ in range(SWAP_ROUNDS):
        gains = [_exchange_row(layers, row, place) for row in rows]
        if not any(gains):
            break
    return layers.ordered(rows)


def _exchange_row(layers: Layers, row: list[int], place: list[int]) -> int:
    gain = 0
    for i in range(len(row) - 1):
        left, right = row[i], row[i + 1]
        undone = sum(
            _crossed(side[left], side[right], place) - _crossed(side[right], side[left], place)
            for side in (layers.above, layers.below)
        )
        if undone > 0:
            row[i], row[i + 1] = right, left
            place[left], place[right] = i + 1, i
            gain += undone
    return gain


def _crossed(left: Sequence[int], right: Sequence[int], place: list[int]) -> int:
    """Return the crossings between the edges of two nodes that stand side by side."""
    return sum(place[a] > place[b] for a in left for b in right)


Parents = Mapping[str, Sequence[str]]


def layers_of_least_length(parents: Parents) -> dict[str, int]:
    """Return the layer of each node that makes the sum of the edges' lengths smallest.

    Layers count from zero at the top, and an edge is one layer long at least. The linear
    program ``min sum (l[child] - l[parent])`` subject to ``l[child] - l[parent] >= 1`` has
    whole numbers at its corners, because its matrix is totally unimodular.

    Examples
    --------
    >>> layers_of_least_length({"a": [], "b": ["a"], "c": ["b"], "d": [], "e": ["c", "d"]})
    {'a': 0, 'b': 1, 'c': 2, 'd': 2, 'e': 3}
    """
    number = {name: i for i, name in enumerate(parents)}
    edges = [(number[p], number[child]) for child in parents for p in parents[child]]
    if not edges:
        return dict.fromkeys(parents, 0)
    top, bottom = np.array(edges).T
    rows = np.arange(len(edges))
    sign = np.repeat([1.0, -1.0], len(edges))
    place = (np.tile(rows, 2), np.concatenate([top, bottom]))
    matrix: Any = coo_array((sign, place), shape=(len(edges), len(number))).tocsr()
    pull = np.bincount(bottom, minlength=len(number)) - np.bincount(top, minlength=len(number))
    solved: Any = linprog(
        pull, matrix, -np.ones(len(edges)), bounds=(0, None), method="highs-ds"
    )
    layer = np.rint(solved.x).astype(int)
    return {name: int(layer[i] - layer.min()) for name, i in number.items()}


def narrowed_layers(
    parents: Parents, layer: Mapping[str, int], width: Mapping[str, float], most: float
) -> dict[str, int]:
    """Return layers of no more than a total width, by moving boxes down where they are wider.

    Parameters
    ----------
    layer
        Layer of each node, above those of its children.
    width
        Width of each node with the gap beside it.
    most
        Largest sum of widths in a layer; a node that is wider stands alone.

    Examples
    --------
    >>> leaves = {"a": [], "b": ["a"], "c": ["a"], "d": ["a"]}
    >>> layer = {"a": 0, "b": 1, "c": 1, "d": 1}
    >>> narrowed_layers(leaves, layer, dict.fromkeys(leaves, 1.0), 2.0)
    {'a': 0, 'b': 1, 'c': 2, 'd': 1}
    """
    moved: dict[str, int] = {}
    load: dict[int, float] = {}
    stagger = _staggered(parents, layer, width, most)
    for name in sorted(parents, key=lambda name: layer[name]):
        least = max([layer[name], *(moved[p] + 1 for p in parents[name])])
        place = least + stagger.get(name, 0)
        while load.get(place, 0.0) > 0 and load[place] + width[name] > most:
            place += 1
        moved[name] = place
        load[place] = load.get(place, 0.0) + width[name]
    return _without_gaps({name: moved[name] for name in parents})


def _staggered(
    parents: Parents, layer: Mapping[str, int], width: Mapping[str, float], most: float
) -> dict[str, int]:
    """Return how far down the childless nodes of layers that are too wide go, in turn.

    Edges to the lower ones then run between the upper ones, as bricks are laid.
    """
    with_children = {parent for child in parents for parent in parents[child]}
    rows: dict[int, list[str]] = {}
    for name in parents:
        rows.setdefault(layer[name], []).append(name)
    stagger: dict[str, int] = {}
    for row in rows.values():
        n_rows = int(np.ceil(sum(width[name] for name in row) / most))
        leaves = [name for name in row if name not in with_children]
        stagger |= {name: i % n_rows for i, name in enumerate(leaves)}
    return stagger


def _without_gaps(layer: dict[str, int]) -> dict[str, int]:
    number = {old: new for new, old in enumerate(sorted(set(layer.values())))}
    return {name: number[old] for name, old in layer.items()}


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


Ends = NDArray[np.intp]

# Pieces between two boxes, a box and a bend, two bends: long edges cost most to bend.
COST = (1.0, 2.0, 8.0)
CENTERINGS = 8


def needed_width(layers: Layers, room: Array) -> float:
    """Return the width of the widest layer."""
    return float(max(room[list(row)].sum() for row in layers.rows))


def squeezed_positions(layers: Layers, room: Array, most: float) -> Array:
    """Return centers between 0 and ``most`` that make edges deviate least from the vertical.

    The linear program ``min sum_e cost_e |x[top] - x[bottom]|`` keeps the order in the layers
    and the room of each node [gansner1993]_; then boxes move to the middle of their neighbors
    as far as their layer has place.

    Parameters
    ----------
    room
        Width of each node with the free space it needs, shape (n_nodes,).
    most
        Width of the drawing, at least `needed_width`.
    """
    n = len(room)
    sides = np.array(
        [pair for row in layers.rows for pair in pairwise(row)], dtype=int
    ).reshape(-1, 2)
    ends = np.array([(u, v) for u in range(n) for v in layers.below[u]], dtype=int)
    apart = 0.5 * (room[sides[:, 0]] + room[sides[:, 1]])
    n_bends = (ends >= layers.n_boxes).sum(axis=1)
    cost = np.concatenate([np.zeros(n), np.array(COST)[n_bends]])
    bounds = [*zip(room / 2, most - room / 2, strict=True), *[(0.0, None)] * len(ends)]
    limit = np.concatenate([-apart, np.zeros(2 * len(ends))])
    solved: Any = linprog(cost, _rows(sides, ends, n), limit, bounds=bounds, method="highs")
    return _centered(layers, np.asarray(solved.x[:n]), room, most)


def _rows(sides: Ends, ends: Ends, n: int) -> Any:
    """Return ``left - right <= -apart`` and ``|top - bottom| - deviation <= 0`` as a matrix."""
    a, b = len(sides), len(ends)
    left_right = _difference(sides, n)
    top_bottom, deviation = _difference(ends, n), eye_array(b)
    none = coo_array((a, b))
    blocks = [[left_right, none], [top_bottom, -deviation], [-top_bottom, -deviation]]
    return block_array(blocks, format="csr")


def _difference(pairs: Ends, n: int) -> Any:
    """Return the matrix that takes the second value of each pair from the first one."""
    k = len(pairs)
    sign = np.repeat([1.0, -1.0], k)
    return coo_array((sign, (np.tile(np.arange(k), 2), pairs.T.ravel())), shape=(k, n))


def _centered(layers: Layers, x: Array, room: Array, most: float) -> Array:
    """Return the positions after boxes have moved between their neighbors above and below."""
    x = x.copy()
    for _ in range(CENTERINGS):
        for row in layers.rows:
            for i, node in enumerate(row):
                near = [*layers.above[node], *layers.below[node]]
                if node >= layers.n_boxes or not near:
                    continue
                low = x[row[i - 1]] + room[row[i - 1]] / 2 if i else 0.0
                high = x[row[i + 1]] - room[row[i + 1]] / 2 if i < len(row) - 1 else most
                wish = float(np.mean(x[near]))
                x[node] = min(max(wish, low + room[node] / 2), high - room[node] / 2)
    return x
