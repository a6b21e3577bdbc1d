"""Support vector machines against LIBSVM: same tolerance, same memory, same optimum.

Quality is the dual objective of each answer, found in float64 from its multipliers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.svm import SVC, SVR

from benchmarks.harness import Case, Contender, Goal
from credo.features.kernels.inner_product import Linear
from credo.features.kernels.kernel import Kernel
from credo.features.kernels.stationary import SquaredExponential
from credo.inference.margin.kernel_values import kernel_values
from credo.models.margin.support_vector_machine import (
    SupportVectorClassifier,
    SupportVectorRegressor,
)

__all__ = ["CASES"]

N_FEATURES = 20
N_QUERIES = 5_000
LENGTH = (N_FEATURES / 2.0) ** 0.5
EPSILON = 0.1
CACHE_MB = 2_000


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows with an outcome, the kernel between them, and machines that were fitted to them."""

    X: np.ndarray
    y: np.ndarray
    kernel: Kernel
    queries: np.ndarray | None = None
    fitted: Any = None


def rows(n: int, kernel: Kernel, is_number: bool = False) -> Rows:
    """Return rows parted by a bent boundary with noise, or the number behind the classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, N_FEATURES))
    score = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2]
    score += X @ rng.normal(size=N_FEATURES) / N_FEATURES**0.5 + 0.7 * rng.normal(size=n)
    return Rows(X, score if is_number else (score > 0).astype(int), kernel)


def with_machines(n: int) -> Rows:
    """Return rows, others to predict, and both machines fitted."""
    data = rows(n, SquaredExponential(LENGTH))
    queries = np.random.default_rng(1).normal(size=(N_QUERIES, N_FEATURES))
    machines = {"credo": machine(data), "scikit-learn": peer(data)}
    return Rows(data.X, data.y, data.kernel, queries, machines)


def machine(data: Rows) -> Any:
    """Return credo's machine, fitted."""
    if data.y.dtype.kind == "i":
        return SupportVectorClassifier(data.kernel).fit(data.X, data.y)
    return SupportVectorRegressor(data.kernel, epsilon=EPSILON).fit(data.X, data.y)


def peer(data: Rows) -> Any:
    """Return the machine of scikit-learn, fitted."""
    kernel: dict[str, Any] = {"kernel": "linear"}
    if isinstance(data.kernel, SquaredExponential):
        kernel = {"gamma": 0.5 / LENGTH**2}
    if data.y.dtype.kind == "i":
        return SVC(cache_size=CACHE_MB, **kernel).fit(data.X, data.y)
    return SVR(cache_size=CACHE_MB, epsilon=EPSILON, **kernel).fit(data.X, data.y)


def dual_objective(data: Rows, answer: Any) -> float:
    """Return the dual objective of the multipliers of a machine."""
    dual = np.zeros(len(data.X))
    dual[answer.support_] = answer.dual_coef_[0]
    pull = 0.5 * float(dual @ kernel_values(data.kernel, data.X).own_sums(dual))
    if data.y.dtype.kind == "i":
        return float(np.abs(dual).sum()) - pull
    return float(data.y @ dual - EPSILON * np.abs(dual).sum()) - pull


def predicted(name: str) -> Callable[[Rows], Any]:
    return lambda data: data.fitted[name].decision_function(data.queries)


def difference(data: Rows, answer: np.ndarray) -> float:
    """Return how far scores are from those of scikit-learn at most."""
    other = data.fitted["scikit-learn"].decision_function(data.queries)
    return float(np.abs(answer - other).max())


def fit_case(
    name: str, n: int, at_least: float, repeats: int, kernel: Kernel, is_number: bool = False
) -> Case:
    return Case(
        name=f"{name}, N={n:,} D={N_FEATURES} C=1",
        data=lambda: rows(n, kernel, is_number),
        contenders={
            "credo": Contender(machine),
            "SVR" if is_number else "SVC": Contender(peer, "scikit-learn"),
        },
        quality={"dual objective": dual_objective},
        goals=(Goal("SVR" if is_number else "SVC", at_least=at_least),),
        repeats=repeats,
    )


def predict_case(n: int, at_least: float) -> Case:
    return Case(
        name=f"scores of {N_QUERIES:,} rows, N={n:,} D={N_FEATURES}",
        data=lambda: with_machines(n),
        contenders={
            "credo": Contender(predicted("credo")),
            "SVC": Contender(predicted("scikit-learn"), "scikit-learn"),
        },
        quality={"largest difference": difference},
        goals=(
            Goal("SVC", at_least=at_least),
            Goal("credo", at_most=1e-2, measure="largest difference"),
        ),
        repeats=3,
    )


RBF = SquaredExponential(LENGTH)
CASES = (
    fit_case("RBF", 200, 1.0, 20, RBF),
    fit_case("RBF", 5_000, 8.0, 7, RBF),
    fit_case("RBF", 20_000, 6.0, 2, RBF),
    predict_case(5_000, 4.0),
    fit_case("regression, RBF", 5_000, 6.0, 2, RBF, is_number=True),
    fit_case("linear", 10_000, 5.0, 2, Linear()),
)
