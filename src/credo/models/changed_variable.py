"""Distributions of monotone functions of a variable whose distribution is known."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from credo.distributions.quadrature import tail_levels
from credo.distributions.univariate import Univariate
from credo.numerics.array import Array, as_float

__all__ = ["Change", "ChangedVariable"]

Change = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class ChangedVariable(Univariate):
    """Distribution of ``inverse(z)``, monotone in ``z``, whose distribution is known."""

    base: Univariate
    forward: Change
    inverse: Change
    _shared: ClassVar[frozenset[str]] = frozenset({"forward", "inverse"})

    def __init__(self, base: Univariate, forward: Change, inverse: Change) -> None:
        self._set(base=base, forward=forward, inverse=inverse)

    @property
    def _is_increasing(self) -> bool:
        low, high = self.inverse(np.quantile(self.base.interval(0.5), [0.0, 1.0]))
        return bool(high > low)

    def log_prob(self, x: ArrayLike) -> Array:
        """Return the log density, with the slope of the change by central differences."""
        points = self._spread(x)
        step = 1e-5 * np.maximum(np.abs(points), 1e-5 * np.abs(points).max(initial=1e-300))
        slope = (self.forward(points + step) - self.forward(points - step)) / (2 * step)
        return np.asarray(self.base.log_prob(self.forward(points)) + np.log(np.abs(slope)))

    def cdf(self, x: ArrayLike) -> Array:
        """Return the probability of an outcome not above ``x``."""
        z = self.forward(self._spread(x))
        return self.base.cdf(z) if self._is_increasing else self.base.survival(z)

    def quantile(self, p: ArrayLike) -> Array:
        """Return the outcome whose `cdf` is ``p``."""
        if self._is_increasing:
            return self.inverse(self.base.quantile(p))
        return self.inverse(self.base.upper_quantile(p))

    def upper_quantile(self, p: ArrayLike) -> Array:
        """Return the outcome that is exceeded with probability ``p``."""
        if self._is_increasing:
            return self.inverse(self.base.upper_quantile(p))
        return self.inverse(self.base.quantile(p))

    def mean(self) -> Array:
        """Return the expectation, by quadrature over the quantiles."""
        return self._average(lambda y: y)

    def variance(self) -> Array:
        """Return the variance, by quadrature over the quantiles."""
        mean = self.mean()
        return self._average(lambda y: (y - mean) ** 2)

    def mode(self) -> Array:
        """Return the image of the mode of the base, exact for a linear change."""
        return self.inverse(np.asarray(self.base.mode(), dtype=np.float64))

    def entropy(self) -> Array:
        """Return the expectation of ``-log_prob``, by quadrature over the quantiles."""
        return self._average(lambda y: -self.log_prob(y))

    def _spread(self, x: ArrayLike) -> Array:
        points = as_float(x)
        return np.array(
            np.broadcast_to(points, np.broadcast_shapes(points.shape, self.batch_shape))
        )

    def _average(self, function: Change) -> Array:
        levels, weights = tail_levels()
        levels = levels.reshape(-1, *[1] * len(self.batch_shape))
        ends = [function(self.quantile(levels)), function(self.upper_quantile(levels))]
        return np.asarray(sum(np.einsum("i...,i->...", end, weights) for end in ends))

    def _draw(self, rng: Generator, shape: tuple[int, ...]) -> Array:
        return self.inverse(np.asarray(self.base._draw(rng, shape), dtype=np.float64))
