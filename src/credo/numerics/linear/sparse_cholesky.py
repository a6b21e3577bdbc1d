"""Cholesky factor of a sparse positive definite matrix, and what follows from it.

numba loads on the first call, never at import.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cache
from heapq import heapify, heappop, heappush
from types import ModuleType

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from credo.numerics.array import Array, as_float
from credo.numerics.linear.linear_algebra import NotPositiveDefinite

__all__ = ["SparseCholesky", "minimum_degree"]

Index = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SparseCholesky:
    """Lower triangular ``L`` with ``L L' = P A P'``, for a permutation that keeps ``L`` sparse.

    Attributes
    ----------
    order
        ``order[k]`` is the row of ``A`` that is eliminated at step ``k``.
    first, rows, values
        Columns of ``L``, the diagonal entry first in each.

    Examples
    --------
    >>> matrix = sparse.csc_array([[2.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 2.0]])
    >>> factor = SparseCholesky.of(matrix)
    >>> factor.solve(np.ones((3, 1))).ravel().round(12), factor.inverse_diagonal().round(12)
    (array([1.5, 2. , 1.5]), array([0.75, 1.  , 0.75]))
    >>> round(float(np.exp(factor.log_det())), 12)
    4.0
    """

    order: Index
    first: Index
    rows: Index
    values: Array

    @classmethod
    def of(cls, matrix: sparse.csc_array) -> SparseCholesky:
        """Return the factor of a symmetric matrix.

        Raises
        ------
        NotPositiveDefinite
            With the row where no digit of the pivot is left.
        """
        order = minimum_degree(matrix)
        # Upper triangle of the permuted matrix, with sorted columns.
        upper = sparse.csc_array(sparse.triu(matrix[order][:, order], format="csc"))
        start, row = upper.indptr.astype(np.int64), upper.indices.astype(np.int64)
        parent, first = _loops().pattern(start, row)
        rows, values, failed = _loops().factor(
            start, row, upper.data.astype(np.float64), parent, first
        )
        if failed >= 0:
            raise NotPositiveDefinite(
                "sparse matrix must be positive definite; found no positive pivot left for row "
                f"{order[failed]}. Check for variables that determine each other exactly."
            )
        return cls(order, first, rows, values)

    @property
    def n_entries(self) -> int:
        """Number of entries of ``L``."""
        return len(self.values)

    def log_det(self) -> float:
        """Return the log determinant of the matrix."""
        return float(2.0 * np.log(self.values[self.first[:-1]]).sum())

    def solve(self, b: Array) -> Array:
        """Return ``A^-1 b`` for columns ``b``, shape (n, m)."""
        columns = np.ascontiguousarray(b[self.order], dtype=np.float64)
        _loops().solve_lower(self.first, self.rows, self.values, columns)
        _loops().solve_upper(self.first, self.rows, self.values, columns)
        return self._restored(columns)

    def color(self, standard: Array) -> Array:
        """Return columns of covariance ``A^-1`` from standard normal ones, shape (n, m)."""
        columns = np.array(standard, dtype=np.float64, order="C")
        _loops().solve_upper(self.first, self.rows, self.values, columns)
        return self._restored(columns)

    def inverse_diagonal(self) -> Array:
        """Return the diagonal of ``A^-1``, without the rest of it."""
        inverse = _loops().selected_inverse(self.first, self.rows, self.values)
        return self._restored(inverse[self.first[:-1]])

    def _restored(self, permuted: Array) -> Array:
        result = np.empty_like(permuted)
        result[self.order] = permuted
        return as_float(result)


def minimum_degree(matrix: sparse.csc_array) -> Index:
    """Return an order of elimination, always a row with the fewest neighbors next.

    Examples
    --------
    >>> star = sparse.csc_array([[4.0, 1.0, 1.0], [1.0, 4.0, 0.0], [1.0, 0.0, 4.0]])
    >>> minimum_degree(star).tolist()
    [1, 0, 2]
    """
    n = matrix.shape[0]
    ends = matrix.indptr.tolist()
    near = [set(matrix.indices[ends[j] : ends[j + 1]].tolist()) - {j} for j in range(n)]
    queue = [(len(neighbors), j) for j, neighbors in enumerate(near)]
    heapify(queue)
    order, is_done = [], np.zeros(n, dtype=bool)
    while queue:
        degree, j = heappop(queue)
        if is_done[j] or degree != len(near[j]):
            continue
        is_done[j] = True
        order.append(j)
        for i in near[j]:
            near[i] |= near[j]
            near[i] -= {i, j}
            heappush(queue, (len(near[i]), i))
    return np.array(order, dtype=np.int64)


@cache
def _loops() -> ModuleType:
    return importlib.import_module("credo.numerics.linear._loops_sparse_cholesky")
