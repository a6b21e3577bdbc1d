"""The Lomax (Pareto II) distribution of a positive number with a heavy tail."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from credo.distributions.parameter import level, positive
from credo.distributions.univariate import Univariate
from credo.numerics.array import Array, as_float

__all__ = ["Lomax"]


@dataclass(frozen=True, eq=False)
class Lomax(Univariate):
    """Lomax distribution, ``(shape / scale) (1 + x / scale)^-(shape + 1)`` for ``x >= 0``.

    An exponential waiting time whose rate is an unknown ``Gamma(shape, rate=scale)``.

    Attributes
    ----------
    shape
        Index of the tail; the mean exists for ``shape > 1``, the variance for ``shape > 2``.
    scale
        Where the tail begins; the median is ``scale (2^(1 / shape) - 1)``.

    Examples
    --------
    >>> wait = Lomax(shape=3.0, scale=4.0)
    >>> float(wait.mean()), float(wait.quantile(0.875))
    (2.0, 4.0)
    """

    shape: Array
    scale: Array

    def __init__(self, shape: ArrayLike, scale: ArrayLike) -> None:
        self._set(shape=positive("shape", shape), scale=positive("scale", scale))

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return (cls([5.0, 6.0], 2.0),)

    def support(self) -> tuple[Array, Array]:
        """Return 0 and infinity."""
        return self._full(0.0), self._full(np.inf)

    def log_prob(self, x: ArrayLike) -> Array:
        """Return the log density; -inf below zero."""
        value = as_float(x)
        density = np.log(self.shape / self.scale) - (self.shape + 1.0) * self._log_growth(value)
        return np.where(value < 0, -np.inf, density)

    def cdf(self, x: ArrayLike) -> Array:
        """Return the probability of an outcome not above ``x``."""
        return -np.expm1(-self.shape * self._log_growth(as_float(x)))

    def survival(self, x: ArrayLike) -> Array:
        """Return the probability of an outcome above ``x``, without cancellation."""
        return np.exp(-self.shape * self._log_growth(as_float(x)))

    def quantile(self, p: ArrayLike) -> Array:
        """Return the outcome whose `cdf` is ``p``."""
        with np.errstate(divide="ignore", over="ignore"):
            return self.scale * np.expm1(-np.log1p(-level(p)) / self.shape)

    def upper_quantile(self, p: ArrayLike) -> Array:
        """Return the outcome that is exceeded with probability ``p``, however small."""
        with np.errstate(divide="ignore", over="ignore"):
            return self.scale * np.expm1(-np.log(level(p)) / self.shape)

    def mean(self) -> Array:
        """Return ``scale / (shape - 1)``, infinite where ``shape <= 1``."""
        excess = np.where(self.shape > 1, self.shape - 1.0, np.nan)
        return self._full(np.where(self.shape > 1, self.scale / excess, np.inf))

    def variance(self) -> Array:
        """Return the variance: infinite where ``shape <= 2``, NaN without a finite mean."""
        shape = np.where(self.shape > 2, self.shape, np.nan)
        with np.errstate(over="ignore"):
            finite = self.scale**2 * shape / ((shape - 1.0) ** 2 * (shape - 2.0))
        none = np.where(self.shape > 1, np.inf, np.nan)
        return self._full(np.where(self.shape > 2, finite, none))

    def mode(self) -> Array:
        """Return zero, where the density is largest."""
        return self._full(0.0)

    def entropy(self) -> Array:
        """Return the expectation of ``-log_prob``, in nats."""
        return self._full(np.log(self.scale / self.shape) + 1.0 + 1.0 / self.shape)

    def crps(self, y: ArrayLike) -> Array:
        """Return the continuous ranked probability score; infinite where ``shape <= 1/2``.

        The integral of ``(cdf(x) - [x >= y])^2`` exists even where the mean does not.
        """
        value = as_float(y)
        growth = self._log_growth(np.where(np.isinf(value), 0.0, value))
        passed = self.scale * growth * special.exprel((1.0 - self.shape) * growth)
        tail = np.where(self.shape > 0.5, 2.0 * self.shape - 1.0, np.nan)
        spread = np.where(self.shape > 0.5, self.scale / tail, np.inf)
        return np.abs(value) - 2.0 * passed + spread

    def expected_distance(self, y: ArrayLike) -> Array:
        """Return ``E|X - y|``, the expected absolute error of the guess ``y``."""
        return self.crps(y) + 0.5 * self.mean_difference()

    def mean_difference(self) -> Array:
        """Return ``E|X - X'|`` for two independent outcomes."""
        shape = np.where(self.shape > 1, self.shape, np.nan)
        finite = 2.0 * self.scale * shape / ((shape - 1.0) * (2.0 * shape - 1.0))
        return self._full(np.where(self.shape > 1, finite, np.inf))

    def _log_growth(self, x: Array) -> Array:
        return np.log1p(np.maximum(x, 0.0) / self.scale)
