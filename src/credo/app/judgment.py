"""Candidates and their average judged: by folds of the training rows, and by test rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from credo.app.slate import AVERAGE
from credo.data.table_regression import CandidateScore
from credo.distributions.estimate import Estimate, sample_mean
from credo.evaluation.cross_validation import CrossValidation
from credo.evaluation.scores import evaluate
from credo.models.average import ModelAverage
from credo.numerics.array import Array

__all__ = ["candidate_scores", "cross_validation_gain"]

_UNKNOWN = Estimate(np.array(np.nan), np.array(np.nan))


def candidate_scores(
    average: ModelAverage,
    folds: Sequence[CrossValidation],
    X: pd.DataFrame,
    y: Array,
    coverage: float,
) -> tuple[CandidateScore, ...]:
    """Return the scores of each candidate, and then of the average.

    Parameters
    ----------
    average
        The candidates fitted to the training rows.
    folds
        Their cross-validations within the training rows.
    X, y
        The test rows.
    coverage
        Probability of the intervals whose hits are counted.
    """
    named = zip(average.names_, average.estimators_, average.probability_, strict=True)
    parts = [
        _score(name, model, float(share), fold.score, X, y, coverage)
        for (name, model, share), fold in zip(named, folds, strict=True)
    ]
    return (*parts, _score(AVERAGE, average, 1.0, _UNKNOWN, X, y, coverage))


def cross_validation_gain(average: ModelAverage, folds: Sequence[CrossValidation]) -> Estimate:
    """Return the mean log score of the best candidate by folds above the most probable one."""
    probable = int(np.argmax(average.probability_))
    best = max(range(len(folds)), key=lambda i: float(folds[i].score.value))
    return sample_mean(folds[best].log_score - folds[probable].log_score)


def _score(
    name: str,
    model: Any,
    probability: float,
    folded: Estimate,
    X: pd.DataFrame,
    y: Array,
    coverage: float,
) -> CandidateScore:
    judged = evaluate(model.predict_dist(X), y, coverage)
    parts = getattr(model, "estimators_", [model])
    return CandidateScore(
        name=name,
        n_terms=sum(len(part.coef_) for part in parts),
        log_evidence=float(model.log_evidence_),
        probability=probability,
        cv_log_score=float(folded.value),
        cv_log_score_error=float(folded.standard_error),
        log_score=float(judged.log_score.value),
        log_score_error=float(judged.log_score.standard_error),
        rmse=float(judged.rmse.value),
        coverage=float(judged.coverage.value),
        r_squared=judged.r_squared,
    )
