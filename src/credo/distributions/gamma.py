"""The gamma distribution of a positive number."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy import special

from credo.distributions.parameter import positive
from credo.distributions.univariate import Univariate
from credo.numerics.array import Array, as_float

__all__ = ["Gamma"]


@dataclass(frozen=True, eq=False)
class Gamma(Univariate):
    """Gamma distribution, ``rate^shape x^(shape - 1) exp(-rate x) / Gamma(shape)``.

    Attributes
    ----------
    shape
        Shape; 1 gives the exponential distribution.
    rate
        Inverse scale; the mean is ``shape / rate``.

    Examples
    --------
    >>> float(Gamma(shape=3.0, rate=2.0).mean())
    1.5
    """

    shape: Array
    rate: Array

    def __init__(self, shape: ArrayLike, rate: ArrayLike) -> None:
        advice = "A rate is an inverse scale."
        self._set(shape=positive("shape", shape), rate=positive("rate", rate, advice))

    def support(self) -> tuple[Array, Array]:
        """Return 0 and infinity."""
        return self._full(0.0), self._full(np.inf)

    def log_prob(self, x: ArrayLike) -> Array:
        """Return the log density; -inf below zero."""
        x = as_float(x)
        inside = np.where(x < 0, np.nan, x)
        power = special.xlogy(self.shape - 1.0, inside) - self.rate * inside
        constant = self.shape * np.log(self.rate) - special.gammaln(self.shape)
        return np.where(x < 0, -np.inf, power + constant)

    def cdf(self, x: ArrayLike) -> Array:
        """Return the probability of an outcome not above ``x``."""
        return np.asarray(special.gammainc(self.shape, self._unit(x)))

    def survival(self, x: ArrayLike) -> Array:
        """Return the probability of an outcome above ``x``, without cancellation."""
        return np.asarray(special.gammaincc(self.shape, self._unit(x)))

    def quantile(self, p: ArrayLike) -> Array:
        """Return the outcome whose `cdf` is ``p``."""
        return special.gammaincinv(self.shape, as_float(p)) / self.rate

    def upper_quantile(self, p: ArrayLike) -> Array:
        """Return the outcome that is exceeded with probability ``p``, however small."""
        return special.gammainccinv(self.shape, as_float(p)) / self.rate

    def mean(self) -> Array:
        """Return ``shape / rate``."""
        return self._full(self.shape / self.rate)

    def variance(self) -> Array:
        """Return ``shape / rate^2``."""
        return self._full(self.shape / self.rate**2)

    def mode(self) -> Array:
        """Return ``(shape - 1) / rate``, or 0 where the density only falls."""
        return self._full(np.maximum(self.shape - 1.0, 0.0) / self.rate)

    def entropy(self) -> Array:
        """Return the expectation of ``-log_prob``, in nats."""
        slope = (1.0 - self.shape) * special.digamma(self.shape)
        return self._full(self.shape - np.log(self.rate) + special.gammaln(self.shape) + slope)

    def mean_log(self) -> Array:
        """Return the expectation of the logarithm."""
        return self._full(special.digamma(self.shape) - np.log(self.rate))

    def mean_difference(self) -> Array:
        """Return ``E|X - X'|`` for two independent outcomes."""
        return self._full(2.0 * np.exp(-special.betaln(0.5, self.shape)) / self.rate)

    def _partial_mean(self, x: Array) -> Array:
        return self.shape / self.rate * special.gammainc(self.shape + 1.0, self._unit(x))

    def _unit(self, x: ArrayLike) -> Array:
        return self.rate * np.maximum(as_float(x), 0.0)

    def _draw(self, rng: Generator, shape: tuple[int, ...]) -> Array:
        return rng.gamma(self.shape, 1.0 / self.rate, size=shape)

    def _kl(self, other: Self) -> Array:
        ratio = other.rate / self.rate
        normalizer = special.gammaln(other.shape) - special.gammaln(self.shape)
        slope = (self.shape - other.shape) * special.digamma(self.shape)
        return slope + normalizer - other.shape * np.log(ratio) + self.shape * (ratio - 1.0)
