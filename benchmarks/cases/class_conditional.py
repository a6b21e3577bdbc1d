"""The Gaussian classifier, fitted and asked for all its rows, beside scikit-learn's QDA."""

from dataclasses import dataclass

import numpy as np
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

from benchmarks.harness import Case, Contender, Goal
from credo.models.generative.class_conditional import GaussianClassConditional

__all__ = ["CASES"]

N_SAMPLES = 100_000


@dataclass(frozen=True)
class Blobs:
    X: np.ndarray
    y: np.ndarray


def blobs(n_samples: int, n_features: int, n_classes: int) -> Blobs:
    rng = np.random.default_rng(0)
    y = rng.integers(n_classes, size=n_samples)
    spread = rng.normal(size=(n_features, n_features)) + 3.0 * np.eye(n_features)
    center = rng.normal(size=(n_classes, n_features))
    return Blobs(rng.normal(size=(n_samples, n_features)) @ spread + center[y], y)


def credo_exact(data: Blobs) -> np.ndarray:
    return GaussianClassConditional().fit(data.X, data.y).predict_proba(data.X)


def credo_ml(data: Blobs) -> np.ndarray:
    model = GaussianClassConditional(inference="ml").fit(data.X, data.y)
    return model.predict_proba(data.X)


def sklearn_svd(data: Blobs) -> np.ndarray:
    model = QuadraticDiscriminantAnalysis().fit(data.X, data.y)
    return np.asarray(model.predict_proba(data.X))


def sklearn_eigen(data: Blobs) -> np.ndarray:
    model = QuadraticDiscriminantAnalysis(solver="eigen").fit(data.X, data.y)
    return np.asarray(model.predict_proba(data.X))


def log_score(data: Blobs, proba: np.ndarray) -> float:
    """Return the mean log probability of the true class."""
    return float(np.log(proba[np.arange(len(proba)), data.y] + 1e-300).mean())


CASES = (
    Case(
        name="fit and predict N=100,000 D=20 K=5",
        data=lambda: blobs(N_SAMPLES, 20, 5),
        contenders={
            "credo": Contender(credo_exact),
            "credo ml": Contender(credo_ml),
            "scikit-learn": Contender(sklearn_svd, "scikit-learn"),
            "scikit-learn eigen": Contender(sklearn_eigen, "scikit-learn"),
        },
        quality={"mean log probability": log_score},
        goals=(Goal("scikit-learn eigen", at_least=1.0),),
    ),
)
