"""Expectation maximization: fill in what is hidden by its expectation, then learn, and again.

One engine serves maximum likelihood and variational Bayes, which differ only in what is carried
from step to step: parameters, or a belief about them. Both raise the same objective,

    ``sum of log normalizers of the hidden part  -  penalty``,

where the penalty is the divergence of the belief from the prior, or zero for parameters. It
never falls; for a belief it is a lower bound of the log evidence [neal1998]_.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.random import Generator

from credo import families, inference
from credo.inference.engine.engine import Account, Inference, Move, Settled
from credo.inference.engine.problem import LatentProblem
from credo.numerics.example import Example

__all__ = ["ExpectationMaximization", "LatentState"]

LIKELIEST = Account("expectation maximization", False, float("nan"), "unknown")
MOST_FALL = 1e-9
"""Relative fall of the objective that rounding explains."""

CLOSEST = Account("variational Bayes", False, float("nan"), "unknown")


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

    problem = LatentProblem
    is_random: ClassVar[bool] = False

    @property
    def stop(self) -> Settled:
        """A step gained little, or there were too many."""
        return Settled(self.tolerance, self.max_steps)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return engines for the laws, each with a problem to solve."""
        rows = inference.IncompleteRows.unlabeled([[0], [1], [0], [9], [8], [12]], n_classes=2)
        weights = families.DirichletCategorical([1.0, 1.0])
        prior = families.Components(weights, families.GammaPoisson([1.0], 0.1))
        return (Example(cls(), problem=inference.LatentClassProblem(rows, prior)),)

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
        slack = MOST_FALL * (abs(objective) + problem.size)
        if getattr(problem, "is_monotone", True) and not objective >= state.objective - slack:
            raise ArithmeticError(
                "no step may lower the objective, which is minus the free energy; found a fall "
                f"from {state.objective:.15g} to {objective:.15g}. The problem does not say "
                "the maximum of what its expectation says."
            )
        after = LatentState(problem.update(expectation.statistics), objective)
        return after, Move(objective, gain)

    def posterior(self, problem: LatentProblem, state: LatentState) -> Inference:
        """Return the belief, and its objective if that is a bound of the evidence."""
        if problem.evidence_method == "none":
            return Inference(state.belief, account=LIKELIEST)
        bound = problem.expect(state.belief).log_normalizer - problem.penalty(state.belief)
        return Inference(state.belief, bound, problem.evidence_method, account=CLOSEST)
