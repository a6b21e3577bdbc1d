"""Answers about a discrete network by the best method that fits: exact first, then approximate.

An answer carries an account of how it was found. What is asked by name is done by name;
"auto" is exact wherever a plan fits, whole or in pieces, and says so where it does not.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from credo.inference.belief_propagation import LoopyBeliefPropagation
from credo.inference.conditional_modes import IteratedConditionalModes
from credo.inference.engine import ConvergenceWarning, Inference, Status, run
from credo.inference.factor_problem import Assignment, FactorProblem
from credo.inference.graph_cut import NotSubmodular, graph_cut
from credo.inference.mean_field import TableMeanField
from credo.inference.table_findings import MISSING, TableFindings
from credo.inference.table_gibbs import TableGibbs
from credo.inference.table_importance import TableImportance
from credo.inference.table_inference import ExactMarginals, TableInference
from credo.inference.table_plan_error import AnswerTooLarge, InferenceTooLarge
from credo.inference.weighted_draws import ZeroWeights
from credo.numerics.array import Array

__all__ = ["METHODS", "Account", "ApproximationWarning", "TableLadder"]

ENGINES: dict[str, tuple[str, Any]] = {
    "importance": ("importance sampling guided by messages", TableImportance()),
    "belief_propagation": ("loopy belief propagation", LoopyBeliefPropagation()),
    "mean_field": ("mean field", TableMeanField()),
    "gibbs": ("Gibbs sampling", TableGibbs()),
}

METHODS = ("auto", "exact", *ENGINES)
MODE_METHODS = ("auto", "exact", "max_flow", "belief_propagation", "conditional_modes")

NAMES = {
    "belief_propagation": "max-product belief propagation",
    "conditional_modes": "iterated conditional modes",
}

ENOUGH_DRAWS = 1000
"""Effective draws from which the standard error of weighted draws is believed."""

MOST_RUNS = 256
"""Runs of an approximate engine that one joint table may take."""


class ApproximationWarning(UserWarning):
    """An answer is approximate because an exact one does not fit."""


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
    """

    method: str = "exact"
    is_exact: bool = True
    error: float = 0.0
    error_kind: str = "exact"
    effective_draws: float | None = None

    def attrs(self) -> dict[Hashable, Any]:
        """Return the account as attributes of a labelled answer, without what is None."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def worse(self, other: Account) -> Account:
        """Return the account of two answers taken together."""
        mine, theirs = (not self.is_exact, self.error), (not other.is_exact, other.error)
        return other if theirs > mine else self


@dataclass(frozen=True, eq=False)
class TableLadder:
    """Questions about one problem, with the method chosen by name or by what fits."""

    exact: TableInference

    def marginals(
        self, findings: TableFindings, targets: Sequence[int], method: str = "auto"
    ) -> tuple[ExactMarginals, Account]:
        """Return the marginals of some variables in every row, and how they were found."""
        _check(method)
        known = self._exactly(lambda: self.exact.marginals(findings, targets), method)
        if known is not None:
            return known, Account()
        rows = [self._approximate(findings.row(i), method) for i in range(findings.n_rows)]
        probability = {
            i: np.array([_certain(f.posterior.probability[i], findings, row, i, self._n(i))
                         for row, (f, _) in enumerate(rows)])
            for i in targets
        }  # fmt: skip
        total = np.array([found.log_evidence for found, _ in rows])
        return ExactMarginals(probability, total), _worst([account for _, account in rows])

    def joint(
        self, findings: TableFindings, targets: Sequence[int], method: str = "auto"
    ) -> tuple[Array, Array, Account]:
        """Return the joint table of the targets, (n_rows, *n_states), log totals, the account.

        An approximate engine knows single variables only; its joint table is the product of
        the first target's marginal and the others' given each of its states.
        """
        _check(method)
        shape = tuple(self._n(i) for i in targets)
        if 8 * prod(shape) > self.exact.limit:
            raise AnswerTooLarge(len(shape) - 1, prod(shape), 8 * prod(shape), self.exact.limit)
        known = self._exactly(lambda: self.exact.joint(findings, targets), method)
        if known is not None:
            return (*known, Account())
        if prod(shape[:-1]) > MOST_RUNS:
            raise ValueError(
                f"the joint table of an approximate answer must take at most {MOST_RUNS} runs; "
                f"found {prod(shape[:-1])} for targets with {shape} states. Ask for fewer "
                "variables at once."
            )
        tables, accounts = [], []
        for row in range(findings.n_rows):
            table, account = self._chained(findings.row(row), tuple(targets), method)
            tables.append(table)
            accounts.append(account)
        return np.array(tables), np.zeros(findings.n_rows), _worst(accounts)

    def total(self, findings: TableFindings, method: str = "auto") -> tuple[Array, Account]:
        """Return the log of the sum of the density over the unknown variables, row by row."""
        _check(method)
        known = self._exactly(lambda: self.exact.total(findings), method)
        if known is not None:
            return known, Account()
        rows = [self._approximate(findings.row(i), method) for i in range(findings.n_rows)]
        account = _worst([_total_account(found, how) for found, how in rows])
        return np.array([found.log_evidence for found, _ in rows]), account

    def best(
        self, findings: TableFindings, targets: Sequence[int], method: str = "auto"
    ) -> tuple[Any, Array, Account]:
        """Return the most probable states of the targets, (n_rows, n_variables).

        Where no plan fits, a cut of a graph may still find them exactly.
        """
        _check(method, MODE_METHODS)
        if method not in ("auto", "exact"):
            return self._modes(findings, targets, method)
        try:
            return (*self.exact.best(findings, targets), Account())
        except InferenceTooLarge as error:
            if method == "exact":
                raise
            found = self._modes(findings, targets, method)
            if not found[2].is_exact:
                _warn(error)
            return found

    def _modes(
        self, findings: TableFindings, targets: Sequence[int], method: str
    ) -> tuple[Any, Array, Account]:
        """Return the states that engines without a plan find, row by row."""
        _check_whole(self.exact.problem, findings, targets)
        states, log_density, accounts = [], [], []
        for row in range(findings.n_rows):
            problem = _clamped(self.exact.problem, findings.row(row))
            found, account = _mode(problem, method)
            accounts.append(account)
            states.append(_unclamped(found.states, findings, row))
            log_density.append(found.log_density)
        shape = (findings.n_rows, len(self.exact.problem.n_states))
        return np.reshape(states, shape), np.array(log_density), _worst(accounts)

    def _n(self, variable: int) -> int:
        return self.exact.problem.n_states[variable]

    @staticmethod
    def _exactly(answer: Callable[[], Any], method: str) -> Any:
        """Return the exact answer, or None if the method is another or it does not fit."""
        if method not in ("auto", "exact"):
            return None
        try:
            return answer()
        except InferenceTooLarge as error:
            if method == "exact":
                raise
            _warn(error)
            return None

    def _approximate(self, findings: TableFindings, method: str) -> tuple[Inference, Account]:
        """Return what an engine found for one row."""
        problem = _clamped(self.exact.problem, findings)
        if method == "auto":
            return _soundest(problem)
        name, engine = ENGINES[method]
        found = run(engine, problem)
        return found, _account(name, found)

    def _chained(
        self, findings: TableFindings, targets: tuple[int, ...], method: str
    ) -> tuple[Array, Account]:
        first, rest = targets[0], targets[1:]
        found, account = self._approximate(findings, method)
        share = _certain(found.posterior.probability[first], findings, 0, first, self._n(first))
        if not rest:
            return share, account
        parts = []
        for state, p in enumerate(share):
            shape = tuple(self._n(i) for i in rest)
            if p <= 0:
                parts.append(np.zeros(shape))
                continue
            more = replace(findings, codes={**findings.codes, first: np.array([state])})
            part, other = self._chained(more, rest, method)
            account = account.worse(other)
            parts.append(p * part)
        return np.array(parts), account


def _warn(error: InferenceTooLarge) -> None:
    warnings.warn(
        f"the answer is approximate: {str(error).split('; found ')[1].split('. ')[0]}. "
        'Pass method="exact" to get an error instead.',
        ApproximationWarning,
        stacklevel=5,
    )


def _check(method: str, methods: Sequence[str] = METHODS) -> None:
    if method not in methods:
        raise ValueError(
            f"method must be one of {list(methods)}; found {method!r}. Leave it out for an "
            "exact answer wherever one fits."
        )


def _check_whole(
    problem: FactorProblem, findings: TableFindings, targets: Sequence[int]
) -> None:
    """Refuse a mode of some variables with others summed out, which only a plan can find."""
    known = {*targets, *findings.codes}
    if len(known) < len(problem.n_states):
        raise ValueError(
            "an approximate most probable state must be of all variables that are not given; "
            f"found {len(problem.n_states) - len(known)} to be summed out. Ask for all, or "
            'pass method="exact".'
        )


def _soundest(problem: FactorProblem) -> tuple[Inference, Account]:
    """Return the answer whose error is best known.

    Draws guided by messages have a standard error where enough of them count. Messages alone
    settle without telling how far off they are; chains of draws are the last resort.
    """
    try:
        found = _quietly(TableImportance(), problem, True)
        if found.posterior.effective_draws >= ENOUGH_DRAWS:
            return found, _account(ENGINES["importance"][0], found)
    except ZeroWeights:
        pass
    for method in ("belief_propagation", "gibbs"):
        name, engine = ENGINES[method]
        found = _quietly(engine, problem, True)
        if found.status is Status.CONVERGED:
            break
    return found, _account(name, found)


def _quietly(engine: Any, problem: FactorProblem, is_fallback: bool) -> Inference:
    """Run an engine; as one of several to try, without a warning if it does not settle."""
    with warnings.catch_warnings():
        if is_fallback:
            warnings.simplefilter("ignore", ConvergenceWarning)
        return run(engine, problem)


def _account(method: str, found: Inference) -> Account:
    posterior = found.posterior
    is_exact = posterior.error_kind == "exact"
    effective = getattr(posterior, "effective_draws", None)
    return Account(method, is_exact, posterior.error, posterior.error_kind, effective)


def _total_account(found: Inference, account: Account) -> Account:
    """Return the account of a log partition, whose error is another than that of marginals."""
    kinds = {"bound": "lower bound", "importance": "standard error", "exact": "exact"}
    kind = kinds.get(found.evidence_method, "Bethe approximation")
    error = getattr(found.posterior, "log_partition_error", 0.0 if kind == "exact" else np.nan)
    return replace(account, error=float(error), error_kind=kind)


def _worst(accounts: Sequence[Account]) -> Account:
    if not accounts:
        return Account()
    worst = accounts[0]
    for account in accounts[1:]:
        worst = worst.worse(account)
    return worst


def _clamped(problem: FactorProblem, findings: TableFindings) -> FactorProblem:
    known = {i: int(c[0]) for i, c in findings.codes.items() if c[0] != MISSING}
    weights = {i: w[:, 0] for i, w in findings.weights.items()}
    return problem.weighted(weights).given(known)


def _certain(
    share: Array, findings: TableFindings, row: int, variable: int, n_states: int
) -> Array:
    """Return a marginal over all states; that of a clamped variable has only one."""
    codes = findings.codes.get(variable)
    if codes is None or codes[row] == MISSING:
        return share
    return np.asarray(np.eye(n_states)[codes[row]])


def _unclamped(states: Any, findings: TableFindings, row: int) -> Any:
    full = np.array(states)
    for i, codes in findings.codes.items():
        if codes[row] != MISSING:
            full[i] = codes[row]
    return full


def _mode(problem: FactorProblem, method: str) -> tuple[Assignment, Account]:
    """Return a joint state of high density, the highest where a cut of a graph finds it."""
    if method in ("auto", "max_flow"):
        try:
            return graph_cut(problem), Account("max-flow")
        except NotSubmodular:
            if method == "max_flow":
                raise
    engines = {
        "belief_propagation": LoopyBeliefPropagation("max"),
        "conditional_modes": IteratedConditionalModes(),
    }
    chosen = {method: engines[method]} if method in engines else engines
    found = {name: _quietly(engine, problem, True).posterior for name, engine in chosen.items()}
    name = max(found, key=lambda key: float(found[key].log_density))
    return found[name], Account(NAMES[name], False, float("nan"), "unknown")
