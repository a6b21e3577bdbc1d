"""Tables in: CSV, Parquet or a data frame, checked once so that nothing later has to.

Separated text is scanned for what a parser would let pass, and then parsed.
"""

import csv
import gzip
import importlib.util
import io
import re
import sys
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from pandas.api import types

from credo.data.error import TableError
from credo.data.packed import UnpackedTooLarge, unpacked
from credo.data.table.cell import MAX_NUMBER, MISSING_MARKERS, Cells, is_padded, number_style
from credo.data.table.column_name import nearest_names, quoted
from credo.numerics.array import Array

__all__ = ["NUMBER_SHARE", "SEPARATORS", "Table", "TextTable", "as_table", "read_table"]


NUMBER_SHARE = 0.9
"""A column with at least this share of numbers must hold nothing but numbers."""

LARGE, MOST_TIMES = 1 << 28, 100
"""Bytes that any file may unpack to, and how many times its size a larger one may."""

MOST_CELLS = 1 << 29
"""Cells that a Parquet file may have; more would take above four gigabytes."""

STANDARD_INPUT = Path("-")

Place = Callable[[int], str]
IsUsed = Callable[[str], bool]
_NESTED = (list, dict, tuple, set, np.ndarray)
_PLAIN_KINDS = (str, int, float, np.generic, type(None))


def _any_column(name: str) -> bool:
    return True


@dataclass(frozen=True, eq=False)
class Table:
    """A checked data frame and the name by which messages call it.

    Columns have different names of type str; number columns hold no infinite value and no
    text. Build one with `read_table` or `as_table`.

    Attributes
    ----------
    frame, name
        The cells, and what messages call them.
    words_of
        Returns the texts of a column that its file had where the frame has gaps, if known.
    given
        Columns of numbers that a data frame had in another type, such as text, as they were;
        of a file those that are written with leading zeros.
    is_file
        Whether it was read from a file.
    index
        The index of the data frame of pandas that it was.
    """

    frame: pd.DataFrame
    name: str
    words_of: Callable[[str], list[str]] | None = None
    given: Mapping[str, "pd.Series[Any]"] = field(default_factory=dict, repr=False)
    is_file: bool = False
    index: "pd.Index[Any] | None" = None
    _read: dict[str, Cells] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def columns(self) -> list[str]:
        """The column names, in order."""
        return list(self.frame.columns)

    def column(self, name: str) -> Cells:
        """Return the cells of a column, which are read at most once.

        Examples
        --------
        >>> as_table(pd.DataFrame({"x": ["1", "2.5", "?"]})).column("x").numbers.tolist()
        [1.0, 2.5, nan]
        """
        if name not in self._read:
            self._read[name] = Cells(self.frame[name])
        return self._read[name]

    def as_given(self, name: str) -> "pd.Series[Any]":
        """Return a column in the type that it had, where the frame may have numbers for text.

        Examples
        --------
        >>> as_table(pd.DataFrame({"code": ["007", "008"]})).as_given("code").tolist()
        ['007', '008']
        """
        return self.given.get(name, self.frame[name])

    def as_written(self, name: str) -> Cells:
        """Return the cells of a column, whole numbers with the zeros that stood before them.

        Examples
        --------
        >>> table = as_table(pd.DataFrame({"code": ["007", "008"]}))
        >>> table.as_written("code").text.tolist(), table.column("code").text.tolist()
        (['007', '008'], ['7', '8'])
        """
        given = Cells(self.as_given(name))
        is_code = name in self.given and is_padded(given.words.levels)
        return given if is_code else self.column(name)

    def missing_words(self, column: str) -> list[str]:
        """Return the different texts in a column that count as missing, as far as known.

        Examples
        --------
        >>> as_table(pd.DataFrame({"x": ["a", "NA", "b", None]})).missing_words("x")
        ['NA']
        """
        if self.words_of is not None:
            return self.words_of(column)
        found = (str(value).strip() for value in pd.unique(self.frame[column].dropna()))
        return [word for word in found if word and word in MISSING_MARKERS]

    def require_column(self, column: str, argument: str = "") -> None:
        """Raise a `TableError` with the nearest names unless there is such a column.

        Parameters
        ----------
        column
            The name asked for.
        argument
            Argument that gave the name; makes the column a target in the message.
        """
        if column in self.columns:
            return
        role = "target column" if argument else "column"
        nearest = nearest_names(column, self.columns)
        if nearest:
            noun = "name is" if len(nearest) == 1 else "names are"
            found = f"the nearest {noun} {quoted(nearest)}"
        else:
            found = f"its columns are {quoted(self.columns)}"
        advice = "rename the column, or add it"
        if argument:
            advice = (
                f"pass `{argument}={nearest[0]!r}`" if nearest else f"pass one as `{argument}`"
            )
        raise TableError(f"{role} {column!r} must be in {self.name}; {found}; {advice}.")

    def require_columns(self, columns: Sequence[str]) -> None:
        """Raise a `TableError` that lists those of ``columns`` that the table has not."""
        present = set(self.columns)
        absent = [column for column in columns if column not in present]
        if len(absent) == 1:
            self.require_column(absent[0])
        if absent:
            raise TableError(
                f"{len(columns)} columns must be in {self.name}; found that {len(absent)} are "
                f"not: {quoted(absent)}; its columns are {quoted(self.columns)}; rename "
                "columns, or add them."
            )

    def rows(self, index: ArrayLike) -> "Table":
        """Return the table of the rows at ``index``: positions, or one truth value per row."""
        index = np.asarray(index)
        positions = np.flatnonzero(index) if index.dtype == bool else index
        if np.array_equal(positions, np.arange(len(self))):
            return replace(self, words_of=None)
        frame = self.frame.iloc[positions].reset_index(drop=True)
        read = {
            name: cells.rows(frame[name], positions)
            for name, cells in self._read.items()
            if cells.has_words
        }
        given = {name: part.iloc[positions] for name, part in self.given.items()}
        kept = None if self.index is None else self.index[positions]
        return Table(frame, self.name, None, given, self.is_file, kept, read)

    def fingerprint(self) -> str:
        """Return the SHA-256 of the column names and of every cell, in hexadecimal."""
        digest = sha256()
        for name in self.columns:
            column = self.column(name).held()
            digest.update(repr((name, len(self))).encode())
            digest.update(column.numbers.astype("<f8", copy=False).tobytes())
            if column.has_text:
                digest.update(repr(column.text.tolist()).encode())
        return digest.hexdigest()


def read_table(
    path: str | PathLike[str],
    text_columns: Sequence[str] = (),
    present_words: Mapping[str, Collection[str]] | None = None,
    is_used: IsUsed = _any_column,
) -> Table:
    """Return the table in a file; one that breaks a rule raises a `TableError`.

    The content decides how it is read: Parquet, or text separated by commas, semicolons or
    tabs, gzipped or not. With another separator than a comma, numbers may have a decimal
    comma. Empty cells and words such as ``NA``, ``null``, ``-`` or ``?`` are missing.

    Parameters
    ----------
    path
        The file; ``-`` is standard input.
    text_columns
        Columns whose cells are text even where they look like numbers, as postal codes do.
    present_words
        For some columns words that are values there, though elsewhere they mean missing.
    is_used
        Whether a column is used, by its name; others may hold anything.

    Raises
    ------
    TableError
        If the file is absent, empty, not UTF-8 text, has no rows, repeats a column name, has
        rows of unequal length, infinite or huge values, or text in a column of numbers.

    Examples
    --------
    >>> from credo.data.sets.embedded_table import set_path
    >>> table = read_table(set_path("yacht"))
    >>> len(table), table.columns[-1]
    (308, 'resistance')
    """
    path = Path(path)
    name = "standard input" if path == STANDARD_INPUT else path.name
    raw = _file_bytes(path, name)
    if raw[:4] == b"PAR1" and path == STANDARD_INPUT:
        raise TableError(
            "standard input must be CSV; found Parquet, which needs a file to be read from; "
            "pass the path of one."
        )
    if raw[:4] == b"PAR1":
        frame = _parquet_frame(path)
        table = _checked(frame, path.name, lambda row: f"row {row + 1}", (), is_used)
        return replace(table, is_file=True)
    if raw[:4] == b"PK\x03\x04":
        raise TableError(
            f"{name} must be CSV or Parquet; found a zip archive or an Excel workbook; "
            "save the sheet as 'CSV UTF-8'."
        )
    is_tab_file = ".tsv" in path.suffixes
    content = TextTable.of(raw, name, "\t" if is_tab_file else None)
    frame = content.frame(text_columns, present_words)
    table = _checked(
        frame, name, lambda row: f"line {content.line_of(row)}", text_columns, is_used
    )
    given = content.padded(table.frame)
    return replace(table, words_of=content.missing_words, given=given, is_file=True)


def as_table(
    source: Any,
    name: str = "the table",
    text_columns: Sequence[str] = (),
    is_used: IsUsed = _any_column,
) -> Table:
    """Return ``source`` as a checked `Table`.

    Parameters
    ----------
    source
        A `Table` (returned as it is), a path, or a data frame of pandas, polars or any other
        library that narwhals knows.
    name
        What messages call a data frame.
    text_columns
        Columns whose cells are text even where they look like numbers.
    is_used
        Whether a column is used, by its name; others may hold anything.

    Examples
    --------
    >>> as_table(pd.DataFrame({"x": [1, 2], "color": ["red", "blue"]})).columns
    ['x', 'color']
    """
    if isinstance(source, Table):
        return source
    if isinstance(source, str | PathLike):
        return read_table(source, text_columns, is_used=is_used)
    frame = _pandas_frame(source)
    table = _checked(frame, name, lambda row: f"row {row + 1}", text_columns, is_used)
    return replace(table, index=source.index if isinstance(source, pd.DataFrame) else None)


def _file_bytes(path: Path, name: str) -> bytes:
    try:
        raw = _standard_input() if path == STANDARD_INPUT else path.read_bytes()
        is_packed = raw[:2] == b"\x1f\x8b"
        return unpacked(raw, max(LARGE, MOST_TIMES * len(raw))) if is_packed else raw
    except UnpackedTooLarge as error:
        raise TableError(
            f"{name} {error}; unpack it yourself if you trust it, or take part of it."
        ) from error
    except FileNotFoundError as error:
        raise TableError(_absent(path)) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise TableError(
            f"{name} must be a whole gzip file; found a damaged one ({error}); "
            "copy or download it again."
        ) from error
    except IsADirectoryError as error:
        raise TableError(
            f"{path} must be a CSV or Parquet file; found a folder; pass a file in it."
        ) from error
    except OSError as error:
        raise TableError(
            f"{path} must be a readable file; found that it is not "
            f"({error.strerror}); check its path and permissions."
        ) from error


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise TableError(
            "standard input must be open to take a table from; found that it is closed; pass "
            "the path of a file."
        )
    return sys.stdin.buffer.read()


def _absent(path: Path) -> str:
    folder = path.parent
    names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
    nearest = nearest_names(path.name, names, n=1)
    if not folder.is_dir():
        found = f"found no folder '{folder}'"
    elif nearest:
        found = f"the nearest file in its folder is '{nearest[0]}'"
    else:
        found = "found no file of that name"
    return f"{path} must be a file; {found}; check the path."


def _parquet_frame(path: Path) -> pd.DataFrame:
    if importlib.util.find_spec("pyarrow") is None:
        raise TableError(
            f"reading {path.name} needs pyarrow, which must be installed; found that it is "
            "not; run: pip install 'credo-bayes[parquet]', or save the table as CSV."
        )
    try:
        _require_few_cells(path)
        return pd.read_parquet(path, engine="pyarrow").reset_index(drop=True)
    except TableError:
        raise
    except (ValueError, OSError) as error:
        raise TableError(
            f"{path.name} must be a whole Parquet file with different column names; found "
            f"one that cannot be read ({str(error).splitlines()[0]}); write it again."
        ) from error


def _require_few_cells(path: Path) -> None:
    """Refuse a Parquet file whose cells, which repeat for nothing in it, would fill memory."""
    head = importlib.import_module("pyarrow.parquet").read_metadata(path)
    n_cells = head.num_rows * head.num_columns
    if n_cells > MOST_CELLS:
        raise TableError(
            f"{path.name} must have at most {MOST_CELLS:,} cells; found {n_cells:,}; take part "
            "of its rows or columns."
        )


def _pandas_frame(source: Any) -> pd.DataFrame:
    if isinstance(source, pd.DataFrame):
        return source.reset_index(drop=True)
    # Files and frames of pandas are read without it.
    other_frames = importlib.import_module("narwhals.stable.v2")
    try:
        frame = other_frames.from_native(source, eager_only=True)
    except TypeError as error:
        is_lazy = hasattr(source, "collect")
        advice = (
            "call its .collect()"
            if is_lazy
            else "pass a file name, a pandas or a polars DataFrame"
        )
        raise TypeError(
            f"a table must be a path or a data frame; found {type(source).__name__}; {advice}."
        ) from error
    return pd.DataFrame({name: frame[name].to_numpy() for name in frame.columns})


def _checked(
    frame: pd.DataFrame,
    name: str,
    place: Place,
    text_columns: Sequence[str],
    is_used: IsUsed,
) -> Table:
    names = [str(column) for column in frame.columns]
    _require_unique(names, name)
    if frame.empty:
        raise TableError(
            f"{name} must have rows below its header; found none; add the data, or check "
            "that the file was written to the end."
        )
    frame = frame.set_axis(names, axis=1)
    columns = {}
    for column in names:
        if not is_used(column):
            columns[column] = Cells(_written(frame[column]))
        elif column in text_columns:
            _require_plain(frame[column], name)
            columns[column] = Cells(frame[column])
        else:
            columns[column] = _column(frame[column], name, place)
    given = {
        column: frame[column]
        for column, cells in columns.items()
        if cells.series.dtype != frame[column].dtype
    }
    frame = pd.DataFrame({column: cells.series for column, cells in columns.items()})
    read = {
        column: cells.over(frame[column])
        for column, cells in columns.items()
        if cells.has_words
    }
    return Table(frame, name, given=given, _read=read)


def _require_unique(names: Sequence[str], source: str) -> None:
    """Raise a `TableError` that names the first repeated column."""
    first: dict[str, int] = {}
    for position, name in enumerate(names, start=1):
        if name in first:
            raise TableError(
                f"column names of {source} must differ; found {name!r} as columns "
                f"{first[name]} and {position}; rename one of them."
            )
        first[name] = position


def _column(series: "pd.Series[Any]", source: str, place: Place) -> Cells:
    """Return a column with its numbers as numbers, after the checks that concern cells.

    True and false keep their spelling, in case they are the names of classes. A span of time
    is a number of seconds.
    """
    _require_plain(series, source)
    if types.is_timedelta64_dtype(series.dtype):
        series = series.dt.total_seconds()
    cells = Cells(series)
    if cells.is_date or cells.is_truth or cells.is_category:
        return cells
    cells = cells.held()
    values = cells.numbers
    n_present = len(values) - cells.n_missing
    n_numbers = len(values) - int(np.count_nonzero(np.isnan(values)))
    if n_numbers < NUMBER_SHARE * n_present:
        return cells
    if cells.has_text:
        row = int(np.flatnonzero(cells.is_text)[0])
        word = str(cells.word(row))
        style = number_style([word])
        cause = f", which has {style}: write 1234.5" if style else ""
        raise TableError(
            f"column {series.name!r} of {source} must hold numbers only, as "
            f"{n_numbers:,} of its {n_present:,} values do; found the text "
            f"{word!r} on {place(row)}{cause}; correct it, leave it empty if it is "
            "missing, or read the column as text."
        )
    _require_size(values, str(series.name), source, place)
    if n_present == 0 or cells.is_number or cells.words.are_truth:
        return cells
    return Cells(pd.Series(values, index=series.index, name=series.name))


def _require_size(values: Array, column: str, source: str, place: Place) -> None:
    """Raise a `TableError` for a number that is infinite, or too large to be squared."""
    if not (np.abs(values) > MAX_NUMBER).any():
        return
    for is_wrong, rule, advice in (
        (np.isinf(values), "finite numbers", "correct it, or leave it empty if it is missing"),
        (
            np.abs(values) > MAX_NUMBER,
            f"numbers within {MAX_NUMBER:g} of 0",
            "change the unit, or leave it empty if it is missing",
        ),
    ):
        if is_wrong.any():
            row = int(np.flatnonzero(is_wrong)[0])
            raise TableError(
                f"column {column!r} of {source} must hold {rule}; found {values[row]:g} on "
                f"{place(row)}; {advice}."
            )


def _require_plain(series: "pd.Series[Any]", source: str) -> None:
    """Raise a `TableError` for cells that are neither numbers, text, dates nor categories."""
    is_odd = types.is_complex_dtype(series.dtype)
    found = str(series.dtype)
    if series.dtype == object:
        kinds = set(map(type, series.to_numpy()))
        is_odd = any(issubclass(kind, _NESTED) for kind in kinds)
        nested = next((v for v in series if isinstance(v, _NESTED)), None) if is_odd else None
        found = type(nested).__name__
    if is_odd:
        raise TableError(
            f"column {series.name!r} of {source} must hold numbers, text or dates; found "
            f"values of type {found}; write each of their parts as a column of its own."
        )


def _written(series: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return a column that is not used, with text in place of what no table can hold."""
    is_odd = types.is_complex_dtype(series.dtype) or (
        series.dtype == object
        and not all(issubclass(kind, _PLAIN_KINDS) for kind in set(map(type, series)))
    )
    return series.map(str) if is_odd else series


SEPARATORS = (",", ";", "\t")

_BLOCK = 1 << 24
_LEADING_ZERO = re.compile(rb'[,;\t\n" ]0\d')
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
        names = self.header()
        _require_unique(names, self.name)
        self._require_equal_lengths(len(names))
        return self._parsed(names, text_columns, present_words or {})

    def padded(self, frame: pd.DataFrame) -> dict[str, "pd.Series[Any]"]:
        """Return the columns of whole numbers that have leading zeros, as text.

        Parameters
        ----------
        frame
            What `frame` returned.
        """
        if not _LEADING_ZERO.search(self.raw):
            return {}
        numbers = frame.select_dtypes("number")
        whole = [str(name) for name in numbers if not np.mod(numbers[name].dropna(), 1).any()]
        if not whole:
            return {}
        written = self._parsed(self.header(), whole, {}, whole)
        columns = {name: Cells(written[name]) for name in whole}
        return {name: c.series for name, c in columns.items() if is_padded(c.words.levels)}

    def _parsed(
        self,
        names: list[str],
        text_columns: Sequence[str],
        present_words: Mapping[str, Collection[str]],
        wanted: list[str] | None = None,
    ) -> pd.DataFrame:
        """Return the columns that are wanted, or all of them."""
        try:
            return pd.read_csv(
                io.BytesIO(self.raw.lstrip(b"\r\n ") if len(names) == 1 else self.raw),
                sep=self.separator,
                header=0,
                names=names,
                usecols=wanted,
                index_col=False,
                dtype={column: str for column in text_columns if column in names},
                na_values={
                    name: sorted(MISSING_MARKERS.difference(present_words.get(name, ())))
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
