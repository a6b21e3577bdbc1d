"""A regression that takes tables: what ``credo fit`` saves and ``credo predict`` loads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.data.error import ModelFileError
from credo.data.preparation import PreparedTable, TablePreparation
from credo.data.table_input import TableInput, TablePrediction, named_inputs, trial_rows
from credo.data.training_range import TrainingRange
from credo.distributions.mixture import Mixture
from credo.models.average import ModelAverage

__all__ = [
    "MIN_PROBABILITY",
    "CandidateScore",
    "TableRegression",
]

MIN_PROBABILITY = 1e-6
"""A candidate less probable takes no part in predictions: far from the training rows it could
outweigh all others, on a probability that is finer than the assumptions behind it."""


@dataclass(frozen=True)
class CandidateScore:
    """What is known of one candidate, or of the average of all, as plain numbers.

    Attributes
    ----------
    name, n_terms
        What it is called, and how many terms it has besides the intercept.
    log_evidence, probability
        On the training rows; equal prior probabilities.
    cv_weight
        Its share in the mixture of candidates with the highest cross-validated log score.
    cv_log_score, cv_log_score_error
        Mean log score of training rows in folds that the fit had not seen, and its standard
        error.
    log_score, log_score_error, rmse, coverage, r_squared
        On the test rows: the mean log score and its standard error, the root mean squared
        error, the share of rows inside their interval, the share of variance explained.
    """

    name: str
    n_terms: int
    log_evidence: float
    probability: float
    cv_weight: float
    cv_log_score: float
    cv_log_score_error: float
    log_score: float
    log_score_error: float
    rmse: float
    coverage: float
    r_squared: float


@dataclass(frozen=True, eq=False)
class TableRegression:
    """A preparation and an average of models, fitted together to a table.

    The models have learned from all rows; ``scores`` were measured before, by a fit that had
    not seen the test rows. Predictions average over the models whose probability is at least
    `MIN_PROBABILITY`.

    Attributes
    ----------
    preparation
        Rules from table to design matrix.
    average
        The models and their probabilities.
    training_range
        Where the rows learned from were.
    coverage
        Probability of the intervals, unless asked otherwise.
    n_rows, n_test
        Rows learned from, and how many of them served as test rows first.
    scores
        One for each candidate, simplest first, and then the average.
    notes
        Plain sentences: what was left out, what to believe and what not to.
    """

    preparation: TablePreparation
    average: ModelAverage
    training_range: TrainingRange
    coverage: float
    n_rows: int
    n_test: int
    scores: tuple[CandidateScore, ...]
    notes: tuple[str, ...]

    @property
    def target(self) -> str:
        """The column that is predicted."""
        return self.preparation.target

    def predict(self, table: Any, coverage: float | None = None) -> TablePrediction:
        """Return predictions for a `Table`, a path or a data frame.

        Parameters
        ----------
        table
            Has the input columns of training, in any order.
        coverage
            Probability of the interval from low to high; that of training if not given.
        """
        rows = TableInput.of(table, self.preparation, self.training_range)
        predictive = self.predict_dist(rows.prepared)
        low, high = predictive.interval(self.coverage if coverage is None else coverage).T
        columns = {"mean": predictive.mean(), "sd": predictive.std(), "low": low, "high": high}
        is_torn = (columns["mean"] < low) | (columns["mean"] > high)
        notes = rows.notes("interval") + self._torn_notes(predictive, is_torn)
        return TablePrediction(rows.frame(columns), notes)

    def predict_dist(self, prepared: PreparedTable) -> Mixture:
        """Return the mixture of the candidates that count, one entry per row."""
        X = named_inputs(prepared)
        parts = [self.average.estimators_[i].predict_dist(X).marginal for i in self._counted]
        share = self.average.probability_[self._counted]
        return Mixture(share / share.sum(), parts)

    def require_usable(self) -> None:
        """Raise an error unless rows can be predicted; `load` calls this on what it read.

        Predicted are a row with nothing in it, and rows across the training range.
        """
        if len(self.scores) != len(self.average.names_) + 1:
            raise ModelFileError(
                "must score every candidate and the average; found "
                f"{len(self.scores)} scores of {len(self.average.names_)} candidates"
            )
        predictive = self.predict_dist(trial_rows(self.preparation, self.training_range))
        told = [predictive.mean(), predictive.std(), *predictive.interval(self.coverage).T]
        if not np.isfinite(told).all():
            raise ModelFileError("must predict finite numbers; found others")

    @property
    def left_out(self) -> tuple[str, ...]:
        """Names of the candidates that are too improbable to take part in predictions."""
        counted = set(self._counted.tolist())
        return tuple(name for i, name in enumerate(self.average.names_) if i not in counted)

    @property
    def _counted(self) -> NDArray[np.intp]:
        return np.flatnonzero(self.average.probability_ >= MIN_PROBABILITY)

    def _torn_notes(self, predictive: Mixture, is_torn: NDArray[np.bool_]) -> tuple[str, ...]:
        """Return a sentence on rows whose mean an improbable candidate has carried away."""
        if not is_torn.any():
            return ()
        torn = predictive[is_torn]
        pull = np.array([part.mean() for part in torn.components]) - torn.quantile(0.5)
        share = self.average.probability_[self._counted]
        culprit = int(np.argmax((share[:, None] * np.abs(pull)).max(axis=1)))
        name = self.average.names_[self._counted[culprit]]
        n_rows, n_torn = len(is_torn), int(is_torn.sum())
        return (
            f"In {n_torn:,} of {n_rows:,} row{'s' * (n_rows > 1)} the mean lies outside the "
            f"interval, because {name}, a candidate of probability {share[culprit]:.2g}, is "
            "far from all others there: trust the interval, and neither mean nor sd.",
        )
