"""A table split into rows to learn from and rows to judge by, ready for models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import NDArray

from credo.data.error import TableError
from credo.data.table.column_name import nearest_names, quoted
from credo.data.table.preparation import (
    MissingCells,
    PreparedTable,
    TablePreparation,
    TableSchema,
)
from credo.data.table.table import Table
from credo.data.table.target import Target
from credo.validation.splits import hold_out

__all__ = [
    "MIN_TRAINING_ROWS",
    "Part",
    "Split",
    "names_given",
    "require_ignorable",
    "split_rows",
]

MIN_TRAINING_ROWS = 2
"""Rows of each class to learn from, so that one can be held out in turn."""

MIN_TRAINING_NUMBERS = 3
"""Rows with a number to learn from, so that without any one of them some noise is left."""


@dataclass(frozen=True, eq=False)
class Part:
    """Rows ready for models: inputs, the same with names, outcomes, and places in the table."""

    prepared: PreparedTable
    y: NDArray[Any]
    rows: NDArray[np.intp]

    @property
    def inputs(self) -> pd.DataFrame:
        """The design matrix with the names of its columns."""
        return self.prepared.frame


@dataclass(frozen=True, eq=False)
class Split:
    """Training and test rows, the rules that the training rows gave, and gaps in the test."""

    schema: TableSchema
    preparation: TablePreparation
    train: Part
    test: Part
    missing: MissingCells


def split_rows(
    table: Table, target: Target, share: float, rng: Generator, ignore: Sequence[str] = ()
) -> Split:
    """Return the rows with a target in two parts, of classes the same share of each.

    Columns are typed on the whole table; all else is learned from the training rows alone.
    Columns in ``ignore`` are not used.

    Raises
    ------
    TableError
        If the training rows do not show enough of the target to learn from.
    """
    labeled = table.rows(target.rows)
    classes = target.y if target.has_classes else None
    train, test = hold_out(len(labeled), share, rng, stratify=classes)
    _require_variety(target.y[train], target, table.name)
    schema = TableSchema.of(labeled, leave_out=(target.name,), ignore=ignore)
    rows = labeled.rows(train)
    preparation = TablePreparation.learn(rows, target.name, schema, y=target.y[train])
    held_out = preparation.prepare(labeled.rows(test))
    return Split(
        schema,
        preparation,
        Part(preparation.prepare(rows), target.y[train], train),
        Part(held_out, target.y[test], test),
        preparation.missing(held_out),
    )


def _require_variety(y: NDArray[Any], target: Target, source: str) -> None:
    if target.has_classes:
        counts = {label: int(np.sum(y == label)) for label in np.unique(target.y)}
        rarest = min(counts, key=lambda label: counts[label])
        if counts[rarest] < MIN_TRAINING_ROWS:
            raise TableError(
                f"target {target.name!r} of {source} must leave at least {MIN_TRAINING_ROWS} "
                f"training rows of each class; found {counts[rarest]} of {str(rarest)!r}; add "
                "rows, or pass a smaller `test_share`."
            )
    elif len(y) < MIN_TRAINING_NUMBERS:
        raise TableError(
            f"target {target.name!r} of {source} must leave at least {MIN_TRAINING_NUMBERS} "
            f"training rows; found {len(y)}; add rows, or pass a smaller `test_share`."
        )
    elif np.all(y == y[0]):
        raise TableError(
            f"target {target.name!r} of {source} must vary in the training rows; found "
            f"{y[0]:g} in all {len(y)}; add rows with other values, or pass another `seed`."
        )


def names_given(names: str | int | Sequence[str | int]) -> tuple[str, ...]:
    """Return names of columns or models, of which one may be given by itself."""
    return (str(names),) if isinstance(names, str | int) else tuple(map(str, names))


def require_ignorable(ignore: Sequence[str], table: Table, target: str) -> None:
    """Raise a `TableError` unless all names are columns of the table, and not its target."""
    for name in ignore:
        if name == target:
            raise TableError(
                f"`ignore` must name columns besides the target; found {name!r}, which is to "
                "be predicted; leave it out of `ignore`."
            )
        if name not in table.columns:
            raise TableError(
                f"`ignore` must name columns of {table.name}; found {name!r}; "
                f"{_hint(name, [column for column in table.columns if column != target])}"
            )


def _hint(name: str, columns: list[str]) -> str:
    nearest = nearest_names(name, columns, n=1)
    return f"did you mean {nearest[0]!r}?" if nearest else f"choose from {quoted(columns)}."
