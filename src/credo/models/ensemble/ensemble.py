"""Several models that answer as one, with the verbs of what they are."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Annotated, Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import Bunch, ClassifierTags, RegressorTags, Tags, get_tags
from sklearn.utils.metaestimators import _BaseComposition, available_if

from credo.decisions.decision import Decision
from credo.distributions.categorical import Categorical
from credo.distributions.mixture import Mixture
from credo.distributions.predictive import Predictive
from credo.models.contract.classifier import PredictiveClassifier
from credo.models.contract.inputs import ClassLabels, FittedInputs, known_outcome, known_weight
from credo.models.contract.regressor import PredictiveRegressor
from credo.numerics.array import Array
from credo.numerics.form import Form

__all__ = ["Ensemble", "class_probability", "kind_of", "mixed_classes", "mixed_predictive"]


def kind_of(estimators: Any) -> str | None:
    """Return "classifier" or "regressor" if all members of a list of pairs are, else None.

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

    estimators: list[tuple[str, Any]]
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
        return dict(self._get_params("estimators", deep=deep))

    def set_params(self, **params: Any) -> Self:
        """Change settings, those of the parts as ``name__setting``."""
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
        pairs = list(self.estimators) if isinstance(self.estimators, list | tuple) else []
        if not pairs or not all(isinstance(p, tuple | list) and len(p) == 2 for p in pairs):
            raise ValueError(
                "estimators must be a list of (name, estimator) pairs with at least one model; "
                f"found {type(self.estimators).__name__} {self.estimators!r}. Write "
                "[('line', LinearRegression()), ...]."
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


def mixed_predictive(weights: Array, parts: Sequence[Any]) -> Predictive:
    """Return the mixture of predictives; where they disagree is part of the doubt.

    Parameters
    ----------
    weights
        Weight of each part, shape (n_models,).
    parts
        One `Predictive` per model.
    """
    mixture = Mixture(weights, [part.marginal for part in parts])
    mean = mixture.mean()
    shares = weights.reshape(-1, *[1] * mean.ndim)
    noise = (shares * np.array([part.aleatoric_std**2 for part in parts])).sum(axis=0)
    doubt = np.array([part.epistemic_std**2 + (part.mean() - mean) ** 2 for part in parts])
    return Predictive(mixture, np.sqrt((shares * doubt).sum(axis=0)), np.sqrt(noise))


def class_probability(model: Any, X: Any, classes: NDArray[Any]) -> Array:
    """Return a classifier's probabilities of ``classes``; zero for those it has not seen."""
    found = np.asarray(model.predict_proba(X), dtype=np.float64)
    if np.array_equal(model.classes_, classes):
        return found
    probability = np.zeros((len(found), len(classes)))
    probability[:, np.searchsorted(classes, model.classes_)] = found
    return probability


def _member_tags(estimators: Any) -> list[Tags]:
    """Return the tags of what looks like an estimator in a list of pairs."""
    pairs = estimators if isinstance(estimators, list | tuple) else []
    members = [p[1] for p in pairs if isinstance(p, tuple | list) and len(p) == 2]
    return [get_tags(m) for m in members if hasattr(m, "__sklearn_tags__")]
