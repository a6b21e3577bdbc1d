"""Yes-or-no observations with unknown probability.

The conjugate prior is the beta, one independent copy per feature: ``x ~ Bernoulli(p)``,
``p ~ Beta(a, b)``; a and b count imagined successes and failures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from credo.distributions.bernoulli import Bernoulli
from credo.distributions.beta import Beta
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
from credo.numerics.linear.grouped import group_binary_totals, share_totals

__all__ = ["BernoulliStatistics", "BetaBernoulli"]


@dataclass(frozen=True, eq=False)
class BernoulliStatistics(Sums):
    """Weight of ones and of zeros, feature by feature.

    Attributes
    ----------
    successes, failures
        Summed weight of the ones and of the zeros, shape (..., n_features).
    """

    successes: Annotated[Array, Form("...", 0.0)]
    failures: Annotated[Array, Form("...", 0.0)]

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return examples for the laws, and for saving."""
        rows = as_float([[0, 1], [1, 1], [1, 0], [0, 1], [1, 0], [1, 1], [0, 0]])
        return (Example(cls.of(rows), rows=rows),)

    @classmethod
    def of(cls, x: ArrayLike, weight: ArrayLike = 1.0) -> BernoulliStatistics:
        """Summarize rows of zeros and ones; a NaN is a missing value and carries no weight."""
        rows = _as_binary_rows(x)
        values, weights = weight_by_entry(rows, as_weight(weight, len(rows)))
        successes = weighted_sum(weights, values)
        return cls(successes, weights.sum(axis=0) - successes)

    @classmethod
    def by_group(
        cls, x: ArrayLike, label: ArrayLike, k: int, weight: ArrayLike = 1.0
    ) -> BernoulliStatistics:
        """Summarize each of ``k`` groups in one pass; arrays get a leading group axis."""
        rows = as_float(x) if np.ndim(x) else as_rows(x)
        n, event = len(rows), rows.shape[1:]
        total, successes, is_binary = group_binary_totals(
            flat_rows(rows), as_label(label, n, k), k, as_weight(weight, n)
        )
        if not is_binary:
            _as_binary_rows(x)
        return cls(successes.reshape(k, *event), (total - successes).reshape(k, *event))

    @classmethod
    def by_share(cls, x: ArrayLike, share: ArrayLike) -> BernoulliStatistics:
        """Summarize components in which every row has a share (n, K), in one pass."""
        rows = _as_binary_rows(x)
        shares = as_share(share, len(rows))
        shape = (shares.shape[1], *rows.shape[1:])
        total, ones = share_totals(flat_rows(rows), shares)
        # A product of matrices may round a sum of ones just above that of all.
        zeros = np.maximum(total - ones, 0.0)
        return cls(ones.reshape(shape), zeros.reshape(shape))

    @property
    def weight(self) -> Array:
        """Summed weight of all observations."""
        return np.asarray(self.successes + self.failures)

    def maximum_likelihood(self) -> Bernoulli:
        """Return the observation distribution at the observed frequency of ones."""
        require(
            "weight",
            self.weight,
            lambda w: w > 0,
            "positive for maximum likelihood",
            "Use the mean of a belief, which is defined without data.",
        )
        return Bernoulli(self.successes / self.weight)


@dataclass(frozen=True, eq=False)
class BetaBernoulli(Belief):
    """Belief about the probability of a one; prior and posterior alike.

    Attributes
    ----------
    a, b
        Pseudo-counts of ones and of zeros; (1, 1) is the uniform belief.

    Examples
    --------
    >>> coin = BetaBernoulli(1.0, 1.0).update(BernoulliStatistics.of([[1], [1], [0]]))
    >>> coin.mean().probability, coin.mode().probability.round(3)
    (array([0.6]), array([0.667]))
    """

    a: Array
    b: Array
    learns_from: ClassVar[type[BernoulliStatistics]] = BernoulliStatistics

    def __init__(self, a: ArrayLike, b: ArrayLike) -> None:
        self._fill(a=positive("a", a), b=positive("b", b))

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return examples for the laws, and for saving."""
        data = BernoulliStatistics.examples()[0].arguments
        return (Example(cls(1.5, [2.0, 0.7]), statistics=BernoulliStatistics, **data),)

    def update(self, statistics: BernoulliStatistics) -> BetaBernoulli:
        """Return the posterior; updating by parts equals updating by their sum."""
        return BetaBernoulli(self.a + statistics.successes, self.b + statistics.failures)

    def parameters(self) -> Beta:
        """Return the belief as a distribution of the probability of a one."""
        return Beta(self.a, self.b)

    def log_density_at(self, observation: Bernoulli) -> Array:
        """Return the log density of the probability of an observation distribution."""
        return np.asarray(self.parameters().log_prob(observation.probability))

    def mean(self) -> Bernoulli:
        """Return the observation distribution at the mean probability, (a) / (a + b)."""
        return Bernoulli(self.a / (self.a + self.b))

    def mode(self) -> Bernoulli:
        """Return the observation distribution at the most probable probability."""
        a, b = np.maximum(self.a - 1.0, 0.0), np.maximum(self.b - 1.0, 0.0)
        require(
            "the larger of a and b",
            np.maximum(self.a, self.b),
            lambda larger: larger > 1,
            "above 1 for the belief to have one mode",
            "Use mean(), or a prior with pseudo-counts above 1.",
        )
        return Bernoulli(a / (a + b))

    def sample(self, rng: np.random.Generator, n: int | None = None) -> Bernoulli:
        """Return the observation distribution at ``n`` drawn probabilities."""
        return Bernoulli(self.parameters().sample(rng, n))

    def predictive(self) -> Bernoulli:
        """Return the distribution of the next observation."""
        return self.mean()

    def log_evidence(self, statistics: BernoulliStatistics) -> Array:
        """Return the log probability of the summarized data under this belief."""
        after = self.update(statistics)
        return np.asarray(special.betaln(after.a, after.b) - special.betaln(self.a, self.b))

    def expected_log_density(self, x: ArrayLike) -> Array:
        """Return the mean over this belief of ``log p(x | probability)``; NaN gives NaN."""
        value = as_float(x)
        log_yes, log_no = special.digamma(self.a), special.digamma(self.b)
        total = special.digamma(self.a + self.b)
        return np.asarray(value * log_yes + (1.0 - value) * log_no - total)

    def kl(self, other: BetaBernoulli) -> Array:
        """Return the divergence of ``other`` from this belief, in nats."""
        return self.parameters().kl(other.parameters())


def _as_binary_rows(x: ArrayLike) -> Array:
    return require(
        "x",
        as_rows(x),
        lambda v: (v == 0) | (v == 1) | np.isnan(v),
        "0, 1 or NaN",
        "Code the two outcomes as 0 and 1; for more outcomes use CategoricalStatistics.",
    )
