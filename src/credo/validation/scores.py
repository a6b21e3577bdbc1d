"""Scores of predictive distributions against what came true, each with its standard error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from credo.distributions.categorical import Categorical
from credo.distributions.distribution import Distribution
from credo.distributions.estimate import Estimate, root_mean_square, sample_mean
from credo.distributions.parameter import probability, require
from credo.distributions.univariate import Univariate
from credo.numerics.array import Array, as_float, unmasked
from credo.numerics.quotation import quote
from credo.validation.argument import (
    as_categorical,
    is_fractional,
    label_column,
    old_arguments,
    predicted_first,
    require_no_model,
)
from credo.validation.probability_score import class_log_score
from credo.validation.proportion import share_interval
from credo.validation.score import Score, score_table

__all__ = [
    "Evaluation",
    "absolute_error",
    "crps_score",
    "evaluate",
    "interval_score",
    "is_covered",
    "log_score",
    "needed_coverage",
    "squared_error",
]


_old_order = old_arguments(
    predicted_first, "y_pred y_true coverage", predictive="y_pred", y="y_true"
)


@_old_order
def log_score(y_true: ArrayLike, y_pred: Any, labels: ArrayLike | None = None) -> Array:
    """Return the log predictive density of each outcome; higher is better.

    Parameters
    ----------
    y_true
        Outcomes; NaN gives NaN. For classes their labels, and the score is the log probability:
        minus that is what ``sklearn.metrics.log_loss`` is the mean of.
    y_pred
        One distribution per row, shape (n_samples,), or per row and output, such as
        ``model.predict_dist(X)``. For classes also an array of probabilities, shape (n, K), or
        of those of the second of two classes, shape (n,).
    labels
        The classes in the order of the columns of such an array; those of ``y_true``, in rising
        order, if None.

    Notes
    -----
    Strictly proper [gneiting2007]_, and unbounded below: one impossible outcome costs
    infinity.

    Examples
    --------
    >>> from credo.distributions import Normal
    >>> log_score([0.0], Normal([0.0], [1.0])).round(3)
    array([-0.919])
    >>> log_score(["sun", "rain"], [[0.2, 0.8], [0.5, 0.5]]).round(3)
    array([-0.223, -0.693])
    """
    if isinstance(y_pred, Distribution) and not isinstance(y_pred, Categorical):
        return y_pred.log_prob(_outcomes(y_true, y_pred))
    said = _class_probability(y_true, y_pred, labels)
    return class_log_score(said, label_column("y_true", y_true))


@_old_order
def crps_score(y_true: ArrayLike, y_pred: Univariate) -> Array:
    """Return the continuous ranked probability score of each outcome; lower is better.

    Strictly proper, in the units of ``y``; the absolute error if the distribution is a point.
    """
    outcomes = _outcomes(y_true, y_pred, Univariate)
    return y_pred.crps(outcomes)


@_old_order
def squared_error(y_true: ArrayLike, y_pred: Any) -> Array:
    """Return the squared distance of each outcome from what was predicted; lower is better.

    From the mean of a distribution, or from a number of ``model.predict(X)``.

    Examples
    --------
    >>> squared_error([1.0, 2.0], [1.5, 4.0])
    array([0.25, 4.  ])
    """
    return np.asarray(_errors(y_true, y_pred) ** 2)


@_old_order
def absolute_error(y_true: ArrayLike, y_pred: Any) -> Array:
    """Return the distance of each outcome from what was predicted; lower is better.

    From the mean of a distribution, or from a number of ``model.predict(X)``.
    """
    return np.abs(_errors(y_true, y_pred))


@_old_order
def interval_score(y_true: ArrayLike, y_pred: Univariate, coverage: float = 0.9) -> Array:
    """Return the width of the central interval plus a fine for a miss; lower is better.

    ``high - low + 2 / (1 - coverage) * distance outside``, in the units of ``y``. Proper:
    neither wider nor narrower intervals than believed in pay [gneiting2007]_.

    Examples
    --------
    >>> from credo.distributions import Uniform
    >>> interval_score([0.5, 1.25], Uniform([0.0, 0.0], [1.0, 1.0]), coverage=0.5)
    array([0.5, 2.5])
    """
    if not 0 < coverage < 1:
        raise ValueError(
            f"coverage must be above 0 and below 1; found {coverage:g}. Pass a probability, "
            "such as 0.9."
        )
    outcomes = _outcomes(y_true, y_pred, Univariate)
    low, high = np.moveaxis(y_pred.interval(coverage), -1, 0)
    outside = np.maximum(low - outcomes, 0.0) + np.maximum(outcomes - high, 0.0)
    return np.asarray(high - low + 2.0 / (1.0 - coverage) * outside)


@_old_order
def is_covered(
    y_true: ArrayLike, y_pred: Univariate, coverage: float = 0.9
) -> NDArray[np.bool_]:
    """Return whether each outcome lies in the central interval of the given coverage.

    Examples
    --------
    >>> from credo.distributions import Normal
    >>> is_covered([1.6, 1.7], Normal([0.0, 0.0], 1.0), coverage=0.9)
    array([ True, False])
    """
    return np.asarray(needed_coverage(y_true, y_pred) <= probability("coverage", coverage))


@_old_order
def needed_coverage(y_true: ArrayLike, y_pred: Univariate) -> Array:
    """Return the smallest coverage whose central interval holds each outcome.

    ``1 - 2 min(P(X <= y), P(X >= y))``: zero at the median, one outside the support. If
    predictions are calibrated, and continuous, it is uniform on (0, 1).
    """
    outcomes = _outcomes(y_true, y_pred, Univariate)
    above = y_pred.survival(outcomes)
    if y_pred.is_discrete:
        above = above + y_pred.prob(outcomes)
    tail = np.minimum(y_pred.cdf(outcomes), above)
    return np.asarray(np.where(np.isnan(outcomes), np.nan, np.maximum(1.0 - 2.0 * tail, 0.0)))


@dataclass(frozen=True, eq=False)
class Evaluation:
    """How well predictions met what came true, on rows that no fit has seen.

    Attributes
    ----------
    n_rows
        Number of rows scored.
    log_score
        Mean log predictive density; higher is better.
    crps
        Mean continuous ranked probability score, in the units of y; lower is better.
    rmse
        Root mean squared error of the mean, with its standard error by the delta method;
        lower is better.
    mean_absolute_error
        Mean distance from the mean; lower is better.
    coverage
        Share of outcomes inside their central interval, to be compared with
        ``nominal_coverage``: best if equal. Its standard error is zero where none or all are
        inside; `proportion_interval` is honest there too.
    nominal_coverage
        Probability that the intervals claim.
    r_squared
        Share of the squared distance from the mean of these y that is explained: 1 is
        perfect, 0 no better than that mean, below 0 worse; NaN if y is constant.
    interval_score
        Mean width of the intervals plus the fine for misses; lower is better.
    """

    n_rows: int
    log_score: Estimate
    crps: Estimate
    rmse: Estimate
    mean_absolute_error: Estimate
    coverage: Estimate
    nominal_coverage: float
    r_squared: float
    interval_score: Estimate

    def scores(self, coverage: float = 0.9) -> tuple[Score, ...]:
        """Return every score with its interval and whether higher is better.

        Parameters
        ----------
        coverage
            Probability of the intervals of the scores, exact for the share of outcomes
            covered and normal for means.
        """
        means = {
            "log_score": (self.log_score, True),
            "crps": (self.crps, False),
            "interval_score": (self.interval_score, False),
            "rmse": (self.rmse, False),
            "mean_absolute_error": (self.mean_absolute_error, False),
        }
        share = float(self.coverage.value)
        low, high = share_interval(share * self.n_rows, self.n_rows, coverage)
        note = f"best if {self.nominal_coverage:g}"
        return (
            *(
                Score.of_estimate(name, mean, coverage, side)
                for name, (mean, side) in means.items()
            ),
            Score("coverage", share, float(low), float(high), None, "exact", note),
        )

    def table(self, coverage: float = 0.9) -> pd.DataFrame:
        """Return every score with its interval and direction, one row for each."""
        return score_table(self.scores(coverage))


@_old_order
def evaluate(y_true: ArrayLike, y_pred: Univariate, coverage: float = 0.9) -> Evaluation:
    """Return all scores of predictions, with standard errors over rows.

    Parameters
    ----------
    y_true
        What came true, shape (n_samples,).
    y_pred
        One distribution per row, shape (n_samples,), such as ``model.predict_dist(X)``.
    coverage
        Probability of the central intervals whose hits are counted.

    Examples
    --------
    >>> from credo.distributions import Normal
    >>> report = evaluate([0.0, 2.0, 4.0], Normal([0.0, 1.0, 2.0], 1.0))
    >>> report.rmse.value.round(3), report.coverage.value.round(3), round(report.r_squared, 3)
    (np.float64(1.291), np.float64(0.667), 0.375)
    """
    outcomes = _complete(y_true, y_pred)
    errors = absolute_error(outcomes, y_pred)
    rmse = root_mean_square(errors)
    return Evaluation(
        n_rows=len(outcomes),
        log_score=_mean(log_score(outcomes, y_pred)),
        crps=_mean(crps_score(outcomes, y_pred)),
        rmse=rmse,
        mean_absolute_error=_mean(errors),
        coverage=_mean(is_covered(outcomes, y_pred, coverage)),
        nominal_coverage=float(coverage),
        r_squared=_r_squared(rmse, outcomes),
        interval_score=_mean(interval_score(outcomes, y_pred, coverage)),
    )


def _outcomes(y_true: ArrayLike, y_pred: Distribution, kind: type[Any] = Distribution) -> Array:
    if not isinstance(y_pred, kind):
        is_array = not isinstance(y_pred, Distribution) and np.ndim(y_pred)
        found = "an array" if is_array else type(y_pred).__name__
        raise TypeError(
            f"y_pred must be a predictive distribution of numbers; found {found}. Pass "
            "model.predict_dist(X) of a regressor, after what came true."
        )
    outcomes = _numbers(y_true)
    if outcomes.shape != y_pred.batch_shape:
        raise ValueError(
            "y_true must hold one outcome for each prediction; found shape "
            f"{outcomes.shape} for predictions of shape {y_pred.batch_shape}. Pass the "
            "outcomes of the same rows, in the same order."
        )
    return outcomes


def _numbers(y_true: Any) -> Array:
    require_no_model("y_true", y_true, "numbers, one for each row", "what came true")
    if isinstance(y_true, Distribution):
        raise TypeError(
            f"y_true must hold numbers, one for each row; found {type(y_true).__name__}, a "
            "distribution. Pass what came true."
        )
    text = [value for value in np.ravel(unmasked(y_true))[:1] if isinstance(value, str)]
    if text:
        raise ValueError(
            "y_true must hold numbers, as the predictions do; found "
            f"{quote(str(text[0]))}. Pass what came true."
        )
    return as_float(y_true)


def _class_probability(y_true: Any, y_pred: Any, labels: ArrayLike | None) -> Categorical:
    is_column = not isinstance(y_pred, Distribution) and np.ndim(y_pred) == 1
    if is_column and is_fractional(label_column("y_true", y_true)):
        raise TypeError(
            "y_pred must be a predictive distribution where y_true holds numbers; found an "
            "array. Pass model.predict_dist(X), and what came true before it."
        )
    return as_categorical(y_true, y_pred, labels)


def _errors(y_true: ArrayLike, y_pred: Any) -> Array:
    if isinstance(y_pred, Distribution):
        return _outcomes(y_true, y_pred) - y_pred.mean()
    require_no_model("y_pred", y_pred, "numbers, one for each row", "model.predict(X)")
    outcomes, said = _numbers(y_true), as_float(y_pred)
    if outcomes.shape != said.shape:
        raise ValueError(
            "y_true and y_pred must hold one number for each row; found shapes "
            f"{outcomes.shape} and {said.shape}. Pass the same rows, in the same order."
        )
    return outcomes - said


def _complete(y_true: ArrayLike, y_pred: Univariate) -> Array:
    """Return outcomes that a summary over rows can be made of."""
    outcomes = _outcomes(y_true, y_pred, Univariate)
    if outcomes.ndim != 1 or not len(outcomes):
        raise ValueError(
            "evaluate needs one output and at least one row; found predictions of shape "
            f"{outcomes.shape}. Evaluate y_true[:, k] with y_pred[:, k] for each output k."
        )
    return require(
        "y_true", outcomes, np.isfinite, "finite", "Leave out rows without an outcome."
    )


def _mean(scores: ArrayLike) -> Estimate:
    # An impossible outcome scores minus infinity, and so does the mean; it has no error.
    with np.errstate(invalid="ignore"):
        return sample_mean(scores)


def _r_squared(rmse: Estimate, outcomes: Array) -> float:
    alone = float(root_mean_square(outcomes - outcomes.mean()).value)
    return 1.0 - (float(rmse.value) / alone) ** 2 if alone > 0 else float("nan")
