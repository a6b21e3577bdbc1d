"""Weight, mean and scatter matrix of the rows of one or more matrices, in one blocked pass.

Raw sums of squares cancel when a mean is large against its spread; so each block is shifted
by a first guess of the mean while it is in cache, and moments merge by Chan's formula
[chan1983]_.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.numerics.array import Array

__all__ = ["Moments"]

BLOCK_BYTES = 1 << 19


@dataclass(frozen=True, eq=False)
class Moments:
    """Total weight, mean and centered scatter of rows; ``a + b`` pools, ``a - b`` forgets.

    Attributes
    ----------
    weight
        Sum of the row weights.
    mean
        Weighted mean, shape (n_columns,).
    scatter
        Sum of weighted outer products about the mean, shape (n_columns, n_columns).

    Examples
    --------
    >>> m = Moments.of([np.array([[1.0], [3.0]]), np.array([[0.0], [2.0]])])
    >>> m.mean, m.scatter
    (array([2., 1.]), array([[2., 2.], [2., 2.]]))
    """

    weight: float
    mean: Array
    scatter: Array

    @classmethod
    def of(
        cls,
        matrices: Sequence[Array],
        weight: Array | None = None,
        rows: NDArray[np.intp] | None = None,
    ) -> Moments:
        """Summarize the side-by-side ``matrices``, all of them or only the given ``rows``."""
        n_columns = sum(m.shape[1] for m in matrices)
        n_rows = matrices[0].shape[0] if rows is None else len(rows)
        if n_rows == 0:
            return cls(0.0, np.zeros(n_columns), np.zeros((n_columns, n_columns)))
        block = max(256, BLOCK_BYTES // (8 * max(n_columns, 1)))
        buffer = np.empty((min(block, n_rows), n_columns))
        first = slice(0, block) if rows is None else rows[:block]
        shift = np.concatenate([_rows(matrix, first).mean(axis=0) for matrix in matrices])
        total, sums, products = 0.0, np.zeros(n_columns), np.zeros((n_columns, n_columns))
        for start in range(0, n_rows, block):
            chosen: slice | NDArray[np.intp] = slice(start, min(start + block, n_rows))
            if rows is not None:
                chosen = rows[chosen]
            part = buffer[: min(block, n_rows - start)]
            _shift_rows(matrices, chosen, shift, part)
            if weight is None:
                total += len(part)
                sums += np.ones(len(part)) @ part
            else:
                w = weight[chosen]
                total += float(w.sum())
                sums += w @ part
                part *= np.sqrt(w)[:, None]
            products += part.T @ part
        offset = sums / total if total > 0 else np.zeros(n_columns)
        return cls(total, shift + offset, products - total * np.outer(offset, offset))

    def __add__(self, other: Moments) -> Moments:
        weight = self.weight + other.weight
        share = other.weight / weight if weight != 0 else 0.0
        shift = other.mean - self.mean
        spread = self.weight * share * np.outer(shift, shift)
        return Moments(weight, self.mean + share * shift, self.scatter + other.scatter + spread)

    def __sub__(self, other: Moments) -> Moments:
        return self + Moments(-other.weight, other.mean, -other.scatter)

    def about_zero(self) -> Array:
        """Return the second moments about zero, ``sum of weight * row row^T``."""
        return np.asarray(self.scatter + self.weight * np.outer(self.mean, self.mean))


def _rows(matrix: Array, chosen: slice | NDArray[np.intp]) -> Array:
    return matrix[chosen] if isinstance(chosen, slice) else matrix.take(chosen, axis=0)


def _shift_rows(
    matrices: Sequence[Array], chosen: slice | NDArray[np.intp], shift: Array, out: Array
) -> None:
    """Write the chosen rows of all matrices side by side, shifted, into ``out``."""
    first = 0
    for matrix in matrices:
        columns = slice(first, first + matrix.shape[1])
        np.subtract(_rows(matrix, chosen), shift[columns], out=out[:, columns])
        first += matrix.shape[1]
