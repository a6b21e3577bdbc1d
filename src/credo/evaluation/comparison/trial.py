"""One model in a comparison: its held-out answers, its evidence and its cost."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from credo.inference.engine.model_evidence import Evidence
from credo.numerics.array import Array
from credo.validation.cross_validation import cross_validate
from credo.validation.fold_fit import fold_members, refit_folds
from credo.validation.held_out import has_predictive, predictive_of
from credo.validation.outcome import MISSING, Outcome, class_codes
from credo.validation.residual_normal import MIN_RESIDUALS, held_out_normal
from credo.validation.scores import log_score
from credo.validation.split_plan import NEVER, Pair, SplitPlan

__all__ = ["Trial", "trial"]

Answers = tuple[Array, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Trial:
    """What came of one model.

    Attributes
    ----------
    name
        Of the model.
    log_score
        Of each held-out row, shape (n,); NaN where the model gives no probabilities. Of a
        regressor that only has ``predict``, that of a normal fitted to its residuals.
    predicted
        What it would have answered in each held-out row, a class or a number.
    evidence
        Of the fit to all rows.
    seconds
        That fitting all rows took.
    failure
        Why the model could not be fitted; None if it could.
    has_own_spread
        Whether the model says by itself how far off it may be.
    """

    name: str
    log_score: Array
    predicted: NDArray[Any]
    evidence: Evidence
    seconds: float
    failure: Exception | None = None
    has_own_spread: bool = True

    @property
    def error(self) -> str:
        """The failure in words, with what it came from; empty if there is none."""
        return "" if self.failure is None else _words(self.failure)


def trial(name: str, model: Any, X: Any, outcome: Outcome, plan: SplitPlan) -> Trial:
    """Return held-out scores, evidence and time of a model, or why it failed.

    A failure is that data or settings were refused, or that numbers or a run went wrong. Other
    errors, such as a wrong name, are mistakes in a program: they are raised, and say in which
    model.
    """
    try:
        log_scores, predicted = _held_out(model, X, outcome, plan)
        _require_predictions(outcome, predicted, plan.fold != NEVER)
        has_own_spread = outcome.classes is not None or not np.isnan(log_scores).all()
        if not has_own_spread:
            log_scores = _residual_log_score(outcome, predicted, plan.fold != NEVER)
        start = time.perf_counter()
        fitted = clone(model).fit(X, outcome.y)
        seconds = time.perf_counter() - start
        evidence = Evidence.of_model(fitted)
    except (ValueError, TypeError, ArithmeticError, RuntimeError) as failure:
        nothing = np.empty(0)
        return Trial(name, nothing, nothing, Evidence(np.nan, "none", "", ()), 0.0, failure)
    except Exception as error:
        error.add_note(f"This happened while {name!r} was compared with other models.")
        raise
    return Trial(name, log_scores, predicted, evidence, seconds, None, has_own_spread)


def _held_out(model: Any, X: Any, outcome: Outcome, plan: SplitPlan) -> Answers:
    """Return log score and answer of each row that is held out."""
    if plan.pairs is not None:
        return _by_pairs(model, X, outcome, plan.pairs)
    if has_predictive(model) or hasattr(model, "classes_") or not _is_regressor(model):
        found = cross_validate(model, X, outcome.y, labels=plan.fold)
        return found.log_score, found.predicted
    predicted = np.empty(outcome.y.shape)
    models = refit_folds(model, X, outcome.y, plan.fold)
    for part, rows in zip(models, fold_members(plan.fold), strict=True):
        predicted[rows] = part.predict(_safe_indexing(X, rows))
    return np.full(len(outcome.y), np.nan), predicted


def _require_predictions(
    outcome: Outcome, predicted: NDArray[Any], is_judged: NDArray[np.bool_]
) -> None:
    if outcome.classes is None and np.isnan(predicted[is_judged]).any():
        raise ValueError(
            "predictions must have a mean in every held-out row; found rows without one, as of "
            "a Student t with 1 degree of freedom, learned from 2 rows. Add rows, or use more "
            "folds, so that each is learned from more."
        )


def _residual_log_score(
    outcome: Outcome, predicted: NDArray[Any], is_judged: NDArray[np.bool_]
) -> Array:
    """Return the log score of numbers with the noise that other held-out rows show.

    NaN if there are too few of those to learn a spread from.
    """
    found = np.full(len(is_judged), np.nan)
    if np.count_nonzero(is_judged) >= MIN_RESIDUALS:
        y = outcome.y[is_judged]
        rows = log_score(y, held_out_normal(y, predicted[is_judged]))
        found[is_judged] = rows.reshape(len(y), -1).sum(axis=1)
    return found


def _by_pairs(model: Any, X: Any, outcome: Outcome, pairs: tuple[Pair, ...]) -> Answers:
    """Return the same where not every row is held out by what all others teach."""
    n = len(outcome.y)
    log_scores = np.full(n, np.nan)
    if outcome.classes is None:
        predicted: NDArray[Any] = np.full(outcome.y.shape, np.nan)
    else:
        predicted = np.full(n, outcome.classes[0], dtype=outcome.classes.dtype)
    answer = _numbers if outcome.classes is None else _classes
    for train, test in pairs:
        fitted = clone(model).fit(_safe_indexing(X, train), outcome.y[train])
        log_scores[test], predicted[test] = answer(
            fitted, _safe_indexing(X, test), _part(outcome, test)
        )
    return log_scores, predicted


def _numbers(fitted: Any, X: Any, outcome: Outcome) -> Answers:
    n = len(outcome.y)
    if not has_predictive(fitted):
        return np.full(n, np.nan), np.asarray(fitted.predict(X)).reshape(outcome.y.shape)
    predictive = predictive_of(fitted, X)
    found = np.asarray(log_score(outcome.y, predictive))
    return found.reshape(n, -1).sum(axis=1), predictive.mean()


def _classes(fitted: Any, X: Any, outcome: Outcome) -> Answers:
    assert outcome.classes is not None
    assert outcome.codes is not None
    n = len(outcome.y)
    if not has_predictive(fitted):
        answer = class_codes(fitted.predict(X), outcome.classes)
        return np.full(n, np.nan), outcome.classes[answer]
    predictive = predictive_of(fitted, X)
    probability = np.zeros((n, len(outcome.classes)))
    probability[:, class_codes(predictive.labels, outcome.classes)] = predictive.probability
    guess = predictive.mode() if hasattr(fitted, "predict_dist") else fitted.predict(X)
    with np.errstate(divide="ignore"):
        found = np.log(probability[np.arange(n), outcome.codes])
    answer = class_codes(guess, outcome.classes)
    return np.where(outcome.codes == MISSING, np.nan, found), outcome.classes[answer]


def _part(outcome: Outcome, rows: NDArray[np.intp]) -> Outcome:
    codes = None if outcome.codes is None else outcome.codes[rows]
    return Outcome(outcome.y[rows], outcome.classes, codes)


def _words(failure: BaseException) -> str:
    found = f"{type(failure).__name__}: {failure}"
    hidden = None if failure.__suppress_context__ else failure.__context__
    source = failure.__cause__ or hidden
    return found if source is None else f"{found} (from {_words(source)})"


def _is_regressor(model: Any) -> bool:
    return getattr(model.__sklearn_tags__(), "estimator_type", None) == "regressor"
