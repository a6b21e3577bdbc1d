"""Iterated conditional modes: each variable takes its likeliest state until none would move.

The density never falls, so it ends, in a state that no change of one variable improves
[besag1986]_. That may be far from the mode; several starts are improved side by side and the
best is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from credo.inference.discrete.approximate.flat_problem import FlatProblem
from credo.inference.discrete.factor_problem import Assignment, FactorProblem
from credo.inference.discrete.loops.flat_tables import log_densities
from credo.inference.discrete.loops.states import mode_sweep
from credo.inference.engine.engine import Info
from credo.numerics.array import Array

__all__ = ["IteratedConditionalModes", "ModeState"]


@dataclass(frozen=True, eq=False)
class ModeState:
    """Joint states being improved, shape (n_starts, n_variables), and their log densities."""

    flat: FlatProblem
    states: NDArray[np.intp]
    log_density: Array


@dataclass(frozen=True)
class IteratedConditionalModes:
    """Sweep over the variables until a sweep changes nothing.

    Attributes
    ----------
    n_starts
        Random starts, of positive density.
    seed
        Seed of the starts.
    tolerance
        Number of changes in a sweep at which it has settled.
    max_steps
        Sweeps after which it gives up.

    Examples
    --------
    >>> from credo.inference.engine.engine import run
    >>> from credo.inference.discrete.factor_problem import table_of
    >>> pair = FactorProblem((2, 2), (table_of((0, 1), np.array([[0.4, 0.2], [0.3, 0.1]])),))
    >>> run(IteratedConditionalModes(), pair).posterior.states
    array([0, 0])
    """

    n_starts: int = 10
    seed: int = 0
    tolerance: float = 0.0
    max_steps: int = 1000

    name = "conditional_modes"
    title = "iterated conditional modes"
    answers = ("mode",)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return values for laws to check; names of methods stand for the first."""
        return (cls(),)

    def init(self, problem: FactorProblem) -> ModeState:
        """Return random joint states."""
        flat = FlatProblem.of(problem)
        states = flat.starts(self.n_starts, np.random.default_rng(self.seed))
        return _state(flat, states)

    def step(self, problem: FactorProblem, state: ModeState) -> tuple[ModeState, Info]:
        """Let every variable of every start move once."""
        states, n_moved = mode_sweep(state.flat.net, state.states)
        after = _state(state.flat, states)
        return after, Info(float(after.log_density.max()), float(n_moved))

    def posterior(
        self, problem: FactorProblem, state: ModeState
    ) -> tuple[Assignment, float, str]:
        """Return the densest joint state found."""
        best = int(state.log_density.argmax())
        found = Assignment(state.states[best], float(state.log_density[best]))
        return found, float("nan"), "none"


def _state(flat: FlatProblem, states: NDArray[np.intp]) -> ModeState:
    return ModeState(flat, states, log_densities(flat.net, states) + flat.log_scale)
