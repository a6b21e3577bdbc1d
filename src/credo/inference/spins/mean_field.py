"""Mean field for spins: the independent spins that are nearest to coupled ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.random import Generator

from credo.inference.engine.engine import Account, Inference, Move, Settled
from credo.inference.engine.sweep import MeanFieldState, require_damping
from credo.inference.spins.problem import IsingProblem, SpinMeans, small_problem
from credo.numerics.array import Array
from credo.numerics.example import Example

__all__ = ["IsingMeanField", "best_means"]

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
