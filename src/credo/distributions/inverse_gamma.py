"""The inverse-gamma distribution of a positive number, such as a variance."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy import special

from credo.distributions.gamma import Gamma, unit_entropy
from credo.distributions.parameter import positive
from credo.distributions.univariate import Univariate
from credo.numerics.array import Array, as_float

__all__ = ["InverseGamma"]


@dataclass(frozen=True, eq=False)
class InverseGamma(Univariate):
    """The reciprocal of a gamma variable of the same shape and rate.

    Density ``rate^shape x^-(shape + 1) exp(-rate / x) / Gamma(shape)``.

    Attributes
    ----------
    shape
        Shape; the mean exists for ``shape > 1``, the variance for ``shape > 2``.
    rate
        Scale of the outcome, rate of its reciprocal.

    Examples
    --------
    >>> float(InverseGamma(shape=3.0, rate=4.0).mean())
    2.0
    """

    shape: Array
    rate: Array

    def __init__(self, shape: ArrayLike, rate: ArrayLike) -> None:
        self._set(shape=positive("shape", shape), rate=positive("rate", rate))

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return cls([5.5, 7.0], 2.0), cls(3.0, 1.0)

    def reciprocal(self) -> Gamma:
        """Return the distribution of ``1 / x``, a precision if this is a variance."""
        return Gamma(self.shape, self.rate)

    def support(self) -> tuple[Array, Array]:
        """Return 0 and infinity."""
        return self._full(0.0), self._full(np.inf)

    def log_prob(self, x: ArrayLike) -> Array:
        """Return the log density; -inf at zero, below, and at infinity."""
        x = as_float(x)
        outside = (x <= 0) | np.isposinf(x)
        inside = np.where(outside, 1.0, x)
        constant = self.shape * np.log(self.rate) - special.gammaln(self.shape)
        with np.errstate(over="ignore"):
            density = constant - (self.shape + 1.0) * np.log(inside) - self.rate / inside
        return np.where(outside, -np.inf, density)

    def cdf(self, x: ArrayLike) -> Array:
        """Return the probability of an outcome not above ``x``."""
        return self.reciprocal().survival(self._inverse(x))

    def survival(self, x: ArrayLike) -> Array:
        """Return the probability of an outcome above ``x``, without cancellation."""
        return self.reciprocal().cdf(self._inverse(x))

    def quantile(self, p: ArrayLike) -> Array:
        """Return the outcome whose `cdf` is ``p``."""
        return self._inverse(self.reciprocal().upper_quantile(p))

    def upper_quantile(self, p: ArrayLike) -> Array:
        """Return the outcome that is exceeded with probability ``p``, however small."""
        return self._inverse(self.reciprocal().quantile(p))

    def mean(self) -> Array:
        """Return ``rate / (shape - 1)``, infinite where ``shape <= 1``."""
        return self._full(np.where(self.shape > 1, self.rate / self._above(1.0), np.inf))

    def variance(self) -> Array:
        """Return the variance: infinite where ``shape <= 2``, NaN without a finite mean."""
        with np.errstate(over="ignore"):
            finite = (self.rate / self._above(1.0)) ** 2 / self._above(2.0)
        none = np.where(self.shape > 1, np.inf, np.nan)
        return self._full(np.where(self.shape > 2, finite, none))

    def mode(self) -> Array:
        """Return ``rate / (shape + 1)``."""
        return self._full(self.rate / (self.shape + 1.0))

    def entropy(self) -> Array:
        """Return the expectation of ``-log_prob``, in nats."""
        slope = 2.0 * special.digamma(self.shape)
        return self._full(unit_entropy(self.shape) - slope + np.log(self.rate))

    def mean_difference(self) -> Array:
        """Return ``E|X - X'|``; NaN where the mean is infinite."""
        below = special.betainc(self._above(1.0), self.shape, 0.5)
        return self._full(self.rate / self._above(1.0) * (4.0 * below - 2.0))

    def _partial_mean(self, x: Array) -> Array:
        return self.mean() * special.gammaincc(self._above(1.0), self.rate * self._inverse(x))

    def _above(self, least: float) -> Array:
        """Return by how much the shape exceeds ``least``, NaN where it does not."""
        return np.where(self.shape > least, self.shape - least, np.nan)

    @staticmethod
    def _inverse(x: ArrayLike) -> Array:
        with np.errstate(divide="ignore", over="ignore"):
            return 1.0 / np.maximum(as_float(x), 0.0)

    def _draw(self, rng: Generator, shape: tuple[int, ...]) -> Array:
        # Draws beyond the largest float are infinite.
        return self._inverse(self.reciprocal()._spread_to(self.batch_shape)._draw(rng, shape))

    def _kl(self, other: Self) -> Array:
        # A divergence does not change when both variables are replaced by their reciprocals.
        return self.reciprocal().kl(other.reciprocal())
