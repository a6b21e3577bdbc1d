"""Laws of engines: settings that are values, pure steps, and answers within their error."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.evaluation.laws.broken import NotApplicable, expect, expect_close, run
from credo.inference.discrete.factor_problem import FactorProblem, table_of
from credo.inference.engine.engine import Inference, Progress, Snapshot, Steps
from credo.inference.engine.engine import run as run_engine
from credo.numerics.array import Array
from credo.numerics.status import Status

__all__ = ["check_engine"]

ERRORS = 6.0
NEAR = 1e-6


def check_engine(engine: Any, problem: Any | None = None) -> list[str]:
    """Check the laws of an engine; return the names of the laws that were run.

    Parameters
    ----------
    engine
        Settings with ``init``, ``step`` and ``posterior``.
    problem
        What it solves. If None, a product of tables of variables that do not depend on each
        other. Whatever engine for networks must get such variables right in all it answers.

    Raises
    ------
    LawBroken
        With the law, what was expected and what was found.

    Examples
    --------
    >>> from credo.inference import LoopyBeliefPropagation
    >>> "marginals_are_within_their_error" in check_engine(LoopyBeliefPropagation())
    True
    """
    return run(LAWS, Solved(engine, INDEPENDENT if problem is None else problem))


INDEPENDENT = FactorProblem(
    (2, 3, 2),
    (
        table_of((0,), np.array([3.0, 1.0])),
        table_of((1,), np.array([0.2, 0.5, 0.3])),
        table_of((2, 1), np.outer([0.6, 0.9], np.ones(3))),
    ),
)


@dataclass(frozen=True)
class Solved:
    """An engine with the problem it is tried on."""

    it: Any
    problem: Any

    @cached_property
    def found(self) -> Inference:
        """What the engine finds."""
        return _quietly(self.it, self.problem)

    def require(self, *answers: str) -> None:
        """Leave the law out unless the engine answers such a question about tables."""
        answered = getattr(self.it, "answers", ())
        if not isinstance(self.problem, FactorProblem) or not set(answers) & set(answered):
            raise NotApplicable

    @cached_property
    def joint(self) -> tuple[NDArray[np.intp], Array]:
        """Every joint state, and its density."""
        states = np.array(list(product(*map(range, self.problem.n_states))), dtype=np.intp)
        return states, np.exp(self.problem.log_density(states))


def settings_are_a_value(case: Solved) -> None:
    """Equal settings are equal, and cannot be changed."""
    is_value = is_dataclass(case.it) and not isinstance(case.it, type)
    expect("settings are a dataclass", is_value, "a dataclass", type(case.it))
    is_frozen = type(case.it).__dataclass_params__.frozen
    expect("settings are frozen", is_frozen, "frozen=True", type(case.it))
    expect("equal settings are equal", replace(case.it) == case.it, "equality", case.it)


def the_same_stream_gives_the_same_answer(case: Solved) -> None:
    """Two runs from Generators in the same state take the same steps to the same state."""
    again = _quietly(case.it, case.problem)
    law = "the same stream gives the same answer"
    expect(law, _is_same(again.trace, case.found.trace), "the same trace", again.trace)
    expect(law, _is_same(again.state, case.found.state), "the same state", again.state)


def chance_comes_from_the_stream_alone(case: Solved) -> None:
    """Of an engine that does not draw, any stream gives the same answer."""
    other = _quietly(case.it, case.problem, rng=np.random.default_rng(1))
    is_same = _is_same(other.state, case.found.state)
    law = "an engine that says it does not draw leaves the stream alone"
    expect(law, is_same or case.it.is_random, "the same state", other.state)


def steps_are_pure(case: Solved) -> None:
    """Whatever ran before, a step from one state leads to the same state."""
    state = case.it.init(case.problem, np.random.default_rng(2))
    first, second = (
        case.it.step(case.problem, state, np.random.default_rng(3)) for _ in range(2)
    )
    law = "the same step from the same state leads to the same"
    expect(law, _is_same(first, second), "the same state and report", second[1])


def a_run_can_go_on_from_its_state(case: Solved) -> None:
    """From the state that a run left, another answers in the same form."""
    again = _quietly(case.it, case.problem, state=case.found.state)
    expected = type(case.found.posterior)
    law = "a run can go on from its state"
    expect(law, type(again.posterior) is expected, str(expected), type(again.posterior))


def a_resumed_run_equals_an_uninterrupted_one(case: Solved) -> None:
    """Snapshots lead a run that was stopped to the same bits as one that was not."""
    law = "a resumed run equals an uninterrupted one"
    for stopped_after in sorted({1, len(case.found.trace) // 2, len(case.found.trace)} - {0}):
        kept = _Kept(stopped_after)
        with suppress(_Killed):
            _quietly(case.it, case.problem, checkpoint=kept)
        whole = _quietly(case.it, case.problem, checkpoint=_Kept(None, kept.snapshot))
        expect(law, _is_same(whole.trace, case.found.trace), "the same trace", whole.trace)
        expect(law, _is_same(whole.state, case.found.state), "the same state", whole.state)


def a_limit_of_one_step_is_said(case: Solved) -> None:
    """After a single step a run has settled, or says that it was cut short."""
    found = _quietly(case.it, case.problem, stop=case.it.stop | Steps(1))
    n_steps = len(found.trace)
    is_settled = case.it.stop.status(Progress(1, found.trace[-1], False)) is not None
    law = "a limit of one step is said"
    expect(law, n_steps == 1, "one step", n_steps)
    is_said = is_settled or found.status in (Status.MAX_STEPS, Status.STUCK)
    expect(law, is_said, str(Status.MAX_STEPS), found.status)


def the_status_says_why_it_stopped(case: Solved) -> None:
    """With the last step the rule of the engine gives the status of its run."""
    last = Progress(len(case.found.trace), case.found.trace[-1], False)
    if case.it.stop.n_warm_up or case.found.status is Status.STUCK:
        raise NotApplicable
    status = case.it.stop.status(last)
    expect("the status says why it stopped", status is case.found.status, str(status), last)


def a_bound_never_falls(case: Solved) -> None:
    """Coordinate ascent raises its bound, or leaves it, with every step."""
    if case.found.evidence_method != "bound":
        raise NotApplicable
    objective = np.array([step.objective for step in case.found.trace])
    slack = 1e-9 * (1.0 + np.abs(objective).max())
    fall = float(np.max(objective[:-1] - objective[1:], initial=0.0))
    expect("a bound never falls", fall <= slack, "no fall", f"a fall by {fall:.3g}")


def what_is_called_exact_has_no_error(case: Solved) -> None:
    """Error zero stands with exact answers, and with no others."""
    account = case.found.account
    law = "an exact answer has no error, and another says of what kind it is"
    is_plain = account.error == 0.0 and account.error_kind == "exact"
    expect(law, is_plain == account.is_exact, "error 0 where exact, else its kind", account)


def marginals_are_within_their_error(case: Solved) -> None:
    """Marginals of independent variables are exact, up to the stated error."""
    case.require("marginals")
    states, density = case.joint
    found = case.found.posterior
    slack = ERRORS * case.found.error + NEAR
    for i, n in enumerate(case.problem.n_states):
        exact = np.array([density[states[:, i] == k].sum() for k in range(n)]) / density.sum()
        law = "marginals are within their error"
        expect_close(law, found.probability[i], exact, rtol=0, atol=slack)


def the_log_partition_is_within_its_error(case: Solved) -> None:
    """For independent variables the log partition is exact, up to its error."""
    case.require("total", "bound")
    exact = float(np.log(case.joint[1].sum()))
    error = getattr(case.found.posterior, "log_partition_error", 0.0)
    law = "the log partition is within its error"
    expect_close(law, case.found.log_evidence, exact, rtol=0, atol=ERRORS * error + NEAR)


def the_mode_is_the_densest_state(case: Solved) -> None:
    """Of independent variables each is in its most probable state."""
    case.require("mode")
    states, density = case.joint
    best, found = states[density.argmax()], case.found.posterior
    is_best = np.array_equal(found.states, best)
    expect("the mode is the densest state", is_best, str(best), found.states)
    expect_close("a mode tells its density", found.log_density, np.log(density.max()))


def _quietly(
    engine: Any, problem: Any, rng: np.random.Generator | None = None, **settings: Any
) -> Inference:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stream = np.random.default_rng(0) if rng is None else rng
        return run_engine(engine, problem, stream, **settings)


class _Killed(Exception):
    """The run ends here."""


class _Kept:
    """A checkpoint in memory that may end the run after some steps."""

    def __init__(self, most: int | None, snapshot: Snapshot | None = None) -> None:
        self.most, self.snapshot = most, snapshot

    def load(self, chain: int) -> Snapshot | None:
        return self.snapshot

    def is_due(self, seconds: float) -> bool:
        return True

    def save(self, chain: int, snapshot: Snapshot) -> None:
        if self.most is not None:
            self.snapshot = snapshot
            if len(snapshot.trace) >= self.most:
                raise _Killed


def _is_same(a: Any, b: Any) -> bool:
    """Return whether two values hold the same bits, NaN included."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return bool(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())
    if isinstance(a, float):
        return bool(a == b or (np.isnan(a) and np.isnan(b)))
    if isinstance(a, Mapping):
        return list(a) == list(b) and all(_is_same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(_is_same, a, b))
    if is_dataclass(a):
        return all(_is_same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    return bool(a == b)


LAWS = (
    settings_are_a_value,
    the_same_stream_gives_the_same_answer,
    chance_comes_from_the_stream_alone,
    steps_are_pure,
    a_run_can_go_on_from_its_state,
    a_resumed_run_equals_an_uninterrupted_one,
    a_limit_of_one_step_is_said,
    the_status_says_why_it_stopped,
    a_bound_never_falls,
    what_is_called_exact_has_no_error,
    marginals_are_within_their_error,
    the_log_partition_is_within_its_error,
    the_mode_is_the_densest_state,
)
