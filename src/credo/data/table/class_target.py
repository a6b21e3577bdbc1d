"""Targets that are classes: the label of each row as text, and enough rows of each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from credo.data.error import TableError
from credo.data.table import cell
from credo.data.table.column_name import quoted
from credo.numerics.array import Array

__all__ = ["MAX_CLASSES", "MIN_CLASS_ROWS", "is_class_column", "require_classes"]

MAX_CLASSES = 50
"""A text column with more different values is free text rather than a class."""

MIN_CLASS_ROWS = 3
"""One row of each class to test on, and two to learn from in turn."""


def is_class_column(series: pd.Series[Any], values: Array, is_text: NDArray[np.bool_]) -> bool:
    """Whether a column names classes: text, true and false, categories, or two numbers.

    Parameters
    ----------
    series
        The column.
    values, is_text
        What `credo.data.table.cell.numbers` says of it.

    Examples
    --------
    >>> column = pd.Series([0, 1, 1, 0])
    >>> is_class_column(column, *cell.numbers(column))
    True
    """
    is_named = types.is_bool_dtype(series.dtype) or isinstance(
        series.dtype, pd.CategoricalDtype
    )
    is_pair = len(np.unique(values[~np.isnan(values)])) == 2 and cell.varies(values)
    return bool(is_named or is_text.any() or is_pair)


def require_classes(labels: NDArray[np.str_], name: str, source: str) -> None:
    """Raise a `TableError` unless there are a few classes with a few rows each."""
    classes, counts = np.unique(labels, return_counts=True)
    if len(classes) == 1:
        raise TableError(
            f"target {name!r} of {source} must have at least 2 classes; found "
            f"{str(classes[0])!r} in all {len(labels):,} rows; choose another target, for "
            "there is nothing to learn."
        )
    if len(classes) > MAX_CLASSES:
        raise TableError(
            f"target {name!r} of {source} must have at most {MAX_CLASSES} classes; found "
            f"{len(classes):,} different values, such as {quoted(classes, 3)}; merge them into "
            "fewer, or choose another target."
        )
    rare = [
        f"{count} of {str(label)!r}"
        for label, count in zip(classes, counts, strict=True)
        if count < MIN_CLASS_ROWS
    ]
    if rare:
        more = ", ..." if len(rare) > 3 else ""
        raise TableError(
            f"target {name!r} of {source} must have at least {MIN_CLASS_ROWS} rows of each "
            f"class, to learn from and to test on; found {', '.join(rare[:3])}{more}; add "
            "rows, leave these out, or merge them with another class."
        )
