"""A kernel of one's own: any function of two matrices of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from credo.features.kernels.kernel import (
    Evaluated,
    Kernel,
    KernelParameter,
    check_mercer,
)
from credo.numerics.array import Array, as_float
from credo.numerics.quotation import quote

__all__ = ["FunctionKernel"]


@dataclass(frozen=True)
class FunctionKernel(Kernel):
    """A function of two matrices of rows as a kernel, with parameters by name if it has some.

    The pull-back is by central differences, so that each parameter costs two more matrices.

    Parameters
    ----------
    function
        From X (n, d), Z (m, d) and a keyword for each parameter to a matrix (n, m).
    settings
        Positive parameters by name, learned on the log scale.

    Examples
    --------
    >>> def cauchy(X, Z, width):
    ...     return 1.0 / (1.0 + (X - Z.T) ** 2 / width**2)
    >>> kernel = FunctionKernel(cauchy, {"width": 2.0})
    >>> kernel([[0.0]], [[2.0]])
    array([[0.5]])
    """

    function: Callable[..., ArrayLike]
    settings: Mapping[str, float] = field(default_factory=dict)

    STEP: ClassVar[float] = 1e-5

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(
                "function must be a function of two matrices of rows; found "
                f"{quote(self.function)}. Pass one, such as lambda X, Z: X @ Z.T."
            )
        wrong = {
            name: value
            for name, value in self.settings.items()
            if not (np.ndim(value) == 0 and 0 < float(value) < np.inf)
        }
        if wrong:
            raise ValueError(
                f"settings must be positive numbers by name; found {quote(wrong)}. Learn the "
                "log of a number that may be negative in the function itself."
            )
        plain = {name: float(value) for name, value in self.settings.items()}
        object.__setattr__(self, "settings", MappingProxyType(plain))

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws."""
        return (cls(_cauchy, {"width": 1.4}),)

    @property
    def parameters(self) -> tuple[KernelParameter, ...]:
        """The settings, by name."""
        return tuple(KernelParameter(name, value) for name, value in self.settings.items())

    def at(self, log_parameters: ArrayLike) -> FunctionKernel:
        """Return this kernel with other values of its settings."""
        values = np.exp(as_float(log_parameters)).tolist()
        return FunctionKernel(self.function, dict(zip(self.settings, values, strict=True)))

    def natural(self, X: Array, y_variance: float) -> Array:
        """Return the values as they were given: nothing is known of their units."""
        return self.log_parameters

    def evaluated(self, X: Array, Z: Array | None = None) -> Evaluated:
        """Return the matrix, and a pull-back by central differences."""
        others = X if Z is None else Z
        return self._values(X, others), lambda W: self._differences(
            lambda kernel: np.vdot(W, kernel._values(X, others))
        )

    def evaluated_diagonal(self, X: Array) -> Evaluated:
        """Return the diagonal row by row, and a pull-back by central differences."""
        return self._diagonal(X), lambda w: self._differences(
            lambda kernel: np.vdot(w, kernel._diagonal(X))
        )

    def check_inputs(self, X: Array) -> None:
        """Raise if the function is not positive semidefinite on some of the rows."""
        distinct = np.unique(X, axis=0)
        step = max(1, len(distinct) // 200)
        check_mercer(self, distinct[::step])

    def __repr__(self) -> str:
        settings = "".join(f", {name}={value:.4g}" for name, value in self.settings.items())
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return f"FunctionKernel({name}{settings})"

    def _values(self, X: Array, Z: Array) -> Array:
        matrix = as_float(self.function(X, Z, **self.settings))
        if matrix.shape != (len(X), len(Z)) or not np.isfinite(matrix).all():
            what = "numbers that are not finite" if matrix.size else "nothing"
            found = f"shape {matrix.shape}" if matrix.shape != (len(X), len(Z)) else what
            raise ValueError(
                "the function of a kernel must return a finite number for each pair of rows, "
                f"shape {(len(X), len(Z))}; found {found}. Check it on a few rows."
            )
        return matrix

    def _diagonal(self, X: Array) -> Array:
        rows = [self._values(row[None], row[None])[0, 0] for row in X]
        return np.array(rows, dtype=np.float64)

    def _differences(self, value: Callable[[FunctionKernel], Any]) -> Array:
        logs = self.log_parameters
        steps = self.STEP * np.eye(len(logs))
        ends = [(value(self.at(logs + h)), value(self.at(logs - h))) for h in steps]
        return np.array([(up - down) / (2 * self.STEP) for up, down in ends])


def _cauchy(X: Array, Z: Array, width: float) -> Array:
    """Return the product over columns of ``1 / (1 + (x - z)^2 / width^2)``, a valid kernel."""
    gaps = X[:, None] - Z
    return np.asarray(np.prod(1.0 / (1.0 + gaps**2 / width**2), axis=2))
