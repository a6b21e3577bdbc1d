"""The inverse-Wishart distribution of a positive definite matrix, such as a covariance."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from credo.distributions.wishart import MatrixDistribution, Wishart, pair_products
from credo.numerics.array import Array
from credo.numerics.linear.linear_algebra import cholesky, solve_lower

__all__ = ["InverseWishart"]


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
        # A divergence does not change when both matrices are replaced by their inverses.
        return self.inverse().kl(other.inverse())
