"""Fused loops that run a compiled list of table operations, eight rows or one row at a time.

A program is a matrix of integers, one operation per row. Tables that depend on the row live in
an arena whose last axis is the row inside its tile; tables that do not live in ``fixed``.
Results are kept near one, the logs of what they were divided by adding up per row. A positive
entry below ``FLOOR`` of its table's maximum marks the row: its products might underflow.

One row at a time a program runs in the plain or in the log domain. In the log domain products
are sums and sums are log-sum-exps: slower, and free of underflow whatever the range of a table.
``trace`` walks a program backwards and picks or draws a state for every variable that was
summed or maximized out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.numerics._loops_compilation import compiled, compiled_part
from credo.numerics.array import Array

__all__ = ["run_rows", "run_tiles", "trace", "trace_rows"]

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


@compiled()
def run_rows(
    program: Integers,
    index: Offsets,
    fixed: Array,
    rows: Any,
    arena: Array,
    start: int,
    stop: int,
    is_log: bool,
) -> None:
    """Run the program on rows ``start`` to ``stop - 1``, one after the other.

    In the log domain ``fixed`` and ``likelihood`` are logs.
    """
    for row in range(start, stop):
        _run_row(program, index, fixed, rows, arena, row, is_log)


@compiled_part()
def _run_row(
    program: Integers,
    index: Offsets,
    fixed: Array,
    rows: Any,
    arena: Array,
    row: int,
    is_log: bool,
) -> None:
    for k in range(program.shape[0]):
        op = program[k]
        if op[KIND] == CONTRACT:
            x = arena if op[X_MOVES] == 1 else fixed
            y = arena if op[Y_MOVES] == 1 else fixed
            _contract_row(op, index, x, y, arena, is_log)
        elif op[KIND] == GATHER:
            _gather_row(op, index, fixed, rows.codes, arena, row)
        elif op[KIND] == LIKELIHOOD:
            for i in range(op[N_OUTER]):
                at = op[X] + index[op[OUTER] + i]
                arena[op[Z] + i] = rows.likelihood[at, row]
        else:
            _write_row(op, fixed, arena, rows, row, is_log)
            continue
        _rescale_row(op, arena, rows, row, is_log)


@compiled_part()
def _gather_row(
    op: Integers, index: Offsets, fixed: Array, codes: Offsets, arena: Array, row: int
) -> None:
    at = op[X]
    for j in range(op[N_FIRST]):
        at += codes[index[op[FIRST] + 2 * j], row] * index[op[FIRST] + 2 * j + 1]
    for i in range(op[N_OUTER]):
        arena[op[Z] + i] = fixed[at + index[op[OUTER] + i]]


@compiled_part()
def _contract_row(
    op: Integers, index: Offsets, x: Array, y: Array, arena: Array, is_log: bool
) -> None:
    n_sum, sums, takes_max = op[N_SUM], op[SUM], op[TAKES_MAX] == 1
    z = op[Z]
    for o in range(op[N_OUTER]):
        xo = op[X] + index[op[OUTER] + 2 * o]
        yo = op[Y] + index[op[OUTER] + 2 * o + 1]
        for i in range(op[N_INNER]):
            xi = xo + index[op[INNER] + 2 * i]
            yi = yo + index[op[INNER] + 2 * i + 1]
            total, top = 0.0, -np.inf
            if takes_max or is_log:
                for s in range(sums, sums + 2 * n_sum, 2):
                    left, right = x[xi + index[s]], y[yi + index[s + 1]]
                    top = max(top, left + right if is_log else left * right)
            if takes_max:
                total = top
            elif not is_log:
                for s in range(sums, sums + 2 * n_sum, 2):
                    total += x[xi + index[s]] * y[yi + index[s + 1]]
            elif top > -np.inf:
                for s in range(sums, sums + 2 * n_sum, 2):
                    total += np.exp(x[xi + index[s]] + y[yi + index[s + 1]] - top)
                total = top + np.log(total)
            else:
                total = -np.inf
            arena[z] = total
            z += 1


@compiled_part()
def _rescale_row(op: Integers, arena: Array, rows: Any, row: int, is_log: bool) -> None:
    start, stop = op[Z], op[Z] + op[N_OUTER] * op[N_INNER]
    top = arena[start]
    for z in range(start + 1, stop):
        top = max(top, arena[z])
    if is_log:
        if top > -np.inf:
            for z in range(start, stop):
                arena[z] -= top
        if op[COUNTS] == 1:
            rows.log_total[row] += top
        return
    inverse, low = 1.0 / top if top > 0.0 else 0.0, 1.0
    for z in range(start, stop):
        value = arena[z] * inverse
        arena[z] = value
        low = min(low, value if value > 0.0 else 1.0)
    # The inverse of a smaller maximum would overflow.
    if low < FLOOR or 0.0 < top < FLOOR * FLOOR:
        rows.is_wide[row] = True
    if op[COUNTS] == 1:
        rows.log_total[row] += np.log(top) if top > 0.0 else -np.inf


@compiled_part()
def _write_row(
    op: Integers, fixed: Array, arena: Array, rows: Any, row: int, is_log: bool
) -> None:
    total = 0.0
    x = arena if op[X_MOVES] == 1 else fixed
    for i in range(op[N_OUTER]):
        value = x[op[X] + i]
        rows.columns[row, op[Z] + i] = np.exp(value) if is_log else value
        total += rows.columns[row, op[Z] + i]
    scale = 1.0 / total if total > 0.0 else np.nan
    for i in range(op[N_OUTER]):
        rows.columns[row, op[Z] + i] *= scale
    if op[COUNTS] == 1:
        rows.log_total[row] += np.log(total) if total > 0.0 else -np.inf


STEP_X, STEP_Y, STEP_X_MOVES, STEP_Y_MOVES = 0, 1, 2, 3
N_KEPT, KEPT, STEP_N_SUM, STEP_SUM, N_GONE, GONE = 4, 5, 6, 7, 8, 9


@compiled()
def trace(
    steps: Integers,
    index: Offsets,
    fixed: Array,
    arena: Array,
    states: NDArray[np.intp],
    uniform: Array,
    is_log: bool,
    picks_best: bool,
) -> None:
    """Fill ``states``, one row per draw, from the tables that a run left in the arena.

    A step holds its two tables, the strides of the variables that are already known, the
    offsets of the joint states of those that are not, and how to read each off that number.
    """
    for draw in range(states.shape[0]):
        for k in range(steps.shape[0]):
            step = steps[k]
            x = arena if step[STEP_X_MOVES] == 1 else fixed
            y = arena if step[STEP_Y_MOVES] == 1 else fixed
            xi, yi = step[STEP_X], step[STEP_Y]
            for j in range(step[N_KEPT]):
                at = step[KEPT] + 3 * j
                state = states[draw, index[at]]
                xi += state * index[at + 1]
                yi += state * index[at + 2]
            if picks_best:
                chosen = _best(step, index, x, y, xi, yi, is_log)
            else:
                chosen = _drawn(step, index, x, y, xi, yi, is_log, uniform[draw, k])
            for j in range(step[N_GONE]):
                at = step[GONE] + 3 * j
                states[draw, index[at]] = (chosen // index[at + 1]) % index[at + 2]


@compiled()
def trace_rows(
    program: Integers,
    walk: Integers,
    offsets: Any,
    fixed: Array,
    rows: Any,
    arena: Array,
    states: NDArray[np.intp],
    uniform: Array,
    picks_best: bool,
) -> None:
    """Run the program on each row in the plain domain and fill its ``states``.

    Rows marked as wide before or during the run are left to the log domain. The two offsets
    are those of the program and of the walk.
    """
    for row in range(states.shape[0]):
        if rows.is_wide[row]:
            continue
        _run_row(program, offsets[0], fixed, rows, arena, row, False)
        if rows.is_wide[row] or rows.log_total[row] == -np.inf:
            continue
        chance = uniform[row] if uniform.shape[0] > 1 else uniform[0]
        trace(walk, offsets[1], fixed, arena, states[row], chance, False, picks_best)


@compiled_part()
def _term(
    step: Integers, index: Offsets, x: Array, y: Array, xi: int, yi: int, s: int, is_log: bool
) -> float:
    left = x[xi + index[step[STEP_SUM] + 2 * s]]
    right = y[yi + index[step[STEP_SUM] + 2 * s + 1]]
    return float(left + right if is_log else left * right)


@compiled_part()
def _best(
    step: Integers, index: Offsets, x: Array, y: Array, xi: int, yi: int, is_log: bool
) -> int:
    best, chosen = -np.inf, 0
    for s in range(step[STEP_N_SUM]):
        term = _term(step, index, x, y, xi, yi, s, is_log)
        if term > best:
            best, chosen = term, s
    return chosen


@compiled_part()
def _drawn(
    step: Integers,
    index: Offsets,
    x: Array,
    y: Array,
    xi: int,
    yi: int,
    is_log: bool,
    uniform: float,
) -> int:
    top, total = -np.inf, 0.0
    for s in range(step[STEP_N_SUM]):
        top = max(top, _term(step, index, x, y, xi, yi, s, is_log))
    for s in range(step[STEP_N_SUM]):
        term = _term(step, index, x, y, xi, yi, s, is_log)
        total += np.exp(term - top) if is_log else term
    left, chosen = uniform * total, 0
    for s in range(step[STEP_N_SUM]):
        term = _term(step, index, x, y, xi, yi, s, is_log)
        weight = np.exp(term - top) if is_log else term
        if weight > 0.0:
            chosen = s
            left -= weight
            if left < 0.0:
                break
    return chosen
