"""Networks as graphs of networkx, with states and tables as attributes of the nodes."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from credo.data.error import NetworkFileError
from credo.data.network_file.network_assembly import table_of
from credo.graphs.structure.networkx_graph import from_networkx as node_texts
from credo.graphs.variable import Variable
from credo.models.network.bayesian_network import BayesianNetwork
from credo.models.network.factor_graph import FactorGraph
from credo.models.network.markov_random_field import MarkovRandomField

__all__ = ["from_networkx", "to_networkx"]


def to_networkx(net: BayesianNetwork | MarkovRandomField) -> Any:
    """Return a networkx graph of a network; nothing is lost.

    Returns
    -------
    networkx.DiGraph | networkx.Graph
        A ``DiGraph`` for a Bayesian network, whose nodes have the attributes ``states`` (None
        if real-valued), ``parents`` (names in the order of the axes), ``table`` (an array,
        axes parents then the node; only of discrete nodes whose whole table can be stored)
        and ``conditional`` (the distribution itself). A ``Graph`` for a Markov random field,
        whose nodes have ``states`` and whose ``graph["factors"]`` lists the factors; by name
        for a factor graph.

    Examples
    --------
    >>> net = BayesianNetwork("rain -> wet", {"rain": [0.8, 0.2], "wet": [[1, 0], [0.1, 0.9]]})
    >>> to_networkx(net).nodes["wet"]["table"].tolist()
    [[1.0, 0.0], [0.1, 0.9]]
    """
    graph = net.graph.to_networkx()
    for name, variable in net.variables.items():
        graph.nodes[name]["states"] = variable.states
    if isinstance(net, FactorGraph):
        graph.graph["factors"] = dict(net.named_factors)
        return graph
    if isinstance(net, MarkovRandomField):
        graph.graph["factors"] = list(net.factors)
        return graph
    for name, conditional in net.conditionals.items():
        graph.nodes[name]["parents"] = net.graph.parents(name)
        graph.nodes[name]["conditional"] = conditional
        with suppress(NetworkFileError):
            graph.nodes[name]["table"] = table_of(conditional)
    return graph


def from_networkx(graph: Any) -> BayesianNetwork | MarkovRandomField:
    """Return the network that a networkx graph describes by the attributes of `to_networkx`.

    Without ``parents`` the order is that of ``graph.predecessors``; ``states`` may be left out
    as in `BayesianNetwork`; ``table`` may be anything that it takes as a table, and counts
    where ``conditional`` is absent. Without both on every node, only the structure is known.

    Raises
    ------
    ValueError
        If two nodes have the same text, or an undirected graph holds no factors.

    Examples
    --------
    >>> import networkx
    >>> graph = networkx.DiGraph([("rain", "wet")])
    >>> graph.nodes["rain"]["table"] = {"no": 0.8, "yes": 0.2}
    >>> graph.nodes["wet"]["table"] = {"no": [1.0, 0.0], "yes": [0.1, 0.9]}
    >>> from_networkx(graph).variables["rain"].states
    ('no', 'yes')
    """
    node_texts(graph, is_directed=graph.is_directed())
    if not graph.is_directed():
        return _field(graph)
    structure, cpts, states = {}, {}, {}
    for node, attributes in graph.nodes(data=True):
        name = str(node)
        structure[name] = _parents(graph, node)
        if attributes.get("states") is not None:
            states[name] = tuple(attributes["states"])
        for key in ("conditional", "table"):
            if attributes.get(key) is not None:
                cpts[name] = attributes[key]
                break
    return BayesianNetwork(structure, cpts or None, states)


def _parents(graph: Any, node: Any) -> tuple[str, ...]:
    found = tuple(str(parent) for parent in graph.predecessors(node))
    named = graph.nodes[node].get("parents")
    if named is None:
        return found
    parents = tuple(str(parent) for parent in named)
    if sorted(parents) != sorted(found):
        raise ValueError(
            f"parents of {node!s} must be the tails of its edges, {list(found)}; found "
            f"{list(parents)}. Change the attribute or the edges."
        )
    return parents


def _field(graph: Any) -> MarkovRandomField:
    factors = graph.graph.get("factors")
    if factors is None:
        raise ValueError(
            "an undirected networkx graph must hold its factors in graph['factors']; found "
            "none. List values of Factor there, or pass a DiGraph."
        )
    noted = graph.nodes(data="states")
    known = [Variable(str(n), tuple(states)) for n, states in noted if states is not None]
    if isinstance(factors, Mapping):
        return FactorGraph(factors, known)
    return MarkovRandomField(list(factors), known)
