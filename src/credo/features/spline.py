"""Cubic B-splines of each input."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from credo.features.additive import AdditiveBasis
from credo.numerics.array import Array

__all__ = ["SplineBasis"]

_PLACEMENTS = ("quantile", "uniform")
_SMALLEST_GAP = 1e-6


@dataclass(frozen=True, eq=False)
class SplineBasis(AdditiveBasis):
    """Cubic B-splines of each input, continued by straight lines outside the training range.

    Parameters
    ----------
    n_knots
        Knots per feature, both ends of the training range included: ``n_knots + 1`` columns.
        A feature with few distinct values gets fewer; one with less than four enters linearly.
    placement
        ``"quantile"``: as many training values between one knot and the next, equal knots
        merged; ``"uniform"``: even spacing.

    Notes
    -----
    The ``n_knots + 2`` cubic B-splines sum to one, so the first is left out; with a constant
    the others span all of them. Outside the range each function goes on along its tangent.

    Examples
    --------
    >>> basis = SplineBasis(2, placement="uniform").place([[0.0], [1.0], [2.0], [4.0]])
    >>> basis.names(["age"])
    ['spline(age)[1]', 'spline(age)[2]', 'spline(age)[3]']
    >>> basis.design([[2.0], [4.0], [8.0]])
    array([[ 0.375,  0.375,  0.125], [ 0.   ,  0.   ,  1.   ], [ 0.   , -3.   ,  4.   ]])
    """

    fewest_values: ClassVar[int] = 4

    n_knots: int = 8
    placement: str = "quantile"

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return cls(5), cls(5, placement="uniform")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_count(2, n_knots=self.n_knots)
        if self.placement not in _PLACEMENTS:
            raise ValueError(
                f"placement must be one of {_PLACEMENTS}; found {self.placement!r}. Name one."
            )
        knots = () if self.placed_knots is None else self._knot_rows()
        if not all(_are_apart(row) for row in knots):
            raise ValueError(
                "placed_knots must rise from 0 to 1 in each feature; found others. Call "
                "basis.place(X)."
            )

    def _knots(self, u: Array) -> Array:
        # More functions than distinct values could not be distinguished.
        levels = np.linspace(0, 1, min(self.n_knots, len(np.unique(u)) - 2))
        inner = (np.quantile(u, levels) if self.placement == "quantile" else levels)[1:-1]
        inside = inner[(inner > _SMALLEST_GAP) & (inner < 1 - _SMALLEST_GAP)]
        distinct = np.diff(inside, prepend=0.0) > _SMALLEST_GAP
        return np.concatenate([[0.0], inside[distinct], [1.0]])

    def _columns(self, u: Array, knots: Array, extent: float) -> Array:
        nearest = np.clip(u, 0.0, 1.0)
        design = _cubic_splines(nearest, knots)
        beyond = u - nearest
        low, high = 3 / knots[1], 3 / (1 - knots[-2])
        below, above = np.minimum(beyond, 0.0), np.maximum(beyond, 0.0)
        design[:, 1] += low * below
        design[:, -2] -= high * above
        design[:, -1] += high * above
        return design[:, 1:]

    def _column_names(self, feature: str, n_knots: int) -> list[str]:
        return [f"spline({feature})[{k}]" for k in range(1, n_knots + 2)]


def _are_apart(knots: Array) -> bool:
    is_whole = len(knots) > 1 and knots[0] == 0.0 and knots[-1] == 1.0
    return not len(knots) or bool(is_whole and (np.diff(knots) > 0.5 * _SMALLEST_GAP).all())


def _cubic_splines(u: Array, knots: Array) -> Array:
    """Return the ``len(knots) + 2`` cubic B-splines at ``u`` in [0, 1], by Cox-de Boor.

    At most four are not zero at a point; they grow from the indicator of its interval,
    ``B_{i,k} = (u - t_i) / (t_{i+k} - t_i) B_{i,k-1} + (t_{i+k+1} - u) / (...) B_{i+1,k-1}``.
    """
    t = np.concatenate([np.zeros(3), knots, np.ones(3)])
    interval = np.searchsorted(knots[1:-1], u, side="right") + 3
    local = [np.ones_like(u)]
    for degree in range(1, 4):
        raised = [np.zeros_like(u) for _ in range(degree + 1)]
        for i, value in enumerate(local):
            left, right = t[interval + 1 + i - degree], t[interval + 1 + i]
            share = value / (right - left)
            raised[i] += (right - u) * share
            raised[i + 1] += (u - left) * share
        local = raised
    design = np.zeros((len(u), len(knots) + 2))
    first = interval[:, None] - 3 + np.arange(4)
    np.put_along_axis(design, first, np.stack(local, axis=1), axis=1)
    return design
