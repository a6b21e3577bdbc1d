"""A classification that takes tables: what ``credo fit`` saves for a target of classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.data.error import ModelFileError
from credo.data.table.column_name import quoted
from credo.data.table.preparation import TablePreparation
from credo.data.table.table_input import (
    TableInput,
    TablePrediction,
    named_inputs,
    prepared_rows,
    require_whole_text,
    trial_rows,
)
from credo.data.table.training_range import TrainingRange
from credo.decisions.decision import Decision, decide
from credo.decisions.loss_matrix import LossMatrix
from credo.distributions.categorical import Categorical
from credo.models.ensemble.stack import Stack
from credo.models.gaps.gap_average import average_over_gaps
from credo.models.gaps.row_completion import RowCompletion
from credo.numerics.array import Array
from credo.numerics.special.log_domain import log_normalize

__all__ = ["ClassScore", "TableClassification"]


@dataclass(frozen=True)
class ClassScore:
    """What is known of one classifier, or of the stack of all, as plain numbers.

    Attributes
    ----------
    name
        What it is called.
    weight
        Its share in the mixture of classifiers with the highest cross-validated log score.
    cv_log_score, cv_log_score_error
        Mean log score of training rows in folds that the fit had not seen, and its standard
        error.
    log_score, log_score_error
        Mean log score of the test rows and its standard error.
    error_rate, error_low, error_high
        Share of test rows whose most probable class is another, and its 95 % interval.
    mcc, mcc_low, mcc_high
        Matthews' correlation of true and most probable class on the test rows, and its 95 %
        interval: 1 is perfect, 0 no better than chance.
    """

    name: str
    weight: float
    cv_log_score: float
    cv_log_score_error: float
    log_score: float
    log_score_error: float
    error_rate: float
    error_low: float
    error_high: float
    mcc: float
    mcc_low: float
    mcc_high: float


@dataclass(frozen=True, eq=False)
class TableClassification:
    """A preparation and a stack of classifiers, fitted together to a table.

    The classifiers have learned from all rows; weights and ``scores`` were measured before, by
    fits that had not seen the test rows.

    Attributes
    ----------
    preparation
        Rules from table to design matrix.
    completion
        What may be in the gaps of the design matrix.
    stack
        The classifiers and their weights.
    training_range
        Where the rows learned from were.
    n_rows, n_test
        Rows learned from, and how many of them served as test rows first.
    scores
        One for each classifier tried, simplest first, and then the stack.
    notes
        Plain sentences: what was left out, what to believe and what not to.
    """

    preparation: TablePreparation
    completion: RowCompletion
    stack: Stack
    training_range: TrainingRange
    n_rows: int
    n_test: int
    scores: tuple[ClassScore, ...]
    notes: tuple[str, ...]

    @property
    def target(self) -> str:
        """The column that is predicted."""
        return self.preparation.target

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, in the order of the probabilities."""
        return self.stack.classes_

    def predict(self, table: Any, loss: LossMatrix | None = None) -> TablePrediction:
        """Return the class and the probabilities of each row of a table.

        Parameters
        ----------
        table
            A `Table`, a path or a data frame with the input columns of training, in any
            order.
        loss
            What each action costs in each class; adds the action of least expected loss,
            what it is expected to cost, and the runner-up.
        """
        rows = TableInput.of(table, self.preparation, self.training_range)
        predictive = self.predict_dist(rows.prepared)
        columns: dict[str, Any] = {"class": predictive.mode()}
        columns |= {
            f"probability of {label}": part
            for label, part in zip(self.classes_, predictive.probability.T, strict=True)
        }
        if loss is not None:
            decision = decide(predictive, loss)
            columns |= {
                "action": decision.action,
                "expected_loss": decision.expected_loss,
                "runner_up": decision.runner_up,
                "runner_up_loss": decision.runner_up_loss,
            }
        return TablePrediction(rows.frame(columns), rows.notes("probabilities"))

    def predict_proba(self, table: Any) -> Array:
        """Return class probabilities, shape (n_rows, n_classes), in the order of `classes_`.

        Parameters
        ----------
        table
            A `Table`, a path or a data frame, as `predict` takes it.
        """
        return self.predict_dist(table).probability

    def decide(self, table: Any, loss: Any = None, reject: float | None = None) -> Decision:
        """Return the action of least expected loss for each row of a table.

        Parameters
        ----------
        table
            A `Table`, a path or a data frame, as `predict` takes it.
        loss
            A `LossMatrix`, or an array with the loss of each action (row) for each class
            (column) in the order of `classes_`. If None every error costs 1.
        reject
            What it costs to leave a row undecided; never rejected if None.
        """
        costs = LossMatrix.zero_one(self.classes_) if loss is None else loss
        return decide(self.predict_dist(table), costs, reject)

    def predict_dist(self, table: Any) -> Categorical:
        """Return the mixture of the classifiers, averaged over gaps, one entry per row.

        Parameters
        ----------
        table
            A `Table`, a path or a data frame, as `predict` takes it, or a `PreparedTable`.
        """
        inputs = named_inputs(prepared_rows(table, self.preparation, self.training_range))
        predictive = average_over_gaps(self.stack, self.completion, inputs)
        assert isinstance(predictive, Categorical)
        is_empty = np.isnan(inputs.to_numpy()).all(axis=1)
        if not is_empty.any():
            return predictive
        # A row with nothing in it has the shares of the classes.
        share = np.exp(log_normalize(self.completion.joint.log_weight))
        probability = np.where(is_empty[:, None], share, predictive.probability)
        return Categorical(probability, labels=predictive.labels)

    def require_usable(self) -> None:
        """Raise an error unless rows can be predicted; `load` calls this on what it read.

        Predicted are a row with nothing in it, and rows across the training range.
        """
        unscored = set(self.stack.names_) - {score.name for score in self.scores[:-1]}
        if unscored or not self.scores:
            raise ModelFileError(
                "must score every classifier of the stack, and then the stack; found "
                f"{len(self.scores)} scores, none of them of {quoted(sorted(unscored))}"
            )
        if (
            not len(self.stack.names_)
            == len(self.stack.estimators_)
            == len(self.stack.weights_)
        ):
            raise ModelFileError("must weigh every classifier; found other numbers of weights")
        if self.classes_.dtype.kind != "U":
            raise ModelFileError("must name its classes by text; found something else")
        require_whole_text(map(str, self.classes_))
        predictive = self.predict_dist(trial_rows(self.preparation, self.training_range))
        if not np.isfinite(predictive.probability).all():
            raise ModelFileError("must predict probabilities; found other numbers")
