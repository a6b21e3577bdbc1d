"""Row scores: what fitted models say about rows that they have not seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.inference.engine.stacking import hopeless_models
from credo.numerics.array import Array, as_float
from credo.numerics.parallel.threads import side_by_side
from credo.validation.fold_fit import TrainingRows
from credo.validation.outcome import MISSING, Outcome
from credo.validation.predictive import class_probability, has_predictive, predict_dist
from credo.validation.residual_normal import (
    NoisyRegressor,
    ResidualNormal,
    held_out_normal,
)
from credo.validation.split_plan import Pair

__all__ = ["Forget", "HeldOut", "RowScores", "held_out", "row_scores"]

Rows = NDArray[np.intp]

Forget = Callable[[Rows], Any]
"""Maps rows to a model without them, or to None where a fit of its own is needed."""


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
    for train, test in pairs:
        question = _Question.of(rows, train, test)
        each = [learners[k] for k in asked]
        # Models that choose anew in every pair may bring threads of their own.
        said = map(question.put, each) if fitted is None else side_by_side(question.put, each)
        held = np.append(held, test)
        for k, part in zip(asked, said, strict=True):
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
    left_out: Rows | None

    @classmethod
    def of(cls, rows: TrainingRows, train: Rows, test: Rows) -> _Question:
        """Return the question that a pair puts to models of rows."""
        is_rest = len(train) + len(test) == np.count_nonzero(rows.weight)
        return cls(rows.take(train), rows.take(test), test if is_rest else None)

    def put(self, learner: _Learner) -> RowScores:
        """Return what a model says of the rows, and the log score of what came true."""
        fit = None
        if learner.forget is not None and self.left_out is not None:
            fit = learner.forget(self.left_out)
        if fit is None:
            fit = self.taught.fit(learner.model)
        return row_scores(fit, self.judged.X, self.judged.outcome)
