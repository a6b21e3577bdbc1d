"""Where the nodes of each layer stand from left to right: long edges stay straight.

Each node is aligned with the middle one of its neighbors above or below, from the left or from
the right, and the blocks of aligned nodes are moved together; the mean of the two middle ones
of the four results is taken [brandes2002]_.
"""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import TopologicalSorter
from itertools import pairwise

import numpy as np

from credo.numerics.array import Array
from credo.plots.layout.layers import Layers

__all__ = ["positions"]

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
