"""Newton's method for minima and for roots."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from credo.numerics.array import Array, as_float
from credo.numerics.linear.linear_algebra import symmetrize
from credo.numerics.optimize.descent import LineSearch, Move, back_track, descend
from credo.numerics.optimize.minimum import (
    Function,
    Gradient,
    Minimum,
    MinimumStatus,
    Point,
    Termination,
)

__all__ = ["Root", "bracketed_root", "newton", "newton_root"]

_SMALLEST_CURVATURE = 1e-14
_NO_CURVATURE = 1e-150


def newton(
    function: Function,
    gradient: Gradient,
    hessian: Callable[[Array], Array],
    start: ArrayLike,
    termination: Termination | None = None,
) -> Minimum:
    """Return a local minimum found by steps ``x - H^-1 gradient``, made safe.

    Where the Hessian ``H`` is not positive definite its eigenvalues are replaced by their
    absolute values (never below a small part of the largest), so that the direction always
    descends; a full step that does not lower the value enough is halved.

    Parameters
    ----------
    function, gradient, hessian
        Value, gradient (d,) and Hessian (d, d) at parameters of shape (d,).

    Examples
    --------
    >>> quartic = newton(
    ...     lambda x: x[0] ** 4 - 8 * x[0] ** 2,
    ...     lambda x: 4 * x**3 - 16 * x,
    ...     lambda x: np.diag(12 * x**2 - 16),
    ...     [0.1],
    ... )
    >>> quartic.x.round(8)
    array([2.])
    """
    rules = termination or Termination()

    def advance(point: Point, last: float | None) -> Move | MinimumStatus:
        direction = _descent_direction(point.gradient, as_float(hessian(point.x)))
        return back_track(function, point, direction, LineSearch(), rules)

    return descend(function, gradient, np.atleast_1d(as_float(start)), advance, rules)


def _descent_direction(gradient: Array, hessian: Array) -> Array:
    """Return ``-|H|^-1 g``, which is ``-H^-1 g`` where H is positive definite."""
    values, vectors = np.linalg.eigh(symmetrize(hessian))
    sizes = np.abs(values)
    floor = _SMALLEST_CURVATURE * sizes.max() if sizes.max() > _NO_CURVATURE else 1.0
    return np.asarray(-vectors @ ((vectors.T @ gradient) / np.maximum(sizes, floor)))


@dataclass(frozen=True)
class Root:
    """Where a function is zero: ``x``, the value there, why the search ended, all iterates."""

    x: float
    value: float
    status: MinimumStatus
    n_steps: int
    trace: tuple[float, ...]


def newton_root(
    function: Callable[[float], float],
    derivative: Callable[[float], float],
    start: float,
    tolerance: float = 1e-12,
    max_steps: int = 100,
) -> Root:
    """Return a root of a function of one variable by ``x - f(x) / f'(x)``.

    A step that does not bring ``|f|`` down is halved. The search ends when ``|f|``, or the step
    relative to ``max(1, |x|)``, is below ``tolerance``.

    Examples
    --------
    >>> root = newton_root(lambda x: x * x - 2, lambda x: 2 * x, start=1.0)
    >>> [round(x, 6) for x in root.trace]
    [1.5, 1.416667, 1.414216, 1.414214, 1.414214]
    """
    x, value = float(start), float(function(start))
    trace: list[float] = []
    status = MinimumStatus.ROOT_FOUND if abs(value) <= tolerance else None
    while status is None and len(trace) < max_steps:
        found = _closer(function, x, value, float(derivative(x)))
        if found is None:
            status = MinimumStatus.NO_DESCENT
            break
        small_step = abs(found[0] - x) <= tolerance * max(1.0, abs(found[0]))
        x, value = found
        trace.append(x)
        if abs(value) <= tolerance:
            status = MinimumStatus.ROOT_FOUND
        elif small_step:
            status = MinimumStatus.PARAMETERS_STEADY
    return Root(x, value, status or MinimumStatus.MAX_STEPS, len(trace), tuple(trace))


def bracketed_root(
    function: Callable[[float], float],
    derivative: Callable[[float], float],
    low: float,
    high: float,
    tolerance: float = 1e-12,
    max_steps: int = 200,
) -> float:
    """Return the root of a decreasing function between two points of unlike sign.

    Newton's steps from the middle; one that leaves what is left of the interval, or is more
    than half as long as the one before, is replaced by halving the interval.

    Examples
    --------
    >>> round(bracketed_root(lambda x: 2 - x * x, lambda x: -2 * x, 0.0, 9.0), 6)
    1.414214
    """
    x, step = 0.5 * (low + high), high - low
    for _ in range(max_steps):
        value, slope = function(x), derivative(x)
        low, high = (x, high) if value > 0 else (low, x)
        newton = x - value / slope if slope < 0 else np.inf
        is_good = low <= newton <= high and abs(newton - x) <= 0.5 * abs(step)
        following = newton if is_good else 0.5 * (low + high)
        step, x = following - x, following
        if abs(step) <= tolerance * max(1.0, abs(x)):
            break
    return float(x)


def _closer(
    function: Callable[[float], float], x: float, value: float, slope: float
) -> tuple[float, float] | None:
    """Return a damped Newton step and the value there, or None if none comes closer."""
    step = -value / slope if slope else np.inf
    while np.finfo(np.float64).eps * max(1.0, abs(x)) < abs(step) < np.inf:
        there = float(function(x + step))
        if abs(there) < abs(value):
            return x + step, there
        step /= 2
    return None
