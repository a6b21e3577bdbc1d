"""Loops of the sparse Cholesky factorization, over compressed columns.

Integers are int64, values float64. The factor's columns hold their diagonal entry first and
the others in ascending order of rows. A matrix is passed as its upper triangle: column ``k``
holds rows up to ``k``.
"""

import numpy as np
from numpy.typing import NDArray

from credo.numerics._loops_compilation import compiled, compiled_part
from credo.numerics.array import Array

__all__ = ["factor", "pattern", "selected_inverse", "solve_lower", "solve_upper"]

Index = NDArray[np.int64]


@compiled_part()
def _reach(k: int, start: Index, row: Index, parent: Index, mark: Index, stack: Index) -> int:
    """Fill the end of ``stack`` with the columns that row ``k`` of the factor has, in order."""
    top = len(parent)
    mark[k] = k
    for p in range(start[k], start[k + 1]):
        i, length = row[p], 0
        while mark[i] != k:
            stack[length] = i
            length += 1
            mark[i] = k
            i = parent[i]
        while length > 0:
            top -= 1
            length -= 1
            stack[top] = stack[length]
    return top


@compiled()
def pattern(start: Index, row: Index) -> tuple[Index, Index]:
    """Return the elimination tree and the start of each column of the factor."""
    n = len(start) - 1
    parent, ancestor = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    for k in range(n):
        for p in range(start[k], start[k + 1]):
            i = row[p]
            while i != -1 and i < k:
                above = ancestor[i]
                ancestor[i] = k
                if above == -1:
                    parent[i] = k
                i = above
    mark, stack = np.full(n, -1, np.int64), np.empty(n, np.int64)
    count = np.ones(n, np.int64)
    for k in range(n):
        for p in range(_reach(k, start, row, parent, mark, stack), n):
            count[stack[p]] += 1
    first = np.zeros(n + 1, np.int64)
    first[1:] = np.cumsum(count)
    return parent, first


@compiled()
def factor(
    start: Index, row: Index, value: Array, parent: Index, first: Index
) -> tuple[Index, Array, int]:
    """Return rows and values of the factor, and the column that failed, or -1.

    Row ``k`` is found by a triangular solve with the rows above it.
    """
    n = len(parent)
    rows, values = np.empty(first[n], np.int64), np.empty(first[n])
    mark, stack = np.full(n, -1, np.int64), np.empty(n, np.int64)
    end, x = first[:n].copy(), np.zeros(n)
    for k in range(n):
        top = _reach(k, start, row, parent, mark, stack)
        for p in range(start[k], start[k + 1]):
            x[row[p]] = value[p]
        diagonal = x[k]
        whole = diagonal
        x[k] = 0.0
        for q in range(top, n):
            i = stack[q]
            entry = x[i] / values[first[i]]
            x[i] = 0.0
            for p in range(first[i] + 1, end[i]):
                x[rows[p]] -= values[p] * entry
            diagonal -= entry * entry
            rows[end[i]], values[end[i]] = k, entry
            end[i] += 1
        if not diagonal > 1e-15 * whole:
            return rows, values, k
        rows[end[k]], values[end[k]] = k, np.sqrt(diagonal)
        end[k] += 1
    return rows, values, -1


@compiled()
def solve_lower(first: Index, rows: Index, values: Array, b: Array) -> None:
    """Replace columns ``b``, shape (n, m), by ``L^-1 b``."""
    for j in range(len(first) - 1):
        for c in range(b.shape[1]):
            b[j, c] /= values[first[j]]
        for p in range(first[j] + 1, first[j + 1]):
            for c in range(b.shape[1]):
                b[rows[p], c] -= values[p] * b[j, c]


@compiled()
def solve_upper(first: Index, rows: Index, values: Array, b: Array) -> None:
    """Replace columns ``b``, shape (n, m), by ``L'^-1 b``."""
    for j in range(len(first) - 2, -1, -1):
        for p in range(first[j] + 1, first[j + 1]):
            for c in range(b.shape[1]):
                b[j, c] -= values[p] * b[rows[p], c]
        for c in range(b.shape[1]):
            b[j, c] /= values[first[j]]


@compiled()
def selected_inverse(first: Index, rows: Index, values: Array) -> Array:
    """Return the entries of ``(L L')^-1`` where ``L`` has entries [takahashi1973]_.

    The last column comes first; each entry needs only entries of later columns in the
    pattern, because the neighbors of an eliminated variable are a clique.
    """
    n = len(first) - 1
    inverse, column = np.zeros(len(values)), np.zeros(n)
    for j in range(n - 1, -1, -1):
        low, high, pivot = first[j], first[j + 1], values[first[j]]
        for p in range(low + 1, high):
            column[rows[p]] = values[p] / pivot
        for p in range(low + 1, high):
            k = rows[p]
            inverse[p] -= column[k] * inverse[first[k]]
            q = p + 1
            for r in range(first[k] + 1, first[k + 1]):
                if q < high and rows[r] == rows[q]:
                    inverse[p] -= column[rows[q]] * inverse[r]
                    inverse[q] -= column[k] * inverse[r]
                    q += 1
        total = 1.0 / (pivot * pivot)
        for p in range(low + 1, high):
            total -= column[rows[p]] * inverse[p]
            column[rows[p]] = 0.0
        inverse[low] = total
    return inverse
