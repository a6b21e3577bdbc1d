"""How far an estimate would vary over other data sets, beside what is believed after this one.

Three ways to a standard error: the curvature of the log likelihood at its maximum, resampling
of rows (bootstrap), and leaving rows out one by one (jackknife) [efron1993]_.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import ArrayLike

from credo.numerics.array import Array, as_float
from credo.numerics.linear.linear_algebra import cholesky
from credo.numerics.optimize.difference import finite_difference_gradient

__all__ = ["bootstrap_draws", "curvature_covariance", "jackknife_error", "sampling_table"]

Estimator = Callable[[Array], ArrayLike]


def curvature_covariance(
    log_likelihood: Callable[[Array], float], estimate: ArrayLike
) -> Array:
    """Return the inverse of minus the curvature of a log likelihood at its maximum.

    Parameters
    ----------
    log_likelihood
        Of parameters, shape (d,).
    estimate
        Where it is largest.

    Raises
    ------
    NotPositiveDefinite
        If it does not bend down there in every direction.

    Examples
    --------
    The mean of ten numbers of variance four:

    >>> curvature_covariance(lambda mean: float(-(10 / 8) * mean @ mean), [0.0]).round(4)
    array([[0.4]])
    """
    at = np.atleast_1d(as_float(estimate))
    curvature = np.empty((len(at), len(at)))
    for i, x in enumerate(at.tolist()):
        # The fourth root of the rounding error balances that of two differences.
        step = np.zeros_like(at)
        step[i] = 1e-4 * max(1.0, abs(x))
        high, low = (
            finite_difference_gradient(log_likelihood, at + sign * step, step=1e-4)
            for sign in (1.0, -1.0)
        )
        curvature[i] = (low - high) / (2.0 * step[i])
    return cholesky(0.5 * (curvature + curvature.T)).solve(np.eye(len(at)))


def bootstrap_draws(estimator: Estimator, rows: ArrayLike, rng: Generator, n: int) -> Array:
    """Return estimates from ``n`` data sets whose rows are picked from these, with repeats."""
    data = as_float(rows)
    picked = rng.integers(len(data), size=(n, len(data)))
    return np.stack([np.atleast_1d(as_float(estimator(data[rows]))) for rows in picked])


def jackknife_error(estimator: Estimator, rows: ArrayLike) -> Array:
    """Return the standard error from estimates that each leave out a row.

    ``sqrt((n - 1) / n sum_i (t_i - mean)^2)``; of a mean it is ``s / sqrt(n)`` exactly.
    """
    data = as_float(rows)
    n = len(data)
    if n < 2:
        raise ValueError(
            f"rows must be at least two to leave one out; found {n}. Give more rows."
        )
    left = np.stack(
        [np.atleast_1d(as_float(estimator(np.delete(data, i, axis=0)))) for i in range(n)]
    )
    return np.asarray(np.sqrt((n - 1) / n * ((left - left.mean(axis=0)) ** 2).sum(axis=0)))


def sampling_table(
    estimator: Estimator,
    rows: ArrayLike,
    rng: Generator,
    *,
    log_likelihood: Callable[[Array], float] | None = None,
    posterior: Any = None,
    n_resamples: int = 1000,
    names: list[str] | None = None,
) -> pd.DataFrame:
    """Return an estimate with its standard errors, beside the posterior.

    The first columns say how the estimate varies over data sets of one truth, the last how
    sure one can be of the truth given one data set.

    Parameters
    ----------
    estimator
        From rows to estimates, shape (d,) or a number.
    rows
        The data, one row each.
    log_likelihood
        Of parameters, shape (d,), given the rows; its curvature gives a standard error.
    posterior
        With ``mean()`` and ``std()`` of the same parameters, such as a distribution.
    names
        Names of the parameters.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(3.0, 2.0, size=100)
    >>> table = sampling_table(np.mean, x, np.random.default_rng(1), n_resamples=200)
    >>> bool(abs(table["jackknife_error"].iloc[0] - x.std(ddof=1) / 10) < 1e-12)
    True
    """
    estimate = np.atleast_1d(as_float(estimator(as_float(rows))))
    draws = bootstrap_draws(estimator, rows, rng, n_resamples)
    columns: dict[str, Any] = {"estimate": estimate}
    if log_likelihood is not None:
        covariance = curvature_covariance(log_likelihood, estimate)
        columns["curvature_error"] = np.sqrt(np.diagonal(covariance))
    columns["bootstrap_error"] = draws.std(axis=0, ddof=1)
    columns["bootstrap_bias"] = draws.mean(axis=0) - estimate
    columns["jackknife_error"] = jackknife_error(estimator, rows)
    if posterior is not None:
        columns["posterior_mean"] = np.ravel(posterior.mean())
        columns["posterior_std"] = np.ravel(posterior.std())
    labels = names or [f"parameter {i}" for i in range(len(estimate))]
    return pd.DataFrame(columns, index=pd.Index(labels, name="parameter"))
