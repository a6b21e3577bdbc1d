"""Estimators on odd numbers in every container: fit, predict, score, clone, save and load."""

import warnings
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import has_fit_parameter

import credo
from fuzz.estimator_input import CONTAINERS, EstimatorInput, estimator_input
from fuzz.estimator_setting import CLASSIFIERS, REGRESSORS, TRANSFORMERS
from fuzz.outcome import Fault, Outcome, Verdict, judged, require_finite
from fuzz.worker import Limits, Surface

__all__ = ["SURFACE"]

REFUSALS = (ValueError, TypeError, NotFittedError)


def prepare() -> None:
    """Fit every estimator once, so that what they run is compiled."""
    X = np.random.default_rng(0).normal(size=(30, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model in (*CLASSIFIERS, *REGRESSORS, *TRANSFORMERS):
            y = (X[:, 0] > 0).astype(int) if is_classifier(model) else X[:, 0]
            fitted = clone(model).fit(np.abs(X), y)
            _answers(fitted, np.abs(X))


def run_case(_: None, random: Random, folder: Path) -> Verdict:
    """Fit one estimator and look at all its answers."""
    model = clone(random.choice((*CLASSIFIERS, *REGRESSORS, *TRANSFORMERS)))
    given = estimator_input(random, has_classes=is_classifier(model))
    plainly = random.random() < 0.4
    form = "array" if plainly else random.choice(list(CONTAINERS))
    kind = type(model).__name__
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        verdict = judged(kind, lambda: _tried(model, given, form, random, folder), REFUSALS)
    detail = f"{model!r} on {form} {given.X.shape}: {verdict.detail}" if verdict.detail else ""
    return Verdict(verdict.outcome, kind, verdict.tags, " ".join(detail.split()))


def _tried(
    model: Any, given: EstimatorInput, form: str, random: Random, folder: Path
) -> tuple[str, ...]:
    with np.errstate(all="ignore"):
        X = CONTAINERS[form](given.X)
    takes_weight = given.weight is not None and has_fit_parameter(model, "sample_weight")
    settings = {"sample_weight": given.weight} if takes_weight else {}
    before = given.X.copy(), np.array(given.y, copy=True)
    model.fit(X, given.y, **settings)
    answers = _answers(model, X)
    for left, right in zip(before, (given.X, given.y), strict=True):
        if not np.array_equal(left, right, equal_nan=left.dtype.kind == "f"):
            raise Fault(Outcome.WRONG, "fit changed its input")
    if hasattr(model, "score") and given.y.ndim == 1 and len(given.y) > 1:
        require_finite(model.score(X, given.y), "score")
    if random.random() < 0.3:
        _require_same(answers, _answers(_reopened(model, folder), X), "after save and load")
    if random.random() < 0.1:
        again = clone(model).fit(X, given.y, **settings)
        _require_same(answers, _answers(again, X), "of a clone")
    return (form,)


def _reopened(model: Any, folder: Path) -> Any:
    path = folder / "m.credo"
    credo.save(model, path)
    if [other.name for other in folder.iterdir()] != [path.name]:
        raise Fault(Outcome.LEFT_OVER, f"found {sorted(folder.iterdir())}")
    return credo.load(path)


def _answers(model: Any, X: Any) -> dict[str, Any]:
    """Return all that a model predicts; raise a `Fault` for what cannot be an answer."""
    answers: dict[str, Any] = {}
    for verb in ("predict", "predict_proba", "transform"):
        if hasattr(model, verb):
            answers[verb] = np.asarray(getattr(model, verb)(X))
            require_finite(answers[verb], verb)
    if "predict_proba" in answers:
        shares = answers["predict_proba"]
        if shares.min() < 0 or np.abs(shares.sum(axis=1) - 1).max() > 1e-9:
            raise Fault(Outcome.WRONG, "predict_proba does not sum to one")
    if hasattr(model, "predict_dist") and not is_classifier(model):
        interval = model.predict_dist(X).interval(0.5)
        answers["interval"] = np.asarray(interval)
        require_finite(answers["interval"], "interval")
    return answers


def _require_same(one: dict[str, Any], other: dict[str, Any], what: str) -> None:
    for name, values in one.items():
        if not np.array_equal(values, other[name]):
            raise Fault(Outcome.WRONG, f"{name} {what} differs")


SURFACE = Surface("estimators", prepare, run_case, Limits(seconds=30.0, batch=40))
