"""AdaBoost with decision stumps, against scikit-learn's."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import AdaBoostClassifier

from benchmarks.harness import Case, Contender, Goal
from credo.models.margin.ada_boost import AdaBoost

__all__ = ["CASES"]

N_SAMPLES, N_ROUNDS = 50_000, 100


@dataclass(frozen=True, eq=False)
class Rings:
    """Rows whose class depends on six of their columns."""

    X: np.ndarray
    y: np.ndarray


@dataclass(frozen=True, eq=False)
class Fitted:
    """Both models of the same rows."""

    X: np.ndarray
    y: np.ndarray
    credo: Any
    other: Any


def rings(n_classes: int = 2) -> Rings:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N_SAMPLES, 20))
    score = (x[:, :5] ** 2).sum(axis=1) + x[:, 5] + rng.normal(size=len(x))
    edges = [4.5] if n_classes == 2 else np.quantile(score, np.arange(1, n_classes) / n_classes)
    y = np.digitize(score, edges)
    # The first call compiles the loops, once for all runs of a machine.
    AdaBoost(1).fit(x[:1000], y[:1000])
    return Rings(x, y)


def five_rings() -> Rings:
    return rings(5)


def fitted() -> Fitted:
    data = rings()
    both = Fitted(data.X, data.y, ours(data), theirs(data))
    both.credo.predict_proba(data.X)
    return both


def ours(data: Rings) -> Any:
    return AdaBoost(N_ROUNDS).fit(data.X, data.y)


def theirs(data: Rings) -> Any:
    return AdaBoostClassifier(n_estimators=N_ROUNDS).fit(data.X, data.y)


def training_error(data: Rings, model: Any) -> float:
    return float(np.mean(model.predict(data.X) != data.y))


def mean_log_loss(data: Fitted, probability: np.ndarray) -> float:
    return float(-np.log(probability[np.arange(len(data.y)), data.y]).mean())


CASES = (
    Case(
        name="N=50,000 D=20, 100 stumps and, for credo, held-out probabilities",
        data=rings,
        contenders={
            "credo": Contender(ours),
            "scikit-learn": Contender(theirs, "scikit-learn"),
        },
        quality={"training error": training_error},
        goals=(
            Goal("scikit-learn", at_least=40.0),
            Goal("credo", at_most=0.1623, measure="training error"),
        ),
        repeats=3,
    ),
    Case(
        name="N=50,000 D=20, five classes, 100 stumps",
        data=five_rings,
        contenders={
            "credo": Contender(ours),
            "scikit-learn": Contender(theirs, "scikit-learn"),
        },
        quality={"training error": training_error},
        goals=(Goal("scikit-learn", at_least=40.0),),
        repeats=2,
    ),
    Case(
        name="probabilities of 50,000 rows from 100 stumps",
        data=fitted,
        contenders={
            "credo": Contender(lambda data: data.credo.predict_proba(data.X)),
            "scikit-learn": Contender(
                lambda data: data.other.predict_proba(data.X), "scikit-learn"
            ),
        },
        quality={"log loss": mean_log_loss},
    ),
)
