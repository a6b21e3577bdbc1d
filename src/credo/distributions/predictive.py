"""The distribution of unseen outcomes, with the two sources of its spread kept apart."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from credo import distributions
from credo.distributions.distribution import Distribution
from credo.distributions.parameter import non_negative
from credo.distributions.univariate import Univariate
from credo.numerics.array import Array

__all__ = ["Predictive"]


@dataclass(frozen=True, eq=False)
class Predictive(Univariate):
    """What a model says about outcomes it has not seen; it answers as its ``marginal`` does.

    Attributes
    ----------
    marginal
        Distribution of the outcome, one entry per row.
    epistemic_std
        Standard deviation that more data would remove: not knowing the parameters.
    aleatoric_std
        Standard deviation that stays: the noise of the outcome itself.

    Examples
    --------
    >>> from credo.distributions import Normal
    >>> p = Predictive(Normal([1.0], [0.5]), epistemic_std=[0.3], aleatoric_std=[0.4])
    >>> p.interval(0.9).round(3), p.epistemic_std
    (array([[0.178, 1.822]]), array([0.3]))
    """

    marginal: Univariate
    epistemic_std: Array
    aleatoric_std: Array

    def __init__(
        self, marginal: Univariate, epistemic_std: ArrayLike, aleatoric_std: ArrayLike
    ) -> None:
        advice = "Pass standard deviations."
        self._set(
            marginal=marginal,
            epistemic_std=_spread("epistemic_std", epistemic_std, advice),
            aleatoric_std=_spread("aleatoric_std", aleatoric_std, advice),
        )

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        normal = distributions.Normal
        return cls(normal([0.0, 1.0], 5.0), 3.0, 4.0), cls(normal(1.0, 1.0), 0.6, 0.8)

    @property
    def is_discrete(self) -> bool:
        """Whether single outcomes have positive probability."""
        return self.marginal.is_discrete

    def support(self) -> tuple[Array, Array]:
        """Return the smallest and largest outcome."""
        return self.marginal.support()

    def log_prob(self, x: ArrayLike) -> Array:
        """Return the log predictive density of each outcome."""
        return self.marginal.log_prob(x)

    def cdf(self, x: ArrayLike) -> Array:
        """Return the probability of an outcome not above ``x``."""
        return self.marginal.cdf(x)

    def survival(self, x: ArrayLike) -> Array:
        """Return the probability of an outcome above ``x``."""
        return self.marginal.survival(x)

    def quantile(self, p: ArrayLike) -> Array:
        """Return the smallest outcome whose `cdf` reaches ``p``."""
        return self.marginal.quantile(p)

    def upper_quantile(self, p: ArrayLike) -> Array:
        """Return the outcome that is exceeded with probability ``p``."""
        return self.marginal.upper_quantile(p)

    def mean(self) -> Array:
        """Return the predictive mean, the Bayes action under squared loss."""
        return self.marginal.mean()

    def variance(self) -> Array:
        """Return the predictive variance, both sources together."""
        return self.marginal.variance()

    def mode(self) -> NDArray[Any]:
        """Return the most probable outcome."""
        return self.marginal.mode()

    def entropy(self) -> Array:
        """Return the expectation of ``-log_prob``, in nats."""
        return self.marginal.entropy()

    def expected_distance(self, y: ArrayLike) -> Array:
        """Return the expected absolute error of the guess ``y``."""
        return self.marginal.expected_distance(y)

    def mean_difference(self) -> Array:
        """Return the expected distance of two independent outcomes."""
        return self.marginal.mean_difference()

    def kl(self, other: Distribution) -> Array:
        """Return the divergence of the marginals."""
        return self.marginal.kl(other.marginal if isinstance(other, Predictive) else other)

    def _draw(self, rng: Generator, shape: tuple[int, ...]) -> NDArray[Any]:
        return self.marginal._draw(rng, shape)


def _spread(name: str, values: ArrayLike, advice: str) -> Array:
    """Return standard deviations, where infinite means a variance that does not exist."""
    array = np.asarray(values, dtype=np.float64)
    non_negative(name, np.where(np.isposinf(array), 0.0, array), advice)
    return array
