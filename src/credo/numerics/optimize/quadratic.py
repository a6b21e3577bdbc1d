"""Quadratic functions of a vector, and Taylor expansion."""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial

import numpy as np
from numpy.typing import ArrayLike

from credo.numerics.array import Array, as_float
from credo.numerics.linear.linear_algebra import symmetrize

__all__ = ["QuadraticForm", "taylor"]


@dataclass(frozen=True, eq=False)
class QuadraticForm:
    """The function ``f(x) = x'A x + b'x + c``, with ``A`` symmetrized.

    Only the symmetric part of ``A`` matters: the two entries that multiply ``x_i x_j`` count
    together, whichever way the product was split between them.

    Parameters
    ----------
    A, b, c
        Shapes (d, d), (d,) and (); scalars make a parabola of one variable.

    Examples
    --------
    >>> bowl = QuadraticForm([[2.0, 1.0], [0.0, 3.0]], [1.0, -2.0], 0.5)
    >>> bowl.kind(), bowl.stationary_point().round(6)
    ('minimum', array([-0.347826,  0.391304]))
    """

    A: Array
    b: Array
    c: float = 0.0

    def __init__(self, A: ArrayLike, b: ArrayLike, c: float = 0.0) -> None:
        matrix, vector = np.atleast_2d(as_float(A)), np.atleast_1d(as_float(b))
        if matrix.shape != (len(vector), len(vector)):
            raise ValueError(
                f"A must be square and match b; found shapes {matrix.shape} and "
                f"{vector.shape}. Pass A of shape (d, d) and b of shape (d,)."
            )
        object.__setattr__(self, "A", symmetrize(matrix))
        object.__setattr__(self, "b", vector)
        object.__setattr__(self, "c", float(c))

    @classmethod
    def least_squares(cls, X: ArrayLike, y: ArrayLike) -> QuadraticForm:
        """Return ``|y - X w|^2 = w'(X'X) w - 2 y'X w + y'y`` as a function of w."""
        X, y = as_float(X), as_float(y)
        return cls(X.T @ X, -2.0 * X.T @ y, float(y @ y))

    @classmethod
    def expansion(
        cls, center: ArrayLike, value: float, gradient: ArrayLike, hessian: ArrayLike
    ) -> QuadraticForm:
        """Return the second-order Taylor expansion around ``center`` as a form in ``x``."""
        x, g = np.atleast_1d(as_float(center)), np.atleast_1d(as_float(gradient))
        H = symmetrize(np.atleast_2d(as_float(hessian)))
        return cls(0.5 * H, g - H @ x, float(value - g @ x + 0.5 * x @ H @ x))

    def __call__(self, x: ArrayLike) -> Array:
        """Return the value at each vector along the last axis of ``x``."""
        x = self._vectors(x)
        return np.asarray(((x @ self.A + self.b) * x).sum(axis=-1) + self.c)

    def gradient(self, x: ArrayLike) -> Array:
        """Return ``2 A x + b`` at each vector along the last axis of ``x``."""
        return np.asarray(2.0 * self._vectors(x) @ self.A + self.b)

    def stationary_point(self) -> Array:
        """Return ``-A^-1 b / 2``, where the gradient is zero; the shortest one if many are."""
        point = as_float(np.linalg.lstsq(2.0 * self.A, -self.b)[0])
        size = np.abs(self.b).max() + np.abs(self.A).max() * np.abs(point).max()
        if np.abs(self.gradient(point)).max() > 1e-8 * size:
            raise ValueError(
                "A must be invertible on b for a stationary point; found a direction without "
                "curvature along which the form falls forever. Add curvature to A."
            )
        return point

    def stationary_value(self) -> float:
        """Return ``d`` of the completed square ``(x - m)'A (x - m) + d``."""
        return float(self.c + 0.5 * self.b @ self.stationary_point())

    def kind(self) -> str:
        """Return "minimum", "maximum", "saddle" or, if some direction is flat, "degenerate"."""
        values = np.linalg.eigvalsh(self.A)
        flat = len(values) * np.finfo(np.float64).eps * np.abs(values).max()
        if (np.abs(values) <= flat).any():
            return "degenerate"
        if (values > 0).all():
            return "minimum"
        return "maximum" if (values < 0).all() else "saddle"

    def _vectors(self, x: ArrayLike) -> Array:
        x = as_float(x)
        return x[..., None] if x.ndim == 0 else x


def taylor(x: ArrayLike, center: ArrayLike, *derivatives: ArrayLike) -> Array:
    """Return the Taylor expansion around ``center`` at ``x``.

    One variable: ``sum_j f^(j)(center) (x - center)^j / j!``, to any order. Several: ``f +
    (x - c)'g + (x - c)'H (x - c) / 2``, to second order, for vectors along the last axis.

    Parameters
    ----------
    derivatives
        Value, first derivative, second derivative, ... at the center: numbers, or number,
        vector (d,) and matrix (d, d).

    Examples
    --------
    >>> float(taylor(0.1, 0.0, 1.0, 1.0, 1.0, 1.0).round(6))
    1.105167
    """
    gap = as_float(x) - as_float(center)
    terms = [as_float(derivative) for derivative in derivatives]
    if np.ndim(center) == 0:
        return np.asarray(sum(f * gap**j / factorial(j) for j, f in enumerate(terms)))
    if len(terms) > 3:
        raise ValueError(
            f"derivatives of several variables go to second order; found {len(terms) - 1}. "
            "Pass value, gradient and Hessian."
        )
    total = terms[0] + gap @ terms[1] if len(terms) > 1 else terms[0]
    if len(terms) == 3:
        total = total + 0.5 * ((gap @ terms[2]) * gap).sum(axis=-1)
    return np.asarray(total)
