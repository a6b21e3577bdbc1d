"""Products of every two columns of rows, kept for all that is quadratic in a row.

With the products ``b_i b_j``, ``i <= j``, of each row in one matrix, weighted Gram matrices of
the rows under many weights are one matrix product, and so are the quadratic forms of all rows
in many matrices: half as much work as with the rows themselves, since symmetry is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

from credo.numerics.array import Array
from credo.numerics.parallel.threads import in_parts, threads_for

__all__ = ["ColumnProducts"]

MOST_BYTES = 1 << 26


@dataclass(frozen=True, eq=False)
class ColumnProducts:
    """Products of columns.

    Attributes
    ----------
    values
        A row for each pair of columns in the order of an upper triangle, shape (p, n).
    n_columns
        Number of columns ``m``, with ``p = m (m + 1) / 2``.
    """

    values: Array
    n_columns: int

    @classmethod
    def fit_memory(cls, n: int, m: int) -> bool:
        """Return whether the products of m columns of n rows are small enough to be kept."""
        return 8 * n * (m * (m + 1) // 2) <= MOST_BYTES

    @classmethod
    def of(cls, rows: Array) -> Self:
        """Return the products of columns of shape (n, m).

        Examples
        --------
        >>> ColumnProducts.of(np.array([[2.0, 3.0]])).values.ravel().tolist()
        [4.0, 6.0, 9.0]
        """
        n, m = rows.shape
        columns = np.ascontiguousarray(rows.T)
        values = np.empty((m * (m + 1) // 2, n))
        end = 0
        for i in range(m):
            begin, end = end, end + m - i
            np.multiply(columns[i:], columns[i], out=values[begin:end])
        return cls(values, m)

    def grams(self, weight: Array) -> Array:
        """Return ``sum over rows of w b b^T`` for weights (n, q), shape (q, m, m).

        Examples
        --------
        >>> products = ColumnProducts.of(np.array([[1.0, 2.0], [0.0, 1.0]]))
        >>> products.grams(np.array([[1.0], [3.0]]))[0].tolist()
        [[1.0, 2.0], [2.0, 7.0]]
        """
        sums = np.empty((weight.shape[1], len(self.values)))

        def fill(start: int, stop: int) -> None:
            sums[:, start:stop] = weight.T @ self.values[start:stop].T

        with threads_for(0):
            in_parts(fill, len(self.values), self.values.size * weight.shape[1])
        return sums[:, _place(self.n_columns)]

    def forms(self, matrices: Array) -> Array:
        """Return ``b^T A b`` of each row for matrices (q, m, m), shape (n, q).

        Examples
        --------
        >>> products = ColumnProducts.of(np.array([[1.0, 2.0]]))
        >>> products.forms(np.array([[[1.0, 5.0], [0.0, 1.0]]])).tolist()
        [[15.0]]
        """
        row, column = np.triu_indices(self.n_columns)
        packed = matrices[:, row, column]
        packed += np.where(row == column, 0.0, matrices[:, column, row])
        found = np.empty((self.values.shape[1], len(matrices)))

        def fill(start: int, stop: int) -> None:
            found[start:stop] = self.values[:, start:stop].T @ packed.T

        with threads_for(0):
            in_parts(fill, len(found), self.values.size * len(matrices))
        return found


@lru_cache(maxsize=16)
def _place(m: int) -> NDArray[np.intp]:
    """Return where the product of two columns is, shape (m, m)."""
    place = np.empty((m, m), dtype=np.intp)
    row, column = np.triu_indices(m)
    place[row, column] = place[column, row] = np.arange(len(row))
    place.setflags(write=False)
    return place
