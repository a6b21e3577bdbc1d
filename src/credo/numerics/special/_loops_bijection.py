"""Loops of bijections: values of free numbers, and gradients back, for all parameters at once.

A table has a row for each parameter: its kind, where its free numbers begin, where its values
begin, how many values or classes or rows it has, and the two ends of its support.
"""

import numpy as np

from credo.numerics._loops_compilation import compiled_part
from credo.numerics.array import Array

__all__ = ["constrain", "pull_back"]

REAL, ABOVE, BELOW, BETWEEN, SIMPLEX, ORDERED, COVARIANCE = range(7)


@compiled_part()
def constrain(table: Array, free: Array, values: Array) -> None:
    """Set the values of free numbers."""
    for row in range(table.shape[0]):
        kind = int(table[row, 0])
        i, j, n = int(table[row, 1]), int(table[row, 2]), int(table[row, 3])
        if kind <= BETWEEN:
            constrain_interval(kind, table[row, 4], table[row, 5], free[i : i + n], values[j:])
        elif kind == SIMPLEX:
            constrain_simplex(n, free[i:], values[j:])
        elif kind == ORDERED:
            values[j] = free[i]
            for k in range(1, n):
                values[j + k] = values[j + k - 1] + np.exp(free[i + k])
        else:
            constrain_covariance(n, free[i:], values[j:])


@compiled_part()
def constrain_interval(kind: int, low: float, high: float, free: Array, values: Array) -> None:
    """Set numbers between two ends, each of which may be infinite."""
    for k in range(free.size):
        u = free[k]
        if kind == REAL:
            values[k] = u
        elif kind == ABOVE:
            values[k] = low + np.exp(u)
        elif kind == BELOW:
            values[k] = high - np.exp(-u)
        elif u < 0.0:
            # From the nearer end, where numbers are finer.
            values[k] = max(low, low + (high - low) * (np.exp(u) / (1.0 + np.exp(u))))
        else:
            values[k] = min(high, high - (high - low) * (np.exp(-u) / (1.0 + np.exp(-u))))


@compiled_part()
def constrain_simplex(n: int, free: Array, values: Array) -> None:
    """Set probabilities: the softmax of scores in Helmert's basis."""
    after = 0.0
    largest = -np.inf
    for k in range(n - 1, -1, -1):
        score = after
        if k > 0:
            share = free[k - 1] / np.sqrt(k * (k + 1.0))
            score -= k * share
            after += share
        values[k] = score
        largest = max(largest, score)
    total = 0.0
    for k in range(n):
        values[k] = np.exp(values[k] - largest)
        total += values[k]
    for k in range(n):
        values[k] /= total


@compiled_part()
def constrain_covariance(n: int, free: Array, values: Array) -> None:
    """Set the matrix ``L L'`` of a lower triangle with logs on its diagonal."""
    for a in range(n):
        for b in range(a + 1):
            total = 0.0
            for c in range(b + 1):
                total += entry(free, a, c) * entry(free, b, c)
            values[a * n + b] = total
            values[b * n + a] = total


@compiled_part()
def entry(free: Array, a: int, b: int) -> float:
    """Return an entry of the lower triangle that free numbers hold row by row."""
    found: float = free[a * (a + 1) // 2 + b]
    return np.exp(found) if a == b else found


@compiled_part()
def pull_back(
    table: Array, free: Array, values: Array, slopes: Array, gradient: Array
) -> float:
    """Set the gradient of the density of free numbers; return the log Jacobian.

    The gradient is that by the values, pulled back, and that of the log Jacobian.
    """
    total = 0.0
    for row in range(table.shape[0]):
        kind = int(table[row, 0])
        i, j, n = int(table[row, 1]), int(table[row, 2]), int(table[row, 3])
        if kind <= BETWEEN:
            width = table[row, 5] - table[row, 4]
            total += pull_interval(kind, width, free[i : i + n], slopes[j:], gradient[i:])
        elif kind == SIMPLEX:
            total += pull_simplex(n, values[j:], slopes[j:], gradient[i:])
        elif kind == ORDERED:
            after = 0.0
            for k in range(n - 1, 0, -1):
                after += slopes[j + k]
                gradient[i + k] = after * np.exp(free[i + k]) + 1.0
                total += free[i + k]
            gradient[i] = after + slopes[j]
        else:
            total += pull_covariance(n, free[i:], slopes[j:], gradient[i:])
    return total


@compiled_part()
def pull_interval(
    kind: int, width: float, free: Array, slopes: Array, gradient: Array
) -> float:
    """Set the gradient by numbers between two ends; return the sum of the log slopes."""
    total = 0.0
    for k in range(free.size):
        u = free[k]
        if kind == REAL:
            gradient[k] = slopes[k]
        elif kind == ABOVE:
            gradient[k] = slopes[k] * np.exp(u) + 1.0
            total += u
        elif kind == BELOW:
            gradient[k] = slopes[k] * np.exp(-u) - 1.0
            total -= u
        else:
            log_slope = np.log(width) - abs(u) - 2.0 * np.log1p(np.exp(-abs(u)))
            gradient[k] = slopes[k] * np.exp(log_slope) - np.tanh(0.5 * u)
            total += log_slope
    return total


@compiled_part()
def pull_simplex(n: int, values: Array, slopes: Array, gradient: Array) -> float:
    """Set the gradient by probabilities; return the log of their product and of sqrt(n)."""
    mean = 0.0
    total: float = 0.5 * np.log(n)
    for k in range(n):
        mean += values[k] * slopes[k]
        total += np.log(values[k])
    before = 0.0
    for k in range(n):
        weighed = values[k] * (slopes[k] - mean - n)
        if k > 0:
            gradient[k - 1] = (before - k * weighed) / np.sqrt(k * (k + 1.0))
        before += weighed
    return total


@compiled_part()
def pull_covariance(n: int, free: Array, slopes: Array, gradient: Array) -> float:
    """Set the gradient by the lower triangle of L; return the log Jacobian."""
    total: float = n * np.log(2.0)
    for a in range(n):
        for b in range(a + 1):
            slope = 0.0
            for c in range(b, n):
                slope += (slopes[a * n + c] + slopes[c * n + a]) * entry(free, c, b)
            place = a * (a + 1) // 2 + b
            if a == b:
                slope = slope * np.exp(free[place]) + n + 1.0 - a
                total += (n + 1.0 - a) * free[place]
            gradient[place] = slope
    return total
