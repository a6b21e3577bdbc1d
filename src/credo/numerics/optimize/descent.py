"""Gradient descent, and the loop and line search that it shares with other methods."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from credo.numerics.array import Array, as_float
from credo.numerics.optimize.minimum import (
    Function,
    Gradient,
    Minimum,
    MinimumStatus,
    Point,
    StepInfo,
    Termination,
    largest,
)

__all__ = ["Move", "back_track", "descend", "gradient_descent"]

_METHODS = {"fixed": 0.1, "backtracking": 1.0, "reuse": 1.0, "armijo": 1.0}
_SUFFICIENT = 1e-4

Projection = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class Move:
    """New parameters, the value there, and the step length that led to them."""

    x: Array
    value: float
    step: float


def gradient_descent(
    function: Function,
    gradient: Gradient,
    start: ArrayLike,
    method: str = "backtracking",
    step: float | None = None,
    termination: Termination | None = None,
    projection: Projection | None = None,
) -> Minimum:
    """Return a local minimum found by steps ``x - step * gradient(x)``.

    Parameters
    ----------
    function, gradient
        Value and gradient at parameters of the shape of ``start``.
    method
        ``"fixed"``: the same step every time; it may rise or diverge. ``"backtracking"``: halve
        the step, from ``step``, until the value falls. ``"reuse"``: the same, from twice the
        last step. ``"armijo"``: as ``"reuse"``, until the value falls by a sure part of what
        the slope promises.
    step
        Fixed or first step; 0.1 for ``"fixed"``, else 1.
    projection
        Map to the nearest allowed parameters, applied to every trial step.

    Notes
    -----
    Halving ends when a step no longer moves the parameters: the status is then
    `MinimumStatus.NO_DESCENT`, or `MinimumStatus.VALUE_STEADY` if even the first step promised
    no change.

    Examples
    --------
    >>> bowl = gradient_descent(lambda x: x @ x, lambda x: 2 * x, [3.0, 4.0])
    >>> bowl.x, bowl.status.name
    (array([0., 0.]), 'GRADIENT_SMALL')
    """
    if method not in _METHODS:
        raise ValueError(
            f"method must be one of {tuple(_METHODS)}; found {method!r}. Name one of them."
        )
    rules = termination or Termination()
    first = _METHODS[method] if step is None else step
    allowed = projection or _everywhere

    def advance(point: Point, last: float | None) -> Move | MinimumStatus:
        if method == "fixed":
            x = allowed(point.x - first * point.gradient)
            return Move(x, float(function(x)), first)
        reuse = method != "backtracking" and last is not None
        trial = 2 * last if reuse and last is not None else first
        search = LineSearch(trial, _SUFFICIENT if method == "armijo" else 0.0, allowed)
        return back_track(function, point, -point.gradient, search, rules)

    return descend(function, gradient, allowed(as_float(start)), advance, rules, allowed)


def _everywhere(x: Array) -> Array:
    return x


@dataclass(frozen=True)
class LineSearch:
    """First step to try, part of the promised fall to insist on, and where steps may lead."""

    first_step: float = 1.0
    sufficient: float = _SUFFICIENT
    projection: Projection = _everywhere


def back_track(
    function: Function, point: Point, direction: Array, search: LineSearch, rules: Termination
) -> Move | MinimumStatus:
    """Return the first of step, step/2, step/4, ... that lowers the value enough.

    The value must fall below ``value + sufficient * gradient . (x_new - x)``. A stationary
    point, a wrong gradient or a rounding floor has no such step; halving ends there because
    the step no longer reaches the last digit of the parameters.
    """
    step = search.first_step
    smallest = np.finfo(np.float64).eps * max(1.0, largest(point.x))
    promise = -float(np.vdot(point.gradient, direction)) * step
    while smallest < step * largest(direction) < np.inf:
        x = search.projection(point.x + step * direction)
        value = float(function(x))
        rise = float(np.vdot(point.gradient, x - point.x))
        if value < point.value + search.sufficient * rise:
            return Move(x, value, step)
        step /= 2
    steady = rules.is_steady(point.value, point.value - promise)
    return MinimumStatus.VALUE_STEADY if steady else MinimumStatus.NO_DESCENT


def descend(
    function: Function,
    gradient: Gradient,
    start: Array,
    advance: Callable[[Point, float | None], Move | MinimumStatus],
    rules: Termination,
    projection: Projection = _everywhere,
) -> Minimum:
    """Return where repeated ``advance(point, last_step)`` ends under the termination rules.

    The gradient that must vanish is ``x - projection(x - gradient)``, which is the gradient
    itself where every parameter is allowed.
    """

    def norm(point: Point) -> float:
        return largest(point.x - projection(point.x - point.gradient))

    point = _first_point(function, gradient, start)
    trace: list[StepInfo] = []
    small = norm(point) < rules.gradient_norm
    status = MinimumStatus.GRADIENT_SMALL if small else None
    while status is None and len(trace) < rules.max_steps:
        move = advance(point, trace[-1].step if trace else None)
        if isinstance(move, MinimumStatus):
            status = move
        elif not np.isfinite(move.value):
            status = MinimumStatus.DIVERGED
        else:
            before, point = point, Point(move.x, move.value, as_float(gradient(move.x)))
            trace.append(StepInfo(point.value, norm(point), move.step))
            status = rules.status(before, point, trace[-1].gradient_norm)
    ended = status or MinimumStatus.MAX_STEPS
    return Minimum(point.x, point.value, point.gradient, ended, len(trace), tuple(trace))


def _first_point(function: Function, gradient: Gradient, start: Array) -> Point:
    value = float(function(start))
    if not np.isfinite(value):
        raise ValueError(
            f"function must be finite at start; found {value}. Start at allowed parameters."
        )
    return Point(start, value, as_float(gradient(start)))
