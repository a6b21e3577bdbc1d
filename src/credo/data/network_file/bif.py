"""The BIF format of Bayesian networks, read in all its dialects and written in the plainest.

A file is a sequence of blocks: ``network``, one ``variable`` for each variable and one
``probability`` for each table [cozman1998]_. Rows may come in any order, ``default`` fills the
rows that are not written, and ``table`` lists all entries with the child's state slowest.
Properties are read over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from credo.data.error import NetworkFileError
from credo.data.network_file.bif_table import Block, filled_table
from credo.data.network_file.bif_text import labels_of, quoted_name, shielded, shown
from credo.data.network_file.network_part import (
    NetworkParts,
    TablePart,
    VariablePart,
    by_name,
    fault,
    require_total,
    scope_shape,
)
from credo.graphs.variable import nearest

__all__ = ["bif_text", "read_bif"]

_HEAD = re.compile(r"\s*+([^\s{}()]++)([^{}]*+)\{")
_BODY = re.compile(r"([^{}]*+(?:\{[^{}]*+\}[^{}]*+)*+)\}[ \t]*+;?")
_TYPE = re.compile(
    r"\btype\s++(\w++)\s*+(?:\[\s*+(\d++)\s*+\]\s*+)?\{([^{}]*+)\}", re.IGNORECASE
)
_SCOPE = re.compile(r"\s*\((.*)\)\s*", re.DOTALL)
_KINDS = ("network", "variable", "probability")


def read_bif(text: str) -> NetworkParts:
    """Return the variables and tables that a text in BIF describes.

    Raises
    ------
    NetworkFileError
        If the text is cut, or says what no network can be; the message names the line.

    Examples
    --------
    >>> coin = "variable coin { type discrete [ 2 ] { heads, tails }; }"
    >>> read_bif(f"{coin} probability ( coin ) {{ table 0.1, 0.9; }}").tables[0].values.tolist()
    [0.1, 0.9]
    """
    blocks = list(_blocks(shielded(text)))
    variables = tuple(_variable(block) for block in blocks if block.kind == "variable")
    known = by_name(variables)
    heads = [_head(block, known) for block in blocks if block.kind == "probability"]
    require_total([head.shape for head in heads])
    return NetworkParts(variables, tuple(_table(head, known) for head in heads))


def bif_text(parts: NetworkParts) -> str:
    """Return the text in BIF; every number is written with all its digits."""
    known = by_name(parts.variables)
    lines = ["network unknown {", "}"]
    for variable in parts.variables:
        states = ", ".join(map(quoted_name, variable.states))
        lines += [
            f"variable {quoted_name(variable.name)} {{",
            f"  type discrete [ {len(variable.states)} ] {{ {states} }};",
            "}",
        ]
    for table in parts.tables:
        lines += _table_lines(table, known)
    return "\n".join(lines) + "\n"


def _blocks(text: str) -> Iterator[Block]:
    place, line = 0, 1
    while head := _HEAD.match(text, place):
        line += text.count("\n", place, head.start(1))
        _require_kind(head[1], line, _KINDS)
        body = _BODY.match(text, head.end())
        if body is None:
            raise _cut(line, f"{head[1]} {shown(head[2].strip())}")
        yield Block(head[1].lower(), head[2], body[1], line)
        line += text.count("\n", head.start(1), body.end())
        place = body.end()
    rest = text[place:].lstrip()
    if rest:
        line += text.count("\n", place) - rest.count("\n")
        word = rest.split(None, 1)[0].partition("(")[0]
        # The last word of a cut file may be cut as well.
        _require_kind(word, line, [kind[: len(word)] for kind in _KINDS] if word else _KINDS)
        raise _cut(line, shown(rest.strip()))


def _require_kind(word: str, line: int, kinds: Sequence[str]) -> None:
    if word.lower() not in kinds:
        raise fault(
            line,
            f"a block must be one of {', '.join(_KINDS)}; found {shown(word)[:40]!r}."
            f"{nearest(word[:40], _KINDS).removesuffix('.')}",
        )


def _cut(line: int, reading: str) -> NetworkFileError:
    return fault(
        line,
        "a block must end in '}'; found the end of the file while reading "
        f"{' '.join(reading[:60].split())!r}. The file is cut: copy it again",
    )


def _variable(block: Block) -> VariablePart:
    name = shown(block.head.strip())
    found = _TYPE.search(block.body)
    if found is None or found[1].lower() != "discrete":
        kind = "no states" if found is None else f"type {found[1]}"
        raise fault(
            block.line,
            f"variable {name!r} must be discrete with its states in braces; found {kind}. "
            "Write 'type discrete [ 2 ] { yes, no };'",
        )
    n_states = int(found[2]) if found[2] else None
    states = tuple(map(shown, labels_of(found[3], n_states)))
    if n_states is not None and len(states) != n_states:
        raise fault(
            block.line_at(found.start()),
            f"variable {name!r} must list as many states as it announces, {n_states}; found "
            f"{len(states)}. Correct the number or the list",
        )
    return VariablePart(name, states, block.line)


class _Head(NamedTuple):
    """What a table is about, before its entries are read."""

    block: Block
    parents: tuple[str, ...]
    child: str
    shape: tuple[int, ...]


def _head(block: Block, known: Mapping[str, VariablePart]) -> _Head:
    parents, child = _scope(block, known)
    if "{" in block.body:
        raise _cut(block.line, f"probability {child}")
    return _Head(block, parents, child, scope_shape(known, parents, child, block.line))


def _table(head: _Head, known: Mapping[str, VariablePart]) -> TablePart:
    block, parents, child, shape = head
    values = filled_table(block, [known[name] for name in parents], child, shape)
    return TablePart(child, parents, values, block.line)


def _scope(block: Block, known: Mapping[str, VariablePart]) -> tuple[tuple[str, ...], str]:
    inside = _SCOPE.fullmatch(block.head)
    if inside is None:
        raise fault(
            block.line,
            "probability must name its variables in parentheses; found "
            f"{shown(block.head.strip())[:40]!r}. Write 'probability ( child | parents )'",
        )
    head, bar, tail = inside[1].partition("|")
    child = shown(head.strip())
    if bar or child in known:
        return _parents(tail, known), child
    # Without a bar, the first name is the child in the dialect of JavaBayes.
    names = [shown(name) for name in head.replace(",", " ").split()] or [""]
    return tuple(names[1:]), names[0]


def _parents(text: str, known: Mapping[str, VariablePart]) -> tuple[str, ...]:
    names = [name.strip() for name in text.split(",")] if text.strip() else []
    if any(shown(name) not in known for name in names):
        names = text.replace(",", " ").split()
    return tuple(map(shown, names))


def _table_lines(table: TablePart, known: Mapping[str, VariablePart]) -> Iterator[str]:
    child, parents = quoted_name(table.child), ", ".join(map(quoted_name, table.parents))
    bar = f" | {parents}" if parents else ""
    yield f"probability ( {child}{bar} ) {{"
    if not parents:
        yield f"  table {_row(table.values.tolist())};"
    else:
        labels = [[quoted_name(state) for state in known[p].states] for p in table.parents]
        rows = table.values.reshape(-1, table.values.shape[-1]).tolist()
        for setting, row in zip(product(*labels), rows, strict=True):
            yield f"  ( {', '.join(setting)} ) {_row(row)};"
    yield "}"


def _row(numbers: list[float]) -> str:
    return ", ".join(map(repr, numbers))
