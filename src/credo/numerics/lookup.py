"""Places of values among distinct names."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ABSENT", "places"]

ABSENT = -1
"""Place of a value that is none of the names."""


def places(values: NDArray[Any], names: NDArray[Any]) -> NDArray[np.intp]:
    """Return the place of each value among distinct names in any order, `ABSENT` if none.

    Examples
    --------
    >>> places(np.array(["b", "z", "a"]), np.array(["b", "a"]))
    array([ 0, -1,  1])
    """
    order = np.argsort(names)
    place = np.searchsorted(names, values, sorter=order)
    candidate = order[np.minimum(place, len(order) - 1)]
    return np.where(names[candidate] == values, candidate, ABSENT)
