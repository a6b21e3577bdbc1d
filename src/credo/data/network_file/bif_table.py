"""The statements inside a ``probability`` block of BIF, and the table that they fill."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from credo.data.error import NetworkFileError
from credo.data.network_file.bif_text import labels_of, shown
from credo.data.network_file.network_part import VariablePart, fault, numbers_of, oriented
from credo.graphs.variable import nearest
from credo.numerics.array import Array

__all__ = ["Block", "filled_table"]

_STATEMENTS = ("table", "default", "property")


@dataclass(frozen=True)
class Block:
    """A block of a file: its kind, what stands before and inside the braces, and its line."""

    kind: str
    head: str
    body: str
    line: int

    def line_at(self, offset: int) -> int:
        """Return the line of the first word of the body from ``offset`` on."""
        rest = self.body[offset:]
        n_blank = len(rest) - len(rest.lstrip())
        return self.line + (self.head + self.body[: offset + n_blank]).count("\n")


@dataclass
class _Statements:
    """What the statements of a block say, as words; rows by their place in the table."""

    table: list[str] | None = None
    default: list[str] | None = None
    rows: dict[int, list[str]] = field(default_factory=dict)
    offsets: dict[int, int] = field(default_factory=dict)


def filled_table(
    block: Block, parents: Sequence[VariablePart], child: str, shape: tuple[int, ...]
) -> Array:
    """Return the table that the statements of a block fill, axes parents then child."""
    said = _statements(block, parents, child, shape[-1])
    what = f"the table of {child!r}"
    if said.table is not None:
        _require_size(block.line, what, math.prod(shape), said.table)
        whole = oriented(numbers_of(said.table, what, block.line), shape, is_child_first=True)
        if not said.rows:
            return whole
    elif said.default is not None:
        _require_size(block.line, f"the default of {child!r}", shape[-1], said.default)
        row = numbers_of(said.default, what, block.line)
        whole = np.broadcast_to(row, shape).copy()
    else:
        _require_rows(block, parents, child, said.rows)
        whole = np.empty(shape)
    # One conversion for all rows: a file has up to a million of numbers.
    rows = whole.reshape(-1, shape[-1])
    rows[list(said.rows)] = _row_numbers(block, what, said).reshape(-1, shape[-1])
    return whole


def _statements(
    block: Block, parents: Sequence[VariablePart], child: str, n_states: int
) -> _Statements:
    said, offset = _Statements(), 0
    places = [{state: i for i, state in enumerate(part.states)} for part in parents]
    for statement in block.body.split(";"):
        text = statement.strip()
        if text.startswith("("):
            inside, _, numbers = text[1:].rpartition(")")
            place = _row_place(inside, places)
            words = numbers.replace(",", " ").split()
            if place is None or place in said.rows or len(words) != n_states:
                line = block.line_at(offset)
                _require_setting(line, inside, parents, child)
                _require_size(line, f"a row of {child!r}", n_states, words)
                raise _twice(line, inside, child)
            said.rows[place], said.offsets[place] = words, offset
        elif text:
            _keep(said, text, block, offset)
        offset += len(statement) + 1
    return said


def _keep(said: _Statements, text: str, block: Block, offset: int) -> None:
    """Keep a statement that starts with a word."""
    word, *words = text.replace(",", " ").split()
    if word.lower() == "table":
        said.table = words
    elif word.lower() == "default":
        said.default = words
    elif word.lower() != "property":
        raise fault(
            block.line_at(offset),
            "a line of a table must start with '(', 'table' or 'default'; found "
            f"{shown(word)[:40]!r}.{nearest(word, _STATEMENTS).removesuffix('.')}",
        )


def _row_place(inside: str, places: Sequence[dict[str, int]]) -> int | None:
    """Return which row of the table has this setting of the parents, or None if none has."""
    place = 0
    labels = labels_of(inside, len(places)) if places else inside.split()
    if len(labels) != len(places):
        return None
    for label, known in zip(labels, places, strict=True):
        position = known.get(shown(label))
        if position is None:
            return None
        place = place * len(known) + position
    return place


def _row_numbers(block: Block, what: str, said: _Statements) -> Array:
    try:
        return numbers_of(list(chain.from_iterable(said.rows.values())), what, block.line)
    except NetworkFileError:
        for place, words in said.rows.items():
            numbers_of(words, what, block.line_at(said.offsets[place]))
        raise


def _require_setting(
    line: int, inside: str, parents: Sequence[VariablePart], child: str
) -> None:
    labels = [shown(label) for label in labels_of(inside, len(parents))]
    if len(labels) != len(parents):
        raise fault(
            line,
            f"a row of {child!r} must give one state for each of its {len(parents)} parents; "
            f"found {len(labels)}: {labels}. Write the states in the order of the parents",
        )
    for label, part in zip(labels, parents, strict=True):
        if label not in part.states:
            raise fault(
                line,
                f"a row of {child!r} must name states of {part.name!r}, which are "
                f"{list(part.states)[:8]}; found {label!r}."
                f"{nearest(label, part.states).removesuffix('.')}",
            )


def _require_size(line: int, what: str, n: int, words: Sequence[str]) -> None:
    if len(words) != n:
        raise fault(
            line,
            f"{what} must have {n} entries; found {len(words)}. Complete it, or correct the "
            "states",
        )


def _twice(line: int, inside: str, child: str) -> NetworkFileError:
    return fault(
        line,
        f"a table must have each row once; found ({shown(inside.strip())}) twice in the table "
        f"of {child!r}. Remove one of them",
    )


def _require_rows(
    block: Block, parents: Sequence[VariablePart], child: str, rows: dict[int, list[str]]
) -> None:
    """Raise unless every setting of the parents has a row."""
    sizes = [len(part.states) for part in parents]
    n_rows = math.prod(sizes)
    if len(rows) == n_rows:
        return
    missing = next(place for place in range(n_rows) if place not in rows)
    setting = ", ".join(
        f"{part.name} = {part.states[int(i)]}"
        for part, i in zip(parents, np.unravel_index(missing, sizes), strict=True)
    )
    given = f", among them none for {setting}" if setting else ""
    raise fault(
        block.line,
        f"the table of {child!r} must have {n_rows} rows; found {len(rows)}{given}. Add what "
        "is missing, or a 'default' row",
    )
