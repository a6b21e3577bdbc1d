"""Loops of k-medoids: swaps of a medoid for another row, each judged by one look at a row."""

import math

import numpy as np
from numpy.typing import NDArray

from credo.numerics._loops_compilation import compiled
from credo.numerics.array import Array

__all__ = ["nearest_two", "removal_losses", "swap_through"]

Index = NDArray[np.intp]


@compiled()
def nearest_two(away: Array, own: Index, second: Index, near: Array, next_near: Array) -> None:
    """Set the nearest and second nearest medoid of each row from distances ``away`` (k, n)."""
    for i in range(away.shape[1]):
        own[i], second[i], near[i], next_near[i] = 0, 0, math.inf, math.inf
        for k in range(away.shape[0]):
            value = away[k, i]
            if value < near[i]:
                next_near[i], second[i] = near[i], own[i]
                near[i], own[i] = value, k
            elif value < next_near[i]:
                next_near[i], second[i] = value, k


@compiled()
def removal_losses(
    own: Index, near: Array, next_near: Array, weight: Array, loss: Array
) -> None:
    """Set what the objective gains by each medoid that is taken away."""
    for k in range(loss.shape[0]):
        loss[k] = 0.0
    for i in range(own.shape[0]):
        if next_near[i] < math.inf:
            loss[own[i]] += weight[i] * (next_near[i] - near[i])


@compiled()
def swap_through(
    block: Array,
    is_square: bool,
    first: int,
    weight: Array,
    medoid: Index,
    away: Array,
    own: Index,
    second: Index,
    near: Array,
    next_near: Array,
    loss: Array,
    idle: int,
    least: float,
    gains: Array,
) -> tuple[int, int]:
    """Try each row of a block in a medoid's place and swap at once where that is a gain.

    Parameters
    ----------
    block
        Distances of all rows from those of the block, shape (m, n).
    is_square
        Whether the block has their squares: most roots are never needed.
    first
        Number of the first row of the block.
    away
        Distances of all rows from the medoids, shape (k, n).
    idle
        How many rows were tried in vain since the last swap; it ends when all were.
    least
        Gain below which a swap is taken for rounding.
    gains
        Where what each swap gains is written.

    Returns
    -------
    Rows tried in vain, and the number of swaps.
    """
    n, k = block.shape[1], medoid.shape[0]
    change, n_swaps = np.empty(k), 0
    for place in range(block.shape[0]):
        if idle >= n:
            break
        idle += 1
        candidate, row = first + place, block[place]
        gain = 0.0
        for slot in range(k):
            change[slot] = loss[slot]
        for i in range(n):
            value, limit = row[i], next_near[i]
            if is_square:
                limit *= limit
            if value < limit:
                if is_square:
                    value = math.sqrt(max(value, 0.0))
                if value < near[i]:
                    gain += weight[i] * (value - near[i])
                    if k > 1:
                        change[own[i]] += weight[i] * (near[i] - next_near[i])
                elif k > 1:
                    change[own[i]] += weight[i] * (value - next_near[i])
        if k == 1:
            # With nothing to fall back on, every row goes to the candidate.
            change[0] = 0.0
            gain = 0.0
            for i in range(n):
                value = math.sqrt(max(row[i], 0.0)) if is_square else row[i]
                gain += weight[i] * (value - near[i])
        best = 0
        for slot in range(1, k):
            if change[slot] < change[best]:
                best = slot
        total = change[best] + gain
        if total > -least:
            continue
        medoid[best] = candidate
        gains[n_swaps] = -total
        n_swaps += 1
        idle = 0
        for i in range(n):
            new = math.sqrt(max(row[i], 0.0)) if is_square else row[i]
            away[best, i] = new
            if own[i] == best or second[i] == best:
                near[i], next_near[i], own[i], second[i] = math.inf, math.inf, 0, 0
                for slot in range(k):
                    value = away[slot, i]
                    if value < near[i]:
                        next_near[i], second[i] = near[i], own[i]
                        near[i], own[i] = value, slot
                    elif value < next_near[i]:
                        next_near[i], second[i] = value, slot
            elif new < near[i]:
                next_near[i], second[i] = near[i], own[i]
                near[i], own[i] = new, best
            elif new < next_near[i]:
                next_near[i], second[i] = new, best
        for slot in range(k):
            loss[slot] = 0.0
        if k > 1:
            for i in range(n):
                loss[own[i]] += weight[i] * (next_near[i] - near[i])
    return idle, n_swaps
