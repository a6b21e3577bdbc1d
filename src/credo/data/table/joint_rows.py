"""Rows of a table for a joint density of its columns: numbers on a scale that suits, and words.

A density of whole rows needs columns that it can be of: numbers that are skewed by orders of
magnitude are taken by their logarithm, or, where some are zero or less, by ``arcsinh``, which
is a line near the middle and a logarithm far from it [burbidge1988]_. Numbers of few different
values are words, since no cloud has its rows on a few lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from credo.data.table.column_name import quoted
from credo.data.table.preparation import (
    CategoryCode,
    DateCode,
    PreparedTable,
    TablePreparation,
)
from credo.numerics.array import Array
from credo.numerics.form import Form

__all__ = ["JointColumn", "JointRows", "Scale", "without_cells"]

Scale = Literal["plain", "log", "arcsinh", "words"]
"""How a column stands in the joint density."""

MOST_VALUES, ROWS_PER_VALUE = 10, 5
"""Numbers of so few different values, each in so many rows on average, are words."""

LEAST_GAIN, LEAST_TOTAL_GAIN = 0.05, 3.0
"""By how much, per row and in all, a scale must be more probable than that of the table."""

FAR = 6.0
"""How many times the distance of its quartiles a cell lies beyond them to be set apart."""

FEW_FAR = 0.01
"""Share of the rows up to which cells far out on one side are set apart; more are a group."""


@dataclass(frozen=True, eq=False)
class JointColumn:
    """A column of the table as one of the joint density.

    Attributes
    ----------
    name
        What the table calls it.
    place, stop
        First of its columns in the design matrix, and the one after the last.
    scale
        How numbers are taken, or "words".
    center, width
        What is zero and one of numbers on their scale: its median and its spread.
    levels
        Words of categories and of few different numbers.
    values
        The numbers that these words stand for; empty for categories.
    is_date
        Whether numbers are days.
    start
        The day that dates count from, in days since 1970-01-01.
    """

    name: str
    place: int
    stop: int
    scale: Scale
    center: float = 0.0
    width: float = 1.0
    levels: tuple[str, ...] = ()
    values: Annotated[Array | None, Form("v")] = None
    is_date: bool = False
    start: float = 0.0

    @property
    def is_number(self) -> bool:
        """Whether the joint density has it as a number."""
        return self.scale != "words"

    @property
    def holds_numbers(self) -> bool:
        """Whether the table has numbers or days in it."""
        return self.is_number or self.values is not None

    def scaled(self, x: Any) -> Array:
        """Return numbers of the table on the scale of the density, NaN where they have none."""
        values = np.asarray(x, dtype=np.float64)
        if self.scale == "log":
            with np.errstate(divide="ignore", invalid="ignore"):
                logs = np.where(values > 0, np.log(values), np.nan)
            return np.asarray((logs - self.center) / self.width)
        standard = (values - self.center) / self.width
        return np.asarray(np.arcsinh(standard) if self.scale == "arcsinh" else standard)

    def restored(self, z: Any) -> Array:
        """Return numbers of the table from those of the density."""
        values = np.asarray(z, dtype=np.float64)
        if self.scale == "log":
            return np.asarray(np.exp(np.minimum(self.center + self.width * values, 160.0)))
        if self.scale == "arcsinh":
            values = np.sinh(np.clip(values, -160.0, 160.0))
        return np.asarray(self.center + self.width * values)

    def numbers(self, words: NDArray[Any]) -> Array:
        """Return the numbers that words stand for, NaN for None."""
        assert self.values is not None
        known = dict(zip(self.levels, self.values.tolist(), strict=True))
        return np.array([known.get(word, np.nan) for word in words])

    def coded(self, X: Array) -> NDArray[Any]:
        """Return the column of the joint density from a design matrix: numbers, or words."""
        own = X[:, self.place : self.stop]
        if self.is_number:
            return self.scaled(own[:, 0])
        if self.values is not None:
            return self._nearest_words(own[:, 0])
        return _words(own, self.levels)

    def _nearest_words(self, x: Array) -> NDArray[Any]:
        """Return the word of each number; of one that was never seen, that of the nearest."""
        assert self.values is not None
        place = np.abs(np.nan_to_num(x)[:, None] - self.values).argmin(axis=1)
        words = np.array(self.levels, dtype=object)[place]
        words[np.isnan(x)] = None
        return np.asarray(words, dtype=object)


@dataclass(frozen=True, eq=False)
class JointRows:
    """Rules that turn a table into rows of a joint density, and such rows into cells.

    Attributes
    ----------
    preparation
        Rules from the table to a design matrix.
    columns
        One for each column of the table that is used.

    Examples
    --------
    >>> frame = pd.DataFrame({"size": [1.0, 10.0, 100.0, 1e3], "kind": ["a", "b", "a", None]})
    >>> rules = JointRows.learn(TablePreparation.learn(frame), frame)
    >>> rules.rows(frame)["kind"].tolist()
    ['a', 'b', 'a', None]
    """

    preparation: TablePreparation
    columns: tuple[JointColumn, ...]

    @classmethod
    def learn(cls, preparation: TablePreparation, table: Any) -> Self:
        """Return the rules for a table: a `Table`, a data frame or a design matrix of one."""
        X, start, columns = _design(preparation, table), 0, []
        for code in preparation.codes:
            stop = start + len(code.names)
            columns.append(_column(code, X[:, start:stop], start))
            start = stop
        return cls(preparation, tuple(columns))

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [column.name for column in self.columns]

    @property
    def numbers(self) -> list[JointColumn]:
        """The columns that the density has as numbers."""
        return [column for column in self.columns if column.is_number]

    def notes(self, has_words: bool = True) -> tuple[str, ...]:
        """Return sentences on columns that are taken on another scale than the table's.

        Parameters
        ----------
        has_words
            Whether numbers of few different values are taken as words.
        """
        said = []
        for scale, what in (
            ("log", "by their logarithm, for they differ by orders of magnitude"),
            ("arcsinh", "by arcsinh, since some lie far from most others"),
            ("words", "as categories, for they have few different values"),
        ):
            names = [c.name for c in self.columns if c.scale == scale and c.holds_numbers]
            if names and (has_words or scale != "words"):
                noun = "The numbers of" if scale != "words" else "Numbers of"
                said.append(f"{noun} {quoted(names)} are taken {what}.")
        return tuple(said)

    def families(self, of_numbers: str) -> dict[str, str]:
        """Return the family of each column, numbers being of the one that is given."""
        return {
            column.name: of_numbers if column.is_number else "categorical"
            for column in self.columns
        }

    def rows(self, table: Any) -> pd.DataFrame:
        """Return rows of the joint density: numbers on their scales, and words."""
        X = _design(self.preparation, table)
        return pd.DataFrame({column.name: column.coded(X) for column in self.columns})

    def far_cells(self, rows: pd.DataFrame) -> NDArray[np.bool_]:
        """Return which cells lie so far from all others that they are not learned from, (n, d).

        Those beyond `FAR` times the distance of the quartiles, if they are few on their side:
        many are a group of rows, which is to be found.
        """
        answer = np.zeros(rows.shape, dtype=bool)
        for j, column in enumerate(self.columns):
            if column.is_number:
                answer[:, j] = _is_far(rows[column.name].to_numpy())
        return answer

    def cells(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return rows of the density as cells of the table: numbers, and words."""
        return pd.DataFrame(
            {
                column.name: self._cells(column, rows[column.name].to_numpy())
                for column in self.columns
            }
        )

    @staticmethod
    def _cells(column: JointColumn, values: NDArray[Any]) -> NDArray[Any]:
        if column.is_number:
            return column.restored(values)
        return values if column.values is None else column.numbers(values)


def without_cells(rows: pd.DataFrame, is_out: NDArray[np.bool_]) -> pd.DataFrame:
    """Return rows with gaps in place of some cells (n, d)."""
    if not is_out.any():
        return rows
    parts: dict[str, Any] = {}
    for j, name in enumerate(rows.columns):
        values = rows[name].to_numpy().copy()
        values[is_out[:, j]] = np.nan if values.dtype.kind == "f" else None
        parts[name] = values
    return pd.DataFrame(parts)


def _design(preparation: TablePreparation, table: Any) -> Array:
    prepared = table if isinstance(table, PreparedTable) else preparation.prepare(table)
    return prepared.X


def _column(code: Any, own: Array, place: int) -> JointColumn:
    """Return how the design columns of one column of the table are taken."""
    stop = place + own.shape[1]
    if isinstance(code, CategoryCode):
        return JointColumn(code.name, place, stop, "words", levels=_level_names(code))
    if code.is_constant:
        levels = ("present", "missing")
        return JointColumn(
            code.name, place, stop, "words", levels=levels, values=np.array([0.0, 1.0])
        )
    x = own[:, 0]
    known = x[~np.isnan(x)]
    values = np.unique(known)
    start = code.start if isinstance(code, DateCode) else 0.0
    is_date = isinstance(code, DateCode)
    if len(values) <= min(MOST_VALUES, len(known) / ROWS_PER_VALUE):
        words = tuple(f"{value:.12g}" for value in values)
        return JointColumn(
            code.name, place, stop, "words", 0.0, 1.0, words, values, is_date, start
        )
    scale, center, width = _scale(known, is_date)
    return JointColumn(
        code.name, place, stop, scale, center, width, is_date=is_date, start=start
    )


def _level_names(code: CategoryCode) -> tuple[str, ...]:
    more = ("other",) * code.has_other + ("missing",) * code.has_missing
    return (*code.levels, *more)


def _words(own: Array, levels: Sequence[str]) -> NDArray[Any]:
    """Return the level of each row of 0/1 columns, None where there is none."""
    known = np.nan_to_num(own)
    words = np.array(levels, dtype=object)[known.argmax(axis=1)]
    words[known.max(axis=1) == 0.0] = None
    return np.asarray(words, dtype=object)


def _scale(x: Array, is_date: bool) -> tuple[Scale, float, float]:
    """Return the scale on which numbers are most nearly normal, its center and its width."""
    center, width = _middle(x)
    if is_date:
        return "plain", center, width
    log_density = {"plain": -_log_spread(x)}
    if x.min() > 0:
        logs = np.log(x)
        log_density["log"] = -_log_spread(logs) - float(logs.mean())
    bent = (x - center) / width
    slope = -0.5 * np.log1p(np.square(bent)) - np.log(width)
    log_density["arcsinh"] = -_log_spread(np.arcsinh(bent)) + float(slope.mean())
    best = max(log_density, key=lambda name: log_density[name])
    if "log" in log_density and log_density["log"] > log_density["arcsinh"] - LEAST_GAIN:
        best = "log" if best != "plain" else best
    gain = log_density[best] - log_density["plain"]
    if best == "plain" or gain < max(LEAST_GAIN, LEAST_TOTAL_GAIN / len(x)):
        return "plain", center, width
    if best == "log":
        return "log", *_middle(np.log(x))
    return "arcsinh", center, width


def _log_spread(x: Array) -> float:
    spread = float(x.std())
    return float(np.log(spread)) if spread > 0 else float("inf")


def _middle(x: Array) -> tuple[float, float]:
    """Return the median and the spread by quartiles, or what else is known of the spread."""
    low, middle, high = np.quantile(x, [0.25, 0.5, 0.75])
    width = (high - low) / 1.349
    if not width > 0:
        apart = np.abs(x - middle)
        width = float(np.median(apart[apart > 0])) if (apart > 0).any() else 1.0
    return float(middle), float(width)


def _is_far(z: Array) -> NDArray[np.bool_]:
    known = z[~np.isnan(z)]
    answer = np.zeros(len(z), dtype=bool)
    if len(known) < 4:
        return answer
    low, high = np.quantile(known, [0.25, 0.75])
    reach = FAR * (high - low)
    most = max(2.0, FEW_FAR * len(known))
    for is_out in (z < low - reach, z > high + reach):
        if reach > 0 and 0 < is_out.sum() <= most:
            answer |= is_out
    return answer
