"""The problem of every engine for spins, and what such engines answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.inference.spins.grid_sweep import SpinGrid
from credo.inference.spins.sweep import SpinGraph, Spins, random_seed, random_spins
from credo.numerics.array import Array

__all__ = ["IsingProblem", "SpinAssignment", "SpinChain", "SpinMeans", "small_problem"]


@dataclass(frozen=True, eq=False)
class IsingProblem:
    """The density ``exp(constant + sum over edges of w x_i x_j + sum of field_i x_i)``.

    Spins x_i are -1 or 1, every edge counts once, and the density is not normalized. It is a
    `SweepProblem`, whose moments are the means of the spins.

    Attributes
    ----------
    graph
        Edges, couplings and fields.
    grid
        The same spins in rows and columns, where that is what they are and the fast loops
        for grids serve them.
    log_constant
        What is added to the log density, such as the part of a likelihood that both values
        of a spin share.
    """

    graph: SpinGraph
    grid: SpinGrid | None = None
    log_constant: float = 0.0

    def __repr__(self) -> str:
        return f"IsingProblem({self.n_spins} spins, {len(self.graph.edges)} edges)"

    @property
    def n_spins(self) -> int:
        """Number of spins."""
        return len(self.graph.field)

    @property
    def n_moments(self) -> int:
        """One mean for each spin."""
        return self.n_spins

    def starts(self, n: int, rng: Generator) -> Spins:
        """Return spins that are all up, all down, and random ones, shape (n, n_spins).

        Where couplings are strong a chain keeps the side it starts on: chains that start on
        both sides show by their disagreement what none of them can see.
        """
        up = np.ones(self.n_spins, dtype=np.int8)
        others = [random_spins(self.n_spins, rng) for _ in range(n - 2)]
        return np.stack([up, -up, *others])[:n]

    def draw_sweeps(self, states: Spins, n_sweeps: int, rng: Generator) -> tuple[Spins, Array]:
        """Return chains after some sweeps, and the average conditional means of each.

        The mean of a spin given its neighbors has the expectation of the spin itself and
        less variance.
        """
        spins, means = np.empty_like(states), np.empty(states.shape)
        for at, start in enumerate(states):
            chain, means[at] = SpinChain.start(self, rng, start).averaged(self, n_sweeps)
            spins[at] = chain.spins(self)
        return spins, means

    def draw_variance(self, moments: Array) -> Array:
        """Return the variance of one spin with these means."""
        return 1.0 - moments**2

    def mode_sweep(self, states: Spins) -> tuple[Spins, int]:
        """Return spins with each in turn at its likeliest value, and how many moved."""
        after = states.copy()
        return after, sum(self.graph.modes(row) for row in after)

    def mean_sweep(self, moments: Array, damping: float = 0.0) -> tuple[Array, float]:
        """Return means after ``mean_i = tanh(field_i + sum_j w_ij mean_j)`` in turn."""
        after = moments.copy()
        return after, self.graph.mean_field(after, damping)

    def bound(self, moments: Array) -> float:
        """Return the lower bound of the log normalizer that independent spins give.

        It is the mean log density plus the entropy, as a mean of a product is a product of
        means.

        Examples
        --------
        >>> pair = SpinGraph(np.array([[0, 1]]), np.array([0.5]), np.zeros(2))
        >>> bound = IsingProblem(pair).bound(np.zeros(2))
        >>> round(bound, 4), round(float(np.log(4 * np.cosh(0.5))), 4)
        (1.3863, 1.5064)
        """
        return self.log_constant + self.graph.bound(moments)

    def clamped(self, places: Sequence[int], spins: Sequence[int]) -> IsingProblem:
        """Return the problem of the other spins once some have known values."""
        graph, known = self.graph, np.zeros(self.n_spins)
        known[list(places)] = spins
        tail, head = graph.edges.T
        field = graph.field.copy()
        np.add.at(field, tail, graph.coupling * known[head])
        np.add.at(field, head, graph.coupling * known[tail])
        inside = (known[tail] == 0) & (known[head] == 0)
        hidden = np.flatnonzero(known == 0)
        edges = np.searchsorted(hidden, graph.edges[inside])
        left = SpinGraph(edges, graph.coupling[inside], field[hidden])
        return IsingProblem(left, None, float(self.log_density(known)))

    def log_density(self, x: NDArray[np.number]) -> Array:
        """Return the log density of spins, shape (..., n_spins), not normalized."""
        return np.asarray(self.log_constant + self.graph.log_density(x))


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

    spin: Spins
    seed: int
    sweep: int = 0

    @classmethod
    def start(
        cls, problem: IsingProblem, rng: Generator, spins: Spins | None = None
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
        """Return the chain after some sweeps, and the average of the conditional means."""
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


def small_problem() -> IsingProblem:
    """Return a square of spins with a field, for examples that laws run on."""
    edges = np.array([[0, 1], [1, 3], [3, 2], [2, 0]])
    return IsingProblem(SpinGraph(edges, np.full(4, 0.2), np.array([0.5, -0.3, 0.1, 0.8])))


@dataclass(frozen=True, eq=False)
class SpinMeans:
    """Mean of every spin, from which ``P(x_i = 1) = (1 + mean_i) / 2``.

    Attributes
    ----------
    mean
        Between -1 and 1, shape (n_spins,).
    standard_error
        Monte Carlo error of each mean, or None.
    """

    mean: Array
    standard_error: Array | None = None

    def __repr__(self) -> str:
        return f"SpinMeans({len(self.mean)} spins)"


@dataclass(frozen=True, eq=False)
class SpinAssignment:
    """One value of every spin, and its log density (not normalized)."""

    spins: Spins
    log_density: float

    def __repr__(self) -> str:
        return f"SpinAssignment({len(self.spins)} spins, log density {self.log_density:.6g})"
