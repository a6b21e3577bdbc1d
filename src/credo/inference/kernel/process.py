"""A Gaussian process with noisy outcomes: the data, what is believed of it, how it is computed.

``y_i = h(x_i)' b + f(x_i) + e_i`` with ``f ~ GP(0, k)``, independent normal noise ``e_i`` of
known variance, and coefficients ``b`` of mean functions under a flat prior of density one,
which are integrated out [rasmussen2006]_. A method of computing it gives the log evidence with
its gradient and the belief about new rows: exactly, by inducing inputs, or as a series.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, NamedTuple, Protocol

import numpy as np
from numpy.random import Generator

from credo.distributions.multivariate_normal import MultivariateNormal
from credo.features.kernels.kernel import Kernel
from credo.numerics.array import Array
from credo.numerics.form import Form
from credo.numerics.linear.linear_algebra import cholesky

__all__ = [
    "BLOCK_ENTRIES",
    "JOINT_MATRICES",
    "LARGEST_JITTER",
    "FunctionDraw",
    "GaussianProcess",
    "NoisyEvidence",
    "ProcessBelief",
    "ProcessData",
    "ProcessMethod",
    "centered_moments",
    "row_blocks",
    "sampled",
]

LARGEST_JITTER = 1e-6
"""Share of the mean diagonal that may be added to a covariance to have a factor."""

JOINT_MATRICES = 4
"""Matrices of all pairs of rows that their joint distribution and draws of it need."""

BLOCK_ENTRIES = 1 << 20
"""Covariances of a block of rows with all others that are held at a time."""


@dataclass(frozen=True, eq=False)
class ProcessData:
    """What a Gaussian process is learned from.

    Attributes
    ----------
    x
        Inputs, shape (n, d).
    y
        Outcomes, shape (n, k); k outputs that share the kernel and the noise.
    columns
        Mean functions at the inputs, shape (n, q); none for a mean of zero.
    """

    x: Annotated[Array, Form("n d")]
    y: Annotated[Array, Form("n k")]
    columns: Annotated[Array, Form("n q")]

    @cached_property
    def origin(self) -> Array:
        """Means of the outcomes if the first mean function is a level, else zero, shape (k,).

        Taken off before sums, they keep outcomes far from zero from cancelling.
        """
        has_level = self.columns.shape[1] > 0 and bool(np.all(self.columns[:, 0] == 1.0))
        return self.y.mean(axis=0) if has_level else np.zeros(self.y.shape[1])

    def joined(self, x: Array, y: Array, columns: Array) -> ProcessData:
        """Return these rows, then others."""
        return ProcessData(
            np.vstack([self.x, x]), np.vstack([self.y, y]), np.vstack([self.columns, columns])
        )

    @cached_property
    def centered(self) -> Array:
        """Outcomes around their origin, shape (n, k)."""
        return self.y - self.origin

    @cached_property
    def sides(self) -> Array:
        """Outcomes around their origin, and mean functions, (n, k + q) in Fortran's order."""
        return np.asfortranarray(np.hstack([self.centered, self.columns]))


class NoisyEvidence(NamedTuple):
    """Log evidence, and its gradient by log kernel parameters and by the noise of each row."""

    value: float
    by_parameter: Array
    by_noise: Array


class ProcessBelief(Protocol):
    """What is believed of the function after the data, at given settings."""

    @property
    def kernel(self) -> Kernel:
        """The kernel."""
        ...

    def mean(self, X: Array, columns: Array) -> Array:
        """Return the mean of the function at rows alone, shape (m, k)."""
        ...

    def moments(self, X: Array, columns: Array) -> tuple[Array, Array]:
        """Return mean (m, k) and variance (m,) of the function at rows, without noise."""
        ...


class ProcessMethod(Protocol):
    """A way to compute a Gaussian process."""

    def evidence(self, data: ProcessData, kernel: Kernel, noise: Array) -> NoisyEvidence:
        """Return the log evidence and its gradient, for noise variances of the rows (n,)."""
        ...

    def log_evidence(self, data: ProcessData, kernel: Kernel, noise: Array) -> float:
        """Return the log evidence alone."""
        ...

    def belief(self, data: ProcessData, kernel: Kernel, noise: Array) -> ProcessBelief:
        """Return the posterior of the function."""
        ...

    def bytes_needed(self, n_rows: int) -> float:
        """Return the memory that learning from so many rows takes besides them."""
        ...


def row_blocks(n: int, m: int) -> Iterator[slice]:
    """Yield n rows in blocks whose covariances with m others are `BLOCK_ENTRIES` or fewer."""
    size = max(1, BLOCK_ENTRIES // max(m, 1))
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def sampled(rng: Generator, mean: Array, covariance: Array, n: int) -> Array:
    """Return ``n`` draws of a function with this mean (m, k) and covariance, (n, m, k)."""
    root = cholesky(covariance, largest_jitter=LARGEST_JITTER).lower
    draws = rng.standard_normal((n, mean.shape[1], len(root))) @ root.T
    return np.asarray(mean + np.swapaxes(draws, 1, 2))


def centered_moments(mean: Array, variance: Array, shared: Array) -> tuple[Array, Array]:
    """Return mean and variance of a function less its average over the rows.

    Parameters
    ----------
    mean, variance
        Of the function at the rows, shapes (m, k) and (m,).
    shared
        Covariance of its value at each row with the average, shape (m,).
    """
    rest = variance - 2.0 * shared + shared.mean()
    return mean - mean.mean(axis=0), np.maximum(rest, 0.0)


@dataclass(frozen=True, eq=False)
class GaussianProcess:
    """A random function whose values at any inputs are jointly normal: a prior over functions.

    Attributes
    ----------
    kernel
        Covariance function.
    mean
        A constant mean.

    Examples
    --------
    >>> from credo.features import SquaredExponential
    >>> process = GaussianProcess(SquaredExponential(1.0))
    >>> process.at(np.array([[0.0], [1.0]])).covariance().round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """

    kernel: Kernel
    mean: float = 0.0

    def at(self, X: Array) -> MultivariateNormal:
        """Return the joint distribution of the values at rows ``X``."""
        matrix = self.kernel(X)
        return MultivariateNormal(np.full(len(matrix), self.mean), matrix)

    def sample(self, rng: Generator, X: Array, n: int = 1) -> Array:
        """Return the values of ``n`` random functions at rows ``X``, shape (n, m)."""
        factor = cholesky(self.kernel(X))
        return np.asarray(
            self.mean + rng.standard_normal((n, len(factor.lower))) @ factor.lower.T
        )

    def draw(self, rng: Generator, X: Array) -> FunctionDraw:
        """Return one random function, seen at rows ``X`` and to be asked for more."""
        return FunctionDraw(self, np.asarray(X), self.sample(rng, X)[0])


@dataclass(frozen=True, eq=False)
class FunctionDraw:
    """One function drawn from a process: its values at some inputs, and more on request.

    Values at further inputs are drawn given those that are known, so that together they are
    one draw of the joint distribution.

    Examples
    --------
    >>> from credo.features import SquaredExponential
    >>> rng = np.random.default_rng(0)
    >>> one = GaussianProcess(SquaredExponential(1.0)).draw(rng, np.array([[0.0], [1.0]]))
    >>> more = one.extended(rng, np.array([[0.0], [0.5]]))
    >>> bool(abs(more.values[2] - one.values[0]) < 1e-3)
    True
    """

    process: GaussianProcess
    x: Annotated[Array, Form("n d")]
    values: Annotated[Array, Form("n")]

    def extended(self, rng: Generator, X: Array) -> FunctionDraw:
        """Return the same function with values at rows ``X`` as well, behind the others."""
        kernel, mean = self.process.kernel, self.process.mean
        factor = cholesky(kernel(self.x))
        cross = factor.whiten(kernel(X, self.x))
        center = mean + cross @ factor.whiten(self.values - mean)
        rest = cholesky(kernel(X) - cross @ cross.T + 1e-12 * np.diag(kernel.diagonal(X)))
        found = center + rest.lower @ rng.standard_normal(len(center))
        return FunctionDraw(
            self.process, np.vstack([self.x, X]), np.concatenate([self.values, found])
        )
