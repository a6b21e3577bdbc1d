"""A regression that takes tables: what ``credo fit`` saves and ``credo predict`` loads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from credo.data import cell
from credo.data.preparation import PreparedTable, TablePreparation
from credo.data.table import as_table
from credo.data.training_range import TrainingRange
from credo.models.average import ModelAverage

__all__ = ["CandidateScore", "TablePrediction", "TableRegression", "named_inputs"]


@dataclass(frozen=True)
class CandidateScore:
    """What is known of one candidate, or of the average of all, as plain numbers.

    Attributes
    ----------
    name, n_terms
        What it is called, and how many terms it has besides the intercept.
    log_evidence, probability
        On the training rows; equal prior probabilities.
    cv_log_score, cv_log_score_error
        Mean log score of training rows in folds that the fit had not seen, and its standard
        error; NaN for the average.
    log_score, log_score_error, rmse, coverage, r_squared
        On the test rows: the mean log score and its standard error, the root mean squared
        error, the share of rows inside their interval, the share of variance explained.
    """

    name: str
    n_terms: int
    log_evidence: float
    probability: float
    cv_log_score: float
    cv_log_score_error: float
    log_score: float
    log_score_error: float
    rmse: float
    coverage: float
    r_squared: float


class TablePrediction(NamedTuple):
    """Mean, sd, low and high of each row, in its order, and notes in plain sentences.

    Columns that number the rows come first, so that predictions can be joined.
    """

    frame: pd.DataFrame
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class TableRegression:
    """A preparation and an average of models, fitted together to a table.

    The models have learned from all rows; ``scores`` were measured before, by a fit that had
    not seen the test rows.

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
        checked = as_table(table, text_columns=self.preparation.text_columns)
        prepared = self.preparation.prepare(checked)
        predictive = self.average.predict_dist(named_inputs(prepared))
        low, high = predictive.interval(self.coverage if coverage is None else coverage).T
        columns = {"mean": predictive.mean(), "sd": predictive.std(), "low": low, "high": high}
        numbering = {
            column.name: cell.text(checked.frame[column.name])
            for column in self.preparation.left_out
            if column.kind == "id" and column.name in set(checked.columns) - set(columns)
        }
        frame = pd.DataFrame(numbering | columns)
        return TablePrediction(frame, prepared.notes + self.training_range.notes(prepared))


def named_inputs(prepared: PreparedTable) -> pd.DataFrame:
    """Return a design matrix as a frame, so that models know the names of its columns."""
    return pd.DataFrame(prepared.X, columns=list(prepared.names))
