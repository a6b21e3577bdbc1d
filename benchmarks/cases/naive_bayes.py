"""Naive Bayes on a million rows, learned and predicted, beside scikit-learn's plug-in."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.naive_bayes import BernoulliNB, GaussianNB

from benchmarks.harness import Case, Contender, Goal
from credo.models.generative.naive_bayes import NaiveBayes

__all__ = ["CASES", "data"]

N_SAMPLES, N_FEATURES = 1_000_000, 20
Data = tuple[NDArray[np.float64], NDArray[np.int64]]


@cache
def data(kind: str) -> Data:
    """Return rows of two classes that overlap, numbers or zeros and ones."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, N_SAMPLES)
    if kind == "gaussian":
        return rng.normal(0.3 * y[:, None], 1.0, (N_SAMPLES, N_FEATURES)), y
    x = rng.uniform(size=(N_SAMPLES, N_FEATURES)) < 0.3 + 0.1 * y[:, None]
    return x.astype(np.float64), y


def fitting(model: Callable[[], Any]) -> Callable[[Data], Any]:
    return lambda rows: model().fit(*rows)


def predicting(name: str) -> Callable[[dict[str, Any]], NDArray[np.float64]]:
    return lambda fitted: fitted[name].predict(fitted["rows"][0])


def models(kind: str) -> dict[str, Callable[[], Any]]:
    peer = {"gaussian": GaussianNB, "bernoulli": BernoulliNB}[kind]
    return {"credo": lambda: NaiveBayes(kind), "scikit-learn": peer}


def package(name: str) -> str | None:
    return None if name == "credo" else name


def fit_case(kind: str) -> Case:
    return Case(
        name=f"fit {kind}, N={N_SAMPLES:,}, D={N_FEATURES}, 2 classes",
        data=lambda: data(kind),
        contenders={
            name: Contender(fitting(model), package(name))
            for name, model in models(kind).items()
        },
        quality={
            "accuracy on the rows": lambda rows, fitted: fitted.score(*rows),
        },
        goals=(Goal("scikit-learn", at_least=6.0),),
    )


def predict_case(kind: str) -> Case:
    def prepared() -> dict[str, Any]:
        rows = data(kind)
        return {"rows": rows} | {n: m().fit(*rows) for n, m in models(kind).items()}

    return Case(
        name=f"predict {kind}, N={N_SAMPLES:,}, D={N_FEATURES}, 2 classes",
        data=prepared,
        contenders={name: Contender(predicting(name), package(name)) for name in models(kind)},
        quality={
            "accuracy on the rows": lambda fitted, labels: float(
                np.mean(labels == fitted["rows"][1])
            ),
        },
        goals=(Goal("scikit-learn", at_least=4.0),),
    )


CASES = tuple(
    case(kind) for kind in ("gaussian", "bernoulli") for case in (fit_case, predict_case)
)
