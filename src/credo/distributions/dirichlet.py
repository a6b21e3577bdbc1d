"""The Dirichlet distribution of a probability vector."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy import special

from credo.distributions.distribution import Distribution
from credo.distributions.parameter import SUM_TOLERANCE, positive
from credo.numerics.array import Array, as_float

__all__ = ["Dirichlet"]


@dataclass(frozen=True, eq=False)
class Dirichlet(Distribution):
    """Dirichlet distribution, proportional to the product of ``x_k^(concentration_k - 1)``.

    Attributes
    ----------
    concentration
        Positive, shape (*batch, K); ``concentration / sum`` is the mean, the sum its strength.

    Examples
    --------
    >>> Dirichlet([1.0, 2.0, 5.0]).mean()
    array([0.125, 0.25 , 0.625])
    """

    concentration: Array
    _event_dims: ClassVar[dict[str, int]] = {"concentration": 1}

    def __init__(self, concentration: ArrayLike) -> None:
        advice = "Pass pseudo-counts."
        self._set(concentration=np.atleast_1d(positive("concentration", concentration, advice)))

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return cls([[2.0, 1.5, 3.0]]), cls([1.0, 1.0, 1.0])

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one outcome, (K,)."""
        return self.concentration.shape[-1:]

    @property
    def _total(self) -> Array:
        return np.asarray(self.concentration.sum(axis=-1, keepdims=True))

    def _log_normalizer(self) -> Array:
        each = special.gammaln(self.concentration).sum(axis=-1)
        return np.asarray(each - special.gammaln(self._total[..., 0]))

    def log_prob(self, x: ArrayLike) -> Array:
        """Return the log density of probability vectors along the last axis of ``x``."""
        value = as_float(x)
        unit = np.clip(value, 0.0, 1.0)
        gap = np.abs(unit.sum(axis=-1) - 1.0)
        inside = (unit == value).all(axis=-1) & (gap <= SUM_TOLERANCE)
        corner = np.where(inside[..., None], unit, 1.0)
        density = special.xlogy(self.concentration - 1.0, corner).sum(axis=-1)
        outside = np.where(np.isnan(value).any(axis=-1), np.nan, -np.inf)
        return np.where(inside, density - self._log_normalizer(), outside)

    def mean(self) -> Array:
        """Return the mean probabilities, shape (*batch, K)."""
        return self.concentration / self._total

    def variance(self) -> Array:
        """Return the variance of each probability, shape (*batch, K)."""
        mean = self.mean()
        return mean * (1.0 - mean) / (self._total + 1.0)

    def covariance(self) -> Array:
        """Return the covariance matrix, shape (*batch, K, K)."""
        mean = self.mean()
        spread = (
            mean[..., None] * np.eye(mean.shape[-1]) - mean[..., :, None] * mean[..., None, :]
        )
        return np.asarray(spread / (self._total[..., None] + 1.0))

    def mode(self) -> Array:
        """Return the peak; NaN where there is none because a concentration is below one."""
        excess = self.concentration - 1.0
        total = excess.sum(axis=-1, keepdims=True)
        peaked = (excess >= 0).all(axis=-1, keepdims=True) & (total > 0)
        return np.where(peaked, excess / np.where(peaked, total, 1.0), np.nan)

    def mean_log(self) -> Array:
        """Return the expected log probabilities, shape (*batch, K)."""
        return np.asarray(special.digamma(self.concentration) - special.digamma(self._total))

    def entropy(self) -> Array:
        """Return the expectation of ``-log_prob``, in nats."""
        slope = ((self.concentration - 1.0) * self.mean_log()).sum(axis=-1)
        return np.asarray(self._log_normalizer() - slope)

    def _draw(self, rng: Generator, shape: tuple[int, ...]) -> Array:
        # In logs, because gamma draws of a small shape underflow to zero all together:
        # Gamma(a) is Gamma(a + 1) times a uniform to the power 1 / a.
        full = shape + self.event_shape
        boosted = np.log(rng.gamma(self.concentration + 1.0, size=full))
        log_draws = boosted + np.log1p(-rng.uniform(size=full)) / self.concentration
        return np.asarray(special.softmax(log_draws, axis=-1))

    def _kl(self, other: Self) -> Array:
        slope = ((self.concentration - other.concentration) * self.mean_log()).sum(axis=-1)
        return np.asarray(other._log_normalizer() - self._log_normalizer() + slope)
