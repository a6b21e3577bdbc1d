"""Scores of predictive distributions against what came true, each with its standard error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from credo.distributions.categorical import Categorical
from credo.distributions.distribution import Distribution
from credo.distributions.estimate import Estimate, root_mean_square, sample_mean
from credo.distributions.parameter import probability, require
from credo.distributions.univariate import Univariate
from credo.numerics.array import Array, as_float
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


def log_score(predictive: Distribution, y: ArrayLike) -> Array:
    """Return the log predictive density of each outcome; higher is better.

    Parameters
    ----------
    predictive
        One distribution per row, shape (n_samples,), or per row and output.
    y
        Outcomes, of the same shape; NaN gives NaN. For classes their labels, and the score is
        the log probability.

    Notes
    -----
    Strictly proper [gneiting2007]_, and unbounded below: one impossible outcome costs
    infinity.

    Examples
    --------
    >>> from credo.distributions import Normal
    >>> log_score(Normal([0.0], [1.0]), [0.0]).round(3)
    array([-0.919])
    """
    if isinstance(predictive, Categorical):
        return class_log_score(predictive, y)
    return predictive.log_prob(_outcomes(predictive, y))


def crps_score(predictive: Univariate, y: ArrayLike) -> Array:
    """Return the continuous ranked probability score of each outcome; lower is better.

    Strictly proper, in the units of ``y``; the absolute error if the distribution is a point.
    """
    return predictive.crps(_outcomes(predictive, y))


def squared_error(predictive: Distribution, y: ArrayLike) -> Array:
    """Return the squared distance of each outcome from the mean; lower is better."""
    return np.asarray((_outcomes(predictive, y) - predictive.mean()) ** 2)


def absolute_error(predictive: Distribution, y: ArrayLike) -> Array:
    """Return the distance of each outcome from the mean; lower is better."""
    return np.abs(_outcomes(predictive, y) - predictive.mean())


def interval_score(predictive: Univariate, y: ArrayLike, coverage: float = 0.9) -> Array:
    """Return the width of the central interval plus a fine for a miss; lower is better.

    ``high - low + 2 / (1 - coverage) * distance outside``, in the units of ``y``. Proper:
    neither wider nor narrower intervals than believed in pay [gneiting2007]_.

    Examples
    --------
    >>> from credo.distributions import Uniform
    >>> interval_score(Uniform([0.0, 0.0], [1.0, 1.0]), [0.5, 1.25], coverage=0.5)
    array([0.5, 2.5])
    """
    if not 0 < coverage < 1:
        raise ValueError(
            f"coverage must be above 0 and below 1; found {coverage:g}. Pass a probability, "
            "such as 0.9."
        )
    outcomes = _outcomes(predictive, y)
    low, high = np.moveaxis(predictive.interval(coverage), -1, 0)
    outside = np.maximum(low - outcomes, 0.0) + np.maximum(outcomes - high, 0.0)
    return np.asarray(high - low + 2.0 / (1.0 - coverage) * outside)


def is_covered(
    predictive: Univariate, y: ArrayLike, coverage: float = 0.9
) -> NDArray[np.bool_]:
    """Return whether each outcome lies in the central interval of the given coverage.

    Examples
    --------
    >>> from credo.distributions import Normal
    >>> is_covered(Normal([0.0, 0.0], 1.0), [1.6, 1.7], coverage=0.9)
    array([ True, False])
    """
    return np.asarray(needed_coverage(predictive, y) <= probability("coverage", coverage))


def needed_coverage(predictive: Univariate, y: ArrayLike) -> Array:
    """Return the smallest coverage whose central interval holds each outcome.

    ``1 - 2 min(P(X <= y), P(X >= y))``: zero at the median, one outside the support. If
    predictions are calibrated, and continuous, it is uniform on (0, 1).
    """
    outcomes = _outcomes(predictive, y)
    above = predictive.survival(outcomes)
    if predictive.is_discrete:
        above = above + predictive.prob(outcomes)
    tail = np.minimum(predictive.cdf(outcomes), above)
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


def evaluate(predictive: Univariate, y: ArrayLike, coverage: float = 0.9) -> Evaluation:
    """Return all scores of predictions, with standard errors over rows.

    Parameters
    ----------
    predictive
        One distribution per row, shape (n_samples,).
    y
        What came true, shape (n_samples,).
    coverage
        Probability of the central intervals whose hits are counted.

    Examples
    --------
    >>> from credo.distributions import Normal
    >>> report = evaluate(Normal([0.0, 1.0, 2.0], 1.0), [0.0, 2.0, 4.0])
    >>> report.rmse.value.round(3), report.coverage.value.round(3), round(report.r_squared, 3)
    (np.float64(1.291), np.float64(0.667), 0.375)
    """
    outcomes = _complete(predictive, y)
    errors = absolute_error(predictive, outcomes)
    rmse = root_mean_square(errors)
    return Evaluation(
        n_rows=len(outcomes),
        log_score=_mean(log_score(predictive, outcomes)),
        crps=_mean(crps_score(predictive, outcomes)),
        rmse=rmse,
        mean_absolute_error=_mean(errors),
        coverage=_mean(is_covered(predictive, outcomes, coverage)),
        nominal_coverage=float(coverage),
        r_squared=_r_squared(rmse, outcomes),
        interval_score=_mean(interval_score(predictive, outcomes, coverage)),
    )


def _outcomes(predictive: Distribution, y: ArrayLike) -> Array:
    if not isinstance(predictive, Distribution):
        raise TypeError(
            "predictions must be distributions; found "
            f"{type(predictive).__name__}. Pass model.predict_dist(X)."
        )
    outcomes = as_float(y)
    if outcomes.shape != predictive.batch_shape:
        raise ValueError(
            "y must hold one outcome for each prediction; found shape "
            f"{outcomes.shape} for predictions of shape {predictive.batch_shape}. Pass the "
            "outcomes of the same rows, in the same order."
        )
    return outcomes


def _complete(predictive: Univariate, y: ArrayLike) -> Array:
    """Return outcomes that a summary over rows can be made of."""
    outcomes = _outcomes(predictive, y)
    if outcomes.ndim != 1 or not len(outcomes):
        raise ValueError(
            "evaluate needs one output and at least one row; found predictions of shape "
            f"{outcomes.shape}. Evaluate predictive[:, k] with y[:, k] for each output k."
        )
    return require("y", outcomes, np.isfinite, "finite", "Leave out rows without an outcome.")


def _mean(scores: ArrayLike) -> Estimate:
    # An impossible outcome scores minus infinity, and so does the mean; it has no error.
    with np.errstate(invalid="ignore"):
        return sample_mean(scores)


def _r_squared(rmse: Estimate, outcomes: Array) -> float:
    alone = float(root_mean_square(outcomes - outcomes.mean()).value)
    return 1.0 - (float(rmse.value) / alone) ** 2 if alone > 0 else float("nan")
