"""The array type that every room below ``models`` speaks: float64, of known shape, trusted.

What users pass becomes one here; gaps in one are found, and columns that are constant but for
rounding; rows have distances. Large work arrays take memory that was used before.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Array",
    "as_float",
    "has_missing",
    "in_byte_order",
    "is_constant",
    "is_time",
    "last_digit",
    "merged_rows",
    "rounded",
    "rounding_variance",
    "squared_distances",
    "unmasked",
    "usual_variance",
    "work_array",
]


Array = NDArray[np.float64]


def as_float(values: ArrayLike) -> Array:
    """Return ``values`` as a float64 array, without a copy where that is possible.

    Masked entries are missing, which is NaN. Times are refused: as numbers they would depend on
    the unit they are stored in.

    Examples
    --------
    >>> as_float(np.ma.array([1, 2], mask=[False, True]))
    array([ 1., nan])
    """
    if is_time(values):
        raise ValueError(
            "numbers are needed; found dates or durations. Turn them into numbers of one unit "
            "first, such as days since a date: (dates - first) / np.timedelta64(1, 'D')."
        )
    try:
        return np.asarray(unmasked(values), dtype=np.float64)
    except OverflowError:
        raise ValueError(
            "numbers must be below 1.8e308 in size; found a larger one. Change the unit, or "
            "take logarithms."
        ) from None


def in_byte_order(values: NDArray[Any]) -> NDArray[Any]:
    """Return an array in the byte order of the machine, which hashing wants."""
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def is_time(values: Any) -> bool:
    """Return whether an array or column holds dates or durations."""
    return getattr(getattr(values, "dtype", None), "kind", "") in ("M", "m")


def unmasked(values: Any) -> Any:
    """Return a masked array with its masked entries missing: NaN, or None if it has no floats.

    All else is returned as it is.
    """
    if not isinstance(values, np.ma.MaskedArray):
        return values
    if not np.ma.is_masked(values):
        return values.data
    if values.dtype.kind == "f":
        return values.filled(np.nan)
    known = np.array(values.data, dtype=object)
    known[np.ma.getmaskarray(values)] = None
    return known


def has_missing(x: Array) -> bool:
    """Return whether some entry is NaN."""
    # A sum meets every entry and makes no copy; it is finite only if all entries are.
    with np.errstate(over="ignore", invalid="ignore"):
        return not np.isfinite(x.sum()) and bool(np.isnan(x).any())


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


def last_digit(x: Array) -> Array:
    """Return a unit in the last place of the largest number of each column, or a little more.

    Examples
    --------
    >>> x = np.array([[0.3], [0.1 + 0.2]])
    >>> bool(0 < np.ptp(x) <= last_digit(x)[0])
    True
    """
    return np.asarray(np.finfo(np.float64).eps * np.abs(x).max(axis=0, initial=0.0))


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


KEPT_BYTES = 1 << 26
"""Memory of work arrays that is kept for the next ones."""

SMALLEST_KEPT = 1 << 18
"""Size in bytes below which new memory is as quick."""

_free: dict[int, list[Array]] = {}


def work_array(shape: tuple[int, ...]) -> Array:
    """Return an array of numbers that are not set, in memory that was used before if it can.

    To a system, memory that was given back is new: it is filled with zeros page by page, which
    takes longer than simple sums over it. What large work arrays leave is kept for the next
    ones of the same size, up to `KEPT_BYTES`.

    Examples
    --------
    >>> work_array((2, 3)).shape
    (2, 3)
    """
    size = math.prod(shape)
    if 8 * size < SMALLEST_KEPT:
        return np.empty(shape)
    return np.asarray(_Lease(size)).reshape(shape)


class _Lease:
    """Memory that goes back to be used again when nothing refers to it any more."""

    def __init__(self, size: int) -> None:
        self._memory = np.empty(0)
        try:
            self._memory = _free[size].pop()
        except (KeyError, IndexError):
            self._memory = np.empty(size)

    @property
    def __array_interface__(self) -> Any:
        return self._memory.__array_interface__

    def __del__(self) -> None:
        if not self._memory.size:
            return
        kept = sum(8 * size * len(left) for size, left in list(_free.items()))
        if kept + self._memory.nbytes <= KEPT_BYTES:
            _free.setdefault(self._memory.size, []).append(self._memory)
        elif not _free.get(self._memory.size):
            # Sizes of the past make room for those of now.
            _free.clear()


def rounding_variance(y: Array) -> float:
    """Return the variance of rounding where outcomes are few numbers, such as whole ones.

    Noise cannot be less than what rounding took away: ``step^2 / 12`` for the smallest step
    between different outcomes. Zero where most outcomes differ.

    Examples
    --------
    >>> round(rounding_variance(np.array([3.0, 4.0, 4.0, 3.0, 6.0, 3.0])), 4)
    0.0833
    """
    distinct = np.unique(y)
    if not 2 <= len(distinct) <= len(y) // 2:
        return 0.0
    return float(np.diff(distinct).min() ** 2 / 12.0)


def rounded(x: ArrayLike, digits: int, axis: int | None = None) -> Array:
    """Return numbers rounded to some digits of the largest, along an axis or of all.

    What differs by rounding errors alone, such as sums in another order, becomes the same, so
    that what is very sensitive, such as a chain of draws, does not tell them apart.

    Examples
    --------
    >>> bool(rounded(0.1 + 0.2, 10) == rounded(0.3, 10))
    True
    """
    values = as_float(x)
    largest = np.abs(values).max(axis=axis, keepdims=axis is not None, initial=0.0)
    _, power = np.frexp(np.where(largest > 0, largest, 1.0))
    return np.asarray(np.ldexp(np.round(np.ldexp(values, -power), digits), power))


def merged_rows(rows: Array, weight: Array, digits: int = 10) -> tuple[Array, Array]:
    """Return each distinct row once, in an order of their own, and the weights of all alike.

    Numbers are rounded to some digits of the largest of their column, so that the order of
    rows, copies in place of weights, and the units of columns leave the answer as it is.

    Examples
    --------
    >>> merged_rows(np.array([[2.0], [1.0], [2.0]]), np.ones(3))
    (array([[1.],
           [2.]]), array([1., 2.]))
    """
    once, place = np.unique(rounded(rows, digits, axis=0), axis=0, return_inverse=True)
    return once, rounded(np.bincount(place.ravel(), weight), digits)


def squared_distances(X: Array, Y: Array) -> Array:
    """Return ``|x_i - y_j|^2``, shape (n_x, n_y), never negative.

    Notes
    -----
    ``|x|^2 + |y|^2 - 2 x.y`` is one matrix product, of ``(-2 x, |x|^2, 1)`` and
    ``(y, 1, |y|^2)``, but cancels when both rows lie far from the
    origin, so the mean of ``Y`` becomes the origin first.

    Examples
    --------
    >>> squared_distances(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 1.0]]))
    array([[25.,  1.]])
    """
    if len(Y) == 0:
        return np.empty((len(X), 0))
    d = Y.shape[1]
    origin = Y.sum(axis=0) / len(Y)
    left, right = np.empty((len(X), d + 2)), np.empty((len(Y), d + 2))
    # Far outside, a square may overflow to infinity: that is the right answer there.
    with np.errstate(over="ignore", invalid="ignore"):
        np.subtract(Y, origin, out=right[:, :d])
        right[:, d], right[:, d + 1] = 1.0, np.square(right[:, :d]).sum(axis=1)
        np.subtract(X, origin, out=left[:, :d])
        left[:, d], left[:, d + 1] = np.square(left[:, :d]).sum(axis=1), 1.0
        left[:, :d] *= -2.0
        squares = np.matmul(left, right.T, out=work_array((len(X), len(Y))))
    return np.maximum(squares, 0.0, out=squares)
