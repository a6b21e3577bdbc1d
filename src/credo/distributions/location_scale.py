"""Symmetric families that are one standard shape, moved and stretched."""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from credo.distributions.univariate import Univariate
from credo.numerics.array import Array, as_float

__all__ = ["SCALE_ADVICE", "SymmetricLocationScale"]

SCALE_ADVICE = "Pass standard deviations, not variances or log scales."


@dataclass(frozen=True, eq=False)
class SymmetricLocationScale(Univariate):
    """``loc + scale * Z`` for a standard variable ``Z`` that is symmetric about zero.

    A family describes ``Z``: its log density, distribution function, quantile, draws,
    variance, entropy and the two expectations behind the ranked probability score.
    """

    loc: Array
    scale: Array

    def log_prob(self, x: ArrayLike) -> Array:
        """Return the log density."""
        return self._standard_log_prob(self._standardize(x)) - np.log(self.scale)

    def cdf(self, x: ArrayLike) -> Array:
        """Return the probability of an outcome not above ``x``."""
        return self._standard_cdf(self._standardize(x))

    def survival(self, x: ArrayLike) -> Array:
        """Return the probability of an outcome above ``x``, without cancellation."""
        return self._standard_cdf(-self._standardize(x))

    def quantile(self, p: ArrayLike) -> Array:
        """Return the outcome whose `cdf` is ``p``."""
        return self.loc + self.scale * self._standard_quantile(as_float(p))

    def upper_quantile(self, p: ArrayLike) -> Array:
        """Return the outcome that is exceeded with probability ``p``, however small."""
        return self.loc - self.scale * self._standard_quantile(as_float(p))

    def mean(self) -> Array:
        """Return the expectation, here the center of symmetry."""
        return self._full(self.loc)

    def variance(self) -> Array:
        """Return the variance."""
        with np.errstate(over="ignore"):
            return self._full(self.scale**2 * self._standard_variance())

    def std(self) -> Array:
        """Return the standard deviation, also where its square leaves the range of floats."""
        return self._full(self.scale * np.sqrt(self._standard_variance()))

    def mode(self) -> Array:
        """Return the most probable outcome, here the center of symmetry."""
        return self._full(self.loc)

    def entropy(self) -> Array:
        """Return the expectation of ``-log_prob``, in nats."""
        return self._full(self._standard_entropy() + np.log(self.scale))

    def expected_distance(self, y: ArrayLike) -> Array:
        """Return ``E|X - y|``, the expected absolute error of the guess ``y``."""
        # In standard units nothing cancels when |loc| is much larger than scale.
        with np.errstate(over="ignore"):
            return self.scale * self._standard_distance(self._standardize(y))

    def mean_difference(self) -> Array:
        """Return ``E|X - X'|`` for two independent outcomes, shape (*batch)."""
        return self._full(self.scale * self._standard_difference())

    def _standardize(self, x: ArrayLike) -> Array:
        with np.errstate(over="ignore"):
            return (as_float(x) - self.loc) / self.scale

    def _draw(self, rng: Generator, shape: tuple[int, ...]) -> Array:
        return self.loc + self.scale * self._standard_draw(rng, shape)

    @abstractmethod
    def _standard_log_prob(self, z: Array) -> Array: ...

    @abstractmethod
    def _standard_cdf(self, z: Array) -> Array: ...

    @abstractmethod
    def _standard_quantile(self, p: Array) -> Array: ...

    @abstractmethod
    def _standard_variance(self) -> Array | float: ...

    @abstractmethod
    def _standard_entropy(self) -> Array | float: ...

    @abstractmethod
    def _standard_distance(self, z: Array) -> Array:
        """Return ``E|Z - z|``."""

    @abstractmethod
    def _standard_difference(self) -> Array | float:
        """Return ``E|Z - Z'|``."""

    @abstractmethod
    def _standard_draw(self, rng: Generator, shape: tuple[int, ...]) -> Array: ...
