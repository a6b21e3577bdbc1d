"""Gradient descent, Adam, Newton's method, the loop and line search they share, and roots."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from credo.numerics.array import Array, as_float
from credo.numerics.linear.linear_algebra import symmetrize
from credo.numerics.optimize.difference import Differences
from credo.numerics.optimize.minimum import (
    Function,
    Gradient,
    Minimum,
    Point,
    StepInfo,
    Termination,
    largest,
)
from credo.numerics.status import Status

__all__ = [
    "LineSearch",
    "Move",
    "Root",
    "adam_epochs",
    "back_track",
    "bracketed_root",
    "descend",
    "descent_direction",
    "gradient_descent",
    "newton",
    "newton_root",
]

_METHODS = {"fixed": 0.1, "backtracking": 1.0, "reuse": 1.0, "armijo": 1.0}
_SUFFICIENT = 1e-4
FORGET_MEAN, FORGET_SQUARE, TINY = 0.9, 0.999, 1e-8

Projection = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class Move:
    """New parameters, the value there, and the step length that led to them."""

    x: Array
    value: float
    step: float


def gradient_descent(
    function: Function,
    gradient: Gradient | None,
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
        Value and gradient at parameters of the shape of ``start``; None for differences, which
        take two more values for every parameter and step.
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
    `Status.NO_DESCENT`, or `Status.VALUE_STEADY` if even the first step promised
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

    def advance(point: Point, last: float | None) -> Move | Status:
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
    """First step to try, part of the promised fall to insist on, and where steps may lead.

    A step that is too long is halved; or, if fitted, goes where a parabola has its least.
    """

    first_step: float = 1.0
    sufficient: float = _SUFFICIENT
    projection: Projection = _everywhere
    is_fitted: bool = False


def back_track(
    function: Function, point: Point, direction: Array, search: LineSearch, rules: Termination
) -> Move | Status:
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
        step *= _shorter(value - point.value, rise) if search.is_fitted else 0.5
    steady = rules.is_steady(point.value, point.value - promise)
    return Status.VALUE_STEADY if steady else Status.NO_DESCENT


def _shorter(found: float, promised: float) -> float:
    """Return the part of a step with the least of the parabola through what is known of it."""
    bend = found - promised
    return float(np.clip(-0.5 * promised / bend, 0.1, 0.5)) if 0 < bend < np.inf else 0.1


def descend(
    function: Function,
    gradient: Gradient | None,
    start: Array,
    advance: Callable[[Point, float | None], Move | Status],
    rules: Termination,
    projection: Projection = _everywhere,
) -> Minimum:
    """Return where repeated ``advance(point, last_step)`` ends under the termination rules.

    The gradient that must vanish is ``x - projection(x - gradient)``, which is the gradient
    itself where every parameter is allowed. Without a gradient there are differences.
    """
    started = rules.begin()
    slope = Differences(function) if gradient is None else gradient

    def norm(point: Point) -> float:
        return largest(point.x - projection(point.x - point.gradient))

    point = _first_point(function, slope, start)
    trace: list[StepInfo] = []
    small = norm(point) < rules.gradient_norm
    status = Status.GRADIENT_SMALL if small else None
    while status is None and len(trace) < rules.max_steps:
        move = advance(point, trace[-1].step if trace else None)
        if isinstance(move, Status):
            status = move
        elif not np.isfinite(move.value):
            status = Status.DIVERGED
        else:
            before, point = point, Point(move.x, move.value, as_float(slope(move.x)))
            trace.append(StepInfo(point.value, norm(point), move.step))
            status = rules.status(before, point, trace[-1].gradient_norm, started)
    ended = status or Status.MAX_STEPS
    n_values = slope.n_values if isinstance(slope, Differences) else 0
    return Minimum(
        point.x, point.value, point.gradient, ended, len(trace), tuple(trace), None, n_values
    )


def _first_point(function: Function, gradient: Gradient, start: Array) -> Point:
    value = float(function(start))
    if not np.isfinite(value):
        raise ValueError(
            f"function must be finite at start; found {value}. Start at allowed parameters."
        )
    return Point(start, value, as_float(gradient(start)))


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

    def advance(point: Point, last: float | None) -> Move | Status:
        direction = descent_direction(point.gradient, as_float(hessian(point.x)))
        return back_track(function, point, direction, LineSearch(), rules)

    return descend(function, gradient, np.atleast_1d(as_float(start)), advance, rules)


def descent_direction(gradient: Array, hessian: Array) -> Array:
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
    status: Status
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
    status = Status.ROOT_FOUND if abs(value) <= tolerance else None
    while status is None and len(trace) < max_steps:
        found = _closer(function, x, value, float(derivative(x)))
        if found is None:
            status = Status.NO_DESCENT
            break
        small_step = abs(found[0] - x) <= tolerance * max(1.0, abs(found[0]))
        x, value = found
        trace.append(x)
        if abs(value) <= tolerance:
            status = Status.ROOT_FOUND
        elif small_step:
            status = Status.PARAMETERS_STEADY
    return Root(x, value, status or Status.MAX_STEPS, len(trace), tuple(trace))


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


def adam_epochs(
    gradient: Callable[[Array, NDArray[np.intp]], Array],
    start: ArrayLike,
    n_rows: int,
    rng: Generator,
    batch: int = 256,
    step: float = 3e-3,
) -> Iterator[Array]:
    """Yield parameters after each pass over the rows in batches, by Adam [kingma2015]_.

    Each parameter moves by the mean of recent gradients over the root of the mean of their
    squares, times a step that falls with the root of the number of passes. The sequence does
    not end: `early_stop` says which to take.

    Parameters
    ----------
    gradient
        Of the mean loss of rows, from parameters (d,) and the numbers of the rows.
    n_rows
        Rows that there are.
    batch
        Rows of one step.
    step
        Length of a step of each parameter in the first pass.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=400) + 2.0
    >>> epochs = adam_epochs(lambda w, i: w - x[i].mean(), [0.0], 400, np.random.default_rng(1),
    ...                      batch=40, step=0.1)
    >>> *_, last = (next(epochs) for _ in range(40))
    >>> bool(abs(last[0] - x.mean()) < 0.1)
    True
    """
    w = as_float(start).copy()
    mean, square = np.zeros_like(w), np.zeros_like(w)
    n_steps, n_passes = 0, 0
    while True:
        order = rng.permutation(n_rows)
        n_passes += 1
        length = step / np.sqrt(n_passes)
        for begin in range(0, n_rows, batch):
            slope = gradient(w, order[begin : begin + batch])
            n_steps += 1
            mean = FORGET_MEAN * mean + (1.0 - FORGET_MEAN) * slope
            square = FORGET_SQUARE * square + (1.0 - FORGET_SQUARE) * slope**2
            # Both averages begin at zero, and are divided by the share they have seen.
            first = mean / (1.0 - FORGET_MEAN**n_steps)
            second = square / (1.0 - FORGET_SQUARE**n_steps)
            w = w - length * first / (np.sqrt(second) + TINY)
        yield w
