"""Scores of mixtures of models, from the held-out scores of their parts.

A mixture by evidence weighs its parts in each fold by their evidence without it (Bayesian model
averaging), a stack by the weights that are best for the other folds (stacking). A row has no
say in how it is predicted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from credo.distributions.estimate import Estimate, sample_mean
from credo.inference.engine.model_evidence import model_posterior
from credo.inference.engine.stacking import stacking_weights
from credo.numerics.array import Array, as_float

__all__ = [
    "averaged_log_score",
    "comparable_scores",
    "is_judged",
    "mean_score",
    "mixed_log_prob",
    "n_asked_folds",
    "posterior_by_fold",
    "stacked_log_score",
]

Rows = NDArray[np.intp]

# Stands for an infinite evidence: no finite one counts beside it, and another weighs alike.
_HUGE = 1e300


def posterior_by_fold(log_evidences: ArrayLike, prior: ArrayLike | None = None) -> Array:
    """Return the probability of each model given all folds but one, shape (n_models, n_folds).

    Models without an evidence have none, unless all are so.

    Parameters
    ----------
    log_evidences
        Of each model without each fold, shape (n_models, n_folds).

    Examples
    --------
    >>> posterior_by_fold([[-1.0, np.nan], [-1.0, -5.0]])
    array([[0.5, 0. ],
           [0.5, 1. ]])
    """
    evidences = np.nan_to_num(as_float(log_evidences), nan=-_HUGE, posinf=_HUGE, neginf=-_HUGE)
    return np.array([model_posterior(column, prior) for column in evidences.T]).T


def mixed_log_prob(log_probs: ArrayLike, weights: Array) -> Array:
    """Return the log density of a mixture of models.

    Parameters
    ----------
    log_probs
        Log density of each model, shape (n_models, n, ...).
    weights
        Of each model in each row, shape (n_models, n), or in all rows, (n_models, 1).
    """
    found = as_float(log_probs)
    with np.errstate(divide="ignore"):
        log_weight = np.log(weights).reshape(*weights.shape, *[1] * (found.ndim - 2))
    return np.asarray(special.logsumexp(found + log_weight, axis=0))


def averaged_log_score(log_scores: ArrayLike, fold: Rows, log_evidences: ArrayLike) -> Array:
    """Return the log score of each row under the average that the other folds give.

    As `cross_validate` of a `ModelAverage`. A fold whose evidences are infinite weighs its
    parts alike. A model has no part in folds that it was not asked about.

    Parameters
    ----------
    log_scores
        Of each model in each row, shape (n_models, n); NaN where it was not asked.
    fold
        Of each row, coded 0, 1, ...
    log_evidences
        Of each model without each fold, shape (n_models, n_folds); NaN where not asked.
    """
    scores = as_float(log_scores)
    known = np.where(np.isnan(scores), -np.inf, scores)
    return mixed_log_prob(known, posterior_by_fold(log_evidences)[:, fold])


def stacked_log_score(log_scores: ArrayLike, fold: Rows) -> Array:
    """Return the log score of each row under the stack that the other folds give.

    Models that were not asked about every row have no weight.

    Examples
    --------
    >>> scores = np.log([[0.9, 0.9, 0.9, 0.9], [0.1, 0.1, 0.1, 0.1]])
    >>> np.exp(stacked_log_score(scores, np.array([0, 0, 1, 1]))).round(6)
    array([0.9, 0.9, 0.9, 0.9])
    """
    scores = as_float(log_scores)
    members = scores[is_judged(scores)]
    found = np.empty(len(fold))
    for part in np.unique(fold):
        is_in = fold == part
        weights = stacking_weights(members[:, ~is_in])
        found[is_in] = mixed_log_prob(members[:, is_in], weights[:, None])
    return found


def is_judged(log_scores: ArrayLike) -> NDArray[np.bool_]:
    """Return which models were asked about every row, shape (n_models,).

    The scores of all others are of other rows, which may have been easier.
    """
    return np.asarray(~np.isnan(as_float(log_scores)).any(axis=1))


def n_asked_folds(log_scores: ArrayLike, fold: Rows) -> Rows:
    """Return the number of folds that each model was asked about, shape (n_models,)."""
    asked = ~np.isnan(as_float(log_scores))
    return np.array([len(np.unique(fold[own])) for own in asked], dtype=np.intp)


def comparable_scores(log_scores: Sequence[Array] | Array) -> list[Estimate]:
    """Return the mean log score of each model, as if all had been asked about every row.

    Rows that some were not asked about may be harder than others. The best of the models that
    were asked about all of them tells by how much: a model's mean is that of the best one over
    all rows, plus its own less the best one's over its own rows.

    Parameters
    ----------
    log_scores
        Of each model, shape (n_models, n), NaN where it was not asked.
    """
    scores = as_float(log_scores)
    best = max(scores[is_judged(scores)], key=np.mean)
    whole = mean_score(best)
    if not np.isfinite(whole.value):
        return [mean_score(own[~np.isnan(own)]) for own in scores]
    found = []
    for own in scores:
        asked = ~np.isnan(own)
        if asked.all():
            found.append(mean_score(own))
            continue
        ahead = mean_score(own[asked] - best[asked])
        error = np.hypot(ahead.standard_error, whole.standard_error)
        found.append(Estimate(whole.value + ahead.value, error))
    return found


def mean_score(scores: ArrayLike) -> Estimate:
    """Return the mean of row scores with its standard error.

    An impossible outcome scores minus infinity, and so does the mean; it has no error.
    """
    with np.errstate(invalid="ignore"):
        return sample_mean(scores)
