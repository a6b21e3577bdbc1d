"""Predictive distributions through scikit-learn's wrappers, which know only ``predict``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.compose import TransformedTargetRegressor
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from credo.distributions.predictive import Predictive
from credo.models.changed_variable import Change, ChangedVariable
from credo.numerics.array import Array

__all__ = ["predict_dist"]


def predict_dist(obj: Any, X: ArrayLike) -> Predictive:
    """Return the predictive distribution of a fitted object, however it is wrapped.

    Reaches through `Pipeline`, `GridSearchCV` and its relatives, and
    `TransformedTargetRegressor`, whose change of variable is carried out exactly.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from credo.models import LinearRegression
    >>> x, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.2, 0.9, 2.1, 2.8])
    >>> model = make_pipeline(StandardScaler(), LinearRegression()).fit(x, y)
    >>> predict_dist(model, [[1.5]]).interval(0.9).round(2)
    array([[1.08, 1.92]])
    """
    if isinstance(obj, Pipeline):
        return predict_dist(obj.steps[-1][1], obj[:-1].transform(X) if len(obj) > 1 else X)
    if isinstance(obj, BaseSearchCV):
        check_is_fitted(obj)
        return predict_dist(obj.best_estimator_, X)
    if isinstance(obj, TransformedTargetRegressor):
        check_is_fitted(obj)
        return _back_transformed(obj, X)
    if not hasattr(obj, "predict_dist"):
        raise TypeError(
            "predict_dist needs a model that has a predictive distribution, or a Pipeline, "
            f"search or TransformedTargetRegressor around one; found {type(obj).__name__}. "
            "Use a credo estimator."
        )
    predictive: Predictive = obj.predict_dist(X)
    return predictive


def _back_transformed(obj: TransformedTargetRegressor, X: ArrayLike) -> Predictive:
    inner = predict_dist(obj.regressor_, X)
    if len(inner.batch_shape) > 1:
        raise ValueError(
            "predict_dist through TransformedTargetRegressor needs one output; found "
            f"{inner.batch_shape[1]}. Fit one regressor per output."
        )

    def column(change: Callable[[Any], Any]) -> Change:
        def apply(values: Array) -> Array:
            flat = np.asarray(change(values.reshape(-1, 1)), dtype=np.float64)
            return flat.reshape(values.shape)

        return apply

    transformer = obj.transformer_
    forward, inverse = column(transformer.transform), column(transformer.inverse_transform)
    moved = ChangedVariable(inner.marginal, forward, inverse)
    # The noise and the doubt are stretched alike, to first order in their size.
    total = np.sqrt(inner.epistemic_std**2 + inner.aleatoric_std**2)
    stretch = moved.std() / total
    return Predictive(moved, stretch * inner.epistemic_std, stretch * inner.aleatoric_std)
