"""Importance sampling in a network, guided by belief propagation.

Variables are drawn one after the other, each given those before it and the messages from those
still open [yuan2006]_. The draws are weighted by density over probability of having been drawn,
so the answer is right in the limit however rough the messages are; on a forest all weights are
equal. Draws are independent, so zeros in tables cannot trap them as they can a Gibbs chain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Annotated, ClassVar, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.inference.discrete.approximate.flat_problem import FlatProblem
from credo.inference.discrete.factor_problem import FactorProblem, TableMarginals
from credo.inference.discrete.loops.flat_tables import log_densities
from credo.inference.discrete.loops.states import guided_draws
from credo.inference.engine.engine import (
    Account,
    FirstOf,
    Inference,
    Progress,
    StandardError,
    Stop,
    WeightStep,
)
from credo.inference.engine.weighted_draws import ZeroWeights
from credo.numerics.array import Array, as_float
from credo.numerics.form import Form
from credo.numerics.status import Status

__all__ = [
    "ImportanceMarginals",
    "ImportanceState",
    "ImportanceStep",
    "TableImportance",
    "Updates",
]

UPDATES_TO_JUDGE = 2_000_000
LEAST_SHARE = 1 / 200
"""Effective draws, of each draw, below which a large network is given up."""

MOST_STATES = 1 << 22
"""States of single variables that a step may hold."""


@dataclass(frozen=True, eq=False)
class ImportanceMarginals(TableMarginals):
    """Marginals from weighted draws.

    Attributes
    ----------
    standard_error
        Monte Carlo standard error of each probability, one vector per variable.
    n_draws
        Draws in all.
    log_partition_error
        Standard error of the log partition.
    """

    standard_error: tuple[Array, ...] = ()
    n_draws: int = 0
    log_partition_error: float = float("nan")


@dataclass(frozen=True, eq=False)
class ImportanceState:
    """Sums over the draws so far; nothing grows with their number.

    Attributes
    ----------
    log_message
        Messages that guide the draws.
    is_free
        Whether a variable has several states left, for each state of every variable.
    n_draws
        Draws so far.
    log_unit
        Log of the weight in whose unit the sums are.
    total, squares
        Sums of weights, and of squared weights.
    state_total, state_squares
        The same over draws in each state of every variable.
    """

    log_message: Annotated[Array, Form("m", -np.inf)]
    is_free: Annotated[NDArray[np.bool_], Form("e")]
    n_draws: int
    log_unit: float
    total: float
    squares: float
    state_total: Annotated[Array, Form("e", 0.0)]
    state_squares: Annotated[Array, Form("e", 0.0)]

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
        return np.sqrt(np.where(self.is_free, variance, 0.0))

    @property
    def effective_draws(self) -> float:
        """Equally weighted draws that would be worth as much."""
        return self.total**2 / self.squares if self.squares else 0.0

    @property
    def log_mean_weight(self) -> float:
        """Log of the mean weight; minus infinity before any draw counts."""
        if not self.total:
            return float("-inf")
        return float(np.log(self.total / self.n_draws)) + self.log_unit

    def with_draws(self, log_weight: Array, cell: NDArray[np.intp]) -> ImportanceState:
        """Return the sums with more draws; ``cell`` has one state per draw and variable."""
        unit = float(log_weight.max())
        weight = np.exp(log_weight - unit) if unit > -np.inf else np.zeros(len(log_weight))
        n_entries = len(self.state_total)
        each = np.repeat(weight, cell.shape[1])
        drawn = replace(
            self,
            n_draws=len(weight),
            log_unit=unit,
            total=float(weight.sum()),
            squares=float((weight**2).sum()),
            state_total=as_float(np.bincount(cell.ravel(), each, n_entries)),
            state_squares=as_float(np.bincount(cell.ravel(), each**2, n_entries)),
        )
        return self + drawn

    def __add__(self, other: ImportanceState) -> ImportanceState:
        """Return the sums over the draws of both."""
        unit = max(self.log_unit, other.log_unit)
        a, b = (
            float(np.exp(part.log_unit - unit)) if part.total else 0.0 for part in (self, other)
        )
        return replace(
            self,
            n_draws=self.n_draws + other.n_draws,
            log_unit=unit,
            total=self.total * a + other.total * b,
            squares=self.squares * a**2 + other.squares * b**2,
            state_total=self.state_total * a + other.state_total * b,
            state_squares=self.state_squares * a**2 + other.state_squares * b**2,
        )


@dataclass(frozen=True)
class ImportanceStep(WeightStep):
    """A block of draws.

    Attributes
    ----------
    n_updates
        Draws so far, times the variables of each.
    """

    n_updates: int


@dataclass(frozen=True)
class Updates(Stop):
    """So many single variables were drawn, or enough to see that weights leave nothing.

    Attributes
    ----------
    most
        Draws times variables after which a chain ends.
    """

    most: int

    def status(self, progress: Progress) -> Status | None:
        """Return whether all is drawn, or a single draw outweighs nearly all others."""
        n_updates = progress.reported("n_updates", self)
        worth = progress.reported("effective_draws", self)
        least = max(2.0, LEAST_SHARE * progress.reported("n_draws", self))
        if n_updates >= UPDATES_TO_JUDGE and 0.0 < worth < least:
            return Status.WORTHLESS
        return Status.MAX_DRAWS if n_updates >= self.most else None


@dataclass(frozen=True)
class TableImportance:
    """Draw until the largest standard error of a marginal is within the tolerance.

    Attributes
    ----------
    n_draws
        Most draws in all.
    block_size
        Draws per step; fewer in networks of thousands of variables.
    n_sweeps
        Most sweeps of messages before the first draw.
    tolerance
        Standard error at which enough has been drawn.
    max_updates
        Most draws times variables, which is what takes time. Where a single draw has nearly
        all weight after two millions of them, it is over sooner.

    Examples
    --------
    >>> from credo.inference.engine.engine import run
    >>> from credo.inference.discrete.factor_problem import table_of
    >>> pair = FactorProblem((2, 2), (table_of((0, 1), np.array([[4.0, 2.0], [3.0, 1.0]])),))
    >>> found = run(TableImportance(), pair, np.random.default_rng(0))
    >>> round(float(np.exp(found.log_evidence)), 6), found.effective_draws
    (10.0, 10000.0)
    """

    n_draws: int = 100_000
    block_size: int = 1000
    n_sweeps: int = 50
    tolerance: float = 0.005
    max_updates: int = 20_000_000

    name = "importance"
    title = "importance sampling guided by messages"
    answers = ("marginals", "total")
    is_random: ClassVar[bool] = True

    @property
    def stop(self) -> FirstOf:
        """The standard error is small enough, all draws are taken, or they are worthless."""
        return StandardError(self.tolerance, self.n_draws) | Updates(self.max_updates)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return values for laws to check; names of methods stand for the first."""
        return (cls(),)

    def init(self, problem: FactorProblem, rng: Generator) -> ImportanceState:
        """Return no draws, and the messages that will guide them."""
        flat = FlatProblem.of(problem)
        nothing = np.zeros(int(flat.net.state_start[-1]))
        message = flat.messages(self.n_sweeps)
        is_free = np.repeat(flat.net.n_states > 1, flat.net.n_states)
        sums = (0, float("-inf"), 0.0, 0.0, nothing, nothing)
        return ImportanceState(message, is_free, *sums)

    def step(
        self, problem: FactorProblem, state: ImportanceState, rng: Generator
    ) -> tuple[ImportanceState, ImportanceStep]:
        """Draw one more block; report the log partition and the largest standard error."""
        flat = FlatProblem.of(problem)
        n_variables = len(flat.net.n_states)
        n = max(1, min(self.block_size, MOST_STATES // max(n_variables, 1)))
        states, log_prob = guided_draws(flat.net, flat.order, state.log_message, n, rng)
        is_whole = log_prob > -np.inf
        log_weight = np.full(len(states), -np.inf)
        log_weight[is_whole] = log_densities(flat.net, states[is_whole]) - log_prob[is_whole]
        cell = states + flat.net.state_start[:-1]
        after = state.with_draws(log_weight, np.asarray(cell, dtype=np.intp))
        error = float(after.standard_error.max())
        log_partition = after.log_mean_weight + flat.log_scale
        n_updates = after.n_draws * n_variables
        sums = (after.n_draws, after.effective_draws, n_updates)
        return after, ImportanceStep(log_partition, error, *sums)

    def joined(
        self, problem: FactorProblem, states: Sequence[ImportanceState]
    ) -> ImportanceState:
        """Return the sums over the draws of several chains."""
        return reduce(add, states)

    def posterior(self, problem: FactorProblem, state: ImportanceState) -> Inference:
        """Return the marginals and the log partition.

        Raises
        ------
        ZeroWeights
            If every draw came to a dead end.
        """
        if not state.total:
            raise ZeroWeights(state.n_draws)
        flat, error = FlatProblem.of(problem), state.standard_error
        spread = max(state.n_draws / state.effective_draws - 1.0, 0.0)
        found = ImportanceMarginals(
            flat.per_variable(state.probability),
            standard_error=flat.per_variable(error),
            n_draws=state.n_draws,
            log_partition_error=float(np.sqrt(spread / max(state.n_draws - 1, 1))),
        )
        largest, worth = float(error.max()), state.effective_draws
        account = Account(self.title, False, largest, "largest standard error", worth)
        log_partition = state.log_mean_weight + flat.log_scale
        return Inference(found, log_partition, "importance", account=account)
