"""Separated text into a frame: a scan for what a parser would let pass, then the parser."""

import csv
import io
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import pandas as pd

from credo.data.error import TableError
from credo.data.table.cell import MISSING_MARKERS
from credo.data.table.column_name import require_unique

__all__ = ["SEPARATORS", "TextTable"]

SEPARATORS = (",", ";", "\t")

_BLOCK = 1 << 24
_LONE_RETURN = re.compile(rb"\r(?![\r\n])")
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")
_DECIMAL_POINT = re.compile(r"[-+]?\d+\.\d+")


@dataclass(frozen=True, eq=False)
class TextTable:
    r"""Checked UTF-8 text of a table, with the separator that its header uses.

    Examples
    --------
    >>> table = TextTable.of(b"x;y\n1,5;2\n", "small.csv")
    >>> table.separator, table.header()
    (';', ['x', 'y'])
    >>> float(table.frame()["x"][0])
    1.5
    """

    raw: bytes
    name: str
    separator: str

    @classmethod
    def of(cls, raw: bytes, name: str, separator: str | None = None) -> "TextTable":
        """Return the text in ``raw`` after checking that it is text, and not empty."""
        raw = raw.removeprefix(b"\xef\xbb\xbf")
        _require_text(raw, name)
        if b"\r" in raw and b"\n" not in raw:
            raw = raw.replace(b"\r", b"\n")
        _require_whole_lines(raw, name)
        return cls(raw, name, separator or _separator(raw))

    def header(self) -> list[str]:
        """Return the column names; a nameless column gets one from its position."""
        _, cells = next(self._records(), (0, []))
        if not cells:
            raise TableError(_empty(self.name))
        return [cell.strip() or f"unnamed_{i}" for i, cell in enumerate(cells, start=1)]

    def frame(
        self,
        text_columns: Sequence[str] = (),
        present_words: Mapping[str, Collection[str]] | None = None,
    ) -> pd.DataFrame:
        """Return the parsed table; raise a `TableError` unless it is rectangular.

        Parameters
        ----------
        text_columns
            Columns whose cells are text even where they look like numbers.
        present_words
            For some columns words that are values there, though elsewhere they mean missing.
        """
        kept = present_words or {}
        names = self.header()
        require_unique(names, self.name)
        self._require_equal_lengths(len(names))
        try:
            frame = pd.read_csv(
                io.BytesIO(self.raw.lstrip(b"\r\n ") if len(names) == 1 else self.raw),
                sep=self.separator,
                header=0,
                names=names,
                index_col=False,
                dtype={column: str for column in text_columns if column in names},
                na_values={
                    name: sorted(MISSING_MARKERS.difference(kept.get(name, ())))
                    for name in names
                },
                keep_default_na=False,
                skipinitialspace=True,
                skip_blank_lines=len(names) > 1,
                decimal=self._decimal(),
                low_memory=False,
                encoding="utf-8",
            )
        except pd.errors.ParserError as error:
            raise TableError(_unreadable(self.name, error)) from error
        return frame

    def missing_words(self, column: str) -> list[str]:
        """Return the different texts of a column that are read as missing, without blanks."""
        place = self.header().index(column)
        rows = islice(self._records(), 1, None)
        found = dict.fromkeys(cells[place].strip() for _, cells in rows)
        return [word for word in found if word and word in MISSING_MARKERS]

    def line_of(self, row: int) -> int:
        """Return the line of the file, counted from 1, where a row of the frame begins."""
        for index, (line, _) in enumerate(self._records()):
            if index == row + 1:
                return line
        raise IndexError(f"row must be below the number of rows; found {row}.")

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """Yield first line and cells of every record; a blank one counts in a single column."""
        lines = io.TextIOWrapper(io.BytesIO(self.raw), encoding="utf-8", newline="")
        reader = csv.reader(lines, delimiter=self.separator, skipinitialspace=True)
        line, n_columns = 1, 0
        try:
            for cells in reader:
                if n_columns == 1 or len(cells) > 1 or (cells and cells[0].strip()):
                    n_columns = n_columns or len(cells)
                    yield line, cells or [""]
                line = reader.line_num + 1
        except csv.Error as error:
            raise TableError(_unreadable(self.name, error)) from error

    def _require_equal_lengths(self, expected: int) -> None:
        # Splitting at bytes is far faster than parsing, and exact where nothing is quoted.
        if b'"' in self.raw:
            counts = ((line, len(cells)) for line, cells in self._records())
            unequal = next((found for found in counts if found[1] != expected), None)
        else:
            unequal = _first_unequal(self.raw, self.separator, expected)
        if unequal is not None:
            line, found = unequal
            fields = "1 field" if expected == 1 else f"{expected:,} fields"
            raise TableError(
                f"every line of {self.name} must have {fields}, as its header does; "
                f"found {found} on line {line}; correct that line, or quote its text."
            )

    def _decimal(self) -> str:
        """Return the decimal mark: a comma only where it cannot be the separator."""
        if self.separator == ",":
            return "."
        first = [cell for _, cells in islice(self._records(), 50) for cell in cells]
        has_comma = any(_DECIMAL_COMMA.fullmatch(cell.strip()) for cell in first)
        has_point = any(_DECIMAL_POINT.fullmatch(cell.strip()) for cell in first)
        return "," if has_comma and not has_point else "."


def _require_text(raw: bytes, name: str) -> None:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TableError(
            f"{name} must be UTF-8 text; found byte 0x{raw[error.start]:02x} at byte position "
            f"{error.start}; save the file as 'CSV UTF-8'."
        ) from error
    zero = raw.find(b"\0")
    if zero >= 0:
        raise TableError(
            f"{name} must be UTF-8 text; found a zero byte at byte position {zero}; "
            "save the file as 'CSV UTF-8'."
        )
    if not raw.strip():
        raise TableError(_empty(name))


def _require_whole_lines(raw: bytes, name: str) -> None:
    """Refuse a carriage return that would end a row in the middle of a line."""
    if b"\r" not in raw:
        return
    n_quotes, start = 0, 0
    for found in _LONE_RETURN.finditer(raw):
        n_quotes += raw.count(b'"', start, found.start())
        start = found.start()
        # Quotes come in pairs, so that an odd number of them before it means inside a cell.
        if n_quotes % 2 == 0 and found.end() < len(raw):
            line = raw.count(b"\n", 0, found.start()) + 1
            raise TableError(
                f"every line of {name} must end as its others do; found a carriage return "
                f"inside line {line}, which would tear its row in two; remove it, or put the "
                "cell in quotes."
            )


def _separator(raw: bytes) -> str:
    """Return the separator that splits the header into most fields."""
    start = len(raw) - len(raw.lstrip(b"\r\n "))
    head = raw[start : start + (1 << 20)].decode("utf-8", errors="ignore")

    def n_fields(separator: str) -> int:
        reader = csv.reader(io.StringIO(head, newline=""), delimiter=separator)
        try:
            return len(next(reader))
        except csv.Error:
            return 0

    return max(SEPARATORS, key=n_fields)


def _blocks(raw: bytes) -> Iterator[bytes]:
    start = 0
    while start < len(raw):
        end = raw.find(b"\n", start + _BLOCK)
        end = len(raw) if end < 0 else end + 1
        yield raw[start:end]
        start = end


def _first_unequal(raw: bytes, separator: str, expected: int) -> tuple[int, int] | None:
    """Return line and field count of the first line that does not have ``expected`` fields."""
    blank = b" \r" if separator == "\t" else b" \t\r"
    n_before = 0
    for block in _blocks(raw):
        data = np.frombuffer(block, dtype=np.uint8)
        ends = np.flatnonzero(data == ord("\n"))
        if not block.endswith(b"\n"):
            ends = np.append(ends, len(block))
        places = np.flatnonzero(data == ord(separator))
        counts = np.diff(np.searchsorted(places, ends), prepend=0) + 1
        for index in np.flatnonzero(counts != expected):
            start = ends[index - 1] + 1 if index else 0
            if block[start : ends[index]].strip(blank):
                return n_before + int(index) + 1, int(counts[index])
        n_before += len(ends)
    return None


def _empty(name: str) -> str:
    return (
        f"{name} must hold a header line and rows; found an empty file; check that it was "
        "written to the end."
    )


def _unreadable(name: str, error: Exception) -> str:
    reason = " ".join(str(error).split()).rstrip(".")
    return (
        f"{name} must be a table of separated text; found a place that cannot be read "
        f"({reason}); look for a quote that is not closed."
    )
