"""Posteriors of a real variable in rows that were answered in parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.distributions.distribution import Distribution
from credo.distributions.empirical import Empirical
from credo.models.network.answer.answers import RealMarginal
from credo.numerics.array import Array

__all__ = ["KnownReal", "RealPart", "RealRows"]

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class KnownReal:
    """A real variable whose values are given, shape (n_rows,); NaN in impossible rows."""

    values: Array

    def total_mean(self) -> Array:
        """Return the values."""
        return self.values

    def total_variance(self) -> Array:
        """Return zeros, or NaN in impossible rows."""
        return self.values * 0.0

    def mixture(self, row: int | None = None) -> Distribution:
        """Return all probability at the value of one row."""
        return Empirical(self.values[None] if row is None else self.values[row : row + 1])


@dataclass(frozen=True, eq=False)
class RealPart:
    """Some rows, the place of each in a posterior, and that posterior."""

    rows: Rows
    place: Rows
    posterior: RealMarginal


@dataclass(frozen=True, eq=False)
class RealRows:
    """The posterior of a real variable in all rows, put together from parts.

    Attributes
    ----------
    n_rows
        Number of rows; each is in one part.
    """

    n_rows: int
    parts: tuple[RealPart, ...]

    def total_mean(self) -> Array:
        """Return the mean, shape (n_rows,)."""
        return self._gathered(lambda posterior: posterior.total_mean())

    def total_variance(self) -> Array:
        """Return the variance, shape (n_rows,)."""
        return self._gathered(lambda posterior: posterior.total_variance())

    def mixture(self, row: int | None = None) -> Distribution:
        """Return the distribution of one row, the first by default."""
        wanted = row or 0
        part = next(part for part in self.parts if wanted in part.rows)
        return part.posterior.mixture(int(part.place[part.rows == wanted][0]))

    def _gathered(self, answer: Callable[[RealMarginal], Array]) -> Array:
        found = np.empty(self.n_rows)
        for part in self.parts:
            found[part.rows] = answer(part.posterior)[part.place]
        return found
