"""Immutable values whose parameters share leading batch axes."""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

__all__ = ["Batched"]

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
