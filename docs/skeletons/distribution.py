"""The Gumbel distribution, the largest of many draws: a skeleton for a new distribution.

Copy it to ``src/credo/distributions/<name>.py``, export the class by a line in the stub of the
room, where the laws find its examples, and add a test that compares it with ``scipy.stats``.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from credo.distributions.parameter import positive, real
from credo.distributions.univariate import Univariate
from credo.numerics.array import Array, as_float

__all__ = ["Gumbel"]


@dataclass(frozen=True, eq=False)
class Gumbel(Univariate):
    """Gumbel distribution, ``exp(-z - exp(-z)) / scale`` with ``z = (x - loc) / scale``.

    Attributes
    ----------
    loc
        Most probable outcome.
    scale
        Spread; the standard deviation is ``pi / sqrt(6)`` times as large.

    Examples
    --------
    >>> Gumbel(loc=[0.0, 1.0], scale=2.0).cdf(0.0).round(4)
    array([0.3679, 0.1923])
    """

    loc: Array
    scale: Array

    def __init__(self, loc: ArrayLike, scale: ArrayLike) -> None:
        self._set(loc=real("loc", loc), scale=positive("scale", scale))

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws; a ``kl`` is that of the first from the second."""
        return cls([0.0, -3.0], [1.0, 0.2]), cls(1.0, 2.0)

    def log_prob(self, x: ArrayLike) -> Array:
        """Return the log density."""
        z = self._standardize(x)
        with np.errstate(invalid="ignore", over="ignore"):
            log_prob = -z - np.exp(-z) - np.log(self.scale)
        # At minus infinity both terms are infinite, and the second one wins.
        return np.where(z == -np.inf, -np.inf, log_prob)

    def cdf(self, x: ArrayLike) -> Array:
        """Return the probability of an outcome not above ``x``."""
        return np.exp(-np.exp(-self._standardize(x)))

    def survival(self, x: ArrayLike) -> Array:
        """Return the probability of an outcome above ``x``, without cancellation."""
        return -np.expm1(-np.exp(-self._standardize(x)))

    def quantile(self, p: ArrayLike) -> Array:
        """Return the outcome whose `cdf` is ``p``."""
        with np.errstate(divide="ignore"):
            return self.loc - self.scale * np.log(-np.log(as_float(p)))

    def upper_quantile(self, p: ArrayLike) -> Array:
        """Return the outcome that is exceeded with probability ``p``, however small."""
        with np.errstate(divide="ignore"):
            return self.loc - self.scale * np.log(-np.log1p(-as_float(p)))

    def mean(self) -> Array:
        """Return the expectation, ``loc + scale * 0.5772...``."""
        return self._full(self.loc + np.euler_gamma * self.scale)

    def variance(self) -> Array:
        """Return the variance, ``(pi * scale)^2 / 6``."""
        return self._full((np.pi * self.scale) ** 2 / 6.0)

    def mode(self) -> Array:
        """Return the most probable outcome."""
        return self._full(self.loc)

    def entropy(self) -> Array:
        """Return the expectation of ``-log_prob``, in nats."""
        return self._full(np.log(self.scale) + np.euler_gamma + 1.0)

    def _draw(self, rng: Generator, shape: tuple[int, ...]) -> Array:
        return rng.gumbel(self.loc, self.scale, shape)

    def _standardize(self, x: ArrayLike) -> Array:
        return (as_float(x) - self.loc) / self.scale
