"""Cutset conditioning: exact inference with some variables fixed at each of their states.

Fixing a variable makes the tables that have it smaller. The pieces are rows of findings for one
smaller plan, and their answers are averaged with their probabilities as weights:
exact, at the price of time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.inference.discrete.exact.plan import (
    PlanOutline,
    Question,
    TableAnswer,
    TablePlan,
    outline,
)
from credo.inference.discrete.factor_problem import FactorProblem
from credo.inference.engine.error import InferenceTooLarge
from credo.numerics.array import Array

__all__ = ["SlicedPlan", "slice_variables"]

PIECES_AT_ONCE = 1024

Readout = tuple[tuple[int, ...], int]


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


def _fixed(question: Question, sliced: tuple[int, ...]) -> Question:
    targets = tuple(i for i in question.targets if i not in sliced)
    observed = question.observed + sliced
    return replace(question, targets=targets, observed=observed, sliced=sliced)


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
