"""Where the training rows were, and which other rows are somewhere else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Self

import numpy as np
from numpy.typing import NDArray

from credo.data.error import TableError
from credo.data.table.preparation import PreparedTable
from credo.numerics.array import Array
from credo.numerics.form import Form

__all__ = ["MAX_SPANS", "TrainingRange"]

MAX_SPANS = 1e20
"""How many times its training range a value may lie outside of it."""

N_NAMED = 3
"""Columns that a sentence names, those first in which most rows lie outside."""


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
