"""Logistic regression at a given weight precision, beside scikit-learn at equal objective."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special
from sklearn.linear_model import LogisticRegression as Peer

from benchmarks.harness import Case, Contender, Goal
from credo.models.logistic_regression import LogisticRegression

__all__ = ["CASES", "data", "objective"]

N_SAMPLES, N_FEATURES, PRECISION = 100_000, 50, 1.0
Data = tuple[NDArray[np.float64], NDArray[np.intp]]


@cache
def data(n_classes: int) -> Data:
    """Return correlated inputs, and classes drawn from a softmax of them."""
    rng = np.random.default_rng(0)
    mixing = np.eye(N_FEATURES) + rng.normal(size=(N_FEATURES,) * 2) / np.sqrt(N_FEATURES)
    x = rng.normal(size=(N_SAMPLES, N_FEATURES)) @ mixing
    scores = x @ rng.normal(scale=0.3, size=(N_FEATURES, n_classes))
    return x, (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)


def objective(rows: Data, model: Any) -> float:
    """Return what all contenders minimize, per row: penalized minus log likelihood."""
    x, y = rows
    scores = x @ model.coef_.T + model.intercept_
    if scores.shape[1] == 1:
        scores = np.column_stack([np.zeros(len(x)), scores])
    loss = -special.log_softmax(scores, axis=1)[np.arange(len(y)), y].sum()
    return float((loss + 0.5 * PRECISION * (model.coef_**2).sum()) / len(y))


@cache
def least(n_classes: int) -> float:
    """Return the least objective, found with more patience than any contender has."""
    rows = data(n_classes)
    return min(objective(rows, fit(rows)) for fit in (peer(tol=1e-8), credo()))


def excess(n_classes: int) -> Callable[[Data, Any], float]:
    return lambda rows, model: max(objective(rows, model) / least(n_classes) - 1.0, 0.0)


def credo(**settings: Any) -> Callable[[Data], Any]:
    return lambda rows: LogisticRegression(weight_precision=PRECISION, **settings).fit(*rows)


def peer(**settings: Any) -> Callable[[Data], Any]:
    return lambda rows: Peer(C=1 / PRECISION, max_iter=1000, **settings).fit(*rows)


def case(n_classes: int) -> Case:
    # The loosest tolerance with which each peer comes within 1e-6 of the least objective.
    peers = {"lbfgs": peer(tol=1e-5)}
    if n_classes == 2:
        peers["newton-cholesky"] = peer(solver="newton-cholesky")
    return Case(
        name=f"N={N_SAMPLES:,}, D={N_FEATURES}, {n_classes} classes, with a posterior",
        data=lambda: data(n_classes),
        contenders={
            "credo": Contender(credo()),
            **{name: Contender(run, "scikit-learn") for name, run in peers.items()},
        },
        quality={"excess objective": excess(n_classes)},
        goals=(
            *(Goal(name, at_least=1.5) for name in peers),
            Goal("credo", at_most=1e-6, measure="excess objective"),
        ),
    )


CASES = (case(2), case(10))
