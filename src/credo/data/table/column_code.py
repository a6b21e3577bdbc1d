"""Codes that turn one column of a table into columns of a design: categories are one-hot.

A code is learned from training rows and never changes: it is a frozen value of plain fields.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from credo.data.error import TableError
from credo.data.table.cell import Cells, Words, varies
from credo.data.table.column_name import quoted
from credo.data.table.gap import Gap
from credo.numerics.array import Array

__all__ = [
    "MAX_LEVELS",
    "MIN_LEVEL_ROWS",
    "CategoryCode",
    "Coded",
    "ColumnCode",
    "DateCode",
    "NumberCode",
]

MAX_LEVELS = 50
"""A category keeps at most this many levels, the most frequent; the others become "other"."""

AVERAGED = "averaged over, given what else the rows have"
"""What is done about a gap."""

MIN_LEVEL_ROWS = 2
"""A level with fewer training rows becomes "other", if at least two levels are this rare."""


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
