"""Models of a table and their mixture judged: by folds of training rows, and by test rows.

Regressions are averaged by evidence, classifiers stacked by the folds. All scores are those of
`credo.validation`; here they are put beside names and weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from credo.distributions.categorical import Categorical
from credo.distributions.estimate import Estimate
from credo.distributions.predictive import Predictive
from credo.evaluation.classes.confusion import Confusion
from credo.evaluation.classes.rates import error_rate, matthews_correlation
from credo.inference.engine.stacking import stacking_weights
from credo.models.ensemble.average import ModelAverage
from credo.models.ensemble.ensemble import mixed_classes
from credo.models.ensemble.stack import Stack
from credo.models.gaps.gap_average import AskedRows
from credo.models.gaps.row_completion import Completion
from credo.numerics.array import Array
from credo.numerics.parallel.threads import side_by_side
from credo.study.candidates.candidate import STACK
from credo.study.candidates.slate import AVERAGE
from credo.study.result.chance import CONFIDENCE
from credo.study.result.table_model import MIN_PROBABILITY, CandidateScore, ClassScore
from credo.validation.cross_validation import CrossValidation
from credo.validation.mixture_score import (
    averaged_log_score,
    comparable_scores,
    is_judged,
    mean_score,
    n_asked_folds,
    stacked_log_score,
)
from credo.validation.scores import is_covered, squared_error

__all__ = [
    "candidate_scores",
    "class_answers",
    "class_scores",
    "columns_gain",
    "cross_validation_gain",
    "dropped_candidates",
    "dropped_classifiers",
    "dropped_notes",
    "is_dropped",
    "judged_names",
    "predictives",
    "stack_columns_gain",
    "weight_gain",
]


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
    parts: list[Predictive] = _answers(average.estimators_, X, completion)
    counted = np.flatnonzero(average.probability_ >= MIN_PROBABILITY)
    share = average.probability_[counted]
    return [*parts, Predictive.mixed(share / share.sum(), [parts[i] for i in counted])]


def class_answers(
    stack: Stack, X: pd.DataFrame, completion: Completion | None = None
) -> list[Categorical]:
    """Return what each classifier says of the test rows, and then what the stack says.

    Parameters
    ----------
    stack
        The classifiers fitted to the training rows.
    X
        The test rows.
    completion
        What may be in their gaps, if they have any.
    """
    parts: list[Categorical] = _answers(stack.estimators_, X, completion)
    used = np.flatnonzero(stack.weights_)
    shares = [parts[k].probability for k in used]
    return [*parts, mixed_classes(stack.weights_[used], shares, stack.classes_)]


def candidate_scores(
    average: ModelAverage,
    folds: Sequence[CrossValidation],
    answers: Sequence[Predictive],
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
    answers, y
        What each candidate and the average said of the test rows, and what came true.
    coverage
        Probability of the intervals whose hits are counted.
    """
    log_scores = _log_scores(folds)
    stacked, judged = np.zeros(len(folds)), is_judged(log_scores)
    stacked[judged] = stacking_weights(log_scores[judged])
    weighed = _weighed(average.names_, stacked, log_scores)
    weighed.append(_Weighed(AVERAGE, 1.0, mean_score(_average_scores(folds))))
    models = [*average.estimators_, average]
    shares = [*average.probability_, 1.0]
    evidences = [*average.log_evidences_, average.log_evidence_]
    return tuple(
        _candidate_score(*one, y, coverage)
        for one in zip(weighed, evidences, shares, models, answers, strict=True)
    )


def class_scores(
    stack: Stack, answers: Sequence[Categorical], y: NDArray[Any]
) -> tuple[ClassScore, ...]:
    """Return the scores of each classifier, and then of the stack, by their `class_answers`."""
    weighed = _weighed(stack.names_, stack.weights_, stack.log_scores_)
    weighed.append(_Weighed(STACK, 1.0, mean_score(_stack_scores(stack))))
    return tuple(_class_score(*pair, y) for pair in zip(weighed, answers, strict=True))


def cross_validation_gain(average: ModelAverage, folds: Sequence[CrossValidation]) -> Estimate:
    """Return the mean log score of the best candidate by folds above the most probable one."""
    probable = int(np.argmax(average.probability_))
    judged = zip(folds, is_judged(_log_scores(folds)), strict=True)
    whole = [fold for fold, is_whole in judged if is_whole]
    best = max(whole, key=lambda fold: float(fold.score.value))
    return mean_score(best.log_score - folds[probable].log_score)


def weight_gain(stack: Stack) -> Estimate:
    """Return the mean log score in the folds of the stack above that of its best member."""
    members = stack.log_scores_[is_judged(stack.log_scores_)]
    best = int(np.argmax(members.mean(axis=1)))
    return mean_score(_stack_scores(stack) - members[best])


def columns_gain(folds: Sequence[CrossValidation]) -> Estimate:
    """Return the mean log score in the folds of the average above that of the constant.

    The constant is the first and simplest candidate, which uses no column.
    """
    return _gain(_average_scores(folds), folds[0].log_score)


def stack_columns_gain(stack: Stack) -> Estimate:
    """Return the mean log score in the folds of the stack above that of the baseline.

    The baseline is the first and simplest member, which uses no column; folds that it was
    not asked about do not count.
    """
    return _gain(_stack_scores(stack), stack.log_scores_[0])


def dropped_candidates(
    names: Sequence[str], folds: Sequence[CrossValidation]
) -> dict[str, int]:
    """Return the candidates that were not asked about every fold, and about how many."""
    return _dropped(names, _log_scores(folds), folds[0].fold)


def dropped_classifiers(stack: Stack) -> dict[str, int]:
    """Return the classifiers that were not asked about every fold, and about how many."""
    return _dropped(stack.names_, stack.log_scores_, stack.fold_)


def dropped_notes(n_asked: Mapping[str, int], n_folds: int) -> tuple[str, ...]:
    """Return a sentence on the models that were asked about fewer folds than there are."""
    if not n_asked:
        return ()
    asked = ", ".join(f"{name} in {n}" for name, n in n_asked.items())
    return (
        f"Cross-validated in some of the {n_folds} folds only, where no weight was to be had "
        f"any more: {asked}; each such score is an estimate, from the lag behind the best one "
        "in these.",
    )


def is_dropped(stack: Stack) -> NDArray[np.bool_]:
    """Return which classifiers were not asked about every fold, shape (n_models,)."""
    return ~is_judged(stack.log_scores_)


def judged_names(stack: Stack) -> list[str]:
    """Return the names of the classifiers that were asked about every fold."""
    return [stack.names_[k] for k in np.flatnonzero(is_judged(stack.log_scores_))]


def _answers(models: Sequence[Any], X: Any, completion: Completion | None) -> list[Any]:
    asked = AskedRows.of(completion, X)
    return side_by_side(lambda model: asked.averaged(model.predict_dist(asked.X)), models)


def _log_scores(folds: Sequence[CrossValidation]) -> Array:
    return np.array([part.log_score for part in folds])


def _average_scores(folds: Sequence[CrossValidation]) -> Array:
    evidences = np.array([part.log_evidence for part in folds])
    return averaged_log_score(_log_scores(folds), folds[0].fold, evidences)


def _stack_scores(stack: Stack) -> Array:
    return stacked_log_score(stack.log_scores_, stack.fold_)


def _gain(mixture: Array, simplest: Array) -> Estimate:
    asked = ~np.isnan(simplest)
    with np.errstate(invalid="ignore"):
        return mean_score((mixture - simplest)[asked])


def _dropped(names: Sequence[str], log_scores: Array, fold: NDArray[np.intp]) -> dict[str, int]:
    found = zip(names, n_asked_folds(log_scores, fold), is_judged(log_scores), strict=True)
    return {name: int(n_asked) for name, n_asked, is_whole in found if not is_whole}


class _Weighed(NamedTuple):
    """A name, its weight in a stack, and its score by cross-validation."""

    name: str
    weight: float
    cv_score: Estimate


def _weighed(names: Sequence[str], weights: Array, log_scores: Array) -> list[_Weighed]:
    scores = comparable_scores(log_scores)
    return [
        _Weighed(name, float(weight), score)
        for name, weight, score in zip(names, weights, scores, strict=True)
    ]


def _candidate_score(
    weighed: _Weighed,
    log_evidence: float,
    probability: float,
    model: Any,
    predictive: Predictive,
    y: Array,
    coverage: float,
) -> CandidateScore:
    scored = mean_score(predictive.log_prob(y))
    squared = squared_error(y, predictive).mean()
    parts = getattr(model, "estimators_", [model])
    return CandidateScore(
        name=weighed.name,
        n_terms=sum(len(getattr(part, "coef_", ())) for part in parts),
        log_evidence=np.nan if np.isnan(log_evidence) else float(log_evidence),
        probability=float(probability),
        cv_weight=weighed.weight,
        cv_log_score=float(weighed.cv_score.value),
        cv_log_score_error=float(weighed.cv_score.standard_error),
        log_score=float(scored.value),
        log_score_error=float(scored.standard_error),
        rmse=float(np.sqrt(squared)),
        coverage=float(is_covered(y, predictive, coverage).mean()),
        r_squared=float(1 - squared / y.var()) if np.ptp(y) > 0 else np.nan,
    )


def _class_score(weighed: _Weighed, predictive: Categorical, y: NDArray[Any]) -> ClassScore:
    scored = mean_score(predictive.log_prob(y))
    confusion = Confusion.of(y, predictive.mode(), labels=predictive.labels)
    error = error_rate(confusion, coverage=CONFIDENCE)
    mcc = matthews_correlation(confusion, coverage=CONFIDENCE)
    return ClassScore(
        name=weighed.name,
        weight=weighed.weight,
        cv_log_score=float(weighed.cv_score.value),
        cv_log_score_error=float(weighed.cv_score.standard_error),
        log_score=float(scored.value),
        log_score_error=float(scored.standard_error),
        error_rate=error.value,
        error_low=error.low,
        error_high=error.high,
        mcc=mcc.value,
        mcc_low=mcc.low,
        mcc_high=mcc.high,
    )
