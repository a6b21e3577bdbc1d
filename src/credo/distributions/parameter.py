"""Parameters of distributions: checked, kept as float64, sharing leading batch axes."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.numerics.array import Array, as_float
from credo.numerics.linear.linear_algebra import symmetrize

__all__ = [
    "Batched",
    "count",
    "level",
    "non_negative",
    "positive",
    "probability",
    "real",
    "require",
    "simplex",
    "square",
]


SUM_TOLERANCE = 1e-8
SYMMETRY_TOLERANCE = 1e-8

Predicate = Callable[[Array], NDArray[np.bool_]]


def real(name: str, values: ArrayLike) -> Array:
    """Return finite numbers."""
    return require(name, values, np.isfinite, "finite", "Drop or fill missing values first.")


def positive(
    name: str, values: ArrayLike, advice: str = "Pass it on its natural scale."
) -> Array:
    """Return finite numbers above zero."""
    return require(name, values, lambda v: (v > 0) & (v < np.inf), "positive", advice)


def non_negative(name: str, values: ArrayLike, advice: str) -> Array:
    """Return finite numbers not below zero."""
    return require(name, values, lambda v: (v >= 0) & (v < np.inf), "non-negative", advice)


def probability(name: str, values: ArrayLike) -> Array:
    """Return numbers in [0, 1]."""
    advice = "Pass probabilities, not percentages, odds or logits."
    return require(name, values, lambda v: (v >= 0) & (v <= 1), "in [0, 1]", advice)


def level(values: ArrayLike) -> Array:
    """Return the levels of quantiles, NaN where they are not in [0, 1]."""
    array = as_float(values)
    return np.where((array >= 0) & (array <= 1), array, np.nan)


def count(name: str, values: ArrayLike) -> Array:
    """Return whole numbers not below zero."""
    advice = "Pass a count."
    return require(
        name, values, lambda v: (v >= 0) & (v == np.floor(v)), "a non-negative integer", advice
    )


def simplex(name: str, values: ArrayLike) -> Array:
    """Return non-negative vectors along the last axis whose sum is one to the last digit."""
    array = np.atleast_1d(non_negative(name, values, "Probabilities cannot be negative."))
    total = array.sum(axis=-1, keepdims=True)
    require(
        name,
        total[..., 0],
        lambda t: np.abs(t - 1) <= SUM_TOLERANCE,
        "a vector that sums to 1 along its last axis",
        "Divide by the sum first.",
    )
    return np.asarray(array / total)


def square(name: str, values: ArrayLike) -> Array:
    """Return symmetric matrices in the last two axes; a number is a 1 x 1 matrix."""
    array = np.atleast_2d(real(name, values))
    if array.shape[-1] != array.shape[-2]:
        raise ValueError(
            f"{name} must be square in its last two axes; found shape {array.shape}. "
            "Pass one matrix of shape (d, d), or a stack of them."
        )
    gap = np.abs(array - array.swapaxes(-1, -2)).max(initial=0.0)
    if gap > SYMMETRY_TOLERANCE * np.abs(array).max(initial=0.0):
        raise ValueError(
            f"{name} must be symmetric; found entries that differ by {gap:.3g} from their "
            "mirror image. Pass (A + A.T) / 2 if the difference is rounding."
        )
    return symmetrize(array)


def require(
    name: str, values: ArrayLike, holds: Predicate, requirement: str, advice: str
) -> Array:
    """Return ``values`` as floats, or say where the first one breaks the requirement."""
    array = as_float(values)
    good = holds(array)
    if good.all():
        return array
    index = tuple(int(i) for i in np.argwhere(~good)[0])
    place = f" at index {index[0] if len(index) == 1 else index}" if index else ""
    found = np.broadcast_to(array, good.shape)[index]
    raise ValueError(f"{name} must be {requirement}; found {found:g}{place}. {advice}")


FEW = 12


@dataclass(frozen=True, eq=False)
class Batched:
    """A frozen value with one entry per index of its batch.

    Fields are arrays, other batched values, or tuples of them. Subclasses list in
    ``_event_dims`` how many trailing axes of an array field belong to one entry, where that is
    not zero, and in ``_shared`` the fields that belong to the batch as a whole.
    """

    _event_dims: ClassVar[dict[str, int]] = {}
    _shared: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        # A dataclass writes a repr that prints every number, unless the class has one.
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = Batched.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        parts = [f"{f.name}={_brief(getattr(self, f.name))}" for f in fields(self)]
        return f"{type(self).__name__}({', '.join(parts)})"

    @cached_property
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the batch: what the parameters broadcast to."""
        shapes = [shape for f in fields(self) for shape in self._shapes(f.name)]
        try:
            return np.broadcast_shapes(*shapes)
        except ValueError as error:
            found = ", ".join(
                f"{f.name} {shape}" for f in fields(self) for shape in self._shapes(f.name)
            )
            raise ValueError(
                f"parameters of {type(self).__name__} must broadcast to one batch shape; "
                f"found {found}. Give every parameter one value, or one per row."
            ) from error

    def __getitem__(self, index: Any) -> Self:
        """Return the entries at ``index`` of the batch axes."""
        full = index if isinstance(index, tuple) else (index,)
        return self._rebuild(**{f.name: self._take(f.name, full) for f in fields(self)})

    def __len__(self) -> int:
        if not self.batch_shape:
            raise TypeError(
                f"len() needs a batch; found a single {type(self).__name__}. "
                "Give parameters one value per row."
            )
        return self.batch_shape[0]

    def __bool__(self) -> bool:
        return True

    def _set(self, **values: Any) -> None:
        """Fill the fields of a new object; the one place where a frozen value is written."""
        for name, value in values.items():
            object.__setattr__(self, name, value)
        _ = self.batch_shape

    def _rebuild(self, **values: Any) -> Self:
        """Return an object of the same type from fields that are already valid."""
        new = object.__new__(type(self))
        for name, value in values.items():
            object.__setattr__(new, name, value)
        return new

    def _shapes(self, name: str) -> list[tuple[int, ...]]:
        value = getattr(self, name)
        if name in self._shared:
            return []
        if isinstance(value, np.ndarray):
            return [value.shape[: value.ndim - self._event_dims.get(name, 0)]]
        return [part.batch_shape for part in _parts(value)]

    def _take(self, name: str, index: tuple[Any, ...]) -> Any:
        value = getattr(self, name)
        if name in self._shared:
            return value
        if not isinstance(value, np.ndarray):
            taken = tuple(part._spread_to(self.batch_shape)[index] for part in _parts(value))
            return taken if isinstance(value, tuple) else taken[0]
        event_dims = self._event_dims.get(name, 0)
        event = value.shape[value.ndim - event_dims :]
        array = np.broadcast_to(value, self.batch_shape + event)
        if any(i is Ellipsis for i in index):
            return array[index + (slice(None),) * event_dims]
        return array[(*index, Ellipsis)]

    def _flat(self) -> Self:
        """Return the same entries along one batch axis; a single value stays single."""
        if len(self.batch_shape) < 2:
            return self
        return self[np.unravel_index(np.arange(np.prod(self.batch_shape)), self.batch_shape)]

    def _spread_to(self, batch_shape: tuple[int, ...]) -> Self:
        """Return the same value seen with a larger batch."""
        if self.batch_shape == batch_shape:
            return self
        wide = self._rebuild(**{f.name: getattr(self, f.name) for f in fields(self)})
        object.__setattr__(wide, "batch_shape", batch_shape)
        return wide


def _parts(value: Batched | tuple[Batched, ...]) -> tuple[Batched, ...]:
    return value if isinstance(value, tuple) else (value,)


def _brief(value: Any) -> str:
    """Return numbers if they are few, and the shape if they are many."""
    if not isinstance(value, np.ndarray):
        return repr(value)
    if value.size > FEW:
        return f"<{' x '.join(map(str, value.shape))} numbers>"
    return np.array2string(value, precision=6, separator=", ")
