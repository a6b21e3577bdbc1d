"""Inducing inputs: the few rows by which a Gaussian process is summarized.

Rows are taken one by one, each where the function is least known from those before: the
pivoted Cholesky factor of the covariance, stopped early [burt2020]_. With ``d_i`` the variance
that the rows taken leave at row i, the next one has the largest ``d_i / noise_i``, and
``sum_i d_i / noise_i`` is twice what the bound of `SparseProcess` loses by it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from credo.features.kernels.kernel import Kernel
from credo.numerics.array import Array

__all__ = ["candidate_rows", "greedy_rows", "usual_number"]

NEGLIGIBLE = 1e-2
"""Sum of ``d_i / noise_i`` over all rows that is not worth another inducing input."""

SINGULAR = 1e-9
"""Share of the largest variance below which what is left is rounding."""

CANDIDATES = 10
"""Rows that are looked at for each one that is taken."""


def usual_number(n: int) -> int:
    """Return how many inducing inputs n rows have: 500 for 10,000 and 1,000 for 100,000.

    Examples
    --------
    >>> usual_number(10_000), usual_number(100_000), usual_number(50)
    (500, 998, 50)
    """
    return min(n, round(500 * math.pow(n / 10_000, 0.3)))


def candidate_rows(n: int, n_inducing: int) -> NDArray[np.intp]:
    """Return the rows that may become inducing inputs: all, or some ten for each."""
    n_candidates = CANDIDATES * n_inducing
    if n <= n_candidates:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, n_candidates, replace=False))


def greedy_rows(kernel: Kernel, x: Array, noise: Array, n_inducing: int) -> NDArray[np.intp]:
    """Return the numbers of the rows taken, at most ``n_inducing``, in order.

    It takes ``n m^2 / 2`` multiplications and ``n m`` numbers of memory.

    Parameters
    ----------
    x
        Rows to choose from, shape (n, d).
    noise
        Variance of the noise of each, shape (n,).

    Examples
    --------
    >>> from credo.features import SquaredExponential
    >>> x = np.array([[0.0], [0.1], [2.0], [2.1], [9.0]])
    >>> greedy_rows(SquaredExponential(1.0), x, np.ones(5), 3).tolist()
    [0, 4, 3]
    """
    variance = kernel.evaluated_diagonal(x)[0]
    smallest = SINGULAR * float(variance.max())
    factor = np.empty((min(n_inducing, len(x)), len(x)))
    taken: list[int] = []
    for own in factor:
        row = int(np.argmax(variance / noise))
        if variance[row] <= smallest or np.sum(variance / noise) < NEGLIGIBLE:
            break
        before = factor[: len(taken)]
        own[:] = kernel.evaluated(x, x[row : row + 1])[0][:, 0] - before[:, row] @ before
        own /= np.sqrt(variance[row])
        variance = np.maximum(variance - own**2, 0.0)
        variance[row] = 0.0
        taken.append(row)
    return np.array(taken or [0])
