"""The Laplace (double exponential) distribution of one number."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from credo.distributions.location_scale import SymmetricLocationScale
from credo.distributions.parameter import positive, real
from credo.numerics.array import Array

__all__ = ["Laplace"]


@dataclass(frozen=True, eq=False)
class Laplace(SymmetricLocationScale):
    """Laplace distribution, ``exp(-|x - loc| / scale) / (2 scale)``.

    Attributes
    ----------
    loc
        Mean and median.
    scale
        Mean absolute deviation; the standard deviation is ``sqrt(2) * scale``.

    Examples
    --------
    >>> float(Laplace(loc=0.0, scale=2.0).variance())
    8.0
    """

    def __init__(self, loc: ArrayLike, scale: ArrayLike) -> None:
        advice = "Pass the mean absolute deviation."
        self._set(loc=real("loc", loc), scale=positive("scale", scale, advice))

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return cls([0.0, 1.0], 2.0), cls(0.5, 1.0)

    def _standard_log_prob(self, z: Array) -> Array:
        return np.asarray(-np.abs(z) - np.log(2.0))

    def _standard_cdf(self, z: Array) -> Array:
        tail = 0.5 * np.exp(-np.abs(z))
        return np.where(z < 0, tail, 1.0 - tail)

    def _standard_quantile(self, p: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(p < 0.5, np.log(2.0 * p), -np.log(2.0 * (1.0 - p)))

    def _standard_variance(self) -> float:
        return 2.0

    def _standard_entropy(self) -> float:
        return 1.0 + float(np.log(2.0))

    def _standard_distance(self, z: Array) -> Array:
        return np.abs(z) + np.exp(-np.abs(z))

    def _standard_difference(self) -> float:
        return 1.5

    def _standard_draw(self, rng: Generator, shape: tuple[int, ...]) -> Array:
        return rng.laplace(size=shape)

    def _kl(self, other: Self) -> Array:
        gap, ratio = np.abs(self.loc - other.loc), self.scale / other.scale
        return gap / other.scale + ratio * np.exp(-gap / self.scale) - np.log(ratio) - 1.0
