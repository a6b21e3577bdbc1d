"""AdaBoost with decision stumps, against scikit-learn's."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import AdaBoostClassifier

from benchmarks.harness import Case, Contender, Goal
from credo.models.ada_boost import AdaBoost

__all__ = ["CASES"]

N_ROUNDS = 100


@dataclass(frozen=True, eq=False)
class Rings:
    """Rows whose class depends on six of their columns."""

    X: np.ndarray
    y: np.ndarray


def rings() -> Rings:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50_000, 20))
    score = (x[:, :5] ** 2).sum(axis=1) + x[:, 5] + rng.normal(size=len(x))
    # The first call compiles the loops, once for all runs of a machine.
    AdaBoost(1).fit(x[:1000], score[:1000] > 4.5)
    return Rings(x, score > 4.5)


def ours(data: Rings) -> Any:
    return AdaBoost(N_ROUNDS).fit(data.X, data.y)


def theirs(data: Rings) -> Any:
    return AdaBoostClassifier(n_estimators=N_ROUNDS).fit(data.X, data.y)


def training_error(data: Rings, model: Any) -> float:
    return float(np.mean(model.predict(data.X) != data.y))


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
)
