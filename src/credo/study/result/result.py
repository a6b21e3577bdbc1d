"""What the main job answers, as values that the terminal and the report both read.

Errors of test rows are summed up by what is typical, and by what a few rows decide.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.data.table.target import Task
from credo.distributions.estimate import Estimate
from credo.distributions.predictive import Predictive
from credo.models.ensemble.average import ModelAverage
from credo.numerics.array import Array
from credo.study.counting import count
from credo.study.dependence.profile import Profile
from credo.study.result.data_summary import DataSummary
from credo.study.result.held_out import HeldOut
from credo.study.result.table_regression import CandidateScore, TableRegression
from credo.study.result.wording import number, percent

__all__ = [
    "ErrorSummary",
    "FitSettings",
    "JudgedRegression",
    "RegressionResult",
    "field_values",
]


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


@dataclass(frozen=True)
class FitSettings:
    """How the main job is done.

    Parameters
    ----------
    test_share
        Part of the rows that is held out of training.
    seed
        Of the random choice of test rows and folds.
    coverage
        Probability of the intervals.
    n_folds
        Folds of the cross-validation within the training rows.
    task
        Whether the target is predicted as classes or as a number; "auto" decides by what it
        holds.
    loss
        File with what each action costs in each class, for a target of classes.
    reject
        What it costs to leave a row undecided; every error costs one if there is no file.
    ignore
        Columns that are not used.

    Examples
    --------
    >>> FitSettings(coverage=90)
    Traceback (most recent call last):
    ValueError: coverage must be above 0 and below 1; found 90; pass a share such as 0.9.
    """

    test_share: float = 0.2
    seed: int = 0
    coverage: float = 0.9
    n_folds: int = 10
    task: Task = "auto"
    loss: Path | None = None
    reject: float | None = None
    ignore: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, example in (("test_share", 0.2), ("coverage", 0.9)):
            value = getattr(self, name)
            if not 0 < value < 1:
                raise ValueError(
                    f"{name} must be above 0 and below 1; found {value:g}; pass a share such "
                    f"as {example}."
                )
        if self.seed < 0:
            raise ValueError(f"seed must not be negative; found {self.seed}; pass 0 or more.")
        if self.reject is not None and not 0 < self.reject < float("inf"):
            raise ValueError(
                f"reject must be positive and finite; found {self.reject:g}; pass the cost of "
                "leaving a row undecided."
            )

    @property
    def has_decisions(self) -> bool:
        """Whether actions are to be chosen, and judged."""
        return self.loss is not None or self.reject is not None


@dataclass(frozen=True, eq=False)
class JudgedRegression:
    """Candidates weighed by evidence and by cross-validation, averaged and judged.

    Attributes
    ----------
    settings, data
        How it was done, and on what.
    training
        The candidates fitted to the training rows, and their average.
    scores
        One for each candidate, simplest first, and then the average.
    cv_gain
        Mean cross-validated log score of the candidate that is best by it above that of the
        most probable one, with its standard error; zero if they are the same.
    columns_gain
        Mean cross-validated log score of the average above that of the constant, which uses no
        column.
    held_out
        The test rows.
    profiles
        How the average's prediction moves with the columns that move it most.
    slate_notes
        A sentence for each candidate that was left out, and on those dropped early.
    dropped
        Names of candidates that were cross-validated in some folds only.
    """

    settings: FitSettings
    data: DataSummary
    training: ModelAverage
    scores: tuple[CandidateScore, ...]
    cv_gain: Estimate
    columns_gain: Estimate
    held_out: HeldOut[Predictive]
    profiles: tuple[Profile, ...]
    slate_notes: tuple[str, ...]
    dropped: tuple[str, ...]

    @property
    def candidates(self) -> tuple[CandidateScore, ...]:
        """The scores of the candidates."""
        return self.scores[:-1]

    @property
    def average(self) -> CandidateScore:
        """The scores of the average."""
        return self.scores[-1]

    @property
    def constant(self) -> CandidateScore:
        """The scores of the mean alone."""
        return self.scores[0]

    @property
    def winner(self) -> CandidateScore:
        """The most probable candidate."""
        return max(self.candidates, key=lambda score: score.probability)

    @property
    def cv_winner(self) -> CandidateScore:
        """The candidate with the highest cross-validated log score among those in all folds."""
        judged = (score for score in self.candidates if score.name not in self.dropped)
        return max(judged, key=lambda score: score.cv_log_score)

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


@dataclass(frozen=True, eq=False)
class RegressionResult(JudgedRegression):
    """What was judged, and the model that came of it.

    Attributes
    ----------
    model
        The same candidates fitted to all rows, to be saved.
    """

    model: TableRegression


def field_values(judged: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by name, as they are."""
    return {field.name: getattr(judged, field.name) for field in fields(judged)}
