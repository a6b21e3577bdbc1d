"""The same programs as `contraction`, one row at a time, in the plain or in the log domain.

In the log domain products are sums and sums are log-sum-exps: slower, and free of underflow
whatever the range of a table. ``trace`` walks a program backwards and picks or draws a state
for every variable that was summed or maximized out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.inference.discrete.loops._loops_contraction import (
    CONTRACT,
    COUNTS,
    FIRST,
    FLOOR,
    GATHER,
    INNER,
    KIND,
    LIKELIHOOD,
    N_FIRST,
    N_INNER,
    N_OUTER,
    N_SUM,
    OUTER,
    SUM,
    TAKES_MAX,
    X_MOVES,
    Y_MOVES,
    X,
    Y,
    Z,
)
from credo.numerics._loops_compilation import compiled, compiled_part
from credo.numerics.array import Array

__all__ = ["run_rows", "trace", "trace_rows"]

Integers = NDArray[np.int64]
Offsets = NDArray[np.int32]


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
            _contract(op, index, x, y, arena, is_log)
        elif op[KIND] == GATHER:
            _gather(op, index, fixed, rows.codes, arena, row)
        elif op[KIND] == LIKELIHOOD:
            for i in range(op[N_OUTER]):
                at = op[X] + index[op[OUTER] + i]
                arena[op[Z] + i] = rows.likelihood[at, row]
        else:
            _write(op, fixed, arena, rows, row, is_log)
            continue
        _rescale(op, arena, rows, row, is_log)


@compiled_part()
def _gather(
    op: Integers, index: Offsets, fixed: Array, codes: Offsets, arena: Array, row: int
) -> None:
    at = op[X]
    for j in range(op[N_FIRST]):
        at += codes[index[op[FIRST] + 2 * j], row] * index[op[FIRST] + 2 * j + 1]
    for i in range(op[N_OUTER]):
        arena[op[Z] + i] = fixed[at + index[op[OUTER] + i]]


@compiled_part()
def _contract(
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
def _rescale(op: Integers, arena: Array, rows: Any, row: int, is_log: bool) -> None:
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
def _write(op: Integers, fixed: Array, arena: Array, rows: Any, row: int, is_log: bool) -> None:
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
