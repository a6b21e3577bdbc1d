"""The main job: from a table and the name of its target to models that have been judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator
from sklearn.base import clone
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from credo.app.finding import findings
from credo.app.profile import profiles
from credo.app.result import DataSummary, FitSettings, HeldOut, RegressionResult
from credo.app.slate import AVERAGE, CONSTANT, regression_slate
from credo.app.table_regression import CandidateScore, TableRegression, named_inputs
from credo.app.training_range import TrainingRange
from credo.data import cell
from credo.data.columns import TableSchema
from credo.data.error import TableError
from credo.data.preparation import PreparedTable, TablePreparation
from credo.data.table import Table, as_table
from credo.data.target import Target, prepare_target
from credo.distributions.estimate import Estimate, sample_mean
from credo.evaluation.cross_validation import CrossValidation, cross_validate
from credo.evaluation.scores import evaluate, log_score
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
    wanted = prepare_target(table, target)
    labeled = table.rows(wanted.rows)
    _require_rows(labeled)
    one_thread = len(labeled) <= _ONE_THREAD_ROWS
    with threadpool_limits(limits=1 if one_thread else None, user_api="blas"):
        result = _judged(table, labeled, wanted, settings, progress)
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
    """Training and test rows, and the rules that the training rows gave."""

    schema: TableSchema
    preparation: TablePreparation
    train: _Part
    test: _Part


def _judged(
    table: Table, labeled: Table, target: Target, settings: FitSettings, progress: Progress
) -> RegressionResult:
    split_rng, fold_rng = np.random.default_rng(settings.seed).spawn(2)
    progress(0.0, "typing the columns")
    split = _split(labeled, target, settings.test_share, split_rng)
    _require_variety(split, target.name, table.name)
    slate = regression_slate(split.train.prepared.X)
    progress(0.05, "fitting the candidates")
    average = ModelAverage(list(slate.candidates)).fit(split.train.inputs, split.train.y)
    n_folds = min(settings.n_folds, len(split.train.y))
    labels = fold_labels(len(split.train.y), n_folds, fold_rng)
    folds = []
    for i, (name, candidate) in enumerate(slate.candidates):
        progress(0.2 + 0.5 * i / len(slate.candidates), f"cross-validating {name}")
        # Without one fold a target may be constant: infinitely sure, and infinitely wrong.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            folds.append(
                cross_validate(candidate, split.train.inputs, split.train.y, labels=labels)
            )
    progress(0.7, "judging on the test rows")
    scores = _scores(average, folds, split.test, settings.coverage)
    held_out = _held_out(average, split)
    moves = profiles(average, split.train.prepared, N_PROFILES)
    progress(0.8, "fitting to all rows")
    model = _refitted(labeled, target, split, average, settings.coverage)
    progress(1.0, "done")
    return RegressionResult(
        settings=settings,
        data=_summary(table, labeled, target, split),
        training=average,
        scores=scores,
        cv_gain=_cv_gain(average, folds),
        held_out=held_out,
        profiles=tuple(moves),
        slate_notes=slate.notes,
        model=replace(model, scores=scores),
    )


def _split(labeled: Table, target: Target, share: float, rng: Generator) -> _Split:
    train, test = hold_out(len(labeled), share, rng)
    schema = TableSchema.of(labeled, leave_out=(target.name,))
    rows = labeled.rows(train)
    preparation = TablePreparation.learn(rows, target.name, schema)
    return _Split(
        schema,
        preparation,
        _Part(preparation.prepare(rows), target.y[train]),
        _Part(preparation.prepare(labeled.rows(test)), target.y[test]),
    )


def _require_variety(split: _Split, target: str, source: str) -> None:
    y = split.train.y
    if np.all(y == y[0]):
        raise TableError(
            f"target {target!r} of {source} must vary in the training rows; found {y[0]:g} in "
            f"all {len(y)}; add rows with other values, or pass another --seed."
        )


def _scores(
    average: ModelAverage, folds: list[CrossValidation], test: _Part, coverage: float
) -> tuple[CandidateScore, ...]:
    """Return the scores of each candidate, and then of the average."""
    nothing = Estimate(np.array(np.nan), np.array(np.nan))
    cross_validated = [*(fold.score for fold in folds), nothing]
    names = [*average.names_, AVERAGE]
    models = [*average.estimators_, average]
    probability = [*average.probability_, 1.0]
    found = []
    for name, model, share, folded in zip(
        names, models, probability, cross_validated, strict=True
    ):
        judged = evaluate(model.predict_dist(test.inputs), test.y, coverage)
        found.append(
            CandidateScore(
                name=name,
                n_terms=sum(len(part.coef_) for part in getattr(model, "estimators_", [model])),
                log_evidence=float(model.log_evidence_),
                probability=float(share),
                cv_log_score=float(folded.value),
                cv_log_score_error=float(folded.standard_error),
                log_score=float(judged.log_score.value),
                log_score_error=float(judged.log_score.standard_error),
                rmse=float(judged.rmse.value),
                coverage=float(judged.coverage.value),
                r_squared=judged.r_squared,
            )
        )
    return tuple(found)


def _held_out(average: ModelAverage, split: _Split) -> HeldOut:
    test = split.test
    predictive = average.predict_dist(test.inputs)
    alone = average.named_estimators_[CONSTANT].predict_dist(test.inputs)
    gain = sample_mean(log_score(predictive, test.y) - log_score(alone, test.y))
    seen = TrainingRange.of(split.train.prepared)
    is_outside = np.asarray(seen.is_outside(test.prepared).any(axis=1))
    return HeldOut(test.y, predictive, is_outside, gain, seen.notes(test.prepared))


def _cv_gain(average: ModelAverage, folds: list[CrossValidation]) -> Estimate:
    probable = int(np.argmax(average.probability_))
    best = max(range(len(folds)), key=lambda i: folds[i].score.value)
    return sample_mean(folds[best].log_score - folds[probable].log_score)


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


def _summary(table: Table, labeled: Table, target: Target, split: _Split) -> DataSummary:
    n_missing = {
        column.name: int(pd.isna(cell.text(labeled.frame[column.name])).sum())
        for column in split.schema.columns
    }
    return DataSummary(
        name=table.name,
        target=target.name,
        n_rows=len(labeled),
        n_train=len(split.train.y),
        n_test=len(split.test.y),
        schema=split.schema,
        n_missing={name: n for name, n in n_missing.items() if n},
        notes=target.notes + split.preparation.notes,
        fingerprint=table.fingerprint(),
    )


def _require_rows(labeled: Table) -> None:
    if len(labeled) < MIN_ROWS:
        raise TableError(
            f"{labeled.name} must have at least {MIN_ROWS} rows with a target, to learn from "
            f"some and test on others; found {len(labeled)}; add rows."
        )
