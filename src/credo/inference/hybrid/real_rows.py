"""The posterior of real variables in each row of findings, before it has labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.distributions.distribution import Distribution
from credo.distributions.empirical import Empirical
from credo.numerics.array import Array

__all__ = ["DrawnRows", "JointRows", "KnownReal", "RealMarginal", "RealPart", "RealRows"]

Rows = NDArray[np.intp]


class RealMarginal(Protocol):
    """Posterior of a real variable in each row of findings."""

    def total_mean(self) -> Array:
        """Return the mean, shape (n_rows,)."""
        ...

    def total_variance(self) -> Array:
        """Return the variance, shape (n_rows,)."""
        ...

    def mixture(self, row: int | None = None) -> Distribution:
        """Return the distribution of one row."""
        ...


Draw = Callable[[int, Generator], dict[str, NDArray[Any]]]


@dataclass(frozen=True, eq=False)
class JointRows:
    """Joint posterior of discrete and real variables in each row, without labels.

    Attributes
    ----------
    table
        Probability of the states of the discrete ones, shape (n_rows, *n_states).
    mean, covariance
        Of the ``d`` real ones, shapes (n_rows, d) and (n_rows, d, d).
    draw
        Returns draws of all variables by name, each of shape (n_rows, n).
    """

    table: Array
    mean: Array
    covariance: Array
    draw: Draw


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


@dataclass(frozen=True, eq=False)
class DrawnRows:
    """Posterior of a real variable in each row, known through weighted draws.

    Attributes
    ----------
    mean, variance
        Shape (n_rows,); NaN in rows that no draw agrees with.
    distribution
        Returns the draws of one row; they are made again, not kept.
    """

    mean: Array
    variance: Array
    distribution: Callable[[int], Distribution]

    def total_mean(self) -> Array:
        """Return the mean, shape (n_rows,)."""
        return self.mean

    def total_variance(self) -> Array:
        """Return the variance, shape (n_rows,)."""
        return self.variance

    def mixture(self, row: int | None = None) -> Distribution:
        """Return the draws of one row, the first by default."""
        return self.distribution(row or 0)
