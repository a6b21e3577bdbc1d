"""What the main job answers for a target of classes, as values that all pages read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo.decisions.loss_matrix import LossMatrix
from credo.distributions.categorical import Categorical
from credo.distributions.estimate import Estimate
from credo.evaluation.classes.confusion import Confusion
from credo.evaluation.decision_report import DecisionReport
from credo.models.ensemble.stack import Stack
from credo.study.dependence.class_profile import ClassProfile
from credo.study.result.data_summary import DataSummary
from credo.study.result.held_out import HeldOut
from credo.study.result.judgment import judged_names
from credo.study.result.result import FitSettings
from credo.study.result.table_classification import ClassScore, TableClassification

__all__ = ["ClassificationResult", "JudgedClassification"]


@dataclass(frozen=True, eq=False)
class JudgedClassification:
    """Classifiers weighed by cross-validation, stacked and judged.

    Attributes
    ----------
    settings, data
        How it was done, and on what.
    training
        The classifiers fitted to the training rows, and their stack.
    scores
        One for each classifier, simplest first, and then the stack.
    stack_gain
        Mean cross-validated log score of the stack above that of its best member.
    columns_gain
        Mean cross-validated log score of the stack above that of the baseline, which uses no
        column.
    held_out
        The test rows.
    confusion
        Which classes were taken for which on the test rows.
    profiles
        How the probabilities move with the columns that move them most.
    slate_notes
        A sentence for each classifier that was left out, and on the folds.
    trap_notes
        A sentence for each trap that the data set: rows in an order that gives the class
        away, and the like.
    loss, decisions
        What each action costs in each class, if decisions were asked for, and what the
        decisions cost on the test rows.
    """

    settings: FitSettings
    data: DataSummary
    training: Stack
    scores: tuple[ClassScore, ...]
    stack_gain: Estimate
    columns_gain: Estimate
    held_out: HeldOut[Categorical]
    confusion: Confusion
    profiles: tuple[ClassProfile, ...]
    slate_notes: tuple[str, ...]
    trap_notes: tuple[str, ...]
    loss: LossMatrix | None
    decisions: DecisionReport | None

    @property
    def candidates(self) -> tuple[ClassScore, ...]:
        """The scores of the classifiers."""
        return self.scores[:-1]

    @property
    def stack(self) -> ClassScore:
        """The scores of the stack."""
        return self.scores[-1]

    @property
    def baseline(self) -> ClassScore:
        """The scores of the class frequencies alone."""
        return self.scores[0]

    @property
    def winner(self) -> ClassScore:
        """The classifier with the highest log score among those judged on every fold."""
        judged = judged_names(self.training)
        scores = (score for score in self.candidates if score.name in judged)
        return max(scores, key=lambda score: score.cv_log_score)

    @property
    def has_dropped(self) -> bool:
        """Whether some classifiers were judged on a part of the folds only."""
        return len(judged_names(self.training)) < len(self.candidates)

    @property
    def common(self) -> str:
        """The class that the baseline always says: the first most frequent in training."""
        counts = self.training.estimators_[0].statistics_.counts
        return str(self.training.classes_[int(np.argmax(counts))])

    @property
    def n_folds(self) -> int:
        """Number of folds that the rarest class allowed."""
        return len(np.unique(self.training.fold_))


@dataclass(frozen=True, eq=False)
class ClassificationResult(JudgedClassification):
    """What was judged, and the model that came of it.

    Attributes
    ----------
    model
        The same classifiers fitted to all rows, to be saved.
    """

    model: TableClassification
