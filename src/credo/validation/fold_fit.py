"""Rows to learn from, and fits without one fold, from statistics where these add.

A model whose statistics add reads the data once: the statistics of every fold are found in one
pass, and the fit without a fold is the fit to the sum of the others. A basis is placed once, on
all inputs; it never sees an outcome.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from itertools import accumulate
from operator import add
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from credo.families.rows import group_rows
from credo.numerics.array import Array, as_float
from credo.validation.outcome import Outcome
from credo.validation.splits import fold_labels, stratified_fold_labels

__all__ = [
    "AdditiveFits",
    "TrainingRows",
    "fold_codes",
    "fold_members",
    "fold_models",
    "refit_folds",
    "sums_of_others",
]

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows that models learn from.

    Attributes
    ----------
    X
        Inputs, of any kind that rows can be taken of.
    outcome
        What came true in each row.
    weight
        How much each row counts, shape (n,).
    is_weighted
        Whether models get the weights.
    """

    X: Any
    outcome: Outcome
    weight: Array
    is_weighted: bool

    @classmethod
    def of(cls, X: Any, outcome: Outcome, sample_weight: ArrayLike | None) -> TrainingRows:
        """Return rows whose weights may be None, or one number for all."""
        weight = as_float(1.0 if sample_weight is None else sample_weight)
        return cls(
            X, outcome, np.broadcast_to(weight, (len(outcome),)), sample_weight is not None
        )

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.outcome)

    @property
    def given_weight(self) -> Array | None:
        """The weights, if models get them."""
        return self.weight if self.is_weighted else None

    def fit(self, model: Any) -> Any:
        """Return a clone fitted to all rows."""
        weights = {"sample_weight": self.weight} if self.is_weighted else {}
        return clone(model).fit(self.X, self.outcome.y, **weights)

    def take(self, rows: Rows) -> TrainingRows:
        """Return some of the rows."""
        return TrainingRows(
            _safe_indexing(self.X, rows),
            self.outcome.take(rows),
            self.weight[rows],
            self.is_weighted,
        )


@dataclass(frozen=True, eq=False)
class AdditiveFits:
    """Fits of a model whose statistics add: to all rows, and without each fold.

    Attributes
    ----------
    model
        With its basis placed on the inputs of all rows.
    parts
        Statistics of each fold.
    others
        Statistics of all rows but those of each fold.
    """

    model: Any
    parts: Sequence[Any]
    others: Sequence[Any]

    @classmethod
    def of(
        cls,
        estimator: Any,
        X: Any,
        y: NDArray[Any],
        fold: Rows,
        sample_weight: ArrayLike | None = None,
    ) -> AdditiveFits:
        """Return the fits of an estimator, from one pass over rows in folds 0, 1, ..."""
        model = clone(estimator)
        parts = model.summarize_groups(X, y, fold, fold.max() + 1, sample_weight)
        return cls(model, parts, sums_of_others(parts))

    def whole(self) -> Any:
        """Return the fit to all rows."""
        return copy(self.model).fit_statistics(self.others[-1] + self.parts[-1])

    def without(self, fold: int) -> Any:
        """Return the fit to all rows but those of a fold."""
        return copy(self.model).fit_statistics(self.others[fold])


def refit_folds(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    labels: ArrayLike,
    sample_weight: ArrayLike | None = None,
) -> list[Any]:
    """Return one fitted model for each fold, in order, that never saw the fold's outcomes.

    From statistics where they add (``summarize_groups`` and ``fit_statistics``), else by
    fitting a clone to the other folds.
    """
    outcome = Outcome.of(estimator, y)
    fold = fold_codes(outcome, 0, None, labels)
    return fold_models(estimator, TrainingRows.of(X, outcome, sample_weight), fold)


def fold_models(estimator: Any, rows: TrainingRows, fold: Rows) -> list[Any]:
    """Return the model fitted without each fold, folds coded 0, 1, ..."""
    if hasattr(estimator, "summarize_groups") and hasattr(estimator, "fit_statistics"):
        fits = AdditiveFits.of(estimator, rows.X, rows.outcome.y, fold, rows.given_weight)
        return [fits.without(i) for i in range(fold.max() + 1)]
    return [rows.take(np.flatnonzero(fold != i)).fit(estimator) for i in range(fold.max() + 1)]


def fold_codes(
    outcome: Outcome, n_folds: int, rng: Generator | None, labels: ArrayLike | None
) -> Rows:
    """Return the fold of each row, coded 0, 1, ..., from labels or at random."""
    n = len(outcome.y)
    if labels is None:
        draw = np.random.default_rng(0) if rng is None else rng
        if outcome.classes is not None:
            return stratified_fold_labels(outcome.y, n_folds, draw)
        return fold_labels(n, n_folds, draw)
    names, codes = np.unique(np.asarray(labels), return_inverse=True)
    if codes.shape != (n,) or len(names) < 2:
        raise ValueError(
            f"labels must give each of the {n} rows one of at least 2 folds; found shape "
            f"{codes.shape} with {len(names)} folds. Use fold_labels to make them."
        )
    return codes.astype(np.intp)


def fold_members(fold: Rows) -> list[Rows]:
    """Return the rows of each fold, in rising order."""
    return group_rows(fold, int(fold.max()) + 1)


def sums_of_others(parts: Sequence[Any]) -> list[Any]:
    """Return, for each part, the sum of all others.

    From sums of those before and those after: ``total - part`` would lose what an outlier in
    the part has drowned.
    """
    before = list(accumulate(parts[:-1], add))
    after = list(accumulate(reversed(parts[1:]), add))[::-1]
    middle = [a + b for a, b in zip(before[:-1], after[1:], strict=True)]
    return [after[0], *middle, before[-1]]
