"""From a table to a design matrix: columns are typed, and coded by rules of the training rows.

The kind of a column says what it is, and why some carry nothing to learn from. The rule of one
that is used is its code: a number stays itself, dates are counted in days, categories are
one-hot. A code never changes: it is a frozen value of plain fields.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol, Self, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from credo.data.error import TableError
from credo.data.table.cell import MIN_SPREAD, Cells, Words, is_date_text, number_style, varies
from credo.data.table.column_name import quoted
from credo.data.table.gap import Gap, gap_evidence, gap_note
from credo.data.table.table import Table, as_table
from credo.numerics.array import Array

__all__ = [
    "MAX_LEVELS",
    "MIN_LEVEL_ROWS",
    "MIN_TEXT_LEVELS",
    "CategoryCode",
    "Coded",
    "Column",
    "ColumnCode",
    "ColumnKind",
    "DateCode",
    "MissingCells",
    "NumberCode",
    "PreparedTable",
    "TablePreparation",
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

MAX_EXACT = 2.0**53
"""Up to here every whole number is a float of its own."""

BEYOND = (
    "differ only in digits beyond the 15 that a number can hold, so that one of them must be "
    "subtracted from all"
)
"""Said of whole numbers that are not equal but are the same float."""

MAX_LEVELS = 50
"""A category keeps at most this many levels, the most frequent; the others become "other"."""

AVERAGED = "averaged over, given what else the rows have"
"""What is done about a gap."""

MIN_LEVEL_ROWS = 2
"""A level with fewer training rows becomes "other", if at least two levels are this rare."""

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
    ) -> Self:
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


class Coded(NamedTuple):
    """Columns of a design matrix, shape (n_rows, n_columns), notes on them, and gaps if any."""

    values: Array
    notes: tuple[str, ...] = ()
    gap: Gap | None = None


class ColumnCode(Protocol):
    """What the code of every kind of column offers."""

    @property
    def name(self) -> str:
        """The column of the table."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the design matrix."""

    def code(self, column: Cells, source: str) -> Coded:
        """Return the design columns of a column of the table called ``source``."""


@dataclass(frozen=True)
class NumberCode:
    """A number as it is, NaN where it is missing; an indicator says so where that tells.

    Attributes
    ----------
    is_constant
        Whether training values that are present are all equal, so that only their absence
        tells something.
    has_indicator
        Whether a column says where values are missing. Without one, their absence is taken
        to say nothing.
    """

    name: str
    is_constant: bool
    has_indicator: bool

    @classmethod
    def learn(cls, column: Cells, source: str, is_telling: bool) -> Self:
        """Return the code of a number column that is not all missing.

        Parameters
        ----------
        column, source
            The column, and what its table is called.
        is_telling
            Whether values are missing in training, and this says something of the target.
        """
        values = _numbers(column, source)
        is_constant, has_gap = not varies(values), bool(np.isnan(values).any())
        return cls(column.name, is_constant, is_telling or (is_constant and has_gap))

    @property
    def names(self) -> tuple[str, ...]:
        """The column itself, and the indicator of its missing values."""
        own = () if self.is_constant else (self.name,)
        return own + ((f"{self.name} is missing",) if self.has_indicator else ())

    def code(self, column: Cells, source: str) -> Coded:
        """Return the numbers, NaN where they are missing, and the indicator."""
        return _with_gaps(_numbers(column, source), self)


@dataclass(frozen=True)
class DateCode:
    """A date as days since the earliest training date; gaps are treated as in `NumberCode`.

    Nothing else is derived from a date: no season, no weekday.

    Attributes
    ----------
    start
        Earliest training date, in days since 1970-01-01.
    """

    name: str
    start: float
    is_constant: bool
    has_indicator: bool

    @classmethod
    def learn(cls, column: Cells, source: str, is_telling: bool) -> Self:
        """Return the code of a date column that is not all missing."""
        values = _days(column, source)
        present = values[~np.isnan(values)]
        start, has_gap = float(present.min()), len(present) < len(values)
        is_constant = bool(np.all(present == start))
        has_indicator = is_telling or (is_constant and has_gap)
        return cls(column.name, start, is_constant, has_indicator)

    @property
    def names(self) -> tuple[str, ...]:
        """The days, named with the date they count from, and the indicator of gaps."""
        start = str(np.datetime64(int(np.floor(self.start)), "D"))
        own = () if self.is_constant else (f"{self.name} (days since {start})",)
        return own + ((f"{self.name} is missing",) if self.has_indicator else ())

    def code(self, column: Cells, source: str) -> Coded:
        """Return the days, NaN where they are missing, and the indicator."""
        return _with_gaps(_days(column, source) - self.start, self)


@dataclass(frozen=True)
class CategoryCode:
    """One 0/1 column for each level of a category.

    No level is dropped: weights have a prior, so that all levels are treated alike and the
    intercept is their common mean. A level that was rare in training, or new since, counts
    as "other". Where training had nothing rare, a new level has 0 in every column, which
    predicts the common mean; a column that is 0 in all training rows would teach nothing.

    Attributes
    ----------
    levels
        Levels with a column of their own, most frequent first.
    has_other
        Whether training pooled rare levels.
    has_missing
        Whether missing values are a level of their own. If not, the level of a row that has
        none is unknown: NaN in all columns.
    """

    name: str
    levels: tuple[str, ...]
    has_other: bool
    has_missing: bool

    @classmethod
    def learn(cls, column: Cells, source: str, is_telling: bool) -> Self:
        """Return the code of a category column that is not all missing.

        Parameters
        ----------
        column, source
            The column, and what its table is called.
        is_telling
            Whether values are missing in training, and this says something of the target.
        """
        counts = column.words.level_counts
        ranked = sorted(counts, key=lambda level: (-counts[level], level))
        kept = [level for level in ranked if counts[level] >= MIN_LEVEL_ROWS][:MAX_LEVELS]
        if not kept or len(ranked) == len(kept) + 1 <= MAX_LEVELS:
            kept = ranked[:MAX_LEVELS]
        has_other = len(kept) < len(ranked)
        is_alone = len(kept) + has_other == 1
        return cls(column.name, tuple(kept), has_other, is_telling or is_alone)

    @property
    def names(self) -> tuple[str, ...]:
        """One name for each level, then "other" and "missing" where training had them."""
        own = tuple(f"{self.name} = {level}" for level in self.levels)
        other = (f"{self.name} = other",) if self.has_other else ()
        return own + other + ((f"{self.name} is missing",) if self.has_missing else ())

    def code(self, column: Cells, source: str) -> Coded:
        """Return the 0/1 columns, NaN where a level is missing and is not one of its own."""
        words = column.words
        place = {level: i for i, level in enumerate(self.levels)}
        other = len(self.levels) if self.has_other else -1
        missing = len(self.names) - 1 if self.has_missing else -1
        found = [place.get(level, other) for level in words.levels]
        places = np.array([*found, missing])[words.codes]
        values = np.zeros((len(column), len(self.names)))
        rows = np.flatnonzero(places >= 0)
        values[rows, places[rows]] = 1.0
        if not self.has_missing:
            values[column.is_missing] = np.nan
        return Coded(values, self._notes(words), self._gap(column))

    @property
    def _fate(self) -> str:
        return "counted as 'other'" if self.has_other else "predicted as the average level"

    def _notes(self, words: Words) -> tuple[str, ...]:
        known = set(self.levels)
        strange = {word: n for word, n in words.level_counts.items() if word not in known}
        if not strange:
            return ()
        rare = f"rare or new ({quoted(sorted(strange), 3)}) and {self._fate}"
        n_rows = sum(strange.values())
        what = "1 value" if n_rows == 1 else f"{n_rows:,} values"
        most = f"; only the {MAX_LEVELS} most frequent levels have weights of their own"
        end = most if len(self.levels) == MAX_LEVELS else ""
        return (f"{what} of {self.name!r} {'was' if n_rows == 1 else 'were'} {rare}{end}.",)

    def _gap(self, column: Cells) -> Gap | None:
        fate = "counted as a level of their own" if self.has_missing else AVERAGED
        return Gap(self.name, column.n_missing, fate) if column.n_missing else None


class PreparedTable(NamedTuple):
    """A design matrix, shape (n_rows, n_columns), its column names, and notes in sentences."""

    X: Array
    names: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def frame(self) -> pd.DataFrame:
        """The design matrix as a frame, so that models know the names of its columns."""
        return pd.DataFrame(self.X, columns=pd.Index(self.names, dtype=object))


class MissingCells(NamedTuple):
    """Cells that are averaged over: a mask, shape (n_rows, n_inputs), and input names."""

    is_missing: NDArray[np.bool_]
    inputs: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the inputs in which any cell is missing."""
        pairs = zip(self.inputs, self.is_missing.T, strict=True)
        return tuple(name for name, is_missing in pairs if is_missing.any())

    @property
    def rows(self) -> NDArray[np.bool_]:
        """Whether each row has a missing cell, shape (n_rows,)."""
        return np.asarray(self.is_missing.any(axis=1))


@dataclass(frozen=True)
class TablePreparation:
    """Rules that turn a table into a design matrix, learned from training rows alone.

    A number stays itself, a date becomes days since the earliest training date, a category
    one 0/1 column for each level. What is missing is NaN; where training had gaps, and the
    evidence is that they say something of the target, an indicator column marks them. See
    `NumberCode`, `DateCode` and `CategoryCode` for what happens to values that training
    never showed.

    Attributes
    ----------
    target
        Name of the target column, which a table to predict may have or not; may be empty.
    codes
        One code for each column used, in the order of the training table.
    left_out
        Columns of the training table that are not used, each with its reason.
    n_rows
        Number of training rows.
    training_notes
        Plain sentences on what was missing and pooled in the training rows.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame(
    ...     {"age": [20.0, None, 40.0], "sex": ["f", "m", "f"], "y": [1.0, 2.0, 3.0]}
    ... )
    >>> preparation = TablePreparation.learn(frame, target="y")
    >>> X, names, notes = preparation.prepare(frame)
    >>> names
    ('age', 'sex = f', 'sex = m')
    >>> X
    array([[20.,  1.,  0.],
           [nan,  0.,  1.],
           [40.,  1.,  0.]])
    >>> notes
    ("1 missing value of 'age' was averaged over, given what else the rows have.",)
    """

    target: str
    codes: tuple[NumberCode | CategoryCode | DateCode, ...]
    left_out: tuple[Column, ...]
    n_rows: int
    training_notes: tuple[str, ...]

    @classmethod
    def learn(
        cls,
        table: Any,
        target: str = "",
        schema: TableSchema | None = None,
        keep: Sequence[str] = (),
        y: NDArray[Any] | None = None,
    ) -> Self:
        """Return the rules for a training table.

        Parameters
        ----------
        table
            The training rows: a `Table`, a path or a data frame.
        target
            Name of the target column, which is not an input.
        schema
            Kinds of the columns, found on the whole table before rows were held out; by
            default they are found on the training rows.
        keep
            Columns to use even if they look like row numbers or free text; for when no
            schema is given.
        y
            The target of each row, numbers or labels, by which the evidence that its gaps
            tell something decides on the indicator of a column; no indicators if None.
        """
        table = as_table(table)
        schema = schema or TableSchema.of(table, leave_out=(target,), keep=keep)
        inputs = [column for column in schema.columns if column.name != target]
        table.require_columns([column.name for column in inputs])
        columns = [_in_training(column, table) for column in inputs]
        left_out = tuple(column for column in columns if not column.is_used)
        codes: Any = tuple(
            _CODES[column.kind](cells, table.name, _is_telling(cells, y))
            for column in columns
            if column.is_used
            for cells in [table.column(column.name)]
        )
        _require_some(codes, left_out, table.name)
        bare = cls(target, codes, left_out, len(table), ())
        notes = bare._prepared(table, " in the training rows").notes
        return cls(target, codes, left_out, len(table), notes)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of the design matrix."""
        return tuple(name for code in self.codes for name in code.names)

    @property
    def binary_names(self) -> tuple[str, ...]:
        """Names of the columns that hold 0 or 1 in any table: levels, and what is missing."""
        return tuple(
            name
            for code in self.codes
            for place, name in enumerate(code.names)
            if isinstance(code, CategoryCode) or code.is_constant or place == 1
        )

    @property
    def level_places(self) -> tuple[tuple[int, int], ...]:
        """First column of each category in the design matrix, and the one after its last."""
        ends = np.cumsum([0, *(len(code.names) for code in self.codes)]).tolist()
        places = zip(self.codes, ends[:-1], ends[1:], strict=True)
        return tuple((a, b) for code, a, b in places if isinstance(code, CategoryCode))

    @property
    def level_names(self) -> tuple[str, ...]:
        """Names of the 0/1 columns that say which level a category has."""
        return tuple(
            name for code in self.codes if isinstance(code, CategoryCode) for name in code.names
        )

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the table's columns that must be there to predict."""
        return tuple(code.name for code in self.codes)

    @property
    def text_columns(self) -> tuple[str, ...]:
        """Columns that are text even if they look like numbers; pass them to `read_table`."""
        return tuple(code.name for code in self.codes if isinstance(code, CategoryCode))

    @property
    def notes(self) -> tuple[str, ...]:
        """Plain sentences: what was left out and why, what was missing or pooled."""
        return tuple(column.note for column in self.left_out) + self.training_notes

    def read(self, table: Any) -> Table:
        """Return a `Table`, a path or a data frame of other rows as a checked `Table`.

        Columns that are neither inputs nor the target may hold anything.
        """
        used = {*self.inputs, self.target}
        return as_table(table, text_columns=self.text_columns, is_used=used.__contains__)

    def prepare(self, table: Any) -> PreparedTable:
        """Return the design matrix of a table, the names of its columns, and notes.

        Parameters
        ----------
        table
            A `Table`, a path or a data frame with the columns in `inputs`, in any order.
            Columns that training did not have are ignored, and a note says so.
        """
        return self._prepared(table, "")

    def _prepared(self, table: Any, where: str) -> PreparedTable:
        """Return the same, notes on gaps saying where they are."""
        table = self.read(table)
        table.require_columns(self.inputs)
        parts = [code.code(table.column(code.name), table.name) for code in self.codes]
        notes = tuple(_notes(parts, where))
        X = np.concatenate([part.values for part in parts], axis=1)
        return PreparedTable(X, self.names, notes + self._extra(table))

    def missing(self, prepared: PreparedTable) -> MissingCells:
        """Return which inputs are missing and averaged over, row by row.

        Not those whose absence is a value: a level of its own, or all that a column tells.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"age": [20.0, None, 40.0], "dose": [1.0, 2.0, 3.0]})
        >>> preparation = TablePreparation.learn(frame)
        >>> missing = preparation.missing(preparation.prepare(frame))
        >>> missing.columns, missing.rows
        (('age',), array([False,  True, False]))
        """
        start = np.cumsum([0, *(len(code.names) for code in self.codes)])
        first = [i for i, code in zip(start, self.codes, strict=False) if code.names]
        names = tuple(code.name for code in self.codes if code.names)
        return MissingCells(np.isnan(prepared.X[:, first]), names)

    def _extra(self, table: Table) -> tuple[str, ...]:
        known = {*self.inputs, *(column.name for column in self.left_out), self.target}
        extra = [name for name in table.columns if name not in known]
        if not extra:
            return ()
        what = "1 column was" if len(extra) == 1 else f"{len(extra)} columns were"
        return (f"{what} not there in training and ignored: {quoted(extra)}.",)


def _notes(parts: Sequence[Coded], where: str) -> Iterator[str]:
    """Yield notes by column, those on gaps that were treated alike in one sentence."""
    reported = set()
    for part in parts:
        yield from part.notes
        if part.gap and part.gap.fate not in reported:
            reported.add(part.gap.fate)
            alike = [p.gap for p in parts if p.gap and p.gap.fate == part.gap.fate]
            yield gap_note(alike, where)


def _in_training(column: Column, table: Table) -> Column:
    """Return ``column``, or its replacement if the training rows alone show nothing of it."""
    if not column.is_used:
        return column
    cells = table.column(column.name)
    if cells.is_uniform:
        word = cells.word(0)
        why = f"all its training values are {'missing' if word is None else repr(word)}"
    elif column.kind == "number" and not (cells.n_missing or varies(cells.numbers)):
        word = cells.word(0)
        why = f"its training values {_closeness(cells.numbers)}"
    else:
        return column
    note = f"Column {column.name!r} is left out: {why}."
    return Column(column.name, "empty" if word is None else "constant", note)


def _is_telling(column: Cells, y: NDArray[Any] | None) -> bool:
    """Return whether values are missing, and evidence favors that this says something."""
    if y is None or not column.n_missing:
        return False
    return gap_evidence(column.is_missing, y) > 0


def _require_some(codes: Sequence[ColumnCode], left_out: Sequence[Column], source: str) -> None:
    if not codes:
        raise TableError(
            f"{source} must have an input column to learn from; found "
            f"{'none besides the target' if not left_out else 'none that can be used'}"
            f"{''.join(f' ({column.note})' for column in left_out[:1])}; add a column of "
            "numbers, categories or dates."
        )


def _numbers(column: Cells, source: str) -> Array:
    values = column.numbers
    is_wrong = np.isinf(values)
    if column.has_text:
        is_wrong |= column.is_text
    _require(~is_wrong, column, source, "finite numbers, as it did in training")
    return values


def _days(column: Cells, source: str) -> Array:
    _require(~column.is_undated, column, source, "dates such as 2024-01-31")
    return column.days


def _require(is_right: NDArray[np.bool_], column: Cells, source: str, rule: str) -> None:
    if not is_right.all():
        row = int(np.flatnonzero(~is_right)[0])
        raise TableError(
            f"column {column.name!r} of {source} must hold {rule}; found "
            f"{str(column.series.iloc[row])!r} in row {row + 1}; correct it, or leave it empty "
            "if it is missing."
        )


def _with_gaps(values: Array, code: NumberCode | DateCode) -> Coded:
    is_missing = np.isnan(values)
    n_missing = int(is_missing.sum())
    columns = [] if code.is_constant else [values]
    fates = [] if code.is_constant else [AVERAGED]
    if code.has_indicator:
        columns.append(is_missing.astype(np.float64))
        fates.append("marked by a column of their own")
    stacked = np.stack(columns, axis=1) if columns else np.empty((len(values), 0))
    fate = " and ".join(fates)
    return Coded(stacked, gap=Gap(code.name, n_missing, fate) if n_missing else None)


_CODES: Mapping[str, Callable[[Cells, str, bool], ColumnCode]] = MappingProxyType(
    {"number": NumberCode.learn, "category": CategoryCode.learn, "date": DateCode.learn}
)


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
        return _left_out(name, "constant", f"its values {_closeness(values)}")
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


def _closeness(values: Array) -> str:
    """Return in which way numbers that count as equal differ."""
    return BEYOND if np.nanmax(np.abs(values)) >= MAX_EXACT else VANISHING


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
