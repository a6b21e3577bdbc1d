"""Checks that turn what a user passes into the float64 parameters of a distribution."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.numerics.array import Array, as_float
from credo.numerics.linear.linear_algebra import symmetrize

__all__ = [
    "count",
    "level",
    "non_negative",
    "positive",
    "probability",
    "real",
    "require",
    "simplex",
    "square",
]

SUM_TOLERANCE = 1e-8
SYMMETRY_TOLERANCE = 1e-8

Predicate = Callable[[Array], NDArray[np.bool_]]


def real(name: str, values: ArrayLike) -> Array:
    """Return finite numbers."""
    return require(name, values, np.isfinite, "finite", "Drop or fill missing values first.")


def positive(
    name: str, values: ArrayLike, advice: str = "Pass it on its natural scale."
) -> Array:
    """Return finite numbers above zero."""
    return require(name, values, lambda v: (v > 0) & (v < np.inf), "positive", advice)


def non_negative(name: str, values: ArrayLike, advice: str) -> Array:
    """Return finite numbers not below zero."""
    return require(name, values, lambda v: (v >= 0) & (v < np.inf), "non-negative", advice)


def probability(name: str, values: ArrayLike) -> Array:
    """Return numbers in [0, 1]."""
    advice = "Pass probabilities, not percentages, odds or logits."
    return require(name, values, lambda v: (v >= 0) & (v <= 1), "in [0, 1]", advice)


def level(values: ArrayLike) -> Array:
    """Return the levels of quantiles, NaN where they are not in [0, 1]."""
    array = as_float(values)
    return np.where((array >= 0) & (array <= 1), array, np.nan)


def count(name: str, values: ArrayLike) -> Array:
    """Return whole numbers not below zero."""
    advice = "Pass a count."
    return require(
        name, values, lambda v: (v >= 0) & (v == np.floor(v)), "a non-negative integer", advice
    )


def simplex(name: str, values: ArrayLike) -> Array:
    """Return non-negative vectors along the last axis whose sum is one to the last digit."""
    array = np.atleast_1d(non_negative(name, values, "Probabilities cannot be negative."))
    total = array.sum(axis=-1, keepdims=True)
    require(
        name,
        total[..., 0],
        lambda t: np.abs(t - 1) <= SUM_TOLERANCE,
        "a vector that sums to 1 along its last axis",
        "Divide by the sum first.",
    )
    return np.asarray(array / total)


def square(name: str, values: ArrayLike) -> Array:
    """Return symmetric matrices in the last two axes; a number is a 1 x 1 matrix."""
    array = np.atleast_2d(real(name, values))
    if array.shape[-1] != array.shape[-2]:
        raise ValueError(
            f"{name} must be square in its last two axes; found shape {array.shape}. "
            "Pass one matrix of shape (d, d), or a stack of them."
        )
    gap = np.abs(array - array.swapaxes(-1, -2)).max(initial=0.0)
    if gap > SYMMETRY_TOLERANCE * np.abs(array).max(initial=0.0):
        raise ValueError(
            f"{name} must be symmetric; found entries that differ by {gap:.3g} from their "
            "mirror image. Pass (A + A.T) / 2 if the difference is rounding."
        )
    return symmetrize(array)


def require(
    name: str, values: ArrayLike, holds: Predicate, requirement: str, advice: str
) -> Array:
    """Return ``values`` as floats, or say where the first one breaks the requirement."""
    array = as_float(values)
    good = holds(array)
    if good.all():
        return array
    index = tuple(int(i) for i in np.argwhere(~good)[0])
    place = f" at index {index[0] if len(index) == 1 else index}" if index else ""
    found = np.broadcast_to(array, good.shape)[index]
    raise ValueError(f"{name} must be {requirement}; found {found:g}{place}. {advice}")
