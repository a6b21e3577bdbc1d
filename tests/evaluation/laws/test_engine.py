from dataclasses import dataclass, replace

import numpy as np
import pytest

from credo.evaluation.laws import LawBroken, check_engine
from credo.inference import (
    Info,
    IteratedConditionalModes,
    LoopyBeliefPropagation,
    TableImportance,
)


class Overconfident(TableImportance):
    """Marginals that are off by more than they tell."""

    def posterior(self, problem, state):
        found, total, method = super().posterior(problem, state)
        mixed = tuple(0.5 * p + 0.5 / len(p) for p in found.probability)
        return replace(found, probability=mixed), total, method


class WrongTotal(LoopyBeliefPropagation):
    """A log partition with the wrong sign."""

    def posterior(self, problem, state):
        found, total, method = super().posterior(problem, state)
        return found, -total, method


class FirstState(IteratedConditionalModes):
    """A mode that is the first state of every variable."""

    def posterior(self, problem, state):
        found, total, method = super().posterior(problem, state)
        return replace(found, states=np.zeros_like(found.states)), total, method


class Counting(LoopyBeliefPropagation):
    """A step that remembers how often it was asked."""

    n_steps = 0

    def step(self, problem, state):
        after, info = super().step(problem, state)
        type(self).n_steps += 1
        return after, Info(info.objective + self.n_steps, info.change)


@dataclass
class Changeable:
    """Settings that can be changed."""

    tolerance: float = 0.0
    max_steps: int = 1

    def init(self, problem):
        return 0.0

    def step(self, problem, state):
        return state, Info(0.0, 0.0)

    def posterior(self, problem, state):
        return state, 0.0, "none"


@pytest.mark.parametrize(
    ("broken", "law"),
    [
        (Overconfident(), "marginals are within their error"),
        (WrongTotal(), "the log partition is within its error"),
        (FirstState(), "the mode is the densest state"),
        (Counting(), "the same step from the same state reports the same"),
        (Changeable(), "settings are frozen"),
    ],
    ids=lambda part: type(part).__name__,
)
def test_a_broken_engine_is_caught(broken, law):
    with pytest.raises(LawBroken, match=law):
        check_engine(broken)
