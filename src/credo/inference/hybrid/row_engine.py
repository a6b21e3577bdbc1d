"""Exact answers about discrete variables some of whose tables differ from row to row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.graphs.factor import Factor
from credo.graphs.variable import Variable
from credo.inference.discrete.exact.plan import Question, Sketch
from credo.inference.discrete.exact_inference import Plan, TableInference
from credo.inference.discrete.factor_problem import FactorProblem, Table
from credo.inference.hybrid.row_factor import RowTable
from credo.numerics.array import Array

__all__ = ["RowInference", "RowProblem"]

Codes = NDArray[np.intp]
Kind = Literal["marginals", "joint", "total", "best", "draw"]


@dataclass(frozen=True, eq=False)
class RowProblem:
    """What is known in each row, as states and as tables of the row's own.

    Attributes
    ----------
    n_rows
        Number of rows.
    codes
        Positions of given states by name, each of shape (n_rows,).
    tables
        Further factors of the density of each row.
    """

    n_rows: int
    codes: Mapping[str, Codes]
    tables: tuple[RowTable, ...]

    @property
    def scopes(self) -> tuple[tuple[str, ...], ...]:
        """Variables of the tables that have any."""
        return tuple(table.scope for table in self.tables if table.scope)

    def log_likelihood(self) -> tuple[Array, Array]:
        """Return the tables one below the other, (n_cells, n_rows), and the log of their units.

        Every table has maximum one in every row, so that nothing overflows.
        """
        unit, blocks = np.zeros(self.n_rows), []
        for table in self.tables:
            shape = table.log_values.shape
            flat = table.log_values.reshape(shape[0], prod(shape[1:]))
            top = flat.max(axis=1)
            unit = unit + top
            if table.scope:
                scaled = flat - np.where(np.isneginf(top), 0.0, top)[:, None]
                blocks.append(np.broadcast_to(scaled.T, (flat.shape[1], self.n_rows)))
        return np.concatenate([np.zeros((0, self.n_rows)), *blocks]), unit


class RowInference:
    """Compiled plans for tables that all rows share, and the tables of each row.

    Parameters
    ----------
    factors
        What all rows share; the last variable of each is distributed given the others.
    variables
        Discrete variables that occur in tables of rows.
    max_bytes
        Memory that a plan may take.
    """

    def __init__(
        self, factors: Sequence[Factor], variables: Sequence[Variable], max_bytes: float | None
    ) -> None:
        named = {v.name: v for factor in factors for v in factor.variables}
        named |= {v.name: v for v in variables}
        self.numbers = {name: i for i, name in enumerate(named)}
        tables = []
        for factor in factors:
            scope = tuple(self.numbers[name] for name in factor.names)
            tables.append(Table(scope, factor.values, factor.log_scale, scope[-1]))
        n_states = tuple(variable.n_states for variable in named.values())
        self.exact = TableInference(FactorProblem(n_states, tuple(tables)), max_bytes)

    @property
    def n_bytes(self) -> int:
        """Bytes of its tables and of the plans that are kept."""
        tables = self.exact.problem.tables
        return self.exact.n_bytes + sum(table.values.nbytes for table in tables)

    def sketch(
        self,
        kind: Kind,
        targets: Sequence[str],
        known: Sequence[str],
        scopes: Sequence[tuple[str, ...]],
    ) -> Sketch:
        """Return the plan of a question by names, with what it costs."""
        return self.exact.sketch(self._question(kind, targets, known, scopes))

    def total(self, problem: RowProblem) -> Array:
        """Return the log of the sum over all hidden variables, shape (n_rows,)."""
        return self._run("total", (), problem)[2]

    def joints(
        self, problem: RowProblem, groups: Sequence[tuple[str, ...]]
    ) -> tuple[dict[tuple[str, ...], Array], Array]:
        """Return the joint table of each group, (n_rows, *sizes), and the log totals.

        Impossible rows are NaN. A group without variables is certain.
        """
        alone = [group[0] for group in groups if len(group) == 1]
        plan, columns, total = self._run("marginals" if alone else "total", alone, problem)
        possible = np.where(np.isneginf(total), np.nan, 1.0)
        found: dict[tuple[str, ...], Array] = {}
        starts = {scope[0]: at for scope, at in plan.outputs}
        for group in groups:
            if len(group) > 1:
                table = self._joint(problem, group)
            elif group:
                at = starts[self.numbers[group[0]]]
                table = columns[:, at : at + self._sizes(group)[0]]
            else:
                table = np.ones(problem.n_rows)
            found[group] = table * possible.reshape(-1, *[1] * len(group))
        return found, total

    def best(self, problem: RowProblem, names: Sequence[str]) -> tuple[dict[str, Codes], Array]:
        """Return the states of some variables that are most probable, the others summed out."""
        question, codes, logs, unit = self._asked("best", names, problem)
        states, total = self.exact.plan(question).states(codes, logs, is_log=True)
        found = {name: states[:, 0, self.numbers[name]] for name in names}
        return found, total + unit

    def draws(
        self, problem: RowProblem, n: int, rng: Generator
    ) -> tuple[dict[str, Codes], Array]:
        """Return ``n`` draws of all variables for each row, (n_rows, n) by name."""
        question, codes, logs, unit = self._asked("draw", (), problem)
        states, total = self.exact.plan(question).states(codes, logs, rng, n, is_log=True)
        return {name: states[:, :, i] for name, i in self.numbers.items()}, total + unit

    def _joint(self, problem: RowProblem, group: tuple[str, ...]) -> Array:
        plan, columns, _ = self._run("joint", group, problem)
        order = plan.outputs[0][0]
        sizes = [self.exact.problem.n_states[i] for i in order]
        table = columns.reshape(problem.n_rows, *sizes)
        axes = [1 + order.index(self.numbers[name]) for name in group]
        return np.asarray(table.transpose(0, *axes))

    def _run(
        self, kind: Kind, targets: Sequence[str], problem: RowProblem
    ) -> tuple[Plan, Array, Array]:
        question, codes, logs, unit = self._asked(kind, targets, problem)
        plan = self.exact.plan(question)
        answer = plan.run(codes, logs, is_log=True)
        return plan, answer.columns, answer.log_total + unit

    def _asked(
        self, kind: Kind, targets: Sequence[str], problem: RowProblem
    ) -> tuple[Question, Codes, Array | None, Array]:
        known = [name for name in problem.codes if name in self.numbers]
        codes = np.array([problem.codes[name] for name in known], dtype=np.intp)
        logs, unit = problem.log_likelihood()
        question = self._question(kind, targets, known, problem.scopes)
        shaped = codes.reshape(len(known), problem.n_rows)
        return question, shaped, logs if len(logs) else None, unit

    def _question(
        self,
        kind: Kind,
        targets: Sequence[str],
        known: Sequence[str],
        scopes: Sequence[tuple[str, ...]],
    ) -> Question:
        place = self.numbers
        weighted = tuple(tuple(place[name] for name in scope) for scope in scopes)
        asked = tuple(place[name] for name in targets)
        return Question(kind, asked, tuple(place[name] for name in known), weighted)

    def _sizes(self, names: Sequence[str]) -> tuple[int, ...]:
        return tuple(self.exact.problem.n_states[self.numbers[name]] for name in names)
