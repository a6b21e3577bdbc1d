"""Loops that weigh and search the splits of decision stumps, and that add up their votes.

Orders are int32 (n_features, n_samples), ends bool and block numbers uint8 of that shape, class
codes uintp, all other arrays C-contiguous float64. Every loop releases the interpreter, so that
parts run on several cores.
"""

import numpy as np
from numpy.typing import NDArray

from credo.numerics._loops_compilation import compiled, compiled_part
from credo.numerics.array import Array

__all__ = ["edge_gains", "first_split", "inner_gains", "table_votes"]

Codes = NDArray[np.intp]
# Numbers without a sign are indexed without asking whether they count from the end.
Names = NDArray[np.uintp]
Blocks = NDArray[np.uint8]
Orders = NDArray[np.int32]
Flags = NDArray[np.bool_]


@compiled_part()
def _add_two(
    first: Blocks, second: Blocks, weight: Array, codes: Names, one: Array, two: Array
) -> None:
    """Add the weight of each class in each block, of two features side by side."""
    for i in range(len(weight)):
        amount, code = weight[i], codes[i]
        one[code, first[i]] += amount
        two[code, second[i]] += amount


@compiled_part()
def _add_one(number: Blocks, weight: Array, codes: Names, left: Array) -> None:
    for i in range(len(weight)):
        left[codes[i], number[i]] += weight[i]


@compiled_part()
def _accumulate(left: Array) -> None:
    """Turn the weight in each block into the weight before it; the last is that of all."""
    for k in range(left.shape[0]):
        before = 0.0
        for b in range(left.shape[1]):
            inside = left[k, b]
            left[k, b] = before
            before += inside


@compiled_part()
def _largest(values: Array) -> float:
    most = values[0]
    for k in range(1, len(values)):
        most = max(most, values[k])
    return float(most)


@compiled_part()
def _most_between(left: Array, low: int, high: int, total: Array) -> float:
    """Return a bound of the gain of any split from edge low to edge high into two classes.

    No class has more on the left than at the higher edge, nor more on the right than at the
    lower; where both are one edge, the bound is the gain. Splits into the same class gain no
    more than the constant, and would loosen the bound.
    """
    if len(total) == 2:
        up = left[0, high] + (total[1] - left[1, low])
        return float(max(up, left[1, high] + (total[0] - left[0, low])))
    left_first = right_first = 0
    left_most = left_next = right_most = right_next = -np.inf
    for k in range(len(total)):
        amount, rest = left[k, high], total[k] - left[k, low]
        if amount > left_most:
            left_first, left_most, left_next = k, amount, left_most
        else:
            left_next = max(left_next, amount)
        if rest > right_most:
            right_first, right_most, right_next = k, rest, right_most
        else:
            right_next = max(right_next, rest)
    if left_first != right_first:
        return left_most + right_most
    return max(left_most + right_next, left_next + right_most)


@compiled_part()
def _scan(
    order: Orders,
    is_end: Flags,
    weight: Array,
    codes: Names,
    left: Array,
    total: Array,
    enough: float,
) -> tuple[int, float]:
    """Return the place and gain of the first split with more than enough, else the best gain.

    ``left`` is the weight of each class before the first place, and is moved along.
    """
    heavy_left, heaviest, best = _largest(left), 0, -np.inf
    for k in range(1, len(total)):
        if total[k] - left[k] > total[heaviest] - left[heaviest]:
            heaviest = k
    for i in range(len(order)):
        row = order[i]
        code = codes[row]
        left[code] += weight[row]
        heavy_left = max(heavy_left, left[code])
        if code == heaviest:
            for k in range(len(total)):
                if total[k] - left[k] > total[heaviest] - left[heaviest]:
                    heaviest = k
        if is_end[i]:
            best = max(best, heavy_left + total[heaviest] - left[heaviest])
            if best > enough:
                return i, best
    return -1, best


@compiled_part()
def _best_of_two(
    order: Orders,
    is_end: Flags,
    weight: Array,
    codes: Names,
    left: Array,
    total: Array,
) -> float:
    """Return the greatest gain of a split into two classes, if there are no more classes.

    It takes one running sum: the weight on the left of the second class less the first.
    """
    excess = left[1] - left[0]
    low, high = np.inf, -np.inf
    for i in range(len(order)):
        row = order[i]
        excess += weight[row] if codes[row] else -weight[row]
        if is_end[i]:
            low, high = min(low, excess), max(high, excess)
    return float(max(total[1] - low, total[0] + high))


@compiled()
def edge_gains(
    number: Blocks,
    weight: Array,
    codes: Names,
    left: Array,
    gain: Array,
    bound: Array,
    start: int,
    stop: int,
) -> None:
    """Set the class weights before each block, and what splits at and between edges can gain.

    The gain is the sum of both sides' heaviest class. ``left`` has shape
    (n_features, n_classes, n_blocks + 1), ``bound`` (n_features, n_blocks).
    """
    n_classes, last = left.shape[1], left.shape[2] - 1
    for j in range(start, stop):
        for k in range(n_classes):
            for b in range(last + 1):
                left[j, k, b] = 0.0
    for j in range(start, stop - 1, 2):
        _add_two(number[j], number[j + 1], weight, codes, left[j], left[j + 1])
    if (stop - start) % 2 == 1:
        _add_one(number[stop - 1], weight, codes, left[stop - 1])
    total = np.empty(n_classes)
    for j in range(start, stop):
        _accumulate(left[j])
        for k in range(n_classes):
            total[k] = left[j, k, last]
        gain[j] = _largest(total)
        for b in range(bound.shape[1]):
            gain[j] = max(gain[j], _most_between(left[j], b, b, total))
            bound[j, b] = _most_between(left[j], b, b + 1, total)


@compiled()
def inner_gains(
    orders: Orders,
    is_end: Flags,
    edges: Orders,
    weight: Array,
    codes: Names,
    total: Array,
    left: Array,
    features: Codes,
    blocks: Codes,
    gain: Array,
    start: int,
    stop: int,
) -> None:
    """Set the greatest gain of a split inside each of the blocks named start to stop - 1."""
    before = np.empty(len(total))
    for p in range(start, stop):
        j, b = features[p], blocks[p]
        for k in range(len(total)):
            before[k] = left[j, k, b]
        low, high = edges[j, b], edges[j, b + 1]
        order, end = orders[j, low:high], is_end[j, low:high]
        if len(total) == 2:
            gain[p] = _best_of_two(order, end, weight, codes, before, total)
        else:
            _, gain[p] = _scan(order, end, weight, codes, before, total, np.inf)


@compiled()
def first_split(
    order: Orders,
    is_end: Flags,
    edges: Orders,
    is_candidate: Flags,
    weight: Array,
    codes: Names,
    total: Array,
    left: Array,
    enough: float,
) -> tuple[int, Array]:
    """Return the first place whose split gains more than enough, and the weight on its left.

    Only blocks that are candidates are searched inside.
    Place -1 is the split with nothing on the left, and what is found if no other gains enough.
    """
    before = np.zeros(len(total))
    if _largest(total) > enough:
        return -1, before
    for b in range(len(is_candidate)):
        low, high = edges[b], edges[b + 1]
        at = b if is_candidate[b] else b + 1
        for k in range(len(total)):
            before[k] = left[k, at]
        if is_candidate[b]:
            place, _ = _scan(
                order[low:high], is_end[low:high], weight, codes, before, total, enough
            )
            if place >= 0:
                return low + place, before
        elif _most_between(left, b + 1, b + 1, total) > enough:
            return high - 1, before
    for k in range(len(total)):
        before[k] = 0.0
    return -1, before


@compiled()
def table_votes(
    x: Array,
    features: Codes,
    first: Codes,
    thresholds: Array,
    tables: Array,
    votes: Array,
    start: int,
    stop: int,
) -> None:
    """Add the votes of step functions of single features, for rows start to stop - 1.

    Step function f has thresholds ``first[f]`` to ``first[f + 1] - 1`` in rising order, and one
    row of ``tables`` more than thresholds, beginning at ``first[f] + f``.
    """
    for i in range(start, stop):
        for f in range(len(features)):
            value = x[i, features[f]]
            low, high = first[f], first[f + 1]
            while low < high:
                middle = (low + high) // 2
                if value > thresholds[middle]:
                    low = middle + 1
                else:
                    high = middle
            for k in range(votes.shape[1]):
                votes[i, k] += tables[low + f, k]
