"""Row scores: what fitted models say about rows that they have not seen.

A regressor that has no predictive gets a normal fitted to its out-of-fold residuals. Let
``e_i = y_i - m_i`` be the residuals of predictions ``m_i`` by fits that had not seen row i.
With normal noise of mean zero, whose variance is unknown under the flat prior of its
logarithm, an outcome is Student's t around its prediction: ``n`` degrees of freedom and scale
``sqrt(sum e_i^2 / n)``. It is a normal for many rows, and has the wider tails of few.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing

from credo.distributions.predictive import Predictive
from credo.distributions.student_t import StudentT
from credo.inference.engine.stacking import hopeless_models
from credo.numerics.array import Array, as_float
from credo.numerics.parallel.threads import side_by_side
from credo.validation.outcome import MISSING, Outcome, row_weights
from credo.validation.predictive import class_probability, has_predictive, predict_dist
from credo.validation.split_plan import Pair
from credo.validation.splits import TrainingRows, fold_codes, fold_members, fold_models

__all__ = [
    "Forget",
    "HeldOut",
    "NoisyRegressor",
    "ResidualNormal",
    "RowScores",
    "held_out",
    "held_out_normal",
    "out_of_fold_normal",
    "row_scores",
]

Rows = NDArray[np.intp]

Forget = Callable[[Rows], Any]
"""Maps rows to a model without them, or to None where a fit of its own is needed."""

# Below it the mean of the t around a row, learned from all others, does not exist.
MIN_RESIDUALS = 3


class RowScores(NamedTuple):
    """What a model says of rows, and how well that met what came true.

    Attributes
    ----------
    prediction
        Class probabilities, shape (n, K), or predictive means, of the shape of y.
    log_prob
        Log probability of the class of each row, shape (n,), or log density of each entry of
        y; NaN where the class is missing, or where the model has no probabilities.
    """

    prediction: Array
    log_prob: Array

    @classmethod
    def unknown(cls, outcome: Outcome) -> RowScores:
        """Return arrays to be filled, NaN for now."""
        prediction, log_prob = outcome.y.shape, outcome.y.shape
        if outcome.classes is not None:
            prediction, log_prob = (len(outcome), len(outcome.classes)), (len(outcome),)
        return cls(np.full(prediction, np.nan), np.full(log_prob, np.nan))

    def fill(self, rows: Rows, part: RowScores) -> None:
        """Keep what was said of some rows."""
        self.prediction[rows], self.log_prob[rows] = part

    def with_noise(self, outcome: Outcome, rows: Rows, weight: Array) -> RowScores:
        """Return the scores with a normal fitted to residuals where a model has only means.

        Parameters
        ----------
        rows, weight
            The rows that were held out, and how much each of all rows counts.
        """
        is_known = outcome.classes is not None or not np.isnan(self.log_prob[rows]).all()
        if is_known or not len(rows):
            return self
        y, log_prob = as_float(outcome.y[rows]), self.log_prob.copy()
        noisy = held_out_normal(y, self.prediction[rows], weight[rows])
        log_prob[rows] = noisy.log_prob(y)
        return RowScores(self.prediction, log_prob)

    @property
    def log_score(self) -> Array:
        """Log score of each row, summed over outputs."""
        return np.asarray(self.log_prob.reshape(len(self.log_prob), -1).sum(axis=1))


def row_scores(model: Any, X: Any, outcome: Outcome) -> RowScores:
    """Return what a fitted model says of rows, whoever wrote it, and the score of that.

    A class that the model has not seen is impossible to it.
    """
    found = RowScores.unknown(outcome)
    if outcome.codes is None or outcome.classes is None:
        if not has_predictive(model):
            mean = as_float(model.predict(X)).reshape(outcome.y.shape)
            return RowScores(mean, found.log_prob)
        predictive = predict_dist(model, X)
        return RowScores(predictive.mean(), predictive.log_prob(as_float(outcome.y)))
    if not has_predictive(model):
        return found
    probability = class_probability(model, X, outcome.classes)
    chosen = probability[np.arange(len(outcome)), outcome.codes]
    with np.errstate(divide="ignore"):
        log_prob = np.log(chosen)
    return RowScores(probability, np.where(outcome.codes == MISSING, np.nan, log_prob))


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What a model said about each row while it had not seen the row's fold.

    Attributes
    ----------
    log_score
        Log probability or density of what came true, shape (n,); NaN if never held out.
    prediction
        Class probabilities, shape (n, K), or predictive means, of the shape of y.
    """

    log_score: Array
    prediction: Array

    def noisy(self, fitted: Any, rows: TrainingRows) -> Any:
        """Return a model fitted to all rows, which has a predictive distribution.

        A regressor that only has ``predict`` gets the normal of its residuals in these rows.
        """
        if rows.outcome.classes is not None or has_predictive(fitted):
            return fitted
        asked = ~np.isnan(self.log_score)
        y, mean = as_float(rows.outcome.y)[asked], self.prediction[asked]
        return NoisyRegressor(fitted, ResidualNormal.of(y, mean, rows.weight[asked]))


def held_out(
    models: Sequence[Any],
    rows: TrainingRows,
    pairs: Sequence[Pair],
    drop_early: bool = False,
    fitted: Sequence[Any] | None = None,
) -> list[HeldOut]:
    """Return log scores and predictions of held-out rows under the fits of their pairs.

    Parameters
    ----------
    drop_early
        Whether to ask a model no further once the pairs so far show that it will have no
        weight in a stack of all; what it was not asked stays NaN.
    fitted
        The models fitted to all rows, to take settings from that they have chosen there; if
        None, they choose anew in every pair.
    """
    learners = [_Learner(model, None) for model in models]
    if fitted is not None:
        both = list(zip(models, fitted, strict=True))
        learners = side_by_side(lambda pair: _Learner.after(*pair, rows), both)
    found = [RowScores.unknown(rows.outcome) for _ in models]
    asked, held = np.arange(len(models)), np.zeros(0, dtype=np.intp)
    seen = [held for _ in models]
    left = list(pairs)
    while left:
        # Where one model is left there is nothing to learn from one pair for the next; models
        # that choose anew in every pair may bring threads of their own.
        is_last = len(asked) == 1 and fitted is not None
        now, left = (left, []) if is_last else (left[:1], left[1:])
        if is_last:
            said = side_by_side(partial(_answer, rows, learners[asked[0]]), now)
        else:
            question, each = _Question.of(rows, *now[0]), [learners[k] for k in asked]
            together = map if fitted is None else side_by_side
            said = list(together(question.put, each))
        held = np.concatenate([held, *(test for _, test in now)])
        for ((_, test), k), part in zip(product(now, asked), said, strict=True):
            found[k].fill(test, part)
            seen[k] = held
        if drop_early and len(asked) > 1:
            judged = np.sort(held)
            so_far = [
                found[k].with_noise(rows.outcome, judged, rows.weight).log_score[judged]
                for k in asked
            ]
            asked = asked[~hopeless_models(so_far, rows.weight[judged])]
    noisy = [
        scores.with_noise(rows.outcome, np.sort(own), rows.weight)
        for scores, own in zip(found, seen, strict=True)
    ]
    return [HeldOut(scores.log_score, scores.prediction) for scores in noisy]


@dataclass(frozen=True, eq=False)
class ResidualNormal:
    """Noise around the predictions of a regressor, learned from its out-of-fold residuals.

    Attributes
    ----------
    df
        Number of residuals that it was learned from.
    scale
        Their root mean square, weighted, one for each output; never below the rounding error
        of the outcomes.

    Examples
    --------
    >>> noise = ResidualNormal.of([1.0, 2.0, 4.0], [1.5, 1.5, 4.5])
    >>> noise.around([10.0]).interval(0.9).round(2)
    array([[ 8.82, 11.18]])
    """

    df: Array
    scale: Array

    @classmethod
    def of(
        cls, y: ArrayLike, mean: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> ResidualNormal:
        """Return the noise that parts outcomes from predictions by fits without them.

        Parameters
        ----------
        y, mean
            Outcomes and predictions, shape (n,) or (n, n_outputs).
        sample_weight
            How much each row counts; rows of weight zero do not.
        """
        squares = _Squares.of(y, mean, sample_weight)
        total, weight, n = (part.sum(axis=0) for part in squares.parts)
        return cls(np.asarray(float(n)), squares.root(total, weight))

    def around(self, mean: ArrayLike) -> Predictive:
        """Return the predictive of new rows, all of its spread noise that stays."""
        return _predictive(self.df, as_float(mean), self.scale)


@dataclass(frozen=True, eq=False)
class NoisyRegressor:
    """A fitted regressor that only has ``predict``, with the noise around its predictions.

    Attributes
    ----------
    estimator
        The regressor, fitted to all rows.
    noise
        Learned from residuals of rows that its fits had not seen.
    """

    estimator: Any
    noise: ResidualNormal

    def predict(self, X: Any) -> Array:
        """Return what the regressor predicts."""
        return as_float(self.estimator.predict(X))

    def predict_dist(self, X: Any) -> Predictive:
        """Return the predictive distribution of new rows."""
        return self.noise.around(self.predict(X))


def held_out_normal(
    y: ArrayLike, mean: ArrayLike, sample_weight: ArrayLike | None = None
) -> Predictive:
    """Return the predictive of each held-out row, its noise learned from all other rows.

    So neither the prediction of a row nor its spread has seen the row's outcome.

    Parameters
    ----------
    y, mean
        Outcomes and predictions by fits without them, shape (n,) or (n, n_outputs).
    sample_weight
        How much each row counts.

    Examples
    --------
    >>> found = held_out_normal([1.0, 2.0, 4.0, 3.0], [1.5, 1.5, 4.5, 4.0])
    >>> found.marginal.scale.round(3)
    array([0.707, 0.707, 0.707, 0.5  ])
    """
    squares = _Squares.of(y, mean, sample_weight)
    total, weight, n = (_sums_of_others(part) for part in squares.parts)
    scale = squares.root(total, weight)
    df = n.reshape(-1, *[1] * (scale.ndim - 1))
    return _predictive(df, as_float(mean), scale)


def out_of_fold_normal(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    labels: ArrayLike,
    sample_weight: ArrayLike | None = None,
) -> Predictive:
    """Return the predictive of each row by a regressor that only has ``predict``.

    The mean is the prediction of a clone fitted without the row's fold, the noise a normal
    fitted to the residuals of all other rows.

    Parameters
    ----------
    labels
        The fold of each row, shape (n,).
    sample_weight
        How much each row counts, in fitting and in the noise.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> x = np.arange(12.0)[:, None]
    >>> y = 2.0 * x[:, 0] + np.array([0.1, -0.2, 0.0, 0.3, -0.1, -0.1] * 2)
    >>> found = out_of_fold_normal(LinearRegression(), x, y, labels=np.arange(12) % 4)
    >>> found.mean()[1:4].round(1), found.marginal.scale[1:4].round(2)
    (array([2.1, 4. , 6. ]), array([0.18, 0.21, 0.18]))
    """
    outcome = Outcome.of(estimator, y)
    fold = fold_codes(outcome, 0, None, labels)
    models = fold_models(estimator, TrainingRows.of(X, outcome, sample_weight), fold)
    mean = np.empty(outcome.y.shape)
    for model, rows in zip(models, fold_members(fold), strict=True):
        said = as_float(model.predict(_safe_indexing(X, rows)))
        mean[rows] = said.reshape(mean[rows].shape)
    return held_out_normal(outcome.y, mean, sample_weight)


class _Learner(NamedTuple):
    """A model, and how its fit to all rows forgets some of them, if it can.

    What a model has chosen in that fit, such as a precision, it takes as given.
    """

    model: Any
    forget: Forget | None

    @classmethod
    def after(cls, model: Any, fitted: Any, rows: TrainingRows) -> _Learner:
        """Return the learner that a fit to all rows leaves behind."""
        forget = None
        if hasattr(fitted, "forgetting"):
            forget = fitted.forgetting(rows.X, rows.outcome.y, rows.given_weight)
        return cls(fitted.settled() if hasattr(fitted, "settled") else model, forget)


class _Question(NamedTuple):
    """Rows to learn from, and others to be judged on: of all rows, the latter left out.

    Unless all others are learned from, nothing that a model knew of all rows can be used.
    """

    taught: TrainingRows
    judged: TrainingRows
    rows: Rows
    is_rest: bool

    @classmethod
    def of(cls, rows: TrainingRows, train: Rows, test: Rows) -> _Question:
        """Return the question that a pair puts to models of rows."""
        is_rest = len(train) + len(test) == np.count_nonzero(rows.weight)
        return cls(rows.take(train), rows.take(test), test, is_rest)

    def put(self, learner: _Learner) -> RowScores:
        """Return what a model says of the rows, and the log score of what came true."""
        fit = None
        if learner.forget is not None and self.is_rest:
            fit = learner.forget(self.rows)
        if fit is None:
            fit = self.taught.fit(learner.model)
        return row_scores(fit, self.judged.X, self.judged.outcome)


def _answer(rows: TrainingRows, learner: _Learner, pair: Pair) -> RowScores:
    return _Question.of(rows, *pair).put(learner)


@dataclass(frozen=True, eq=False)
class _Squares:
    """Weighted squares, weights and counts of residuals in units of the largest of them."""

    parts: tuple[Array, Array, Array]
    unit: Array
    least: Array

    @classmethod
    def of(cls, y: ArrayLike, mean: ArrayLike, sample_weight: ArrayLike | None) -> _Squares:
        outcomes, means = as_float(y), as_float(mean)
        if outcomes.shape != means.shape:
            raise ValueError(
                "y must hold one outcome for each prediction; found shape "
                f"{outcomes.shape} for predictions of shape {means.shape}. Pass the same rows."
            )
        weight = row_weights(sample_weight, len(outcomes))
        n = (weight > 0).astype(np.float64)
        if n.sum() < MIN_RESIDUALS:
            raise ValueError(
                f"a normal needs at least {MIN_RESIDUALS} residuals of rows that have weight; "
                f"found {n.sum():.0f}. Add rows, or use a model that has predict_dist."
            )
        residual = outcomes - means
        largest = np.abs(residual).max(axis=0)
        unit = np.where(largest > 0, largest, 1.0)
        aligned = weight.reshape(-1, *[1] * (residual.ndim - 1))
        least = np.finfo(np.float64).eps * np.abs(outcomes).max(axis=0)
        least = np.maximum(least, np.finfo(np.float64).tiny)
        return cls((aligned * (residual / unit) ** 2, aligned, n), unit, least)

    def root(self, total: Array, weight: Array) -> Array:
        """Return the root mean square of residuals from sums over rows."""
        return np.maximum(self.unit * np.sqrt(total / weight), self.least)


def _sums_of_others(part: Array) -> Array:
    # As ``total - part`` an outlier would drown all others in its own rounding error.
    nothing = np.zeros((1, *part.shape[1:]))
    before = np.cumsum(np.concatenate([nothing, part[:-1]]), axis=0)
    after = np.cumsum(np.concatenate([nothing, part[:0:-1]]), axis=0)[::-1]
    return np.asarray(before + after)


def _predictive(df: Array, mean: Array, scale: Array) -> Predictive:
    marginal = StudentT(df, mean, scale)
    return Predictive(marginal, np.zeros(marginal.batch_shape), marginal.std())
