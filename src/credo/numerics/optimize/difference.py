"""Gradients by finite differences: to check those written by hand, or in their place."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from credo.numerics.array import Array, as_float
from credo.numerics.optimize.minimum import Function, Gradient

__all__ = [
    "Differences",
    "GradientReport",
    "check_gradient",
    "finite_difference_gradient",
    "separate",
]

_STEPS = {"forward": 2.0**-26, "central": 2.0**-17}


def finite_difference_gradient(
    function: Function, x: ArrayLike, method: str = "central", step: float | None = None
) -> Array:
    """Return the gradient at ``x`` from function values, coordinate by coordinate.

    ``"forward"``: ``(f(x + h) - f(x)) / h``, error of order h. ``"central"``:
    ``(f(x + h) - f(x - h)) / (2 h)``, error of order h squared.

    Parameters
    ----------
    step
        ``h`` in units of ``max(1, |x_i|)``. By default where the error of the formula meets
        that of rounding: about 1e-8 forward, 1e-5 central.

    Examples
    --------
    >>> finite_difference_gradient(lambda x: x[0] ** 2 + 3 * x[1], [2.0, 5.0]).round(6)
    array([4., 3.])
    """
    if method not in _STEPS:
        raise ValueError(
            f"method must be one of {tuple(_STEPS)}; found {method!r}. Name one of them."
        )
    x = as_float(x)
    gradient = np.empty_like(x)
    sizes = (_STEPS[method] if step is None else step) * np.maximum(1.0, np.abs(x))
    here = float(function(x)) if method == "forward" else np.nan
    for i in np.ndindex(x.shape):
        ahead = x.copy()
        ahead[i] += sizes[i]
        if method == "forward":
            gradient[i] = (float(function(ahead)) - here) / sizes[i]
        else:
            behind = x.copy()
            behind[i] -= sizes[i]
            gradient[i] = (float(function(ahead)) - float(function(behind))) / (2 * sizes[i])
    return gradient


class Differences:
    """Central differences in place of a gradient, which count the values that they take.

    Each gradient takes two values of the function for every parameter. Where a bound is closer
    than a difference is wide, it is cut short there.
    """

    def __init__(
        self, function: Function, low: ArrayLike = -np.inf, high: ArrayLike = np.inf
    ) -> None:
        self._function = function
        self._low, self._high = as_float(low), as_float(high)
        self.n_values = 0

    def __call__(self, x: Array) -> Array:
        """Return about the gradient at parameters ``x``."""
        size = _STEPS["central"] * np.maximum(1.0, np.abs(x))
        ahead, behind = np.minimum(x + size, self._high), np.maximum(x - size, self._low)
        gradient = np.zeros_like(x)
        for i in np.ndindex(x.shape):
            if ahead[i] > behind[i]:
                rise = self._at(x, i, float(ahead[i])) - self._at(x, i, float(behind[i]))
                gradient[i] = rise / (ahead[i] - behind[i])
        return gradient

    def _at(self, x: Array, place: tuple[int, ...], entry: float) -> float:
        there = x.copy()
        there[place] = entry
        self.n_values += 1
        return float(self._function(there))


@dataclass(frozen=True, eq=False)
class GradientReport:
    """The largest relative error of a gradient, where it is, and both gradients there.

    Errors are relative to the larger of the two entries, but to no less than a thousandth
    of the largest entry, or what rounding of the function allows to see.
    """

    error: float
    index: tuple[int, ...]
    given: float
    expected: float


def check_gradient(
    function: Function, gradient: Gradient, x: ArrayLike, tolerance: float = 1e-5
) -> GradientReport:
    """Compare a gradient with central differences at ``x``; raise if they disagree.

    Examples
    --------
    >>> check_gradient(lambda x: x @ x, lambda x: 2 * x, [1.0, 2.0]).error < 1e-8
    True
    >>> check_gradient(lambda x: x @ x, lambda x: x, [1.0, 2.0])
    Traceback (most recent call last):
    ValueError: gradient must match finite differences; found 1 for 2 at index (0,) ...
    """
    x = as_float(x)
    given, expected = as_float(gradient(x)), finite_difference_gradient(function, x)
    if given.shape != x.shape:
        raise ValueError(
            f"gradient must have the shape of x, {x.shape}; found {given.shape}. Reshape it."
        )
    floor = max(1e-3 * np.abs(expected).max(), 1e-4 * abs(float(function(x))), 1e-10)
    sizes = np.maximum(np.maximum(np.abs(given), np.abs(expected)), floor)
    errors = np.nan_to_num(np.abs(given - expected) / sizes, nan=np.inf)
    index = tuple(int(i) for i in np.unravel_index(errors.argmax(), x.shape))
    report = GradientReport(
        float(errors[index]), index, float(given[index]), float(expected[index])
    )
    if report.error > tolerance:
        raise ValueError(
            f"gradient must match finite differences; found {report.given:.6g} for "
            f"{report.expected:.6g} at index {index} (relative error {report.error:.1e}). "
            "Look at that derivative."
        )
    return report


def separate(
    value_and_gradient: Callable[[Array], tuple[float, Array]],
) -> tuple[Function, Gradient]:
    """Return a function and its gradient that share one evaluation at the same point.

    Examples
    --------
    >>> function, gradient = separate(lambda x: (float(x @ x), 2 * x))
    >>> x = np.array([1.0, 2.0])
    >>> function(x), gradient(x)
    (5.0, array([2., 4.]))
    """
    last: list[tuple[Array, float, Array]] = []

    def evaluate(x: Array) -> tuple[Array, float, Array]:
        if not last or not np.array_equal(last[0][0], x):
            last[:] = [(np.array(x), *value_and_gradient(x))]
        return last[0]

    return lambda x: evaluate(x)[1], lambda x: evaluate(x)[2]
