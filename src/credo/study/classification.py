"""The task of predicting a class: classifiers offered, stacked by cross-validation, and judged.

They go from class frequencies to curved boundaries. Traps that the table may hold for whoever
judges by it become sentences.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from credo.data.error import TableError
from credo.data.table.column_name import quoted
from credo.data.table.loss_file import read_losses
from credo.data.table.preparation import PreparedTable, TablePreparation
from credo.data.table.target import Target
from credo.decisions.loss_matrix import LossMatrix
from credo.distributions.categorical import Categorical
from credo.distributions.estimate import Estimate
from credo.evaluation.classes.confusion import Confusion
from credo.evaluation.decision_report import DecisionReport, judge_decisions
from credo.evaluation.order_test import stated_p
from credo.evaluation.traps import imbalance, row_order, seen_rows
from credo.features.additive import LinearBasis, SplineBasis
from credo.features.basis import distinct_rows
from credo.features.continued import ContinuedBasis
from credo.features.radial import RadialBasis
from credo.inference.engine.engine import ConvergenceWarning
from credo.models.baseline.baseline_classifier import BaselineClassifier
from credo.models.ensemble.stack import Stack
from credo.models.gaps.gap_average import FoldCompletion, GapAverage, held_out_completion
from credo.models.gaps.row_completion import Completion, RowCompletion
from credo.models.generative.class_conditional import GaussianClassConditional
from credo.models.generative.naive_bayes import NaiveBayes
from credo.models.kernel.gaussian_process_classifier import GaussianProcessClassifier
from credo.models.kernel.relevance_vector import RelevanceVectorClassifier
from credo.models.linear.logistic_regression import LogisticRegression
from credo.models.margin.ada_boost import AdaBoost
from credo.models.margin.support_vector_machine import SupportVectorClassifier
from credo.models.neighbors.nearest_neighbors import NearestNeighborsClassifier
from credo.models.neural.neural_network import NeuralNetworkClassifier
from credo.numerics.array import Array
from credo.numerics.parallel.threads import side_by_side
from credo.study.candidates.candidate import BASELINE
from credo.study.candidates.process import class_process_slate
from credo.study.candidates.slate import (
    LINEAR,
    NETWORK,
    NETWORK_ROWS,
    NETWORK_UNITS,
    RELEVANCE,
    RELEVANCE_ROWS,
    SUPPORT,
    Proposal,
    Slate,
    n_terms,
    worthwhile,
)
from credo.study.progress import Progress
from credo.study.remark.class_remark import class_remarks
from credo.study.result.chance import CONFIDENCE
from credo.study.result.classification_result import JudgedClassification
from credo.study.result.held_out import HeldOut, Split
from credo.study.result.judgment import (
    class_answers,
    class_scores,
    dropped_classifiers,
    dropped_notes,
    is_dropped,
    stack_columns_gain,
    weight_gain,
)
from credo.study.result.result import FitSettings, Judged
from credo.study.result.table_model import ClassScore, Remark, TableClassification, TableModel
from credo.study.result.wording import count
from credo.study.task import StudyRows, TaskName, Trained

__all__ = [
    "CLASSIFICATION",
    "MAX_LINEAR_PARAMETERS",
    "MAX_PARAMETERS",
    "REJECT",
    "bayes_kinds",
    "chosen_loss",
    "class_slate",
    "trap_notes",
]

REJECT = "reject"
"""Name of the action that leaves a row undecided."""

TYPICAL_COLUMNS = 200
"""Columns of the design matrix of a typical candidate."""

MAX_PARAMETERS = 600
"""No curved logistic candidate has more weights than this, over all of its classes."""

MAX_LINEAR_PARAMETERS = 1500
"""Nor has the linear one more than this: each step takes the cube of their number."""

MAX_SUPPORT_ROWS = 1_000
"""Rows, times classes but one, up to which support vectors take less than a second."""

MAX_CENTERS = 60
"""Radial centers, where a fifth of the training rows allows as many."""

MIN_CENTERS = 10
"""Where classes are so many that they leave room for fewer, there are no radial centers."""


class _Classification:
    """Prediction of a class."""

    name: TaskName = "classification"
    doubt = "probabilities"

    def n_threaded(self, n_rows: int) -> int:
        """Return the work of a product of a typical design matrix with itself."""
        return n_rows * TYPICAL_COLUMNS**2

    def checked(self, target: Target, settings: FitSettings, source: str) -> FitSettings:
        """Return the settings with their losses read; these must fit the classes."""
        labels = np.unique(target.y).tolist()
        if isinstance(settings.loss, Path):
            settings = replace(settings, loss=read_losses(settings.loss, labels))
        chosen_loss(settings, labels)
        return settings

    def slate(
        self, X: Array, y: NDArray[Any], preparation: TablePreparation, is_fast: bool = False
    ) -> Slate:
        """Return the classifiers for rows without gaps; if fast, without a process."""
        return class_slate(X, len(np.unique(y)), bayes_kinds(preparation), is_fast)

    def over_gaps(self, model: Any, completion: Completion | FoldCompletion) -> GapAverage:
        """Return a candidate that takes rows with gaps."""
        return _over_gaps(model, completion)

    def train(self, slate: Slate, rows: StudyRows, progress: Progress) -> Trained:
        """Return the classifiers fitted to the training rows, stacked by cross-validation."""
        train, settings = rows.split.train, rows.settings
        n_folds, fold_notes = _folds(train.y, settings.n_folds)
        progress(0.05, "cross-validating the classifiers")
        held = held_out_completion(
            rows.completion, train.prepared.X, rows.split.preparation.level_places
        )
        stack, fit_notes = _stacked(
            slate, held, train.prepared.frame, train.y, n_folds, settings.seed
        )
        dropped = dropped_notes(dropped_classifiers(stack), n_folds)
        progress(0.6, "judging on the test rows and fitting to all rows")
        return Trained(stack, rows.completion, (), (*fold_notes, *fit_notes), dropped)

    def answers(self, trained: Trained, X: Any) -> list[Categorical]:
        """Return what each classifier says of rows, and then what the stack says."""
        return class_answers(trained.mixture, X, trained.completion)

    def scores(
        self, trained: Trained, answers: Sequence[Any], y: NDArray[Any], coverage: float
    ) -> tuple[ClassScore, ...]:
        """Return the scores of each classifier, and then of the stack."""
        return class_scores(trained.mixture, answers, y)

    def columns_gain(self, trained: Trained) -> Estimate:
        """Return the cross-validated log score of the stack above that of the baseline."""
        return stack_columns_gain(trained.mixture)

    def judged(
        self, trained: Trained, rows: StudyRows, common: dict[str, Any]
    ) -> JudgedClassification:
        """Return what was judged, with the confusion of classes, traps and decisions."""
        stack, held_out = trained.mixture, common["held_out"]
        called = held_out.predictive.mode()
        loss = chosen_loss(rows.settings, np.unique(rows.target.y).tolist())
        return JudgedClassification(
            **common,
            stack_gain=weight_gain(stack),
            confusion=Confusion.of(held_out.y, called, labels=stack.classes_),
            trap_notes=trap_notes(rows.split, rows.target, called),
            loss=loss,
            decisions=_decisions(held_out, loss),
        )

    def finish(
        self, judge: Callable[[], Judged[Any]], refit: Callable[[], TableModel]
    ) -> tuple[Judged[Any], TableModel]:
        """Return what both give, done side by side; fits need not settle."""
        work: list[Callable[[], Any]] = [judge, refit]
        # Filters are common to all threads: set within one they may end while it still works.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            judged, model = side_by_side(lambda part: part(), work)
        return judged, model

    def refit(self, trained: Trained, rows: StudyRows) -> TableClassification:
        """Return the same classifiers and rules learned from all rows, weights as trained."""
        labeled, target = rows.table.rows(rows.target.rows), rows.target
        schema = rows.split.schema
        preparation = TablePreparation.learn(labeled, target.name, schema, y=target.y)
        prepared = preparation.prepare(labeled)
        completion = RowCompletion.learn(prepared.X, target.y, preparation.level_places)
        stack = _relearned(trained.mixture, completion, preparation, prepared, target.y)
        n_test = len(rows.split.test.y)
        return TableClassification.unscored(
            preparation, prepared, completion, n_test, stack=stack, labels=target.labels
        )

    def learn(
        self,
        preparation: TablePreparation,
        prepared: PreparedTable,
        y: NDArray[Any],
        settings: FitSettings,
    ) -> TableClassification:
        """Return classifiers of all rows, stacked by folds, that were not judged."""
        completion = RowCompletion.learn(prepared.X, y, preparation.level_places)
        complete = completion.training(prepared.X, y).one_of_each().X
        slate = self.slate(complete, y, preparation, settings.fast).only(settings.models)
        held = held_out_completion(completion, prepared.X, preparation.level_places)
        n_folds, _ = _folds(y, settings.n_folds)
        inputs = prepared.frame
        stack, _ = _stacked(slate, held, inputs, y, n_folds, settings.seed)
        kept = _kept(stack, stack.estimators_)
        return TableClassification.unscored(preparation, prepared, completion, 0, stack=kept)

    def remarks(self, judged: JudgedClassification) -> tuple[Remark, ...]:
        """Return all sentences on classifiers that were judged."""
        return class_remarks(judged)


CLASSIFICATION = _Classification()


def class_slate(
    X: ArrayLike,
    n_classes: int,
    kinds: Mapping[str, str] | None = None,
    is_fast: bool = False,
) -> Slate:
    """Return the classifiers for training inputs ``X``, shape (n_rows, n_columns).

    Those that differ from a simpler one only in a basis that says no more about these inputs
    are left out with a note, and so are those with more weights than rows or than
    `MAX_PARAMETERS` (linear: `MAX_LINEAR_PARAMETERS`), intercepts included, densities in
    more dimensions than that, and what takes long on so many rows.

    Parameters
    ----------
    n_classes
        Each class but one has weights of its own.
    kinds
        Kinds of columns for naive Bayes, see `bayes_kinds`.
    is_fast
        Whether to leave out support and relevance vectors, the neural network and the Gaussian
        process, which take seconds.
    """
    rows = np.asarray(X, dtype=np.float64)
    logistic, notes = _logistic(rows, n_classes)
    found: list[tuple[str, Any]] = [(BASELINE, BaselineClassifier()), *logistic]
    if rows.shape[1] <= MAX_PARAMETERS:
        found.append(("tied gaussian", GaussianClassConditional("tied")))
        found.append(("gaussian", GaussianClassConditional()))
    else:
        notes += [
            f"{name} was left out: the {rows.shape[1]:,} columns are more than the "
            f"{MAX_PARAMETERS} that it may have."
            for name in ("tied gaussian", "gaussian")
        ]
    found.append(("naive bayes", NaiveBayes(kinds=kinds)))
    found.append(("neighbors", NearestNeighborsClassifier()))
    found.append(("boosting", AdaBoost()))
    if is_fast:
        return Slate(tuple(found), tuple(notes))
    n_rows, n_free = len(rows), max(n_classes - 1, 1)
    support = Slate(((SUPPORT, SupportVectorClassifier(probability=True)),), ())
    slow = [support.within(n_rows, MAX_SUPPORT_ROWS // n_free)]
    if len(distinct_rows(rows)) >= RELEVANCE_ROWS[0]:
        relevance = Slate(((RELEVANCE, RelevanceVectorClassifier()),), ())
        slow.append(relevance.within(n_rows, RELEVANCE_ROWS[1] // n_free))
    if len(distinct_rows(rows)) >= NETWORK_ROWS[0]:
        network = NeuralNetworkClassifier(NETWORK_UNITS, random_state=0)
        slow.append(Slate(((NETWORK, network),), ()).within(n_rows, NETWORK_ROWS[1] // n_free))
    slow.append(class_process_slate(rows, n_classes))
    return Slate(tuple(found), tuple(notes)).joined(slow)


def bayes_kinds(preparation: TablePreparation) -> dict[str, str] | None:
    """Return the kinds of columns that are no measured numbers, for naive Bayes; None if none.

    The levels of categories are counted: each category of a row adds one to one of them, so
    that a row is as probable as the product over categories of their level's share. As truth
    values every level would count once more by its absence.
    """
    is_level = set(preparation.level_names)
    return {
        name: "counts" if name in is_level else "bernoulli" for name in preparation.binary_names
    } or None


def chosen_loss(settings: FitSettings, labels: list[str]) -> LossMatrix | None:
    """Return the losses that settings, their file read, ask for; None for no decisions."""
    if not settings.has_decisions:
        return None
    if settings.loss is None:
        loss = LossMatrix.zero_one(labels)
    else:
        assert isinstance(settings.loss, LossMatrix)
        loss = settings.loss.named_as(labels)
        if sorted(map(str, loss.labels)) != sorted(labels):
            raise TableError(
                f"`loss` must have a column for each class, {quoted(labels)}; found "
                f"{quoted(loss.labels)}; name the classes as the table does."
            )
    if settings.reject is None:
        return loss
    if REJECT in loss.actions.tolist():
        raise TableError(
            f"`reject` must add an action of its own; found {REJECT!r} among the actions "
            "already; name that one otherwise, or leave out `reject`."
        )
    return loss.with_reject(settings.reject, REJECT)


def trap_notes(split: Split, target: Target, predicted: NDArray[Any]) -> tuple[str, ...]:
    """Return a sentence for each trap found.

    Parameters
    ----------
    split
        The rows learned from and the test rows.
    target
        The classes of all rows, in the order of the table.
    predicted
        The class predicted for each test row.
    """
    train, test = split.train, split.test
    order = row_order(target.y)
    found = [
        seen_rows(train.prepared.X, test.prepared.X, train.y, test.y),
        imbalance(test.y, predicted),
    ]
    notes = [_capital(trap.sentence) for trap in found if trap.is_found]
    if order.is_found:
        notes.append(
            f"The order of rows tells the class ({stated_p(order.value, 1)}): test rows were "
            "drawn at random, which flatters the model if the order has a meaning, such as "
            "time or groups."
        )
    return tuple(notes)


def _logistic(X: Array, n_classes: int) -> tuple[list[tuple[str, Any]], list[str]]:
    """Return the logistic candidates by name, and notes on those left out."""
    # In a table with fewer rows than columns a class has no more weights than rows.
    n_weights = (n_classes - 1) * min(X.shape[1] + 1, len(X))
    if n_weights > MAX_LINEAR_PARAMETERS:
        return [], [
            f"{name} was left out: {n_classes:,} classes and {X.shape[1]:,} columns make "
            f"{n_weights:,} weights or more, too many to fit in reasonable time."
            for name in (LINEAR, "spline", "radial")
        ]
    max_terms = _max_terms(n_classes)
    kept, notes = worthwhile(X, _proposals(X, max_terms), (LINEAR,), max_terms)
    return [(proposal.name, LogisticRegression(proposal.basis)) for proposal in kept], notes


def _max_terms(n_classes: int) -> int:
    """Return how many terms a class may have, besides its intercept."""
    return max(MAX_PARAMETERS // (n_classes - 1) - 1, 0)


def _proposals(X: Array, max_terms: int) -> Iterator[Proposal]:
    n_rows, n_columns = X.shape
    spline = SplineBasis()
    room = max(max_terms - n_columns, MIN_CENTERS)
    n_centers = max(1, min(MAX_CENTERS, n_rows // 5, room))
    yield Proposal(LINEAR, None, n_columns)
    n_spline = n_terms(spline, X, (spline.n_knots + 1) * n_columns)
    # A tangent at the edge hangs on a few rows, and must not decide about all rows beyond.
    yield Proposal("spline", ContinuedBasis(spline), n_spline)
    yield Proposal("radial", LinearBasis() + RadialBasis(n_centers), n_columns + n_centers)


def _over_gaps(model: Any, completion: Completion | FoldCompletion) -> GapAverage:
    """Return a candidate that takes rows with gaps.

    Those that hold rows out while they learn, or take longer the more rows there are, get one
    completion of each.
    """
    is_single = isinstance(
        model,
        AdaBoost
        | NearestNeighborsClassifier
        | GaussianProcessClassifier
        | NeuralNetworkClassifier
        | RelevanceVectorClassifier
        | SupportVectorClassifier,
    )
    return GapAverage(model, completion, is_single)


def _folds(y: NDArray[Any], wanted: int) -> tuple[int, tuple[str, ...]]:
    """Return how many folds the rarest class allows, and a note if that is fewer."""
    labels, counts = np.unique(y, return_counts=True)
    n_folds = int(min(wanted, counts.min()))
    if n_folds == wanted:
        return n_folds, ()
    rarest = str(labels[counts.argmin()])
    return n_folds, (
        f"Cross-validation has {n_folds} folds instead of {wanted}, because class {rarest!r} "
        f"has only {counts.min()} training rows.",
    )


def _stacked(
    slate: Slate,
    completion: Completion | FoldCompletion,
    X: pd.DataFrame,
    y: NDArray[Any],
    n_folds: int,
    seed: int,
) -> tuple[Stack, tuple[str, ...]]:
    """Return a fitted stack, and a note instead of warnings where fits did not settle."""
    wrapped = Stack(
        [(name, _over_gaps(model, completion)) for name, model in slate.candidates],
        cv=n_folds,
        random_state=seed,
        drop_early=True,
        share_settings=True,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        wrapped.fit(X, y)
    stack = copy(wrapped)
    stack.estimators = list(slate.candidates)
    stack.estimators_ = [member.estimator_ for member in wrapped.estimators_]
    n_early = sum(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    note = (
        f"{count(n_early, 'fit')} in the folds stopped at the limit of steps; scores are of "
        "what was reached."
    )
    return stack, ((note,) if n_early else ())


def _decisions(
    held_out: HeldOut[Categorical], loss: LossMatrix | None
) -> DecisionReport | None:
    if loss is None:
        return None
    return judge_decisions(held_out.y, held_out.predictive, loss, coverage=CONFIDENCE)


def _relearned(
    stack: Stack,
    completion: RowCompletion,
    preparation: TablePreparation,
    prepared: PreparedTable,
    y: NDArray[Any],
) -> Stack:
    """Return a stack of the same weights, whose members have learned from other rows.

    A process keeps the kernel that it has learned, as long as the columns are the same.
    """
    X, kinds = prepared.frame, bayes_kinds(preparation)
    is_same = tuple(stack.feature_names_in_) == prepared.names
    members = [
        _over_gaps(
            found.settled()
            if is_same and isinstance(found, GaussianProcessClassifier)
            else _of_kinds(model, kinds),
            completion,
        )
        for (_, model), found in zip(stack.estimators, stack.estimators_, strict=True)
    ]
    again = _kept(stack, members)
    fitted = side_by_side(lambda member: member.fit(X, y), again.estimators_)
    again.estimators_ = [member.estimator_ for member in fitted]
    again.n_features_in_ = X.shape[1]
    again.feature_names_in_ = np.asarray(X.columns, dtype=object)
    return again


def _of_kinds(model: Any, kinds: dict[str, str] | None) -> Any:
    """Return a clone of a classifier, naive Bayes with the kinds of the columns."""
    again = clone(model)
    return again.set_params(kinds=kinds) if isinstance(again, NaiveBayes) else again


def _kept(stack: Stack, members: Sequence[Any]) -> Stack:
    """Return a stack of other members and the same weights.

    Classifiers that were dropped have no weight, and are left out.
    """
    again = copy(stack)
    kept = np.flatnonzero(~is_dropped(stack)).tolist()
    again.names_ = [stack.names_[k] for k in kept]
    again.weights_, again.log_scores_ = stack.weights_[kept], stack.log_scores_[kept]
    again.held_out_ = stack.held_out_[kept]
    again.estimators_ = [members[k] for k in kept]
    again.estimators = [
        (name, member.estimator if isinstance(member, GapAverage) else member)
        for name, member in zip(again.names_, again.estimators_, strict=True)
    ]
    return again


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
