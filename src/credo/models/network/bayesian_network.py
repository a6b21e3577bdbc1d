"""A Bayesian network: variables, arrows, and a conditional distribution at every node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, cast

import pandas as pd

from credo.graphs.factor import Factor
from credo.graphs.node.conditional import Conditional, DiscreteConditional
from credo.graphs.node.conditional_spec import bind, states_of
from credo.graphs.node.conditional_table import ConditionalTable
from credo.graphs.structure.directed import DirectedGraph
from credo.graphs.structure.joint_product import parameter_count
from credo.graphs.structure.structure_text import parse_structure
from credo.graphs.variable import Variable, nearest
from credo.inference.discrete.factor_problem import network_problem
from credo.inference.discrete.table_engine import TableApproximation, TableEngine
from credo.inference.engine.method import Method
from credo.inference.engine.network import Auto
from credo.inference.hybrid.hybrid_engine import HybridEngine
from credo.inference.hybrid.likelihood_weighting import DrawEngine
from credo.models.network.network import Network
from credo.models.network.value.findings import as_mapping
from credo.models.network.value.network_answer import shown_names
from credo.numerics.quotation import quote

__all__ = ["BayesianNetwork"]

Structure = str | DirectedGraph | Mapping[str, Sequence[str]] | Sequence[tuple[str, str]]


class BayesianNetwork(Network):
    """A joint distribution ``prod_i P(x_i | parents of x_i)`` over a directed acyclic graph.

    Parameters
    ----------
    structure
        Text such as ``"cloud -> sprinkler, rain; sprinkler, rain -> wet"`` (states may stand in
        braces, ``"grade{low|high}"``), edges, a mapping of each node to its parents, a
        `DirectedGraph` or a networkx ``DiGraph``.
    cpts
        Conditional distribution of each node: an array with one axis per parent in the order
        given and then the node's own states, a dictionary, a DataFrame, or a value such as
        ``NoisyOr`` or ``LinearGaussian``. None gives a network that knows its structure only.
    states
        States of variables in order. What is not given is read off the conditional
        distributions; two states without names are False and True, more are 0, 1, 2, ...

    Attributes
    ----------
    graph
        The arrows.
    variables
        Variables by name.
    conditionals
        Conditional distributions by name; empty if only the structure is known.

    Examples
    --------
    >>> net = BayesianNetwork(
    ...     "cloud -> sprinkler, rain; sprinkler, rain -> wet",
    ...     cpts={
    ...         "cloud": [0.5, 0.5],
    ...         "sprinkler": [[0.5, 0.5], [0.9, 0.1]],
    ...         "rain": [[0.8, 0.2], [0.2, 0.8]],
    ...         "wet": [[[1.0, 0.0], [0.1, 0.9]], [[0.1, 0.9], [0.01, 0.99]]],
    ...     },
    ... )
    >>> net.query("rain", given={"wet": True}).round(4).to_dict()
    {False: 0.2921, True: 0.7079}
    """

    def __init__(
        self,
        structure: Any,
        cpts: Mapping[str, Any] | None = None,
        states: Mapping[str, Sequence[Any]] | None = None,
    ) -> None:
        self.graph, listed = _graph_of(structure)
        known = {**listed, **{name: _labels(name, s) for name, s in (states or {}).items()}}
        _check_names("states", known, self.graph)
        self.conditionals: dict[str, Conditional] = {}
        if cpts is None:
            self.variables = {
                n: Variable(n, known.get(n, (False, True))) for n in self.graph.nodes
            }
            return
        _check_names("cpts", cpts, self.graph)
        _check_complete(cpts, self.graph)
        variables: dict[str, Variable] = {}
        for name in self.graph.order():
            parents = [variables[p] for p in self.graph.parents(name)]
            labels = known[name] if name in known else states_of(cpts[name], parents, name)
            variables[name] = Variable(name, labels)
            self.conditionals[name] = bind(cpts[name], variables[name], parents)
        self.variables = {name: variables[name] for name in self.graph.nodes}
        self.conditionals = {name: self.conditionals[name] for name in self.graph.nodes}

    def answers(self, do: Sequence[str] = ()) -> Auto:
        """Return the engines of this network, those in ``do`` cut off from their causes."""
        cut = frozenset(do)
        known = self._engines.get(cut)
        if known is None:
            known = self._engines.setdefault(cut, self._engine(cut))
        return known

    def _engine(self, cut: frozenset[str]) -> Auto:
        """Return exact answers by what the nodes allow, with weighted draws behind them."""
        if not self.conditionals:
            raise ValueError(
                "a network must have conditional distributions to answer; found the structure "
                "only. Pass cpts."
            )
        nodes = [c for name, c in self.conditionals.items() if name not in cut]
        tables = self._table_engine(nodes)
        exact = tables or HybridEngine.of(self.variables, nodes, self.limits.memory)
        draws = DrawEngine.of(self.conditionals, cut, exact)
        if tables is None:
            return Auto(exact, (draws,), "a network with real variables")
        ways = (TableApproximation(tables, has_arrows=True), draws)
        return Auto(exact, ways, "a Bayesian network")

    def _table_engine(self, nodes: Sequence[Conditional]) -> TableEngine | None:
        """Return the engine on the tables of some nodes; None if something is not discrete."""
        # One node of each kind is looked at: to see that it has all that a table needs is slow.
        kinds = (ConditionalTable, DiscreteConditional)
        if not all(isinstance(node, kinds) for node in {type(n): n for n in nodes}.values()):
            return None
        if not all(v.is_discrete for v in self.variables.values()):
            return None
        numbers = {name: i for i, name in enumerate(self.variables)}
        problem = network_problem(
            self.variables.values(), cast(Sequence[DiscreteConditional], nodes)
        )
        return TableEngine.of(numbers, problem, self.limits.memory, self.limits.seconds)

    def _log_constant(self, answers: Auto, method: Method) -> float:
        return 0.0

    def _check_log_prob(self, method: Method) -> None:
        """Allow every method: the constant is one, so that a bound stays a bound."""

    @cached_property
    def _engines(self) -> dict[frozenset[str], Auto]:
        return {}

    @cached_property
    def factors(self) -> tuple[Factor, ...]:
        """Tables of the discrete nodes, whole, axes parents then child."""
        return tuple(
            conditional.table()
            for conditional in self.conditionals.values()
            if isinstance(conditional, DiscreteConditional)
        )

    @property
    def n_parameters(self) -> int:
        """Number of free parameters; of full tables if only the structure is known."""
        if self.conditionals:
            return sum(conditional.n_parameters for conditional in self.conditionals.values())
        sizes = {name: v.n_states for name, v in self.variables.items()}
        return parameter_count(self.graph, sizes).network

    def explaining_away(
        self, cause: str, other: Mapping[str, Any], given: Mapping[str, Any]
    ) -> pd.DataFrame:
        """Return the distribution of a cause as its effect, and then another cause, is seen.

        Parameters
        ----------
        other
            Another cause of the same effect, with the state it turns out to have.
        given
            The effect, as seen.

        Returns
        -------
        pandas.DataFrame
            One row before anything is seen, one given the effect, one given the other cause
            as well. Of a real cause mean and standard deviation.
        """
        effect, known = as_mapping(given), {**as_mapping(given), **as_mapping(other)}
        steps = {"before": {}, "given effect": effect, "given other cause": known}
        rows = {name: self.query(cause, given=seen) for name, seen in steps.items()}
        if self.variables[cause].is_discrete:
            return pd.DataFrame(rows).T
        moments = {name: (row.mean(), row.std()) for name, row in rows.items()}
        return pd.DataFrame(moments, index=["mean", "std"], dtype=float).T

    def __repr__(self) -> str:
        return f"BayesianNetwork({shown_names(self.variables)}; {len(self.graph.edges)} arrows)"


def _graph_of(structure: Any) -> tuple[DirectedGraph, dict[str, tuple[Any, ...]]]:
    """Return the graph of anything that can stand for one, and the states given with it."""
    if isinstance(structure, DirectedGraph):
        return structure, {}
    if isinstance(structure, str):
        parents, states = parse_structure(structure)
        return DirectedGraph(parents), dict(states)
    if isinstance(structure, Mapping):
        return DirectedGraph(structure), {}
    if hasattr(structure, "is_directed"):
        return DirectedGraph.from_networkx(structure), {}
    return DirectedGraph.from_edges(structure), {}


def _labels(name: str, labels: Any) -> tuple[Any, ...]:
    """Return the states that were given for a variable; a text is not a list of letters."""
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise ValueError(
            f"states of {name} must be a list of labels in order; found {quote(labels)}. "
            "Write for "
            'example ["no", "yes"], or list(range(3)).'
        )
    return tuple(labels)


def _check_names(what: str, names: Mapping[str, Any], graph: DirectedGraph) -> None:
    for name in names:
        if name not in graph:
            raise ValueError(
                f"{what} must name nodes of the network; found {quote(name)}, which the "
                f"structure does not have.{nearest(name, graph.nodes)}"
            )


def _check_complete(cpts: Mapping[str, Any], graph: DirectedGraph) -> None:
    missing = [name for name in graph.nodes if name not in cpts]
    if missing:
        raise ValueError(
            f"cpts must hold one conditional distribution per node; found none for "
            f"{', '.join(missing[:8])}{' and others' if len(missing) > 8 else ''}. "
            "Give each its table, or leave cpts out to ask about the structure only."
        )
