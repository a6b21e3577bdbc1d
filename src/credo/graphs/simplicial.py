"""Nodes that can be eliminated first at no loss, because their neighbors are linked already."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

__all__ = ["eliminate_simplicial"]

MAX_DEGREE = 64


def eliminate_simplicial(graph: list[set[int]], nodes: Iterable[int]) -> list[int]:
    """Take simplicial nodes out of the graph until none is left, and return them in order.

    Isolated nodes, leaves and whole chordal graphs go this way. Nodes of very many neighbors
    are left alone, which keeps the time linear in the size of a sparse graph.

    Parameters
    ----------
    graph
        Neighbors of node 0, 1, ...; changed in place.
    nodes
        The nodes that may be taken.

    Examples
    --------
    >>> graph = [{1}, {0, 2}, {1}]
    >>> eliminate_simplicial(graph, [0, 2])
    [0, 2]
    >>> graph
    [set(), set(), set()]
    """
    waiting = deque(nodes)
    queued = set(waiting)
    free = set(queued)
    order = []
    while waiting:
        v = waiting.popleft()
        queued.discard(v)
        if not _is_simplicial(graph, v):
            continue
        order.append(v)
        free.remove(v)
        for u in graph[v]:
            graph[u].remove(v)
            if u in free and u not in queued:
                queued.add(u)
                waiting.append(u)
        graph[v] = set()
    return order


def _is_simplicial(graph: list[set[int]], v: int) -> bool:
    around = graph[v]
    if len(around) < 2:
        return True
    if len(around) > MAX_DEGREE:
        return False
    return all(len(graph[u]) >= len(around) and around - graph[u] == {u} for u in around)
