"""The uniform distribution on an interval."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from credo.distributions.parameter import level, real, require
from credo.distributions.univariate import Univariate
from credo.numerics.array import Array, as_float

__all__ = ["Uniform"]


@dataclass(frozen=True, eq=False)
class Uniform(Univariate):
    """Constant density ``1 / (high - low)`` between ``low`` and ``high``.

    Examples
    --------
    >>> d = Uniform(low=0.0, high=3.0)
    >>> float(d.mean()), float(d.variance())
    (1.5, 0.75)
    """

    low: Array
    high: Array

    def __init__(self, low: ArrayLike, high: ArrayLike) -> None:
        self._set(low=real("low", low), high=real("high", high))
        require(
            "high",
            self.high,
            lambda high: high > self.low,
            "above low",
            "Exchange the two.",
        )
        with np.errstate(over="ignore"):
            width = self.high - self.low
        advice = "Pass narrower limits."
        require("high - low", width, np.isfinite, "a finite number", advice)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return cls([0.0, 1.0], 3.0), cls(-1.0, 4.0)

    @property
    def _width(self) -> Array:
        return self.high - self.low

    def support(self) -> tuple[Array, Array]:
        """Return ``low`` and ``high``."""
        return self._full(self.low), self._full(self.high)

    def log_prob(self, x: ArrayLike) -> Array:
        """Return the log density; -inf outside the interval."""
        x = as_float(x)
        outside = (x < self.low) | (x > self.high)
        density = np.where(np.isnan(x), np.nan, -np.log(self._width))
        return np.where(outside, -np.inf, density)

    def cdf(self, x: ArrayLike) -> Array:
        """Return the probability of an outcome not above ``x``."""
        return np.clip((as_float(x) - self.low) / self._width, 0.0, 1.0)

    def survival(self, x: ArrayLike) -> Array:
        """Return the probability of an outcome above ``x``, without cancellation."""
        return np.clip((self.high - as_float(x)) / self._width, 0.0, 1.0)

    def quantile(self, p: ArrayLike) -> Array:
        """Return the outcome whose `cdf` is ``p``."""
        return self.low + level(p) * self._width

    def upper_quantile(self, p: ArrayLike) -> Array:
        """Return the outcome that is exceeded with probability ``p``, however small."""
        return self.high - level(p) * self._width

    def mean(self) -> Array:
        """Return the middle."""
        return self._full(0.5 * (self.low + self.high))

    def variance(self) -> Array:
        """Return a twelfth of the squared width."""
        with np.errstate(over="ignore"):
            return self._full(self._width**2 / 12.0)

    def std(self) -> Array:
        """Return the width by the root of twelve."""
        return self._full(self._width / np.sqrt(12.0))

    def mode(self) -> Array:
        """Return NaN: every point is as probable as any other."""
        return self._full(np.nan)

    def entropy(self) -> Array:
        """Return the log of the width."""
        return self._full(np.log(self._width))

    def mean_difference(self) -> Array:
        """Return a third of the width."""
        return self._full(self._width / 3.0)

    def _partial_mean(self, x: Array) -> Array:
        return 0.5 * (self.low + np.clip(x, self.low, self.high)) * self.cdf(x)

    def _draw(self, rng: Generator, shape: tuple[int, ...]) -> Array:
        return rng.uniform(self.low, self.high, size=shape)

    def _kl(self, other: Self) -> Array:
        nested = (other.low <= self.low) & (self.high <= other.high)
        return np.where(nested, np.log(other._width / self._width), np.inf)
