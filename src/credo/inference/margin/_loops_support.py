"""Steps of sequential minimal optimization, passes of dual coordinate descent, Gaussian rows.

Multipliers and their limits are float64; rows of the kernel and what is summed from them are
float32 or float64, all of one type and padded to whole blocks. Padding is never chosen: it has
``up`` of -1e30 and ``down`` of 1e30.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from credo.numerics._loops_compilation import compiled, compiled_part
from credo.numerics.array import Array
from credo.numerics.special._loops_exponential import LANES, fast_exp

__all__ = [
    "BLOCK",
    "BOTH_SETTLED",
    "NEEDS_ROW",
    "NOT_CONVEX",
    "OUT_OF_STEPS",
    "climb",
    "exponential_rows",
    "exponential_sums",
    "visit_rows",
]

Real = Any
Reals = NDArray[Any]
Places = NDArray[np.intp]

# numba tells type checkers about little of itself.
_intrinsic: Callable[[Callable[..., Any]], Callable[..., Any]] = intrinsic

BLOCK = 64
"""Entries that are compared at once; only the best block is searched one by one."""

BOTH_SETTLED, NEEDS_ROW, OUT_OF_STEPS, NOT_CONVEX = 0, 1, 2, 3

NEVER = 1e30
"""Keeps an entry that can go no further from being chosen."""

ROUNDING = np.float32(12582912.0)
PER_LOG2 = np.float32(1.4426950408889634)
LOG2_HIGH = np.float32(0.693359375)
LOG2_LOW = np.float32(-2.12194440e-4)
SMALLEST = np.float32(-87.0)
ZERO, ONE = np.float32(0.0), np.float32(1.0)
SERIES = tuple(np.float32(1.0 / k) for k in (5040, 720, 120, 24, 6, 2))


def _chosen(order: str, a: Any) -> Any:
    """Return how to code the choice of one of two numbers, so that lanes choose at once."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        flags = ("nnan", "nsz")
        is_first = builder.fcmp_ordered(order, *arguments, flags=flags)
        return builder.select(is_first, *arguments, flags=flags)

    return a(a, a), generate


@_intrinsic
def _larger(typing_context: Any, a: Any, b: Any) -> Any:
    return _chosen(">", a)


@_intrinsic
def _smaller(typing_context: Any, a: Any, b: Any) -> Any:
    return _chosen("<", a)


@_intrinsic
def _bits_of(typing_context: Any, x: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.int32))

    return types.int32(types.float32), generate


@_intrinsic
def _raised(typing_context: Any, bits: Any, power: Any) -> Any:
    """Return the float32 of some bits times two to the low bits of ``power``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        shifted = builder.shl(arguments[1], context.get_constant(types.int32, 23))
        total = builder.add(arguments[0], shifted)
        return builder.bitcast(total, context.get_value_type(types.float32))

    return types.float32(types.int32, types.int32), generate


@compiled(fastmath=LANES)
def exponential_rows(exponent: NDArray[np.float32], factor: float) -> None:
    """Replace float32 exponents e, flat, by ``factor exp(min(e, 0))``, to about 2e-7.

    As in `fast_exp`, sums must keep their order here.
    """
    scale = np.float32(factor)
    for t in range(exponent.size):
        x = _larger(_smaller(exponent[t], ZERO), SMALLEST)
        rounded = x * PER_LOG2 + ROUNDING
        n = rounded - ROUNDING
        r = (x - n * LOG2_HIGH) - n * LOG2_LOW
        p = SERIES[0]
        p = p * r + SERIES[1]
        p = p * r + SERIES[2]
        p = p * r + SERIES[3]
        p = p * r + SERIES[4]
        p = p * r + SERIES[5]
        p = p * r + ONE
        p = p * r + ONE
        exponent[t] = scale * _raised(_bits_of(p), _bits_of(rounded))


@compiled(fastmath=LANES)
def exponential_sums(exponent: Array) -> None:
    """Replace exponents e, flat, by ``exp(min(e, 0))``."""
    for t in range(exponent.size):
        exponent[t] = fast_exp(_smaller(exponent[t], 0.0))


@compiled_part(fastmath=LANES)
def _most_gain(
    row: Reals,
    gradient: Reals,
    down: Reals,
    diagonal: Reals,
    best: Real,
    own: Real,
    least: Real,
) -> Real:
    """Return the largest ``(best - g)^2 / curvature`` in one block."""
    top = least - least
    for t in range(BLOCK):
        fall = _larger(best - (gradient[t] + down[t]), least - least)
        curvature = _larger(own + diagonal[t] - (row[t] + row[t]), least)
        top = _larger(top, fall * fall / curvature)
    return top


@compiled_part(fastmath=LANES)
def _partner(
    row: Reals,
    gradient: Reals,
    down: Reals,
    diagonal: Reals,
    best: Real,
    own: Real,
    least: Real,
) -> int:
    """Return the entry to go down by which one step gains most."""
    top, start = least - least, 0
    for begin in range(0, gradient.size, BLOCK):
        end = begin + BLOCK
        found = _most_gain(
            row[begin:end], gradient[begin:end], down[begin:end], diagonal[begin:end],
            best, own, least,
        )  # fmt: skip
        if found > top:
            top, start = found, begin
    place, top = start, least - least
    for t in range(start, start + BLOCK):
        fall = _larger(best - (gradient[t] + down[t]), least - least)
        curvature = _larger(own + diagonal[t] - (row[t] + row[t]), least)
        found = fall * fall / curvature
        if found > top:
            top, place = found, t
    return place


@compiled_part(fastmath=LANES)
def _move(one: Reals, two: Reals, step: Real, gradient: Reals) -> None:
    """Take a step off the gradient."""
    for t in range(gradient.size):
        gradient[t] -= step * (one[t] - two[t])


@compiled_part(fastmath=LANES)
def _largest(gradient: Reals, offset: Reals, never: Real) -> Real:
    """Return the largest sum in one block."""
    top = -never
    for t in range(BLOCK):
        top = _larger(top, gradient[t] + offset[t])
    return top


@compiled_part(fastmath=LANES)
def _least(gradient: Reals, offset: Reals, never: Real) -> Real:
    """Return the least sum of all."""
    bottom = never
    for t in range(gradient.size):
        bottom = _smaller(bottom, gradient[t] + offset[t])
    return bottom


@compiled_part(fastmath=LANES)
def _first(gradient: Reals, up: Reals, never: Real) -> tuple[int, Real]:
    """Return the entry that rises most, and by how much."""
    top, start = -never, 0
    for begin in range(0, gradient.size, BLOCK):
        end = begin + BLOCK
        found = _largest(gradient[begin:end], up[begin:end], never)
        if found > top:
            top, start = found, begin
    for t in range(start, start + BLOCK):
        if gradient[t] + up[t] >= top:
            return t, top
    return start, top


@compiled_part()
def _offset(
    t: int, dual: Array, low: Array, high: Array, kink: float, up: Reals, down: Reals
) -> None:
    """Note what an entry pays to rise and to fall, or that it cannot."""
    value = dual[t]
    up[t] = -NEVER if value >= high[t] else (kink if value < 0.0 else -kink)
    down[t] = NEVER if value <= low[t] else (-kink if value > 0.0 else kink)


@compiled(fastmath=LANES)
def climb(
    rows: Reals,
    slot: NDArray[np.int32],
    tick: NDArray[np.int64],
    dual: Array,
    low: Array,
    high: Array,
    kink: float,
    gradient: Reals,
    up: Reals,
    down: Reals,
    diagonal: Reals,
    least: float,
    tolerance: float,
    max_steps: int,
) -> tuple[int, int, int]:
    """Move pairs of multipliers until none promises more, or a row of the kernel is missing.

    With ``g = y - K b``: i is the entry whose rise gains most, j the one whose fall then gains
    most by the second order; ``step = (g_i - g_j) / (k_ii + k_jj - 2 k_ij)``, cut at the
    limits of both, and at zero, where the cost ``kink |b|`` of a multiplier bends.

    Parameters
    ----------
    rows, slot, tick
        Rows of the kernel, the place of each row among them or -1, and when each place was
        last used.
    dual, low, high
        Multipliers, changed in place, and their limits.
    gradient, up, down
        ``g``, what a rise and a fall of each entry add to it; changed in place.
    least
        Curvature below which a pair counts as flat.

    Returns
    -------
    status, row, n_steps
        Why it ended, which row is missing (or makes a pair that is not convex), steps taken.
    """
    # Numbers as the gradient has them: a step, the least curvature, and what is never met.
    scalar = np.empty(3, gradient.dtype)
    scalar[1], scalar[2] = least, NEVER
    for t in range(dual.size):
        _offset(t, dual, low, high, kink, up, down)
    i, top = _first(gradient, up, scalar[2])
    clock = np.max(tick)
    for n_steps in range(max_steps):
        if not top - _least(gradient, down, scalar[2]) > tolerance:
            return BOTH_SETTLED, i, n_steps
        if slot[i] < 0:
            return NEEDS_ROW, i, n_steps
        clock += 1
        tick[slot[i]] = clock
        one = rows[slot[i]]
        j = _partner(one, gradient, down, diagonal, top, diagonal[i], scalar[1])
        if slot[j] < 0:
            return NEEDS_ROW, j, n_steps
        tick[slot[j]] = clock
        two = rows[slot[j]]
        curvature = float(diagonal[i]) + float(diagonal[j]) - 2.0 * float(one[j])
        if curvature < -1e3 * least:
            return NOT_CONVEX, j, n_steps
        fall = float(top) - (float(gradient[j]) + float(down[j]))
        step = fall / max(curvature, least)
        end_up = 0.0 if dual[i] < 0.0 else high[i]
        end_down = 0.0 if dual[j] > 0.0 else low[j]
        room_up, room_down = end_up - dual[i], dual[j] - end_down
        step = min(step, room_up, room_down)
        dual[i] = end_up if step == room_up else dual[i] + step
        dual[j] = end_down if step == room_down else dual[j] - step
        _offset(i, dual, low, high, kink, up, down)
        _offset(j, dual, low, high, kink, up, down)
        scalar[0] = step
        _move(one, two, scalar[0], gradient)
        i, top = _first(gradient, up, scalar[2])
    return OUT_OF_STEPS, i, max_steps


@compiled(fastmath={"reassoc", "contract"})
def visit_rows(
    x: Array,
    curvature: Array,
    outcome: Array,
    dual: Array,
    low: Array,
    high: Array,
    kink: float,
    weight: Array,
    level: Array,
    strength: float,
    order: Places,
    n_left: int,
    ends: Array,
    seed: int,
) -> int:
    """Set multipliers of a linear kernel one by one to their best; return how many are left.

    Rows are visited in random order, ``weight`` is the sum of rows times multipliers and
    ``level`` the intercept, to which a multiplier adds ``strength`` times itself; both are
    kept up to date. Entries at a limit that promise to stay there are left out: they move
    behind the first ``n_left`` of ``order``.

    Parameters
    ----------
    curvature
        ``|x|^2 + strength`` of each row.
    ends
        Largest rise and least fall of the pass before, replaced by those of this one.
    """
    top, bottom = 0.0, 0.0
    d = x.shape[1]
    state = np.uint64(2 * seed + 1)
    turn = 0
    while turn < n_left:
        state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        other = turn + int((state >> np.uint64(33)) % np.uint64(n_left - turn))
        i = order[other]
        order[other] = order[turn]
        order[turn] = i
        slope = outcome[i] - level[0]
        for k in range(d):
            slope -= x[i, k] * weight[k]
        value = dual[i]
        rise = slope + kink if value < 0.0 else slope - kink
        fall = slope - kink if value > 0.0 else slope + kink
        if value >= high[i]:
            rise = -np.inf
        if value <= low[i]:
            fall = np.inf
        if rise < ends[1] and fall > ends[0]:
            n_left -= 1
            order[turn] = order[n_left]
            order[n_left] = i
            continue
        turn += 1
        if rise <= 0.0 <= fall:
            continue
        top, bottom = max(top, rise), min(bottom, fall)
        moved = value + slope / curvature[i]
        bend = kink / curvature[i]
        moved = moved - bend if moved > bend else (moved + bend if moved < -bend else 0.0)
        moved = min(max(moved, low[i]), high[i])
        dual[i] = moved
        for k in range(d):
            weight[k] += (moved - value) * x[i, k]
        level[0] += strength * (moved - value)
    ends[0], ends[1] = top, bottom
    return n_left
