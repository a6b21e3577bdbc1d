"""Quasi-Newton methods in a box: L-BFGS-B of SciPy, and BFGS with the whole Hessian."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from credo.numerics.array import Array, as_float
from credo.numerics.linear.linear_algebra import dpotrf, dpotrs
from credo.numerics.optimize.descent import (
    LineSearch,
    Move,
    back_track,
    descend,
    descent_direction,
)
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

__all__ = ["bfgs", "lbfgs"]

Bounds = Sequence[tuple[float | None, float | None]]


def lbfgs(
    function: Function,
    gradient: Gradient | None,
    start: ArrayLike,
    bounds: Bounds | None = None,
    termination: Termination | None = None,
) -> Minimum:
    """Return a local minimum by limited-memory quasi-Newton steps inside a box.

    The method of choice for many smooth parameters. The rule on changes of the parameters
    is not used; the gradient rule looks at the gradient projected on the box.

    Parameters
    ----------
    function, gradient
        Value and gradient (d,) at parameters of shape (d,); see `separate` if one function
        computes both. None for differences, which take two values for every parameter.
    bounds
        Lower and upper bound of each parameter; None where there is none.

    Examples
    --------
    >>> bounds = [(1.0, None), (None, None)]
    >>> corner = lbfgs(lambda x: x @ x, lambda x: 2 * x, [3.0, 3.0], bounds)
    >>> corner.x.round(6)
    array([1., 0.])
    """
    rules = termination or Termination()
    started = rules.begin()
    trace: list[StepInfo] = []
    first = np.atleast_1d(as_float(start))
    slope = gradient or Differences(function, *_box(bounds, len(first)))

    def value(x: Array) -> float:
        return float(function(x))

    def record(intermediate_result: scipy.optimize.OptimizeResult) -> None:
        trace.append(StepInfo(float(intermediate_result.fun), np.nan, np.nan))
        if rules.is_late(started):
            raise StopIteration

    # SciPy loads this submodule on first use, which costs more than many small fits.
    found = scipy.optimize.minimize(
        value,
        first,
        jac=slope,
        method="L-BFGS-B",
        bounds=bounds,
        callback=record,
        options={
            "maxiter": rules.max_steps,
            "maxfun": 50 * (rules.max_steps + 1),
            "ftol": rules.value_change,
            "gtol": rules.gradient_norm,
        },
    )
    return Minimum(
        found.x,
        float(found.fun),
        as_float(found.jac),
        _status(found.status, str(found.message)),
        found.nit,
        tuple(trace),
        n_difference_values=slope.n_values if isinstance(slope, Differences) else 0,
    )


def _status(code: int, message: str) -> Status:
    if "StopIteration" in message:
        return Status.MAX_SECONDS
    if code == 0:
        return Status.GRADIENT_SMALL if "GRADIENT" in message else Status.VALUE_STEADY
    return Status.MAX_STEPS if code == 1 else Status.NO_DESCENT


def bfgs(
    function: Function,
    gradient: Gradient | None,
    start: ArrayLike,
    hessian: ArrayLike | None = None,
    bounds: Bounds | None = None,
    termination: Termination | None = None,
    longest_step: float = np.inf,
) -> Minimum:
    """Return a local minimum by quasi-Newton steps that keep the whole curvature.

    For functions of few parameters that are dear. If the curvature is known, from cheaper
    functions like this one, a few steps will do. The search ends before a step that promises
    no change.

    Parameters
    ----------
    function, gradient
        Value and gradient (d,) at parameters of shape (d,); None for differences, which take
        two more values for every parameter and step.
    hessian
        About the Hessian at the minimum, shape (d, d), which every step improves; None if
        nothing is known of it.
    bounds
        Lower and upper bound of each parameter; None where there is none.
    longest_step
        Largest change of any parameter in one step.

    Examples
    --------
    >>> slopes = np.array([2.0, 200.0])
    >>> bowl = bfgs(lambda x: slopes @ x**2, lambda x: 2 * slopes * x, [3.0, 4.0],
    ...             np.diag([4.0, 390.0]), bounds=[(1.0, None), (None, None)])
    >>> bowl.x.round(6)
    array([1., 0.])
    """
    rules = termination or Termination()
    first = np.atleast_1d(as_float(start))
    low, high = _box(bounds, len(first))
    curve = _Curvature(None if hessian is None else as_float(hessian))

    def inside(x: Array) -> Array:
        # As np.clip, which takes longer than all else of a step of few parameters.
        return np.minimum(np.maximum(x, low), high)

    def advance(point: Point, last: float | None) -> Move | Status:
        curve.learn(point)
        slope = point.gradient
        is_held = ((point.x <= low) & (slope > 0)) | ((point.x >= high) & (slope < 0))
        direction = curve.direction(slope, ~is_held)
        direction *= min(1.0, longest_step / max(largest(direction), 1e-300))
        promise = -0.5 * float(slope @ direction)
        if rules.is_steady(point.value, point.value - promise):
            return Status.VALUE_STEADY
        search = LineSearch(projection=inside, is_fitted=True)
        return back_track(function, point, direction, search, rules)

    slope = gradient or Differences(function, low, high)
    found = descend(function, slope, inside(first), advance, rules, inside)
    return replace(found, hessian=curve.hessian)


def _box(bounds: Bounds | None, n: int) -> tuple[Array, Array]:
    """Return the lower and the upper bounds of n parameters."""
    limits = [(-np.inf, np.inf)] * n if bounds is None else bounds
    low = as_float([-np.inf if limit[0] is None else limit[0] for limit in limits])
    high = as_float([np.inf if limit[1] is None else limit[1] for limit in limits])
    return low, high


class _Curvature:
    """A Hessian that learns from the gradients at successive points."""

    def __init__(self, hessian: Array | None) -> None:
        self.hessian = hessian
        self._last: Point | None = None

    def learn(self, point: Point) -> None:
        """Take in the change of the gradient since the last point."""
        if self._last is not None:
            step, change = point.x - self._last.x, point.gradient - self._last.gradient
            curvature = float(step @ change)
            if curvature > 1e-10 * float(step @ step):
                if self.hessian is None:
                    self.hessian = np.eye(len(step)) * (float(change @ change) / curvature)
                pushed = self.hessian @ step
                self.hessian = (
                    self.hessian
                    + np.outer(change, change) / curvature
                    - np.outer(pushed, pushed) / float(step @ pushed)
                )
        self._last = point

    def direction(self, slope: Array, is_free: NDArray[np.bool_]) -> Array:
        """Return a direction of descent in which only some parameters move."""
        if self.hessian is not None and is_free.all():
            return _quick_direction(slope, self.hessian)
        found = np.zeros_like(slope)
        if self.hessian is None:
            # Without a scale, no parameter changes by more than one.
            found[is_free] = -slope[is_free] / max(largest(slope[is_free]), 1.0)
        elif is_free.any():
            part = self.hessian[is_free][:, is_free]
            found[is_free] = _quick_direction(slope[is_free], part)
        return found


def _quick_direction(slope: Array, hessian: Array) -> Array:
    """Return ``-H^-1 g``, or a direction that descends for sure if that does not."""
    factor, failed = dpotrf(hessian)
    if failed:
        return descent_direction(slope, hessian)
    return np.asarray(-dpotrs(factor, slope)[0])
