"""Rows to learn from, and rows to judge by: what was predicted of these, and what came true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from credo.data.table.preparation import (
    MissingCells,
    PreparedTable,
    TablePreparation,
    TableSchema,
)
from credo.data.table.table_input import TrainingRange
from credo.distributions.distribution import Distribution
from credo.distributions.estimate import Estimate, sample_mean

__all__ = ["HeldOut", "Part", "Split", "held_out_rows"]

P = TypeVar("P", bound=Distribution)


@dataclass(frozen=True, eq=False)
class Part:
    """Rows ready for models: inputs, outcomes, and places in the table."""

    prepared: PreparedTable
    y: NDArray[Any]
    rows: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Split:
    """Training and test rows, the rules that the training rows gave, and gaps in the test."""

    schema: TableSchema
    preparation: TablePreparation
    train: Part
    test: Part
    missing: MissingCells


@dataclass(frozen=True, eq=False)
class HeldOut(Generic[P]):
    """The test rows, and what the mixture of the training fits said about them.

    Attributes
    ----------
    y
        What came true, shape (n_test,).
    predictive
        What was predicted.
    is_outside
        Whether each row lies outside the range of the training rows.
    n_repeated
        Number of rows whose inputs are those of a training row.
    gain
        Mean log score above that of the simplest candidate, with its standard error.
    notes
        Plain sentences on the rows outside.
    has_gap
        Whether each row has an input that is missing and averaged over.
    gap_columns
        Columns of the table in which that happened.
    """

    y: NDArray[Any]
    predictive: P
    is_outside: NDArray[np.bool_]
    n_repeated: int
    gain: Estimate
    notes: tuple[str, ...]
    has_gap: NDArray[np.bool_]
    gap_columns: tuple[str, ...]


def held_out_rows(
    predictive: P, alone: Distribution, split: Split, doubt: str = "interval"
) -> HeldOut[P]:
    """Return the test rows of a split.

    Parameters
    ----------
    predictive
        What the mixture of the candidates says of them.
    alone
        What the simplest candidate says.
    doubt
        What states the doubt of a prediction: "interval", or "probabilities".
    """
    test = split.test
    seen = TrainingRange.of(split.train.prepared)
    known = {row.tobytes() for row in split.train.prepared.X}
    # Both may think an outcome impossible; then neither has gained.
    with np.errstate(invalid="ignore"):
        gain = sample_mean(predictive.log_prob(test.y) - alone.log_prob(test.y))
    return HeldOut(
        y=test.y,
        predictive=predictive,
        is_outside=np.asarray(seen.is_outside(test.prepared).any(axis=1)),
        n_repeated=sum(row.tobytes() in known for row in test.prepared.X),
        gain=gain,
        notes=seen.notes(test.prepared, doubt),
        has_gap=split.missing.rows,
        gap_columns=split.missing.columns,
    )
