"""A product of tables as a handful of flat arrays, so that one loop can walk all of it.

An *edge* is one variable in the scope of one table; edges are numbered table by table. A
variable with a single state has no edges: it is an index that never moves.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import cache
from types import ModuleType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.numerics.array import Array

__all__ = ["FlatTables", "Walk", "flat_tables", "log_densities", "walk"]

Index = NDArray[np.intp]


class FlatTables(NamedTuple):
    """Tables end to end, and who is in which.

    Attributes
    ----------
    n_states
        Number of states of each variable.
    state_start
        Where the states of each variable begin in an array that has one entry per state of
        every variable; one longer than ``n_states``.
    log_values
        Log entries of all tables, each table in C order; -inf is an impossible cell.
    cell_start
        Where each table begins in ``log_values``.
    edge_start
        Where the edges of each table begin.
    edge_variable, edge_table, edge_stride
        Variable and table of each edge, and how far apart neighboring states of that variable
        are in the table.
    message_start
        Where each edge begins in an array that has one entry per state of every edge.
    slot_start, slot_edge
        Edges in order of their variables, and where those of each variable begin.
    """

    n_states: Index
    state_start: Index
    log_values: Array
    cell_start: Index
    edge_start: Index
    edge_variable: Index
    edge_table: Index
    edge_stride: Index
    message_start: Index
    slot_start: Index
    slot_edge: Index

    @property
    def has_zeros(self) -> bool:
        """Whether some cell of some table is impossible."""
        return bool(np.isneginf(self.log_values).any())


class Walk(NamedTuple):
    """An order in which each table or variable, if it can, touches an earlier one.

    Attributes
    ----------
    variables, tables
        Breadth first from the first variable of each connected part.
    is_forest
        Whether there is only one way from anywhere to anywhere, so that messages are exact.
    """

    variables: Index
    tables: Index
    is_forest: bool


def flat_tables(
    n_states: Sequence[int], scopes: Sequence[tuple[int, ...]], values: Sequence[Array]
) -> FlatTables:
    """Return the tables as flat arrays.

    Parameters
    ----------
    n_states
        Number of states of each variable.
    scopes
        Variables of each table, one per axis.
    values
        Non-negative entries of each table.

    Examples
    --------
    >>> net = flat_tables([2, 1, 3], [(0, 1, 2)], [np.ones((2, 1, 3))])
    >>> net.edge_variable.tolist(), net.edge_stride.tolist(), net.message_start.tolist()
    ([0, 2], [3, 1], [0, 2, 5])
    """
    sizes = np.asarray(n_states, dtype=np.intp)
    moving = [[i for i in scope if n_states[i] > 1] for scope in scopes]
    variable = np.array([i for scope in moving for i in scope], dtype=np.intp)
    degree = np.array([len(scope) for scope in moving], dtype=np.intp)
    table = np.repeat(np.arange(len(moving), dtype=np.intp), degree)
    strides = [s for scope in moving for s in _strides([n_states[i] for i in scope])]
    with np.errstate(divide="ignore"):
        cells = [np.log(v, dtype=np.float64).ravel() for v in values]
    return FlatTables(
        n_states=sizes,
        state_start=_starts(sizes),
        log_values=np.concatenate([*cells, np.empty(0)]),
        cell_start=_starts(np.array([len(c) for c in cells], dtype=np.intp)),
        edge_start=_starts(degree),
        edge_variable=variable,
        edge_table=table,
        edge_stride=np.array(strides, dtype=np.intp),
        message_start=_starts(sizes[variable]),
        slot_start=_starts(np.bincount(variable, minlength=len(sizes))),
        slot_edge=np.argsort(variable, kind="stable"),
    )


def walk(net: FlatTables) -> Walk:
    """Return a breadth-first order of variables and tables.

    Examples
    --------
    >>> pair = np.ones((2, 2))
    >>> order = walk(flat_tables([2, 2, 2], [(0, 1), (2, 1)], [pair, pair]))
    >>> order.variables.tolist(), order.is_forest
    ([0, 1, 2], True)
    """
    variables, tables, n_parts = _loops().breadth_first(net)
    with_edges = int((np.diff(net.edge_start) > 0).sum())
    n_nodes = len(net.n_states) + with_edges
    return Walk(variables, tables, len(net.edge_variable) == n_nodes - n_parts)


def log_densities(net: FlatTables, states: Index) -> Array:
    """Return the sum of the log entries at joint states, shape (n, n_variables)."""
    rows = np.ascontiguousarray(states, dtype=np.intp)
    return np.asarray(_loops().log_densities(net, rows), dtype=np.float64)


def _starts(sizes: Index) -> Index:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)


def _strides(sizes: list[int]) -> list[int]:
    strides, step = [0] * len(sizes), 1
    for axis in reversed(range(len(sizes))):
        strides[axis] = step
        step *= sizes[axis]
    return strides


@cache
def _loops() -> ModuleType:
    return importlib.import_module("credo.inference.discrete.loops._loops_flat_tables")
