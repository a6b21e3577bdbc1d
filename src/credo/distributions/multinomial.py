"""The multinomial distribution of counts."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy import special

from credo.distributions.binomial import Binomial
from credo.distributions.distribution import Distribution
from credo.distributions.parameter import count, simplex
from credo.numerics.array import Array, as_float

__all__ = ["Multinomial"]


@dataclass(frozen=True, eq=False)
class Multinomial(Distribution):
    """How often each of K outcomes occurs in independent trials.

    ``n! / (x_1! ... x_K!) * p_1^x_1 ... p_K^x_K`` for counts that sum to ``n``.

    Attributes
    ----------
    n_trials
        Number of trials, shape (*batch).
    probability
        Probabilities that sum to one along the last axis, shape (*batch, K).

    Examples
    --------
    >>> float(Multinomial(6, [1 / 6] * 6).prob([1, 1, 1, 1, 1, 1]).round(10))
    0.0154320988
    """

    n_trials: Array
    probability: Array
    _event_dims: ClassVar[dict[str, int]] = {"probability": 1}

    def __init__(self, n_trials: ArrayLike, probability: ArrayLike) -> None:
        self._set(
            n_trials=count("n_trials", n_trials),
            probability=simplex("probability", probability),
        )

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return cls(4, [[0.2, 0.5, 0.3]]), cls(4, [[0.4, 0.4, 0.2]])

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one outcome, (K,)."""
        return self.probability.shape[-1:]

    @property
    def is_discrete(self) -> bool:
        """Whether single outcomes have positive probability: yes."""
        return True

    def log_prob(self, x: ArrayLike) -> Array:
        """Return the log probability of counts along the last axis of ``x``."""
        counts = as_float(x)
        whole = (counts >= 0) & (counts < np.inf) & (counts == np.floor(counts))
        safe = np.where(whole, counts, 0.0)
        possible = whole.all(axis=-1) & (safe.sum(axis=-1) == self.n_trials)
        terms = special.xlogy(safe, self.probability) - special.gammaln(safe + 1.0)
        inside = special.gammaln(self.n_trials + 1.0) + terms.sum(axis=-1)
        outside = np.where(np.isnan(counts).any(axis=-1), np.nan, -np.inf)
        return np.where(possible, inside, outside)

    def mean(self) -> Array:
        """Return the expected counts, shape (*batch, K)."""
        return np.asarray(self.n_trials[..., None] * self.probability)

    def variance(self) -> Array:
        """Return the variance of each count, shape (*batch, K)."""
        return self.mean() * (1.0 - self.probability)

    def covariance(self) -> Array:
        """Return ``n (diag(p) - p p')``, shape (*batch, K, K)."""
        p = self.probability
        spread = p[..., None] * np.eye(p.shape[-1]) - p[..., :, None] * p[..., None, :]
        return np.asarray(self.n_trials[..., None, None] * spread)

    def mode(self) -> Array:
        """Return the most probable counts; the first outcomes win ties."""
        counts = np.floor(self.mean())
        left = self.n_trials - counts.sum(axis=-1)
        # One more count multiplies the probability by p / (count + 1): give it to the best.
        for step in range(int(left.max(initial=0.0))):
            best = (self.probability / (counts + 1.0)).argmax(axis=-1)
            one_more = np.arange(counts.shape[-1]) == best[..., None]
            counts = counts + (one_more & (left > step)[..., None])
        return counts

    def entropy(self) -> Array:
        """Return the expectation of ``-log_prob``, by exact sums over each count."""
        single = Binomial(self.n_trials[..., None], self.probability)
        nodes, _ = single._outcomes()
        log_factorial = (single.prob(nodes) * special.gammaln(nodes + 1.0)).sum(axis=(0, -1))
        plain = self.n_trials * special.entr(self.probability).sum(axis=-1)
        return np.asarray(plain - special.gammaln(self.n_trials + 1.0) + log_factorial)

    def _draw(self, rng: Generator, shape: tuple[int, ...]) -> Array:
        trials = np.broadcast_to(self.n_trials, shape).astype(np.int64)
        return np.asarray(rng.multinomial(trials, self.probability), dtype=np.float64)

    def _kl(self, other: Self) -> Array:
        if np.any(self.n_trials != other.n_trials):
            raise TypeError(
                "kl between multinomials has a closed form for equal n_trials only; found "
                "different ones. Compare the categorical distributions of one trial."
            )
        single = special.rel_entr(self.probability, other.probability).sum(axis=-1)
        return np.asarray(self.n_trials * single)
