"""Gibbs sampling in a network: one variable at a time, drawn given its Markov blanket.

Each update leaves the target as it is [geman1984]_. Chains start in different joint states of
positive density. Marginals are Rao-Blackwellized: conditional probabilities are averaged rather
than draws. Averages are kept in blocks, whose spread within and between chains gives the
Monte Carlo standard error without assuming that successive draws are independent.

Zeros can part the joint states into islands that no change of one variable connects, so that
the chain is reducible; a chain then answers for its own island only. That is proved or
disproved where all joint states can be listed, and otherwise suspected where variables never
could move; either way it is said.

Joint draws come from the same chains, for networks that are too large for exact ones.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from credo.inference.discrete.approximate.flat_problem import FlatProblem, NoPossibleState
from credo.inference.discrete.factor_problem import FactorProblem, TableMarginals
from credo.inference.discrete.loops.flat_tables import FlatTables, log_densities
from credo.inference.discrete.loops.messages import beliefs
from credo.inference.discrete.loops.states import conditional_probability, gibbs_sweeps
from credo.inference.engine.block_means import BlockMeans
from credo.inference.engine.engine import Account, Inference, StandardError, Step
from credo.inference.engine.findings import MISSING, Findings
from credo.numerics.array import Array
from credo.numerics.form import Form
from credo.numerics.warning import warn_user

__all__ = [
    "GibbsMarginals",
    "GibbsState",
    "GibbsStep",
    "ReducibleChainWarning",
    "TableGibbs",
    "gibbs_draws",
    "gibbs_draws_given",
    "is_connected",
]


_MOST_STATES = 1 << 14


def is_connected(net: FlatTables) -> bool | None:
    """Return whether changing one variable at a time can reach every possible joint state.

    If not, a Gibbs chain sees only the part it starts in.

    Returns
    -------
    is_connected
        True without impossible cells. Otherwise found by listing all joint states, and None
        where those are too many.

    Examples
    --------
    >>> from credo.inference.discrete.loops.flat_tables import flat_tables
    >>> is_connected(flat_tables([2, 2], [(0, 1)], [np.eye(2)]))
    False
    """
    if not net.has_zeros:
        return True
    if float(np.log2(net.n_states.astype(float)).sum()) > np.log2(_MOST_STATES):
        return None
    shape = tuple(net.n_states.tolist())
    states = np.indices(shape).reshape(len(shape), -1).T
    possible = states[np.isfinite(log_densities(net, states))]
    return _n_parts(possible, shape) <= 1


def _n_parts(possible: NDArray[np.intp], shape: tuple[int, ...]) -> int:
    """Return the number of connected parts; neighbors agree in all variables but one."""
    links = [_links(possible, shape, i) for i in range(len(shape))]
    start, stop = (np.concatenate(ends) for ends in zip(*links, strict=True))
    n = len(possible)
    graph = sparse.coo_array((np.ones(len(start)), (start, stop)), shape=(n, n))
    return int(csgraph.connected_components(graph, directed=False)[0])


def _links(
    possible: NDArray[np.intp], shape: tuple[int, ...], i: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return chains of joint states that differ in variable ``i`` only."""
    rest = possible.copy()
    rest[:, i] = 0
    key = np.ravel_multi_index(tuple(rest.T), shape)
    order = np.argsort(key, kind="stable")
    is_same = key[order[1:]] == key[order[:-1]]
    return order[:-1][is_same], order[1:][is_same]


N_BLOCKS = 40
FEWEST_BLOCKS = 10
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


@dataclass(frozen=True, eq=False)
class GibbsState:
    """Where the chains are, and the block means of their draws so far.

    Attributes
    ----------
    states
        Joint state of each chain, shape (n_chains, n_variables).
    blocks
        Block means of the probability of each state of every variable, one row per chain.
    is_connected
        Whether every possible joint state can be reached; None if that is not known.
    """

    states: Annotated[NDArray[np.intp], Form("c v", 0)]
    blocks: BlockMeans
    is_connected: bool | None

    @property
    def standard_error(self) -> Array:
        """Standard error of each probability; infinite while there are few blocks."""
        if self.blocks.n_blocks < FEWEST_BLOCKS:
            return np.full(self.blocks.mean.shape[1], np.inf)
        return self.blocks.standard_error

    @property
    def r_hat(self) -> float:
        """Largest potential scale reduction [gelman1992]_; NaN for a single chain.

        Infinite if chains stand still in different states.
        """
        if len(self.states) == 1:
            return float("nan")
        mean, between = self.blocks.mean, self.blocks.between
        within = (mean * (1 - mean)).mean(axis=0)
        # Means of chains that stand still are exact; rounding must not look like movement.
        ratio = np.full_like(within, np.inf)
        np.divide(between, within, out=ratio, where=within > 1e-12)
        return float(np.sqrt(1 + np.where(between > 1e-12, ratio, 0.0).max()))


@dataclass(frozen=True)
class GibbsStep(Step):
    """A block of sweeps.

    Attributes
    ----------
    standard_error
        Largest standard error of a mean; infinite while there are few blocks.
    n_draws
        Sweeps of each chain that count so far.
    """

    standard_error: float
    n_draws: int


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
        Sweeps of each chain that are forgotten.
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
        return StandardError(self.tolerance, self.n_draws)

    @property
    def block_size(self) -> int:
        """Sweeps per block."""
        return -(-self.n_draws // N_BLOCKS)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return values for laws to check; names of methods stand for the first."""
        return (cls(), cls(scan="random"))

    def init(self, problem: FactorProblem, rng: Generator) -> GibbsState:
        """Return the chains after their burn-in, from random possible starts."""
        flat = FlatProblem.of(problem)
        states = flat.starts(self.n_chains, rng)
        if self.burn_in:
            states, _ = gibbs_sweeps(flat.net, states, self.burn_in, self._is_random, rng)
        blocks = BlockMeans.empty((self.n_chains, int(flat.net.state_start[-1])))
        return GibbsState(states, blocks, is_connected(flat.net))

    def step(
        self, problem: FactorProblem, state: GibbsState, rng: Generator
    ) -> tuple[GibbsState, GibbsStep]:
        """Draw one block; report the mean log density and the largest standard error."""
        flat = FlatProblem.of(problem)
        states, block = gibbs_sweeps(
            flat.net, state.states, self.block_size, self._is_random, rng
        )
        after = replace(state, states=states, blocks=state.blocks.with_block(block))
        log_density = float(log_densities(flat.net, states).mean()) + flat.log_scale
        n_draws = after.blocks.n_blocks * self.block_size
        return after, GibbsStep(log_density, float(after.standard_error.max()), n_draws)

    def posterior(self, problem: FactorProblem, state: GibbsState) -> Inference:
        """Return the marginals; the error is infinite if chains cannot reach everything.

        Warns
        -----
        ReducibleChainWarning
            If there are joint states that no chain from elsewhere can reach, or it looks so.
        """
        flat = FlatProblem.of(problem)
        frozen = _frozen(flat, state)
        is_parted = state.is_connected is False or bool(frozen)
        if is_parted:
            _warn(state, frozen)
        error = state.standard_error
        mean = state.blocks.mean.mean(axis=0)
        n_draws = state.blocks.n_blocks * self.block_size * len(state.states)
        found = GibbsMarginals(
            flat.per_variable(mean),
            standard_error=flat.per_variable(error),
            r_hat=state.r_hat,
            n_draws=n_draws,
            is_connected=state.is_connected,
            frozen=frozen,
        )
        largest = float("inf") if is_parted else float(error.max())
        effective = _effective_draws(mean, error, n_draws)
        account = Account(self.title, False, largest, "largest standard error", effective)
        return Inference(found, account=account)

    @property
    def _is_random(self) -> bool:
        return self.scan == "random"


def _effective_draws(mean: Array, error: Array, n_draws: int) -> float:
    """Return the fewest independent draws with these errors; a certain state tells nothing."""
    draws = np.full_like(mean, float(n_draws))
    np.divide(mean * (1 - mean), error**2, out=draws, where=error > 0)
    return float(draws.min())


def _frozen(flat: FlatProblem, state: GibbsState) -> tuple[int, ...]:
    """Return the variables that never could move although another state looks likely."""
    if state.is_connected:
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


def _warn(state: GibbsState, frozen: tuple[int, ...]) -> None:
    shown = f"{list(frozen[:10])}{', ...' if len(frozen) > 10 else ''}"
    found = (
        "joint states that single changes do not connect"
        if state.is_connected is False
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
    states, _ = gibbs_sweeps(flat.net, states, BURN_IN, False, rng)
    found = [states]
    while len(found) * len(states) < n:
        states, _ = gibbs_sweeps(flat.net, states, SWEEPS_BETWEEN, False, rng)
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
