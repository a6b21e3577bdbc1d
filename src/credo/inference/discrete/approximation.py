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
from credo.inference.discrete.approximate.graph_cut import graph_cut
from credo.inference.discrete.approximate.importance import TableImportance
from credo.inference.discrete.approximate.mean_field import TableMeanField
from credo.inference.discrete.factor_problem import Assignment, FactorProblem
from credo.inference.engine.account import Account
from credo.inference.engine.engine import ConvergenceWarning, Inference, Status, run
from credo.inference.engine.error import NotSubmodular
from credo.inference.engine.weighted_draws import ZeroWeights
from credo.numerics.array import Array
from credo.numerics.warning import warn_user

__all__ = [
    "APPROXIMATE_METHODS",
    "MODE_METHODS",
    "PROVEN_IMPOSSIBLE",
    "Approximation",
    "approximate",
    "approximate_mode",
    "approximate_total",
]

ENGINES: dict[str, tuple[str, Any]] = {
    "importance": ("importance sampling guided by messages", TableImportance()),
    "belief_propagation": ("loopy belief propagation", LoopyBeliefPropagation()),
    "mean_field": ("mean field", TableMeanField()),
    "gibbs": ("Gibbs sampling", TableGibbs()),
}

MODE_ENGINES: dict[str, tuple[str, Any]] = {
    "belief_propagation": ("max-product belief propagation", LoopyBeliefPropagation("max")),
    "conditional_modes": ("iterated conditional modes", IteratedConditionalModes()),
}

APPROXIMATE_METHODS = tuple(ENGINES)
MODE_METHODS = ("max_flow", *MODE_ENGINES)

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


def approximate(problem: FactorProblem, method: str = "auto") -> Approximation:
    """Return marginals by an engine chosen by name, or by "auto" the one known best."""
    try:
        by, found = _marginals(problem) if method == "auto" else _run(method, problem)
    except NoPossibleState:
        return Approximation(None, float("-inf"), PROVEN_IMPOSSIBLE)
    return Approximation(found.posterior.probability, found.log_evidence, _account(by, found))


def approximate_total(problem: FactorProblem, method: str = "auto") -> tuple[float, Account]:
    """Return the log partition; its error is another than that of marginals.

    Raises
    ------
    ValueError
        If asked of Gibbs draws, which have no weights to tell it.
    """
    if method == "gibbs":
        raise ValueError(
            "a log partition must come from a method that sums or weighs states; found "
            'method="gibbs", whose draws tell marginals only. Use "importance", or leave '
            "method out."
        )
    try:
        by, found = _total(problem) if method == "auto" else _run(method, problem)
    except NoPossibleState:
        return float("-inf"), PROVEN_IMPOSSIBLE
    kind = TOTAL_KINDS.get(found.evidence_method, "Bethe approximation")
    error = getattr(found.posterior, "log_partition_error", 0.0 if kind == "exact" else np.nan)
    account = replace(_account(by, found), error=float(error), error_kind=kind)
    return found.log_evidence, account


def approximate_mode(
    problem: FactorProblem, method: str = "auto"
) -> tuple[Assignment | None, Account]:
    """Return a joint state of high density, the highest where a cut of a graph finds it.

    None if every joint state is impossible.
    """
    try:
        return _mode(problem, method)
    except NoPossibleState:
        return None, PROVEN_IMPOSSIBLE


def _mode(problem: FactorProblem, method: str) -> tuple[Assignment, Account]:
    if method in ("auto", "max_flow"):
        try:
            return graph_cut(problem), Account("max-flow")
        except NotSubmodular:
            if method == "max_flow":
                raise
    names = [method] if method in MODE_ENGINES else list(MODE_ENGINES)
    found = {name: _quietly(MODE_ENGINES[name][1], problem).posterior for name in names}
    best = max(found, key=lambda name: float(found[name].log_density))
    return found[best], Account(MODE_ENGINES[best][0], False, float("nan"), "unknown")


def _run(method: str, problem: FactorProblem) -> tuple[str, Inference]:
    """Run an engine that was asked for by name, and say in its terms if it does not settle."""
    name, engine = ENGINES[method]
    found = _quietly(engine, problem)
    if found.status is not Status.CONVERGED:
        kind, error = found.posterior.error_kind, found.posterior.error
        worth = "That is how far off it may be" if "standard" in kind else "Do not rely on it"
        warn_user(
            f"an answer by {name} must settle; found a {kind} of {error:.2g} after all steps "
            f"that it may take. {worth}, or ask again with another method.",
            ConvergenceWarning,
        )
    return method, found


def _marginals(problem: FactorProblem) -> tuple[str, Inference]:
    """Return the marginals whose error is best known, and the method that found them.

    Draws guided by messages have a standard error where enough of them count. Messages alone
    settle without telling how far off they are; chains of draws are the last resort.
    """
    drawn = _guided(problem)
    if drawn is not None and drawn.posterior.effective_draws >= ENOUGH_DRAWS:
        return "importance", drawn
    for method in ("belief_propagation", "gibbs"):
        found = _quietly(ENGINES[method][1], problem)
        if found.status is Status.CONVERGED:
            break
    return method, found


def _total(problem: FactorProblem) -> tuple[str, Inference]:
    """Return the log partition whose error is best known, and the method that found it."""
    drawn = _guided(problem)
    if drawn is not None and drawn.posterior.effective_draws >= ENOUGH_FOR_TOTAL:
        return "importance", drawn
    found = _quietly(ENGINES["belief_propagation"][1], problem)
    if drawn is None or found.status is Status.CONVERGED:
        return "belief_propagation", found
    return "importance", drawn


def _guided(problem: FactorProblem) -> Inference | None:
    """Return what guided draws tell; None if every one came to a dead end."""
    try:
        return _quietly(ENGINES["importance"][1], problem)
    except ZeroWeights:
        return None


def _quietly(engine: Any, problem: FactorProblem) -> Inference:
    """Run an engine as one of several to try, without a warning if it does not settle."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return run(engine, problem)


def _account(method: str, found: Inference) -> Account:
    posterior = found.posterior
    is_exact = posterior.error_kind == "exact"
    effective = getattr(posterior, "effective_draws", None)
    name = ENGINES[method][0]
    return Account(name, is_exact, posterior.error, posterior.error_kind, effective)
