"""Exact answers about a discrete network, from plans that are compiled once and kept.

Where no plan fits the memory, cutset conditioning fixes some variables at each of their states,
which makes the tables that have them smaller. The pieces are rows of findings for one smaller
plan, and their answers are averaged with their probabilities as weights: exact, at the price of
time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.inference.discrete.exact.plan import (
    Kind,
    PlanCache,
    PlanOutline,
    Question,
    TableAnswer,
    TablePlan,
    elimination_of_whole,
    outline,
)
from credo.inference.discrete.factor_problem import FactorProblem
from credo.inference.engine.error import InferenceTooLarge, require_memory
from credo.inference.engine.findings import MISSING, Findings, FindingsGroup
from credo.numerics.array import Array
from credo.numerics.memory import USUAL_BYTES, spare_bytes

__all__ = ["ExactMarginals", "SlicedPlan", "TableInference", "slice_variables"]

MAX_SECONDS = 60.0

SHORT_SEARCH = 0.25
"""Share of a long search after which an order of elimination is hardly bettered."""

MANY_VARIABLES = 100
"""Variables from which orders of elimination are better sought from one of the whole."""

MANY_ROWS = 100
"""Rows of one question from which on a better order soon repays a long search for it."""

SMALL_PLAN = 1 << 16
"""Bytes of a plan that can answer many rows at once under any limit."""

PIECES_AT_ONCE = 1024

Readout = tuple[tuple[int, ...], int]


@dataclass(frozen=True, eq=False)
class ExactMarginals:
    """Marginals of single variables, (n_rows, n_states) each, and the log total of each row."""

    probability: dict[int, Array]
    log_total: Array


MOST_REFUSED = 1000
"""Questions without a plan that are remembered, so that no order is sought again for them."""


def _again(error: InferenceTooLarge) -> InferenceTooLarge:
    """Return the same error without the frames that it was raised in."""
    return error.advising(error.advice)


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
    plans, refused
        Plans that are kept, and what is known of questions that none fits.
    """

    problem: FactorProblem
    max_bytes: float | None = None
    max_seconds: float = MAX_SECONDS
    plans: PlanCache[Question, Plan] = field(default_factory=PlanCache)
    refused: dict[Question, InferenceTooLarge] = field(default_factory=dict)

    @property
    def limit(self) -> float:
        """Memory that a plan may take, and all that are kept, in bytes."""
        return self.max_bytes or USUAL_BYTES

    @property
    def n_bytes(self) -> int:
        """Bytes of the arrays of all plans that are kept."""
        return self.plans.n_bytes

    def outline(self, question: Question, n_rows: int = 1) -> PlanOutline:
        """Return the plan of a question by names, with its cost.

        The order of elimination of a large problem is sought once: where most of it matters,
        another set of findings starts from it. Where what a short search finds does not fit,
        a long one comes after it; many rows are worth a long one at once.
        """
        if n_rows >= MANY_ROWS:
            return outline(self.problem, question)
        is_large = len(self.problem.n_states) >= MANY_VARIABLES
        whole = (lambda: self._whole_order) if is_large else None
        quick = outline(self.problem, question, SHORT_SEARCH, whole)
        if quick.bytes <= self.limit:
            return quick
        return min(quick, outline(self.problem, question), key=lambda made: made.bytes)

    @cached_property
    def _whole_order(self) -> tuple[int, ...]:
        return elimination_of_whole(self.problem)

    def plan(self, question: Question, n_rows: int = 1) -> Plan:
        """Return the plan of a question, compiled when first asked for.

        Parameters
        ----------
        n_rows
            How many rows ask it now.

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
        if question in self.refused:
            raise _again(self.refused[question])
        limit = self.limit
        try:
            made = self._new_plan(question, n_rows, limit)
        except InferenceTooLarge as error:
            if len(self.refused) < MOST_REFUSED:
                self.refused[question] = _again(error)
            raise
        return self.plans.put(question, made, limit)

    def _plan_for(
        self, kind: Kind, targets: tuple[int, ...], group: FindingsGroup[int]
    ) -> Plan:
        question = Question(kind, targets, group.observed, group.weighted)
        return self.plan(question, group.codes.shape[1])

    def _new_plan(self, question: Question, n_rows: int, limit: float) -> Plan:
        whole = self.outline(question, n_rows)
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
            plan = self._plan_for("marginals", free, group)
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
            plan = self._plan_for("joint", free, group)
            answer = plan.run(group.codes, group.stacked_likelihood)
            table = _spread(answer, plan.outputs, free, n_states)
            table = _with_known(table, targets, group, n_states)
            if findings.n_rows == 1:
                return table, answer.log_total
            found[group.rows] = table[group.place]
            total[group.rows] = answer.log_total[group.place]
        return found, total

    def repeated(self, target: int, known: Sequence[tuple[int, int]]) -> Array | None:
        """Return the distribution of one variable given states, if its plan is kept whole.

        None if there is no such plan, or what is given is impossible.

        Parameters
        ----------
        known
            Variables with their states, in the order of the variables.
        """
        observed = tuple([variable for variable, _ in known])
        plan = self.plans.get(Question("joint", (target,), observed))
        if not isinstance(plan, TablePlan) or len(plan.program.outputs) != 1:
            return None
        codes = np.array([state for _, state in known], dtype=np.int32).reshape(-1, 1)
        answer = plan.run(codes)
        return None if answer.log_total[0] == -np.inf else answer.columns[0]

    def total(self, findings: Findings[int]) -> Array:
        """Return the log of the sum of the density over the unknown variables, row by row."""
        total = np.empty(findings.n_rows)
        for group in findings.groups(self.problem.n_states):
            plan = self._plan_for("total", (), group)
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
            plan = self._plan_for("best", free, group)
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
            plan = self._plan_for("draw", (), group)
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


def slice_variables(
    problem: FactorProblem, whole: PlanOutline, max_bytes: float, max_seconds: float
) -> tuple[PlanOutline, tuple[int, ...]]:
    """Return a smaller plan that fits, and the variables to fix so that it does.

    Variables are taken one by one, each time the one that shrinks the plan most.

    Raises
    ------
    InferenceTooLarge
        If the pieces would take longer than allowed.
    """
    question, small = whole.question, whole
    sliced: tuple[int, ...] = ()
    while small.bytes > max_bytes:
        chosen = _best_variable(small, _forbidden(question, sliced, len(problem.n_states)))
        if chosen is None:
            raise InferenceTooLarge(whole.width, whole.cells, whole.bytes, max_bytes)
        sliced = (*sliced, chosen)
        small = outline(problem, _fixed(question, sliced))
        pieces = prod(problem.n_states[i] for i in sliced)
        if small.seconds_for(pieces, max_bytes) > max_seconds:
            raise InferenceTooLarge(whole.width, whole.cells, whole.bytes, max_bytes)
    return small, sliced


@dataclass(frozen=True, eq=False)
class SlicedPlan:
    """A plan run for every joint state of some variables; answers as a `TablePlan` does."""

    plan: TablePlan
    question: Question
    sliced: tuple[int, ...]
    n_states: tuple[int, ...]

    @property
    def outputs(self) -> tuple[Readout, ...]:
        """Variables and first column of each answer; the sliced variables come last."""
        inner, column = self.plan.outputs, self.plan.n_outputs
        if self.question.kind != "marginals":
            return inner
        asked = [i for i in self.sliced if i in self.question.targets]
        starts = np.cumsum([column, *(self.n_states[i] for i in asked)])
        return (*inner, *(((i,), int(at)) for i, at in zip(asked, starts, strict=False)))

    @property
    def n_outputs(self) -> int:
        """Number of columns of the answers."""
        asked = self.outputs[len(self.plan.outputs) :]
        return self.plan.n_outputs + sum(self.n_states[scope[0]] for scope, _ in asked)

    @property
    def n_bytes(self) -> int:
        """Bytes of the arrays of the smaller plan."""
        return self.plan.n_bytes

    def run(
        self,
        codes: NDArray[np.integer],
        likelihood: Array | None = None,
        is_log: bool = False,
    ) -> TableAnswer:
        """Return the answers for rows of findings, each the average over all pieces."""
        given = np.asarray(codes)
        answers = [
            self._row(given[:, row], None if likelihood is None else likelihood[:, row], is_log)
            for row in range(given.shape[1])
        ]
        columns = np.array([columns for columns, _ in answers])
        return TableAnswer(columns, np.array([total for _, total in answers]))

    def states(
        self,
        codes: NDArray[np.integer],
        likelihood: Array | None = None,
        rng: Generator | None = None,
        n_draws: int = 1,
        is_log: bool = False,
    ) -> tuple[NDArray[np.intp], Array]:
        """Return joint states of all variables and log totals, as `TablePlan.states` does."""
        given = np.asarray(codes)
        found = np.full((given.shape[1], n_draws, len(self.n_states)), -1, dtype=np.intp)
        total = np.full(given.shape[1], -np.inf)
        for row in range(given.shape[1]):
            weight = None if likelihood is None else likelihood[:, row]
            pieces = np.concatenate(
                [self.plan.run(*self._piece(given[:, row], weight, part), is_log).log_total
                 for part in self._parts()]
            )  # fmt: skip
            total[row] = pieces.max() if rng is None else np.logaddexp.reduce(pieces)
            if np.isneginf(total[row]):
                continue
            chosen = self._slices(pieces, rng, n_draws)
            for piece in np.unique(chosen):
                cell = np.array(np.unravel_index([piece], self._shape))
                draws = np.flatnonzero(chosen == piece)
                states, _ = self.plan.states(
                    *self._piece(given[:, row], weight, cell), rng, len(draws), is_log
                )
                found[row, draws] = states[0]
        return found, total

    @staticmethod
    def _slices(log_weight: Array, rng: Generator | None, n_draws: int) -> NDArray[np.intp]:
        if rng is None:
            return np.array([int(log_weight.argmax())])
        share = np.exp(log_weight - log_weight.max())
        return rng.choice(len(share), size=n_draws, p=share / share.sum())

    @property
    def _shape(self) -> tuple[int, ...]:
        return tuple(self.n_states[i] for i in self.sliced)

    def _parts(self) -> Iterator[NDArray[np.intp]]:
        """Yield joint states of the sliced variables, (n_sliced, n_pieces), in order."""
        n_pieces = prod(self._shape)
        for start in range(0, n_pieces, PIECES_AT_ONCE):
            cells = np.arange(start, min(start + PIECES_AT_ONCE, n_pieces))
            yield np.array(np.unravel_index(cells, self._shape))

    @staticmethod
    def _piece(
        codes: NDArray[np.integer], weight: Array | None, part: NDArray[np.intp]
    ) -> tuple[NDArray[np.integer], Array | None]:
        n_pieces = part.shape[1]
        rows = np.vstack([np.tile(codes[:, None], n_pieces), part])
        return rows, None if weight is None else np.tile(weight[:, None], n_pieces)

    def _row(
        self, codes: NDArray[np.integer], weight: Array | None, is_log: bool
    ) -> tuple[Array, float]:
        total, columns = -np.inf, np.zeros(self.n_outputs)
        for part in self._parts():
            answer = self.plan.run(*self._piece(codes, weight, part), is_log)
            top = max(total, float(answer.log_total.max()))
            if np.isneginf(top):
                continue
            share = np.exp(answer.log_total - top)
            columns *= np.exp(total - top)
            columns[: self.plan.n_outputs] += share @ np.nan_to_num(answer.columns)
            self._add_sliced(columns, part, share)
            total = float(np.logaddexp(total, top + np.log(share.sum())))
            columns *= np.exp(top - total)
        return (columns if total > -np.inf else np.full(self.n_outputs, np.nan)), total

    def _add_sliced(self, columns: Array, part: NDArray[np.intp], share: Array) -> None:
        for scope, column in self.outputs[len(self.plan.outputs) :]:
            states = part[self.sliced.index(scope[0])]
            size = self.n_states[scope[0]]
            columns[column : column + size] += np.bincount(states, share, minlength=size)


Plan = TablePlan | SlicedPlan


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


def _fixed(question: Question, sliced: tuple[int, ...]) -> Question:
    targets = tuple(i for i in question.targets if i not in sliced)
    observed = question.observed + sliced
    return question._replace(targets=targets, observed=observed, sliced=sliced)


def _forbidden(question: Question, sliced: tuple[int, ...], n_variables: int) -> frozenset[int]:
    """Return the variables that pieces cannot be made of.

    The best of several pieces is the best of all only if what differs between them is
    maximized: a sum is not finished within a piece.
    """
    kept: tuple[int, ...] = question.targets if question.kind == "joint" else ()
    if question.kind == "best":
        kept = tuple(i for i in range(n_variables) if i not in question.targets)
    weighted = (i for scope in question.weighted for i in scope)
    return frozenset((*question.observed, *weighted, *sliced, *kept))


def _best_variable(small: PlanOutline, forbidden: frozenset[int]) -> int | None:
    """Return the variable whose fixing takes most cells away, per log of its states."""
    gain: dict[int, float] = {}
    for scope, cells in zip(small.steps.product_scopes, small.steps.product_cells, strict=True):
        for i in scope - forbidden:
            gain[i] = gain.get(i, 0.0) + float(cells) * (1.0 - 1.0 / small.n_states[i])
    useful = {
        i: g / np.log(small.n_states[i]) for i, g in gain.items() if small.n_states[i] > 1
    }
    return max(useful, key=lambda i: (useful[i], -i), default=None)
