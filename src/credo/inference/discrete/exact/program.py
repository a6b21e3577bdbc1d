"""A schedule turned into integers: the program that the fused loops run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from credo.inference.discrete.exact.buffers import Layout
from credo.inference.discrete.exact.operations import Move, Output, Schedule, Value
from credo.inference.discrete.factor_problem import Table
from credo.inference.discrete.loops.contraction import Column, IndexPool, Kind
from credo.numerics.array import Array

__all__ = ["Program", "Source", "cell_strides", "n_offsets", "write_program"]

INNER_CELLS = 256

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Source:
    """What a leaf is read from: a table with some variables observed, or one given by row.

    Attributes
    ----------
    table
        The table, or None for one that is given with the rows.
    scope
        Variables of the table that are known; of one given with the rows, all its variables.
    row
        First row of a table given with the rows in the matrix of those.
    """

    table: Table | None
    scope: tuple[int, ...] = ()
    row: int = 0


@dataclass(frozen=True, eq=False)
class Program:
    """Operations as integers, the offsets they use, and the tables they start from.

    Attributes
    ----------
    fixed_steps, moving_steps
        Operations that are the same for all rows, and those that are not.
    index
        Offsets of cells.
    fixed
        Memory of tables that are the same for all rows; filled with the leaves.
    outputs
        For each answer its variables in order and its first column.
    n_outputs
        Number of columns of the answers.
    """

    fixed_steps: Integers
    moving_steps: Integers
    index: NDArray[np.int32]
    fixed: Array
    outputs: tuple[tuple[tuple[int, ...], int], ...]
    n_outputs: int

    @property
    def n_bytes(self) -> int:
        """Bytes of its arrays."""
        arrays = (self.fixed_steps, self.moving_steps, self.index, self.fixed)
        return sum(array.nbytes for array in arrays)


@dataclass
class _Writer:
    plan: Schedule
    place: Layout
    n_states: Sequence[int]
    sources: Sequence[Source]
    code_row: Mapping[int, int]
    pool: IndexPool
    raw: dict[int, int]

    def strides(self, value: Value) -> dict[int, int]:
        return cell_strides(value.scope, self.n_states)

    def contraction(self, step: Move) -> Integers:
        values, op = self.plan.values, np.zeros(len(Column), dtype=np.int64)
        x, y = step.x, step.y
        if x is None or (y is not None and values[y].moves and not values[x].moves):
            x, y = y, x
        assert x is not None
        left = self.strides(values[x])
        right = self.strides(values[y]) if y is not None else {}
        kept = [
            (self.n_states[i], left.get(i, 0), right.get(i, 0)) for i in values[step.z].scope
        ]
        gone = [(self.n_states[i], left.get(i, 0), right.get(i, 0)) for i in step.gone]
        split = _split(kept)
        op[Column.KIND] = Kind.CONTRACT
        op[Column.X], op[Column.X_MOVES] = self.place.offset[x], values[x].moves
        op[Column.Y] = self.raw[-1]
        if y is not None:
            op[Column.Y], op[Column.Y_MOVES] = self.place.offset[y], values[y].moves
        for size, start, axes in (
            (Column.N_OUTER, Column.OUTER, kept[:split]),
            (Column.N_INNER, Column.INNER, kept[split:]),
            (Column.N_SUM, Column.SUM, gone),
        ):
            op[size] = prod(axis[0] for axis in axes)
            op[start] = self.pool.offsets(axes)
        op[Column.TAKES_MAX] = step.takes_max
        return op

    def reading(self, step: Move) -> Integers:
        value, op = self.plan.values[step.z], np.zeros(len(Column), dtype=np.int64)
        assert value.leaf is not None
        source = self.sources[value.leaf]
        op[Column.N_OUTER], op[Column.N_INNER] = value.cells, 1
        scope = source.scope if source.table is None else source.table.scope
        by_variable = cell_strides(scope, self.n_states)
        op[Column.OUTER] = self.pool.offsets(
            [(self.n_states[i], by_variable[i]) for i in value.scope] or [(1, 0)]
        )
        if source.table is None:
            op[Column.KIND], op[Column.X] = Kind.LIKELIHOOD, source.row
            return op
        op[Column.KIND], op[Column.X] = Kind.GATHER, self.raw[value.leaf]
        pairs = [(self.code_row[i], by_variable[i]) for i in source.scope]
        op[Column.N_FIRST] = len(pairs)
        flat = np.array(pairs, dtype=np.int32).ravel()
        op[Column.FIRST] = self.pool.add(("codes", tuple(pairs)), flat)
        return op

    def operation(self, step: Move) -> Integers:
        op = self.reading(step) if step.x is None else self.contraction(step)
        op[Column.Z], op[Column.COUNTS] = self.place.offset[step.z], step.counts
        return op

    def output(self, step: Output, column: int) -> Integers:
        value, op = self.plan.values[step.value], np.zeros(len(Column), dtype=np.int64)
        op[Column.KIND], op[Column.Z] = Kind.OUTPUT, column
        op[Column.X], op[Column.X_MOVES] = self.place.offset[step.value], value.moves
        op[Column.N_OUTER], op[Column.COUNTS] = value.cells, step.counts
        return op


def cell_strides(scope: Sequence[int], n_states: Sequence[int]) -> dict[int, int]:
    """Return how far apart neighboring states of each variable lie in a table."""
    steps, stride = {}, 1
    for variable in reversed(scope):
        steps[variable] = stride
        stride *= n_states[variable]
    return steps


def write_program(
    plan: Schedule,
    place: Layout,
    n_states: Sequence[int],
    sources: Sequence[Source],
    code_row: Mapping[int, int],
) -> Program:
    """Return the program of a schedule.

    Parameters
    ----------
    sources
        What each leaf is read from.
    code_row
        Row of each observed variable in the matrix of findings.
    """
    fixed, raw = _fixed_memory(plan, place, sources)
    writer = _Writer(plan, place, n_states, sources, code_row, IndexPool(), raw)
    still, moving, outputs, column = [], [], [], 0
    for step in plan.steps:
        if isinstance(step, Output):
            moving.append(writer.output(step, column))
            outputs.append((plan.values[step.value].scope, column))
            column += plan.values[step.value].cells
        elif plan.values[step.z].moves:
            moving.append(writer.operation(step))
        else:
            still.append(writer.operation(step))
    return Program(
        _stacked(still), _stacked(moving), writer.pool.array(), fixed, tuple(outputs), column
    )


def n_offsets(
    plan: Schedule, n_states: Sequence[int], sources: Sequence[Source], walks: bool
) -> int:
    """Return how many offsets a plan has, before lists that are equal are merged.

    Parameters
    ----------
    walks
        Whether a walk from the roots down comes after the program.
    """
    total = 2
    for step in plan.steps:
        if isinstance(step, Output):
            continue
        value = plan.values[step.z]
        sizes = [n_states[i] for i in value.scope]
        if value.leaf is not None:
            total += value.cells + 2 * len(sources[value.leaf].scope)
            continue
        split = _split([(size,) for size in sizes])
        gone = prod(n_states[i] for i in step.gone)
        total += 2 * (prod(sizes[:split]) + prod(sizes[split:]) + gone)
        total += (2 * gone + 3 * (len(sizes) + len(step.gone))) if walks else 0
    return total


def _fixed_memory(
    plan: Schedule, place: Layout, sources: Sequence[Source]
) -> tuple[Array, dict[int, int]]:
    """Return the memory of fixed tables, and where the table behind each moving leaf lies.

    Behind the fixed values come the whole tables that moving leaves are gathered from, and a
    one that stands for a missing operand, at key -1.
    """
    raw: dict[int, int] = {}
    size = place.fixed_cells
    for value in plan.values:
        if value.leaf is not None and value.moves:
            table = sources[value.leaf].table
            if table is not None:
                raw[value.leaf] = size
                size += table.values.size
    fixed = np.zeros(size + 1)
    fixed[size] = 1.0
    raw[-1] = size
    for i, value in enumerate(plan.values):
        table = sources[value.leaf].table if value.leaf is not None else None
        if table is None or value.leaf is None:
            continue
        if value.moves:
            start = raw[value.leaf]
            fixed[start : start + table.values.size] = table.values.ravel()
        else:
            start = place.offset[i]
            order = [table.scope.index(v) for v in value.scope]
            fixed[start : start + value.cells] = table.values.transpose(order).ravel()
    return fixed, raw


def _split(axes: Sequence[tuple[int, ...]]) -> int:
    """Return how many leading axes the outer loop takes."""
    cells, at = 1, len(axes)
    while at > 0 and cells * axes[at - 1][0] <= INNER_CELLS:
        cells *= axes[at - 1][0]
        at -= 1
    return at


def _stacked(rows: list[Integers]) -> Integers:
    return np.array(rows, dtype=np.int64).reshape(len(rows), len(Column))
