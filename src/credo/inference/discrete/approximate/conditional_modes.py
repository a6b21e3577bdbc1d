"""Iterated conditional modes: each variable takes its likeliest state until none would move.

The density never falls, so it ends, in a state that no change of one variable improves
[besag1986]_. That may be far from the mode; several starts are improved side by side and the
best is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from numpy.random import Generator

from credo.inference.discrete.approximate.flat_problem import FlatProblem
from credo.inference.discrete.factor_problem import Assignment, FactorProblem
from credo.inference.engine.engine import Account, Inference, Move, Settled
from credo.inference.engine.sweep import ModeState

__all__ = ["IteratedConditionalModes"]


@dataclass(frozen=True)
class IteratedConditionalModes:
    """Sweep over the variables until a sweep changes nothing.

    Attributes
    ----------
    n_starts
        Random starts, of positive density.
    tolerance
        Number of changes in a sweep at which it has settled.
    max_steps
        Sweeps after which it gives up.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.inference.engine.engine import run
    >>> from credo.inference.discrete.factor_problem import table_of
    >>> pair = FactorProblem((2, 2), (table_of((0, 1), np.array([[0.4, 0.2], [0.3, 0.1]])),))
    >>> run(IteratedConditionalModes(), pair, np.random.default_rng(0)).posterior.states
    array([0, 0])
    """

    n_starts: int = 10
    tolerance: float = 0.0
    max_steps: int = 1000

    name = "conditional_modes"
    other_names = ("icm",)
    title = "iterated conditional modes"
    answers = ("mode",)
    is_random: ClassVar[bool] = True

    @property
    def stop(self) -> Settled:
        """No variable would move, or there were too many sweeps."""
        return Settled(self.tolerance, self.max_steps)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return values for laws to check; names of methods stand for the first."""
        return (cls(),)

    def init(self, problem: FactorProblem, rng: Generator) -> ModeState:
        """Return random joint states."""
        flat = FlatProblem.of(problem)
        return ModeState.start(flat, flat.starts(self.n_starts, rng))

    def step(
        self, problem: FactorProblem, state: ModeState, rng: Generator
    ) -> tuple[ModeState, Move]:
        """Let every variable of every start move once; report how many did."""
        return state.moved(FlatProblem.of(problem))

    def joined(self, problem: FactorProblem, states: Sequence[ModeState]) -> ModeState:
        """Return the starts of several chains together."""
        return ModeState.joined(states)

    def posterior(self, problem: FactorProblem, state: ModeState) -> Inference:
        """Return the densest joint state found."""
        account = Account(self.title, False, float("nan"), "unknown")
        return Inference(Assignment(*state.best), account=account)
