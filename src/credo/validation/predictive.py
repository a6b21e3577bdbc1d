"""The predictive distribution of any fitted estimator, whoever wrote it and however wrapped."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from credo.distributions.categorical import Categorical
from credo.distributions.predictive import Predictive
from credo.numerics.array import Array, as_float
from credo.validation.changed_variable import Change, ChangedVariable
from credo.validation.outcome import class_codes

__all__ = [
    "HasPredictive",
    "class_probability",
    "has_predictive",
    "predict_dist",
    "predictive_of",
]

# Probability that may be lost to values that no target is transformed into, unmentioned.
NOTABLE = 1e-3

# Probabilities in single precision sum to one no better than this.
ROUNDING = 1e-5


@runtime_checkable
class HasPredictive(Protocol):
    """A model with a predictive distribution."""

    def predict_dist(self, X: Any) -> Any:
        """Return the distribution of the outcome, one entry per row."""


def predict_dist(obj: Any, X: ArrayLike) -> Any:
    """Return the predictive distribution of a fitted object, one entry per row.

    Reaches through `Pipeline`, `GridSearchCV` and its relatives, and
    `TransformedTargetRegressor`, whose change of variable is carried out exactly where the
    transformer can be undone; a warning tells if predictions lie elsewhere. A classifier
    without ``predict_dist`` is heard through ``predict_proba``.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from credo.models import LinearRegression
    >>> x, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.2, 0.9, 2.1, 2.8])
    >>> model = make_pipeline(StandardScaler(), LinearRegression()).fit(x, y)
    >>> predict_dist(model, [[1.5]]).interval(0.9).round(2)
    array([[1.08, 1.92]])
    >>> from sklearn.naive_bayes import GaussianNB
    >>> model = GaussianNB().fit([[0.0], [1.0], [3.0], [4.0]], ["low", "low", "high", "high"])
    >>> predict_dist(model, [[0.5], [3.5]]).mode().tolist()
    ['low', 'high']
    """
    if hasattr(obj, "predict_dist"):
        return obj.predict_dist(X)
    if hasattr(obj, "steps"):
        return predict_dist(obj.steps[-1][1], obj[:-1].transform(X) if len(obj) > 1 else X)
    if _is_search(obj):
        check_is_fitted(obj)
        return predict_dist(obj.best_estimator_, X)
    if _is_transformed(obj):
        check_is_fitted(obj)
        return _back_transformed(obj, X)
    if hasattr(obj, "predict_proba") and hasattr(obj, "classes_"):
        return _heard_through_proba(obj, X)
    raise TypeError(
        "predict_dist needs a model that has a predictive distribution; found "
        f"{type(obj).__name__}. Use a credo estimator or a classifier with predict_proba, "
        "alone, in a Pipeline, in a search or in a TransformedTargetRegressor."
    )


predictive_of = predict_dist
"""`predict_dist`, by the name that it has in `credo.evaluation`."""


def has_predictive(obj: Any) -> bool:
    """Return whether `predict_dist` has an answer for an object, once it is fitted.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression, Perceptron
    >>> has_predictive(LogisticRegression()), has_predictive(Perceptron())
    (True, False)
    """
    if hasattr(obj, "predict_dist") or hasattr(obj, "predict_proba"):
        return True
    if hasattr(obj, "steps"):
        return has_predictive(obj.steps[-1][1])
    if _is_search(obj):
        return has_predictive(getattr(obj, "best_estimator_", obj.estimator))
    return _is_transformed(obj) and has_predictive(getattr(obj, "regressor_", obj.regressor))


def class_probability(obj: Any, X: Any, classes: NDArray[Any]) -> Array:
    """Return a classifier's probabilities of ``classes``, shape (n, K); 0 for those not seen.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> model = GaussianNB().fit([[0.0], [1.0], [3.0], [4.0]], ["low", "low", "high", "high"])
    >>> class_probability(model, [[0.5]], np.array(["high", "low", "middle"])).round(3)
    array([[0., 1., 0.]])
    """
    predictive = predict_dist(obj, X)
    found: Array = predictive.probability
    if np.array_equal(predictive.labels, classes):
        return found
    probability = np.zeros((len(found), len(classes)))
    probability[:, class_codes(predictive.labels, classes)] = found
    return probability


def _is_search(obj: Any) -> bool:
    is_of_scikit_learn = _is_a(obj, "sklearn.model_selection._search", "BaseSearchCV")
    return is_of_scikit_learn or hasattr(obj, "best_estimator_")


def _is_transformed(obj: Any) -> bool:
    return _is_a(obj, "sklearn.compose", "TransformedTargetRegressor")


def _heard_through_proba(classifier: Any, X: ArrayLike) -> Categorical:
    probability = as_float(classifier.predict_proba(X))
    total = probability.sum(axis=-1, keepdims=True)
    is_close = np.abs(total - 1.0) <= ROUNDING
    return Categorical(
        np.where(is_close, probability / total, probability), classifier.classes_
    )


def _is_a(obj: Any, module: str, name: str) -> bool:
    """Return whether an object is of a class, without loading what no one has loaded yet."""
    return isinstance(obj, getattr(sys.modules.get(module), name, ()))


def _back_transformed(obj: Any, X: ArrayLike) -> Predictive:
    inner: Predictive = predict_dist(obj.regressor_, X)
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
