"""What every engine is, when it stops, and the one driver that runs them all.

An engine is a frozen value of settings with three pure functions: ``init`` makes a state from a
problem, ``step`` moves it, ``posterior`` reads the answer off it. Randomness enters as a
Generator, so that no engine holds a seed.

A stopping rule looks at how far a chain has come and gives a `Status`, or None to go on. Rules
are values joined by ``|``: ``Settled(1e-8) | Seconds(60)`` stops when the answer has settled,
and after a minute at the latest.

The driver watches the rule, keeps the trace, runs several chains side by side, goes on from a
state that an earlier run left, and takes checkpoints from which a run that was killed goes on
to the same bits. An engine that draws answers with what it has when people interrupt it.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Executor, Future, wait
from contextlib import nullcontext
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from hashlib import blake2b
from inspect import getattr_static
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, TypeVar, get_type_hints

import numpy as np
from numpy.random import (
    MT19937,
    PCG64,
    PCG64DXSM,
    SFC64,
    Generator,
    Philox,
    SeedSequence,
)

from credo.numerics.form import LATER
from credo.numerics.parallel.threads import threads_for
from credo.numerics.quotation import quote
from credo.numerics.status import Status
from credo.numerics.warning import warn_user

__all__ = [
    "EXACT",
    "UNKNOWN",
    "Account",
    "Checkpoint",
    "ConvergenceWarning",
    "Drawn",
    "Engine",
    "FirstOf",
    "Inference",
    "Move",
    "Progress",
    "Seconds",
    "Settled",
    "Snapshot",
    "StandardError",
    "Step",
    "Steps",
    "Stop",
    "WeightStep",
    "fingerprint",
    "run",
    "worst",
]

Problem = TypeVar("Problem", contravariant=True)
State = TypeVar("State")
Report = TypeVar("Report", bound="Step", covariant=True)


class ConvergenceWarning(UserWarning):
    """An engine stopped before its answer settled."""


@dataclass(frozen=True)
class Step:
    """What a step of any engine reports; engines add what they know besides.

    Attributes
    ----------
    objective
        What the engine raises or lowers: a log density, a bound, a log evidence.
    """

    objective: float


@dataclass(frozen=True)
class Move(Step):
    """A step of an engine that settles.

    Attributes
    ----------
    change
        How much the step changed, in the unit of the engine's tolerance.
    """

    change: float


@dataclass(frozen=True)
class WeightStep(Step):
    """A step of an engine that draws with weights.

    Attributes
    ----------
    standard_error
        Largest Monte Carlo standard error of what is asked, with all draws so far.
    n_draws
        Draws so far.
    effective_draws
        Draws of equal weight that they are worth.
    """

    standard_error: float
    n_draws: int
    effective_draws: float


@dataclass(frozen=True, eq=False)
class Progress:
    """How far a chain has come.

    Attributes
    ----------
    n_steps
        Steps that count: those after the warm-up.
    step
        What the last of them reported.
    is_still
        Whether the last step returned the very state that it was given.
    seconds
        Time that all steps took, of earlier runs that this one goes on from as well.
    """

    n_steps: int
    step: Any
    is_still: bool = False
    seconds: float = 0.0

    def reported(self, name: str, rule: Stop) -> float:
        """Return a number that the last step reported, and that a rule needs.

        Raises
        ------
        TypeError
            If steps of this engine report no such number.
        """
        if not hasattr(self.step, name):
            raise TypeError(
                f"{type(rule).__name__} must be asked of an engine whose steps report "
                f"{name}; found a {type(self.step).__name__}. Use another rule, such as "
                "Steps or Seconds."
            )
        return float(getattr(self.step, name))


class Stop(ABC):
    """What every rule is: a value with a ``status``, that can be joined to others by ``|``."""

    @abstractmethod
    def status(self, progress: Progress) -> Status | None:
        """Return why a chain ends here, or None if it goes on."""

    def __or__(self, other: Stop) -> FirstOf:
        if not isinstance(other, Stop):
            return NotImplemented
        return FirstOf((*self.parts, *other.parts))

    @property
    def parts(self) -> tuple[Stop, ...]:
        """The rules that this one is made of."""
        return (self,)

    @property
    def n_warm_up(self) -> int:
        """Draws of each chain that come before those that count."""
        return 0


@dataclass(frozen=True)
class FirstOf(Stop):
    """The first of several rules that holds.

    Examples
    --------
    >>> Settled(1e-6, 50) | Seconds(60)
    FirstOf(rules=(Settled(tolerance=1e-06, max_steps=50), Seconds(most=60)))
    """

    rules: tuple[Stop, ...]

    def status(self, progress: Progress) -> Status | None:
        """Return what the first rule that holds says."""
        found = (rule.status(progress) for rule in self.rules)
        return next((status for status in found if status is not None), None)

    @property
    def parts(self) -> tuple[Stop, ...]:
        """The rules."""
        return self.rules

    @property
    def n_warm_up(self) -> int:
        """The longest warm-up that one of them asks for."""
        return max((rule.n_warm_up for rule in self.rules), default=0)


@dataclass(frozen=True)
class Settled(Stop):
    """The last step changed no more than the tolerance.

    Steps of engines that settle are pure functions of the state: one that returns the state it
    was given would go on doing so, and ends the run as stuck.

    Attributes
    ----------
    tolerance
        Change, in the unit of the engine, below which its answer has settled.
    max_steps
        Steps after which it gives up.
    """

    tolerance: float = 1e-8
    max_steps: int = 1000

    def __post_init__(self) -> None:
        _require(self.tolerance >= 0, "tolerance", "0 or more", self.tolerance)
        _require(self.max_steps >= 1, "max_steps", "at least 1", self.max_steps)

    def status(self, progress: Progress) -> Status | None:
        """Return whether it has settled, is stuck, or has taken too many steps."""
        if abs(progress.reported("change", self)) <= self.tolerance:
            return Status.CONVERGED
        if progress.is_still:
            return Status.STUCK
        return Status.MAX_STEPS if progress.n_steps >= self.max_steps else None


@dataclass(frozen=True)
class Drawn(Stop):
    """Each chain has drawn so much.

    Attributes
    ----------
    n
        Draws of each chain that count.
    warm_up
        Draws of each chain before those, which an engine may use to adapt itself.
    """

    n: int
    warm_up: int = 0

    def __post_init__(self) -> None:
        _require(self.n >= 1, "n", "at least 1", self.n)
        _require(self.warm_up >= 0, "warm_up", "0 or more", self.warm_up)

    @property
    def n_warm_up(self) -> int:
        """Draws of each chain before those that count."""
        return self.warm_up

    def status(self, progress: Progress) -> Status | None:
        """Return whether all is drawn."""
        return Status.COMPLETE if progress.reported("n_draws", self) >= self.n else None


@dataclass(frozen=True)
class StandardError(Stop):
    """The largest Monte Carlo standard error is small enough, or draws are too many.

    Attributes
    ----------
    below
        Standard error at which enough has been drawn.
    max_draws
        Draws of each chain after which it gives up.
    warm_up
        Draws of each chain before those that count.
    """

    below: float
    max_draws: int
    warm_up: int = field(default=0, metadata=LATER)

    def __post_init__(self) -> None:
        _require(self.below >= 0, "below", "0 or more", self.below)
        _require(self.max_draws >= 1, "max_draws", "at least 1", self.max_draws)
        _require(self.warm_up >= 0, "warm_up", "0 or more", self.warm_up)

    @property
    def n_warm_up(self) -> int:
        """Draws of each chain before those that count."""
        return self.warm_up

    def status(self, progress: Progress) -> Status | None:
        """Return whether the error is small enough, or the draws are used up."""
        if progress.reported("standard_error", self) <= self.below:
            return Status.CONVERGED
        is_over = progress.reported("n_draws", self) >= self.max_draws
        return Status.MAX_DRAWS if is_over else None


@dataclass(frozen=True)
class Steps(Stop):
    """So many steps were taken.

    Attributes
    ----------
    most
        Steps after which a chain ends.
    """

    most: int

    def __post_init__(self) -> None:
        _require(self.most >= 1, "most", "at least 1", self.most)

    def status(self, progress: Progress) -> Status | None:
        """Return whether the steps are used up."""
        return Status.MAX_STEPS if progress.n_steps >= self.most else None


@dataclass(frozen=True)
class Seconds(Stop):
    """So much time has passed in a chain.

    Attributes
    ----------
    most
        Wall time after which a chain ends with what it has.
    """

    most: float

    def __post_init__(self) -> None:
        _require(self.most >= 0, "most", "0 or more", self.most)

    def status(self, progress: Progress) -> Status | None:
        """Return whether the time is used up."""
        return Status.MAX_SECONDS if progress.seconds > self.most else None


def _require(holds: bool, name: str, what: str, found: object) -> None:
    if not holds:
        raise ValueError(f"{name} must be {what}; found {found}. Correct the stopping rule.")


@dataclass(frozen=True)
class Account:
    """How an answer was found.

    Attributes
    ----------
    method
        Name of the method.
    is_exact
        Whether the answer is exact up to rounding.
    error
        Size of the error in the sense of ``error_kind``; zero if exact.
    error_kind
        What ``error`` measures.
    effective_draws
        Independent draws that random ones are worth, the fewest of any row; None if nothing
        was drawn.
    r_hat
        Largest ratio of the spread of draws of all chains to that within one, near one if
        chains agree; None without several chains.

    Examples
    --------
    >>> Account("mean field", False, 0.1, "largest change of a marginal").attrs()["error"]
    0.1
    """

    method: str = "exact"
    is_exact: bool = True
    error: float = 0.0
    error_kind: str = "exact"
    effective_draws: float | None = None
    r_hat: float | None = field(default=None, metadata=LATER)

    def attrs(self) -> dict[Hashable, Any]:
        """Return the account as attributes of a labelled answer, without what is None."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def worse(self, other: Account) -> Account:
        """Return the account of two answers taken together; an unknown error is the worst."""
        mine, theirs = (
            (not one.is_exact, float("inf") if np.isnan(one.error) else one.error)
            for one in (self, other)
        )
        worse = other if theirs > mine else self
        drawn = [d for d in (self.effective_draws, other.effective_draws) if d is not None]
        ratios = [r for r in (self.r_hat, other.r_hat) if r is not None]
        return replace(
            worse,
            effective_draws=min(drawn, default=None),
            r_hat=max(ratios, default=None),
        )


EXACT = Account()
UNKNOWN = Account("unknown", False, float("nan"), "unknown")
"""The account of an answer of which nothing is said."""


def worst(accounts: Sequence[Account]) -> Account:
    """Return the account of several answers taken together; of none, the exact one."""
    if not accounts:
        return EXACT
    found = accounts[0]
    for account in accounts[1:]:
        found = found.worse(account)
    return found


@dataclass(frozen=True, eq=False)
class Inference:
    """The answer of an engine, how sure it is, and how it came about.

    Attributes
    ----------
    posterior
        What is believed after the data.
    log_evidence
        Log probability of the data, NaN where the engine gives none.
    evidence_method
        "exact", "grid", "laplace", "ep", "bound", "bethe", "importance", "bic" or "none".
    status
        Why the engine stopped.
    trace
        What every step reported, of the first chain if there are several.
    state
        Where it stopped; hand it to `run` to go on from there.
    account
        Whether the posterior is exact, and else how far off it may be; that nothing is known
        of it by default.
    """

    posterior: Any
    log_evidence: float = float("nan")
    evidence_method: str = "none"
    status: Status = Status.CONVERGED
    trace: tuple[Step, ...] = ()
    state: Any = None
    account: Account = field(default=UNKNOWN, metadata=LATER)

    @property
    def is_exact(self) -> bool:
        """Whether the posterior is exact up to rounding."""
        return self.account.is_exact

    @property
    def error(self) -> float:
        """How far off the posterior may be, in the sense of ``error_kind``; zero if exact."""
        return self.account.error

    @property
    def error_kind(self) -> str:
        """What ``error`` measures."""
        return self.account.error_kind

    @property
    def effective_draws(self) -> float | None:
        """Independent draws that random ones are worth; None if nothing was drawn."""
        return self.account.effective_draws

    @property
    def r_hat(self) -> float | None:
        """How far chains stand apart, near one if they agree; None without several."""
        return self.account.r_hat

    def __repr__(self) -> str:
        evidence = f"{self.log_evidence:.6g} ({self.evidence_method})"
        return (
            f"Inference({type(self.posterior).__name__}, log_evidence {evidence}, "
            f"{self.status.value}, {len(self.trace)} steps)"
        )


class Engine(Protocol[Problem, State, Report]):
    """Settings with pure ``init``, ``step`` and ``posterior``.

    A ``step`` of an engine that settles returns the state that it was given if it finds nothing
    better. An engine that can run in several chains also has
    ``joined(problem, states)``, the state of all chains together; one with a warm-up has
    ``warmed(problem, state)``, the state from which draws count.
    """

    @property
    def is_random(self) -> bool:
        """Whether the answer depends on the Generator."""
        ...

    @property
    def stop(self) -> Stop:
        """The rule that ends a run if no other is given."""
        ...

    def init(self, problem: Problem, rng: Generator) -> State:
        """Return the state to start from."""
        ...

    def step(self, problem: Problem, state: State, rng: Generator) -> tuple[State, Report]:
        """Return the state after one move, and what is known of it."""
        ...

    def posterior(self, problem: Problem, state: State) -> Inference:
        """Return the answer at a state; the driver adds status and trace."""
        ...


BIT_GENERATORS: Mapping[str, Any] = MappingProxyType(
    {kind.__name__: kind for kind in (PCG64, PCG64DXSM, MT19937, Philox, SFC64)}
)
"""Sources of random bits by the name that stands in their state."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Where a chain is, with all that it needs to go on to the same bits.

    Attributes
    ----------
    engine
        The engine, so that a run does not go on with other settings.
    problem
        Fingerprint of what it solves, so that it does not go on with another.
    n_chains
        Chains of the run.
    state
        Its state.
    trace
        What its steps reported.
    n_warm_up
        Steps of them that were warm-up; None while that goes on.
    is_still
        Whether the last step returned the state that it was given.
    seconds
        Time that they took.
    random_state
        State of the bit generator, and of the seed sequence that spawns others.
    """

    engine: Any
    problem: str
    n_chains: int
    state: Any
    trace: tuple[Any, ...]
    n_warm_up: int | None
    is_still: bool
    seconds: float
    random_state: dict[str, Any]

    @property
    def rng(self) -> Generator:
        """The Generator at this place of its stream."""
        state, seed = self.random_state["bits"], self.random_state["seed"]
        bits = BIT_GENERATORS[state["bit_generator"]](SeedSequence(**seed))
        bits.state = state
        return Generator(bits)


class Checkpoint(Protocol):
    """A place that keeps snapshots of chains, such as `credo.data.CheckpointFile`."""

    def load(self, chain: int) -> Snapshot | None:
        """Return what was kept of a chain; None if nothing was."""
        ...

    def is_due(self, seconds: float) -> bool:
        """Return whether to keep a snapshot, so long after the last one."""
        ...

    def save(self, chain: int, snapshot: Snapshot) -> None:
        """Keep a snapshot of a chain in place of the last one."""
        ...


OnStep = Callable[[int, Any], None]


def run(
    engine: Engine[Any, Any, Any],
    problem: Any,
    rng: Generator | None = None,
    *,
    stop: Stop | None = None,
    chains: int = 1,
    executor: Executor | None = None,
    state: Any = None,
    on_step: OnStep | None = None,
    checkpoint: Checkpoint | None = None,
) -> Inference:
    """Run an engine on a problem until its stopping rule holds.

    Parameters
    ----------
    rng
        Where randomness comes from; only an engine that draws needs it.
    stop
        Stopping rule; that of the engine by default.
    chains
        Independent chains, each with a stream of its own that ``rng`` spawns. The answer does
        not depend on how many of them run at once.
    executor
        Runs the chains, any of `concurrent.futures`; one after the other by default. Matrix
        products inside chains take one thread each.
    state
        State to start a single chain from, such as ``inference.state`` of an earlier run.
    on_step
        Called with the number of a step and its report, for progress bars; not by chains that
        an executor runs.
    checkpoint
        Keeps snapshots. A run that finds some goes on from there, to the same bits as a run
        that was never stopped.

    Warns
    -----
    ConvergenceWarning
        If the engine stopped before its answer settled.

    Raises
    ------
    KeyboardInterrupt
        If an engine that does not draw is interrupted, or one that draws before its first step
        is done. Later an engine that draws answers with the draws it has, of the chains that
        have come furthest, and the status says so.
    ValueError
        If the engine draws and no Generator is given, cannot run in several chains, or has no
        warm-up where the rule asks for one.
    TypeError
        If the problem is not of the kind that the engine solves.
    """
    _require_kinds(engine, rng, stop, executor, checkpoint)
    _require_problem(engine, problem)
    rule = engine.stop if stop is None else stop
    _require_able(engine, rule, chains, state)
    streams = _streams(engine, rng, chains)
    halt = _Halt()
    # A rule that says nothing of a warm-up leaves that of the engine as it is.
    n_warm_up = max(rule.n_warm_up, engine.stop.n_warm_up) if state is None else 0
    works = [
        _Chain(
            engine, problem, stream, rule, state, checkpoint, number, chains, n_warm_up, halt
        )
        for number, stream in enumerate(streams)
    ]
    ends = _ends(works, executor, on_step)
    is_interrupted = any(end.status is Status.INTERRUPTED for end in ends)
    if is_interrupted:
        ends = _furthest(engine, ends)
    last = ends[0].state
    if len(ends) > 1:
        joining: Any = engine
        last = joining.joined(problem, [end.state for end in ends])
    short = next((end for end in ends if not end.status.has_converged), ends[0])
    status = Status.INTERRUPTED if is_interrupted else short.status
    # An engine that found nothing says so itself, and it should be known how it stopped.
    is_short = not status.has_converged
    if is_short and chains == 1:
        _warn(engine, rule, status, short.trace)
    found = engine.posterior(problem, last)
    if is_short and chains > 1:
        if any(isinstance(p, StandardError) and found.error <= p.below for p in rule.parts):
            status = Status.CONVERGED
        else:
            _warn(engine, rule, status, short.trace)
    if found.account is UNKNOWN:
        title = str(getattr(engine, "title", type(engine).__name__))
        found = replace(found, account=replace(UNKNOWN, method=title))
    return replace(found, status=status, trace=ends[0].trace, state=last)


class _Halt:
    """What chains in other threads look at, to see whether people have interrupted the run."""

    def __init__(self) -> None:
        self.is_asked = threading.Event()

    def __reduce__(self) -> tuple[type[_Halt], tuple[()]]:
        # Another process is interrupted by itself: a terminal tells all of them.
        return _Halt, ()


@dataclass(frozen=True, eq=False)
class _End:
    """Where a chain stopped, and why; None for the state of one that was never begun."""

    state: Any
    status: Status
    trace: tuple[Any, ...] = ()
    is_warm: bool = False

    @property
    def n_draws(self) -> int:
        """Draws that it has made, of the warm-up or of those that count; zero without any."""
        return int(getattr(self.trace[-1], "n_draws", 0)) if self.trace else 0


def _furthest(engine: Any, ends: list[_End]) -> list[_End]:
    """Return the chains to answer with after an interrupt: those that hold the most draws.

    Joined chains are as long as the shortest, so that one that has hardly begun is left out.
    Half a search is no answer: without draws the interrupt is passed on.
    """
    begun = [end for end in ends if end.n_draws]
    if not begun:
        raise KeyboardInterrupt
    if not hasattr(engine, "warmed"):
        return begun
    past = [end for end in begun if end.is_warm] or begun
    lengths = sorted((end.n_draws for end in past), reverse=True)
    least = max(range(len(lengths)), key=lambda i: (i + 1) * lengths[i])
    return [end for end in past if end.n_draws >= lengths[least]]


@dataclass(frozen=True, eq=False)
class _Chain:
    """One chain of a run; it can be sent to another process."""

    engine: Engine[Any, Any, Any]
    problem: Any
    rng: Generator
    stop: Stop
    state: Any
    checkpoint: Checkpoint | None
    number: int
    n_chains: int
    n_warm_up: int
    halt: _Halt

    def run(self, on_step: OnStep | None = None) -> _End:
        """Take steps until the rule holds."""
        with threads_for(0) if self.n_chains > 1 else nullcontext():
            return _Walk(self, self._begin()).end(on_step)

    def _begin(self) -> Snapshot:
        """Return where to begin: at what was kept, at a given state, or at a new one."""
        kept = None if self.checkpoint is None else self.checkpoint.load(self.number)
        if kept is not None:
            _require_same(self, kept)
            return kept
        state = self.state
        if state is None:
            state = self.engine.init(self.problem, self.rng)
        n_warm_up = None if self.n_warm_up else 0
        return Snapshot(self.engine, "", 0, state, (), n_warm_up, False, 0.0, {})


class _Place(NamedTuple):
    """How far a walk has come: one value, so that an interrupt finds it whole.

    Attributes
    ----------
    state, n_steps
        The state, and the steps that led to it.
    n_warm_up
        Steps that were warm-up; None while that goes on.
    warm_up
        The last state of the warm-up while none that counts has been made.
    is_still, seconds, random_state
        As of a `Snapshot`.
    """

    state: Any
    n_steps: int
    n_warm_up: int | None
    warm_up: Any
    is_still: bool
    seconds: float
    random_state: dict[str, Any]


class _Walk:
    """A chain on its way."""

    def __init__(self, chain: _Chain, begin: Snapshot) -> None:
        self._chain, self._checkpoint = chain, chain.checkpoint
        self._rng = begin.rng if begin.trace else chain.rng
        self._trace = list(begin.trace)
        self._at = _Place(
            begin.state,
            len(begin.trace),
            begin.n_warm_up,
            None,
            begin.is_still,
            begin.seconds,
            begin.random_state,
        )
        self._saved = begin.seconds
        self._started = time.perf_counter() - begin.seconds

    def end(self, on_step: OnStep | None) -> _End:
        """Take steps until the rule holds, or until the run is interrupted."""
        try:
            status = self._taken(on_step)
        except KeyboardInterrupt:
            if not self._at.n_steps:
                raise
            status = Status.INTERRUPTED
        at = self._at
        if status is Status.INTERRUPTED and self._checkpoint is not None:
            self._keep(self._checkpoint, is_last=True)
        is_warm = at.n_warm_up is not None and at.warm_up is None
        state = at.state if at.warm_up is None else at.warm_up
        return _End(state, status, tuple(self._trace[: at.n_steps]), is_warm)

    def _taken(self, on_step: OnStep | None) -> Status:
        """Take steps; return why they ended."""
        halt = self._chain.halt
        status = self._status() if self._at.n_steps else None
        while status is None:
            self._step()
            if on_step is not None:
                on_step(self._at.n_steps, self._trace[-1])
            status = self._status()
            if self._checkpoint is not None:
                self._keep(self._checkpoint, is_last=status is not None)
            if status is None and halt.is_asked.is_set():
                status = Status.INTERRUPTED
        return status

    def _step(self) -> None:
        engine, problem, before = self._chain.engine, self._chain.problem, self._at
        state, report = engine.step(problem, before.state, self._rng)
        n_steps, n_warm_up, warm_up = before.n_steps + 1, before.n_warm_up, None
        is_still = state is before.state
        self._trace.append(report)
        if n_warm_up is None and report.n_draws >= self._chain.n_warm_up:
            warming: Any = engine
            warm_up = state
            state = warming.warmed(problem, state)
            n_warm_up = n_steps
        bits = {} if self._checkpoint is None else _bits(self._rng)
        seconds = time.perf_counter() - self._started
        self._at = _Place(state, n_steps, n_warm_up, warm_up, is_still, seconds, bits)

    def _status(self) -> Status | None:
        at = self._at
        if at.n_warm_up is None:
            return self._limit()
        n_steps = at.n_steps - at.n_warm_up
        if not n_steps:
            return None
        return self._chain.stop.status(
            Progress(n_steps, self._trace[-1], at.is_still, at.seconds)
        )

    def _limit(self) -> Status | None:
        """Return whether time or steps are used up, which also ends a warm-up."""
        limits = [p for p in self._chain.stop.parts if isinstance(p, Seconds | Steps)]
        progress = Progress(self._at.n_steps, self._trace[-1], False, self._at.seconds)
        return FirstOf(tuple(limits)).status(progress)

    def _keep(self, checkpoint: Checkpoint, *, is_last: bool) -> None:
        if is_last or checkpoint.is_due(self._at.seconds - self._saved):
            self._saved = self._at.seconds
            checkpoint.save(self._chain.number, self._snapshot())

    def _snapshot(self) -> Snapshot:
        at = self._at
        return Snapshot(
            self._chain.engine,
            fingerprint(self._chain.problem),
            self._chain.n_chains,
            at.state,
            tuple(self._trace[: at.n_steps]),
            at.n_warm_up,
            at.is_still,
            at.seconds,
            at.random_state,
        )


def _require_kinds(engine: Any, rng: Any, stop: Any, executor: Any, checkpoint: Any) -> None:
    """Refuse arguments of the wrong kind."""
    verbs = ("init", "step", "posterior")
    is_engine = not isinstance(engine, type) and all(hasattr(engine, v) for v in verbs)
    checks = (
        ("engine", engine, is_engine, "TableGibbs()"),
        ("rng", rng, rng is None or isinstance(rng, Generator), "numpy.random.default_rng(0)"),
        ("stop", stop, stop is None or isinstance(stop, Stop), "Settled(1e-6) | Seconds(60)"),
        (
            "executor",
            executor,
            executor is None or isinstance(executor, Executor),
            "ProcessPoolExecutor(2)",
        ),
        (
            "checkpoint",
            checkpoint,
            checkpoint is None or (hasattr(checkpoint, "load") and hasattr(checkpoint, "save")),
            'credo.data.CheckpointFile("run.credo")',
        ),
    )
    for name, found, is_right, example in checks:
        if not is_right:
            what = f"the class {found.__name__}" if isinstance(found, type) else quote(found)
            raise TypeError(f"{name} must be such as {example}; found {what}. Pass a value.")


def _require_problem(engine: Engine[Any, Any, Any], problem: Any) -> None:
    """Refuse a problem of another kind than ``init`` of the engine says it takes."""
    kind = _kind_of_problem(type(engine))
    if not isinstance(kind, type):
        return
    if getattr(kind, "_is_protocol", False):
        parts = [name for name in vars(kind) if not name.startswith("_")]
        lacking = [name for name in parts if getattr_static(problem, name, None) is None]
        found = f"without {lacking[0]}" if lacking else ""
    else:
        found = "" if isinstance(problem, kind) else f"which is no {kind.__name__}"
    if found:
        raise TypeError(
            f"problem must be a {kind.__name__} for {type(engine).__name__}; found a "
            f"{type(problem).__name__}, {found}. State the problem that this engine solves, or "
            "take an engine for the one at hand."
        )


@cache
def _kind_of_problem(engine: type[Any]) -> Any:
    """Return the kind of problem that an engine says it takes; None if it does not."""
    try:
        return get_type_hints(engine.init).get("problem")
    except NameError:
        return None


def _require_able(engine: Engine[Any, Any, Any], rule: Stop, chains: int, state: Any) -> None:
    """Refuse what an engine has no verb for, before any work."""
    name = type(engine).__name__
    if chains < 1 or (chains > 1 and not hasattr(engine, "joined")):
        raise ValueError(
            f"chains must be at least 1, and 1 for an engine that joins none; found {chains} "
            f"for {name}. Leave chains out."
        )
    if chains > 1 and state is not None:
        raise ValueError(
            f"state must be None for several chains, which start apart; found one for {chains} "
            "chains. Leave it out, or run a single chain."
        )
    if rule.n_warm_up and not hasattr(engine, "warmed"):
        raise ValueError(
            f"a warm-up must be asked of an engine that has one; found a rule with "
            f"{rule.n_warm_up} draws of it for {name}. Leave warm_up out."
        )


def _streams(engine: Engine[Any, Any, Any], rng: Generator | None, n: int) -> list[Generator]:
    """Return a stream for each chain."""
    if rng is None:
        if getattr(engine, "is_random", True):
            raise ValueError(
                f"{type(engine).__name__} must be given a Generator to draw from; found none. "
                "Pass rng=numpy.random.default_rng(0)."
            )
        rng = np.random.default_rng(0)
    return [rng] if n == 1 else list(rng.spawn(n))


def _ends(works: list[_Chain], executor: Executor | None, on_step: OnStep | None) -> list[_End]:
    """Return where the chains end, in their order; after an interrupt the first ones."""
    if executor is not None:
        return _gathered(works, executor)
    ends: list[_End] = []
    for work in works:
        try:
            ends.append(work.run(on_step))
        except KeyboardInterrupt:
            if not ends:
                raise
            ends.append(NOT_BEGUN)
        if ends[-1].status is Status.INTERRUPTED:
            break
    return ends


NOT_BEGUN = _End(None, Status.INTERRUPTED)

ATTENTION = 0.1
"""Seconds between looks at interrupts while others work.

Where another library has taken over the signal, as polars does, it does not end a wait.
"""


def _gathered(works: list[_Chain], executor: Executor) -> list[_End]:
    """Return what other threads or processes found.

    An interrupt, also one while they are begun, halts them; so does a chain that fails, since
    whoever closes the executor waits for all of them.
    """
    futures: list[Future[_End]] = []
    try:
        for work in works:
            futures.append(executor.submit(work.run))
        waiting = set(futures)
        while waiting:
            done, waiting = wait(waiting, ATTENTION, FIRST_EXCEPTION)
            for future in done:
                future.result()
        return [future.result() for future in futures]
    except BaseException as error:
        works[0].halt.is_asked.set()
        begun = [future for future in futures if not future.cancel()]
        if not isinstance(error, KeyboardInterrupt):
            raise
    return [_found(future) if future in begun else NOT_BEGUN for future in futures]


def _found(future: Future[_End]) -> _End:
    """Return the end of a chain; one that was interrupted too early has none."""
    try:
        return future.result()
    except KeyboardInterrupt:
        return NOT_BEGUN


def _bits(rng: Generator) -> dict[str, Any]:
    """Return the state of a Generator in plain numbers."""
    bits = rng.bit_generator
    # A Generator around older bits has no sequence of seeds, and spawns no others.
    seed: Any = getattr(bits.seed_seq, "state", {})
    return {"bits": _plain(bits.state), "seed": _plain(seed)}


def _plain(value: Any) -> Any:
    """Return numbers, lists of them, and dictionaries of both."""
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(part) for part in value]
    return value.item() if isinstance(value, np.generic) else value


def _require_same(chain: _Chain, kept: Snapshot) -> None:
    if chain.engine != kept.engine:
        raise ValueError(
            f"a checkpoint must be of the engine that goes on; found one of {kept.engine} for "
            f"{chain.engine}. Use the same settings, or another checkpoint."
        )
    if fingerprint(chain.problem) != kept.problem or chain.n_chains != kept.n_chains:
        raise ValueError(
            "a checkpoint must be of the problem and the number of chains that are asked for; "
            "found one of others. Use another checkpoint, or delete it to begin anew."
        )


def fingerprint(problem: Any) -> str:
    """Return a text that two problems share only if they hold the same numbers and names.

    Functions count by their names, and densities also by what they are at some points.
    """
    facts = blake2b(digest_size=16)
    _add_facts(facts, problem)
    if hasattr(problem, "probed"):
        # Nine digits: another build of a library may differ in the last ones.
        facts.update(" ".join(f"{value:.9g}" for value in problem.probed).encode())
    return facts.hexdigest()


def _add_facts(facts: blake2b, value: Any) -> None:
    facts.update(f"{type(value).__qualname__};".encode())
    if isinstance(value, np.ndarray) and value.dtype != object:
        facts.update(f"{value.dtype.str}{value.shape};".encode())
        facts.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, Mapping):
        _add_facts(facts, [part for item in value.items() for part in item])
    elif isinstance(value, list | tuple | np.ndarray):
        for part in value:
            _add_facts(facts, part)
    elif is_dataclass(value) and not isinstance(value, type):
        _add_facts(facts, [getattr(value, part.name) for part in fields(value)])
    elif isinstance(value, str | bytes | int | float | np.generic):
        facts.update(repr(value).encode())
    else:
        facts.update(str(getattr(value, "__qualname__", "")).encode())


def _warn(
    engine: Engine[Any, Any, Any], rule: Stop, status: Status, trace: tuple[Any, ...]
) -> None:
    last = trace[-1] if trace else None
    reached = [
        f" with {words} {getattr(last, name):.2g}"
        for name, words in (("change", "change"), ("standard_error", "standard error"))
        if hasattr(last, name)
    ]
    advice = {
        Status.STUCK: "Widen the tolerance",
        Status.WORTHLESS: "Use another method, such as Gibbs sampling",
    }.get(status, "Raise the limit")
    warn_user(
        f"{type(engine).__name__} {status.value} after {len(trace)} steps{''.join(reached)}, "
        f"before its rule held: {rule}. {advice}, or read inference_.trace.",
        ConvergenceWarning,
    )
