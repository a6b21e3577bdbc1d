"""The mean of a logistic function of a normal variable."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from credo.numerics.array import Array, as_float

__all__ = ["logistic_normal_mean", "moderation"]

_SPACING = 0.5
_NORMAL_NODES = _SPACING * np.arange(-17, 18)
_LOGISTIC_NODES = _SPACING * np.arange(-120, 121)
_BLOCK = 1 << 14


def logistic_normal_mean(mean: ArrayLike, std: ArrayLike) -> Array:
    """Return the expectation of ``1 / (1 + exp(-a))`` for ``a ~ N(mean, std^2)``.

    By the trapezoid rule, which on the whole line has an error that falls exponentially with
    the distance of the nearest pole. Up to a standard deviation of one it runs over the
    normal variable; beyond, over the logistic variable ``L`` of ``P(L < a)``, since the
    normal distribution function has no poles. The error is that of rounding.

    Examples
    --------
    >>> logistic_normal_mean([0.0, 2.0, 2.0], [3.0, 0.0, 3.0]).round(6)
    array([0.5     , 0.880797, 0.717424])
    """
    center, spread = np.broadcast_arrays(as_float(mean), as_float(std))
    answer = np.empty(center.shape)
    is_narrow = spread <= 1.0
    answer[is_narrow] = _in_blocks(_over_normal, center[is_narrow], spread[is_narrow])
    answer[~is_narrow] = _in_blocks(_over_logistic, center[~is_narrow], spread[~is_narrow])
    return answer


def moderation(variance: ArrayLike) -> Array:
    """Return by what a score is multiplied for its variance: ``1 / sqrt(1 + pi v / 8)``.

    With it the mean of a logistic function of a normal variable is close to the logistic
    function of the moderated mean [mackay1992]_.
    """
    return np.asarray(1.0 / np.sqrt(1.0 + np.pi / 8.0 * as_float(variance)))


def _in_blocks(rule: Callable[[Array, Array], Array], center: Array, spread: Array) -> Array:
    parts = [
        rule(center[i : i + _BLOCK, None], spread[i : i + _BLOCK, None])
        for i in range(0, len(center), _BLOCK)
    ]
    return np.concatenate([np.empty(0), *parts])


def _over_normal(center: Array, spread: Array) -> Array:
    weight = np.exp(-0.5 * _NORMAL_NODES**2)
    values = special.expit(center + spread * _NORMAL_NODES)
    return np.asarray(values @ (weight / weight.sum()))


def _over_logistic(center: Array, spread: Array) -> Array:
    weight = special.expit(_LOGISTIC_NODES) * special.expit(-_LOGISTIC_NODES)
    values = special.ndtr((center - _LOGISTIC_NODES) / spread)
    return np.asarray(values @ (weight / weight.sum()))
