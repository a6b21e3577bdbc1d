"""Observations with finitely many states and unknown probabilities.

The conjugate prior is the Dirichlet, one independent copy per feature: ``x ~ Categorical(p)``,
``p ~ Dirichlet(concentration)``; the concentration counts imagined observations of each state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from credo.distributions.categorical import Categorical
from credo.distributions.dirichlet import Dirichlet
from credo.distributions.parameter import positive, require
from credo.families.belief import Belief
from credo.families.rows import as_label, as_rows, as_share, as_weight, flat_rows
from credo.families.statistics import Sums
from credo.numerics.array import Array, as_float
from credo.numerics.example import Example
from credo.numerics.form import MOST_COUNTED, SMALLEST, Form
from credo.numerics.linear.grouped import group_counts, share_counts

__all__ = ["CategoricalStatistics", "DirichletCategorical"]


@dataclass(frozen=True, eq=False)
class CategoricalStatistics(Sums):
    """Weight of every state, feature by feature.

    Attributes
    ----------
    counts
        Summed weight of each state, shape (..., n_features, n_states).
    """

    counts: Annotated[Array, Form("... m", 0.0)]
    _event_dims: ClassVar[dict[str, int]] = {"counts": 1}

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return examples for the laws, and for saving."""
        rows = as_float([[0, 2], [1, 1], [2, 0], [0, 1], [1, 2], [1, 1], [2, 0]])
        states = {"n_states": 3}
        return (Example(cls.of(rows, **states), rows=rows, settings=states),)

    @classmethod
    def of(
        cls, x: ArrayLike, weight: ArrayLike = 1.0, *, n_states: int
    ) -> CategoricalStatistics:
        """Summarize rows of state codes 0 to ``n_states - 1``; NaN carries no weight."""
        rows = _as_coded_rows(x, n_states)
        weights = np.broadcast_to(
            as_weight(weight, len(rows)).reshape(-1, *(1,) * (rows.ndim - 1)), rows.shape
        )
        n_features = int(np.prod(rows.shape[1:]))
        present = ~np.isnan(rows)
        feature = np.broadcast_to(np.arange(n_features).reshape(rows.shape[1:]), rows.shape)
        cell = feature[present] * n_states + rows[present].astype(np.intp)
        counts = np.bincount(cell, weights[present], n_features * n_states)
        return cls(counts.astype(np.float64).reshape(*rows.shape[1:], n_states))

    @classmethod
    def by_group(
        cls, x: ArrayLike, label: ArrayLike, k: int, weight: ArrayLike = 1.0, *, n_states: int
    ) -> CategoricalStatistics:
        """Summarize each of ``k`` groups in one pass; counts get a leading group axis."""
        rows = _as_coded_rows(x, n_states)
        n = len(rows)
        counts = group_counts(
            flat_rows(rows), as_label(label, n, k), k, as_weight(weight, n), n_states
        )
        return cls(counts.reshape(k, *rows.shape[1:], n_states))

    @classmethod
    def by_share(
        cls, x: ArrayLike, share: ArrayLike, *, n_states: int
    ) -> CategoricalStatistics:
        """Summarize components in which every row has a share (n, K), in one pass."""
        rows = _as_coded_rows(x, n_states)
        shares = as_share(share, len(rows))
        counts = share_counts(flat_rows(rows), shares, n_states)
        return cls(counts.reshape(shares.shape[1], *rows.shape[1:], n_states))

    @property
    def weight(self) -> Array:
        """Summed weight of all observations."""
        return np.asarray(self.counts.sum(axis=-1))

    def log_likelihood(self, distribution: Categorical) -> Array:
        """Return the log probability of the summarized data, in the order it came."""
        # A state that was never seen says nothing, though it be impossible.
        return np.asarray(special.xlogy(self.counts, distribution.probability).sum(axis=-1))

    def maximum_likelihood(self) -> Categorical:
        """Return the observation distribution at the observed frequencies."""
        require(
            "weight",
            self.weight,
            lambda w: w > 0,
            "positive for maximum likelihood",
            "Use the mean of a belief, which is defined without data.",
        )
        return Categorical(self.counts / self.weight[..., None])


@dataclass(frozen=True, eq=False)
class DirichletCategorical(Belief):
    """Belief about the probabilities of the states; prior and posterior alike.

    Attributes
    ----------
    concentration
        Pseudo-count of each state, shape (..., n_states); all ones is the uniform belief.

    Examples
    --------
    >>> prior = DirichletCategorical([1.0, 1.0, 1.0])
    >>> die = prior.update(CategoricalStatistics.of([0, 2, 2], n_states=3))
    >>> die.mean().probability.round(3)
    array([0.333, 0.167, 0.5  ])
    """

    concentration: Annotated[Array, Form("... m", SMALLEST, MOST_COUNTED)]
    _event_dims: ClassVar[dict[str, int]] = {"concentration": 1}
    learns_from: ClassVar[type[CategoricalStatistics]] = CategoricalStatistics

    def __init__(self, concentration: ArrayLike) -> None:
        self._fill(concentration=np.atleast_1d(positive("concentration", concentration)))

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return examples for the laws, and for saving."""
        data = CategoricalStatistics.examples()[0].arguments
        return (Example(cls([0.5, 1.0, 2.5]), statistics=CategoricalStatistics, **data),)

    @property
    def settings(self) -> dict[str, Any]:
        """The number of states."""
        return {"n_states": self.concentration.shape[-1]}

    def update(self, statistics: CategoricalStatistics) -> DirichletCategorical:
        """Return the posterior; updating by parts equals updating by their sum."""
        return DirichletCategorical(self.concentration + statistics.counts)

    def parameters(self) -> Dirichlet:
        """Return the belief as a distribution of the probabilities."""
        return Dirichlet(self.concentration)

    def log_density_at(self, observation: Categorical) -> Array:
        """Return the log density of the probabilities of an observation distribution."""
        return np.asarray(self.parameters().log_prob(observation.probability))

    def mean(self) -> Categorical:
        """Return the observation distribution at the mean probabilities: smoothed counts."""
        return Categorical(self.concentration / self.concentration.sum(axis=-1, keepdims=True))

    def mode(self) -> Categorical:
        """Return the observation distribution at the most probable probabilities."""
        excess = np.maximum(self.concentration - 1.0, 0.0)
        total = excess.sum(axis=-1, keepdims=True)
        require(
            "the largest concentration",
            self.concentration.max(axis=-1),
            lambda largest: largest > 1,
            "above 1 for the belief to have one mode",
            "Use mean(), or a prior with pseudo-counts above 1.",
        )
        return Categorical(excess / total)

    def sample(self, rng: np.random.Generator, n: int | None = None) -> Categorical:
        """Return the observation distribution at ``n`` drawn probability vectors."""
        return Categorical(self.parameters().sample(rng, n))

    def predictive(self) -> Categorical:
        """Return the distribution of the next observation."""
        return self.mean()

    def log_evidence(self, statistics: CategoricalStatistics) -> Array:
        """Return the log probability of the summarized data, in the order it came."""
        after = self.update(statistics)
        return np.asarray(after._log_integral() - self._log_integral())

    def expected_log_density(self, x: ArrayLike) -> Array:
        """Return the mean over this belief of ``log p(x | probabilities)``; NaN gives NaN."""
        code = as_float(x)
        total = special.digamma(self.concentration.sum(axis=-1, keepdims=True))
        table = np.asarray(special.digamma(self.concentration) - total)
        shape = np.broadcast_shapes(code.shape, table.shape[:-1])
        table = np.broadcast_to(table, (*shape, table.shape[-1]))
        index = np.broadcast_to(np.nan_to_num(code).astype(np.intp), shape)
        picked = np.take_along_axis(table, index[..., None], axis=-1)[..., 0]
        return np.where(np.isnan(code), np.nan, picked)

    def kl(self, other: DirichletCategorical) -> Array:
        """Return the divergence of ``other`` from this belief, in nats."""
        return self.parameters().kl(other.parameters())

    def _log_integral(self) -> Array:
        """Return the log of the multivariate beta function of the concentration."""
        total = self.concentration.sum(axis=-1)
        return np.asarray(
            special.gammaln(self.concentration).sum(axis=-1) - special.gammaln(total)
        )


def _as_coded_rows(x: ArrayLike, n_states: int) -> Array:
    return require(
        "x",
        as_rows(x),
        lambda v: ((v >= 0) & (v < n_states) & (v == np.floor(v))) | np.isnan(v),
        f"a state code from 0 to {n_states - 1}, or NaN",
        "Code states with np.unique(names, return_inverse=True), or raise n_states.",
    )
