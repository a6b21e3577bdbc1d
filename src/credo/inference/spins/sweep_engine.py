"""Engines that sweep over spins: Gibbs sampling, mean field and iterated conditional modes.

Gibbs sampling draws all spins of one color at once; its means are Rao-Blackwellized:
conditional means given the neighbors are averaged, not draws. Mean field seeks the independent
spins that are nearest to coupled ones. By iterated conditional modes each spin takes its most
probable value given the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.random import Generator

from credo.inference.engine.engine import (
    Account,
    ConvergenceWarning,
    Drawn,
    Inference,
    Move,
    Settled,
)
from credo.inference.engine.sweep import (
    FEWEST_BLOCKS,
    GibbsState,
    GibbsStep,
    MeanFieldState,
    ModeState,
    require_damping,
)
from credo.inference.spins.problem import (
    IsingProblem,
    SpinAssignment,
    SpinChain,
    SpinMeans,
    small_problem,
)
from credo.inference.spins.sweep import Spins, random_spins
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.warning import warn_user

__all__ = ["IsingConditionalModes", "IsingGibbs", "IsingMeanField", "best_means", "spin_draws"]

DISAGREEMENT = 0.2
"""Typical standard error of means between -1 and 1 above which they tell little."""


@dataclass(frozen=True)
class IsingGibbs:
    """Draw spins in several chains and average what each would be given its neighbors.

    Attributes
    ----------
    n_chains
        Chains from different starts, at least two, so that their disagreement shows.
    n_draws
        Sweeps of each chain that count, rounded up to ten equal batches.
    burn_in
        Sweeps of each chain before those, rounded up to whole batches.

    The number of threads does not matter.
    """

    n_chains: int = 2
    n_draws: int = 500
    burn_in: int = 100

    name = "gibbs"
    title = "Gibbs sampling"
    answers = ("marginals", "draws")
    problem = IsingProblem
    is_random: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.n_chains < 2 or self.n_draws < FEWEST_BLOCKS or self.burn_in < 0:
            raise ValueError(
                f"n_chains must be at least 2, n_draws at least {FEWEST_BLOCKS} and burn_in "
                f"not negative; found {self.n_chains}, {self.n_draws} and {self.burn_in}. "
                "Draw more, or call `spin_draws` for a few draws of one chain."
            )

    @property
    def stop(self) -> Drawn:
        """All sweeps are taken."""
        return Drawn(self.n_draws, self.burn_in)

    @property
    def batch_size(self) -> int:
        """Sweeps per batch."""
        return -(-self.n_draws // FEWEST_BLOCKS)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return engines for the laws; the name of the method stands for the first."""
        engines = (cls(), cls(n_draws=50, burn_in=20))
        return tuple(Example(engine, problem=small_problem()) for engine in engines)

    def init(self, problem: IsingProblem, rng: Generator) -> GibbsState:
        """Return one chain with all spins up, one with all down, and others at random ones."""
        return GibbsState.start(problem, self.n_chains, rng)

    def step(
        self, problem: IsingProblem, state: GibbsState, rng: Generator
    ) -> tuple[GibbsState, GibbsStep]:
        """Take one batch of sweeps in every chain."""
        return state.moved(problem, self.batch_size, rng)

    def warmed(self, problem: IsingProblem, state: GibbsState) -> GibbsState:
        """Return the chains where they are, with no batch that counts."""
        return state.warmed()

    def joined(self, problem: IsingProblem, states: Sequence[GibbsState]) -> GibbsState:
        """Return the chains of several runs together."""
        return GibbsState.joined(states)

    def posterior(self, problem: IsingProblem, state: GibbsState) -> Inference:
        """Return means with standard errors, which chains that disagree make large."""
        mean, error = state.blocks.pooled, state.standard_error
        typical = float(np.sqrt(np.mean(error**2))) if len(error) else 0.0
        if typical > DISAGREEMENT:
            warn_user(
                "chains of spins must agree for their means to be relied on; found a typical "
                f"standard error of {typical:.2g}. Draw more, or use an exact method.",
                ConvergenceWarning,
            )
        account = state.account(problem, self.title, self.batch_size)
        return Inference(SpinMeans(mean, error), account=account)


def spin_draws(
    problem: IsingProblem,
    n: int,
    rng: Generator,
    burn_in: int = 200,
    n_between: int = 10,
) -> Spins:
    """Return draws of one chain, some sweeps apart, shape (n, n_spins)."""
    chain = SpinChain.start(problem, rng).moved(problem, burn_in)
    draws = np.empty((n, problem.n_spins), dtype=np.int8)
    for row in draws:
        chain = chain.moved(problem, n_between)
        row[:] = chain.spins(problem)
    return draws


# Starts at exactly 1 have no entropy, and a tie with others.
_NEARLY = 0.9


@dataclass(frozen=True)
class IsingMeanField:
    """Sweep ``mean_i = tanh(field_i + sum_j w_ij mean_j)`` until the means settle.

    Each update raises the bound over one mean as far as it goes, or with damping a part of the
    way there, so that no sweep lowers it.
    Several fixed points may exist: strong couplings without a field have one for each
    direction and a worse one between them. The best of a few starts is followed.

    Attributes
    ----------
    damping
        Share of the old mean that stays in each update, from 0 to below 1.
    tolerance
        Largest change of a mean below which they have settled.
    max_steps
        Sweeps after which it gives up, with a warning.
    start
        "best" follows the best of a few starts, as `best_means` does; "random" starts from
        random means.
    """

    damping: float = 0.0
    tolerance: float = 1e-6
    max_steps: int = 2000
    start: Literal["best", "random"] = "best"

    name = "mean_field"
    title = "mean field"
    answers = ("marginals", "bound")
    problem = IsingProblem

    def __post_init__(self) -> None:
        require_damping(self.damping)

    @property
    def is_random(self) -> bool:
        """Whether the start is random."""
        return self.start == "random"

    @property
    def stop(self) -> Settled:
        """Means have settled, or there were too many sweeps."""
        return Settled(self.tolerance, self.max_steps)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return engines for the laws; the name of the method stands for the first."""
        engines = (cls(), cls(start="random"))
        return tuple(Example(engine, problem=small_problem()) for engine in engines)

    def init(self, problem: IsingProblem, rng: Generator) -> MeanFieldState:
        """Return the means to start from."""
        if self.start == "best":
            mean = _best_start(problem)[0]
        else:
            mean = rng.uniform(-1.0, 1.0, problem.n_spins)
        return MeanFieldState.start(problem, mean[None])

    def step(
        self, problem: IsingProblem, state: MeanFieldState, rng: Generator
    ) -> tuple[MeanFieldState, Move]:
        """Take one sweep over all spins."""
        return state.moved(problem, self.damping)

    def joined(self, problem: IsingProblem, states: Sequence[MeanFieldState]) -> MeanFieldState:
        """Return the starts of several chains together."""
        return MeanFieldState.joined(states)

    def posterior(self, problem: IsingProblem, state: MeanFieldState) -> Inference:
        """Return the means of the start with the best bound, and that bound."""
        mean, bound = state.best
        account = Account(self.title, False, state.change, "largest change of a mean")
        return Inference(SpinMeans(mean), bound, "bound", account=account)


def best_means(problem: IsingProblem, n_sweeps: int = 30) -> Array:
    """Return the means of largest bound after some sweeps from a few starts.

    Those are spins without neighbors, all up, all down, and a local optimum of the density.

    Examples
    --------
    >>> from credo.inference.spins.sweep import SpinGraph
    >>> pair = SpinGraph(np.array([[0, 1]]), np.array([2.0]), np.zeros(2))
    >>> best_means(IsingProblem(pair)).round(2)
    array([0.96, 0.96])
    """
    return _best_start(problem, n_sweeps)[1]


def _best_start(problem: IsingProblem, n_sweeps: int = 30) -> tuple[Array, Array]:
    """Return the start whose means have the largest bound after some sweeps, and these."""
    graph = problem.graph
    local = np.where(graph.field < 0, -1, 1).astype(np.int8)
    for _ in range(n_sweeps):
        if not graph.modes(local):
            break
    full = np.full(problem.n_spins, _NEARLY)
    starts = [np.tanh(graph.field), full, -full, _NEARLY * local.astype(np.float64)]
    means = [start.copy() for start in starts]
    for mean in means:
        for _ in range(n_sweeps):
            graph.mean_field(mean)
    best = int(np.argmax([problem.bound(mean) for mean in means]))
    return starts[best], means[best]


@dataclass(frozen=True)
class IsingConditionalModes:
    """Sweep over the spins until none changes [besag1986]_.

    The density never falls, and where it stops no single spin could raise it: a local
    optimum, which depends on the start.

    Attributes
    ----------
    start
        "field" starts from the signs of the fields, "random" from random spins.
    max_steps
        Sweeps after which it gives up, with a warning.
    """

    start: Literal["field", "random"] = "field"
    max_steps: int = 1000

    name = "conditional_modes"
    other_names = ("icm",)
    title = "iterated conditional modes"
    answers = ("mode",)
    problem = IsingProblem

    @property
    def is_random(self) -> bool:
        """Whether the start is random."""
        return self.start == "random"

    @property
    def stop(self) -> Settled:
        """No spin changed, or there were too many sweeps."""
        return Settled(0.0, self.max_steps)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return engines for the laws; the name of the method stands for the first."""
        engines = (cls(), cls("random"))
        return tuple(Example(engine, problem=small_problem()) for engine in engines)

    def init(self, problem: IsingProblem, rng: Generator) -> ModeState:
        """Return the spins to start from."""
        if self.start == "field":
            spins = np.where(problem.graph.field < 0, -1, 1).astype(np.int8)
        else:
            spins = random_spins(problem.n_spins, rng)
        return ModeState.start(problem, spins[None])

    def step(
        self, problem: IsingProblem, state: ModeState, rng: Generator
    ) -> tuple[ModeState, Move]:
        """Take one sweep; report the log density and the number of changes."""
        return state.moved(problem)

    def joined(self, problem: IsingProblem, states: Sequence[ModeState]) -> ModeState:
        """Return the starts of several chains together."""
        return ModeState.joined(states)

    def posterior(self, problem: IsingProblem, state: ModeState) -> Inference:
        """Return the spins and their log density; there is no evidence."""
        account = Account(self.title, False, float("nan"), "unknown")
        return Inference(SpinAssignment(*state.best), account=account)
