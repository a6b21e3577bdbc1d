"""Counts with unknown rate.

The conjugate prior is the gamma, one independent copy per feature: ``x ~ Poisson(r)``,
``r ~ Gamma(shape, rate)``; shape counts imagined events, rate imagined observations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from credo.distributions.gamma import Gamma
from credo.distributions.negative_binomial import NegativeBinomial
from credo.distributions.parameter import positive, require
from credo.distributions.poisson import Poisson
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
from credo.numerics.linear.grouped import group_log_factorials, share_totals

__all__ = ["GammaPoisson", "PoissonStatistics"]


@dataclass(frozen=True, eq=False)
class PoissonStatistics(Sums):
    """Weight and sum of counts, feature by feature.

    Attributes
    ----------
    weight
        Summed weight of the observations, shape (..., n_features).
    total
        Weighted sum of the counts.
    log_factorial
        Weighted sum of ``log x!``, which only the evidence needs.
    """

    weight: Annotated[Array, Form("...", 0.0)]
    total: Annotated[Array, Form("...", 0.0)]
    log_factorial: Annotated[Array, Form("...", 0.0)]

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return examples for the laws, and for saving."""
        rows = as_float([[0, 4], [3, 1], [2, 7], [0, 5], [1, 2], [1, 9], [2, 3]])
        return (Example(cls.of(rows), rows=rows),)

    @classmethod
    def of(cls, x: ArrayLike, weight: ArrayLike = 1.0) -> PoissonStatistics:
        """Summarize rows of counts; a NaN is a missing value and carries no weight."""
        rows = _as_count_rows(x)
        values, weights = weight_by_entry(rows, as_weight(weight, len(rows)))
        log_factorial = weighted_sum(weights, special.gammaln(values + 1.0))
        return cls(weights.sum(axis=0), weighted_sum(weights, values), log_factorial)

    @classmethod
    def by_group(
        cls, x: ArrayLike, label: ArrayLike, k: int, weight: ArrayLike = 1.0
    ) -> PoissonStatistics:
        """Summarize each of ``k`` groups in one pass; arrays get a leading group axis."""
        rows = _as_count_rows(x)
        n = len(rows)
        sums = group_log_factorials(
            flat_rows(rows), as_label(label, n, k), k, as_weight(weight, n)
        )
        return cls(*(part.reshape(k, *rows.shape[1:]) for part in sums))

    @classmethod
    def by_share(cls, x: ArrayLike, share: ArrayLike) -> PoissonStatistics:
        """Summarize components in which every row has a share (n, K), in one pass."""
        rows = _as_count_rows(x)
        shares = as_share(share, len(rows))
        shape = (shares.shape[1], *rows.shape[1:])
        flat = flat_rows(rows)
        weight, total = share_totals(flat, shares)
        _, log_factorial = share_totals(special.gammaln(flat + 1.0), shares)
        parts = (weight, total, log_factorial)
        return cls(*(part.reshape(shape) for part in parts))

    def maximum_likelihood(self) -> Poisson:
        """Return the observation distribution at the observed mean count."""
        require(
            "weight",
            self.weight,
            lambda w: w > 0,
            "positive for maximum likelihood",
            "Use the mean of a belief, which is defined without data.",
        )
        return Poisson(self.total / self.weight)


@dataclass(frozen=True, eq=False)
class GammaPoisson(Belief):
    """Belief about the rate of counts; prior and posterior alike.

    Attributes
    ----------
    shape
        Imagined number of events.
    rate
        Imagined number of observations in which they happened.

    Examples
    --------
    >>> belief = GammaPoisson(2.0, 1.0).update(PoissonStatistics.of([[3], [1], [4]]))
    >>> belief.mean().rate, belief.predictive().mean()
    (array([2.5]), array([2.5]))
    """

    shape: Array
    rate: Array
    learns_from: ClassVar[type[PoissonStatistics]] = PoissonStatistics

    def __init__(self, shape: ArrayLike, rate: ArrayLike) -> None:
        self._fill(shape=positive("shape", shape), rate=positive("rate", rate))

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return examples for the laws, and for saving."""
        data = PoissonStatistics.examples()[0].arguments
        return (Example(cls(2.5, [1.3, 0.2]), statistics=PoissonStatistics, **data),)

    def update(self, statistics: PoissonStatistics) -> GammaPoisson:
        """Return the posterior; updating by parts equals updating by their sum."""
        return GammaPoisson(self.shape + statistics.total, self.rate + statistics.weight)

    def parameters(self) -> Gamma:
        """Return the belief as a distribution of the rate of counts."""
        return Gamma(self.shape, self.rate)

    def log_density_at(self, observation: Poisson) -> Array:
        """Return the log density of the rate of an observation distribution."""
        return np.asarray(self.parameters().log_prob(observation.rate))

    def mean(self) -> Poisson:
        """Return the observation distribution at the mean rate."""
        return Poisson(self.shape / self.rate)

    def mode(self) -> Poisson:
        """Return the observation distribution at the most probable rate, zero if shape <= 1."""
        return Poisson(np.maximum(self.shape - 1.0, 0.0) / self.rate)

    def sample(self, rng: np.random.Generator, n: int | None = None) -> Poisson:
        """Return the observation distribution at ``n`` drawn rates."""
        return Poisson(self.parameters().sample(rng, n))

    def predictive(self) -> NegativeBinomial:
        """Return the distribution of the next count."""
        return NegativeBinomial(self.shape, self.rate / (self.rate + 1.0))

    def log_evidence(self, statistics: PoissonStatistics) -> Array:
        """Return the log probability of the summarized data under this belief."""
        gain = self._log_normalizer() - self.update(statistics)._log_normalizer()
        return np.asarray(gain - statistics.log_factorial)

    def expected_log_density(self, x: ArrayLike) -> Array:
        """Return the mean over this belief of ``log p(x | rate)``; NaN gives NaN."""
        value = as_float(x)
        log_rate = special.digamma(self.shape) - np.log(self.rate)
        return np.asarray(
            value * log_rate - self.shape / self.rate - special.gammaln(value + 1.0)
        )

    def kl(self, other: GammaPoisson) -> Array:
        """Return the divergence of ``other`` from this belief, in nats."""
        return self.parameters().kl(other.parameters())

    def _log_normalizer(self) -> Array:
        return np.asarray(self.shape * np.log(self.rate) - special.gammaln(self.shape))


def _as_count_rows(x: ArrayLike) -> Array:
    return require(
        "x",
        as_rows(x),
        lambda v: ((v >= 0) & (v == np.floor(v))) | np.isnan(v),
        "a count 0, 1, 2, ... or NaN",
        "For positive measurements use ExponentialStatistics or NormalStatistics.",
    )
