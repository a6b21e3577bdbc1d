"""Losses for descent: squared residuals, and the logistic loss by reweighted least squares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from credo.numerics.array import Array, as_float
from credo.numerics.optimize.descent import newton
from credo.numerics.optimize.minimum import Minimum, Termination
from credo.numerics.special.log_domain import sigmoid

__all__ = ["SumOfSquares", "iteratively_reweighted_least_squares", "sum_of_squares"]


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
