"""Settings of a sparse Gaussian process: learned from more and more rows.

Settings that are best for some of the rows by the exact process choose the inducing inputs, a
tenth of the rows brings them near the best for all and gives the curvature there, and a few
steps with that curvature on all rows do the rest. Inducing inputs are then chosen anew, and
kept if the bound rises: it never falls.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.inference.kernel.learning import (
    FAILED,
    Learned,
    ProcessProblem,
    Search,
    SettingsSearch,
    best_start,
    climb,
    curvature,
    learn,
    normal_around,
)
from credo.inference.kernel.sparse import SparseProcess
from credo.numerics.array import Array
from credo.numerics.optimize.minimum import Termination
from credo.numerics.optimize.quasi_newton import bfgs

__all__ = ["learn_sparse"]

EXACT_ROWS = 1_000
"""Rows whose exact evidence chooses the first inducing inputs."""

PART, SMALLEST_PART = 10, 2_000
"""All rows have so many parts, of which one is climbed before; and its least size."""

WORTH = 1e-3
"""Rise of the bound, in nats a row, for which settings are learned again with other inputs."""

TOLERANCE = 0.1
"""Rise of the bound, as a share of its mean over rows, that is not worth another step."""


def learn_sparse(
    problem: ProcessProblem, method: SparseProcess, search: SettingsSearch | None = None
) -> tuple[ProcessProblem, Learned]:
    """Return the problem with inducing inputs, and the most probable settings for these.

    Parameters
    ----------
    problem
        What is to be learned.
    method
        How: with inducing inputs that stay, or without them, to choose some.
    """
    rule = search or SettingsSearch()
    if not len(problem.natural):
        placed = _placed(problem, method, problem.natural)
        return placed, learn(placed, rule)
    some = problem.taken(_rows(problem, EXACT_ROWS))
    start = climb(some, best_start(problem), rule.max_steps, 1e-6).free
    placed = _placed(problem, method, start)
    near, hessian = _near(placed, start, rule)
    found = _steps(placed, near, hessian, rule)
    again = _placed(problem, method, found.free)
    if found.value - again.objective(found.free)[0] > WORTH * len(problem.data.x):
        placed, found = again, _steps(again, found.free, hessian, rule)
    return placed, normal_around(placed, found, curvature(placed, found, is_one_sided=True))


def _placed(problem: ProcessProblem, method: SparseProcess, free: Array) -> ProcessProblem:
    """Return the problem with inducing inputs that are best at free numbers, or given."""
    if method.inducing is None:
        kernel, learned = problem.split(free)
        noise = problem.noise
        variance = noise.known + noise.varying(learned, noise.columns)
        method = method.placed(problem.data, kernel, variance / noise.weight)
    return replace(problem, method=method)


def _near(problem: ProcessProblem, start: Array, rule: SettingsSearch) -> tuple[Array, Array]:
    """Return the best settings for a part of the rows, and about the curvature for all."""
    n = len(problem.data.x)
    size = min(n, max(n // PART, SMALLEST_PART))
    part = problem.taken(_rows(problem, size), problem.method)
    found = climb(part, start, rule.max_steps, 1e-6)
    hessian = curvature(part, found, is_one_sided=True) * (n / size)
    # A setting that was at a bound may leave it, by small steps.
    level = np.abs(np.diagonal(hessian))
    return found.free, hessian + np.diag(np.where(level == 0, level.max() or 1.0, 0.0))


def _steps(
    problem: ProcessProblem, start: Array, hessian: Array, rule: SettingsSearch
) -> Search:
    """Return the best settings for all rows, from others that are near."""
    last: dict[str, Any] = {}
    reference = problem.reference

    def value(free: Array) -> float:
        found, last["slope"] = problem.objective(free)
        return float(found - reference)

    rules = Termination(rule.max_steps, TOLERANCE / len(problem.data.x), 0.0, 0.0)
    bounds = problem.bounds.tolist()
    found = bfgs(value, lambda free: last["slope"], start, hessian, bounds, rules)
    value_there = found.value + reference
    if value_there >= FAILED:
        # Say why there is no factor.
        problem.log_evidence(found.x)
    return Search(found.x, value_there, found.gradient, found.status, found.n_steps)


def _rows(problem: ProcessProblem, size: int) -> NDArray[np.intp]:
    """Return the numbers of some rows, or of all if there are no more."""
    return np.sort(np.random.default_rng(0).permutation(len(problem.data.x))[:size])
