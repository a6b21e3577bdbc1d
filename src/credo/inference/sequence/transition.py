"""Beliefs about tables of transitions: rows of probabilities, some of which are impossible.

Each row is Dirichlet over the states that its concentration allows; a concentration of zero
says that a transition is never made, which no data change [rabiner1989]_. Counts of transitions
add, so that the posterior is a sum, and paths have the evidence of Polya's urns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from scipy import special

from credo.numerics.array import Array, as_float
from credo.numerics.form import Form

__all__ = ["FixedTable", "TransitionBelief"]


@dataclass(frozen=True, eq=False)
class TransitionBelief:
    """Belief about rows of probabilities; prior and posterior alike.

    Attributes
    ----------
    concentration
        Pseudo-count of each entry, shape (..., K); zero where it is impossible.

    Examples
    --------
    >>> prior = TransitionBelief([[1.0, 1.0], [0.0, 1.0]])
    >>> prior.update(np.array([[3.0, 1.0], [0.0, 5.0]])).mean().round(3)
    array([[0.667, 0.333],
           [0.   , 1.   ]])
    """

    concentration: Annotated[Array, Form("... k", 0.0)]

    def __init__(self, concentration: ArrayLike) -> None:
        object.__setattr__(self, "concentration", as_float(concentration))

    @property
    def is_possible(self) -> NDArray[np.bool_]:
        """Which entries may be made at all."""
        return self.concentration > 0

    def update(self, counts: Array) -> TransitionBelief:
        """Return the posterior after counts of transitions, shape (..., K)."""
        return TransitionBelief(np.where(self.is_possible, self.concentration + counts, 0.0))

    def mean(self) -> Array:
        """Return the expected probabilities, which are those of the next transition."""
        return np.asarray(self.concentration / self.concentration.sum(axis=-1, keepdims=True))

    def mode(self) -> Array:
        """Return the most probable table; of an even row, its mean."""
        excess = np.maximum(self.concentration - 1.0, 0.0)
        total = excess.sum(axis=-1, keepdims=True)
        return np.where(total > 0, excess / np.where(total > 0, total, 1.0), self.mean())

    def maximum_likelihood(self, counts: Array) -> Array:
        """Return the likeliest table; of a row without counts, the mean."""
        seen = np.where(self.is_possible, counts, 0.0)
        total = seen.sum(axis=-1, keepdims=True)
        return np.where(total > 0, seen / np.where(total > 0, total, 1.0), self.mean())

    def weights(self) -> Array:
        """Return ``exp(E log p)``, by which a belief counts in expected transitions."""
        total = special.digamma(self.concentration.sum(axis=-1, keepdims=True))
        one = np.where(self.is_possible, self.concentration, 1.0)
        return np.where(self.is_possible, np.exp(special.digamma(one) - total), 0.0)

    def sample(self, rng: Generator) -> Array:
        """Return a table drawn from the belief."""
        one = np.where(self.is_possible, self.concentration, 1.0)
        # A small shape is drawn as a larger one times a power, whose log does not underflow.
        logs = np.log(rng.standard_gamma(one + 1.0)) + np.log(rng.random(one.shape)) / one
        logs = np.where(self.is_possible, logs, -np.inf)
        return np.asarray(special.softmax(logs, axis=-1))

    def log_density_at(self, table: Array) -> float:
        """Return the log density of a table, all rows together."""
        one = np.where(self.is_possible, self.concentration, 1.0)
        powers = special.xlogy(one - 1.0, np.where(self.is_possible, table, 1.0)).sum()
        return float(powers - self._log_integral().sum())

    def log_evidence(self, counts: Array) -> float:
        """Return the log probability of transitions with these counts, in some order."""
        impossible = np.where(self.is_possible, 0.0, counts).sum()
        if impossible > 0:
            return -np.inf
        return float((self.update(counts)._log_integral() - self._log_integral()).sum())

    def kl(self, other: TransitionBelief) -> float:
        """Return the divergence of ``other`` from this belief, in nats."""
        one = np.where(self.is_possible, self.concentration, 1.0)
        total = special.digamma(self.concentration.sum(axis=-1, keepdims=True))
        expected = special.digamma(one) - total
        away = np.where(self.is_possible, self.concentration - other.concentration, 0.0)
        gap = other._log_integral() - self._log_integral()
        return float((away * expected).sum() + gap.sum())

    def _log_integral(self) -> Array:
        one = np.where(self.is_possible, self.concentration, 1.0)
        logs = np.where(self.is_possible, special.gammaln(one), 0.0).sum(axis=-1)
        return np.asarray(logs - special.gammaln(self.concentration.sum(axis=-1)))


@dataclass(frozen=True, eq=False)
class FixedTable:
    """Probabilities that are known, and that no data change.

    Attributes
    ----------
    probability
        Rows that sum to one, shape (..., K).

    Examples
    --------
    >>> FixedTable(np.eye(2)).update(np.ones((2, 2))).mean()
    array([[1., 0.],
           [0., 1.]])
    """

    probability: Annotated[Array, Form("... k", 0.0, 1.0)]

    def update(self, counts: Array) -> FixedTable:
        """Return the same table."""
        return self

    def mean(self) -> Array:
        """Return the table."""
        return self.probability

    def mode(self) -> Array:
        """Return the table."""
        return self.probability

    def maximum_likelihood(self, counts: Array) -> Array:
        """Return the table."""
        return self.probability

    def weights(self) -> Array:
        """Return the table."""
        return self.probability

    def sample(self, rng: Generator) -> Array:
        """Return the table."""
        return self.probability

    def log_density_at(self, table: Array) -> float:
        """Return zero."""
        return 0.0

    def log_evidence(self, counts: Array) -> float:
        """Return the log probability of transitions with these counts, in some order."""
        return float(special.xlogy(counts, self.probability).sum())

    def kl(self, other: FixedTable) -> float:
        """Return zero."""
        return 0.0
