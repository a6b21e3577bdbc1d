"""Loops of mean field: coordinate ascent on a product of one distribution per variable.

A term of weight zero counts for nothing even where its log entry is -inf.
"""

import math

import numpy as np

from credo.inference.discrete.loops.flat_tables import FlatTables
from credo.numerics._loops_compilation import compiled, compiled_part
from credo.numerics.array import Array

__all__ = ["ascend", "bound"]


@compiled_part()
def _weight(net: FlatTables, t: int, cell: int, own: int, probability: Array) -> float:
    """Return the probability of a cell of a table under the product, without one edge."""
    found = 1.0
    for e in range(net.edge_start[t], net.edge_start[t + 1]):
        if e != own:
            i = net.edge_variable[e]
            at = cell // net.edge_stride[e] % net.n_states[i]
            found *= probability[net.state_start[i] + at]
    return found


@compiled_part()
def _field(net: FlatTables, i: int, probability: Array, field: Array) -> None:
    """Write the expected log entries of all tables of a variable, per state of it."""
    n = net.n_states[i]
    field[:n] = 0.0
    for slot in range(net.slot_start[i], net.slot_start[i + 1]):
        own = net.slot_edge[slot]
        t, step = net.edge_table[own], net.edge_stride[own]
        start = net.cell_start[t]
        for cell in range(net.cell_start[t + 1] - start):
            weight = _weight(net, t, cell, own, probability)
            if weight > 0.0:
                field[cell // step % n] += weight * net.log_values[start + cell]


@compiled()
def ascend(net: FlatTables, probability: Array, damping: float) -> float:
    """Move each variable in turn to its best distribution; return the largest change.

    ``damping`` is the share of the old distribution that stays.
    """
    change = 0.0
    field = np.empty(net.n_states.max())
    for i in range(len(net.n_states)):
        n = net.n_states[i]
        _field(net, i, probability, field)
        top = field[:n].max()
        if n == 1 or top == -np.inf:
            continue
        total = 0.0
        for k in range(n):
            field[k] = math.exp(field[k] - top)
            total += field[k]
        for k in range(n):
            place = net.state_start[i] + k
            before = probability[place]
            probability[place] = damping * before + (1.0 - damping) * field[k] / total
            change = max(change, abs(probability[place] - before))
    return change


@compiled()
def bound(net: FlatTables, probability: Array) -> float:
    """Return the expected log entries plus the entropy of the product."""
    found = 0.0
    for t in range(len(net.cell_start) - 1):
        start = net.cell_start[t]
        for cell in range(net.cell_start[t + 1] - start):
            weight = _weight(net, t, cell, -1, probability)
            if weight > 0.0:
                found += weight * net.log_values[start + cell]
    for p in probability:
        if p > 0.0:
            found -= p * math.log(p)
    return found
