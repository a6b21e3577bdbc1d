"""The Bernoulli distribution of a yes or no."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy import special

from credo.distributions.discrete import Discrete
from credo.distributions.parameter import probability as as_probability
from credo.numerics.array import Array

__all__ = ["Bernoulli", "binary_kl"]


@dataclass(frozen=True, eq=False)
class Bernoulli(Discrete):
    """1 with a given probability, else 0.

    Attributes
    ----------
    probability
        Probability of 1.

    Examples
    --------
    >>> float(Bernoulli(0.3).entropy().round(10))
    0.6108643021
    """

    probability: Array

    def __init__(self, probability: ArrayLike) -> None:
        self._set(probability=as_probability("probability", probability))

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return cls([0.3, 0.8]), cls(0.5)

    def support(self) -> tuple[Array, Array]:
        """Return 0 and 1."""
        return self._full(0.0), self._full(1.0)

    def mean(self) -> Array:
        """Return the probability of 1."""
        return self._full(self.probability)

    def variance(self) -> Array:
        """Return ``p (1 - p)``."""
        return self._full(self.probability * (1.0 - self.probability))

    def mode(self) -> Array:
        """Return the more probable outcome, 0 if they are equal."""
        return self._full(self.probability > 0.5)

    def entropy(self) -> Array:
        """Return the expectation of ``-log_prob``, in nats."""
        p = self.probability
        return self._full(special.entr(p) + special.entr(1.0 - p))

    def mean_difference(self) -> Array:
        """Return ``E|X - X'|`` for two independent outcomes."""
        return 2.0 * self.variance()

    def _log_mass(self, k: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.where(k == 1, np.log(self.probability), np.log1p(-self.probability))

    def _mass_up_to(self, k: Array) -> Array:
        return np.where(k >= 1, 1.0, 1.0 - self.probability)

    def _mass_above(self, k: Array) -> Array:
        return np.where(k >= 1, 0.0, self.probability)

    def _partial_mean(self, x: Array) -> Array:
        return np.where(x >= 1, self.probability, 0.0)

    def _draw(self, rng: Generator, shape: tuple[int, ...]) -> Array:
        return (rng.uniform(size=shape) < self.probability).astype(np.float64)

    def _kl(self, other: Self) -> Array:
        return binary_kl(self.probability, other.probability)


def binary_kl(p: Array, q: Array) -> Array:
    """Return the divergence of one yes-or-no probability from another; ``0 log 0`` is 0."""
    return np.asarray(special.rel_entr(p, q) + special.rel_entr(1.0 - p, 1.0 - q))
