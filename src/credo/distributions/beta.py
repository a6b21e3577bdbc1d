"""The beta distribution of a proportion."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy import special

from credo.distributions.parameter import positive
from credo.distributions.univariate import Univariate
from credo.numerics.array import Array, as_float

__all__ = ["Beta"]


@dataclass(frozen=True, eq=False)
class Beta(Univariate):
    """Beta distribution, ``x^(a - 1) (1 - x)^(b - 1) / B(a, b)`` on (0, 1).

    Attributes
    ----------
    a, b
        Exponents plus one; ``a / (a + b)`` is the mean.

    Examples
    --------
    >>> Beta(751.0, 251.0).interval(0.95).round(7)
    array([0.7222225, 0.7758361])
    """

    a: Array
    b: Array

    def __init__(self, a: ArrayLike, b: ArrayLike) -> None:
        self._set(a=positive("a", a), b=positive("b", b))

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return cls([2.0, 0.8], 3.0), cls(1.0, 1.5)

    def support(self) -> tuple[Array, Array]:
        """Return 0 and 1."""
        return self._full(0.0), self._full(1.0)

    def log_prob(self, x: ArrayLike) -> Array:
        """Return the log density; -inf outside [0, 1]."""
        x = as_float(x)
        outside = (x < 0) | (x > 1)
        inside = np.where(outside, 0.5, x)
        power = special.xlogy(self.a - 1.0, inside) + special.xlog1py(self.b - 1.0, -inside)
        return np.where(outside, -np.inf, power - special.betaln(self.a, self.b))

    def cdf(self, x: ArrayLike) -> Array:
        """Return the probability of an outcome not above ``x``."""
        return np.asarray(special.betainc(self.a, self.b, np.clip(as_float(x), 0.0, 1.0)))

    def survival(self, x: ArrayLike) -> Array:
        """Return the probability of an outcome above ``x``, without cancellation."""
        return np.asarray(special.betaincc(self.a, self.b, np.clip(as_float(x), 0.0, 1.0)))

    def quantile(self, p: ArrayLike) -> Array:
        """Return the outcome whose `cdf` is ``p``."""
        return np.asarray(special.betaincinv(self.a, self.b, as_float(p)))

    def upper_quantile(self, p: ArrayLike) -> Array:
        """Return the outcome that is exceeded with probability ``p``, however small."""
        return np.asarray(special.betainccinv(self.a, self.b, as_float(p)))

    def mean(self) -> Array:
        """Return ``a / (a + b)``."""
        return self._full(self.a / (self.a + self.b))

    def variance(self) -> Array:
        """Return the variance."""
        total = self.a + self.b
        return self._full(self.a / total * self.b / total / (total + 1.0))

    def mode(self) -> Array:
        """Return the peak; NaN where there is none: a flat density, or a peak at each end."""
        rise, fall = np.maximum(self.a - 1.0, 0.0), np.maximum(self.b - 1.0, 0.0)
        total = rise + fall
        peak = rise / np.where(total > 0, total, np.nan)
        ends = np.where(self.a > self.b, 1.0, 0.0)
        one_sided = np.maximum(self.a, self.b) >= 1.0
        rising = one_sided & (self.a != self.b)
        return self._full(np.where(total > 0, peak, np.where(rising, ends, np.nan)))

    def entropy(self) -> Array:
        """Return the expectation of ``-log_prob``, in nats."""
        a, b = self.a, self.b
        slope = (a - 1.0) * special.digamma(a) + (b - 1.0) * special.digamma(b)
        both = (a + b - 2.0) * special.digamma(a + b)
        return self._full(special.betaln(a, b) - slope + both)

    def mean_difference(self) -> Array:
        """Return ``E|X - X'|`` for two independent outcomes."""
        a, b = self.a, self.b
        log_ratio = special.betaln(2.0 * a, 2.0 * b) - 2.0 * special.betaln(a, b)
        return self._full(4.0 / (a + b) * np.exp(log_ratio))

    def _partial_mean(self, x: Array) -> Array:
        return self.mean() * special.betainc(self.a + 1.0, self.b, np.clip(x, 0.0, 1.0))

    def _draw(self, rng: Generator, shape: tuple[int, ...]) -> Array:
        return rng.beta(self.a, self.b, size=shape)

    def _kl(self, other: Self) -> Array:
        gain = special.betaln(other.a, other.b) - special.betaln(self.a, self.b)
        more_a, more_b = self.a - other.a, self.b - other.b
        slope = more_a * special.digamma(self.a) + more_b * special.digamma(self.b)
        return np.asarray(gain + slope - (more_a + more_b) * special.digamma(self.a + self.b))
