"""Normal observations with unknown mean and known variance.

The conjugate prior is normal, one independent copy per feature: ``x ~ N(m, variance)``,
``m ~ N(location, scale^2)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from credo.distributions.normal import Normal
from credo.distributions.parameter import positive, real
from credo.families.belief import Belief
from credo.families.normal import NormalStatistics
from credo.numerics.array import Array, as_float
from credo.numerics.example import Example

__all__ = ["NormalKnownVariance"]


@dataclass(frozen=True, eq=False)
class NormalKnownVariance(Belief):
    """Belief about the mean of a normal whose variance is known; prior and posterior alike.

    Attributes
    ----------
    location, scale
        Mean and standard deviation of the belief about the mean.
    variance
        Known variance of one observation.

    Examples
    --------
    >>> prior = NormalKnownVariance(location=0.0, scale=1.0, variance=1.0)
    >>> posterior = prior.update(NormalStatistics.of([[1.0], [2.0], [3.0]]))
    >>> posterior.location, posterior.scale
    (array([1.5]), array([0.5]))
    """

    location: Array
    scale: Array
    variance: Array
    learns_from: ClassVar[type[NormalStatistics]] = NormalStatistics

    def __init__(self, location: ArrayLike, scale: ArrayLike, variance: ArrayLike) -> None:
        self._fill(
            location=real("location", location),
            scale=positive("scale", scale),
            variance=positive("variance", variance),
        )

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return examples for the laws, and for saving."""
        data = NormalStatistics.examples()[0].arguments
        return (
            Example(
                cls(0.3, 0.7, [2.0, 1.0]),
                statistics=NormalStatistics,
                **data,
                maximum_likelihood=False,
            ),
        )

    def update(self, statistics: NormalStatistics) -> NormalKnownVariance:
        """Return the posterior; updating by parts equals updating by their sum."""
        own = np.asarray(self.variance + statistics.weight * self.scale**2)
        share = statistics.weight * self.scale**2 / own
        return NormalKnownVariance(
            location=self.location + share * (statistics.mean - self.location),
            scale=self.scale * np.sqrt(self.variance / own),
            variance=self.variance,
        )

    def parameters(self) -> Normal:
        """Return the belief as a distribution of the mean."""
        return Normal(self.location, self.scale)

    def log_density_at(self, observation: Normal) -> Array:
        """Return the log density of the mean of an observation distribution."""
        return np.asarray(self.parameters().log_prob(observation.loc))

    def mean(self) -> Normal:
        """Return the observation distribution at the expected mean."""
        return Normal(self.location, np.sqrt(self.variance))

    def mode(self) -> Normal:
        """Return the observation distribution at the most probable mean."""
        return self.mean()

    def sample(self, rng: np.random.Generator, n: int | None = None) -> Normal:
        """Return the observation distribution at ``n`` drawn means."""
        return Normal(self.parameters().sample(rng, n), np.sqrt(self.variance))

    def predictive(self) -> Normal:
        """Return the distribution of the next observation."""
        return Normal(self.location, np.sqrt(self.variance + self.scale**2))

    def log_evidence(self, statistics: NormalStatistics) -> Array:
        """Return the log density of the summarized data under this belief.

        Rows are normal about their own mean, which is normal about the location with
        variance ``scale^2 + variance / n``; both parts stay finite at n = 0.
        """
        n, v = statistics.weight, self.variance
        spread = v + n * self.scale**2
        shift = statistics.mean - self.location
        squares = statistics.scatter / v + n * shift**2 / spread
        return np.asarray(-0.5 * (n * np.log(2 * np.pi * v) + np.log(spread / v) + squares))

    def expected_log_density(self, x: ArrayLike) -> Array:
        """Return the mean over this belief of ``log p(x | mean)``; NaN gives NaN."""
        square = (as_float(x) - self.location) ** 2 + self.scale**2
        return np.asarray(-0.5 * (np.log(2 * np.pi * self.variance) + square / self.variance))

    def kl(self, other: NormalKnownVariance) -> Array:
        """Return the divergence of ``other`` from this belief, in nats."""
        return self.parameters().kl(other.parameters())
