"""Models that take tables: what ``credo fit`` saves and ``credo predict`` loads.

A preparation turns rows into numbers, a completion says what may be in their gaps, and an
average of regressions or a stack of classifiers predicts, averaged over the gaps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from credo import study
from credo.data.error import ModelFileError
from credo.data.table.column_name import quoted
from credo.data.table.preparation import PreparedTable, TablePreparation
from credo.data.table.table_input import (
    TableInput,
    TablePrediction,
    TrainingRange,
    prepared_rows,
    require_whole_text,
    trial_rows,
)
from credo.data.table.target import class_names
from credo.decisions.decision import Decision, decide
from credo.decisions.loss_matrix import LossMatrix
from credo.distributions.categorical import Categorical
from credo.distributions.distribution import Distribution
from credo.distributions.predictive import Predictive
from credo.models.ensemble.average import ModelAverage
from credo.models.ensemble.stack import Stack
from credo.models.gaps.gap_average import average_over_gaps
from credo.models.gaps.row_completion import RowCompletion
from credo.numerics.array import Array
from credo.numerics.form import LATER
from credo.numerics.special.log_domain import log_normalize

__all__ = [
    "MIN_PROBABILITY",
    "CandidateScore",
    "ClassScore",
    "Remark",
    "TableClassification",
    "TableModel",
    "TableRegression",
    "Tone",
    "relabeled",
]

MIN_PROBABILITY = 1e-6
"""A candidate less probable takes no part in predictions: far from the training rows it could
outweigh all others, on a probability that is finer than the assumptions behind it."""


Tone = Literal["answer", "fact", "good", "caution"]


@dataclass(frozen=True)
class Remark:
    """A sentence and its tone: the answer, a fact, good news, or a caution."""

    tone: Tone
    text: str


@dataclass(frozen=True)
class CandidateScore:
    """What is known of one candidate, or of the average of all, as plain numbers.

    Attributes
    ----------
    name, n_terms
        What it is called, and how many terms it has besides the intercept; a Gaussian process
        has none.
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
class TableModel(ABC):
    """A preparation and candidates mixed, fitted together to a table.

    The candidates have learned from all rows; ``scores`` were measured before, by fits that
    had not seen the test rows.

    Attributes
    ----------
    preparation
        Rules from table to design matrix.
    completion
        What may be in the gaps of the design matrix.
    training_range
        Where the rows learned from were.
    n_rows, n_test
        Rows learned from, and how many of them served as test rows first.
    scores
        One for each candidate tried, simplest first, and then the mixture of all.
    notes
        Plain sentences: what was left out, what to believe and what not to.
    tones
        The tone of each note; all are facts if there are none.
    """

    preparation: TablePreparation
    completion: RowCompletion
    training_range: TrainingRange
    n_rows: int
    n_test: int
    scores: tuple[Any, ...]
    notes: tuple[str, ...]
    tones: tuple[Tone, ...] = field(default=(), metadata=LATER, kw_only=True)

    @classmethod
    def unscored(
        cls,
        preparation: TablePreparation,
        prepared: PreparedTable,
        completion: RowCompletion,
        n_test: int,
        **own: Any,
    ) -> Self:
        """Return a model of prepared rows that was not judged yet.

        Parameters
        ----------
        preparation, prepared, completion
            Rules from table to design matrix, that of the rows, and what may be in its gaps.
        n_test
            How many of the rows served as test rows first.
        own
            The fields of the kind of model.
        """
        return cls(
            preparation=preparation,
            completion=completion,
            training_range=TrainingRange.of(prepared),
            n_rows=len(prepared.X),
            n_test=n_test,
            scores=(),
            notes=(),
            **own,
        )

    def judged(self, scores: tuple[Any, ...], remarks: Sequence[Remark]) -> Self:
        """Return the model with the scores of its candidates, and what was remarked on them."""
        notes = tuple(remark.text for remark in remarks)
        tones = tuple(remark.tone for remark in remarks)
        return replace(self, scores=scores, notes=notes, tones=tones)

    @property
    def target(self) -> str:
        """The column that is predicted."""
        return self.preparation.target

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """The notes with their tones."""
        tones: Iterable[Tone] = self.tones or repeat("fact")
        return tuple(Remark(tone, note) for tone, note in zip(tones, self.notes, strict=False))

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """Names of the candidates that were fitted to all rows."""

    @abstractmethod
    def predict_dist(self, table: Any) -> Distribution:
        """Return what is predicted of each row, as a distribution.

        Parameters
        ----------
        table
            A `Table`, a path or a data frame, as `predict` takes it, or a `PreparedTable`.
        """

    @abstractmethod
    def point(self, predictive: Any) -> NDArray[Any]:
        """Return the best single prediction of each row: the mean, or the likeliest class."""

    def opened(self, fingerprint: str | None) -> Any:
        """Return the study that a file of this model alone stands for; `load` calls this."""
        return study.Study(self, fingerprint or "")

    def require_usable(self) -> None:
        """Raise an error unless rows can be predicted; `load` calls this on what it read.

        Predicted are a row with nothing in it, and rows across the training range.
        """
        unscored = set(self.names) - {score.name for score in self.scores[:-1]}
        if unscored or not self.scores:
            raise ModelFileError(
                "must score every candidate, and then the mixture of all; found "
                f"{len(self.scores)} scores, none of them of {quoted(sorted(unscored))}"
            )
        if len(self.tones) not in (0, len(self.notes)):
            raise ModelFileError("must have a tone for each note; found other numbers of them")
        predictive = self.predict_dist(trial_rows(self.preparation, self.training_range))
        if not all(np.isfinite(part).all() for part in self._numbers(predictive)):
            raise ModelFileError("must predict finite numbers; found others")

    @abstractmethod
    def _numbers(self, predictive: Any) -> Iterator[Array]:
        """Yield all numbers that predictions show."""

    def _prepared(self, table: Any) -> PreparedTable:
        return prepared_rows(table, self.preparation, self.training_range)


@dataclass(frozen=True, eq=False)
class TableRegression(TableModel):
    """A preparation and an average of regressions, fitted together to a table.

    Predictions average over the candidates whose probability is at least `MIN_PROBABILITY`;
    a row with nothing in it is predicted by the first one, if that uses no column.

    Attributes
    ----------
    average
        The candidates and their probabilities.
    coverage
        Probability of the intervals, unless asked otherwise.
    """

    scores: tuple[CandidateScore, ...]
    average: ModelAverage
    coverage: float

    @property
    def names(self) -> list[str]:
        """Names of the candidates that were fitted to all rows."""
        return self.average.names_

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
        found, has_gap = np.empty((len(rows.prepared.X), 4)), np.isnan(rows.prepared.X).any(1)
        # A row without gaps needs fewer components than the average over those of another.
        for part in (has_gap, ~has_gap):
            if part.any():
                predictive = self.predict_dist(rows.prepared._replace(X=rows.prepared.X[part]))
                ends = predictive.interval(level)
                found[part] = np.column_stack([predictive.mean(), predictive.std(), ends])
        mean, _, low, high = found.T
        is_torn = (mean < low) | (mean > high)
        torn = rows.prepared._replace(X=rows.prepared.X[is_torn])
        notes = rows.notes("interval") + self._torn_notes(torn, len(is_torn))
        columns = dict(zip(("mean", "sd", "low", "high"), found.T, strict=True))
        return TablePrediction(rows.frame(columns), notes)

    def predict_dist(self, table: Any) -> Predictive:
        """Return the mixture of the candidates that count, averaged over gaps, by row."""
        prepared = self._prepared(table)
        parts, share = self._parts(prepared), self.average.probability_[self._counted]
        is_empty = np.asarray(np.isnan(prepared.X).all(axis=1))
        simplest = self.average.estimators_[0]
        if not is_empty.any() or len(simplest.coef_):
            return Predictive.mixed(share / share.sum(), parts)
        # A row with nothing in it is known as well as by the candidate that uses no column.
        alone = average_over_gaps(simplest, self.completion, prepared.frame)
        weights = np.where(is_empty[:, None], 0.0, np.append(share / share.sum(), 0.0))
        weights[is_empty, -1] = 1.0
        return Predictive.mixed(weights, [*parts, alone])

    def _parts(self, prepared: PreparedTable) -> list[Predictive]:
        """Return what each candidate that counts says of each row."""
        X = prepared.frame
        models = [self.average.estimators_[i] for i in self._counted]
        return [average_over_gaps(model, self.completion, X) for model in models]

    def point(self, predictive: Predictive) -> NDArray[Any]:
        """Return the mean of each row."""
        return np.asarray(predictive.mean())

    def _numbers(self, predictive: Predictive) -> Iterator[Array]:
        yield predictive.mean()
        yield predictive.std()
        yield predictive.interval(self.coverage)

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


@dataclass(frozen=True, eq=False)
class TableClassification(TableModel):
    """A preparation and a stack of classifiers, fitted together to a table.

    Attributes
    ----------
    stack
        The classifiers of the classes as text, and their weights.
    labels
        The classes in the type of the training column, rising; None if that is text.
    """

    scores: tuple[ClassScore, ...]
    stack: Stack
    labels: NDArray[Any] | None = field(default=None, metadata=LATER)

    @property
    def names(self) -> list[str]:
        """Names of the classifiers that were fitted to all rows."""
        return self.stack.names_

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, in the order of the probabilities and the type of the training column."""
        return self.stack.classes_ if self.labels is None else self.labels

    @property
    def class_names(self) -> list[str]:
        """The text of each label, in the same order."""
        return self.stack.classes_.tolist() if self.labels is None else class_names(self.labels)

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
            for label, part in zip(self.class_names, predictive.probability.T, strict=True)
        }
        if loss is not None:
            decision = decide(predictive, loss.named_as(self.classes_))
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
            A `LossMatrix`, which may name the classes by their text, or an array with the
            loss of each action (row) for each class (column) in the order of `classes_`. If
            None every error costs 1.
        reject
            What it costs to leave a row undecided; never rejected if None.
        """
        costs = LossMatrix.zero_one(self.classes_) if loss is None else loss
        if isinstance(costs, LossMatrix):
            costs = costs.named_as(self.classes_)
        return decide(self.predict_dist(table), costs, reject)

    def predict_dist(self, table: Any) -> Categorical:
        """Return the mixture of the classifiers, averaged over gaps, one entry per row."""
        inputs = self._prepared(table).frame
        predictive = average_over_gaps(self.stack, self.completion, inputs)
        assert isinstance(predictive, Categorical)
        is_empty = np.isnan(inputs.to_numpy()).all(axis=1)
        if is_empty.any():
            # A row with nothing in it has the shares of the classes.
            share = np.exp(log_normalize(self.completion.joint.log_weight))
            probability = np.where(is_empty[:, None], share, predictive.probability)
            predictive = Categorical(probability, labels=predictive.labels)
        if self.labels is None:
            return predictive
        return relabeled(predictive, self.labels, self.class_names)

    def point(self, predictive: Categorical) -> NDArray[Any]:
        """Return the most probable class of each row."""
        return predictive.mode()

    def require_usable(self) -> None:
        """Raise an error unless rows can be predicted, and the classes are named by text."""
        n_parts = (
            len(self.stack.names_),
            len(self.stack.estimators_),
            len(self.stack.weights_),
        )
        if len(set(n_parts)) > 1:
            raise ModelFileError("must weigh every classifier; found other numbers of weights")
        names = self.stack.classes_
        if names.dtype.kind != "U":
            raise ModelFileError("must name its classes by text; found something else")
        require_whole_text(map(str, names))
        is_list = self.labels is None or np.ndim(self.labels) == 1
        if not is_list or sorted(self.class_names) != sorted(names):
            raise ModelFileError("must have one label for each class; found others")
        super().require_usable()

    def _numbers(self, predictive: Categorical) -> Iterator[Array]:
        yield predictive.probability


def relabeled(
    predictive: Categorical, labels: NDArray[Any], names: Sequence[str]
) -> Categorical:
    """Return probabilities of classes that are known by text with labels of another type.

    Parameters
    ----------
    predictive
        Its labels, as text, are the names in any order.
    labels, names
        The labels in their own order, which may not be that of text, and the text of each.

    Examples
    --------
    >>> found = Categorical([0.7, 0.3], labels=["10", "9"])
    >>> relabeled(found, np.array([9, 10]), ["9", "10"]).probability
    array([0.3, 0.7])
    """
    places = {str(label): place for place, label in enumerate(predictive.labels)}
    order = [places[name] for name in names]
    return Categorical(predictive.probability[..., order], labels=labels)
