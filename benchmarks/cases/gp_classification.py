"""Gaussian process classification of two classes: a whole fit at equal evidence."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.gaussian_process import GaussianProcessClassifier as Peer
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from benchmarks.harness import Case, Contender, Goal
from credo.features.kernels.stationary import SquaredExponential
from credo.models.kernel.gaussian_process_classifier import GaussianProcessClassifier

__all__ = ["CASES"]

N_FEATURES = 8


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of two classes."""

    X: np.ndarray
    y: np.ndarray


def rows(n: int) -> Rows:
    """Return classes parted by a wave in the first two of eight normal columns, with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, N_FEATURES))
    score = 3.0 * (np.sin(2.0 * X[:, 0]) + X[:, 1])
    return Rows(X, (rng.random(n) < 1.0 / (1.0 + np.exp(-score))).astype(int))


def credo(inference: str, n_scales: int) -> Contender:
    """Return a fit by the highest evidence, with one length scale or one for each column."""

    def run(data: Rows) -> Any:
        scale = 1.0 if n_scales == 1 else (1.0,) * n_scales
        kernel = 1.0 * SquaredExponential(scale)
        model = GaussianProcessClassifier(kernel, inference, learning="ml")
        return model.fit(data.X, data.y).log_evidence_

    return Contender(run)


def sklearn(n_scales: int) -> Contender:
    """Return the fit of scikit-learn, by Laplace's method."""

    def run(data: Rows) -> Any:
        kernel = ConstantKernel(1.0) * RBF(1.0 if n_scales == 1 else [1.0] * n_scales)
        return Peer(kernel).fit(data.X, data.y).log_marginal_likelihood_value_

    return Contender(run, "scikit-learn")


def evidence(data: Rows, answer: float) -> float:
    """Return the log evidence that was reached."""
    return float(answer)


def case(n: int, n_scales: int, at_least: float, repeats: int) -> Case:
    kind = "one length scale" if n_scales == 1 else "a length scale for each column"
    return Case(
        name=f"N={n:,} D={N_FEATURES}, {kind}",
        data=lambda: rows(n),
        contenders={
            "credo": credo("laplace", n_scales),
            "credo, EP": credo("ep", n_scales),
            "GaussianProcessClassifier": sklearn(n_scales),
        },
        quality={"log evidence": evidence},
        goals=(Goal("GaussianProcessClassifier", at_least=at_least),),
        repeats=repeats,
    )


CASES = (
    case(50, 1, 1.0, 5),
    case(50, N_FEATURES, 1.0, 5),
    case(200, 1, 1.0, 5),
    case(200, N_FEATURES, 2.0, 3),
    case(1000, 1, 8.0, 2),
    case(1000, N_FEATURES, 8.0, 1),
)
