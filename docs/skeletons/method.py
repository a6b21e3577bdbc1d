"""Importance sampling from fair draws: a skeleton for an engine that networks ask for by name.

Copy it to ``src/credo/inference/discrete/approximate/<name>.py`` and export it by a line in the
stub of the room. ``name`` and ``answers`` are all that ``net.query(..., method="fair_draws")``
and the lists of methods need; ``FairDraws(n_draws=10_000)`` is a method as well.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from credo.inference.discrete.factor_problem import FactorProblem, TableMarginals
from credo.inference.engine.engine import Info
from credo.numerics.array import Array

__all__ = ["FairDraws"]


@dataclass(frozen=True, eq=False)
class Tally:
    """Density of all draws so far, of those in each state of each variable, and squares."""

    n_draws: int
    weight: Array
    squares: float = 0.0


@dataclass(frozen=True)
class FairDraws:
    """Draw every state with equal chance, and weigh the draw by its density.

    Attributes
    ----------
    n_draws
        Draws in all.
    block_size
        Draws per step.
    seed
        Seed of the draws.
    tolerance
        Bound on a standard error, ``0.5 / sqrt(effective draws)``, at which it stops.
    """

    n_draws: int = 100_000
    block_size: int = 1000
    seed: int = 0
    tolerance: float = 0.005

    name = "fair_draws"
    title = "weighted fair draws"
    answers = ("marginals",)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return values for laws to check; names of methods stand for the first."""
        return (cls(),)

    @property
    def max_steps(self) -> int:
        """Number of blocks."""
        return -(-self.n_draws // self.block_size)

    def init(self, problem: FactorProblem) -> Tally:
        """Return no draws."""
        return Tally(0, np.zeros((len(problem.n_states), max(problem.n_states))))

    def step(self, problem: FactorProblem, state: Tally) -> tuple[Tally, Info]:
        """Draw one more block."""
        rng = np.random.default_rng([self.seed, state.n_draws])
        states = rng.integers(0, problem.n_states, (self.block_size, len(problem.n_states)))
        density = np.exp(problem.log_density(states))
        weight = state.weight.copy()
        for i in range(len(problem.n_states)):
            np.add.at(weight[i], states[:, i], density)
        squares = state.squares + float(density @ density)
        after = replace(state, n_draws=state.n_draws + self.block_size, weight=weight)
        after = replace(after, squares=squares)
        return after, Info(float(weight[0].sum()), _error(after))

    def posterior(
        self, problem: FactorProblem, state: Tally
    ) -> tuple[TableMarginals, float, str]:
        """Return the weighted shares of the states."""
        shares = state.weight / state.weight.sum(axis=1, keepdims=True)
        parts = tuple(row[:n] for row, n in zip(shares, problem.n_states, strict=True))
        found = TableMarginals(parts, _error(state), "largest standard error")
        return found, float("nan"), "none"


def _error(state: Tally) -> float:
    """Return the largest standard error that a probability can have."""
    effective = state.weight[0].sum() ** 2 / state.squares if state.squares else 0.0
    return float(0.5 / np.sqrt(effective)) if effective else float("inf")
