"""Directed acyclic graphs: the structure of Bayesian networks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush
from typing import Any, Self

from credo.graphs.structure.networkx_graph import from_networkx, to_networkx
from credo.graphs.structure.node_names import (
    Names,
    checked_edges,
    checked_names,
    group,
    unknown_node,
)
from credo.graphs.structure.path import closure, shortest_path
from credo.graphs.structure.structure_text import parse_structure
from credo.graphs.structure.undirected import UndirectedGraph

__all__ = ["CycleFound", "DirectedGraph"]

LONGEST_SHOWN = 30


class CycleFound(ValueError):
    """A graph that should be acyclic has a cycle.

    Attributes
    ----------
    cycle
        Nodes along the arrows; the first comes again at the end.
    """

    def __init__(self, cycle: Sequence[str]) -> None:
        self.cycle = tuple(cycle)
        long = len(self.cycle) > LONGEST_SHOWN
        shown = (*self.cycle[:5], "...", *self.cycle[-5:]) if long else self.cycle
        super().__init__(
            f"graph must have no cycle; found {' -> '.join(shown)}. "
            "Remove or turn one of these edges."
        )

    def __reduce__(self) -> tuple[type[CycleFound], tuple[tuple[str, ...]]]:
        return CycleFound, (self.cycle,)


@dataclass(frozen=True, eq=False, repr=False)
class DirectedGraph:
    """Nodes, each with its parents in order, and no cycle; an immutable value.

    Parents that are not listed as nodes themselves are roots and come last. Answers that are
    several nodes are tuples in the order of the graph's nodes. Graphs are equal that have the
    same nodes and edges; as a collection, a graph holds its nodes.

    Parameters
    ----------
    parents
        Parents of each node, in the order that the axes of its table will have.

    Raises
    ------
    CycleFound
        If arrows lead from a node back to itself; the message shows them.

    Examples
    --------
    >>> graph = DirectedGraph.from_text("cloud -> sprinkler, rain; sprinkler, rain -> wet")
    >>> graph.parents("wet"), graph.children("cloud")
    (('sprinkler', 'rain'), ('sprinkler', 'rain'))
    >>> graph.markov_blanket("rain")
    ('cloud', 'sprinkler', 'wet')
    """

    _parents: dict[str, tuple[str, ...]]

    def __init__(self, parents: Mapping[str, Sequence[str]]) -> None:
        names = checked_names("nodes", parents.keys())
        parents_of = {name: tuple(_listed(name, parents[name])) for name in names}
        unlisted = {
            tail: ()
            for tails in parents_of.values()
            for tail in tails
            if tail not in parents_of
        }
        object.__setattr__(self, "_parents", {**parents_of, **unlisted})
        if len(self._order) < len(self._parents):
            raise CycleFound(self._cycle())

    @classmethod
    def from_edges(cls, edges: Iterable[tuple[str, str]], nodes: Iterable[str] = ()) -> Self:
        """Return the graph with these edges, tail first, and these nodes first.

        Examples
        --------
        >>> DirectedGraph.from_edges([("a", "b"), ("b", "c")]).parents("c")
        ('b',)
        """
        parents: dict[str, dict[str, None]] = {name: {} for name in nodes}
        for tail, head in checked_edges(edges):
            parents.setdefault(tail, {})
            parents.setdefault(head, {})[tail] = None
        return cls({head: tuple(tails) for head, tails in parents.items()})

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Return the graph written as ``"a -> b, c; c -> d"``; states in braces are ignored."""
        return cls(parse_structure(text)[0])

    @classmethod
    def from_networkx(cls, graph: Any) -> Self:
        """Return the graph with the nodes of a networkx one, named by their text."""
        nodes, edges = from_networkx(graph, is_directed=True)
        return cls.from_edges(edges, nodes)

    def to_networkx(self) -> Any:
        """Return a networkx ``DiGraph`` with the same nodes and edges, in the same order."""
        return to_networkx(self.nodes, self.edges, is_directed=True)

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """Names in the order given."""
        return tuple(self._parents)

    @cached_property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """Pairs of tail and head, by heads in the order of nodes, then by their parents."""
        return tuple((tail, head) for head, tails in self._parents.items() for tail in tails)

    def parents(self, node: str) -> tuple[str, ...]:
        """Return the tails of the arrows into a node, in the order given."""
        if node not in self._parents:
            raise unknown_node(node, self._parents)
        return self._parents[node]

    def children(self, node: str) -> tuple[str, ...]:
        """Return the heads of the arrows out of a node."""
        if node not in self._parents:
            raise unknown_node(node, self._parents)
        return self._children[node]

    def has_edge(self, tail: str, head: str) -> bool:
        """Return whether an arrow leads from ``tail`` to ``head``."""
        return tail in self._parents.get(head, ())

    def ancestors(self, names: Names) -> tuple[str, ...]:
        """Return the nodes from which arrows lead to one of these.

        A node is no ancestor of itself, but one of ``names`` may be an ancestor of another.
        """
        found = closure(self._parents.__getitem__, group(names, self._parents))
        return self._sorted(found)

    def descendants(self, names: Names) -> tuple[str, ...]:
        """Return the nodes to which arrows lead from one of these."""
        found = closure(self._children.__getitem__, group(names, self._parents))
        return self._sorted(found)

    def order(self) -> tuple[str, ...]:
        """Return the nodes with all parents before their children.

        Next comes always the first node, in the order given, whose parents have come; an order
        that was given with parents first is kept.
        """
        return self._order

    def markov_blanket(self, node: str) -> tuple[str, ...]:
        """Return parents, children and other parents of the children.

        Given these, a node is independent of all others.
        """
        children = self.children(node)
        around = {*self.parents(node), *children}
        around.update(tail for child in children for tail in self._parents[child])
        return self._sorted(around - {node})

    def moral(self) -> UndirectedGraph:
        """Return the graph without directions in which parents of a child are joined too.

        Examples
        --------
        >>> DirectedGraph.from_text("a, b -> c").moral().edges
        (('a', 'b'), ('a', 'c'), ('b', 'c'))
        """
        families = [(*tails, head) for head, tails in self._parents.items()]
        return UndirectedGraph.from_groups(families, self.nodes)

    def skeleton(self) -> UndirectedGraph:
        """Return the graph without directions."""
        return UndirectedGraph.from_edges(self.edges, self.nodes)

    def subgraph(self, names: Names) -> Self:
        """Return the graph of these nodes and the arrows among them."""
        kept = set(group(names, self._parents))
        families = ((n, tails) for n, tails in self._parents.items() if n in kept)
        return type(self)({n: [t for t in tails if t in kept] for n, tails in families})

    def _sorted(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted(names, key=self._place.__getitem__))

    @cached_property
    def _place(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self._parents)}

    @cached_property
    def _children(self) -> dict[str, tuple[str, ...]]:
        children: dict[str, list[str]] = {name: [] for name in self._parents}
        for tail, head in self.edges:
            children[tail].append(head)
        return {name: tuple(heads) for name, heads in children.items()}

    @cached_property
    def _order(self) -> tuple[str, ...]:
        """Nodes whose ancestors are on no cycle, parents first."""
        names = self.nodes
        waiting = {head: len(tails) for head, tails in self._parents.items()}
        ready = [self._place[name] for name in names if not waiting[name]]
        heapify(ready)
        order = []
        while ready:
            order.append(names[heappop(ready)])
            for head in self._children[order[-1]]:
                waiting[head] -= 1
                if not waiting[head]:
                    heappush(ready, self._place[head])
        return tuple(order)

    def _cycle(self) -> tuple[str, ...]:
        """Return a shortest cycle through the first node found to be on one."""
        stuck = set(self._parents) - set(self._order)
        node = next(name for name in self._parents if name in stuck)
        seen: set[str] = set()
        while node not in seen:
            seen.add(node)
            node = next(tail for tail in self._parents[node] if tail in stuck)
        path = shortest_path(self._children.__getitem__, self._children[node], {node})
        return (node, *(path or ()))

    @cached_property
    def _identity(self) -> tuple[frozenset[str], frozenset[tuple[str, str]]]:
        return frozenset(self.nodes), frozenset(self.edges)

    def __contains__(self, node: object) -> bool:
        return node in self._parents

    def __iter__(self) -> Iterator[str]:
        return iter(self._parents)

    def __len__(self) -> int:
        return len(self._parents)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DirectedGraph) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    def __repr__(self) -> str:
        return f"DirectedGraph({len(self.nodes)} nodes, {len(self.edges)} edges)"


def _listed(name: str, tails: Sequence[str]) -> list[str]:
    if isinstance(tails, Set) and len(tails) > 1:
        raise TypeError(
            f"parents of {name} must be in order, that of the axes of its table; found a set. "
            f"Write a list, such as {sorted(map(str, tails))}."
        )
    listed = checked_names(f"parents of {name}", tails)
    if len(set(listed)) < len(listed):
        raise ValueError(
            f"parents of {name} must be distinct; found {listed}. Name each parent once."
        )
    return listed
