"""The BIF format of Bayesian networks, read in all its dialects and written in the plainest.

A file is a sequence of blocks: ``network``, one ``variable`` for each variable and one
``probability`` for each table [cozman1998]_, whose statements may come in any order: rows,
``default`` for the rows that are not written, and ``table`` for all entries with the child's
state slowest. Properties are ignored.

Characters with a meaning in BIF are allowed in quoted names. `shielded` replaces them there by
lone surrogates, which no file can hold, so that all later reading can split at the plain
characters; `shown` puts them back. Comments become blanks; offsets of lines stay right.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, product
from typing import NamedTuple

import numpy as np

from credo.data.error import NetworkFileError
from credo.data.network_file.network_assembly import (
    Network,
    network_of_parts,
    parts_of_network,
)
from credo.data.network_file.network_content import text_of
from credo.data.network_file.network_part import (
    NetworkParts,
    TablePart,
    VariablePart,
    by_name,
    fault,
    numbers_of,
    oriented,
    require_total,
    scope_shape,
)
from credo.graphs.variable import nearest
from credo.numerics.array import Array

__all__ = [
    "Block",
    "bif_text",
    "filled_table",
    "labels_of",
    "quoted_name",
    "read",
    "read_bif",
    "shielded",
    "shown",
    "write",
]

_HEAD = re.compile(r"\s*+([^\s{}()]++)([^{}]*+)\{")
_BODY = re.compile(r"([^{}]*+(?:\{[^{}]*+\}[^{}]*+)*+)\}[ \t]*+;?")
_TYPE = re.compile(
    r"\btype\s++(\w++)\s*+(?:\[\s*+(\d++)\s*+\]\s*+)?\{([^{}]*+)\}", re.IGNORECASE
)
_SCOPE = re.compile(r"\s*\((.*)\)\s*", re.DOTALL)
_KINDS = ("network", "variable", "probability")


def read(content: bytes) -> Network:
    """Return the network in a file."""
    return network_of_parts(read_bif(text_of(content)))


def write(net: Network) -> str:
    """Return the text of a file."""
    return bif_text(parts_of_network(net))


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


_BLANK = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())
_SPECIAL = _BLANK + ',;{}()|/"\\*'
_EMPTY = "\ud8ff"
_HIDE = {ord(mark): 0xD800 + place for place, mark in enumerate(_SPECIAL)}
_SHOW: dict[int, int | None] = {code: mark for mark, code in _HIDE.items()} | {
    ord(_EMPTY): None
}
_COMMENT = r"/\*.*?(?:\*/|\Z)|(?<!:)//[^\n]*+"
# After a quote that is never closed there are no names in quotes: to look for one from every
# later quote to the end would take quadratic time.
_SKIPPED = re.compile(rf'"(?:((?:[^"\\]|\\.)*+)"|(.*))|{_COMMENT}', re.DOTALL)
_COMMENTS = re.compile(_COMMENT, re.DOTALL)
_NEEDS_QUOTES = re.compile(r'[\s,;{}()|"\\]|//|/\*|^$')
_OUTSIDE_BRACKETS = re.compile(r"(?:[\[(\]][^\[\](),]*,[^\[\](),]*[\])\[]|[^,])+")


def shielded(text: str) -> str:
    """Return the text without comments and quotes; what quotes protect is hidden from splits.

    Examples
    --------
    >>> [shown(word) for word in shielded('variable "a, b" { // a comment').split()]
    ['variable', 'a, b', '{']
    """
    if '"' not in text and "//" not in text and "/*" not in text:
        return text
    return _SKIPPED.sub(_shield, text)


def shown(name: str) -> str:
    """Return a name as its author wrote it."""
    return name if name.isascii() else name.translate(_SHOW)


def quoted_name(name: str) -> str:
    """Return a name as BIF can hold it, quoted only where other readers would need it."""
    if not _NEEDS_QUOTES.search(name):
        return name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def labels_of(text: str, n: int | None) -> list[str]:
    """Return ``n`` names separated by commas, or by blanks where commas do not give ``n``.

    Examples
    --------
    >>> labels_of(" low, very high ", 2), labels_of("yes no", 2)
    (['low', 'very high'], ['yes', 'no'])
    >>> labels_of("[0,5), [5,9]", 2)
    ['[0,5)', '[5,9]']
    """
    names = [part.strip() for part in text.split(",")]
    if len(names) == n:
        return names
    words = text.replace(",", " ").split()
    if len(words) == n or (n is None and "," not in text):
        return words
    outside = [part.strip() for part in _OUTSIDE_BRACKETS.findall(text)]
    return outside if len(outside) == n else [name for name in names if name]


def _shield(match: re.Match[str]) -> str:
    name, rest = match[1], match[2]
    if rest is not None:
        return '"' + _COMMENTS.sub(_blank, rest)
    if name is None:
        return _blank(match)
    plain = re.sub(r"\\(.)", r"\1", name, flags=re.DOTALL)
    # A blank on either side keeps "true""false" two names.
    return f" {plain.translate(_HIDE) or _EMPTY} "


def _blank(match: re.Match[str]) -> str:
    return " " + "\n" * match[0].count("\n")
