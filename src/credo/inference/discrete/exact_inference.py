"""Exact answers about a discrete network, from plans that are compiled once and kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.inference.discrete.exact.plan import (
    PlanCache,
    PlanOutline,
    Question,
    TableAnswer,
    TablePlan,
    outline,
)
from credo.inference.discrete.exact.slicing import SlicedPlan, slice_variables
from credo.inference.discrete.factor_problem import FactorProblem
from credo.inference.discrete.findings import MISSING, Findings, FindingsGroup
from credo.inference.engine.error import require_memory
from credo.numerics.array import Array
from credo.numerics.memory import USUAL_BYTES, spare_bytes

__all__ = ["ExactMarginals", "TableInference"]

MAX_SECONDS = 60.0

SMALL_PLAN = 1 << 16
"""Bytes of a plan that can answer many rows at once under any limit."""

Plan = TablePlan | SlicedPlan


@dataclass(frozen=True, eq=False)
class ExactMarginals:
    """Marginals of single variables, (n_rows, n_states) each, and the log total of each row."""

    probability: dict[int, Array]
    log_total: Array


@dataclass(eq=False)
class TableInference:
    """Answers questions about one problem, keeping the plans of those it was asked lately.

    Attributes
    ----------
    problem
        Tables over coded variables.
    max_bytes
        Memory that a plan may take, and all plans that are kept; 2 GiB by default.
    max_seconds
        Time that a plan in pieces may take for one row.
    """

    problem: FactorProblem
    max_bytes: float | None = None
    max_seconds: float = MAX_SECONDS
    plans: PlanCache[Question, Plan] = field(default_factory=PlanCache)

    @property
    def limit(self) -> float:
        """Memory that a plan may take, and all that are kept, in bytes."""
        return self.max_bytes or USUAL_BYTES

    @property
    def n_bytes(self) -> int:
        """Bytes of the arrays of all plans that are kept."""
        return self.plans.n_bytes

    def outline(self, question: Question) -> PlanOutline:
        """Return the plan of a question by names, with its cost."""
        return outline(self.problem, question)

    def plan(self, question: Question) -> Plan:
        """Return the plan of a question, compiled when first asked for.

        Raises
        ------
        InferenceTooLarge
            If no plan fits the memory, whole or in pieces.
        MemoryWithheld
            If one fits, but not what the system lets the process take.
        """
        known = self.plans.get(question)
        if known is not None:
            return known
        limit = self.limit
        return self.plans.put(question, self._new_plan(question, limit), limit)

    def _new_plan(self, question: Question, limit: float) -> Plan:
        whole = self.outline(question)
        if whole.bytes <= limit:
            require_memory("an exact plan", whole.bytes)
            return TablePlan(whole, _room(whole, limit))
        small, sliced = slice_variables(self.problem, whole, limit, self.max_seconds)
        require_memory("an exact plan", small.bytes)
        n_states = self.problem.n_states
        plan = TablePlan(small, _room(small, limit))
        return SlicedPlan(plan, question, sliced, n_states)

    def marginals(self, findings: Findings[int], targets: Sequence[int]) -> ExactMarginals:
        """Return the marginals of some variables in every row; certain where they are given."""
        n_states = self.problem.n_states
        found = {i: np.empty((findings.n_rows, n_states[i])) for i in targets}
        total = np.empty(findings.n_rows)
        for group in findings.groups(n_states):
            free = tuple(i for i in targets if i not in group.observed)
            plan = self.plan(Question("marginals", free, group.observed, group.weighted))
            answer = plan.run(group.codes, group.stacked_likelihood)
            total[group.rows] = answer.log_total[group.place]
            columns = answer.columns[group.place]
            seen = {scope[0]: at for scope, at in plan.outputs}
            for i in free:
                if i in seen:
                    found[i][group.rows] = columns[:, seen[i] : seen[i] + n_states[i]]
                else:
                    # No table has this variable: nothing tells its states apart.
                    impossible = np.isneginf(total[group.rows])
                    flat = np.where(impossible, np.nan, 1.0 / n_states[i])
                    found[i][group.rows] = flat[:, None]
            self._fill_known(found, total, group)
        return ExactMarginals(found, total)

    def joint(self, findings: Findings[int], targets: Sequence[int]) -> tuple[Array, Array]:
        """Return the joint table of the targets in every row, (n_rows, *n_states).

        The second value is minus infinity in rows that are impossible.
        """
        n_states = self.problem.n_states
        found = np.empty((findings.n_rows, *(n_states[i] for i in targets)))
        total = np.empty(findings.n_rows)
        for group in findings.groups(n_states):
            free = tuple(i for i in targets if i not in group.observed)
            plan = self.plan(Question("joint", free, group.observed, group.weighted))
            answer = plan.run(group.codes, group.stacked_likelihood)
            table = _spread(answer, plan.outputs, free, n_states)
            table = _with_known(table, targets, group, n_states)
            if findings.n_rows == 1:
                return table, answer.log_total
            found[group.rows] = table[group.place]
            total[group.rows] = answer.log_total[group.place]
        return found, total

    def total(self, findings: Findings[int]) -> Array:
        """Return the log of the sum of the density over the unknown variables, row by row."""
        total = np.empty(findings.n_rows)
        for group in findings.groups(self.problem.n_states):
            plan = self.plan(Question("total", (), group.observed, group.weighted))
            answer = plan.run(group.codes, group.stacked_likelihood)
            total[group.rows] = answer.log_total[group.place]
        return total

    def best(
        self, findings: Findings[int], targets: Sequence[int]
    ) -> tuple[NDArray[np.intp], Array]:
        """Return the most probable joint states of the targets, (n_rows, n_variables).

        The other unknown variables are summed out and have state -1. The second value is the
        log of the largest sum, row by row.
        """
        states = np.full((findings.n_rows, len(self.problem.n_states)), MISSING, dtype=np.intp)
        total = np.empty(findings.n_rows)
        for group in findings.groups(self.problem.n_states):
            free = tuple(i for i in targets if i not in group.observed)
            plan = self.plan(Question("best", free, group.observed, group.weighted))
            found, log_total = plan.states(group.codes, group.stacked_likelihood)
            found[..., [i for i in range(found.shape[2]) if i not in targets]] = MISSING
            states[group.rows] = found[group.place, 0]
            total[group.rows] = log_total[group.place]
        return states, total

    def draws(
        self, findings: Findings[int], n_draws: int, rng: Generator
    ) -> tuple[NDArray[np.intp], Array]:
        """Return random joint states given each row, (n_rows, n_draws, n_variables)."""
        n_variables = len(self.problem.n_states)
        states = np.empty((findings.n_rows, n_draws, n_variables), dtype=np.intp)
        total = np.empty(findings.n_rows)
        for group in findings.groups(self.problem.n_states):
            plan = self.plan(Question("draw", (), group.observed, group.weighted))
            likelihood = group.stacked_likelihood
            if likelihood is not None:
                likelihood = likelihood[:, group.place]
            found, log_total = plan.states(
                group.codes[:, group.place], likelihood, rng, n_draws
            )
            states[group.rows], total[group.rows] = found, log_total
        return states, total

    def _fill_known(
        self, found: dict[int, Array], total: Array, group: FindingsGroup[int]
    ) -> None:
        """Put all probability on the state that is given."""
        for at, i in enumerate(group.observed):
            if i in found:
                impossible = np.isneginf(total[group.rows])
                certain = np.eye(self.problem.n_states[i])[group.codes[at, group.place]]
                certain[impossible] = np.nan
                found[i][group.rows] = certain


def _room(made: PlanOutline, limit: float) -> float:
    """Return the memory in which rows may be answered side by side."""
    return limit if made.bytes < SMALL_PLAN else min(limit, spare_bytes())


def _spread(
    answer: TableAnswer,
    outputs: Sequence[tuple[tuple[int, ...], int]],
    targets: tuple[int, ...],
    n_states: Sequence[int],
) -> Array:
    """Return the joint table with one axis per target, flat along those no table mentions."""
    scope = outputs[0][0] if outputs else ()
    n_rows = len(answer.log_total)
    if scope == targets and scope:
        return answer.columns.reshape(n_rows, *(n_states[i] for i in scope))
    # A question about nothing unknown has no output; its table is one where it is possible.
    certain = np.where(np.isneginf(answer.log_total), np.nan, 1.0)
    cells = answer.columns if outputs else certain
    table = cells.reshape(n_rows, *(n_states[i] for i in scope))
    order = [1 + scope.index(i) for i in targets if i in scope]
    shape = [n_states[i] if i in scope else 1 for i in targets]
    full = [n_states[i] for i in targets]
    free = prod(n for i, n in zip(targets, full, strict=True) if i not in scope)
    table = table.transpose(0, *order).reshape(n_rows, *shape) / free
    return np.broadcast_to(table, (n_rows, *full))


def _with_known(
    table: Array, targets: Sequence[int], group: FindingsGroup[int], n_states: Sequence[int]
) -> Array:
    """Return the table with an axis for each target that is given, zero off its state."""
    for axis, i in enumerate(targets, start=1):
        if i in group.observed:
            codes = group.codes[group.observed.index(i)]
            certain = np.eye(n_states[i])[codes]
            shape = [len(codes)] + [1] * table.ndim
            shape[axis] = n_states[i]
            table = np.expand_dims(table, axis) * certain.reshape(shape)
    return table
