"""Classification by nearest neighbors: fit and predict, at equal predictions."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.harness import Case, Contender, Goal
from credo.models.neighbors.nearest_neighbors import NearestNeighborsClassifier

__all__ = ["CASES"]

N_NEIGHBORS = 5
N_SAMPLES, N_QUERIES = 100_000, 10_000


@dataclass(frozen=True, eq=False)
class Rows:
    """Standardized rows of two classes, and queries with the class they came from."""

    X: np.ndarray
    y: np.ndarray
    queries: np.ndarray
    truth: np.ndarray


def rows(n_features: int) -> Rows:
    """Return classes parted by a curve in the first two of normal columns, with noise."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N_SAMPLES + N_QUERIES, n_features))
    y = (x[:, 0] + x[:, 1] ** 2 + 0.5 * rng.normal(size=len(x)) > 1).astype(int)
    x = (x - x[:N_SAMPLES].mean(axis=0)) / x[:N_SAMPLES].std(axis=0)
    return Rows(x[:N_SAMPLES], y[:N_SAMPLES], x[N_SAMPLES:], y[N_SAMPLES:])


def credo(data: Rows) -> Any:
    return NearestNeighborsClassifier(N_NEIGHBORS).fit(data.X, data.y).predict(data.queries)


def sklearn(algorithm: str, n_jobs: int | None = None) -> Contender:
    def run(data: Rows) -> Any:
        model = KNeighborsClassifier(N_NEIGHBORS, algorithm=algorithm, n_jobs=n_jobs)
        return model.fit(data.X, data.y).predict(data.queries)

    return Contender(run, "scikit-learn")


def error_rate(data: Rows, answer: np.ndarray) -> float:
    return float(np.mean(answer != data.truth))


def case(n_features: int, contenders: dict[str, Contender]) -> Case:
    return Case(
        name=f"N=100,000 D={n_features}, 10,000 queries",
        data=lambda: rows(n_features),
        contenders={"credo": Contender(credo), **contenders},
        quality={"error rate": error_rate},
        goals=tuple(Goal(name, at_least=2.0) for name in contenders),
        repeats=7,
    )


CASES = (
    case(
        3,
        {
            "KNeighborsClassifier, k-d tree": sklearn("kd_tree"),
            "KNeighborsClassifier, k-d tree, 2 jobs": sklearn("kd_tree", 2),
            "KNeighborsClassifier, ball tree": sklearn("ball_tree"),
        },
    ),
    case(
        20,
        {
            "KNeighborsClassifier, auto": sklearn("auto"),
            "KNeighborsClassifier, brute": sklearn("brute"),
            "KNeighborsClassifier, brute, 2 jobs": sklearn("brute", 2),
        },
    ),
)
