"""Cross-validation by proper scores, from statistics alone where a model's statistics add.

Such a model reads the data once: the statistics of every fold are found in one pass, and the
fit without a fold is the fit to the sum of the others. A basis is placed once, on all
inputs; it never sees an outcome.
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
from scipy import special
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from credo.distributions.estimate import Estimate
from credo.evaluation.scores import log_score
from credo.evaluation.splits import fold_labels
from credo.inference.model_evidence import model_posterior
from credo.numerics.array import Array, as_float

__all__ = ["CrossValidation", "cross_validate", "refit_folds"]

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """What a model said about each row while it had not seen the row's fold.

    Attributes
    ----------
    log_score
        Log predictive density of each row, summed over outputs, shape (n_samples,); higher
        is better.
    mean
        Predictive mean of each row, of the shape of y.
    fold
        Which fold each row was in, shape (n_samples,).
    score
        Mean row log score with its standard error, rows weighted by their sample weight.
        Folds share training rows, so the error is somewhat optimistic.
    log_evidence
        Log evidence of the model fitted without each fold, shape (n_folds,); NaN if it has
        none.
    """

    log_score: Array
    mean: Array
    fold: Rows
    score: Estimate
    log_evidence: Array


def cross_validate(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    n_folds: int = 10,
    rng: Generator | None = None,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> CrossValidation:
    """Return the log score of every row under the model fitted to the other folds.

    Parameters
    ----------
    estimator
        A regressor with ``predict_dist``; it is cloned, never changed. A `ModelAverage` is
        scored through its parts: the average of a fold weighs them by their evidence there.
    X, y
        All rows.
    n_folds, rng
        Number of random folds and what draws them. Without ``rng`` the folds are the same
        in every call, so that models meet the same rows.
    labels
        The fold of each row, instead of random ones.
    sample_weight
        How much each row counts, in fitting and in ``score``.

    Examples
    --------
    >>> from credo.models import LinearRegression
    >>> x = np.arange(12.0)[:, None]
    >>> y = 2.0 * x[:, 0] + np.array([0.1, -0.2, 0.0, 0.3, -0.1, -0.1] * 2)
    >>> result = cross_validate(LinearRegression(), x, y, n_folds=4)
    >>> result.mean[1:4].round(1), result.score.value.round(1)
    (array([2.1, 4. , 6. ]), np.float64(0.0))
    """
    outcomes = as_float(y)
    fold = _folds(len(outcomes), n_folds, rng, labels)
    scored = _scored(estimator, X, outcomes, fold, sample_weight)
    row_score = scored.log_prob.reshape(len(outcomes), -1).sum(axis=1)
    weight = np.broadcast_to(1.0 if sample_weight is None else sample_weight, fold.shape)
    score = _weighted_mean(row_score, as_float(weight))
    return CrossValidation(row_score, scored.mean, fold, score, scored.log_evidence)


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
    outcomes = as_float(y)
    fold = _folds(len(outcomes), 0, None, labels)
    if hasattr(estimator, "summarize_groups") and hasattr(estimator, "fit_statistics"):
        model = clone(estimator)
        parts = model.summarize_groups(X, outcomes, fold, fold.max() + 1, sample_weight)
        return [copy(model).fit_statistics(others) for others in _sums_of_others(parts)]
    return [
        _fitted(estimator, X, outcomes, np.flatnonzero(fold != i), sample_weight)
        for i in range(fold.max() + 1)
    ]


@dataclass(frozen=True, eq=False)
class _Scored:
    """Log density and mean of each entry of y, and the log evidence of each fold."""

    log_prob: Array
    mean: Array
    log_evidence: Array


def _scored(
    estimator: Any, X: Any, y: Array, fold: Rows, sample_weight: ArrayLike | None
) -> _Scored:
    if hasattr(estimator, "estimators") and hasattr(estimator, "prior"):
        parts = [_scored(part, X, y, fold, sample_weight) for _, part in estimator.estimators]
        return _averaged(parts, fold, estimator.prior)
    models = refit_folds(estimator, X, y, fold, sample_weight)
    log_prob, mean = np.empty(y.shape), np.empty(y.shape)
    for model, rows in zip(models, _members(fold), strict=True):
        predictive = model.predict_dist(_safe_indexing(X, rows))
        log_prob[rows], mean[rows] = log_score(predictive, y[rows]), predictive.mean()
    evidences = [getattr(model, "log_evidence_", np.nan) for model in models]
    return _Scored(log_prob, mean, np.array(evidences, dtype=np.float64))


def _averaged(parts: list[_Scored], fold: Rows, prior: ArrayLike | None) -> _Scored:
    """Return the scores of a mixture, whose density and mean are averages of its parts'."""
    evidences = np.array([part.log_evidence for part in parts])
    weights = np.array([model_posterior(column, prior) for column in evidences.T]).T
    by_row = weights[:, fold].reshape(len(parts), -1, *[1] * (parts[0].mean.ndim - 1))
    with np.errstate(divide="ignore"):
        log_weight = np.log(by_row)
    log_prob = special.logsumexp([part.log_prob for part in parts] + log_weight, axis=0)
    mean = (by_row * np.array([part.mean for part in parts])).sum(axis=0)
    share = model_posterior(np.zeros(len(parts)), prior)
    log_evidence = special.logsumexp(evidences, axis=0, b=share[:, None])
    return _Scored(np.asarray(log_prob), mean, np.asarray(log_evidence))


def _sums_of_others(parts: Sequence[Any]) -> list[Any]:
    """Return, for each part, the sum of all others.

    From sums of those before and those after: ``total - part`` would lose what an outlier in
    the part has drowned.
    """
    before = list(accumulate(parts[:-1], add))
    after = list(accumulate(reversed(parts[1:]), add))[::-1]
    middle = [a + b for a, b in zip(before[:-1], after[1:], strict=True)]
    return [after[0], *middle, before[-1]]


def _fitted(
    estimator: Any, X: Any, y: Array, rows: Rows, sample_weight: ArrayLike | None
) -> Any:
    weight = {}
    if sample_weight is not None:
        weight = {"sample_weight": np.broadcast_to(as_float(sample_weight), len(y))[rows]}
    return clone(estimator).fit(_safe_indexing(X, rows), y[rows], **weight)


def _folds(n: int, n_folds: int, rng: Generator | None, labels: ArrayLike | None) -> Rows:
    """Return the fold of each row, coded 0, 1, ..., from labels or at random."""
    if labels is None:
        return fold_labels(n, n_folds, np.random.default_rng(0) if rng is None else rng)
    names, codes = np.unique(np.asarray(labels), return_inverse=True)
    if codes.shape != (n,) or len(names) < 2:
        raise ValueError(
            f"labels must give each of the {n} rows one of at least 2 folds; found shape "
            f"{codes.shape} with {len(names)} folds. Use fold_labels to make them."
        )
    return codes.astype(np.intp)


def _members(fold: Rows) -> list[Rows]:
    # Stable sorts of short integers are linear in the number of rows.
    order = np.argsort(fold.astype(np.min_scalar_type(fold.max())), kind="stable")
    return np.split(order, np.cumsum(np.bincount(fold))[:-1])


def _weighted_mean(values: Array, weight: Array) -> Estimate:
    total, n = weight.sum(), np.count_nonzero(weight)
    mean = weight @ values / total
    # An impossible outcome scores minus infinity, and so does the mean; it has no error.
    with np.errstate(invalid="ignore"):
        spread = np.sqrt((weight**2) @ (values - mean) ** 2) / total
    error = spread * np.sqrt(n / (n - 1)) if n > 1 else np.nan
    return Estimate(np.asarray(mean), np.asarray(error))
