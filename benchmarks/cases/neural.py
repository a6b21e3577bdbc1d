"""Neural networks with a posterior: whole fits beside laplace-torch and scikit-learn."""

import warnings
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import StandardScaler

from benchmarks.harness import Case, Contender, Goal
from credo.distributions.normal import Normal
from credo.models.neural.neural_network import NeuralNetworkRegressor

__all__ = ["CASES"]

UNITS, N_TEST = 50, 1000
MARGINAL_STEPS = 100


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to learn from, and rows to be judged on."""

    X: np.ndarray
    y: np.ndarray
    test_X: np.ndarray
    test_y: np.ndarray


def rows(n: int, d: int) -> Rows:
    """Return a wave, a product and a step of normal columns, with noise."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n + N_TEST, d))
    curve = np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + np.tanh(2.0 * X[:, 3])
    y = curve + 0.3 * rng.normal(size=len(X))
    return Rows(X[:n], y[:n], X[n:], y[n:])


def credo(inference: Any = "laplace") -> Contender:
    """Return training with precisions and noise learned, and the posterior."""

    def run(data: Rows) -> Any:
        model = NeuralNetworkRegressor((UNITS,), inference=inference, random_state=0)
        return model.fit(data.X, data.y).predict_dist

    return Contender(run)


def laplace_torch(n_epochs: int) -> Contender:
    """Return training by Adam, full Laplace, and precisions by its marginal likelihood."""

    def run(data: Rows) -> Any:
        torch, data_of = import_module("torch"), import_module("torch.utils.data")
        torch.manual_seed(0)
        units = StandardScaler().fit(data.X)
        center, scale = data.y.mean(), data.y.std()
        x = torch.tensor(units.transform(data.X), dtype=torch.float32)
        y = torch.tensor((data.y - center) / scale, dtype=torch.float32)[:, None]
        net = torch.nn.Sequential(
            torch.nn.Linear(x.shape[1], UNITS), torch.nn.Tanh(), torch.nn.Linear(UNITS, 1)
        )
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-2, weight_decay=1e-4)
        for _ in range(n_epochs):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(net(x), y).backward()
            optimizer.step()
        belief = import_module("laplace").Laplace(
            net, "regression", subset_of_weights="all", hessian_structure="full"
        )
        rows_of = data_of.TensorDataset(x, y)
        belief.fit(data_of.DataLoader(rows_of, batch_size=len(x)))
        logs = [torch.ones(1, requires_grad=True) for _ in range(2)]
        optimizer = torch.optim.Adam(logs, lr=1e-1)
        for _ in range(MARGINAL_STEPS):
            optimizer.zero_grad()
            (-belief.log_marginal_likelihood(logs[0].exp(), logs[1].exp())).backward()
            optimizer.step()

        def predictive(X: np.ndarray) -> Normal:
            mean, variance = belief(torch.tensor(units.transform(X), dtype=torch.float32))
            noise = float(belief.sigma_noise.detach()) ** 2
            spread = np.sqrt(variance.detach().numpy().reshape(-1) + noise)
            return Normal(center + scale * mean.detach().numpy()[:, 0], scale * spread)

        return predictive

    return Contender(run, "laplace-torch")


def sklearn(**settings: Any) -> Contender:
    """Return the network of scikit-learn with settings, and with its training noise."""

    def run(data: Rows) -> Any:
        units = StandardScaler().fit(data.X)
        peer = MLPRegressor(
            hidden_layer_sizes=(UNITS,), activation="tanh", random_state=0, **settings
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            peer.fit(units.transform(data.X), data.y)
        noise = float(np.std(data.y - peer.predict(units.transform(data.X))))
        return lambda X: Normal(peer.predict(units.transform(X)), noise)

    return Contender(run, "scikit-learn")


def log_likelihood(data: Rows, answer: Any) -> float:
    """Return the mean log density of test rows."""
    return float(np.mean(answer(data.test_X).log_prob(data.test_y)))


def squared_error(data: Rows, answer: Any) -> float:
    """Return the root mean squared error of test rows."""
    return float(np.sqrt(np.mean((answer(data.test_X).mean() - data.test_y) ** 2)))


QUALITY = {"log likelihood": log_likelihood, "root mean squared error": squared_error}

CASES = (
    Case(
        name=f"N=500 D=8, {UNITS} units, posterior",
        data=lambda: rows(500, 8),
        contenders={
            "credo": credo(),
            "laplace-torch": laplace_torch(300),
            "MLPRegressor to about this error": sklearn(alpha=0.1, tol=1e-5, max_iter=3000),
            "MLPRegressor by L-BFGS to about this error": sklearn(
                solver="lbfgs", alpha=1.0, max_iter=300
            ),
        },
        quality=QUALITY,
        goals=(
            Goal("laplace-torch", at_least=5.0),
            Goal("MLPRegressor to about this error", at_least=1.0),
        ),
        repeats=5,
    ),
    Case(
        name=f"N=100,000 D=10, {UNITS} units",
        data=lambda: rows(100_000, 10),
        contenders={
            "credo": credo(),
            "MLPRegressor, stopped early": sklearn(early_stopping=True),
            "MLPRegressor to about this error": sklearn(early_stopping=True, tol=1e-5),
        },
        quality=QUALITY,
        goals=(
            Goal("credo", at_most=120.0, measure="seconds"),
            Goal("MLPRegressor to about this error", at_least=1.0),
        ),
        repeats=1,
    ),
)
