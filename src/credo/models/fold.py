"""What models say about rows they have not seen, for models that learn from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator, RandomState, default_rng
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_sample_weight

from credo.models.ensemble import class_probability
from credo.models.label import class_labels
from credo.models.predictive import predict_dist
from credo.numerics.array import Array, as_float

__all__ = ["HeldOut", "TrainingRows", "dealt_folds", "fold_generator", "folds_of", "held_out"]

Rows = NDArray[np.intp]
NEVER = -1


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows to learn from, checked once.

    Attributes
    ----------
    X
        Inputs, of any kind that rows can be taken of.
    y
        Numbers, or the codes of ``classes``.
    classes
        Labels by code; None for regression.
    weight
        Weight of each row.
    is_weighted
        Whether models are told of the weights.
    """

    X: Any
    y: NDArray[Any]
    classes: NDArray[Any] | None
    weight: Array
    is_weighted: bool

    @classmethod
    def of(
        cls, X: Any, y: ArrayLike, is_classifier: bool, sample_weight: ArrayLike | None
    ) -> TrainingRows:
        """Return checked rows; inputs are left to the models to check."""
        is_weighted = sample_weight is not None
        weight = as_float(_check_sample_weight(sample_weight, X, ensure_non_negative=True))
        if not is_classifier:
            return cls(X, as_float(y), None, weight, is_weighted)
        classes, codes = class_labels(y, sample_weight)
        return cls(X, codes, classes, weight, is_weighted)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.y)

    def fit(self, model: Any) -> Any:
        """Return a clone fitted to all rows."""
        target = self.y if self.classes is None else self.classes[self.y]
        told = {"sample_weight": self.weight} if self.is_weighted else {}
        return clone(model).fit(self.X, target, **told)

    def take(self, rows: Rows) -> TrainingRows:
        """Return some of the rows."""
        return TrainingRows(
            _safe_indexing(self.X, rows),
            self.y[rows],
            self.classes,
            self.weight[rows],
            self.is_weighted,
        )


def fold_generator(random_state: Any) -> Generator:
    """Return what draws folds: the same ones in every fit if ``random_state`` is None."""
    if isinstance(random_state, RandomState):
        return default_rng(random_state.randint(2**31))
    return default_rng(0 if random_state is None else random_state)


def folds_of(cv: Any, rows: TrainingRows, rng: Generator) -> Rows:
    """Return the fold in which each row is held out, -1 for rows that never are.

    Parameters
    ----------
    cv
        A number of folds, dealt as `dealt_folds` does to rows that have weight; or a splitter
        of scikit-learn, or pairs of rows to learn from and rows to hold out, each row at most
        once.
    """
    fold = np.full(len(rows), NEVER, dtype=np.intp)
    is_classifier = rows.classes is not None
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        heavy = np.flatnonzero(rows.weight > 0)
        part = rows.take(heavy)
        fold[heavy] = dealt_folds(part.X, part.y, int(cv), is_classifier, rng)
        return fold
    splitter = check_cv(cv, rows.y, classifier=is_classifier)
    for i, (_, test) in enumerate(splitter.split(rows.X, rows.y)):
        if (fold[test] != NEVER).any():
            raise ValueError(
                "cv must hold each row out at most once; found a row in two folds. Use a "
                "partition of the rows, such as KFold, without repeats."
            )
        fold[test] = i
    # Rows without weight are neither learned from nor judged by.
    return np.where(rows.weight > 0, fold, NEVER)


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


def held_out(model: Any, rows: TrainingRows, fold: Rows) -> HeldOut:
    """Return log score and prediction of each row under the model fitted without its fold."""
    shape = rows.y.shape if rows.classes is None else (len(rows), len(rows.classes))
    log_score, prediction = np.full(len(rows), np.nan), np.full(shape, np.nan)
    is_heavy = rows.weight > 0
    for i in np.unique(fold[fold != NEVER]):
        part = rows.take(np.flatnonzero((fold != i) & is_heavy)).fit(model)
        test = np.flatnonzero(fold == i)
        prediction[test], log_score[test] = _told(part, rows.take(test))
    return HeldOut(log_score, prediction)


def _told(model: Any, rows: TrainingRows) -> tuple[Array, Array]:
    """Return what a fitted model says of rows, and the log score of what came true."""
    if rows.classes is None:
        predictive = predict_dist(model, rows.X)
        found = predictive.log_prob(as_float(rows.y))
        return predictive.mean(), found.reshape(len(rows), -1).sum(axis=1)
    probability = class_probability(model, rows.X, rows.classes)
    with np.errstate(divide="ignore"):
        return probability, np.log(probability[np.arange(len(rows)), rows.y])


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
