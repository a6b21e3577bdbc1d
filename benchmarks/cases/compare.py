"""Six classifiers compared by ten-fold cross-validation, as one call, on two cores."""

from typing import Any

import joblib
import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import LogisticRegression as PlainLogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

import credo
from benchmarks.harness import Case, Contender, Goal

__all__ = ["CASES"]

Rows = tuple[np.ndarray, np.ndarray]

N_SAMPLES, N_FEATURES, N_FOLDS = 1_000, 20, 10


def rows() -> Rows:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_SAMPLES, N_FEATURES))
    score = X[:, 0] + X[:, 1] * X[:, 2] + rng.logistic(size=N_SAMPLES)
    return X, (score > 0).astype(np.intp)


def compared(data: Rows) -> Any:
    models = [
        credo.LogisticRegression(),
        credo.GaussianClassConditional(),
        credo.NaiveBayes(),
        credo.NearestNeighborsClassifier(),
        credo.AdaBoost(),
        credo.BaselineClassifier(),
    ]
    return credo.compare(models, *data, cv=N_FOLDS)


def compared_in_two_processes(data: Rows) -> Any:
    with joblib.parallel_config(n_jobs=2):
        return compared(data)


def plain_loop(data: Rows) -> Any:
    """Return held-out probabilities alone: no evidence, no verdicts, one k and no choice."""
    models = [
        PlainLogisticRegression(),
        GaussianNB(),
        KNeighborsClassifier(),
        AdaBoostClassifier(n_estimators=100),
        DummyClassifier(strategy="prior"),
    ]
    return [cross_val_predict(m, *data, cv=N_FOLDS, method="predict_proba") for m in models]


CASES = (
    Case(
        name=f"N={N_SAMPLES:,} D={N_FEATURES}, six classifiers, {N_FOLDS} folds",
        data=rows,
        contenders={
            "credo": Contender(compared),
            "credo, two processes": Contender(compared_in_two_processes),
            "scikit-learn, five classifiers, no verdicts": Contender(
                plain_loop, "scikit-learn"
            ),
        },
        goals=(Goal("credo", at_most=10.0, measure="seconds"),),
        repeats=3,
    ),
)
