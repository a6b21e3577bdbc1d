"""What every engine is, and the one driver that runs them all.

An engine is a frozen value of settings with three pure functions: ``init`` makes a state
from a problem, ``step`` moves it, ``posterior`` reads the answer off it. The driver counts
steps, watches the clock, keeps the trace and can go on from a state that an earlier run left.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol, TypeVar

from credo.numerics.warning import warn_user

__all__ = ["ConvergenceWarning", "Engine", "Inference", "Info", "Status", "run"]

Problem = TypeVar("Problem", contravariant=True)
State = TypeVar("State")


class ConvergenceWarning(UserWarning):
    """An engine stopped before its answer settled."""


class Status(Enum):
    """Why an engine stopped."""

    CONVERGED = "converged"
    MAX_STEPS = "reached max_steps"
    MAX_SECONDS = "reached max_seconds"
    STUCK = "found no better step"


@dataclass(frozen=True)
class Info:
    """What one step reports: the objective, and how much it or the state still moved."""

    objective: float
    change: float


@dataclass(frozen=True, eq=False)
class Inference:
    """The answer of an engine, and how it came about.

    Attributes
    ----------
    posterior
        What is believed after the data.
    log_evidence
        Log probability of the data, NaN where the engine gives none.
    evidence_method
        "exact", "grid", "laplace", "bound", "bethe", "importance", "bic" or "none".
    status
        Why the engine stopped.
    trace
        One `Info` per step.
    state
        Where it stopped; hand it to `run` to go on from there.
    """

    posterior: Any
    log_evidence: float
    evidence_method: str
    status: Status
    trace: tuple[Info, ...]
    state: Any = None

    def __repr__(self) -> str:
        evidence = f"{self.log_evidence:.6g} ({self.evidence_method})"
        return (
            f"Inference({type(self.posterior).__name__}, log_evidence {evidence}, "
            f"{self.status.value}, {len(self.trace)} steps)"
        )


class Engine(Protocol[Problem, State]):
    """Settings with pure ``init``, ``step`` and ``posterior``.

    A ``step`` that finds nothing better returns the state that it was given.
    """

    @property
    def tolerance(self) -> float:
        """Change below which the engine has converged."""
        ...

    @property
    def max_steps(self) -> int:
        """Steps after which it gives up."""
        ...

    def init(self, problem: Problem) -> State:
        """Return the state to start from."""
        ...

    def step(self, problem: Problem, state: State) -> tuple[State, Info]:
        """Return the state after one move."""
        ...

    def posterior(self, problem: Problem, state: State) -> tuple[Any, float, str]:
        """Return the posterior, the log evidence and how that was found."""
        ...


def run(
    engine: Engine[Problem, State],
    problem: Problem,
    state: State | None = None,
    max_seconds: float = float("inf"),
    on_step: Callable[[int, Info], None] | None = None,
) -> Inference:
    """Run an engine on a problem until it converges or its limits are reached.

    Parameters
    ----------
    state
        State to start from, such as ``inference.state`` of an earlier run.
    max_seconds
        Wall time after which the run stops with what it has.
    on_step
        Called with the step number and its `Info`, for progress bars.

    Warns
    -----
    ConvergenceWarning
        If the engine stopped before its change fell below its tolerance.
    """
    current = engine.init(problem) if state is None else state
    trace: list[Info] = []
    status = Status.MAX_STEPS
    started = time.perf_counter()
    for n_steps in range(1, engine.max_steps + 1):
        before = current
        current, info = engine.step(problem, before)
        trace.append(info)
        if on_step is not None:
            on_step(n_steps, info)
        if info.change <= engine.tolerance:
            status = Status.CONVERGED
            break
        if current is before:
            # Steps are pure functions: from the same state all others would be this one.
            status = Status.STUCK
            break
        if time.perf_counter() - started > max_seconds:
            status = Status.MAX_SECONDS
            break
    if status is not Status.CONVERGED:
        _warn(engine, status, trace)
    posterior, log_evidence, method = engine.posterior(problem, current)
    return Inference(posterior, log_evidence, method, status, tuple(trace), current)


def _warn(engine: Engine[Any, Any], status: Status, trace: list[Info]) -> None:
    change = trace[-1].change if trace else float("nan")
    advice = "Widen the tolerance" if status is Status.STUCK else "Raise the limit"
    warn_user(
        f"{type(engine).__name__} {status.value} after {len(trace)} steps with change "
        f"{change:.2g} > tolerance {engine.tolerance:.2g}. {advice}, or read inference_.trace.",
        ConvergenceWarning,
    )
