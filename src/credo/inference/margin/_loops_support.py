"""Steps of sequential minimal optimization, passes of dual coordinate descent, Gaussian rows.

Multipliers and their limits are float64; rows of the kernel and what is summed from them are
float32 or float64, all of one type and padded to whole blocks. Padding is never chosen: it has
``up`` of -1e30 and ``down`` of 1e30.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from credo.inference.margin.kernel_values import BLOCK
from credo.numerics._loops_compilation import compiled, compiled_part
from credo.numerics.array import Array
from credo.numerics.special._loops_exponential import LANES, all_lanes, fast_exp

__all__ = [
    "BOTH_SETTLED",
    "NEEDS_ROW",
    "NOT_CONVEX",
    "OUT_OF_STEPS",
    "climb",
    "exponential_moves",
    "exponential_rows",
    "exponential_sums",
    "few_steps",
    "set_offsets",
    "violators",
    "visit_rows",
    "wanted_rows",
]

Real = Any
Reals = NDArray[Any]
Places = NDArray[np.intp]

# numba tells type checkers about little of itself.
_intrinsic: Callable[[Callable[..., Any]], Callable[..., Any]] = intrinsic

BOTH_SETTLED, NEEDS_ROW, OUT_OF_STEPS, NOT_CONVEX = 0, 1, 2, 3

GOOD_PART = 0.5
"""Share of the largest gain with which a row that is held is as good as one that is not."""

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


@compiled_part(fastmath=LANES)
def _narrow_exp(e: Real) -> Real:
    """Return ``exp(min(e, 0))`` in float32, to 2e-7; sums must keep their order here."""
    x = _larger(_smaller(e, ZERO), SMALLEST)
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
    return _raised(_bits_of(p), _bits_of(rounded))


@compiled(fastmath=LANES)
def exponential_rows(
    exponent: NDArray[np.float32],
    out: NDArray[np.float32],
    places: Places,
    first: int,
    factor: float,
) -> None:
    """Write ``factor exp(min(e, 0))`` of rows of exponents e to rows of ``out``.

    ``places`` says to which rows, ``first`` from which column on. ``out`` is another array.
    """
    all_lanes()
    scale = np.float32(factor)
    for k in range(len(places)):
        own, found = exponent[k], out[places[k], first : first + exponent.shape[1]]
        for t in range(len(own)):
            found[t] = scale * _narrow_exp(own[t])


@compiled(fastmath=LANES)
def exponential_moves(
    exponent: NDArray[np.float32], weight: NDArray[np.float32], found: NDArray[np.float32]
) -> None:
    """Set ``found`` to sums of ``exp(min(e, 0))`` over rows of exponents e, with weights."""
    all_lanes()
    found[:] = ZERO
    for k in range(len(weight)):
        own, scale = exponent[k], weight[k]
        for t in range(len(own)):
            found[t] += scale * _narrow_exp(own[t])


@compiled(fastmath=LANES)
def exponential_sums(exponent: Array) -> None:
    """Replace exponents e, flat, by ``exp(min(e, 0))``."""
    all_lanes()
    for t in range(exponent.size):
        exponent[t] = fast_exp(_smaller(exponent[t], 0.0))


@compiled_part(fastmath=LANES)
def _most_gain(
    rows: Reals,
    place: int,
    b: int,
    gradient: Reals,
    down: Reals,
    diagonal: Reals,
    present: Reals,
    scalar: Reals,
) -> tuple[Real, Real]:
    """Return the largest ``(best - g)^2 / curvature`` in one block: of all, of rows held."""
    best, own, least = scalar[0], scalar[1], scalar[2]
    none = least - least
    top, top_here = none, none
    for t in range(BLOCK):
        fall = _larger(best - (gradient[b, t] + down[b, t]), none)
        row = rows[place, b, t]
        curvature = _larger(own + diagonal[b, t] - (row + row), least)
        gain = fall * fall / curvature
        top = _larger(top, gain)
        top_here = _larger(top_here, gain * present[b, t])
    return top, top_here


@compiled_part(fastmath=LANES)
def _partner(
    rows: Reals,
    place: int,
    gradient: Reals,
    down: Reals,
    diagonal: Reals,
    present: Reals,
    scalar: Reals,
    gains: Reals,
) -> int:
    """Return the entry to go down by which one step gains most.

    An entry whose row is held is taken if it gains a good part of that.
    """
    best, own, least = scalar[0], scalar[1], scalar[2]
    none = least - least
    top, top_here, chosen, chosen_here = none, none, 0, 0
    for b in range(gradient.shape[0]):
        found, here = _most_gain(rows, place, b, gradient, down, diagonal, present, scalar)
        if found > top:
            top, chosen = found, b
        if here > top_here:
            top_here, chosen_here = here, b
    is_here = top_here >= scalar[5] * top
    b = chosen_here if is_here else chosen
    # One division after the other takes longer than all of them in lanes.
    for t in range(BLOCK):
        fall = _larger(best - (gradient[b, t] + down[b, t]), none)
        row = rows[place, b, t]
        gains[t] = fall * fall / _larger(own + diagonal[b, t] - (row + row), least)
    entry, most = 0, none
    for t in range(BLOCK):
        found = gains[t] * present[b, t] if is_here else gains[t]
        if found > most:
            most, entry = found, t
    return b * BLOCK + entry


@compiled_part(fastmath=LANES)
def _move(
    rows: Reals,
    one: int,
    two: int,
    b: int,
    gradient: Reals,
    up: Reals,
    down: Reals,
    present: Reals,
    scalar: Reals,
) -> tuple[Real, Real, Real]:
    """Take a step off the gradient in one block; return largest rises and the least fall.

    The first rise is of all, the second of rows that are held.
    """
    step, never = scalar[3], scalar[4]
    top, top_here, bottom = -never, -never, never
    for t in range(BLOCK):
        moved = gradient[b, t] - step * (rows[one, b, t] - rows[two, b, t])
        gradient[b, t] = moved
        rise = moved + up[b, t]
        top = _larger(top, rise)
        top_here = _larger(top_here, rise - never * (ONE - present[b, t]))
        bottom = _smaller(bottom, moved + down[b, t])
    return top, top_here, bottom


@compiled_part(fastmath=LANES)
def _moved(
    rows: Reals,
    one: int,
    two: int,
    gradient: Reals,
    up: Reals,
    down: Reals,
    present: Reals,
    scalar: Reals,
) -> tuple[int, Real]:
    """Take a step off the gradient; return the entry that rises most, and the violation.

    An entry whose row is held is taken if it rises nearly as much. Its rise is noted.
    """
    top, top_here, bottom, chosen, chosen_here = -scalar[4], -scalar[4], scalar[4], 0, 0
    for b in range(gradient.shape[0]):
        rise, here, fall = _move(rows, one, two, b, gradient, up, down, present, scalar)
        bottom = _smaller(bottom, fall)
        if rise > top:
            top, chosen = rise, b
        if here > top_here:
            top_here, chosen_here = here, b
    violation = top - bottom
    if top_here - bottom >= scalar[5] * violation:
        top, chosen = top_here, chosen_here
        scalar[0] = top
        for t in range(BLOCK):
            if present[chosen, t] > 0 and gradient[chosen, t] + up[chosen, t] >= top:
                return chosen * BLOCK + t, violation
    scalar[0] = top
    for t in range(BLOCK):
        if gradient[chosen, t] + up[chosen, t] >= top:
            return chosen * BLOCK + t, violation
    return chosen * BLOCK, violation


@compiled_part()
def _offset(
    t: int, dual: Array, low: Array, high: Array, kink: float, up: Reals, down: Reals
) -> None:
    """Note what an entry pays to rise and to fall, or that it cannot."""
    value, b, k = dual[t], t // BLOCK, t % BLOCK
    up[b, k] = -NEVER if value >= high[t] else (kink if value < 0.0 else -kink)
    down[b, k] = NEVER if value <= low[t] else (-kink if value > 0.0 else kink)


@compiled()
def set_offsets(
    dual: Array, low: Array, high: Array, kink: float, up: Reals, down: Reals
) -> None:
    """Note what all entries pay to rise and to fall."""
    for t in range(dual.size):
        _offset(t, dual, low, high, kink, up, down)


@compiled(fastmath=LANES)
def climb(
    rows: Reals,
    slot: NDArray[np.int32],
    present: Reals,
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
    rows, slot, present, tick
        Rows of the kernel in blocks, shape (n_slots, m, BLOCK), the place of each row among
        them or -1, whether there is one (in blocks), and when each place was last used.
    dual, low, high
        Multipliers, changed in place, and their limits.
    gradient, up, down
        ``g``, what a rise and a fall of each entry add to it, in blocks, shape (m, BLOCK);
        changed in place.
    least
        Curvature below which a pair counts as flat.

    Returns
    -------
    status, row, n_steps
        Why it ended, which row is missing (or makes a pair that is not convex), steps taken.
    """
    all_lanes()
    # As the gradient has them: rise, own diagonal, least curvature, step, never, good part.
    scalar, gains = np.zeros(6, gradient.dtype), np.empty(BLOCK, gradient.dtype)
    scalar[2], scalar[4], scalar[5] = least, NEVER, GOOD_PART
    i, violation = _moved(rows, 0, 0, gradient, up, down, present, scalar)
    clock = np.max(tick)
    for n_steps in range(max_steps):
        if not violation > tolerance:
            return BOTH_SETTLED, i, n_steps
        one = slot[i]
        if one < 0:
            return NEEDS_ROW, i, n_steps
        clock += 1
        tick[one] = clock
        scalar[1] = diagonal[i // BLOCK, i % BLOCK]
        j = _partner(rows, one, gradient, down, diagonal, present, scalar, gains)
        two = slot[j]
        if two < 0:
            return NEEDS_ROW, j, n_steps
        tick[two] = clock
        a, b = j // BLOCK, j % BLOCK
        curvature = float(scalar[1]) + float(diagonal[a, b]) - 2.0 * float(rows[one, a, b])
        if curvature < -1e3 * least:
            return NOT_CONVEX, j, n_steps
        fall = float(scalar[0]) - (float(gradient[a, b]) + float(down[a, b]))
        if not fall > 0.0:
            return BOTH_SETTLED, i, n_steps
        step = fall / max(curvature, least)
        end_up = 0.0 if dual[i] < 0.0 else high[i]
        end_down = 0.0 if dual[j] > 0.0 else low[j]
        room_up, room_down = end_up - dual[i], dual[j] - end_down
        step = min(step, room_up, room_down)
        dual[i] = end_up if step == room_up else dual[i] + step
        dual[j] = end_down if step == room_down else dual[j] - step
        _offset(i, dual, low, high, kink, up, down)
        _offset(j, dual, low, high, kink, up, down)
        scalar[3] = step
        i, violation = _moved(rows, one, two, gradient, up, down, present, scalar)
    return OUT_OF_STEPS, i, max_steps


@compiled(fastmath=LANES)
def few_steps(
    some: Places,
    left: NDArray[np.float32],
    variance: float,
    dual: Array,
    low: Array,
    high: Array,
    kink: float,
    gradient: Reals,
    up: Reals,
    down: Reals,
    least: float,
    tolerance: float,
    max_steps: int,
    places: Places,
    change: Array,
) -> tuple[int, int]:
    """Move pairs among a few entries, with the Gaussian kernel between these alone.

    Parameters
    ----------
    some, left
        The entries, and all rows x widened by ``-|x|^2 / 2`` and one.
    variance, least
        The kernel at distance zero, and the curvature below which a pair counts as flat.
    dual, up, down
        Multipliers and offsets of all entries, changed in place; the gradient is not.
    places, change
        Which multipliers moved, and by how much: set here.

    Returns
    -------
    n_moved, n_steps
        How many multipliers moved, and the pairs that were.
    """
    all_lanes()
    m, n_blocks = len(some), (len(some) + BLOCK - 1) // BLOCK
    flat = np.empty((min(m, 2 * max_steps + 1), n_blocks * BLOCK), np.float32)
    rows = flat.reshape(len(flat), n_blocks, BLOCK)
    slot, tick = np.full(m, -1, np.int32), np.zeros(m, np.int64)
    columns = _columns_of(some, left, n_blocks * BLOCK)
    own, before = dual[some], dual[some]
    least_own, most_own = low[some], high[some]
    sums = np.empty((5, n_blocks, BLOCK), np.float32)
    sums[0], sums[1], sums[2], sums[3], sums[4] = ZERO, -NEVER, NEVER, variance, ONE
    for t in range(m):
        sums[0, t // BLOCK, t % BLOCK] = gradient[some[t] // BLOCK, some[t] % BLOCK]
    set_offsets(own, least_own, most_own, kink, sums[1], sums[2])
    # No step was taken yet, but the row of a step of no length is read.
    rows[0] = ZERO
    n_rows, n_steps = 0, 0
    while n_steps < max_steps:
        ended, row, more = climb(
            rows, slot, sums[4], tick, own, least_own, most_own, kink, sums[0], sums[1],
            sums[2], sums[3], least, tolerance, max_steps - n_steps,
        )  # fmt: skip
        n_steps += more
        if ended != NEEDS_ROW:
            break
        _write_row(left[some[row]], columns, variance, flat[n_rows])
        flat[n_rows, row] = variance
        slot[row] = n_rows
        n_rows += 1
    n_moved = 0
    for t in range(m):
        if own[t] != before[t]:
            places[n_moved], change[n_moved] = some[t], own[t] - before[t]
            dual[some[t]] = own[t]
            _offset(some[t], dual, low, high, kink, up, down)
            n_moved += 1
    return n_moved, n_steps


@compiled_part()
def _columns_of(some: Places, left: NDArray[np.float32], width: int) -> Reals:
    """Return some widened rows as columns, in the order that they are multiplied in."""
    d = left.shape[1] - 2
    columns = np.zeros((d + 2, width), np.float32)
    for t in range(len(some)):
        row = left[some[t]]
        for c in range(d):
            columns[c, t] = row[c]
        columns[d, t], columns[d + 1, t] = ONE, row[d]
    return columns


@compiled_part(fastmath=LANES)
def _write_row(own: Reals, columns: Reals, variance: float, row: Reals) -> None:
    """Write the Gaussian kernel of one widened row with some columns."""
    scale = np.float32(variance)
    row[:] = ZERO
    for c in range(len(own)):
        factor, column = own[c], columns[c]
        for t in range(len(row)):
            row[t] += factor * column[t]
    for t in range(len(row)):
        row[t] = scale * _narrow_exp(row[t])


@compiled(fastmath=LANES)
def wanted_rows(
    present: Reals, gradient: Reals, up: Reals, down: Reals, row: int, chosen: Places
) -> int:
    """Set which rows to evaluate together; return how many they are, one or more.

    The first is the one that is needed, the others those that violate the conditions most
    among the rows that are not here, one in each block at most.
    """
    urgency = np.zeros(len(chosen), gradient.dtype)
    chosen[0], n_chosen = row, 1
    middle = _middle(gradient, up, down)
    for b in range(gradient.shape[0]):
        best = _most_urgent(b, present, gradient, up, down, middle)
        is_full = n_chosen == len(chosen)
        if best <= 0.0 or (is_full and (n_chosen == 1 or best <= urgency[n_chosen - 1])):
            continue
        entry = b * BLOCK
        for t in range(BLOCK):
            value = gradient[b, t] - middle
            found = _larger(value + up[b, t], -value - down[b, t]) * (ONE - present[b, t])
            if found >= best:
                entry = b * BLOCK + t
        if entry == row:
            continue
        place = n_chosen - 1 if is_full else n_chosen
        while place > 1 and best > urgency[place - 1]:
            chosen[place], urgency[place] = chosen[place - 1], urgency[place - 1]
            place -= 1
        chosen[place], urgency[place] = entry, best
        n_chosen += 0 if is_full else 1
    return n_chosen


@compiled(fastmath=LANES)
def violators(
    gradient: Reals, up: Reals, down: Reals, span: int, chosen: Places
) -> tuple[int, float, int]:
    """Set which entries violate the conditions most; return how many, by how much, of how many.

    They are the one that rises most and the one that falls most in each span of blocks, which
    are in ascending order, each once. The violation is the largest rise less the least fall;
    the last number is how many entries have a part in any violation.
    """
    all_lanes()
    top, bottom = _block_ends(0, gradient, up, down)
    for b in range(1, gradient.shape[0]):
        rise, fall = _block_ends(b, gradient, up, down)
        top, bottom = _larger(top, rise), _smaller(bottom, fall)
    n_chosen, n_active = 0, 0
    for first in range(0, gradient.shape[0], span):
        rise, fall = bottom, top
        riser, faller = -1, -1
        for b in range(first, min(first + span, gradient.shape[0])):
            n_active += _n_between(b, gradient, up, down, top, bottom)
            block_rise, block_fall = _block_ends(b, gradient, up, down)
            if block_rise > rise:
                rise, riser = block_rise, b
            if block_fall < fall:
                fall, faller = block_fall, b
        if riser >= 0:
            riser = riser * BLOCK + _place_of(gradient[riser], up[riser], rise)
            chosen[n_chosen] = riser
            n_chosen += 1
        if faller >= 0:
            faller = faller * BLOCK + _place_of(gradient[faller], down[faller], fall)
            if faller != riser:
                chosen[n_chosen] = faller
                n_chosen += 1
    return n_chosen, float(top) - float(bottom), n_active


@compiled_part(fastmath=LANES)
def _block_ends(b: int, gradient: Reals, up: Reals, down: Reals) -> tuple[Real, Real]:
    """Return the largest rise and the least fall in one block."""
    top, bottom = gradient[b, 0] + up[b, 0], gradient[b, 0] + down[b, 0]
    for t in range(BLOCK):
        top = _larger(top, gradient[b, t] + up[b, t])
        bottom = _smaller(bottom, gradient[b, t] + down[b, t])
    return top, bottom


@compiled_part(fastmath=LANES)
def _n_between(b: int, gradient: Reals, up: Reals, down: Reals, top: Real, bottom: Real) -> int:
    """Return how many entries of one block would rise or fall beyond others."""
    count = np.int32(0)
    for t in range(BLOCK):
        rises = gradient[b, t] + up[b, t] > bottom
        falls = gradient[b, t] + down[b, t] < top
        count += np.int32(rises | falls)
    return int(count)


@compiled_part(fastmath=LANES)
def _place_of(gradient: Reals, offset: Reals, value: Real) -> int:
    """Return where in a block a sum is found."""
    for t in range(BLOCK):
        if gradient[t] + offset[t] == value:
            return t
    return 0


@compiled_part(fastmath=LANES)
def _most_urgent(
    b: int, present: Reals, gradient: Reals, up: Reals, down: Reals, middle: Real
) -> Real:
    """Return the largest violation among the rows of one block that are not here."""
    best = middle - middle
    for t in range(BLOCK):
        value = gradient[b, t] - middle
        found = _larger(value + up[b, t], -value - down[b, t]) * (ONE - present[b, t])
        best = _larger(best, found)
    return best


@compiled_part(fastmath=LANES)
def _middle(gradient: Reals, up: Reals, down: Reals) -> Real:
    """Return the middle between the largest rise and the least fall."""
    top, bottom = gradient[0, 0] + up[0, 0], gradient[0, 0] + down[0, 0]
    for b in range(gradient.shape[0]):
        for t in range(BLOCK):
            top = _larger(top, gradient[b, t] + up[b, t])
            bottom = _smaller(bottom, gradient[b, t] + down[b, t])
    return (top + bottom) / (ONE + ONE)


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
