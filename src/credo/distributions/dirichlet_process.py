"""The Dirichlet process in three views: urn, Chinese restaurant, stick breaking.

Draws of a realization of the process with concentration ``a`` and base distribution ``f``, one
after the other: the n-th is new, from ``f``, with probability ``a / (a + n - 1)``, and else
equals one of those before it, each with the same probability. Which draws are equal is a
partition, whose probability does not depend on the order; the weights of distinct values are
what is broken off a stick, a share ``v ~ Beta(1, a)`` of the rest each time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from scipy import special

from credo.distributions.beta import Beta
from credo.distributions.categorical import Categorical
from credo.distributions.distribution import Distribution
from credo.distributions.parameter import SUM_TOLERANCE, positive
from credo.numerics.array import Array, as_float

__all__ = ["ChineseRestaurant", "DirichletProcess", "StickBreaking"]


@dataclass(frozen=True, eq=False)
class StickBreaking(Distribution):
    """Weights that are broken off a stick: ``w_k = v_k (1 - v_1) ... (1 - v_(k-1))``.

    Shares ``v_k ~ Beta(first_k, rest_k)`` are independent; the last weight is what is left.
    With ``first = 1`` and ``rest`` the concentration it is a Dirichlet process that ends after
    K values.

    Attributes
    ----------
    first, rest
        Positive, shape (*batch, K - 1).

    Examples
    --------
    >>> StickBreaking.of_process(1.0, 4).mean()
    array([0.5  , 0.25 , 0.125, 0.125])
    """

    first: Array
    rest: Array
    _event_dims: ClassVar[dict[str, int]] = {"first": 1, "rest": 1}

    def __init__(self, first: ArrayLike, rest: ArrayLike) -> None:
        one, two = np.broadcast_arrays(
            np.atleast_1d(positive("first", first)), np.atleast_1d(positive("rest", rest))
        )
        self._set(first=one, rest=two)

    @classmethod
    def of_process(cls, concentration: float, n_weights: int) -> StickBreaking:
        """Return the weights of a Dirichlet process, the last of K being all that is left."""
        return cls(np.ones(n_weights - 1), np.full(n_weights - 1, float(concentration)))

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return cls([[2.0, 1.5, 3.0]], [[4.0, 3.0, 1.5]]), cls([1.0, 1.0, 2.0], [3.0, 2.5, 1.0])

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one outcome, (K,)."""
        return (self.first.shape[-1] + 1,)

    @property
    def sticks(self) -> Beta:
        """Distributions of the shares, batch shape (*batch, K - 1)."""
        return Beta(self.first, self.rest)

    def log_prob(self, x: ArrayLike) -> Array:
        """Return the log density of weights along the last axis of ``x``."""
        value = as_float(x)
        unit = np.clip(value, 0.0, 1.0)
        inside = (unit == value).all(axis=-1) & (np.abs(unit.sum(axis=-1) - 1) <= SUM_TOLERANCE)
        left = 1.0 - np.cumsum(unit[..., :-2], axis=-1)
        left = np.concatenate([np.ones_like(unit[..., :1]), left], axis=-1)
        # The tail of the weights has more digits than one less their head.
        left = np.where(left > 0.5, left, np.cumsum(unit[..., ::-1], axis=-1)[..., :0:-1])
        safe = np.where(left > 0, left, 1.0)
        share = np.clip(unit[..., :-1] / safe, 0.0, 1.0)
        with np.errstate(divide="ignore"):
            density = (self.sticks.log_prob(share) - np.log(safe)).sum(axis=-1)
        outside = np.where(np.isnan(value).any(axis=-1), np.nan, -np.inf)
        return np.where(inside, density, outside)

    def mean(self) -> Array:
        """Return the mean weights, shape (*batch, K)."""
        return _broken(self.first / (self.first + self.rest))

    def variance(self) -> Array:
        """Return the variance of each weight, shape (*batch, K)."""
        a, b = self.first, self.rest
        total = (a + b) * (a + b + 1.0)
        one, rest = a * (a + 1.0) / total, b * (b + 1.0) / total
        ones = np.ones_like(a[..., :1])
        left = np.concatenate([ones, np.cumprod(rest, axis=-1)], axis=-1)
        square = left * np.concatenate([one, ones], axis=-1)
        return np.asarray(square - self.mean() ** 2)

    def mode(self) -> Array:
        """Return the peak; NaN where there is none inside."""
        k = self.first.shape[-1]
        one = self.first - 1.0
        rest = self.rest - 1.0 - np.arange(k - 1, -1, -1)
        peaked = ((one >= 0) & (rest >= 0) & (one + rest > 0)).all(axis=-1, keepdims=True)
        return np.where(peaked, _broken(one / np.where(peaked, one + rest, 1.0)), np.nan)

    def mean_log(self) -> Array:
        """Return the expected log weights, shape (*batch, K)."""
        total = special.digamma(self.first + self.rest)
        one, rest = special.digamma(self.first) - total, special.digamma(self.rest) - total
        none = np.zeros_like(one[..., :1])
        left = np.concatenate([none, np.cumsum(rest, axis=-1)], axis=-1)
        return np.asarray(left + np.concatenate([one, none], axis=-1))

    def entropy(self) -> Array:
        """Return the expectation of ``-log_prob``, in nats."""
        rest = special.digamma(self.rest) - special.digamma(self.first + self.rest)
        times = np.arange(self.first.shape[-1] - 1, -1, -1)
        return np.asarray((self.sticks.entropy() + times * rest).sum(axis=-1))

    def _draw(self, rng: Generator, shape: tuple[int, ...]) -> Array:
        share = rng.beta(self.first, self.rest, size=(*shape, self.first.shape[-1]))
        return _broken(share)

    def _kl(self, other: Self) -> Array:
        return np.asarray(self.sticks.kl(other.sticks).sum(axis=-1))


def _broken(share: Array) -> Array:
    """Return weights (..., K) from the shares that are broken off, (..., K - 1)."""
    ones = np.ones_like(share[..., :1])
    left = np.concatenate([ones, np.cumprod(1.0 - share, axis=-1)], axis=-1)
    return np.asarray(left * np.concatenate([share, ones], axis=-1))


@dataclass(frozen=True)
class ChineseRestaurant:
    """Partition of ``n`` rows into clusters, of which each row may open a new one.

    Row i joins a cluster of m rows with probability ``m / (concentration + i - 1)``, and opens
    one with ``concentration / (concentration + i - 1)``. The order of rows does not matter.

    Attributes
    ----------
    concentration
        Positive; how readily clusters are opened.
    size
        Number of rows.

    Examples
    --------
    >>> law = ChineseRestaurant(1.0, 10)
    >>> round(law.expected_clusters(), 10), law.together()
    (2.928968254, 0.5)
    >>> float(np.exp(ChineseRestaurant(1.0, 4).log_prob([0, 0, 0, 0])).round(10))
    0.25
    """

    concentration: float
    size: int

    def __post_init__(self) -> None:
        positive("concentration", self.concentration)
        if self.size < 1:
            raise ValueError(
                f"size must be at least 1 row; found {self.size}. Pass a number of rows."
            )

    def log_prob(self, labels: ArrayLike) -> Array:
        """Return the log probability of partitions, as labels (..., n) of any names."""
        given = np.asarray(labels)
        if given.shape[-1:] != (self.size,):
            raise ValueError(
                f"labels must have one entry for each of {self.size} rows along the last axis; "
                f"found shape {given.shape}. Pass a label for each row."
            )
        flat = given.reshape(-1, self.size)
        a = float(self.concentration)
        logs = np.empty(len(flat))
        for i, row in enumerate(flat):
            counts = np.unique(row, return_counts=True)[1]
            logs[i] = len(counts) * np.log(a) + special.gammaln(counts).sum()
        total = special.gammaln(a + self.size) - special.gammaln(a)
        return np.asarray((logs - total).reshape(given.shape[:-1]))

    def sample(self, rng: Generator, n: int | None = None) -> NDArray[np.intp]:
        """Return labels of ``n`` partitions, (n, size), clusters numbered as they open."""
        rows = 1 if n is None else n
        found = np.zeros((rows, self.size), dtype=np.intp)
        count = np.zeros((rows, self.size))
        count[:, 0] = 1.0
        n_open = np.ones(rows, dtype=np.intp)
        every = np.arange(rows)
        for i in range(1, self.size):
            u = rng.uniform(size=rows) * (self.concentration + i)
            place = (np.cumsum(count[:, :i], axis=1) <= u[:, None]).sum(axis=1)
            place = np.where(u >= i, n_open, np.minimum(place, n_open - 1))
            n_open = np.maximum(n_open, place + 1)
            count[every, place] += 1.0
            found[:, i] = place
        return found[0] if n is None else found

    def number_of_clusters(self) -> Categorical:
        """Return the distribution of the number of clusters less one."""
        a, p = float(self.concentration), np.ones(1)
        for i in range(1, self.size):
            opened = a / (a + i)
            p = np.append(p * (1.0 - opened), 0.0) + np.append(0.0, p * opened)
        return Categorical(p / p.sum())

    def expected_clusters(self) -> float:
        """Return the expected number of clusters, ``sum over i < n of a / (a + i)``."""
        a = float(self.concentration)
        return float((a / (a + np.arange(self.size))).sum())

    def together(self) -> float:
        """Return the probability that two rows are of one cluster, ``1 / (1 + a)``."""
        return 1.0 / (1.0 + float(self.concentration))


@dataclass(frozen=True, eq=False)
class DirichletProcess:
    """Distribution of discrete distributions whose mean is a base distribution.

    Attributes
    ----------
    concentration
        Positive; the larger, the closer each realization is to the base.
    base
        Any distribution.

    Examples
    --------
    >>> from credo.distributions import Normal
    >>> process = DirichletProcess(2.0, Normal(0.0, 1.0))
    >>> draws = process.sample(np.random.default_rng(0), 100)
    >>> len(draws), len(np.unique(draws)) < 20
    (100, True)
    """

    concentration: float
    base: Distribution

    def __post_init__(self) -> None:
        positive("concentration", self.concentration)

    def sample(self, rng: Generator, n: int) -> NDArray[Any]:
        """Return ``n`` draws of one realization, shape (n, ...), as from an urn."""
        labels = ChineseRestaurant(self.concentration, n).sample(rng)
        return np.asarray(self.base.sample(rng, int(labels.max()) + 1)[labels])

    def realization(self, rng: Generator, n_values: int = 1000) -> tuple[Array, NDArray[Any]]:
        """Return weights (n_values,) and values of one realization, cut after so many."""
        weights = StickBreaking.of_process(self.concentration, n_values).sample(rng)
        return np.asarray(weights), np.asarray(self.base.sample(rng, n_values))

    def mean(self) -> Distribution:
        """Return the mean of the realizations: the base distribution."""
        return self.base

    def variance_of(self, probability: ArrayLike) -> Array:
        """Return the variance of what realizations give to a set of some base probability."""
        p = as_float(probability)
        return np.asarray(p * (1.0 - p) / (self.concentration + 1.0))
