"""Laws of engines: settings that are values, pure steps, and answers within their error."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, is_dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.evaluation.laws.broken import NotApplicable, expect, expect_close, run
from credo.inference.discrete.factor_problem import FactorProblem, table_of
from credo.inference.engine.engine import Inference, Status
from credo.inference.engine.engine import run as run_engine
from credo.numerics.array import Array

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


def steps_are_pure(case: Solved) -> None:
    """Whatever ran before, a step from one state reports the same."""
    state = case.it.init(case.problem)
    _, first = case.it.step(case.problem, state)
    _, second = case.it.step(case.problem, state)
    law = "the same step from the same state reports the same"
    expect_close(law, [second.objective, second.change], [first.objective, first.change])


def a_run_can_go_on_from_its_state(case: Solved) -> None:
    """From the state that a run left, another answers in the same form."""
    again = _quietly(case.it, case.problem, case.found.state)
    expected = type(case.found.posterior)
    law = "a run can go on from its state"
    expect(law, type(again.posterior) is expected, str(expected), type(again.posterior))


def a_limit_of_steps_is_kept(case: Solved) -> None:
    """No trace is longer than ``max_steps``, and the status says if it was cut."""
    n, most = len(case.found.trace), case.it.max_steps
    expect("a limit of steps is kept", 0 < n <= most, f"1 to {most} steps", n)
    is_settled = case.found.trace[-1].change <= case.it.tolerance
    is_right = (case.found.status is Status.CONVERGED) == is_settled
    expect("the status says whether it settled", is_right, str(is_settled), case.found.status)


def marginals_are_within_their_error(case: Solved) -> None:
    """Marginals of independent variables are exact, up to the stated error."""
    case.require("marginals")
    states, density = case.joint
    found = case.found.posterior
    slack = ERRORS * found.error + NEAR
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


def _quietly(engine: Any, problem: Any, state: Any = None) -> Inference:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return run_engine(engine, problem, state)


LAWS = (
    settings_are_a_value,
    steps_are_pure,
    a_run_can_go_on_from_its_state,
    a_limit_of_steps_is_kept,
    marginals_are_within_their_error,
    the_log_partition_is_within_its_error,
    the_mode_is_the_densest_state,
)
