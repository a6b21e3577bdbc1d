"""Stacks of models, each weighted by how well it predicts rows that were held out."""

from __future__ import annotations

from typing import Annotated, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import indexable
from sklearn.utils.validation import check_is_fitted

from credo import features, models
from credo.distributions.categorical import Categorical
from credo.distributions.predictive import Predictive
from credo.inference.engine.stacking import stacking_weights
from credo.models.contract.inputs import single_column, validated
from credo.models.ensemble.ensemble import (
    Ensemble,
    kind_of,
    mixed_classes,
    require_verbs,
    training_rows,
)
from credo.numerics.array import Array
from credo.numerics.form import ANYTHING, Form
from credo.numerics.parallel.threads import side_by_side
from credo.numerics.quotation import quote
from credo.validation.held_out import held_out
from credo.validation.predictive import class_probability, predict_dist
from credo.validation.split_plan import fold_generator, fold_of_rows, fold_pairs

__all__ = ["Stack"]


class Stack(Ensemble):
    """Models mixed by the weights that predict held-out rows best.

    ``p(y | x) = sum over models of weight * p(y | x, model)``, with the weights that maximize
    the mean log score of the mixture on rows that the models had not seen. Unlike
    `ModelAverage` it needs no evidence and does not assume that one of the models is true; so
    any classifier with ``predict_proba`` and any regressor can take part; one without
    ``predict_dist`` gets a normal fitted to its residuals on rows that were held out.

    Parameters
    ----------
    estimators
        Models by name, pairs of name and model, or models alone; all classifiers or all
        regressors, of credo or scikit-learn.
    cv
        Number of folds, or a splitter that holds each row out at most once, such as
        `TimeFolds` or ``GroupedFolds(10, groups=patients)`` of `credo.evaluation`.
    random_state
        Draws the folds; if None they are the same in every fit.
    drop_early
        Whether to cross-validate a model no further once the folds so far show that it can
        add next to nothing, see `hopeless_models` of `credo.inference`; that saves time, and
        its other rows are NaN in ``log_scores_`` and ``held_out_``.
    share_settings
        Whether what a model chooses for itself, such as where a basis is placed, the precision
        of weights or a temperature, is chosen once, from all rows, and not again without each
        fold. A `LogisticRegression` then gets from its fit to all rows to that without a fold
        by one Newton step where that is short, which takes a small part of the time; and
        models run side by side, each on one core, with the same results on any number. The
        choices have seen the rows held out: where these tell little, the scores of folds are
        somewhat too good.

    Attributes
    ----------
    estimators_, named_estimators_, names_
        The models fitted to all rows, in order and by name, and their names.
    weights_
        Weight of each model, shape (n_models,); sums to one.
    log_scores_
        Log score of each row under each model fitted without it, shape (n_models, n); NaN
        for rows of weight zero or that ``cv`` never holds out, and after a model was dropped.
    held_out_
        Class probabilities of each held-out row, shape (n_models, n, K), or predictive means,
        (n_models, n).
    fold_
        Fold of each row, -1 where there is none.
    classes_
        Labels, for classifiers only.

    Examples
    --------
    >>> from credo.features import PolynomialBasis
    >>> from credo.models import LinearRegression
    >>> x = np.linspace(-1, 1, 40)[:, None]
    >>> y = x[:, 0] ** 2 + 0.1 * np.sin(37 * np.arange(40))
    >>> parabola = LinearRegression(PolynomialBasis(2))
    >>> stack = Stack([("line", LinearRegression()), ("parabola", parabola)]).fit(x, y)
    >>> stack.weights_.round(2)
    array([0., 1.])
    """

    fold_: Annotated[NDArray[np.intp], Form("n", -1)]
    held_out_: Annotated[Array, ANYTHING]
    log_scores_: Annotated[Array, Form("m n", -np.inf, has_gaps=True)]
    weights_: Annotated[Array, Form("m", 0.0, 1.0)]

    def __init__(
        self,
        estimators: Any,
        cv: Any = 10,
        random_state: Any = None,
        drop_early: bool = False,
        share_settings: bool = False,
    ):
        self.estimators = estimators
        self.cv = cv
        self.random_state = random_state
        self.drop_early = drop_early
        self.share_settings = share_settings

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        line, curve = (models.LinearRegression(b) for b in (None, features.SplineBasis(5)))
        return (cls([("line", line), ("curve", curve)], cv=3),)

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Weigh the models on held-out rows, and fit each to all rows."""
        self.names_, models = self._checked()
        is_classifier = kind_of(self.estimators) == "classifier"
        require_verbs(self.names_, models, is_classifier, sample_weight is not None)
        X, y = indexable(X, y)
        validated(self, X, y, skip_check_array=True)
        y = single_column(self, y)
        rows = training_rows(X, y, is_classifier, sample_weight)
        if rows.outcome.classes is not None:
            self.classes_ = rows.outcome.classes
        pairs = fold_pairs(self.cv, rows, fold_generator(self.random_state))
        self.fold_ = fold_of_rows(pairs, len(rows))
        # The last take longest: cores end together if these come first.
        fitted = side_by_side(rows.fit, models[::-1])[::-1] if self.share_settings else None
        found = held_out(models, rows, pairs, self.drop_early, fitted)
        self.log_scores_ = np.array([part.log_score for part in found])
        _require_possible(self.names_, self.log_scores_)
        self.held_out_ = np.array([part.prediction for part in found])
        is_asked = ~np.isnan(self.log_scores_[:, self.fold_ >= 0]).any(axis=1)
        self.weights_ = np.zeros(len(models))
        self.weights_[is_asked] = stacking_weights(
            self.log_scores_[is_asked], weight=rows.weight
        )
        fitted = fitted or [rows.fit(model) for model in models]
        self.estimators_ = [part.noisy(m, rows) for part, m in zip(found, fitted, strict=True)]
        return self

    def predict_dist(self, X: ArrayLike) -> Categorical | Predictive:
        """Return the mixture of the models' predictives, one entry per row."""
        check_is_fitted(self)
        # The members check X, each by its own settings.
        if kind_of(self.estimators) == "classifier":
            used = np.flatnonzero(self.weights_)
            parts = [class_probability(self.estimators_[m], X, self.classes_) for m in used]
            return mixed_classes(self.weights_[used], parts, self.classes_)
        return Predictive.mixed(self.weights_, [predict_dist(m, X) for m in self.estimators_])

    def table(self) -> pd.DataFrame:
        """Return mean held-out log score, its standard error and weight of each model.

        "n_impossible" counts the held-out rows whose outcome the model gave probability zero:
        with any, its mean is minus infinity, which is no score to compare by.
        """
        check_is_fitted(self)
        n = np.isfinite(self.log_scores_).sum(axis=1)
        with np.errstate(invalid="ignore"):
            error = np.nanstd(self.log_scores_, axis=1, ddof=1) / np.sqrt(n)
        columns = {
            "log_score": np.nanmean(self.log_scores_, axis=1),
            "log_score_error": error,
            "weight": self.weights_,
            "n_impossible": np.isneginf(self.log_scores_).sum(axis=1),
        }
        return pd.DataFrame(columns, index=pd.Index(self.names_, name="model"))


def _require_possible(names: list[str], log_scores: Array) -> None:
    """Refuse scores that no weights can be learned from."""
    if not np.isfinite(log_scores).any():
        raise ValueError(
            "weights need a held-out row whose outcome some model deems possible; found none: "
            f"{quote(names)} gave probability zero to what came true in all rows. Use a "
            "cv whose parts to learn from hold every class, such as a number of folds, or add "
            "a model that rules nothing out."
        )
