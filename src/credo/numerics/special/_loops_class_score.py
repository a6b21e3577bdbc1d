"""Loops that add the log density of every row under every class to a score (n_rows, K).

Arrays are C-contiguous float64. Rows are turned on their side in small tiles, so that the
innermost loop runs over rows, whatever the number of columns and classes. NaN entries are
missing and add nothing.
"""

import math

import numpy as np
from numpy.typing import NDArray

from credo.numerics._loops_compilation import compiled, compiled_part
from credo.numerics.array import Array

__all__ = ["binary", "polya", "softmax", "student_t"]

TILE = 64
GROWN = 1e30


@compiled()
def student_t(
    x: Array, loc: Array, steep: Array, power: Array, log_peak: Array, score: Array
) -> int:
    """Add ``log_peak - power * log(1 + (steep * (x - loc))^2)`` of all columns.

    Parameters have shape (K, n_columns). Columns in a row with one power share a logarithm:
    the product of their factors, less one, grows as ``p + q + p q``, which keeps the digits
    of small terms. Rows with missing values, or far out, are summed again one by one.
    Return how many such rows hold infinity.
    """
    n, d = x.shape
    tile = np.empty((d, TILE))
    grown = np.empty(TILE)
    total = np.empty(TILE)
    n_infinite = 0
    for start in range(0, n, TILE):
        size = min(TILE, n - start)
        for r in range(size):
            for j in range(d):
                tile[j, r] = x[start + r, j]
        for k in range(loc.shape[0]):
            for r in range(size):
                grown[r] = 0.0
                total[r] = 0.0
            for j in range(d):
                m, c = loc[k, j], steep[k, j]
                n_large = 0
                for r in range(size):
                    z = c * (tile[j, r] - m)
                    q = z * z
                    grown[r] += q + grown[r] * q
                    n_large += grown[r] > GROWN
                if j == d - 1 or power[k, j + 1] != power[k, j] or n_large > 0:
                    for r in range(size):
                        total[r] -= power[k, j] * math.log1p(grown[r])
                        grown[r] = 0.0
            peak = 0.0
            for j in range(d):
                peak += log_peak[k, j]
            for r in range(size):
                # Neither a missing value nor an overflow leaves a finite sum.
                if total[r] - total[r] == 0.0:
                    score[start + r, k] += peak + total[r]
                else:
                    n_infinite += _n_infinite(x[start + r]) > 0
                    score[start + r, k] += _row_by_terms(
                        x[start + r], loc[k], steep[k], power[k], log_peak[k]
                    )
    return n_infinite


@compiled()
def binary(x: Array, log_one: Array, log_zero: Array, score: Array) -> int:
    """Add ``log_one`` for ones and ``log_zero`` for zeros; return how many are neither."""
    n, d = x.shape
    tile = np.empty((d, TILE))
    total = np.empty(TILE)
    n_other = 0
    for start in range(0, n, TILE):
        size = min(TILE, n - start)
        for r in range(size):
            for j in range(d):
                value = x[start + r, j]
                tile[j, r] = value
                n_other += (value != 0.0) & (value != 1.0) & (value == value)
        for k in range(log_one.shape[0]):
            for r in range(size):
                total[r] = 0.0
            for j in range(d):
                one, zero = log_one[k, j], log_zero[k, j]
                for r in range(size):
                    value = tile[j, r]
                    known = one if value == 1.0 else zero
                    total[r] += known if value == value else 0.0
            for r in range(size):
                score[start + r, k] += total[r]
    return n_other


@compiled()
def polya(
    value: Array,
    column: NDArray[np.intp],
    row_end: NDArray[np.intp],
    concentration: Array,
    score: Array,
) -> None:
    """Add the log probability of word sequences with these counts, probabilities unknown.

    ``sum_j [lnG(a_j + x_j) - lnG(a_j)] - lnG(a + n) + lnG(a)`` for the rows of a compressed
    sparse matrix; ``concentration`` has shape (n_columns, K), so that classes are neighbors.
    """
    n_classes = concentration.shape[1]
    whole = np.zeros(n_classes)
    for j in range(concentration.shape[0]):
        for k in range(n_classes):
            whole[k] += concentration[j, k]
    for i in range(score.shape[0]):
        length = 0.0
        for entry in range(row_end[i], row_end[i + 1]):
            length += value[entry]
            for k in range(n_classes):
                score[i, k] += _log_rise(concentration[column[entry], k], value[entry])
        for k in range(n_classes):
            score[i, k] -= _log_rise(whole[k], length)


@compiled()
def softmax(score: Array, probability: Array, best: NDArray[np.intp]) -> int:
    """Fill each row with ``exp(score) / sum(exp(score))`` and its first largest place.

    Return the first row whose scores are all -inf, which is left as it is, or -1.
    """
    impossible = -1
    for i in range(score.shape[0]):
        largest = -np.inf
        for k in range(score.shape[1]):
            largest = max(largest, score[i, k])
        if largest == -np.inf:
            impossible = i if impossible < 0 else impossible
            continue
        total = 0.0
        for k in range(score.shape[1]):
            term = 1.0 if score[i, k] == largest else math.exp(score[i, k] - largest)
            probability[i, k] = term
            total += term
        place = 0
        for k in range(score.shape[1]):
            probability[i, k] /= total
            place = k if probability[i, k] > probability[i, place] else place
        best[i] = place
    return impossible


@compiled_part()
def _n_infinite(row: Array) -> int:
    n = 0
    for j in range(row.shape[0]):
        n += abs(row[j]) == np.inf
    return n


@compiled_part()
def _row_by_terms(row: Array, loc: Array, steep: Array, power: Array, log_peak: Array) -> float:
    total, grown = 0.0, 0.0
    for j in range(row.shape[0]):
        z = abs(steep[j] * (row[j] - loc[j]))
        if z > GROWN:
            total += log_peak[j] - power[j] * 2.0 * math.log(z)
        elif z == z:
            grown += z * z + grown * z * z
            total += log_peak[j]
        if j == row.shape[0] - 1 or power[j + 1] != power[j] or grown > GROWN:
            total -= power[j] * math.log1p(grown)
            grown = 0.0
    return total


@compiled_part()
def _log_rise(a: float, x: float) -> float:
    """Return ``lnG(a + x) - lnG(a)``, term by term for few whole steps."""
    if x == 1.0:
        return math.log(a)
    if x > 16.0 or x != math.floor(x):
        return math.lgamma(a + x) - math.lgamma(a)
    total = 0.0
    for step in range(int(x)):
        total += math.log(a + step)
    return total
