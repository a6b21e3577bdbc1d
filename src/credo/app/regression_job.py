"""The main job for a target of numbers: candidates weighed by evidence, and judged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from credo.app.data_summary import DataSummary
from credo.app.finding import findings
from credo.app.held_out import HeldOut, held_out_rows
from credo.app.judgment import candidate_scores, columns_gain, cross_validation_gain
from credo.app.profile import N_PROFILES, profiles
from credo.app.progress import Progress
from credo.app.result import FitSettings, RegressionResult
from credo.app.slate import CONSTANT, Slate, regression_slate
from credo.app.split import Part, Split, split_rows
from credo.data.preparation import TablePreparation
from credo.data.table import Table
from credo.data.table_input import named_inputs
from credo.data.table_regression import TableRegression
from credo.data.target import Target
from credo.data.training_range import TrainingRange
from credo.distributions.predictive import Predictive
from credo.evaluation.cross_validation import CrossValidation, cross_validate
from credo.evaluation.splits import fold_labels
from credo.models.average import ModelAverage

__all__ = ["judged_regression"]


def judged_regression(
    table: Table, target: Target, settings: FitSettings, progress: Progress
) -> RegressionResult:
    """Return candidates for a target of numbers, judged on rows that they have not seen."""
    result = _judged(table, target, settings, progress)
    kept = [found.text for found in findings(result) if found.tone in ("answer", "caution")]
    return replace(result, model=replace(result.model, notes=(*result.data.notes, *kept)))


def _judged(
    table: Table, target: Target, settings: FitSettings, progress: Progress
) -> RegressionResult:
    split_rng, fold_rng = np.random.default_rng(settings.seed).spawn(2)
    progress(0.0, "typing the columns")
    split = split_rows(table, target, settings.test_share, split_rng, settings.ignore)
    train, test = split.train, split.test
    slate = regression_slate(train.prepared.X)
    progress(0.05, "fitting the candidates")
    average = ModelAverage(list(slate.candidates)).fit(train.inputs, train.y)
    n_folds = min(settings.n_folds, len(train.y))
    labels = fold_labels(len(train.y), n_folds, fold_rng)
    folds = _cross_validated(slate, train, labels, progress)
    progress(0.7, "judging on the test rows")
    scores = candidate_scores(average, folds, test.inputs, test.y, settings.coverage)
    moves = profiles(average, split.preparation, train.prepared.X, N_PROFILES)
    progress(0.8, "fitting to all rows")
    model = _refitted(table.rows(target.rows), target, split, average, settings.coverage)
    progress(1.0, "done")
    return RegressionResult(
        settings=settings,
        data=DataSummary.of(table, target, split.schema, split.preparation),
        training=average,
        scores=scores,
        cv_gain=cross_validation_gain(average, folds),
        columns_gain=columns_gain(folds),
        held_out=_held_out(average, split),
        profiles=tuple(moves),
        slate_notes=slate.notes,
        model=replace(model, scores=scores),
    )


def _cross_validated(
    slate: Slate, train: Part, labels: NDArray[np.intp], progress: Progress
) -> list[CrossValidation]:
    folds = []
    for i, (name, candidate) in enumerate(slate.candidates):
        progress(0.2 + 0.5 * i / len(slate.candidates), f"cross-validating {name}")
        # Without one fold a target may be constant: infinitely sure, and infinitely wrong.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            folds.append(cross_validate(candidate, train.prepared.X, train.y, labels=labels))
    return folds


def _held_out(average: ModelAverage, split: Split) -> HeldOut[Predictive]:
    inputs = split.test.inputs
    alone = average.named_estimators_[CONSTANT].predict_dist(inputs)
    predictive = average.predict_dist(inputs)
    assert isinstance(predictive, Predictive)
    return held_out_rows(predictive, alone, split)


def _refitted(
    labeled: Table, target: Target, split: Split, average: ModelAverage, coverage: float
) -> TableRegression:
    """Return the same candidates and rules, learned from all rows."""
    preparation = TablePreparation.learn(labeled, target.name, split.schema)
    prepared = preparation.prepare(labeled)
    return TableRegression(
        preparation=preparation,
        average=clone(average).fit(named_inputs(prepared), target.y),
        training_range=TrainingRange.of(prepared),
        coverage=coverage,
        n_rows=len(labeled),
        n_test=len(split.test.y),
        scores=(),
        notes=(),
    )
