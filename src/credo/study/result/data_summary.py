"""A table in numbers: rows, kinds of columns, gaps, and what was done about them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from credo.data.table.column_name import quoted
from credo.data.table.gap import sentinels
from credo.data.table.preparation import TablePreparation, TableSchema
from credo.data.table.table import Table
from credo.data.table.target import Target

__all__ = ["DataSummary"]


@dataclass(frozen=True)
class DataSummary:
    """What a report says of the data.

    Attributes
    ----------
    name, target
        What the table and its target are called.
    n_rows
        Rows with a target.
    n_train, n_test
        Rows learned from, and rows held out.
    schema
        Kinds of all columns but the target.
    n_missing
        Missing values by column, where there are any.
    notes
        Plain sentences on what was left out, missing and pooled.
    fingerprint
        SHA-256 of the table.
    n_target_values
        How many different values the target has.
    sentinel_notes
        A sentence for each number that seems to stand for a missing value.
    code_notes
        A sentence, if the numbers of the target may be codes of classes.
    """

    name: str
    target: str
    n_rows: int
    n_train: int
    n_test: int
    schema: TableSchema
    n_missing: dict[str, int]
    notes: tuple[str, ...]
    fingerprint: str
    n_target_values: int
    sentinel_notes: tuple[str, ...]
    code_notes: tuple[str, ...]

    @property
    def date_notes(self) -> tuple[str, ...]:
        """A sentence on what a random test does not tell where columns are dates."""
        dates = [column.name for column in self.schema.used if column.kind == "date"]
        if not dates:
            return ()
        return (
            f"Test rows lie among the training rows by {quoted(dates)}: how good forecasts "
            "after the last of them are was not tested.",
        )

    @classmethod
    def of(
        cls, table: Table, target: Target, schema: TableSchema, preparation: TablePreparation
    ) -> Self:
        """Return the summary of a table whose training rows gave the preparation."""
        rows = table.rows(target.rows)
        n_missing = {
            column.name: rows.column(column.name).n_missing for column in schema.columns
        }
        return cls(
            name=table.name,
            target=target.name,
            n_rows=len(rows),
            n_train=preparation.n_rows,
            n_test=len(rows) - preparation.n_rows,
            schema=schema,
            n_missing={name: n for name, n in n_missing.items() if n},
            notes=target.notes + preparation.notes,
            fingerprint=table.fingerprint(),
            n_target_values=len(np.unique(target.y)),
            sentinel_notes=tuple(_sentinel_notes(rows, target, schema)),
            code_notes=target.code_notes,
        )


def _sentinel_notes(rows: Table, target: Target, schema: TableSchema) -> Iterator[str]:
    """Yield what was noticed in the columns of numbers, and in a target of numbers."""
    columns = {
        column.name: rows.column(column.name).numbers
        for column in schema.columns
        if column.kind == "number"
    }
    if np.issubdtype(target.y.dtype, np.floating):
        columns[target.name] = target.y
    for name, values in columns.items():
        for found in sentinels(values):
            yield found.sentence(name)
