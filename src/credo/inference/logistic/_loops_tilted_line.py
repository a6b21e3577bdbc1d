"""Integrals along lines of a logistic likelihood times a Gaussian, one line for each node.

Arrays are C-contiguous float64.
"""

import math

import numpy as np
from numba import prange

from credo.numerics._loops_compilation import compiled
from credo.numerics.array import Array
from credo.numerics.special._loops_exponential import LANES, fast_exp

__all__ = ["line_moments"]

FARTHEST_CENTER = 3.2
"""Nodes along a line crowd where odds are even, if that is not farther out."""

REACH = 14.0
"""How far nodes reach from where they crowd."""

SHARPEST, SMOOTHEST = 0.02, 2.0
"""Least and greatest distance over which nodes crowd; that of one unit of score between."""


@compiled(parallel=True, fastmath=LANES)
def line_moments(
    odds: Array, slope: Array, power: Array, pull: Array, bend: Array, steps: Array
) -> tuple[Array, Array, Array]:
    """Return log integrals, and means of t and of its square, of every line of every row.

    The integrand is ``(1 + exp(a - g t))^-p exp(r t - b t^2 / 2)``. Nodes are at
    ``t = a / g + e sinh(v)`` for evenly spaced v, so that they crowd where it bends, however
    sharply, and move with it: the integrals change smoothly with a and g.

    Parameters
    ----------
    odds, pull
        Log odds a against the likelihood at zero, and r, shape (n, n_lines).
    slope, power, bend
        Numbers g > 0, p and b of each row, shape (n,).
    steps
        Evenly spaced numbers from -1 to 1 for the nodes.
    """
    n, n_lines = odds.shape
    size = steps.size
    logs, first, second = np.empty((3, n, n_lines))
    for i in prange(n):
        width = min(max(1.0 / slope[i], SHARPEST), SMOOTHEST)
        end = math.asinh(REACH / width)
        place, share = np.empty(size), np.empty(size)
        for k in range(size):
            place[k] = width * math.sinh(end * steps[k])
            share[k] = math.log(math.cosh(end * steps[k]))
        unit = math.log(width * end * (steps[1] - steps[0]))
        height, tail = np.empty(size), np.empty(size)
        for j in range(n_lines):
            center = min(max(odds[i, j] / slope[i], -FARTHEST_CENTER), FARTHEST_CENTER)
            top = -np.inf
            for k in range(size):
                t = center + place[k]
                score = slope[i] * t - odds[i, j]
                tail[k] = -abs(score)
                height[k] = (
                    share[k] + power[i] * min(score, 0.0) + (pull[i, j] - 0.5 * bend[i] * t) * t
                )
                top = max(top, height[k])
            for k in range(size):
                tail[k] = fast_exp(tail[k])
            if power[i] == 1.0:
                for k in range(size):
                    height[k] = fast_exp(height[k] - top)
                for k in range(size):
                    height[k] /= 1.0 + tail[k]
            else:
                for k in range(size):
                    height[k] = math.exp(height[k] - top - power[i] * math.log1p(tail[k]))
            zero, one, two = 0.0, 0.0, 0.0
            for k in range(size):
                t = center + place[k]
                zero += height[k]
                one += height[k] * t
                two += height[k] * t * t
            logs[i, j] = top + math.log(zero) + unit
            first[i, j], second[i, j] = one / zero, two / zero
    return logs, first, second
