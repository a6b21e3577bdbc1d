"""Quadratic functions of a vector, Taylor expansion, and least squares, also reweighted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import factorial

import numpy as np
from numpy.typing import ArrayLike

from credo.numerics.array import Array, as_float
from credo.numerics.linear.linear_algebra import symmetrize
from credo.numerics.optimize.descent import newton
from credo.numerics.optimize.minimum import Minimum, Termination
from credo.numerics.special.log_domain import sigmoid

__all__ = [
    "QuadraticForm",
    "SumOfSquares",
    "iteratively_reweighted_least_squares",
    "sum_of_squares",
    "taylor",
]


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


@dataclass(frozen=True, eq=False)
class SumOfSquares:
    """The loss ``sum_i (observed_i - expected_i(x))^2`` of a model, for any descent.

    Parameters
    ----------
    observed
        Targets, shape (n,).
    expected
        Model values (n,) at parameters (d,).
    jacobian
        Derivatives of the model values, shape (n, d).
    """

    observed: Array
    expected: Callable[[Array], Array]
    jacobian: Callable[[Array], Array]

    def value(self, x: Array) -> float:
        """Return the sum of squared residuals."""
        residual = self.observed - self.expected(x)
        return float(residual @ residual)

    def gradient(self, x: Array) -> Array:
        """Return ``-2 J'(observed - expected)``."""
        return np.asarray(-2.0 * self.jacobian(x).T @ (self.observed - self.expected(x)))


def sum_of_squares(X: ArrayLike, y: ArrayLike) -> SumOfSquares:
    """Return the loss ``|y - X w|^2`` of a linear model as a function of ``w``.

    Its gradient is ``2 (X'X w - X'y)``.

    Examples
    --------
    >>> loss = sum_of_squares([[1.0, 0.0], [1.0, 1.0]], [1.0, 3.0])
    >>> loss.value(np.zeros(2)), loss.gradient(np.zeros(2))
    (10.0, array([-8., -6.]))
    """
    design = as_float(X)
    return SumOfSquares(as_float(y), lambda w: np.asarray(design @ w), lambda w: design)


def iteratively_reweighted_least_squares(
    X: ArrayLike,
    y: ArrayLike,
    precision: ArrayLike = 0.0,
    start: ArrayLike | None = None,
    termination: Termination | None = None,
) -> Minimum:
    """Return the logistic regression weights of largest posterior density, by Newton steps.

    The loss is ``sum_i [log(1 + exp(e_i)) - y_i e_i] + w' diag(precision) w / 2``, ``e = X w``.
    With ``z = sigmoid(e)`` and ``Z = diag(z (1 - z))`` a step solves the weighted least squares
    system ``(X'Z X + diag(precision)) dw = X'(y - z) - precision w``; it is halved where it
    would raise the loss.

    Parameters
    ----------
    X, y
        Inputs (n, d), with a column of ones if an intercept is wanted; labels 0 or 1, (n,).
    precision
        Prior precision of all or of each weight; zero is maximum likelihood, which has no
        finite answer when the classes can be separated.

    Examples
    --------
    >>> x = np.array([-2.0, -1.0, 0.0, 1.0, 2.0, 3.0])
    >>> X = np.column_stack([np.ones(6), x])
    >>> iteratively_reweighted_least_squares(X, [0, 0, 1, 0, 1, 1]).x.round(6)
    array([-0.607014,  1.214028])
    """
    design, labels = as_float(X), as_float(y)
    penalty = np.broadcast_to(as_float(precision), design.shape[1])

    def loss(w: Array) -> float:
        scores = design @ w
        fit = np.logaddexp(0.0, scores).sum() - labels @ scores
        return float(fit + 0.5 * (penalty * w) @ w)

    def gradient(w: Array) -> Array:
        return np.asarray(design.T @ (sigmoid(design @ w) - labels) + penalty * w)

    def hessian(w: Array) -> Array:
        z = sigmoid(design @ w)
        return np.asarray(design.T @ ((z * (1 - z))[:, None] * design) + np.diag(penalty))

    begin = np.zeros(design.shape[1]) if start is None else start
    return newton(loss, gradient, hessian, begin, termination)
