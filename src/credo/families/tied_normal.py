"""Normal vectors in groups that have their own means and share one covariance.

``x ~ N(m_g, V)`` for a row of group g, ``m_g | V ~ N(location_g, V / strength_g)``,
``V ~ InvWishart(df, scale_matrix)``: the model behind linear discriminant analysis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from credo.distributions.inverse_wishart import InverseWishart
from credo.distributions.multivariate_normal import MultivariateNormal
from credo.distributions.multivariate_student_t import MultivariateStudentT
from credo.distributions.parameter import positive, real, square
from credo.families.belief import Belief
from credo.families.multivariate_normal import (
    MultivariateNormalStatistics,
    NormalInverseWishart,
    degrees_of_freedom,
    diagonal_covariance,
    log_inverse_wishart_normalizer,
)
from credo.numerics.array import Array
from credo.numerics.example import Example

__all__ = ["TiedNormalInverseWishart"]


@dataclass(frozen=True, eq=False)
class TiedNormalInverseWishart(Belief):
    """Belief about the means of k groups and the one covariance within all of them.

    It learns from `MultivariateNormalStatistics.by_group`.

    Attributes
    ----------
    location, strength
        Expected mean of each group, shape (..., k, d), and the number of observations it is
        worth, shape (..., k).
    df, scale_matrix
        Parameters of the inverse Wishart belief about the covariance, shapes (...) and
        (..., d, d).

    Examples
    --------
    >>> prior = TiedNormalInverseWishart(np.zeros((2, 1)), 1.0, 2.0, [[1.0]])
    >>> groups = MultivariateNormalStatistics.by_group([[1.0], [3.0], [9.0]], [0, 0, 1], 2)
    >>> posterior = prior.update(groups)
    >>> posterior.location[:, 0].round(3), float(posterior.df)
    (array([1.333, 4.5  ]), 5.0)
    """

    location: Array
    strength: Array
    df: Array
    scale_matrix: Array
    _event_dims: ClassVar[dict[str, int]] = {"location": 2, "strength": 1, "scale_matrix": 2}

    def __init__(
        self, location: ArrayLike, strength: ArrayLike, df: ArrayLike, scale_matrix: ArrayLike
    ) -> None:
        matrix = square("scale_matrix", scale_matrix)
        centers = np.atleast_2d(real("location", location))
        worth = positive("strength", strength)
        self._fill(
            location=centers,
            strength=np.broadcast_to(
                worth, np.broadcast_shapes(worth.shape, centers.shape[-2:-1])
            ),
            df=degrees_of_freedom(df, matrix.shape[-1]),
            scale_matrix=matrix,
        )

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return examples for the laws, and for saving."""
        prior = cls([[0.3, -1.0], [0.0, 0.5]], [0.7, 1.1], 4.5, [[2.0, 0.6], [0.6, 1.0]])
        rows = MultivariateNormalStatistics.examples()[0].arguments["rows"]
        grouped = np.column_stack([rows, [0, 1, 0, 0, 1, 1, 0]])
        read = GroupLast.read
        return (
            Example(
                prior, statistics=GroupLast, rows=grouped, read=read, maximum_likelihood=False
            ),
        )

    @classmethod
    def weak(cls, groups: MultivariateNormalStatistics) -> TiedNormalInverseWishart:
        """Return a prior whose means are each worth a hundredth of an observation."""
        pooled = groups.pooled()
        k, d = groups.mean.shape
        location = np.broadcast_to(pooled.mean, (k, d))
        return cls(location, 0.01, d + 2.0, diagonal_covariance(pooled))

    def update(self, statistics: MultivariateNormalStatistics) -> TiedNormalInverseWishart:
        """Return the posterior; updating by parts equals updating by their sum."""
        n, shift = statistics.weight, statistics.mean - self.location
        strength = self.strength + n
        # Rows scaled by a root of their weight, so that all groups are one product.
        scaled = np.sqrt(self.strength * n / strength)[..., None] * shift
        between = scaled.swapaxes(-1, -2) @ scaled
        return TiedNormalInverseWishart(
            location=self.location + (n / strength)[..., None] * shift,
            strength=strength,
            df=self.df + n.sum(axis=-1),
            scale_matrix=self.scale_matrix + statistics.scatter.sum(axis=-3) + between,
        )

    def groups(self) -> NormalInverseWishart:
        """Return the belief about each group by itself, as a batch of k."""
        return NormalInverseWishart(
            self.location, self.strength, self.df[..., None], self.scale_matrix[..., None, :, :]
        )

    def marginal_covariance(self) -> InverseWishart:
        """Return the belief about the covariance."""
        return InverseWishart(self.df, self.scale_matrix)

    def mean(self) -> MultivariateNormal:
        """Return the k observation distributions at the expected means and covariance."""
        return self.groups().mean()

    def mode(self) -> MultivariateNormal:
        """Return the k observation distributions at the jointly most probable parameters."""
        k, d = self.location.shape[-2:]
        divisor = (self.df + d + 1.0 + k)[..., None, None]
        return MultivariateNormal(self.location, (self.scale_matrix / divisor)[..., None, :, :])

    def sample(self, rng: np.random.Generator, n: int | None = None) -> MultivariateNormal:
        """Return the k observation distributions at ``n`` draws of means and covariance."""
        covariance = self.marginal_covariance().sample(rng, n)[..., None, :, :]
        means = MultivariateNormal(self.location, covariance / self.strength[..., None, None])
        return MultivariateNormal(means.sample(rng), covariance)

    def predictive(self) -> MultivariateStudentT:
        """Return the distribution of the next row of each group."""
        return self.groups().predictive()

    def log_evidence(self, statistics: MultivariateNormalStatistics) -> Array:
        """Return the log density of the data of all groups together, shape (...)."""
        gain = self._log_normalizer() - self.update(statistics)._log_normalizer()
        n_numbers = statistics.weight.sum(axis=-1) * self.location.shape[-1]
        return np.asarray(gain - 0.5 * n_numbers * np.log(2 * np.pi))

    def expected_log_density(self, x: ArrayLike) -> Array:
        """Return the mean over this belief of ``log p(row | group)``, shape (..., k)."""
        return self.groups().expected_log_density(x)

    def kl(self, other: TiedNormalInverseWishart) -> Array:
        """Return the divergence of ``other`` from this belief, in nats."""
        d = self.location.shape[-1]
        ratio = other.strength / self.strength
        distance = (self.groups().expected_precision().whiten(other.location) ** 2).sum(axis=-1)
        about_mean = 0.5 * (d * (ratio - 1.0 - np.log(ratio)) + other.strength * distance)
        covariance = self.marginal_covariance().kl(other.marginal_covariance())
        return np.asarray(about_mean.sum(axis=-1) + covariance)

    def _log_normalizer(self) -> Array:
        d = self.location.shape[-1]
        about_means = 0.5 * d * np.log(self.strength).sum(axis=-1)
        return np.asarray(
            log_inverse_wishart_normalizer(self.df, self.scale_matrix) + about_means
        )


class GroupLast:
    """Statistics of rows whose last column is their group, which is how laws pass data."""

    @staticmethod
    def of(rows: Array, weight: ArrayLike = 1.0) -> MultivariateNormalStatistics:
        """Return the statistics of two groups."""
        groups = rows[:, -1].astype(np.intp)
        return MultivariateNormalStatistics.by_group(rows[:, :-1], groups, 2, weight)

    @staticmethod
    def read(function: Callable[[Array], Array], row: Array) -> Array:
        """Return a function of the columns, of the group that the row is in."""
        return function(row[:-1])[..., int(row[-1])]
