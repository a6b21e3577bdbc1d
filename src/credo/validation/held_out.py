"""What a fitted estimator believes about rows it has not seen, whoever wrote it."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.distributions.categorical import Categorical
from credo.numerics.array import as_float

__all__ = ["has_predictive", "predictive_of"]

# Probabilities in single precision sum to one no better than this.
ROUNDING = 1e-5


def predictive_of(estimator: Any, X: Any) -> Any:
    """Return the predictive distribution of a fitted estimator, one entry per row.

    Reaches through pipelines (``steps``) and searches (``best_estimator_``). A classifier
    without ``predict_dist`` is heard through ``predict_proba``.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> model = GaussianNB().fit([[0.0], [1.0], [3.0], [4.0]], ["low", "low", "high", "high"])
    >>> predictive = predictive_of(model, [[0.5], [3.5]])
    >>> predictive.mode().tolist()
    ['low', 'high']
    """
    if hasattr(estimator, "predict_dist"):
        return estimator.predict_dist(X)
    if hasattr(estimator, "best_estimator_"):
        return predictive_of(estimator.best_estimator_, X)
    if hasattr(estimator, "steps"):
        inputs = estimator[:-1].transform(X) if len(estimator) > 1 else X
        return predictive_of(estimator[-1], inputs)
    if hasattr(estimator, "predict_proba") and hasattr(estimator, "classes_"):
        probability = as_float(estimator.predict_proba(X))
        total = probability.sum(axis=-1, keepdims=True)
        is_close = np.abs(total - 1.0) <= ROUNDING
        return Categorical(
            np.where(is_close, probability / total, probability), estimator.classes_
        )
    raise TypeError(
        "a proper score needs a model that has a predictive distribution; found "
        f"{type(estimator).__name__}. Use a credo estimator or a classifier with "
        "predict_proba, alone, in a Pipeline or in a search."
    )


def has_predictive(estimator: Any) -> bool:
    """Return whether `predictive_of` has an answer for a fitted estimator.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression, Perceptron
    >>> has_predictive(LogisticRegression()), has_predictive(Perceptron())
    (True, False)
    """
    if hasattr(estimator, "best_estimator_"):
        return has_predictive(estimator.best_estimator_)
    if hasattr(estimator, "steps"):
        return has_predictive(estimator.steps[-1][1])
    return hasattr(estimator, "predict_dist") or hasattr(estimator, "predict_proba")
