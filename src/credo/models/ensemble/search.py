"""Grid search: settings by evidence where a model has one, by held-out log score where not."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.utils import Tags, get_tags, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from credo import features, models
from credo.inference.engine.model_evidence import LEARNED, TRANSFORMED, Evidence
from credo.inference.engine.search_border import settings_at_edge
from credo.models.contract.inputs import (
    FittedInputs,
    known_outcome,
    known_weight,
    single_column,
    validated,
)
from credo.models.ensemble.ensemble import training_rows
from credo.numerics.array import Array
from credo.validation.held_out import held_out
from credo.validation.predictive import HasPredictive, has_predictive, predict_dist
from credo.validation.split_plan import Pair, fold_generator, fold_pairs
from credo.validation.splits import TrainingRows

__all__ = ["EvidenceSearch", "SearchWarning"]


class SearchWarning(UserWarning):
    """The result of a search should be looked at before it is used."""


@dataclass(frozen=True, eq=False)
class _Candidate:
    """What came of one combination of settings.

    Attributes
    ----------
    fitted
        The model fitted to all rows; None if it failed.
    evidence
        Its evidence, and with which others it can be compared.
    log_score
        Of each held-out row; NaN where there is none.
    mean, error
        Weighted mean of these with its standard error.
    seconds
        Time that fitting all rows took.
    failure
        Why it failed.
    """

    fitted: Any
    evidence: Evidence
    log_score: Array
    mean: float
    error: float
    seconds: float
    failure: Exception | None = None


def _delegated(verb: str) -> Any:
    """Return a method that the best model answers, for models that have it."""

    def has_verb(search: Any) -> bool:
        return hasattr(getattr(search, "best_estimator_", search.estimator), verb)

    def answer(search: Any, X: ArrayLike, *arguments: Any, **options: Any) -> Any:
        return getattr(search._best(), verb)(X, *arguments, **options)

    answer.__name__ = verb
    answer.__doc__ = f"Return what ``{verb}`` of the best model returns."
    return available_if(has_verb)(answer)


def _predicts_distributions(search: Any) -> bool:
    model = getattr(search, "best_estimator_", search.estimator)
    steps = getattr(model, "steps", None)
    return hasattr(steps[-1][1] if steps else model, "predict_dist")


def _predict_dist(search: Any, X: ArrayLike) -> Any:
    """Return the best model's predictive distribution, one entry per row."""
    return predict_dist(search._best(), X)


class EvidenceSearch(FittedInputs, MetaEstimatorMixin, BaseEstimator):
    """Search over settings that asks the data itself, not only held-out parts of it.

    Every combination of settings is fitted to all rows. If all have an evidence, and the
    evidences mean the same, the highest wins; if not, the highest mean log score on held-out
    rows. Where both exist, a warning says if they disagree. Shaped as scikit-learn's
    `GridSearchCV`.

    Parameters
    ----------
    estimator
        Model to set, also a `Pipeline`; cloned, never changed.
    param_grid
        Values to try for each setting, nested ones as ``step__setting``; or a list of such.
    by
        "auto", "evidence" or "log_score".
    cv
        Folds for the log score: a number, or a splitter that holds each row out at most once,
        such as `TimeFolds` or ``GroupedFolds(10, groups=patients)`` of `credo.evaluation`;
        None leaves it out, where evidence suffices.
    refit
        Whether to keep the best model as ``best_estimator_``, which answers all questions.
    random_state
        Draws the folds; if None they are the same in every fit.

    Attributes
    ----------
    best_params_, best_index_, best_score_
        The chosen settings, their place among the candidates, and their log evidence or mean
        log score.
    best_estimator_
        The model with these settings fitted to all rows.
    criterion_
        What decided, "evidence" or "log_score".
    cv_results_
        One list for each column, one entry for each candidate: "params", "param_..." of each
        setting, "log_evidence", "evidence_method", "mean_test_score" and "std_test_score"
        (the log score of held-out rows with its standard error), "rank_test_score" (by what
        decided), "mean_fit_time", "error".
    reason_
        Why evidence did not decide; empty if it did.
    disagreement_
        A sentence if evidence and log score prefer different settings; else empty.
    edges_
        A sentence for each chosen setting at the edge of what was tried.

    Examples
    --------
    >>> from credo.features import PolynomialBasis
    >>> from credo.models import LinearRegression
    >>> x = np.linspace(-1, 1, 40)[:, None]
    >>> y = x[:, 0] ** 2 + 0.1 * np.sin(37 * np.arange(40))
    >>> bases = [PolynomialBasis(k) for k in (1, 2, 3, 4)]
    >>> search = EvidenceSearch(LinearRegression(), {"basis": bases}).fit(x, y)
    >>> search.best_params_["basis"].degree, search.criterion_
    (2, 'evidence')
    """

    best_estimator_: HasPredictive
    best_index_: int
    best_params_: dict[str, Any]
    best_score_: float
    criterion_: str
    cv_results_: dict[str, list[Any]]
    disagreement_: str
    edges_: list[str]
    reason_: str

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        by: str = "auto",
        cv: Any = 5,
        refit: bool = True,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.param_grid = param_grid
        self.by = by
        self.cv = cv
        self.refit = refit
        self.random_state = random_state

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        settings = {"basis": [features.SplineBasis(4), None]}
        return (cls(models.LinearRegression(), settings, cv=3),)

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit every combination of settings to all rows, and choose the best."""
        grid = self._grid()
        X, y = indexable(X, y)
        validated(self, X, y, skip_check_array=True)
        y = single_column(self, y)
        rows = training_rows(X, y, is_classifier(self.estimator), sample_weight)
        pairs = None
        if self.cv is not None:
            pairs = fold_pairs(self.cv, rows, fold_generator(self.random_state))
        models = [clone(self.estimator).set_params(**clone(p, safe=False)) for p in grid]
        found = [_candidate(model, rows, pairs) for model in models]
        self._choose(grid, _successful(found))
        if self.refit:
            self.best_estimator_ = found[self.best_index_].fitted
        return self

    def _choose(self, grid: list[dict[str, Any]], found: list[_Candidate]) -> None:
        """Set what was found, and warn of what should be looked at."""
        self.reason_ = _incomparable(found) if self.by != "log_score" else "it was not asked"
        self.criterion_ = "log_score" if self.reason_ else "evidence"
        scores = {
            "evidence": np.array([c.evidence.value for c in found]),
            "log_score": np.array([c.mean for c in found]),
        }
        score = np.where(np.isnan(scores[self.criterion_]), -np.inf, scores[self.criterion_])
        if self.by == "evidence" and self.reason_:
            raise ValueError(
                f"evidence must be the same kind of number for all settings; found that "
                f"{self.reason_}. Use by='log_score' or 'auto'."
            )
        if np.isneginf(score).all():
            raise ValueError(
                "settings need an evidence or a finite log score to be chosen by; found "
                f"neither: {self.reason_ or 'no evidence is finite'}. Give cv, and use a model "
                "that has probabilities."
            )
        self.best_index_ = int(np.argmax(score))
        self.best_score_ = float(score[self.best_index_])
        self.best_params_ = grid[self.best_index_]
        self.cv_results_ = _search_results(grid, found, score)
        self.disagreement_, is_clear = _disagreement(grid, found, scores)
        edges = settings_at_edge(self.best_params_, self.param_grid)
        self.edges_ = [edge.sentence for edge in edges]
        for sentence in [*self.edges_, *([self.disagreement_] if is_clear else [])]:
            warnings.warn(sentence, SearchWarning, stacklevel=3)

    predict = _delegated("predict")
    predict_proba = _delegated("predict_proba")
    predict_log_proba = _delegated("predict_log_proba")
    predict_interval = _delegated("predict_interval")
    predict_quantiles = _delegated("predict_quantiles")
    predict_frame = _delegated("predict_frame")
    decision_function = _delegated("decision_function")
    decide = _delegated("decide")
    transform = _delegated("transform")
    predict_dist = available_if(_predicts_distributions)(_predict_dist)

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the best model's own score, accuracy or explained share of variance."""
        weight = known_weight(sample_weight, X)
        weights = {} if weight is None else {"sample_weight": weight}
        return float(self._best().score(X, known_outcome(self, y), **weights))

    @property
    def classes_(self) -> NDArray[Any]:
        """Labels of the best model."""
        labels: NDArray[Any] = self._best().classes_
        return labels

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = deepcopy(get_tags(self.estimator))
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = inner.classifier_tags
        tags.regressor_tags = inner.regressor_tags
        tags.input_tags, tags.target_tags = inner.input_tags, inner.target_tags
        return tags

    def _best(self) -> Any:
        check_is_fitted(self)
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(
                "predictions need the best model, which refit=False did not keep; found only "
                "best_params_. Use refit=True, or fit a model with best_params_."
            )
        return self.best_estimator_

    def _grid(self) -> list[dict[str, Any]]:
        if self.by not in ("auto", "evidence", "log_score"):
            raise ValueError(
                f"by must be 'auto', 'evidence' or 'log_score'; found {self.by!r}. Use 'auto'."
            )
        grid = list(import_module("sklearn.model_selection").ParameterGrid(self.param_grid))
        unknown = sorted({name for p in grid for name in p} - set(self.estimator.get_params()))
        if unknown and not any("__" in name for name in unknown):
            raise ValueError(
                f"param_grid must name settings of {type(self.estimator).__name__}; found "
                f"{unknown}. Its settings are {sorted(self.estimator.get_params(deep=False))}."
            )
        return grid


def _candidate(model: Any, rows: TrainingRows, pairs: Sequence[Pair] | None) -> _Candidate:
    """Return the fit, evidence and held-out scores of a model, or why it failed.

    Failures are refusals of data or settings; errors of programming are raised.
    """
    nothing = np.full(len(rows), np.nan)
    try:
        start = time.perf_counter()
        fitted = rows.fit(model)
        seconds = time.perf_counter() - start
        log_score = nothing
        if pairs is not None and (rows.outcome.classes is None or has_predictive(fitted)):
            log_score = held_out([model], rows, pairs)[0].log_score
    except (ValueError, TypeError, ArithmeticError, RuntimeError) as failure:
        none = Evidence(np.nan, "none", "", ())
        return _Candidate(None, none, nothing, np.nan, np.nan, np.nan, failure)
    mean, error = _mean(log_score, rows.weight)
    return _Candidate(fitted, Evidence.of_model(fitted), log_score, mean, error, seconds)


def _incomparable(found: Sequence[_Candidate]) -> str:
    """Return why the evidences of candidates cannot be compared; empty if they can."""
    evidences = [c.evidence for c in found if c.failure is None]
    if any(e.reason == TRANSFORMED for e in evidences):
        return "the evidence is of inputs that a step of the pipeline has changed"
    if any(e.reason == LEARNED for e in evidences):
        return "a step of the pipeline has learned from the outcomes"
    if any(np.isnan(e.value) for e in evidences):
        return "not every setting has an evidence"
    if len({e.method == "bound" for e in evidences}) > 1:
        return "some evidences are bounds"
    if len({e.key for e in evidences}) > 1:
        return "the evidences rest on different flat priors or are of different things"
    return ""


def _search_results(
    grid: Sequence[dict[str, Any]], found: Sequence[_Candidate], score: Array
) -> dict[str, list[Any]]:
    """Return one list for each column, one entry for each candidate."""
    names = sorted({name for params in grid for name in params})
    rank = 1 + (score[None, :] > score[:, None]).sum(axis=1)
    return {
        "params": list(grid),
        **{f"param_{name}": [params.get(name) for params in grid] for name in names},
        "log_evidence": [c.evidence.value for c in found],
        "evidence_method": [c.evidence.method for c in found],
        "mean_test_score": [c.mean for c in found],
        "std_test_score": [c.error for c in found],
        "rank_test_score": [int(r) for r in rank],
        "mean_fit_time": [c.seconds for c in found],
        "error": [_failure_words(c.failure) for c in found],
    }


def _failure_words(failure: Exception | None) -> str:
    return "" if failure is None else f"{type(failure).__name__}: {failure}"


def _mean(log_score: Array, weight: Array) -> tuple[float, float]:
    """Return the weighted mean of known scores and its standard error."""
    known = ~np.isnan(log_score) & (weight > 0)
    if not known.any():
        return np.nan, np.nan
    share = weight[known] / weight[known].sum()
    mean = float(share @ log_score[known])
    if not np.isfinite(mean):
        return mean, np.nan
    return mean, float(np.sqrt((share**2) @ (log_score[known] - mean) ** 2))


def _successful(found: list[_Candidate]) -> list[_Candidate]:
    """Return the candidates, if at least one could be fitted; else say why not."""
    failed = [c.failure for c in found if c.failure is not None]
    if len(failed) == len(found):
        raise failed[0]
    if failed:
        warnings.warn(
            f"{len(failed)} of {len(found)} combinations of settings could not be fitted, the "
            f"first with {type(failed[0]).__name__}: {failed[0]}",
            SearchWarning,
            stacklevel=3,
        )
    return found


def _disagreement(
    grid: list[dict[str, Any]],
    found: list[_Candidate],
    scores: dict[str, NDArray[np.float64]],
) -> tuple[str, bool]:
    """Return what to say if evidence and log score differ, and whether they clearly do."""
    if _incomparable(found) or not np.isfinite(scores["log_score"]).any():
        return "", False
    first, second = (int(np.nanargmax(scores[name])) for name in ("evidence", "log_score"))
    if first == second:
        return "", False
    gain = found[second].log_score - found[first].log_score
    gain = gain[np.isfinite(gain)]
    mean, error = gain.mean(), gain.std(ddof=1) / np.sqrt(len(gain))
    sentence = (
        f"evidence prefers {_words(grid[first])}, the held-out log score "
        f"{_words(grid[second])} (by {mean:.3g} +- {error:.2g} per row): compare the two, and "
        "doubt the assumptions of the model if the difference is clear."
    )
    return sentence, bool(mean > 2 * error)


def _words(params: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in params.items()) or "the defaults"
