"""The binomial distribution of a number of successes."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy import special

from credo.distributions.bernoulli import binary_kl
from credo.distributions.discrete import Discrete
from credo.distributions.parameter import count
from credo.distributions.parameter import probability as as_probability
from credo.numerics.array import Array

__all__ = ["Binomial"]


@dataclass(frozen=True, eq=False)
class Binomial(Discrete):
    """Number of successes in independent trials, ``C(n, k) p^k (1 - p)^(n - k)``.

    Attributes
    ----------
    n_trials
        Number of trials.
    probability
        Probability of success in each.

    Examples
    --------
    >>> float(Binomial(n_trials=10, probability=0.3).prob(3).round(9))
    0.266827932
    """

    n_trials: Array
    probability: Array

    def __init__(self, n_trials: ArrayLike, probability: ArrayLike) -> None:
        self._set(
            n_trials=count("n_trials", n_trials),
            probability=as_probability("probability", probability),
        )

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return cls([5, 12], 0.3), cls([5, 12], 0.6)

    def support(self) -> tuple[Array, Array]:
        """Return 0 and the number of trials."""
        return self._full(0.0), self._full(self.n_trials)

    def mean(self) -> Array:
        """Return ``n p``."""
        return self._full(self.n_trials * self.probability)

    def variance(self) -> Array:
        """Return ``n p (1 - p)``."""
        return self._full(self.n_trials * self.probability * (1.0 - self.probability))

    def mode(self) -> Array:
        """Return the most probable count, the smaller if two are equally probable."""
        peak = np.ceil((self.n_trials + 1.0) * self.probability) - 1.0
        return self._full(np.clip(peak, 0.0, self.n_trials))

    def _log_mass(self, k: Array) -> Array:
        n, p = self.n_trials, self.probability
        ways = -special.betaln(n - k + 1.0, k + 1.0) - np.log(n + 1.0)
        return np.asarray(ways + special.xlogy(k, p) + special.xlog1py(n - k, -p))

    def _mass_up_to(self, k: Array) -> Array:
        return np.asarray(special.betaincc(k + 1.0, self.n_trials - k, self.probability))

    def _mass_above(self, k: Array) -> Array:
        return np.asarray(special.betainc(k + 1.0, self.n_trials - k, self.probability))

    def _partial_mean(self, x: Array) -> Array:
        fewer = Binomial(np.maximum(self.n_trials - 1.0, 0.0), self.probability)
        return self.mean() * fewer.cdf(np.floor(x) - 1.0)

    def _draw(self, rng: Generator, shape: tuple[int, ...]) -> Array:
        draws = rng.binomial(self.n_trials.astype(np.int64), self.probability, size=shape)
        return np.asarray(draws, dtype=np.float64)

    def _kl(self, other: Self) -> Array:
        if np.any(self.n_trials != other.n_trials):
            raise TypeError(
                "kl between binomials has a closed form for equal n_trials only; found "
                "different ones. Compare the Bernoulli distributions of one trial."
            )
        return self.n_trials * binary_kl(self.probability, other.probability)
