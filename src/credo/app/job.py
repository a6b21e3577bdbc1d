"""The main job: from a table and the name of its target to models that have been judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import NDArray
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from credo.app.data_summary import DataSummary
from credo.app.finding import findings
from credo.app.judgment import candidate_scores, cross_validation_gain
from credo.app.profile import profiles
from credo.app.result import FitSettings, HeldOut, RegressionResult
from credo.app.slate import CONSTANT, Slate, regression_slate
from credo.data.columns import TableSchema
from credo.data.error import TableError
from credo.data.preparation import FilledCells, PreparedTable, TablePreparation
from credo.data.table import Table, as_table
from credo.data.table_input import named_inputs
from credo.data.table_regression import TableRegression
from credo.data.target import Target, prepare_target
from credo.data.training_range import TrainingRange
from credo.distributions.estimate import sample_mean
from credo.evaluation.cross_validation import CrossValidation, cross_validate
from credo.evaluation.scores import log_score
from credo.evaluation.splits import fold_labels, hold_out
from credo.models.average import ModelAverage
from credo.numerics.array import Array

__all__ = ["MIN_ROWS", "N_PROFILES", "Progress", "fit_table"]

MIN_ROWS = 10
"""With fewer rows there is nothing to hold out and judge by."""

N_PROFILES = 6
"""Columns whose effect on the prediction is described."""

# Up to this many rows the matrices are small, and threads cost more than they bring.
_ONE_THREAD_ROWS = 20_000

Progress = Callable[[float, str], None]
"""Told the share of the work that is done, and what comes next."""


def fit_table(
    source: Any,
    target: str,
    settings: FitSettings | None = None,
    progress: Progress = lambda share, step: None,
) -> RegressionResult:
    """Return candidates for a table's target, judged on rows that they have not seen.

    Columns are typed on the whole table; then test rows are held out, and all else is learned
    from the training rows alone: how gaps are filled, where functions are placed, weights,
    evidences and cross-validated scores. Last, everything is fitted again to all rows, for
    use on new ones.

    Parameters
    ----------
    source
        A `Table`, a path or a data frame.
    target
        Name of the column to predict.
    settings
        How; the defaults if not given.
    progress
        Is told how far the work is.
    """
    settings = settings or FitSettings()
    table = as_table(source)
    wanted = prepare_target(table, target, "regression")
    _require_rows(wanted, table.name)
    n_threads = 1 if len(wanted.y) <= _ONE_THREAD_ROWS else None
    with threadpool_limits(limits=n_threads, user_api="blas"):
        result = _judged(table, wanted, settings, progress)
    kept = [found.text for found in findings(result) if found.tone in ("answer", "caution")]
    return replace(result, model=replace(result.model, notes=(*result.data.notes, *kept)))


@dataclass(frozen=True, eq=False)
class _Part:
    """Rows ready for models: inputs, the same with names, and outcomes."""

    prepared: PreparedTable
    y: Array

    @property
    def inputs(self) -> pd.DataFrame:
        return named_inputs(self.prepared)


@dataclass(frozen=True, eq=False)
class _Split:
    """Training and test rows, the rules that the training rows gave, and gaps in the test."""

    schema: TableSchema
    preparation: TablePreparation
    train: _Part
    test: _Part
    filled: FilledCells


def _judged(
    table: Table, target: Target, settings: FitSettings, progress: Progress
) -> RegressionResult:
    split_rng, fold_rng = np.random.default_rng(settings.seed).spawn(2)
    progress(0.0, "typing the columns")
    split = _split(table, target, settings.test_share, split_rng)
    train, test = split.train, split.test
    slate = regression_slate(train.prepared.X)
    progress(0.05, "fitting the candidates")
    average = ModelAverage(list(slate.candidates)).fit(train.inputs, train.y)
    n_folds = min(settings.n_folds, len(train.y))
    labels = fold_labels(len(train.y), n_folds, fold_rng)
    folds = _cross_validated(slate, train, labels, progress)
    progress(0.7, "judging on the test rows")
    scores = candidate_scores(average, folds, test.inputs, test.y, settings.coverage)
    held_out = _held_out(average, split)
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
        held_out=held_out,
        profiles=tuple(moves),
        slate_notes=slate.notes,
        model=replace(model, scores=scores),
    )


def _split(table: Table, target: Target, share: float, rng: Generator) -> _Split:
    labeled = table.rows(target.rows)
    train, test = hold_out(len(labeled), share, rng)
    _require_variety(target.y[train], target.name, table.name)
    schema = TableSchema.of(labeled, leave_out=(target.name,))
    rows = labeled.rows(train)
    preparation = TablePreparation.learn(rows, target.name, schema)
    return _Split(
        schema,
        preparation,
        _Part(preparation.prepare(rows), target.y[train]),
        _Part(preparation.prepare(labeled.rows(test)), target.y[test]),
        preparation.filled(labeled.rows(test)),
    )


def _cross_validated(
    slate: Slate, train: _Part, labels: NDArray[np.intp], progress: Progress
) -> list[CrossValidation]:
    folds = []
    for i, (name, candidate) in enumerate(slate.candidates):
        progress(0.2 + 0.5 * i / len(slate.candidates), f"cross-validating {name}")
        # Without one fold a target may be constant: infinitely sure, and infinitely wrong.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            folds.append(cross_validate(candidate, train.inputs, train.y, labels=labels))
    return folds


def _held_out(average: ModelAverage, split: _Split) -> HeldOut:
    test = split.test
    predictive = average.predict_dist(test.inputs)
    alone = average.named_estimators_[CONSTANT].predict_dist(test.inputs)
    gain = sample_mean(log_score(predictive, test.y) - log_score(alone, test.y))
    seen = TrainingRange.of(split.train.prepared)
    is_outside = np.asarray(seen.is_outside(test.prepared).any(axis=1))
    known = {row.tobytes() for row in split.train.prepared.X}
    n_repeated = sum(row.tobytes() in known for row in test.prepared.X)
    notes = seen.notes(test.prepared)
    return HeldOut(
        test.y,
        predictive,
        is_outside,
        n_repeated,
        gain,
        notes,
        split.filled.rows,
        split.filled.columns,
    )


def _refitted(
    labeled: Table, target: Target, split: _Split, average: ModelAverage, coverage: float
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


def _require_rows(target: Target, source: str) -> None:
    if len(target.y) < MIN_ROWS:
        raise TableError(
            f"{source} must have at least {MIN_ROWS} rows with a target, to learn from some "
            f"and test on others; found {len(target.y)}; add rows."
        )


def _require_variety(y: Array, target: str, source: str) -> None:
    if np.all(y == y[0]):
        raise TableError(
            f"target {target!r} of {source} must vary in the training rows; found {y[0]:g} in "
            f"all {len(y)}; add rows with other values, or pass another --seed."
        )
