"""Annealing of spins from independent ones to coupled ones, with the weight of the path.

Neighbors are stored as in the loops of `ising`: those of node i are
``neighbor[first[i] : first[i + 1]]``, every edge at both of its ends.
"""

import math

import numpy as np
from numpy.typing import NDArray

from credo.numerics._loops_compilation import compiled
from credo.numerics.array import Array
from credo.numerics.special._loops_split_mix import GAMMA, uniform

__all__ = ["anneal"]

Index = NDArray[np.intp]
Spins = NDArray[np.int8]


@compiled()
def log_cosh_ratio(a: float, b: float) -> float:
    """Return ``log(cosh(a) / cosh(b))`` without overflow."""
    a, b = abs(a), abs(b)
    if a > 20.0 and b > 20.0:
        return a - b
    return a - b + math.log1p(math.exp(-2.0 * a)) - math.log1p(math.exp(-2.0 * b))


@compiled()
def anneal(
    spin: Spins,
    neighbors: tuple[Index, Index, Array],
    start: Array,
    field: Array,
    levels: Array,
    seed: int,
    is_symmetric: bool,
) -> float:
    """Take one sweep at each level but the last, and return the log weight of the path.

    At level t the log density is ``t (pairs(x) + field . x) + g((1 - t) start . x)``, where
    ``pairs`` is the sum over edges of w x_i x_j, and g the identity or, if symmetric, the log
    of cosh: the mean of the densities with ``start`` and with ``-start``. ``spin`` must be a
    draw at level 0, and is changed. Random numbers are a SplitMix64 sequence [steele2014]_.
    """
    first, neighbor, weight = neighbors
    n = spin.shape[0]
    rise, pull = 0.0, 0.0
    for i in range(n):
        around = 0.0
        for place in range(first[i], first[i + 1]):
            around += weight[place] * spin[neighbor[place]]
        # Each edge is met at both of its ends.
        rise += spin[i] * (field[i] + 0.5 * around)
        pull += spin[i] * start[i]
    total, state = 0.0, np.uint64(seed)
    for k in range(1, levels.shape[0]):
        level, rest = levels[k], 1.0 - levels[k]
        step = level - levels[k - 1]
        total += step * rise
        if is_symmetric:
            total += log_cosh_ratio(rest * pull, (rest + step) * pull)
        else:
            total -= step * pull
        for i in range(n):
            slope = field[i]
            for place in range(first[i], first[i + 1]):
                slope += weight[place] * spin[neighbor[place]]
            lean = 2.0 * rest * start[i]
            if is_symmetric:
                others = pull - spin[i] * start[i]
                lean = log_cosh_ratio(rest * (others + start[i]), rest * (others - start[i]))
            state += GAMMA
            odds = math.exp(-2.0 * level * slope - lean)
            new = 1 if uniform(state) * (1.0 + odds) < 1.0 else -1
            if new != spin[i]:
                rise += 2.0 * new * slope
                pull += 2.0 * new * start[i]
                spin[i] = new
    return total
