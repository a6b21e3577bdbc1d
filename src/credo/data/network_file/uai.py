"""The UAI format of networks and findings: numbers only, variables named by their place.

A model is a list of words [uai2014]_: ``MARKOV`` or ``BAYES``, the number of variables, their
numbers of states, the number of factors, one scope for each (its size, then variables), and
one table for each (its size, then entries, the last variable of the scope quickest). In a
``BAYES`` file the last variable of a scope is the child of the others. What follows ``#`` on a
line is read over. Findings (evidence) say which variables are observed, and their states.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from os import PathLike

from credo.data.error import NetworkFileError
from credo.data.network_file.network_assembly import Network, network_of_uai, uai_of_network
from credo.data.network_file.network_content import named_damage, network_content, text_of
from credo.data.network_file.network_part import (
    TablePart,
    UaiParts,
    VariablePart,
    by_name,
    fault,
    has_unit_sums,
    numbers_of,
    require_total,
    scope_shape,
)

__all__ = [
    "UaiWords",
    "load_uai_findings",
    "read",
    "read_uai",
    "read_uai_findings",
    "uai_text",
    "write",
]

MOST_DIGITS = 15
MOST_STATES = 1 << 22
"""States of all variables together, which a file counts but does not list."""

_COMMENT = re.compile(r"#[^\n]*")
_Scope = tuple[tuple[str, ...], tuple[int, ...]]


class UaiWords:
    """The words of a file, taken one after the other; tells the line if they run out."""

    def __init__(self, text: str) -> None:
        self.text = _COMMENT.sub("", text)
        self.words = self.text.split()
        self.place = 0

    def take(self, n: int, what: str) -> list[str]:
        """Return the next ``n`` words."""
        found = self.words[self.place : self.place + n]
        if len(found) < n:
            raise fault(
                self.text.rstrip().count("\n") + 1,
                f"the file must go on with {what}, {n} words; found its end after "
                f"{len(found)} of them. The file is cut: copy it again",
            )
        self.place += n
        return found

    def counts(self, n: int, what: str) -> list[int]:
        """Return the next ``n`` words as whole numbers."""
        words = self.take(n, what)
        for i, word in enumerate(words):
            if not word.isdecimal() or len(word) > MOST_DIGITS:
                limit = f" of at most {MOST_DIGITS} digits" if word.isdecimal() else ""
                raise fault(
                    self.line_at(self.place - n + i),
                    f"{what} must be whole numbers{limit}; found {word[:40]!r}. Check that the "
                    "file is in UAI format",
                )
        return [int(word) for word in words]

    def count(self, what: str) -> int:
        """Return the next word as a whole number."""
        return self.counts(1, what)[0]

    def line_at(self, place: int) -> int:
        """Return the line of a word; looked for only when there is an error to tell."""
        word = next(islice(re.finditer(r"\S+", self.text), place, None))
        return self.text.count("\n", 0, word.start()) + 1


def read(content: bytes) -> Network:
    """Return the network in a file."""
    return network_of_uai(read_uai(text_of(content)))


def write(net: Network) -> str:
    """Return the text of a file."""
    return uai_text(uai_of_network(net))


def read_uai(text: str) -> UaiParts:
    """Return the variables and tables that a text in UAI format describes.

    Raises
    ------
    NetworkFileError
        If the text is cut, or says what no network can be; the message names the line.

    Examples
    --------
    >>> parts = read_uai("MARKOV 2 2 2 1 2 0 1 4 0.1 0.2 0.3 0.4")
    >>> parts.tables[0].values.tolist()
    [[0.1, 0.2], [0.3, 0.4]]
    """
    words = UaiWords(text)
    kind = words.take(1, "MARKOV or BAYES")[0]
    if kind.upper() not in ("MARKOV", "BAYES"):
        raise fault(
            1,
            f"a UAI file must start with MARKOV or BAYES; found {kind[:40]!r}. Check that the "
            "file is in UAI format",
        )
    sizes = words.counts(words.count("the number of variables"), "the numbers of states")
    if sum(sizes) > MOST_STATES:
        raise fault(
            0,
            f"variables must have at most {MOST_STATES:,} states in all; found {sum(sizes):,}. "
            "Check that the file is in UAI format",
        )
    variables = tuple(VariablePart(str(i), tuple(range(n))) for i, n in enumerate(sizes))
    known = by_name(variables)
    scopes = [_scope(words, known) for _ in range(words.count("the number of factors"))]
    require_total([shape for _, shape in scopes])
    tables = tuple(_table(words, scope, i) for i, scope in enumerate(scopes))
    if words.place < len(words.words):
        raise fault(
            words.line_at(words.place),
            f"a UAI file must end after its {len(tables)} tables; found "
            f"{words.words[words.place][:40]!r}. Check the number of factors",
        )
    is_directed = kind.upper() == "BAYES"
    return UaiParts(is_directed, variables, _turned(tables) if is_directed else tables)


def uai_text(parts: UaiParts) -> str:
    """Return the text in UAI format; every number is written with all its digits."""
    place = {part.name: str(i) for i, part in enumerate(parts.variables)}
    lines = ["BAYES" if parts.is_directed else "MARKOV", str(len(place))]
    lines += [" ".join(str(len(part.states)) for part in parts.variables)]
    lines += [str(len(parts.tables))]
    for table in parts.tables:
        lines += [" ".join([str(len(table.scope)), *(place[name] for name in table.scope)])]
    for table in parts.tables:
        rows = table.values.reshape(-1, table.values.shape[-1] if table.values.ndim else 1)
        lines += ["", str(table.values.size)]
        lines += [" " + " ".join(map(repr, row)) for row in rows.tolist()]
    return "\n".join(lines) + "\n"


def _turned(tables: tuple[TablePart, ...]) -> tuple[TablePart, ...]:
    """Return conditional tables; some programs write the first variable quickest."""
    if all(has_unit_sums(table.values) for table in tables if table.values.ndim):
        return tables
    turned = tuple(
        replace(table, values=table.values.reshape(table.values.shape[::-1]).T)
        for table in tables
    )
    is_whole = all(has_unit_sums(table.values) for table in turned if table.values.ndim)
    return turned if is_whole else tables


def _scope(words: UaiWords, known: Mapping[str, VariablePart]) -> _Scope:
    start = words.place
    names = tuple(map(str, words.counts(words.count("the size of a scope"), "a scope")))
    if not names:
        return names, ()
    is_sound = known.keys() >= set(names) and len(set(names)) == len(names)
    line = 0 if is_sound else words.line_at(start)
    return names, scope_shape(known, names[:-1], names[-1], line)


def _table(words: UaiWords, scope: _Scope, place: int) -> TablePart:
    names, shape = scope
    what, start = f"table {place}", words.place
    n = words.count(f"the size of {what}")
    if n != math.prod(shape):
        raise fault(
            words.line_at(start),
            f"{what} must have {math.prod(shape)} entries, over variables {list(names)}; found "
            f"{n} announced. Correct its size or its scope",
        )
    found = words.take(n, f"the entries of {what}")
    try:
        values = numbers_of(found, what, 0).reshape(shape)
    except NetworkFileError:
        numbers_of(found, what, words.line_at(start))
        raise
    return TablePart(names[-1] if names else "", names[:-1], values)


def load_uai_findings(path: str | PathLike[str]) -> list[dict[str, int]]:
    """Return the cases of a UAI evidence file: for each, states by the name of the variable.

    Raises
    ------
    NetworkFileError
        If the file is absent or cut, or holds anything but whole numbers.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(f"{folder}/grid.uai.evid").write_text("2 0 1 5 0")
    ...     load_uai_findings(f"{folder}/grid.uai.evid")
    [{'0': 1, '5': 0}]
    """
    with named_damage(path):
        return read_uai_findings(text_of(network_content(path)))


def read_uai_findings(text: str) -> list[dict[str, int]]:
    """Return the cases in a text, in either dialect.

    One dialect is a single case, ``n variable state variable state ...``; the other puts the
    number of cases before them. A text that could be both is read as a single case, and an
    empty one as a case without findings.

    Examples
    --------
    >>> read_uai_findings("1 2 0 1 5 0"), read_uai_findings("0")
    ([{'0': 1, '5': 0}], [{}])
    """
    words = UaiWords(text)
    numbers = words.counts(len(words.words), "findings")
    if not numbers or len(numbers) == 1 + 2 * numbers[0]:
        return [_case(numbers[1:])]
    if numbers[0] >= len(numbers):
        raise _strange(numbers)
    cases, place = [], 1
    for _ in range(numbers[0]):
        end = place + 1 + 2 * (numbers[place] if place < len(numbers) else 0)
        cases.append(_case(numbers[place + 1 : end]))
        place = end
    if place != len(numbers):
        raise _strange(numbers)
    return cases


def _strange(numbers: Sequence[int]) -> NetworkFileError:
    return fault(
        0,
        "findings must be a number of variables and then each variable with its state; found "
        f"{len(numbers)} words of which the first is {numbers[0]}. If the file was cut, copy "
        "it again",
    )


def _case(numbers: Sequence[int]) -> dict[str, int]:
    return {str(v): state for v, state in zip(numbers[::2], numbers[1::2], strict=False)}
