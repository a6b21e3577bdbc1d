"""Programs of table operations: written here as integers, run by fused loops.

numba loads on the first run, never at import. The columns of a program are named in
`Column`; a `Loop` runs one.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache
from types import ModuleType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.numerics.array import Array

__all__ = ["FLOOR", "LANES", "Column", "IndexPool", "Kind", "Loop", "Rows", "StepColumn"]

LANES = 8
"""Rows that a tile holds side by side."""

FLOOR = 1e-120
"""Smallest share of its table's maximum at which an entry is safe in a product of two."""

Integers = NDArray[np.int64]


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
        key = ("offsets", tuple(axes))
        if key in self.known:
            return self.known[key]
        width = len(axes[0]) - 1 if axes else 2
        total = np.zeros((1, width), dtype=np.int64)
        for length, *strides in axes:
            steps = np.arange(length)[:, None] * np.array(strides)
            total = (total[:, None, :] + steps).reshape(-1, width)
        return self.add(key, total.ravel().astype(np.int32))

    def array(self) -> NDArray[np.int32]:
        """Return all lists as one array."""
        return np.concatenate([*self.parts, np.zeros(1, dtype=np.int32)])


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
        loops, bounds = _loops("contraction"), np.array(span)
        loops.run_tiles(self.steps, self.index, self.fixed, rows, arena, bounds)

    def run_row(self, rows: Rows, arena: Array, row: int, is_log: bool) -> None:
        """Run on one row; in the log domain the fixed tables and likelihoods are logs."""
        loops = _loops("contraction_row")
        loops.run_row(self.steps, self.index, self.fixed, rows, arena, row, is_log)

    def run_rows(self, rows: Rows, arena: Array) -> None:
        """Run on all rows, one after the other."""
        loops = _loops("contraction_row")
        loops.run_rows(self.steps, self.index, self.fixed, rows, arena)

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
        _loops("contraction_row").trace_rows(
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
        _loops("contraction_row").trace(
            self.steps, self.index, self.fixed, arena, states, chance, is_log, uniform is None
        )


@cache
def _loops(name: str) -> ModuleType:
    return importlib.import_module(f"credo.numerics._loops.{name}")
