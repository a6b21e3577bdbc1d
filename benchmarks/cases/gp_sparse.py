"""Gaussian processes by inducing inputs, beside exact ones that learn from 1,000 of the rows.

What more rows are worth is in the qualities: held-out error, and mean log density.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from sklearn.gaussian_process import GaussianProcessRegressor as ScikitProcess
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from benchmarks.harness import Case, Contender, Goal
from credo.models.kernel.gaussian_process_regressor import GaussianProcessRegressor

__all__ = ["CASES"]

N_COLUMNS, N_TEST, N_EXACT = 8, 5_000, 1_000
N_SAMPLES = 10_000


@dataclass(frozen=True, eq=False)
class Rows:
    """Inputs and outcomes, to learn from and held out."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray) -> "Rows":
        return cls(X[N_TEST:], y[N_TEST:], X[:N_TEST], y[:N_TEST])


def waves(n_samples: int) -> Rows:
    """Return waves and products of five of eight normal columns, with noise of 0.3."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n_samples + N_TEST, N_COLUMNS))
    bent = 0.5 * np.tanh(2 * x[:, 3] * x[:, 4])
    f = np.sin(1.5 * x[:, 0]) + np.cos(x[:, 1]) * x[:, 2] + bent
    return Rows.of(x, f + 0.3 * rng.normal(size=len(x)))


def arm(n_samples: int) -> Rows:
    """Return how far the hand of a robot arm with eight joints is from a place, measured."""
    rng = np.random.default_rng(1)
    turns = rng.uniform(-np.pi / 4, np.pi / 4, (n_samples + N_TEST, N_COLUMNS))
    angles = np.cumsum(turns, axis=1)
    hand = np.stack([np.cos(angles).sum(axis=1), np.sin(angles).sum(axis=1)], axis=1)
    distance = np.linalg.norm(hand - [1.0, 1.0], axis=1)
    return Rows.of(turns, distance + 0.1 * rng.normal(size=len(turns)))


def credo(data: Rows) -> Any:
    return GaussianProcessRegressor().fit(data.X, data.y)


def credo_exact(data: Rows) -> Any:
    return GaussianProcessRegressor().fit(data.X[:N_EXACT], data.y[:N_EXACT])


def sklearn_exact(data: Rows) -> Any:
    kernel = ConstantKernel(1.0) * RBF(np.ones(N_COLUMNS)) + WhiteKernel(0.1)
    model = ScikitProcess(kernel, normalize_y=True)
    return model.fit(data.X[:N_EXACT], data.y[:N_EXACT])


def rmse(data: Rows, model: Any) -> float:
    return float(np.sqrt(np.mean((model.predict(data.X_test) - data.y_test) ** 2)))


def log_score(data: Rows, model: Any) -> float:
    if isinstance(model, ScikitProcess):
        mean, std = model.predict(data.X_test, return_std=True)
        return float(stats.norm(mean, std).logpdf(data.y_test).mean())
    return float(model.predict_dist(data.X_test).log_prob(data.y_test).mean())


def case(name: str, data: Any, contenders: dict[str, Contender], limit: float) -> Case:
    return Case(
        name=name,
        data=data,
        contenders={"credo": Contender(credo), **contenders},
        quality={"test rmse": rmse, "test log score": log_score},
        goals=(Goal("credo", at_most=limit, measure="seconds"),),
        repeats=1,
    )


EXACT = {
    "credo, 1,000 rows": Contender(credo_exact),
    "scikit-learn, 1,000 rows": Contender(sklearn_exact, "scikit-learn"),
}

CASES = (
    case("waves, N=10,000 D=8", lambda: waves(N_SAMPLES), EXACT, 30.0),
    case("robot arm, N=10,000 D=8", lambda: arm(N_SAMPLES), EXACT, 30.0),
    case("waves, N=100,000 D=8", lambda: waves(100_000), {}, 300.0),
)
