"""A graph built from a joint distribution by adding one variable after the other."""

from __future__ import annotations

from collections.abc import Sequence

from credo.distributions.joint_table import JointTable
from credo.graphs.structure.directed import DirectedGraph
from credo.graphs.structure.independence import independence_basis
from credo.numerics.quotation import quote

__all__ = ["is_independence_map", "minimal_map"]


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
