"""Rows of a table on their way into a model that takes tables, and what it predicts of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd

from credo.data.error import ModelFileError
from credo.data.table.preparation import PreparedTable, TablePreparation
from credo.data.table.table import Table, as_table
from credo.data.table.training_range import TrainingRange

__all__ = [
    "TableInput",
    "TablePrediction",
    "named_inputs",
    "prepared_rows",
    "require_whole_text",
    "trial_rows",
]

N_TRIED = 9
"""Rows on which a loaded model is tried."""


class TablePrediction(NamedTuple):
    """What is predicted of each row, in its order, and notes in plain sentences.

    Columns that number the rows come first, so that predictions can be joined.
    """

    frame: pd.DataFrame
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class TableInput:
    """The rows of a table made ready by the rules of training.

    Attributes
    ----------
    table, prepared
        The table, and its design matrix.
    preparation, training_range
        The rules, and where the rows learned from were.
    """

    table: Table
    prepared: PreparedTable
    preparation: TablePreparation
    training_range: TrainingRange

    @classmethod
    def of(
        cls, table: Any, preparation: TablePreparation, training_range: TrainingRange
    ) -> Self:
        """Return the input of a `Table`, a path or a data frame.

        Raises
        ------
        TableError
            If columns of training are absent, or values no model can extrapolate to.
        """
        checked = as_table(table, text_columns=preparation.text_columns)
        prepared = preparation.prepare(checked)
        training_range.require_near(prepared, checked.name)
        return cls(checked, prepared, preparation, training_range)

    def notes(self, doubt: str) -> tuple[str, ...]:
        """Return sentences on gaps, new levels and rows outside the training range.

        Parameters
        ----------
        doubt
            What states the doubt of a prediction, and may be too small: "interval".
        """
        return self.prepared.notes + self.training_range.notes(self.prepared, doubt)

    def frame(self, columns: dict[str, Any]) -> pd.DataFrame:
        """Return predictions by name, after the columns that number the rows."""
        present = set(self.table.columns) - set(columns)
        numbering = {
            column.name: self.table.column(column.name).text
            for column in self.preparation.left_out
            if column.kind == "id" and column.name in present
        }
        return pd.DataFrame(numbering | columns)


def prepared_rows(
    table: Any, preparation: TablePreparation, training_range: TrainingRange
) -> PreparedTable:
    """Return the design matrix of what `TableInput.of` takes, or of rows that have one."""
    if isinstance(table, PreparedTable):
        return table
    return TableInput.of(table, preparation, training_range).prepared


def require_whole_text(words: Iterable[str]) -> None:
    """Raise a `ModelFileError` for text with half a character, which no table can hold."""
    half = [word for word in words if any("\ud800" <= letter <= "\udfff" for letter in word)]
    if half:
        raise ModelFileError(
            f"must name columns and classes by whole characters; found {half[0][:40]!r}"
        )


def trial_rows(preparation: TablePreparation, training_range: TrainingRange) -> PreparedTable:
    """Return a row with nothing in it, and rows across the training range."""
    require_whole_text((preparation.target, *preparation.inputs, *preparation.names))
    nothing = pd.DataFrame({name: [None] for name in preparation.inputs}, dtype=object)
    empty = preparation.prepare(nothing)
    along = np.linspace(0, 1, N_TRIED)[:, None]
    span = training_range.highest - training_range.lowest
    training_range.notes(empty, "interval")
    across = training_range.lowest + along * span
    is_binary = np.isin(preparation.names, preparation.binary_names)
    across[:, is_binary] = np.round(across[:, is_binary])
    return empty._replace(X=np.concatenate([empty.X, across]))


def named_inputs(prepared: PreparedTable) -> pd.DataFrame:
    """Return a design matrix as a frame, so that models know the names of its columns."""
    return pd.DataFrame(prepared.X, columns=pd.Index(prepared.names, dtype=object))
