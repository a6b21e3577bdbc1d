"""The main job for a target of classes: classifiers stacked by folds, and judged.

Traps that the table may hold for whoever judges by it are told in sentences.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from credo.data.error import TableError
from credo.data.table.loss_file import read_losses
from credo.data.table.preparation import TablePreparation
from credo.data.table.table import Table
from credo.data.table.table_input import named_inputs
from credo.data.table.target import Target
from credo.data.table.training_range import TrainingRange
from credo.decisions.loss_matrix import LossMatrix
from credo.distributions.categorical import Categorical
from credo.evaluation.classes.confusion import Confusion
from credo.evaluation.decision_report import DecisionReport, judge_decisions
from credo.evaluation.order_test import stated_p
from credo.evaluation.traps import imbalance, row_order, seen_rows
from credo.inference.engine.engine import ConvergenceWarning
from credo.models.ensemble.stack import Stack
from credo.models.gaps.gap_average import FoldCompletion, GapAverage, held_out_completion
from credo.models.gaps.row_completion import Completion, RowCompletion
from credo.models.generative.naive_bayes import NaiveBayes
from credo.numerics.array import Array
from credo.numerics.parallel.threads import side_by_side
from credo.study.candidates.candidate import BASELINE
from credo.study.candidates.class_slate import bayes_kinds, class_slate, over_gaps
from credo.study.dependence.class_profile import ClassProfile, class_profiles
from credo.study.dependence.profile import N_PROFILES
from credo.study.progress import Progress
from credo.study.remark.class_remark import class_findings
from credo.study.result.chance import CONFIDENCE
from credo.study.result.classification_result import ClassificationResult, JudgedClassification
from credo.study.result.data_summary import DataSummary
from credo.study.result.held_out import HeldOut, held_out_rows
from credo.study.result.judgment import (
    class_answers,
    class_scores,
    dropped_classifiers,
    dropped_notes,
    is_dropped,
    stack_columns_gain,
    weight_gain,
)
from credo.study.result.result import FitSettings, field_values
from credo.study.result.table_classification import ClassScore, TableClassification
from credo.study.result.wording import count
from credo.study.split import Part, Split, split_rows

__all__ = [
    "REJECT",
    "chosen_loss",
    "judged_classification",
    "trap_notes",
]


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


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


S = TypeVar("S")
T = TypeVar("T")

REJECT = "reject"
"""Name of the action that leaves a row undecided."""


def judged_classification(
    table: Table,
    target: Target,
    settings: FitSettings,
    progress: Progress,
    on_judged: Callable[[JudgedClassification], object],
) -> ClassificationResult:
    """Return classifiers for a target of classes, judged on rows that they have not seen.

    They are fitted to all rows beside that; ``on_judged`` does not wait for it.
    """
    loss = chosen_loss(settings, np.unique(target.y).tolist())
    split_rng, _ = np.random.default_rng(settings.seed).spawn(2)
    progress(0.0, "typing the columns")
    split = split_rows(table, target, settings.test_share, split_rng, settings.ignore)
    train = split.train
    n_classes = len(np.unique(train.y))
    X, levels = train.prepared.X, split.preparation.level_places
    completion = RowCompletion.learn(X, train.y, levels)
    complete = completion.training(X, train.y).one_of_each().X
    slate = class_slate(complete, n_classes, bayes_kinds(split.preparation))
    n_folds, fold_notes = _folds(train, settings.n_folds)
    progress(0.05, "cross-validating the classifiers")
    stack = Stack(
        list(slate.candidates),
        cv=n_folds,
        random_state=settings.seed,
        drop_early=True,
        share_settings=True,
    )
    held = held_out_completion(completion, X, levels)
    stack, fit_notes = _fitted(stack, held, train.inputs, train.y)
    dropped = dropped_notes(dropped_classifiers(stack), n_folds)
    progress(0.6, "judging on the test rows and fitting to all rows")

    def judge() -> JudgedClassification:
        scores, held_out, profiles = _judgment(stack, completion, split, complete)
        called = held_out.predictive.mode()
        judged = JudgedClassification(
            settings=settings,
            data=DataSummary.of(table, target, split.schema, split.preparation),
            training=stack,
            scores=scores,
            stack_gain=weight_gain(stack),
            columns_gain=stack_columns_gain(stack),
            held_out=held_out,
            confusion=Confusion.of(held_out.y, called, labels=stack.classes_),
            profiles=profiles,
            slate_notes=(
                *slate.notes,
                *fold_notes,
                *fit_notes,
                *dropped,
            ),
            trap_notes=trap_notes(split, target, called),
            loss=loss,
            decisions=_decisions(held_out, loss),
        )
        on_judged(judged)
        return judged

    judged, model = _both(
        judge, partial(_refitted, table.rows(target.rows), target, split, stack)
    )
    said = class_findings(judged)
    kept = [found.text for found in said if found.tone in ("answer", "caution")]
    model = replace(model, scores=judged.scores, notes=(*judged.data.notes, *dropped, *kept))
    progress(1.0, "done")
    return ClassificationResult(**field_values(judged), model=model)


def chosen_loss(settings: FitSettings, labels: list[str]) -> LossMatrix | None:
    """Return the losses that the settings ask for, or None if they ask for no decisions."""
    if not settings.has_decisions:
        return None
    if settings.loss is None:
        loss = LossMatrix.zero_one(labels)
    else:
        loss = read_losses(settings.loss, labels)
    if settings.reject is None:
        return loss
    if REJECT in loss.actions.tolist():
        raise TableError(
            f"--reject must add an action of its own; found {REJECT!r} among the actions "
            "already; name that one otherwise, or leave out --reject."
        )
    return loss.with_reject(settings.reject, REJECT)


def _folds(train: Part, wanted: int) -> tuple[int, tuple[str, ...]]:
    """Return how many folds the rarest class allows, and a note if that is fewer."""
    labels, counts = np.unique(train.y, return_counts=True)
    n_folds = int(min(wanted, counts.min()))
    if n_folds == wanted:
        return n_folds, ()
    rarest = str(labels[counts.argmin()])
    return n_folds, (
        f"Cross-validation has {n_folds} folds instead of {wanted}, because class {rarest!r} "
        f"has only {counts.min()} training rows.",
    )


def _fitted(
    stack: Stack, completion: Completion | FoldCompletion, X: pd.DataFrame, y: NDArray[Any]
) -> tuple[Stack, tuple[str, ...]]:
    """Return a fitted stack, and a note instead of warnings where fits did not settle."""
    members = [(name, over_gaps(model, completion)) for name, model in stack.estimators]
    wrapped = clone(stack).set_params(estimators=members)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        wrapped.fit(X, y)
    fitted = copy(wrapped)
    fitted.estimators = stack.estimators
    fitted.estimators_ = [member.estimator_ for member in wrapped.estimators_]
    n_early = sum(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    note = (
        f"{count(n_early, 'fit')} in the folds stopped at the limit of steps; scores are of "
        "what was reached."
    )
    return fitted, ((note,) if n_early else ())


class _Judgment(NamedTuple):
    """What the test rows say of classifiers, and how columns move what these say."""

    scores: tuple[ClassScore, ...]
    held_out: HeldOut[Categorical]
    profiles: tuple[ClassProfile, ...]


def _judgment(stack: Stack, completion: Completion, split: Split, complete: Array) -> _Judgment:
    test = split.test
    answers = class_answers(stack, test.inputs, completion)
    alone = answers[stack.names_.index(BASELINE)]
    return _Judgment(
        scores=class_scores(stack, answers, test.y),
        held_out=held_out_rows(answers[-1], alone, split, doubt="probabilities"),
        profiles=tuple(class_profiles(stack, split.preparation, complete, N_PROFILES)),
    )


def _both(first: Callable[[], S], second: Callable[[], T]) -> tuple[S, T]:
    """Return what two pieces of work give, done side by side; fits need not settle."""
    # Filters are common to all threads: set within one they may end while it still works.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found: list[Any] = side_by_side(lambda work: work(), [first, second])
    return found[0], found[1]


def _decisions(
    held_out: HeldOut[Categorical], loss: LossMatrix | None
) -> DecisionReport | None:
    if loss is None:
        return None
    return judge_decisions(held_out.predictive, held_out.y, loss, coverage=CONFIDENCE)


def _refitted(
    labeled: Table, target: Target, split: Split, stack: Stack
) -> TableClassification:
    """Return the same classifiers and rules learned from all rows, weighed as in training."""
    preparation = TablePreparation.learn(labeled, target.name, split.schema, y=target.y)
    prepared = preparation.prepare(labeled)
    completion = RowCompletion.learn(prepared.X, target.y, preparation.level_places)
    members = [
        (name, over_gaps(_told(model, bayes_kinds(preparation)), completion))
        for name, model in stack.estimators
    ]
    return TableClassification(
        preparation=preparation,
        completion=completion,
        stack=_relearned(stack, members, named_inputs(prepared), target.y),
        training_range=TrainingRange.of(prepared),
        n_rows=len(labeled),
        n_test=len(split.test.y),
        scores=(),
        notes=(),
    )


def _told(model: Any, kinds: dict[str, str] | None) -> Any:
    """Return a clone of a classifier, naive Bayes told of the kinds of columns."""
    again = clone(model)
    return again.set_params(kinds=kinds) if isinstance(again, NaiveBayes) else again


def _relearned(
    stack: Stack, members: list[tuple[str, GapAverage]], X: pd.DataFrame, y: NDArray[Any]
) -> Stack:
    """Return a stack of the same weights, whose members have learned from other rows.

    Classifiers that were dropped have no weight, and are left out.
    """
    again = copy(stack)
    kept = np.flatnonzero(~is_dropped(stack))
    members = [members[k] for k in kept]
    again.names_ = [name for name, _ in members]
    again.weights_, again.log_scores_ = stack.weights_[kept], stack.log_scores_[kept]
    again.held_out_ = stack.held_out_[kept]
    again.estimators = [(name, member.estimator) for name, member in members]
    fitted = side_by_side(lambda member: member.fit(X, y), [one for _, one in members])
    again.estimators_ = [member.estimator_ for member in fitted]
    again.n_features_in_ = X.shape[1]
    again.feature_names_in_ = np.asarray(X.columns, dtype=object)
    return again
