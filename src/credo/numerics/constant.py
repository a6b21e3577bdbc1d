"""Columns that are constant but for the rounding of their moments."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from credo.numerics.array import Array

__all__ = ["is_constant", "usual_variance"]

# A blocked mean of 65,536 equal values is off by up to a thousand units in the last place.
RESOLUTION = 1e-12


def is_constant(mean: Array, spread: Array) -> NDArray[np.bool_]:
    """Return where a standard deviation is no more than the rounding error about its mean.

    Examples
    --------
    >>> is_constant(np.array([0.1, 0.0, 1e-10]), np.array([3e-16, 0.0, 1e-15]))
    array([ True,  True, False])
    """
    return np.asarray(spread <= RESOLUTION * np.abs(mean))


def usual_variance(mean: Array, variance: Array) -> Array:
    """Return variances; where nothing varies the square of the mean, or one if that is zero.

    Examples
    --------
    >>> usual_variance(np.array([5.0, 3.0, 0.0]), np.array([2.0, 1e-31, 0.0]))
    array([2., 9., 1.])
    """
    scale = np.where(mean == 0, 1.0, np.abs(mean))
    is_flat = is_constant(mean, np.sqrt(np.maximum(variance, 0.0)))
    return np.where(is_flat, scale**2, variance)
