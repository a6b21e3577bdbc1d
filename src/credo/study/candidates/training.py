"""Candidates fitted to the training rows and cross-validated in them, in one pass each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from threading import Lock
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from credo.data.table.preparation import PreparedTable
from credo.data.table.table_input import named_inputs
from credo.inference.engine.stacking import hopeless_models
from credo.models.ensemble.average import ModelAverage
from credo.models.gaps.gap_average import AskedRows
from credo.models.gaps.row_completion import CompletedRows, Completion
from credo.models.linear.linear_regression import LinearRegression
from credo.numerics.array import Array
from credo.numerics.parallel.threads import side_by_side
from credo.study.candidates.slate import CONSTANT, LINEAR, Slate
from credo.study.progress import Progress
from credo.study.split import Part
from credo.validation.cross_validation import CrossValidation
from credo.validation.fold_fit import AdditiveFits
from credo.validation.scores import log_score

__all__ = ["Training", "learned_average", "retrained", "trained"]

HOPELESS = 1e-12
"""Probability given some rows below which that given more is not asked for."""


FIRST_FOLDS = 3
"""Folds after which a candidate that cannot count is not asked about the others."""


class Training(NamedTuple):
    """The average of candidates fitted to all training rows, and what each said in folds.

    Candidates that were not asked about every fold have NaN for the rows of the others.
    """

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
    all candidates. A candidate that has no probability given all rows, and after the first
    folds could have no weight in a mixture either, is not asked about the other folds; only
    the constant always is, since all are compared with it.

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
        Called with the candidate that has its turn, from a fifth of the work to seven tenths.
    """
    rows = _TrainingRows.of(completion, train, fold)
    first, *others = _fold_parts(completion, train, fold)
    telling, begun = Lock(), iter(range(len(slate.candidates)))

    def begin(candidate: tuple[str, LinearRegression]) -> _Judged:
        with telling:
            share = 0.2 + 0.5 * next(begun) / len(slate.candidates)
            progress(share, f"cross-validating {candidate[0]}")
        judged = _Judged.of(candidate[1], rows)
        judged.ask(first)
        return judged

    # The last candidates have the most terms: the cores end together if these come first.
    found = side_by_side(begin, slate.candidates[::-1])[::-1]
    average = ModelAverage(list(slate.candidates)).weigh([judged.whole for judged in found])
    is_dropped = (average.probability_ < HOPELESS) & hopeless_models(
        [judged.log_prob[first.rows] for judged in found]
    )
    kept = [
        judged
        for judged, (name, _), is_out in zip(found, slate.candidates, is_dropped, strict=True)
        if name == CONSTANT or not is_out
    ]
    side_by_side(lambda pair: pair[0].ask(pair[1]), list(product(kept[::-1], others)))
    return Training(average, tuple(judged.cross_validation(fold) for judged in found))


def retrained(
    average: ModelAverage, completion: Completion, prepared: PreparedTable, y: Array
) -> ModelAverage:
    """Return the same candidates learned from other rows, and weighed anew.

    Those far too improbable to count are not worth another fit, but for the first two: a
    constant and straight lines, which any candidate is compared with.
    """
    named = zip(average.estimators, average.probability_, strict=True)
    kept = [
        candidate
        for candidate, share in named
        if share >= HOPELESS or candidate[0] in (CONSTANT, LINEAR)
    ]
    return learned_average(kept, completion, prepared, y)


def learned_average(
    candidates: Sequence[tuple[str, LinearRegression]],
    completion: Completion,
    prepared: PreparedTable,
    y: Array,
) -> ModelAverage:
    """Return candidates learned from rows with gaps, weighed by their evidence."""
    rows = completion.training(prepared.X, y)
    inputs, outcome = named_inputs(prepared._replace(X=rows.X)), y[rows.row]

    def fitted(candidate: tuple[str, LinearRegression]) -> LinearRegression:
        model: LinearRegression = clone(candidate[1])
        return model.fit(inputs, outcome, sample_weight=rows.weight)

    found = side_by_side(fitted, candidates[::-1])[::-1]
    return ModelAverage(list(candidates)).weigh(found)


@dataclass(frozen=True, eq=False)
class _TrainingRows:
    """Completed rows to learn from, with outcomes and folds."""

    learned: CompletedRows
    inputs: pd.DataFrame
    y: Array
    fold: NDArray[np.intp]

    @classmethod
    def of(cls, completion: Completion, train: Part, fold: NDArray[np.intp]) -> _TrainingRows:
        learned = completion.training(train.prepared.X, train.y)
        inputs = named_inputs(train.prepared._replace(X=learned.X))
        return cls(learned, inputs, train.y, fold)


@dataclass(frozen=True, eq=False)
class _FoldPart:
    """Some folds, the training rows in them, and what is asked about these rows."""

    folds: NDArray[np.intp]
    rows: NDArray[np.intp]
    asked: AskedRows
    place: NDArray[np.intp]
    y: Array


def _fold_parts(
    completion: Completion, train: Part, fold: NDArray[np.intp]
) -> Iterator[_FoldPart]:
    """Yield the first folds, and then the others in two parts, which two cores may share."""
    n_folds = int(fold.max()) + 1
    rest = np.arange(min(FIRST_FOLDS, n_folds), n_folds)
    for folds in (np.arange(min(FIRST_FOLDS, n_folds)), *np.array_split(rest, 2)):
        rows = np.flatnonzero(np.isin(fold, folds))
        if len(rows):
            asked = AskedRows.of(completion, train.inputs.iloc[rows])
            place = np.searchsorted(folds, fold[rows])
            yield _FoldPart(folds, rows, asked, place, train.y[rows])


@dataclass(frozen=True, eq=False)
class _Judged:
    """A candidate fitted to all rows, and what it said of rows whose fold it had not seen."""

    fits: AdditiveFits
    whole: LinearRegression
    log_prob: Array
    mean: Array
    evidences: Array

    @classmethod
    def of(cls, candidate: LinearRegression, rows: _TrainingRows) -> _Judged:
        place = rows.learned.row
        fits = AdditiveFits.of(
            candidate, rows.inputs, rows.y[place], rows.fold[place], rows.learned.weight
        )
        log_prob, mean = np.full((2, len(rows.y)), np.nan)
        return cls(fits, fits.whole(), log_prob, mean, np.full(len(fits.others), np.nan))

    def ask(self, part: _FoldPart) -> None:
        """Keep what fits without each of some folds say of the rows in it."""
        # Without one fold a target may be constant: infinitely sure, and infinitely wrong.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            models = [self.fits.without(k) for k in part.folds]
            groups = part.place[part.asked.row]
            said = self.fits.model.predict_groups(part.asked.X, groups, models)
            for own, predictive in part.asked.parts(said):
                rows = part.rows[own]
                self.log_prob[rows] = log_score(part.y[own], predictive)
                self.mean[rows] = predictive.mean()
        self.evidences[part.folds] = [one.log_evidence_ for one in models]

    def cross_validation(self, fold: NDArray[np.intp]) -> CrossValidation:
        """Return what was said, folds not asked about left out."""
        return CrossValidation.of_numbers(self.log_prob, self.mean, fold, self.evidences)
