"""The array type that every room below ``models`` speaks: float64, of known shape, trusted."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Array", "as_float", "in_byte_order", "is_time", "unmasked"]

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
