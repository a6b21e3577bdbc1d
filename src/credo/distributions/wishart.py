"""The Wishart distribution of a positive definite matrix, and the inverse-Wishart.

A precision has the first, a covariance the second.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy import special

from credo.distributions.distribution import Distribution
from credo.distributions.elliptical import Covariance, dense_form
from credo.distributions.parameter import real
from credo.numerics.array import Array
from credo.numerics.linear.linear_algebra import cholesky, solve_lower

__all__ = ["InverseWishart", "MatrixDistribution", "Wishart", "pair_products"]


@dataclass(frozen=True, eq=False)
class MatrixDistribution(Distribution):
    """A distribution of symmetric positive definite matrices with a scale matrix.

    Attributes
    ----------
    df
        Degrees of freedom, above ``d - 1``, shape (*batch).
    form
        The scale matrix as it is stored, shape (*batch, d, d).
    """

    df: Array
    form: Covariance

    def __init__(self, df: ArrayLike, scale_matrix: ArrayLike) -> None:
        form = dense_form("scale_matrix", scale_matrix)
        self._set(df=_degrees(df, form), form=form)

    def require_valid(self) -> None:
        """Raise an error unless degrees of freedom and matrix are valid and agree."""
        self.form.require_valid()
        _degrees(self.df, self.form)
        _ = self.batch_shape

    @property
    def scale_matrix(self) -> Array:
        """The scale matrix, shape (*batch, d, d)."""
        return self.form.dense()

    @property
    def dimension(self) -> int:
        """Number of rows of an outcome."""
        return self.form.dimension

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one outcome, (d, d)."""
        return (self.dimension, self.dimension)

    def variance(self) -> Array:
        """Return the variance of each entry, shape (*batch, d, d)."""
        return np.array(np.einsum("...ijij->...ij", self.covariance()))

    @abstractmethod
    def covariance(self) -> Array:
        """Return the covariance of entries (i, j) and (k, l), shape (*batch, d, d, d, d)."""

    def _log_gamma(self) -> Array:
        """Return the log of the multivariate gamma function at half the degrees of freedom."""
        return np.asarray(special.multigammaln(0.5 * self.df, self.dimension))

    def _digamma(self) -> Array:
        """Return the multivariate digamma function at half the degrees of freedom."""
        steps = 0.5 * (self.df[..., None] - np.arange(self.dimension))
        return np.asarray(special.digamma(steps).sum(axis=-1))

    def _times(self, factor: Array) -> Array:
        """Return the scale matrix times one number per entry of the batch."""
        matrix = factor[..., None, None] * self.scale_matrix
        return np.array(np.broadcast_to(matrix, self.batch_shape + self.event_shape))


@dataclass(frozen=True, eq=False, init=False)
class Wishart(MatrixDistribution):
    """Wishart: the scatter of ``df`` normal vectors whose covariance is the scale matrix.

    ``|X|^((df - d - 1) / 2) exp(-trace(V^-1 X) / 2)``, normalized; the mean is ``df V``.

    Examples
    --------
    >>> Wishart(df=4.0, scale_matrix=np.eye(2)).mean()
    array([[4., 0.],
           [0., 4.]])
    """

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        spread = [[2.0, 0.6], [0.6, 1.0]]
        return cls(5.0, spread), cls(4.0, np.eye(2))

    def log_prob(self, x: ArrayLike) -> Array:
        """Return the log density of matrices in the last two axes of ``x``."""
        factor = cholesky(x, largest_jitter=0.0)
        columns = factor.lower.swapaxes(-1, -2)
        trace = (self.form[..., None].whiten(columns) ** 2).sum(axis=(-2, -1))
        power = (self.df - self.dimension - 1.0) * factor.log_det()
        return np.asarray(0.5 * (power - trace) - self._log_normalizer())

    def _log_normalizer(self) -> Array:
        log_scale = self.dimension * np.log(2.0) + self.form.log_det()
        return np.asarray(0.5 * self.df * log_scale + self._log_gamma())

    def mean(self) -> Array:
        """Return ``df V``."""
        return self._times(self.df)

    def mode(self) -> Array:
        """Return ``(df - d - 1) V``; NaN where ``df < d + 1`` and the density has no peak."""
        excess = self.df - self.dimension - 1.0
        return self._times(np.where(excess >= 0, excess, np.nan))

    def covariance(self) -> Array:
        """Return ``df (V_ik V_jl + V_il V_jk)``, shape (*batch, d, d, d, d)."""
        scale = self._times(np.ones(()))
        return np.asarray(self.df[..., None, None, None, None] * pair_products(scale))

    def mean_log_det(self) -> Array:
        """Return the expected log determinant."""
        log_scale = self.dimension * np.log(2.0) + self.form.log_det()
        return self._full(self._digamma() + log_scale)

    def entropy(self) -> Array:
        """Return the expectation of ``-log_prob``, in nats."""
        power = 0.5 * (self.df - self.dimension - 1.0) * self.mean_log_det()
        return self._full(self._log_normalizer() - power + 0.5 * self.df * self.dimension)

    def _draw(self, rng: Generator, shape: tuple[int, ...]) -> Array:
        # Bartlett: a triangle of normals with chi variables on its diagonal [bartlett1933]_.
        triangle = np.tril(rng.standard_normal(shape + self.event_shape), -1)
        degrees = self.df[..., None] - np.arange(self.dimension)
        index = np.arange(self.dimension)
        triangle[..., index, index] = np.sqrt(
            rng.chisquare(degrees, size=(*shape, self.dimension))
        )
        rows = self.form[..., None].color(triangle.swapaxes(-1, -2))
        return np.asarray(rows.swapaxes(-1, -2) @ rows)

    def _kl(self, other: Self) -> Array:
        size = self.dimension
        roots = self.form[..., None].color(np.eye(size))
        trace = (other.form[..., None].whiten(roots) ** 2).sum(axis=(-2, -1))
        log_ratio = other.form.log_det() - self.form.log_det()
        gain = other._log_gamma() - self._log_gamma()
        slope = 0.5 * (self.df - other.df) * self._digamma()
        return np.asarray(
            0.5 * (other.df * log_ratio + self.df * (trace - size)) + gain + slope
        )


def pair_products(matrix: Array) -> Array:
    """Return ``M_ik M_jl + M_il M_jk``."""
    crossed = np.einsum("...ik,...jl->...ijkl", matrix, matrix)
    return np.asarray(crossed + crossed.swapaxes(-1, -2))


def _degrees(df: ArrayLike, form: Covariance) -> Array:
    degrees = real("df", df)
    if np.any(degrees <= form.dimension - 1):
        raise ValueError(
            f"df must be above {form.dimension - 1}, one less than the size of the matrix; "
            f"found {degrees.min():g}. Raise df."
        )
    return degrees


@dataclass(frozen=True, eq=False, init=False)
class InverseWishart(MatrixDistribution):
    """Inverse Wishart: the inverse of a Wishart matrix whose scale is the inverse of this one.

    ``|X|^(-(df + d + 1) / 2) exp(-trace(S X^-1) / 2)``, normalized; the mean is
    ``S / (df - d - 1)``.

    Examples
    --------
    >>> InverseWishart(df=5.0, scale_matrix=2.0 * np.eye(2)).mean()
    array([[1., 0.],
           [0., 1.]])
    """

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        spread = [[2.0, 0.6], [0.6, 1.0]]
        return cls(9.0, spread), cls(7.0, np.eye(2))

    def inverse(self) -> Wishart:
        """Return the distribution of the inverse matrix."""
        return Wishart(self.df, cholesky(self.scale_matrix).inverse())

    def log_prob(self, x: ArrayLike) -> Array:
        """Return the log density of matrices in the last two axes of ``x``."""
        factor = cholesky(x, largest_jitter=0.0)
        root = self.form[..., None].color(np.eye(self.dimension)).swapaxes(-1, -2)
        trace = (solve_lower(factor.lower, root) ** 2).sum(axis=(-2, -1))
        power = (self.df + self.dimension + 1.0) * factor.log_det()
        return np.asarray(-0.5 * (power + trace) - self._log_normalizer())

    def _log_normalizer(self) -> Array:
        log_scale = self.dimension * np.log(2.0) - self.form.log_det()
        return np.asarray(0.5 * self.df * log_scale + self._log_gamma())

    def _excess(self, least: float) -> Array:
        """Return ``df - d - least``, NaN where that is not positive."""
        excess = self.df - self.dimension - least
        return np.where(excess > 0, excess, np.nan)

    def mean(self) -> Array:
        """Return ``S / (df - d - 1)``; NaN where ``df <= d + 1``."""
        return self._times(1.0 / self._excess(1.0))

    def mode(self) -> Array:
        """Return ``S / (df + d + 1)``."""
        return self._times(1.0 / (self.df + self.dimension + 1.0))

    def covariance(self) -> Array:
        """Return the covariance of entries (i, j) and (k, l), shape (*batch, d, d, d, d).

        ``(2 S_ij S_kl / m + S_ik S_jl + S_il S_jk) / ((m + 1) m (m - 2))`` with
        ``m = df - d - 1``; NaN where ``m <= 2``.
        """
        scale = self._times(np.ones(()))
        same = 2.0 * np.einsum("...ij,...kl->...ijkl", scale, scale)
        first, third = self._excess(1.0), self._excess(3.0)
        numerator = same / first[..., None, None, None, None] + pair_products(scale)
        return np.asarray(
            numerator / (self._excess(0.0) * first * third)[..., None, None, None, None]
        )

    def mean_log_det(self) -> Array:
        """Return the expected log determinant."""
        log_scale = self.dimension * np.log(2.0) - self.form.log_det()
        return self._full(-self._digamma() - log_scale)

    def entropy(self) -> Array:
        """Return the expectation of ``-log_prob``, in nats."""
        power = 0.5 * (self.df + self.dimension + 1.0) * self.mean_log_det()
        return self._full(self._log_normalizer() + power + 0.5 * self.df * self.dimension)

    def _draw(self, rng: Generator, shape: tuple[int, ...]) -> Array:
        wishart = self.inverse()._spread_to(self.batch_shape)
        return cholesky(wishart._draw(rng, shape)).inverse()

    def _kl(self, other: Self) -> Array:
        size = self.dimension
        roots = other.form[..., None].color(np.eye(size))
        trace = (self.form[..., None].whiten(roots) ** 2).sum(axis=(-2, -1))
        log_ratio = self.form.log_det() - other.form.log_det()
        gain = other._log_gamma() - self._log_gamma()
        slope = 0.5 * (self.df - other.df) * self._digamma()
        return np.asarray(
            0.5 * (other.df * log_ratio + self.df * (trace - size)) + gain + slope
        )
