"""Gaussian process regression: one evidence with its gradient, and a whole fit.

GPyTorch and tinygp take part where they are installed; neither is among the extras, because
each brings an array library of gigabytes.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor as Peer
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from benchmarks.harness import Case, Contender, Goal
from credo.features.kernels.kernel import Kernel
from credo.features.kernels.stationary import SquaredExponential
from credo.inference.kernel.exact import ExactProcess
from credo.inference.kernel.process import ProcessData
from credo.models.kernel.gaussian_process_regressor import GaussianProcessRegressor

__all__ = ["CASES"]

N_COLUMNS = 8

N_IN_A_ROW = 5
"""Evidences one after the other, as a search asks for them."""


@dataclass
class Rows:
    """Rows of a smooth function of three of eight columns, and a model to ask for evidences."""

    X: Any
    y: Any
    peer: Any

    @property
    def kernel(self) -> Kernel:
        """The kernel that both start from."""
        return 1.0 * SquaredExponential((2.0,) * N_COLUMNS)

    @cached_property
    def of_gpytorch(self) -> Callable[[], tuple[float, Any]]:
        """Evidence of GPyTorch, with its gradient by the logs of variance and scales."""
        torch, gpytorch = import_module("torch"), import_module("gpytorch")
        X, y = torch.tensor(self.X), torch.tensor(self.y)

        class Process(gpytorch.models.ExactGP):
            def __init__(self, likelihood: Any):
                super().__init__(X, y, likelihood)
                self.mean_module = gpytorch.means.ZeroMean()
                scales = gpytorch.kernels.RBFKernel(ard_num_dims=N_COLUMNS)
                self.covar_module = gpytorch.kernels.ScaleKernel(scales)

            def forward(self, x: Any) -> Any:
                mean, cov = self.mean_module(x), self.covar_module(x)
                return gpytorch.distributions.MultivariateNormal(mean, cov)

        likelihood = gpytorch.likelihoods.GaussianLikelihood()
        model = Process(likelihood).double()
        model.covar_module.outputscale = 1.0
        model.covar_module.base_kernel.lengthscale = 2.0
        likelihood.noise = 0.1
        model.train()
        evidence = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
        raw = (
            model.covar_module.raw_outputscale,
            model.covar_module.base_kernel.raw_lengthscale,
        )
        # The raw parameters are inverse softplus values: by the chain rule to logs.
        by_raw = [1 - np.exp(-1.0), (1 - np.exp(-2.0)) / 2.0]

        def asked() -> tuple[float, Any]:
            model.zero_grad()
            value = evidence(model(X), y) * len(y)
            value.backward()
            logs = [p.grad.numpy().ravel() / b for p, b in zip(raw, by_raw, strict=True)]
            return value.item(), np.concatenate(logs)

        return asked

    @staticmethod
    def gpytorch_settings() -> Any:
        """Return settings by which GPyTorch factorizes instead of iterating."""
        return import_module("gpytorch").settings.max_cholesky_size(10**6)

    @cached_property
    def of_tinygp(self) -> Callable[[Any], tuple[Any, Any]]:
        """Evidence of tinygp, compiled, with its gradient by logs."""
        jax, tinygp = import_module("jax"), import_module("tinygp")
        jax.config.update("jax_enable_x64", True)

        def evidence(logs: Any) -> Any:
            scales = tinygp.transforms.Linear(
                jax.numpy.exp(-logs[1:]) / 2.0, tinygp.kernels.ExpSquared()
            )
            kernel = jax.numpy.exp(logs[0]) * scales
            return tinygp.GaussianProcess(kernel, self.X, diag=0.1).log_probability(self.y)

        compiled = jax.jit(jax.value_and_grad(evidence))
        compiled(np.zeros(1 + N_COLUMNS))
        return compiled


def rows(n_samples: int) -> Rows:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, N_COLUMNS))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(n_samples)
    kernel = ConstantKernel(1.0) * RBF([2.0] * N_COLUMNS) + WhiteKernel(0.1)
    return Rows(X, y - y.mean(), Peer(kernel, alpha=0.0, optimizer=None).fit(X, y - y.mean()))


def credo_evidence(data: Rows) -> tuple[float, Any]:
    process = ProcessData(data.X, data.y[:, None], np.empty((len(data.X), 0)))
    for _ in range(N_IN_A_ROW):
        found = ExactProcess().evidence(process, data.kernel, np.full(len(data.X), 0.1))
    return found.value, found.by_parameter


def sklearn_evidence(data: Rows) -> tuple[float, Any]:
    for _ in range(N_IN_A_ROW):
        value, slope = data.peer.log_marginal_likelihood(
            data.peer.kernel_.theta, eval_gradient=True
        )
    return value, slope[:-1]


def gpytorch_evidence(data: Rows) -> tuple[float, Any]:
    with data.gpytorch_settings():
        for _ in range(N_IN_A_ROW):
            value, slope = data.of_gpytorch()
    return value, slope


def tinygp_evidence(data: Rows) -> tuple[float, Any]:
    for _ in range(N_IN_A_ROW):
        value, slope = data.of_tinygp(np.zeros(1 + N_COLUMNS))
        slope = np.asarray(slope)
    return float(value), slope


def log_evidence(data: Rows, answer: tuple[float, Any]) -> float:
    return float(answer[0])


def slope_size(data: Rows, answer: tuple[float, Any]) -> float:
    return float(np.linalg.norm(answer[1]))


def credo_fit(data: Rows) -> Any:
    return GaussianProcessRegressor(data.kernel, inference="ml", mean="zero").fit(
        data.X, data.y
    )


def credo_whole_fit(data: Rows) -> Any:
    return GaussianProcessRegressor(data.kernel, mean="zero").fit(data.X, data.y)


def sklearn_fit(data: Rows) -> Any:
    kernel = ConstantKernel(1.0) * RBF([2.0] * N_COLUMNS) + WhiteKernel(0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Peer(kernel, alpha=0.0).fit(data.X, data.y)


def evidence_of_fit(data: Rows, model: Any) -> float:
    """Return the log evidence at the learned settings, by scikit-learn for both."""
    logs = model.log_parameters_ if hasattr(model, "log_parameters_") else model.kernel_.theta
    return float(data.peer.log_marginal_likelihood(logs))


def evidence_case(n_samples: int, at_least: float, of_others: float) -> Case:
    return Case(
        name=f"evidence and gradient, of {N_IN_A_ROW} in a row, N={n_samples:,} D={N_COLUMNS}",
        data=lambda: rows(n_samples),
        contenders={
            "credo": Contender(credo_evidence, share=N_IN_A_ROW),
            "log_marginal_likelihood": Contender(
                sklearn_evidence, "scikit-learn", share=N_IN_A_ROW
            ),
            "GPyTorch": Contender(gpytorch_evidence, "gpytorch", share=N_IN_A_ROW),
            "tinygp": Contender(tinygp_evidence, "tinygp", share=N_IN_A_ROW),
        },
        quality={"log evidence": log_evidence, "gradient": slope_size},
        goals=(
            Goal("log_marginal_likelihood", at_least=at_least),
            Goal("GPyTorch", at_least=of_others),
            Goal("tinygp", at_least=of_others),
        ),
        repeats=8 if n_samples <= 1000 else 2,
    )


def fit_case(n_samples: int, at_least: float) -> Case:
    return Case(
        name=f"fit, N={n_samples:,} D={N_COLUMNS}",
        data=lambda: rows(n_samples),
        contenders={
            "credo": Contender(credo_fit),
            "credo, settings averaged": Contender(credo_whole_fit),
            "GaussianProcessRegressor": Contender(sklearn_fit, "scikit-learn"),
        },
        quality={"log evidence": evidence_of_fit},
        goals=(Goal("GaussianProcessRegressor", at_least=at_least),),
        repeats=5 if n_samples <= 200 else 2,
    )


CASES = (
    evidence_case(50, 1.0, 1.0),
    evidence_case(500, 6.0, 2.5),
    evidence_case(2_000, 4.0, 2.5),
    fit_case(50, 1.0),
    fit_case(200, 1.0),
    fit_case(500, 4.0),
)
