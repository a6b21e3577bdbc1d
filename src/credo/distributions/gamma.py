"""The gamma distribution of a positive number."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy import special

from credo.distributions.parameter import level, positive
from credo.distributions.univariate import Univariate
from credo.numerics.array import Array, as_float

__all__ = ["Gamma", "unit_entropy"]

LARGE = 50.0
# Coefficients of powers of 1 / a in the entropy minus half of log a.
ENTROPY_SERIES = (
    0.5 * np.log(2.0 * np.pi) + 0.5,
    *(-1 / 3, -1 / 12, -1 / 90, 1 / 120, 1 / 210, -1 / 252),
)


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

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return cls([0.7, 3.0], 2.0), cls(1.0, 1.0)

    def support(self) -> tuple[Array, Array]:
        """Return 0 and infinity."""
        return self._full(0.0), self._full(np.inf)

    def log_prob(self, x: ArrayLike) -> Array:
        """Return the log density; -inf below zero and at infinity."""
        x = as_float(x)
        outside = (x < 0) | np.isposinf(x)
        inside = np.where(outside, 1.0, x)
        power = special.xlogy(self.shape - 1.0, inside) - self.rate * inside
        constant = self.shape * np.log(self.rate) - special.gammaln(self.shape)
        return np.where(outside, -np.inf, power + constant)

    def cdf(self, x: ArrayLike) -> Array:
        """Return the probability of an outcome not above ``x``."""
        return np.asarray(special.gammainc(self.shape, self._unit(x)))

    def survival(self, x: ArrayLike) -> Array:
        """Return the probability of an outcome above ``x``, without cancellation."""
        return np.asarray(special.gammaincc(self.shape, self._unit(x)))

    def quantile(self, p: ArrayLike) -> Array:
        """Return the outcome whose `cdf` is ``p``."""
        return special.gammaincinv(self.shape, level(p)) / self.rate

    def upper_quantile(self, p: ArrayLike) -> Array:
        """Return the outcome that is exceeded with probability ``p``, however small."""
        return special.gammainccinv(self.shape, level(p)) / self.rate

    def mean(self) -> Array:
        """Return ``shape / rate``."""
        return self._full(self.shape / self.rate)

    def variance(self) -> Array:
        """Return ``shape / rate^2``."""
        with np.errstate(over="ignore"):
            return self._full(self.shape / self.rate / self.rate)

    def std(self) -> Array:
        """Return ``sqrt(shape) / rate``, also where its square leaves the range of floats."""
        return self._full(np.sqrt(self.shape) / self.rate)

    def mode(self) -> Array:
        """Return ``(shape - 1) / rate``, or 0 where the density only falls."""
        return self._full(np.maximum(self.shape - 1.0, 0.0) / self.rate)

    def entropy(self) -> Array:
        """Return the expectation of ``-log_prob``, in nats."""
        return self._full(unit_entropy(self.shape) - np.log(self.rate))

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


def unit_entropy(shape: Array) -> Array:
    """Return the entropy at rate one, ``a + log Gamma(a) + (1 - a) digamma(a)``."""
    # Terms that grow like a log a cancel to half a log; their series has nothing to cancel.
    few, many = np.minimum(shape, LARGE), np.maximum(shape, LARGE)
    exact = few + special.gammaln(few) + (1.0 - few) * special.digamma(few)
    series = np.polynomial.polynomial.polyval(1.0 / many, ENTROPY_SERIES)
    return np.where(shape < LARGE, exact, 0.5 * np.log(many) + series)
