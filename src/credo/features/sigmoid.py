"""Smooth steps along each input."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from credo.features.additive import AdditiveBasis
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.special.log_domain import sigmoid

__all__ = ["SigmoidBasis"]


@dataclass(frozen=True, eq=False)
class SigmoidBasis(AdditiveBasis):
    """Logistic steps of each input at even centers: ``1 / (1 + exp(-(x - c) / s))``.

    Parameters
    ----------
    n_centers
        Steps per feature; their centers cut the training range into ``n_centers + 1`` equal
        parts.
    slope
        Length s over which a step rises, in the units of X. If None, the distance between
        centers.

    Examples
    --------
    >>> basis = SigmoidBasis(1, slope=1.0).place([[0.0], [1.0], [2.0]])
    >>> basis.design([[1.0], [2.0]]).round(4)
    array([[0.5   ], [0.7311]])
    """

    n_centers: int = 5
    slope: float | None = None

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        return cls(3), Example(cls(2, slope=0.4), unit_free=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_count(n_centers=self.n_centers)
        if self.slope is not None:
            self._require_positive(slope=self.slope)

    def _knots(self, u: Array) -> Array:
        return np.arange(1.0, self.n_centers + 1) / (self.n_centers + 1)

    def _columns(self, u: Array, knots: Array, extent: float) -> Array:
        rise = 1 / (self.n_centers + 1) if self.slope is None else self.slope / extent
        return sigmoid((u[:, None] - knots) / rise)

    def _column_names(self, feature: str, n_knots: int) -> list[str]:
        return [f"sigmoid({feature})[{k}]" for k in range(n_knots)]
