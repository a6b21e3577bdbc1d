"""Coordinate descent: minimize over one block of parameters at a time."""

from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike

from credo.numerics.array import Array, as_float
from credo.numerics.optimize.minimum import (
    Function,
    Minimum,
    Point,
    StepInfo,
    Termination,
)
from credo.numerics.status import Status

__all__ = ["coordinate_descent"]

_ROUNDING = 1e-12


def coordinate_descent(
    function: Function,
    blocks: Sequence[Callable[[Array], Array]],
    start: ArrayLike,
    termination: Termination | None = None,
) -> Minimum:
    """Return where sweeps of exact minimizations over blocks of parameters settle.

    Parameters
    ----------
    blocks
        Each maps all parameters to all parameters, with its own block set to the minimizer
        given the others. One step is a sweep over all blocks.

    Notes
    -----
    The value can only fall; a sweep that raises it beyond rounding is not accepted, and the
    search ends with `Status.NO_DESCENT`: then a block is not a minimizer.

    Examples
    --------
    >>> found = coordinate_descent(
    ...     lambda x: (x[0] - 1) ** 2 + (x[0] - x[1]) ** 2,
    ...     [
    ...         lambda x: np.array([(1 + x[1]) / 2, x[1]]),
    ...         lambda x: np.array([x[0], x[0]]),
    ...     ],
    ...     [5.0, -3.0],
    ... )
    >>> found.x.round(5)
    array([1., 1.])
    """
    rules = termination or Termination()
    started = rules.begin()
    x = as_float(start)
    no_gradient = np.full_like(x, np.nan)
    point = Point(x, float(function(x)), no_gradient)
    trace: list[StepInfo] = []
    status = None
    while status is None and len(trace) < rules.max_steps:
        x = as_float(reduce(lambda current, block: block(current), blocks, point.x.copy()))
        value = float(function(x))
        if not value <= point.value + _ROUNDING * max(1.0, abs(point.value)):
            status = Status.NO_DESCENT
            break
        before, point = point, Point(x, value, no_gradient)
        trace.append(StepInfo(value, np.nan, np.nan))
        status = rules.status(before, point, np.inf, started)
    ended = status or Status.MAX_STEPS
    return Minimum(point.x, point.value, no_gradient, ended, len(trace), tuple(trace))
