"""The task of predicting a number: regressions weighed by evidence, averaged and judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.data.error import TableError
from credo.data.table.preparation import PreparedTable, TablePreparation
from credo.data.table.target import Target
from credo.distributions.estimate import Estimate
from credo.distributions.predictive import Predictive
from credo.models.gaps.gap_average import FoldCompletion, GapAverage, curved_completion
from credo.models.gaps.row_completion import Completion, RowCompletion, WeighedCompletion
from credo.numerics.array import Array
from credo.study.candidates.slate import Slate, regression_slate
from credo.study.candidates.training import learned_average, retrained, trained
from credo.study.progress import Progress
from credo.study.remark.regression_remark import regression_remarks
from credo.study.result.judgment import (
    candidate_scores,
    columns_gain,
    cross_validation_gain,
    dropped_candidates,
    dropped_notes,
    predictives,
)
from credo.study.result.regression_result import JudgedRegression
from credo.study.result.result import FitSettings, Judged, Remark
from credo.study.result.table_model import CandidateScore, TableModel, TableRegression
from credo.study.task import StudyRows, TaskName, Trained
from credo.validation.splits import fold_labels

__all__ = ["REGRESSION"]


class _Regression:
    """Prediction of a number."""

    name: TaskName = "regression"
    doubt = "interval"

    def n_threaded(self, n_rows: int) -> int:
        """Return that candidates run side by side, with many small products between them."""
        return 0

    def require(self, target: Target, settings: FitSettings, source: str) -> None:
        """Raise a `TableError` if decisions are asked for, which need classes."""
        if settings.has_decisions:
            raise TableError(
                f"`loss` and `reject` need a target of classes; found that {target.name!r} of "
                f"{source} is a number; leave them out, or pass `task` classification."
            )

    def slate(self, X: Array, y: NDArray[Any], preparation: TablePreparation) -> Slate:
        """Return the regressions for rows without gaps."""
        return regression_slate(X)

    def over_gaps(self, model: Any, completion: Completion | FoldCompletion) -> GapAverage:
        """Return a candidate that takes rows with gaps."""
        return GapAverage(model, completion)

    def train(self, slate: Slate, rows: StudyRows, progress: Progress) -> Trained:
        """Return the regressions fitted to the training rows, averaged by evidence."""
        train = rows.split.train
        progress(0.05, "fitting the candidates")
        completion = curved_completion(
            rows.completion, slate.candidates, train.prepared.X, train.y
        )
        n_folds = min(rows.settings.n_folds, len(train.y))
        labels = fold_labels(len(train.y), n_folds, rows.fold_rng)
        average, folds = trained(slate, completion, train, labels, progress)
        progress(0.7, "judging on the test rows")
        dropped = dropped_notes(dropped_candidates(average.names_, folds), n_folds)
        return Trained(average, completion, folds, (), dropped)

    def answers(self, trained: Trained, X: Any) -> list[Predictive]:
        """Return what each candidate says of rows, and then the average of those that count."""
        return predictives(trained.mixture, X, trained.completion)

    def scores(
        self, trained: Trained, answers: Sequence[Any], y: NDArray[Any], coverage: float
    ) -> tuple[CandidateScore, ...]:
        """Return the scores of each candidate, and then of the average."""
        return candidate_scores(trained.mixture, trained.folds, answers, y, coverage)

    def columns_gain(self, trained: Trained) -> Estimate:
        """Return the cross-validated log score of the average above that of the constant."""
        return columns_gain(trained.folds)

    def judged(
        self, trained: Trained, rows: StudyRows, common: dict[str, Any]
    ) -> JudgedRegression:
        """Return what was judged, with what evidence and cross-validation say of each other."""
        dropped = dropped_candidates(trained.mixture.names_, trained.folds)
        return JudgedRegression(
            **common,
            cv_gain=cross_validation_gain(trained.mixture, trained.folds),
            dropped=tuple(dropped),
        )

    def finish(
        self, judge: Callable[[], Judged[Any]], refit: Callable[[], TableModel]
    ) -> tuple[Judged[Any], TableModel]:
        """Return what both give, in turn: each of them keeps all cores busy."""
        return judge(), refit()

    def refit(self, trained: Trained, rows: StudyRows) -> TableRegression:
        """Return the same candidates and rules, learned from all rows."""
        labeled, target, split = rows.table.rows(rows.target.rows), rows.target, rows.split
        preparation = TablePreparation.learn(labeled, target.name, split.schema, y=target.y)
        prepared = preparation.prepare(labeled)
        weighed, start = trained.completion, None
        is_same = prepared.names == split.train.prepared.names
        if isinstance(weighed, WeighedCompletion) and is_same:
            start = weighed.curve
        average = trained.mixture
        winner = average.estimators[int(np.argmax(average.probability_))]
        drawn = RowCompletion.learn(prepared.X, target.y, preparation.level_places)
        completion = curved_completion(drawn, [winner], prepared.X, target.y, start)
        again = retrained(average, completion, prepared, target.y)
        return TableRegression.unscored(
            preparation,
            prepared,
            drawn,
            len(split.test.y),
            average=again,
            coverage=rows.settings.coverage,
        )

    def learn(
        self,
        preparation: TablePreparation,
        prepared: PreparedTable,
        y: Array,
        settings: FitSettings,
    ) -> TableRegression:
        """Return regressions of all rows, averaged by evidence, that were not judged."""
        drawn = RowCompletion.learn(prepared.X, y, preparation.level_places)
        complete = drawn.training(prepared.X, y).one_of_each().X
        slate = self.slate(complete, y, preparation).only(settings.models)
        completion = curved_completion(drawn, slate.candidates, prepared.X, y)
        average = learned_average(slate.candidates, completion, prepared, y)
        return TableRegression.unscored(
            preparation, prepared, drawn, 0, average=average, coverage=settings.coverage
        )

    def remarks(self, judged: JudgedRegression) -> tuple[Remark, ...]:
        """Return all sentences on regressions that were judged."""
        return regression_remarks(judged)


REGRESSION = _Regression()
