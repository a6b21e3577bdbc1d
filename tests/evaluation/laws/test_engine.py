from dataclasses import dataclass, replace

import numpy as np
import pytest

from credo.evaluation.laws import LawBroken, check_engine
from credo.inference import (
    Inference,
    IteratedConditionalModes,
    LoopyBeliefPropagation,
    Move,
    Settled,
    TableGibbs,
    TableImportance,
    TableMeanField,
)

CHANCE = np.random.default_rng(0)


class Overconfident(TableImportance):
    """Marginals that are off by more than they tell."""

    def posterior(self, problem, state):
        found = super().posterior(problem, state)
        mixed = tuple(0.5 * p + 0.5 / len(p) for p in found.posterior.probability)
        return replace(found, posterior=replace(found.posterior, probability=mixed))


class WrongTotal(LoopyBeliefPropagation):
    """A log partition with the wrong sign."""

    def posterior(self, problem, state):
        found = super().posterior(problem, state)
        return replace(found, log_evidence=-found.log_evidence)


class FirstState(IteratedConditionalModes):
    """A mode that is the first state of every variable."""

    def posterior(self, problem, state):
        found = super().posterior(problem, state)
        first = np.zeros_like(found.posterior.states)
        return replace(found, posterior=replace(found.posterior, states=first))


class Counting(LoopyBeliefPropagation):
    """A step that remembers how often it was asked."""

    n_steps = 0

    def step(self, problem, state, rng):
        after, report = super().step(problem, state, rng)
        type(self).n_steps += 1
        return after, replace(report, objective=report.objective + self.n_steps)


class OwnChance(TableImportance):
    """Draws from a Generator of its own."""

    def step(self, problem, state, rng):
        return super().step(problem, state, CHANCE)


class Drawing(LoopyBeliefPropagation):
    """Starts at random messages, and says that it does not draw."""

    max_steps = 1

    def init(self, problem, rng):
        state = super().init(problem, rng)
        return replace(state, log_message=rng.normal(size=state.log_message.shape))

    def step(self, problem, state, rng):
        return state, Move(0.0, 0.0)


class Forgetful(TableGibbs):
    """Draws ahead from every new stream, and keeps what it drew outside the state."""

    streams = ()

    def step(self, problem, state, rng):
        if not any(known is rng for known in self.streams):
            type(self).streams += (rng,)
            rng.spawn(1)
        return super().step(problem, state, rng)


class Falling(TableMeanField):
    """A bound that falls."""

    def step(self, problem, state, rng):
        after, report = super().step(problem, state, rng)
        return after, replace(report, objective=report.change)

    def posterior(self, problem, state):
        return super().posterior(problem, state)


class Boastful(TableGibbs):
    """Calls draws exact."""

    def posterior(self, problem, state):
        found = super().posterior(problem, state)
        return replace(found, account=replace(found.account, is_exact=True))


@dataclass
class Changeable:
    """Settings that can be changed."""

    is_random = False
    stop = Settled(0.0, 1)

    def init(self, problem, rng):
        return 0.0

    def step(self, problem, state, rng):
        return state, Move(0.0, 0.0)

    def posterior(self, problem, state):
        return Inference(state)


@pytest.mark.parametrize(
    ("broken", "law"),
    [
        (Overconfident(), "marginals are within their error"),
        (WrongTotal(), "the log partition is within its error"),
        (FirstState(), "the mode is the densest state"),
        (Counting(), "the same stream gives the same answer"),
        (OwnChance(), "the same stream gives the same answer"),
        (Drawing(), "an engine that says it does not draw leaves the stream alone"),
        (Forgetful(), "a resumed run equals an uninterrupted one"),
        (Falling(), "a bound never falls"),
        (Boastful(), "an exact answer has no error"),
        (Changeable(), "settings are frozen"),
    ],
    ids=lambda part: type(part).__name__,
)
def test_a_broken_engine_is_caught(broken, law):
    with pytest.raises(LawBroken, match=law):
        check_engine(broken)
