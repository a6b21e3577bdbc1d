"""Expectation maximization: fill in what is hidden by its expectation, then learn, and again.

One engine serves maximum likelihood and variational Bayes, which differ only in what is carried
from step to step: parameters, or a belief about them. Both raise the same objective,

    ``sum of log normalizers of the hidden part  -  penalty``,

where the penalty is the divergence of the belief from the prior, or zero for parameters. It
never falls; for a belief it is a lower bound of the log evidence [neal1998]_.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from numpy.random import Generator

from credo.inference.engine.engine import Account, Inference, Move, Settled

__all__ = ["Expectation", "ExpectationMaximization", "LatentProblem", "LatentState"]

LIKELIEST = Account("expectation maximization", False, float("nan"), "unknown")
CLOSEST = Account("variational Bayes", False, float("nan"), "unknown")


@dataclass(frozen=True, eq=False)
class Expectation:
    """What the hidden part looks like under a belief.

    Attributes
    ----------
    statistics
        Expected statistics of the completed data.
    log_normalizer
        Sum over rows of the log normalizer of the distribution of their hidden part.
    """

    statistics: Any
    log_normalizer: float


class LatentProblem(Protocol):
    """Data with a hidden part, seen through beliefs (or parameters) and expected statistics."""

    @property
    def size(self) -> float:
        """Total weight of the rows; the tolerance of the engine is in nats per row."""
        ...

    @property
    def evidence_method(self) -> str:
        """What the objective is: "bound" for beliefs, "none" for parameters."""
        ...

    def start(self) -> Any:
        """Return the belief to start from."""
        ...

    def expect(self, belief: Any) -> Expectation:
        """Return expected statistics under a belief: the E step."""
        ...

    def update(self, statistics: Any) -> Any:
        """Return the belief after expected statistics: the M step."""
        ...

    def penalty(self, belief: Any) -> float:
        """Return the divergence of a belief from the prior; zero for parameters."""
        ...


@dataclass(frozen=True, eq=False)
class LatentState:
    """The belief an engine is at, and the objective of the one before."""

    belief: Any
    objective: float


@dataclass(frozen=True)
class ExpectationMaximization:
    """Alternate expected statistics and update until a step gains less than the tolerance.

    Attributes
    ----------
    tolerance
        Gain in nats per row below which the answer has settled.
    max_steps
        Steps after which it gives up, with a warning.
    """

    tolerance: float = 1e-8
    max_steps: int = 1000

    is_random: ClassVar[bool] = False

    @property
    def stop(self) -> Settled:
        """A step gained little, or there were too many."""
        return Settled(self.tolerance, self.max_steps)

    def init(self, problem: LatentProblem, rng: Generator) -> LatentState:
        """Return the problem's own start."""
        return LatentState(problem.start(), float("-inf"))

    def step(
        self, problem: LatentProblem, state: LatentState, rng: Generator
    ) -> tuple[LatentState, Move]:
        """Take one E step and one M step; report the objective between them."""
        expectation = problem.expect(state.belief)
        objective = expectation.log_normalizer - problem.penalty(state.belief)
        gain = (objective - state.objective) / problem.size
        after = LatentState(problem.update(expectation.statistics), objective)
        return after, Move(objective, gain)

    def posterior(self, problem: LatentProblem, state: LatentState) -> Inference:
        """Return the belief, and its objective if that is a bound of the evidence."""
        if problem.evidence_method == "none":
            return Inference(state.belief, account=LIKELIEST)
        bound = problem.expect(state.belief).log_normalizer - problem.penalty(state.belief)
        return Inference(state.belief, bound, problem.evidence_method, account=CLOSEST)
