"""Programs of table operations: written here as integers, run by fused loops.

numba loads on the first run that needs it, never at import: a few runs of small programs are
done by NumPy, before anyone waits for the compiler. Both ways sum the terms of a cell in one
order, and give the same bits. The columns of a program are named in `Column`; a `Loop` runs
one.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache, lru_cache
from types import ModuleType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.numerics.array import Array
from credo.numerics.plain_time import PlainTime

__all__ = ["FLOOR", "LANES", "Column", "IndexPool", "Kind", "Loop", "Rows", "StepColumn"]

LANES = 8
"""Rows that a tile holds side by side."""

FLOOR = 1e-120
"""Smallest share of its table's maximum at which an entry is safe in a product of two."""

Integers = NDArray[np.int64]

FEW_CELLS = 64
"""Cells up to which offsets are kept for other programs."""

PLAIN_SECONDS = 0.05
"""Time that a process may spend on plain runs: then loading the compiled loops pays."""

STEP_SECONDS, TERM_SECONDS, CELL_SECONDS = 2e-5, 5e-6, 1e-8
"""What a plain run takes for each operation, each of its terms, and each cell of a term."""


class Kind(IntEnum):
    """What an operation does."""

    GATHER = 0
    LIKELIHOOD = 1
    CONTRACT = 2
    OUTPUT = 3


class Column(IntEnum):
    """Columns of a program, one operation per row."""

    KIND = 0
    Z = 1
    X = 2
    Y = 3
    X_MOVES = 4
    Y_MOVES = 5
    N_OUTER = 6
    N_INNER = 7
    N_SUM = 8
    OUTER = 9
    INNER = 10
    SUM = 11
    TAKES_MAX = 12
    COUNTS = 13
    N_FIRST = 14
    FIRST = 15


class StepColumn(IntEnum):
    """Columns of the steps of a trace."""

    X = 0
    Y = 1
    X_MOVES = 2
    Y_MOVES = 3
    N_KEPT = 4
    KEPT = 5
    N_SUM = 6
    SUM = 7
    N_GONE = 8
    GONE = 9


@dataclass
class IndexPool:
    """Lists of offsets, each stored once."""

    parts: list[NDArray[np.int32]] = field(default_factory=list)
    size: int = 0
    known: dict[object, int] = field(default_factory=dict)

    def add(self, key: object, values: NDArray[np.int32]) -> int:
        """Return where the list starts, storing it if its key is new."""
        if key not in self.known:
            self.known[key] = self.size
            self.parts.append(values)
            self.size += len(values)
        return self.known[key]

    def offsets(self, axes: Sequence[tuple[int, ...]]) -> int:
        """Return where the offsets of all cells of some axes start.

        Each axis is its length followed by its stride in one or more tables; the offsets of
        the tables alternate, the last axis running fastest.
        """
        key = tuple(axes)
        if key in self.known:
            return self.known[key]
        if math.prod([axis[0] for axis in axes]) <= FEW_CELLS:
            return self.add(key, _few_offsets(key))
        width = len(axes[0]) - 1
        total = np.zeros((1, width), dtype=np.int64)
        for length, *strides in axes:
            steps = np.arange(length)[:, None] * np.array(strides)
            total = (total[:, None, :] + steps).reshape(-1, width)
        return self.add(key, total.ravel().astype(np.int32))

    def array(self) -> NDArray[np.int32]:
        """Return all lists as one array."""
        return np.concatenate([*self.parts, np.zeros(1, dtype=np.int32)])


@lru_cache(maxsize=4096)
def _few_offsets(axes: tuple[tuple[int, ...], ...]) -> NDArray[np.int32]:
    """Return the offsets of a few cells; small tables of all networks share their strides."""
    total = [(0,) * (len(axes[0]) - 1 if axes else 2)]
    for length, *strides in axes:
        total = [
            tuple([start + step * stride for start, stride in zip(cell, strides, strict=True)])
            for cell in total
            for step in range(length)
        ]
    return np.array(total, dtype=np.int32).ravel()


class Rows(NamedTuple):
    """Rows of findings, and what a run leaves for each.

    Attributes
    ----------
    codes
        States of the observed variables, shape (n_observed, n_rows).
    likelihood
        Likelihoods, shape (n_likelihood_cells, n_rows).
    columns
        Answers, shape (n_rows, n_columns).
    log_total
        Log of the part of the partition function that depends on the row, (n_rows,).
    is_wide
        Whether a table of the row spans more than two factors can without underflow.
    """

    codes: NDArray[np.int32]
    likelihood: Array
    columns: Array
    log_total: Array
    is_wide: NDArray[np.bool_]

    def part(self, some: slice) -> Rows:
        """Return some of the rows; what a run leaves for them it leaves here too."""
        return Rows(
            np.ascontiguousarray(self.codes[:, some]),
            np.ascontiguousarray(self.likelihood[:, some]),
            self.columns[some],
            self.log_total[some],
            self.is_wide[some],
        )


@dataclass(frozen=True, eq=False)
class Loop:
    """A program with its offsets and its fixed tables."""

    steps: Integers
    index: NDArray[np.int32]
    fixed: Array

    def run_tiles(self, rows: Rows, arena: Array, span: tuple[int, int]) -> None:
        """Run on a span of rows, eight side by side."""
        loops, bounds = _loops(), np.array(span)
        loops.run_tiles(self.steps, self.index, self.fixed, rows, arena, bounds)

    def run_row(self, rows: Rows, arena: Array, row: int, is_log: bool) -> None:
        """Run on one row; in the log domain the fixed tables and likelihoods are logs."""
        if not is_log and _is_plain(self.steps, 1):
            _run_plain(self, rows, arena, row)
            return
        loops = _loops()
        loops.run_rows(self.steps, self.index, self.fixed, rows, arena, row, row + 1, is_log)

    def run_rows(self, rows: Rows, arena: Array) -> None:
        """Run on all rows, one after the other."""
        n_rows = len(rows.log_total)
        if _is_plain(self.steps, n_rows):
            for row in range(n_rows):
                _run_plain(self, rows, arena, row)
            return
        loops = _loops()
        loops.run_rows(self.steps, self.index, self.fixed, rows, arena, 0, n_rows, False)

    def trace_rows(
        self,
        walk: Loop,
        rows: Rows,
        arena: Array,
        states: NDArray[np.intp],
        uniform: Array | None,
    ) -> None:
        """Run on all rows, and draw the states of each that were summed out, or pick the best.

        Rows that are marked as wide, or become so, are left out.

        Parameters
        ----------
        walk
            Steps of the trace.
        states
            Known states are given, the others are filled in, (n_rows, n_draws, n_variables).
        uniform
            One chance per row, draw and step, or None for the best states.
        """
        shape = (1, states.shape[1], len(walk.steps))
        _loops().trace_rows(
            self.steps,
            walk.steps,
            (self.index, walk.index),
            self.fixed,
            rows,
            arena,
            states,
            np.zeros(shape) if uniform is None else uniform,
            uniform is None,
        )

    def trace(
        self, arena: Array, states: NDArray[np.intp], uniform: Array | None, is_log: bool
    ) -> None:
        """Draw the states that a run on one row summed out, or pick the best without chances.

        Parameters
        ----------
        states
            One row per draw; known states are given, the others are filled in.
        uniform
            One chance per draw and step, or None for the best states.
        """
        chance = np.zeros((len(states), len(self.steps))) if uniform is None else uniform
        _loops().trace(
            self.steps, self.index, self.fixed, arena, states, chance, is_log, uniform is None
        )


@cache
def _loops() -> ModuleType:
    return importlib.import_module("credo.inference.discrete.loops._loops_contraction")


_plain_time = PlainTime(PLAIN_SECONDS)


def _is_plain(steps: Integers, n_rows: int) -> bool:
    """Return whether there is time for a plain run on some rows."""
    if _plain_time.left <= 0.0:
        return False
    n_terms = steps[:, Column.N_SUM]
    n_cells = steps[:, Column.N_OUTER] * steps[:, Column.N_INNER]
    cost = STEP_SECONDS * len(steps) + TERM_SECONDS * int(n_terms.sum())
    return _plain_time.allows(n_rows * (cost + CELL_SECONDS * int(n_terms @ n_cells)))


def _run_plain(loop: Loop, rows: Rows, arena: Array, row: int) -> None:
    """Run a program on one row in the plain domain, one operation after the other."""
    with np.errstate(all="ignore"):
        for op in loop.steps.tolist():
            if op[Column.KIND] == Kind.OUTPUT:
                _write(op, loop.fixed, arena, rows, row)
                continue
            if op[Column.KIND] == Kind.CONTRACT:
                table = _contracted(op, loop, arena)
            elif op[Column.KIND] == Kind.GATHER:
                table = loop.fixed[_first(op, loop.index, rows, row) + _outer(op, loop.index)]
            else:
                table = rows.likelihood[op[Column.X] + _outer(op, loop.index), row]
            arena[op[Column.Z] : op[Column.Z] + len(table)] = _rescaled(op, table, rows, row)


def _first(op: Sequence[int], index: NDArray[np.int32], rows: Rows, row: int) -> int:
    """Return where the part of a fixed table starts that belongs to the states of a row."""
    start, n = op[Column.FIRST], op[Column.N_FIRST]
    which, stride = index[start : start + 2 * n].reshape(n, 2).T
    return op[Column.X] + int(rows.codes[which, row] @ stride.astype(np.int64))


def _outer(op: Sequence[int], index: NDArray[np.int32]) -> NDArray[np.int32]:
    return index[op[Column.OUTER] : op[Column.OUTER] + op[Column.N_OUTER]]


def _contracted(op: Sequence[int], loop: Loop, arena: Array) -> Array:
    """Return the sums of products of two tables, or the largest of the products."""
    index, n_outer, n_inner = loop.index, op[Column.N_OUTER], op[Column.N_INNER]
    places = index[op[Column.INNER] : op[Column.INNER] + 2 * n_inner].reshape(-1, 2)
    if n_outer > 1:
        outer = index[op[Column.OUTER] : op[Column.OUTER] + 2 * n_outer].reshape(-1, 1, 2)
        places = (outer + places).reshape(-1, 2)
    terms = index[op[Column.SUM] : op[Column.SUM] + 2 * op[Column.N_SUM]].reshape(-1, 1, 2)
    at = (terms + places) + np.array((op[Column.X], op[Column.Y]))
    x = (arena if op[Column.X_MOVES] else loop.fixed)[at[..., 0]]
    y = (arena if op[Column.Y_MOVES] else loop.fixed)[at[..., 1]]
    if op[Column.TAKES_MAX] == 1:
        return np.asarray((x * y).max(axis=0))
    # Unlike a sum, this adds the terms one after the other, as the loop does.
    return np.asarray(np.add.accumulate(x * y, axis=0)[-1])


def _rescaled(op: Sequence[int], table: Array, rows: Rows, row: int) -> Array:
    """Return a table over its maximum, whose log the total of the row takes."""
    top = float(table.max())
    scaled = table * (1.0 / top if top > 0.0 else 0.0)
    low = float(scaled.min(initial=1.0, where=scaled > 0.0))
    # The inverse of a smaller maximum would overflow.
    if low < FLOOR or 0.0 < top < FLOOR * FLOOR:
        rows.is_wide[row] = True
    _count(op, top, rows, row)
    return np.asarray(scaled)


def _write(op: Sequence[int], fixed: Array, arena: Array, rows: Rows, row: int) -> None:
    """Write an answer, and its total."""
    table = arena if op[Column.X_MOVES] else fixed
    values = table[op[Column.X] : op[Column.X] + op[Column.N_OUTER]]
    total = float(np.add.accumulate(values)[-1])
    scale = 1.0 / total if total > 0.0 else math.nan
    rows.columns[row, op[Column.Z] : op[Column.Z] + len(values)] = values * scale
    _count(op, total, rows, row)


def _count(op: Sequence[int], amount: float, rows: Rows, row: int) -> None:
    if op[Column.COUNTS] == 1:
        rows.log_total[row] += math.log(amount) if amount > 0.0 else -math.inf
