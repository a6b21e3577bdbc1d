"""Student's t distribution of one number."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy import special

from credo.distributions.location_scale import SymmetricLocationScale
from credo.distributions.parameter import positive, real
from credo.numerics.array import Array

__all__ = ["StudentT", "digamma_half_step", "log_half_step", "variance_at_unit_scale"]

LARGE = 50.0
LARGEST_SQUARED = 1e100


@dataclass(frozen=True, eq=False)
class StudentT(SymmetricLocationScale):
    """Student's t: a normal whose variance is an unknown inverse-gamma variable.

    Attributes
    ----------
    df
        Degrees of freedom. The mean exists for ``df > 1``, the variance for ``df > 2``.
    loc
        Center.
    scale
        Spread; the standard deviation is ``scale * sqrt(df / (df - 2))``.

    Examples
    --------
    >>> StudentT(df=4.0, loc=1.0, scale=2.0).interval(0.9).round(4)
    array([-3.2637,  5.2637])
    """

    df: Array

    def __init__(self, df: ArrayLike, loc: ArrayLike, scale: ArrayLike) -> None:
        advice = "Use Normal for infinitely many degrees of freedom."
        self._set(
            df=positive("df", df, advice),
            loc=real("loc", loc),
            scale=positive("scale", scale, "Pass the scale, not its square or logarithm."),
        )

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return (cls([6.0, 9.0], 1.0, 2.0),)

    def mean(self) -> Array:
        """Return ``loc``, or NaN where ``df <= 1``."""
        return self._full(np.where(self.df > 1, self.loc, np.nan))

    def _standard_log_prob(self, z: Array) -> Array:
        return -self._log_normalizer() - 0.5 * (self.df + 1.0) * self._log_growth(z)

    def _log_growth(self, z: Array) -> Array:
        """Return ``log(1 + z^2 / df)``, by logarithms where the square would overflow."""
        size = np.abs(z)
        near = np.log1p(np.minimum(size, LARGEST_SQUARED) ** 2 / self.df)
        far = np.logaddexp(0.0, 2.0 * np.log(np.fmax(size, LARGEST_SQUARED)) - np.log(self.df))
        return np.where(size > LARGEST_SQUARED, far, near)

    def _log_normalizer(self) -> Array:
        half = 0.5 * self.df
        return np.asarray(0.5 * np.log(np.pi) + 0.5 * np.log(self.df) - log_half_step(half))

    def _standard_cdf(self, z: Array) -> Array:
        return np.asarray(special.stdtr(self.df, z))

    def _standard_quantile(self, p: Array) -> Array:
        # SciPy answers +inf at probabilities of zero or nearly so.
        found = special.stdtrit(self.df, p)
        return np.where(p < 0.5, -np.abs(found), found)

    def _standard_variance(self) -> Array:
        return variance_at_unit_scale(self.df)

    def _standard_entropy(self) -> Array:
        half = 0.5 * self.df
        return (half + 0.5) * digamma_half_step(half) + self._log_normalizer()

    def _standard_distance(self, z: Array) -> Array:
        df = np.where(self.df > 1, self.df, np.nan)
        # (df + z^2) times the density, as one exponential that vanishes at infinity.
        power = -self._log_normalizer() - 0.5 * (df - 1.0) * self._log_growth(z)
        slope = df / (df - 1.0) * np.exp(power)
        return np.asarray(z * (2.0 * self._standard_cdf(z) - 1.0) + 2.0 * slope)

    def _standard_difference(self) -> Array:
        df = np.where(self.df > 1, self.df, np.nan)
        log_ratio = 2.0 * log_half_step(0.5 * df) - log_half_step(df - 0.5)
        return np.asarray(4.0 * np.sqrt(df / np.pi) / (df - 1.0) * np.exp(log_ratio))

    def _standard_draw(self, rng: Generator, shape: tuple[int, ...]) -> Array:
        return rng.standard_t(np.broadcast_to(self.df, shape))


def log_half_step(x: Array) -> Array:
    """Return ``log Gamma(x + 1/2) - log Gamma(x)``, without cancellation for large ``x``."""
    few, many = np.minimum(x, LARGE), np.maximum(x, LARGE)
    exact = 0.5 * np.log(np.pi) - special.betaln(few, 0.5)
    square = many**-2.0
    series = (-1 / 8 + (1 / 192 + (-1 / 640 + 17 / 14336 * square) * square) * square) / many
    return np.where(x < LARGE, exact, 0.5 * np.log(many) + series)


def digamma_half_step(x: Array) -> Array:
    """Return ``digamma(x + 1/2) - digamma(x)``, the slope of `log_half_step`."""
    few, many = np.minimum(x, LARGE), np.maximum(x, LARGE)
    exact = special.digamma(few + 0.5) - special.digamma(few)
    square = many**-2.0
    even = (1 / 8 + (-1 / 64 + (1 / 128 - 17 / 2048 * square) * square) * square) * square
    return np.where(x < LARGE, exact, 0.5 / many + even)


def variance_at_unit_scale(df: Array) -> Array:
    """Return the variance of a t: infinite for ``1 < df <= 2``, NaN for ``df <= 1``."""
    known = np.where(df > 2, df, np.nan)
    none = np.where(df > 1, np.inf, np.nan)
    return np.where(df > 2, known / (known - 2.0), none)
