"""States of engines that sweep over variables: Gibbs sampling, mean field, conditional modes.

They see a `SweepProblem` and nothing else, so that tables and spins share them. An engine adds
its settings, where it starts, and the form of its answer. The standard error of averages of
Markov chains comes from the means of successive blocks of sweeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.inference.engine.engine import Account, Move, Step
from credo.inference.engine.problem import SweepProblem
from credo.numerics.array import Array
from credo.numerics.form import Form

__all__ = [
    "FEWEST_BLOCKS",
    "BlockMeans",
    "GibbsState",
    "GibbsStep",
    "MeanFieldState",
    "ModeState",
    "require_damping",
]

# The spread of the means of a few chains is itself rough; only a spread that chance does not
# explain replaces the estimate from blocks.
SUSPICIOUS_SPREAD = 4.0


@dataclass(frozen=True, eq=False)
class BlockMeans:
    """Moments of the block means of some chains; nothing grows with the number of blocks.

    Attributes
    ----------
    n_blocks
        Blocks of each chain so far, shape (n_chains,).
    mean, scatter
        Mean of the blocks of each chain and sum of squares about it, shape (n_chains, ...).
    first, last
        First and last block.
    products
        Sum of the products of successive blocks, each less the first one.

    Examples
    --------
    >>> blocks = BlockMeans.empty((1, 1))
    >>> for value in (0.0, 1.0, 0.0, 1.0):
    ...     blocks = blocks.with_block(np.array([[value]]))
    >>> float(blocks.pooled[0]), round(float(blocks.standard_error[0]), 4)
    (0.5, 0.2887)
    """

    n_blocks: Annotated[NDArray[np.intp], Form("c", 0)]
    mean: Annotated[Array, Form("...")]
    scatter: Annotated[Array, Form("...")]
    first: Annotated[Array, Form("...")]
    last: Annotated[Array, Form("...")]
    products: Annotated[Array, Form("...")]

    @classmethod
    def empty(cls, shape: tuple[int, ...]) -> Self:
        """Return no blocks."""
        nothing = np.zeros(shape)
        n_blocks = np.zeros(shape[0], dtype=np.intp)
        return cls(n_blocks, nothing, nothing, nothing, nothing, nothing)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the chains of several side by side, of any numbers of blocks."""
        names = [part.name for part in fields(cls)]
        return cls(*(np.concatenate([getattr(p, name) for p in parts]) for name in names))

    def with_block(self, block: Array) -> Self:
        """Return the moments with one more block per chain [welford1962]_."""
        before = self._n
        shift = block - self.mean
        mean = self.mean + shift / (before + 1)
        first = np.where(before > 0, self.first, block)
        last = np.where(before > 0, self.last, block)
        scatter = self.scatter + shift * (block - mean)
        products = self.products + (last - first) * (block - first)
        return type(self)(self.n_blocks + 1, mean, scatter, first, block, products)

    @property
    def pooled(self) -> Array:
        """Mean of all blocks of all chains."""
        return np.asarray((self._share * self.mean).sum(axis=0))

    @property
    def within(self) -> Array:
        """Variance of the mean of a chain of average length, as the blocks of all tell.

        The covariance of neighboring blocks counts where it is positive, which makes up for
        blocks that are short for the memory of the chain.
        """
        n, mean = self._n, self.mean - self.first
        inner = 2 * n * mean - (self.last - self.first)
        lagged = self.products - mean * inner + (n - 1) * mean**2
        n_pairs = np.maximum(self.n_blocks - 1, 0).sum()
        variance, lagged = self.scatter.sum(axis=0) / n_pairs, lagged.sum(axis=0) / n_pairs
        return np.asarray((variance + 2 * np.maximum(lagged, 0.0)) / self.n_blocks.mean())

    @property
    def between(self) -> Array:
        """Variance of the means of the chains; zero for a single chain."""
        n_chains = len(self.mean)
        if n_chains == 1:
            return np.zeros(self.mean.shape[1:])
        spread = (self._share * (self.mean - self.pooled) ** 2).sum(axis=0)
        return np.asarray(spread * n_chains / (n_chains - 1))

    @property
    def standard_error(self) -> Array:
        """Standard error of the mean of all blocks; infinite without two of one chain.

        Chains that are further apart than their blocks explain tell the error themselves.
        """
        if self.n_blocks.max(initial=0) < 2:
            return np.full(self.mean.shape[1:], np.inf)
        within, between = self.within, self.between
        is_apart = between > SUSPICIOUS_SPREAD * within
        return np.sqrt(np.where(is_apart, between, within) / len(self.mean))

    @property
    def _n(self) -> NDArray[np.intp]:
        """Blocks of each chain, along the axes of the means."""
        return self.n_blocks.reshape(-1, *[1] * (self.mean.ndim - 1))

    @property
    def _share(self) -> Array:
        """Share of each chain in all blocks; equal shares while there are none."""
        total = self.n_blocks.sum()
        return self._n / total if total else np.full(self._n.shape, 1.0 / len(self.mean))


FEWEST_BLOCKS = 10
"""Blocks of a chain from which their spread tells an error."""


@dataclass(frozen=True)
class GibbsStep(Step):
    """A block of sweeps.

    Attributes
    ----------
    standard_error
        Largest standard error of a moment; infinite while there are few blocks.
    n_draws
        Sweeps of each chain so far, of the burn-in or of those that count.
    """

    standard_error: float
    n_draws: int


@dataclass(frozen=True, eq=False)
class GibbsState:
    """Where chains are, and the block means of their moments.

    Attributes
    ----------
    states
        Joint state of each chain, shape (n_chains, n_variables).
    blocks
        Average moments of each block of sweeps, shape (n_chains, n_moments).
    """

    states: Annotated[NDArray[Any], Form("c v", -1)]
    blocks: BlockMeans

    @classmethod
    def start(cls, problem: SweepProblem, n_chains: int, rng: Generator) -> Self:
        """Return chains that start apart."""
        nothing = BlockMeans.empty((n_chains, problem.n_moments))
        return cls(problem.starts(n_chains, rng), nothing)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the chains of several states together."""
        states = np.concatenate([part.states for part in parts])
        return cls(states, BlockMeans.joined([part.blocks for part in parts]))

    def warmed(self) -> Self:
        """Return the chains where they are, with no block that counts."""
        return replace(self, blocks=BlockMeans.empty(self.blocks.mean.shape))

    def moved(
        self, problem: SweepProblem, n_sweeps: int, rng: Generator
    ) -> tuple[Self, GibbsStep]:
        """Return the chains after one block, with their mean log density and error."""
        states, block = problem.draw_sweeps(self.states, n_sweeps, rng)
        after = replace(self, states=states, blocks=self.blocks.with_block(block))
        level = float(problem.log_density(states).mean())
        n_draws = int(after.blocks.n_blocks.min()) * n_sweeps
        return after, GibbsStep(level, float(after.standard_error.max(initial=0.0)), n_draws)

    @property
    def standard_error(self) -> Array:
        """Standard error of each moment; infinite while there are few blocks."""
        if self.blocks.n_blocks.mean() < FEWEST_BLOCKS:
            return np.full(self.blocks.mean.shape[1], np.inf)
        return self.blocks.standard_error

    def r_hat(self, problem: SweepProblem) -> float:
        """Return the largest potential scale reduction [gelman1992]_; NaN for a single chain.

        Infinite if chains stand still in different states.
        """
        if len(self.states) == 1:
            return float("nan")
        between = self.blocks.between
        within = problem.draw_variance(self.blocks.mean).mean(axis=0)
        # Means of chains that stand still are exact; rounding must not look like movement.
        ratio = np.full_like(within, np.inf)
        np.divide(between, within, out=ratio, where=within > 1e-12)
        return float(np.sqrt(1 + np.where(between > 1e-12, ratio, 0.0).max(initial=0.0)))

    def account(self, problem: SweepProblem, title: str, n_sweeps: int) -> Account:
        """Return how far off the moments may be, with blocks of so many sweeps.

        Draws are worth the fewest independent ones with these errors, at most all of them; a
        variable that is certain tells nothing.
        """
        error = self.standard_error
        n_draws = float(self.blocks.n_blocks.sum()) * n_sweeps
        draws = np.full_like(error, n_draws)
        variance = problem.draw_variance(self.blocks.pooled)
        np.divide(variance, error**2, out=draws, where=error > 0)
        effective = float(draws.min(initial=n_draws))
        r_hat = self.r_hat(problem)
        return Account(
            title,
            False,
            float(error.max(initial=0.0)),
            "largest standard error",
            effective,
            None if np.isnan(r_hat) else r_hat,
        )


@dataclass(frozen=True, eq=False)
class MeanFieldState:
    """One product distribution per start, and how they moved last.

    Attributes
    ----------
    moments
        Moments of the independent variables of each start, shape (n_starts, n_moments).
    bound
        Bound of each start.
    change
        Largest change of a moment of any start in the last sweep.
    """

    moments: Annotated[Array, Form("s e", -1.0, 1.01)]
    bound: Annotated[Array, Form("s", -np.inf)]
    change: float = float("inf")

    @classmethod
    def start(cls, problem: SweepProblem, moments: Array) -> Self:
        """Return the state at some starts, shape (n_starts, n_moments)."""
        return cls(moments, np.array([problem.bound(row) for row in moments]))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the starts of several states together."""
        return cls(
            np.concatenate([part.moments for part in parts]),
            np.concatenate([part.bound for part in parts]),
            max(part.change for part in parts),
        )

    def moved(self, problem: SweepProblem, damping: float) -> tuple[Self, Move]:
        """Return every start after one sweep; report the best bound and the change."""
        moved = [problem.mean_sweep(row, damping) for row in self.moments]
        after = self.start(problem, np.stack([row for row, _ in moved]))
        change = max(change for _, change in moved)
        return replace(after, change=change), Move(float(after.bound.max()), change)

    @property
    def best(self) -> tuple[Array, float]:
        """The moments of the start with the best bound, and that bound."""
        at = int(self.bound.argmax())
        return self.moments[at], float(self.bound[at])


@dataclass(frozen=True, eq=False)
class ModeState:
    """Joint states being improved, shape (n_starts, n_variables), and their log densities."""

    states: Annotated[NDArray[Any], Form("s v", -1)]
    log_density: Annotated[Array, Form("s", -np.inf)]

    @classmethod
    def start(cls, problem: SweepProblem, states: NDArray[Any]) -> Self:
        """Return the state at some joint states."""
        return cls(states, problem.log_density(states))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the starts of several states together."""
        return cls(
            np.concatenate([part.states for part in parts]),
            np.concatenate([part.log_density for part in parts]),
        )

    def moved(self, problem: SweepProblem) -> tuple[Self, Move]:
        """Return every start after one sweep; report the best density and how many moved."""
        states, n_moved = problem.mode_sweep(self.states)
        after = self.start(problem, states)
        return after, Move(float(after.log_density.max()), float(n_moved))

    @property
    def best(self) -> tuple[NDArray[Any], float]:
        """The densest joint state, and its log density."""
        at = int(self.log_density.argmax())
        return self.states[at], float(self.log_density[at])


def require_damping(damping: float) -> None:
    """Refuse a share of old moments with which nothing would move, or none.

    Raises
    ------
    ValueError
        If it is not from 0 to below 1.
    """
    if not 0.0 <= damping < 1.0:
        raise ValueError(
            f"damping must be from 0 to below 1; found {damping}. It is the share of the old "
            "value that stays in each update."
        )
