"""Gibbs sampling of spins, all of one color at once.

Means are Rao-Blackwellized: conditional means given the neighbors are averaged, not draws.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator

from credo.inference.engine.block_means import BlockMeans
from credo.inference.engine.engine import Account, ConvergenceWarning, Drawn, Inference, Step
from credo.inference.spins.problem import IsingProblem, SpinMeans, small_problem
from credo.inference.spins.sweep import Spins, random_seed, random_spins
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.form import Form
from credo.numerics.warning import warn_user

__all__ = ["IsingGibbs", "SpinChain", "SpinGibbsState", "SpinStep", "spin_draws"]

_BATCHES = 10

DISAGREEMENT = 0.2
"""Typical standard error of means between -1 and 1 above which they tell little."""


@dataclass(frozen=True, eq=False)
class SpinChain:
    """Where a chain is, and which random numbers come next.

    Attributes
    ----------
    spin
        Spins in the form of the loops that draw them: packed by color for a grid.
    seed, sweep
        Name of the random sequence, and how many sweeps have used it.
    """

    spin: Annotated[Spins, Form("...", -1, 1)]
    seed: int
    sweep: int = 0

    @classmethod
    def start(
        cls, problem: IsingProblem, rng: np.random.Generator, spins: Spins | None = None
    ) -> SpinChain:
        """Return a chain at given spins, or at fair random ones."""
        spin = random_spins(problem.n_spins, rng) if spins is None else spins
        if problem.grid is not None:
            spin = problem.grid.pack(spin.reshape(problem.grid.field.shape))
        return cls(spin, random_seed(rng))

    def spins(self, problem: IsingProblem) -> Spins:
        """Return the spins in the order of the problem, shape (n_spins,)."""
        return self.spin if problem.grid is None else problem.grid.unpack(self.spin).ravel()

    def moved(self, problem: IsingProblem, n_sweeps: int) -> SpinChain:
        """Return the chain after some sweeps."""
        spin = self.spin.copy()
        if problem.grid is not None:
            problem.grid.draw(spin, self.seed, self.sweep, n_sweeps)
        else:
            for sweep in range(self.sweep, self.sweep + n_sweeps):
                problem.graph.draw(spin, self.seed, sweep)
        return SpinChain(spin, self.seed, self.sweep + n_sweeps)

    def averaged(self, problem: IsingProblem, n_sweeps: int) -> tuple[SpinChain, Array]:
        """Return the chain after some sweeps, and the average of the conditional means.

        The mean of a spin given its neighbors has the expectation of the spin itself and
        less variance.
        """
        spin = self.spin.copy()
        after = SpinChain(spin, self.seed, self.sweep + n_sweeps)
        if problem.grid is not None:
            packed = problem.grid.empty_total()
            problem.grid.draw(spin, self.seed, self.sweep, n_sweeps, packed)
            return after, problem.grid.mean_total(packed).ravel() / n_sweeps
        total = np.zeros(problem.n_spins)
        for sweep in range(self.sweep, self.sweep + n_sweeps):
            problem.graph.draw(spin, self.seed, sweep, total)
        return after, total / n_sweeps


@dataclass(frozen=True, eq=False)
class SpinGibbsState:
    """Chains, and the averages of the batches that count."""

    chains: tuple[SpinChain, ...]
    batches: BlockMeans


@dataclass(frozen=True)
class SpinStep(Step):
    """A batch of sweeps.

    Attributes
    ----------
    standard_error
        Largest standard error of a mean; infinite with a single batch.
    n_draws
        Sweeps of each chain so far, of the burn-in or of those that count.
    """

    standard_error: float
    n_draws: int


@dataclass(frozen=True)
class IsingGibbs:
    """Draw spins in several chains and average what each would be given its neighbors.

    Attributes
    ----------
    n_chains
        Chains from different starts, at least two, so that their disagreement shows.
    n_draws
        Sweeps of each chain that count, in ten batches.
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
        if self.n_chains < 2 or self.n_draws < _BATCHES or self.burn_in < 0:
            raise ValueError(
                f"n_chains must be at least 2, n_draws at least {_BATCHES} and burn_in not "
                f"negative; found {self.n_chains}, {self.n_draws} and {self.burn_in}. "
                "Draw more, or call `spin_draws` for a few draws of one chain."
            )

    @property
    def stop(self) -> Drawn:
        """All sweeps are taken."""
        return Drawn(self.n_draws, self.burn_in)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return engines for the laws; the name of the method stands for the first."""
        engines = (cls(), cls(n_draws=50, burn_in=20))
        return tuple(Example(engine, problem=small_problem()) for engine in engines)

    def init(self, problem: IsingProblem, rng: Generator) -> SpinGibbsState:
        """Return one chain with all spins up, one with all down, and others at random ones.

        Where couplings are strong a chain keeps the side it starts on: chains that start on
        both sides show by their disagreement what none of them can see.
        """
        up = np.ones(problem.n_spins, dtype=np.int8)
        starts = [up, -up, *[None] * (self.n_chains - 2)]
        pairs = zip(rng.spawn(self.n_chains), starts, strict=True)
        chains = tuple(SpinChain.start(problem, part, spins) for part, spins in pairs)
        return SpinGibbsState(chains, self._nothing(problem))

    def step(
        self, problem: IsingProblem, state: SpinGibbsState, rng: Generator
    ) -> tuple[SpinGibbsState, SpinStep]:
        """Take one batch of sweeps in every chain."""
        n_batches = state.batches.n_blocks
        done = np.arange(n_batches, n_batches + 2) * self.n_draws // _BATCHES
        chains = [replace(chain, seed=random_seed(rng), sweep=0) for chain in state.chains]
        moved = [chain.averaged(problem, int(done[1] - done[0])) for chain in chains]
        batches = state.batches.with_block(np.stack([mean for _, mean in moved]))
        after = SpinGibbsState(tuple(chain for chain, _ in moved), batches)
        level = np.mean([problem.log_density(c.spins(problem)) for c in after.chains])
        error = float(batches.standard_error.max(initial=0.0))
        return after, SpinStep(float(level), error, int(done[1]))

    def warmed(self, problem: IsingProblem, state: SpinGibbsState) -> SpinGibbsState:
        """Return the chains where they are, with no batch that counts."""
        return replace(state, batches=self._nothing(problem))

    def posterior(self, problem: IsingProblem, state: SpinGibbsState) -> Inference:
        """Return means with standard errors, which chains that disagree make large."""
        mean, error = state.batches.mean.mean(axis=0), state.batches.standard_error
        largest = float(error.max(initial=0.0))
        typical = float(np.sqrt(np.mean(error**2))) if len(error) else 0.0
        if typical > DISAGREEMENT:
            warn_user(
                "chains of spins must agree for their means to be relied on; found a typical "
                f"standard error of {typical:.2g}. Draw more, or use an exact method.",
                ConvergenceWarning,
            )
        effective = _effective_draws(mean, error, self.n_chains * self.n_draws)
        account = Account(self.title, False, largest, "largest standard error", effective)
        return Inference(SpinMeans(mean, error), account=account)

    def _nothing(self, problem: IsingProblem) -> BlockMeans:
        return BlockMeans.empty((self.n_chains, problem.n_spins))


def _effective_draws(mean: Array, error: Array, n_draws: int) -> float:
    """Return the fewest independent draws of a spin with these errors, at most all of them."""
    draws = np.full_like(mean, float(n_draws))
    np.divide(1.0 - mean**2, error**2, out=draws, where=error > 0)
    return float(np.minimum(draws, n_draws).min(initial=float(n_draws)))


def spin_draws(
    problem: IsingProblem,
    n: int,
    rng: np.random.Generator,
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
