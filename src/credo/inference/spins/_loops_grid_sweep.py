"""Loops that update the spins of a grid, one color of its checkerboard after the other.

Spins of one color are packed: color c of row i holds the columns j with (i + j) % 2 == c, so
that all four neighbors of a run of spins are runs of the other color. Arrays:

``spin``: int8, (2, n_rows + 1, width + 2); the last row and the first and last entry of each
row are the edge, zero if it is free. ``odds``: float64, (2, n_rows, width), exp(-2 field).
``factor``: float64, (9,), exp(-2 coupling s) for a sum s of neighbors from -4 to 4.
``total``: float64 like ``odds``, running sums of conditional means.

Half step t updates color t % 2. Its random numbers are entries of one SplitMix64 sequence
[steele2014]_, chosen by t, row and column alone: no order of rows and no number of threads
changes a result.
"""

import numpy as np
from numpy.typing import NDArray

from credo.numerics._loops_compilation import compiled
from credo.numerics.array import Array
from credo.numerics.special._loops_split_mix import GAMMA, mixed

__all__ = ["fill_uniform", "half_steps"]

Spins = NDArray[np.int8]

_UNIT = 2.0**-32


@compiled()
def fill_uniform(seed: int, first: int, uniform: Array) -> None:
    """Fill with numbers between 0 and 1, two from each word of the sequence from ``first``.

    The number of numbers must be even.
    """
    half = uniform.shape[0] // 2
    start = np.uint64(seed) + np.uint64(first) * GAMMA
    for k in range(half):
        z = mixed(start + np.uint64(k + 1) * GAMMA)
        uniform[k] = np.int32(z) * _UNIT + (0.5 + 0.5 * _UNIT)
        uniform[half + k] = np.int32(z >> np.uint64(32)) * _UNIT + (0.5 + 0.5 * _UNIT)


@compiled()
def half_steps(
    spin: Spins,
    odds: Array,
    factor: Array,
    total: Array,
    shape: tuple[int, int, bool, bool],
    seed: int,
    first_step: int,
    rows: tuple[int, int, int, int],
) -> None:
    """Take half steps on rows that shrink or grow by one on each side from one to the next.

    ``shape`` is rows, columns, whether edges join, and whether to add to ``total``.
    ``rows`` is start, stop, growth per step and the number of steps; they count past the last
    row to the first. x = 1 if u (1 + exp(-2 (coupling s + field))) < 1, u uniform.
    """
    n_rows, n_columns, is_periodic, is_summed = shape
    width = odds.shape[2]
    n_words = (width + 1) // 2
    uniform, odd, around = np.empty(2 * n_words), np.empty(width), np.empty(width, np.int8)
    start, stop, growth, n_steps = rows
    for step in range(first_step, first_step + n_steps):
        color = step % 2
        for place in range(start, stop):
            i = place % n_rows
            offset = (color + i) % 2
            n = (n_columns - offset + 1) // 2
            up = i - 1 if i > 0 else (n_rows - 1 if is_periodic else n_rows)
            down = i + 1 if i < n_rows - 1 else (0 if is_periodic else n_rows)
            fill_uniform(seed, (step * n_rows + i) * n_words, uniform)
            above, below = spin[1 - color, up, 1:], spin[1 - color, down, 1:]
            left, right = spin[1 - color, i, offset:], spin[1 - color, i, offset + 1 :]
            own, ratio = spin[color, i, 1:], odds[color, i]
            # Short loops without branches run on several spins at once; one long loop does not.
            for k in range(n):
                around[k] = np.int8(above[k] + below[k] + left[k] + right[k])
            for k in range(n):
                odd[k] = ratio[k] * factor[around[k] + 4]
            for k in range(n):
                own[k] = np.int8(2 * np.int8(uniform[k] + uniform[k] * odd[k] < 1.0) - 1)
            if is_summed:
                sums = total[color, i]
                for k in range(n):
                    sums[k] += (1.0 - odd[k]) / (1.0 + odd[k])
            if is_periodic:
                spin[color, i, 0] = own[n - 1]
                spin[color, i, n + 1] = own[0]
        start -= growth
        stop += growth
