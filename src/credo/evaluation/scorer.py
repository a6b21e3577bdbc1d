"""Scores as scikit-learn scorers, for ``scoring=`` in searches and cross-validation.

Each takes ``(estimator, X, y, sample_weight=None)`` and returns a number of which higher is
better: losses come with a minus sign. They hear credo estimators through ``predict_dist`` and
foreign classifiers through ``predict_proba``, alone, in a Pipeline or in a search.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from credo.evaluation.classes.confusion import Confusion
from credo.evaluation.classes.rates import balanced_accuracy, macro_f1, matthews_correlation
from credo.evaluation.classes.reliability import reliability_curve
from credo.numerics.array import Array, as_float
from credo.validation.outcome import MISSING, row_weights
from credo.validation.predictive import predict_dist
from credo.validation.probability_score import brier_score, row_codes
from credo.validation.scores import crps_score, interval_score, is_covered, log_score

__all__ = [
    "balanced_accuracy_scorer",
    "brier_scorer",
    "calibration_scorer",
    "coverage_scorer",
    "crps_scorer",
    "interval_score_scorer",
    "log_score_scorer",
    "macro_f1_scorer",
    "mcc_scorer",
]

Weight = ArrayLike | None


def log_score_scorer(
    estimator: Any, X: Any, y: ArrayLike, sample_weight: Weight = None
) -> float:
    """Return the mean log predictive density, or class probability, of ``y``.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from credo.models import LinearRegression
    >>> x = np.arange(8.0)[:, None]
    >>> y = 2.0 * x[:, 0] + np.array([0.1, -0.2, 0.0, 0.3, -0.1, -0.1, 0.2, -0.2])
    >>> cross_val_score(LinearRegression(), x, y, cv=2, scoring=log_score_scorer).round(1)
    array([-0.4, -0.7])
    """
    return _mean(log_score(y, predict_dist(estimator, X)), sample_weight)


def crps_scorer(estimator: Any, X: Any, y: ArrayLike, sample_weight: Weight = None) -> float:
    """Return minus the mean continuous ranked probability score of ``y``."""
    return -_mean(crps_score(y, predict_dist(estimator, X)), sample_weight)


def interval_score_scorer(
    estimator: Any, X: Any, y: ArrayLike, sample_weight: Weight = None
) -> float:
    """Return minus the mean interval score of the central 90 % intervals."""
    return -_mean(interval_score(y, predict_dist(estimator, X)), sample_weight)


def coverage_scorer(
    estimator: Any, X: Any, y: ArrayLike, sample_weight: Weight = None
) -> float:
    """Return minus the distance between 0.9 and the share of ``y`` in 90 % intervals.

    Not proper: useless intervals can cover as they claim. Choose by `interval_score_scorer`.
    """
    covered = is_covered(y, predict_dist(estimator, X), 0.9)
    return -abs(_mean(covered, sample_weight) - 0.9)


def brier_scorer(estimator: Any, X: Any, y: ArrayLike, sample_weight: Weight = None) -> float:
    """Return minus the mean Brier score of class probabilities.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> x, y = [[0.0], [1.0], [3.0], [4.0]], ["low", "low", "high", "high"]
    >>> brier_scorer(GaussianNB().fit(x, y), [[2.0]], ["low"])
    -0.25
    """
    return -_mean(brier_score(y, predict_dist(estimator, X)), sample_weight)


def calibration_scorer(
    estimator: Any, X: Any, y: ArrayLike, sample_weight: Weight = None
) -> float:
    """Return minus the expected calibration error of the class called, in ten bins.

    Not proper: always saying how common classes are is calibrated. Choose by
    `log_score_scorer` or `brier_scorer`.
    """
    predictive = predict_dist(estimator, X)
    codes = row_codes(predictive, y)
    known = codes != MISSING
    best = predictive.probability.argmax(axis=1)
    weight = row_weights(sample_weight, len(codes))[known]
    confidence = predictive.probability.max(axis=1)
    curve = reliability_curve(
        y_true=(best == codes)[known], y_prob=confidence[known], sample_weight=weight
    )
    return -curve.error.value


def mcc_scorer(estimator: Any, X: Any, y: ArrayLike, sample_weight: Weight = None) -> float:
    """Return the correlation of true and predicted classes; needs only ``predict``."""
    return matthews_correlation(_confusion(estimator, X, y, sample_weight)).value


def balanced_accuracy_scorer(
    estimator: Any, X: Any, y: ArrayLike, sample_weight: Weight = None
) -> float:
    """Return the mean over classes of the share found; needs only ``predict``."""
    return balanced_accuracy(_confusion(estimator, X, y, sample_weight)).value


def macro_f1_scorer(
    estimator: Any, X: Any, y: ArrayLike, sample_weight: Weight = None
) -> float:
    """Return the mean over classes of F1; needs only ``predict``."""
    return macro_f1(_confusion(estimator, X, y, sample_weight)).value


def _mean(scores: ArrayLike, sample_weight: Weight) -> float:
    """Return the weighted mean over rows whose outcome is known."""
    values: Array = as_float(scores)
    weight = np.where(np.isnan(values), 0.0, 1.0)
    if sample_weight is not None:
        rows = row_weights(sample_weight, len(values))
        weight *= rows.reshape(-1, *[1] * (values.ndim - 1))
    kept = weight > 0
    return float(np.average(values[kept], weights=weight[kept])) if kept.any() else np.nan


def _confusion(estimator: Any, X: Any, y: ArrayLike, sample_weight: Weight) -> Confusion:
    return Confusion.of(y, estimator.predict(X), sample_weight=sample_weight)
