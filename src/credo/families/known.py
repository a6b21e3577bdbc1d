"""Point beliefs: distributions whose parameters are known, so that no data change them.

``log p(rows) = sum of weight * log p(row)``. A known distribution stands wherever a belief can:
class probabilities that are given, a class whose density is written down, a part of a product
that needs no learning. It need not be of any conjugate family.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from credo.distributions.distribution import Distribution
from credo.distributions.student_t import StudentT
from credo.families.belief import Belief
from credo.families.rows import as_complete_rows, as_label, as_rows, as_share, as_weight
from credo.families.statistics import Statistics, remaining
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.form import ANYTHING, Form

__all__ = ["Known", "KnownStatistics"]


@dataclass(frozen=True, eq=False)
class KnownStatistics(Statistics):
    """Weight of rows and their log density under a known distribution.

    Attributes
    ----------
    weight
        Summed weight of the observations: shape (..., n_features) of numbers, (...) of vectors.
    total
        Weighted sum of their log densities.

    Examples
    --------
    >>> from credo.distributions import Exponential
    >>> seen = KnownStatistics.of([[1.0], [2.0], [np.nan]], distribution=Exponential(2.0))
    >>> seen.weight, seen.total.round(3)
    (array([2.]), array([-4.614]))
    """

    weight: Annotated[Array, Form("...", 0.0)]
    total: Annotated[Array, ANYTHING]

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return examples for the laws, and for saving."""
        rows = np.random.default_rng(0).normal(size=(7, 2))
        settings: dict[str, Any] = {"distribution": StudentT(3.0, [0.2], 1.5)}
        return (Example(cls.of(rows, **settings), rows=rows, settings=settings),)

    @classmethod
    def of(
        cls, x: ArrayLike, weight: ArrayLike = 1.0, *, distribution: Distribution
    ) -> KnownStatistics:
        """Summarize rows; a missing number carries no weight, a vector must be complete."""
        rows = as_rows(x)
        share = as_weight(weight, len(rows))[:, None]
        return cls.by_share(rows, share, distribution=distribution)[0]

    @classmethod
    def by_group(
        cls,
        x: ArrayLike,
        label: ArrayLike,
        k: int,
        weight: ArrayLike = 1.0,
        *,
        distribution: Distribution,
    ) -> KnownStatistics:
        """Summarize each of ``k`` groups; arrays get a leading group axis."""
        rows = as_rows(x)
        is_member = as_label(label, len(rows), k)[:, None] == np.arange(k)
        share = np.where(is_member, as_weight(weight, len(rows))[:, None], 0.0)
        return cls.by_share(rows, share, distribution=distribution)

    @classmethod
    def by_share(
        cls, x: ArrayLike, share: ArrayLike, *, distribution: Distribution
    ) -> KnownStatistics:
        """Summarize components in which every row has a share (n, K), in one pass.

        The distribution may have a leading batch axis of K: one for each component.
        """
        rows = as_rows(x)
        shares = as_share(share, len(rows))
        if distribution.event_shape:
            rows = as_complete_rows(rows, shares.sum(axis=1))
        log_prob = distribution.log_prob(rows[:, None])
        shares = shares.reshape(*shares.shape, *(1,) * (log_prob.ndim - 2))
        weights = np.where(np.isnan(log_prob), 0.0, shares)
        with np.errstate(invalid="ignore"):
            # What has no weight says nothing, though it be impossible.
            terms = np.where(weights > 0, weights * log_prob, 0.0)
        return cls(weights.sum(axis=0), terms.sum(axis=0))

    def __add__(self, other: KnownStatistics) -> KnownStatistics:
        return KnownStatistics(self.weight + other.weight, self.total + other.total)

    def __sub__(self, other: KnownStatistics) -> KnownStatistics:
        weight = remaining(self.weight, other.weight)
        return KnownStatistics(weight, np.where(weight > 0, self.total - other.total, 0.0))

    def pooled(self) -> KnownStatistics:
        """Return the statistics of all groups together."""
        return KnownStatistics(self.weight.sum(axis=0), self.total.sum(axis=0))

    def log_likelihood(self, distribution: Distribution) -> Array:
        """Return the log density of the rows under the distribution that summarized them."""
        return self.total


@dataclass(frozen=True, eq=False)
class Known(Belief):
    """A distribution that is known: a belief which any data leave alone.

    Attributes
    ----------
    distribution
        Of numbers, batch shape (..., n_features), or of vectors, (...).

    Examples
    --------
    >>> from credo.distributions import Categorical, Laplace
    >>> belief = Known(Laplace(0.0, 1.0))
    >>> seen = belief.statistics_of([[0.5], [-2.0]])
    >>> belief.update(seen) is belief, belief.log_evidence(seen).round(3)
    (True, array([-3.886]))
    """

    distribution: Distribution
    learns_from: ClassVar[type[KnownStatistics]] = KnownStatistics

    def __post_init__(self) -> None:
        # Found now, so that a belief that is a setting stays as it was given.
        _ = self.batch_shape

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return examples for the laws, and for saving."""
        data = KnownStatistics.examples()[0].arguments
        prior = cls(data["settings"]["distribution"])
        return (Example(prior, statistics=KnownStatistics, **data, maximum_likelihood=False),)

    @property
    def is_joint(self) -> bool:
        """Whether a row is one outcome, a vector."""
        return bool(self.distribution.event_shape)

    @property
    def settings(self) -> dict[str, Any]:
        """The distribution, under which statistics are summed."""
        return {"distribution": self.distribution}

    def update(self, statistics: Any) -> Known:
        """Return the same belief, whatever was seen."""
        return self

    def maximum_likelihood(self, statistics: Any) -> Distribution:
        """Return the distribution: there is nothing to choose."""
        return self.distribution

    def mean(self) -> Distribution:
        """Return the distribution."""
        return self.distribution

    def mode(self) -> Distribution:
        """Return the distribution."""
        return self.distribution

    def log_density_at(self, observation: Distribution) -> Array:
        """Return zero: there is nothing to be unsure of."""
        return np.zeros(())

    def sample(self, rng: np.random.Generator, n: int | None = None) -> Distribution:
        """Return the distribution, ``n`` times."""
        if n is None:
            return self.distribution
        wide = self.distribution._spread_to((1, *self.distribution.batch_shape))
        return wide[np.zeros(n, dtype=np.intp)]

    def predictive(self) -> Distribution:
        """Return the distribution."""
        return self.distribution

    def log_evidence(self, statistics: Any) -> Array:
        """Return the log density of the summarized data: their log likelihood."""
        return np.asarray(statistics.log_likelihood(self.distribution))

    def expected_log_density(self, x: ArrayLike) -> Array:
        """Return the log density at ``x``; NaN gives NaN."""
        return self.distribution.log_prob(x)

    def kl(self, other: Known) -> Array:
        """Return zero for the same distribution, and infinity for any other."""
        is_same = _is_same(self.distribution, other.distribution)
        return np.asarray(0.0 if is_same else np.inf)

    def spread(self, shape: Sequence[int]) -> Known:
        """Return the same belief with the given batch shape, one copy for each entry."""
        if tuple(shape) == self.batch_shape:
            return self
        return Known(self.distribution._spread_to(tuple(shape))[...])


def _is_same(one: Any, two: Any) -> bool:
    """Return whether two values have equal fields; arrays broadcast."""
    if isinstance(one, np.ndarray) or not is_dataclass(one):
        return type(one) is type(two) and bool(np.all(np.asarray(one) == np.asarray(two)))
    return type(one) is type(two) and all(
        _is_same(getattr(one, part.name), getattr(two, part.name)) for part in fields(one)
    )
