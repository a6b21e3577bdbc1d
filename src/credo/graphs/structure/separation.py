"""Which variables a directed graph says are independent, and along which path they are not.

``X`` and ``Y`` are d-separated by ``Z`` if every path between them is blocked: by a node of
``Z`` where the arrows do not meet head-to-head, or by a head-to-head node that is not in ``Z``
and has no descendant there. Then ``X`` and ``Y`` are independent given ``Z`` in every
distribution that factorizes over the graph [pearl1988]_.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from credo.graphs.structure.arrows import Arrows, arrows_of
from credo.graphs.structure.directed import DirectedGraph
from credo.graphs.structure.node_names import Names, disjoint_groups, group
from credo.graphs.structure.path import closure, shortest_path

__all__ = ["d_connected", "d_separated", "moral_separated", "open_path"]

Ball = tuple[str, bool]
"""A node, and whether it was reached along an arrow, that is from a parent."""


def d_separated(graph: Arrows, x: Names, y: Names, given: Names = ()) -> bool:
    """Return whether ``x`` and ``y`` are independent once ``given`` is known.

    Examples
    --------
    >>> graph = DirectedGraph.from_text("burglar, earthquake -> alarm -> call")
    >>> d_separated(graph, "burglar", "earthquake")
    True
    >>> d_separated(graph, "burglar", "earthquake", given="call")
    False
    """
    return open_path(graph, x, y, given) is None


def open_path(graph: Arrows, x: Names, y: Names, given: Names = ()) -> tuple[str, ...] | None:
    """Return a shortest path that nothing blocks, or None if ``x`` and ``y`` are separated.

    Notes
    -----
    A ball rolls from ``x`` in breadth [shachter1998]_; whether it may pass a node depends only
    on how it came, so that each node is visited at most twice. A shortest open walk repeats no
    node: where it did, leaving out the loop would leave it open.

    Examples
    --------
    >>> graph = DirectedGraph.from_text("burglar, earthquake -> alarm -> call")
    >>> open_path(graph, "burglar", "earthquake", given="call")
    ('burglar', 'alarm', 'earthquake')
    """
    graph = arrows_of(graph)
    start, goal, known = disjoint_groups(x, y, given, graph)
    ends = {(name, came_down) for name in goal for came_down in (False, True)}
    balls = shortest_path(_roll(graph, known), [(name, False) for name in start], ends)
    return None if balls is None else tuple(name for name, _ in balls)


def d_connected(graph: Arrows, x: Names, given: Names = ()) -> tuple[str, ...]:
    """Return the nodes that ``given`` does not separate from ``x``, without these themselves.

    Examples
    --------
    >>> graph = DirectedGraph.from_text("burglar, earthquake -> alarm; earthquake -> radio")
    >>> d_connected(graph, "burglar"), d_connected(graph, "burglar", given="alarm")
    (('alarm',), ('earthquake', 'radio'))
    """
    graph = arrows_of(graph)
    start, known = group(x, graph), group(given, graph)
    balls = closure(_roll(graph, known), [(name, False) for name in start])
    reached = {name for name, _ in balls}.difference(start, known)
    return tuple(name for name in graph if name in reached)


def moral_separated(graph: Arrows, x: Names, y: Names, given: Names = ()) -> bool:
    """Return the same as `d_separated`, by the moral graph of the nodes asked about.

    The nodes named and their ancestors are kept, parents joined, directions forgotten: what is
    separated there by ``given`` is d-separated [lauritzen1990]_. Shorter to say, slower to run.

    Examples
    --------
    >>> graph = DirectedGraph.from_text("burglar, earthquake -> alarm -> call")
    >>> moral_separated(graph, "burglar", "earthquake", given="call")
    False
    """
    graph = arrows_of(graph)
    asked = [name for part in disjoint_groups(x, y, given, graph) for name in part]
    relevant = graph.subgraph([*asked, *graph.ancestors(asked)])
    return relevant.moral().separated(x, y, given)


def _roll(graph: DirectedGraph, known: tuple[str, ...]) -> Callable[[Ball], Iterable[Ball]]:
    """Return where a ball may go from a node, by how it came there."""
    blocked = frozenset(known)
    opened = blocked.union(graph.ancestors(known))

    def steps(ball: Ball) -> list[Ball]:
        name, came_down = ball
        passes = name not in blocked
        goes_up = name in opened if came_down else passes
        up = [(parent, False) for parent in graph.parents(name)] if goes_up else []
        down = [(child, True) for child in graph.children(name)] if passes else []
        return up + down

    return steps
