"""What models say about rows they have not seen, for models that learn from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing

from credo.models.ensemble import class_probability
from credo.models.predictive import predict_dist
from credo.numerics.array import Array, as_float

__all__ = ["HeldOut", "dealt_folds", "fitted", "folds_of", "held_out"]

Rows = NDArray[np.intp]
NEVER = -1


def folds_of(
    cv: Any, X: Any, y: NDArray[Any], weight: Array, is_classifier: bool, rng: Generator
) -> Rows:
    """Return the fold in which each row is held out, -1 for rows that never are.

    Parameters
    ----------
    cv
        A number of folds, dealt as `dealt_folds` does; or a splitter of scikit-learn, or
        pairs of rows to learn from and rows to hold out, each row at most once.
    weight
        Weight of each row; rows without are dealt to no fold.
    """
    fold = np.full(len(y), NEVER, dtype=np.intp)
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        rows = np.flatnonzero(weight > 0)
        part = _safe_indexing(X, rows)
        fold[rows] = dealt_folds(part, y[rows], int(cv), is_classifier, rng)
        return fold
    for i, (_, test) in enumerate(check_cv(cv, y, classifier=is_classifier).split(X, y)):
        if (fold[test] != NEVER).any():
            raise ValueError(
                "cv must hold each row out at most once; found a row in two folds. Use a "
                "partition of the rows, such as KFold, without repeats."
            )
        fold[test] = i
    return fold


def dealt_folds(
    X: Any, y: NDArray[Any], n_folds: int, is_classifier: bool, rng: Generator
) -> Rows:
    """Return folds dealt to the rows in the order of their outcomes.

    Each fold gets one of every ``n_folds`` neighbors in that order, at random: folds have
    nearly equal distributions of the outcome (for classes, stratified). Neither the order of
    the rows nor their units matter, and copies of a row stay together, so that none is
    predicted from its twin.
    """
    _require_rows(y, n_folds, is_classifier)
    outcome = list(np.asarray(y).reshape(len(y), -1).T)
    keys = [_codes(column) for column in [*outcome, *_columns(X)]]
    order = np.lexsort(keys[::-1])
    ranked = np.column_stack(keys)[order]
    is_new = np.append(True, (ranked[1:] != ranked[:-1]).any(axis=1))
    if sparse.issparse(X):
        is_new[:] = True
    distinct = np.cumsum(is_new) - 1
    n_blocks = distinct[-1] // n_folds + 1
    deal = rng.permuted(np.tile(np.arange(n_folds), (n_blocks, 1)), axis=1).ravel()
    fold = np.empty(len(y), dtype=np.intp)
    fold[order] = deal[distinct]
    return fold


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What a model said about each row while it had not seen the row's fold.

    Attributes
    ----------
    log_score
        Log probability or density of what came true, shape (n,); NaN if never held out.
    prediction
        Class probabilities, shape (n, K), or predictive means, of the shape of y.
    """

    log_score: Array
    prediction: Array


def held_out(
    model: Any,
    X: Any,
    y: NDArray[Any],
    fold: Rows,
    weight: Array | None = None,
    classes: NDArray[Any] | None = None,
) -> HeldOut:
    """Return log score and prediction of each row under the model fitted without its fold.

    Parameters
    ----------
    y
        Outcomes, or codes of ``classes``.
    classes
        Labels by code; None for regression.
    """
    shape = y.shape if classes is None else (len(y), len(classes))
    log_score, prediction = np.full(len(y), np.nan), np.full(shape, np.nan)
    for i in np.unique(fold[fold != NEVER]):
        train, test = np.flatnonzero(fold != i), np.flatnonzero(fold == i)
        target = y[train] if classes is None else classes[y[train]]
        part = fitted(
            model, _safe_indexing(X, train), target, None if weight is None else weight[train]
        )
        inputs = _safe_indexing(X, test)
        if classes is None:
            predictive = predict_dist(part, inputs)
            prediction[test] = predictive.mean()
            found = predictive.log_prob(as_float(y[test])).reshape(len(test), -1).sum(axis=1)
        else:
            prediction[test] = class_probability(part, inputs, classes)
            with np.errstate(divide="ignore"):
                found = np.log(prediction[test, y[test]])
        log_score[test] = found
    return HeldOut(log_score, prediction)


def fitted(model: Any, X: Any, y: Any, weight: ArrayLike | None = None) -> Any:
    """Return a fitted clone; rows count equally without ``weight``."""
    return clone(model).fit(X, y, **({} if weight is None else {"sample_weight": weight}))


def _require_rows(y: NDArray[Any], n_folds: int, is_classifier: bool) -> None:
    if not 2 <= n_folds <= len(y):
        raise ValueError(
            f"cv must be from 2 to the number of rows; found cv={n_folds} for n_samples="
            f"{len(y)} rows. Use fewer folds or more rows."
        )
    if is_classifier:
        labels, counts = np.unique(y, return_counts=True)
        if counts.min() < n_folds:
            raise ValueError(
                "cv must not exceed the number of rows in the rarest class, so that every "
                f"fold can be judged on it; found cv={n_folds} and {counts.min()} rows of "
                f"class {labels[counts.argmin()]!r} (of {len(labels)} classes). Use fewer "
                "folds, add rows, or merge rare classes."
            )


def _columns(X: Any) -> list[NDArray[Any]]:
    if sparse.issparse(X):
        return []
    table = np.asarray(X)
    return list(table.reshape(len(table), -1).T)


def _codes(column: NDArray[Any]) -> Rows:
    """Return the rank of each value among the distinct ones; missing values are one value."""
    try:
        return pd.factorize(column, sort=True)[0]
    except TypeError:
        return pd.factorize(column.astype(str), sort=True)[0]
