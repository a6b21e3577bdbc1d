"""Stationary kernels: functions of the distance of two inputs, each column in its own unit.

With ``s = sum_d ((x_d - z_d) / l_d)^2`` and ``r = sqrt(s)``, the length scales ``l_d`` being
one for all columns or one for each (automatic relevance determination), a kernel is its
profile ``k(s)`` with ``k(0) = 1``. All share one pull-back, ``dk / d log l_d = -2 k'(s)
((x_d - z_d) / l_d)^2``, so that the gradient by all length scales is one matrix product.
"""

from __future__ import annotations

import importlib
from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np

from credo.features.basis import column_spread
from credo.features.kernels.kernel import (
    Evaluated,
    KernelParameter,
    Positive,
    SettingsKernel,
    column_squares,
    per_setting,
    single_setting,
)
from credo.numerics.array import Array, as_float, squared_distances, work_array
from credo.numerics.example import Example
from credo.numerics.parallel.threads import in_parts
from credo.numerics.quotation import quote

__all__ = [
    "ExponentialKernel",
    "GammaExponentialKernel",
    "Matern32",
    "Matern52",
    "Periodic",
    "RationalQuadratic",
    "SquaredExponential",
    "StationaryKernel",
]

FEW_COLUMNS = 3
"""Columns up to which differences are quicker than a matrix product, and exact."""

NUMBERS = 4
"""Entries of a loop that take as long as one of others that threads are weighed by."""

PULLED = 1 << 17
"""Entries of a matrix that are pulled back at a time: they stay in the cache."""

LENGTH: tuple[float, float, float] = (0.0, np.inf, 1.5)
"""Limits of a length scale, and the spread of its log in the prior."""


@dataclass(frozen=True)
class StationaryKernel(SettingsKernel):
    """A profile of the scaled squared distance.

    Parameters
    ----------
    length_scale
        Distance over which the function changes, in the units of X: one for all columns, or
        one for each.
    """

    length_scale: Positive = 1.0

    learned: ClassVar[dict[str, tuple[float, float, float]]] = {"length_scale": LENGTH}

    @abstractmethod
    def profile(self, square: Array) -> Array:
        """Return the kernel at scaled squared distances, in place if slopes need none."""

    @abstractmethod
    def slope(self, square: Array, matrix: Array) -> Array:
        """Return ``-2 dk / ds`` at squared distances, of which ``matrix`` are the kernels.

        In an array of its own, which may be written over, or as ``matrix`` itself.
        """

    def shape_slopes(self, square: Array, matrix: Array) -> list[Array]:
        """Return the derivative by the log of every other parameter, in order."""
        return []

    def natural(self, X: Array, y_variance: float) -> Array:
        """Return scales at which rows are about one scale apart, and natural shapes."""
        spread = column_spread(X, 1.0)
        d = len(spread)
        is_own = isinstance(self.length_scale, tuple)
        scales = spread * np.sqrt(d) if is_own else [float(np.sqrt(np.sum(spread**2)))]
        return np.concatenate([np.log(scales), self.natural_shapes()])

    def natural_shapes(self) -> list[float]:
        """Return logs of natural values of the parameters other than length scales."""
        return []

    def evaluated(self, X: Array, Z: Array | None = None) -> Evaluated:
        """Return the matrix and its pull-back."""
        self._require_columns(self.length_scale, X.shape[1], "length_scale")
        scale = as_float(self.length_scale)
        rows, others = X / scale, None if Z is None else Z / scale
        square = _squares(rows, others)
        matrix = self.profile(square)
        between = rows if others is None else others

        def pull(W: Array) -> Array:
            n_blocks = -(-matrix.size // PULLED) or 1
            size = -(-len(rows) // n_blocks) or 1
            total = np.zeros(rows.shape[1] + len(self.natural_shapes()))
            for first in range(0, len(rows), size):
                own = slice(first, first + size)
                total += self._pulled(W[own], square[own], matrix[own], rows[own], between)
            if isinstance(self.length_scale, tuple):
                return total
            d = rows.shape[1]
            return np.concatenate([per_setting(total[:d], self.length_scale), total[d:]])

        return matrix, pull

    def _pulled(
        self, W: Array, square: Array, matrix: Array, rows: Array, others: Array
    ) -> Array:
        """Return the gradient by the log of a scale for each column, then by shapes."""
        slope = self.slope(square, matrix)
        # A slope of its own is not needed again, and its memory serves for the product.
        weighted = np.multiply(W, slope, out=None if slope is matrix else slope)
        by_column = column_squares(rows, weighted, others)
        shapes = [np.vdot(W, part) for part in self.shape_slopes(square, matrix)]
        return np.concatenate([by_column, shapes]) if shapes else by_column

    def evaluated_diagonal(self, X: Array) -> Evaluated:
        """Return ones, which no parameter changes."""
        self._require_columns(self.length_scale, X.shape[1], "length_scale")
        n_parameters = len(self.parameters)
        return np.ones(len(X)), lambda W: np.zeros(n_parameters)


@dataclass(frozen=True)
class SquaredExponential(StationaryKernel):
    """The squared exponential (Gaussian, RBF) kernel ``exp(-s / 2)``: very smooth functions.

    Other ways to write it: ``exp(-gamma |x - z|^2)`` has ``length_scale = 1 / sqrt(2 gamma)``,
    ``exp(-|x - z|^2 / l^2)`` has ``length_scale = l / sqrt(2)``.

    Examples
    --------
    >>> SquaredExponential(1.5)([[1.0, 2.0]], [[2.0, 0.0]]).round(10)
    array([[0.32919299]])
    """

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return cls(0.8), cls((0.5, 2.0))

    def profile(self, square: Array) -> Array:
        """Return ``exp(-s / 2)``, in place."""
        flat, loops = square.reshape(-1), _loops()
        in_parts(
            lambda i, j: loops.gaussian_profile(flat[i:j]), flat.size, flat.size // NUMBERS
        )
        return square

    def slope(self, square: Array, matrix: Array) -> Array:
        """Return ``exp(-s / 2)``."""
        return matrix


@dataclass(frozen=True)
class ExponentialKernel(StationaryKernel):
    """The exponential kernel ``exp(-r)``: continuous functions without a slope.

    In one dimension the process of Ornstein and Uhlenbeck; Matern's kernel of order 1/2.

    Examples
    --------
    >>> ExponentialKernel(1.5)([[1.0, 2.0]], [[2.0, 0.0]]).round(10)
    array([[0.22521225]])
    """

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return cls(0.8), cls((0.5, 2.0))

    def profile(self, square: Array) -> Array:
        """Return ``exp(-r)``."""
        return _matern(square, 1.0, 1.0, 0.0, 0.0)

    def slope(self, square: Array, matrix: Array) -> Array:
        """Return ``exp(-r) / r``, and 0 at distance zero, where it is multiplied by zero."""
        distance = np.sqrt(square)
        return np.divide(matrix, distance, out=np.zeros_like(matrix), where=distance > 0)


@dataclass(frozen=True)
class Matern32(StationaryKernel):
    """Matern's kernel of order 3/2, ``(1 + q) exp(-q)`` with ``q = sqrt(3) r``.

    Functions with a slope that is continuous.

    Examples
    --------
    >>> Matern32(1.0)([[0.0]], [[1.0]]).round(6)
    array([[0.483358]])
    """

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return cls(0.8), cls((0.5, 2.0))

    def profile(self, square: Array) -> Array:
        """Return ``(1 + q) exp(-q)``."""
        return _matern(square, 3.0**0.5, 1.0, 3.0**0.5, 0.0)

    def slope(self, square: Array, matrix: Array) -> Array:
        """Return ``3 exp(-q)``."""
        return _matern(square, 3.0**0.5, 3.0, 0.0, 0.0)


@dataclass(frozen=True)
class Matern52(StationaryKernel):
    """Matern's kernel of order 5/2, ``(1 + q + q^2 / 3) exp(-q)`` with ``q = sqrt(5) r``.

    Functions with two continuous derivatives.

    Examples
    --------
    >>> Matern52(1.0)([[0.0]], [[1.0]]).round(6)
    array([[0.523994]])
    """

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return cls(0.8), cls((0.5, 2.0))

    def profile(self, square: Array) -> Array:
        """Return ``(1 + q + q^2 / 3) exp(-q)``."""
        return _matern(square, 5.0**0.5, 1.0, 5.0**0.5, 5.0 / 3.0)

    def slope(self, square: Array, matrix: Array) -> Array:
        """Return ``5 / 3 (1 + q) exp(-q)``."""
        return _matern(square, 5.0**0.5, 5.0 / 3.0, 5.0**1.5 / 3.0, 0.0)


@dataclass(frozen=True)
class GammaExponentialKernel(StationaryKernel):
    """The gamma-exponential kernel ``exp(-r^power)``, valid for powers up to 2.

    Between the exponential kernel (power 1) and the squared exponential of length scale
    ``l / sqrt(2)`` (power 2).

    Examples
    --------
    >>> GammaExponentialKernel(1.5, power=1.3)([[1.0, 2.0]], [[2.0, 0.0]]).round(10)
    array([[0.18630002]])
    """

    power: float = 1.0

    learned: ClassVar[dict[str, tuple[float, float, float]]] = {
        "length_scale": LENGTH,
        "power": (0.05, 2.0, 0.5),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        power: Any = self.power
        # The log of 2 and back is not quite 2.
        if isinstance(power, tuple) or power > 2.0 * (1 + 1e-12):
            raise ValueError(
                f"power must be one number, above 0 and at most 2; found {quote(power)}. With "
                "a higher power the matrix has negative eigenvalues: choose 2 or less."
            )
        object.__setattr__(self, "power", min(power, 2.0))

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return cls(0.8, 1.3), cls((0.5, 2.0), 0.7)

    def profile(self, square: Array) -> Array:
        """Return ``exp(-r^power)``."""
        return np.exp(-(square ** (0.5 * self.power)))

    def slope(self, square: Array, matrix: Array) -> Array:
        """Return ``power r^(power - 2) k``, and 0 at distance zero."""
        is_apart = square > 0
        bent = np.power(
            square, 0.5 * self.power - 1.0, out=np.zeros_like(square), where=is_apart
        )
        return np.asarray(self.power * bent * matrix)

    def shape_slopes(self, square: Array, matrix: Array) -> list[Array]:
        """Return ``-power r^power log(r) k``."""
        logs = np.log(square, out=np.zeros_like(square), where=square > 0)
        return [-0.5 * self.power * square ** (0.5 * self.power) * logs * matrix]

    def natural_shapes(self) -> list[float]:
        """Return the log of 1.5."""
        return [float(np.log(1.5))]


@dataclass(frozen=True)
class RationalQuadratic(StationaryKernel):
    """The rational quadratic kernel ``(1 + s / (2 shape))^-shape``: many length scales at once.

    A mixture of squared exponentials, to which it tends as the shape grows.

    Examples
    --------
    >>> RationalQuadratic(1.5, shape=2.0)([[1.0, 2.0]], [[2.0, 0.0]]).round(10)
    array([[0.41326531]])
    """

    shape: float = 1.0

    learned: ClassVar[dict[str, tuple[float, float, float]]] = {
        "length_scale": LENGTH,
        "shape": (1e-3, 1e5, 1.0),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        single_setting(self, "shape")

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return cls(0.8, 2.0), cls((0.5, 2.0), 0.7)

    def profile(self, square: Array) -> Array:
        """Return ``(1 + s / (2 shape))^-shape``."""
        return np.exp(-self.shape * np.log1p(square / (2.0 * self.shape)))

    def slope(self, square: Array, matrix: Array) -> Array:
        """Return ``k / (1 + s / (2 shape))``."""
        return np.asarray(matrix / (1.0 + square / (2.0 * self.shape)))

    def shape_slopes(self, square: Array, matrix: Array) -> list[Array]:
        """Return ``shape k (u / (1 + u) - log(1 + u))`` with ``u = s / (2 shape)``."""
        u = square / (2.0 * self.shape)
        return [self.shape * matrix * (u / (1.0 + u) - np.log1p(u))]

    def natural_shapes(self) -> list[float]:
        """Return the log of 1."""
        return [0.0]


@dataclass(frozen=True)
class Periodic(SettingsKernel):
    """The periodic kernel ``exp(-2 sin^2(pi d / period) / length_scale^2)``.

    Parameters
    ----------
    length_scale
        How smooth the function is within a period; no unit.
    period
        After how much of X the function repeats. One number: of the distance ``d`` of two
        inputs, which makes a valid kernel of one column only. One number for each column:
        the product over the columns, valid for any number of them.

    Examples
    --------
    >>> Periodic(1.5, period=3.0)([[1.0, 2.0]], [[2.0, 0.0]]).round(10)
    array([[0.63292008]])
    >>> Periodic(1.0, period=7.0)([[1.0]], [[15.0]])
    array([[1.]])
    """

    length_scale: float = 1.0
    period: Positive = 1.0

    learned: ClassVar[dict[str, tuple[float, float, float]]] = {
        "length_scale": (0.0, np.inf, 1.0),
        "period": (0.0, np.inf, 1.0),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        single_setting(self, "length_scale")

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        return Example(cls(0.8, 1.7), n_columns=1), cls(1.2, (0.9, 2.3))

    @property
    def parameters(self) -> tuple[KernelParameter, ...]:
        """The length scale, then the periods with their columns."""
        smooth, *periods = super().parameters
        return (smooth, *(replace(p, period_column=k) for k, p in enumerate(periods)))

    def natural(self, X: Array, y_variance: float) -> Array:
        """Return a length scale of one, and periods that the rows hold a few of.

        In the middle, on the log scale, between that of two rows and that of all.
        """
        given = np.atleast_1d(as_float(self.period))
        widths = np.ptp(X[:, : len(given)], axis=0)
        middle = widths * np.sqrt(2.0 / len(X))
        return np.concatenate([[0.0], np.log(np.where(widths > 0, middle, given))])

    def evaluated(self, X: Array, Z: Array | None = None) -> Evaluated:
        """Return the matrix and its pull-back."""
        self._require_columns(self.period, X.shape[1], "period")
        others = X if Z is None else Z
        if isinstance(self.period, tuple):
            phases = [
                (X[:, k, None] - others[:, k]) * (np.pi / period)
                for k, period in enumerate(self.period)
            ]
        else:
            phases = [np.sqrt(_squares(X, Z)) * (np.pi / self.period)]
        turns = 2.0 / self.length_scale**2
        level = sum(np.square(np.sin(phase)) for phase in phases)
        matrix = np.exp(-turns * level)

        def pull(W: Array) -> Array:
            weighted = W * matrix
            by_period = [turns * np.vdot(weighted, p * np.sin(2.0 * p)) for p in phases]
            return np.array([2.0 * turns * np.vdot(weighted, level), *by_period])

        return matrix, pull

    def evaluated_diagonal(self, X: Array) -> Evaluated:
        """Return ones, which no parameter changes."""
        n_parameters = len(self.parameters)
        return np.ones(len(X)), lambda W: np.zeros(n_parameters)

    def check_inputs(self, X: Array) -> None:
        """Raise if one period is given for several columns, where there is no such kernel."""
        if not isinstance(self.period, tuple) and X.shape[1] > 1:
            raise ValueError(
                "Periodic with one period must have one column of inputs, for in several it is "
                f"not positive semidefinite; found {X.shape[1]}. Choose the column by "
                "kernel.on([0]), or give a period for each column."
            )


def _matern(square: Array, rate: float, a: float, b: float, c: float) -> Array:
    out = work_array(square.shape)
    given, made, loops = square.reshape(-1), out.reshape(-1), _loops()
    in_parts(
        lambda i, j: loops.matern_profile(given[i:j], made[i:j], rate, a, b, c),
        given.size,
        given.size // NUMBERS,
    )
    return out


@cache
def _loops() -> Any:
    """Return the compiled loops, which take a moment to load."""
    return importlib.import_module("credo.numerics.special._loops_exponential")


def _squares(X: Array, Z: Array | None) -> Array:
    """Return squared distances of rows, exactly zero between a row and itself."""
    others = X if Z is None else Z
    if X.shape[1] <= FEW_COLUMNS:
        found, gap = (work_array((len(X), len(others))) for _ in range(2))
        found[...] = 0.0
        for k in range(X.shape[1]):
            np.subtract(X[:, k, None], others[:, k], out=gap)
            found += np.square(gap, out=gap)
        return found
    found = squared_distances(X, others)
    if Z is None:
        np.fill_diagonal(found, 0.0)
    return found
