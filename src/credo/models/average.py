"""Averages of models, each weighted by its evidence."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import Bunch, Tags
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.validation import check_is_fitted, validate_data

from credo.distributions.mixture import Mixture
from credo.distributions.predictive import Predictive
from credo.inference.model_evidence import model_posterior
from credo.models.regressor import PredictiveRegressor
from credo.numerics.log_domain import log_sum_exp

__all__ = ["EvidenceWarning", "ModelAverage"]

FROM_EXACT_TO_NONE = ("exact", "grid", "laplace", "bic", "bound", "none")


class EvidenceWarning(UserWarning):
    """Evidences were put side by side that do not mean the same."""


class ModelAverage(PredictiveRegressor, _BaseComposition):
    """Regression that averages over models instead of choosing one.

    ``p(y | x, data) = sum over models of p(y | x, data, model) p(model | data)``. Models that
    explain the data equally well share the prediction, and their disagreement is part of the
    uncertainty.

    Parameters
    ----------
    estimators
        Pairs of a name and a regressor that has ``log_evidence_`` and ``predict_dist``, such
        as `LinearRegression` on several bases.
    prior
        Prior probability of each model, equal if None.

    Attributes
    ----------
    estimators_, named_estimators_
        The fitted models, in order and by name.
    names_, log_evidences_, probability_
        Name, log evidence and posterior probability of each.
    log_evidence_, evidence_method_
        Log evidence of the average, and how the least exact of its parts was found.

    Examples
    --------
    >>> from credo.features import PolynomialBasis
    >>> from credo.models import LinearRegression
    >>> x, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.2, 0.9, 2.1, 2.8])
    >>> fixed = {"weight_precision": 0.5, "noise_precision": 4.0, "penalize_intercept": True}
    >>> models = [LinearRegression(PolynomialBasis(k), **fixed) for k in range(4)]
    >>> average = ModelAverage([(f"degree {k}", m) for k, m in enumerate(models)]).fit(x, y)
    >>> average.probability_.round(4)
    array([0.0012, 0.8426, 0.134 , 0.0222])
    >>> average.predict([[4.0]]).round(6)
    array([3.719863])
    """

    def __init__(self, estimators: list[tuple[str, Any]], prior: ArrayLike | None = None):
        self.estimators = estimators
        self.prior = prior

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit every model to the same data and weigh them by evidence."""
        names, models = self._checked()
        validate_data(self, X, y, y_numeric=True, multi_output=True)
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        return self._weigh(names, [clone(model).fit(X, y, **weight) for model in models])

    def predict_dist(self, X: ArrayLike) -> Predictive:
        """Return the mixture of the models' predictives, one entry per row."""
        check_is_fitted(self)
        validate_data(self, X, reset=False)
        parts = [model.predict_dist(X) for model in self.estimators_]
        mixture = Mixture(self.probability_, [part.marginal for part in parts])
        mean = mixture.mean()
        weights = self.probability_.reshape(-1, *[1] * mean.ndim)
        noise = (weights * np.array([part.aleatoric_std**2 for part in parts])).sum(axis=0)
        doubt = np.array([part.epistemic_std**2 + (part.mean() - mean) ** 2 for part in parts])
        return Predictive(mixture, np.sqrt((weights * doubt).sum(axis=0)), np.sqrt(noise))

    @property
    def named_estimators_(self) -> Bunch:
        """The fitted models by name."""
        return Bunch(**dict(zip(self.names_, self.estimators_, strict=True)))

    def table(self) -> pd.DataFrame:
        """Return evidence and probability of each model, by name."""
        check_is_fitted(self)
        columns = {"log_evidence": self.log_evidences_, "probability": self.probability_}
        return pd.DataFrame(columns, index=pd.Index(self.names_, name="model"))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings, those of the parts as ``name__setting``."""
        return dict(self._get_params("estimators", deep=deep))

    def set_params(self, **params: Any) -> Self:
        """Change settings, those of the parts as ``name__setting``."""
        self._set_params("estimators", **params)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _checked(self) -> tuple[list[str], list[Any]]:
        pairs = list(self.estimators) if isinstance(self.estimators, list | tuple) else []
        if not pairs or not all(isinstance(p, tuple | list) and len(p) == 2 for p in pairs):
            raise ValueError(
                "estimators must be a list of (name, estimator) pairs with at least one model; "
                f"found {type(self.estimators).__name__} {self.estimators!r}. Write "
                "[('line', LinearRegression()), ...]."
            )
        names, models = zip(*pairs, strict=True)
        self._validate_names(names)
        return list(names), list(models)

    def _weigh(self, names: list[str], models: list[Any]) -> Self:
        silent = [
            n for n, m in zip(names, models, strict=True) if not hasattr(m, "log_evidence_")
        ]
        if silent:
            raise TypeError(
                f"every model must have a log_evidence_ to be weighed; found none in {silent}. "
                "Average credo estimators; put steps of a Pipeline around the average."
            )
        self.names_, self.estimators_ = names, models
        _warn_if_incomparable(names, models)
        self.log_evidences_ = np.array([model.log_evidence_ for model in models])
        self.probability_ = model_posterior(self.log_evidences_, self.prior)
        prior = model_posterior(np.zeros(len(names)), self.prior)
        self.log_evidence_ = float(log_sum_exp(self.log_evidences_, weights=prior))
        methods = {model.evidence_method_ for model in models}
        self.evidence_method_ = max(methods, key=FROM_EXACT_TO_NONE.index)
        return self


def _warn_if_incomparable(names: list[str], models: list[Any]) -> None:
    """Warn where flat priors differ, or a bound stands beside an exact value."""
    flat = {getattr(model, "evidence_flat_", ()) for model in models}
    if len(flat) > 1:
        warnings.warn(
            "evidences compare only among models with the same flat priors; found "
            f"{sorted(flat)} among {names}. A flat prior has no scale: give all models an "
            "intercept or none, and learn the noise in all or in none.",
            EvidenceWarning,
            stacklevel=4,
        )
    methods = {model.evidence_method_ for model in models}
    if "bound" in methods and len(methods) > 1:
        warnings.warn(
            f"a bound must not be compared with an evidence; found {sorted(methods)}. "
            "Use one inference for all models.",
            EvidenceWarning,
            stacklevel=4,
        )
