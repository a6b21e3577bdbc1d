"""Statements of independence that a directed graph makes, and the few that imply all."""

from __future__ import annotations

from dataclasses import dataclass

from credo.graphs.structure.arrows import Arrows, arrows_of

__all__ = ["Independence", "independence_basis", "local_independence"]


@dataclass(frozen=True)
class Independence:
    """The statement that ``x`` is independent of ``y`` once ``given`` is known."""

    x: tuple[str, ...]
    y: tuple[str, ...]
    given: tuple[str, ...] = ()

    def __str__(self) -> str:
        known = f" given {', '.join(self.given)}" if self.given else ""
        return f"{', '.join(self.x)} independent of {', '.join(self.y) or 'nothing'}{known}"


def local_independence(graph: Arrows, node: str) -> Independence:
    """Return the local Markov property: what a node does not depend on given its parents.

    A node is independent of all its non-descendants given its parents; ``y`` is empty if it
    has no other non-descendants.

    Examples
    --------
    >>> from credo.graphs.structure.directed import DirectedGraph
    >>> graph = DirectedGraph.from_text("cloud -> sprinkler, rain; sprinkler, rain -> wet")
    >>> print(local_independence(graph, "rain"))
    rain independent of sprinkler given cloud
    """
    graph = arrows_of(graph)
    parents = graph.parents(node)
    below = {node, *parents, *graph.descendants(node)}
    return Independence((node,), tuple(name for name in graph if name not in below), parents)


def independence_basis(graph: Arrows) -> tuple[Independence, ...]:
    """Return statements from which all others that the graph makes follow, none to spare.

    In the order of the graph, each node is independent of its predecessors given its parents.
    Symmetry, decomposition, weak union and contraction derive every d-separation from these
    [verma1988]_, and none of them from the rest.

    Examples
    --------
    >>> from credo.graphs.structure.directed import DirectedGraph
    >>> graph = DirectedGraph.from_text("cloud -> sprinkler, rain; sprinkler, rain -> wet")
    >>> for statement in independence_basis(graph):
    ...     print(statement)
    rain independent of sprinkler given cloud
    wet independent of cloud given sprinkler, rain
    """
    graph = arrows_of(graph)
    order = graph.order()
    statements = []
    for i, node in enumerate(order):
        parents = graph.parents(node)
        if len(parents) < i:
            others = tuple(name for name in order[:i] if name not in parents)
            statements.append(Independence((node,), others, parents))
    return tuple(statements)
