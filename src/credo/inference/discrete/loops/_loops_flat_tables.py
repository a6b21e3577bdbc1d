"""Loops that walk over a product of tables and look up the density of joint states."""

import numpy as np
from numpy.typing import NDArray

from credo.inference.discrete.loops.flat_tables import FlatTables
from credo.numerics._loops_compilation import compiled, compiled_part
from credo.numerics.array import Array

__all__ = ["breadth_first", "log_densities"]

Index = NDArray[np.intp]
Flags = NDArray[np.bool_]


@compiled_part()
def _enter_tables(net: FlatTables, i: int, seen: Flags, tables: Index, n_tables: int) -> int:
    """List the tables of a variable that are new; return how many are listed by then."""
    for slot in range(net.slot_start[i], net.slot_start[i + 1]):
        t = net.edge_table[net.slot_edge[slot]]
        if not seen[t]:
            seen[t] = True
            tables[n_tables] = t
            n_tables += 1
    return n_tables


@compiled_part()
def _enter_variables(net: FlatTables, t: int, seen: Flags, variables: Index, n: int) -> int:
    """List the variables of a table that are new; return how many are listed by then."""
    for e in range(net.edge_start[t], net.edge_start[t + 1]):
        i = net.edge_variable[e]
        if not seen[i]:
            seen[i] = True
            variables[n] = i
            n += 1
    return n


@compiled()
def breadth_first(net: FlatTables) -> tuple[Index, Index, int]:
    """Return variables and tables in breadth-first order, and the number of connected parts."""
    n = len(net.n_states)
    n_all = len(net.edge_start) - 1
    seen_variable, seen_table = np.zeros(n, np.bool_), np.zeros(n_all, np.bool_)
    variables, tables = np.empty(n, np.intp), np.empty(n_all, np.intp)
    n_variables = n_tables = done = done_tables = n_parts = 0
    for root in range(n):
        if seen_variable[root]:
            continue
        n_parts += 1
        seen_variable[root] = True
        variables[n_variables] = root
        n_variables += 1
        while done < n_variables:
            n_tables = _enter_tables(net, variables[done], seen_table, tables, n_tables)
            done += 1
            while done_tables < n_tables:
                t = tables[done_tables]
                n_variables = _enter_variables(net, t, seen_variable, variables, n_variables)
                done_tables += 1
    return variables, tables[:n_tables].copy(), n_parts


@compiled()
def log_densities(net: FlatTables, states: Index) -> Array:
    """Return the sum of the log entries at each joint state."""
    found = np.zeros(len(states))
    for t in range(len(net.cell_start) - 1):
        first, last = net.edge_start[t], net.edge_start[t + 1]
        for row in range(len(states)):
            cell = net.cell_start[t]
            for e in range(first, last):
                cell += net.edge_stride[e] * states[row, net.edge_variable[e]]
            found[row] += net.log_values[cell]
    return found
