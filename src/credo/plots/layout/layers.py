"""A graph in layers, where every edge joins neighbors: long ones run through bends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from credo.graphs.structure.adjacency import Edge

__all__ = ["Layers", "proper_layers"]

Rows = tuple[tuple[int, ...], ...]


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

    rows: Rows
    above: Rows
    below: Rows
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


def _neighbors(routes: Iterable[tuple[int, ...]], n_nodes: int) -> tuple[Rows, Rows]:
    above: list[list[int]] = [[] for _ in range(n_nodes)]
    below: list[list[int]] = [[] for _ in range(n_nodes)]
    for route in routes:
        for top, bottom in pairwise(route):
            below[top].append(bottom)
            above[bottom].append(top)
    return tuple(map(tuple, above)), tuple(map(tuple, below))
