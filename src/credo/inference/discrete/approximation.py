"""Which approximate engine answers about a discrete network, and what its answer is worth."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from credo.inference.discrete.approximate.belief_propagation import LoopyBeliefPropagation
from credo.inference.discrete.approximate.conditional_modes import IteratedConditionalModes
from credo.inference.discrete.approximate.flat_problem import NoPossibleState
from credo.inference.discrete.approximate.gibbs import TableGibbs
from credo.inference.discrete.approximate.graph_cut import GraphCut
from credo.inference.discrete.approximate.importance import TableImportance
from credo.inference.discrete.factor_problem import Assignment, FactorProblem
from credo.inference.engine.engine import ConvergenceWarning, Inference, Status, run
from credo.inference.engine.error import NotSubmodular
from credo.inference.engine.method import Account
from credo.inference.engine.weighted_draws import ZeroWeights
from credo.numerics.array import Array
from credo.numerics.warning import warn_user

__all__ = [
    "PROVEN_IMPOSSIBLE",
    "Approximation",
    "approximate",
    "approximate_mode",
    "approximate_total",
]

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
class Approximation:
    """What an engine found out about one problem.

    Attributes
    ----------
    probability
        Marginal of each variable; None if every joint state is impossible.
    log_total
        Log partition: minus infinity if all is impossible, NaN if the engine gives none.
    account
        How it was found.
    """

    probability: tuple[Array, ...] | None
    log_total: float
    account: Account


def approximate(problem: FactorProblem, engine: Any | None = None) -> Approximation:
    """Return marginals by an engine, or by the one whose error is best known."""
    try:
        by, found = _marginals(problem) if engine is None else _run(engine, problem)
    except NoPossibleState:
        return Approximation(None, float("-inf"), PROVEN_IMPOSSIBLE)
    return Approximation(found.posterior.probability, found.log_evidence, _account(by, found))


def approximate_total(
    problem: FactorProblem, engine: Any | None = None
) -> tuple[float, Account]:
    """Return the log partition; its error is another than that of marginals."""
    try:
        by, found = _total(problem) if engine is None else _run(engine, problem)
    except NoPossibleState:
        return float("-inf"), PROVEN_IMPOSSIBLE
    kind = TOTAL_KINDS.get(found.evidence_method, "Bethe approximation")
    error = getattr(found.posterior, "log_partition_error", 0.0 if kind == "exact" else np.nan)
    account = replace(_account(by, found), error=float(error), error_kind=kind)
    return found.log_evidence, account


def approximate_mode(
    problem: FactorProblem, engine: Any | None = None
) -> tuple[Assignment | None, Account]:
    """Return a joint state of high density, the highest where a cut of a graph finds it.

    None if every joint state is impossible.
    """
    try:
        by, found = _mode(problem) if engine is None else (engine, _quietly(engine, problem))
    except NoPossibleState:
        return None, PROVEN_IMPOSSIBLE
    return found.posterior, _account(by, found)


def _mode(problem: FactorProblem) -> tuple[Any, Inference]:
    """Return the cut, or where there is none the densest state that some engine finds."""
    cut = GraphCut()
    try:
        return cut, _quietly(cut, problem)
    except NotSubmodular:
        found = [(engine, _quietly(engine, problem)) for engine in MODES]
    return max(found, key=lambda pair: float(pair[1].posterior.log_density))


def _run(engine: Any, problem: FactorProblem) -> tuple[Any, Inference]:
    """Run an engine that was asked for, and say in its terms if it does not settle."""
    found = _quietly(engine, problem)
    if found.status is not Status.CONVERGED:
        kind, error = found.posterior.error_kind, found.posterior.error
        worth = "That is how far off it may be" if "standard" in kind else "Do not rely on it"
        warn_user(
            f"an answer by {_title(engine)} must settle; found a {kind} of {error:.2g} after "
            f"all steps that it may take. {worth}, or ask again with another method.",
            ConvergenceWarning,
        )
    return engine, found


def _marginals(problem: FactorProblem) -> tuple[Any, Inference]:
    """Return the marginals whose error is best known, and the engine that found them.

    Draws guided by messages have a standard error where enough of them count. Messages alone
    settle without telling how far off they are; chains of draws are the last resort.
    """
    drawn = _guided(problem)
    if drawn is not None and drawn.posterior.effective_draws >= ENOUGH_DRAWS:
        return GUIDED, drawn
    for engine in (MESSAGES, TableGibbs()):
        found = _quietly(engine, problem)
        if found.status is Status.CONVERGED:
            break
    return engine, found


def _total(problem: FactorProblem) -> tuple[Any, Inference]:
    """Return the log partition whose error is best known, and the engine that found it."""
    drawn = _guided(problem)
    if drawn is not None and drawn.posterior.effective_draws >= ENOUGH_FOR_TOTAL:
        return GUIDED, drawn
    found = _quietly(MESSAGES, problem)
    if drawn is None or found.status is Status.CONVERGED:
        return MESSAGES, found
    return GUIDED, drawn


def _guided(problem: FactorProblem) -> Inference | None:
    """Return what guided draws tell; None if every one came to a dead end."""
    try:
        return _quietly(GUIDED, problem)
    except ZeroWeights:
        return None


def _quietly(engine: Any, problem: FactorProblem) -> Inference:
    """Run an engine as one of several to try, without a warning if it does not settle."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return run(engine, problem)


def _account(engine: Any, found: Inference) -> Account:
    posterior = found.posterior
    is_exact = posterior.error_kind == "exact"
    effective = getattr(posterior, "effective_draws", None)
    return Account(_title(engine), is_exact, posterior.error, posterior.error_kind, effective)


def _title(engine: Any) -> str:
    return str(getattr(engine, "title", type(engine).__name__))
