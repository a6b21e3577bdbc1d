"""The target column: which rows can be learned from, and the numbers or classes they hold.

Classes are learned as text, and each must have enough rows; their own labels are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from credo.data.error import TableError
from credo.data.table.cell import MIN_SPREAD, Cells, Words, number_style, varies
from credo.data.table.column_name import nearest_names, quoted
from credo.data.table.table import Table, as_table
from credo.numerics.array import Array
from credo.numerics.quotation import MOST_QUOTED, quote

__all__ = [
    "FEW_VALUES",
    "MAX_CLASSES",
    "MIN_CLASS_ROWS",
    "Target",
    "Task",
    "class_names",
    "is_class_column",
    "known_outcomes",
    "prepare_target",
    "require_classes",
    "require_one_name",
    "require_task",
]


MAX_CLASSES = 50
"""A text column with more different values is free text rather than a class."""

MIN_CLASS_ROWS = 3
"""One row of each class to test on, and two to learn from in turn."""


def is_class_column(column: Cells) -> bool:
    """Whether a column names classes: text, true and false, categories, or two numbers.

    Examples
    --------
    >>> is_class_column(Cells(pd.Series([0, 1, 1, 0])))
    True
    """
    if column.is_truth or column.is_category or column.has_text:
        return True
    values = column.numbers
    return len(np.unique(values[~np.isnan(values)])) == 2 and varies(values)


def class_names(labels: NDArray[Any]) -> list[str]:
    """Return the text by which a table knows each of some different labels.

    Examples
    --------
    >>> class_names(np.array([0.0, 1.5])), class_names(np.array([False, True]))
    (['0', '1.5'], ['False', 'True'])
    """
    return Words.of(pd.Series(labels)).levels


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


Task = Literal["auto", "classification", "regression"]
"""What to predict a target as; "auto" decides by what it holds."""

MAX_ITEMSIZE = 8
"""Bytes of the largest numbers that a model file holds."""

FEW_VALUES = 10
"""Whole numbers with no more different values than this may be codes of classes."""


@dataclass(frozen=True, eq=False)
class Target:
    """A target column without its missing values.

    Attributes
    ----------
    name
        Name of the column.
    y
        Its numbers, or its classes as text, shape (n_kept,).
    rows
        Positions of the rows kept, shape (n_kept,): ``table.rows(target.rows)`` matches ``y``.
    notes
        Plain sentences on what was done.
    labels
        The classes in the type of the column, rising; None if that is text.
    code_notes
        A sentence, if its numbers may be codes of classes.
    """

    name: str
    y: NDArray[Any]
    rows: NDArray[np.intp]
    notes: tuple[str, ...]
    labels: NDArray[Any] | None = None
    code_notes: tuple[str, ...] = ()

    @property
    def has_classes(self) -> bool:
        """Whether the target is a class instead of a number."""
        return self.y.dtype.kind == "U"


def prepare_target(table: Any, name: Any, task: Task = "auto") -> Target:
    """Return the numbers or classes of target column ``name``, and the rows that have one.

    Parameters
    ----------
    table
        A `Table`, a path or a data frame.
    name
        The target column, which may be named by a number where the table does so; it must
        hold at least two different values.
    task
        Whether it is predicted as classes or as a number. By default text, true and false,
        categories and numbers of only two values are classes.

    Examples
    --------
    >>> frame = pd.DataFrame({"y": [0.5, None, 1.5, 2.5], "z": ["a", "b", None, "a"]})
    >>> target = prepare_target(frame, "y")
    >>> target.y, target.rows
    (array([0.5, 1.5, 2.5]), array([0, 2, 3]))
    >>> target.notes
    ("1 of 4 rows is left out: its target 'y' is missing.",)
    >>> prepare_target(pd.DataFrame({"z": ["a", "b", "a"] * 3}), "z").y[:2].tolist()
    ['a', 'b']
    """
    require_task(task)
    require_one_name(name)
    table = as_table(table)
    name = str(name)
    table.require_column(name, argument="target")
    _require_no_dates(table, name)
    if task == "classification" or (task == "auto" and is_class_column(table.column(name))):
        return _class_target(table, name, task)
    return _number_target(table, name)


def require_one_name(target: object) -> None:
    """Raise a `TableError` unless ``target`` can be the name of a column."""
    if isinstance(target, str | int | np.integer) and not isinstance(target, bool):
        return
    is_outcome = hasattr(target, "__array__") or len(repr(target)) > MOST_QUOTED
    found, advice = quote(target), "pass that name as text"
    if is_outcome:
        found = f"values of type {type(target).__name__}"
        advice = (
            "put them into the table as a column, or use TableRegressor or TableClassifier, "
            "which learn from X and y"
        )
    raise TableError(f"`target` must be the name of one column; found {found}; {advice}.")


def require_task(task: object) -> None:
    """Raise a `TableError` with the nearest name unless ``task`` is one of `Task`."""
    known = get_args(Task)
    if task in known:
        return
    nearest = nearest_names(task, known, n=1) if isinstance(task, str) else []
    advice = f"did you mean {nearest[0]!r}?" if nearest else "leave it out to decide by itself."
    raise TableError(
        f"`task` must be 'auto', 'classification' or 'regression'; found {task!r}; {advice}"
    )


def known_outcomes(table: Table, name: str, classes: Sequence[str] | None) -> Target:
    """Return the outcomes that a table has for a model to be scored by; any number of them.

    Parameters
    ----------
    table, name
        A table, and the column that the model predicts.
    classes
        Names of the classes that it predicts; None if it predicts a number.

    Examples
    --------
    >>> table = as_table(pd.DataFrame({"y": [None, 2.5]}))
    >>> known_outcomes(table, "y", classes=None).y
    array([2.5])
    """
    if name not in table.columns:
        raise TableError(
            f"{table.name} must have the column {name!r}, which holds what came true, to score "
            f"by; found {quoted(table.columns)}; add it."
        )
    column = table.column(name).held()
    rows = np.flatnonzero(~column.is_missing)
    if classes is not None:
        written = table.as_written(name).text[rows].astype(str)
        is_known = np.isin(written, classes).any()
        return Target(name, written if is_known else column.text[rows].astype(str), rows, ())
    if column.has_text:
        raise TableError(
            f"target {name!r} of {table.name} must be a number column; found "
            f"{quoted(pd.unique(column.text[column.is_text]), 3)}; leave these cells empty."
        )
    return Target(name, column.numbers[rows], rows, ())


def _class_target(table: Table, name: str, task: Task) -> Target:
    column = table.column(name)
    words = table.as_written(name).text
    rows = np.flatnonzero(~pd.isna(words))
    labels = words[rows].astype(str)
    _require_some(labels, name, table)
    if task == "auto":
        _require_no_number_style(labels, name, table)
    require_classes(labels, name, table.name)
    is_number = column.is_number and not column.is_truth
    note = (
        f"Target {name!r} has only two values and is predicted as classes; pass "
        "`task='regression'` to predict it as a number."
    )
    number_note = (note,) if is_number and task == "auto" else ()
    notes = _missing_note(table, rows, name) + number_note
    return Target(name, labels, rows, notes, _own_labels(table, name))


def _own_labels(table: Table, name: str) -> NDArray[Any] | None:
    """Return the classes as truth values or numbers, if that is what the table holds.

    Of a file whole numbers are integers, which those beside gaps are not read as.
    """
    present = table.as_given(name).dropna()
    is_plain = isinstance(present.dtype, np.dtype) and present.dtype != object
    values = present.to_numpy() if is_plain else np.array(pd.unique(present).tolist())
    if values.dtype.kind not in "biuf" or values.dtype.itemsize > MAX_ITEMSIZE:
        return None
    labels = np.unique(values)
    if table.is_file and labels.dtype.kind == "f" and np.all(labels == np.floor(labels)):
        labels = labels.astype(np.int64)
    is_same = set(class_names(labels)) == set(table.column(name).words.levels)
    return labels if is_same else None


def _number_target(table: Table, name: str) -> Target:
    column = table.column(name).held()
    if column.is_truth or column.is_category or column.has_text:
        found = column.text[column.is_text] if column.has_text else column.text
        words = [word for word in pd.unique(found) if word is not None]
        raise TableError(
            f"target {name!r} of {table.name} must be a number column; found "
            f"{quoted(words, 3)}; choose a column of numbers, or pass "
            "`task='classification'`."
        )
    rows = np.flatnonzero(~column.is_missing)
    y = column.numbers[rows]
    _require_some(y, name, table)
    _require_variety(y, name, table)
    notes = _missing_note(table, rows, name)
    return Target(name, y, rows, notes, code_notes=_code_notes(y, name))


def _missing_note(table: Table, rows: NDArray[np.intp], name: str) -> tuple[str, ...]:
    n_missing = len(table) - len(rows)
    if not n_missing:
        return ()
    is_one = n_missing == 1
    words = table.missing_words(name)
    read = f" (read as missing: {quoted(words)})" if words else ""
    return (
        f"{n_missing:,} of {len(table):,} rows {'is' if is_one else 'are'} left out: "
        f"{'its' if is_one else 'their'} target {name!r} is missing{read}.",
    )


def _code_notes(y: Array, name: str) -> tuple[str, ...]:
    distinct = np.unique(y)
    is_code = 2 < len(distinct) <= min(FEW_VALUES, len(y) // 2) and np.all(
        distinct == np.floor(distinct)
    )
    note = (
        f"Target {name!r} has only {len(distinct)} different values, whole numbers, and is "
        "predicted as a number; pass `task='classification'` if they are codes of classes."
    )
    return (note,) if is_code else ()


def _require_no_dates(table: Table, name: str) -> None:
    if table.column(name).is_date:
        raise TableError(
            f"target {name!r} of {table.name} must be a number or a class column; found dates; "
            "write the days since a fixed date instead."
        )


def _require_no_number_style(labels: NDArray[np.str_], name: str, table: Table) -> None:
    words = [word for word in pd.unique(labels) if pd.isna(pd.to_numeric(word, "coerce"))]
    style = number_style(words)
    if style:
        raise TableError(
            f"target {name!r} of {table.name} must be a number or a class column; found "
            f"{quoted(words, 3)}; they look like numbers with {style}: write 1234.5."
        )


def _require_some(y: NDArray[Any], name: str, table: Table) -> None:
    if len(y) < 2:
        found = "all its values missing" if len(y) == 0 else f"{len(y)} row with a value"
        raise TableError(
            f"target {name!r} of {table.name} must have a value in at least 2 rows; found "
            f"{found}; add rows."
        )


def _require_variety(y: Array, name: str, table: Table) -> None:
    if np.all(y == y[0]):
        raise TableError(
            f"target {name!r} of {table.name} must vary; found {y[0]:g} in all {len(y):,} "
            "rows; choose another target, for there is nothing to learn."
        )
    if not varies(y):
        raise TableError(
            f"target {name!r} of {table.name} must have a range of at least "
            f"{MIN_SPREAD:g}; found a range of {np.ptp(y):g}; change the unit."
        )
