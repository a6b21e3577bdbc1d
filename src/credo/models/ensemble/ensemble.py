"""Several models that answer as one, with the verbs of what they are."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Annotated, Any, Self, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import Bunch, ClassifierTags, RegressorTags, Tags, get_tags
from sklearn.utils.metaestimators import _BaseComposition, available_if
from sklearn.utils.validation import has_fit_parameter

from credo.decisions.decision import Decision
from credo.distributions.categorical import Categorical
from credo.distributions.predictive import Predictive
from credo.models.contract.classifier import PredictiveClassifier
from credo.models.contract.inputs import (
    ClassLabels,
    FittedInputs,
    class_labels,
    known_outcome,
    known_weight,
    row_weight,
)
from credo.models.contract.regressor import PredictiveRegressor
from credo.numerics.array import Array, as_float, in_byte_order
from credo.numerics.form import Form
from credo.validation.named_models import named_models
from credo.validation.outcome import Outcome
from credo.validation.splits import TrainingRows

__all__ = [
    "Ensemble",
    "kind_of",
    "mixed_classes",
    "require_verbs",
    "training_rows",
]


def kind_of(estimators: Any) -> str | None:
    """Return "classifier" or "regressor" if all members are, by name or in a list, else None.

    Examples
    --------
    >>> from credo.models import LinearRegression
    >>> kind_of([("line", LinearRegression())])
    'regressor'
    """
    kinds = {tags.estimator_type for tags in _member_tags(estimators)}
    return kinds.pop() if len(kinds) == 1 else None


def _is_classifier(ensemble: Any) -> bool:
    return kind_of(ensemble.estimators) == "classifier"


def _is_regressor(ensemble: Any) -> bool:
    return kind_of(ensemble.estimators) == "regressor"


class Ensemble(FittedInputs, _BaseComposition):
    """Named models of one kind; every answer is read off one predictive distribution.

    Members that are classifiers make a classifier, members that are regressors a regressor.
    """

    estimators: Any
    estimators_: Annotated[list[Any], Form("m")]
    names_: Annotated[list[str], Form("m")]
    classes_: ClassLabels

    @abstractmethod
    def predict_dist(self, X: ArrayLike) -> Categorical | Predictive:
        """Return the distribution of class or outcome, one entry per row."""

    def predict(self, X: ArrayLike, return_std: bool = False) -> Any:
        """Return the most probable class, or the predictive mean.

        Parameters
        ----------
        return_std
            Whether to return the predictive standard deviation as well; for regressors only.
        """
        if not _is_classifier(self):
            return PredictiveRegressor.predict(cast(Any, self), X, return_std)
        if return_std:
            raise ValueError(
                "return_std needs outcomes that are numbers; found a classifier. Read "
                "predict_proba(X)."
            )
        return PredictiveClassifier.predict(cast(Any, self), X)

    predict_proba = available_if(_is_classifier)(PredictiveClassifier.predict_proba)
    predict_log_proba = available_if(_is_classifier)(PredictiveClassifier.predict_log_proba)
    predict_interval = available_if(_is_regressor)(PredictiveRegressor.predict_interval)
    predict_quantiles = available_if(_is_regressor)(PredictiveRegressor.predict_quantiles)

    def decide(self, X: ArrayLike, loss: Any = None, reject: float | None = None) -> Decision:
        """Return the action of least expected loss for each row.

        Parameters
        ----------
        loss
            A `credo.decisions.LossMatrix` for classes, or what a guess of a number costs; if
            None every wrong class costs 1, and a number its squared error.
        reject
            What it costs to leave a row undecided; never done if None.
        """
        verbs = PredictiveClassifier if _is_classifier(self) else PredictiveRegressor
        return verbs.decide(cast(Any, self), X, loss, reject)

    def predict_frame(self, X: Any, **options: Any) -> Any:
        """Return the predictions as a frame of the kind of ``X``, rows labeled alike."""
        verbs = PredictiveClassifier if _is_classifier(self) else PredictiveRegressor
        return verbs.predict_frame(cast(Any, self), X, **options)

    def score(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the accuracy of classes, or the share of variance that is explained."""
        verbs = ClassifierMixin if _is_classifier(self) else RegressorMixin
        weight = known_weight(sample_weight, X)
        return float(verbs.score(cast(Any, self), X, known_outcome(self, y), weight))

    @property
    def named_estimators_(self) -> Bunch:
        """The fitted models by name."""
        return Bunch(**dict(zip(self.names_, self.estimators_, strict=True)))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings, those of the parts as ``name__setting``."""
        found = dict(_BaseComposition.get_params(self, deep=False))
        for name, model in _named(self.estimators) if deep else []:
            found[name] = model
            nested = model.get_params(deep=True) if hasattr(model, "get_params") else {}
            found.update({f"{name}__{key}": value for key, value in nested.items()})
        return found

    def set_params(self, **params: Any) -> Self:
        """Change settings, those of the parts as ``name__setting``."""
        if "estimators" in params:
            self.estimators = params.pop("estimators")
        named = _named(self.estimators)
        if any(name in params for name, _ in named):
            self.estimators = [(name, params.pop(name, model)) for name, model in named]
        self._set_params("estimators", **params)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        members = _member_tags(self.estimators)
        kind = kind_of(self.estimators)
        tags.estimator_type = kind
        tags.target_tags.required = True
        if kind == "classifier":
            many = all(m.classifier_tags.multi_class for m in members)
            tags.classifier_tags = ClassifierTags(multi_class=many)
        if kind == "regressor":
            tags.regressor_tags = RegressorTags()
            tags.target_tags.multi_output = all(m.target_tags.multi_output for m in members)
        tags.input_tags.allow_nan = all(m.input_tags.allow_nan for m in members)
        tags.input_tags.sparse = all(m.input_tags.sparse for m in members)
        return tags

    def _checked(self) -> tuple[list[str], list[Any]]:
        """Return the names and models of ``estimators``, which must be of one kind."""
        pairs = _named(self.estimators)
        if not pairs or not all(hasattr(model, "fit") for _, model in pairs):
            raise ValueError(
                "estimators must be models by name, (name, estimator) pairs or models alone, "
                f"at least one; found {type(self.estimators).__name__} {self.estimators!r}. "
                "Write {'line': LinearRegression(), ...}."
            )
        names, models = zip(*pairs, strict=True)
        self._validate_names(names)
        if kind_of(pairs) not in ("classifier", "regressor"):
            kinds = {name: get_tags(model).estimator_type for name, model in pairs}
            raise ValueError(
                "estimators must be all classifiers or all regressors; found "
                f"{kinds}. Put classifiers and regressors into lists of their own."
            )
        return list(names), list(models)


def mixed_classes(weights: Array, parts: Sequence[Array], classes: NDArray[Any]) -> Categorical:
    """Return the mixture of class probabilities, each part of shape (n, K)."""
    mean = np.tensordot(weights, parts, axes=1)
    return Categorical(mean / mean.sum(axis=1, keepdims=True), labels=classes)


def training_rows(
    X: Any, y: ArrayLike, is_classifier: bool, sample_weight: ArrayLike | None
) -> TrainingRows:
    """Return checked outcomes and weights, with inputs that are left to the models to check."""
    X = _in_byte_order(X)
    weight = row_weight(sample_weight, X)
    outcome = Outcome(as_float(y)) if not is_classifier else _labeled(y, sample_weight)
    return TrainingRows(X, outcome, weight, sample_weight is not None)


def _labeled(y: ArrayLike, sample_weight: ArrayLike | None) -> Outcome:
    classes, codes = class_labels(y, sample_weight)
    return Outcome(np.asarray(classes[codes]), classes, codes)


def _in_byte_order(X: Any) -> Any:
    """Return inputs of any kind in the byte order of the machine, so that rows can be taken."""
    if isinstance(X, pd.DataFrame):
        kinds = {k: v for k, v in X.dtypes.items() if not getattr(v, "isnative", True)}
        return X.astype({name: kind.newbyteorder("=") for name, kind in kinds.items()})
    return in_byte_order(X) if isinstance(X, np.ndarray) else X


def require_verbs(
    names: Sequence[str], models: Sequence[Any], is_classifier: bool, is_weighted: bool
) -> None:
    """Refuse members that give no probabilities, or cannot take weights."""
    named = list(zip(names, models, strict=True))
    silent = [n for n, m in named if is_classifier and not hasattr(m, "predict_proba")]
    if silent:
        raise TypeError(
            "every classifier must have predict_proba to be weighed by held-out rows; found "
            f"none in {silent}. Calibrate it first, such as with CalibratedClassifierCV."
        )
    rigid = [n for n, m in named if is_weighted and not has_fit_parameter(m, "sample_weight")]
    if rigid:
        raise TypeError(
            f"sample_weight needs models that can take it; found none in {rigid}. Leave out "
            "sample_weight or these models."
        )


def _named(estimators: Any) -> list[tuple[str, Any]]:
    """Return pairs of name and model; names of pairs are left as they are."""
    pairs = estimators if isinstance(estimators, list | tuple) else []
    if pairs and all(isinstance(p, tuple | list) and len(p) == 2 for p in pairs):
        return [(name, model) for name, model in pairs]
    return list(named_models(estimators).items())


def _member_tags(estimators: Any) -> list[Tags]:
    """Return the tags of what looks like an estimator among the members."""
    members = [model for _, model in _named(estimators)]
    return [get_tags(m) for m in members if hasattr(m, "__sklearn_tags__")]
