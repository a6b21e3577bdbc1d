"""Iterated conditional modes: each spin takes its most probable value given the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo.inference.engine.engine import Info
from credo.inference.spins.problem import IsingProblem, SpinAssignment
from credo.inference.spins.sweep import Spins, random_spins

__all__ = ["IsingConditionalModes"]


@dataclass(frozen=True)
class IsingConditionalModes:
    """Sweep over the spins until none changes [besag1986]_.

    The density never falls, and where it stops no single spin could raise it: a local
    optimum, which depends on the start.

    Attributes
    ----------
    seed
        Starts from random spins; None starts from the signs of the fields.
    max_steps
        Sweeps after which it gives up, with a warning.
    """

    seed: int | None = None
    max_steps: int = 1000

    @property
    def tolerance(self) -> float:
        """Number of changes at which it has settled: none."""
        return 0.0

    def init(self, problem: IsingProblem) -> Spins:
        """Return the spins to start from."""
        if self.seed is None:
            return np.where(problem.graph.field < 0, -1, 1).astype(np.int8)
        return random_spins(problem.n_spins, np.random.default_rng(self.seed))

    def step(self, problem: IsingProblem, state: Spins) -> tuple[Spins, Info]:
        """Take one sweep; report the log density and the number of changes."""
        spins = state.copy()
        n_changed = problem.graph.modes(spins)
        return spins, Info(float(problem.log_density(spins)), float(n_changed))

    def posterior(
        self, problem: IsingProblem, state: Spins
    ) -> tuple[SpinAssignment, float, str]:
        """Return the spins and their log density; there is no evidence."""
        answer = SpinAssignment(state, float(problem.log_density(state)))
        return answer, float("nan"), "none"
