"""Averages of models, each weighted by its evidence (Bayesian model averaging).

Models without an evidence are weighted by the product of their held-out densities, the
pseudo-marginal likelihood (pseudo Bayesian model averaging).
"""

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
from credo.distributions.predictive import Predictive
from credo.inference.engine.model_evidence import (
    LEARNED,
    TRANSFORMED,
    Evidence,
    model_posterior,
)
from credo.models.contract.inputs import single_column, validated
from credo.models.ensemble.ensemble import (
    Ensemble,
    kind_of,
    mixed_classes,
    require_verbs,
    training_rows,
)
from credo.numerics.array import Array
from credo.numerics.form import Form
from credo.numerics.quotation import quote
from credo.numerics.special.log_domain import log_sum_exp
from credo.validation.held_out import held_out
from credo.validation.mixture_score import mean_score
from credo.validation.predictive import class_probability, predict_dist
from credo.validation.split_plan import fold_generator, fold_pairs
from credo.validation.splits import TrainingRows

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
        Models by name, pairs of name and model, or models alone; all regressors or all
        classifiers, of credo or scikit-learn. Those that have ``log_evidence_``, such as
        `LinearRegression` or `LogisticRegression` on several bases, are weighed by it. If some
        have none, all are weighed by how they predict held-out rows; a regressor without
        ``predict_dist`` gets a normal fitted to its residuals there.
    prior
        Prior probability of each model, equal if None.
    cv
        Folds of held-out rows, where evidence does not decide: a number, or a splitter that
        holds each row out at most once.
    random_state
        Draws the folds; if None they are the same in every fit.

    Attributes
    ----------
    estimators_, named_estimators_
        The fitted models, in order and by name.
    names_, probability_
        Name and posterior probability of each.
    criterion_
        What the probability rests on, "evidence" or "log_score".
    log_evidences_, log_evidence_, evidence_method_
        Log evidence of each and of the average, and how the least exact was found; by evidence
        only.
    log_scores_
        Log score of each row under each model fitted without it, shape (n_models, n); NaN for
        rows that were not held out. By log score only.
    classes_
        Labels, for classifiers only.

    Notes
    -----
    By log score a model has probability proportional to its prior times the product of its
    held-out densities, which stands for the evidence [geisser1979]_. As that takes no account
    of how much the scores owe to chance, it is often too sure; `Stack` mixes for the best
    predictions instead [yao2018]_.

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

    criterion_: str
    evidence_method_: str
    log_evidence_: float
    log_evidences_: Annotated[NDArray[np.float64], Form("m", has_gaps=True)]
    log_scores_: Annotated[Array, Form("m n", -np.inf, has_gaps=True)]
    probability_: Annotated[NDArray[np.float64], Form("m", 0.0, 1.0)]

    def __init__(
        self,
        estimators: Any,
        prior: ArrayLike | None = None,
        cv: Any = 10,
        random_state: Any = None,
    ):
        self.estimators = estimators
        self.prior = prior
        self.cv = cv
        self.random_state = random_state

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
        """Fit every model to the same data and weigh them."""
        names, models = self._checked()
        is_classifier = kind_of(self.estimators) == "classifier"
        X, y = indexable(X, y)
        # The members check the values, each by its own settings.
        validated(self, X, y, skip_check_array=True)
        y = single_column(self, y)
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        fitted = [clone(model).fit(X, y, **weight) for model in models]
        if is_classifier:
            self.classes_ = fitted[0].classes_
        if not _silent(names, fitted):
            return self._weigh(names, fitted)
        require_verbs(names, models, is_classifier, sample_weight is not None)
        rows = training_rows(X, y, is_classifier, sample_weight)
        return self._weigh_by_score(names, models, fitted, rows)

    def weigh(
        self, fitted: Sequence[Any], takes_bounds: bool = False, unheard: Sequence[str] = ()
    ) -> Self:
        """Weigh the models by evidence, fitted to the same data already, in their order.

        Parameters
        ----------
        takes_bounds
            Whether a lower bound may stand for the evidence of a model, which makes that model
            less probable than it is; without it there is a warning.
        unheard
            Names of models that stay without any probability, as those without an evidence
            do: they are there to be compared with.
        """
        names, _ = self._checked()
        learned = ("n_features_in_", "feature_names_in_", "classes_")
        for name in (name for name in learned if hasattr(fitted[0], name)):
            setattr(self, name, getattr(fitted[0], name))
        return self._weigh(names, list(fitted), takes_bounds, unheard)

    def predict_dist(self, X: ArrayLike) -> Any:
        """Return the mixture of the models' predictives, one entry per row."""
        check_is_fitted(self)
        if kind_of(self.estimators) == "classifier":
            shares = [class_probability(m, X, self.classes_) for m in self.estimators_]
            return mixed_classes(self.probability_, shares, self.classes_)
        return Predictive.mixed(
            self.probability_, [predict_dist(m, X) for m in self.estimators_]
        )

    def table(self) -> pd.DataFrame:
        """Return evidence, or held-out log score, and probability of each model, by name."""
        check_is_fitted(self)
        if hasattr(self, "log_scores_"):
            means = [mean_score(row[~np.isnan(row)]) for row in self.log_scores_]
            columns = {
                "log_score": np.array([mean.value for mean in means]),
                "log_score_error": np.array([mean.standard_error for mean in means]),
            }
        else:
            columns = {"log_evidence": self.log_evidences_}
        columns["probability"] = self.probability_
        return pd.DataFrame(columns, index=pd.Index(self.names_, name="model"))

    def _weigh(
        self,
        names: list[str],
        models: list[Any],
        takes_bounds: bool = False,
        unheard: Sequence[str] = (),
    ) -> Self:
        silent = [name for name in _silent(names, models) if name not in unheard]
        if silent or set(names) <= set(unheard):
            raise TypeError(
                "every model must have a log_evidence_ to be weighed; found none in "
                f"{silent or names}. Average credo estimators, or use fit, which weighs others "
                "by held-out rows."
            )
        heard = [name not in unheard for name in names]
        evidences = [
            Evidence.of_model(m) for m, is_heard in zip(models, heard, strict=True) if is_heard
        ]
        _require_comparable([n for n in names if n not in unheard], evidences, takes_bounds)
        self._forget()
        self.names_, self.estimators_, self.criterion_ = names, models, "evidence"
        self.log_evidences_ = np.full(len(names), np.nan)
        self.log_evidences_[heard] = [evidence.value for evidence in evidences]
        compared = np.where(heard, self.log_evidences_, -np.inf)
        self.probability_ = model_posterior(compared, self.prior)
        prior = model_posterior(np.where(heard, 0.0, -np.inf), self.prior)
        self.log_evidence_ = float(log_sum_exp(compared, weights=prior))
        methods = {evidence.method for evidence in evidences}
        self.evidence_method_ = max(methods, key=FROM_EXACT_TO_NONE.index)
        return self

    def _weigh_by_score(
        self, names: list[str], models: list[Any], fitted: list[Any], rows: TrainingRows
    ) -> Self:
        pairs = fold_pairs(self.cv, rows, fold_generator(self.random_state))
        found = held_out(models, rows, pairs)
        log_scores = np.array([part.log_score for part in found])
        is_held = ~np.isnan(log_scores).any(axis=0)
        total = log_scores[:, is_held] @ rows.weight[is_held]
        if np.isneginf(total).all():
            raise ValueError(
                "a model needs every held-out outcome to be possible to have a probability; "
                f"found that each of {quote(names)} ruled some out. Use Stack, or add a model "
                "that rules nothing out."
            )
        self._forget()
        self.names_, self.criterion_, self.log_scores_ = names, "log_score", log_scores
        self.estimators_ = [part.noisy(m, rows) for part, m in zip(found, fitted, strict=True)]
        self.probability_ = model_posterior(total, self.prior)
        return self

    def _forget(self) -> None:
        """Leave nothing of an earlier fit that another criterion decided."""
        for name in ("log_evidences_", "log_evidence_", "evidence_method_", "log_scores_"):
            self.__dict__.pop(name, None)


def _silent(names: list[str], models: list[Any]) -> list[str]:
    """Return the names of fitted models whose evidence does not exist or says other things."""
    last = [m.steps[-1][1] if hasattr(m, "steps") else m for m in models]
    return [
        name
        for name, model, inner in zip(names, models, last, strict=True)
        if not hasattr(inner, "log_evidence_")
        or Evidence.of_model(model).reason in (LEARNED, TRANSFORMED)
    ]


def _require_comparable(
    names: list[str], evidences: list[Evidence], takes_bounds: bool
) -> None:
    """Refuse evidences that are about different things; warn where they differ in kind."""
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
    if "bound" in methods and len(methods) > 1 and not takes_bounds:
        warnings.warn(
            f"a bound must not be compared with an evidence; found {sorted(methods)}. "
            "Use one inference for all models.",
            EvidenceWarning,
            stacklevel=4,
        )
