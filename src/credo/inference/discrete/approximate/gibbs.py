"""Sweeps over the variables of a network: Gibbs sampling, and iterated conditional modes.

Gibbs sampling draws one variable at a time given its Markov blanket.

Each update leaves the target as it is [geman1984]_. Chains start in different joint states of
positive density. Marginals are Rao-Blackwellized: conditional probabilities are averaged rather
than draws. Averages are kept in blocks, whose spread within and between chains gives the
Monte Carlo standard error without assuming that successive draws are independent.

Zeros can part the joint states into islands that no change of one variable connects, so that
the chain is reducible; a chain then answers for its own island only. That is proved or
disproved where all joint states can be listed, and otherwise suspected where variables never
could move; either way it is said.

Joint draws come from the same chains, for networks that are too large for exact ones.

Iterated conditional modes: each variable takes its likeliest state until none would move. The
density never falls, so it ends, in a state that no change of one variable improves
[besag1986]_. That may be far from the mode; several starts are improved side by side and the
best is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.inference.discrete.approximate.flat_problem import FlatProblem, NoPossibleState
from credo.inference.discrete.factor_problem import Assignment, FactorProblem, TableMarginals
from credo.inference.discrete.loops.messages import beliefs
from credo.inference.discrete.loops.states import conditional_probability
from credo.inference.engine.engine import (
    Account,
    Inference,
    Move,
    Settled,
    StandardError,
)
from credo.inference.engine.findings import MISSING, Findings
from credo.inference.engine.sweep import FEWEST_BLOCKS, GibbsState, GibbsStep, ModeState
from credo.numerics.array import Array
from credo.numerics.warning import warn_user

__all__ = [
    "GibbsMarginals",
    "IteratedConditionalModes",
    "ReducibleChainWarning",
    "TableGibbs",
    "gibbs_draws",
    "gibbs_draws_given",
]


N_BLOCKS = 40
# A variable that stands still is suspect if another of its states is at least this likely.
LIKELY = 1e-4


class ReducibleChainWarning(UserWarning):
    """Gibbs chains cannot reach all possible joint states."""


@dataclass(frozen=True, eq=False)
class GibbsMarginals(TableMarginals):
    """Marginals from Gibbs draws, with what is known about their error.

    Attributes
    ----------
    standard_error
        Monte Carlo standard error of each probability, one vector per variable.
    r_hat
        Largest ratio, over all states, of the spread of a draw of any chain to that within one
        chain; near one if the chains agree, NaN for a single chain.
    n_draws
        Sweeps kept, of all chains together.
    is_connected
        Whether every possible joint state can be reached; None if that is not known.
    frozen
        Variables that never could move, although more than one of their states looks likely.
    """

    standard_error: tuple[Array, ...] = ()
    r_hat: float = float("nan")
    n_draws: int = 0
    is_connected: bool | None = None
    frozen: tuple[int, ...] = ()


@dataclass(frozen=True)
class TableGibbs:
    """Draw until the largest standard error of a marginal is within the tolerance.

    Attributes
    ----------
    n_chains
        Chains, each from a start of its own.
    n_draws
        Most sweeps to keep per chain.
    burn_in
        Sweeps of each chain that are forgotten, rounded up to whole blocks.
    scan
        "systematic": the variables take turns, and conditional probabilities are averaged;
        "random": each update picks its variable at random, and states are averaged.
    tolerance
        Standard error at which enough has been drawn.

    Examples
    --------
    >>> from credo.inference.engine.engine import run
    >>> from credo.inference.discrete.factor_problem import table_of
    >>> pair = FactorProblem((2, 2), (table_of((0, 1), np.array([[0.4, 0.2], [0.3, 0.1]])),))
    >>> found = run(TableGibbs(tolerance=0.01), pair, np.random.default_rng(0))
    >>> bool(abs(found.posterior.probability[0][0] - 0.6) < 4 * found.error)
    True
    """

    n_chains: int = 4
    n_draws: int = 4000
    burn_in: int = 200
    scan: Literal["systematic", "random"] = "systematic"
    tolerance: float = 0.01

    name = "gibbs"
    title = "Gibbs sampling"
    answers = ("marginals",)
    is_random: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.n_chains < 1 or self.n_draws < FEWEST_BLOCKS or self.burn_in < 0:
            raise ValueError(
                f"n_chains must be at least 1, n_draws at least {FEWEST_BLOCKS} and burn_in at "
                f"least 0; found {self.n_chains}, {self.n_draws} and {self.burn_in}. Blocks of "
                "draws give the error."
            )
        if self.scan not in ("systematic", "random"):
            raise ValueError(
                f"scan must be 'systematic' or 'random'; found {self.scan!r}. Use 'systematic' "
                "unless you need reversible chains."
            )

    @property
    def stop(self) -> StandardError:
        """The standard error is small enough, or all draws are taken."""
        return StandardError(self.tolerance, self.n_draws, self.burn_in)

    @property
    def block_size(self) -> int:
        """Sweeps per block."""
        return -(-self.n_draws // N_BLOCKS)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return values for laws to check; names of methods stand for the first."""
        return (cls(), cls(scan="random"))

    def init(self, problem: FactorProblem, rng: Generator) -> GibbsState:
        """Return chains at random possible starts."""
        return GibbsState.start(self._sweeps(problem), self.n_chains, rng)

    def step(
        self, problem: FactorProblem, state: GibbsState, rng: Generator
    ) -> tuple[GibbsState, GibbsStep]:
        """Draw one block; report the mean log density and the largest standard error."""
        return state.moved(self._sweeps(problem), self.block_size, rng)

    def warmed(self, problem: FactorProblem, state: GibbsState) -> GibbsState:
        """Return the chains where they are, with no block that counts."""
        return state.warmed()

    def joined(self, problem: FactorProblem, states: Sequence[GibbsState]) -> GibbsState:
        """Return the chains of several runs together."""
        return GibbsState.joined(states)

    def posterior(self, problem: FactorProblem, state: GibbsState) -> Inference:
        """Return the marginals; the error is infinite if chains cannot reach everything.

        Warns
        -----
        ReducibleChainWarning
            If there are joint states that no chain from elsewhere can reach, or it looks so.
        """
        flat = FlatProblem.of(problem)
        frozen = _frozen(flat, state)
        account = state.account(flat, self.title, self.block_size)
        if flat.is_connected is False or frozen:
            _warn(flat, frozen)
            account = replace(account, error=float("inf"))
        found = GibbsMarginals(
            flat.per_variable(state.blocks.pooled),
            standard_error=flat.per_variable(state.standard_error),
            r_hat=state.r_hat(flat),
            n_draws=int(state.blocks.n_blocks.sum()) * self.block_size,
            is_connected=flat.is_connected,
            frozen=frozen,
        )
        return Inference(found, account=account)

    def _sweeps(self, problem: FactorProblem) -> FlatProblem:
        return replace(FlatProblem.of(problem), is_random_scan=self.scan == "random")


def _frozen(flat: FlatProblem, state: GibbsState) -> tuple[int, ...]:
    """Return the variables that never could move although another state looks likely."""
    if flat.is_connected:
        return ()
    mean = state.blocks.mean
    is_certain = ((mean < 1e-12) | (mean > 1 - 1e-12)).all(axis=0)
    is_still = np.logical_and.reduceat(is_certain, flat.net.state_start[:-1])
    may_be = (beliefs(flat.net, flat.messages()) > LIKELY) | (mean.max(axis=0) > LIKELY)
    n_likely = np.add.reduceat(may_be.astype(np.intp), flat.net.state_start[:-1])
    still = np.flatnonzero(is_still & (n_likely > 1)).tolist()
    return tuple(i for i in still if _is_held(flat, state, i))


def _is_held(flat: FlatProblem, state: GibbsState, variable: int) -> bool:
    """Return whether in every chain the others leave a variable only the state it is in.

    A state that is merely unlikely is never drawn either, but can be.
    """
    return all(
        np.count_nonzero(conditional_probability(flat.net, variable, row)) == 1
        for row in state.states
    )


def _warn(flat: FlatProblem, frozen: tuple[int, ...]) -> None:
    shown = f"{list(frozen[:10])}{', ...' if len(frozen) > 10 else ''}"
    found = (
        "joint states that single changes do not connect"
        if flat.is_connected is False
        else f"variables {shown} that never could move"
    )
    warn_user(
        "Gibbs chains must be able to reach every possible joint state by changing one "
        f"variable at a time; found {found}. Use an exact engine or importance sampling, or "
        "remove deterministic relations.",
        ReducibleChainWarning,
    )


N_CHAINS = 8
BURN_IN = 200
SWEEPS_BETWEEN = 10


def gibbs_draws(problem: FactorProblem, n: int, rng: Generator) -> NDArray[np.intp]:
    """Return ``n`` joint states, shape (n, n_variables), from a few chains in turn.

    Chains start apart and forget their first sweeps; between draws of one chain lie several
    sweeps, so that neighbors are nearly independent unless the chain mixes slowly.

    Examples
    --------
    >>> from credo.inference.discrete.factor_problem import table_of
    >>> pair = FactorProblem((2, 2), (table_of((0, 1), np.array([[4.0, 1.0], [1.0, 4.0]])),))
    >>> draws = gibbs_draws(pair, 2000, np.random.default_rng(0))
    >>> round(float(np.mean(draws[:, 0] == draws[:, 1])), 1)
    0.8
    """
    flat = FlatProblem.of(problem)
    states = flat.starts(min(max(n, 1), N_CHAINS), rng)
    states, _ = flat.draw_sweeps(states, BURN_IN, rng)
    found = [states]
    while len(found) * len(states) < n:
        states, _ = flat.draw_sweeps(states, SWEEPS_BETWEEN, rng)
        found.append(states)
    return np.concatenate(found)[:n]


def gibbs_draws_given(
    problem: FactorProblem, findings: Findings[int], n: int, rng: Generator
) -> NDArray[np.intp]:
    """Return ``n`` joint states for each row of findings, (n_rows, n, n_variables).

    They are -1 in rows that are impossible.
    """
    shape = (findings.n_rows, n, len(problem.n_states))
    found = np.full(shape, MISSING, dtype=np.intp)
    for row in range(findings.n_rows):
        known = {i: int(c[row]) for i, c in findings.codes.items() if c[row] != MISSING}
        likelihood = {i: table[:, row] for i, table in findings.likelihood.items()}
        with suppress(NoPossibleState):
            found[row] = gibbs_draws(problem.weighted(likelihood).given(known), n, rng)
            found[row][:, list(known)] = list(known.values())
    return found


@dataclass(frozen=True)
class IteratedConditionalModes:
    """Sweep over the variables until a sweep changes nothing.

    Attributes
    ----------
    n_starts
        Random starts, of positive density.
    tolerance
        Number of changes in a sweep at which it has settled.
    max_steps
        Sweeps after which it gives up.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.inference.engine.engine import run
    >>> from credo.inference.discrete.factor_problem import table_of
    >>> pair = FactorProblem((2, 2), (table_of((0, 1), np.array([[0.4, 0.2], [0.3, 0.1]])),))
    >>> run(IteratedConditionalModes(), pair, np.random.default_rng(0)).posterior.states
    array([0, 0])
    """

    n_starts: int = 10
    tolerance: float = 0.0
    max_steps: int = 1000

    name = "conditional_modes"
    other_names = ("icm",)
    title = "iterated conditional modes"
    answers = ("mode",)
    is_random: ClassVar[bool] = True

    @property
    def stop(self) -> Settled:
        """No variable would move, or there were too many sweeps."""
        return Settled(self.tolerance, self.max_steps)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return values for laws to check; names of methods stand for the first."""
        return (cls(),)

    def init(self, problem: FactorProblem, rng: Generator) -> ModeState:
        """Return random joint states."""
        flat = FlatProblem.of(problem)
        return ModeState.start(flat, flat.starts(self.n_starts, rng))

    def step(
        self, problem: FactorProblem, state: ModeState, rng: Generator
    ) -> tuple[ModeState, Move]:
        """Let every variable of every start move once; report how many did."""
        return state.moved(FlatProblem.of(problem))

    def joined(self, problem: FactorProblem, states: Sequence[ModeState]) -> ModeState:
        """Return the starts of several chains together."""
        return ModeState.joined(states)

    def posterior(self, problem: FactorProblem, state: ModeState) -> Inference:
        """Return the densest joint state found."""
        account = Account(self.title, False, float("nan"), "unknown")
        return Inference(Assignment(*state.best), account=account)
