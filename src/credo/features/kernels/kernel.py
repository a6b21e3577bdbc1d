"""What a kernel is: a covariance function as a value, with its gradient by pull-back.

A kernel ``k(x, z)`` is the inner product of features of two inputs, ``sum_i b_i(x) b_i(z)``,
and the covariance of a random function at them; it is valid if every Gram matrix
``K_ij = k(x_i, x_j)`` is positive semidefinite (Mercer). Sums, products, positive multiples
and selected columns of kernels are kernels.

Learning needs ``d/dt sum_ij W_ij K_ij`` for every parameter t and a weight matrix W: the
pull-back. It takes a few products with W, and no array of shape (n, n, p).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from credo import features
from credo.features.basis import distinct_rows
from credo.numerics.array import Array, as_float, work_array
from credo.numerics.linear.linear_algebra import NotPositiveDefinite, symmetrize
from credo.numerics.quotation import quote

__all__ = [
    "Evaluated",
    "HeldKernel",
    "JoinedKernel",
    "Kernel",
    "KernelParameter",
    "Positive",
    "ProductKernel",
    "PullBack",
    "ScaledKernel",
    "SelectedKernel",
    "SumKernel",
    "UnitKernel",
    "check_mercer",
    "column_squares",
    "copied",
    "multiplied",
    "per_setting",
    "positive_setting",
    "single_setting",
]

PullBack = Callable[[Array], Array]
"""From weights W, shaped as the matrix, to the gradient of ``sum(W * K)``, shape (p,)."""

Evaluated = tuple[Array, PullBack]
"""A matrix of a kernel, and the pull-back of weights on it."""

Positive = float | tuple[float, ...]
"""A positive number, or one for each column."""


@dataclass(frozen=True)
class KernelParameter:
    """A positive number that a kernel learns, on the log scale inside.

    Attributes
    ----------
    name
        Its name in the kernel, such as "length_scale[1]" or "part2.variance".
    value
        What it is now.
    low, high
        Limits that it must keep whatever the data are.
    log_spread
        Standard deviation of its log in the prior, a normal around the log of its natural
        value (see `Kernel.natural`).
    column
        The column that it is for; None if it is for all.
    period_column
        The column in which it is a period; None if it is none.
    """

    name: str
    value: float
    low: float = 0.0
    high: float = np.inf
    log_spread: float = 1.5
    column: int | None = None
    period_column: int | None = None

    def label(self, columns: Sequence[str] | None) -> str:
        """Return its name, with that of its column in place of a number.

        Examples
        --------
        >>> KernelParameter("length_scale[0]", 2.0, column=1).label(["age", "dose"])
        'length_scale[dose]'
        """
        if columns is None or self.column is None:
            return self.name
        return f"{_stem(self.name)}[{columns[self.column]}]"


class Kernel(ABC):
    """A covariance function ``k(x, z)`` of rows of inputs, as a value that never changes.

    ``kernel(X, Z)`` is its matrix. ``a + b`` and ``a * b`` are kernels, ``2.0 * a`` is one
    with a variance that is learned, ``a.on([0, 2])`` sees these columns alone,
    ``a.in_units([1.0, 1000.0])`` sees each column in a unit of its own and
    ``a.hold("period")`` does not learn the period.

    A kernel of one's own derives from this class, or is a `FunctionKernel`.
    """

    # NumPy's numbers would multiply themselves into an array of kernels.
    __array_ufunc__ = None

    def __call__(self, X: ArrayLike, Z: ArrayLike | None = None) -> Array:
        """Return ``k(x_i, z_j)``, shape (n, m); of X with itself if ``Z`` is None."""
        rows = _rows("X", X)
        if Z is None:
            return self.evaluated(rows)[0]
        others = _rows("Z", Z)
        if others.shape[1] != rows.shape[1]:
            raise ValueError(
                f"X and Z must have the same columns; found {rows.shape[1]} and "
                f"{others.shape[1]}. Pass the same columns for both."
            )
        return self.evaluated(rows, others)[0]

    def diagonal(self, X: ArrayLike) -> Array:
        """Return ``k(x_i, x_i)``, shape (n,)."""
        return self.evaluated_diagonal(_rows("X", X))[0]

    def pullback(self, W: ArrayLike, X: ArrayLike) -> Array:
        """Return the gradient of ``sum(W * kernel(X))`` by the log of each parameter."""
        rows, weights = _rows("X", X), as_float(W)
        if weights.shape != (len(rows), len(rows)):
            raise ValueError(
                f"W must have one weight for each pair of rows, shape {(len(rows),) * 2}; "
                f"found {weights.shape}. Pass a square matrix."
            )
        return self.evaluated(rows)[1](weights)

    @property
    def log_parameters(self) -> Array:
        """Logs of the values of `parameters`, shape (p,)."""
        return np.log([parameter.value for parameter in self.parameters])

    @property
    @abstractmethod
    def parameters(self) -> tuple[KernelParameter, ...]:
        """What is learned, in the order of `log_parameters` and of gradients."""

    @abstractmethod
    def at(self, log_parameters: ArrayLike) -> Kernel:
        """Return this kernel with other values of its parameters."""

    @abstractmethod
    def natural(self, X: Array, y_variance: float) -> Array:
        """Return logs of values that are natural in the units of the data, shape (p,).

        With these, a random function varies about as much as outcomes of the given variance
        over rows like those of ``X``. Learning starts there, and priors have their center
        there.
        """

    def placed(self, X: Array, y_variance: float) -> Kernel:
        """Return this kernel with values that are natural for rows, each counted once."""
        return self.at(self.natural(distinct_rows(X), y_variance))

    def set_params(self, **settings: Any) -> None:
        """Refuse: a kernel never changes, and what it learns needs no grid."""
        raise TypeError(
            "kernels are values whose settings are not set one by one; found "
            f"{quote(settings)}. Positive settings are learned by fit; to try others, pass "
            "whole kernels to GridSearchCV, such as "
            "{'kernel': [Matern52(0.5).hold(), Matern52(1.0).hold()]}."
        )

    @abstractmethod
    def evaluated(self, X: Array, Z: Array | None = None) -> Evaluated:
        """Return the matrix of checked rows, and its pull-back, which may need it again.

        Nothing is written over the matrix, which may be one that is kept.
        """

    @abstractmethod
    def evaluated_diagonal(self, X: Array) -> Evaluated:
        """Return the diagonal of checked rows, shape (n,), and its pull-back."""

    @property
    def has_own_matrix(self) -> bool:
        """Whether the matrix of `evaluated` is new, and nothing to its pull-back."""
        return False

    def written(self, X: Array) -> Evaluated:
        """Return the matrix of checked rows, which may be written over, and its pull-back."""
        matrix, pull = self.evaluated(X)
        return matrix if self.has_own_matrix else copied(matrix), pull

    @property
    def leaves(self) -> tuple[Kernel, ...]:
        """The kernels that this one is made of."""
        return (self,)

    @property
    def addends(self) -> tuple[Kernel, ...]:
        """Kernels of which this one is the sum: of independent functions that add up."""
        return (self,)

    def check_inputs(self, X: Array) -> None:
        """Raise if rows cannot be the inputs of this kernel, or make it no kernel."""
        self.evaluated_diagonal(X[:1])

    def on(self, columns: Sequence[int]) -> SelectedKernel:
        """Return the kernel of these columns of the inputs alone, by number from 0."""
        return SelectedKernel(self, tuple(columns) if np.iterable(columns) else columns)

    def in_units(self, units: ArrayLike) -> UnitKernel:
        """Return the kernel of inputs divided by units (d,), one for each column.

        With one length scale for all columns, the unit of each says how much of it counts.
        """
        return UnitKernel(self, tuple(np.ravel(as_float(units)).tolist()))

    def hold(self, *names: str) -> HeldKernel:
        """Return the kernel with the named parameters known; all of them if none is named."""
        return HeldKernel(self, names or tuple(p.name for p in self.parameters))

    def __add__(self, other: Kernel) -> SumKernel:
        if not isinstance(other, Kernel):
            return NotImplemented
        return SumKernel((*_parts(SumKernel, self), *_parts(SumKernel, other)))

    def __mul__(self, other: Kernel | float) -> Kernel:
        if isinstance(other, Kernel):
            return ProductKernel((*_parts(ProductKernel, self), *_parts(ProductKernel, other)))
        if not isinstance(other, Real):
            return NotImplemented
        return ScaledKernel(self, float(other))

    __rmul__ = __mul__


@dataclass(frozen=True)
class SettingsKernel(Kernel):
    """A kernel whose parameters are some of its own settings, named in ``learned``.

    Attributes
    ----------
    learned
        Names of the fields that are learned, with limits and the spread of their priors.
    """

    learned: ClassVar[dict[str, tuple[float, float, float]]] = {}

    def __post_init__(self) -> None:
        for name in self.learned:
            positive_setting(self, name)

    @property
    def parameters(self) -> tuple[KernelParameter, ...]:
        """What is learned, field by field."""
        found = []
        for name, (low, high, spread) in self.learned.items():
            setting = getattr(self, name)
            if isinstance(setting, tuple):
                found += [
                    KernelParameter(f"{name}[{k}]", value, low, high, spread, k)
                    for k, value in enumerate(setting)
                ]
            else:
                found.append(KernelParameter(name, setting, low, high, spread))
        return tuple(found)

    def at(self, log_parameters: ArrayLike) -> Self:
        """Return this kernel with other values of its parameters."""
        values = np.exp(as_float(log_parameters)).tolist()
        changes: dict[str, Any] = {}
        for name in self.learned:
            setting = getattr(self, name)
            n = len(setting) if isinstance(setting, tuple) else 1
            own, values = values[:n], values[n:]
            changes[name] = tuple(own) if isinstance(setting, tuple) else own[0]
        return replace(self, **changes)

    def _require_columns(self, setting: Positive, n_columns: int, name: str) -> None:
        """Raise if a setting has one number for each column, but of other inputs."""
        if isinstance(setting, tuple) and len(setting) != n_columns:
            raise ValueError(
                f"{name} of {type(self).__name__} must be one number, or one for each of the "
                f"{n_columns} columns; found {len(setting)}. Give as many, or choose columns "
                "by kernel.on([...])."
            )


@dataclass(frozen=True)
class JoinedKernel(Kernel):
    """A kernel made of several, whose parameters are those of all parts in order."""

    parts: tuple[Kernel, ...]

    def __post_init__(self) -> None:
        _require_parts(self.parts)

    @property
    def parameters(self) -> tuple[KernelParameter, ...]:
        """The parameters of every part, in order."""
        return tuple(
            replace(parameter, name=f"part{k}.{parameter.name}")
            for k, part in enumerate(self.parts, start=1)
            for parameter in part.parameters
        )

    @property
    def leaves(self) -> tuple[Kernel, ...]:
        """The kernels that this one is made of."""
        return tuple(leaf for part in self.parts for leaf in part.leaves)

    def at(self, log_parameters: ArrayLike) -> Self:
        """Return this kernel with other values of its parameters."""
        ends = np.cumsum([len(part.parameters) for part in self.parts])[:-1]
        logs = np.split(as_float(log_parameters), ends)
        parts = tuple(part.at(own) for part, own in zip(self.parts, logs, strict=True))
        return replace(self, parts=parts)

    def check_inputs(self, X: Array) -> None:
        """Raise if rows cannot be the inputs of one of the parts."""
        for part in self.parts:
            part.check_inputs(X)


@dataclass(frozen=True)
class SumKernel(JoinedKernel):
    """The sum of several kernels: the covariance of a sum of independent functions.

    Examples
    --------
    >>> from credo.features import Constant, Linear
    >>> (Linear() + Constant(2.0))([[1.0], [3.0]])
    array([[ 3.,  5.],
           [ 5., 11.]])
    """

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        smooth = 2.0 * features.SquaredExponential((0.7, 1.5))
        return (cls((smooth, features.Linear(), features.White(0.1))),)

    @property
    def addends(self) -> tuple[Kernel, ...]:
        """Kernels of which this one is the sum."""
        return self.parts

    def natural(self, X: Array, y_variance: float) -> Array:
        """Return natural values of each part, as if it were alone."""
        return np.concatenate([part.natural(X, y_variance) for part in self.parts])

    @property
    def has_own_matrix(self) -> bool:
        """Whether the matrix is nothing to its pull-back: it is the sum of others."""
        return True

    def evaluated(self, X: Array, Z: Array | None = None) -> Evaluated:
        """Return the sum of the matrices, and its pull-back."""
        return _summed([part.evaluated(X, Z) for part in self.parts])

    def evaluated_diagonal(self, X: Array) -> Evaluated:
        """Return the sum of the diagonals, and its pull-back."""
        return _summed([part.evaluated_diagonal(X) for part in self.parts])

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.parts))


@dataclass(frozen=True)
class ProductKernel(JoinedKernel):
    """The product of several kernels.

    Examples
    --------
    >>> from credo.features import Linear
    >>> (Linear() * Linear())([[1.0], [3.0]])
    array([[ 1.,  9.],
           [ 9., 81.]])
    """

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return (cls((features.Matern32(0.8), features.Linear(), features.Matern52(2.0))),)

    def natural(self, X: Array, y_variance: float) -> Array:
        """Return natural values of the parts, the first of which has the variance."""
        first, *others = self.parts
        logs = [first.natural(X, y_variance), *(part.natural(X, 1.0) for part in others)]
        return np.concatenate(logs)

    def evaluated(self, X: Array, Z: Array | None = None) -> Evaluated:
        """Return the product of the matrices, and its pull-back."""
        return _multiplied([part.evaluated(X, Z) for part in self.parts])

    def evaluated_diagonal(self, X: Array) -> Evaluated:
        """Return the product of the diagonals, and its pull-back."""
        return _multiplied([part.evaluated_diagonal(X) for part in self.parts])

    def __repr__(self) -> str:
        # A multiple in front is read as one; behind another kernel it would change places.
        first, *others = self.parts
        return " * ".join([_in_brackets(first, SumKernel), *map(_in_brackets, others)])


@dataclass(frozen=True)
class ScaledKernel(Kernel):
    """A kernel times a variance.

    Examples
    --------
    >>> from credo.features import Linear
    >>> scaled = 3.0 * Linear(1.0)
    >>> scaled([[2.0]]), [p.name for p in scaled.parameters]
    (array([[12.]]), ['variance', 'Linear.variance'])
    """

    kernel: Kernel
    variance: float = 1.0

    def __post_init__(self) -> None:
        _require_parts((self.kernel,))
        single_setting(self, "variance")

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return (cls(features.RationalQuadratic(1.2, 0.8), 2.5),)

    @property
    def parameters(self) -> tuple[KernelParameter, ...]:
        """The variance, then the parameters of the kernel."""
        inner = self.kernel.parameters
        clash = any(p.name == "variance" for p in inner)
        prefix = f"{type(self.kernel).__name__}." if clash else ""
        own = KernelParameter("variance", self.variance, log_spread=2.0)
        return (own, *(replace(p, name=prefix + p.name) for p in inner))

    @property
    def leaves(self) -> tuple[Kernel, ...]:
        """The kernels that this one is made of."""
        return self.kernel.leaves

    @property
    def addends(self) -> tuple[Kernel, ...]:
        """Kernels of which this one is the sum."""
        return tuple(ScaledKernel(part, self.variance) for part in self.kernel.addends)

    def at(self, log_parameters: ArrayLike) -> ScaledKernel:
        """Return this kernel with other values of its parameters."""
        logs = as_float(log_parameters)
        return ScaledKernel(self.kernel.at(logs[1:]), float(np.exp(logs[0])))

    def natural(self, X: Array, y_variance: float) -> Array:
        """Return the variance that makes up for the diagonal of the kernel."""
        inner = self.kernel.natural(X, 1.0)
        level = float(self.kernel.at(inner).evaluated_diagonal(X)[0].mean())
        return np.concatenate([[np.log(y_variance / (level if level > 0 else 1.0))], inner])

    @property
    def has_own_matrix(self) -> bool:
        """Whether the matrix is nothing to its pull-back: it is the multiple of another."""
        return True

    def evaluated(self, X: Array, Z: Array | None = None) -> Evaluated:
        """Return the multiple of the matrix, and its pull-back."""
        return self._multiple(*self.kernel.evaluated(X, Z))

    def evaluated_diagonal(self, X: Array) -> Evaluated:
        """Return the multiple of the diagonal, and its pull-back."""
        return self._multiple(*self.kernel.evaluated_diagonal(X))

    def _multiple(self, matrix: Array, pull: PullBack) -> Evaluated:
        def pull_scaled(W: Array) -> Array:
            by_log = pull(W)
            found = np.empty(1 + len(by_log))
            found[0], found[1:] = np.vdot(W, matrix), by_log
            found *= self.variance
            return found

        return multiplied(matrix, self.variance), pull_scaled

    def check_inputs(self, X: Array) -> None:
        """Raise if rows cannot be the inputs of the kernel."""
        self.kernel.check_inputs(X)

    def __repr__(self) -> str:
        return f"{self.variance:.4g} * {_in_brackets(self.kernel)}"


@dataclass(frozen=True)
class SelectedKernel(Kernel):
    """A kernel of some columns of the inputs.

    Examples
    --------
    >>> from credo.features import Linear
    >>> Linear().on([1])([[7.0, 2.0]])
    array([[4.]])
    """

    kernel: Kernel
    columns: tuple[int, ...]

    def __post_init__(self) -> None:
        _require_parts((self.kernel,))
        numbers = tuple(self.columns) if np.iterable(self.columns) else ()
        is_number = all(isinstance(c, int | np.integer) and c >= 0 for c in numbers)
        if not numbers or not is_number or len(set(numbers)) < len(numbers):
            raise ValueError(
                "columns must be different numbers of columns, from 0; found "
                f"{quote(self.columns)}. Write kernel.on([0, 2])."
            )
        object.__setattr__(self, "columns", tuple(int(c) for c in numbers))

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return (cls(features.SquaredExponential(0.9), (1,)),)

    @property
    def parameters(self) -> tuple[KernelParameter, ...]:
        """Those of the kernel, for the columns that it sees."""
        return tuple(
            replace(p, column=self._whole(p.column), period_column=self._whole(p.period_column))
            for p in self.kernel.parameters
        )

    def _whole(self, column: int | None) -> int | None:
        """Return which of all columns one of those that are seen is."""
        return None if column is None else self.columns[column]

    @property
    def leaves(self) -> tuple[Kernel, ...]:
        """The kernels that this one is made of."""
        return self.kernel.leaves

    @property
    def addends(self) -> tuple[Kernel, ...]:
        """Kernels of which this one is the sum."""
        return tuple(SelectedKernel(part, self.columns) for part in self.kernel.addends)

    def at(self, log_parameters: ArrayLike) -> SelectedKernel:
        """Return this kernel with other values of its parameters."""
        return SelectedKernel(self.kernel.at(log_parameters), self.columns)

    def natural(self, X: Array, y_variance: float) -> Array:
        """Return values that are natural for these columns."""
        return self.kernel.natural(self._chosen(X), y_variance)

    @property
    def has_own_matrix(self) -> bool:
        """Whether the matrix is nothing to its pull-back."""
        return self.kernel.has_own_matrix

    def evaluated(self, X: Array, Z: Array | None = None) -> Evaluated:
        """Return the matrix of these columns, and its pull-back."""
        return self.kernel.evaluated(self._chosen(X), None if Z is None else self._chosen(Z))

    def evaluated_diagonal(self, X: Array) -> Evaluated:
        """Return the diagonal of these columns, and its pull-back."""
        return self.kernel.evaluated_diagonal(self._chosen(X))

    def check_inputs(self, X: Array) -> None:
        """Raise if there are no such columns, or they do not suit the kernel."""
        self.kernel.check_inputs(self._chosen(X))

    def _chosen(self, X: Array) -> Array:
        if max(self.columns) >= X.shape[1]:
            raise ValueError(
                f"columns of the kernel must be below the {X.shape[1]} of the inputs; found "
                f"{max(self.columns)}. Count columns from 0."
            )
        return np.ascontiguousarray(X[:, self.columns])

    def __repr__(self) -> str:
        return f"{_in_brackets(self.kernel)}.on({list(self.columns)})"


@dataclass(frozen=True)
class UnitKernel(Kernel):
    """A kernel of inputs each column of which is divided by a unit of its own.

    Examples
    --------
    >>> from credo.features import Linear
    >>> Linear().in_units([1.0, 1000.0])([[2.0, 3000.0]])
    array([[13.]])
    """

    kernel: Kernel
    units: tuple[float, ...]

    def __post_init__(self) -> None:
        _require_parts((self.kernel,))
        positive_setting(self, "units")
        if not isinstance(self.units, tuple):
            object.__setattr__(self, "units", (self.units,))

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return (cls(features.SquaredExponential(0.9), (0.5, 3.0)),)

    @property
    def parameters(self) -> tuple[KernelParameter, ...]:
        """Those of the kernel; a period is not one of the columns as they are given."""
        return tuple(replace(p, period_column=None) for p in self.kernel.parameters)

    @property
    def leaves(self) -> tuple[Kernel, ...]:
        """The kernels that this one is made of."""
        return self.kernel.leaves

    @property
    def addends(self) -> tuple[Kernel, ...]:
        """Kernels of which this one is the sum."""
        return tuple(UnitKernel(part, self.units) for part in self.kernel.addends)

    def at(self, log_parameters: ArrayLike) -> UnitKernel:
        """Return this kernel with other values of its parameters."""
        return UnitKernel(self.kernel.at(log_parameters), self.units)

    def natural(self, X: Array, y_variance: float) -> Array:
        """Return values that are natural in these units."""
        return self.kernel.natural(self._measured(X), y_variance)

    @property
    def has_own_matrix(self) -> bool:
        """Whether the matrix is nothing to its pull-back."""
        return self.kernel.has_own_matrix

    def evaluated(self, X: Array, Z: Array | None = None) -> Evaluated:
        """Return the matrix in these units, and its pull-back."""
        return self.kernel.evaluated(
            self._measured(X), None if Z is None else self._measured(Z)
        )

    def evaluated_diagonal(self, X: Array) -> Evaluated:
        """Return the diagonal in these units, and its pull-back."""
        return self.kernel.evaluated_diagonal(self._measured(X))

    def check_inputs(self, X: Array) -> None:
        """Raise if there are other columns, or they do not suit the kernel."""
        self.kernel.check_inputs(self._measured(X))

    def _measured(self, X: Array) -> Array:
        if len(self.units) != X.shape[1]:
            raise ValueError(
                f"units must be one for each of the {X.shape[1]} columns; found "
                f"{len(self.units)}. Give as many."
            )
        return np.asarray(X / np.array(self.units))

    def __repr__(self) -> str:
        return f"{_in_brackets(self.kernel)}.in_units({list(self.units)})"


@dataclass(frozen=True)
class HeldKernel(Kernel):
    """A kernel some of whose parameters are known and not learned.

    Examples
    --------
    >>> from credo.features import Periodic
    >>> year = Periodic(length_scale=1.0, period=1.0).hold("period")
    >>> [parameter.name for parameter in year.parameters]
    ['length_scale']
    """

    kernel: Kernel
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        _require_parts((self.kernel,))
        known = {name for p in self.kernel.parameters for name in (p.name, _stem(p.name))}
        unknown = [name for name in self.names if name not in known]
        if unknown:
            raise ValueError(
                f"names to hold must be parameters of the kernel, {sorted(known)}; found "
                f"{quote(unknown)}. Choose from these."
            )
        object.__setattr__(self, "names", tuple(self.names))

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return (cls(2.0 * features.SquaredExponential((0.5, 1.0)), ("length_scale[0]",)),)

    @property
    def parameters(self) -> tuple[KernelParameter, ...]:
        """Those of the kernel that are not held."""
        inner = self.kernel.parameters
        return tuple(p for p, is_free in zip(inner, self.is_free, strict=True) if is_free)

    @property
    def leaves(self) -> tuple[Kernel, ...]:
        """The kernels that this one is made of."""
        return self.kernel.leaves

    @property
    def is_free(self) -> list[bool]:
        """Whether each parameter of the kernel inside is learned."""
        held = set(self.names)
        return [not {p.name, _stem(p.name)} & held for p in self.kernel.parameters]

    @property
    def addends(self) -> tuple[Kernel, ...]:
        """Kernels of which this one is the sum."""
        return self.kernel.addends

    def at(self, log_parameters: ArrayLike) -> HeldKernel:
        """Return this kernel with other values of the parameters that are not held."""
        logs = self.kernel.log_parameters
        logs[self.is_free] = as_float(log_parameters)
        return HeldKernel(self.kernel.at(logs), self.names)

    def natural(self, X: Array, y_variance: float) -> Array:
        """Return natural values of the parameters that are not held."""
        return self.kernel.natural(X, y_variance)[self.is_free]

    def evaluated(self, X: Array, Z: Array | None = None) -> Evaluated:
        """Return the matrix of the kernel, and the pull-back on what is not held."""
        return self._freed(*self.kernel.evaluated(X, Z))

    def evaluated_diagonal(self, X: Array) -> Evaluated:
        """Return the diagonal of the kernel, and the pull-back on what is not held."""
        return self._freed(*self.kernel.evaluated_diagonal(X))

    def _freed(self, matrix: Array, pull: PullBack) -> Evaluated:
        is_free = self.is_free
        if not any(is_free):
            return matrix, lambda W: np.empty(0)
        return matrix, lambda W: pull(W)[is_free]

    def check_inputs(self, X: Array) -> None:
        """Raise if rows cannot be the inputs of the kernel."""
        self.kernel.check_inputs(X)

    def __repr__(self) -> str:
        names = ", ".join(map(repr, self.names))
        return f"{_in_brackets(self.kernel)}.hold({names})"


def check_mercer(kernel: Kernel, X: ArrayLike, tolerance: float = 1e-8) -> float:
    """Return the smallest eigenvalue of the Gram matrix, as a share of the mean diagonal.

    Parameters
    ----------
    kernel
        Any kernel, or a function of two matrices of rows that may be one.
    X
        Rows to try it on: distinct ones, like those that it will be used for.
    tolerance
        How far below zero rounding may put it.

    Raises
    ------
    NotPositiveDefinite
        If the matrix is not symmetric, or has a negative eigenvalue: no kernel.

    Examples
    --------
    >>> from credo.features import SquaredExponential
    >>> check_mercer(SquaredExponential(1.0), [[0.0], [1.0], [2.0]]) > 0
    True
    """
    rows = _rows("X", X)
    matrix = as_float(kernel(rows, rows))
    level = float(np.abs(np.diagonal(matrix)).mean()) or 1.0
    advice = (
        "Use a sum or product of kernels of credo.features, which are all valid, or check the "
        "formula."
    )
    lopsided = float(np.abs(matrix - matrix.T).max(initial=0.0)) / level
    if not lopsided <= tolerance:
        raise NotPositiveDefinite(
            "a kernel must be symmetric, k(x, z) = k(z, x); found a difference of "
            f"{lopsided:.3g} of the mean diagonal. {advice}"
        )
    half = len(rows) // 2
    part = as_float(kernel(rows[:half], rows[half : 2 * half]))
    wanted = matrix[:half, half : 2 * half]
    is_other = part.shape != wanted.shape
    if is_other or float(np.abs(part - wanted).max(initial=0.0)) > tolerance * level:
        raise NotPositiveDefinite(
            "a kernel must be a function of its two rows alone; found other values for the "
            f"same rows among {half} and among {len(rows)}. {advice}"
        )
    smallest = float(np.linalg.eigvalsh(symmetrize(matrix))[0]) / level if len(matrix) else 0.0
    if smallest < -tolerance:
        raise NotPositiveDefinite(
            "a kernel must be positive semidefinite; found the eigenvalue "
            f"{smallest:.3g} of the mean diagonal on {len(rows)} rows. {advice}"
        )
    return smallest


def positive_setting(kernel: Any, name: str) -> None:
    """Keep a setting of a kernel as a positive float, or a tuple of them; refuse others."""
    found = getattr(kernel, name)
    numbers = found if isinstance(found, tuple) and found else (found,)
    # Searches make thousands of kernels whose settings are as they are kept.
    if all(type(number) is float and 0.0 < number < np.inf for number in numbers):
        return
    try:
        values = as_float(found)
    except (TypeError, ValueError):
        values = np.array(np.nan)
    if values.ndim > 1 or values.size == 0 or not np.all((values > 0) & (values < np.inf)):
        raise ValueError(
            f"{name} must be a positive number, or one for each column; found {quote(found)}. "
            f"Write {type(kernel).__name__}({name}=...) with positive numbers."
        )
    kept = float(values) if values.ndim == 0 else tuple(values.tolist())
    object.__setattr__(kernel, name, kept)


def single_setting(kernel: Any, name: str) -> None:
    """Keep a setting of a kernel as one positive float; refuse others."""
    positive_setting(kernel, name)
    if isinstance(getattr(kernel, name), tuple):
        raise ValueError(
            f"{name} of {type(kernel).__name__} must be one number; found "
            f"{quote(getattr(kernel, name))}. Pass a float."
        )


def column_squares(X: Array, W: Array, Z: Array | None) -> Array:
    """Return ``sum_ij W_ij (x_id - z_jd)^2`` for each column d, by one matrix product."""
    others = X if Z is None else Z
    n, d = others.shape
    origin = others.sum(axis=0) / max(n, 1)
    widened = np.empty((n, d + 1))
    np.subtract(others, origin, out=widened[:, :d])
    widened[:, d] = 1.0
    columns = widened[:, :d]
    rows = columns if Z is None else X - origin
    sums = W @ widened
    cross, by_column = np.einsum("id,id->d", rows, sums[:, :d]), W.sum(axis=0)
    return np.asarray(sums[:, d] @ rows**2 + by_column @ columns**2 - 2.0 * cross)


def per_setting(by_column: Array, setting: Positive) -> Array:
    """Return a gradient by each column, or its sum where one number serves all columns."""
    return by_column if isinstance(setting, tuple) else np.atleast_1d(by_column.sum())


def _rows(name: str, X: ArrayLike) -> Array:
    rows = np.ascontiguousarray(as_float(X))
    if rows.ndim != 2:
        raise ValueError(
            f"{name} must have shape (n_samples, n_features); found shape {rows.shape}. "
            f"Reshape one column with {name}[:, None]."
        )
    return rows


def _require_parts(parts: Sequence[Any]) -> None:
    odd = [part for part in parts if not isinstance(part, Kernel)]
    if odd or not parts:
        raise TypeError(
            "a kernel must be made of kernels of credo.features, such as "
            f"SquaredExponential(); found {quote(odd[0] if odd else parts)}. Pass instances."
        )


def _parts(kind: type[SumKernel] | type[ProductKernel], kernel: Kernel) -> tuple[Kernel, ...]:
    return kernel.parts if isinstance(kernel, kind) else (kernel,)


def _summed(parts: list[Evaluated]) -> Evaluated:
    total = copied(parts[0][0])
    for matrix, _ in parts[1:]:
        total += matrix
    return total, lambda W: np.concatenate([pull(W) for _, pull in parts])


def _multiplied(parts: list[Evaluated]) -> Evaluated:
    matrices = [matrix for matrix, _ in parts]

    def pull_factors(W: Array) -> Array:
        pulled = []
        for k, (_, pull) in enumerate(parts):
            others = [matrix for j, matrix in enumerate(matrices) if j != k]
            pulled.append(pull(multiplied(W, 1.0, *others)))
        return np.concatenate(pulled)

    return multiplied(matrices[0], 1.0, *matrices[1:]), pull_factors


def copied(matrix: Array) -> Array:
    """Return a copy in work memory."""
    found = work_array(matrix.shape)
    found[...] = matrix
    return found


def multiplied(first: Array, second: Array | float, *others: Array) -> Array:
    """Return the product, entry by entry, in work memory."""
    found = np.multiply(first, second, out=work_array(first.shape))
    for other in others:
        found *= other
    return found


def _stem(name: str) -> str:
    return name.split("[")[0]


def _in_brackets(kernel: Kernel, *kinds: type[Kernel]) -> str:
    """Return how a kernel is written as a part of another, in brackets if it is of a kind."""
    joined = kinds or (SumKernel, ProductKernel, ScaledKernel)
    return f"({kernel!r})" if isinstance(kernel, joined) else repr(kernel)
