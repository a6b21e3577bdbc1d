"""A kernel parted into that of a function and white noise, which is of every outcome anew.

Rows that repeat share the function and not the noise, so whoever merges rows, or asks for the
function without noise, must know which is which.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from credo.features.kernels.equality import White
from credo.features.kernels.kernel import (
    Evaluated,
    HeldKernel,
    Kernel,
    ProductKernel,
    ScaledKernel,
    SelectedKernel,
    SumKernel,
    UnitKernel,
)
from credo.numerics.array import Array

__all__ = ["PartedKernel", "has_white", "is_noise"]


def has_white(kernel: Kernel) -> bool:
    """Return whether some of a kernel is white noise."""
    return any(isinstance(leaf, White) for leaf in kernel.leaves)


def is_noise(kernel: Kernel) -> bool:
    """Return whether a kernel is white noise and nothing else."""
    return _pieces(kernel)[0] is None


class _Piece(NamedTuple):
    """A part of a kernel, and the place in it of each of its parameters."""

    kernel: Kernel
    places: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class PartedKernel:
    """A kernel as the sum of that of a function and of white noise.

    Both may learn the same parameter, such as the variance of ``2.0 * (Matern52() + White())``.

    Attributes
    ----------
    smooth
        What is not white, with as many addends as the kernel has that are not white alone.
    white
        What is zero between any two rows; None if nothing is.
    smooth_places, white_places
        Which parameters of the whole kernel those of each are.
    n_parameters
        How many parameters the whole kernel has.

    Examples
    --------
    >>> from credo.features import Matern52
    >>> parted = PartedKernel.of(2.0 * (Matern52(1.0) + White(0.3)))
    >>> parted.smooth, parted.white
    (2 * (Matern52(length_scale=1.0)), 2 * (White(variance=0.3)))
    >>> parted.noise(np.zeros((2, 1)))[0]
    array([0.6, 0.6])
    """

    smooth: Kernel
    white: Kernel | None
    smooth_places: NDArray[np.intp]
    white_places: NDArray[np.intp]
    n_parameters: int

    @classmethod
    def of(cls, kernel: Kernel) -> Self:
        """Return the parts of a kernel; refuse one that is noise alone."""
        smooth, white = _pieces(kernel)
        if smooth is None:
            raise ValueError(
                "a kernel must have a part that is not White, which is noise and no function; "
                f"found {kernel!r}. Write kernel + White(), such as Matern52() + White()."
            )
        none = np.empty(0, dtype=np.intp)
        return cls(
            smooth.kernel,
            None if white is None else white.kernel,
            np.array(smooth.places, dtype=np.intp),
            none if white is None else np.array(white.places, dtype=np.intp),
            len(kernel.parameters),
        )

    def at(self, log_parameters: Array) -> Self:
        """Return the parts with other values of the parameters of the whole kernel."""
        white = self.white
        return type(self)(
            self.smooth.at(log_parameters[self.smooth_places]),
            None if white is None else white.at(log_parameters[self.white_places]),
            self.smooth_places,
            self.white_places,
            self.n_parameters,
        )

    def noise(self, X: Array) -> Evaluated:
        """Return the variance of white noise at rows, (n,), and its pull-back, to (p,)."""
        if self.white is None:
            return np.zeros(len(X)), lambda w: np.zeros(self.n_parameters)
        variance, pull = self.white.evaluated_diagonal(X)
        return variance, lambda w: self._whole(pull(w), self.white_places)

    def by_parameter(self, by_smooth: Array) -> Array:
        """Return the gradient by all parameters from that by those of the function."""
        return self._whole(by_smooth, self.smooth_places)

    def _whole(self, part: Array, places: NDArray[np.intp]) -> Array:
        return np.bincount(places, part, self.n_parameters).astype(np.float64)


_Pieces = tuple[_Piece | None, _Piece | None]


def _pieces(kernel: Kernel) -> _Pieces:
    """Return the function and the white noise of a kernel, None where there is none."""
    whole = _Piece(kernel, tuple(range(len(kernel.parameters))))
    if not has_white(kernel):
        return whole, None
    if isinstance(kernel, SumKernel):
        smooth, white = zip(*_placed_parts(kernel), strict=True)
        return _added(smooth), _added(white)
    if isinstance(kernel, ProductKernel):
        return _expanded(_placed_parts(kernel))
    if isinstance(kernel, ScaledKernel):
        first, second = _pieces(kernel.kernel)
        return _scaled(kernel, first), _scaled(kernel, second)
    if isinstance(kernel, SelectedKernel):
        first, second = _pieces(kernel.kernel)
        return _selected(kernel, first), _selected(kernel, second)
    if isinstance(kernel, UnitKernel):
        first, second = _pieces(kernel.kernel)
        return _in_units(kernel, first), _in_units(kernel, second)
    if isinstance(kernel, HeldKernel):
        first, second = _pieces(kernel.kernel)
        return _held(kernel, first), _held(kernel, second)
    return None, whole


def _placed_parts(kernel: SumKernel | ProductKernel) -> list[_Pieces]:
    """Return the pieces of each part, with places in the whole."""
    found, start = [], 0
    for part in kernel.parts:
        first, second = _pieces(part)
        found.append((_shifted(first, start), _shifted(second, start)))
        start += len(part.parameters)
    return found


def _shifted(piece: _Piece | None, start: int) -> _Piece | None:
    if piece is None:
        return None
    return piece._replace(places=tuple(start + place for place in piece.places))


def _joined(kind: type[SumKernel] | type[ProductKernel], pieces: list[_Piece]) -> _Piece:
    places = tuple(place for piece in pieces for place in piece.places)
    return _Piece(kind(tuple(piece.kernel for piece in pieces)), places)


def _added(pieces: tuple[_Piece | None, ...]) -> _Piece | None:
    kept = [piece for piece in pieces if piece is not None]
    return _joined(SumKernel, kept) if kept else None


def _multiplied(first: _Piece | None, second: _Piece | None) -> _Piece | None:
    if first is None or second is None:
        return None
    return _joined(ProductKernel, [first, second])


def _expanded(factors: list[_Pieces]) -> _Pieces:
    """Return the product ``(s + w) (t + v) = s t + (w t + w v + s v)`` of parted factors."""

    def product(left: _Pieces, right: _Pieces) -> _Pieces:
        smooth = _multiplied(left[0], right[0])
        pairs = ((left[1], right[0]), (left[1], right[1]), (left[0], right[1]))
        return smooth, _added(tuple(_multiplied(one, two) for one, two in pairs))

    return reduce(product, factors)


def _scaled(kernel: ScaledKernel, piece: _Piece | None) -> _Piece | None:
    if piece is None:
        return None
    places = (0, *(1 + place for place in piece.places))
    return _Piece(ScaledKernel(piece.kernel, kernel.variance), places)


def _selected(kernel: SelectedKernel, piece: _Piece | None) -> _Piece | None:
    if piece is None:
        return None
    return piece._replace(kernel=SelectedKernel(piece.kernel, kernel.columns))


def _in_units(kernel: UnitKernel, piece: _Piece | None) -> _Piece | None:
    if piece is None:
        return None
    return piece._replace(kernel=UnitKernel(piece.kernel, kernel.units))


def _held(kernel: HeldKernel, piece: _Piece | None) -> _Piece | None:
    if piece is None:
        return None
    is_free, number = kernel.is_free, np.cumsum(kernel.is_free) - 1
    pairs = list(zip(piece.kernel.parameters, piece.places, strict=True))
    names = tuple(parameter.name for parameter, place in pairs if not is_free[place])
    places = tuple(int(number[place]) for place in piece.places if is_free[place])
    return _Piece(HeldKernel(piece.kernel, names), places)
