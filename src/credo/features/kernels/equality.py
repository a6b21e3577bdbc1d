"""Kernels of whether inputs are equal: white noise, constant, and categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from credo.features.kernels.kernel import (
    Evaluated,
    Positive,
    SettingsKernel,
    per_setting,
    single_setting,
)
from credo.numerics.array import Array, as_float
from credo.numerics.example import Example

__all__ = ["CategoricalKernel", "Constant", "White"]


@dataclass(frozen=True)
class White(SettingsKernel):
    """White noise: ``variance`` for a row with itself, and nothing between two rows.

    Rows differ by where they stand and not by their numbers: ``kernel(X)`` is
    ``variance`` times the identity also if rows repeat, and ``kernel(X, Z)`` is zero, since
    other rows have noise of their own.

    Examples
    --------
    >>> White(0.5)([[1.0], [1.0]])
    array([[0.5, 0. ],
           [0. , 0.5]])
    """

    variance: float = 1.0

    learned: ClassVar[dict[str, tuple[float, float, float]]] = {
        "variance": (0.0, np.inf, 2.0),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        single_setting(self, "variance")

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return (cls(0.3),)

    def natural(self, X: Array, y_variance: float) -> Array:
        """Return a tenth of the variance of the outcomes."""
        return np.log([0.1 * y_variance])

    def evaluated(self, X: Array, Z: Array | None = None) -> Evaluated:
        """Return a multiple of the identity, or zeros, and the pull-back."""
        if Z is not None:
            return np.zeros((len(X), len(Z))), lambda W: np.zeros(1)
        level = self.variance
        return level * np.eye(len(X)), lambda W: np.array([level * np.trace(W)])

    def evaluated_diagonal(self, X: Array) -> Evaluated:
        """Return the variance of every row, and the pull-back."""
        level = self.variance
        return np.full(len(X), level), lambda w: np.array([level * w.sum()])


@dataclass(frozen=True)
class Constant(SettingsKernel):
    """A constant: ``variance`` between any two rows. Functions are levels.

    Examples
    --------
    >>> Constant(2.0)([[1.0], [5.0]])
    array([[2., 2.],
           [2., 2.]])
    """

    variance: float = 1.0

    learned: ClassVar[dict[str, tuple[float, float, float]]] = {
        "variance": (0.0, np.inf, 2.0),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        single_setting(self, "variance")

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return (cls(1.3),)

    def natural(self, X: Array, y_variance: float) -> Array:
        """Return the variance of the outcomes."""
        return np.log([y_variance])

    def evaluated(self, X: Array, Z: Array | None = None) -> Evaluated:
        """Return a full matrix and its pull-back."""
        level = self.variance
        shape = (len(X), len(X if Z is None else Z))
        return np.full(shape, level), lambda W: np.array([level * W.sum()])

    def evaluated_diagonal(self, X: Array) -> Evaluated:
        """Return the variance of every row, and the pull-back."""
        level = self.variance
        return np.full(len(X), level), lambda w: np.array([level * w.sum()])


@dataclass(frozen=True)
class CategoricalKernel(SettingsKernel):
    """Categories coded by whole numbers: ``exp(-sum_d [x_d != z_d] / length_scale_d)``.

    Equal categories have covariance 1, two different ones ``exp(-1 / length_scale)``.

    Examples
    --------
    >>> CategoricalKernel(1.0)([[0.0], [3.0]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    length_scale: Positive = 1.0

    learned: ClassVar[dict[str, tuple[float, float, float]]] = {
        "length_scale": (1e-3, 1e3, 1.0),
    }

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return examples for the laws, and for saving."""
        one, two = cls(0.8), cls((0.5, 2.0))
        return Example(one, n_categories=4), Example(two, n_categories=3)

    def natural(self, X: Array, y_variance: float) -> Array:
        """Return ones: categories have no unit."""
        return np.zeros(len(self.parameters))

    def evaluated(self, X: Array, Z: Array | None = None) -> Evaluated:
        """Return the matrix and its pull-back."""
        self._require_columns(self.length_scale, X.shape[1], "length_scale")
        others = X if Z is None else Z
        rates = 1.0 / np.broadcast_to(as_float(self.length_scale), X.shape[1])
        differs = [X[:, k, None] != others[:, k] for k in range(X.shape[1])]
        matrix = np.exp(-sum(rate * d for rate, d in zip(rates, differs, strict=True)))

        def pull(W: Array) -> Array:
            V = W * matrix
            by_column = rates * np.array([V[d].sum() for d in differs])
            return per_setting(by_column, self.length_scale)

        return matrix, pull

    def evaluated_diagonal(self, X: Array) -> Evaluated:
        """Return ones, which no parameter changes."""
        n_parameters = len(self.parameters)
        return np.ones(len(X)), lambda W: np.zeros(n_parameters)

    def check_inputs(self, X: Array) -> None:
        """Raise if inputs are not whole numbers, or differ in almost every row."""
        is_odd = (X % 1.0 != 0).any(axis=0)
        many = np.array([len(np.unique(column)) for column in X.T]) > max(10, len(X) // 2)
        if is_odd.any() or many.any():
            column = int(np.flatnonzero(is_odd | many)[0])
            found = "numbers with fractions" if is_odd[column] else "almost as many as rows"
            raise ValueError(
                "CategoricalKernel must have categories coded by whole numbers in its columns; "
                f"found {found} in column {column}. Choose the columns that hold categories by "
                "kernel.on([...]), and another kernel for numbers."
            )
