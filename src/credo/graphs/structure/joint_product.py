"""The joint distribution as a product over a graph, and how many numbers that takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from credo.distributions.joint_table import JointTable
from credo.graphs.structure.arrows import Arrows, arrows_of
from credo.graphs.structure.directed import DirectedGraph
from credo.graphs.structure.undirected import UndirectedGraph
from credo.numerics.array import Array
from credo.numerics.quotation import quote

__all__ = [
    "ParameterCount",
    "factorization",
    "factorized",
    "n_clique_entries",
    "parameter_count",
]

Sizes = int | Mapping[str, int]
"""Number of states of every node, or of each."""


@dataclass(frozen=True)
class ParameterCount:
    """Free parameters of a network, node by node, against those of the full joint table.

    Attributes
    ----------
    by_node
        ``(n_states - 1) * product of the parents' n_states`` of each node; every row of a table
        sums to one, so its last entry is not free.
    full_table
        Product of all numbers of states, less one.
    """

    by_node: dict[str, int]
    full_table: int

    @cached_property
    def network(self) -> int:
        """Free parameters of all nodes together."""
        return sum(self.by_node.values())

    def __str__(self) -> str:
        return f"{self.network} free parameters against {self.full_table} of the full table"


def factorization(graph: Arrows | UndirectedGraph) -> str:
    """Return the joint distribution as a product: of conditionals, or of factors of cliques.

    Examples
    --------
    >>> factorization(DirectedGraph.from_text("cloud -> rain; rain, hose -> wet"))
    'P(cloud) P(rain | cloud) P(hose) P(wet | rain, hose)'
    >>> factorization(UndirectedGraph.from_groups(["abc", "cd"]))
    'F(a, b, c) F(c, d) / Z'
    """
    if isinstance(graph, UndirectedGraph):
        return " ".join([*(f"F({', '.join(clique)})" for clique in graph.cliques()), "/ Z"])
    graph = arrows_of(graph)
    pairs = ((node, ", ".join(graph.parents(node))) for node in graph.order())
    return " ".join(f"P({node} | {tails})" if tails else f"P({node})" for node, tails in pairs)


def parameter_count(graph: Arrows, n_states: Sizes | None = None) -> ParameterCount:
    """Return how many free parameters the tables of a network have.

    Parameters
    ----------
    n_states
        Number of states of every node, or of each by name. Those of its variables for a
        network, two for a graph by default.

    Examples
    --------
    >>> sprinkler = DirectedGraph.from_text("cloud -> sprinkler, rain; sprinkler, rain -> wet")
    >>> print(parameter_count(sprinkler))
    9 free parameters against 15 of the full table
    """
    sizes = _sizes(arrows_of(graph), _own_sizes(graph) if n_states is None else n_states)
    graph = arrows_of(graph)
    by_node = {
        node: (sizes[node] - 1) * prod(sizes[parent] for parent in graph.parents(node))
        for node in graph
    }
    return ParameterCount(by_node, prod(sizes.values()) - 1)


def n_clique_entries(graph: UndirectedGraph, n_states: Sizes = 2) -> int:
    """Return the number of entries of one table for each maximal clique.

    Examples
    --------
    >>> n_clique_entries(UndirectedGraph.from_groups(["abc", "d"]), dict(a=2, b=2, c=2, d=3))
    11
    """
    sizes = _sizes(graph, n_states)
    return sum(prod(sizes[node] for node in clique) for clique in graph.cliques())


def factorized(table: JointTable, graph: DirectedGraph) -> JointTable:
    """Return the product of the table's own conditionals over a graph.

    It is the distribution nearest to the table, in Kullback-Leibler divergence, among those
    that factorize over the graph; equal to it if the graph states only independencies that the
    table has.

    Examples
    --------
    >>> table = JointTable([[0.4, 0.1], [0.1, 0.4]], {"a": (0, 1), "b": (0, 1)})
    >>> factorized(table, DirectedGraph({"a": [], "b": []})).probability.round(3).tolist()
    [[0.25, 0.25], [0.25, 0.25]]
    """
    if set(graph) != set(table.names):
        raise ValueError(
            "graph must have the variables of the table as nodes, "
            f"{quote(list(table.names))}; found "
            f"{quote(list(graph))}. Sum the others out, or name all."
        )
    joint = np.ones(table.probability.shape)
    for node in graph:
        joint = joint * _conditional(table, node, graph.parents(node))
    return JointTable(joint, table.states)


def _conditional(table: JointTable, node: str, parents: tuple[str, ...]) -> Array:
    """Return ``P(node | parents)`` on the axes of the table, zero where it is undefined."""
    kept = {node, *parents}
    axes = tuple(i for i, name in enumerate(table.names) if name not in kept)
    family = table.probability.sum(axis=axes, keepdims=True)
    total = family.sum(axis=table.names.index(node), keepdims=True)
    return np.asarray(np.divide(family, total, out=np.zeros_like(family), where=total > 0))


def _own_sizes(graph: Any) -> Sizes:
    """Return the numbers of states of the variables of a network; a graph does not tell."""
    variables = getattr(graph, "variables", None)
    return 2 if variables is None else {name: v.n_states for name, v in variables.items()}


def _sizes(graph: DirectedGraph | UndirectedGraph, n_states: Sizes) -> dict[str, int]:
    if isinstance(n_states, int):
        return dict.fromkeys(graph, n_states)
    missing = [node for node in graph if node not in n_states]
    if missing:
        raise ValueError(
            f"n_states must have a number for every node; found none for {quote(missing[:8])}. "
            "Add them, or pass one number for all."
        )
    return {node: int(n_states[node]) for node in graph}
