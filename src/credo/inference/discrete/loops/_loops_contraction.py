"""Fused loops that run a compiled list of table operations, eight rows or one row at a time.

A program is a matrix of integers, one operation per row. Tables that depend on the row live in
an arena whose last axis is the row inside its tile; tables that do not live in ``fixed``.
Results are kept near one, the logs of what they were divided by adding up per row. A positive
entry below ``FLOOR`` of its table's maximum marks the row: its products might underflow.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.numerics._loops_compilation import compiled, compiled_part
from credo.numerics.array import Array

__all__ = ["run_tiles"]

Integers = NDArray[np.int64]
Offsets = NDArray[np.int32]

FLOOR = 1e-120
NEAR = 1e-20
"""Maxima between this and its inverse need no rescaling: two entries that are above ``FLOOR``
of such maxima multiply to a normal number."""

CLOSE = 1e-60
"""Where every positive entry is above this, a table needs no closer look."""

KIND, Z, X, Y, X_MOVES, Y_MOVES = 0, 1, 2, 3, 4, 5
N_OUTER, N_INNER, N_SUM, OUTER, INNER, SUM = 6, 7, 8, 9, 10, 11
TAKES_MAX, COUNTS, N_FIRST, FIRST = 12, 13, 14, 15

GATHER, LIKELIHOOD, CONTRACT, OUTPUT = 0, 1, 2, 3
LANES = 8
TOP, SCALE = 0, 1


@compiled()
def run_tiles(
    program: Integers, index: Offsets, fixed: Array, rows: Any, arena: Array, span: Integers
) -> None:
    """Run the program on rows ``span[0]`` to ``span[1]``, eight at a time."""
    row_of = np.empty(LANES, np.int64)
    work = np.empty((2, LANES))
    start = span[0]
    while start < span[1]:
        for lane in range(LANES):
            row_of[lane] = min(start + lane, span[1] - 1)
            work[SCALE, lane] = 1.0
        for k in range(program.shape[0]):
            op = program[k]
            if op[KIND] == OUTPUT:
                _write(op, fixed, arena, row_of, rows)
                continue
            if op[KIND] == GATHER:
                _gather(op, index, fixed, rows.codes, arena, row_of)
            elif op[KIND] == LIKELIHOOD:
                _read_likelihood(op, index, rows.likelihood, arena, row_of)
            elif op[TAKES_MAX] == 1:
                _maximize(op, index, fixed, arena)
            elif op[Y_MOVES] == 1:
                _contract_moving(op, index, arena)
            else:
                _contract_fixed(op, index, fixed, arena)
            if not _is_close(op, arena):
                _settle(op, arena, row_of, rows, work)
        for lane in range(min(LANES, span[1] - start)):
            rows.log_total[row_of[lane]] += np.log(work[SCALE, lane])
        start += LANES


@compiled_part()
def _gather(
    op: Integers, index: Offsets, fixed: Array, codes: Offsets, arena: Array, row_of: Integers
) -> None:
    size = op[N_OUTER]
    base = np.empty(LANES, np.int64)
    for lane in range(LANES):
        at = op[X]
        for j in range(op[N_FIRST]):
            at += codes[index[op[FIRST] + 2 * j], row_of[lane]] * index[op[FIRST] + 2 * j + 1]
        base[lane] = at
    for i in range(size):
        shift = index[op[OUTER] + i]
        z = op[Z] * LANES + i * LANES
        for lane in range(LANES):
            arena[z + lane] = fixed[base[lane] + shift]


@compiled_part()
def _read_likelihood(
    op: Integers, index: Offsets, likelihood: Array, arena: Array, row_of: Integers
) -> None:
    for i in range(op[N_OUTER]):
        z, at = (op[Z] + i) * LANES, op[X] + index[op[OUTER] + i]
        for lane in range(LANES):
            arena[z + lane] = likelihood[at, row_of[lane]]


@compiled_part(fastmath={"contract"})
def _contract_moving(op: Integers, index: Offsets, arena: Array) -> None:
    """Sum products of two tables that both depend on the row."""
    n_inner, n_sum = op[N_INNER], op[N_SUM]
    z = op[Z] * LANES
    for o in range(op[N_OUTER]):
        xo = op[X] + index[op[OUTER] + 2 * o]
        yo = op[Y] + index[op[OUTER] + 2 * o + 1]
        for i in range(n_inner):
            xi = xo + index[op[INNER] + 2 * i]
            yi = yo + index[op[INNER] + 2 * i + 1]
            a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = 0.0
            for s in range(n_sum):
                x = (xi + index[op[SUM] + 2 * s]) * LANES
                y = (yi + index[op[SUM] + 2 * s + 1]) * LANES
                a0 += arena[x] * arena[y]
                a1 += arena[x + 1] * arena[y + 1]
                a2 += arena[x + 2] * arena[y + 2]
                a3 += arena[x + 3] * arena[y + 3]
                a4 += arena[x + 4] * arena[y + 4]
                a5 += arena[x + 5] * arena[y + 5]
                a6 += arena[x + 6] * arena[y + 6]
                a7 += arena[x + 7] * arena[y + 7]
            arena[z] = a0
            arena[z + 1] = a1
            arena[z + 2] = a2
            arena[z + 3] = a3
            arena[z + 4] = a4
            arena[z + 5] = a5
            arena[z + 6] = a6
            arena[z + 7] = a7
            z += LANES


@compiled_part(fastmath={"contract"})
def _contract_fixed(op: Integers, index: Offsets, fixed: Array, arena: Array) -> None:
    """Sum products of a table that depends on the row and one that does not."""
    n_inner, n_sum = op[N_INNER], op[N_SUM]
    z = op[Z] * LANES
    for o in range(op[N_OUTER]):
        xo = op[X] + index[op[OUTER] + 2 * o]
        yo = op[Y] + index[op[OUTER] + 2 * o + 1]
        for i in range(n_inner):
            xi = xo + index[op[INNER] + 2 * i]
            yi = yo + index[op[INNER] + 2 * i + 1]
            a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = 0.0
            for s in range(n_sum):
                x = (xi + index[op[SUM] + 2 * s]) * LANES
                y = fixed[yi + index[op[SUM] + 2 * s + 1]]
                a0 += arena[x] * y
                a1 += arena[x + 1] * y
                a2 += arena[x + 2] * y
                a3 += arena[x + 3] * y
                a4 += arena[x + 4] * y
                a5 += arena[x + 5] * y
                a6 += arena[x + 6] * y
                a7 += arena[x + 7] * y
            arena[z] = a0
            arena[z + 1] = a1
            arena[z + 2] = a2
            arena[z + 3] = a3
            arena[z + 4] = a4
            arena[z + 5] = a5
            arena[z + 6] = a6
            arena[z + 7] = a7
            z += LANES


@compiled_part()
def _maximize(op: Integers, index: Offsets, fixed: Array, arena: Array) -> None:
    """Take the largest product instead of the sum."""
    n_inner, n_sum = op[N_INNER], op[N_SUM]
    z = op[Z] * LANES
    for o in range(op[N_OUTER]):
        xo = op[X] + index[op[OUTER] + 2 * o]
        yo = op[Y] + index[op[OUTER] + 2 * o + 1]
        for i in range(n_inner):
            xi = xo + index[op[INNER] + 2 * i]
            yi = yo + index[op[INNER] + 2 * i + 1]
            for lane in range(LANES):
                best = 0.0
                for s in range(n_sum):
                    x = (xi + index[op[SUM] + 2 * s]) * LANES + lane
                    at = yi + index[op[SUM] + 2 * s + 1]
                    y = arena[at * LANES + lane] if op[Y_MOVES] == 1 else fixed[at]
                    best = max(best, arena[x] * y)
                arena[z + lane] = best
            z += LANES


@compiled_part()
def _settle(op: Integers, arena: Array, row_of: Integers, rows: Any, work: Array) -> None:
    """Mark rows whose table spans too much, and rescale a table that is far from one."""
    size = op[N_OUTER] * op[N_INNER]
    start = op[Z] * LANES
    # A table of one cell is the end of a sum: all of it is scale.
    is_far = size == 1
    for lane in range(LANES):
        top, low = 0.0, np.inf
        for z in range(start + lane, start + size * LANES, LANES):
            top = max(top, arena[z])
            low = min(low, arena[z] if arena[z] > 0.0 else np.inf)
        work[TOP, lane] = top
        is_far = is_far or not NEAR < top < 1.0 / NEAR
        # Below the square of the floor, other entries may have been lost already.
        if low < FLOOR * top or 0.0 < top < FLOOR * FLOOR:
            rows.is_wide[row_of[lane]] = True
    if is_far:
        _rescale(op, arena, row_of, rows, work)


@compiled_part(fastmath={"nnan", "nsz"})
def _is_close(op: Integers, arena: Array) -> bool:
    """Return whether a table of several cells is so near one that it may stay as it is."""
    size, low, top = op[N_OUTER] * op[N_INNER], np.inf, 0.0
    start = op[Z] * LANES
    for z in range(start, start + size * LANES):
        value = arena[z]
        top = max(top, value)
        low = min(low, value if value > 0.0 else np.inf)
    return size > 1 and low > CLOSE and top < 1.0 / NEAR


@compiled_part()
def _rescale(op: Integers, arena: Array, row_of: Integers, rows: Any, work: Array) -> None:
    """Divide a table by its maxima, and keep them as part of the scale of each row."""
    top, scale = work[TOP], work[SCALE]
    for lane in range(LANES):
        if op[COUNTS] == 1:
            # Products of scales are cheaper than sums of their logs, as long as they last.
            scale[lane] *= top[lane]
            if not FLOOR < scale[lane] < 1.0 / FLOOR:
                if lane == 0 or row_of[lane] > row_of[lane - 1]:
                    rows.log_total[row_of[lane]] += np.log(scale[lane])
                scale[lane] = 1.0
        top[lane] = 1.0 / top[lane] if top[lane] > 0.0 else 0.0
    z = op[Z] * LANES
    for _ in range(op[N_OUTER] * op[N_INNER]):
        for lane in range(LANES):
            arena[z + lane] *= top[lane]
        z += LANES


@compiled_part()
def _write(op: Integers, fixed: Array, arena: Array, row_of: Integers, rows: Any) -> None:
    """Normalize a table into the answers."""
    for lane in range(LANES):
        total = 0.0
        for i in range(op[N_OUTER]):
            at = op[X] + i
            value = arena[at * LANES + lane] if op[X_MOVES] == 1 else fixed[at]
            rows.columns[row_of[lane], op[Z] + i] = value
            total += value
        scale = 1.0 / total if total > 0.0 else np.nan
        for i in range(op[N_OUTER]):
            rows.columns[row_of[lane], op[Z] + i] *= scale
        if op[COUNTS] == 1 and (lane == 0 or row_of[lane] > row_of[lane - 1]):
            rows.log_total[row_of[lane]] += np.log(total) if total > 0.0 else -np.inf
