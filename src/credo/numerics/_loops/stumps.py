"""Loops over rows in the order of each feature, for decision stumps.

Orders are int32 (n_features, n_samples), ends bool of that shape, all other arrays C-contiguous
float64, codes intp. Every loop releases the interpreter, so that parts run on several cores.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from credo.numerics.array import Array

__all__ = [
    "class_splits",
    "first_beyond",
    "kept_orders",
    "ranks_mixed",
    "signed_ranges",
    "table_votes",
]

Orders = NDArray[np.int32]
Flags = NDArray[np.bool_]
Codes = NDArray[np.intp]


@njit(cache=True, nogil=True, error_model="numpy")
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


@njit(cache=True, nogil=True, error_model="numpy")
def signed_ranges(
    orders: Orders, is_end: Flags, signed: Array, low: Array, high: Array, start: int, stop: int
) -> None:
    """Set the least and greatest cumulative sum at an end, for features start to stop - 1.

    The empty sum, zero, counts. Four stretches of the order are summed side by side, because
    one running sum would wait for itself at every row.
    """
    n = orders.shape[1]
    q = n // 4
    for j in range(start, stop):
        order, end = orders[j], is_end[j]
        c0 = c1 = c2 = c3 = 0.0
        a0 = a1 = a2 = a3 = np.inf
        b0 = b1 = b2 = b3 = -np.inf
        for i in range(q):
            c0 += signed[order[i]]
            c1 += signed[order[i + q]]
            c2 += signed[order[i + 2 * q]]
            c3 += signed[order[i + 3 * q]]
            if end[i]:
                a0, b0 = min(a0, c0), max(b0, c0)
            if end[i + q]:
                a1, b1 = min(a1, c1), max(b1, c1)
            if end[i + 2 * q]:
                a2, b2 = min(a2, c2), max(b2, c2)
            if end[i + 3 * q]:
                a3, b3 = min(a3, c3), max(b3, c3)
        for i in range(4 * q, n):
            c3 += signed[order[i]]
            if end[i]:
                a3, b3 = min(a3, c3), max(b3, c3)
        c1 += c0
        c2 += c1
        low[j] = min(0.0, a0, a1 + c0, a2 + c1, a3 + c2)
        high[j] = max(0.0, b0, b1 + c0, b2 + c1, b3 + c2)


@njit(cache=True, nogil=True, error_model="numpy")
def first_beyond(
    order: NDArray[np.int32], is_end: NDArray[np.bool_], signed: Array, low: float, high: float
) -> tuple[int, float]:
    """Return the first end whose cumulative sum is at most low or at least high, and the sum.

    Position -1 is the empty sum.
    """
    total = 0.0
    if total <= low or total >= high:
        return -1, total
    for i in range(len(order)):
        total += signed[order[i]]
        if is_end[i] and (total <= low or total >= high):
            return i, total
    return -1, 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def class_splits(
    orders: Orders,
    is_end: Flags,
    weight: Array,
    codes: Codes,
    total: Array,
    slack: float,
    gain: Array,
    position: Codes,
    start: int,
    stop: int,
) -> None:
    """Set the greatest sum of both sides' heaviest class, and the first end that has it.

    ``total`` is the weight of each class; gains that differ by less than ``slack`` are equal.
    Position -1 is the split with nothing on the left.
    """
    n_classes = len(total)
    left = np.empty(n_classes)
    for j in range(start, stop):
        left[:] = 0.0
        best, place = total.max(), -1
        for i in range(orders.shape[1]):
            row = orders[j, i]
            left[codes[row]] += weight[row]
            if is_end[j, i]:
                heavy_left = heavy_right = -np.inf
                for k in range(n_classes):
                    heavy_left = max(heavy_left, left[k])
                    heavy_right = max(heavy_right, total[k] - left[k])
                if heavy_left + heavy_right > best + slack:
                    best, place = heavy_left + heavy_right, i
        gain[j], position[j] = best, place


@njit(cache=True, nogil=True, error_model="numpy")
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


@njit(cache=True, nogil=True, error_model="numpy")
def table_votes(
    x: Array,
    features: Codes,
    first: Codes,
    thresholds: Array,
    tables: Array,
    votes: Array,
    start: int,
    stop: int,
) -> None:
    """Add the votes of step functions of single features, for rows start to stop - 1.

    Step function f has thresholds ``first[f]`` to ``first[f + 1] - 1`` in rising order, and one
    row of ``tables`` more than thresholds, beginning at ``first[f] + f``.
    """
    for i in range(start, stop):
        for f in range(len(features)):
            value = x[i, features[f]]
            low, high = first[f], first[f + 1]
            while low < high:
                middle = (low + high) // 2
                if value > thresholds[middle]:
                    low = middle + 1
                else:
                    high = middle
            for k in range(votes.shape[1]):
                votes[i, k] += tables[low + f, k]
