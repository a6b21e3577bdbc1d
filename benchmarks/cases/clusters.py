"""K-means, k-medoids, principal components and factors, at the same objective."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.decomposition import PCA as SklearnPCA
from sklearn.decomposition import FactorAnalysis as SklearnFactorAnalysis
from sklearn.metrics import pairwise_distances

from benchmarks.harness import Case, Contender, Goal
from credo import PCA, FactorAnalysis, KMeans, KMedoids

__all__ = ["CASES"]

K, D = 50, 16
STEPS = 300


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows, and numbers of those that are the first centers."""

    x: np.ndarray
    start: np.ndarray


def rows(n: int, is_clustered: bool, n_columns: int = D) -> Callable[[], Rows]:
    def make() -> Rows:
        rng = np.random.default_rng(0)
        place = 3.0 * rng.normal(size=(K, n_columns))[rng.integers(K, size=n)]
        x = rng.normal(size=(n, n_columns)) + (place if is_clustered else 0.0)
        start = np.sort(rng.choice(n, K, replace=False))
        # The first call compiles the loops, once for all runs of a machine.
        means(Rows(x[:20_000], start % min(n, 20_000)), 2)
        medoids(Rows(x[:500], np.arange(K)))
        return Rows(x, start)

    return make


def means(data: Rows, max_steps: int = STEPS) -> float:
    model = KMeans(K, data.x[data.start], max_steps=max_steps, tolerance=0.0).fit(data.x)
    return model.inertia_


def sklearn_means(algorithm: str) -> Contender:
    def run(data: Rows) -> float:
        model = SklearnKMeans(
            K, init=data.x[data.start], n_init=1, max_iter=STEPS, tol=0.0, algorithm=algorithm
        )
        return model.fit(data.x).inertia_

    return Contender(run, "scikit-learn")


def medoids(data: Rows) -> float:
    return KMedoids(K, init=data.start).fit(data.x).inertia_


def other_medoids(data: Rows) -> float:
    return (
        import_module("kmedoids").fasterpam(pairwise_distances(data.x), data.start.copy()).loss
    )


def explained(found: Any) -> float:
    return float(found.explained_variance_ratio_.sum())


def factors(data: Rows) -> float:
    return FactorAnalysis(5).fit(data.x).score(data.x[:5000])


def sklearn_factors(method: str) -> Contender:
    def run(data: Rows) -> float:
        model = SklearnFactorAnalysis(5, tol=1e-6, max_iter=1000, svd_method=method)
        return model.fit(data.x).score(data.x[:5000])

    return Contender(run, "scikit-learn")


def factor_rows() -> Rows:
    rng = np.random.default_rng(0)
    loading = rng.normal(size=(5, 40))
    noise = rng.normal(size=(20_000, 40)) * rng.uniform(0.5, 3.0, 40)
    return Rows(rng.normal(size=(20_000, 5)) @ loading + noise, np.arange(K))


def kept(data: Rows, answer: float) -> float:
    return answer


def means_case(kind: str, is_clustered: bool) -> Case:
    peers = {f"KMeans, {name}": sklearn_means(name) for name in ("lloyd", "elkan")}
    return Case(
        name=f"k-means, N=200,000 D=16 K=50, {kind}, one start",
        data=rows(200_000, is_clustered),
        contenders={"credo": Contender(means), **peers},
        quality={"objective": kept},
        goals=tuple(Goal(name, at_least=1.5) for name in peers),
        repeats=3,
    )


def medoids_case(kind: str, is_clustered: bool) -> Case:
    return Case(
        name=f"k-medoids, N=5,000 D=16 K=50, {kind}, distances included, one start",
        data=rows(5000, is_clustered),
        contenders={
            "credo": Contender(medoids),
            "kmedoids, FasterPAM": Contender(other_medoids, "kmedoids"),
        },
        quality={"objective": kept},
        goals=(Goal("kmedoids, FasterPAM", at_least=2.0),),
        repeats=5,
    )


CASES = (
    means_case("clustered", True),
    means_case("unclustered", False),
    medoids_case("clustered", True),
    medoids_case("unclustered", False),
    Case(
        name="PCA, N=100,000 D=200, 10 components",
        data=rows(100_000, True, 200),
        contenders={
            "credo": Contender(lambda data: explained(PCA(10).fit(data.x))),
            "PCA, covariance_eigh": Contender(
                lambda data: explained(
                    SklearnPCA(10, svd_solver="covariance_eigh").fit(data.x)
                ),
                "scikit-learn",
            ),
            "PCA, randomized": Contender(
                lambda data: explained(
                    SklearnPCA(10, svd_solver="randomized", random_state=0).fit(data.x)
                ),
                "scikit-learn",
            ),
        },
        quality={"explained": kept},
        goals=(Goal("PCA, covariance_eigh", at_least=0.95),),
        repeats=5,
    ),
    Case(
        name="factor analysis, N=20,000 D=40, 5 factors",
        data=factor_rows,
        contenders={
            "credo": Contender(factors),
            "FactorAnalysis, randomized": sklearn_factors("randomized"),
            "FactorAnalysis, lapack": sklearn_factors("lapack"),
        },
        quality={"log density per row": kept},
        goals=(
            Goal("FactorAnalysis, randomized", at_least=1.0),
            Goal("FactorAnalysis, lapack", at_least=1.0),
        ),
        repeats=3,
    ),
)
