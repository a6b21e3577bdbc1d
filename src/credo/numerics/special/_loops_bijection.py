"""Loops of bijections: values of free numbers, and gradients back, for all parameters at once.

A table has a row for each parameter: its kind, where its free numbers begin, where its values
begin, how many values or classes or rows it has, and the two ends of its support. Free numbers
stand in the first row of ``vectors``; values, and the gradient by them, in the two rows of
``exchange``. Nothing is sliced: a slice costs more than many of these functions.
"""

import numpy as np

from credo.numerics._loops_compilation import compiled_part
from credo.numerics.array import Array

__all__ = ["constrain", "pull_back"]

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
