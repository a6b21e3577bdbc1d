"""Averages of models, each weighted by its evidence."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Annotated, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import indexable
from sklearn.utils.validation import check_is_fitted

from credo import features, models
from credo.inference.engine.model_evidence import Evidence, model_posterior
from credo.models.contract.inputs import single_column, validated
from credo.models.ensemble.ensemble import Ensemble, kind_of, mixed_classes, mixed_predictive
from credo.numerics.form import Form
from credo.numerics.quotation import quote
from credo.numerics.special.log_domain import log_sum_exp

__all__ = ["EvidenceWarning", "ModelAverage"]

FROM_EXACT_TO_NONE = ("exact", "grid", "importance", "laplace", "bic", "bound", "none")


class EvidenceWarning(UserWarning):
    """Evidences were put side by side that do not mean the same."""


class ModelAverage(Ensemble):
    """Models averaged by their evidence instead of one being chosen.

    ``p(y | x, data) = sum over models of p(y | x, data, model) p(model | data)``. Models that
    explain the data equally well share the prediction, and their disagreement is part of the
    uncertainty.

    Parameters
    ----------
    estimators
        Pairs of a name and a model that has ``log_evidence_`` and ``predict_dist``, such as
        `LinearRegression` or `LogisticRegression` on several bases; all regressors or all
        classifiers.
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
    classes_
        Labels, for classifiers only.

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

    evidence_method_: str
    log_evidence_: float
    log_evidences_: Annotated[NDArray[np.float64], Form("m")]
    probability_: Annotated[NDArray[np.float64], Form("m", 0.0, 1.0)]

    def __init__(self, estimators: list[tuple[str, Any]], prior: ArrayLike | None = None):
        self.estimators = estimators
        self.prior = prior

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        line, logistic = models.LinearRegression, models.LogisticRegression
        spline = features.SplineBasis(4)
        flat = line(features.PolynomialBasis(0))
        return (
            cls([("constant", flat), ("line", line()), ("spline", line(spline))]),
            cls([("line", logistic()), ("curve", logistic(spline))]),
        )

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit every model to the same data and weigh them by evidence."""
        names, models = self._checked()
        is_classifier = kind_of(self.estimators) == "classifier"
        X, y = indexable(X, y)
        # The members check the values, each as it was told to.
        validated(self, X, y, skip_check_array=True)
        y = single_column(self, y)
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        fitted = [clone(model).fit(X, y, **weight) for model in models]
        if is_classifier:
            self.classes_ = fitted[0].classes_
        return self._weigh(names, fitted)

    def weigh(self, fitted: Sequence[Any]) -> Self:
        """Weigh the models by evidence, fitted to the same data already, in their order."""
        names, _ = self._checked()
        learned = ("n_features_in_", "feature_names_in_", "classes_")
        for name in (name for name in learned if hasattr(fitted[0], name)):
            setattr(self, name, getattr(fitted[0], name))
        return self._weigh(names, list(fitted))

    def predict_dist(self, X: ArrayLike) -> Any:
        """Return the mixture of the models' predictives, one entry per row."""
        check_is_fitted(self)
        if kind_of(self.estimators) == "classifier":
            shares = [model.predict_proba(X) for model in self.estimators_]
            return mixed_classes(self.probability_, shares, self.classes_)
        return mixed_predictive(
            self.probability_, [model.predict_dist(X) for model in self.estimators_]
        )

    def table(self) -> pd.DataFrame:
        """Return evidence and probability of each model, by name."""
        check_is_fitted(self)
        columns = {"log_evidence": self.log_evidences_, "probability": self.probability_}
        return pd.DataFrame(columns, index=pd.Index(self.names_, name="model"))

    def _weigh(self, names: list[str], models: list[Any]) -> Self:
        silent = [
            n for n, m in zip(names, models, strict=True) if not hasattr(m, "log_evidence_")
        ]
        if silent:
            raise TypeError(
                f"every model must have a log_evidence_ to be weighed; found none in {silent}. "
                "Average credo estimators; put steps of a Pipeline around the average."
            )
        _require_comparable(names, models)
        self.names_, self.estimators_ = names, models
        self.log_evidences_ = np.array([model.log_evidence_ for model in models])
        self.probability_ = model_posterior(self.log_evidences_, self.prior)
        prior = model_posterior(np.zeros(len(names)), self.prior)
        self.log_evidence_ = float(log_sum_exp(self.log_evidences_, weights=prior))
        methods = {model.evidence_method_ for model in models}
        self.evidence_method_ = max(methods, key=FROM_EXACT_TO_NONE.index)
        return self


def _require_comparable(names: list[str], models: list[Any]) -> None:
    """Refuse evidences that are about different things; warn where they differ in kind."""
    evidences = [Evidence.of_model(model) for model in models]
    subjects = {evidence.of for evidence in evidences}
    if len(subjects) > 1:
        raise ValueError(
            "evidences compare only if they are about the same; found "
            f"{sorted(subjects)} among {quote(names)}. Models of X and y explain the inputs "
            "as well: "
            "average them apart from models of y, or use Stack, which needs no evidence."
        )
    flat = {evidence.flat for evidence in evidences}
    if len(flat) > 1:
        warnings.warn(
            "evidences compare only among models with the same flat priors; found "
            f"{sorted(flat)} among {names}. A flat prior has no scale: give all models an "
            "intercept or none, and learn the noise in all or in none.",
            EvidenceWarning,
            stacklevel=4,
        )
    methods = {evidence.method for evidence in evidences}
    if "bound" in methods and len(methods) > 1:
        warnings.warn(
            f"a bound must not be compared with an evidence; found {sorted(methods)}. "
            "Use one inference for all models.",
            EvidenceWarning,
            stacklevel=4,
        )
