from dataclasses import dataclass

import numpy as np
import pytest

from credo.inference.engine.engine import ConvergenceWarning, Info, Status, run


@dataclass(frozen=True)
class Halving:
    """An engine that halves its state, so that the number of steps is known."""

    tolerance: float = 0.1
    max_steps: int = 100

    def init(self, problem):
        return problem

    def step(self, problem, state):
        return state / 2, Info(objective=-state, change=state / 2)

    def posterior(self, problem, state):
        return state, 0.0, "exact"


def test_run_stops_when_the_change_is_within_tolerance():
    found = run(Halving(), 1.0)
    assert found.status is Status.CONVERGED
    assert len(found.trace) == 4
    assert found.posterior == 1 / 16


def test_one_step_is_said_to_be_too_few():
    with pytest.warns(ConvergenceWarning, match="reached max_steps after 1 steps"):
        found = run(Halving(max_steps=1), 1.0)
    assert found.status is Status.MAX_STEPS


def test_run_goes_on_from_the_state_of_an_earlier_run():
    with pytest.warns(ConvergenceWarning):
        first = run(Halving(max_steps=2), 1.0)
    second = run(Halving(), 1.0, state=first.state)
    assert second.posterior == run(Halving(), 1.0).posterior
    assert len(second.trace) == 2


def test_time_limit_stops_a_run_and_keeps_its_answer():
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        found = run(Halving(tolerance=0.0), 1.0, max_seconds=0.0)
    assert found.status is Status.MAX_SECONDS
    assert found.posterior == 0.5


def test_every_step_is_reported():
    seen = []
    run(Halving(), 1.0, on_step=lambda n, info: seen.append((n, info.objective)))
    assert seen == [(n, -(2.0 ** (1 - n))) for n in range(1, 5)]
    assert np.isfinite([v for _, v in seen]).all()


@dataclass(frozen=True)
class Stopping(Halving):
    """An engine that finds nothing below a half."""

    def step(self, problem, state):
        return super().step(problem, state) if state > 0.5 else (state, Info(-state, 0.3))


def test_a_step_that_finds_nothing_better_ends_the_run_unconverged():
    with pytest.warns(ConvergenceWarning, match="found no better step after 2 steps"):
        found = run(Stopping(), 1.0)
    assert found.status is Status.STUCK
    assert found.posterior == 0.5


def test_a_state_that_stays_because_it_is_right_has_converged():
    assert run(Stopping(tolerance=0.4), 0.5).status is Status.CONVERGED
