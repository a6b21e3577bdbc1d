"""Which classes were taken for which: the table behind every rate of a classifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from pandas.api import types

from credo.distributions.parameter import non_negative
from credo.numerics.array import Array, as_float
from credo.numerics.quotation import quote
from credo.validation.argument import label_pair, old_arguments
from credo.validation.outcome import MISSING, class_codes, coded, row_weights
from credo.validation.proportion import IntervalMethod, share_interval

__all__ = ["Confusion", "OneAgainstRest"]

_NUMBERS = {"integer", "floating", "mixed-integer-float"}


def _never(args: tuple[Any, ...], named: Mapping[str, Any]) -> bool:
    """Return False: the order by place is the same as ever."""
    return False


class OneAgainstRest(NamedTuple):
    """Weight of rows by whether they are of a class (true) and called so (positive)."""

    true_positive: float
    false_positive: float
    true_negative: float
    false_negative: float


@dataclass(frozen=True, eq=False)
class Confusion:
    """Counts of rows by true class (down) and predicted class (across).

    Attributes
    ----------
    labels
        Labels of the classes, shape (K,).
    table
        Weight of the rows, shape (K, K); their number if no weights were given. Floats, which
        no product overflows.
    squares
        Sum of their squared weights; equal to ``table`` without weights. ``table**2 / squares``
        is how many equally weighted rows would be as sure.

    Examples
    --------
    >>> confusion = Confusion.of(["yes", "no", "no", "yes"], ["yes", "no", "yes", "yes"])
    >>> confusion.frame()
    predicted   no  yes
    true
    no         1.0  1.0
    yes        0.0  2.0
    """

    labels: NDArray[Any]
    table: Array
    squares: Array

    @classmethod
    @old_arguments(_never, "", y_predicted="y_pred", weight="sample_weight")
    def of(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        labels: Sequence[Any] | NDArray[Any] | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Confusion:
        """Count rows; those whose true class is missing (NaN, None) are left out.

        Parameters
        ----------
        y_true, y_pred
            The class that came true and the class that was predicted in each row.
        labels
            All classes, in order; those that occur on either side if None.
        sample_weight
            How much each row counts; 1 if None.
        """
        came, said = _alike(*label_pair(y_true, y_pred))
        names = np.asarray(labels) if labels is not None else _union(came, said)
        true, predicted = class_codes(came, names), class_codes(said, names)
        _require_pairs(true, predicted)
        return cls.of_codes(true, predicted, names, sample_weight)

    @classmethod
    def of_codes(
        cls,
        true: NDArray[np.intp],
        predicted: NDArray[np.intp],
        labels: NDArray[Any],
        weight: ArrayLike | None = None,
    ) -> Confusion:
        """Count rows by places among ``labels``; rows with a true code below 0 are left out."""
        known = true != MISSING
        cells = true[known] * len(labels) + predicted[known]
        shape = (len(labels), len(labels))
        rows = row_weights(weight, len(known))
        heavy = rows[known]
        sums = [np.bincount(cells, w, len(labels) ** 2) for w in (heavy, heavy**2)]
        return cls(labels, as_float(sums[0].reshape(shape)), as_float(sums[1].reshape(shape)))

    @classmethod
    def of_counts(cls, table: ArrayLike, labels: Sequence[Any] | None = None) -> Confusion:
        """Return a table of counts, true classes down and predicted ones across.

        Examples
        --------
        >>> Confusion.of_counts([[930, 10], [20, 40]], ["no", "yes"]).n
        1000.0
        """
        counts = non_negative("table", table, "Pass counts of rows.")
        names = np.arange(len(counts)) if labels is None else np.asarray(labels)
        if counts.shape != (len(names), len(names)) or len(names) < 2:
            raise ValueError(
                "table must have a row and a column for each of at least 2 labels; found shape "
                f"{counts.shape} for {len(names)} labels. Pass true classes down, predicted "
                "ones across."
            )
        return cls(names, counts, counts)

    @property
    def n(self) -> float:
        """Weight of all rows."""
        return float(self.table.sum())

    def one_against_rest(self, label: Any) -> OneAgainstRest:
        """Return true and false positives and negatives of one class."""
        k = self.place(label)
        hit, called, true = self.table[k, k], self.table[:, k].sum(), self.table[k].sum()
        rest = np.delete(np.delete(self.table, k, axis=0), k, axis=1).sum()
        return OneAgainstRest(float(hit), float(called - hit), float(rest), float(true - hit))

    def place(self, label: Any) -> int:
        """Return the position of a class in the table."""
        return int(class_codes([label], self.labels)[0])

    def shares(self, coverage: float = 0.9, method: IntervalMethod = "exact") -> Array:
        """Return each cell's share of its true class with its interval, shape (K, K, 3).

        The last axis is share, low, high. A class without rows has the share NaN.
        """
        total = np.broadcast_to(self.table.sum(axis=1, keepdims=True), self.table.shape)
        squares = np.broadcast_to(self.squares.sum(axis=1, keepdims=True), self.table.shape)
        return _share_with_interval(self.table, total, squares, coverage, method)

    def share_of(
        self,
        hits: NDArray[np.bool_],
        among: NDArray[np.bool_],
        coverage: float,
        method: IntervalMethod = "exact",
    ) -> Array:
        """Return the share of some cells among more cells, and its interval, shape (3,).

        Parameters
        ----------
        hits, among
            Which cells count, each of shape (K, K).
        """
        sums = self.table[hits & among].sum(), self.table[among].sum()
        return _share_with_interval(*sums, self.squares[among].sum(), coverage, method)

    def frame(self) -> pd.DataFrame:
        """Return the counts as a table with the labels at its sides."""
        index = pd.Index(self.labels, name="true")
        return pd.DataFrame(
            self.table, index=index, columns=pd.Index(self.labels, name="predicted")
        )


def _share_with_interval(
    hits: Array, total: Array, squares: Array, coverage: float, method: IntervalMethod
) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(total > 0, hits / total, np.nan)
        # Kish's effective number of rows; their number if all weigh the same.
        trials = np.where(total > 0, total**2 / squares, 0.0)
    ends = share_interval(np.nan_to_num(share) * trials, trials, coverage, method)
    return np.concatenate([share[..., None], ends], axis=-1)


def _alike(came: NDArray[Any], said: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return classes of both sides; true and false are 1 and 0 where the others are numbers."""
    sides = came, said
    kinds = [types.infer_dtype(side, skipna=True) for side in sides]
    if "boolean" not in kinds or not _NUMBERS.intersection(kinds):
        return sides
    came, said = (
        _ones(side) if kind == "boolean" else side
        for side, kind in zip(sides, kinds, strict=True)
    )
    return came, said


def _ones(truth: NDArray[Any]) -> NDArray[Any]:
    """Return 1 for true and 0 for false; what is missing stays as it is."""
    if truth.dtype != object:
        return truth.astype(int)
    return np.array([one if pd.isna(one) else int(one) for one in truth], dtype=object)


def _union(y_true: NDArray[Any], y_pred: NDArray[Any]) -> NDArray[Any]:
    names = set(coded(y_true)[0].tolist()) | set(coded(y_pred)[0].tolist())
    if len({isinstance(name, str) for name in names}) > 1:
        raise ValueError(
            "y_true and y_pred must write classes alike; found text and numbers, "
            f"{quote(sorted(map(str, names))[:8])}. Pass labels as they were at fit."
        )
    return np.array(sorted(names))


def _require_pairs(true: NDArray[np.intp], predicted: NDArray[np.intp]) -> None:
    if len(true) != len(predicted) or (predicted == MISSING).any() or not len(true):
        raise ValueError(
            "y_true and y_pred must pair at least one row, each with a prediction; found "
            f"{len(true)} and {len(predicted)} rows, {(predicted == MISSING).sum()} without a "
            "prediction. Pass the answers for the same rows, in the same order."
        )
