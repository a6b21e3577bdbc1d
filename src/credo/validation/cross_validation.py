"""Cross-validation by proper scores: what a model says about rows it has not seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from scipy import special
from sklearn.utils import _safe_indexing

from credo.distributions.estimate import Estimate
from credo.inference.engine.model_evidence import model_posterior
from credo.numerics.array import Array, as_float
from credo.validation.fold_fit import fold_codes, fold_members, fold_models
from credo.validation.held_out import has_predictive, predictive_of
from credo.validation.outcome import MISSING, Outcome, class_codes
from credo.validation.score import weighted_mean
from credo.validation.scores import log_score

__all__ = ["CrossValidation", "cross_validate"]

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """What a model said about each row while it had not seen the row's fold.

    Attributes
    ----------
    log_score
        Log predictive density of each row, summed over outputs, shape (n_samples,); higher
        is better. Of a classifier the log probability of the class, NaN if the class is
        missing or the model has no probabilities.
    mean
        Predictive mean of each row, of the shape of y; of a classifier the probability of
        each class, shape (n_samples, n_classes).
    fold
        Which fold each row was in, shape (n_samples,).
    score
        Mean row log score with its standard error, rows weighted by their sample weight;
        rows whose class is missing are left out. Folds share training rows, so the error is
        somewhat optimistic.
    log_evidence
        Log evidence of the model fitted without each fold, shape (n_folds,); NaN if it has
        none.
    predicted
        What the model would have answered in each row: a class, or the mean.
    classes
        Labels of the columns of ``mean``; None for a regressor.
    """

    log_score: Array
    mean: Array
    fold: Rows
    score: Estimate
    log_evidence: Array
    predicted: NDArray[Any]
    classes: NDArray[Any] | None = None

    @classmethod
    def of_numbers(
        cls, log_score: Array, mean: Array, fold: Rows, log_evidence: Array
    ) -> CrossValidation:
        """Return what a regression said of single numbers, all rows counting alike.

        Rows that it was not asked about have NaN, and do not count.
        """
        asked = log_score[~np.isnan(log_score)]
        score = weighted_mean(asked, np.ones(len(asked)))
        return cls(log_score, mean, fold, score, log_evidence, mean)


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
        A regressor with ``predict_dist``, or any classifier; it is cloned, never changed. A
        `ModelAverage` is scored through its parts: the average of a fold weighs them by
        their evidence there.
    X, y
        All rows. Classes may be of any kind, NaN or None where they are missing.
    n_folds, rng
        Number of random folds and what draws them; for a classifier the folds keep the
        proportions of classes. Without ``rng`` the folds are the same in every call, so that
        models meet the same rows.
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
    outcome = Outcome.of(estimator, y)
    fold = fold_codes(outcome, n_folds, rng, labels)
    scored = _scored(estimator, X, outcome, fold, sample_weight)
    row_score = scored.log_prob.reshape(len(fold), -1).sum(axis=1)
    weight = as_float(
        np.broadcast_to(1.0 if sample_weight is None else sample_weight, fold.shape)
    )
    known = slice(None) if outcome.codes is None else outcome.codes != MISSING
    return CrossValidation(
        row_score,
        scored.mean,
        fold,
        weighted_mean(row_score[known], weight[known]),
        scored.log_evidence,
        scored.predicted,
        outcome.classes,
    )


@dataclass(frozen=True, eq=False)
class _Scored:
    """Log density, mean and answer for each entry of y; the log evidence of each fold."""

    log_prob: Array
    mean: Array
    predicted: NDArray[Any]
    log_evidence: Array


def _scored(
    estimator: Any, X: Any, outcome: Outcome, fold: Rows, sample_weight: ArrayLike | None
) -> _Scored:
    if hasattr(estimator, "estimators") and hasattr(estimator, "prior"):
        parts = [
            _scored(part, X, outcome, fold, sample_weight) for _, part in estimator.estimators
        ]
        return _averaged(parts, fold, estimator.prior, outcome.classes)
    models = fold_models(estimator, X, outcome, fold, sample_weight)
    answer = _numbers_scored if outcome.classes is None else _classes_scored
    log_prob, mean, predicted = answer(models, X, outcome, fold)
    evidences = [getattr(model, "log_evidence_", np.nan) for model in models]
    return _Scored(log_prob, mean, predicted, np.array(evidences, dtype=np.float64))


def _numbers_scored(
    models: list[Any], X: Any, outcome: Outcome, fold: Rows
) -> tuple[Array, Array, Array]:
    log_prob, mean = np.empty(outcome.y.shape), np.empty(outcome.y.shape)
    for model, rows in zip(models, fold_members(fold), strict=True):
        predictive = predictive_of(model, _safe_indexing(X, rows))
        log_prob[rows] = log_score(outcome.y[rows], predictive)
        mean[rows] = predictive.mean()
    return log_prob, mean, mean


def _classes_scored(
    models: list[Any], X: Any, outcome: Outcome, fold: Rows
) -> tuple[Array, Array, NDArray[Any]]:
    """Return log probability of the class, all probabilities and the answer of each row.

    A class that a model has not seen outside a fold is impossible to it.
    """
    assert outcome.classes is not None
    assert outcome.codes is not None
    probability = np.zeros((len(fold), len(outcome.classes)))
    answer = np.empty(len(fold), dtype=np.intp)
    for model, rows in zip(models, fold_members(fold), strict=True):
        inputs = _safe_indexing(X, rows)
        if not has_predictive(model):
            probability[rows] = np.nan
            answer[rows] = class_codes(model.predict(inputs), outcome.classes)
            continue
        predictive = predictive_of(model, inputs)
        columns = class_codes(predictive.labels, outcome.classes)
        probability[np.ix_(rows, columns)] = predictive.probability
        guess = predictive.mode() if hasattr(model, "predict_dist") else model.predict(inputs)
        answer[rows] = class_codes(guess, outcome.classes)
    chosen = probability[np.arange(len(fold)), outcome.codes]
    with np.errstate(divide="ignore"):
        log_prob = np.where(outcome.codes == MISSING, np.nan, np.log(chosen))
    return log_prob, probability, outcome.classes[answer]


def _averaged(
    parts: list[_Scored], fold: Rows, prior: ArrayLike | None, classes: NDArray[Any] | None
) -> _Scored:
    """Return the scores of a mixture, whose density and mean are averages of its parts'."""
    evidences = np.array([part.log_evidence for part in parts])
    weights = np.array([model_posterior(column, prior) for column in evidences.T]).T
    by_row = weights[:, fold]
    log_probs = np.array([part.log_prob for part in parts])
    with np.errstate(divide="ignore"):
        log_weight = np.log(_aligned(by_row, log_probs))
    log_prob = special.logsumexp(log_probs + log_weight, axis=0)
    means = np.array([part.mean for part in parts])
    mean = (_aligned(by_row, means) * means).sum(axis=0)
    share = model_posterior(np.zeros(len(parts)), prior)
    log_evidence = special.logsumexp(evidences, axis=0, b=share[:, None])
    predicted = mean if classes is None else classes[mean.argmax(axis=1)]
    return _Scored(np.asarray(log_prob), mean, predicted, np.asarray(log_evidence))


def _aligned(by_row: Array, values: Array) -> Array:
    """Return weights of parts and rows with an axis of one for each further axis of values."""
    return by_row.reshape(*by_row.shape, *[1] * (values.ndim - 2))
