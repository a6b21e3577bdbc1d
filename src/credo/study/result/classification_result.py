"""Classifiers that have been judged, and which classes they take for which."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo.decisions.loss_matrix import LossMatrix
from credo.distributions.categorical import Categorical
from credo.distributions.estimate import Estimate
from credo.evaluation.classes.confusion import Confusion
from credo.evaluation.decision_report import DecisionReport
from credo.study.result.judgment import judged_names
from credo.study.result.result import Judged
from credo.study.result.table_model import ClassScore

__all__ = ["JudgedClassification"]


@dataclass(frozen=True, eq=False, kw_only=True)
class JudgedClassification(Judged[Categorical]):
    """Classifiers weighed by cross-validation, stacked and judged.

    Attributes
    ----------
    stack_gain
        Mean cross-validated log score of the stack above that of its best member.
    confusion
        Which classes were taken for which on the test rows.
    trap_notes
        A sentence for each trap that the data set: rows in an order that gives the class
        away, and the like.
    loss, decisions
        What each action costs in each class, if decisions were asked for, and what the
        decisions cost on the test rows.
    """

    scores: tuple[ClassScore, ...]
    stack_gain: Estimate
    confusion: Confusion
    trap_notes: tuple[str, ...]
    loss: LossMatrix | None
    decisions: DecisionReport | None

    @property
    def winner(self) -> ClassScore:
        """The classifier with the highest log score among those judged on every fold."""
        judged = judged_names(self.training)
        scores = (score for score in self.candidates if score.name in judged)
        best: ClassScore = max(scores, key=lambda score: score.cv_log_score)
        return best

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
