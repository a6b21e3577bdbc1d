"""Independencies that a directed graph states, and graphs built from a joint distribution.

A minimal independence map (I-map) is built by adding one variable after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from credo.distributions.joint_table import JointTable
from credo.graphs.structure.arrows import Arrows, arrows_of
from credo.graphs.structure.directed import DirectedGraph
from credo.numerics.quotation import quote

__all__ = [
    "Independence",
    "independence_basis",
    "is_independence_map",
    "local_independence",
    "minimal_map",
]


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


def minimal_map(
    table: JointTable, order: Sequence[str] | None = None, tol: float = 1e-9
) -> DirectedGraph:
    """Return the network of a joint distribution for an order of its variables.

    Each variable gets as parents only those predecessors on which it depends directly:
    ``P(node | predecessors) = P(node | parents)``, and no parent could be left out. Any order
    gives a network that is right; one with causes before effects usually has fewer edges.

    Parameters
    ----------
    order
        All variables of the table; by default the order of its axes.
    tol
        Largest relative difference of probabilities that still counts as independence.

    Raises
    ------
    ValueError
        If ``order`` does not name each variable once.

    Notes
    -----
    Parents are dropped one at a time. That ends at a set none of whose parts would do: if a
    smaller part did, so would every set between, by weak union. If some probabilities are zero
    there can be several such sets; this finds the one that keeps later predecessors.

    Examples
    --------
    >>> cause = JointTable([0.9, 0.1], {"burglar": (False, True)})
    >>> both = JointTable.from_conditional(cause, "quake", (False, True), [[0.8, 0.2]] * 2)
    >>> alarm = [[[0.99, 0.01], [0.7, 0.3]], [[0.1, 0.9], [0.05, 0.95]]]
    >>> joint = JointTable.from_conditional(both, "alarm", (False, True), alarm)
    >>> minimal_map(joint).edges
    (('burglar', 'alarm'), ('quake', 'alarm'))
    >>> minimal_map(joint, ["alarm", "quake", "burglar"]).edges
    (('alarm', 'quake'), ('alarm', 'burglar'), ('quake', 'burglar'))
    """
    names = list(table.names if order is None else order)
    if sorted(names) != sorted(table.names):
        raise ValueError(
            f"order must name each variable of {quote(list(table.names))} once; found "
            f"{quote(names)}. Put causes before effects for few edges."
        )
    return DirectedGraph(
        {node: _direct(table, node, names[:i], tol) for i, node in enumerate(names)}
    )


def is_independence_map(graph: DirectedGraph, table: JointTable, tol: float = 1e-9) -> bool:
    """Return whether every independence that the graph states holds in the table.

    Examples
    --------
    >>> table = JointTable([[0.4, 0.1], [0.1, 0.4]], {"a": (0, 1), "b": (0, 1)})
    >>> is_independence_map(DirectedGraph({"a": [], "b": ["a"]}), table)
    True
    >>> is_independence_map(DirectedGraph({"a": [], "b": []}), table)
    False
    """
    return all(
        table.is_independent(statement.x, statement.y, statement.given, tol)
        for statement in independence_basis(graph)
    )


def _direct(table: JointTable, node: str, before: list[str], tol: float) -> list[str]:
    """Return the predecessors that must stay as parents."""
    parents = list(before)
    for candidate in before:
        rest = [name for name in parents if name != candidate]
        others = [name for name in before if name not in rest]
        if table.is_independent(node, others, rest, tol):
            parents = rest
    return parents
