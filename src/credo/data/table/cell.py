"""Cells of a column as text, as numbers, or as days, by one rule wherever a table came from.

A missing cell is None as text and NaN otherwise. Words such as ``NA``, ``?`` or ``-`` mean
missing.
"""

import re
from collections.abc import Hashable
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
    "days",
    "is_date_text",
    "is_missing",
    "is_truth",
    "is_uniform",
    "numbers",
    "text",
    "varies",
]

MAX_NUMBER = 1e70
"""No number may be larger: squares of ratios of two columns must still be numbers."""

MIN_SPREAD = 1e-70
"""Numbers that differ by less are taken as equal, for the same reason."""

MISSING_MARKERS = frozenset(
    ("", "?", "-", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "-NaN", "-nan", "NaT")
).union(("null", "NULL", "Null", "None", "none"))

_BOOLEANS = {"true": 1.0, "false": 0.0}
_YEAR_FIRST = re.compile(
    r"\d{4}([-/])\d{1,2}\1\d{1,2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?"
)
_DAY_FIRST = re.compile(r"\d{1,2}\.\d{1,2}\.\d{4}")


def text(series: "pd.Series[Any]") -> NDArray[np.object_]:
    """Return each cell as text without outer blanks, and missing cells as None.

    Whole numbers lose their decimal point, so that 1 and 1.0 are the same category.

    Examples
    --------
    >>> text(pd.Series([1.0, 2.5, None])).tolist()
    ['1', '2.5', None]
    >>> text(pd.Series([" red", "NA", "blue"])).tolist()
    ['red', None, 'blue']
    """
    codes, distinct = pd.factorize(series)
    words = np.empty(len(distinct) + 1, dtype=object)
    words[:-1] = _words(np.asarray(distinct))
    words[-1] = None
    return cast("NDArray[np.object_]", words[codes])


def is_missing(series: "pd.Series[Any]") -> NDArray[np.bool_]:
    """Return which cells are missing.

    Examples
    --------
    >>> is_missing(pd.Series(["red", "NA", None])).tolist()
    [False, True, True]
    """
    if _is_number(series):
        return np.asarray(np.isnan(series.to_numpy(dtype=np.float64, na_value=np.nan)))
    return np.asarray(pd.isna(text(series)))


def is_uniform(series: "pd.Series[Any]") -> bool:
    """Whether all cells have the same text, or all are missing.

    Examples
    --------
    >>> is_uniform(pd.Series([1, 1.0])), is_uniform(pd.Series([1.0, None]))
    (True, False)
    """
    if not _is_number(series):
        return len(pd.unique(text(series))) <= 1
    values = series.to_numpy(dtype=np.float64, na_value=np.nan)
    return bool(np.isnan(values).all() or (values == values[:1]).all())


def numbers(series: "pd.Series[Any]") -> tuple[Array, NDArray[np.bool_]]:
    """Return each cell as a number, and a mask of the cells that are text instead.

    True and false count as 1 and 0 where a column holds nothing else.

    Examples
    --------
    >>> values, is_text = numbers(pd.Series(["1.5", "two", "?"]))
    >>> values.tolist(), is_text.tolist()
    ([1.5, nan, nan], [False, True, False])
    """
    if _is_number(series):
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
        return values, np.zeros(len(values), dtype=bool)
    codes, words = _distinct_words(series)
    parsed = _numbers_of_words(words)
    values = np.append(parsed, np.nan)[codes]
    return values, np.append(np.isnan(parsed), False)[codes]


def varies(values: Array) -> bool:
    """Whether numbers, NaN apart, differ by more than arithmetic can lose.

    Examples
    --------
    >>> varies(np.array([1.0, np.nan, 2.0])), varies(np.array([1e-200, 2e-200]))
    (True, False)
    """
    present = values[~np.isnan(values)]
    return bool(len(present) and np.ptp(present) >= MIN_SPREAD)


def days(series: "pd.Series[Any]") -> tuple[Array, NDArray[np.bool_]]:
    """Return each cell as days since 1970-01-01, and a mask of the cells that are not dates.

    Dates are ``2024-01-31`` or ``2024/01/31``, with a time or without, and ``31.01.2024``.
    Times with an offset are moved to UTC.

    Examples
    --------
    >>> values, is_wrong = days(pd.Series(["1970-01-02", "01.02.1970", "soon", None]))
    >>> values.tolist(), is_wrong.tolist()
    ([1.0, 31.0, nan, nan], [False, False, True, False])
    """
    if types.is_datetime64_any_dtype(series.dtype):
        values = _days_since_epoch(pd.DatetimeIndex(series))
        return values, np.zeros(len(values), dtype=bool)
    codes, words = _distinct_words(series)
    parsed = _days_since_epoch(_moments(words))
    return np.append(parsed, np.nan)[codes], np.append(np.isnan(parsed), False)[codes]


def is_date_text(word: str) -> bool:
    """Whether ``word`` is written as an unambiguous date.

    Examples
    --------
    >>> is_date_text("2024-01-31"), is_date_text("01/02/2024")
    (True, False)
    """
    return bool(_YEAR_FIRST.fullmatch(word) or _DAY_FIRST.fullmatch(word))


def is_truth(series: "pd.Series[Any]") -> bool:
    """Whether the cells that are there are all true or false, however they are spelled.

    Examples
    --------
    >>> is_truth(pd.Series(["TRUE", None, "false"])), is_truth(pd.Series(["yes", "no"]))
    (True, False)
    """
    words = _distinct_words(series)[1]
    return bool(words) and all(word.lower() in _BOOLEANS for word in words)


def _is_number(series: "pd.Series[Any]") -> bool:
    return types.is_numeric_dtype(series.dtype) or types.is_bool_dtype(series.dtype)


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


def _distinct_words(series: "pd.Series[Any]") -> tuple[NDArray[np.intp], list[str]]:
    codes, words = pd.factorize(text(series))
    return codes, [str(word) for word in words]


def _numbers_of_words(words: list[str]) -> Array:
    if words and all(word.lower() in _BOOLEANS for word in words):
        return np.array([_BOOLEANS[word.lower()] for word in words])
    parsed = pd.to_numeric(pd.Series(words, dtype=object), errors="coerce")
    return parsed.to_numpy(dtype=np.float64, na_value=np.nan)


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
