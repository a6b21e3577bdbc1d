"""One model in a comparison: its held-out answers, its evidence and its cost."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from credo.evaluation.cross_validation import cross_validate
from credo.evaluation.fold_fit import fold_members, refit_folds
from credo.evaluation.held_out import has_predictive
from credo.inference.model_evidence import Evidence
from credo.numerics.array import Array

__all__ = ["Trial", "trial"]

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Trial:
    """What came of one model.

    Attributes
    ----------
    name
        Of the model.
    log_score
        Of each held-out row, shape (n,); NaN where the model gives no probabilities.
    predicted
        What it would have answered in each row, a class or a number.
    evidence
        Of the fit to all rows.
    seconds
        That fitting all rows took.
    error
        Why the model could not be fitted; empty if it could.
    """

    name: str
    log_score: Array
    predicted: NDArray[Any]
    evidence: Evidence
    seconds: float
    error: str = ""


def trial(name: str, model: Any, X: Any, y: NDArray[Any], fold: Rows) -> Trial:
    """Return held-out scores, evidence and time of a model, or why it failed."""
    try:
        log_score, predicted = _held_out(model, X, y, fold)
        start = time.perf_counter()
        fitted = clone(model).fit(X, y)
        seconds = time.perf_counter() - start
        evidence = Evidence.of_model(fitted)
    except Exception as error:
        nothing = np.empty(0)
        reason = f"{type(error).__name__}: {error}"
        return Trial(name, nothing, nothing, Evidence(np.nan, "none", "", ()), 0.0, reason)
    return Trial(name, log_score, predicted, evidence, seconds)


def _held_out(model: Any, X: Any, y: NDArray[Any], fold: Rows) -> tuple[Array, NDArray[Any]]:
    """Return log score and answer of each held-out row."""
    if has_predictive(model) or hasattr(model, "classes_") or not _is_regressor(model):
        found = cross_validate(model, X, y, labels=fold)
        return found.log_score, found.predicted
    predicted = np.empty(y.shape)
    models = refit_folds(model, X, y, fold)
    for part, rows in zip(models, fold_members(fold), strict=True):
        predicted[rows] = part.predict(_safe_indexing(X, rows))
    return np.full(len(y), np.nan), predicted


def _is_regressor(model: Any) -> bool:
    return getattr(model.__sklearn_tags__(), "estimator_type", None) == "regressor"
