"""Rows of a table on their way into a model that takes tables, and what it predicts of them.

`TrainingRange` is where the training rows were, and tells which other rows are somewhere else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from credo.data.error import ModelFileError, TableError
from credo.data.table.preparation import PreparedTable, TablePreparation
from credo.data.table.table import Table
from credo.numerics.array import Array
from credo.numerics.form import Form

__all__ = [
    "MAX_SPANS",
    "TableInput",
    "TablePrediction",
    "TrainingRange",
    "prepared_rows",
    "require_whole_text",
    "trial_rows",
]

MAX_SPANS = 1e20
"""How many times its training range a value may lie outside of it."""

N_NAMED = 3
"""Columns that a sentence names, those first in which most rows lie outside."""

N_TRIED = 9
"""Rows on which a loaded model is tried."""


@dataclass(frozen=True, eq=False)
class TrainingRange:
    """The lowest and the highest value of each column of the design matrix in training.

    Attributes
    ----------
    names
        Names of the columns.
    lowest, highest
        Their ranges, shape (n_columns,).

    Examples
    --------
    >>> train = PreparedTable(np.array([[1.0, 0.0], [2.0, 5.0]]), ("age", "dose"), ())
    >>> new = PreparedTable(np.array([[1.5, 2.0], [3.0, 6.0]]), ("age", "dose"), ())
    >>> TrainingRange.of(train).notes(new)
    ("1 of 2 rows lies outside the range of the training rows (by 'age' 1, 'dose' 1): its
    prediction is an extrapolation, which the interval may understate.",)
    """

    names: Annotated[tuple[str, ...], Form("c")]
    lowest: Annotated[Array, Form("c")]
    highest: Annotated[Array, Form("c", above="lowest")]

    @classmethod
    def of(cls, prepared: PreparedTable) -> Self:
        """Return the range of training rows."""
        return cls(prepared.names, np.nanmin(prepared.X, axis=0), np.nanmax(prepared.X, axis=0))

    def is_outside(self, prepared: PreparedTable) -> NDArray[np.bool_]:
        """Return whether each entry is outside the range of its column, same shape as ``X``."""
        return np.asarray((self.lowest > prepared.X) | (self.highest < prepared.X))

    def require_near(self, prepared: PreparedTable, source: str) -> None:
        """Raise a `TableError` for a value so far outside that powers of it overflow."""
        span = self.highest - self.lowest
        is_far = np.abs(prepared.X - self.lowest) > MAX_SPANS * np.where(span > 0, span, np.inf)
        if is_far.any():
            row, column = np.argwhere(is_far)[0]
            ends = f"{self.lowest[column]:g} to {self.highest[column]:g}"
            raise TableError(
                f"{self.names[column]!r} of {source} must lie within {MAX_SPANS:g} times the "
                f"range of the training rows, {ends}; found {prepared.X[row, column]:g} in row "
                f"{row + 1}; correct it, or leave it empty if it is missing."
            )

    def notes(self, prepared: PreparedTable, doubt: str = "interval") -> tuple[str, ...]:
        """Return a sentence that counts the rows outside, if there are any.

        Parameters
        ----------
        doubt
            What states the doubt of a prediction: "interval", or "probabilities".
        """
        is_outside = self.is_outside(prepared)
        n_rows = int(is_outside.any(axis=1).sum())
        if n_rows == 0:
            return ()
        counts = is_outside.sum(axis=0)
        worst = [i for i in np.argsort(-counts, kind="stable")[:N_NAMED] if counts[i]]
        columns = ", ".join(f"{self.names[i]!r} {counts[i]:,}" for i in worst)
        n_others = int((counts > 0).sum()) - len(worst)
        if n_others:
            columns += f", and {n_others:,} other column{'s' * (n_others > 1)}"
        verb, whose = ("lies", "its prediction is an extrapolation")
        if n_rows > 1:
            verb, whose = ("lie", "their predictions are extrapolations")
        return (
            f"{n_rows:,} of {len(is_outside):,} rows {verb} outside the range of the training "
            f"rows (by {columns}): {whose}, which the {doubt} may understate.",
        )


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
        checked = preparation.read(table)
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
        """Return predictions by name, after the columns that number the rows.

        These and the index are as in a data frame that was given; those of a file are text.
        """
        present = set(self.table.columns) - set(columns)
        numbering = {
            column.name: self._numbering(column.name)
            for column in self.preparation.left_out
            if column.kind == "id" and column.name in present
        }
        return pd.DataFrame(numbering | columns, index=self.table.index)

    def _numbering(self, name: str) -> Any:
        is_file = self.table.is_file
        return self.table.as_written(name).text if is_file else self.table.as_given(name).array


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
