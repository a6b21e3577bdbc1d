"""What a file says of a discrete network, before it is one: variables and their tables.

Every text format is read into these parts and written from them, so that the checks that
formats share, and the line to look at when one fails, have one place.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.data.error import NetworkFileError
from credo.graphs.variable import nearest
from credo.numerics.array import Array

__all__ = [
    "LARGEST_TABLE",
    "NetworkParts",
    "TablePart",
    "UaiParts",
    "VariablePart",
    "by_name",
    "fault",
    "has_unit_sums",
    "numbers_of",
    "oriented",
    "require_total",
    "scope_shape",
]

LARGEST_TABLE = 1 << 28
"""Entries that the tables of a file may have; more would take above two gigabytes."""

ROUNDING = 1e-2


@dataclass(frozen=True)
class VariablePart:
    """A variable, its states in order, and the line that declares it."""

    name: str
    states: tuple[Any, ...]
    line: int = 0


@dataclass(frozen=True)
class TablePart:
    """The table of one node, axes parents then child, and the line where it starts."""

    child: str
    parents: tuple[str, ...]
    values: Array
    line: int = 0

    @property
    def scope(self) -> tuple[str, ...]:
        """Names in the order of the axes; none for a table that is one number."""
        return (*self.parents, self.child) if self.values.ndim else ()


@dataclass(frozen=True)
class NetworkParts:
    """Variables in the order of the file, and one table for each."""

    variables: tuple[VariablePart, ...]
    tables: tuple[TablePart, ...]

    def __post_init__(self) -> None:
        variables = by_name(self.variables)
        tables: dict[str, TablePart] = {}
        for part in self.tables:
            if part.child in tables:
                raise fault(
                    part.line,
                    f"{part.child!r} must have one table; found a second one (the first is at "
                    f"line {tables[part.child].line}). Keep one of them",
                )
            tables[part.child] = part
        for name, variable in variables.items():
            if name not in tables:
                raise fault(
                    variable.line,
                    f"every variable must have a table; found none for {name!r}. Add it, or "
                    "take the variable out; if the file was cut, copy it again",
                )


@dataclass(frozen=True)
class UaiParts:
    """The variables and tables of a UAI file; in a ``MARKOV`` one, any variable may be last."""

    is_directed: bool
    variables: tuple[VariablePart, ...]
    tables: tuple[TablePart, ...]


def fault(line: int, message: str) -> NetworkFileError:
    """Return the error that tells the line (0 if there is none to tell) and the three parts."""
    place = f"line {line}: " if line else ""
    return NetworkFileError(f"{place}{message}.")


def by_name(variables: Iterable[VariablePart]) -> dict[str, VariablePart]:
    """Return the variables by name after checking names and states.

    Raises
    ------
    NetworkFileError
        If there is none, one is declared twice, or its states are missing or repeated.
    """
    known: dict[str, VariablePart] = {}
    for part in variables:
        if part.name in known:
            raise fault(
                part.line,
                f"a variable must be declared once; found {part.name!r} again (first at line "
                f"{known[part.name].line}). Rename or remove one of them",
            )
        _require_states(part)
        known[part.name] = part
    if not known:
        raise fault(
            0, "the file must declare variables; found none. Check that it holds a network"
        )
    return known


def scope_shape(
    known: Mapping[str, VariablePart], parents: Sequence[str], child: str, line: int
) -> tuple[int, ...]:
    """Return the numbers of states of parents and child after checking that they are known."""
    scope = (*parents, child)
    for name in scope:
        if name not in known:
            raise fault(
                line,
                f"a table must be about declared variables; found {name!r}."
                f"{nearest(name, known).removesuffix('.')}",
            )
    if len(set(scope)) < len(scope):
        twice = next(name for name in scope if scope.count(name) > 1)
        raise fault(
            line,
            f"a table must name each variable once; found {twice!r} twice in the table of "
            f"{child!r}. Remove the repeated one",
        )
    shape = tuple(len(known[name].states) for name in scope)
    if math.prod(shape) > LARGEST_TABLE:
        raise fault(
            line,
            f"the table of {child!r} must have at most {LARGEST_TABLE} entries; found "
            f"{math.prod(shape)} for {len(parents)} parents. Give the node fewer parents",
        )
    return shape


def require_total(shapes: Iterable[tuple[int, ...]]) -> None:
    """Raise unless all tables of a file together are as large as one may be."""
    total = sum(map(math.prod, shapes))
    if total > LARGEST_TABLE:
        raise fault(
            0,
            f"the tables must have at most {LARGEST_TABLE:,} entries in all; found {total:,}. "
            "Give the nodes fewer parents",
        )


def numbers_of(words: Sequence[str], what: str, line: int) -> Array:
    """Return words as finite numbers that are not negative."""
    try:
        numbers = np.fromiter(map(float, words), dtype=np.float64, count=len(words))
    except ValueError:
        wrong = next(word for word in words if not _is_number(word))
        raise fault(
            line, f"{what} must hold numbers; found {wrong[:40]!r}. Correct that entry"
        ) from None
    if numbers.size and not (numbers.min() >= 0 and numbers.max() < math.inf):
        wrong = words[int(np.argmin((numbers >= 0) & (numbers < math.inf)))]
        raise fault(
            line,
            f"{what} must hold finite numbers that are not negative; found {wrong}. Correct "
            "that entry",
        )
    return numbers


def oriented(numbers: Array, shape: tuple[int, ...], is_child_first: bool) -> Array:
    """Return a flat table with axes parents then child.

    Programs disagree whether the child's states come first (slowest) or last (quickest). The
    order of the format is ``is_child_first``; the other is taken if only that one gives
    probabilities that sum to one.
    """
    n_states, last = shape[-1], numbers.reshape(shape)
    first = np.moveaxis(numbers.reshape(n_states, *shape[:-1]), 0, -1)
    usual, other = (first, last) if is_child_first else (last, first)
    return np.ascontiguousarray(other if has_unit_sums(other) > has_unit_sums(usual) else usual)


def has_unit_sums(table: Array) -> bool:
    """Return whether probabilities along the last axis sum to one, up to rounding."""
    return bool(np.abs(table.sum(axis=-1) - 1.0).max(initial=0.0) <= ROUNDING)


def _require_states(part: VariablePart) -> None:
    if not part.states:
        raise fault(
            part.line,
            f"variable {part.name!r} must list its states; found none. Write all its states",
        )
    if len(set(part.states)) < len(part.states):
        twice = next(state for state in part.states if part.states.count(state) > 1)
        raise fault(
            part.line,
            f"states of {part.name!r} must be distinct; found {twice!r} twice. Rename one",
        )


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
