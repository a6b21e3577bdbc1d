"""The negative binomial distribution of a count."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy import special

from credo.distributions.discrete import Discrete
from credo.distributions.parameter import positive, require
from credo.numerics.array import Array

__all__ = ["NegativeBinomial"]


@dataclass(frozen=True, eq=False)
class NegativeBinomial(Discrete):
    """A Poisson count whose rate varies, ``Gamma(a + k) / (k! Gamma(a)) p^a (1 - p)^k``.

    The rate is ``Gamma(shape, rate=p / (1 - p))``; for a whole shape it is also the number of
    failures before the shape-th success.

    Attributes
    ----------
    shape
        ``a``, any positive number; the smaller, the more the rate varies.
    probability
        ``p`` in (0, 1].

    Examples
    --------
    >>> count = NegativeBinomial(shape=3.0, probability=0.25)
    >>> float(count.mean()), float(count.variance())
    (9.0, 36.0)
    """

    shape: Array
    probability: Array

    def __init__(self, shape: ArrayLike, probability: ArrayLike) -> None:
        advice = "Pass a probability, not percentages, odds or logits."
        p = require(
            "probability", probability, lambda v: (v > 0) & (v <= 1), "in (0, 1]", advice
        )
        self._set(shape=positive("shape", shape), probability=p)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return cls([0.8, 3.0], 0.3), cls([0.8, 3.0], 0.5)

    def support(self) -> tuple[Array, Array]:
        """Return 0 and infinity."""
        return self._full(0.0), self._full(np.inf)

    def mean(self) -> Array:
        """Return ``a (1 - p) / p``."""
        return self._full(self.shape * (1.0 - self.probability) / self.probability)

    def variance(self) -> Array:
        """Return ``a (1 - p) / p^2``."""
        return self._full(self.mean() / self.probability)

    def mode(self) -> Array:
        """Return the most probable count, the smaller if two are equally probable."""
        peak = (self.shape - 1.0) * (1.0 - self.probability) / self.probability
        return self._full(np.maximum(np.ceil(peak) - 1.0, 0.0))

    def _log_mass(self, k: Array) -> Array:
        a, p = self.shape, self.probability
        ways = -special.betaln(k + 1.0, a) - np.log(k + a)
        return np.asarray(ways + a * np.log(p) + special.xlog1py(k, -p))

    def _mass_up_to(self, k: Array) -> Array:
        return np.asarray(special.betainc(self.shape, k + 1.0, self.probability))

    def _mass_above(self, k: Array) -> Array:
        return np.asarray(special.betaincc(self.shape, k + 1.0, self.probability))

    def _partial_mean(self, x: Array) -> Array:
        # k times its probability is the mean times the probability of k - 1 at shape + 1.
        larger = NegativeBinomial(self.shape + 1.0, self.probability)
        return self.mean() * larger.cdf(np.floor(x) - 1.0)

    def _draw(self, rng: Generator, shape: tuple[int, ...]) -> Array:
        odds = (1.0 - self.probability) / self.probability
        rate = rng.gamma(self.shape, size=shape) * odds
        return np.asarray(rng.poisson(rate), dtype=np.float64)

    def _kl(self, other: Self) -> Array:
        if np.any(self.shape != other.shape):
            raise TypeError(
                "kl between negative binomials has a closed form for equal shapes only; found "
                "different ones. Estimate it as the mean of p.log_prob(x) - q.log_prob(x) over "
                "draws x of p."
            )
        success = self.shape * np.log(self.probability / other.probability)
        failure = special.rel_entr(1.0 - self.probability, 1.0 - other.probability)
        return np.asarray(success + self.shape * failure / self.probability)
