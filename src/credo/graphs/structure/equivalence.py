"""Graphs that state the same independencies, and the pattern they share (CPDAG).

Two directed graphs are equivalent if and only if they have the same skeleton and the same
v-structures [verma1990]_: data alone cannot tell them apart, and arrows are not causes. Edges
of a pattern that have a direction direct others by Meek's rules.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Self

from credo.graphs.structure.adjacency import Edge
from credo.graphs.structure.arrows import Arrows, arrows_of
from credo.graphs.structure.directed import DirectedGraph
from credo.graphs.structure.undirected import UndirectedGraph

__all__ = [
    "Orientation",
    "PartiallyDirectedGraph",
    "cpdag",
    "equivalent",
    "equivalent_graphs",
    "v_structures",
]


class Orientation:
    """A graph in the making: arrows, and edges whose direction is still open.

    ``direct`` gives an edge a direction and then directs all others for which the other way
    would close a cycle or make a new v-structure, by Meek's four rules [meek1995]_. Starting
    from a pattern, every edge left open can then still point either way.

    Attributes
    ----------
    parents, children, open
        For each node, the tails of arrows into it, the heads of arrows out of it, and the
        other ends of its edges without direction.

    Examples
    --------
    >>> skeleton = UndirectedGraph({"a": ["b"], "b": ["c"], "c": ["d"]})
    >>> pattern = Orientation(skeleton)
    >>> pattern.direct([("a", "b")])
    >>> sorted(pattern.arrows())
    [('a', 'b'), ('b', 'c'), ('c', 'd')]
    """

    def __init__(self, skeleton: UndirectedGraph) -> None:
        self.parents: dict[str, set[str]] = {name: set() for name in skeleton}
        self.children: dict[str, set[str]] = {name: set() for name in skeleton}
        self.open: dict[str, set[str]] = {n: set(skeleton.neighbors(n)) for n in skeleton}
        self._joined = {name: frozenset(skeleton.neighbors(name)) for name in skeleton}

    def copy(self) -> Self:
        """Return the same state, to be changed apart."""
        twin = type(self).__new__(type(self))
        twin.parents = {name: set(tails) for name, tails in self.parents.items()}
        twin.children = {name: set(heads) for name, heads in self.children.items()}
        twin.open = {name: set(others) for name, others in self.open.items()}
        twin._joined = self._joined
        return twin

    def arrows(self) -> Iterable[Edge]:
        """Yield the edges that have a direction, tail first."""
        return ((tail, head) for head, tails in self.parents.items() for tail in tails)

    def open_edges(self) -> Iterable[Edge]:
        """Yield the edges without direction, once each."""
        return ((a, b) for a, others in self.open.items() for b in others if a < b)

    def direct(self, arrows: Iterable[Edge]) -> None:
        """Give edges a direction, and then all those whose direction follows."""
        todo = deque(arrows)
        for tail, head in tuple(todo):
            self._set(tail, head)
        while todo:
            tail, head = todo.popleft()
            for a, b in self._touched(tail, head):
                if b in self.open[a] and self._follows(a, b):
                    self._set(a, b)
                    todo.append((a, b))

    def _set(self, tail: str, head: str) -> None:
        self.open[tail].discard(head)
        self.open[head].discard(tail)
        self.parents[head].add(tail)
        self.children[tail].add(head)

    def _touched(self, tail: str, head: str) -> list[Edge]:
        """Return the open edges, both ways, that a new arrow may direct."""
        around = {tail, head, *self.open[tail]}
        edges = {(a, b) for a in around for b in self.open[a]}
        return sorted(edges | {(b, a) for a, b in edges})

    def _follows(self, a: str, b: str) -> bool:
        rules: tuple[Callable[[str, str], bool], ...] = (
            self._avoids_v_structure,
            self._avoids_cycle,
            self._avoids_either,
            self._avoids_either_later,
        )
        return any(rule(a, b) for rule in rules)

    def _avoids_v_structure(self, a: str, b: str) -> bool:
        """Return whether ``c -> a - b`` with ``c`` and ``b`` apart."""
        return not self.parents[a] <= (self._joined[b] | {b})

    def _avoids_cycle(self, a: str, b: str) -> bool:
        """Return whether ``a -> c -> b``."""
        return not self.children[a].isdisjoint(self.parents[b])

    def _avoids_either(self, a: str, b: str) -> bool:
        """Return whether ``a - c -> b`` and ``a - d -> b`` with ``c`` and ``d`` apart."""
        between = sorted(self.open[a] & self.parents[b])
        return any(d not in self._joined[c] for c, d in combinations(between, 2))

    def _avoids_either_later(self, a: str, b: str) -> bool:
        """Return whether ``a - c -> d -> b``, ``c`` and ``b`` apart, ``a`` and ``d`` joined."""
        return any(
            not self.parents[d].isdisjoint(self.open[a] - self._joined[b])
            for d in self.parents[b] & self._joined[a]
        )


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
