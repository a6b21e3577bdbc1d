"""Logistic regression beside scikit-learn: large at equal objective, small with defaults.

Of the small tables credo also learns the precision of the weights, and keeps a posterior.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks.harness import Case, Contender, Goal
from credo.models.linear.logistic_regression import LogisticRegression

__all__ = ["CASES", "data", "objective"]

N_SAMPLES, N_FEATURES, PRECISION = 100_000, 50, 1.0
Data = tuple[NDArray[np.float64], NDArray[np.intp]]
Split = tuple[Data, Data]
SMALL = {"digits": load_digits, "breast cancer": load_breast_cancer}


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


@cache
def small(name: str, is_standardized: bool) -> Split:
    """Return training and test rows of a table that comes with scikit-learn."""
    x, y = SMALL[name](return_X_y=True)
    if is_standardized:
        x = StandardScaler().fit_transform(x)
    split: list[Any] = train_test_split(x, y, test_size=0.25, random_state=0, stratify=y)
    return (split[0], split[2]), (split[1], split[3])


def log_loss_of_test_rows(rows: Split, model: Any) -> float:
    """Return the mean log loss of the test rows."""
    x, y = rows[1]
    return float(log_loss(y, model.predict_proba(x)))


def small_case(name: str, is_standardized: bool) -> Case:
    rows, columns = small(name, is_standardized)[0][0].shape
    how = "standardized" if is_standardized else "as it comes"
    return Case(
        name=f"{name}, {rows:,} x {columns}, {how}, precision learned",
        data=lambda: small(name, is_standardized),
        contenders={
            "credo": Contender(lambda rows: LogisticRegression().fit(*rows[0])),
            "lbfgs": Contender(lambda rows: Peer().fit(*rows[0]), "scikit-learn"),
            # As data come the default stops at 100 steps, before it has converged.
            "lbfgs, converged": Contender(
                lambda rows: Peer(max_iter=10_000).fit(*rows[0]), "scikit-learn"
            ),
        },
        quality={"test log loss": log_loss_of_test_rows},
        goals=tuple(Goal(name, at_least=1 / 3) for name in ("lbfgs", "lbfgs, converged")),
    )


CASES = (
    case(2),
    case(10),
    *(small_case(name, is_standardized) for name in SMALL for is_standardized in (False, True)),
)
