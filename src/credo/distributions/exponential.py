"""The exponential distribution of a waiting time."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy import special

from credo.distributions.parameter import level, positive
from credo.distributions.univariate import Univariate
from credo.numerics.array import Array, as_float

__all__ = ["Exponential"]


@dataclass(frozen=True, eq=False)
class Exponential(Univariate):
    """Exponential distribution, ``rate * exp(-rate x)``.

    Attributes
    ----------
    rate
        Events per unit of time, the inverse of the mean.

    Examples
    --------
    >>> float(Exponential(rate=4.0).mean())
    0.25
    """

    rate: Array

    def __init__(self, rate: ArrayLike) -> None:
        self._set(rate=positive("rate", rate, "A rate is an inverse mean."))

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return cls([0.5, 4.0]), cls(1.0)

    def support(self) -> tuple[Array, Array]:
        """Return 0 and infinity."""
        return self._full(0.0), self._full(np.inf)

    def log_prob(self, x: ArrayLike) -> Array:
        """Return the log density; -inf below zero."""
        x = as_float(x)
        return np.where(x < 0, -np.inf, np.log(self.rate) - self.rate * x)

    def cdf(self, x: ArrayLike) -> Array:
        """Return the probability of an outcome not above ``x``."""
        return -np.expm1(-self._unit(x))

    def survival(self, x: ArrayLike) -> Array:
        """Return the probability of an outcome above ``x``, without cancellation."""
        return np.exp(-self._unit(x))

    def quantile(self, p: ArrayLike) -> Array:
        """Return the outcome whose `cdf` is ``p``."""
        with np.errstate(divide="ignore"):
            return -np.log1p(-level(p)) / self.rate

    def upper_quantile(self, p: ArrayLike) -> Array:
        """Return the outcome that is exceeded with probability ``p``, however small."""
        with np.errstate(divide="ignore"):
            return -np.log(level(p)) / self.rate

    def mean(self) -> Array:
        """Return ``1 / rate``."""
        return self._full(1.0 / self.rate)

    def variance(self) -> Array:
        """Return ``1 / rate^2``."""
        with np.errstate(over="ignore"):
            return self._full(self.rate**-2.0)

    def std(self) -> Array:
        """Return ``1 / rate``."""
        return self.mean()

    def mode(self) -> Array:
        """Return 0, where the density is highest."""
        return self._full(0.0)

    def entropy(self) -> Array:
        """Return ``1 - log rate``."""
        return self._full(1.0 - np.log(self.rate))

    def mean_difference(self) -> Array:
        """Return ``E|X - X'|``, which is the mean."""
        return self.mean()

    def _partial_mean(self, x: Array) -> Array:
        return np.asarray(special.gammainc(2.0, self._unit(x)) / self.rate)

    def _unit(self, x: ArrayLike) -> Array:
        return self.rate * np.maximum(as_float(x), 0.0)

    def _draw(self, rng: Generator, shape: tuple[int, ...]) -> Array:
        return rng.exponential(1.0 / self.rate, size=shape)

    def _kl(self, other: Self) -> Array:
        ratio = other.rate / self.rate
        return ratio - np.log(ratio) - 1.0
