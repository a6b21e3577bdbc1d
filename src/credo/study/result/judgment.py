"""Candidates and their average judged: by folds of the training rows, and by test rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from credo.distributions.estimate import Estimate, sample_mean
from credo.distributions.predictive import Predictive
from credo.inference.engine.model_evidence import model_posterior
from credo.inference.engine.stacking import stacking_weights
from credo.models.ensemble.average import ModelAverage
from credo.models.ensemble.ensemble import mixed_predictive
from credo.models.gaps.gap_average import AskedRows
from credo.models.gaps.row_completion import Completion
from credo.numerics.array import Array
from credo.numerics.parallel.threads import side_by_side
from credo.study.candidates.slate import AVERAGE
from credo.study.result.table_regression import MIN_PROBABILITY, CandidateScore
from credo.validation.cross_validation import CrossValidation
from credo.validation.scores import is_covered, log_score, squared_error

__all__ = [
    "averaged_log_score",
    "candidate_scores",
    "columns_gain",
    "comparable_scores",
    "cross_validation_gain",
    "dropped_candidates",
    "dropped_notes",
    "predictives",
]

_HUGE = 1e300


def candidate_scores(
    average: ModelAverage,
    folds: Sequence[CrossValidation],
    told: Sequence[Predictive],
    y: Array,
    coverage: float,
) -> tuple[CandidateScore, ...]:
    """Return the scores of each candidate, and then of the average.

    Parameters
    ----------
    average
        The candidates fitted to the training rows.
    folds
        Their cross-validations within the training rows, all by the same folds.
    told, y
        What each candidate and the average said of the test rows, and what came true.
    coverage
        Probability of the intervals whose hits are counted.
    """
    rows = [fold.log_score for fold in folds]
    stacked, judged = np.zeros(len(folds)), _judged_places(rows)
    stacked[judged] = stacking_weights([rows[place] for place in judged])
    weighed = [
        _Weighed(name, float(share), float(weight), score)
        for name, share, weight, score in zip(
            average.names_, average.probability_, stacked, comparable_scores(rows), strict=True
        )
    ]
    weighed.append(_Weighed(AVERAGE, 1.0, 1.0, _mean(averaged_log_score(folds))))
    models = [*average.estimators_, average]
    return tuple(
        _score(part, model, predictive, y, coverage)
        for part, model, predictive in zip(weighed, models, told, strict=True)
    )


def predictives(
    average: ModelAverage, X: Any, completion: Completion | None = None
) -> list[Predictive]:
    """Return what each candidate says of rows, and then the average of those that count.

    Parameters
    ----------
    average
        The fitted candidates.
    X
        Inputs, NaN where missing.
    completion
        What may be in the gaps, if there are any.
    """
    asked = AskedRows.of(completion, X)
    parts: list[Predictive] = side_by_side(
        lambda model: asked.averaged(model.predict_dist(asked.X)), average.estimators_
    )
    counted = np.flatnonzero(average.probability_ >= MIN_PROBABILITY)
    share = average.probability_[counted]
    return [*parts, mixed_predictive(share / share.sum(), [parts[i] for i in counted])]


def averaged_log_score(folds: Sequence[CrossValidation]) -> Array:
    """Return the log score of each row under the average that its folds would have given.

    As `cross_validate` of a `ModelAverage`: the parts are weighed by their evidence without
    the row's fold. A fold whose evidences are infinite weighs its parts alike. A candidate
    that was dropped, since it has no probability given all rows, has no part in folds that it
    was not asked about.
    """
    evidences = np.nan_to_num(
        [part.log_evidence for part in folds], nan=-_HUGE, posinf=_HUGE, neginf=-_HUGE
    )
    with np.errstate(divide="ignore"):
        weights = np.log([model_posterior(column) for column in evidences.T]).T
    scores = np.array([part.log_score for part in folds])
    # Folds that a candidate was not asked about have no evidence of it, and no score.
    scores[np.isnan(scores)] = -np.inf
    return np.asarray(special.logsumexp(scores + weights[:, folds[0].fold], axis=0))


def cross_validation_gain(average: ModelAverage, folds: Sequence[CrossValidation]) -> Estimate:
    """Return the mean log score of the best candidate by folds above the most probable one."""
    probable = int(np.argmax(average.probability_))
    judged = _judged_places([fold.log_score for fold in folds])
    best = max(judged, key=lambda i: float(folds[i].score.value))
    return _mean(folds[best].log_score - folds[probable].log_score)


def columns_gain(folds: Sequence[CrossValidation]) -> Estimate:
    """Return the mean log score in the folds of the average above that of the constant.

    The constant is the first and simplest candidate, which uses no column.
    """
    with np.errstate(invalid="ignore"):
        return _mean(averaged_log_score(folds) - folds[0].log_score)


def comparable_scores(log_scores: Sequence[Array]) -> list[Estimate]:
    """Return the mean log score of each model, as if all had been asked about every row.

    Rows that some were not asked about may be harder than others. The best of the models that
    were asked about all of them tells by how much: a model's mean is that of the best one over
    all rows, plus its own less the best one's over its own rows.

    Parameters
    ----------
    log_scores
        Of each model, shape (n,), NaN where it was not asked.
    """
    best = max((log_scores[place] for place in _judged_places(log_scores)), key=np.mean)
    whole = _mean(best)
    if not np.isfinite(whole.value):
        return [_mean(own[~np.isnan(own)]) for own in log_scores]
    found = []
    for own in log_scores:
        asked = ~np.isnan(own)
        if asked.all():
            found.append(_mean(own))
            continue
        ahead = _mean(own[asked] - best[asked])
        error = np.hypot(ahead.standard_error, whole.standard_error)
        found.append(Estimate(whole.value + ahead.value, error))
    return found


def dropped_candidates(
    names: Sequence[str], folds: Sequence[CrossValidation]
) -> dict[str, int]:
    """Return the candidates that were not asked about every fold, and about how many."""
    return {
        name: len(np.unique(part.fold[~np.isnan(part.log_score)]))
        for name, part in zip(names, folds, strict=True)
        if np.isnan(part.log_score).any()
    }


def dropped_notes(n_asked: Mapping[str, int], n_folds: int) -> tuple[str, ...]:
    """Return a sentence on the models that were asked about fewer folds than there are."""
    if not n_asked:
        return ()
    told = ", ".join(f"{name} in {n}" for name, n in n_asked.items())
    return (
        f"Cross-validated in some of the {n_folds} folds only, where no weight was to be had "
        f"any more: {told}; each such score is an estimate, from the lag behind the best one "
        "in these.",
    )


def _judged_places(log_scores: Sequence[Array]) -> list[int]:
    """Return the places of the models that were asked about every row."""
    return [place for place, own in enumerate(log_scores) if not np.isnan(own).any()]


class _Weighed(NamedTuple):
    """A name, its probability by evidence, its weight and its score by cross-validation."""

    name: str
    probability: float
    cv_weight: float
    cv_score: Estimate


def _mean(row_scores: Array) -> Estimate:
    # An impossible outcome scores minus infinity, and so does the mean; it has no error.
    with np.errstate(invalid="ignore"):
        return sample_mean(row_scores)


def _score(
    weighed: _Weighed, model: Any, predictive: Predictive, y: Array, coverage: float
) -> CandidateScore:
    scored = _mean(log_score(y, predictive))
    squared = squared_error(y, predictive).mean()
    parts = getattr(model, "estimators_", [model])
    return CandidateScore(
        name=weighed.name,
        n_terms=sum(len(part.coef_) for part in parts),
        log_evidence=float(model.log_evidence_),
        probability=weighed.probability,
        cv_weight=weighed.cv_weight,
        cv_log_score=float(weighed.cv_score.value),
        cv_log_score_error=float(weighed.cv_score.standard_error),
        log_score=float(scored.value),
        log_score_error=float(scored.standard_error),
        rmse=float(np.sqrt(squared)),
        coverage=float(is_covered(y, predictive, coverage).mean()),
        r_squared=float(1 - squared / y.var()) if np.ptp(y) > 0 else np.nan,
    )
