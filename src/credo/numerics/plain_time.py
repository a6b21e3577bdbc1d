"""Time that may go into plain runs of work that a compiled loop would do faster.

The first call of a compiled loop waits for numba to load, and perhaps to compile. A process
with little to do is done sooner without; one with much soon spends its time, and then waits.
"""

from __future__ import annotations

__all__ = ["PlainTime"]


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
