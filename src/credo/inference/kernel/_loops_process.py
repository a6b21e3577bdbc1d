"""Loops of Gaussian processes: weights of the evidence on a covariance, and the Kalman filter.

The weights are written over the inverse of the covariance matrix in one pass.

For series, the filter, its derivatives and its smoother go row by row, for blocks of chains.
The state moves by ``z <- A z + noise`` over the gap to the next row, where A is block
diagonal and upper triangular: ``A[j, j + o] = move[o, j]``, and ``spread`` holds the
covariance of the noise in the same way. A row sees ``h'z + noise`` with ``h = levels`` at the
heads of the blocks. Several series, given as columns, share one covariance.
"""

import numpy as np

from credo.numerics._loops_compilation import compiled, compiled_part
from credo.numerics.array import Array

__all__ = [
    "drawn",
    "filtered",
    "graded",
    "settled",
    "smoothed",
    "transition",
    "weigh_inverse",
]

FAST = {"contract", "reassoc", "nsz"}
IntArray = np.ndarray
Chains = tuple[IntArray, Array, IntArray, IntArray, IntArray]
"""Steps and rates of kinds, then kind and place of entries, then heads of blocks."""


@compiled_part(fastmath=FAST)
def fill_chain(step: int, x: float, move: Array, noise: Array, steady: Array) -> None:
    """Write the transition of one Matern chain over ``x`` in units of its rate.

    ``integrals[m]`` is that of ``u^m exp(-2u)`` from 0 to x, by its series from the highest
    power down where x is small, and from the lowest up elsewhere.
    """
    level = 2.0 if step == 0 else (4.0 if step == 1 else 16.0 / 3.0)
    integrals = np.empty(5)
    most = 2 * step
    decay = np.exp(-x)
    square = decay * decay
    if x <= 1.0:
        term = 1.0 / (most + 1)
        total = term
        k = 1
        while term > 1e-18 * total:
            term *= 2.0 * x / (most + 1 + k)
            total += term
            k += 1
        integrals[most] = total * square * x ** (most + 1)
        for m in range(most, 0, -1):
            integrals[m - 1] = (2.0 * integrals[m] + x**m * square) / m
    else:
        power = square
        integrals[0] = 0.5 * (1.0 - square)
        for m in range(1, most + 1):
            power *= x
            integrals[m] = 0.5 * (m * integrals[m - 1] - power)
    for i in range(step + 1):
        for j in range(step + 1):
            a, b = step - i, step - j
            scale = level
            if a == 2:
                scale *= 0.5
            if b == 2:
                scale *= 0.5
            noise[i, j] = scale * integrals[a + b]
            full = 0.5
            for m in range(1, a + b + 1):
                full *= 0.5 * m
            steady[i, j] = scale * full
            move[i, j] = 0.0
        entry = decay
        for o in range(step + 1 - i):
            move[i, i + o] = entry
            entry *= x / (o + 1)


@compiled_part()
def fill_moves(gap: float, chains: Chains, work: Array, move: Array, spread: Array) -> None:
    """Write the transition of all blocks over a gap of time.

    ``work`` has shape (6, kinds, size, size): transition, noise and steady covariance of each
    kind, and then room for one factor.
    """
    steps, rates, kind_of, place, _ = chains
    n_kinds, n_factors = steps.shape
    for u in range(n_kinds):
        A, Q, P = work[0, u], work[1, u], work[2, u]
        a, q, p = work[3, u], work[4, u], work[5, u]
        A[0, 0], Q[0, 0], P[0, 0] = 1.0, 0.0, 1.0
        size = 1
        for f in range(n_factors):
            if steps[u, f] < 0:
                continue
            t = steps[u, f] + 1
            x = min(gap * rates[u, f], 350.0)
            fill_chain(steps[u, f], x, a, q, p)
            # From the last entry back, no entry is overwritten before it is read.
            for i in range(size - 1, -1, -1):
                for j in range(size - 1, -1, -1):
                    one, noise, steady = A[i, j], Q[i, j], P[i, j]
                    for k in range(t):
                        for m in range(t):
                            at, to = i * t + k, j * t + m
                            A[at, to] = one * a[k, m]
                            Q[at, to] = noise * p[k, m] + (steady - noise) * q[k, m]
                            P[at, to] = steady * p[k, m]
            size *= t
    width, n_states = move.shape
    for j in range(n_states):
        u, at = kind_of[j], place[j]
        for o in range(width):
            is_inside = j + o < n_states and place[j + o] == at + o
            move[o, j] = work[0, u, at, at + o] if is_inside else 0.0
            spread[o, j] = work[1, u, at, at + o] if is_inside else 0.0


@compiled_part(fastmath=FAST)
def advance(move: Array, spread: Array, P: Array, means: Array, row: Array) -> None:
    """Move covariance ``P <- A P A' + Q`` and means ``m <- A m``, in place.

    ``row`` has one entry more than the state, which stays zero.
    """
    width, n = move.shape
    own, next_one = move[0], move[1]
    row[n] = 0.0
    for i in range(n):
        old = P[i]
        scale, next_scale = own[i], next_one[i]
        if next_scale != 0.0:
            below = P[i + 1]
            for j in range(n):
                row[j] = scale * old[j] + next_scale * below[j]
        else:
            for j in range(n):
                row[j] = scale * old[j]
        for o in range(2, width):
            scale = move[o, i]
            if scale != 0.0:
                for j in range(n):
                    row[j] += scale * P[i + o, j]
        for j in range(n):
            old[j] = own[j] * row[j] + next_one[j] * row[j + 1]
        for o in range(2, width):
            for j in range(n - o):
                P[i, j] += move[o, j] * row[j + o]
    for i in range(n):
        P[i, i] += spread[0, i]
    for o in range(1, width):
        for i in range(n - o):
            P[i, i + o] += spread[o, i]
            P[i + o, i] += spread[o, i]
    for c in range(len(means)):
        for j in range(n):
            total = move[0, j] * means[c, j]
            for o in range(1, min(width, n - j)):
                total += move[o, j] * means[c, j + o]
            means[c, j] = total


@compiled_part(fastmath=FAST)
def see(heads: IntArray, levels: Array, P: Array, gain: Array) -> float:
    """Write ``P h`` and return ``h'P h``."""
    n = len(P)
    for j in range(n):
        gain[j] = 0.0
    for b in range(len(heads)):
        level = levels[b]
        if level != 0.0:
            row = P[heads[b]]
            for j in range(n):
                gain[j] += level * row[j]
    total = 0.0
    for b in range(len(heads)):
        total += levels[b] * gain[heads[b]]
    return total


@compiled_part(fastmath=FAST)
def learn_row(P: Array, means: Array, gain: Array, errors: Array, variance: float) -> None:
    """Condition on a row with ``gain = P h``, errors of prediction and their variance."""
    n = len(P)
    for i in range(n):
        scale = gain[i] / variance
        for j in range(n):
            P[i, j] -= scale * gain[j]
    for c in range(len(means)):
        scale = errors[c] / variance
        for j in range(n):
            means[c, j] += scale * gain[j]


@compiled_part(fastmath=FAST)
def surprise(heads: IntArray, levels: Array, means: Array, sides: Array, errors: Array) -> None:
    """Write what each series is above its prediction ``h'm``."""
    for c in range(len(means)):
        total = sides[c]
        for b in range(len(heads)):
            total -= levels[b] * means[c, heads[b]]
        errors[c] = total


@compiled_part()
def copy_into(kept: Array, values: Array) -> None:
    """Copy a matrix: numba takes seconds to compile an assignment of arrays."""
    for i in range(len(values)):
        for j in range(values.shape[1]):
            kept[i, j] = values[i, j]


@compiled_part()
def begin(start: Array, P: Array, means: Array) -> None:
    """Write the state before the first row."""
    P[:] = 0.0
    means[:] = 0.0
    width, n = start.shape
    for o in range(width):
        for i in range(n - o):
            P[i, i + o] = start[o, i]
            P[i + o, i] = start[o, i]


@compiled()
def transition(gap: float, chains: Chains, move: Array, spread: Array) -> None:
    """Fill the transition of all blocks over a gap of time."""
    width = len(move)
    fill_moves(gap, chains, np.empty((6, len(chains[0]), width, width)), move, spread)


@compiled(fastmath=FAST)
def filtered(
    chains: Chains,
    gaps: Array,
    levels: Array,
    noise: Array,
    sides: Array,
    P: Array,
    means: Array,
    mark: Array,
    mean_mark: Array,
) -> tuple[float, int]:
    """Return ``log|S|`` of a stretch of rows, and the row at which it has none or -1.

    Parameters
    ----------
    gaps
        Time from the row before, shape (n,); zero at the very first row.
    levels, noise, sides
        Of each row in order of time: (n, blocks), (n,) and (n, series). The series are
        replaced by errors of predicting each row from all before it, of variance one.
    P, means
        Covariance and means of the state, behind the last row after those behind the row
        before the first.
    mark, mean_mark
        Filled with the state before the first row is seen.
    """
    heads = chains[4]
    n_states = len(P)
    n, n_series = sides.shape
    width = max(2, np.max(chains[3]) + 1)
    move, spread = np.empty((width, n_states)), np.empty((width, n_states))
    work = np.empty((6, len(chains[0]), width, width))
    gain, row, errors = np.empty(n_states), np.empty(n_states + 1), np.empty(n_series)
    log_det, product = 0.0, 1.0
    known_gap = -1.0
    for i in range(n):
        if gaps[i] > 0.0:
            if gaps[i] != known_gap:
                known_gap = gaps[i]
                fill_moves(known_gap, chains, work, move, spread)
            advance(move, spread, P, means, row)
        if i == 0:
            copy_into(mark, P)
            copy_into(mean_mark, means)
        prior = see(heads, levels[i], P, gain)
        variance = prior + noise[i]
        if not (variance > 1e-15 * prior and variance > 0.0):
            return log_det, i
        surprise(heads, levels[i], means, sides[i], errors)
        # One logarithm for many rows.
        product *= variance
        if not 1e-150 < product < 1e150:
            log_det += np.log(product)
            product = 1.0
        scale = 1.0 / np.sqrt(variance)
        for c in range(n_series):
            sides[i, c] = scale * errors[c]
        learn_row(P, means, gain, errors, variance)
    return log_det + np.log(product), -1


@compiled(fastmath=FAST)
def settled(
    turn: Array, head: Array, gain: Array, scale: float, means: Array, sides: Array
) -> None:
    """Replace series by errors of prediction, where covariances are the same at every row.

    Parameters
    ----------
    turn
        ``A'`` of the transition ``A`` from one row to the next, shape (states, states).
    head
        What a row sees of the state, shape (states,).
    gain
        What an error adds to the state, shape (states,).
    scale
        What an error is multiplied by, so that its variance is one.
    means
        Of the state behind a row, shape (series, states), in place.
    sides
        The series, shape (n, series), in place.
    """
    n, n_series = sides.shape
    n_states = len(head)
    moved = np.empty(n_states)
    for i in range(n):
        for c in range(n_series):
            own = means[c]
            for j in range(n_states):
                moved[j] = 0.0
            for k in range(n_states):
                at, row = own[k], turn[k]
                for j in range(n_states):
                    moved[j] += at * row[j]
            error = sides[i, c]
            for j in range(n_states):
                error -= head[j] * moved[j]
            for j in range(n_states):
                own[j] = moved[j] + error * gain[j]
            sides[i, c] = scale * error


@compiled_part(fastmath=FAST)
def forget_row(
    heads: IntArray,
    levels: Array,
    gain: Array,
    errors: Array,
    variance: float,
    slopes: Array,
    N: Array,
    weighted: Array,
    weights: Array,
) -> float:
    """Take ``slopes`` and N from behind a row to before it; return the row's ``(S^-1)_ii``.

    The slopes are those of the log density of a series by its mean, N is the precision that
    all later rows have of the state; ``weights`` gets ``(S^-1 sides)_i`` and ``weighted``
    ``N gain / variance`` from behind the row.
    """
    n = len(N)
    inside = 0.0
    for j in range(n):
        total = 0.0
        for k in range(n):
            total += N[j, k] * gain[k]
        weighted[j] = total / variance
        inside += weighted[j] * gain[j]
    precision = (1.0 + inside) / variance
    for c in range(len(slopes)):
        total = errors[c]
        for j in range(n):
            total -= gain[j] * slopes[c, j]
        weights[c] = total / variance
    for b in range(len(heads)):
        head, level = heads[b], levels[b]
        for j in range(n):
            N[head, j] -= level * weighted[j]
        for j in range(n):
            N[j, head] -= level * weighted[j]
    for b in range(len(heads)):
        scale = precision * levels[b]
        for other in range(len(heads)):
            N[heads[b], heads[other]] += scale * levels[other]
        for c in range(len(slopes)):
            slopes[c, heads[b]] += levels[b] * weights[c]
    return precision


@compiled_part(fastmath=FAST)
def retreat(move: Array, slopes: Array, N: Array, row: Array) -> None:
    """Take ``slopes <- A' slopes`` and ``N <- A' N A`` over a gap, in place.

    ``row`` has one entry more than the state, behind which the row is.
    """
    width, n = move.shape
    own, next_one = move[0], move[1]
    row[0] = 0.0
    for i in range(n - 1, -1, -1):
        old = N[i]
        scale, next_scale = own[i], next_one[i - 1] if i > 0 else 0.0
        if next_scale != 0.0:
            above = N[i - 1]
            for j in range(n):
                row[j + 1] = scale * old[j] + next_scale * above[j]
        else:
            for j in range(n):
                row[j + 1] = scale * old[j]
        for o in range(2, min(width, i + 1)):
            scale = move[o, i - o]
            if scale != 0.0:
                for j in range(n):
                    row[j + 1] += scale * N[i - o, j]
        old[0] = own[0] * row[1]
        for j in range(1, n):
            old[j] = own[j] * row[j + 1] + next_one[j - 1] * row[j]
        for o in range(2, width):
            for j in range(n - o):
                N[i, j + o] += move[o, j] * row[j + 1]
    for c in range(len(slopes)):
        for j in range(n - 1, -1, -1):
            total = move[0, j] * slopes[c, j]
            for o in range(1, min(width, j + 1)):
                total += move[o, j - o] * slopes[c, j - o]
            slopes[c, j] = total


@compiled_part(fastmath=FAST)
def add_slopes(
    gap: float,
    P: Array,
    N: Array,
    means: Array,
    slopes: Array,
    n_outputs: float,
    pulled: Array,
    by_generator: Array,
    by_noise: Array,
) -> None:
    """Add derivatives by entries of the generator, and of the noise, of one gap."""
    width, n = by_generator.shape
    n_series = len(means)
    for c in range(n_series):
        for i in range(n):
            total = means[c, i]
            for j in range(n):
                total += P[i, j] * slopes[c, j]
            pulled[c, i] = total
    for o in range(width):
        for j in range(n - o):
            total = 0.0
            for k in range(n):
                total += P[j + o, k] * N[j, k]
            total *= -n_outputs
            noise = -n_outputs * N[j, j + o]
            for c in range(n_series):
                total += slopes[c, j] * pulled[c, j + o]
                noise += slopes[c, j] * slopes[c, j + o]
            by_generator[o, j] += gap * total
            by_noise[o, j] += 0.5 * gap * noise


@compiled(fastmath=FAST)
def graded(
    chains: Chains,
    start: Array,
    gaps: Array,
    levels: Array,
    noise: Array,
    sides: Array,
    n_outputs: float,
    every: int,
    marks: Array,
    mean_marks: Array,
    by_generator: Array,
    by_spread: Array,
    by_level: Array,
    by_noise: Array,
) -> None:
    """Fill derivatives of ``-(tr(sides' S^-1 sides) + n_outputs log|S|) / 2``.

    From the last row to the first; states are computed anew from marks, some rows at a time.

    Parameters
    ----------
    by_generator, by_spread
        By entries of the generator and of the noise density, shape (width, states).
    by_level, by_noise
        Shapes (n, blocks) and (n,).
    """
    heads = chains[4]
    width, n_states = start.shape
    n, n_series = sides.shape
    P, means = np.empty((n_states, n_states)), np.empty((n_series, n_states))
    move, spread = np.empty((width, n_states)), np.empty((width, n_states))
    work = np.empty((6, len(chains[0]), width, width))
    row = np.empty(n_states + 1)
    Ps, all_means = np.empty((every, n_states, n_states)), np.empty((every, n_series, n_states))
    gains, all_errors = np.empty((every, n_states)), np.empty((every, n_series))
    variances = np.empty(every)
    slopes, N = np.zeros((n_series, n_states)), np.zeros((n_states, n_states))
    pulled, weighted = np.empty((n_series, n_states)), np.empty(n_states)
    weights, toward = np.empty(n_series), np.empty(n_states)
    known_gap = -1.0
    for part in range((n - 1) // every, -1, -1):
        first = part * every
        last = min(first + every, n)
        copy_into(P, marks[part])
        copy_into(means, mean_marks[part])
        for i in range(first, last):
            k = i - first
            if k > 0 and gaps[i] > 0.0:
                if gaps[i] != known_gap:
                    known_gap = gaps[i]
                    fill_moves(known_gap, chains, work, move, spread)
                advance(move, spread, P, means, row)
            copy_into(Ps[k], P)
            copy_into(all_means[k], means)
            variances[k] = see(heads, levels[i], P, gains[k]) + noise[i]
            surprise(heads, levels[i], means, sides[i], all_errors[k])
            learn_row(P, means, gains[k], all_errors[k], variances[k])
        for i in range(last - 1, first - 1, -1):
            k = i - first
            gain, variance = gains[k], variances[k]
            toward[:] = 0.0
            for c in range(n_series):
                share = all_errors[k, c]
                for j in range(n_states):
                    share -= gain[j] * slopes[c, j]
                share /= variance
                for j in range(n_states):
                    toward[j] += share * slopes[c, j]
            precision = forget_row(
                heads, levels[i], gain, all_errors[k], variance, slopes, N, weighted, weights
            )
            own = -n_outputs * precision
            for c in range(n_series):
                own += weights[c] * weights[c]
            by_noise[i] = 0.5 * own
            for j in range(n_states):
                toward[j] += n_outputs * weighted[j]
            for b in range(len(heads)):
                head = heads[b]
                total = own * gain[head]
                for c in range(n_series):
                    total += weights[c] * all_means[k, c, head]
                for j in range(n_states):
                    total += Ps[k, head, j] * toward[j]
                by_level[i, b] = total
            if i > 0 and gaps[i] > 0.0:
                add_slopes(
                    gaps[i], Ps[k], N, all_means[k], slopes, n_outputs, pulled,
                    by_generator, by_spread,
                )  # fmt: skip
                if gaps[i] != known_gap:
                    known_gap = gaps[i]
                    fill_moves(known_gap, chains, work, move, spread)
                retreat(move, slopes, N, row)


@compiled(fastmath=FAST)
def smoothed(
    chains: Chains,
    start: Array,
    gaps: Array,
    levels: Array,
    noise: Array,
    sides: Array,
    asked: IntArray,
    part_of: IntArray,
    means_out: Array,
    variances_out: Array,
    weights_out: Array,
    precision_out: Array,
) -> None:
    """Fill what all rows say of parts of the function at rows that are asked for.

    Parameters
    ----------
    asked
        Number of each row among those that are asked for, or -1 if it is a row of data.
    part_of
        Number of the part that each block belongs to.
    means_out, variances_out
        Posterior moments, shapes (m, parts, series) and (m, parts).
    weights_out, precision_out
        ``S^-1 sides`` and the diagonal of ``S^-1`` at rows of data, (n, series) and (n,).
    """
    heads = chains[4]
    width, n_states = start.shape
    n, n_series = sides.shape
    n_asked, n_parts, _ = means_out.shape
    P, means = np.empty((n_states, n_states)), np.empty((n_series, n_states))
    move, spread = np.empty((width, n_states)), np.empty((width, n_states))
    work = np.empty((6, len(chains[0]), width, width))
    row, own = np.empty(n_states + 1), np.empty(len(heads))
    gains, errors = np.empty((n, n_states)), np.empty((n, n_series))
    variances = np.empty(n)
    seen = np.empty((n_asked, n_parts, n_states))
    begin(start, P, means)
    known_gap = -1.0
    for i in range(n):
        if i > 0 and gaps[i] > 0.0:
            if gaps[i] != known_gap:
                known_gap = gaps[i]
                fill_moves(known_gap, chains, work, move, spread)
            advance(move, spread, P, means, row)
        if asked[i] < 0:
            variances[i] = see(heads, levels[i], P, gains[i]) + noise[i]
            surprise(heads, levels[i], means, sides[i], errors[i])
            learn_row(P, means, gains[i], errors[i], variances[i])
            continue
        m = asked[i]
        for part in range(n_parts):
            for b in range(len(heads)):
                own[b] = levels[i, b] if part_of[b] == part else 0.0
            variances_out[m, part] = see(heads, own, P, seen[m, part])
            for c in range(n_series):
                total = 0.0
                for b in range(len(heads)):
                    total += own[b] * means[c, heads[b]]
                means_out[m, part, c] = total
    slopes, N = np.zeros((n_series, n_states)), np.zeros((n_states, n_states))
    weighted = np.empty(n_states)
    for i in range(n - 1, -1, -1):
        if asked[i] < 0:
            precision_out[i] = forget_row(
                heads, levels[i], gains[i], errors[i], variances[i], slopes, N, weighted,
                weights_out[i],
            )  # fmt: skip
        else:
            m = asked[i]
            for part in range(n_parts):
                gain = seen[m, part]
                for c in range(n_series):
                    total = 0.0
                    for j in range(n_states):
                        total += gain[j] * slopes[c, j]
                    means_out[m, part, c] += total
                total = 0.0
                for j in range(n_states):
                    inner = 0.0
                    for k in range(n_states):
                        inner += N[j, k] * gain[k]
                    total += inner * gain[j]
                variances_out[m, part] -= total
        if i > 0 and gaps[i] > 0.0:
            if gaps[i] != known_gap:
                known_gap = gaps[i]
                fill_moves(known_gap, chains, work, move, spread)
            retreat(move, slopes, N, row)


@compiled_part()
def fill_root(band: Array, root: Array) -> None:
    """Write the lower factor of a covariance that is held by its diagonals.

    ``band[o, j]`` is entry (j, j + o), and ``root[i, o]`` entry (i, i - o) of the factor. A
    state that those before it determine has no noise of its own.
    """
    width, n = band.shape
    for i in range(n):
        for o in range(min(i, width - 1), -1, -1):
            j = i - o
            total = band[o, j]
            for k in range(max(0, i - width + 1), j):
                total -= root[i, i - k] * root[j, j - k]
            if o > 0:
                root[i, o] = total / root[j, 0] if root[j, 0] > 0.0 else 0.0
            else:
                root[i, 0] = np.sqrt(total) if total > 1e-15 * band[0, i] else 0.0


@compiled()
def drawn(
    chains: Chains, start: Array, gaps: Array, levels: Array, normals: Array, values: Array
) -> None:
    """Fill random functions at rows in the order of time.

    Parameters
    ----------
    normals
        Standard normal numbers, shape (n, draws, states).
    values
        Of each function at each row, shape (n, draws).
    """
    heads = chains[4]
    width, n_states = start.shape
    n, n_draws, _ = normals.shape
    move, spread = np.empty((width, n_states)), np.empty((width, n_states))
    work = np.empty((6, len(chains[0]), width, width))
    root, state = np.zeros((n_states, width)), np.zeros((n_draws, n_states))
    fill_root(start, root)
    known_gap = -1.0
    for i in range(n):
        if i > 0 and gaps[i] > 0.0 and gaps[i] != known_gap:
            known_gap = gaps[i]
            fill_moves(known_gap, chains, work, move, spread)
            fill_root(spread, root)
        for c in range(n_draws):
            own, fresh = state[c], normals[i, c]
            if i == 0 or gaps[i] > 0.0:
                for j in range(n_states):
                    total = 0.0
                    if i > 0:
                        for o in range(min(width, n_states - j)):
                            total += move[o, j] * own[j + o]
                    for o in range(min(width, j + 1)):
                        total += root[j, o] * fresh[j - o]
                    own[j] = total
            seen = 0.0
            for b in range(len(heads)):
                seen += levels[i, b] * own[heads[b]]
            values[i, c] = seen


@compiled(fastmath=FAST)
def weigh_inverse(inverse: Array, plus: Array, n_outputs: float) -> None:
    """Replace the upper triangle of an inverse by ``P P' - n_outputs A``, counted twice.

    With weights twice as large above the diagonal and zero below it, sums over all pairs of
    rows of a symmetric matrix are those of the symmetric weights.

    Parameters
    ----------
    inverse
        ``A``, C-contiguous, shape (n, n); what stands below its diagonal is not read.
    plus
        ``P'``, C-contiguous, shape (r, n).
    """
    n, rank = len(inverse), len(plus)
    for i in range(n):
        row = inverse[i]
        for j in range(i):
            row[j] = 0.0
        for j in range(i, n):
            row[j] *= -2.0 * n_outputs
        for r in range(rank):
            own = 2.0 * plus[r, i]
            other = plus[r]
            for j in range(i, n):
                row[j] += own * other[j]
        row[i] *= 0.5
