"""What the outputs of a network mean: the log likelihood of outcomes, with derivatives.

Each kind says how many outputs it needs, minus the log likelihood of the rows with its slopes
by the outputs, the exact curvatures, and a root ``R`` of the expected ones, ``R^T R`` being the
Fisher information of a row: what is left of the Hessian of a network where residuals average
out (Gauss-Newton).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from credo.inference.logistic.softmax import class_coding, integrated_log_probability
from credo.numerics.array import Array
from credo.numerics.form import Form
from credo.numerics.layers.layered_network import LossDerivatives
from credo.numerics.linear.linear_algebra import LOG_TWO_PI
from credo.numerics.special.log_domain import log_sum_exp

__all__ = [
    "LEAST_VARIANCE",
    "ClassOutcome",
    "NormalOutcome",
    "Outcome",
    "VaryingNormalOutcome",
    "expected_variance",
]

WIDEST_LOG_VARIANCE = 30.0
"""Log variances of standardized outcomes beyond this are cut off."""

LEAST_VARIANCE = 1e-12
"""What is added to variances of scores, so that they have a root."""

LARGEST_DOUBT = 2.0
"""Variance of a log variance beyond which its doubt is not counted."""


class Outcome(Protocol):
    """Outcomes of rows, each with a weight, and what outputs say of them."""

    @property
    def weight(self) -> Array:
        """How much each row counts, shape (n,)."""
        ...

    @property
    def n_outputs(self) -> int:
        """Outputs that the network must have."""
        ...

    @property
    def output_group(self) -> NDArray[np.intp]:
        """Which outputs share a precision of their weights, counted from 0."""
        ...

    @property
    def start(self) -> Array:
        """Biases of the outputs to start from."""
        ...

    def taken(self, rows: NDArray[np.intp] | slice) -> Self:
        """Return the outcomes of some rows."""
        ...

    def weighed(self, weight: Array) -> Self:
        """Return the same outcomes, each counted so much."""
        ...

    def loss(self, outputs: Array) -> tuple[float, Array]:
        """Return minus the log likelihood, and its slopes by the outputs (n, k)."""
        ...

    def derivatives(self, outputs: Array) -> LossDerivatives:
        """Return value, slopes, and exact curvatures (n, k, k)."""
        ...

    def root(self, outputs: Array) -> Array:
        """Return roots (n, j, k) of the expected curvatures."""
        ...

    def log_prob(self, mean: Array, covariance: Array, log_noise: Array) -> Array:
        """Return the log density of each outcome under normal outputs, shape (n,)."""
        ...


@dataclass(frozen=True, eq=False)
class NormalOutcome:
    """Numbers with normal noise, whose precision may differ between outputs.

    Attributes
    ----------
    y
        Outcomes, shape (n, k).
    weight
        How much each row counts, shape (n,).
    precision
        Inverse variance of the noise of each output, shape (k,).
    """

    y: Annotated[Array, Form("n k")]
    weight: Annotated[Array, Form("n")]
    precision: Annotated[Array, Form("k")]

    @property
    def n_outputs(self) -> int:
        """One for each outcome of a row."""
        return int(self.y.shape[1])

    @property
    def output_group(self) -> NDArray[np.intp]:
        """All outputs alike."""
        return np.zeros(self.n_outputs, dtype=np.intp)

    @property
    def start(self) -> Array:
        """The mean of the outcomes."""
        return np.asarray(self.weight @ self.y / self.weight.sum())

    def taken(self, rows: NDArray[np.intp] | slice) -> Self:
        """Return the outcomes of some rows."""
        return replace(self, y=self.y[rows], weight=self.weight[rows])

    def weighed(self, weight: Array) -> Self:
        """Return the same outcomes, each counted so much."""
        return replace(self, weight=weight)

    def at(self, precision: Array) -> Self:
        """Return the same outcomes with other noise."""
        return replace(self, precision=precision)

    def squared_error(self, outputs: Array) -> Array:
        """Return the weighted sums of squared residuals, shape (k,)."""
        return np.asarray(self.weight @ (outputs - self.y) ** 2)

    def loss(self, outputs: Array) -> tuple[float, Array]:
        """Return minus the log likelihood, and its slopes."""
        residual = outputs - self.y
        slope = residual * self.precision
        slope *= self.weight[:, None]
        log_scale = 0.5 * self.weight.sum() * float((LOG_TWO_PI - np.log(self.precision)).sum())
        return 0.5 * float(np.vdot(slope, residual)) + log_scale, slope

    def derivatives(self, outputs: Array) -> LossDerivatives:
        """Return value, slopes and curvatures."""
        value, slope = self.loss(outputs)
        curvature = self.weight[:, None, None] * np.diag(self.precision)
        return LossDerivatives(value, slope, curvature)

    def root(self, outputs: Array) -> Array:
        """Return roots of the curvatures."""
        return np.asarray(
            np.sqrt(self.weight)[:, None, None] * np.diag(np.sqrt(self.precision))
        )

    def log_prob(self, mean: Array, covariance: Array, log_noise: Array) -> Array:
        """Return the log density of each outcome, one output apart from the other."""
        variance = np.diagonal(covariance, axis1=1, axis2=2) + np.exp(-log_noise)
        return _log_normal(self.y - mean, variance)


@dataclass(frozen=True, eq=False)
class VaryingNormalOutcome:
    """Numbers with normal noise whose variance follows the inputs.

    The first k outputs are means, the others logs of variances.
    """

    y: Annotated[Array, Form("n k")]
    weight: Annotated[Array, Form("n")]

    @property
    def n_outputs(self) -> int:
        """Two for each outcome of a row."""
        return 2 * int(self.y.shape[1])

    @property
    def output_group(self) -> NDArray[np.intp]:
        """Means, and logs of variances."""
        return np.repeat(np.arange(2), self.y.shape[1])

    @property
    def start(self) -> Array:
        """Means, and a part of the variances that is left for a function to explain."""
        mean = self.weight @ self.y / self.weight.sum()
        variance = self.weight @ (self.y - mean) ** 2 / self.weight.sum()
        return np.concatenate([mean, np.log(0.3 * np.maximum(variance, 1e-12))])

    def taken(self, rows: NDArray[np.intp] | slice) -> Self:
        """Return the outcomes of some rows."""
        return replace(self, y=self.y[rows], weight=self.weight[rows])

    def weighed(self, weight: Array) -> Self:
        """Return the same outcomes, each counted so much."""
        return replace(self, weight=weight)

    def loss(self, outputs: Array) -> tuple[float, Array]:
        """Return minus the log likelihood, and its slopes."""
        residual, log_variance, scaled = self._parts(outputs)
        weight = self.weight[:, None]
        half = 0.5 * residual * scaled
        value = float((weight * (half + 0.5 * (log_variance + LOG_TWO_PI))).sum())
        return value, np.concatenate([weight * scaled, weight * (0.5 - half)], axis=1)

    def derivatives(self, outputs: Array) -> LossDerivatives:
        """Return value, slopes and curvatures, which may bend either way."""
        value, slope = self.loss(outputs)
        residual, log_variance, scaled = self._parts(outputs)
        k, weight = residual.shape[1], self.weight[:, None]
        curvature = np.zeros((*outputs.shape, 2 * k))
        mean, spread = np.arange(k), np.arange(k, 2 * k)
        curvature[:, mean, mean] = weight * np.exp(-log_variance)
        curvature[:, spread, spread] = 0.5 * weight * residual * scaled
        curvature[:, mean, spread] = curvature[:, spread, mean] = -weight * scaled
        return LossDerivatives(value, slope, curvature)

    def root(self, outputs: Array) -> Array:
        """Return roots of the expected curvatures, ``1 / variance`` and ``1 / 2``."""
        k = self.y.shape[1]
        _, log_variance, _ = self._parts(outputs)
        found = np.zeros((*outputs.shape, 2 * k))
        mean, spread = np.arange(k), np.arange(k, 2 * k)
        found[:, mean, mean] = np.exp(-0.5 * log_variance)
        found[:, spread, spread] = np.sqrt(0.5)
        return np.asarray(found * np.sqrt(self.weight)[:, None, None])

    def log_prob(self, mean: Array, covariance: Array, log_noise: Array) -> Array:
        """Return the log density of each outcome, at the expected variance of its noise."""
        k = self.y.shape[1]
        variance = np.diagonal(covariance, axis1=1, axis2=2)
        noise = expected_variance(mean[:, k:], variance[:, k:])
        return _log_normal(self.y - mean[:, :k], variance[:, :k] + noise)

    def _parts(self, outputs: Array) -> tuple[Array, Array, Array]:
        """Return residuals, log variances, and residuals over variances."""
        k = self.y.shape[1]
        residual = outputs[:, :k] - self.y
        log_variance = np.clip(outputs[:, k:], -WIDEST_LOG_VARIANCE, WIDEST_LOG_VARIANCE)
        return residual, log_variance, residual * np.exp(-log_variance)


@dataclass(frozen=True, eq=False)
class ClassOutcome:
    """Classes, whose scores are made of one output less than there are classes.

    Attributes
    ----------
    code
        Class of each row, 0 to K - 1.
    weight
        How much each row counts, shape (n,).
    n_classes
        K.
    """

    code: Annotated[NDArray[np.intp], Form("n")]
    weight: Annotated[Array, Form("n")]
    n_classes: int

    @property
    def coding(self) -> Array:
        """How scores are made of outputs, shape (K, K - 1)."""
        return class_coding(self.n_classes)

    @property
    def n_outputs(self) -> int:
        """One for two classes, one less than there are classes for more."""
        return self.n_classes - 1

    @property
    def output_group(self) -> NDArray[np.intp]:
        """All outputs alike."""
        return np.zeros(self.n_outputs, dtype=np.intp)

    @property
    def start(self) -> Array:
        """The outputs of the shares of the classes."""
        share = np.bincount(self.code, self.weight, self.n_classes) + 0.5
        logs = np.log(share / share.sum())
        if self.n_classes == 2:
            return np.array([logs[1] - logs[0]])
        return np.asarray(logs @ self.coding)

    def taken(self, rows: NDArray[np.intp] | slice) -> Self:
        """Return the outcomes of some rows."""
        return replace(self, code=self.code[rows], weight=self.weight[rows])

    def weighed(self, weight: Array) -> Self:
        """Return the same outcomes, each counted so much."""
        return replace(self, weight=weight)

    def loss(self, outputs: Array) -> tuple[float, Array]:
        """Return minus the log likelihood, and its slopes."""
        loss, residual = self._residual(outputs)[:2]
        return loss, (self.weight[:, None] * residual) @ self.coding

    def derivatives(self, outputs: Array) -> LossDerivatives:
        """Return value, slopes and curvatures, which are those expected."""
        value, slope = self.loss(outputs)
        root = self.root(outputs)
        return LossDerivatives(value, slope, root.transpose(0, 2, 1) @ root)

    def root(self, outputs: Array) -> Array:
        """Return roots of the curvatures, ``sqrt(p) (C - p^T C)`` row by row."""
        probability = self._residual(outputs)[2]
        if self.n_classes == 2:
            spread = np.sqrt(self.weight * probability[:, 0] * probability[:, 1])
            return np.asarray(spread[:, None, None])
        centered = self.coding - (probability @ self.coding)[:, None, :]
        return np.asarray(np.sqrt(self.weight[:, None] * probability)[:, :, None] * centered)

    def log_prob(self, mean: Array, covariance: Array, log_noise: Array) -> Array:
        """Return the log probability of each class, averaged over the outputs."""
        wide = covariance + LEAST_VARIANCE * np.eye(covariance.shape[1])
        logs = integrated_log_probability(mean, wide, self.coding)
        return np.asarray(logs[np.arange(len(self.code)), self.code])

    def _residual(self, outputs: Array) -> tuple[float, Array, Array]:
        scores = outputs @ self.coding.T
        logs = scores - log_sum_exp(scores, axis=1)[:, None]
        row = np.arange(len(self.code))
        probability = np.exp(logs)
        residual = probability.copy()
        residual[row, self.code] -= 1.0
        return -float(self.weight @ logs[row, self.code]), residual, probability


def expected_variance(log_mean: Array, log_variance: Array) -> Array:
    """Return the mean of variances whose logs are normal, ``exp(m + v / 2)``, kept finite."""
    logs = log_mean + 0.5 * np.minimum(log_variance, LARGEST_DOUBT)
    return np.asarray(np.exp(np.clip(logs, -WIDEST_LOG_VARIANCE, WIDEST_LOG_VARIANCE)))


def _log_normal(residual: Array, variance: Array) -> Array:
    each = residual**2 / variance + np.log(variance) + LOG_TWO_PI
    return np.asarray(-0.5 * each.sum(axis=1))
