"""Sines and cosines of each input."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from credo.features.additive import AdditiveBasis
from credo.numerics.array import Array, as_float
from credo.numerics.example import Example

__all__ = ["FourierBasis"]


@dataclass(frozen=True, eq=False)
class FourierBasis(AdditiveBasis):
    """Harmonics of each input: ``sin(2 pi k x / period)`` and ``cos(2 pi k x / period)``.

    Parameters
    ----------
    n_harmonics
        Highest multiple k of the base frequency; 2 columns each.
    period
        A number for all features, or one per feature, in the units of X. If None, the range
        of the training inputs, counted from its lower end; such a function has equal values at
        both ends, so add a `LinearBasis` where that is not wanted.

    Examples
    --------
    >>> basis = FourierBasis(1, period=4.0).place([[0.0], [1.0], [2.0]])
    >>> basis.names(["hour"])
    ['sin(hour)', 'cos(hour)']
    >>> basis.design([[1.0]]).round(6) + 0.0
    array([[1., 0.]])
    """

    n_harmonics: int = 3
    period: ArrayLike | None = None

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        return cls(2), Example(cls(2, period=[1.5, 2.0]), unit_free=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_count(n_harmonics=self.n_harmonics)
        if self.period is not None:
            self._require_positive(period=self.period)
            period = as_float(self.period)
            object.__setattr__(self, "period", period if period.ndim else float(period))

    def _frame(self, X: Array) -> tuple[Array, Array]:
        if self.period is None:
            return super()._frame(X)
        return np.zeros(X.shape[1]), np.broadcast_to(as_float(self.period), X.shape[1]).copy()

    def _knots(self, u: Array) -> Array:
        return np.arange(1.0, self.n_harmonics + 1)

    def _columns(self, u: Array, knots: Array, extent: float) -> Array:
        # Powers of one complex exponential; whole turns are taken off first, because sines of
        # huge angles lose their phase. 1j * conj(z) is sin + 1j * cos.
        turn = np.exp(-2j * np.pi * (u - np.floor(u)))
        waves = np.full((len(u), len(knots)), turn[:, None]).cumprod(axis=1)
        waves *= 1j
        return waves.view(np.float64)

    def _column_names(self, feature: str, n_knots: int) -> list[str]:
        orders = range(1, n_knots + 1)
        angles = [feature if k == 1 else f"{k}*{feature}" for k in orders]
        return [f"{wave}({angle})" for angle in angles for wave in ("sin", "cos")]
