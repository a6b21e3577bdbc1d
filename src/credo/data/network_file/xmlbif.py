"""XMLBIF, the XML form of BIF: ``VARIABLE`` and ``DEFINITION`` elements.

A table lists its entries with the child's state quickest and the first parent slowest
[cozman1998]_. Names of elements are read in upper or lower case, and ``VALUE`` is read like
``OUTCOME``. Documents that define entities are refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat
from xml.sax.saxutils import escape

from credo.data.error import NetworkFileError
from credo.data.network_file.network_assembly import (
    Network,
    network_of_parts,
    parts_of_network,
)
from credo.data.network_file.network_part import (
    NetworkParts,
    TablePart,
    VariablePart,
    by_name,
    fault,
    numbers_of,
    oriented,
    scope_shape,
)

__all__ = ["read", "read_xmlbif", "write", "xmlbif_text"]

_GROUPS = {"VARIABLE": "VARIABLE", "DEFINITION": "DEFINITION", "PROBABILITY": "DEFINITION"}
_NAMES = {"VALUE": "OUTCOME"}
# A carriage return is a character of XML, but comes back as the end of a line.
_NOT_XML = re.compile("[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]")
_STRAY_LESS = re.compile(rb"<(?![A-Za-z/!?])")
_STRAY_AND = re.compile(rb"&(?!#?\w+;)")
_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<BIF VERSION="0.3">
<NETWORK>
<NAME>unknown</NAME>"""


@dataclass
class _Group:
    """A variable or a definition: the texts of its elements by name, and its line."""

    kind: str
    role: str
    line: int
    texts: dict[str, list[str]] = field(default_factory=dict)

    def first(self, name: str) -> str:
        return self.texts.get(name, [""])[0]


@dataclass
class _Document:
    """The groups of a document, collected while it is parsed."""

    groups: list[_Group] = field(default_factory=list)
    path: list[str] = field(default_factory=list)
    n_inside: int = 0
    text: list[str] = field(default_factory=list)


def read(content: bytes) -> Network:
    """Return the network in a file."""
    return network_of_parts(read_xmlbif(content))


def write(net: Network) -> str:
    """Return the text of a file."""
    return xmlbif_text(parts_of_network(net))


def read_xmlbif(content: bytes) -> NetworkParts:
    """Return the variables and tables that a document in XMLBIF describes.

    Raises
    ------
    NetworkFileError
        If the document is cut, or says what no network can be; the message names the line.
    """
    try:
        groups = _groups(content)
    except NetworkFileError:
        # Some programs write "<5" as it is, which no XML reader takes.
        repaired = _STRAY_AND.sub(b"&amp;", _STRAY_LESS.sub(b"&lt;", content))
        if repaired == content:
            raise
        groups = _groups(repaired)
    variables = tuple(_variable(group) for group in groups if group.kind == "VARIABLE")
    known = by_name(variables)
    tables = (_table(group, known) for group in groups if group.kind == "DEFINITION")
    return NetworkParts(variables, tuple(tables))


def xmlbif_text(parts: NetworkParts) -> str:
    """Return the document; every number is written with all its digits.

    Raises
    ------
    NetworkFileError
        If a name or state has blanks at its ends, or characters that XML does not have.
    """
    for variable in parts.variables:
        for text in (variable.name, *variable.states):
            _require_kept(text)
    lines = [_HEAD]
    for variable in parts.variables:
        lines += ['<VARIABLE TYPE="nature">', _element("NAME", variable.name)]
        lines += [_element("OUTCOME", state) for state in variable.states]
        lines += ["</VARIABLE>"]
    for table in parts.tables:
        lines += ["<DEFINITION>", _element("FOR", table.child)]
        lines += [_element("GIVEN", parent) for parent in table.parents]
        lines += ["  <TABLE>", *_rows(table), "  </TABLE>", "</DEFINITION>"]
    return "\n".join([*lines, "</NETWORK>", "</BIF>", ""])


def _require_kept(text: str) -> None:
    """Raise unless every XML reader gives the text back as it is."""
    if text != text.strip():
        raise NetworkFileError(
            f"names and states must not begin or end in blanks in XMLBIF, where these are "
            f"layout; found {text!r}. Rename it, or save the network as .bif or .json."
        )
    if found := _NOT_XML.search(text):
        raise NetworkFileError(
            f"names and states must be of characters that XML has; found {found[0]!r} in "
            f"{text!r}. Rename it, or save the network as .bif or .json."
        )


def _element(name: str, text: str) -> str:
    return f"  <{name}>{escape(text)}</{name}>"


def _rows(table: TablePart) -> Iterator[str]:
    for row in table.values.reshape(-1, table.values.shape[-1]).tolist():
        yield "    " + " ".join(map(repr, row))


def _groups(content: bytes) -> list[_Group]:
    document, parser = _Document(), expat.ParserCreate()

    def start(name: str, attributes: dict[str, str]) -> None:
        kind = _GROUPS.get(name.upper())
        if kind is not None:
            role = attributes.get("TYPE", attributes.get("type", "nature"))
            document.groups.append(_Group(kind, role, parser.CurrentLineNumber))
            document.n_inside = len(document.path) + 1
        document.path.append(_NAMES.get(name.upper(), name.upper()))
        if len(document.path) == document.n_inside + 1:
            document.text.clear()

    def end(_: str) -> None:
        name = document.path.pop()
        if document.n_inside and len(document.path) == document.n_inside:
            texts = document.groups[-1].texts.setdefault(name, [])
            texts.append("".join(document.text).strip())
        elif len(document.path) < document.n_inside:
            document.n_inside = 0

    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = document.text.append
    parser.EntityDeclHandler = _no_entity
    _parse(parser, content, document)
    return document.groups


def _parse(parser: expat.XMLParserType, content: bytes, document: _Document) -> None:
    try:
        parser.Parse(content, True)
    except NetworkFileError:
        raise
    except expat.ExpatError as error:
        raise _not_whole(error, document) from error
    except (LookupError, ValueError) as error:
        raise fault(
            1,
            "the file must be in an encoding that XML readers know; found another "
            f"({str(error)[:80]}). Save it as UTF-8",
        ) from error


def _no_entity(*_: object) -> NoReturn:
    raise fault(
        0, "an XMLBIF document must not define entities; found one. Write the text itself"
    )


def _not_whole(error: expat.ExpatError, document: _Document) -> NetworkFileError:
    reading = "".join(f"<{name}>" for name in document.path[-3:]) or "the first element"
    return fault(
        error.lineno,
        f"the file must be whole XML; found {expat.ErrorString(error.code)} while reading "
        f"{reading}. If the file was cut, copy it again",
    )


def _variable(group: _Group) -> VariablePart:
    name = group.first("NAME")
    if group.role != "nature":
        raise fault(
            group.line,
            f"variable {name!r} must be of type nature; found {group.role}. Take decisions and "
            "utilities out of the network",
        )
    return VariablePart(name, tuple(group.texts.get("OUTCOME", [])), group.line)


def _table(group: _Group, known: dict[str, VariablePart]) -> TablePart:
    child, parents = group.first("FOR"), tuple(group.texts.get("GIVEN", []))
    shape = scope_shape(known, parents, child, group.line)
    words = group.first("TABLE").split()
    if len(words) != math.prod(shape):
        raise fault(
            group.line,
            f"the table of {child!r} must have {math.prod(shape)} entries; found {len(words)}. "
            "Complete it, or correct the states",
        )
    numbers = numbers_of(words, f"the table of {child!r}", group.line)
    values = oriented(numbers, shape, is_child_first=False)
    return TablePart(child, parents, values, group.line)
