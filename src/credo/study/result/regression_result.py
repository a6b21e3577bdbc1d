"""Regressions that have been judged, and how far they are off on the test rows.

Errors of test rows are summed up by what is typical, and by what a few rows decide.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.distributions.estimate import Estimate
from credo.distributions.predictive import Predictive
from credo.numerics.array import Array
from credo.study.counting import count
from credo.study.result.result import Judged
from credo.study.result.table_model import CandidateScore
from credo.study.result.wording import number, percent

__all__ = ["ErrorSummary", "JudgedRegression"]

FEW = 0.01
"""Share of the rows, at least one of them, that should not decide about all."""

DECISIVE = 0.75
"""Share of the squared errors by which they do: without them the root is half as large."""

OUTLYING = 5.0
"""Those of them are put apart whose error is so many times the root of the others."""


class ErrorSummary(NamedTuple):
    """Errors of test rows, with the rows apart whose errors drown all others.

    Attributes
    ----------
    median
        Half of the rows are off by at most this.
    rmse, r_squared
        Root mean squared error, and share of the variance explained, without the worst rows;
        NaN where nothing varies.
    worst
        The few rows that make up most of the squared errors, if any do, the worst first.
    worst_error
        How far the worst row of all is off.
    """

    median: float
    rmse: float
    r_squared: float
    worst: NDArray[np.intp]
    worst_error: float

    @classmethod
    def of(cls, mean: Array, y: Array) -> ErrorSummary:
        """Return the summary of predictions ``mean`` of outcomes ``y``."""
        squares = (y - mean) ** 2
        order = np.argsort(-squares, kind="stable")
        few, rest = np.split(order, [max(1, int(FEW * len(y)))])
        is_decided = len(rest) > 0 and squares[few].sum() > DECISIVE * squares.sum()
        worst = (
            few[squares[few] > OUTLYING**2 * squares[rest].mean()] if is_decided else few[:0]
        )
        usual = np.delete(np.arange(len(y)), worst)
        mean_square = squares[usual].mean()
        spread = y[usual].var()
        return cls(
            median=float(np.sqrt(np.median(squares))),
            rmse=float(np.sqrt(mean_square)),
            r_squared=float(1 - mean_square / spread) if np.ptp(y[usual]) > 0 else np.nan,
            worst=worst,
            worst_error=float(np.sqrt(squares.max())),
        )

    @property
    def share(self) -> str:
        """What share of the variance is explained, in words."""
        return "none" if self.r_squared < 0 else percent(self.r_squared)

    @property
    def left_out(self) -> str:
        """Which rows the root mean squared error is without, in words; nothing if none."""
        if len(self.worst) == 0:
            return ""
        worst = "row" if len(self.worst) == 1 else count(len(self.worst), "row")
        return f"without the worst {worst}"

    def sentence(self, rmse: float) -> str:
        """Return a caution about the worst rows.

        Parameters
        ----------
        rmse
            The root mean squared error of all rows.
        """
        some = count(len(self.worst), "test row")
        verb = "decides" if len(self.worst) == 1 else "decide"
        return (
            f"{some} {verb} about the error: predictions are off by {number(rmse)} with and by "
            f"{number(self.rmse)} {self.left_out}, of which one is off by "
            f"{number(self.worst_error)}; look at what is odd about it."
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class JudgedRegression(Judged[Predictive]):
    """Regressions weighed by evidence and by cross-validation, averaged and judged.

    Attributes
    ----------
    cv_gain
        Mean cross-validated log score of the candidate that is best by it above that of the
        most probable one, with its standard error; zero if they are the same.
    dropped
        Names of candidates that were cross-validated in some folds only.
    """

    scores: tuple[CandidateScore, ...]
    cv_gain: Estimate
    dropped: tuple[str, ...]

    @property
    def winner(self) -> CandidateScore:
        """The most probable candidate."""
        best: CandidateScore = max(self.candidates, key=lambda score: score.probability)
        return best

    @property
    def cv_winner(self) -> CandidateScore:
        """The candidate with the highest cross-validated log score among those in all folds."""
        judged = (score for score in self.candidates if score.name not in self.dropped)
        best: CandidateScore = max(judged, key=lambda score: score.cv_log_score)
        return best

    @property
    def n_folds(self) -> int:
        """Number of folds that the training rows allowed."""
        return min(self.settings.n_folds, self.data.n_train)

    @cached_property
    def errors(self) -> ErrorSummary:
        """How far the average is off on the test rows."""
        return ErrorSummary.of(self.held_out.predictive.mean(), self.held_out.y)

    @property
    def alone_rmse(self) -> float:
        """How far the mean of the training rows is off on the rows of ``errors.rmse``."""
        usual = np.delete(self.held_out.y, self.errors.worst)
        mean = float(self.training.estimators_[0].intercept_)
        return float(np.sqrt(np.mean((usual - mean) ** 2)))
