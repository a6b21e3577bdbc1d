"""Categories whose probabilities are broken off a stick: a Dirichlet process that is cut.

``w_k = v_k (1 - v_1) ... (1 - v_(k-1))`` with independent ``v_k ~ Beta(first_k, rest_k)``. An
observation of state k says that the stick was broken there, and not before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from credo.distributions.categorical import Categorical
from credo.distributions.dirichlet_process import StickBreaking
from credo.distributions.parameter import positive
from credo.families.belief import Belief
from credo.families.categorical import CategoricalStatistics
from credo.numerics.array import Array, as_float
from credo.numerics.example import Example
from credo.numerics.form import MOST_COUNTED, SMALLEST, Form

__all__ = ["StickBreakingCategorical"]


@dataclass(frozen=True, eq=False)
class StickBreakingCategorical(Belief):
    """Belief about probabilities that are broken off a stick; prior and posterior alike.

    Attributes
    ----------
    first, rest
        Parameters of the beta distributions of the shares, shape (..., n_states - 1).

    Examples
    --------
    >>> prior = StickBreakingCategorical.of_process(1.0, 3)
    >>> prior.update(CategoricalStatistics.of([0, 2, 2], n_states=3)).mean().probability
    array([0.4 , 0.15, 0.45])
    """

    first: Annotated[Array, Form("... m", SMALLEST, MOST_COUNTED)]
    rest: Annotated[Array, Form("... m", SMALLEST, MOST_COUNTED)]
    _event_dims: ClassVar[dict[str, int]] = {"first": 1, "rest": 1}
    learns_from: ClassVar[type[CategoricalStatistics]] = CategoricalStatistics

    def __init__(self, first: ArrayLike, rest: ArrayLike) -> None:
        one, two = np.broadcast_arrays(
            np.atleast_1d(positive("first", first)), np.atleast_1d(positive("rest", rest))
        )
        self._fill(first=one, rest=two)

    @classmethod
    def of_process(cls, concentration: float, n_states: int) -> StickBreakingCategorical:
        """Return the weights of a Dirichlet process, the last being all that is left."""
        return cls(np.ones(n_states - 1), np.full(n_states - 1, float(concentration)))

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return examples for the laws, and for saving."""
        data = CategoricalStatistics.examples()[0].arguments
        prior = cls([1.5, 2.0], [4.0, 2.5])
        return (Example(prior, statistics=CategoricalStatistics, **data),)

    @property
    def n_states(self) -> int:
        """Number of states."""
        return int(self.first.shape[-1]) + 1

    @property
    def settings(self) -> dict[str, Any]:
        """The number of states."""
        return {"n_states": self.n_states}

    def update(self, statistics: CategoricalStatistics) -> StickBreakingCategorical:
        """Return the posterior; updating by parts equals updating by their sum."""
        counts = statistics.counts
        beyond = np.cumsum(counts[..., ::-1], axis=-1)[..., ::-1][..., 1:]
        return StickBreakingCategorical(self.first + counts[..., :-1], self.rest + beyond)

    def parameters(self) -> StickBreaking:
        """Return the belief as a distribution of the probabilities."""
        return StickBreaking(self.first, self.rest)

    def log_density_at(self, observation: Categorical) -> Array:
        """Return the log density of the probabilities of an observation distribution."""
        return np.asarray(self.parameters().log_prob(observation.probability))

    def mean(self) -> Categorical:
        """Return the observation distribution at the mean probabilities."""
        return Categorical(self.parameters().mean())

    def mode(self) -> Categorical:
        """Return the observation distribution at the most probable probabilities."""
        found = self.parameters().mode()
        if np.isnan(found).any():
            raise ValueError(
                "the belief must have one mode; found a density that is largest at a border. "
                "Use mean(), or observe every state."
            )
        return Categorical(found)

    def sample(self, rng: np.random.Generator, n: int | None = None) -> Categorical:
        """Return the observation distribution at ``n`` drawn probability vectors."""
        return Categorical(self.parameters().sample(rng, n))

    def predictive(self) -> Categorical:
        """Return the distribution of the next observation."""
        return self.mean()

    def log_evidence(self, statistics: CategoricalStatistics) -> Array:
        """Return the log probability of the summarized data, in the order it came."""
        after = self.update(statistics)
        gain = special.betaln(after.first, after.rest) - special.betaln(self.first, self.rest)
        return np.asarray(gain.sum(axis=-1))

    def expected_log_density(self, x: ArrayLike) -> Array:
        """Return the mean over this belief of ``log p(x | probabilities)``; NaN gives NaN."""
        code, table = as_float(x), self.parameters().mean_log()
        shape = np.broadcast_shapes(code.shape, table.shape[:-1])
        table = np.broadcast_to(table, (*shape, table.shape[-1]))
        index = np.broadcast_to(np.nan_to_num(code).astype(np.intp), shape)
        picked = np.take_along_axis(table, index[..., None], axis=-1)[..., 0]
        return np.where(np.isnan(code), np.nan, picked)

    def kl(self, other: StickBreakingCategorical) -> Array:
        """Return the divergence of ``other`` from this belief, in nats."""
        return self.parameters().kl(other.parameters())
