"""Programs of table operations: written here as integers, run by fused loops.

numba loads on the first run, never at import. The columns of a program are named in
`Column`; `Program` is what the loops take.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache
from types import ModuleType

import numpy as np
from numpy.typing import NDArray


__all__ = [
    "LANES",
    "Column",
    "IndexPool",
    "Kind",
    "StepColumn",
    "run_row",
    "run_tiles",
    "trace",
]

LANES = 8
"""Rows that a tile holds side by side."""

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


def run_tiles(*arguments: object) -> None:
    """Run a program on a span of rows, eight side by side; see the loop for the arguments."""
    _loops("contraction").run_tiles(*arguments)


def run_row(*arguments: object) -> None:
    """Run a program on one row, in the plain or the log domain."""
    _loops("contraction_row").run_row(*arguments)


def trace(*arguments: object) -> None:
    """Pick or draw the states of the variables that a run on one row summed out."""
    _loops("contraction_row").trace(*arguments)


@cache
def _loops(name: str) -> ModuleType:
    return importlib.import_module(f"credo.numerics._loops.{name}")
