"""What the trials of models say side by side: losses, contrasts of pairs, a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from credo.distributions.estimate import root_mean_square, sample_mean
from credo.evaluation.classes.confusion import Confusion
from credo.evaluation.classes.rates import matthews_correlation
from credo.evaluation.comparison.difference import paired_difference
from credo.evaluation.comparison.fold_difference import correlated_t
from credo.evaluation.comparison.trial import Trial
from credo.evaluation.comparison.verdict import Contrast
from credo.inference.engine.stacking import stacking_weights
from credo.numerics.array import Array, as_float
from credo.validation.outcome import MISSING, Outcome
from credo.validation.proportion import proportion_interval
from credo.validation.split_plan import NEVER, SplitPlan

__all__ = ["contrasts", "row_losses", "summary_table"]

Rows = NDArray[np.intp]

COVERAGE = 0.95


def row_losses(trials: Sequence[Trial], outcome: Outcome, fold: Rows) -> Array:
    """Return the loss of each model in each row, shape (n_models, n).

    For classes 1 where the answer was wrong, NaN where the class is not known; for numbers
    the squared error as a share of the variance of y. NaN in rows that are never held out.
    """
    if outcome.codes is not None:
        wrong = np.array([t.predicted != outcome.y for t in trials], dtype=np.float64)
        return np.where((outcome.codes == MISSING) | (fold == NEVER), np.nan, wrong)
    y = as_float(outcome.y).reshape(len(outcome.y), -1)
    variance = np.where(y.var(axis=0) > 0, y.var(axis=0), 1.0)
    errors = [(as_float(t.predicted).reshape(y.shape) - y) ** 2 / variance for t in trials]
    return np.where(fold == NEVER, np.nan, [error.mean(axis=1) for error in errors])


def contrasts(
    score: str,
    trials: Sequence[Trial],
    losses: Array,
    plan: SplitPlan,
    rope: float,
    is_class: bool,
) -> list[Contrast]:
    """Return the difference of each two models in log score or accuracy.

    Models without a finite score are left out.

    Parameters
    ----------
    is_class
        Whether the outcomes are classes, so that a loss is 0 or 1.
    """
    values = -losses if score == "accuracy" else np.array([t.log_score for t in trials])
    known = ~np.isnan(losses).any(axis=0)
    values, fold = values[:, known], plan.fold[known]
    able = [i for i in range(len(trials)) if np.isfinite(values[i]).all()]
    answer = []
    for i, j in combinations(able, 2):
        names = trials[i].name, trials[j].name
        found = _over_folds(names, values[i] - values[j], fold, plan.overlap, rope)
        if score == "accuracy" and is_class:
            rows = _over_rows(names, values[i] < 0, values[j] < 0, rope)
            found = rows if len(np.unique(fold)) == 1 else _more_cautious(rows, found)
        answer.append(found)
    return answer


def _over_folds(
    names: tuple[str, str], gain: Array, fold: Rows, overlap: float, rope: float
) -> Contrast:
    _, code = np.unique(fold, return_inverse=True)
    if not code.any():
        # One part held out: its rows are independent, given the fitted models.
        found = correlated_t(gain, rope, correlation=0.0)
    else:
        by_fold = np.bincount(code, weights=gain) / np.bincount(code)
        found = correlated_t(by_fold, rope, correlation=overlap / (1 + overlap))
    p_value = 2 * min(found.positive, 1 - found.positive)
    return Contrast(*names, found.estimate, found.scale, found.df, p_value, rope)


def _over_rows(
    names: tuple[str, str],
    is_error_first: NDArray[Any],
    is_error_second: NDArray[Any],
    rope: float,
) -> Contrast:
    found = paired_difference(is_error_first, is_error_second)
    # The spread of the interval, which is honest where no answer differed.
    reach = 0.5 * (found.high - found.low)
    unit = Contrast("", "", 0.0, 1.0, np.inf, 1.0, 0.0).reach(found.coverage)
    return Contrast(*names, -found.estimate, reach / unit, np.inf, found.p_value, rope)


def _more_cautious(rows: Contrast, folds: Contrast) -> Contrast:
    """Return the difference over rows, as unsure as the less sure of two tests.

    McNemar's test leaves out the luck of training, which folds show; few errors leave folds
    without a spread, which the interval over rows has.
    """
    wider = max(rows, folds, key=lambda contrast: contrast.reach(COVERAGE))
    p_value = max(rows.p_value, folds.p_value)
    return replace(rows, scale=wider.scale, df=wider.df, p_value=p_value)


def summary_table(
    trials: Sequence[Trial], outcome: Outcome, losses: Array, probability: Array
) -> pd.DataFrame:
    """Return one row for each model with all its numbers; see `Comparison`."""
    scores = np.array([t.log_score for t in trials])
    known = np.asarray(~np.isnan(losses).any(axis=0))
    with np.errstate(invalid="ignore"):
        mean = [sample_mean(row[known]) for row in scores]
    able = ~np.isnan(scores[:, known]).all(axis=1)
    weights = np.full(len(trials), np.nan)
    if np.isfinite(scores[:, known]).any():
        weights[able] = stacking_weights(scores[np.ix_(able, known)])
    columns: dict[str, Any] = {
        "log_score": [float(m.value) for m in mean],
        "log_score_error": [float(m.standard_error) for m in mean],
        "n_impossible": np.isneginf(scores[:, known]).sum(axis=1),
        **(_class_columns if outcome.codes is not None else _number_columns)(
            trials, outcome, losses[:, known], known
        ),
        "log_evidence": [t.evidence.value for t in trials],
        "evidence_method": [t.evidence.method for t in trials],
        "probability": probability,
        "stacking_weight": weights,
        "fit_seconds": [t.seconds for t in trials],
    }
    return pd.DataFrame(columns, index=pd.Index([t.name for t in trials], name="model"))


def _class_columns(
    trials: Sequence[Trial], outcome: Outcome, losses: Array, known: NDArray[np.bool_]
) -> dict[str, Any]:
    n_errors, n = losses.sum(axis=1), losses.shape[1]
    low, high = proportion_interval(n_errors, n, coverage=0.95).T
    tables = [Confusion.of(outcome.y[known], t.predicted[known]) for t in trials]
    return {
        "error_rate": n_errors / n,
        "error_rate_low": low,
        "error_rate_high": high,
        "mcc": [matthews_correlation(table).value for table in tables],
    }


def _number_columns(
    trials: Sequence[Trial], outcome: Outcome, losses: Array, known: NDArray[np.bool_]
) -> dict[str, Any]:
    y = as_float(outcome.y).reshape(len(outcome.y), -1)
    errors = [as_float(t.predicted).reshape(y.shape) - y for t in trials]
    rmse = [
        root_mean_square(np.hypot.reduce(e[known], axis=1) / np.sqrt(e.shape[1]))
        for e in errors
    ]
    return {
        "rmse": [float(root.value) for root in rmse],
        "rmse_error": [float(root.standard_error) for root in rmse],
    }
