"""Nodes that can be eliminated first at no loss, because their neighbors are linked already."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush

__all__ = ["eliminate_simplicial"]

MAX_DEGREE = 64


def eliminate_simplicial(
    graph: list[set[int]], nodes: Iterable[int], n_states: Sequence[int]
) -> list[int]:
    """Take simplicial nodes out of the graph until none is left, and return them in order.

    Isolated nodes, leaves and whole chordal graphs go this way, nodes of many states first so
    that what is left of a clique is small. Nodes of very many neighbors are left alone, which
    keeps the time in proportion to the size of a sparse graph.

    Parameters
    ----------
    graph
        Neighbors of node 0, 1, ...; changed in place.
    nodes
        The nodes that may be taken.
    n_states
        Number of states of every node.

    Examples
    --------
    >>> graph = [{1}, {0, 2}, {1}]
    >>> eliminate_simplicial(graph, [0, 2], [2, 2, 3])
    [2, 0]
    >>> graph
    [set(), set(), set()]
    """
    free = set(nodes)
    queued = set(free)
    waiting = [(-n_states[v], v) for v in free]
    heapify(waiting)
    order = []
    while waiting:
        _, v = heappop(waiting)
        queued.discard(v)
        if not _is_simplicial(graph, v):
            continue
        order.append(v)
        free.remove(v)
        for u in graph[v]:
            graph[u].remove(v)
            if u in free and u not in queued:
                queued.add(u)
                heappush(waiting, (-n_states[u], u))
        graph[v] = set()
    return order


def _is_simplicial(graph: list[set[int]], v: int) -> bool:
    around = graph[v]
    if len(around) < 2:
        return True
    if len(around) > MAX_DEGREE:
        return False
    return all(len(graph[u]) >= len(around) and around - graph[u] == {u} for u in around)
