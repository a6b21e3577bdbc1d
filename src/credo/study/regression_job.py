"""The main job for a target of numbers: candidates weighed by evidence, and judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from credo.data.table.preparation import TablePreparation
from credo.data.table.table import Table
from credo.data.table.target import Target
from credo.data.table.training_range import TrainingRange
from credo.models.ensemble.average import ModelAverage
from credo.models.gaps.gap_average import curved_completion
from credo.models.gaps.row_completion import RowCompletion, WeighedCompletion
from credo.study.candidates.slate import regression_slate
from credo.study.candidates.training import retrained, trained
from credo.study.dependence.profile import N_PROFILES, profiles
from credo.study.progress import Progress
from credo.study.remark.regression_remark import findings
from credo.study.result.data_summary import DataSummary
from credo.study.result.held_out import held_out_rows
from credo.study.result.judgment import (
    candidate_scores,
    columns_gain,
    cross_validation_gain,
    dropped_candidates,
    dropped_notes,
    predictives,
)
from credo.study.result.result import (
    FitSettings,
    JudgedRegression,
    RegressionResult,
    field_values,
)
from credo.study.result.table_regression import TableRegression
from credo.study.split import Split, split_rows
from credo.validation.splits import fold_labels

__all__ = ["judged_regression"]


def judged_regression(
    table: Table,
    target: Target,
    settings: FitSettings,
    progress: Progress,
    on_judged: Callable[[JudgedRegression], object],
) -> RegressionResult:
    """Return candidates for a target of numbers, judged on rows that they have not seen.

    They are fitted to all rows last, after ``on_judged`` was told all else.
    """
    split_rng, fold_rng = np.random.default_rng(settings.seed).spawn(2)
    progress(0.0, "typing the columns")
    split = split_rows(table, target, settings.test_share, split_rng, settings.ignore)
    train, test = split.train, split.test
    X, y, levels = train.prepared.X, train.y, split.preparation.level_places
    drawn = RowCompletion.learn(X, y, levels)
    complete = drawn.training(X, y).one_of_each().X
    slate = regression_slate(complete)
    progress(0.05, "fitting the candidates")
    completion = curved_completion(drawn, slate.candidates, X, y)
    labels = fold_labels(len(y), min(settings.n_folds, len(y)), fold_rng)
    average, folds = trained(slate, completion, train, labels, progress)
    progress(0.7, "judging on the test rows")
    told = predictives(average, test.inputs, completion)
    scores = candidate_scores(average, folds, told, test.y, settings.coverage)
    moves = profiles(average, split.preparation, complete, N_PROFILES)
    dropped = dropped_candidates(average.names_, folds)
    fold_notes = dropped_notes(dropped, int(labels.max()) + 1)
    judged = JudgedRegression(
        settings=settings,
        data=DataSummary.of(table, target, split.schema, split.preparation),
        training=average,
        scores=scores,
        cv_gain=cross_validation_gain(average, folds),
        columns_gain=columns_gain(folds),
        held_out=held_out_rows(told[-1], told[0], split),
        profiles=tuple(moves),
        slate_notes=(*slate.notes, *fold_notes),
        dropped=tuple(dropped),
    )
    on_judged(judged)
    progress(0.8, "fitting to all rows")
    model = _refitted(
        table.rows(target.rows), target, split, average, completion, settings.coverage
    )
    kept = [found.text for found in findings(judged) if found.tone in ("answer", "caution")]
    model = replace(model, scores=scores, notes=(*judged.data.notes, *fold_notes, *kept))
    progress(1.0, "done")
    return RegressionResult(**field_values(judged), model=model)


def _refitted(
    labeled: Table,
    target: Target,
    split: Split,
    average: ModelAverage,
    weighed: RowCompletion | WeighedCompletion,
    coverage: float,
) -> TableRegression:
    """Return the same candidates and rules, learned from all rows."""
    preparation = TablePreparation.learn(labeled, target.name, split.schema, y=target.y)
    prepared = preparation.prepare(labeled)
    drawn = RowCompletion.learn(prepared.X, target.y, preparation.level_places)
    winner = average.estimators[int(np.argmax(average.probability_))]
    start = None
    if isinstance(weighed, WeighedCompletion) and prepared.names == split.train.prepared.names:
        start = weighed.curve
    completion = curved_completion(drawn, [winner], prepared.X, target.y, start)
    again = retrained(average, completion, prepared, target.y)
    return TableRegression(
        preparation=preparation,
        completion=drawn,
        average=again,
        training_range=TrainingRange.of(prepared),
        coverage=coverage,
        n_rows=len(labeled),
        n_test=len(split.test.y),
        scores=(),
        notes=(),
    )
