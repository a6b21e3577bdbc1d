"""Proper scores as scikit-learn scorers, for ``scoring=`` in searches and cross-validation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from credo.distributions.predictive import Predictive
from credo.evaluation.scores import crps_score, log_score

__all__ = ["crps_scorer", "log_score_scorer"]


def log_score_scorer(estimator: Any, X: Any, y: ArrayLike) -> float:
    """Return the mean log predictive density of ``y``; higher is better.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from credo.models import LinearRegression
    >>> x = np.arange(8.0)[:, None]
    >>> y = 2.0 * x[:, 0] + np.array([0.1, -0.2, 0.0, 0.3, -0.1, -0.1, 0.2, -0.2])
    >>> cross_val_score(LinearRegression(), x, y, cv=2, scoring=log_score_scorer).round(1)
    array([-0.4, -0.7])
    """
    return float(np.mean(log_score(_predictive(estimator, X), y)))


def crps_scorer(estimator: Any, X: Any, y: ArrayLike) -> float:
    """Return minus the mean continuous ranked probability score of ``y``; higher is better."""
    return -float(np.mean(crps_score(_predictive(estimator, X), y)))


def _predictive(estimator: Any, X: Any) -> Predictive:
    """Return the predictive of a regressor, also as the last step of a Pipeline."""
    if hasattr(estimator, "steps"):
        inputs = estimator[:-1].transform(X) if len(estimator) > 1 else X
        return _predictive(estimator[-1], inputs)
    if not hasattr(estimator, "predict_dist"):
        raise TypeError(
            "a proper score needs a model that has a predictive distribution; found "
            f"{type(estimator).__name__}. Use a credo regressor, alone or in a Pipeline."
        )
    predictive: Predictive = estimator.predict_dist(X)
    return predictive
