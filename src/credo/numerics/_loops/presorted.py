"""Loops over rows in the order of each feature.

Orders are int32 (n_features, n_samples), ends bool and block numbers uint8 of that shape,
columns C-contiguous float64. Every loop releases the interpreter, so that parts run on several
cores.
"""

import numpy as np
from numpy.typing import NDArray

from credo.numerics._loops.compiled import compiled
from credo.numerics.array import Array

__all__ = ["block_rows", "kept_orders", "ranks_mixed"]

Orders = NDArray[np.int32]
Flags = NDArray[np.bool_]


@compiled()
def kept_orders(
    columns: Array,
    orders: Orders,
    number: NDArray[np.int32],
    kept: Orders,
    is_end: Flags,
    start: int,
    stop: int,
) -> None:
    """Set the orders and ends of the rows whose new number is not negative."""
    for j in range(start, stop):
        place, last = 0, 0.0
        for i in range(orders.shape[1]):
            row = orders[j, i]
            if number[row] >= 0:
                kept[j, place] = number[row]
                if place > 0:
                    is_end[j, place - 1] = columns[j, row] > last
                last = columns[j, row]
                place += 1
        is_end[j, place - 1] = False


@compiled()
def block_rows(
    orders: Orders,
    is_end: Flags,
    least: int,
    number: NDArray[np.uint8],
    edges: Orders,
    is_open: Flags,
    start: int,
    stop: int,
) -> None:
    """Cut orders into blocks of at least ``least`` rows, each closed at an end.

    Block b of a feature holds places ``edges[b]`` to ``edges[b + 1] - 1``; blocks not needed
    are empty. It is open if there is an end inside it.
    """
    n = orders.shape[1]
    for j in range(start, stop):
        block, first = 0, 0
        for b in range(edges.shape[1]):
            edges[j, b] = n if b > 0 else 0
        for b in range(is_open.shape[1]):
            is_open[j, b] = False
        for i in range(n):
            number[j, orders[j, i]] = block
            if is_end[j, i]:
                if i + 1 - first >= least:
                    block, first = block + 1, i + 1
                    edges[j, block] = first
                else:
                    is_open[j, block] = True


@compiled()
def ranks_mixed(
    orders: Orders, is_end: Flags, multiplier: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """Return one number per row: the ranks of its features, each times a multiplier, summed."""
    keys = np.zeros(orders.shape[1], dtype=np.uint64)
    for j in range(orders.shape[0]):
        amount = np.uint64(0)
        for i in range(orders.shape[1]):
            keys[orders[j, i]] += amount
            if is_end[j, i]:
                amount += multiplier[j]
    return keys
