"""Waiting times with unknown rate.

The conjugate prior is the gamma, one independent copy per feature: ``x ~ Exponential(r)``,
``r ~ Gamma(shape, rate)``; shape counts imagined events, rate their summed waiting time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from credo.distributions.exponential import Exponential
from credo.distributions.gamma import Gamma
from credo.distributions.lomax import Lomax
from credo.distributions.parameter import positive, require
from credo.families.belief import Belief
from credo.families.rows import (
    as_label,
    as_rows,
    as_share,
    as_weight,
    flat_rows,
    weight_by_entry,
    weighted_sum,
)
from credo.families.statistics import Sums
from credo.numerics.array import Array, as_float
from credo.numerics.example import Example
from credo.numerics.form import Form
from credo.numerics.linear.grouped import group_totals, share_totals

__all__ = ["ExponentialStatistics", "GammaExponential"]


@dataclass(frozen=True, eq=False)
class ExponentialStatistics(Sums):
    """Weight and sum of waiting times, feature by feature.

    Attributes
    ----------
    weight
        Summed weight of the observations, shape (..., n_features).
    total
        Weighted sum of the waiting times.
    """

    weight: Annotated[Array, Form("...", 0.0)]
    total: Annotated[Array, Form("...", 0.0)]

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return examples for the laws, and for saving."""
        rows = np.abs(np.random.default_rng(0).normal(size=(7, 2)))
        return (Example(cls.of(rows), rows=rows),)

    @classmethod
    def of(cls, x: ArrayLike, weight: ArrayLike = 1.0) -> ExponentialStatistics:
        """Summarize rows of waiting times; a NaN is missing and carries no weight."""
        rows = _as_waiting_rows(x)
        values, weights = weight_by_entry(rows, as_weight(weight, len(rows)))
        return cls(weights.sum(axis=0), weighted_sum(weights, values))

    @classmethod
    def by_group(
        cls, x: ArrayLike, label: ArrayLike, k: int, weight: ArrayLike = 1.0
    ) -> ExponentialStatistics:
        """Summarize each of ``k`` groups in one pass; arrays get a leading group axis."""
        rows = _as_waiting_rows(x)
        n = len(rows)
        sums = group_totals(flat_rows(rows), as_label(label, n, k), k, as_weight(weight, n))
        return cls(*(part.reshape(k, *rows.shape[1:]) for part in sums))

    @classmethod
    def by_share(cls, x: ArrayLike, share: ArrayLike) -> ExponentialStatistics:
        """Summarize components in which every row has a share (n, K), in one pass."""
        rows = _as_waiting_rows(x)
        shares = as_share(share, len(rows))
        shape = (shares.shape[1], *rows.shape[1:])
        sums = share_totals(flat_rows(rows), shares)
        return cls(*(part.reshape(shape) for part in sums))

    def maximum_likelihood(self) -> Exponential:
        """Return the observation distribution whose mean is the observed mean."""
        require(
            "total",
            self.total,
            lambda t: t > 0,
            "positive for maximum likelihood",
            "Use the mean of a belief, which is defined without data.",
        )
        return Exponential(self.weight / self.total)


@dataclass(frozen=True, eq=False)
class GammaExponential(Belief):
    """Belief about the rate of an exponential; prior and posterior alike.

    Attributes
    ----------
    shape
        Imagined number of events.
    rate
        Imagined waiting time, summed over those events.

    Examples
    --------
    >>> prior = GammaExponential(1.0, 1.0)
    >>> belief = prior.update(ExponentialStatistics.of([[0.5], [2.5]]))
    >>> belief.mean().rate, belief.predictive().mean()
    (array([0.75]), array([2.]))
    """

    shape: Array
    rate: Array
    learns_from: ClassVar[type[ExponentialStatistics]] = ExponentialStatistics

    def __init__(self, shape: ArrayLike, rate: ArrayLike) -> None:
        self._fill(shape=positive("shape", shape), rate=positive("rate", rate))

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return examples for the laws, and for saving."""
        data = ExponentialStatistics.examples()[0].arguments
        return (Example(cls([2.5, 3.0], 1.3), statistics=ExponentialStatistics, **data),)

    def update(self, statistics: ExponentialStatistics) -> GammaExponential:
        """Return the posterior; updating by parts equals updating by their sum."""
        return GammaExponential(self.shape + statistics.weight, self.rate + statistics.total)

    def parameters(self) -> Gamma:
        """Return the belief as a distribution of the rate."""
        return Gamma(self.shape, self.rate)

    def log_density_at(self, observation: Exponential) -> Array:
        """Return the log density of the rate of an observation distribution."""
        return np.asarray(self.parameters().log_prob(observation.rate))

    def mean(self) -> Exponential:
        """Return the observation distribution at the mean rate."""
        return Exponential(self.shape / self.rate)

    def mode(self) -> Exponential:
        """Return the observation distribution at the most probable rate."""
        require(
            "shape",
            self.shape,
            lambda shape: shape > 1,
            "above 1 for the most probable rate to be positive",
            "Use mean(), or a prior with a shape above 1.",
        )
        return Exponential((self.shape - 1.0) / self.rate)

    def sample(self, rng: np.random.Generator, n: int | None = None) -> Exponential:
        """Return the observation distribution at ``n`` drawn rates."""
        return Exponential(self.parameters().sample(rng, n))

    def predictive(self) -> Lomax:
        """Return the distribution of the next waiting time."""
        return Lomax(self.shape, self.rate)

    def log_evidence(self, statistics: ExponentialStatistics) -> Array:
        """Return the log density of the summarized data under this belief."""
        return self._log_normalizer() - self.update(statistics)._log_normalizer()

    def expected_log_density(self, x: ArrayLike) -> Array:
        """Return the mean over this belief of ``log p(x | rate)``; NaN gives NaN."""
        value = as_float(x)
        log_rate = special.digamma(self.shape) - np.log(self.rate)
        return np.where(value < 0, -np.inf, log_rate - value * self.shape / self.rate)

    def kl(self, other: GammaExponential) -> Array:
        """Return the divergence of ``other`` from this belief, in nats."""
        return self.parameters().kl(other.parameters())

    def _log_normalizer(self) -> Array:
        return np.asarray(self.shape * np.log(self.rate) - special.gammaln(self.shape))


def _as_waiting_rows(x: ArrayLike) -> Array:
    return require(
        "x",
        as_rows(x),
        lambda v: (v >= 0) | np.isnan(v),
        "non-negative or NaN",
        "For measurements of either sign use NormalStatistics.",
    )
