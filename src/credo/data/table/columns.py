"""Typed columns: what each column of a table is, and why some carry nothing to learn from."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from credo.data.table.cell import MIN_SPREAD, Cells, is_date_text, number_style, varies
from credo.data.table.column_name import quoted
from credo.data.table.table import as_table

__all__ = [
    "MIN_TEXT_LEVELS",
    "VANISHING",
    "Column",
    "ColumnKind",
    "TableSchema",
    "column_kinds",
]

ColumnKind = Literal["number", "category", "date", "id", "constant", "text", "empty", "ignored"]
"""Number, category and date are used; the other kinds are left out with a note."""

MIN_TEXT_LEVELS = 10
"""Up to this many different values, text is a category however few rows there are."""

MIN_ID_SHARE = 0.9
"""Whole numbers named like an identifier are one if more than this share of them differ."""

VANISHING = f"differ by less than {MIN_SPREAD:g}, so that its unit must be changed"
"""Said of numbers that are not equal but count as such."""

_USED = ("number", "category", "date")
_ID_NAME = re.compile(
    r"(id|index|idx|key|uuid|guid|row|row[ _.-]?(id|nr|no|num|number)|unnamed.*)"
    r"|.*[ _.-](id|uuid|guid)",
    re.IGNORECASE,
)
_CAMEL_ID = re.compile(r".*[a-z](Id|ID)")
_SLASHED_DATE = re.compile(r"\d{1,2}/\d{1,2}/\d{2,4}")


@dataclass(frozen=True)
class Column:
    """Name and kind of a column; the note says in a sentence why it is left out, if it is."""

    name: str
    kind: ColumnKind
    note: str = ""

    def __post_init__(self) -> None:
        if self.kind not in get_args(ColumnKind):
            raise ValueError(
                f"kind must be one of {quoted(get_args(ColumnKind), 9)}; found {self.kind!r}."
            )

    @property
    def is_used(self) -> bool:
        """Whether the column enters a design matrix."""
        return self.kind in _USED


@dataclass(frozen=True)
class TableSchema:
    """The kinds of all columns of a table, in order.

    Find it on the whole table, before a part is held out: a row number is no longer one in
    a random part of the rows. Kinds tell nothing of the target.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"id": [7, 8, 9], "x": [1.5, 2.0, 0.5], "site": ["a", "b", "a"]})
    >>> schema = TableSchema.of(frame)
    >>> schema.kinds
    {'id': 'id', 'x': 'number', 'site': 'category'}
    >>> schema.notes
    ("Column 'id' is left out: it numbers the rows.",)
    """

    columns: tuple[Column, ...]

    @classmethod
    def of(
        cls,
        table: Any,
        leave_out: Sequence[str] = (),
        keep: Sequence[str] = (),
        ignore: Sequence[str] = (),
    ) -> "TableSchema":
        """Return the schema of a `Table`, path or data frame.

        Parameters
        ----------
        table
            Whatever `as_table` takes.
        leave_out
            Columns that are not described at all, such as the target.
        keep
            Columns to use even if they look like row numbers or free text. Where nothing
            else is left to learn from, row numbers are used without being named here.
        ignore
            Columns that are not used, whatever they hold.
        """
        table = as_table(table)
        names = [name for name in table.columns if name not in leave_out]
        columns = [_column(table.column(name), name in keep) for name in names]
        if not any(column.is_used for column in columns):
            columns = [_unless_number(column, table.column(column.name)) for column in columns]
        return cls(tuple(_ignored(c) if c.name in ignore else c for c in columns))

    @property
    def kinds(self) -> dict[str, ColumnKind]:
        """The kind of each column by its name."""
        return {column.name: column.kind for column in self.columns}

    @property
    def used(self) -> tuple[Column, ...]:
        """The columns that enter a design matrix."""
        return tuple(column for column in self.columns if column.is_used)

    @property
    def left_out(self) -> tuple[Column, ...]:
        """The columns that do not."""
        return tuple(column for column in self.columns if not column.is_used)

    @property
    def notes(self) -> tuple[str, ...]:
        """One sentence for each column left out."""
        return tuple(column.note for column in self.left_out)


def column_kinds(table: Any) -> dict[str, ColumnKind]:
    """Return the kind of each column of a `Table`, path or data frame by its name.

    Examples
    --------
    >>> import pandas as pd
    >>> column_kinds(pd.DataFrame({"day": ["2024-01-01", "2024-01-02"], "price": [3, 5]}))
    {'day': 'date', 'price': 'number'}
    """
    return TableSchema.of(table).kinds


def _column(column: Cells, is_kept: bool) -> Column:
    name, cells = column.name, column.held()
    if cells.is_uniform:
        word = cells.word(0)
        if word is None:
            return _left_out(name, "empty", "all its values are missing")
        return _left_out(name, "constant", f"all its values are {word!r}")
    if cells.is_date:
        return Column(name, "date")
    if not cells.has_text and not cells.is_category:
        return _number_column(name, cells.numbers, is_kept)
    if cells.is_category or is_kept:
        return Column(name, "category")
    return _text_column(name, cells.words.levels, len(cells) - cells.n_missing)


def _number_column(name: str, values: "np.ndarray[Any, Any]", is_kept: bool) -> Column:
    if not varies(values) and not np.isnan(values).any():
        return _left_out(name, "constant", f"its values {VANISHING}")
    present = values[~np.isnan(values)]
    # Only columns to be ignored may hold infinite numbers, which have no remainder.
    if is_kept or not np.isfinite(present).all() or not np.all(np.mod(present, 1) == 0):
        return Column(name, "number")
    counts_rows = values[0] in (0, 1) and len(values) > 2 and bool(np.all(np.diff(values) == 1))
    is_named_id = bool(_ID_NAME.fullmatch(name) or _CAMEL_ID.fullmatch(name))
    n_distinct = len(np.unique(present))
    if counts_rows or (is_named_id and n_distinct == len(values)):
        return _left_out(name, "id", "it numbers the rows")
    if is_named_id and n_distinct > MIN_ID_SHARE * len(present):
        why = (
            f"it is named like an identifier, and {n_distinct:,} of its {len(present):,} "
            "values differ"
        )
        return _left_out(name, "id", why)
    return Column(name, "number")


def _ignored(column: Column) -> Column:
    """Return a column that was named to be ignored; one that numbers the rows still does."""
    if column.kind == "id":
        return column
    return _left_out(column.name, "ignored", "it is to be ignored")


def _unless_number(column: Column, cells: Cells) -> Column:
    is_row_number = column.kind == "id" and cells.is_number
    return Column(column.name, "number") if is_row_number else column


def _text_column(name: str, levels: list[str], n_present: int) -> Column:
    if all(is_date_text(level) for level in levels):
        return Column(name, "date")
    style = number_style(levels)
    advice = f" (they look like numbers with {style}: write 1234.5)" if style else ""
    if _SLASHED_DATE.fullmatch(levels[0]):
        advice = " (dates must be written as 2024-01-31)"
    if len(levels) == n_present and n_present > 2:
        return _left_out(name, "id", f"each row has a text of its own{advice}")
    if len(levels) > max(MIN_TEXT_LEVELS, n_present / 2):
        why = f"its text has {len(levels):,} different values in {n_present:,} rows{advice}"
        return _left_out(name, "text", why)
    return Column(name, "category")


def _left_out(name: str, kind: ColumnKind, why: str) -> Column:
    return Column(name, kind, f"Column {name!r} is left out: {why}.")
