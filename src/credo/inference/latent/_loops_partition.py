"""Loops that move rows between clusters whose parameters are integrated out.

A cluster is one row ``s`` of numbers. ``s[0]`` is its size. Columns 0 to d - 1 of ``x`` are
one normal vector: its posterior location is ``s[1 : 1 + d]``, the lower factor L of its
posterior scale matrix the d * d numbers after it, and then the sum of the logs of L's diagonal.
Each other column has numbers of its own from ``first[c]`` on:

====  ==================  ============================  ================================
kind  column              numbers                       ``hyper[c]``
====  ==================  ============================  ================================
0     normal              count, mean, scatter          location, strength, shape, rate
1     category            count, weight of each state   sum of pseudo-counts
2     Poisson count       count, total                  shape, rate
3     exponential         count, total                  shape, rate
4     normal, known noise count, total                  location, precision, noise precision
====  ==================  ============================  ================================

Pseudo-counts of states stand in the numbers of an empty cluster. A NaN says nothing, in other
columns than those of the vector. ``model`` is (d, strength, df, vector table, kind, first,
hyper, normal table); tables hold what depends on counts alone. A law of partitions is ``gamma``
and ``log_new``: a row joins a cluster of n rows with weight ``n + gamma``, and opens one beside
t others with weight ``exp(log_new[t])``.

Random numbers are entries of one SplitMix64 sequence [steele2014]_.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.numerics._loops_compilation import compiled, compiled_part
from credo.numerics.array import Array
from credo.numerics.special._loops_split_mix import GAMMA, uniform

__all__ = ["log_predictives", "sweeps"]

Codes = NDArray[np.int64]

NEGLIGIBLE = 45.0
"""Below the most probable cluster by this many nats, a cluster is never drawn."""

LOG_TWO_PI = math.log(2.0 * math.pi)


@compiled_part()
def _rotated(lower: Array, v: Array, sign: float) -> float:
    """Change L so that ``L L'`` gains ``sign v v'``; return the sum of logs of its diagonal."""
    d = v.size
    log_diagonal = 0.0
    for j in range(d):
        old = lower[j * d + j]
        square = old * old + sign * v[j] * v[j]
        new = math.sqrt(max(square, 1e-300))
        c, w = new / old, v[j] / old
        lower[j * d + j] = new
        log_diagonal += math.log(new)
        for i in range(j + 1, d):
            lower[i * d + j] = (lower[i * d + j] + sign * w * v[i]) / c
            v[i] = c * v[i] - w * lower[i * d + j]
    return log_diagonal


@compiled_part()
def _added(row: Array, s: Array, work: Array, model: Any) -> None:
    """Put a row into a cluster."""
    d, strength, _, _, kind, first, _, _ = model
    if d > 0:
        k = strength + s[0]
        root = math.sqrt(k / (k + 1.0))
        for j in range(d):
            away = row[j] - s[1 + j]
            work[j] = root * away
            s[1 + j] += away / (k + 1.0)
        end = 1 + d + d * d
        s[end] = _rotated(s[1 + d : end], work[:d], 1.0)
    s[0] += 1.0
    for c in range(kind.size):
        value, o = row[d + c], first[c]
        if math.isnan(value):
            continue
        s[o] += 1.0
        if kind[c] == 0:
            away = value - s[o + 1]
            s[o + 1] += away / s[o]
            s[o + 2] += away * (value - s[o + 1])
        elif kind[c] == 1:
            s[o + 1 + int(value)] += 1.0
        else:
            s[o + 1] += value


@compiled_part()
def _removed(row: Array, s: Array, work: Array, model: Any) -> None:
    """Take a row out of a cluster."""
    d, strength, _, _, kind, first, _, _ = model
    if d > 0:
        k = strength + s[0]
        root = math.sqrt(k / (k - 1.0))
        for j in range(d):
            away = row[j] - s[1 + j]
            work[j] = root * away
            s[1 + j] -= away / (k - 1.0)
        end = 1 + d + d * d
        s[end] = _rotated(s[1 + d : end], work[:d], -1.0)
    s[0] -= 1.0
    for c in range(kind.size):
        value, o = row[d + c], first[c]
        if math.isnan(value):
            continue
        s[o] -= 1.0
        if kind[c] == 0:
            if s[o] < 0.5:
                s[o] = 0.0
                s[o + 1] = 0.0
                s[o + 2] = 0.0
            else:
                away = value - s[o + 1]
                s[o + 1] -= away / s[o]
                s[o + 2] = max(s[o + 2] - away * (value - s[o + 1]), 0.0)
        elif kind[c] == 1:
            s[o + 1 + int(value)] -= 1.0
        else:
            s[o + 1] -= value


@compiled_part()
def _log_predictive(row: Array, s: Array, work: Array, model: Any) -> float:
    """Return the log density of a row that joins a cluster, given the rows that it has."""
    d, strength, df, table, kind, first, hyper, normal = model
    log_density = 0.0
    if d > 0:
        n = s[0]
        k = strength + n
        square = 0.0
        base = 1 + d
        for i in range(d):
            z = row[i] - s[1 + i]
            for j in range(i):
                z -= s[base + i * d + j] * work[j]
            z /= s[base + i * d + i]
            work[i] = z
            square += z * z
        half = 0.5 * (df + n + 1.0)
        log_density += table[int(n)] - s[base + d * d]
        log_density -= half * math.log1p(square * k / (k + 1.0))
    for c in range(kind.size):
        value, o = row[d + c], first[c]
        if math.isnan(value):
            continue
        n = s[o]
        if kind[c] == 0:
            location, k, a, b = hyper[c, 0], hyper[c, 1], hyper[c, 2], hyper[c, 3]
            shift = s[o + 1] - location
            rate = b + 0.5 * (s[o + 2] + k * n / (k + n) * shift * shift)
            center = location + n / (k + n) * shift
            k += n
            away = value - center
            ratio = k / (k + 1.0)
            spread = 2.0 * rate / ratio
            log_density += normal[c, int(n)] - 0.5 * math.log(math.pi * spread)
            log_density -= (a + 0.5 * n + 0.5) * math.log1p(away * away / spread)
        elif kind[c] == 1:
            log_density += math.log(s[o + 1 + int(value)] / (n + hyper[c, 0]))
        elif kind[c] == 2:
            a, b = hyper[c, 0] + s[o + 1], hyper[c, 1] + n
            log_density += math.lgamma(a + value) - math.lgamma(a) - math.lgamma(value + 1.0)
            log_density -= a * math.log1p(1.0 / b) + value * math.log(b + 1.0)
        elif kind[c] == 3:
            a, b = hyper[c, 0] + n, hyper[c, 1] + s[o + 1]
            log_density += math.log(a) - math.log(b) - (a + 1.0) * math.log1p(value / b)
        else:
            location, own, noise = hyper[c, 0], hyper[c, 1], hyper[c, 2]
            precision = own + n * noise
            away = value - (own * location + noise * s[o + 1]) / precision
            spread = 1.0 / noise + 1.0 / precision
            log_density -= 0.5 * (LOG_TWO_PI + math.log(spread) + away * away / spread)
    return log_density


@compiled()
def log_predictives(x: Array, empty: Array, model: Any, out: Array) -> None:
    """Set ``out[i]`` to the log density of each row alone."""
    work = np.empty(max(model[0], 1))
    for i in range(x.shape[0]):
        out[i] = _log_predictive(x[i], empty, work, model)


@compiled_part()
def _next(word: NDArray[np.uint64]) -> float:
    """Return the next random number between 0 and 1, and move on in the sequence."""
    word[0] += GAMMA
    return float(uniform(word[0]))


@compiled_part()
def _log_rising(n: float, gamma: float) -> float:
    """Return the log of ``(1 + gamma) (2 + gamma) ... (n - 1 + gamma)``."""
    return math.lgamma(n + gamma) - math.lgamma(1.0 + gamma)


@compiled_part()
def _shuffled_members(
    label: Codes, a: int, b: int, i: int, j: int, members: Codes, word: NDArray[np.uint64]
) -> int:
    """Fill in the rows of clusters a and b but i and j, in random order; return how many."""
    n = 0
    for r in range(label.size):
        if (label[r] == a or label[r] == b) and r != i and r != j:
            members[n] = r
            n += 1
    for r in range(n - 1, 0, -1):
        other = int(_next(word) * (r + 1))
        members[r], members[other] = members[other], members[r]
    return n


@compiled_part()
def _split_or_merge(
    x: Array,
    base: Array,
    label: Codes,
    state: Array,
    active: Codes,
    place: Codes,
    n_active: int,
    empty: Array,
    model: Any,
    gamma: float,
    log_new: Array,
    members: Codes,
    side: NDArray[np.int8],
    parts: Array,
    work: Array,
    word: NDArray[np.uint64],
) -> int:
    """Propose to split the cluster of two random rows, or to merge theirs; return how many are.

    Rows are dealt one by one, in random order, to the two parts that began with a row each, by
    the probability that they have given those dealt before [dahl2003]_.
    """
    n = label.size
    i = int(_next(word) * n)
    j = int(_next(word) * (n - 1))
    if j >= i:
        j += 1
    a, b = label[i], label[j]
    is_split = a == b
    if is_split and n_active >= log_new.size:
        return n_active
    n_others = _shuffled_members(label, a, b, i, j, members, word)
    one, two, both = parts[0], parts[1], parts[2]
    one[:] = empty
    two[:] = empty
    both[:] = empty
    _added(x[i], one, work, model)
    _added(x[j], two, work, model)
    log_parts = base[i] + base[j]
    log_both = base[i]
    _added(x[i], both, work, model)
    log_both += _log_predictive(x[j], both, work, model)
    _added(x[j], both, work, model)
    log_way = 0.0
    for m in range(n_others):
        r = members[m]
        log_one = _log_predictive(x[r], one, work, model)
        log_two = _log_predictive(x[r], two, work, model)
        gap = log_two + math.log(two[0] + gamma) - log_one - math.log(one[0] + gamma)
        # The log of the probability of either side, without overflow.
        tail = math.log1p(math.exp(-abs(gap)))
        log_first = -tail - max(gap, 0.0)
        log_second = -tail - max(-gap, 0.0)
        is_first = math.log(_next(word)) < log_first if is_split else label[r] == a
        log_both += _log_predictive(x[r], both, work, model)
        _added(x[r], both, work, model)
        if is_first:
            side[m] = 0
            log_way += log_first
            log_parts += log_one
            _added(x[r], one, work, model)
        else:
            side[m] = 1
            log_way += log_second
            log_parts += log_two
            _added(x[r], two, work, model)
    t = n_active if is_split else n_active - 1
    gain = log_new[t] + log_parts - log_both - log_way
    gain += _log_rising(one[0], gamma) + _log_rising(two[0], gamma)
    gain -= _log_rising(both[0], gamma)
    if math.log(_next(word)) >= (gain if is_split else -gain):
        return n_active
    if is_split:
        fresh = active[n_active]
        place[fresh] = n_active
        state[a] = one
        state[fresh] = two
        label[j] = fresh
        for m in range(n_others):
            if side[m] == 1:
                label[members[m]] = fresh
        return n_active + 1
    state[a] = both
    for r in range(n):
        if label[r] == b:
            label[r] = a
    last = active[n_active - 1]
    active[place[b]] = last
    place[last] = place[b]
    active[n_active - 1] = b
    return n_active - 1


@compiled_part()
def _log_vector(
    x: Array,
    i: int,
    state: Array,
    k: int,
    work: Array,
    head: tuple[int, float, float],
    table: Array,
    shrink: Array,
    least: float,
) -> float:
    """Return what `_log_predictive` does of a vector alone, without views of rows.

    It may be minus infinity where it is surely below ``least``. ``shrink`` is
    ``(strength + n) / (strength + n + 1)`` for n rows.
    """
    d, _, df = head
    n = state[k, 0]
    square = 0.0
    base = 1 + d
    for a in range(d):
        z = x[i, a] - state[k, 1 + a]
        for b in range(a):
            z -= state[k, base + a * d + b] * work[b]
        z /= state[k, base + a * d + a]
        work[a] = z
        square += z * z
    half = 0.5 * (df + n + 1.0)
    top = table[int(n)] - state[k, base + d * d]
    square *= shrink[int(n)]
    # log1p(u) is at least u / (1 + u), which costs much less, and without a division less yet.
    if (top - least) * (1.0 + square) < half * square:
        return -math.inf
    found: float = top - half * math.log1p(square)
    return found


@compiled()
def sweeps(
    x: Array,
    label: Codes,
    empty: Array,
    model: Any,
    law: tuple[float, Array],
    base: Array,
    n_sweeps: int,
    n_moves: int,
    seed: int,
) -> float:
    """Redraw the cluster of every row ``n_sweeps`` times; return the log density of the rows.

    ``label`` holds clusters 0 to t - 1, before and after; ``base`` the log density of each row
    alone. After each sweep ``n_moves`` splits or merges are proposed. The log density is that
    of all rows given the clusters after the last sweep.
    """
    gamma, log_new = law
    n = x.shape[0]
    n_slots = log_new.size
    head, table, is_vector = model[:3], model[3], model[4].size == 0
    state = np.empty((n_slots, empty.size))
    work, parts = np.empty(max(model[0], 1)), np.empty((3, empty.size))
    members, side = np.empty(n, np.int64), np.empty(n, np.int8)
    active, place = np.arange(n_slots), np.arange(n_slots)
    weight = np.empty(n_slots + 1)
    log_size = np.log(np.maximum(np.arange(n + 1) + gamma, 1e-300))
    total_strength = model[1] + np.arange(n + 1)
    shrink = total_strength / (total_strength + 1.0)
    word = np.array([np.uint64(seed)])
    n_active = 0
    for i in range(n):
        n_active = max(n_active, label[i] + 1)
    for k in range(n_active):
        state[k] = empty
    for i in range(n):
        _added(x[i], state[label[i]], work, model)
    for _ in range(n_sweeps):
        for i in range(n):
            row, k = x[i], label[i]
            _removed(row, state[k], work, model)
            if state[k, 0] < 0.5:
                n_active -= 1
                last = active[n_active]
                active[place[k]] = last
                place[last] = place[k]
                active[n_active] = k
            n_options = n_active
            top = -math.inf
            if n_active < n_slots:
                top = log_new[n_active] + base[i]
            if state[k, 0] > 0.5:
                if is_vector:
                    log_own = _log_vector(x, i, state, k, work, head, table, shrink, -math.inf)
                else:
                    log_own = _log_predictive(row, state[k], work, model)
                top = max(top, log_size[int(state[k, 0])] + log_own)
            for a in range(n_active):
                c = active[a]
                log_n = log_size[int(state[c, 0])]
                if is_vector:
                    least = top - log_n - NEGLIGIBLE
                    log_own = _log_vector(x, i, state, c, work, head, table, shrink, least)
                else:
                    log_own = _log_predictive(row, state[c], work, model)
                log_weight = log_n + log_own
                weight[a] = log_weight
                top = max(top, log_weight)
            if n_active < n_slots:
                weight[n_active] = log_new[n_active] + base[i]
                top = max(top, weight[n_active])
                n_options += 1
            total = 0.0
            for a in range(n_options):
                if weight[a] > top - NEGLIGIBLE:
                    total += math.exp(weight[a] - top)
                weight[a] = total
            u = _next(word) * total
            a = 0
            while a < n_options - 1 and weight[a] <= u:
                a += 1
            k = active[a]
            if a == n_active:
                place[k] = a
                state[k] = empty
                n_active += 1
            _added(row, state[k], work, model)
            label[i] = k
        if n > 1:
            for _ in range(n_moves):
                n_active = _split_or_merge(
                    x, base, label, state, active, place, n_active, empty, model,
                    gamma, log_new, members, side, parts, work, word,
                )  # fmt: skip
    # Clusters by their first row, and their densities from scratch.
    place[:] = -1
    n_active = 0
    log_density = 0.0
    for i in range(n):
        k = label[i]
        if place[k] < 0:
            place[k] = n_active
            state[n_active] = empty
            n_active += 1
        label[i] = place[k]
    for k in range(n_active):
        state[k] = empty
    for i in range(n):
        s = state[label[i]]
        log_density += _log_predictive(x[i], s, work, model)
        _added(x[i], s, work, model)
    return log_density
