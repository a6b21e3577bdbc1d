"""Models of complete rows made to learn from and to predict rows with gaps.

What is not there is averaged over: a prediction is the mixture of the predictions for all that
may stand in the gaps, and its spread includes not knowing which.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any, Self, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if

from credo.distributions.categorical import Categorical
from credo.distributions.mixture import Mixture
from credo.distributions.normal import Normal
from credo.distributions.predictive import Predictive
from credo.distributions.student_t import StudentT
from credo.distributions.univariate import Univariate
from credo.families.linear import LinearStatistics
from credo.models.contract.inputs import fitted_design
from credo.models.gaps.row_completion import (
    N_DRAWS,
    CompletedRows,
    Completion,
    NoGaps,
    RowCompletion,
    WeighedCompletion,
)
from credo.models.linear.linear_regression import LinearRegression
from credo.numerics.array import Array, has_missing
from credo.numerics.parallel.threads import side_by_side
from credo.validation.held_out import Forget

__all__ = [
    "AskedRows",
    "FoldCompletion",
    "GapAverage",
    "average_over_gaps",
    "curved_completion",
    "held_out_completion",
]

ENOUGH_ROWS = 5_000
"""Rows from which on a density of them all tells next to nothing of a part of them."""

N_PARTS = 8
"""Components by which the draws of a row stand for all that may be in its gaps."""

NEGLIGIBLE = 1e-6
"""A component of a mixture with less weight has no say in rows with gaps."""

N_STEPS = 12
"""How often, at most, copies of training rows are weighed, and the curve fitted to them."""

N_ROUNDS = 3
"""How often, at most, more copies are drawn of rows of which few count."""

FEW_ROWS = 0.05
"""Part of the rows for which it does not pay to begin another round."""

SETTLED = 0.02
"""Change of the weights of the copies that counts as none."""

CURVE_ROWS = 2_000
"""Rows that are enough to find the curve by which copies are weighed."""


def average_over_gaps(model: Any, completion: Completion | None, X: Any) -> Any:
    """Return what a fitted model says of rows with gaps: the average over what may be there.

    Parameters
    ----------
    model
        Has ``predict_dist``, for rows without gaps.
    completion
        What may be in the gaps; None where there are none.
    X
        Inputs, shape (n, d), NaN where missing.
    """
    asked = AskedRows.of(completion, X)
    return asked.averaged(model.predict_dist(asked.X))


@dataclass(frozen=True, eq=False)
class AskedRows:
    """Rows to predict, completed once for all models that are asked about them.

    Attributes
    ----------
    X
        Rows without gaps to ask a model about, each but once; a frame if the rows are one.
    place
        Where in ``X`` each completed row is; None if no row has a gap.
    completed
        The completed rows; None if no row has a gap.
    """

    X: Any
    place: NDArray[np.intp] | None = None
    completed: CompletedRows | None = None

    @classmethod
    def of(cls, completion: Completion | None, X: Any) -> AskedRows:
        """Return rows (n, d), NaN where missing, completed without their outcomes."""
        values = np.asarray(X, dtype=np.float64)
        if completion is None or not has_missing(values):
            return cls(X)
        completed = completion.prediction(values)
        distinct, place = completed.distinct()
        return cls(_like(X, completed.X[distinct]), place, completed)

    @property
    def row(self) -> NDArray[np.intp]:
        """Which row each of ``X`` completes, shape (len(X),)."""
        if self.completed is None or self.place is None:
            return np.arange(len(self.X))
        row = np.empty(len(self.X), dtype=np.intp)
        row[self.place] = self.completed.row
        return row

    def averaged(self, predictive: Any) -> Any:
        """Return the average over what may be in the gaps, of what a model says of ``X``."""
        rows, place = self.completed, self.place
        if rows is None or place is None:
            return predictive
        if isinstance(predictive, Categorical):
            mean = rows.mean(predictive.probability[place])
            mean /= mean.sum(axis=1, keepdims=True)
            return Categorical(mean, labels=predictive.labels)
        marginal = _averaged(predictive.marginal, rows, place)
        variance, doubt = marginal.variance(), rows.mean(predictive.epistemic_std[place] ** 2)
        is_finite = np.isfinite(variance)
        removed = np.where(is_finite, doubt, 0.0)
        stays = np.where(is_finite, np.maximum(variance - removed, 0.0), np.inf)
        return Predictive(marginal, np.sqrt(doubt), np.sqrt(stays))

    def parts(self, predictive: Any) -> Iterator[tuple[NDArray[np.intp], Any]]:
        """Yield rows and what is said of them: those without gaps first, then the others.

        A row without gaps needs fewer components than the average over those of another.
        """
        if self.completed is None or self.place is None:
            yield np.arange(len(self.X)), predictive
            return
        complete, gaps, others = self._apart
        yield complete, predictive[self.place[self.completed.start[complete]]]
        yield gaps, others.averaged(predictive)

    @cached_property
    def _apart(self) -> tuple[NDArray[np.intp], NDArray[np.intp], AskedRows]:
        """Places of the rows without gaps, of those with gaps, and the latter alone."""
        assert self.completed is not None
        assert self.place is not None
        completed = self.completed
        n_copies = np.diff(completed.start, append=len(completed.row))
        gaps = np.flatnonzero(n_copies > 1)
        chosen = np.repeat(n_copies > 1, n_copies)
        row = np.repeat(np.arange(len(gaps)), n_copies[gaps])
        alone = CompletedRows(completed.X[chosen], row, completed.weight[chosen])
        others = AskedRows(self.X, self.place[chosen], alone)
        return np.flatnonzero(n_copies == 1), gaps, others


def curved_completion(
    completion: RowCompletion | NoGaps,
    candidates: Sequence[tuple[str, LinearRegression]],
    X: Array,
    y: Array,
    start: LinearRegression | None = None,
) -> RowCompletion | NoGaps | WeighedCompletion:
    """Return a completion whose copies count by the most probable candidate.

    Rows without gaps need none. Which candidate is the most probable is found from one copy
    of each row, the same for all of them, so that their evidences compare; weights and its
    curve then in turn, on some of the rows if there are many.

    Parameters
    ----------
    completion
        What draws the copies.
    candidates
        Names and regressions.
    X, y
        The training rows, X with gaps.
    start
        A fitted curve of the same columns to start from instead, on whatever rows.
    """
    if isinstance(completion, NoGaps) or not has_missing(X):
        return completion
    chosen = completion.sample(X, y, CURVE_ROWS)
    X, y = X[chosen], y[chosen]
    n_copies, sharp = completion.n_copies(X), np.array([], dtype=np.intp)
    rows = completion.candidates(X, y, sharp)
    curve = _most_probable(candidates, rows.one_of_each().X, y) if start is None else start
    for _ in range(N_ROUNDS):
        line = completion.log_outcome(rows, y[rows.row])
        curve, rows = _curve_and_rows(curve, rows, line, y[rows.row], n_copies)
        found = np.union1d(sharp, np.flatnonzero(rows.is_sharp))
        if len(found) - len(sharp) <= FEW_ROWS * len(y):
            break
        sharp = found
        rows = completion.candidates(X, y, sharp)
    return WeighedCompletion(completion, curve)


def _curve_and_rows(
    curve: LinearRegression, rows: CompletedRows, line: Array, outcome: Array, n_copies: int
) -> tuple[LinearRegression, CompletedRows]:
    """Return a curve learned from copies that count by it, and these.

    Parameters
    ----------
    curve
        Where to start.
    rows
        All candidates for copies.
    line, outcome
        Log density of the outcome of each by which it was drawn, and that outcome.
    n_copies
        How many copies of a row are enough to learn from.
    """
    # The copies stay as they are, and need not be expanded in the basis at each step; nor do
    # leverages change as much as means.
    columns = fitted_design(curve, rows.X)
    leverage = curve.posterior_.leverage(columns)
    for _ in range(N_STEPS):
        before, belief = rows.weight, curve.posterior_
        outlook = belief.predictive_at(belief.mean(columns), leverage)[:, 0]
        rows = rows.weighed(outlook.log_prob(outcome) - line)
        kept, weight = rows.kept(n_copies)
        curve = _learned_from(columns[kept], outcome[kept], weight, curve)
        if np.abs(rows.weight - before).max() <= SETTLED:
            break
    return curve, rows


def _most_probable(
    candidates: Sequence[tuple[str, LinearRegression]], X: Array, y: Array
) -> LinearRegression:
    """Return the candidate of the highest evidence, fitted."""
    # The last candidates have the most terms: the cores end together if these come first.
    fitted = side_by_side(lambda named: clone(named[1]).fit(X, y), candidates[::-1])[::-1]
    return cast(LinearRegression, max(fitted, key=lambda model: model.log_evidence_))


def _learned_from(
    columns: Array, outcome: Array, weight: Array, curve: LinearRegression
) -> LinearRegression:
    """Return the curve of the same basis that weighted rows of its columns give."""
    return copy(curve).fit_statistics(LinearStatistics.of(columns, outcome[:, None], weight))


def _has_statistics(wrapper: Any) -> bool:
    is_shared = not isinstance(wrapper.completion, FoldCompletion)
    return is_shared and hasattr(wrapper.estimator, "summarize_groups")


def _has_classes(wrapper: Any) -> bool:
    return bool(get_tags(wrapper.estimator).estimator_type == "classifier")


class FoldCompletion:
    """What may be in gaps, learned from whatever rows a model learns from.

    A density that has seen the outcomes of rows which are held out would tell of them. Models
    that learn from the same rows share one.

    Parameters
    ----------
    levels
        Categories, as of `RowCompletion.learn`.
    whole
        The density of all rows; it stands in where some rows have nothing in a column.
    """

    def __init__(self, levels: Sequence[tuple[int, int]], whole: RowCompletion):
        self._levels, self._whole = tuple(levels), whole
        self._learned: dict[tuple[int, int], RowCompletion] = {}
        self._lock = Lock()

    def of(self, X: Array, y: NDArray[Any]) -> RowCompletion:
        """Return the density of some of the rows."""
        if np.isnan(X).all(axis=0).any():
            return self._whole
        key = (hash(X.tobytes()), hash(tuple(y.tolist())))
        with self._lock:
            if key not in self._learned:
                self._learned[key] = RowCompletion.learn(X, y, self._levels)
            return self._learned[key]

    def __sklearn_clone__(self) -> FoldCompletion:
        return self


def held_out_completion(
    completion: RowCompletion | NoGaps, X: Array, levels: Sequence[tuple[int, int]]
) -> RowCompletion | NoGaps | FoldCompletion:
    """Return what completes rows while some of them are held out.

    Few rows: a density of its own for each part that is learned from. Of many rows no part
    tells much about another through the density of them all, which is quicker.

    Parameters
    ----------
    completion
        Learned from all rows.
    X
        These rows, NaN where missing.
    levels
        Categories, as of `RowCompletion.learn`.
    """
    if isinstance(completion, NoGaps) or len(X) >= ENOUGH_ROWS or not has_missing(X):
        return completion
    return FoldCompletion(levels, completion)


class GapAverage(BaseEstimator):
    """A model that learns from rows with gaps, and predicts them.

    Rows to learn from are completed given their outcomes, rows to predict without, whoever
    holds rows out and in whatever order.

    Parameters
    ----------
    estimator
        A model of complete rows that takes ``sample_weight``.
    completion
        What may be in the gaps: one density for all rows, or a `FoldCompletion`.
    is_single
        Whether the model learns from one completion of each row. One that holds rows out
        while it learns would find copies of them on the other side.

    Attributes
    ----------
    estimator_
        The model, fitted to completed rows.
    completion_
        What completes rows to predict.
    """

    def __init__(
        self,
        estimator: Any,
        completion: Completion | FoldCompletion,
        is_single: bool = False,
    ):
        self.estimator = estimator
        self.completion = completion
        self.is_single = is_single

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from rows with gaps."""
        model = clone(self.estimator)
        self.completion_ = self._learned(X, y)
        if not has_missing(np.asarray(X, dtype=np.float64)):
            arguments = {} if sample_weight is None else {"sample_weight": sample_weight}
            self.estimator_ = model.fit(X, y, **arguments)
            return self
        rows = self._training(X, y)
        weight = rows.weight * _by_copy(sample_weight, rows)
        self.estimator_ = model.fit(
            _like(X, rows.X), np.asarray(y)[rows.row], sample_weight=weight
        )
        return self

    def _summarize_groups(
        self,
        X: Any,
        y: ArrayLike,
        label: ArrayLike,
        n_groups: int,
        sample_weight: ArrayLike | None = None,
    ) -> Any:
        """Return what the model keeps of each group of rows, completed given their outcomes."""
        self.completion_ = self._learned(X, y)
        rows = self._training(X, y)
        self.estimator_ = clone(self.estimator)
        return self.estimator_.summarize_groups(
            _like(X, rows.X),
            np.asarray(y)[rows.row],
            np.asarray(label)[rows.row],
            n_groups,
            rows.weight * _by_copy(sample_weight, rows),
        )

    def _fit_statistics(self, statistics: Any) -> Self:
        """Learn from statistics alone, such as the sum of all groups but one."""
        self.estimator_ = copy(self.estimator_).fit_statistics(statistics)
        return self

    def settled(self) -> GapAverage:
        """Return an unfitted copy with the settings that the model has found."""
        found = self.estimator_
        model = found.settled() if hasattr(found, "settled") else clone(self.estimator)
        return GapAverage(model, self.completion, self.is_single)

    def forgetting(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Forget | None:
        """Return how the model forgets some of the rows that it has learned from, if it can.

        All copies of a row are forgotten together.
        """
        rows, outcome = self._training(X, y), np.asarray(y)
        weight = rows.weight * _by_copy(sample_weight, rows)
        if not hasattr(self.estimator_, "forgetting"):
            return None
        forget = self.estimator_.forgetting(_like(X, rows.X), outcome[rows.row], weight)
        if forget is None:
            return None

        def without(left_out: NDArray[np.intp]) -> Any:
            found = forget(np.flatnonzero(np.isin(rows.row, left_out)))
            if found is None:
                return None
            model = copy(self)
            model.estimator_ = found
            rest = np.delete(np.arange(len(outcome)), left_out)
            model.completion_ = self._learned(np.asarray(X)[rest], outcome[rest])
            return model

        return without

    def predict_dist(self, X: Any) -> Any:
        """Return the average of the predictives over what may be in the gaps."""
        return average_over_gaps(self.estimator_, self.completion_, X)

    def _predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, shape (n, K)."""
        return np.asarray(self.predict_dist(X).probability)

    summarize_groups = available_if(_has_statistics)(_summarize_groups)
    fit_statistics = available_if(_has_statistics)(_fit_statistics)
    predict_proba = available_if(_has_classes)(_predict_proba)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class, or the predictive mean."""
        predictive = self.predict_dist(X)
        return np.asarray(predictive.mode() if _has_classes(self) else predictive.mean())

    @property
    def classes_(self) -> NDArray[Any]:
        """Labels, for classifiers only."""
        return np.asarray(self.estimator_.classes_)

    @property
    def log_evidence_(self) -> float:
        """Log evidence of the model on completed rows."""
        return float(self.estimator_.log_evidence_)

    @property
    def evidence_method_(self) -> str:
        """How the evidence was found."""
        return str(self.estimator_.evidence_method_)

    @property
    def evidence_of_(self) -> str:
        """What the evidence is about."""
        return str(self.estimator_.evidence_of_)

    @property
    def evidence_flat_(self) -> tuple[str, ...]:
        """Which unknowns have a flat prior."""
        return tuple(self.estimator_.evidence_flat_)

    def __sklearn_tags__(self) -> Tags:
        tags = get_tags(self.estimator)
        tags.input_tags.allow_nan = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def _learned(self, X: Any, y: ArrayLike) -> Completion:
        if isinstance(self.completion, FoldCompletion):
            return self.completion.of(np.asarray(X, dtype=np.float64), np.asarray(y))
        return self.completion

    def _training(self, X: Any, y: ArrayLike) -> CompletedRows:
        rows = self.completion_.training(np.asarray(X, dtype=np.float64), np.asarray(y))
        return rows.one_of_each() if self.is_single else rows


def _averaged(marginal: Univariate, rows: CompletedRows, place: NDArray[np.intp]) -> Mixture:
    """Return the mixture over copies of each row, of what is a mixture itself or not."""
    parts: Any = (marginal,)
    shares = np.ones(1)
    if isinstance(marginal, Mixture):
        parts, shares = marginal.components, marginal.weights
    if shares.ndim > 1:
        shares = rows.mean(shares[place])
    counted = np.flatnonzero((shares >= NEGLIGIBLE).reshape(-1, len(parts)).any(axis=0))
    found = [_merged(parts[i], rows, place) for i in counted]
    total = shares[..., counted].sum(axis=-1, keepdims=True)
    weights = [shares[..., [i]] / total * found[k][0] for k, i in enumerate(counted)]
    return Mixture(np.concatenate(weights, axis=1), [c for _, own in found for c in own])


def _merged(
    part: Univariate, rows: CompletedRows, place: NDArray[np.intp]
) -> tuple[Array, list[Univariate]]:
    """Return weights (n, `N_PARTS`) and components that stand for the copies of each row.

    Draws are points where a density may be smooth. Each gets a width, as in an estimate of
    that density by kernels, and moves towards the mean so that mean and variance stay
    [west1993]_; then neighbors are merged. Rows with one copy keep it.
    """
    if not isinstance(part, Normal | StudentT):
        part = Normal(part.mean(), part.std())
    n, start, asked = len(rows.row), rows.start, part.batch_shape
    df = np.broadcast_to(getattr(part, "df", np.inf), asked)[place][start]
    center, spread = (np.broadcast_to(v, asked)[place] for v in (part.loc, part.scale))
    has_gap = np.diff(start, append=n) > 1
    location, square = (
        np.repeat(values[start][:, None], N_PARTS, axis=1) for values in (center, spread**2)
    )
    copies = start[has_gap][:, None] + np.arange(N_DRAWS)
    # A variance is that of a t only after this much of it.
    heavy = np.where(df > 2, 1.0 - 2.0 / np.maximum(df, 2.0), 1.0)[has_gap]
    location[has_gap], square[has_gap] = _smooth(center[copies], spread[copies] ** 2, heavy)
    weight = np.eye(1, N_PARTS).repeat(len(start), axis=0)
    weight[has_gap] = 1.0 / N_PARTS
    scale = np.sqrt(square)
    if isinstance(part, Normal):
        return weight, [Normal(*pair) for pair in zip(location.T, scale.T, strict=True)]
    return weight, [StudentT(df, *pair) for pair in zip(location.T, scale.T, strict=True)]


def _smooth(location: Array, square: Array, heavy: Array) -> tuple[Array, Array]:
    """Return centers and squared scales of smoothed and merged draws, shape (n, `N_PARTS`).

    Parameters
    ----------
    location, square
        Center and squared scale given each draw, shape (n, `N_DRAWS`).
    heavy
        Squared scale of a distribution of unit variance, shape (n,).
    """
    order = np.argsort(location, axis=1, kind="stable")
    location = np.take_along_axis(location, order, axis=1)
    square = np.take_along_axis(square, order, axis=1)
    width = (4.0 / (3.0 * N_DRAWS)) ** 0.4
    middle, between = location.mean(axis=1, keepdims=True), location.var(axis=1)
    location = middle + np.sqrt(1.0 - width) * (location - middle)
    parts = location.reshape(len(location), N_PARTS, -1)
    extra = width * between[:, None] + parts.var(axis=2)
    merged = square.reshape(parts.shape).mean(axis=2)
    return parts.mean(axis=2), merged + heavy[:, None] * extra


def _by_copy(weight: ArrayLike | None, rows: CompletedRows) -> Any:
    return 1.0 if weight is None else np.asarray(weight, dtype=np.float64)[rows.row]


def _like(X: Any, values: Array) -> Any:
    """Return values as ``X`` is: a frame with its names, or an array."""
    return pd.DataFrame(values, columns=X.columns) if isinstance(X, pd.DataFrame) else values
