"""A regression that takes tables: what ``credo fit`` saves and ``credo predict`` loads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.data.error import ModelFileError
from credo.data.table.column_name import quoted
from credo.data.table.preparation import PreparedTable, TablePreparation
from credo.data.table.table_input import (
    TableInput,
    TablePrediction,
    named_inputs,
    prepared_rows,
    trial_rows,
)
from credo.data.table.training_range import TrainingRange
from credo.distributions.distribution import Distribution
from credo.distributions.mixture import Mixture
from credo.models.ensemble.average import ModelAverage
from credo.models.gaps.gap_average import average_over_gaps
from credo.models.gaps.row_completion import RowCompletion
from credo.numerics.array import Array

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
        error; of a candidate that was not asked about all folds, an estimate of it.
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
    `MIN_PROBABILITY`; of a row with nothing in it the first model tells, if it uses no column.

    Attributes
    ----------
    preparation
        Rules from table to design matrix.
    completion
        What may be in the gaps of the design matrix.
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
    completion: RowCompletion
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
        level = self.coverage if coverage is None else coverage
        told, has_gap = np.empty((len(rows.prepared.X), 4)), np.isnan(rows.prepared.X).any(1)
        # A row without gaps needs fewer components than the average over those of another.
        for part in (has_gap, ~has_gap):
            if part.any():
                told[part] = self._told(rows.prepared._replace(X=rows.prepared.X[part]), level)
        mean, _, low, high = told.T
        is_torn = (mean < low) | (mean > high)
        torn = rows.prepared._replace(X=rows.prepared.X[is_torn])
        notes = rows.notes("interval") + self._torn_notes(torn, len(is_torn))
        columns = dict(zip(("mean", "sd", "low", "high"), told.T, strict=True))
        return TablePrediction(rows.frame(columns), notes)

    def predict_dist(self, table: Any) -> Mixture:
        """Return the mixture of the candidates that count, averaged over gaps, by row.

        Parameters
        ----------
        table
            A `Table`, a path or a data frame, as `predict` takes it, or a `PreparedTable`.
        """
        prepared = prepared_rows(table, self.preparation, self.training_range)
        parts, share = self._parts(prepared), self.average.probability_[self._counted]
        is_empty = np.asarray(np.isnan(prepared.X).all(axis=1))
        simplest = self.average.estimators_[0]
        if not is_empty.any() or len(simplest.coef_):
            return Mixture(share / share.sum(), parts)
        # A row with nothing in it is known as well as by the candidate that uses no column.
        marginal = average_over_gaps(simplest, self.completion, named_inputs(prepared)).marginal
        weights = np.where(is_empty[:, None], 0.0, np.append(share / share.sum(), 0.0))
        weights[is_empty, -1] = 1.0
        return Mixture(weights, [*parts, marginal])

    def _parts(self, prepared: PreparedTable) -> list[Distribution]:
        """Return what each candidate that counts says of each row."""
        X = named_inputs(prepared)
        models = [self.average.estimators_[i] for i in self._counted]
        return [average_over_gaps(model, self.completion, X).marginal for model in models]

    def _told(self, prepared: PreparedTable, coverage: float) -> Array:
        """Return mean, standard deviation and ends of the interval, shape (n_rows, 4)."""
        predictive = self.predict_dist(prepared)
        return np.column_stack(
            [predictive.mean(), predictive.std(), predictive.interval(coverage)]
        )

    def require_usable(self) -> None:
        """Raise an error unless rows can be predicted; `load` calls this on what it read.

        Predicted are a row with nothing in it, and rows across the training range.
        """
        unscored = set(self.average.names_) - {score.name for score in self.scores[:-1]}
        if unscored or not self.scores:
            raise ModelFileError(
                "must score every candidate of the average, and then the average; found "
                f"{len(self.scores)} scores, none of them of {quoted(sorted(unscored))}"
            )
        predictive = self.predict_dist(trial_rows(self.preparation, self.training_range))
        told = [predictive.mean(), predictive.std(), *predictive.interval(self.coverage).T]
        if not np.isfinite(told).all():
            raise ModelFileError("must predict finite numbers; found others")

    @property
    def left_out(self) -> tuple[str, ...]:
        """Names of the candidates that are too improbable to take part in predictions."""
        counted = {self.average.names_[i] for i in self._counted}
        return tuple(score.name for score in self.scores[:-1] if score.name not in counted)

    @property
    def _counted(self) -> NDArray[np.intp]:
        return np.flatnonzero(self.average.probability_ >= MIN_PROBABILITY)

    def _torn_notes(self, torn: PreparedTable, n_rows: int) -> tuple[str, ...]:
        """Return a sentence on rows whose mean an improbable candidate has carried away."""
        if not len(torn.X):
            return ()
        middle = self.predict_dist(torn).quantile(0.5)
        pull = np.array([part.mean() for part in self._parts(torn)]) - middle
        share = self.average.probability_[self._counted]
        culprit = int(np.argmax((share[:, None] * np.abs(pull)).max(axis=1)))
        name = self.average.names_[self._counted[culprit]]
        return (
            f"In {len(torn.X):,} of {n_rows:,} row{'s' * (n_rows > 1)} the mean lies outside "
            f"the interval, because {name}, a candidate of probability {share[culprit]:.2g}, "
            "is far from all others there: trust the interval, and neither mean nor sd.",
        )
