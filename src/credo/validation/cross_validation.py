"""Cross-validation by proper scores: what a model says about rows it has not seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from scipy import special
from sklearn.utils import _safe_indexing

from credo.distributions.estimate import Estimate
from credo.inference.engine.model_evidence import Evidence, model_posterior
from credo.numerics.array import Array
from credo.validation.held_out import RowScores, row_scores
from credo.validation.mixture_score import mixed_log_prob, posterior_by_fold
from credo.validation.named_models import named_models
from credo.validation.outcome import MISSING, Outcome, class_codes
from credo.validation.score import weighted_mean
from credo.validation.split_plan import NEVER, SplitPlan
from credo.validation.splits import TrainingRows, fold_codes, fold_members, fold_models

__all__ = ["CrossValidation", "cross_validate", "planned_scores"]

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
        A regressor or a classifier; it is cloned, never changed. A regressor without
        ``predict_dist`` gets a normal fitted to its out-of-fold residuals. A `ModelAverage` is
        scored through its parts: the average of a fold weighs them by their evidence there.
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
    plan = SplitPlan.partition(fold_codes(outcome, n_folds, rng, labels))
    return planned_scores(estimator, TrainingRows.of(X, outcome, sample_weight), plan)


def planned_scores(estimator: Any, rows: TrainingRows, plan: SplitPlan) -> CrossValidation:
    """Return what a model says of every row that a plan holds out.

    Rows that are never held out have NaN, and do not count in ``score``. A regressor that only
    has ``predict`` is scored by a normal fitted to its residuals in all other rows.
    """
    scored = _scored(estimator, rows, plan)
    log_score, outcome = scored.rows.log_score, rows.outcome
    known = plan.fold != NEVER
    if outcome.codes is not None:
        known &= outcome.codes != MISSING
    return CrossValidation(
        log_score,
        scored.rows.prediction,
        plan.fold,
        weighted_mean(log_score[known], rows.weight[known]),
        scored.log_evidence,
        scored.predicted,
        outcome.classes,
    )


@dataclass(frozen=True, eq=False)
class _Scored:
    """What a model said of each row, its answer there, and its log evidence of each fold.

    Evidences compare if their subject is the same: what they are the probability of, and
    which parameters have a flat prior.
    """

    rows: RowScores
    predicted: NDArray[Any]
    log_evidence: Array
    subject: tuple[str, tuple[str, ...]]


def _scored(estimator: Any, rows: TrainingRows, plan: SplitPlan) -> _Scored:
    # A ModelAverage is known by its prior over parts, as this room imports no model.
    if hasattr(estimator, "estimators") and hasattr(estimator, "prior"):
        named = named_models(estimator.estimators)
        parts = [_scored(part, rows, plan) for part in named.values()]
        # Without evidences that compare, its weights must be found anew in every fold.
        has_evidence = not np.isnan([part.log_evidence for part in parts]).any()
        if has_evidence and len({part.subject for part in parts}) == 1:
            return _averaged(parts, rows.outcome, plan, estimator.prior)
    return _asked(estimator, rows, plan)


def _asked(estimator: Any, rows: TrainingRows, plan: SplitPlan) -> _Scored:
    """Return what the fits without each part say of it."""
    outcome, found = rows.outcome, RowScores.unknown(rows.outcome)
    answer = np.zeros(len(rows), dtype=np.intp)
    evidences = []
    for model, test in _fits(estimator, rows, plan):
        inputs, part = _safe_indexing(rows.X, test), outcome.take(test)
        said = row_scores(model, inputs, part)
        found.fill(test, said)
        evidences.append(getattr(model, "log_evidence_", np.nan))
        if outcome.classes is not None:
            answer[test] = _answered(model, inputs, said.prediction, outcome.classes)
    noisy = found.with_noise(outcome, np.flatnonzero(plan.fold != NEVER), rows.weight)
    predicted = found.prediction if outcome.classes is None else outcome.classes[answer]
    evidence = Evidence.of_model(model)
    subject = (evidence.of, evidence.flat)
    return _Scored(noisy, predicted, np.array(evidences, dtype=np.float64), subject)


def _fits(estimator: Any, rows: TrainingRows, plan: SplitPlan) -> Iterator[tuple[Any, Rows]]:
    """Yield the fit without each part, and the rows of that part."""
    if plan.pairs is None:
        models = fold_models(estimator, rows, plan.fold)
        yield from zip(models, fold_members(plan.fold), strict=True)
        return
    for train, test in plan.pairs:
        yield rows.take(train).fit(estimator), test


def _answered(model: Any, X: Any, probability: Array, classes: NDArray[Any]) -> Rows:
    """Return the code of the class that a model would have answered in each row."""
    if hasattr(model, "predict_dist"):
        return np.asarray(probability.argmax(axis=1))
    return class_codes(model.predict(X), classes)


def _averaged(
    parts: list[_Scored], outcome: Outcome, plan: SplitPlan, prior: ArrayLike | None
) -> _Scored:
    """Return the scores of a mixture, whose density and mean are averages of its parts'."""
    evidences = np.array([part.log_evidence for part in parts])
    by_row = posterior_by_fold(evidences, prior)[:, plan.fold]
    log_prob = mixed_log_prob([part.rows.log_prob for part in parts], by_row)
    means = np.array([part.rows.prediction for part in parts])
    mean = (by_row.reshape(*by_row.shape, *[1] * (means.ndim - 2)) * means).sum(axis=0)
    share = model_posterior(np.zeros(len(parts)), prior)
    log_evidence = special.logsumexp(evidences, axis=0, b=share[:, None])
    classes = outcome.classes
    predicted = mean if classes is None else classes[mean.argmax(axis=1)]
    rows = RowScores(mean, log_prob)
    return _Scored(rows, predicted, np.asarray(log_evidence), parts[0].subject)
