"""Sequences as they come in: one array with lengths, a list of arrays, or a table with ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from credo.numerics.quotation import quote

__all__ = ["SequenceTable", "joined"]

Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SequenceTable:
    """Rows of all sequences, one sequence after the other.

    Attributes
    ----------
    rows
        Array or table, shape (n, d).
    ends
        First row of each sequence, and one behind the last, shape (n_sequences + 1,).
    place
        Where each row was in what came in, shape (n,); None if all are where they were.
    names
        What the sequences are called.
    """

    rows: Any
    ends: Codes
    place: NDArray[np.intp] | None
    names: tuple[Any, ...]

    def in_place(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return what is known of each row in the order in which rows came in."""
        if self.place is None:
            return values
        answer = np.empty_like(values)
        answer[self.place] = values
        return answer


def joined(X: Any, lengths: Any = None) -> SequenceTable:
    """Return sequences as one table.

    Parameters
    ----------
    X
        Rows of all sequences in turn; or a list of arrays or tables, one for each. Whole
        numbers or text of one axis are one column.
    lengths
        Rows of each sequence; None for a single one, or for a list. Or the name of the column
        of a pandas table that says of which sequence each row is.

    Examples
    --------
    >>> joined(np.arange(5)[:, None], lengths=[2, 3]).ends
    array([0, 2, 5])
    """
    if isinstance(X, list | tuple) and X and all(hasattr(part, "shape") for part in X):
        if lengths is not None:
            raise ValueError(
                "lengths must be None for a list of sequences, which have their own; found "
                f"{quote(lengths)}. Leave lengths out."
            )
        return _listed(X)
    if isinstance(lengths, str):
        return _named(X, lengths)
    rows = _as_column(X)
    n = len(rows) if hasattr(rows, "__len__") else int(getattr(rows, "shape", [0])[0])
    ends = _ends(lengths, n)
    if isinstance(rows, pd.DataFrame):
        for low, high in pairwise(ends.tolist()):
            _require_time(rows.index[low:high])
    return SequenceTable(rows, ends, None, tuple(range(len(ends) - 1)))


def _as_column(X: Any) -> Any:
    """Return labels or counts of one axis as one column; other things as they are."""
    if isinstance(X, pd.Series):
        return X.to_frame()
    values = X if isinstance(X, np.ndarray) else None
    if isinstance(X, list | tuple) and X and not isinstance(X[0], list | tuple):
        values = np.asarray(X)
    if values is not None and values.ndim == 1 and values.dtype.kind in "iubOUS":
        return values[:, None]
    return X


def _listed(parts: Sequence[Any]) -> SequenceTable:
    columns = [_as_column(part) for part in parts]
    lengths = [len(part) for part in columns]
    if min(lengths) < 1:
        raise ValueError(
            "each sequence must have at least one row; found none in sequence "
            f"{lengths.index(min(lengths))}. Leave it out."
        )
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    if all(isinstance(part, pd.DataFrame) for part in columns):
        for part in columns:
            _require_time(part.index)
        rows: Any = pd.concat(columns, ignore_index=True)
    else:
        arrays = [np.asarray(part) for part in columns]
        shapes = {part.shape[1:] for part in arrays}
        if len(shapes) > 1 or arrays[0].ndim != 2:
            raise ValueError(
                "sequences must be arrays of rows with the same columns; found shapes "
                f"{[part.shape for part in arrays[:5]]}. Give each the shape (n_rows, "
                "n_columns), or whole numbers or text of one axis."
            )
        rows = np.concatenate(arrays)
    return SequenceTable(rows, ends, None, tuple(range(len(lengths))))


def _named(X: Any, sequence: str) -> SequenceTable:
    """Return the sequences that a column names, in the order in which they begin."""
    if not isinstance(X, pd.DataFrame) or sequence not in X.columns:
        found = list(X.columns) if isinstance(X, pd.DataFrame) else type(X).__name__
        raise ValueError(
            f"X must be a pandas table with the column {sequence!r} that lengths names; found "
            f"{quote(found)}. Pass the numbers of rows of the sequences."
        )
    code, names = pd.factorize(X[sequence])
    if (code < 0).any():
        raise ValueError(
            f"column {sequence!r} must name the sequence of each row; found a gap in row "
            f"{int(np.argmin(code))}. Name it, or leave out the row."
        )
    order = np.argsort(code, kind="stable")
    rows = X.drop(columns=sequence).iloc[order]
    ends = np.concatenate([[0], np.cumsum(np.bincount(code))]).astype(np.int64)
    for low, high in pairwise(ends.tolist()):
        _require_time(rows.index[low:high])
    return SequenceTable(rows, ends, order, tuple(names.tolist()))


def _ends(lengths: ArrayLike | None, n: int) -> Codes:
    if lengths is None:
        return np.array([0, n], dtype=np.int64)
    given = np.asarray(lengths)
    is_right = given.ndim == 1 and given.size > 0 and given.dtype.kind in "iu"
    if not is_right or (given < 1).any():
        raise ValueError(
            "lengths must be whole numbers of rows, at least 1 for each sequence; found "
            f"{quote(np.asarray(lengths).tolist())}. Leave out sequences without rows."
        )
    if int(given.sum()) != n:
        raise ValueError(
            f"lengths must add up to the rows of X; found {int(given.sum())} and {n} rows. "
            "Give the number of rows of each sequence, in their order."
        )
    return np.concatenate([[0], np.cumsum(given)]).astype(np.int64)


def _require_time(index: pd.Index) -> None:
    """Refuse times that run backward, repeat, or are not evenly spaced."""
    if not isinstance(index, pd.DatetimeIndex | pd.PeriodIndex | pd.TimedeltaIndex):
        return
    step = np.diff(index.asi8)
    if (step <= 0).any():
        at = int(np.argmax(step <= 0))
        raise ValueError(
            f"time must run forward within a sequence; found {index[at]} before "
            f"{index[at + 1]}. Sort the rows by time, and join rows of one time."
        )
    is_even = len(step) < 2 or bool((step == step[0]).all())
    if not is_even and isinstance(index, pd.DatetimeIndex):
        is_even = _is_even_in_a_calendar(index)
    if not is_even:
        at = int(np.argmax(step != np.median(step)))
        raise ValueError(
            f"times must be evenly spaced, a row for each step; found {index[at]} and then "
            f"{index[at + 1]}. Put rows of NaN where nothing was seen, as asfreq() of pandas "
            "does."
        )


def _is_even_in_a_calendar(index: pd.DatetimeIndex) -> bool:
    """Return whether days are the same number of months, or of working days, apart."""
    month = np.diff(12 * index.year.to_numpy() + index.month.to_numpy())
    is_same_day = len(set(index.day.tolist())) == 1 or bool(index.is_month_end.all())
    if is_same_day and month[0] > 0 and (month == month[0]).all():
        return True
    day = index.to_numpy().astype("datetime64[D]")
    working = np.busday_count(day[:-1], day[1:])
    return bool(np.is_busday(day).all() and (working == working[0]).all())
