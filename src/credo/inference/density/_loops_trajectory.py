"""Loops of engines that follow trajectories: NUTS and HMC, compiled once for all densities.

The engine asks for the density at a point and is called again with the answer, so that one
function serves densities in Python and compiled ones. All that it knows between two calls
stands in four arrays, whose rows and places are named here:

=========  =============================================================================
vectors    vectors of d free numbers, checkpoints of the tree, directions of the metric
numbers    step size, energies and weights, then the weights of the directions
counts     where in the tree it is, and where a compiled density stands
record     a row for each transition: momentum and velocity it starts with, position and
           gradient it ends with, and what is known of it
=========  =============================================================================

The metric is ``S (I + U' diag(w) U) S``: scales S, orthonormal rows U, weights w; or, where
these rows are many, it stands in their place as a matrix. The tree is
that of multinomial sampling with the generalized criterion of no U-turn [betancourt2017]_,
built leaf by leaf with checkpoints of those even leaves that later ones are compared with.

Functions are few and their loops plain, for each is optimized anew in every one that calls it,
and people wait for that. A loop writes to few rows: of many the compiler cannot tell whether
they overlap, and takes one number at a time.

Supports are a table with a row for each parameter: its kind, where its free numbers begin,
where its values begin, how many values or classes or rows it has, and the two ends of its
support. Free numbers stand in the first row of ``vectors``; values, and the gradient by them,
in the two rows of ``exchange``. Nothing is sliced: a slice costs more than many of these
functions.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from credo.inference.density._loops_pointer import unpacking
from credo.numerics._loops_compilation import compiled, compiled_part
from credo.numerics.array import Array
from credo.numerics.special._loops_split_mix import GAMMA, uniform

__all__ = ["COUNTS", "NUMBERS", "VECTORS", "answer", "constrain", "pull_back"]

IntArray = np.ndarray

(POSITION, MOMENTUM, VELOCITY, GRADIENT, ACCELERATION) = range(5)
LEFT, RIGHT, CHOSEN, PROPOSED = 5, 10, 15, 18
"""Rows of a point: the one at hand, then those at both ends of the tree, in full; of points
that were picked only position, gradient and acceleration."""
TREE_SUM, SUBTREE_SUM, SCALE, CHECKPOINTS = 21, 22, 23, 24
(
    STEP_SIZE,
    LOG_STEP_MEAN,
    SHORTFALL,
    LOG_STEP_CENTER,
    TARGET,
    LENGTH,
    ENERGY,
    LOG_WEIGHT,
    SUBTREE_LOG_WEIGHT,
    CHOSEN_LOG_DENSITY,
    PROPOSED_LOG_DENSITY,
    ACCEPTANCE,
    WEIGHTS,
) = range(13)
(
    IS_ASKING,
    FAULT,
    DRAW,
    DEPTH,
    LEAF,
    N_LEAVES,
    DIRECTION,
    N_STEPS,
    HAS_STOPPED,
    IS_DIVERGENT,
    MAX_DEPTH,
    IS_ADAPTING,
    N_ADAPTED,
    STREAM,
    IS_MATRIX,
    N_DIRECTIONS,
    ADDRESS,
    DATA,
) = range(18)

VECTORS, NUMBERS, COUNTS = CHECKPOINTS, WEIGHTS, DATA + 1
"""Rows and places before checkpoints, directions and their weights."""

N_FACTS = 6
"""Of a transition: log density, energy, acceptance, depth, steps, divergence."""

MOST_STEPS = 1024
LARGEST_ERROR = 1000.0
NEAR = 100.0
LARGEST_LOG_STEP = 60.0
CAUTION = 0.2
"""How little one acceptance moves the step size. With less, steps swing so far that their mean
is accepted much more often than they are."""

# Sums over numbers may be taken in any order, so that they use all lanes of a processor.
LANES = {"contract", "reassoc", "nsz"}

# numba tells type checkers about little of itself.
_intrinsic: Callable[[Callable[..., Any]], Callable[..., Any]] = intrinsic
_ir: Any = getattr(cgutils, "ir")  # noqa: B009


@_intrinsic
def call_density(typing_context: Any, address: Any, exchange: Any, n: Any, data: Any) -> Any:
    """Return what a C function ``double (double *, double *, void *)`` at an address says.

    It is given the two rows of ``exchange``, of length n.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        numbers, anything = _ir.DoubleType().as_pointer(), _ir.IntType(8).as_pointer()
        kind = _ir.FunctionType(_ir.DoubleType(), [numbers, numbers, anything])
        function = builder.inttoptr(arguments[0], kind.as_pointer())
        values = context.make_array(signature.args[1])(context, builder, arguments[1]).data
        slopes = builder.gep(values, [arguments[2]])
        words = builder.inttoptr(arguments[3], anything)
        return builder.call(function, [values, slopes, words])

    return types.float64(address, exchange, n, data), generate


FLOATS_2D, FLOATS_1D, INTS_1D = (
    types.Array(kind, n, "C")
    for kind, n in ((types.float64, 2), (types.float64, 1), (types.int64, 1))
)
unpacked = unpacking([FLOATS_2D, FLOATS_1D, INTS_1D, FLOATS_2D, FLOATS_2D, FLOATS_2D])


@compiled()
def answer(log_density: float, words: int) -> bool:
    """Take the density at the values asked for; return whether others are asked for.

    Python needs most of a microsecond to hand over six arrays, and half of one for a single
    one, so that it is given the address of words that tell where they stand, and their shapes.

    Parameters
    ----------
    words
        The address of the words, by `words_of`, of ``vectors``, ``numbers``, ``counts``,
        ``record``, ``exchange`` and ``table``.
    """
    vectors, numbers, counts, record, exchange, table = unpacked(words)
    return advance(log_density, vectors, numbers, counts, record, exchange, table)


@compiled_part()
def advance(
    log_density: float,
    vectors: Array,
    numbers: Array,
    counts: IntArray,
    record: Array,
    exchange: Array,
    table: Array,
) -> bool:
    """Go on to the next point, subtree or transition; return whether a density is needed.

    With the address of a compiled density it answers itself, until the record is full.

    Parameters
    ----------
    exchange
        Values that are asked for, and in the next row the gradient there, which is answered.
    table
        Supports of the parameters.
    """
    while True:
        if counts[IS_ASKING]:
            log_density += pull_back(table, vectors, exchange, GRADIENT)
            counts[FAULT] = fault(log_density, vectors)
            if counts[FAULT]:
                counts[IS_ASKING] = 0
                return False
            take_leaf(log_density, vectors, numbers, counts)
            if counts[HAS_STOPPED] or counts[LEAF] == counts[N_LEAVES]:
                close_subtree(vectors, numbers, counts)
                if counts[HAS_STOPPED]:
                    end(vectors, numbers, counts, record)
        if counts[HAS_STOPPED]:
            if counts[DRAW] == record.shape[0]:
                counts[IS_ASKING] = 0
                return False
            begin(vectors, numbers, counts, record)
        drift(vectors, numbers, counts)
        constrain(table, vectors, exchange)
        if not counts[ADDRESS]:
            return True
        log_density = call_density(counts[ADDRESS], exchange, exchange.shape[1], counts[DATA])


@compiled_part()
def fault(log_density: float, vectors: Array) -> int:
    """Return 1 for a density that is no number, 2 for an infinite one, else 0.

    Far out rounding makes differences of infinite numbers, which count as density zero.
    """
    if np.isnan(log_density):
        for j in range(vectors.shape[1]):
            if not abs(vectors[POSITION, j]) < NEAR:
                return 0
        return 1
    return 2 if log_density == np.inf else 0


@compiled_part()
def chance(counts: IntArray) -> float:
    """Return the next number between 0 and 1."""
    z = np.uint64(counts[STREAM]) + GAMMA
    counts[STREAM] = np.int64(z)
    return uniform(z)


@compiled_part(fastmath=LANES)
def copy(vectors: Array, source: int, to: int) -> None:
    """Copy one row to another."""
    for j in range(vectors.shape[1]):
        vectors[to, j] = vectors[source, j]


@compiled_part(fastmath=LANES)
def begin(vectors: Array, numbers: Array, counts: IntArray, record: Array) -> None:
    """Begin a transition at the chosen point, with the momentum and velocity of its row."""
    d, row = vectors.shape[1], counts[DRAW]
    kinetic = 0.0
    for j in range(d):
        kinetic += 0.5 * record[row, j] * record[row, d + j]
    for j in range(d):
        vectors[TREE_SUM, j] = record[row, j]
    for side in range(LEFT, CHOSEN, RIGHT - LEFT):
        copy(vectors, CHOSEN, side + POSITION)
        copy(vectors, TREE_SUM, side + MOMENTUM)
        for j in range(d):
            vectors[side + VELOCITY, j] = record[row, d + j]
        copy(vectors, CHOSEN + 1, side + GRADIENT)
        copy(vectors, CHOSEN + 2, side + ACCELERATION)
    numbers[ENERGY] = kinetic - numbers[CHOSEN_LOG_DENSITY]
    numbers[LOG_WEIGHT] = 0.0
    numbers[ACCEPTANCE] = 0.0
    counts[IS_ASKING] = 1
    counts[DEPTH] = 0
    counts[LEAF] = 0
    counts[N_LEAVES] = 0
    counts[N_STEPS] = 0
    counts[HAS_STOPPED] = 0
    counts[IS_DIVERGENT] = 0


@compiled_part(fastmath=LANES)
def drift(vectors: Array, numbers: Array, counts: IntArray) -> None:
    """Take the half of a leapfrog step that comes before the next gradient.

    After a whole subtree it begins at one end of the tree, to which as many leaves are added
    as there are. With a length, as HMC has one, all are added at once, about as many as make
    it up.
    """
    d = vectors.shape[1]
    if counts[LEAF] == counts[N_LEAVES]:
        counts[LEAF] = 0
        counts[DIRECTION] = -1 if chance(counts) < 0.5 else 1
        counts[N_LEAVES] = 1 << counts[DEPTH]
        if numbers[LENGTH] > 0.0:
            n = numbers[LENGTH] * (0.6 + 0.8 * chance(counts)) / numbers[STEP_SIZE]
            counts[N_LEAVES] = int(min(max(n, 1.0), MOST_STEPS))
        numbers[SUBTREE_LOG_WEIGHT] = -np.inf
        edge = LEFT if counts[DIRECTION] < 0 else RIGHT
        for j in range(d):
            vectors[SUBTREE_SUM, j] = 0.0
        for row in range(5):
            copy(vectors, edge + row, row)
    step = numbers[STEP_SIZE] * counts[DIRECTION]
    for j in range(d):
        vectors[MOMENTUM, j] += 0.5 * step * vectors[GRADIENT, j]
    for j in range(d):
        vectors[VELOCITY, j] += 0.5 * step * vectors[ACCELERATION, j]
        vectors[POSITION, j] += step * vectors[VELOCITY, j]


@compiled_part(fastmath=LANES)
def set_acceleration(vectors: Array, numbers: Array, counts: IntArray) -> None:
    """Set the acceleration, which is the metric times the gradient."""
    d, n = vectors.shape[1], counts[N_DIRECTIONS]
    first = CHECKPOINTS + 3 * counts[MAX_DEPTH]
    if counts[IS_MATRIX]:
        for k in range(0, n, 4):
            row, last = first + k, first + n - 1
            # Rows past the last one are that row again, whose entry is set once more.
            b, c, e = min(row + 1, last), min(row + 2, last), min(row + 3, last)
            p, q, r, s = 0.0, 0.0, 0.0, 0.0
            for j in range(d):
                p += vectors[row, j] * vectors[GRADIENT, j]
                q += vectors[b, j] * vectors[GRADIENT, j]
                r += vectors[c, j] * vectors[GRADIENT, j]
                s += vectors[e, j] * vectors[GRADIENT, j]
            vectors[ACCELERATION, row - first] = p
            vectors[ACCELERATION, b - first] = q
            vectors[ACCELERATION, c - first] = r
            vectors[ACCELERATION, e - first] = s
        return
    for j in range(d):
        vectors[ACCELERATION, j] = vectors[GRADIENT, j] * vectors[SCALE, j]
    for k in range(n):
        # What was added along other directions has no part along this one.
        total = 0.0
        for j in range(d):
            total += vectors[first + k, j] * vectors[ACCELERATION, j]
        total *= numbers[WEIGHTS + k]
        for j in range(d):
            vectors[ACCELERATION, j] += total * vectors[first + k, j]
    for j in range(d):
        vectors[ACCELERATION, j] *= vectors[SCALE, j]


@compiled_part(fastmath=LANES)
def take_leaf(log_density: float, vectors: Array, numbers: Array, counts: IntArray) -> None:
    """End a leapfrog step, weigh the point it has led to, and see whether the path turns.

    Even leaves are kept; odd ones are compared with the first leaves of all subtrees that
    they end. Of the momenta at both ends, which belong to half a step each, half is taken off.
    """
    set_acceleration(vectors, numbers, counts)
    step = numbers[STEP_SIZE] * counts[DIRECTION]
    kinetic = 0.0
    for j in range(vectors.shape[1]):
        vectors[MOMENTUM, j] += 0.5 * step * vectors[GRADIENT, j]
        vectors[SUBTREE_SUM, j] += vectors[MOMENTUM, j]
    for j in range(vectors.shape[1]):
        vectors[VELOCITY, j] += 0.5 * step * vectors[ACCELERATION, j]
        kinetic += 0.5 * vectors[MOMENTUM, j] * vectors[VELOCITY, j]
    log_weight = numbers[ENERGY] + log_density - kinetic
    if np.isnan(log_weight):
        log_weight = -np.inf
    numbers[ACCEPTANCE] += np.exp(min(log_weight, 0.0))
    is_fixed = numbers[LENGTH] > 0.0
    total, share = log_weight, 1.0
    if not is_fixed:
        before = numbers[SUBTREE_LOG_WEIGHT]
        ratio = np.exp(-abs(log_weight - before)) if before > -np.inf else 0.0
        if np.isnan(ratio):
            ratio = 0.0
        total = max(log_weight, before) + np.log1p(ratio)
        share = (1.0 if log_weight >= before else ratio) / (1.0 + ratio)
    numbers[SUBTREE_LOG_WEIGHT] = total
    if is_fixed or chance(counts) < share:
        numbers[PROPOSED_LOG_DENSITY] = log_density
        copy(vectors, POSITION, PROPOSED)
        copy(vectors, GRADIENT, PROPOSED + 1)
        copy(vectors, ACCELERATION, PROPOSED + 2)
    leaf, depth = counts[LEAF], counts[MAX_DEPTH]
    counts[N_STEPS] += 1
    counts[LEAF] += 1
    if log_weight < -LARGEST_ERROR:
        counts[IS_DIVERGENT] = 1
        counts[HAS_STOPPED] = 1
        return
    place = CHECKPOINTS
    rest = leaf >> 1
    while rest:
        place += rest & 1
        rest >>= 1
    if is_fixed:
        return
    if leaf % 2 == 0:
        copy(vectors, MOMENTUM, place)
        copy(vectors, VELOCITY, place + depth)
        copy(vectors, SUBTREE_SUM, place + 2 * depth)
        return
    rest = leaf
    while rest & 1:
        start, stop = 0.0, 0.0
        for j in range(vectors.shape[1]):
            path = vectors[SUBTREE_SUM, j] - vectors[place + 2 * depth, j]
            path += 0.5 * (vectors[place, j] - vectors[MOMENTUM, j])
            start += vectors[place + depth, j] * path
            stop += vectors[VELOCITY, j] * path
        if start <= 0.0 or stop <= 0.0:
            counts[HAS_STOPPED] = 1
            return
        place -= 1
        rest >>= 1


@compiled_part(fastmath=LANES)
def close_subtree(vectors: Array, numbers: Array, counts: IntArray) -> None:
    """Join a subtree to the tree, perhaps choose its point, and see whether to stop."""
    if counts[HAS_STOPPED]:
        return
    d = vectors.shape[1]
    gain = numbers[SUBTREE_LOG_WEIGHT] - numbers[LOG_WEIGHT]
    if chance(counts) < np.exp(gain):
        numbers[CHOSEN_LOG_DENSITY] = numbers[PROPOSED_LOG_DENSITY]
        for row in range(3):
            copy(vectors, PROPOSED + row, CHOSEN + row)
    numbers[LOG_WEIGHT] += max(gain, 0.0) + np.log1p(np.exp(-abs(gain)))
    counts[DEPTH] += 1
    edge = LEFT if counts[DIRECTION] < 0 else RIGHT
    for row in range(5):
        copy(vectors, row, edge + row)
    for j in range(d):
        vectors[TREE_SUM, j] += vectors[SUBTREE_SUM, j]
    start, stop = 0.0, 0.0
    for j in range(d):
        ends = vectors[LEFT + MOMENTUM, j] + vectors[RIGHT + MOMENTUM, j]
        path = vectors[TREE_SUM, j] - 0.5 * ends
        start += vectors[LEFT + VELOCITY, j] * path
        stop += vectors[RIGHT + VELOCITY, j] * path
    is_over = start <= 0.0 or stop <= 0.0 or counts[DEPTH] == counts[MAX_DEPTH]
    counts[HAS_STOPPED] = int(is_over or numbers[LENGTH] > 0.0)


@compiled_part()
def end(vectors: Array, numbers: Array, counts: IntArray, record: Array) -> None:
    """Write the row of a transition; adapt the step size by dual averaging [hoffman2014]_."""
    d, row = vectors.shape[1], counts[DRAW]
    acceptance = numbers[ACCEPTANCE] / counts[N_STEPS]
    if numbers[LENGTH] > 0.0:
        acceptance = np.exp(min(numbers[SUBTREE_LOG_WEIGHT], 0.0))
    for j in range(d):
        record[row, 2 * d + j] = vectors[CHOSEN, j]
        record[row, 3 * d + j] = vectors[CHOSEN + 1, j]
    record[row, 4 * d] = numbers[CHOSEN_LOG_DENSITY]
    record[row, 4 * d + 1] = numbers[ENERGY]
    record[row, 4 * d + 2] = acceptance
    record[row, 4 * d + 3] = counts[DEPTH]
    record[row, 4 * d + 4] = counts[N_STEPS]
    record[row, 4 * d + 5] = counts[IS_DIVERGENT]
    counts[DRAW] += 1
    if not counts[IS_ADAPTING]:
        return
    counts[N_ADAPTED] += 1
    t = float(counts[N_ADAPTED])
    share = 1.0 / (t + 10.0)
    shortfall = (1.0 - share) * numbers[SHORTFALL] + share * (numbers[TARGET] - acceptance)
    log_step = numbers[LOG_STEP_CENTER] - shortfall * np.sqrt(t) / CAUTION
    log_step = min(max(log_step, -LARGEST_LOG_STEP), LARGEST_LOG_STEP)
    share = t**-0.75
    numbers[SHORTFALL] = shortfall
    numbers[LOG_STEP_MEAN] = (1.0 - share) * numbers[LOG_STEP_MEAN] + share * log_step
    numbers[STEP_SIZE] = np.exp(log_step)


REAL, ABOVE, BELOW, BETWEEN, SIMPLEX, ORDERED, COVARIANCE = range(7)


@compiled_part()
def constrain(table: Array, vectors: Array, exchange: Array) -> None:
    """Set the values of free numbers."""
    for row in range(table.shape[0]):
        kind = int(table[row, 0])
        i, j, n = int(table[row, 1]), int(table[row, 2]), int(table[row, 3])
        low, high = table[row, 4], table[row, 5]
        if kind == REAL:
            for k in range(n):
                exchange[0, j + k] = vectors[0, i + k]
        elif kind == ABOVE:
            for k in range(n):
                exchange[0, j + k] = low + np.exp(vectors[0, i + k])
        elif kind == BELOW:
            for k in range(n):
                exchange[0, j + k] = high - np.exp(-vectors[0, i + k])
        elif kind == BETWEEN:
            for k in range(n):
                u = vectors[0, i + k]
                share = np.exp(-abs(u))
                share = (high - low) * (share / (1.0 + share))
                # From the nearer end, where numbers are finer.
                value = low + share if u < 0.0 else high - share
                exchange[0, j + k] = min(max(value, low), high)
        elif kind == SIMPLEX:
            constrain_simplex(n, i, j, vectors, exchange)
        elif kind == ORDERED:
            exchange[0, j] = vectors[0, i]
            for k in range(1, n):
                exchange[0, j + k] = exchange[0, j + k - 1] + np.exp(vectors[0, i + k])
        else:
            constrain_covariance(n, i, j, vectors, exchange)


@compiled_part()
def constrain_simplex(n: int, i: int, j: int, vectors: Array, exchange: Array) -> None:
    """Set probabilities: the softmax of scores in Helmert's basis."""
    after = 0.0
    largest = -np.inf
    for k in range(n - 1, -1, -1):
        score = after
        if k > 0:
            share = vectors[0, i + k - 1] / np.sqrt(k * (k + 1.0))
            score -= k * share
            after += share
        exchange[0, j + k] = score
        largest = max(largest, score)
    total = 0.0
    for k in range(n):
        exchange[0, j + k] = np.exp(exchange[0, j + k] - largest)
        total += exchange[0, j + k]
    for k in range(n):
        exchange[0, j + k] /= total


@compiled_part()
def constrain_covariance(n: int, i: int, j: int, vectors: Array, exchange: Array) -> None:
    """Set the matrix ``L L'`` of a lower triangle with logs on its diagonal."""
    for a in range(n):
        for b in range(a + 1):
            total = 0.0
            for c in range(b + 1):
                total += entry(vectors, i, a, c) * entry(vectors, i, b, c)
            exchange[0, j + a * n + b] = total
            exchange[0, j + b * n + a] = total


@compiled_part()
def entry(vectors: Array, i: int, a: int, b: int) -> float:
    """Return an entry of the lower triangle that free numbers hold row by row."""
    found: float = vectors[0, i + a * (a + 1) // 2 + b]
    return np.exp(found) if a == b else found


@compiled_part()
def pull_back(table: Array, vectors: Array, exchange: Array, to: int) -> float:
    """Set the gradient of the density of free numbers; return the log Jacobian.

    The gradient is that by the values, pulled back, and that of the log Jacobian.

    Parameters
    ----------
    to
        The row of ``vectors`` that the gradient is written to.
    """
    total = 0.0
    for row in range(table.shape[0]):
        kind = int(table[row, 0])
        i, j, n = int(table[row, 1]), int(table[row, 2]), int(table[row, 3])
        if kind == REAL:
            for k in range(n):
                vectors[to, i + k] = exchange[1, j + k]
        elif kind in (ABOVE, BELOW):
            sign = 1.0 if kind == ABOVE else -1.0
            for k in range(n):
                log_slope = sign * vectors[0, i + k]
                vectors[to, i + k] = exchange[1, j + k] * np.exp(log_slope) + sign
                total += log_slope
        elif kind == BETWEEN:
            log_width = np.log(table[row, 5] - table[row, 4])
            for k in range(n):
                u = vectors[0, i + k]
                log_slope = log_width - abs(u) - 2.0 * np.log1p(np.exp(-abs(u)))
                slope = exchange[1, j + k] * np.exp(log_slope)
                vectors[to, i + k] = slope - np.tanh(0.5 * u)
                total += log_slope
        elif kind == SIMPLEX:
            total += pull_simplex(n, i, j, vectors, exchange, to)
        elif kind == ORDERED:
            after = 0.0
            for k in range(n - 1, 0, -1):
                after += exchange[1, j + k]
                vectors[to, i + k] = after * np.exp(vectors[0, i + k]) + 1.0
                total += vectors[0, i + k]
            vectors[to, i] = after + exchange[1, j]
        else:
            total += pull_covariance(n, i, j, vectors, exchange, to)
    return total


@compiled_part()
def pull_simplex(n: int, i: int, j: int, vectors: Array, exchange: Array, to: int) -> float:
    """Set the gradient by probabilities; return the log of their product and of sqrt(n)."""
    mean = 0.0
    total: float = 0.5 * np.log(n)
    for k in range(n):
        mean += exchange[0, j + k] * exchange[1, j + k]
        total += np.log(exchange[0, j + k])
    before = 0.0
    for k in range(n):
        weighed = exchange[0, j + k] * (exchange[1, j + k] - mean - n)
        if k > 0:
            vectors[to, i + k - 1] = (before - k * weighed) / np.sqrt(k * (k + 1.0))
        before += weighed
    return total


@compiled_part()
def pull_covariance(n: int, i: int, j: int, vectors: Array, exchange: Array, to: int) -> float:
    """Set the gradient by the lower triangle of L; return the log Jacobian."""
    total: float = n * np.log(2.0)
    for a in range(n):
        for b in range(a + 1):
            slope = 0.0
            for c in range(b, n):
                both = exchange[1, j + a * n + c] + exchange[1, j + c * n + a]
                slope += both * entry(vectors, i, c, b)
            place = i + a * (a + 1) // 2 + b
            if a == b:
                slope = slope * np.exp(vectors[0, place]) + n + 1.0 - a
                total += (n + 1.0 - a) * vectors[0, place]
            vectors[to, place] = slope
    return total
