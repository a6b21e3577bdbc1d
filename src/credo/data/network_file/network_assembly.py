"""Networks made of the parts that a file names, and taken apart into them."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from credo.data.error import NetworkFileError
from credo.data.network_file.network_part import (
    LARGEST_TABLE,
    NetworkParts,
    TablePart,
    UaiParts,
    VariablePart,
    fault,
)
from credo.graphs.factor import Factor
from credo.graphs.node.conditional import Conditional, DiscreteConditional
from credo.graphs.node.conditional_table import ConditionalTable
from credo.graphs.structure.directed import CycleFound
from credo.graphs.variable import Variable
from credo.models.network.bayesian_network import BayesianNetwork
from credo.models.network.markov_random_field import MarkovRandomField
from credo.numerics.array import Array

__all__ = [
    "Network",
    "network_of_parts",
    "network_of_uai",
    "parts_of_network",
    "table_of",
    "uai_of_network",
]

Network = BayesianNetwork | MarkovRandomField


def network_of_parts(parts: NetworkParts) -> BayesianNetwork:
    """Return the Bayesian network, its variables in the order of the file."""
    variables = {part.name: Variable(part.name, part.states) for part in parts.variables}
    tables = {part.child: part for part in parts.tables}
    cpts = {name: _conditional(tables[name], variables) for name in variables}
    states = {name: variable.labels for name, variable in variables.items()}
    try:
        return BayesianNetwork({name: tables[name].parents for name in variables}, cpts, states)
    except CycleFound as error:
        raise fault(tables[error.cycle[-1]].line, str(error).removesuffix(".")) from error


def network_of_uai(parts: UaiParts) -> Network:
    """Return a Bayesian network or a Markov random field, as the file says of itself."""
    if parts.is_directed:
        return network_of_parts(NetworkParts(parts.variables, parts.tables))
    variables = {part.name: Variable(part.name, part.states) for part in parts.variables}
    factors = [
        Factor([variables[name] for name in table.scope], table.values)
        for table in parts.tables
    ]
    return MarkovRandomField(factors, tuple(variables.values()))


def parts_of_network(net: Network) -> NetworkParts:
    """Return the parts of a network of tables, its states as text.

    Raises
    ------
    NetworkFileError
        If the network has no directions or no tables, or two of its states have one text.
    """
    if not isinstance(net, BayesianNetwork):
        raise NetworkFileError(
            f"this format must be given a BayesianNetwork; found a {type(net).__name__}. Save "
            "it as .uai or .json."
        )
    variables = [
        VariablePart(name, tuple(str(state) for state in variable.labels))
        for name, variable in net.variables.items()
        if variable.is_discrete
    ]
    return NetworkParts(tuple(variables), _tables(net))


def uai_of_network(net: Network) -> UaiParts:
    """Return the parts of a UAI file; names and states become places in their order."""
    variables = tuple(
        VariablePart(name, variable.labels)
        for name, variable in net.variables.items()
        if variable.is_discrete
    )
    if isinstance(net, BayesianNetwork):
        return UaiParts(True, variables, _tables(net))
    return UaiParts(False, variables, tuple(_factor_part(factor) for factor in net.factors))


def table_of(conditional: Conditional) -> Array:
    """Return the table of a discrete node, axes parents then child, with all its digits.

    Raises
    ------
    NetworkFileError
        If the node is not a table, or its table has more entries than a file may hold.
    """
    if isinstance(conditional, ConditionalTable):
        return conditional.probability
    if isinstance(conditional, DiscreteConditional):
        return _whole_table(conditional)
    raise NetworkFileError(
        f"this format must be given tables; found that {conditional.child.name!r} is a "
        f"{type(conditional).__name__}. Save the network as .json."
    )


def _whole_table(conditional: DiscreteConditional) -> Array:
    scope = (*conditional.parents, conditional.child)
    n_entries = math.prod(variable.n_states for variable in scope)
    try:
        if n_entries <= LARGEST_TABLE:
            return conditional.table().table()
    except MemoryError:
        pass
    raise NetworkFileError(
        f"the table of {conditional.child.name!r} must have at most {LARGEST_TABLE:,} entries, "
        f"and fit memory, to be written; found {n_entries:,} for "
        f"{len(conditional.parents)} parents. Save the network as .json, which keeps the node "
        "as it is."
    )


def _conditional(part: TablePart, variables: Mapping[str, Variable]) -> ConditionalTable:
    parents = [variables[name] for name in part.parents]
    try:
        return ConditionalTable(variables[part.child], parents, part.values)
    except ValueError as error:
        raise fault(part.line, str(error).removesuffix(".")) from error


def _tables(net: BayesianNetwork) -> tuple[TablePart, ...]:
    if not net.conditionals:
        raise NetworkFileError(
            "this format must be given tables; found a network that knows its structure only. "
            "Give it cpts, or save it as .json."
        )
    return tuple(
        TablePart(name, net.graph.parents(name), table_of(conditional))
        for name, conditional in net.conditionals.items()
    )


def _factor_part(factor: Factor) -> TablePart:
    with np.errstate(over="ignore"):
        values = factor.table() if factor.log_scale else factor.values
    if not np.all(np.isfinite(values)):
        raise NetworkFileError(
            f"entries must be below 1e308 in UAI format; found a factor over "
            f"{list(factor.names)} with exp({factor.log_scale:.0f}). Save the network as .json."
        )
    names = factor.names
    return TablePart(names[-1] if names else "", names[:-1], values)
