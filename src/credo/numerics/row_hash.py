"""Numbers that look random and are the same for equal rows, wherever in a table these are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from credo.numerics.array import Array

__all__ = ["Hashes", "hashed_sample", "hashed_uniform", "repeat_count", "row_hash"]

Hashes = NDArray[np.uint64]
Indices = NDArray[np.intp]

STEPS_PER_UNIT = 1 << 20
"""Values that differ by less of a unit than one step may have the same hash."""

OFFSET = 0.381966
"""Where steps begin: apart from round values, so that rounding seldom moves these over one."""

LARGEST = 2.0**40
GAP = 2**62
GAMMA = np.uint64(0x9E3779B97F4A7C15)
FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)


def row_hash(values: Array) -> Hashes:
    """Return a hash of each row (n, d) of values of about unit size, NaN where missing.

    Examples
    --------
    >>> rows = np.array([[0.1, np.nan], [0.2, 1.0], [0.1 + 1e-12, np.nan]])
    >>> first, second, third = row_hash(rows)
    >>> bool(first == third), bool(first == second)
    (True, False)
    """
    steps = np.clip(np.floor(values * STEPS_PER_UNIT + OFFSET), -LARGEST, LARGEST)
    whole = np.where(np.isnan(steps), GAP, np.nan_to_num(steps)).astype(np.int64)
    found = np.full(len(values), GAMMA)
    for column in whole.view(np.uint64).T:
        found = _mixed((found ^ column) + GAMMA)
    return found


def hashed_uniform(hashes: Hashes, n_numbers: int) -> Array:
    """Return numbers between zero and one for each hash, shape (n, n_numbers)."""
    turn = np.arange(1, n_numbers + 1, dtype=np.uint64) * GAMMA
    return np.asarray((_mixed(hashes[:, None] + turn) >> np.uint64(11)) * 2.0**-53, np.float64)


def repeat_count(hashes: Hashes) -> Indices:
    """Return how many equal hashes stand before each, shape (n,).

    Examples
    --------
    >>> repeat_count(np.array([7, 5, 7, 7], dtype=np.uint64))
    array([0, 0, 1, 2])
    """
    order = np.argsort(hashes, kind="stable")
    place = np.arange(len(hashes))
    is_new = np.append(True, hashes[order[1:]] != hashes[order[:-1]])[: len(hashes)]
    count = np.empty(len(hashes), dtype=np.intp)
    count[order] = place - np.maximum.accumulate(np.where(is_new, place, 0))
    return count


def hashed_sample(values: Array, n_most: int) -> Indices:
    """Return the places of at most so many rows, which stand for all in whatever order.

    Equal rows have their share, since one in so many is taken of the rows by their hashes.

    Parameters
    ----------
    values
        Rows (n, d) of values of about unit size, NaN where missing.
    n_most
        How many rows are enough.
    """
    step = -(-len(values) // n_most)
    if step <= 1:
        return np.arange(len(values))
    return np.argsort(row_hash(values), kind="stable")[step // 2 :: step]


def _mixed(state: Hashes) -> Hashes:
    """Return the finalizer of SplitMix64: each bit in depends on each bit out."""
    state = (state ^ (state >> SHIFTS[0])) * FACTORS[0]
    state = (state ^ (state >> SHIFTS[1])) * FACTORS[1]
    return state ^ (state >> SHIFTS[2])
