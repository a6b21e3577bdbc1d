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

from credo.inference.kernel.learning import (
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

WORTH = 0.5
"""Rise of the bound, in nats, for which settings are learned again with other inputs."""

TOLERANCE = 1e-2
"""Rise of the bound, in nats, that is not worth another step on all rows."""


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
    found = _climbed(placed, start, rule)
    again = _placed(problem, method, found.free)
    if -again.objective(found.free)[0] > -found.value + WORTH:
        placed, found = again, _climbed(again, found.free, rule)
    return placed, normal_around(placed, found, curvature(placed, found, is_one_sided=True))


def _placed(problem: ProcessProblem, method: SparseProcess, free: Array) -> ProcessProblem:
    """Return the problem with inducing inputs that are best at free numbers, or given."""
    if method.inducing is None:
        kernel, learned = problem.split(free)
        noise = problem.noise
        variance = noise.known + noise.varying(learned, noise.columns)
        method = method.placed(problem.data, kernel, variance / noise.weight)
    return replace(problem, method=method)


def _climbed(problem: ProcessProblem, start: Array, rule: SettingsSearch) -> Search:
    """Return the best settings for all rows, by way of those for a part of them."""
    n = len(problem.data.x)
    size = max(n // PART, SMALLEST_PART)
    if n < 2 * size:
        return climb(problem, start, rule.max_steps, TOLERANCE / n)
    part = problem.taken(_rows(problem, size), problem.method)
    near = climb(part, start, rule.max_steps, TOLERANCE / size)
    hessian = curvature(part, near, is_one_sided=True) * (n / size)
    # A setting that was at a bound may leave it, by small steps.
    level = np.abs(np.diagonal(hessian))
    hessian += np.diag(np.where(level == 0, level.max() or 1.0, 0.0))
    last: dict[str, Array] = {}

    def value(free: Array) -> float:
        found, last["slope"] = problem.objective(free)
        return found

    rules = Termination(rule.max_steps, TOLERANCE / n, 0.0, 0.0)
    bounds = problem.bounds.tolist()
    found = bfgs(value, lambda free: last["slope"], near.free, hessian, bounds, rules)
    return Search(found.x, found.value, found.gradient, found.status, found.n_steps)


def _rows(problem: ProcessProblem, size: int) -> Any:
    """Return the numbers of some rows, or of all if there are no more."""
    n = len(problem.data.x)
    return np.sort(np.random.default_rng(0).permutation(n)[:size])
