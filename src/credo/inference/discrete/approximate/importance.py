"""Importance sampling in a network, guided by belief propagation.

Variables are drawn one after the other, each given those before it and the messages from those
still open [yuan2006]_. The draws are weighted by density over probability of having been drawn,
so the answer is right in the limit however rough the messages are; on a forest all weights are
equal. Draws are independent, so zeros in tables cannot trap them as they can a Gibbs chain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from credo.inference.discrete.approximate.flat_problem import FlatProblem
from credo.inference.discrete.factor_problem import FactorProblem, TableMarginals
from credo.inference.discrete.loops.flat_tables import log_densities
from credo.inference.discrete.loops.states import guided_draws
from credo.inference.engine.engine import Info
from credo.inference.engine.weighted_draws import ZeroWeights
from credo.numerics.array import Array

__all__ = ["ImportanceMarginals", "ImportanceState", "TableImportance"]


@dataclass(frozen=True, eq=False)
class ImportanceMarginals(TableMarginals):
    """Marginals from weighted draws.

    Attributes
    ----------
    standard_error
        Monte Carlo standard error of each probability, one vector per variable.
    effective_draws
        Number of equally weighted draws that would be worth as much.
    n_draws
        Draws in all.
    log_partition_error
        Standard error of the log partition.
    """

    standard_error: tuple[Array, ...] = ()
    effective_draws: float = float("nan")
    n_draws: int = 0
    log_partition_error: float = float("nan")


@dataclass(frozen=True, eq=False)
class ImportanceState:
    """Sums over the draws so far; nothing grows with their number.

    Attributes
    ----------
    flat
        The problem as flat arrays.
    log_message
        Messages that guide the draws.
    n_draws
        Draws so far.
    log_unit
        Log of the weight in whose unit the sums are.
    total, squares
        Sums of weights, and of squared weights.
    state_total, state_squares
        The same over draws in each state of every variable.
    """

    flat: FlatProblem
    log_message: Array
    n_draws: int
    log_unit: float
    total: float
    squares: float
    state_total: Array
    state_squares: Array

    @property
    def probability(self) -> Array:
        """Probability of each state of every variable."""
        return self.state_total / self.total

    @property
    def standard_error(self) -> Array:
        """Standard error of each probability; infinite before any draw counts.

        The worth of one effective draw is added: where one weight outweighs all others, or a
        state was never drawn, the spread of the draws alone would promise certainty.
        """
        if not self.total:
            return np.full_like(self.state_total, np.inf)
        p = self.probability
        squares = self.state_squares * (1 - 2 * p) + p**2 * self.squares
        variance = np.maximum(squares, 0.0) / self.total**2 + self.effective_draws**-2.0
        is_free = np.repeat(self.flat.net.n_states > 1, self.flat.net.n_states)
        return np.sqrt(np.where(is_free, variance, 0.0))

    @property
    def effective_draws(self) -> float:
        """Equally weighted draws that would be worth as much."""
        return self.total**2 / self.squares if self.squares else 0.0

    @property
    def log_partition(self) -> float:
        """Log of the mean weight; minus infinity before any draw counts."""
        if not self.total:
            return float("-inf")
        return float(np.log(self.total / self.n_draws)) + self.log_unit + self.flat.log_scale

    def with_draws(self, log_weight: Array, cell: NDArray[np.intp]) -> ImportanceState:
        """Return the sums with more draws; ``cell`` has one state per draw and variable."""
        unit = max(self.log_unit, float(log_weight.max()))
        weight = np.exp(log_weight - unit) if unit > -np.inf else np.zeros(len(log_weight))
        kept = float(np.exp(self.log_unit - unit)) if self.total else 0.0
        n_entries = len(self.state_total)
        each = np.repeat(weight, cell.shape[1])
        counted = np.bincount(cell.ravel(), weights=each, minlength=n_entries)
        squared = np.bincount(cell.ravel(), weights=each**2, minlength=n_entries)
        return ImportanceState(
            self.flat,
            self.log_message,
            self.n_draws + len(weight),
            unit,
            self.total * kept + float(weight.sum()),
            self.squares * kept**2 + float((weight**2).sum()),
            self.state_total * kept + counted,
            self.state_squares * kept**2 + squared,
        )


@dataclass(frozen=True)
class TableImportance:
    """Draw until the largest standard error of a marginal is within the tolerance.

    Attributes
    ----------
    n_draws
        Most draws in all.
    block_size
        Draws per step.
    n_sweeps
        Most sweeps of messages before the first draw.
    seed
        Seed of the draws.
    tolerance
        Standard error at which enough has been drawn.

    Examples
    --------
    >>> from credo.inference.engine.engine import run
    >>> from credo.inference.discrete.factor_problem import table_of
    >>> pair = FactorProblem((2, 2), (table_of((0, 1), np.array([[4.0, 2.0], [3.0, 1.0]])),))
    >>> found = run(TableImportance(), pair)
    >>> round(float(np.exp(found.log_evidence)), 6), found.posterior.effective_draws
    (10.0, 10000.0)
    """

    n_draws: int = 100_000
    block_size: int = 1000
    n_sweeps: int = 50
    seed: int = 0
    tolerance: float = 0.005

    name = "importance"
    title = "importance sampling guided by messages"
    answers = ("marginals", "total")

    @property
    def max_steps(self) -> int:
        """Number of blocks."""
        return -(-self.n_draws // self.block_size)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return values for laws to check; names of methods stand for the first."""
        return (cls(),)

    def init(self, problem: FactorProblem) -> ImportanceState:
        """Return no draws, and the messages that will guide them."""
        flat = FlatProblem.of(problem)
        nothing = np.zeros(int(flat.net.state_start[-1]))
        message = flat.messages(self.n_sweeps)
        return ImportanceState(flat, message, 0, float("-inf"), 0.0, 0.0, nothing, nothing)

    def step(
        self, problem: FactorProblem, state: ImportanceState
    ) -> tuple[ImportanceState, Info]:
        """Draw one more block; report the log partition and the largest standard error."""
        flat = state.flat
        rng = np.random.default_rng([self.seed, state.n_draws])
        states, log_prob = guided_draws(
            flat.net, flat.order, state.log_message, self.block_size, rng
        )
        is_whole = log_prob > -np.inf
        log_weight = np.full(len(states), -np.inf)
        log_weight[is_whole] = log_densities(flat.net, states[is_whole]) - log_prob[is_whole]
        cell = states + flat.net.state_start[:-1]
        after = state.with_draws(log_weight, np.asarray(cell, dtype=np.intp))
        return after, Info(after.log_partition, float(after.standard_error.max()))

    def posterior(
        self, problem: FactorProblem, state: ImportanceState
    ) -> tuple[ImportanceMarginals, float, str]:
        """Return the marginals and the log partition.

        Raises
        ------
        ZeroWeights
            If every draw came to a dead end.
        """
        if not state.total:
            raise ZeroWeights(state.n_draws)
        error = state.standard_error
        spread = max(state.n_draws / state.effective_draws - 1.0, 0.0)
        found = ImportanceMarginals(
            state.flat.per_variable(state.probability),
            float(error.max()),
            "largest standard error",
            standard_error=state.flat.per_variable(error),
            effective_draws=state.effective_draws,
            n_draws=state.n_draws,
            log_partition_error=float(np.sqrt(spread / max(state.n_draws - 1, 1))),
        )
        return found, state.log_partition, "importance"
