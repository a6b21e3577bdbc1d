"""The Poisson distribution of a count."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy import special

from credo.distributions.discrete import Discrete
from credo.distributions.parameter import non_negative
from credo.numerics.array import Array

__all__ = ["Poisson"]


@dataclass(frozen=True, eq=False)
class Poisson(Discrete):
    """Number of independent events, ``rate^k exp(-rate) / k!``.

    Attributes
    ----------
    rate
        Expected number.

    Examples
    --------
    >>> float(Poisson(2.0).quantile(0.5))
    2.0
    """

    rate: Array

    def __init__(self, rate: ArrayLike) -> None:
        self._set(rate=non_negative("rate", rate, "Pass expected counts."))

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return cls([0.5, 7.0]), cls(2.0)

    def support(self) -> tuple[Array, Array]:
        """Return 0 and infinity."""
        return self._full(0.0), self._full(np.inf)

    def mean(self) -> Array:
        """Return the rate."""
        return self._full(self.rate)

    def variance(self) -> Array:
        """Return the rate."""
        return self._full(self.rate)

    def mode(self) -> Array:
        """Return the most probable count, the smaller if two are equally probable."""
        return self._full(np.maximum(np.ceil(self.rate) - 1.0, 0.0))

    def mean_difference(self) -> Array:
        """Return ``E|X - X'|``, a difference of two Poisson counts, by Bessel functions."""
        bessel = special.ive(0, 2.0 * self.rate) + special.ive(1, 2.0 * self.rate)
        return self._full(2.0 * self.rate * bessel)

    def _log_mass(self, k: Array) -> Array:
        return np.asarray(special.xlogy(k, self.rate) - self.rate - special.gammaln(k + 1.0))

    def _mass_up_to(self, k: Array) -> Array:
        return np.asarray(special.gammaincc(k + 1.0, self.rate))

    def _mass_above(self, k: Array) -> Array:
        return np.asarray(special.gammainc(k + 1.0, self.rate))

    def _partial_mean(self, x: Array) -> Array:
        return self.rate * self.cdf(np.floor(x) - 1.0)

    def _draw(self, rng: Generator, shape: tuple[int, ...]) -> Array:
        return np.asarray(rng.poisson(self.rate, size=shape), dtype=np.float64)

    def _kl(self, other: Self) -> Array:
        return np.asarray(special.rel_entr(self.rate, other.rate) + other.rate - self.rate)
