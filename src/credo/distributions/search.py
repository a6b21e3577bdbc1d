"""Roots and peaks of functions of one number, for a whole batch at once."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from credo.numerics.array import Array

__all__ = ["RowFunction", "first_integer", "golden_maximum", "increasing_root"]

# f(x, rows) is the value and the slope at x for those rows of the problem.
RowFunction = Callable[[Array, NDArray[np.intp]], tuple[Array, Array]]

MAX_STEPS = 200
GOLDEN_STEPS = 60
GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)
EPSILON = np.finfo(np.float64).eps


def increasing_root(f: RowFunction, low: Array, high: Array) -> Array:
    """Return where an increasing function crosses zero in its bracket, row by row.

    Newton's step where it lands inside the bracket and the bracket keeps shrinking, the
    midpoint otherwise; rows leave the work as soon as they are done.

    Parameters
    ----------
    f
        ``f(x, rows)`` is the value and the slope at ``x`` for those rows; the value must not
        be positive at ``low`` nor negative at ``high``.
    low, high
        Brackets, shape (n,).

    Examples
    --------
    >>> def cube(x, rows):
    ...     return x**3 - 8.0, 3.0 * x**2
    >>> increasing_root(cube, np.array([0.0]), np.array([10.0]))
    array([2.])
    """
    low, high = low.copy(), high.copy()
    x = 0.5 * (low + high)
    width = np.subtract(high, low, out=np.zeros_like(x), where=low < high)
    # Relative to the point itself, with a floor for roots that happen to lie at zero.
    floor = 1e-4 * EPSILON * np.where(np.isfinite(width), width, 0.0)
    active = np.flatnonzero(low < high)
    for _ in range(MAX_STEPS):
        if not active.size:
            break
        here = x[active]
        value, slope = f(here, active)
        low[active] = np.where(value <= 0, here, low[active])
        high[active] = np.where(value >= 0, here, high[active])
        step = np.divide(value, slope, out=np.full_like(value, np.inf), where=slope > 0)
        x[active] = _next(here, step, low[active], high[active], width[active])
        width[active] = high[active] - low[active]
        moved = np.abs(x[active] - here) > 2.0 * EPSILON * np.abs(here) + floor[active]
        active = active[moved & (width[active] > 0)]
    return x


def first_integer(f: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """Return the smallest integer in each bracket where an increasing ``f`` is not negative.

    Where an end of the bracket is not finite there is nothing to search, and ``high`` returns.

    Examples
    --------
    >>> float(first_integer(lambda x: x - 2.5, np.array(0.0), np.array(9.0)))
    3.0
    """
    finite = np.isfinite(low) & np.isfinite(high)
    below, found = np.where(finite, low - 1.0, -1.0), np.where(finite, high, 0.0)
    while True:
        middle = np.floor(0.5 * (below + found))
        # Beyond 2^53 two numbers may have none between them, though they differ by more.
        apart = (found - below > 1.0) & (below < middle) & (middle < found)
        if not np.any(apart):
            break
        reached = f(middle) >= 0
        below = np.where(apart & ~reached, middle, below)
        found = np.where(apart & reached, middle, found)
    return np.where(finite, found, high)


def golden_maximum(f: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """Return where ``f`` peaks between ``low`` and ``high``, if it has one peak there.

    Examples
    --------
    >>> peak = golden_maximum(lambda x: -((x - 1.0) ** 2), np.array(0.0), np.array(3.0))
    >>> float(peak.round(6))
    1.0
    """
    for _ in range(GOLDEN_STEPS):
        inner = GOLDEN * (high - low)
        left, right = high - inner, low + inner
        rising = f(left) < f(right)
        low, high = np.where(rising, left, low), np.where(rising, high, right)
    return 0.5 * (low + high)


def _next(here: Array, step: Array, low: Array, high: Array, last_width: Array) -> Array:
    """Return Newton's point where it can be trusted, the middle of the bracket elsewhere."""
    newton = here - step
    # A step much smaller than the bracket is Newton converging; it may stay one-sided.
    shrinking = (np.abs(step) < 0.25 * last_width) | (high - low < 0.5 * last_width)
    usable = (newton >= low) & (newton <= high) & shrinking
    return np.where(usable, newton, 0.5 * (low + high))
