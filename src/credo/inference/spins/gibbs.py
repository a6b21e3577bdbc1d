"""Gibbs sampling of spins, all of one color at once.

Means are Rao-Blackwellized: conditional means given the neighbors are averaged, not draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from credo.inference.engine.engine import ConvergenceWarning, Drawn, Inference
from credo.inference.engine.sweep import FEWEST_BLOCKS, GibbsState, GibbsStep
from credo.inference.spins.problem import IsingProblem, SpinChain, SpinMeans, small_problem
from credo.inference.spins.sweep import Spins
from credo.numerics.example import Example
from credo.numerics.warning import warn_user

__all__ = ["IsingGibbs", "spin_draws"]

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
