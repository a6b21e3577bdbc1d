"""Distributions of a whole number."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from credo.distributions.quadrature import NEGLIGIBLE, integers_between
from credo.distributions.search import first_integer
from credo.distributions.univariate import Univariate
from credo.numerics.array import Array, as_float

__all__ = ["Discrete"]


@dataclass(frozen=True, eq=False)
class Discrete(Univariate):
    """A distribution of a whole number.

    A family supplies the log probability, the distribution function and its complement at
    whole numbers inside the support; everything else follows by exact sums and bisection.
    """

    @property
    def is_discrete(self) -> bool:
        """Whether single outcomes have positive probability: yes."""
        return True

    def log_prob(self, x: ArrayLike) -> Array:
        """Return the log probability; -inf at anything that is not a possible count."""
        value = as_float(x)
        low, high = self.support()
        within = (value >= low) & (value <= high) & np.isfinite(value)
        possible = within & (value == np.floor(value))
        inside = self._log_mass(np.where(possible, value, low))
        outside = np.where(np.isnan(value), np.nan, -np.inf)
        return np.where(possible, inside, outside)

    def cdf(self, x: ArrayLike) -> Array:
        """Return the probability of an outcome not above ``x``."""
        return self._at_count(x, self._mass_up_to, 0.0, 1.0)

    def survival(self, x: ArrayLike) -> Array:
        """Return the probability of an outcome above ``x``, without cancellation."""
        return self._at_count(x, self._mass_above, 1.0, 0.0)

    def quantile(self, p: ArrayLike) -> Array:
        """Return the smallest outcome whose `cdf` reaches ``p``."""
        level = as_float(p)
        found = self._first(level, lambda k: self.cdf(k) - level)
        return np.where(level < 1, found, np.where(level == 1, self.support()[1], np.nan))

    def upper_quantile(self, p: ArrayLike) -> Array:
        """Return the smallest outcome that is exceeded with probability ``p`` or less."""
        level = as_float(p)
        found = self._first(level, lambda k: level - self.survival(k))
        return np.where(level > 0, found, np.where(level == 0, self.support()[1], np.nan))

    @abstractmethod
    def _log_mass(self, k: Array) -> Array: ...

    @abstractmethod
    def _mass_up_to(self, k: Array) -> Array: ...

    @abstractmethod
    def _mass_above(self, k: Array) -> Array: ...

    def _at_count(
        self, x: ArrayLike, inside: Callable[[Array], Array], below: float, beyond: float
    ) -> Array:
        value = np.floor(as_float(x))
        low, high = self.support()
        within = (value >= low) & (value < high)
        answer = inside(np.where(within, value, low))
        outside = np.where(value < low, below, np.where(value >= high, beyond, np.nan))
        return np.where(within, answer, outside)

    def _first(self, level: Array, excess: Callable[[Array], Array]) -> Array:
        """Return the smallest count where ``excess`` is not negative."""
        low, high = (np.broadcast_to(e, np.broadcast(e, level).shape) for e in self.support())
        possible = (level >= 0) & (level <= 1)
        high = np.where(np.isfinite(high), high, np.ceil(2.0 * self.mean() + 10.0))
        while np.any(short := possible & (excess(high) < 0)):
            high = np.where(short, 2.0 * high, high)
        return np.where(possible, first_integer(excess, low, high), np.nan)

    def _outcomes(self) -> tuple[Array, Array]:
        nodes = integers_between(self.quantile(NEGLIGIBLE), self.upper_quantile(NEGLIGIBLE))
        return nodes, np.ones_like(nodes)
