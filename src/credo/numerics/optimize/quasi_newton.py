"""L-BFGS-B of SciPy, behind the same result as credo's own methods."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy
from numpy.typing import ArrayLike

from credo.numerics.array import Array, as_float
from credo.numerics.optimize.minimum import (
    Function,
    Gradient,
    Minimum,
    StepInfo,
    Termination,
)
from credo.numerics.status import Status

__all__ = ["lbfgs"]

Bounds = Sequence[tuple[float | None, float | None]]


def lbfgs(
    function: Function,
    gradient: Gradient,
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
        computes both.
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
    trace: list[StepInfo] = []

    def value(x: Array) -> float:
        return float(function(x))

    def record(intermediate_result: scipy.optimize.OptimizeResult) -> None:
        trace.append(StepInfo(float(intermediate_result.fun), np.nan, np.nan))

    # SciPy loads this submodule on first use, which costs more than many small fits.
    found = scipy.optimize.minimize(
        value,
        np.atleast_1d(as_float(start)),
        jac=gradient,
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
    slope: Array = as_float(found.jac)
    status = _status(found.status, str(found.message))
    return Minimum(found.x, float(found.fun), slope, status, found.nit, tuple(trace))


def _status(code: int, message: str) -> Status:
    if code == 0:
        return Status.GRADIENT_SMALL if "GRADIENT" in message else Status.VALUE_STEADY
    return Status.MAX_STEPS if code == 1 else Status.NO_DESCENT
