"""Importance sampling from fair draws: a skeleton for an engine that networks ask for by name.

Copy it to ``src/credo/inference/discrete/approximate/<name>.py`` and export it by a line in the
stub of the room. ``name`` and ``answers`` are all that ``net.query(..., method="fair_draws")``
and the lists of methods need; ``FairDraws(n_draws=10_000)`` is a method as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.random import Generator

from credo.inference.discrete.factor_problem import FactorProblem, TableMarginals
from credo.inference.engine.engine import Account, Inference, StandardError, WeightStep
from credo.numerics.array import Array

__all__ = ["FairDraws"]


@dataclass(frozen=True, eq=False)
class Tally:
    """Density of all draws so far, of those in each state of each variable, and squares."""

    n_draws: int
    weight: Array
    squares: float = 0.0

    @property
    def effective_draws(self) -> float:
        """Draws of equal weight that would be worth as much."""
        return float(self.weight[0].sum() ** 2 / self.squares) if self.squares else 0.0

    @property
    def standard_error(self) -> float:
        """Largest standard error that a probability can have."""
        effective = self.effective_draws
        return float(0.5 / np.sqrt(effective)) if effective else float("inf")


@dataclass(frozen=True)
class FairDraws:
    """Draw every state with equal chance, and weigh the draw by its density.

    Attributes
    ----------
    n_draws
        Draws in all.
    block_size
        Draws per step.
    tolerance
        Bound on a standard error, ``0.5 / sqrt(effective draws)``, at which it stops.
    """

    n_draws: int = 100_000
    block_size: int = 1000
    tolerance: float = 0.005

    name = "fair_draws"
    title = "weighted fair draws"
    answers = ("marginals",)
    is_random: ClassVar[bool] = True

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return values for laws to check; names of methods stand for the first."""
        return (cls(),)

    @property
    def stop(self) -> StandardError:
        """The standard error is small enough, or all draws are taken."""
        return StandardError(self.tolerance, self.n_draws)

    def init(self, problem: FactorProblem, rng: Generator) -> Tally:
        """Return no draws."""
        return Tally(0, np.zeros((len(problem.n_states), max(problem.n_states))))

    def step(
        self, problem: FactorProblem, state: Tally, rng: Generator
    ) -> tuple[Tally, WeightStep]:
        """Draw one more block."""
        states = rng.integers(0, problem.n_states, (self.block_size, len(problem.n_states)))
        density = np.exp(problem.log_density(states))
        weight = state.weight.copy()
        for i in range(len(problem.n_states)):
            np.add.at(weight[i], states[:, i], density)
        squares = state.squares + float(density @ density)
        after = Tally(state.n_draws + self.block_size, weight, squares)
        return after, WeightStep(
            float(np.log(density.mean())),
            after.standard_error,
            after.n_draws,
            after.effective_draws,
        )

    def joined(self, problem: FactorProblem, states: Sequence[Tally]) -> Tally:
        """Return the draws of several chains together."""
        return Tally(
            sum(state.n_draws for state in states),
            np.sum([state.weight for state in states], axis=0),
            sum(state.squares for state in states),
        )

    def posterior(self, problem: FactorProblem, state: Tally) -> Inference:
        """Return the weighted shares of the states."""
        shares = state.weight / state.weight.sum(axis=1, keepdims=True)
        parts = tuple(row[:n] for row, n in zip(shares, problem.n_states, strict=True))
        error, worth = state.standard_error, state.effective_draws
        account = Account(self.title, False, error, "largest standard error", worth)
        return Inference(TableMarginals(parts), account=account)
