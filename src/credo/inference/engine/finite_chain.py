"""Markov chains over finitely many states: where they settle, how fast, and whether both ways.

A distribution is stationary if ``sum_s pi(s) P(s, s') = pi(s')``. Detailed balance,
``pi(s) P(s, s') = pi(s') P(s', s)``, is enough for that and is what Metropolis-Hastings moves
are made for [mackay2003]_.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from credo.numerics.array import Array, as_float
from credo.numerics.form import Form

__all__ = ["FiniteChain"]

ROUNDING = 1e-9
MOST_DOUBLINGS = 60


@dataclass(frozen=True, eq=False)
class FiniteChain:
    """A Markov chain that moves between states by a table.

    Attributes
    ----------
    transition
        Probability of each state, by column, after each state, by row, shape (k, k).

    Examples
    --------
    >>> chain = FiniteChain([[0.7, 0.3], [0.2, 0.8]])
    >>> chain.stationary().round(4)
    array([0.4, 0.6])
    >>> chain.mixing_time(0.01)
    6
    """

    transition: Annotated[Array, Form("k k", 0.0, 1.0 + ROUNDING)]

    def __init__(self, transition: ArrayLike) -> None:
        table = as_float(transition)
        if table.ndim != 2 or table.shape[0] != table.shape[1] or not table.size:
            raise ValueError(
                f"transition must be a square table; found the shape {table.shape}. Give a row "
                "for each state, with the probability of each next one."
            )
        _require_rows(table, "transition")
        object.__setattr__(self, "transition", table)

    @classmethod
    def metropolis(cls, target: ArrayLike, proposal: ArrayLike) -> FiniteChain:
        """Return the moves of Metropolis-Hastings to a target, by a table of proposals.

        ``P(s, s') = q(s, s') min(1, p(s') q(s', s) / (p(s) q(s, s')))`` for other states; what
        is refused stays.

        Parameters
        ----------
        target
            Weights of the states, shape (k,), not normalized.
        proposal
            Probability of proposing each state after each, shape (k, k).

        Examples
        --------
        >>> even = [[0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]]
        >>> FiniteChain.metropolis([0.2, 0.3, 0.5], even).transition.round(4)
        array([[0.    , 0.5   , 0.5   ],
               [0.3333, 0.1667, 0.5   ],
               [0.2   , 0.3   , 0.5   ]])
        """
        p, q = as_float(target), cls(proposal).transition
        if p.shape != (len(q),) or (p < 0).any() or not p.sum() > 0:
            raise ValueError(
                f"target must hold a weight of 0 or more for each of {len(q)} states; found "
                f"{p.tolist()}. Give one for each row of the proposal."
            )
        flow = np.minimum(p[:, None] * q, (p[:, None] * q).T)
        # A state of no weight is left by every proposal.
        moves = np.divide(flow, p[:, None], out=q.copy(), where=p[:, None] > 0)
        np.fill_diagonal(moves, 0.0)
        np.fill_diagonal(moves, 1.0 - moves.sum(axis=1))
        return cls(np.clip(moves, 0.0, 1.0))

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.transition)

    def closed_classes(self) -> tuple[tuple[int, ...], ...]:
        """Return the sets of states that a chain cannot leave once it is there."""
        reach = self._reach()
        mutual = reach & reach.T
        classes = {tuple(np.flatnonzero(row).tolist()) for row in mutual}
        return tuple(sorted(c for c in classes if not reach[c[0], ~mutual[c[0]]].any()))

    @property
    def is_irreducible(self) -> bool:
        """Whether every state leads to every other."""
        return bool(self._reach().all())

    @property
    def period(self) -> int:
        """Steps of which every return to a state is a multiple; one if the chain settles.

        Of the first closed class, if there are several.
        """
        states = list(self.closed_classes()[0])
        moves = self.transition[np.ix_(states, states)] > 0
        level = np.full(len(states), -1)
        level[0] = 0
        found, queue = 0, [0]
        for i in queue:
            for j in np.flatnonzero(moves[i]).tolist():
                if level[j] < 0:
                    level[j] = level[i] + 1
                    queue.append(j)
                found = int(np.gcd(found, level[i] + 1 - level[j]))
        return found

    def stationary(self) -> Array:
        """Return the distribution that the chain keeps, shape (k,).

        By elimination of one state after the other, which adds and divides positive numbers
        only, and so keeps every digit of the smallest probability [grassmann1985]_.

        Raises
        ------
        ValueError
            If there are several, because the chain can be caught in different sets of states.
        """
        classes = self.closed_classes()
        if len(classes) > 1:
            raise ValueError(
                "a chain must have one set of states that it ends in to have one stationary "
                f"distribution; found {list(classes)}. Ask for each set by itself."
            )
        states = np.array(classes[0])
        found = np.zeros(self.n_states)
        found[states] = _eliminated(self.transition[np.ix_(states, states)])
        return found

    def imbalance(self, distribution: ArrayLike | None = None) -> float:
        """Return the largest difference of flows between two states; zero in detailed balance.

        Parameters
        ----------
        distribution
            Probability of each state; the stationary one by default.
        """
        pi = self.stationary() if distribution is None else self._distribution(distribution)
        flow = pi[:, None] * self.transition
        return float(np.abs(flow - flow.T).max())

    def drift(self, distribution: ArrayLike) -> float:
        """Return how much one step changes a distribution at most; zero if it is stationary."""
        pi = self._distribution(distribution)
        return float(np.abs(pi @ self.transition - pi).max())

    def after(self, n: int, distribution: ArrayLike) -> Array:
        """Return the distribution after ``n`` steps."""
        return np.asarray(
            self._distribution(distribution) @ np.linalg.matrix_power(self.transition, n)
        )

    def mixing_time(self, tolerance: float = 0.25) -> int:
        """Return the steps after which every start is within a distance of the stationary one.

        The distance is total variation: the largest difference of the probability of any set
        of states. It never rises from step to step.

        Raises
        ------
        ValueError
            If it never comes so near: the chain is periodic, or is caught.
        """
        pi = self.stationary()

        def is_near(table: Array) -> bool:
            return bool(0.5 * np.abs(table - pi).sum(axis=1).max() <= tolerance)

        if is_near(np.eye(self.n_states)):
            return 0
        powers = [self.transition]
        while not is_near(powers[-1]):
            if len(powers) > MOST_DOUBLINGS:
                raise ValueError(
                    f"the chain must come within {tolerance} of its stationary distribution; "
                    f"found that it does not, with period {self.period}. Let it stay with some "
                    "probability."
                )
            powers.append(powers[-1] @ powers[-1])
        if len(powers) == 1:
            return 1
        # All of 2^(k-1) steps are too few; as many of the smaller powers are added as can be.
        steps, table = 2 ** (len(powers) - 2), powers[-2]
        for k in range(len(powers) - 3, -1, -1):
            longer = table @ powers[k]
            if not is_near(longer):
                steps, table = steps + 2**k, longer
        return int(steps + 1)

    @property
    def spectral_gap(self) -> float:
        """One minus the second largest size of an eigenvalue: how fast memory fades."""
        sizes = np.sort(np.abs(np.linalg.eigvals(self.transition)))
        return float(1.0 - sizes[-2]) if len(sizes) > 1 else 1.0

    def sample(
        self, rng: Generator, n: int, start: ArrayLike | None = None
    ) -> NDArray[np.intp]:
        """Return ``n`` states in turn, the first from ``start``, or the stationary law."""
        pi = self.stationary() if start is None else self._distribution(start)
        ends = np.cumsum(self.transition, axis=1)
        path = np.empty(n, dtype=np.intp)
        state = int(rng.choice(self.n_states, p=pi))
        for i, u in enumerate(rng.random(n)):
            path[i] = state
            state = int(np.searchsorted(ends[state], u * ends[state, -1], side="right"))
        return path

    def _distribution(self, distribution: ArrayLike) -> Array:
        pi = as_float(distribution)
        if pi.shape != (self.n_states,):
            raise ValueError(
                f"distribution must hold a probability for each of {self.n_states} states; "
                f"found the shape {pi.shape}. Give one for each row of the table."
            )
        _require_rows(pi[None], "distribution")
        return pi

    def _reach(self) -> NDArray[np.bool_]:
        """Return whether each state leads to each other in some number of steps."""
        reach = (self.transition > 0) | np.eye(self.n_states, dtype=np.bool_)
        for _ in range(max(1, int(np.ceil(np.log2(self.n_states))))):
            reach = (reach.astype(np.float64) @ reach.astype(np.float64)) > 0
        return reach


def _require_rows(table: Array, name: str) -> None:
    total = table.sum(axis=1)
    if not ((table >= 0).all() and np.allclose(total, 1.0, rtol=0, atol=ROUNDING)):
        raise ValueError(
            f"{name} must hold probabilities that sum to one; found entries from "
            f"{float(table.min()):.4g} and sums from {float(total.min()):.6g} to "
            f"{float(total.max()):.6g}. Divide weights by their sum."
        )


def _eliminated(transition: Array) -> Array:
    """Return the stationary distribution of states that all lead to each other."""
    p = transition.copy()
    n = len(p)
    for k in range(n - 1, 0, -1):
        p[:k, k] /= p[k, :k].sum()
        p[:k, :k] += np.outer(p[:k, k], p[k, :k])
    pi = np.ones(n)
    for k in range(1, n):
        pi[k] = pi[:k] @ p[:k, k]
    return np.asarray(pi / pi.sum())
