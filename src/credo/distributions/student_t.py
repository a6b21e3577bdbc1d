"""Student's t distribution of one number."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy import special

from credo.distributions.location_scale import SymmetricLocationScale
from credo.distributions.parameter import positive, real
from credo.numerics.array import Array

__all__ = ["StudentT"]


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

    def mean(self) -> Array:
        """Return ``loc``, or NaN where ``df <= 1``."""
        return self._full(np.where(self.df > 1, self.loc, np.nan))

    def variance(self) -> Array:
        """Return the variance: infinite for ``1 < df <= 2``, NaN for ``df <= 1``."""
        df = np.where(self.df > 2, self.df, np.nan)
        finite = self.scale**2 * df / (df - 2)
        none = np.where(self.df > 1, np.inf, np.nan)
        return self._full(np.where(self.df > 2, finite, none))

    def _standard_log_prob(self, z: Array) -> Array:
        half = 0.5 * self.df
        return -self._log_normalizer() - (half + 0.5) * np.log1p(z * z / self.df)

    def _log_normalizer(self) -> Array:
        return np.asarray(0.5 * np.log(self.df) + special.betaln(0.5 * self.df, 0.5))

    def _standard_cdf(self, z: Array) -> Array:
        return np.asarray(special.stdtr(self.df, z))

    def _standard_quantile(self, p: Array) -> Array:
        # SciPy answers +inf at probability zero.
        return np.where(p == 0, -np.inf, special.stdtrit(self.df, p))

    def _standard_entropy(self) -> Array:
        half = 0.5 * self.df
        spread = special.digamma(half + 0.5) - special.digamma(half)
        return np.asarray((half + 0.5) * spread + self._log_normalizer())

    def _standard_distance(self, z: Array) -> Array:
        df = np.where(self.df > 1, self.df, np.nan)
        slope = (df + z * z) / (df - 1) * np.exp(self._standard_log_prob(z))
        return np.asarray(z * (2.0 * self._standard_cdf(z) - 1.0) + 2.0 * slope)

    def _standard_difference(self) -> Array:
        df = np.where(self.df > 1, self.df, np.nan)
        log_ratio = special.betaln(0.5, df - 0.5) - 2.0 * special.betaln(0.5, 0.5 * df)
        return np.asarray(4.0 * np.sqrt(df) / (df - 1) * np.exp(log_ratio))

    def _standard_draw(self, rng: Generator, shape: tuple[int, ...]) -> Array:
        return rng.standard_t(np.broadcast_to(self.df, shape))
