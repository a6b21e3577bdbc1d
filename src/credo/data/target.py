"""The target column: which rows can be learned from, and the numbers they hold."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from credo.data import cell
from credo.data.column_name import quoted, require_column
from credo.data.error import TableError
from credo.data.number_style import number_style
from credo.data.table import Table, as_table
from credo.numerics.array import Array

__all__ = ["Target", "prepare_target"]


@dataclass(frozen=True, eq=False)
class Target:
    """A target column without its missing values.

    Attributes
    ----------
    name
        Name of the column.
    y
        Its numbers, shape (n_kept,).
    rows
        Positions of the rows kept, shape (n_kept,): ``table.rows(target.rows)`` matches ``y``.
    notes
        Plain sentences on what was done.
    """

    name: str
    y: Array
    rows: NDArray[np.intp]
    notes: tuple[str, ...]


def prepare_target(table: Any, name: str) -> Target:
    """Return the numbers of target column ``name``, and the rows that have one.

    Parameters
    ----------
    table
        A `Table`, a path or a data frame.
    name
        The target column; it must hold at least two different numbers.

    Examples
    --------
    >>> target = prepare_target(pd.DataFrame({"x": [1, 2, 3], "y": [0.5, None, 1.5]}), "y")
    >>> target.y, target.rows
    (array([0.5, 1.5]), array([0, 2]))
    >>> target.notes
    ("1 of 3 rows is left out: its target 'y' is missing.",)
    """
    table = as_table(table)
    require_column(name, table.columns, table.name, flag="--target")
    values = _target_numbers(table, name)
    rows = np.flatnonzero(~np.isnan(values))
    y = values[rows]
    _require_variety(y, name, table)
    n_missing = len(values) - len(rows)
    is_one = n_missing == 1
    note = (
        f"{n_missing:,} of {len(values):,} rows {'is' if is_one else 'are'} left out: "
        f"{'its' if is_one else 'their'} target {name!r} is missing."
    )
    return Target(name, y, rows, (note,) if n_missing else ())


def _target_numbers(table: Table, name: str) -> Array:
    series = table.frame[name]
    values, is_text = cell.numbers(series)
    is_label = types.is_bool_dtype(series.dtype) or isinstance(
        series.dtype, pd.CategoricalDtype
    )
    if types.is_datetime64_any_dtype(series.dtype):
        raise TableError(
            f"target {name!r} of {table.name} must be a number column; found dates; write the "
            "days since a fixed date instead."
        )
    if is_label or is_text.any():
        words: Iterable[str] = pd.unique(
            cell.text(series[is_text] if is_text.any() else series)
        )
        found = [word for word in words if word is not None]
        style = "" if is_label else number_style(found)
        advice = (
            f"they look like numbers with {style}: write 1234.5"
            if style
            else "choose a column of numbers, since predicting classes comes in a later version"
        )
        raise TableError(
            f"target {name!r} of {table.name} must be a number column; found "
            f"{quoted(found, 3)}; {advice}."
        )
    return values


def _require_variety(y: Array, name: str, table: Table) -> None:
    if len(y) < 2:
        found = "all its values missing" if len(y) == 0 else f"{len(y)} row with a value"
        raise TableError(
            f"target {name!r} of {table.name} must have a value in at least 2 rows; found "
            f"{found}; add rows."
        )
    if np.all(y == y[0]):
        raise TableError(
            f"target {name!r} of {table.name} must vary; found {y[0]:g} in all {len(y):,} "
            "rows; choose another target, for there is nothing to learn."
        )
    if not cell.varies(y):
        raise TableError(
            f"target {name!r} of {table.name} must have a range of at least "
            f"{cell.MIN_SPREAD:g}; found a range of {np.ptp(y):g}; change the unit."
        )
