"""Classifiers and their stack judged: by folds of the training rows, and by test rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from credo.distributions.categorical import Categorical
from credo.distributions.estimate import Estimate, sample_mean
from credo.evaluation.classes.confusion import Confusion
from credo.evaluation.classes.rates import error_rate, matthews_correlation
from credo.inference.engine.stacking import stacking_weights
from credo.models.ensemble.ensemble import mixed_classes
from credo.models.ensemble.stack import Stack
from credo.models.gaps.gap_average import AskedRows
from credo.models.gaps.row_completion import Completion
from credo.numerics.array import Array
from credo.numerics.parallel.threads import side_by_side
from credo.study.candidates.candidate import STACK
from credo.study.result.chance import CONFIDENCE
from credo.study.result.judgment import comparable_scores
from credo.study.result.table_classification import ClassScore

__all__ = [
    "class_answers",
    "class_scores",
    "dropped_classifiers",
    "is_dropped",
    "judged_names",
    "stack_columns_gain",
    "stacked_log_score",
    "weight_gain",
]


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
    asked = AskedRows.of(completion, X)
    told: list[Categorical] = side_by_side(
        lambda model: asked.averaged(model.predict_dist(asked.X)), stack.estimators_
    )
    used = np.flatnonzero(stack.weights_)
    parts = [told[k].probability for k in used]
    return [*told, mixed_classes(stack.weights_[used], parts, stack.classes_)]


def class_scores(
    stack: Stack, answers: Sequence[Categorical], y: NDArray[Any]
) -> tuple[ClassScore, ...]:
    """Return the scores of each classifier, and then of the stack, by their `class_answers`."""
    cv_scores = comparable_scores(list(stack.log_scores_))
    weighed = [
        _Weighed(name, float(weight), score)
        for name, weight, score in zip(stack.names_, stack.weights_, cv_scores, strict=True)
    ]
    weighed.append(_Weighed(STACK, 1.0, _mean(stacked_log_score(stack))))
    return tuple(_score(*pair, y) for pair in zip(weighed, answers, strict=True))


def stacked_log_score(stack: Stack) -> Array:
    """Return the log score of each row under the stack that its folds would have given.

    The weights of a row's mixture are those that are best for the other folds, so that a
    row has no say in how it is predicted. Classifiers that were dropped have none.
    """
    members = stack.log_scores_[~is_dropped(stack)]
    scores = np.empty(len(stack.fold_))
    for fold in np.unique(stack.fold_):
        is_in = stack.fold_ == fold
        with np.errstate(divide="ignore"):
            log_weight = np.log(stacking_weights(members[:, ~is_in]))
        scores[is_in] = special.logsumexp(members[:, is_in] + log_weight[:, None], axis=0)
    return scores


def is_dropped(stack: Stack) -> NDArray[np.bool_]:
    """Return which classifiers were not asked about every fold, shape (n_models,)."""
    return np.asarray(np.isnan(stack.log_scores_).any(axis=1))


def judged_names(stack: Stack) -> list[str]:
    """Return the names of the classifiers that were asked about every fold.

    The scores of all others are of other rows, which may have been easier.
    """
    return [stack.names_[k] for k in np.flatnonzero(~is_dropped(stack))]


def dropped_classifiers(stack: Stack) -> dict[str, int]:
    """Return the classifiers that were not asked about every fold, and about how many."""
    return {
        stack.names_[k]: len(np.unique(stack.fold_[~np.isnan(stack.log_scores_[k])]))
        for k in np.flatnonzero(is_dropped(stack))
    }


def weight_gain(stack: Stack) -> Estimate:
    """Return the mean log score in the folds of the stack above that of its best member."""
    members = stack.log_scores_[~is_dropped(stack)]
    best = int(np.argmax(members.mean(axis=1)))
    return _mean(stacked_log_score(stack) - members[best])


def stack_columns_gain(stack: Stack) -> Estimate:
    """Return the mean log score in the folds of the stack above that of the baseline.

    The baseline is the first and simplest member, which uses no column; folds that it was
    not asked about do not count.
    """
    is_asked = ~np.isnan(stack.log_scores_[0])
    with np.errstate(invalid="ignore"):
        return _mean((stacked_log_score(stack) - stack.log_scores_[0])[is_asked])


class _Weighed(NamedTuple):
    """A name, its weight in the stack, and its score by cross-validation."""

    name: str
    weight: float
    cv_score: Estimate


def _mean(row_scores: Array) -> Estimate:
    # An impossible outcome scores minus infinity, and so does the mean; it has no error.
    with np.errstate(invalid="ignore"):
        return sample_mean(row_scores)


def _score(weighed: _Weighed, predictive: Categorical, y: NDArray[Any]) -> ClassScore:
    scored = _mean(predictive.log_prob(y))
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
