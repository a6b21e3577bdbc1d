"""Codes that turn one column of a table into columns of a design matrix.

A code is learned from training rows and never changes: it is a frozen value of plain fields.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import pandas as pd

from credo.data import cell
from credo.data.column_name import quoted
from credo.data.error import TableError
from credo.data.gap import Gap
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

    def code(self, series: "pd.Series[Any]", source: str) -> Coded:
        """Return the design columns of ``series``, a column of the table called ``source``."""


@dataclass(frozen=True)
class NumberCode:
    """A number as it is; a missing one becomes the training mean, and an indicator says so.

    Attributes
    ----------
    mean
        Mean of the training values.
    is_constant
        Whether training values that are present are all equal, so that only their absence
        tells something.
    has_indicator
        Whether values were missing in training. Where none were, a missing value is filled
        without an indicator, whose weight nothing could have taught.
    """

    name: str
    mean: float
    is_constant: bool
    has_indicator: bool

    @classmethod
    def learn(cls, series: "pd.Series[Any]", source: str) -> Self:
        """Return the code of a number column that is not all missing."""
        values = _numbers(series, source)
        present = values[~np.isnan(values)]
        has_gap = len(present) < len(values)
        return cls(str(series.name), float(present.mean()), not cell.varies(values), has_gap)

    @property
    def names(self) -> tuple[str, ...]:
        """The column itself, and the indicator of its missing values."""
        own = () if self.is_constant else (self.name,)
        return own + ((f"{self.name} is missing",) if self.has_indicator else ())

    def code(self, series: "pd.Series[Any]", source: str) -> Coded:
        """Return the numbers with gaps filled, and the indicator."""
        values = _numbers(series, source)
        filled = f"filled with the training mean {self.mean:.6g}"
        return _filled(values, self, filled, "filled with the training means")


@dataclass(frozen=True)
class DateCode:
    """A date as days since the earliest training date; gaps are treated as in `NumberCode`.

    Nothing else is derived from a date: no season, no weekday.

    Attributes
    ----------
    start
        Earliest training date, in days since 1970-01-01.
    mean
        Mean of the training dates, in days since ``start``.
    """

    name: str
    start: float
    mean: float
    is_constant: bool
    has_indicator: bool

    @classmethod
    def learn(cls, series: "pd.Series[Any]", source: str) -> Self:
        """Return the code of a date column that is not all missing."""
        values = _days(series, source)
        present = values[~np.isnan(values)]
        start, has_gap = float(present.min()), len(present) < len(values)
        is_constant = bool(np.all(present == start))
        return cls(
            str(series.name), start, float(np.mean(present - start)), is_constant, has_gap
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The days, named with the date they count from, and the indicator of gaps."""
        start = str(np.datetime64(int(np.floor(self.start)), "D"))
        own = () if self.is_constant else (f"{self.name} (days since {start})",)
        return own + ((f"{self.name} is missing",) if self.has_indicator else ())

    def code(self, series: "pd.Series[Any]", source: str) -> Coded:
        """Return the days with gaps filled, and the indicator."""
        values = _days(series, source) - self.start
        alone = "filled with the mean training date"
        return _filled(values, self, alone, f"{alone}s")


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
        Whether values were missing in training; they are then a level of their own.
    """

    name: str
    levels: tuple[str, ...]
    has_other: bool
    has_missing: bool

    @classmethod
    def learn(cls, series: "pd.Series[Any]", source: str) -> Self:
        """Return the code of a category column that is not all missing."""
        words = cell.text(series)
        counts = Counter(word for word in words if word is not None)
        ranked = sorted(counts, key=lambda level: (-counts[level], level))
        kept = [level for level in ranked if counts[level] >= MIN_LEVEL_ROWS][:MAX_LEVELS]
        if not kept or len(ranked) == len(kept) + 1 <= MAX_LEVELS:
            kept = ranked[:MAX_LEVELS]
        has_missing = bool(pd.isna(words).any())
        return cls(str(series.name), tuple(kept), len(kept) < len(ranked), has_missing)

    @property
    def names(self) -> tuple[str, ...]:
        """One name for each level, then "other" and "missing" where training had them."""
        own = tuple(f"{self.name} = {level}" for level in self.levels)
        other = (f"{self.name} = other",) if self.has_other else ()
        return own + other + ((f"{self.name} is missing",) if self.has_missing else ())

    def code(self, series: "pd.Series[Any]", source: str) -> Coded:
        """Return the 0/1 columns; a missing value without a level of its own is "other"."""
        words = cell.text(series)
        place = {level: i for i, level in enumerate(self.levels)}
        other = len(self.levels) if self.has_other else -1
        missing = len(self.names) - 1 if self.has_missing else other
        codes, distinct = pd.factorize(words)
        places = np.array([place.get(level, other) for level in distinct] + [missing])[codes]
        values = np.zeros((len(words), len(self.names)))
        rows = np.flatnonzero(places >= 0)
        values[rows, places[rows]] = 1.0
        return Coded(values, self._notes(words, set(distinct) - set(place)), self._gap(words))

    @property
    def _fate(self) -> str:
        return "counted as 'other'" if self.has_other else "predicted as the average level"

    def _notes(self, words: Any, strange: set[str]) -> tuple[str, ...]:
        if not strange:
            return ()
        rare = f"rare or new ({quoted(sorted(strange), 3)}) and {self._fate}"
        n_rows = sum(word in strange for word in words)
        what = "1 value" if n_rows == 1 else f"{n_rows:,} values"
        return (f"{what} of {self.name!r} {'was' if n_rows == 1 else 'were'} {rare}.",)

    def _gap(self, words: Any) -> Gap | None:
        n_missing = int(pd.isna(words).sum())
        fate = "counted as a level of their own" if self.has_missing else self._fate
        return Gap(self.name, n_missing, fate, fate) if n_missing else None


def _numbers(series: "pd.Series[Any]", source: str) -> Array:
    values, is_text = cell.numbers(series)
    is_wrong = is_text | np.isinf(values)
    _require(~is_wrong, series, source, "finite numbers, as it did in training")
    return values


def _days(series: "pd.Series[Any]", source: str) -> Array:
    values, is_wrong = cell.days(series)
    _require(~is_wrong, series, source, "dates such as 2024-01-31")
    return values


def _require(is_right: Any, series: "pd.Series[Any]", source: str, rule: str) -> None:
    if not is_right.all():
        row = int(np.flatnonzero(~is_right)[0])
        raise TableError(
            f"column {series.name!r} of {source} must hold {rule}; found "
            f"{str(series.iloc[row])!r} in row {row + 1}; correct it, or leave it empty if it "
            "is missing."
        )


def _filled(values: Array, code: NumberCode | DateCode, alone: str, together: str) -> Coded:
    is_missing = np.isnan(values)
    n_missing = int(is_missing.sum())
    columns = [] if code.is_constant else [np.where(is_missing, code.mean, values)]
    if code.has_indicator:
        columns.append(is_missing.astype(np.float64))
        alone += ", and a column says where"
        together += ", and a column for each says where"
    stacked = np.stack(columns, axis=1) if columns else np.empty((len(values), 0))
    gap = Gap(code.name, n_missing, alone, together) if n_missing else None
    return Coded(stacked, gap=gap)
