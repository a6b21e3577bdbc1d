"""Iterated conditional modes: each spin takes its most probable value given the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.random import Generator

from credo.inference.engine.engine import Account, Inference, Move, Settled
from credo.inference.engine.sweep import ModeState
from credo.inference.spins.problem import IsingProblem, SpinAssignment, small_problem
from credo.inference.spins.sweep import random_spins
from credo.numerics.example import Example

__all__ = ["IsingConditionalModes"]


@dataclass(frozen=True)
class IsingConditionalModes:
    """Sweep over the spins until none changes [besag1986]_.

    The density never falls, and where it stops no single spin could raise it: a local
    optimum, which depends on the start.

    Attributes
    ----------
    start
        "field" starts from the signs of the fields, "random" from random spins.
    max_steps
        Sweeps after which it gives up, with a warning.
    """

    start: Literal["field", "random"] = "field"
    max_steps: int = 1000

    name = "conditional_modes"
    other_names = ("icm",)
    title = "iterated conditional modes"
    answers = ("mode",)
    problem = IsingProblem

    @property
    def is_random(self) -> bool:
        """Whether the start is random."""
        return self.start == "random"

    @property
    def stop(self) -> Settled:
        """No spin changed, or there were too many sweeps."""
        return Settled(0.0, self.max_steps)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return engines for the laws; the name of the method stands for the first."""
        engines = (cls(), cls("random"))
        return tuple(Example(engine, problem=small_problem()) for engine in engines)

    def init(self, problem: IsingProblem, rng: Generator) -> ModeState:
        """Return the spins to start from."""
        if self.start == "field":
            spins = np.where(problem.graph.field < 0, -1, 1).astype(np.int8)
        else:
            spins = random_spins(problem.n_spins, rng)
        return ModeState.start(problem, spins[None])

    def step(
        self, problem: IsingProblem, state: ModeState, rng: Generator
    ) -> tuple[ModeState, Move]:
        """Take one sweep; report the log density and the number of changes."""
        return state.moved(problem)

    def joined(self, problem: IsingProblem, states: Sequence[ModeState]) -> ModeState:
        """Return the starts of several chains together."""
        return ModeState.joined(states)

    def posterior(self, problem: IsingProblem, state: ModeState) -> Inference:
        """Return the spins and their log density; there is no evidence."""
        account = Account(self.title, False, float("nan"), "unknown")
        return Inference(SpinAssignment(*state.best), account=account)
