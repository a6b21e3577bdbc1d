"""Scores of class probabilities against the class that came true."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.distributions.categorical import Categorical
from credo.numerics.array import Array
from credo.validation.argument import (
    as_categorical,
    label_column,
    old_arguments,
    predicted_first,
)
from credo.validation.outcome import MISSING, class_codes

__all__ = ["brier_score", "class_log_score", "row_codes"]


def class_log_score(predictive: Categorical, y: ArrayLike) -> Array:
    """Return the log probability of each class that came true; higher is better.

    NaN where the class is missing; minus infinity where it was held impossible.

    Examples
    --------
    >>> sky = Categorical([[0.2, 0.8], [0.5, 0.5]], labels=["rain", "sun"])
    >>> class_log_score(sky, ["sun", "rain"]).round(3)
    array([-0.223, -0.693])
    """
    codes = row_codes(predictive, y)
    chosen = predictive.probability[np.arange(len(codes)), codes]
    with np.errstate(divide="ignore"):
        return np.where(codes == MISSING, np.nan, np.log(chosen))


@old_arguments(predicted_first, "y_proba y_true", predictive="y_proba", y="y_true")
def brier_score(y_true: ArrayLike, y_proba: Any, labels: ArrayLike | None = None) -> Array:
    """Return the squared distance of each row's probabilities from what came true.

    ``sum over k of (p_k - [y = k])^2``, halved for two classes, where both terms are equal:
    then it is the squared error of the probability of either. Strictly proper, lower is
    better; NaN where the class is missing. The mean is ``sklearn.metrics.brier_score_loss``.

    Parameters
    ----------
    y_true
        The class that came true in each row.
    y_proba
        One `Categorical` for each row, such as ``model.predict_dist(X)``; or an array of
        probabilities, shape (n, K), or of those of the second of two classes, shape (n,).
    labels
        The classes in the order of the columns of such an array; those of ``y_true``, in rising
        order, if None.

    Examples
    --------
    >>> sky = Categorical([[0.2, 0.8], [0.5, 0.5]], labels=["rain", "sun"])
    >>> brier_score(["sun", "rain"], sky).round(3)
    array([0.04, 0.25])
    """
    y = label_column("y_true", y_true)
    predictive = as_categorical(y, y_proba, labels)
    codes = row_codes(predictive, y)
    probability = predictive.probability
    chosen = probability[np.arange(len(codes)), codes]
    # Without an array of ones: sum (p - e)^2 = sum p^2 - 2 p_y + 1.
    score = (probability**2).sum(axis=1) - 2.0 * chosen + 1.0
    return np.where(codes == MISSING, np.nan, _scale(predictive) * np.maximum(score, 0.0))


def row_codes(predictive: Categorical, y: ArrayLike) -> NDArray[np.intp]:
    """Return the place of each row's class among the labels, checked to be one per row."""
    if not isinstance(predictive, Categorical):
        raise TypeError(
            "predictions of classes must be a Categorical; found "
            f"{type(predictive).__name__}. Pass model.predict_dist(X), or "
            "Categorical(model.predict_proba(X), model.classes_)."
        )
    codes = class_codes(y, predictive.labels)
    if codes.shape != predictive.batch_shape:
        raise ValueError(
            "y must hold one class for each prediction; found "
            f"{len(codes)} classes for predictions of shape {predictive.batch_shape}. Pass the "
            "classes of the same rows, in the same order."
        )
    return codes


def _scale(predictive: Categorical) -> float:
    return 0.5 if len(predictive.labels) == 2 else 1.0
