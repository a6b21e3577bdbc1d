"""Cells of a column as text, as numbers, or as days, by one rule wherever a table came from.

A missing cell is None as text and NaN otherwise. Words such as ``NA``, ``?`` or ``-`` mean
missing. A column is read once: `Cells` keeps what it found, also for a part of its rows. Text
that is a number to people, as ``1,234`` or ``$5``, is known by what keeps it from being one.
"""

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from credo.numerics.array import Array

__all__ = [
    "MAX_NUMBER",
    "MIN_SPREAD",
    "MISSING_MARKERS",
    "MOST_KEPT",
    "Cells",
    "Words",
    "is_date_text",
    "is_padded",
    "number_style",
    "varies",
]

MAX_NUMBER = 1e70
"""No number may be larger: squares of ratios of two columns must still be numbers."""

MIN_SPREAD = 1e-70
"""Numbers that differ by less are taken as equal, for the same reason."""

MISSING_MARKERS = frozenset(
    ("", "?", "-", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "-NaN", "-nan", "NaT")
).union(("null", "NULL", "Null", "None", "none"))

MOST_KEPT = 4096
"""Words of more than this many kinds are read again when needed: kept, they fill memory."""

_BOOLEANS = {"true": 1.0, "false": 0.0}
_YEAR_FIRST = re.compile(
    r"\d{4}([-/])\d{1,2}\1\d{1,2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?"
)
_DAY_FIRST = re.compile(r"\d{1,2}\.\d{1,2}\.\d{4}")
# Repetitions are possessive, since one that can give back is tried again at every length.
_DIGITS = r"\d[\d.,' \u00a0\u202f]*+"
_SIGNS = "$€£¥₹"
_STYLES = (
    ("percent signs", re.compile(rf"[-+]?{_DIGITS}%")),
    (
        "currency signs",
        re.compile(rf"[-+]?[{_SIGNS}] ?[-+]?{_DIGITS}|[-+]?{_DIGITS}[{_SIGNS}]"),
    ),
    (
        "thousands separators",
        re.compile(r"[-+]?\d{1,3}(([,'\u00a0\u202f ]\d{3})++(\.\d++)?|(\.\d{3})++,\d++)"),
    ),
    ("decimal commas", re.compile(r"[-+]?\d++,\d++")),
)
_PADDED = re.compile(r"0\d+")
_PLAIN = re.compile(r"[-+]?(\d++\.?+\d*+|\.\d++)([eE][-+]?\d++)?")
_MOST = 0.9


@dataclass(frozen=True, eq=False)
class Words:
    """Cells as places in the list of their different words.

    Attributes
    ----------
    codes
        The place of each cell's word, -1 where the cell is missing, shape (n,).
    levels
        The different words, in the order of their first cells.
    """

    codes: NDArray[np.int16 | np.int32]
    levels: list[str]

    @classmethod
    def of(cls, series: "pd.Series[Any]") -> "Words":
        """Return the words of a column, of which each different value is written once.

        Examples
        --------
        >>> words = Words.of(pd.Series([" red", "NA", "blue", "red"]))
        >>> words.codes.tolist(), words.levels
        ([0, -1, 1, 0], ['red', 'blue'])
        """
        codes, values = pd.factorize(series)
        words = np.array([*_words(np.asarray(values)), None], dtype=object)
        places, levels = pd.factorize(words)
        return cls(_small(places, len(levels))[codes], levels.tolist())

    @property
    def level_counts(self) -> dict[str, int]:
        """How many cells have each word."""
        counts = np.bincount(self.codes + 1, minlength=len(self.levels) + 1)[1:]
        return dict(zip(self.levels, counts.tolist(), strict=True))

    @cached_property
    def numbers(self) -> Array:
        """Each word as a number, NaN if it is none.

        True and false are 1 and 0 where there are no other words.
        """
        if self.are_truth:
            return np.array([_BOOLEANS[word.lower()] for word in self.levels])
        parsed = pd.to_numeric(pd.Series(self.levels, dtype=object), errors="coerce")
        return parsed.to_numpy(dtype=np.float64, na_value=np.nan)

    @cached_property
    def days(self) -> Array:
        """Each word as days since 1970-01-01, NaN if it is no date."""
        return _days_since_epoch(_moments(self.levels))

    @property
    def are_truth(self) -> bool:
        """Whether all words are true or false, however they are spelled.

        Examples
        --------
        >>> [Words.of(pd.Series(c)).are_truth for c in (["TRUE", None, "false"], ["yes", "no"])]
        [True, False]
        """
        return bool(self.levels) and all(word.lower() in _BOOLEANS for word in self.levels)

    def rows(self, positions: NDArray[np.intp]) -> "Words":
        """Return the words of the cells at ``positions``."""
        codes, used = pd.factorize(self.codes[positions])
        is_word = used >= 0
        places = np.where(is_word, np.cumsum(is_word) - 1, -1)
        levels = [self.levels[place] for place in used[is_word]]
        return Words(_small(places, len(levels))[codes], levels)


@dataclass(frozen=True, eq=False)
class Cells:
    """A column of a table, read once: as words, numbers and days, and where it has gaps.

    Attributes
    ----------
    series
        The cells as they are.

    Examples
    --------
    >>> column = Cells(pd.Series([" red", "NA", "blue"]))
    >>> column.text.tolist(), column.is_missing.tolist()
    (['red', None, 'blue'], [False, True, False])
    """

    series: "pd.Series[Any]"
    _kept: list[Words] = field(default_factory=list, repr=False)

    def __len__(self) -> int:
        return len(self.series)

    @property
    def name(self) -> str:
        """The name of the column."""
        return str(self.series.name)

    @cached_property
    def is_number(self) -> bool:
        """Whether cells are of a type of numbers, or of truth values."""
        dtype = self.series.dtype
        return types.is_numeric_dtype(dtype) or types.is_bool_dtype(dtype)

    @property
    def is_truth(self) -> bool:
        """Whether cells are of a type of truth values."""
        return types.is_bool_dtype(self.series.dtype)

    @property
    def is_category(self) -> bool:
        """Whether cells are of a type of categories."""
        return isinstance(self.series.dtype, pd.CategoricalDtype)

    @property
    def is_date(self) -> bool:
        """Whether cells are of a type of dates."""
        return types.is_datetime64_any_dtype(self.series.dtype)

    @property
    def words(self) -> Words:
        """The cells as words, which are kept unless more than `MOST_KEPT` of them differ.

        Whole numbers lose their decimal point, so that 1 and 1.0 are the same category.
        """
        if self._kept:
            return self._kept[0]
        found = Words.of(self.series)
        if len(found.levels) <= MOST_KEPT:
            self._kept.append(found)
        return found

    @property
    def has_words(self) -> bool:
        """Whether words have been read and are kept."""
        return bool(self._kept)

    @property
    def text(self) -> NDArray[np.object_]:
        """Each cell as text without outer blanks, and missing cells as None.

        Examples
        --------
        >>> Cells(pd.Series([1.0, 2.5, None])).text.tolist()
        ['1', '2.5', None]
        """
        words = self.words
        written = np.array([*words.levels, None], dtype=object)
        return cast("NDArray[np.object_]", written[words.codes])

    @property
    def numbers(self) -> Array:
        """Each cell as a number, NaN where it is missing or text.

        True and false count as 1 and 0 where a column holds nothing else.

        Examples
        --------
        >>> column = Cells(pd.Series(["1.5", "two", "?"]))
        >>> column.numbers.tolist(), column.is_text.tolist()
        ([1.5, nan, nan], [False, True, False])
        """
        if not self.is_number:
            words = self.words
            return np.append(words.numbers, np.nan)[words.codes]
        if isinstance(self.series.dtype, np.dtype):
            return self.series.to_numpy().astype(np.float64, copy=False)
        return self.series.to_numpy(dtype=np.float64, na_value=np.nan)

    @property
    def is_text(self) -> NDArray[np.bool_]:
        """Which cells are text that is no number."""
        if self.is_number:
            return np.zeros(len(self), dtype=bool)
        words = self.words
        return np.append(np.isnan(words.numbers), False)[words.codes]

    @cached_property
    def has_text(self) -> bool:
        """Whether any cell is text that is no number."""
        return not self.is_number and bool(np.isnan(self.words.numbers).any())

    @cached_property
    def days(self) -> Array:
        """Each cell as days since 1970-01-01, NaN where it is missing or no date.

        Dates are ``2024-01-31`` or ``2024/01/31``, with a time or without, and ``31.01.2024``.
        Times with an offset are moved to UTC.

        Examples
        --------
        >>> column = Cells(pd.Series(["1970-01-02", "01.02.1970", "soon", None]))
        >>> column.days.tolist(), column.is_undated.tolist()
        ([1.0, 31.0, nan, nan], [False, False, True, False])
        """
        if self.is_date:
            return _days_since_epoch(pd.DatetimeIndex(self.series))
        words = self.words
        return np.append(words.days, np.nan)[words.codes]

    @property
    def is_undated(self) -> NDArray[np.bool_]:
        """Which cells are there and no date."""
        if self.is_date:
            return np.zeros(len(self), dtype=bool)
        words = self.words
        return np.append(np.isnan(words.days), False)[words.codes]

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        """Which cells are missing."""
        return np.asarray(np.isnan(self.numbers) if self.is_number else self.words.codes < 0)

    @cached_property
    def n_missing(self) -> int:
        """How many cells are missing."""
        return int(np.count_nonzero(self.is_missing))

    @cached_property
    def is_uniform(self) -> bool:
        """Whether all cells have the same text, or all are missing.

        Examples
        --------
        >>> Cells(pd.Series([1, 1.0])).is_uniform, Cells(pd.Series([1.0, None])).is_uniform
        (True, False)
        """
        if not self.is_number:
            return len(self.words.levels) + (self.n_missing > 0) <= 1
        # Whole numbers of 64 bits may be equal as floats, and differ.
        is_whole = self.series.dtype.kind in "iu" and isinstance(self.series.dtype, np.dtype)
        values = self.series.to_numpy() if is_whole else self.numbers
        return bool((values == values[:1]).all()) or self.n_missing == len(values)

    def word(self, row: int) -> str | None:
        """Return the text of one cell, for which the others need not be read."""
        (word,) = Cells(self.series.iloc[row : row + 1]).text
        return cast("str | None", word)

    def held(self) -> "Cells":
        """Return the cells with their words kept, for several questions one after the other."""
        return self if self.is_number else Cells(self.series, [self.words])

    def over(self, series: "pd.Series[Any]") -> "Cells":
        """Return the same cells in another series, with the words that are kept."""
        return Cells(series, [words for words in self._kept if len(words.levels) <= MOST_KEPT])

    def rows(self, series: "pd.Series[Any]", positions: NDArray[np.intp]) -> "Cells":
        """Return the cells at ``positions``, which are ``series``, with words that are kept."""
        return Cells(series, [words.rows(positions) for words in self._kept])


def varies(values: Array) -> bool:
    """Whether numbers, NaN apart, differ by more than arithmetic can lose.

    Examples
    --------
    >>> varies(np.array([1.0, np.nan, 2.0])), varies(np.array([1e-200, 2e-200]))
    (True, False)
    """
    present = values[~np.isnan(values)]
    return bool(len(present) and np.ptp(present) >= MIN_SPREAD)


def is_date_text(word: str) -> bool:
    """Whether ``word`` is written as an unambiguous date.

    Examples
    --------
    >>> is_date_text("2024-01-31"), is_date_text("01/02/2024")
    (True, False)
    """
    return bool(_YEAR_FIRST.fullmatch(word) or _DAY_FIRST.fullmatch(word))


def is_padded(words: Iterable[str]) -> bool:
    """Whether some word is a whole number with zeros before it, as codes are written.

    Examples
    --------
    >>> is_padded(["007", "12"]), is_padded(["0", "0.7"])
    (True, False)
    """
    return any(_PADDED.fullmatch(word) for word in words)


def number_style(words: Sequence[str]) -> str:
    """Return what most of ``words`` have besides a number, or nothing if they are no numbers.

    Examples
    --------
    >>> number_style(["1,234", "999", "12,000.5"]), number_style(["12.5%", "3%"])
    ('thousands separators', 'percent signs')
    >>> number_style(["$5.54", "$1,000"]), number_style(["1,5", "2,25"])
    ('currency signs', 'decimal commas')
    >>> number_style(["A-12", "B-7"])
    ''
    """
    found = Counter(_style(word) for word in words)
    n_plain, n_other = found.pop("plain", 0), found.pop("", 0)
    is_number = n_other <= (1 - _MOST) * (n_plain + n_other + found.total())
    return found.most_common(1)[0][0] if found and is_number else ""


def _small(places: NDArray[np.intp], n: int) -> NDArray[np.int16 | np.int32]:
    return places.astype(np.int16) if n <= MOST_KEPT else places.astype(np.int32)


def _words(values: NDArray[Any]) -> list[str | None]:
    if values.dtype == np.float64:
        plain = values.tolist()
        return [str(int(v)) if v.is_integer() else str(v) for v in plain]
    return [_word(value) for value in values]


def _word(value: Hashable) -> str | None:
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    word = str(value).strip()
    return None if word in MISSING_MARKERS else word


def _moments(words: list[str]) -> pd.DatetimeIndex:
    moments = np.full(len(words), np.datetime64("NaT"), dtype="datetime64[us]")
    for pattern, layout in ((_YEAR_FIRST, "ISO8601"), (_DAY_FIRST, "%d.%m.%Y")):
        places = [i for i, word in enumerate(words) if pattern.fullmatch(word)]
        written = [words[i].replace("/", "-") for i in places]
        parsed = pd.to_datetime(written, format=layout, utc=True, errors="coerce")
        moments[places] = parsed.tz_convert(None).to_numpy()
    return pd.DatetimeIndex(moments)


def _days_since_epoch(moments: pd.DatetimeIndex) -> Array:
    plain = moments if moments.tz is None else moments.tz_convert(None)
    elapsed = (plain - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
    return np.asarray(elapsed, dtype=np.float64)


def _style(word: str) -> str:
    if _PLAIN.fullmatch(word):
        return "plain"
    return next((style for style, pattern in _STYLES if pattern.fullmatch(word)), "")
