"""Answers about a discrete network by the best method that fits: exact first, then approximate.

An answer carries an account of how it was found. What is asked by name is done by name;
"auto" is exact wherever a plan fits, whole or in pieces, and says so where it does not: there
that approximate engine answers whose error is best known.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.inference.discrete.approximate.belief_propagation import LoopyBeliefPropagation
from credo.inference.discrete.approximate.conditional_modes import IteratedConditionalModes
from credo.inference.discrete.approximate.flat_problem import NoPossibleState
from credo.inference.discrete.approximate.gibbs import TableGibbs
from credo.inference.discrete.approximate.graph_cut import GraphCut
from credo.inference.discrete.approximate.importance import TableImportance
from credo.inference.discrete.exact_inference import ExactMarginals, TableInference
from credo.inference.discrete.factor_problem import (
    Assignment,
    FactorProblem,
    TableMarginals,
)
from credo.inference.discrete.findings import MISSING, Findings
from credo.inference.engine.engine import (
    Account,
    ConvergenceWarning,
    Inference,
    run,
    worst,
)
from credo.inference.engine.error import (
    AnswerTooLarge,
    InferenceTooLarge,
    NotSubmodular,
    require_memory,
)
from credo.inference.engine.method import (
    ApproximationWarning,
    Method,
    engine_for,
    title_of,
    warn_approximate,
)
from credo.inference.engine.weighted_draws import ZeroWeights
from credo.numerics.array import Array
from credo.numerics.warning import warn_user

__all__ = [
    "PROVEN_IMPOSSIBLE",
    "AutoInference",
    "approximate",
    "approximate_mode",
    "approximate_total",
    "joint_bytes",
    "require_joint",
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
class AutoInference:
    """Questions about one problem, with the method chosen by name or by what fits.

    Rows that are impossible are NaN, or have state -1, and their log total is minus infinity;
    every method shows that in its own way, and none takes it for granted.

    Attributes
    ----------
    exact
        Exact inference.
    auxiliary
        Variables that compact tables brought along and no question names.
    """

    exact: TableInference
    auxiliary: frozenset[int] = frozenset()

    def marginals(
        self, findings: Findings[int], targets: Sequence[int], method: Method = "auto"
    ) -> tuple[ExactMarginals, Account]:
        """Return the marginals of some variables in every row, and how they were found.

        The log total is NaN where Gibbs draws answered, which do not tell it.
        """
        engine = _engine(method, "marginals")
        known = self._exactly(lambda: self.exact.marginals(findings, targets), method)
        if known is not None:
            return known, Account()
        rows = [self._approximate(row, engine) for row in _rows(findings)]
        probability = {
            i: np.array([self._marginal(found, i) for found in rows]).reshape(-1, self._n(i))
            for i in targets
        }
        total = np.array([found.log_evidence for found in rows])
        return ExactMarginals(probability, total), _worst([found.account for found in rows])

    def joint(
        self, findings: Findings[int], targets: Sequence[int], method: Method = "auto"
    ) -> tuple[Array, Array, Account]:
        """Return the joint table of the targets, (n_rows, *n_states), log totals, the account.

        An approximate engine knows single variables only; its joint table is the product of
        the first target's marginal and the others' given each of its states.
        """
        engine = _engine(method, "marginals")
        shape = tuple(self._n(i) for i in targets)
        require_joint(shape, findings.n_rows, self.exact.limit)
        known = self._exactly(lambda: self.exact.joint(findings, targets), method)
        if known is not None:
            return (*known, Account())
        if prod(shape[:-1]) > MOST_RUNS:
            raise ValueError(
                f"the joint table of an approximate answer must take at most {MOST_RUNS} runs; "
                f"found {prod(shape[:-1])} for targets with {shape} states. Ask for fewer "
                "variables at once."
            )
        rows = [self._chained(row, tuple(targets), engine) for row in _rows(findings)]
        table = np.array([found for found, _, _ in rows]).reshape(findings.n_rows, *shape)
        total = np.array([log_total for _, log_total, _ in rows])
        return table, total, _worst([account for _, _, account in rows])

    def total(self, findings: Findings[int], method: Method = "auto") -> tuple[Array, Account]:
        """Return the log of the sum of the density over the unknown variables, row by row."""
        engine = _engine(method, "total")
        known = self._exactly(lambda: self.exact.total(findings), method)
        if known is not None:
            return known, Account()
        problem = self.exact.problem
        rows = [
            approximate_total(_clamped(problem, row), row.stream(), engine)
            for row in _rows(findings)
        ]
        return np.array([total for total, _ in rows]), _worst([account for _, account in rows])

    def best(
        self, findings: Findings[int], targets: Sequence[int], method: Method = "auto"
    ) -> tuple[NDArray[np.intp], Array, Account]:
        """Return the most probable states of the targets, (n_rows, n_variables).

        Where no plan fits, a cut of a graph may still find them exactly.

        Raises
        ------
        InferenceTooLarge
            If no plan fits and variables are to be summed out, which only a plan can do.
        """
        engine = _engine(method, "mode")
        if engine is not None:
            _check_whole(self._summed_out(findings, targets))
            return self._modes(findings, engine)
        try:
            return (*self.exact.best(findings, targets), Account())
        except InferenceTooLarge as error:
            if method == "exact":
                raise
            if self._summed_out(findings, targets):
                raise error.advising(
                    "Ask for the states of all unknown variables together, which may be "
                    'approximate, or allow more with net.within(memory="16GB").'
                ) from error
            found = self._modes(findings)
            if not found[2].is_exact:
                _warn(error)
            return found

    def _modes(
        self, findings: Findings[int], engine: Any | None = None
    ) -> tuple[NDArray[np.intp], Array, Account]:
        """Return the states that engines without a plan find, row by row."""
        shape = (findings.n_rows, len(self.exact.problem.n_states))
        states, accounts = np.full(shape, MISSING, dtype=np.intp), []
        log_density = np.full(findings.n_rows, -np.inf)
        for at, row in enumerate(_rows(findings)):
            problem = _clamped(self.exact.problem, row)
            found, account = approximate_mode(problem, row.stream(), engine)
            accounts.append(account)
            if found is not None:
                states[at] = found.states
                known = _states_of(row)
                states[at, list(known)] = list(known.values())
                log_density[at] = found.log_density
        if not self.auxiliary:
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
        states[:, list(self.auxiliary)] = MISSING
        named = [i for i in range(states.shape[1]) if i not in self.auxiliary]
        codes = {i: states[:, i] for i in named}
        with suppress(InferenceTooLarge):
            known = self.exact.total(replace(findings, codes=codes))
            log_density = np.where(np.isneginf(log_density), log_density, known)
        return states, log_density, rough

    def _summed_out(self, findings: Findings[int], targets: Sequence[int]) -> int:
        """Return how many variables are neither asked for nor given in some row."""
        known = {i for i, codes in findings.codes.items() if np.all(codes != MISSING)}
        named = set(range(len(self.exact.problem.n_states))) - self.auxiliary
        return len(named - known - set(targets))

    def _n(self, variable: int) -> int:
        return self.exact.problem.n_states[variable]

    @staticmethod
    def _exactly(answer: Callable[[], Any], method: Method) -> Any:
        """Return the exact answer, or None if the method is another or it does not fit."""
        if method != "auto" and method != "exact":
            return None
        try:
            return answer()
        except InferenceTooLarge as error:
            if method == "exact":
                raise
            _warn(error)
            return None

    def _approximate(self, row: Findings[int], engine: Any | None) -> Inference:
        """Return what an engine found for one row, certain of the states that are given."""
        found = approximate(_clamped(self.exact.problem, row), row.stream(), engine)
        if found.posterior is None:
            return found
        share = list(found.posterior.probability)
        for i, state in _states_of(row).items():
            share[i] = np.eye(self._n(i))[state]
        return replace(found, posterior=TableMarginals(tuple(share)))

    def _marginal(self, found: Inference, variable: int) -> Array:
        if found.posterior is None:
            return np.full(self._n(variable), np.nan)
        return np.asarray(found.posterior.probability[variable])

    def _chained(
        self, row: Findings[int], targets: tuple[int, ...], engine: Any | None
    ) -> tuple[Array, float, Account]:
        """Return the joint table of one row, its log total and the account."""
        first, rest = targets[0], targets[1:]
        found = self._approximate(row, engine)
        share, account = self._marginal(found, first), found.account
        shape = (self._n(first), *(self._n(i) for i in rest))
        if found.posterior is None:
            return np.full(shape, np.nan), found.log_evidence, account
        if not rest:
            return share, found.log_evidence, account
        table = np.zeros(shape)
        for state in np.flatnonzero(share > 0):
            more = replace(row, codes={**row.codes, first: np.array([state])})
            part, log_total, other = self._chained(more, rest, engine)
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


def _warn(error: InferenceTooLarge) -> None:
    warn_approximate(f"the answer is approximate: {error.excess}")


def _worst(accounts: Sequence[Account]) -> Account:
    """Return the account of all rows; those that were proven impossible do not count."""
    return worst(
        [account for account in accounts if account.method != PROVEN_IMPOSSIBLE.method]
        or accounts
    )


def _engine(method: Method, question: str) -> Any | None:
    return engine_for(method, question, None, "tables without arrows")


def _check_whole(n_summed_out: int) -> None:
    """Refuse a mode of some variables with others summed out, which only a plan can find."""
    if n_summed_out:
        raise ValueError(
            "an approximate most probable state must be of all variables that are not given; "
            f"found {n_summed_out} to be summed out. Ask for all, or pass "
            'method="exact".'
        )


def _rows(findings: Findings[int]) -> list[Findings[int]]:
    return [findings.row(i) for i in range(findings.n_rows)]


def _states_of(row: Findings[int]) -> dict[int, int]:
    return {i: int(codes[0]) for i, codes in row.codes.items() if codes[0] != MISSING}


def _clamped(problem: FactorProblem, row: Findings[int]) -> FactorProblem:
    likelihood = {i: table[:, 0] for i, table in row.likelihood.items()}
    return problem.weighted(likelihood).given(_states_of(row))


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
