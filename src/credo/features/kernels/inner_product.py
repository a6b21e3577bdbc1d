"""Kernels of inner products: linear, polynomial, and arcsine (neural network)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from credo.features.basis import column_spread
from credo.features.kernels.kernel import (
    Evaluated,
    Positive,
    SettingsKernel,
    per_setting,
    single_setting,
)
from credo.numerics.array import Array, as_float
from credo.numerics.example import Example
from credo.numerics.quotation import quote

__all__ = ["ArcSine", "Linear", "Polynomial"]

VARIANCE: tuple[float, float, float] = (0.0, np.inf, 2.0)


@dataclass(frozen=True)
class Linear(SettingsKernel):
    """The linear kernel ``sum_d variance_d x_d z_d``: lines through the origin.

    A Gaussian process with it is Bayesian linear regression with weights of these prior
    variances; ``+ Constant(v)`` adds an intercept.

    Examples
    --------
    >>> Linear(2.0)([[1.0, 2.0]], [[2.0, 0.0]])
    array([[4.]])
    """

    variance: Positive = 1.0

    learned: ClassVar[dict[str, tuple[float, float, float]]] = {"variance": VARIANCE}

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return cls(1.5), cls((0.5, 2.0))

    def natural(self, X: Array, y_variance: float) -> Array:
        """Return variances that make the diagonal the variance of the outcomes."""
        squares = np.mean(X**2, axis=0) if len(X) else np.ones(X.shape[1])
        squares = np.where(squares > 0, squares, 1.0)
        if isinstance(self.variance, tuple):
            return np.log(y_variance / (len(squares) * squares))
        return np.log([y_variance / squares.sum()])

    def evaluated(self, X: Array, Z: Array | None = None) -> Evaluated:
        """Return the matrix and its pull-back."""
        self._require_columns(self.variance, X.shape[1], "variance")
        variance = as_float(self.variance)
        others = X if Z is None else Z

        def pull(W: Array) -> Array:
            by_column = variance * np.einsum("id,id->d", X, W @ others)
            return per_setting(by_column, self.variance)

        return (X * variance) @ others.T, pull

    def evaluated_diagonal(self, X: Array) -> Evaluated:
        """Return squared lengths of the rows, and their pull-back."""
        self._require_columns(self.variance, X.shape[1], "variance")
        squares = X**2 * as_float(self.variance)

        def pull(w: Array) -> Array:
            by_column = w @ squares
            return per_setting(by_column, self.variance)

        return squares.sum(axis=1), pull


@dataclass(frozen=True)
class Polynomial(SettingsKernel):
    """The polynomial kernel ``(constant + x.z)^degree``: all products of up to so many inputs.

    Parameters
    ----------
    degree
        A whole number from 1 on; not learned.
    constant
        What is added to the inner product: the larger, the less the highest products count.

    Examples
    --------
    >>> Polynomial(degree=3, constant=1.0)([[1.0, 2.0]], [[2.0, 0.0]])
    array([[27.]])
    """

    degree: int = 2
    constant: float = 1.0

    learned: ClassVar[dict[str, tuple[float, float, float]]] = {"constant": VARIANCE}

    def __post_init__(self) -> None:
        super().__post_init__()
        single_setting(self, "constant")
        if self.degree != int(self.degree) or self.degree < 1:
            raise ValueError(
                f"degree must be a whole number from 1 on; found {quote(self.degree)}. Pass "
                "an int."
            )
        object.__setattr__(self, "degree", int(self.degree))

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return cls(3, 0.7), cls(1, 2.0)

    def natural(self, X: Array, y_variance: float) -> Array:
        """Return a constant as large as the inner products."""
        level = float(np.mean(X**2, axis=0).sum()) if len(X) else 1.0
        return np.log([level if level > 0 else 1.0])

    def evaluated(self, X: Array, Z: Array | None = None) -> Evaluated:
        """Return the matrix and its pull-back."""
        others = X if Z is None else Z
        return self._power(self.constant + X @ others.T)

    def evaluated_diagonal(self, X: Array) -> Evaluated:
        """Return the diagonal and its pull-back."""
        return self._power(self.constant + np.square(X).sum(axis=1))

    def _power(self, inner: Array) -> Evaluated:
        def pull(W: Array) -> Array:
            slope = self.degree * inner ** (self.degree - 1)
            return np.array([self.constant * np.vdot(W, slope)])

        return inner**self.degree, pull


@dataclass(frozen=True)
class ArcSine(SettingsKernel):
    """The arcsine kernel, of a network with infinitely many hidden units ``erf(u.(1, x))``.

    ``arcsin(2 a / sqrt((1 + 2 b) (1 + 2 c)))`` with ``a``, ``b``, ``c`` the inner products of
    x and z, of x, and of z, of ``(1, x)`` under the prior variances of a unit's weights
    [williams1998]_.

    Parameters
    ----------
    weight_variance
        Prior variance of a hidden unit's weights: one for all columns, or one for each.
    bias_variance
        Prior variance of its bias.
    is_normalized
        Whether to multiply by ``2 / pi``, which makes it the covariance of the network.

    Examples
    --------
    >>> ArcSine()([[1.0, 2.0]], [[2.0, 0.0]]).round(10)
    array([[0.52561514]])
    """

    weight_variance: Positive = 1.0
    bias_variance: float = 1.0
    is_normalized: bool = False

    learned: ClassVar[dict[str, tuple[float, float, float]]] = {
        "weight_variance": VARIANCE,
        "bias_variance": VARIANCE,
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        single_setting(self, "bias_variance")

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        return cls(1.5, 0.5), cls((0.5, 2.0), 1.0, is_normalized=True)

    def natural(self, X: Array, y_variance: float) -> Array:
        """Return variances with which units bend within the spread of the rows."""
        spread = column_spread(X, 1.0)
        if isinstance(self.weight_variance, tuple):
            weights = 1.0 / spread**2
        else:
            weights = np.array([len(spread) / np.sum(spread**2)])
        return np.append(np.log(weights), 0.0)

    def evaluated(self, X: Array, Z: Array | None = None) -> Evaluated:
        """Return the matrix and its pull-back.

        With ``q`` the argument of the arcsine and ``B = 1 + 2 b``, ``C = 1 + 2 c``, the
        derivative of q by a variance v of products ``x z`` is
        ``(2 x z - q (C x^2 + B z^2) / sqrt(B C)) / sqrt(B C)``.
        """
        self._require_columns(self.weight_variance, X.shape[1], "weight_variance")
        others = X if Z is None else Z
        one, two = self._squares(X), self._squares(others)
        root = np.sqrt(np.outer(one, two))
        inner = (X * as_float(self.weight_variance)) @ others.T + self.bias_variance
        ratio = np.clip(2.0 * inner / root, -1.0, 1.0)

        def pull(W: Array) -> Array:
            # Weights W on the arcsine are weights V on the argument. Where that is rounded to
            # one the arcsine is at its end, and no variance moves it.
            slope, below = np.zeros_like(ratio), 1.0 - ratio**2
            np.divide(self._factor, np.sqrt(below), out=slope, where=below > 0)
            V = W * slope
            cross, shrunk = V / root, V * ratio
            by_row = (shrunk @ np.ones(shrunk.shape[1])) / one
            by_column = (np.ones(len(shrunk)) @ shrunk) / two
            weights = (
                2.0 * np.einsum("id,id->d", X, cross @ others)
                - by_row @ X**2
                - by_column @ others**2
            )
            bias = 2.0 * cross.sum() - by_row.sum() - by_column.sum()
            return self._by_logs(weights, bias)

        return self._factor * np.arcsin(ratio), pull

    def evaluated_diagonal(self, X: Array) -> Evaluated:
        """Return the diagonal and its pull-back."""
        self._require_columns(self.weight_variance, X.shape[1], "weight_variance")
        one = self._squares(X)
        ratio = (one - 1.0) / one

        def pull(w: Array) -> Array:
            # The square root of 1 - ratio^2 is that of 2 B - 1, over B.
            slope = self._factor * w * 2.0 / (one * np.sqrt(2.0 * one - 1.0))
            return self._by_logs(slope @ X**2, slope.sum())

        return self._factor * np.arcsin(ratio), pull

    @property
    def _factor(self) -> float:
        return 2.0 / np.pi if self.is_normalized else 1.0

    def _squares(self, X: Array) -> Array:
        inner = np.square(X) @ np.broadcast_to(as_float(self.weight_variance), X.shape[1])
        return np.asarray(1.0 + 2.0 * (inner + self.bias_variance))

    def _by_logs(self, weights: Array, bias: float) -> Array:
        own = as_float(self.weight_variance) * weights
        return np.append(per_setting(own, self.weight_variance), self.bias_variance * bias)
