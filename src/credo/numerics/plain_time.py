"""Time that may go into plain runs of work that a compiled loop would do faster.

The first call of a compiled loop waits for numba to load, and perhaps to compile. A process
with little to do is done sooner without; one with much soon spends its time, and then waits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from credo.numerics.array import Array

__all__ = ["PlainTime", "by_element"]


class PlainTime:
    """Seconds that are left for plain runs.

    Examples
    --------
    >>> time = PlainTime(seconds=1.0)
    >>> time.allows(0.6), time.allows(0.6), time.allows(0.1)
    (True, False, False)
    """

    def __init__(self, seconds: float) -> None:
        self.left = seconds

    def allows(self, cost: float) -> bool:
        """Return whether a run takes no more than is left, and take it off."""
        self.left -= cost
        return self.left > 0.0


def by_element(function: Callable[[float], float], values: Array) -> Array:
    """Return a function of the C library at each value, as compiled loops call it.

    NumPy's own may round otherwise.
    """
    found = [function(value) for value in values.ravel().tolist()]
    return np.array(found, dtype=np.float64).reshape(values.shape)
