"""Candidates fitted to the training rows and cross-validated in them, in one pass each."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import reduce
from operator import add
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from credo.app.progress import Progress
from credo.app.slate import CONSTANT, LINEAR, Slate
from credo.app.split import Part
from credo.data.preparation import PreparedTable
from credo.data.table_input import named_inputs
from credo.evaluation.cross_validation import CrossValidation
from credo.evaluation.fold_fit import sums_of_others
from credo.evaluation.scores import log_score
from credo.models.average import ModelAverage
from credo.models.gap_average import AskedRows
from credo.models.linear_regression import LinearRegression
from credo.models.row_completion import CompletedRows, Completion
from credo.numerics.array import Array
from credo.numerics.threads import side_by_side

__all__ = ["Training", "retrained", "trained"]

HOPELESS = 1e-12
"""Probability given some rows below which that given more is not asked for."""


class Training(NamedTuple):
    """The average of candidates fitted to all training rows, and what each said in folds."""

    average: ModelAverage
    folds: tuple[CrossValidation, ...]


def trained(
    slate: Slate,
    completion: Completion,
    train: Part,
    fold: NDArray[np.intp],
    progress: Progress,
) -> Training:
    """Return the candidates of a slate, each learned from all rows and from all folds but one.

    Statistics of the folds add up to those of all rows, so that the rows are read once, with
    each basis placed once on the inputs of them all. Rows with gaps are completed once, for
    all candidates.

    Parameters
    ----------
    slate
        The candidates.
    completion
        What may be in the gaps of the rows.
    train
        The training rows.
    fold
        Which fold each row is in, 0, 1, ...
    progress
        Is told which candidate has its turn, from a fifth of the work to seven tenths.
    """
    rows = _TrainingRows.of(completion, train, fold)
    telling, begun = Lock(), iter(range(len(slate.candidates)))

    def judged(candidate: tuple[str, LinearRegression]) -> tuple[Any, CrossValidation]:
        with telling:
            share = 0.2 + 0.5 * next(begun) / len(slate.candidates)
            progress(share, f"cross-validating {candidate[0]}")
        return _judged(candidate[1], rows)

    # The last candidates have the most terms: the cores end together if these come first.
    found = side_by_side(judged, slate.candidates[::-1])[::-1]
    average = ModelAverage(list(slate.candidates)).weigh([model for model, _ in found])
    return Training(average, tuple(folds for _, folds in found))


def retrained(
    average: ModelAverage, completion: Completion, prepared: PreparedTable, y: Array
) -> ModelAverage:
    """Return the same candidates learned from other rows, and weighed anew.

    Those far too improbable to count are not worth another fit, but for the first two: a
    constant and straight lines, which any candidate is compared with.
    """
    rows = completion.training(prepared.X, y)
    inputs, outcome = named_inputs(prepared._replace(X=rows.X)), y[rows.row]

    def fitted(candidate: tuple[str, LinearRegression]) -> LinearRegression:
        model: LinearRegression = clone(candidate[1])
        return model.fit(inputs, outcome, sample_weight=rows.weight)

    named = zip(average.estimators, average.probability_, strict=True)
    kept = [
        candidate
        for candidate, share in named
        if share >= HOPELESS or candidate[0] in (CONSTANT, LINEAR)
    ]
    found = side_by_side(fitted, kept[::-1])[::-1]
    return ModelAverage(kept).weigh(found)


@dataclass(frozen=True, eq=False)
class _TrainingRows:
    """Completed rows to learn from, outcomes, folds, and the rows to predict."""

    learned: CompletedRows
    inputs: pd.DataFrame
    y: Array
    fold: NDArray[np.intp]
    asked: AskedRows

    @classmethod
    def of(cls, completion: Completion, train: Part, fold: NDArray[np.intp]) -> _TrainingRows:
        learned = completion.training(train.prepared.X, train.y)
        inputs = named_inputs(train.prepared._replace(X=learned.X))
        return cls(learned, inputs, train.y, fold, AskedRows.of(completion, train.inputs))


def _judged(
    candidate: LinearRegression, rows: _TrainingRows
) -> tuple[LinearRegression, CrossValidation]:
    """Return the candidate fitted to all rows, and its cross-validation."""
    model, place, asked = clone(candidate), rows.learned.row, rows.asked
    parts = model.summarize_groups(
        rows.inputs, rows.y[place], rows.fold[place], rows.fold.max() + 1, rows.learned.weight
    )
    whole = copy(model).fit_statistics(reduce(add, parts))
    log_prob, mean = np.empty(len(rows.y)), np.empty(len(rows.y))
    # Without one fold a target may be constant: infinitely sure, and infinitely wrong.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        models = [copy(model).fit_statistics(others) for others in sums_of_others(parts)]
        said = model.predict_groups(asked.X, rows.fold[asked.row], models)
        for part, told in asked.parts(said):
            log_prob[part], mean[part] = log_score(told, rows.y[part]), told.mean()
    evidences = np.array([one.log_evidence_ for one in models])
    return whole, CrossValidation.of_numbers(log_prob, mean, rows.fold, evidences)
