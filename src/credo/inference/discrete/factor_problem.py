"""The problem of every engine for discrete networks: a product of tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from credo.graphs.node.conditional import DiscreteConditional
from credo.graphs.node.conditional_table import ConditionalTable
from credo.graphs.variable import Variable
from credo.numerics.array import Array
from credo.numerics.form import Form

__all__ = [
    "Assignment",
    "FactorProblem",
    "Table",
    "TableMarginals",
    "network_problem",
    "table_of",
]


@dataclass(frozen=True, eq=False)
class Table:
    """A non-negative table ``exp(log_scale) * values`` over some variables of a problem.

    Attributes
    ----------
    scope
        Numbers of the variables, one per axis of ``values``.
    values
        Entries between 0 and 1, the largest one.
    log_scale
        Log of what ``values`` was divided by.
    child
        Variable whose conditional distribution given the rest of the scope this table is, so
        that it sums to one over that variable; None for other tables. It is the child of no
        other table.
    """

    scope: tuple[int, ...]
    values: Array
    log_scale: float = 0.0
    child: int | None = None


@dataclass(frozen=True, eq=False)
class FactorProblem:
    """The density ``prod_t table_t(x)`` of discrete variables ``x``, up to a constant.

    Attributes
    ----------
    n_states
        Number of states of each variable; variables are numbered from zero.
    tables
        Factors of the density.
    """

    n_states: tuple[int, ...]
    tables: tuple[Table, ...]

    @cached_property
    def mentioned(self) -> frozenset[int]:
        """Variables that some table has."""
        return frozenset().union(*(table.scope for table in self.tables))

    def given(self, states: Mapping[int, int]) -> FactorProblem:
        """Return the problem where some variables have one state left, the given one.

        Variables keep their numbers. A table that loses its child's axis is no longer a
        conditional distribution.
        """
        n_states = tuple(1 if i in states else n for i, n in enumerate(self.n_states))
        return FactorProblem(n_states, tuple(_restricted(t, states) for t in self.tables))

    def weighted(self, likelihood: Mapping[int, Array]) -> FactorProblem:
        """Return the problem with one more table per variable, a likelihood of its states."""
        extra = tuple(table_of((i,), values) for i, values in likelihood.items())
        return replace(self, tables=self.tables + extra)

    def log_density(self, states: NDArray[np.intp]) -> Array:
        """Return the log density of joint states, shape (n, n_variables), not normalized."""
        total = np.zeros(len(states))
        with np.errstate(divide="ignore"):
            for table in self.tables:
                cell = tuple(states[:, i] for i in table.scope)
                total += table.log_scale + np.log(table.values[cell])
        return total


@dataclass(frozen=True, eq=False)
class TableMarginals:
    """Marginal distribution of each variable of a problem, exact or not.

    Attributes
    ----------
    probability
        One vector per variable, each summing to one.
    """

    probability: tuple[Array, ...]


@dataclass(frozen=True, eq=False)
class Assignment:
    """One joint state of all variables, and its log density (not normalized)."""

    states: Annotated[NDArray[np.intp], Form("v", 0)]
    log_density: float


def network_problem(
    variables: Iterable[Variable], nodes: Iterable[DiscreteConditional]
) -> FactorProblem:
    """Return the product of the tables of some nodes of a Bayesian network.

    Variables are numbered in their order; behind them come the auxiliary ones that compact
    nodes bring along.

    Examples
    --------
    >>> rain = Variable("rain", ("no", "yes"))
    >>> network_problem([rain], [ConditionalTable(rain, [], [0.8, 0.2])]).tables[0].values
    array([1.  , 0.25])
    """
    n_states: list[int] = []
    number: dict[str, int] = {}
    for variable in variables:
        number[variable.name] = len(n_states)
        n_states.append(variable.n_states)
    plain: list[tuple[tuple[int, ...], Array]] = []
    tables: list[Table] = []
    for node in nodes:
        if isinstance(node, ConditionalTable):
            scope = tuple([number[v.name] for v in (*node.parents, node.child)])
            plain.append((scope, node.probability))
            continue
        for factor in node.factors():
            for variable in factor.variables:
                if variable.name not in number:
                    number[variable.name] = len(n_states)
                    n_states.append(variable.n_states)
            scope = tuple(number[name] for name in factor.names)
            # The last variable of every factor is distributed given the others.
            tables.append(Table(scope, factor.values, factor.log_scale, scope[-1]))
    return FactorProblem(tuple(n_states), (*_conditional_tables(plain), *tables))


def _conditional_tables(plain: Sequence[tuple[tuple[int, ...], Array]]) -> list[Table]:
    """Return tables of conditional distributions, all divided by their largest at once."""
    if not plain:
        return []
    sizes = np.array([values.size for _, values in plain])
    stops = np.cumsum(sizes)
    starts = stops - sizes
    cells = np.concatenate([values.ravel() for _, values in plain])
    top = np.maximum.reduceat(cells, starts)
    cells /= np.repeat(top, sizes)
    spans = zip(starts.tolist(), stops.tolist(), np.log(top).tolist(), strict=True)
    return [
        Table(scope, cells[start:stop].reshape(values.shape), log_scale, scope[-1])
        for (scope, values), (start, stop, log_scale) in zip(plain, spans, strict=True)
    ]


def table_of(scope: tuple[int, ...], values: Array, child: int | None = None) -> Table:
    """Return the table with its largest entry moved to the scale."""
    top = float(values.max(initial=0.0))
    if top <= 0:
        return Table(scope, values, 0.0, child)
    return Table(scope, values / top, float(np.log(top)), child)


def _restricted(table: Table, states: Mapping[int, int]) -> Table:
    if not any(i in states for i in table.scope):
        return table
    cell = tuple(
        slice(states[i], states[i] + 1) if i in states else slice(None) for i in table.scope
    )
    rest = table_of(table.scope, table.values[cell])
    child = None if table.child in states else table.child
    return Table(rest.scope, rest.values, rest.log_scale + table.log_scale, child)
