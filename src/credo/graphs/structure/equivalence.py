"""Graphs that state the same independencies, and the pattern they share.

Two directed graphs are equivalent if and only if they have the same skeleton and the same
v-structures [verma1990]_: data alone cannot tell them apart, and arrows are not causes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from credo.graphs.structure.adjacency import Edge
from credo.graphs.structure.arrows import Arrows, arrows_of
from credo.graphs.structure.directed import DirectedGraph
from credo.graphs.structure.orientation import Orientation

__all__ = ["PartiallyDirectedGraph", "cpdag", "equivalent", "equivalent_graphs", "v_structures"]


@dataclass(frozen=True)
class PartiallyDirectedGraph:
    """The pattern of a class of equivalent graphs; equal patterns mean the same class.

    Attributes
    ----------
    nodes
        All nodes, in alphabetical order, as are the edges.
    directed
        Arrows, tail first, that every graph of the class has.
    undirected
        Edges that point one way in some of the graphs and the other way in others.
    """

    nodes: tuple[str, ...]
    directed: tuple[Edge, ...]
    undirected: tuple[Edge, ...]

    def __str__(self) -> str:
        arrows = [f"{tail} -> {head}" for tail, head in self.directed]
        return "; ".join([*arrows, *(f"{a} - {b}" for a, b in self.undirected)])


def v_structures(graph: Arrows) -> tuple[tuple[str, str, str], ...]:
    """Return all ``(a, effect, b)`` with ``a -> effect <- b`` whose ends are not joined.

    Examples
    --------
    >>> v_structures(DirectedGraph.from_text("cloud -> hose, rain; hose, rain -> wet"))
    (('hose', 'wet', 'rain'),)
    """
    graph = arrows_of(graph)
    return tuple(
        (a, effect, b)
        for effect in sorted(graph)
        for a, b in combinations(sorted(graph.parents(effect)), 2)
        if not (graph.has_edge(a, b) or graph.has_edge(b, a))
    )


def equivalent(first: Arrows, second: Arrows) -> bool:
    """Return whether two graphs state the same independencies.

    Examples
    --------
    >>> chain = DirectedGraph.from_text("a -> b -> c")
    >>> fork, effect = map(DirectedGraph.from_text, ("a <- b -> c", "a -> b <- c"))
    >>> equivalent(chain, fork), equivalent(chain, effect)
    (True, False)
    """
    first, second = arrows_of(first), arrows_of(second)
    return first.skeleton() == second.skeleton() and v_structures(first) == v_structures(second)


def cpdag(graph: Arrows) -> PartiallyDirectedGraph:
    """Return the completed pattern of a graph's class: an arrow where all members agree.

    The v-structures are directed first, then all edges that Meek's rules direct [meek1995]_.

    Examples
    --------
    >>> print(cpdag(DirectedGraph.from_text("cloud -> hose, rain; hose, rain -> wet")))
    hose -> wet; rain -> wet; cloud - hose; cloud - rain
    """
    graph = arrows_of(graph)
    pattern = _pattern(graph)
    arrows, edges = sorted(pattern.arrows()), sorted(pattern.open_edges())
    return PartiallyDirectedGraph(tuple(sorted(graph)), tuple(arrows), tuple(edges))


def equivalent_graphs(graph: Arrows) -> Iterator[DirectedGraph]:
    """Yield every graph of a graph's class, itself included, one at a time.

    A class can be very large: take the first few with ``itertools.islice``.

    Examples
    --------
    >>> sorted(g.edges for g in equivalent_graphs(DirectedGraph.from_text("a -> b -> c")))
    [(('a', 'b'), ('b', 'c')), (('b', 'a'), ('b', 'c')), (('b', 'a'), ('c', 'b'))]
    """
    stack = [_pattern(arrows_of(graph))]
    while stack:
        pattern = stack.pop()
        edge = min(pattern.open_edges(), default=None)
        if edge is None:
            parents = {name: sorted(tails) for name, tails in pattern.parents.items()}
            yield DirectedGraph(parents)
            continue
        # Each way leads to at least one graph, so that no branch is explored in vain.
        other = pattern.copy()
        pattern.direct([edge])
        other.direct([edge[::-1]])
        stack += [other, pattern]


def _pattern(graph: DirectedGraph) -> Orientation:
    pattern = Orientation(graph.skeleton())
    arrows = {(end, effect) for a, effect, b in v_structures(graph) for end in (a, b)}
    pattern.direct(sorted(arrows))
    return pattern
