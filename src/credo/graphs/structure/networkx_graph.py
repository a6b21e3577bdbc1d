"""Graphs of networkx, in and out; networkx loads on first use."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any

from credo.numerics.quotation import quote

__all__ = ["from_networkx", "to_networkx"]

Edges = list[tuple[str, str]]


def from_networkx(graph: Any, *, is_directed: bool) -> tuple[list[str], Edges]:
    """Return nodes and edges by the text of their names, in the order networkx keeps.

    Raises
    ------
    ValueError
        If the graph is of the other kind, or two nodes have the same text.
    """
    if graph.is_directed() != is_directed:
        kinds = {True: "directed", False: "undirected"}
        raise ValueError(
            f"networkx graph must be {kinds[is_directed]}; found {type(graph).__name__}. "
            f"Pass a networkx {'DiGraph' if is_directed else 'Graph'}."
        )
    nodes = [str(node) for node in graph.nodes()]
    if len(set(nodes)) < len(nodes):
        twice = sorted({name for name in nodes if nodes.count(name) > 1})
        raise ValueError(
            f"nodes must differ as text; found several {quote(twice[0])}. Rename one of them."
        )
    return nodes, [(str(a), str(b)) for a, b in graph.edges()]


def to_networkx(
    nodes: Iterable[str], edges: Iterable[tuple[str, str]], *, is_directed: bool
) -> Any:
    """Return a ``DiGraph`` or ``Graph`` with these nodes and edges.

    Examples
    --------
    >>> to_networkx("abc", [("a", "b")], is_directed=True).number_of_nodes()
    3
    """
    networkx: Any = importlib.import_module("networkx")
    graph = networkx.DiGraph() if is_directed else networkx.Graph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(edges)
    return graph
