"""Exact inference in discrete networks, compiled once per set of observed variables.

The tables that matter are multiplied along a binary tree, each variable summed out as soon as
no other table has it. What does not depend on the findings is computed when the plan is made;
the rest is a flat list of operations that a fused loop runs on eight rows of findings at a
time. Values are rescaled at every step with the logs kept, and rows whose tables span more
than a product of two can hold are run again in the log domain. For draws and most probable
states the program is walked back, to find which states each sum or maximum came from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.inference.discrete.exact.buffers import Layout
from credo.inference.discrete.exact.contraction_tree import ContractionTree
from credo.inference.discrete.exact.operations import Schedule
from credo.inference.discrete.exact.plan_outline import Sketch
from credo.inference.discrete.exact.program import Program, Source, cell_strides, write_program
from credo.inference.discrete.loops.contraction import (
    FLOOR,
    LANES,
    IndexPool,
    Loop,
    Rows,
    StepColumn,
)
from credo.numerics.array import Array
from credo.numerics.parallel.threads import in_parts, n_cores

__all__ = [
    "TableAnswer",
    "TablePlan",
    "write_trace",
]


Integers = NDArray[np.int64]


def write_trace(
    plan: Schedule, tree: ContractionTree, place: Layout, n_states: Sequence[int], one: int
) -> tuple[Integers, NDArray[np.int32]]:
    """Return the steps of a walk from the roots down, and their offsets.

    Each step knows the variables above it and finds those that were summed out at its node.

    Parameters
    ----------
    one
        Where in the fixed memory the one lies that stands for a missing table.
    """
    writer = _Writer(plan, place, n_states, one)
    read = {value.leaf: i for i, value in enumerate(plan.values) if value.leaf is not None}
    steps = []
    for node in reversed(tree.nodes):
        if node.gone:
            children = [i for i in (node.left, node.right) if i is not None]
            leaves = [tree.nodes[i].leaf for i in children]
            operands = [
                plan.node_value[i] if leaf is None else read[leaf]
                for i, leaf in zip(children, leaves, strict=True)
            ]
            steps.append(writer.step(operands, node.gone))
    rows = np.array(steps, dtype=np.int64).reshape(len(steps), len(StepColumn))
    return rows, writer.pool.array()


@dataclass
class _Writer:
    plan: Schedule
    place: Layout
    n_states: Sequence[int]
    one: int
    pool: IndexPool = field(default_factory=IndexPool)

    def step(self, operands: list[int | None], gone: frozenset[int]) -> Integers:
        values, step = self.plan.values, np.zeros(len(StepColumn), dtype=np.int64)
        strides: list[dict[int, int]] = [{}, {}]
        step[StepColumn.X] = step[StepColumn.Y] = self.one
        present = [i for i in operands if i is not None]
        for at, value in enumerate(present):
            strides[at] = cell_strides(values[value].scope, self.n_states)
            step[StepColumn.X + at] = self.place.offset[value]
            step[StepColumn.X_MOVES + at] = values[value].moves
        left, right = strides
        known = sorted((left.keys() | right.keys()) - gone)
        kept = np.array([(i, left.get(i, 0), right.get(i, 0)) for i in known], dtype=np.int32)
        step[StepColumn.N_KEPT] = len(known)
        step[StepColumn.KEPT] = self.pool.add(("kept", kept.tobytes()), kept.ravel())
        new = sorted(gone)
        axes = [(self.n_states[i], left.get(i, 0), right.get(i, 0)) for i in new]
        step[StepColumn.N_SUM] = prod(axis[0] for axis in axes)
        step[StepColumn.SUM] = self.pool.offsets(axes)
        place = cell_strides(new, self.n_states)
        found = np.array([(i, place[i], self.n_states[i]) for i in new], dtype=np.int32)
        step[StepColumn.N_GONE] = len(new)
        step[StepColumn.GONE] = self.pool.add(("gone", found.tobytes()), found.ravel())
        return step


FEW_ROWS = LANES // 2
"""Fewer rows than this run one at a time."""

CHANCES_AT_ONCE = 1 << 20
"""Random numbers that are made together."""

States = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class TableAnswer:
    """What a plan found for each row of findings.

    Attributes
    ----------
    columns
        Normalized tables side by side, shape (n_rows, n_columns).
    log_total
        Log of the sum (or maximum) of the density over the unknown variables, (n_rows,);
        minus infinity where the findings are impossible, whose columns are NaN.
    """

    columns: Array
    log_total: Array


@dataclass(frozen=True, eq=False)
class TablePlan:
    """A question ready to be answered for any number of rows of findings.

    Attributes
    ----------
    sketch
        What is asked, and the operations by names.
    max_bytes
        Memory that rows side by side may take; where less than a tile fits, they run one by
        one.
    program
        The operations as integers, with the tables that no finding changes filled in.
    log_fixed_total
        Log of the part of the partition function that no finding changes.
    is_wide
        Whether the tables that no finding changes need the log domain.

    Examples
    --------
    >>> from credo.inference.discrete.factor_problem import FactorProblem, Table
    >>> from credo.inference.discrete.exact.plan_outline import Question, sketch
    >>> prior, test = Table((0,), np.array([0.1, 0.9])), np.array([[0.8, 0.2], [0.3, 0.7]])
    >>> problem = FactorProblem((2, 2), (prior, Table((0, 1), test, child=1)))
    >>> plan = TablePlan(sketch(problem, Question("marginals", targets=(0,), observed=(1,))))
    >>> answer = plan.run(np.array([[0, 1]]))
    >>> answer.columns.round(3).tolist()
    [[0.229, 0.771], [0.031, 0.969]]
    """

    sketch: Sketch
    max_bytes: float = float("inf")
    program: Program = field(init=False)
    log_fixed_total: float = field(init=False)
    is_wide: bool = field(init=False)

    def __post_init__(self) -> None:
        made = self.sketch
        rows = {variable: row for row, variable in enumerate(made.question.observed)}
        program = write_program(made.steps, made.place, made.n_states, made.sources, rows)
        total, is_wide = _run_fixed(program, program.fixed, False)
        object.__setattr__(self, "program", program)
        object.__setattr__(self, "log_fixed_total", made.log_constant + total)
        object.__setattr__(self, "is_wide", is_wide or _spans_too_much(made.sources))

    @property
    def outputs(self) -> tuple[tuple[tuple[int, ...], int], ...]:
        """Variables, in the order of the axes, and first column of each answer."""
        return self.program.outputs

    @property
    def n_outputs(self) -> int:
        """Number of columns of the answers."""
        return self.program.n_outputs

    @property
    def n_bytes(self) -> int:
        """Bytes of the arrays it holds now; logs and walks count once they were asked for."""
        total = self.program.n_bytes
        if "_log_loop" in vars(self):
            total += self._log_loop[0].fixed.nbytes
        if "_walk" in vars(self):
            total += sum(array.nbytes for array in self._walk)
        return total

    def run(
        self,
        codes: NDArray[np.integer],
        likelihood: Array | None = None,
        is_log: bool = False,
    ) -> TableAnswer:
        """Return the answers for rows of findings.

        Parameters
        ----------
        codes
            States of the observed variables, shape (n_observed, n_rows).
        likelihood
            Likelihoods of the weighted variables, their states one below the other, shape
            (sum of n_states, n_rows).
        is_log
            Whether these are logs, which may be lower than any number has a log.
        """
        rows, logs = self._rows(codes, likelihood, is_log)
        if self.is_wide:
            rows.is_wide[:] = True
        else:
            self._run_plain(rows)
            rows.log_total[:] += self.log_fixed_total
        again = rows.is_wide | _too_low(logs)
        if again.any():
            arena = self._arena()
            for row in np.flatnonzero(again).tolist():
                self._run_log(rows, row, arena, logs)
        impossible = rows.log_total == -np.inf
        if impossible.any():
            rows.columns[impossible] = np.nan
        return TableAnswer(rows.columns, rows.log_total)

    def states(
        self,
        codes: NDArray[np.integer],
        likelihood: Array | None = None,
        rng: Generator | None = None,
        n_draws: int = 1,
        is_log: bool = False,
    ) -> tuple[States, Array]:
        """Return joint states of all variables, (n_rows, n_draws, n_variables), and log totals.

        Random ones if ``rng`` is given, else the most probable one. Rows that are impossible
        and variables that were summed out have state -1.
        """
        (rows, logs), arena = self._rows(codes, likelihood, is_log), self._arena()
        found = self._known_states(rows, rng, n_draws)
        rows.is_wide[:] = self.is_wide | _too_low(logs)
        n_steps = len(self._walk[0])
        step = max(1, CHANCES_AT_ONCE // max(1, n_draws * n_steps))
        for start in range(0, len(found), step):
            part = slice(start, start + step)
            states = found[part]
            chance = None if rng is None else rng.random((len(states), n_draws, n_steps))
            self._trace(rows, part, arena, states, chance)
            for row in np.flatnonzero(rows.is_wide[part]).tolist():
                own = None if chance is None else chance[row]
                self._trace_log(rows, start + row, arena, states[row], own, logs)
        found[np.isneginf(rows.log_total)] = -1
        return found, rows.log_total

    def _known_states(self, rows: Rows, rng: Generator | None, n_draws: int) -> States:
        """Return states with those filled in that are given, or that nothing depends on."""
        made, n_rows = self.sketch, len(rows.log_total)
        found = np.full((n_rows, n_draws, len(made.n_states)), -1, dtype=np.intp)
        found[:, :, list(made.question.observed)] = rows.codes.T[:, None]
        for i in made.isolated:
            size = (n_rows, n_draws)
            found[:, :, i] = 0 if rng is None else rng.integers(made.n_states[i], size=size)
        return found

    def _trace(
        self, rows: Rows, part: slice, arena: Array, states: States, chance: Array | None
    ) -> None:
        """Find the states of some rows that do not need the log domain."""
        own = rows.part(part)
        self._loop.trace_rows(Loop(*self._walk, self.program.fixed), own, arena, states, chance)
        own.log_total[:] += self.log_fixed_total

    def _trace_log(
        self,
        rows: Rows,
        row: int,
        arena: Array,
        states: States,
        chance: Array | None,
        logs: Array | None,
    ) -> None:
        self._run_log(rows, row, arena, logs)
        if rows.log_total[row] > -np.inf:
            Loop(*self._walk, self._log_loop[0].fixed).trace(arena, states, chance, True)

    def _rows(
        self, codes: NDArray[np.integer], likelihood: Array | None, is_log: bool
    ) -> tuple[Rows, Array | None]:
        """Return the rows to fill, and the logs of likelihoods if these were given."""
        given = np.ascontiguousarray(codes, dtype=np.int32)
        n = given.shape[1]
        logs = likelihood if is_log else None
        plain = likelihood if logs is None else np.exp(logs)
        weight = np.ones((1, n)) if plain is None else np.ascontiguousarray(plain)
        columns = np.empty((n, self.program.n_outputs))
        return Rows(given, weight, columns, np.zeros(n), np.zeros(n, dtype=bool)), logs

    def _arena(self, n_lanes: int = 1) -> Array:
        return np.empty(max(self.sketch.place.moving_cells, 1) * n_lanes)

    @cached_property
    def _walk(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        made, one = self.sketch, len(self.program.fixed) - 1
        return write_trace(made.steps, made.tree, made.place, made.n_states, one)

    @cached_property
    def _loop(self) -> Loop:
        program = self.program
        return Loop(program.moving_steps, program.index, program.fixed)

    def _run_plain(self, rows: Rows) -> None:
        n_rows = len(rows.log_total)
        tile = self.sketch.place.moving_cells * LANES * rows.log_total.itemsize
        if n_rows < FEW_ROWS or tile > self.max_bytes:
            self._loop.run_rows(rows, self._arena())
            return

        def work(start: int, stop: int) -> None:
            span = (start * LANES, min(stop * LANES, n_rows))
            self._loop.run_tiles(rows, self._arena(LANES), span)

        n_tiles = -(-n_rows // LANES)
        if tile * n_cores() > self.max_bytes:
            work(0, n_tiles)
        else:
            in_parts(work, n_tiles, n_rows * self.sketch.cells)

    def _run_log(self, rows: Rows, row: int, arena: Array, logs: Array | None) -> None:
        loop, total = self._log_loop
        only = slice(row, row + 1)
        part = rows.part(only)
        with np.errstate(divide="ignore"):
            weight = np.log(part.likelihood) if logs is None else logs[:, only]
        part = part._replace(likelihood=np.ascontiguousarray(weight))
        part.log_total[:] = total
        loop.run_row(part, arena, 0, True)

    @cached_property
    def _log_loop(self) -> tuple[Loop, float]:
        """The loop on fixed tables as logs, and their log part of the partition function."""
        program = self.program
        with np.errstate(divide="ignore"):
            fixed = np.log(program.fixed)
        total, _ = _run_fixed(program, fixed, True)
        return Loop(
            program.moving_steps, program.index, fixed
        ), self.sketch.log_constant + total


def _run_fixed(program: Program, fixed: Array, is_log: bool) -> tuple[float, bool]:
    """Fill the tables no finding changes; return their log total, and if they span too much."""
    none = np.ones((1, 1))
    rows = Rows(np.zeros((1, 1), np.int32), none, none, np.zeros(1), np.zeros(1, dtype=bool))
    if len(program.fixed_steps):
        Loop(program.fixed_steps, program.index, fixed).run_row(rows, fixed, 0, is_log)
    return float(rows.log_total[0]), bool(rows.is_wide[0])


def _too_low(logs: Array | None) -> NDArray[np.bool_]:
    """Return which rows have a likelihood that is not zero but lower than plain sums keep."""
    if logs is None:
        return np.zeros(1, dtype=bool)
    return np.asarray(np.any((logs > -np.inf) & (logs < np.log(FLOOR)), axis=0))


def _spans_too_much(sources: Sequence[Source]) -> bool:
    tables = [source.table.values for source in sources if source.table is not None]
    return any(bool(np.any((values > 0) & (values < FLOOR))) for values in tables)
