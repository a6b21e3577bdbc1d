"""Rows whose columns come from several distributions, side by side and independent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from credo.distributions.distribution import Distribution
from credo.distributions.normal import Normal
from credo.distributions.poisson import Poisson
from credo.numerics.array import Array, as_float

__all__ = ["Columns", "IndependentColumns", "as_columns", "leading_shape"]

Columns = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class IndependentColumns(Distribution):
    """A row of independent parts, each about columns of its own.

    ``p(x) = product over parts of p(x[columns])``. Parts of numbers have a batch axis of
    columns, which is the last; parts of vectors do not.

    Attributes
    ----------
    parts
        Distributions of numbers, batch shape (*batch, n_columns), or of vectors, (*batch).
    columns
        The columns of each part; every column of a row is in one part.

    Examples
    --------
    >>> both = IndependentColumns((Normal(0.0, 1.0), Poisson(2.0)), ((0, 2), (1,)))
    >>> float(both.log_prob([0.0, 2.0, 0.0]).round(4))
    -3.1447
    >>> both.mean()
    array([0., 2., 0.])
    """

    parts: tuple[Distribution, ...]
    columns: Columns
    _shared: ClassVar[frozenset[str]] = frozenset(["columns"])

    def __init__(self, parts: Sequence[Distribution], columns: Sequence[Any]) -> None:
        places = as_columns(columns, len(parts))
        own = [_own_shape(part, place) for part, place in zip(parts, places, strict=True)]
        batch = leading_shape(parts, own)
        wide = [
            part._spread_to((*batch, *shape))[...]
            for part, shape in zip(parts, own, strict=True)
        ]
        self._set(parts=tuple(wide), columns=places)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        first = Normal([[0.0, 1.0], [2.0, 0.0]], 1.5), Poisson([[2.0], [0.5]])
        second = Normal(0.5, 1.0), Poisson(1.0)
        columns = (0, 2), (1,)
        return cls(first, columns), cls(second, columns)

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one row."""
        return (sum(map(len, self.columns)),)

    @property
    def is_discrete(self) -> bool:
        """Whether single rows have positive probability."""
        return all(part.is_discrete for part in self.parts)

    def log_prob(self, x: ArrayLike) -> Array:
        """Return the log density of rows; NaN gives NaN."""
        rows = as_float(x)
        return self._sum(lambda part, columns: part.log_prob(rows[..., columns]))

    def mean(self) -> Array:
        """Return the mean of each column, shape (*batch, d)."""
        return self._row([part.mean() for part in self.parts])

    def variance(self) -> Array:
        """Return the variance of each column, shape (*batch, d)."""
        return self._row([part.variance() for part in self.parts])

    def mode(self) -> NDArray[Any]:
        """Return the most probable row."""
        return self._row([part.mode() for part in self.parts])

    def entropy(self) -> Array:
        """Return the sum of the entropies of the parts."""
        return self._sum(lambda part, _: part.entropy())

    def _kl(self, other: Self) -> Array:
        if self.columns != other.columns:
            raise TypeError(
                "kl between rows of independent parts needs parts of the same columns; found "
                f"{self.columns} and {other.columns}. Order the parts alike."
            )
        pairs = zip(self.parts, other.parts, strict=True)
        return _total([(part, part.kl(one)) for part, one in pairs])

    def _draw(self, rng: Generator, shape: tuple[int, ...]) -> NDArray[Any]:
        leading = shape[: len(shape) - len(self.batch_shape)]
        draws = [part._draw(rng, leading + part.batch_shape) for part in self.parts]
        return self._row(draws)

    def _shapes(self, name: str) -> list[tuple[int, ...]]:
        if name in self._shared:
            return []
        return [_without_columns(part) for part in self.parts]

    def _take(self, name: str, index: tuple[Any, ...]) -> Any:
        if name in self._shared:
            return self.columns
        return tuple(self._taken(part, index) for part in self.parts)

    def _taken(self, part: Distribution, index: tuple[Any, ...]) -> Distribution:
        own = part.batch_shape[len(_without_columns(part)) :]
        # The axis of columns, if there is one, is kept whole.
        kept = (slice(None),) * len(own) if any(i is Ellipsis for i in index) else ()
        return part._spread_to((*self.batch_shape, *own))[(*index, *kept)]

    def _sum(self, values: Callable[[Any, list[int]], Array]) -> Array:
        """Return a number for each row, from those of parts at their columns."""
        return _total(
            [
                (part, values(part, list(columns)))
                for part, columns in zip(self.parts, self.columns, strict=True)
            ]
        )

    def _row(self, values: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Return columns of the parts in the order of a row."""
        order = np.argsort(np.concatenate([np.array(own) for own in self.columns]))
        wide = [
            np.broadcast_to(value, (*value.shape[:-1], len(own)))
            for value, own in zip(values, self.columns, strict=True)
        ]
        return np.asarray(np.concatenate(wide, axis=-1)[..., order])


def as_columns(columns: Sequence[Any], n_parts: int) -> Columns:
    """Return the columns of each part as tuples; each from 0 to d - 1 must be in one part.

    Examples
    --------
    >>> as_columns([1, (0, 2)], 2)
    ((1,), (0, 2))
    """
    places = tuple(
        tuple(int(i) for i in np.atleast_1d(np.asarray(part, dtype=np.intp)))
        for part in columns
    )
    named = sorted(i for place in places for i in place)
    if named != list(range(len(named))) or len(places) != n_parts:
        raise ValueError(
            "columns must name each column of a row, 0, 1, 2, ..., in one of the parts; found "
            f"{places} for {n_parts} parts. Give each part a tuple of columns."
        )
    return places


def leading_shape(parts: Sequence[Any], own: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the batch shape that parts have in common, apart from shapes of their own."""
    leading = [
        part.batch_shape[: max(len(part.batch_shape) - len(shape), 0)]
        for part, shape in zip(parts, own, strict=True)
    ]
    return np.broadcast_shapes(*leading)


def _own_shape(part: Distribution, place: tuple[int, ...]) -> tuple[int, ...]:
    """Return the batch axis that is of columns: one for numbers, none for vectors."""
    if part.event_shape and part.event_shape != (len(place),):
        raise ValueError(
            f"a part of vectors must have as many columns as it is named for, {len(place)}; "
            f"found vectors of {part.event_shape[0]}. Name all columns of the vector."
        )
    return () if part.event_shape else (len(place),)


def _without_columns(part: Distribution) -> tuple[int, ...]:
    return part.batch_shape if part.event_shape else part.batch_shape[:-1]


def _total(terms: Sequence[tuple[Distribution, Array]]) -> Array:
    """Return the sum of the terms of all parts, each summed over its columns of numbers."""
    sums = [term if part.event_shape else term.sum(axis=-1) for part, term in terms]
    return np.asarray(sum(sums))
