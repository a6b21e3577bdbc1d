"""The exponential function written so that loops around it use all lanes of a processor.

``exp(x) = 2^n exp(r)`` with n the nearest whole number to ``x / log 2``: adding and taking off
``1.5 * 2^52`` rounds, the low bits of the sum are n, and ``|r| < 0.35`` leaves a short series.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from credo.numerics._loops_compilation import compiled, compiled_part
from credo.numerics.array import Array

__all__ = ["LANES", "all_lanes", "fast_exp", "fast_tanh", "gaussian_profile", "matern_profile"]

# numba tells type checkers about little of itself.
_intrinsic: Callable[[Callable[..., Any]], Callable[..., Any]] = intrinsic

# Sums must keep their order in here: to the compiler, rounding by a large number is nothing.
LANES = {"contract", "nsz", "nnan"}

ROUNDING = 6755399441055744.0
LOG2_HIGH = 0.693147180369123816490
LOG2_LOW = 1.90821492927058770002e-10
SMALLEST = -708.0
LARGEST = 709.0


@_intrinsic
def _bits_of(typing_context: Any, x: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.int64))

    return types.int64(types.float64), generate


@_intrinsic
def _float_of(typing_context: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.float64))

    return types.float64(types.int64), generate


@_intrinsic
def all_lanes(typing_context: Any) -> Any:
    """Let the loop around it use lanes that processors have, but compilers spare.

    Long chains of arithmetic on each number gain by a third; it changes no bit.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        # Names that llvmlite does not know are LLVM's own matter.
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')
        return context.get_dummy_value()

    return types.none(), generate


@compiled_part(fastmath=LANES)
def fast_exp(x: float) -> float:
    """Return ``exp(x)`` to about 3e-16, for x between -708 and 709; beyond, as at the ends."""
    x = min(max(x, SMALLEST), LARGEST)
    rounded = x * 1.4426950408889634 + ROUNDING
    n = rounded - ROUNDING
    r = (x - n * LOG2_HIGH) - n * LOG2_LOW
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    found: float = _float_of(_bits_of(p) + (_bits_of(rounded) << 52))
    return found


@compiled(fastmath=LANES)
def fast_tanh(z: Array) -> None:
    """Replace numbers, flat, by their hyperbolic tangents, to about 4e-16 of each.

    ``tanh|z| = -e / (2 + e)`` with ``e = exp(-2|z|) - 1``, whose series has no one to cancel.
    """
    for i in range(z.size):
        x = max(-2.0 * abs(z[i]), -80.0)
        rounded = x * 1.4426950408889634 + ROUNDING
        n = rounded - ROUNDING
        r = (x - n * LOG2_HIGH) - n * LOG2_LOW
        p = 1.0 / 6227020800.0
        p = p * r + 1.0 / 479001600.0
        p = p * r + 1.0 / 39916800.0
        p = p * r + 1.0 / 3628800.0
        p = p * r + 1.0 / 362880.0
        p = p * r + 1.0 / 40320.0
        p = p * r + 1.0 / 5040.0
        p = p * r + 1.0 / 720.0
        p = p * r + 1.0 / 120.0
        p = p * r + 1.0 / 24.0
        p = p * r + 1.0 / 6.0
        p = p * r + 0.5
        power = _float_of(_bits_of(1.0) + (_bits_of(rounded) << 52))
        e = power * (r + r * r * p) + (power - 1.0)
        z[i] = math.copysign(-e / (2.0 + e), z[i]) if z[i] == z[i] else z[i]


@compiled(fastmath=LANES)
def gaussian_profile(square: Array) -> None:
    """Replace squared distances s, flat, by ``exp(-s / 2)``.

    Lanes are of use only where it is sure that what is read is not written by others: one
    array is, two that may be the same are not.
    """
    for i in range(square.size):
        square[i] = fast_exp(-0.5 * square[i])


@compiled(fastmath=LANES)
def matern_profile(
    square: Array, out: Array, rate: float, a: float, b: float, c: float
) -> None:
    """Set ``out``, another array, to ``(a + b r + c s) exp(-rate r)`` for ``s = r^2``."""
    for i in range(square.size):
        s = square[i]
        r = np.sqrt(s)
        out[i] = (a + b * r + c * s) * fast_exp(-rate * r)
