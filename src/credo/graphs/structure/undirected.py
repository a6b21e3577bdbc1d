"""Undirected graphs, the structure of Markov random fields, and their maximal cliques."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations
from typing import Any, Self

from credo.graphs.structure.networkx_graph import from_networkx, to_networkx
from credo.graphs.structure.node_names import (
    Names,
    checked_edges,
    checked_names,
    disjoint_groups,
    group,
    unknown_node,
)
from credo.graphs.structure.path import shortest_path
from credo.numerics.quotation import quote

__all__ = [
    "UndirectedGraph",
    "maximal_cliques",
]


Branch = tuple[dict[str, None], set[str], list[str]]
"""Nodes that may still enter, nodes tried before, and those to try now."""


def maximal_cliques(neighbors: Mapping[str, Iterable[str]]) -> Iterator[tuple[str, ...]]:
    """Yield every group of nodes that are all joined and that no other node could enter.

    Bron and Kerbosch's search with pivoting [bron1973]_, [tomita2006]_: a clique grows by one
    candidate at a time; a neighbor of the pivot need not be tried, because a maximal clique
    without the pivot contains a node that is not its neighbor.

    Notes
    -----
    At worst ``3^(n / 3)`` cliques, as many as there can be. Memory is a stack as deep as the
    largest clique; there is no recursion.

    Examples
    --------
    >>> sorted(maximal_cliques({"a": "bc", "b": "ac", "c": "abd", "d": "c"}))
    [('a', 'b', 'c'), ('c', 'd')]
    """
    joined = {name: dict.fromkeys(others) for name, others in neighbors.items()}
    if not joined:
        return
    members: list[str] = []
    stack = [_branch(dict.fromkeys(joined), set(), joined)]
    while stack:
        candidates, excluded, todo = stack[-1]
        if not todo:
            stack.pop()
            if members:
                members.pop()
            continue
        name = todo.pop()
        del candidates[name]
        inner = dict.fromkeys(n for n in joined[name] if n in candidates)
        outer = {n for n in joined[name] if n in excluded}
        excluded.add(name)
        if inner:
            members.append(name)
            stack.append(_branch(inner, outer, joined))
        elif not outer:
            yield tuple(sorted((*members, name)))


def _branch(
    candidates: dict[str, None], excluded: set[str], joined: dict[str, dict[str, None]]
) -> Branch:
    """Return a branch with the candidates that are not neighbors of the best pivot."""
    pivot, most = "", -1
    for name in chain(candidates, excluded):
        n_joined = sum(other in candidates for other in joined[name])
        if n_joined > most:
            pivot, most = name, n_joined
        # No pivot can do better than to leave one candidate, so a clique takes one look each.
        if most >= len(candidates) - 1:
            break
    return candidates, excluded, [n for n in candidates if n not in joined[pivot]]


@dataclass(frozen=True, eq=False, repr=False)
class UndirectedGraph:
    """Nodes and the pairs of them that are joined; an immutable value.

    An edge given from one side holds from both. Answers that are several nodes are tuples in
    the order of the graph's nodes. Graphs are equal that have the same nodes and edges; as a
    collection, a graph holds its nodes.

    Examples
    --------
    >>> graph = UndirectedGraph({"a": ["b", "c"], "b": ["c"], "c": ["d"]})
    >>> graph.cliques()
    (('a', 'b', 'c'), ('c', 'd'))
    >>> graph.separated("a", "d", given="c")
    True
    """

    _neighbors: dict[str, tuple[str, ...]]

    def __init__(self, neighbors: Mapping[str, Iterable[str]]) -> None:
        neighbors_of = {
            name: checked_names(f"neighbors of {name}", neighbors[name])
            for name in checked_names("nodes", neighbors.keys())
        }
        names = [
            *neighbors_of,
            *(other for others in neighbors_of.values() for other in others),
        ]
        joined: dict[str, set[str]] = {name: set() for name in names}
        for name, others in neighbors_of.items():
            if name in others:
                raise ValueError(
                    f"a node must not be its own neighbor; found {quote(name)} joined to "
                    "itself. Leave this edge out."
                )
            joined[name].update(others)
            for other in others:
                joined[other].add(name)
        place = {name: i for i, name in enumerate(joined)}
        ordered = {n: tuple(sorted(o, key=place.__getitem__)) for n, o in joined.items()}
        object.__setattr__(self, "_neighbors", ordered)

    @classmethod
    def from_edges(cls, edges: Iterable[tuple[str, str]], nodes: Iterable[str] = ()) -> Self:
        """Return the graph with these edges, and these nodes first."""
        return cls.from_groups(checked_edges(edges), nodes)

    @classmethod
    def from_groups(cls, groups: Iterable[Iterable[str]], nodes: Iterable[str] = ()) -> Self:
        """Return the graph in which the nodes of each group are all joined.

        Examples
        --------
        >>> UndirectedGraph.from_groups([("a", "b", "c"), ("c", "d")]).edges
        (('a', 'b'), ('a', 'c'), ('b', 'c'), ('c', 'd'))
        """
        neighbors: dict[str, list[str]] = {name: [] for name in nodes}
        for members in map(tuple, groups):
            for name in members:
                neighbors.setdefault(name, [])
            for a, b in combinations(members, 2):
                neighbors[a].append(b)
        return cls(neighbors)

    @classmethod
    def from_networkx(cls, graph: Any) -> Self:
        """Return the graph with the nodes of a networkx one, named by their text."""
        nodes, edges = from_networkx(graph, is_directed=False)
        return cls.from_edges(edges, nodes)

    def to_networkx(self) -> Any:
        """Return a networkx ``Graph`` with the same nodes and edges, in the same order."""
        return to_networkx(self.nodes, self.edges, is_directed=False)

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """Names in the order given."""
        return tuple(self._neighbors)

    @cached_property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """Joined pairs, the earlier node first."""
        pairs = ((a, b) for a, others in self._neighbors.items() for b in others)
        return tuple(pair for pair in pairs if self._place[pair[0]] < self._place[pair[1]])

    def neighbors(self, node: str) -> tuple[str, ...]:
        """Return the nodes joined to this one: given these it is independent of the rest."""
        if node not in self._neighbors:
            raise unknown_node(node, self._neighbors)
        return self._neighbors[node]

    def cliques(self) -> tuple[tuple[str, ...], ...]:
        """Return the maximal groups of nodes that are all joined, in the order of nodes."""
        places = (map(self._place.__getitem__, c) for c in maximal_cliques(self._neighbors))
        names = self.nodes
        return tuple(tuple(names[i] for i in clique) for clique in sorted(map(sorted, places)))

    def separated(self, x: Names, y: Names, given: Names = ()) -> bool:
        """Return whether every path from ``x`` to ``y`` passes through ``given``.

        Then ``x`` and ``y`` are independent given these in every Markov random field on the
        graph.

        Examples
        --------
        >>> square = UndirectedGraph.from_edges(["ab", "bc", "cd", "da"])
        >>> square.separated("a", "c", given="b"), square.separated("a", "c", given=["b", "d"])
        (False, True)
        """
        return self.open_path(x, y, given) is None

    def open_path(self, x: Names, y: Names, given: Names = ()) -> tuple[str, ...] | None:
        """Return a shortest path from ``x`` to ``y`` that avoids ``given``, if there is one."""
        start, goal, wall = disjoint_groups(x, y, given, self._neighbors)
        return shortest_path(self._neighbors.__getitem__, start, set(goal), set(wall))

    def subgraph(self, names: Names) -> Self:
        """Return the graph of these nodes and the edges among them."""
        kept = set(group(names, self._neighbors))
        return type(self)(
            {a: [b for b in o if b in kept] for a, o in self._neighbors.items() if a in kept}
        )

    @cached_property
    def _place(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self._neighbors)}

    @cached_property
    def _identity(self) -> tuple[frozenset[str], frozenset[frozenset[str]]]:
        return frozenset(self.nodes), frozenset(frozenset(edge) for edge in self.edges)

    def __contains__(self, node: object) -> bool:
        return node in self._neighbors

    def __iter__(self) -> Iterator[str]:
        return iter(self._neighbors)

    def __len__(self) -> int:
        return len(self._neighbors)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UndirectedGraph) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    def __repr__(self) -> str:
        return f"UndirectedGraph({len(self.nodes)} nodes, {len(self.edges)} edges)"
