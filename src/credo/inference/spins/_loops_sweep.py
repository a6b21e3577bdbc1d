"""Loops over the spins of a graph, given by a compressed list of neighbors.

Neighbors of node i are ``neighbor[first[i] : first[i + 1]]``, with couplings ``weight`` in the
same places; every edge appears at both of its ends. Indices are intp, numbers float64, spins
int8. The log density is ``sum over edges of w x_i x_j + sum of field_i x_i``.
"""

import math

import numpy as np
from numpy.typing import NDArray

from credo.numerics._loops_compilation import compiled
from credo.numerics.array import Array
from credo.numerics.special._loops_split_mix import GAMMA, uniform

__all__ = ["bound", "color", "gibbs", "mean_field", "modes"]

Index = NDArray[np.intp]
Spins = NDArray[np.int8]


@compiled()
def color(first: Index, neighbor: Index, most: int) -> Index:
    """Return the smallest color of each node that no neighbor before it has."""
    n = first.shape[0] - 1
    chosen = np.full(n, -1, np.intp)
    taken_by = np.full(most + 1, -1, np.intp)
    for i in range(n):
        for place in range(first[i], first[i + 1]):
            other = chosen[neighbor[place]]
            if other >= 0:
                taken_by[other] = i
        own = 0
        while taken_by[own] == i:
            own += 1
        chosen[i] = own
    return chosen


@compiled()
def gibbs(
    spin: Spins,
    nodes: Index,
    first: Index,
    neighbor: Index,
    weight: Array,
    field: Array,
    total: Array,
    seed: int,
    sweep: int,
    is_summed: bool,
) -> None:
    """Draw each of some spins from its distribution given its neighbors.

    The random number of a node is the entry ``sweep * n + node`` of a `split_mix`
    sequence, so that the order of nodes of one color does not matter.
    """
    n = first.shape[0] - 1
    for i in nodes:
        m = field[i]
        for place in range(first[i], first[i + 1]):
            m += weight[place] * spin[neighbor[place]]
        chance = uniform(np.uint64(seed) + np.uint64(sweep * n + i + 1) * GAMMA)
        spin[i] = 1 if chance * (1.0 + math.exp(-2.0 * m)) < 1.0 else -1
        if is_summed:
            total[i] += math.tanh(m)


@compiled()
def mean_field(
    mean: Array, first: Index, neighbor: Index, weight: Array, field: Array, damping: float
) -> float:
    """Move each mean to tanh(field + sum of w mean) in turn; return the largest move.

    ``damping`` is the share of the old mean that stays.
    """
    largest = 0.0
    for i in range(mean.shape[0]):
        m = field[i]
        for place in range(first[i], first[i + 1]):
            m += weight[place] * mean[neighbor[place]]
        move = (1.0 - damping) * (math.tanh(m) - mean[i])
        mean[i] += move
        largest = max(largest, abs(move))
    return largest


@compiled()
def bound(mean: Array, first: Index, neighbor: Index, weight: Array, field: Array) -> float:
    """Return the mean log density of independent spins plus their entropy."""
    total = 0.0
    for i in range(mean.shape[0]):
        around = 0.0
        for place in range(first[i], first[i + 1]):
            around += weight[place] * mean[neighbor[place]]
        # Each edge is met at both of its ends.
        total += mean[i] * (field[i] + 0.5 * around)
        up, down = 0.5 * (1.0 + mean[i]), 0.5 * (1.0 - mean[i])
        if up > 0.0 and down > 0.0:
            total -= up * math.log(up) + down * math.log(down)
    return total


@compiled()
def modes(spin: Spins, first: Index, neighbor: Index, weight: Array, field: Array) -> int:
    """Set each spin to its most probable value in turn; return how many changed.

    A spin whose two values are equally probable stays.
    """
    n_changed = 0
    for i in range(spin.shape[0]):
        m = field[i]
        for place in range(first[i], first[i + 1]):
            m += weight[place] * spin[neighbor[place]]
        if m * spin[i] < 0.0:
            spin[i] = -spin[i]
            n_changed += 1
    return n_changed
