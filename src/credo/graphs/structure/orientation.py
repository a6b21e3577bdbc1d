"""Edges of which some have a direction, and the rules by which these direct others."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from itertools import combinations
from typing import Self

from credo.graphs.structure.adjacency import Edge
from credo.graphs.structure.undirected import UndirectedGraph

__all__ = ["Orientation"]


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
