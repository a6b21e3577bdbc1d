"""Loops along the steps of hidden Markov chains, many pieces of sequences side by side.

A piece is some rows of a sequence, with further rows before or behind that only warm it up.
The innermost loop runs over pieces, which are in lanes; log densities are taken into a buffer
of a few steps, less their maximum over states, and all exponentials of the buffer are one loop.

Beliefs are normalized at each step. Where a total is too small for that (every state that can
be reached has a density that underflows beside the best) the piece is marked as faint.
"""

import math

import numpy as np
from numpy.typing import NDArray

from credo.numerics._loops_compilation import compiled, compiled_part
from credo.numerics.array import Array
from credo.numerics.special._loops_exponential import LANES, fast_exp

__all__ = [
    "backward",
    "best_scores",
    "draw_paths",
    "forward",
    "log_smooth",
    "normal_logs",
    "traced",
]

WIDTH = 32
STEPS = 16
TILE = 64
FAINT = 1e-250
LARGE = 1e290
LOWEST = -700.0

Codes = NDArray[np.int64]


@compiled_part(fastmath=LANES)
def _densities(logs: Array) -> None:
    for i in range(logs.size):
        x = logs[i]
        logs[i] = fast_exp(x) if x > LOWEST else 0.0


@compiled_part()
def _loaded(
    values: Array, begin: Codes, step: int, low: Codes, high: Codes, filler: float, out: Array
) -> None:
    """Set ``out[t, c, lane]`` to rows from ``begin`` on, up or down; fill where none is."""
    k = values.shape[1]
    for lane in range(len(begin)):
        row = begin[lane]
        for t in range(STEPS):
            if low[lane] <= row < high[lane]:
                for c in range(k):
                    out[t, c, lane] = values[row, c]
            else:
                for c in range(k):
                    out[t, c, lane] = filler
            row += step


@compiled_part()
def _stored(
    found: Array, begin: Codes, step: int, low: Codes, high: Codes, values: Array
) -> None:
    """Set the rows from ``begin`` on, up or down, to ``found[t, c, lane]``."""
    k = values.shape[1]
    for lane in range(len(begin)):
        row = begin[lane]
        for t in range(STEPS):
            if low[lane] <= row < high[lane]:
                for c in range(k):
                    values[row, c] = found[t, c, lane]
            row += step


@compiled_part(fastmath=LANES)
def _lowered(logs: Array, top: Array, lanes: int) -> None:
    """Take the largest log over states off each step, and keep it; of no row it is zero."""
    k = logs.shape[1]
    for t in range(STEPS):
        for lane in range(lanes):
            top[t, lane] = logs[t, 0, lane]
        for c in range(1, k):
            for lane in range(lanes):
                top[t, lane] = max(top[t, lane], logs[t, c, lane])
        for lane in range(lanes):
            top[t, lane] = max(top[t, lane], -LARGE)
        for c in range(k):
            for lane in range(lanes):
                logs[t, c, lane] -= top[t, lane]


@compiled_part(fastmath=LANES)
def _multiplied(table: Array, now: Array, then: Array, lanes: int) -> None:
    """Set ``then[j] = sum over i of table[i, j] now[i]`` in each lane."""
    k = len(table)
    for j in range(k):
        for lane in range(lanes):
            then[j, lane] = 0.0
        i = 0
        while i + 3 < k:
            a, b, c, d = table[i, j], table[i + 1, j], table[i + 2, j], table[i + 3, j]
            for lane in range(lanes):
                then[j, lane] += (
                    a * now[i, lane]
                    + b * now[i + 1, lane]
                    + c * now[i + 2, lane]
                    + d * now[i + 3, lane]
                )
            i += 4
        while i < k:
            a = table[i, j]
            for lane in range(lanes):
                then[j, lane] += a * now[i, lane]
            i += 1


@compiled()
def forward(
    log_density: Array,
    table: Array,
    begun: Array,
    pieces: Codes,
    groups: tuple[int, int],
    belief: Array,
    ratio: Array,
    edge: Array,
    found: Array,
) -> None:
    """Set filtered beliefs, and what they are made of, piece by piece.

    Parameters
    ----------
    log_density
        Of each row in each state, shape (n, K).
    table
        Transition probabilities, shape (K, K).
    begun
        Predicted belief at the first row of each piece, warm-up included, (n_pieces, K).
    pieces
        First row with warm-up, first and last row of its own, shape (n_pieces, 3).
    groups
        Which groups of lanes.
    belief, ratio
        Set to the filtered belief of each row and to its density over the total, (n, K); with
        no rows they are not kept.
    edge
        Set to the belief before the first row of its own, as the warm-up has it, and to that of
        the last row, (n_pieces, 2, K).
    found
        Set to the log probability of its own rows, and to the least total, (n_pieces, 2).
    """
    k = len(table)
    is_kept = len(belief) > 0
    density, past = np.zeros((STEPS, k, WIDTH)), np.zeros((STEPS, k, WIDTH))
    top, totals = np.zeros((STEPS, WIDTH)), np.ones((STEPS, WIDTH))
    predicted, now = np.zeros((k, WIDTH)), np.zeros((k, WIDTH))
    total = np.ones(WIDTH)
    for group in range(groups[0], groups[1]):
        first = group * WIDTH
        lanes = min(WIDTH, len(pieces) - first)
        origin = pieces[first : first + lanes, 0]
        own = pieces[first : first + lanes, 1]
        stop = pieces[first : first + lanes, 2]
        n_steps = 0
        for lane in range(lanes):
            n_steps = max(n_steps, stop[lane] - origin[lane])
            found[first + lane, 0], found[first + lane, 1] = 0.0, 1.0
            for c in range(k):
                predicted[c, lane] = begun[first + lane, c]
        for at in range(0, n_steps, STEPS):
            _loaded(log_density, origin + at, 1, origin, stop, 0.0, density)
            _lowered(density, top, lanes)
            _densities(density.ravel())
            for t in range(STEPS):
                for lane in range(lanes):
                    total[lane] = 0.0
                for c in range(k):
                    for lane in range(lanes):
                        now[c, lane] = predicted[c, lane] * density[t, c, lane]
                        total[lane] += now[c, lane]
                for lane in range(lanes):
                    totals[t, lane] = total[lane]
                    total[lane] = 1.0 / total[lane]
                for c in range(k):
                    for lane in range(lanes):
                        now[c, lane] *= total[lane]
                        past[t, c, lane] = now[c, lane]
                        density[t, c, lane] *= total[lane]
                _multiplied(table, now, predicted, lanes)
            if is_kept:
                _stored(past, origin + at, 1, own, stop, belief)
                _stored(density, origin + at, 1, own, stop, ratio)
            for lane in range(lanes):
                for place in range(2):
                    t = (own[lane] if place == 0 else stop[lane]) - 1 - origin[lane] - at
                    if 0 <= t < STEPS:
                        for c in range(k):
                            edge[first + lane, place, c] = past[t, c, lane]
                product, logs, least = 1.0, 0.0, 1.0
                low = max(own[lane] - origin[lane] - at, 0)
                for t in range(low, min(STEPS, stop[lane] - origin[lane] - at)):
                    if not totals[t, lane] >= least:
                        least = totals[t, lane]
                    logs += top[t, lane]
                    product *= totals[t, lane]
                    if product < 1e-40:
                        logs += math.log(product)
                        product = 1.0
                found[first + lane, 0] += logs + math.log(product)
                if not least >= found[first + lane, 1]:
                    found[first + lane, 1] = least


@compiled()
def backward(
    belief: Array,
    ratio: Array,
    table: Array,
    pieces: Codes,
    groups: tuple[int, int],
    smoothed: Array,
    pull: Array,
    warm: Array,
) -> None:
    """Set smoothed beliefs of each row, and what expected transitions are made of.

    Parameters
    ----------
    belief, ratio
        As the forward pass left them.
    table
        Transposed transition probabilities.
    pieces
        First and last row of its own, and last row with warm-up, shape (n_pieces, 3).
    smoothed
        Set to the belief given all rows, shape (n, K).
    pull
        Set to what the expected number of transitions to a row is made of, ``A_ij belief_i
        pull_j``, shape (n, K).
    warm
        Set to the smoothed belief of the row behind its own, as the warm-up has it.
    """
    k = len(table)
    past, share = np.zeros((STEPS, k, WIDTH)), np.zeros((STEPS, k, WIDTH))
    behind, now = np.zeros((k, WIDTH)), np.zeros((k, WIDTH))
    total = np.ones(WIDTH)
    for group in range(groups[0], groups[1]):
        first = group * WIDTH
        lanes = min(WIDTH, len(pieces) - first)
        own = pieces[first : first + lanes, 0]
        stop = pieces[first : first + lanes, 1]
        end = pieces[first : first + lanes, 2]
        n_steps = 0
        for lane in range(lanes):
            n_steps = max(n_steps, end[lane] - own[lane])
        for c in range(k):
            for lane in range(lanes):
                behind[c, lane] = 1.0
        for at in range(0, n_steps, STEPS):
            begin = end - 1 - at
            _loaded(belief, begin, -1, own, end, 1.0, past)
            _loaded(ratio, begin, -1, own, end, 1.0, share)
            for t in range(STEPS):
                for lane in range(lanes):
                    total[lane] = 0.0
                for c in range(k):
                    for lane in range(lanes):
                        past[t, c, lane] *= behind[c, lane]
                        total[lane] += past[t, c, lane]
                        now[c, lane] = min(share[t, c, lane] * behind[c, lane], LARGE)
                        share[t, c, lane] = now[c, lane]
                for lane in range(lanes):
                    total[lane] = 1.0 / total[lane]
                for c in range(k):
                    for lane in range(lanes):
                        past[t, c, lane] *= total[lane]
                _multiplied(table, now, behind, lanes)
                for c in range(k):
                    for lane in range(lanes):
                        behind[c, lane] = min(behind[c, lane], LARGE)
            _stored(past, begin, -1, own, stop, smoothed)
            _stored(share, begin, -1, own, stop, pull)
            for lane in range(lanes):
                t = begin[lane] - stop[lane]
                if 0 <= t < STEPS:
                    for c in range(k):
                        warm[first + lane, c] = past[t, c, lane]


@compiled_part(fastmath=LANES)
def _highest(table: Array, now: Array, then: Array, lanes: int) -> None:
    """Set ``then[j] = max over i of table[i, j] + now[i]`` in each lane."""
    k = len(table)
    for j in range(k):
        a = table[0, j]
        for lane in range(lanes):
            then[j, lane] = now[0, lane] + a
        i = 1
        while i + 1 < k:
            a, b = table[i, j], table[i + 1, j]
            for lane in range(lanes):
                one = max(now[i, lane] + a, now[i + 1, lane] + b)
                then[j, lane] = max(then[j, lane], one)
            i += 2
        if i < k:
            a = table[i, j]
            for lane in range(lanes):
                then[j, lane] = max(then[j, lane], now[i, lane] + a)


@compiled()
def best_scores(
    log_density: Array,
    log_table: Array,
    begun: Array,
    pieces: Codes,
    groups: tuple[int, int],
    score: Array,
    warm: Array,
) -> None:
    """Set the log probability of the best path to each state, less the best of each row.

    Parameters
    ----------
    log_table
        Log transition probabilities, finite, shape (K, K).
    begun
        Log predicted score at the first row of each piece, shape (n_pieces, K).
    score
        Shape (n, K).
    warm
        Set to the score before the first row of its own, as the warm-up has it.
    """
    k = len(log_table)
    logs = np.zeros((STEPS, k, WIDTH))
    before, now = np.zeros((k, WIDTH)), np.zeros((k, WIDTH))
    most = np.zeros(WIDTH)
    for group in range(groups[0], groups[1]):
        first = group * WIDTH
        lanes = min(WIDTH, len(pieces) - first)
        origin = pieces[first : first + lanes, 0]
        own = pieces[first : first + lanes, 1]
        stop = pieces[first : first + lanes, 2]
        n_steps = 0
        for lane in range(lanes):
            n_steps = max(n_steps, stop[lane] - origin[lane])
            for c in range(k):
                now[c, lane] = begun[first + lane, c]
        for at in range(0, n_steps, STEPS):
            _loaded(log_density, origin + at, 1, origin, stop, 0.0, logs)
            for t in range(STEPS):
                for lane in range(lanes):
                    most[lane] = -LARGE
                for c in range(k):
                    for lane in range(lanes):
                        now[c, lane] += max(logs[t, c, lane], -LARGE)
                        most[lane] = max(most[lane], now[c, lane])
                for c in range(k):
                    for lane in range(lanes):
                        before[c, lane] = max(now[c, lane] - most[lane], -LARGE)
                        logs[t, c, lane] = before[c, lane]
                _highest(log_table, before, now, lanes)
            _stored(logs, origin + at, 1, own, stop, score)
            for lane in range(lanes):
                t = own[lane] - 1 - origin[lane] - at
                if 0 <= t < STEPS:
                    for c in range(k):
                        warm[first + lane, c] = logs[t, c, lane]


@compiled()
def traced(score: Array, log_table: Array, ends: Codes, path: Codes) -> None:
    """Set the best path of each sequence, backward from the best last state.

    Parameters
    ----------
    ends
        First row of each sequence, and one behind the last, shape (n_sequences + 1,).
    """
    k = len(log_table)
    for s in range(len(ends) - 1):
        row = ends[s + 1] - 1
        best = 0
        for c in range(1, k):
            if score[row, c] > score[row, best]:
                best = c
        path[row] = best
        for row in range(ends[s + 1] - 2, ends[s] - 1, -1):
            after, best = path[row + 1], 0
            most = score[row, 0] + log_table[0, after]
            for c in range(1, k):
                one = score[row, c] + log_table[c, after]
                if one > most:
                    best, most = c, one
            path[row] = best


@compiled()
def draw_paths(belief: Array, table: Array, ends: Codes, uniform: Array, path: Codes) -> None:
    """Set a path of each sequence, drawn backward given all rows.

    Parameters
    ----------
    belief
        Filtered beliefs, shape (n, K).
    uniform
        A number between 0 and 1 for each row, shape (n,).
    """
    k = len(table)
    weight = np.empty(k)
    for s in range(len(ends) - 1):
        for row in range(ends[s + 1] - 1, ends[s] - 1, -1):
            total = 0.0
            is_last = row == ends[s + 1] - 1
            for c in range(k):
                weight[c] = belief[row, c]
                if not is_last:
                    weight[c] *= table[c, path[row + 1]]
                total += weight[c]
            left = uniform[row] * total
            drawn = 0
            while drawn < k - 1 and left >= weight[drawn]:
                left -= weight[drawn]
                drawn += 1
            while weight[drawn] == 0.0 and drawn > 0:
                drawn -= 1
            path[row] = drawn


@compiled_part()
def _log_total(terms: Array) -> float:
    most = terms[0]
    for i in range(1, len(terms)):
        most = max(most, terms[i])
    if most == -np.inf:
        return -math.inf
    total = 0.0
    for i in range(len(terms)):
        total += math.exp(terms[i] - most)
    return float(most + math.log(total))


@compiled()
def log_smooth(
    log_density: Array,
    log_start: Array,
    log_table: Array,
    belief: Array,
    smoothed: Array,
    counts: Array,
) -> float:
    """Set beliefs of one sequence, and add expected transitions, all in logarithms.

    Slow, and safe however far densities underflow. Return the log probability.
    """
    n, k = log_density.shape
    ahead, behind = np.empty((n, k)), np.zeros((n, k))
    terms = np.empty(k)
    for j in range(k):
        ahead[0, j] = log_start[j] + log_density[0, j]
    for t in range(1, n):
        for j in range(k):
            for i in range(k):
                terms[i] = ahead[t - 1, i] + log_table[i, j]
            ahead[t, j] = _log_total(terms) + log_density[t, j]
    for t in range(n - 2, -1, -1):
        for i in range(k):
            for j in range(k):
                terms[j] = log_table[i, j] + log_density[t + 1, j] + behind[t + 1, j]
            behind[t, i] = _log_total(terms)
    total = _log_total(ahead[n - 1])
    if total == -math.inf:
        return total
    for t in range(n):
        own = _log_total(ahead[t])
        for i in range(k):
            belief[t, i] = math.exp(ahead[t, i] - own)
            smoothed[t, i] = math.exp(ahead[t, i] + behind[t, i] - total)
            if t == n - 1:
                continue
            for j in range(k):
                to = log_density[t + 1, j] + behind[t + 1, j] - total
                counts[i, j] += math.exp(ahead[t, i] + log_table[i, j] + to)
    return float(total)


@compiled(fastmath=LANES)
def normal_logs(x: Array, offset: Array, center: Array, root: Array, out: Array) -> None:
    """Set ``offset_k - |root_k (x - center_k)|^2 / 2`` of complete rows, shape (n, K).

    Parameters
    ----------
    root
        Inverse lower factors of the covariances, shape (K, d, d).
    """
    n, d = x.shape
    tile, square, one = np.empty((d, TILE)), np.empty(TILE), np.empty(TILE)
    for start in range(0, n, TILE):
        size = min(TILE, n - start)
        for r in range(size):
            for j in range(d):
                tile[j, r] = x[start + r, j]
        for k in range(len(offset)):
            for r in range(size):
                square[r] = 0.0
            for j in range(d):
                a, m = root[k, j, 0], center[k, 0]
                if j == 0:
                    for r in range(size):
                        one[r] = a * (tile[0, r] - m)
                elif j == 1:
                    b, p = root[k, j, 1], center[k, 1]
                    for r in range(size):
                        one[r] = a * (tile[0, r] - m) + b * (tile[1, r] - p)
                else:
                    b, p = root[k, j, 1], center[k, 1]
                    c, q = root[k, j, 2], center[k, 2]
                    for r in range(size):
                        pair = a * (tile[0, r] - m) + b * (tile[1, r] - p)
                        one[r] = pair + c * (tile[2, r] - q)
                for i in range(3, j + 1):
                    a, m = root[k, j, i], center[k, i]
                    for r in range(size):
                        one[r] += a * (tile[i, r] - m)
                for r in range(size):
                    square[r] += one[r] * one[r]
            for r in range(size):
                out[start + r, k] = offset[k] - 0.5 * square[r]
