"""The mean of a logistic function of a normal variable."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from credo.numerics.array import Array, as_float

__all__ = ["log_logistic_normal_mean", "moderation"]

_SPACING = 0.5
_NORMAL_NODES = _SPACING * np.arange(-17, 18)
_LOGISTIC_NODES = _SPACING * np.arange(-160, 161)
_BLOCK = 1 << 14


def log_logistic_normal_mean(mean: ArrayLike, std: ArrayLike) -> Array:
    """Return the log of ``E 1 / (1 + exp(-a))``, ``a ~ N(mean, std^2)``, with all its digits.

    By the trapezoid rule, which on the whole line has an error that falls exponentially with
    the distance of the nearest pole. Up to a standard deviation of one it runs over the
    normal variable; beyond, over the logistic variable ``L`` of ``P(L < a)``, since the
    normal distribution function has no poles. Far down the left tail the identity
    ``E s(a) = exp(mean + std^2 / 2) E s(-a - std^2)`` leaves a mean that is not small. The
    error is that of rounding.

    Examples
    --------
    >>> log_logistic_normal_mean([-700.0, 700.0], 3.0).round(6)
    array([-695.5,   -0. ])
    """
    center, spread = np.broadcast_arrays(as_float(mean), as_float(std))
    parts = [
        _block(center.ravel()[i : i + _BLOCK], spread.ravel()[i : i + _BLOCK])
        for i in range(0, center.size, _BLOCK)
    ]
    return np.concatenate([np.empty(0), *parts]).reshape(center.shape)


def moderation(variance: ArrayLike) -> Array:
    """Return by what a score is multiplied for its variance: ``1 / sqrt(1 + pi v / 8)``.

    With it the mean of a logistic function of a normal variable is close to the logistic
    function of the moderated mean [mackay1992]_.
    """
    return np.asarray(1.0 / np.sqrt(1.0 + np.pi / 8.0 * as_float(variance)))


def _block(center: Array, spread: Array) -> Array:
    """Return the logs for one dimension: of the smaller of the two probabilities, then both."""
    low = -np.abs(center)
    is_far = low < -0.5 * spread**2
    tilted = np.where(is_far, low + 0.5 * spread**2, 0.0)
    inner = np.where(is_far, -low - spread**2, low)
    smaller = np.minimum(tilted + np.log(_mean(inner, spread)), np.log(0.5))
    return np.asarray(np.where(center > 0, np.log1p(-np.exp(smaller)), smaller))


def _mean(center: Array, spread: Array) -> Array:
    answer = np.empty(center.shape)
    is_narrow = spread <= 1.0
    answer[is_narrow] = _over_normal(center[is_narrow, None], spread[is_narrow, None])
    answer[~is_narrow] = _over_logistic(center[~is_narrow, None], spread[~is_narrow, None])
    return answer


def _over_normal(center: Array, spread: Array) -> Array:
    weight = np.exp(-0.5 * _NORMAL_NODES**2)
    values = special.expit(center + spread * _NORMAL_NODES)
    return np.asarray(values @ (weight / weight.sum()))


def _over_logistic(center: Array, spread: Array) -> Array:
    weight = special.expit(_LOGISTIC_NODES) * special.expit(-_LOGISTIC_NODES)
    values = special.ndtr((center - _LOGISTIC_NODES) / spread)
    return np.asarray(values @ (weight / weight.sum()))
