"""The array type that every room below ``models`` speaks: float64, of known shape, trusted."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Array", "as_float"]

Array = NDArray[np.float64]


def as_float(values: ArrayLike) -> Array:
    """Return ``values`` as a float64 array, without a copy where that is possible."""
    return np.asarray(values, dtype=np.float64)
