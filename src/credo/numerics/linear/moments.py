"""Weight, mean and scatter matrix of the rows of one or more matrices, in one blocked pass.

Raw sums of squares cancel when a mean is large against its spread; so each block is centered
while it is in cache, and blocks merge by Chan's formula [chan1983]_. An outlier then costs
digits in its own block only, and a row without weight leaves no trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import reduce
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from credo.numerics.array import Array
from credo.numerics.form import FINITE, Form
from credo.numerics.parallel.threads import over_blocks, threads_for

__all__ = ["Moments"]

BLOCK_BYTES = 1 << 19

WORTH_THREADS = 3e8
"""Multiplications that are worth sharing among threads, each with blocks of its own."""

WIDEST = 512
"""Columns beyond which the product of one block is worth all threads."""

SHARED_BLOCKS = 16
"""Blocks that a thread takes at a time; their number decides the order of sums, not threads."""


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

    weight: Annotated[float, Form(low=0.0)]
    mean: Annotated[Array, Form("c")]
    scatter: Annotated[Array, Form("c c", -FINITE, FINITE)]

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
        is_shared = n_columns <= WIDEST and n_rows * n_columns**2 >= WORTH_THREADS
        size = SHARED_BLOCKS * block if is_shared else n_rows

        def summed(span: slice) -> tuple[Array, Array, Array]:
            n = span.stop - span.start
            starts = range(span.start, span.stop, block)
            buffer = np.empty((min(block, n), n_columns))
            weights, means = np.zeros(len(starts)), np.zeros((len(starts), n_columns))
            scatter = np.zeros((n_columns, n_columns))
            for i, start in enumerate(starts):
                chosen: slice | NDArray[np.intp] = slice(start, min(start + block, span.stop))
                if rows is not None:
                    chosen = rows[chosen]
                n_own = min(block, span.stop - start)
                w = np.ones(n_own) if weight is None else weight[chosen]
                weights[i] = w.sum()
                part = buffer[:n_own]
                _center(matrices, chosen, w / (weights[i] or 1.0), means[i], part)
                if weight is not None:
                    part *= np.sqrt(w)[:, None]
                scatter += part.T @ part
            return weights, means, scatter

        with threads_for(0) if is_shared else nullcontext():
            parts = over_blocks(summed, n_rows, size)
        weights = np.concatenate([part[0] for part in parts])
        means = np.concatenate([part[1] for part in parts])
        scatter = reduce(np.add, [part[2] for part in parts])
        return cls._pooled(weights, means, scatter)

    @classmethod
    def _pooled(cls, weights: Array, means: Array, scatter: Array) -> Moments:
        """Merge blocks: to the scatter within them add that of their means."""
        total = float(weights.sum())
        mean = weights @ means / (total or 1.0)
        between = (means - mean) * np.sqrt(weights)[:, None]
        return cls(total, mean, scatter + between.T @ between)

    def __add__(self, other: Moments) -> Moments:
        weight = self.weight + other.weight
        share = other.weight / weight if weight != 0 else 0.0
        shift = other.mean - self.mean
        scatter = np.outer(shift, shift)
        scatter *= self.weight * share
        scatter += self.scatter
        scatter += other.scatter
        return Moments(weight, self.mean + share * shift, scatter)

    def __sub__(self, other: Moments) -> Moments:
        return self + Moments(-other.weight, other.mean, -other.scatter)

    def about_zero(self) -> Array:
        """Return the second moments about zero, ``sum of weight * row row^T``."""
        return np.asarray(self.scatter + self.weight * np.outer(self.mean, self.mean))


def _center(
    matrices: Sequence[Array],
    chosen: slice | NDArray[np.intp],
    share: Array,
    mean: Array,
    out: Array,
) -> None:
    """Write the chosen rows side by side, less their weighted mean, which is filled in too."""
    first = 0
    for matrix in matrices:
        columns = slice(first, first + matrix.shape[1])
        rows = matrix[chosen] if isinstance(chosen, slice) else matrix.take(chosen, axis=0)
        mean[columns] = share @ rows
        np.subtract(rows, mean[columns], out=out[:, columns])
        first += matrix.shape[1]
