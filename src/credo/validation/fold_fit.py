"""Fits without one fold, from statistics alone where a model's statistics add.

Such a model reads the data once: the statistics of every fold are found in one pass, and the
fit without a fold is the fit to the sum of the others. A basis is placed once, on all
inputs; it never sees an outcome.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from itertools import accumulate
from operator import add
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from credo.families.rows import group_rows
from credo.numerics.array import as_float
from credo.validation.outcome import Outcome
from credo.validation.splits import fold_labels, stratified_fold_labels

__all__ = ["fold_codes", "fold_members", "fold_models", "refit_folds", "sums_of_others"]

Rows = NDArray[np.intp]


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
    return fold_models(
        estimator, X, outcome, fold_codes(outcome, 0, None, labels), sample_weight
    )


def fold_models(
    estimator: Any, X: Any, outcome: Outcome, fold: Rows, sample_weight: ArrayLike | None
) -> list[Any]:
    """Return the model fitted without each fold, folds coded 0, 1, ..."""
    if hasattr(estimator, "summarize_groups") and hasattr(estimator, "fit_statistics"):
        model = clone(estimator)
        parts = model.summarize_groups(X, outcome.y, fold, fold.max() + 1, sample_weight)
        return [copy(model).fit_statistics(others) for others in sums_of_others(parts)]
    return [
        _fitted(estimator, X, outcome.y, np.flatnonzero(fold != i), sample_weight)
        for i in range(fold.max() + 1)
    ]


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


def _fitted(
    estimator: Any, X: Any, y: NDArray[Any], rows: Rows, sample_weight: ArrayLike | None
) -> Any:
    weight = {}
    if sample_weight is not None:
        weight = {"sample_weight": np.broadcast_to(as_float(sample_weight), len(y))[rows]}
    return clone(estimator).fit(_safe_indexing(X, rows), y[rows], **weight)
