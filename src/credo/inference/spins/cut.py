"""The most probable state of a ferromagnet, exactly, by a minimum cut [greig1989]_."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from credo.inference.engine.engine import Account, Inference, Move, Settled
from credo.inference.engine.error import NotSubmodular
from credo.inference.spins.problem import IsingProblem, SpinAssignment, small_problem
from credo.inference.spins.sweep import Spins
from credo.numerics.example import Example
from credo.numerics.graph.max_flow import minimum_cut

__all__ = ["IsingCut", "spin_cut"]


def spin_cut(problem: IsingProblem) -> SpinAssignment:
    """Return the most probable spins of a ferromagnet, exactly.

    Raises
    ------
    NotSubmodular
        If a coupling is negative.
    """
    graph = problem.graph
    if np.any(graph.coupling < 0):
        edge = int(np.argmin(graph.coupling))
        raise NotSubmodular(
            "every coupling must be at least 0 for max-flow; found "
            f"{graph.coupling[edge]:.4g} between spins {graph.edges[edge].tolist()}. "
            'Use method="exact" for narrow graphs, or method="icm".'
        )
    twice = 2.0 * graph.coupling
    source, sink = np.maximum(2.0 * graph.field, 0.0), np.maximum(-2.0 * graph.field, 0.0)
    cut = minimum_cut(source, sink, graph.edges, twice, twice)
    spins = np.where(cut.is_source_side, 1, -1).astype(np.int8)
    return SpinAssignment(spins, float(problem.log_density(spins)))


@dataclass(frozen=True)
class IsingCut:
    """The minimum cut as an engine: it ends with its first step."""

    name = "max_flow"
    title = "max-flow"
    answers = ("mode",)
    problem = IsingProblem
    is_random: ClassVar[bool] = False

    @property
    def stop(self) -> Settled:
        """One step, which changes nothing."""
        return Settled(0.0, 1)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return engines for the laws; the name of the method stands for the first."""
        return (Example(cls(), problem=small_problem()),)

    def init(self, problem: IsingProblem, rng: Generator) -> Spins:
        """Return the most probable spins."""
        return spin_cut(problem).spins

    def step(self, problem: IsingProblem, state: Spins, rng: Generator) -> tuple[Spins, Move]:
        """Return the same spins, which nothing improves."""
        return state, Move(float(problem.log_density(state)), 0.0)

    def posterior(self, problem: IsingProblem, state: Spins) -> Inference:
        """Return the most probable spins."""
        found = SpinAssignment(state, float(problem.log_density(state)))
        return Inference(found, account=Account(self.title))
