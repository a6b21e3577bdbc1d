"""Predictive distributions through scikit-learn's wrappers, which know only ``predict``."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from credo.distributions.predictive import Predictive
from credo.models.contract.changed_variable import Change, ChangedVariable
from credo.numerics.array import Array

__all__ = ["HasPredictive", "predict_dist"]

# Probability that may be lost to values that no target is transformed into, unmentioned.
NOTABLE = 1e-3


@runtime_checkable
class HasPredictive(Protocol):
    """A model with a predictive distribution."""

    def predict_dist(self, X: Any) -> Any:
        """Return the distribution of the outcome, one entry per row."""


def predict_dist(obj: Any, X: ArrayLike) -> Predictive:
    """Return the predictive distribution of a fitted object, however it is wrapped.

    Reaches through `Pipeline`, `GridSearchCV` and its relatives, and
    `TransformedTargetRegressor`, whose change of variable is carried out exactly where the
    transformer can be undone; a warning tells if predictions lie elsewhere.

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
    if _is_a(obj, "sklearn.pipeline", "Pipeline"):
        return predict_dist(obj.steps[-1][1], obj[:-1].transform(X) if len(obj) > 1 else X)
    if _is_a(obj, "sklearn.model_selection._search", "BaseSearchCV"):
        check_is_fitted(obj)
        return predict_dist(obj.best_estimator_, X)
    if _is_a(obj, "sklearn.compose", "TransformedTargetRegressor"):
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


def _is_a(obj: Any, module: str, name: str) -> bool:
    """Return whether an object is of a class, without loading what no one has loaded yet."""
    return isinstance(obj, getattr(sys.modules.get(module), name, ()))


def _back_transformed(obj: Any, X: ArrayLike) -> Predictive:
    inner = predict_dist(obj.regressor_, X)
    if len(inner.batch_shape) > 1:
        raise ValueError(
            "predict_dist through TransformedTargetRegressor needs one output; found "
            f"{inner.batch_shape[1]}. Fit one regressor per output."
        )

    transformer = obj.transformer_
    forward, inverse = _column(transformer.transform), _column(transformer.inverse_transform)
    moved = ChangedVariable(inner.marginal, forward, inverse)
    _warn_of_unreachable(float(moved.unreachable().max(initial=0.0)))
    # The noise and the doubt are stretched alike, to first order in their size.
    total = np.sqrt(inner.epistemic_std**2 + inner.aleatoric_std**2)
    stretch = moved.std() / total
    return Predictive(moved, stretch * inner.epistemic_std, stretch * inner.aleatoric_std)


def _column(change: Callable[[Any], Any]) -> Change:
    """Return a transformer's change of any array, NaN where the transformer has no answer."""

    def apply(values: Array) -> Array:
        answer = np.full(values.shape, np.nan)
        finite = np.isfinite(values)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            # NaN says it; transformers warn of it once more, whatever the error state is.
            warnings.simplefilter("ignore")
            answer[finite] = _changed(change, values[finite])
        return answer

    return apply


def _changed(change: Callable[[Any], Any], values: Array) -> Array:
    if not values.size:
        return values
    try:
        return np.asarray(change(values.reshape(-1, 1)), dtype=np.float64).ravel()
    except ValueError:
        # Some transformers refuse all values for the sake of one; halving finds the culprits.
        if values.size == 1:
            return np.array([np.nan])
        half = values.size // 2
        return np.append(_changed(change, values[:half]), _changed(change, values[half:]))


def _warn_of_unreachable(mass: float) -> None:
    if mass > NOTABLE:
        warnings.warn(
            "predictions should lie where the transformer of the target can be undone; found "
            f"up to {mass:.2g} of their probability elsewhere, which is left out. Use a "
            "transformer that reaches every number, such as a logarithm or StandardScaler.",
            stacklevel=4,
        )
