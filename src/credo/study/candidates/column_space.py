"""What a basis can say about given rows: the span of its columns and a constant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import linalg

from credo.numerics.array import Array

__all__ = ["Span"]

# Columns have length one; rounding leaves about 1e-15 of one that others determine.
_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Span:
    """The centered functions of some rows that a design can make by weighing its columns.

    Attributes
    ----------
    directions
        Orthonormal columns, shape (n_rows, rank).
    probe
        A random member, shape (n_rows,): it lies in another span only if all members do,
        but for chances of measure zero.

    Examples
    --------
    >>> x = np.arange(4.0)
    >>> line, square = Span.of(x[:, None]), Span.of(np.stack([x, x**2], axis=1))
    >>> line.rank, square.rank, square.equals(line)
    (1, 2, False)
    >>> Span.of(5.0 - 2.0 * x[:, None]).equals(line)
    True
    """

    directions: Array
    probe: Array

    @classmethod
    def of(cls, design: Array) -> Self:
        """Return the span of a design matrix, shape (n_rows, n_columns)."""
        centered = design - design.mean(axis=0)
        length = np.linalg.norm(centered, axis=0)
        is_moving = length > _TOLERANCE * np.linalg.norm(design, axis=0)
        unit = centered[:, is_moving] / length[is_moving]
        probe = unit @ np.random.default_rng(0).normal(size=unit.shape[1])
        if not unit.size:
            return cls(unit, probe)
        directions, upper, _ = linalg.qr(unit, mode="economic", pivoting=True)
        rank = int(np.sum(np.abs(np.diag(upper)) > _TOLERANCE))
        return cls(np.asarray(directions[:, :rank]), probe)

    @property
    def rank(self) -> int:
        """The number of columns that no others determine."""
        return int(self.directions.shape[1])

    def equals(self, other: Span) -> bool:
        """Whether both hold the same functions of the same rows."""
        if self.rank != other.rank:
            return False
        missed = self.probe - other.directions @ (other.directions.T @ self.probe)
        return bool(np.linalg.norm(missed) <= 1e3 * _TOLERANCE * np.linalg.norm(self.probe))
