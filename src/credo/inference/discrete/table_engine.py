"""Engines of discrete networks: exact answers from plans, and approximate ones row by row.

An answer carries an account of how it was found. Where no engine was asked for, that one is
taken whose error is best known.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import prod
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.inference.discrete.approximate.belief_propagation import LoopyBeliefPropagation
from credo.inference.discrete.approximate.flat_problem import NoPossibleState
from credo.inference.discrete.approximate.gibbs import (
    IteratedConditionalModes,
    TableGibbs,
    gibbs_draws_given,
)
from credo.inference.discrete.approximate.graph_cut import GraphCut
from credo.inference.discrete.approximate.importance import TableImportance
from credo.inference.discrete.conflict import conflict
from credo.inference.discrete.exact.plan import Question
from credo.inference.discrete.exact_inference import MAX_SECONDS, TableInference
from credo.inference.discrete.factor_problem import (
    Assignment,
    FactorProblem,
    TableMarginals,
)
from credo.inference.engine.engine import (
    EXACT,
    Account,
    ConvergenceWarning,
    Inference,
    run,
    worst,
)
from credo.inference.engine.error import (
    AnswerTooLarge,
    InferenceTooLarge,
    NoExactAnswer,
    NotSubmodular,
    require_memory,
)
from credo.inference.engine.findings import MISSING, Findings
from credo.inference.engine.method import (
    ApproximationWarning,
    title_of,
)
from credo.inference.engine.network import ExactEngine, PlanReport
from credo.inference.engine.weighted_draws import ZeroWeights
from credo.numerics.array import Array
from credo.numerics.warning import warn_user

__all__ = [
    "PROVEN_IMPOSSIBLE",
    "NumberedEngine",
    "TableApproximation",
    "TableEngine",
    "approximate",
    "approximate_mode",
    "approximate_total",
    "joint_bytes",
    "require_joint",
    "states_of",
]

SMALL_ANSWER = 1 << 15
"""Bytes of a joint answer that is given under any limit."""

MOST_RUNS = 256
"""Runs of an approximate engine that one joint table may take."""

GUIDED = TableImportance()
MESSAGES = LoopyBeliefPropagation()
MODES = (LoopyBeliefPropagation("max"), IteratedConditionalModes())

ENOUGH_DRAWS = 1000
"""Effective draws from which the standard error of weighted draws is believed."""

ENOUGH_FOR_TOTAL = 30
"""The same for a log partition, where few draws are nearer than the Bethe approximation."""

PROVEN_IMPOSSIBLE = Account("proof that nothing is possible")
"""Messages or a search have left no joint state."""

TOTAL_KINDS = {"bound": "lower bound", "importance": "standard error", "exact": "exact"}


@dataclass(frozen=True, eq=False)
class TableEngine:
    """Exact answers about named variables of a problem, from its plans.

    Attributes
    ----------
    numbers
        Number of each named variable in the problem; auxiliary ones have no name.
    tables
        Exact inference about numbered variables.
    """

    numbers: Mapping[str, int]
    tables: TableInference

    @classmethod
    def of(
        cls,
        numbers: Mapping[str, int],
        problem: FactorProblem,
        memory: float | None = None,
        seconds: float = MAX_SECONDS,
    ) -> Self:
        """Return the answers about a problem, with no plan compiled yet."""
        return cls(dict(numbers), TableInference(problem, memory, seconds))

    @property
    def n_states(self) -> tuple[int, ...]:
        """Number of states of each numbered variable."""
        return self.tables.problem.n_states

    @property
    def limit(self) -> float:
        """Bytes that a plan or a joint answer may take."""
        return self.tables.limit

    def marginals(
        self, findings: Findings[str], names: Sequence[str]
    ) -> tuple[dict[str, Array], Array, Account]:
        """Return marginals by name, (n_rows, n_states) each, and log totals."""
        targets = [self.numbers[name] for name in names]
        found = self.tables.marginals(findings.numbered(self.numbers), targets)
        by_name = {name: found.probability[self.numbers[name]] for name in names}
        return by_name, found.log_total, EXACT

    def joint(
        self, findings: Findings[str], names: Sequence[str]
    ) -> tuple[Array, Array, Account]:
        """Return the joint tables of some variables, (n_rows, *n_states)."""
        targets = [self.numbers[name] for name in names]
        shape = tuple(self.n_states[i] for i in targets)
        require_joint(shape, findings.n_rows, self.limit)
        return (*self.tables.joint(findings.numbered(self.numbers), targets), EXACT)

    def total(self, findings: Findings[str]) -> tuple[Array, Account]:
        """Return the log of the sum over all that is unknown, row by row."""
        return self.tables.total(findings.numbered(self.numbers)), EXACT

    def best(
        self, findings: Findings[str], names: Sequence[str]
    ) -> tuple[dict[str, NDArray[np.intp]], Array, Account]:
        """Return the most probable states of some variables jointly, and their log total."""
        targets = [self.numbers[name] for name in names]
        states, total = self.tables.best(findings.numbered(self.numbers), targets)
        return {name: states[:, self.numbers[name]] for name in names}, total, EXACT

    def draws(
        self, findings: Findings[str], n_draws: int, rng: Generator
    ) -> tuple[dict[str, NDArray[np.intp]], Array]:
        """Return random states given each row, (n_rows, n_draws) by name, and log totals."""
        states, total = self.tables.draws(findings.numbered(self.numbers), n_draws, rng)
        return {name: states[:, :, number] for name, number in self.numbers.items()}, total

    def repeated(self, name: str, states: Mapping[str, int]) -> Array | None:
        """Return the distribution of one variable given states, if its plan is kept."""
        numbers = self.numbers
        known = sorted([(numbers[other], state) for other, state in states.items()])
        return self.tables.repeated(numbers[name], known)

    def conflict(self, findings: Findings[str]) -> list[str]:
        """Return the names of a smallest part of one row of findings that is impossible."""
        found = conflict(self.tables, findings.numbered(self.numbers))
        return [name for name, number in self.numbers.items() if number in found]

    def report(self, names: Sequence[str], observed: Sequence[str]) -> PlanReport:
        """Return what exact marginals of some variables would cost given others."""
        known = tuple(sorted(self.numbers[name] for name in observed))
        targets = tuple(i for i in (self.numbers[n] for n in names) if i not in known)
        made = self.tables.outline(Question("marginals", targets, known))
        fits = made.bytes <= self.limit
        return PlanReport(made.width, made.cells, made.bytes, made.seconds, fits)


class NumberedEngine(ExactEngine, Protocol):
    """Exact answers about named variables that have numbers in a problem of tables."""

    @property
    def numbers(self) -> Mapping[str, int]:
        """Number of each named variable."""
        ...

    @property
    def n_states(self) -> tuple[int, ...]:
        """Number of states of each numbered variable."""
        ...

    @property
    def limit(self) -> float:
        """Bytes that a plan or a joint answer may take."""
        ...

    @property
    def tables(self) -> TableInference:
        """Exact inference about numbered variables."""
        ...


@dataclass(frozen=True, eq=False)
class TableApproximation:
    """Approximate answers about named variables of a problem, row by row.

    Rows that are impossible are NaN, or have state -1, and their log total is minus infinity;
    every engine shows that in its own way, and none takes it for granted.

    Attributes
    ----------
    exact
        Exact answers to the same questions; what fits of them is used.
    has_arrows
        Whether draws are better made along the arrows of a network than by Gibbs chains.
    engine
        The engine that was asked for; None for the one whose error is best known.
    error
        Why there is no exact answer, if that was sought.
    """

    exact: NumberedEngine
    has_arrows: bool = False
    engine: Any = None
    error: InferenceTooLarge | NoExactAnswer | None = None

    problem: ClassVar[type | None] = None

    @property
    def questions(self) -> tuple[str, ...]:
        """What it answers where nothing is exact."""
        return ("marginals", "total", "mode", *(() if self.has_arrows else ("draws",)))

    def note(self, question: str) -> str:
        """Return what to say where it answers in place of a plan that does not fit."""
        is_draw = question == "draws"
        return "draws come from Gibbs chains" if is_draw else "the answer is approximate"

    def by(self, engine: Any) -> Self:
        """Return the answers by an engine that was asked for."""
        return replace(self, engine=engine)

    def after(self, error: InferenceTooLarge | NoExactAnswer) -> Self:
        """Return the answers where exact ones were refused."""
        return replace(self, error=error)

    def marginals(
        self, findings: Findings[str], names: Sequence[str]
    ) -> tuple[dict[str, Array], Array, Account]:
        """Return marginals by name, log totals and the account.

        The log total is NaN where Gibbs draws answered, which do not tell it.
        """
        rows = [self._approximate(row) for row in self._rows(findings)]
        probability = {
            name: np.array([self._marginal(found, i) for found in rows]).reshape(-1, self._n(i))
            for name, i in self._numbered(names)
        }
        total = np.array([found.log_evidence for found in rows])
        return probability, total, _worst([found.account for found in rows])

    def joint(
        self, findings: Findings[str], names: Sequence[str]
    ) -> tuple[Array, Array, Account]:
        """Return the joint table of the targets, (n_rows, *n_states), log totals, the account.

        An approximate engine knows single variables only; its joint table is the product of
        the first target's marginal and the others' given each of its states.
        """
        targets = tuple(i for _, i in self._numbered(names))
        shape = tuple(self._n(i) for i in targets)
        require_joint(shape, findings.n_rows, self.exact.limit)
        if prod(shape[:-1]) > MOST_RUNS:
            raise ValueError(
                f"the joint table of an approximate answer must take at most {MOST_RUNS} runs; "
                f"found {prod(shape[:-1])} for targets with {shape} states. Ask for fewer "
                "variables at once."
            )
        rows = [self._chained(row, targets) for row in self._rows(findings)]
        table = np.array([found for found, _, _ in rows]).reshape(findings.n_rows, *shape)
        total = np.array([log_total for _, log_total, _ in rows])
        return table, total, _worst([account for _, _, account in rows])

    def total(self, findings: Findings[str]) -> tuple[Array, Account]:
        """Return the log of the sum of the density over the unknown variables, row by row."""
        rows = [self._total(row) for row in self._rows(findings)]
        return np.array([total for total, _ in rows]), _worst([account for _, account in rows])

    def best(
        self, findings: Findings[str], names: Sequence[str]
    ) -> tuple[dict[str, NDArray[np.intp]], Array, Account]:
        """Return probable states of all unknown variables; a cut of a graph may be exact.

        Raises
        ------
        InferenceTooLarge
            If no plan fits and variables are to be summed out, which only a plan can do.
        """
        n_summed_out = self._summed_out(findings, names)
        if n_summed_out and isinstance(self.error, InferenceTooLarge):
            raise self.error.advising(
                "Ask for the states of all unknown variables together, which may be "
                'approximate, or allow more with net.within(memory="16GB").'
            )
        _check_whole(n_summed_out)
        states, total, account = self._modes(findings.numbered(self.exact.numbers))
        return {name: states[:, i] for name, i in self._numbered(names)}, total, account

    def draws(
        self, findings: Findings[str], n_draws: int, rng: Generator
    ) -> tuple[dict[str, NDArray[np.intp]], Array]:
        """Return states of Gibbs chains given each row, and zeros where they are possible."""
        numbers = self.exact.numbers
        states = gibbs_draws_given(self._problem, findings.numbered(numbers), n_draws, rng)
        by_name = {name: states[:, :, number] for name, number in numbers.items()}
        return by_name, np.where((states == MISSING).any(axis=(1, 2)), -np.inf, 0.0)

    def report(self, names: Sequence[str], observed: Sequence[str]) -> PlanReport:
        """Return what exact marginals would cost: approximate ones are made in their place."""
        return self.exact.report(names, observed)

    @property
    def _problem(self) -> FactorProblem:
        return self.exact.tables.problem

    @property
    def _auxiliary(self) -> frozenset[int]:
        """Variables that compact tables brought along and no question names."""
        every = frozenset(range(len(self.exact.n_states)))
        return every.difference(self.exact.numbers.values())

    def _numbered(self, names: Sequence[str]) -> list[tuple[str, int]]:
        return [(name, self.exact.numbers[name]) for name in names]

    def _rows(self, findings: Findings[str]) -> list[Findings[int]]:
        numbered = findings.numbered(self.exact.numbers)
        return [numbered.row(i) for i in range(numbered.n_rows)]

    def _modes(self, findings: Findings[int]) -> tuple[NDArray[np.intp], Array, Account]:
        """Return the states that engines without a plan find, row by row."""
        shape = (findings.n_rows, len(self.exact.n_states))
        states, accounts = np.full(shape, MISSING, dtype=np.intp), []
        log_density = np.full(findings.n_rows, -np.inf)
        for at in range(findings.n_rows):
            found, account = self._mode(findings.row(at))
            accounts.append(account)
            if found is not None:
                states[at], log_density[at] = found.states, found.log_density
        if not self._auxiliary:
            return states, log_density, _worst(accounts)
        return self._without_auxiliary(findings, states, log_density, _worst(accounts))

    def _without_auxiliary(
        self,
        findings: Findings[int],
        states: NDArray[np.intp],
        log_density: Array,
        account: Account,
    ) -> tuple[NDArray[np.intp], Array, Account]:
        """Return the log totals of the named states, auxiliary ones summed out.

        Engines take auxiliary variables at their best, so that even a cut is not exact.
        """
        rough = Account(account.method, False, float("nan"), "unknown")
        states[:, list(self._auxiliary)] = MISSING
        codes = {i: states[:, i] for i in self.exact.numbers.values()}
        with suppress(InferenceTooLarge):
            known = self.exact.tables.total(replace(findings, codes=codes))
            log_density = np.where(np.isneginf(log_density), log_density, known)
        return states, log_density, rough

    def _summed_out(self, findings: Findings[str], names: Sequence[str]) -> int:
        """Return how many variables are neither asked for nor given in some row."""
        known = {name for name, codes in findings.codes.items() if np.all(codes != MISSING)}
        return len(self.exact.numbers.keys() - known - set(names))

    def _n(self, variable: int) -> int:
        return self.exact.n_states[variable]

    def _total(self, row: Findings[int]) -> tuple[float, Account]:
        """Return the log total of one row."""
        return approximate_total(_clamped(self._problem, row), row.stream(), self.engine)

    def _mode(self, row: Findings[int]) -> tuple[Assignment | None, Account]:
        """Return a probable joint state of one row, with the states that are given."""
        problem = _clamped(self._problem, row)
        found, account = approximate_mode(problem, row.stream(), self.engine)
        if found is None:
            return None, account
        known = states_of(row)
        states = found.states.copy()
        states[list(known)] = list(known.values())
        return replace(found, states=states), account

    def _approximate(self, row: Findings[int]) -> Inference:
        """Return what an engine found for one row, certain of the states that are given."""
        found = approximate(_clamped(self._problem, row), row.stream(), self.engine)
        if found.posterior is None:
            return found
        share = list(found.posterior.probability)
        for i, state in states_of(row).items():
            share[i] = np.eye(self._n(i))[state]
        return replace(found, posterior=TableMarginals(tuple(share)))

    def _marginal(self, found: Inference, variable: int) -> Array:
        if found.posterior is None:
            return np.full(self._n(variable), np.nan)
        return np.asarray(found.posterior.probability[variable])

    def _chained(
        self, row: Findings[int], targets: tuple[int, ...]
    ) -> tuple[Array, float, Account]:
        """Return the joint table of one row, its log total and the account."""
        first, rest = targets[0], targets[1:]
        found = self._approximate(row)
        share, account = self._marginal(found, first), found.account
        shape = (self._n(first), *(self._n(i) for i in rest))
        if found.posterior is None:
            return np.full(shape, np.nan), found.log_evidence, account
        if not rest:
            return share, found.log_evidence, account
        table = np.zeros(shape)
        for state in np.flatnonzero(share > 0):
            more = replace(row, codes={**row.codes, first: np.array([state])})
            part, log_total, other = self._chained(more, rest)
            account = account.worse(other)
            # A state that a rough marginal takes for possible may turn out not to be.
            if log_total != -np.inf:
                table[state] = share[state] * part
        if not table.any():
            return np.full(shape, np.nan), float("-inf"), account
        return table / table.sum(), found.log_evidence, account


def require_joint(shape: Sequence[int], n_rows: int, limit: float) -> None:
    """Refuse a joint answer that is too large, with the labels that it is read by.

    Raises
    ------
    AnswerTooLarge
        If it needs more than ``limit`` bytes.
    MemoryWithheld
        If it needs more than the system lets the process take.
    """
    needed = joint_bytes(shape, n_rows)
    if needed > max(limit, SMALL_ANSWER):
        raise AnswerTooLarge(len(shape) - 1, prod(shape), needed, limit)
    require_memory("a joint table", needed)


def joint_bytes(shape: Sequence[int], n_rows: int) -> int:
    """Return the memory of a joint answer: its cells, two copies of them, and their labels.

    Labels of a joint state are one code per variable, of as many bytes as its states need.

    Examples
    --------
    >>> joint_bytes((2, 2, 300), n_rows=1)
    33600
    """
    codes = sum(np.min_scalar_type(-n).itemsize for n in shape)
    return prod(shape) * (24 * n_rows + codes)


def approximate(problem: FactorProblem, rng: Generator, engine: Any | None = None) -> Inference:
    """Return marginals by an engine, or by the one whose error is best known.

    The posterior is None, and the log evidence minus infinity, if nothing is possible.
    """
    try:
        by, found = _marginals(problem, rng) if engine is None else _run(engine, problem, rng)
    except NoPossibleState:
        return Inference(None, float("-inf"), "exact", account=PROVEN_IMPOSSIBLE)
    if hasattr(by, "caution") and (caution := by.caution(problem, found.posterior)):
        warn_user(caution, ApproximationWarning)
    return found


def approximate_total(
    problem: FactorProblem, rng: Generator, engine: Any | None = None
) -> tuple[float, Account]:
    """Return the log partition; its error is another than that of marginals."""
    try:
        _, found = _total(problem, rng) if engine is None else _run(engine, problem, rng)
    except NoPossibleState:
        return float("-inf"), PROVEN_IMPOSSIBLE
    kind = TOTAL_KINDS.get(found.evidence_method, "Bethe approximation")
    error = getattr(found.posterior, "log_partition_error", 0.0 if kind == "exact" else np.nan)
    return found.log_evidence, replace(found.account, error=float(error), error_kind=kind)


def approximate_mode(
    problem: FactorProblem, rng: Generator, engine: Any | None = None
) -> tuple[Assignment | None, Account]:
    """Return a joint state of high density, the highest where a cut of a graph finds it.

    None if every joint state is impossible.
    """
    try:
        found = _mode(problem, rng) if engine is None else _quietly(engine, problem, rng)
    except NoPossibleState:
        return None, PROVEN_IMPOSSIBLE
    return found.posterior, found.account


def _worst(accounts: Sequence[Account]) -> Account:
    """Return the account of all rows; those that were proven impossible do not count."""
    return worst(
        [account for account in accounts if account.method != PROVEN_IMPOSSIBLE.method]
        or accounts
    )


def _check_whole(n_summed_out: int) -> None:
    """Refuse a mode of some variables with others summed out, which only a plan can find."""
    if n_summed_out:
        raise ValueError(
            "an approximate most probable state must be of all variables that are not given; "
            f"found {n_summed_out} to be summed out. Ask for all, or pass "
            'method="exact".'
        )


def states_of(row: Findings[int]) -> dict[int, int]:
    """Return the states that a single row gives."""
    return {i: int(codes[0]) for i, codes in row.codes.items() if codes[0] != MISSING}


def _clamped(problem: FactorProblem, row: Findings[int]) -> FactorProblem:
    likelihood = {i: table[:, 0] for i, table in row.likelihood.items()}
    return problem.weighted(likelihood).given(states_of(row))


def _mode(problem: FactorProblem, rng: Generator) -> Inference:
    """Return the cut, or where there is none the densest state that some engine finds."""
    try:
        return _quietly(GraphCut(), problem, rng)
    except NotSubmodular:
        found = [_quietly(engine, problem, rng) for engine in MODES]
    return max(found, key=lambda one: float(one.posterior.log_density))


def _run(engine: Any, problem: FactorProblem, rng: Generator) -> tuple[Any, Inference]:
    """Run an engine that was asked for, and say in its terms if it does not settle."""
    found = _quietly(engine, problem, rng)
    if not found.status.has_converged:
        kind, error = found.error_kind, found.error
        worth = "That is how far off it may be" if "standard" in kind else "Do not rely on it"
        warn_user(
            f"an answer by {title_of(engine)} must settle; found a {kind} of {error:.2g} after "
            f"all steps that it may take. {worth}, or ask again with another method.",
            ConvergenceWarning,
        )
    return engine, found


def _marginals(problem: FactorProblem, rng: Generator) -> tuple[Any, Inference]:
    """Return the marginals whose error is best known, and the engine that found them.

    Draws guided by messages have a standard error where enough of them count. Messages alone
    settle without telling how far off they are; chains of draws are the last resort.
    """
    drawn = _guided(problem, rng)
    if drawn is not None and _worth(drawn) >= ENOUGH_DRAWS:
        return GUIDED, drawn
    for engine in (MESSAGES, TableGibbs()):
        found = _quietly(engine, problem, rng)
        if found.status.has_converged:
            break
    return engine, found


def _total(problem: FactorProblem, rng: Generator) -> tuple[Any, Inference]:
    """Return the log partition whose error is best known, and the engine that found it."""
    drawn = _guided(problem, rng)
    if drawn is not None and _worth(drawn) >= ENOUGH_FOR_TOTAL:
        return GUIDED, drawn
    found = _quietly(MESSAGES, problem, rng)
    if drawn is None or found.status.has_converged:
        return MESSAGES, found
    return GUIDED, drawn


def _guided(problem: FactorProblem, rng: Generator) -> Inference | None:
    """Return what guided draws tell; None if every one came to a dead end."""
    try:
        return _quietly(GUIDED, problem, rng)
    except ZeroWeights:
        return None


def _worth(drawn: Inference) -> float:
    return drawn.effective_draws or 0.0


def _quietly(engine: Any, problem: FactorProblem, rng: Generator) -> Inference:
    """Run an engine as one of several to try, without a warning if it does not settle."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return run(engine, problem, rng)
