"""The empirical distribution of draws."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy import special

from credo.distributions.categorical import random_index
from credo.distributions.parameter import real, simplex
from credo.distributions.univariate import Univariate
from credo.numerics.array import Array, as_float

__all__ = ["Empirical"]


@dataclass(frozen=True, eq=False)
class Empirical(Univariate):
    """What a set of weighted draws says: an atom of probability at each of them.

    Probabilities, quantiles and scores are those of the atoms themselves, without smoothing;
    in particular `log_prob` is -inf between draws.

    Attributes
    ----------
    draws
        Shape (n_draws, *batch).
    weights
        Probability of each draw, shape (n_draws,); equal if not given.

    Examples
    --------
    >>> d = Empirical([1.0, 2.0, 4.0, 5.0])
    >>> float(d.mean()), float(d.quantile(0.5)), float(d.crps(3.0))
    (3.0, 2.0, 0.625)
    """

    draws: Array
    weights: Array

    def __init__(self, draws: ArrayLike, weights: ArrayLike | None = None) -> None:
        values = np.atleast_1d(real("draws", draws))
        n_draws = values.shape[0]
        if n_draws == 0:
            raise ValueError("draws must hold at least one draw; found none. Draw first.")
        equal = np.full(n_draws, 1.0 / n_draws)
        shares = equal if weights is None else simplex("weights", weights)
        if shares.shape != (n_draws,):
            raise ValueError(
                f"weights must have shape ({n_draws},), one per draw; found {shares.shape}. "
                "Weights are shared by the whole batch."
            )
        self._set(draws=values, weights=shares)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        draws = np.random.default_rng(0).integers(0, 9, size=(30, 2))
        return cls(draws), cls([1.0, 2.0, 4.0], [0.5, 0.3, 0.2])

    @cached_property
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the batch: that of one draw."""
        return self.draws.shape[1:]

    def __getitem__(self, index: Any) -> Self:
        """Return the entries at ``index`` of the batch axes."""
        full = index if isinstance(index, tuple) else (index,)
        return self._rebuild(draws=self.draws[(slice(None), *full)], weights=self.weights)

    def _spread_to(self, batch_shape: tuple[int, ...]) -> Self:
        draws = np.broadcast_to(
            self.draws.reshape(self._aligned(batch_shape)), (len(self.weights), *batch_shape)
        )
        return self._rebuild(draws=draws, weights=self.weights)

    @property
    def is_discrete(self) -> bool:
        """Whether single outcomes have positive probability: yes."""
        return True

    @cached_property
    def _sorted(self) -> tuple[Array, Array]:
        """Draws in increasing order and the probability up to each, shape (n_draws, *batch)."""
        order = np.argsort(self.draws, axis=0)
        reached = np.cumsum(self.weights[order], axis=0)
        return np.take_along_axis(self.draws, order, axis=0), reached

    def support(self) -> tuple[Array, Array]:
        """Return the smallest and the largest draw."""
        return self._full(self.draws.min(axis=0)), self._full(self.draws.max(axis=0))

    def log_prob(self, x: ArrayLike) -> Array:
        """Return the log of the total weight of the draws equal to ``x``."""
        with np.errstate(divide="ignore"):
            return np.log(self._total(x, np.equal))

    def cdf(self, x: ArrayLike) -> Array:
        """Return the total weight of the draws not above ``x``."""
        return self._total(x, np.less_equal)

    def survival(self, x: ArrayLike) -> Array:
        """Return the total weight of the draws above ``x``."""
        return self._total(x, np.greater)

    def quantile(self, p: ArrayLike) -> Array:
        """Return the smallest draw whose `cdf` reaches ``p``."""
        level = as_float(p)
        values, reached = self._sorted
        shape = np.broadcast_shapes(level.shape, self.batch_shape)
        # The slack keeps 0.3 from falling behind a sum of three tenths.
        below = reached.reshape(self._aligned(shape)) < level - 1e-12
        index = np.minimum(below.sum(axis=0), len(self.weights) - 1)
        wide = np.broadcast_to(values.reshape(self._aligned(shape)), (len(values), *shape))
        found = np.take_along_axis(wide, np.broadcast_to(index, shape)[None], axis=0)[0]
        return np.where((level >= 0) & (level <= 1), found, np.nan)

    def mean(self) -> Array:
        """Return the weighted mean of the draws."""
        return self._weighted(self.draws)

    def variance(self) -> Array:
        """Return the weighted variance of the draws, with divisor one."""
        return self._weighted((self.draws - self.mean()) ** 2)

    def mode(self) -> Array:
        """Return the draw of largest total weight, the smallest if several are equal."""
        best = self._atom_mass().argmax(axis=0)[None]
        return np.asarray(np.take_along_axis(self._sorted[0], best, axis=0)[0])

    def entropy(self) -> Array:
        """Return the expectation of ``-log_prob``, in nats."""
        return np.asarray(special.entr(self._atom_mass()).sum(axis=0))

    def _atom_mass(self) -> Array:
        """Return, along the sorted draws, the weight of all equal ones at the last of them."""
        values, reached = self._sorted
        is_last = np.ones(values.shape, dtype=bool)
        is_last[:-1] = values[:-1] < values[1:]
        before = np.maximum.accumulate(np.where(is_last, reached, 0.0), axis=0)
        before = np.concatenate([np.zeros_like(before[:1]), before[:-1]])
        return np.where(is_last, reached - before, 0.0)

    def expected_distance(self, y: ArrayLike) -> Array:
        """Return the weighted mean distance of the draws from ``y``."""
        guess = as_float(y)
        shape = np.broadcast_shapes(guess.shape, self.batch_shape)
        return self._weighted(np.abs(self.draws.reshape(self._aligned(shape)) - guess))

    def mean_difference(self) -> Array:
        """Return the weighted mean distance of two draws, by one sort."""
        values, reached = self._sorted
        steps = np.diff(values, axis=0)
        return np.asarray(2.0 * (steps * reached[:-1] * (1.0 - reached[:-1])).sum(axis=0))

    def _aligned(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of the draws with room for leading axes of ``shape``."""
        extra = len(shape) - len(self.batch_shape)
        return (len(self.weights), *[1] * extra, *self.batch_shape)

    def _weighted(self, values: Array) -> Array:
        return np.asarray(np.tensordot(self.weights, values, axes=(0, 0)))

    def _total(self, x: ArrayLike, relation: np.ufunc) -> Array:
        value = as_float(x)
        shape = np.broadcast_shapes(value.shape, self.batch_shape)
        hits = relation(self.draws.reshape(self._aligned(shape)), value)
        # All draws together weigh one, whatever the rounding of their sum.
        total = np.where(hits.all(axis=0), 1.0, self._weighted(hits.astype(np.float64)))
        return np.where(np.isnan(value), np.nan, np.minimum(total, 1.0))

    def _draw(self, rng: Generator, shape: tuple[int, ...]) -> Array:
        index = random_index(rng, self.weights, shape)
        wide = np.broadcast_to(
            self.draws.reshape(self._aligned(shape)), (len(self.weights), *shape)
        )
        return np.asarray(np.take_along_axis(wide, index[None], axis=0)[0])
