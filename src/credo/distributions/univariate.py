"""What distributions of one number can do beyond those of anything."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from credo.distributions.distribution import Distribution
from credo.distributions.parameter import probability
from credo.distributions.quadrature import DEPTHS, panels, tail_levels
from credo.numerics.array import Array, as_float

__all__ = ["Univariate"]


@dataclass(frozen=True, eq=False)
class Univariate(Distribution):
    """A distribution of one number, or a batch of them.

    A family supplies `log_prob`, `cdf`, `quantile` and the moments. Intervals, scores and
    draws follow from these; where a family knows better it says so by overriding.
    """

    def support(self) -> tuple[Array, Array]:
        """Return the smallest and largest outcome, infinite where there is none."""
        return self._full(-np.inf), self._full(np.inf)

    @abstractmethod
    def cdf(self, x: ArrayLike) -> Array:
        """Return the probability of an outcome not above ``x``."""

    def survival(self, x: ArrayLike) -> Array:
        """Return the probability of an outcome above ``x``, without cancellation."""
        return 1.0 - self.cdf(x)

    @abstractmethod
    def quantile(self, p: ArrayLike) -> Array:
        """Return the smallest outcome whose `cdf` reaches ``p``."""

    def upper_quantile(self, p: ArrayLike) -> Array:
        """Return the outcome that is exceeded with probability ``p``, however small."""
        return self.quantile(1.0 - as_float(p))

    def median(self) -> Array:
        """Return the outcome that as much probability is below as above, shape (*batch)."""
        return self._full(self.quantile(0.5))

    def interval(self, coverage: float = 0.9) -> Array:
        """Return the central interval of probability ``coverage``, shape (*batch, 2)."""
        tail = 0.5 * (1.0 - probability("coverage", coverage))
        ends = self.quantile(tail), self.upper_quantile(tail)
        return np.stack([self._full(end) for end in ends], axis=-1)

    def crps(self, y: ArrayLike) -> Array:
        """Return the continuous ranked probability score of the outcome ``y``; lower is better.

        ``E|X - y| - E|X - X'| / 2``, the integral of ``(cdf(x) - [x >= y])^2``, in the units
        of ``y`` [gneiting2007]_. NaN where the mean does not exist.
        """
        return self.expected_distance(y) - 0.5 * self.mean_difference()

    def expected_distance(self, y: ArrayLike) -> Array:
        """Return ``E|X - y|``, the expected absolute error of the guess ``y``."""
        guess = as_float(y)
        below = self.cdf(guess)
        return guess * (2.0 * below - 1.0) + self.mean() - 2.0 * self._partial_mean(guess)

    def mean_difference(self) -> Array:
        """Return ``E|X - X'|`` for two independent outcomes, shape (*batch)."""
        nodes, weights = self._outcomes()
        return self._full(2.0 * (weights * self.cdf(nodes) * self.survival(nodes)).sum(axis=0))

    def entropy(self) -> Array:
        """Return the expectation of ``-log_prob``, in nats, here by quadrature."""
        nodes, weights = self._outcomes()
        log_prob = self.log_prob(nodes)
        bounded = np.where(np.isneginf(log_prob), 0.0, log_prob)
        return self._full(-(weights * np.exp(log_prob) * bounded).sum(axis=0))

    def expectation(self, function: Callable[[Array], ArrayLike], order: int = 8) -> Array:
        """Return the mean of ``function`` of the outcome, without randomness.

        A sum over outcomes if discrete, else a quadrature over quantiles that bears integrable
        singularities at the ends; a jump or a kink inside costs digits.

        Parameters
        ----------
        function
            Takes outcomes of shape (n_nodes, *batch) and returns the same shape.
        order
            Nodes in each of the two dozen pieces of a density.
        """
        if self.is_discrete:
            nodes, weights = self._outcomes()
            shares = weights * self.prob(nodes)
            return np.asarray((shares * as_float(function(nodes))).sum(axis=0))
        levels, weights = tail_levels(order)
        column = levels.reshape(-1, *[1] * len(self.batch_shape))
        nodes = np.concatenate([self.quantile(column), self.upper_quantile(column)])
        nodes = np.broadcast_to(nodes, (len(nodes), *self.batch_shape))
        values = np.broadcast_to(as_float(function(nodes)), nodes.shape)
        return np.asarray(np.tensordot(np.tile(weights, 2), values, axes=1))

    def _outcomes(self) -> tuple[Array, Array]:
        """Return nodes and weights for integrals over outcomes, shape (n_nodes, *batch)."""
        return panels(self._edges(), order=8)

    def _edges(self) -> Array:
        """Return outcomes that cut the support into pieces of comparable probability."""
        levels = np.exp(-DEPTHS).reshape(-1, *[1] * len(self.batch_shape))
        lower, upper = self.quantile(levels), self.upper_quantile(levels[1:])
        return np.concatenate([lower[::-1], upper])

    def _partial_mean(self, x: Array) -> Array:
        """Return ``E[X; X <= x]``, here by quadrature over the quantiles below ``x``."""
        levels, weights = tail_levels()
        levels, weights = np.append(levels, 1.0 - levels), np.append(weights, weights)
        below = self.cdf(x)
        nodes = self.quantile(levels.reshape(-1, *[1] * below.ndim) * below)
        return np.asarray(below * np.einsum("i...,i->...", nodes, weights))

    def _draw(self, rng: Generator, shape: tuple[int, ...]) -> Array:
        return self.quantile(rng.uniform(size=shape))
