"""The normal (Gaussian) distribution of one number."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy import special

from credo.distributions.location_scale import SCALE_ADVICE, SymmetricLocationScale
from credo.distributions.parameter import positive, real
from credo.numerics.array import Array

__all__ = ["Normal"]

LOG_ROOT_TWO_PI = float(0.5 * np.log(2 * np.pi))


@dataclass(frozen=True, eq=False)
class Normal(SymmetricLocationScale):
    """Normal distribution, ``exp(-((x - loc) / scale)^2 / 2) / (scale sqrt(2 pi))``.

    Attributes
    ----------
    loc
        Mean.
    scale
        Standard deviation.

    Examples
    --------
    >>> Normal(loc=[0.0, 1.0], scale=2.0).cdf(0.0).round(4)
    array([0.5   , 0.3085])
    """

    def __init__(self, loc: ArrayLike, scale: ArrayLike) -> None:
        self._set(loc=real("loc", loc), scale=positive("scale", scale, SCALE_ADVICE))

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return cls([0.0, 1.0], 2.0), cls(1.0, 1.0)

    def _standard_log_prob(self, z: Array) -> Array:
        with np.errstate(over="ignore"):
            return -0.5 * z * z - LOG_ROOT_TWO_PI

    def _standard_cdf(self, z: Array) -> Array:
        return np.asarray(special.ndtr(z))

    def _standard_quantile(self, p: Array) -> Array:
        return np.asarray(special.ndtri(p))

    def _standard_variance(self) -> float:
        return 1.0

    def _standard_entropy(self) -> float:
        return 0.5 + LOG_ROOT_TWO_PI

    def _standard_distance(self, z: Array) -> Array:
        peak = 2.0 * np.exp(self._standard_log_prob(z))
        return np.asarray(z * special.erf(z / np.sqrt(2.0)) + peak)

    def _standard_difference(self) -> float:
        return float(2.0 / np.sqrt(np.pi))

    def _standard_draw(self, rng: Generator, shape: tuple[int, ...]) -> Array:
        return rng.standard_normal(shape)

    def _kl(self, other: Self) -> Array:
        ratio = self.scale / other.scale
        shift = (self.loc - other.loc) / other.scale
        return 0.5 * (ratio**2 + shift**2 - 1.0) - np.log(ratio)
