"""Mean field for spins: the independent spins that are nearest to coupled ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.random import Generator

from credo.inference.engine.engine import Account, Inference, Move, Settled
from credo.inference.spins.problem import IsingProblem, SpinMeans, small_problem
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.form import Form

__all__ = ["IsingMeanField", "SpinMeanFieldState", "best_means", "mean_field_bound"]

# Starts at exactly 1 have no entropy, and a tie with others.
_NEARLY = 0.9


@dataclass(frozen=True, eq=False)
class SpinMeanFieldState:
    """Means of independent spins, and how far the last sweep moved them."""

    mean: Annotated[Array, Form("n", -1.0, 1.0)]
    change: float


@dataclass(frozen=True)
class IsingMeanField:
    """Sweep ``mean_i = tanh(field_i + sum_j w_ij mean_j)`` until the means settle.

    Each update maximizes the bound over one mean, so that without damping no sweep lowers it.
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

    def init(self, problem: IsingProblem, rng: Generator) -> SpinMeanFieldState:
        """Return the means to start from."""
        if self.start == "best":
            return SpinMeanFieldState(_best_start(problem)[0], np.inf)
        return SpinMeanFieldState(rng.uniform(-1.0, 1.0, problem.n_spins), np.inf)

    def step(
        self, problem: IsingProblem, state: SpinMeanFieldState, rng: Generator
    ) -> tuple[SpinMeanFieldState, Move]:
        """Take one sweep over all spins."""
        mean = state.mean.copy()
        change = problem.graph.mean_field(mean, self.damping)
        return SpinMeanFieldState(mean, change), Move(mean_field_bound(problem, mean), change)

    def posterior(self, problem: IsingProblem, state: SpinMeanFieldState) -> Inference:
        """Return the means and the bound they give."""
        account = Account(self.title, False, state.change, "largest change of a mean")
        bound = mean_field_bound(problem, state.mean)
        return Inference(SpinMeans(state.mean), bound, "bound", account=account)


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


def mean_field_bound(problem: IsingProblem, mean: Array) -> float:
    """Return the lower bound of the log normalizer that independent spins give.

    It is the mean log density plus the entropy, as a mean of a product is a product of means.

    Examples
    --------
    >>> from credo.inference.spins.sweep import SpinGraph
    >>> pair = SpinGraph(np.array([[0, 1]]), np.array([0.5]), np.zeros(2))
    >>> bound = mean_field_bound(IsingProblem(pair), np.zeros(2))
    >>> round(bound, 4), round(float(np.log(4 * np.cosh(0.5))), 4)
    (1.3863, 1.5064)
    """
    return problem.log_constant + problem.graph.bound(mean)


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
    best = int(np.argmax([mean_field_bound(problem, mean) for mean in means]))
    return starts[best], means[best]
