"""How an observation of a spin comes about: the likelihood of both of its values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from credo.numerics.array import Array, as_float

__all__ = ["BitFlip", "GaussianNoise", "SpinNoise", "as_noise", "check_levels", "noise_beyond"]

# Fewer observations than this may all lie on one side by chance.
_ENOUGH = 64
# Below this standard deviation nothing would be left for the neighbors to say.
_LEAST_NOISE = 0.1


@runtime_checkable
class SpinNoise(Protocol):
    """An observation model: the log likelihood of each observation, for spin -1 and spin 1."""

    def log_likelihood(self, y: Array) -> tuple[Array, Array]:
        """Return log p(y | -1) and log p(y | 1), in the shape of ``y``."""
        ...


@dataclass(frozen=True)
class GaussianNoise:
    """An observation is ``low`` or ``high``, for spin -1 or 1, plus normal noise.

    Attributes
    ----------
    scale
        Standard deviation of the noise.
    low, high
        Expected observations of the two values.

    Examples
    --------
    >>> low, high = GaussianNoise(1.0).log_likelihood(np.array([0.5]))
    >>> float(high[0] - low[0])
    1.0
    """

    scale: float = 1.0
    low: float = -1.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.scale) and self.scale > 0):
            raise ValueError(
                f"scale of the noise must be positive; found {self.scale}. "
                "Pass a standard deviation in the units of the observations."
            )

    def log_likelihood(self, y: Array) -> tuple[Array, Array]:
        """Return log normal densities of the observations."""
        norm = -0.5 * np.log(2 * np.pi) - np.log(self.scale)
        low, high = ((y - level) / self.scale for level in (self.low, self.high))
        return norm - 0.5 * low**2, norm - 0.5 * high**2


@dataclass(frozen=True)
class BitFlip:
    """An observation is the spin itself, or with some probability its opposite.

    Attributes
    ----------
    probability
        Of a flip, between 0 and 1 and neither.
    """

    probability: float

    def __post_init__(self) -> None:
        if not 0 < self.probability < 1:
            raise ValueError(
                f"probability of a flip must be between 0 and 1; found {self.probability}. "
                "For observations without error fix the spins instead."
            )

    def log_likelihood(self, y: Array) -> tuple[Array, Array]:
        """Return log probabilities of observed spins -1 and 1."""
        found = y[~(np.isnan(y) | (np.abs(y) == 1))]
        if found.size:
            raise ValueError(
                f"observations through BitFlip must be -1 or 1; found {found[0]:g}. "
                "Code the two values as -1 and 1, or use GaussianNoise."
            )
        kept, flipped = np.log1p(-self.probability), np.log(self.probability)
        low, high = np.where(y < 0, kept, flipped), np.where(y < 0, flipped, kept)
        return np.where(np.isnan(y), np.nan, low), np.where(np.isnan(y), np.nan, high)


@dataclass(frozen=True)
class _Function:
    """An observation model from a function L(y, x), called with every y and x = -1 or 1."""

    function: Callable[[Array, float], ArrayLike]

    def log_likelihood(self, y: Array) -> tuple[Array, Array]:
        low, high = (
            np.where(np.isnan(y), np.nan, as_float(self.function(y, x))) for x in (-1.0, 1.0)
        )
        return low, high


def as_noise(
    noise: float | SpinNoise | Callable[[Array, float], ArrayLike],
) -> SpinNoise:
    """Return an observation model from a standard deviation, a model or a function."""
    if isinstance(noise, SpinNoise):
        return noise
    if callable(noise):
        return _Function(noise)
    return GaussianNoise(float(noise))


def noise_beyond(y: ArrayLike) -> float:
    """Return the standard deviation of noise around -1 and 1, from the mean of squares.

    Whatever the spins are, ``E[y ** 2] = 1 + noise ** 2``.

    Examples
    --------
    >>> round(noise_beyond([1.5, -1.5, 0.5, -0.5, 2.0, -1.0]), 4)
    0.8165
    """
    squares = float(np.nanmean(as_float(y) ** 2)) if np.size(y) else 1.0
    return max(float(np.sqrt(max(squares - 1.0, 0.0))), _LEAST_NOISE)


def check_levels(y: Array, scale: float) -> None:
    """Raise if observations cannot be -1 or 1 plus noise: gray levels, or zeros and ones.

    The mean of such observations is between -1 and 1, and of many with small values on one
    side of zero some are on the other.
    """
    seen = y[~np.isnan(y)]
    if not seen.size:
        return
    # A deviation of few observations is no measure of their noise.
    own = float(seen.std()) if seen.size >= _ENOUGH // 4 else max(scale, float(seen.std()))
    spread = own / np.sqrt(seen.size)
    size = np.abs(seen)
    one_sided = bool(np.all(seen >= 0) or np.all(seen <= 0)) and seen.size >= _ENOUGH
    if abs(float(seen.mean())) <= 1.0 + 6.0 * spread and not (
        one_sided and np.mean(size < 0.5) > 0.25
    ):
        return
    raise ValueError(
        "observations with normal noise must lie around -1 and 1; found values from "
        f"{seen.min():.4g} to {seen.max():.4g} with mean {seen.mean():.4g}. Pass "
        "noise=GaussianNoise(scale, low, high) with the levels of the two values, or rescale."
    )
