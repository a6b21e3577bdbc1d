"""Sums and squashing functions of logarithms that neither overflow nor lose their tails."""

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from credo.numerics.array import Array, as_float

__all__ = [
    "log1m_exp",
    "log_normal_cdf",
    "log_normalize",
    "log_sigmoid",
    "log_sum_exp",
    "normal_cdf",
    "sigmoid",
    "softmax",
]

Axis = int | tuple[int, ...] | None


def log_sum_exp(
    a: ArrayLike, axis: Axis = None, weights: ArrayLike | None = None, keepdims: bool = False
) -> Array:
    """Return ``log(sum(weights * exp(a)))`` along ``axis``.

    The exponents are shifted by the largest of them, so the largest term becomes one:
    nothing overflows, and only terms that cannot matter underflow.

    Parameters
    ----------
    a
        Exponents; -inf is a term of zero. A sum of nothing but zeros is -inf.
    weights
        Non-negative factors that broadcast against ``a``; a weight of zero removes its term.

    Examples
    --------
    >>> float(log_sum_exp([-1000.0, -1000.0]).round(4))
    -999.3069
    """
    exponents = as_float(a)
    if weights is not None:
        factors = as_float(weights)
        if np.any(factors < 0):
            raise ValueError(
                f"weights must not be negative; found {factors.min():g}. "
                "Subtract terms outside the logarithm."
            )
        exponents, factors = np.broadcast_arrays(exponents, factors)
        exponents = np.where(factors > 0, exponents, -np.inf)
    largest = np.max(exponents, axis=axis, keepdims=True, initial=-np.inf)
    shift = np.where(np.isfinite(largest), largest, 0.0)
    terms = np.exp(exponents - shift)
    if weights is not None:
        terms = terms * factors
    with np.errstate(divide="ignore"):
        total = np.log(np.sum(terms, axis=axis, keepdims=True)) + shift
    return np.asarray(total if keepdims else np.squeeze(total, axis=axis))


def log_normalize(a: ArrayLike, axis: Axis = -1) -> Array:
    """Return ``a`` minus its `log_sum_exp`: log probabilities from log weights.

    Where every weight is zero there is no such distribution and the result is NaN.

    Examples
    --------
    >>> np.exp(log_normalize([-800.0, -10.0, -1600.0]))
    array([0., 1., 0.])
    """
    weights = as_float(a)
    total = log_sum_exp(weights, axis=axis, keepdims=True)
    return weights - np.where(np.isneginf(total), np.nan, total)


def softmax(a: ArrayLike, axis: Axis = -1) -> Array:
    """Return ``exp(a) / sum(exp(a))`` along ``axis``; NaN where every entry is -inf."""
    return np.exp(log_normalize(a, axis))


def sigmoid(z: ArrayLike, sharpness: ArrayLike = 1.0) -> Array:
    """Return the logistic function ``1 / (1 + exp(-sharpness * z))``.

    Its slope is ``sharpness * s * (1 - s)``: a step for large sharpness, a ramp for small.

    Examples
    --------
    >>> sigmoid([-1000.0, 0.0, 1000.0])
    array([0. , 0.5, 1. ])
    """
    return np.asarray(special.expit(as_float(sharpness) * as_float(z)))


def log_sigmoid(z: ArrayLike, sharpness: ArrayLike = 1.0) -> Array:
    """Return ``log(sigmoid(z, sharpness))``, exact in both tails."""
    return np.asarray(special.log_expit(as_float(sharpness) * as_float(z)))


def normal_cdf(x: ArrayLike) -> Array:
    """Return the standard normal distribution function, the probit link.

    Examples
    --------
    >>> float(normal_cdf(1.96).round(9))
    0.975002105
    """
    return np.asarray(special.ndtr(as_float(x)))


def log_normal_cdf(x: ArrayLike) -> Array:
    """Return the log of `normal_cdf`, finite far into the lower tail."""
    return np.asarray(special.log_ndtr(as_float(x)))


def log1m_exp(a: ArrayLike) -> Array:
    """Return ``log(1 - exp(a))`` for ``a <= 0``: the log of a complement.

    Notes
    -----
    ``expm1`` keeps digits when ``exp(a)`` is near one, ``log1p`` when it is near zero; the
    two change places at ``-log 2`` [maechler2012]_.
    """
    exponent = as_float(a)
    near_one = exponent > -np.log(2.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(
            near_one,
            np.log(-np.expm1(np.where(near_one, exponent, -1.0))),
            np.log1p(-np.exp(np.where(near_one, -1.0, exponent))),
        )
