"""Normal vectors with unknown mean and full covariance, alone or in groups that share it.

The conjugate prior is the normal-inverse-Wishart [murphy2007]_: ``x ~ N(m, V)``,
``m | V ~ N(location, V / strength)``, ``V ~ InvWishart(df, scale_matrix)``. In the usual
notation (location, strength, df, scale_matrix) are (m0, kappa0, nu0, S0).

Groups with their own means and one tied covariance are the model behind linear discriminant
analysis: ``x ~ N(m_g, V)`` for a row of group g, ``m_g | V ~ N(location_g, V / strength_g)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from credo.distributions.multivariate_normal import MultivariateNormal
from credo.distributions.multivariate_student_t import MultivariateStudentT
from credo.distributions.parameter import positive, real, require, square
from credo.distributions.wishart import InverseWishart
from credo.families.belief import Belief
from credo.families.rows import as_complete_rows, as_label, as_share, as_weight
from credo.families.statistics import Statistics, remaining
from credo.numerics.array import Array, usual_variance
from credo.numerics.example import Example
from credo.numerics.form import FINITE, Form
from credo.numerics.linear.grouped import group_scatter_matrices, share_scatters
from credo.numerics.linear.linear_algebra import cholesky
from credo.numerics.linear.moments import Moments

__all__ = ["MultivariateNormalStatistics", "NormalInverseWishart", "TiedNormalInverseWishart"]


@dataclass(frozen=True, eq=False)
class MultivariateNormalStatistics(Statistics):
    """Weight, mean and scatter matrix of rows; ``a + b`` pools, ``a - b`` forgets.

    Attributes
    ----------
    weight
        Summed weight of the rows, shape (...).
    mean
        Weighted mean, shape (..., n_features); zero without weight.
    scatter
        Weighted sum of outer products about the mean, shape (..., n_features, n_features).
    """

    weight: Annotated[Array, Form("...", 0.0)]
    mean: Annotated[Array, Form("... d")]
    scatter: Annotated[Array, Form("... d d", -FINITE, FINITE)]
    _event_dims: ClassVar[dict[str, int]] = {"mean": 1, "scatter": 2}

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return examples for the laws, and for saving."""
        rows = np.random.default_rng(0).normal(size=(7, 2)) @ [[2.0, 0.6], [0.6, 1.0]]
        return (Example(cls.of(rows), rows=rows),)

    @classmethod
    def of(cls, x: ArrayLike, weight: ArrayLike = 1.0) -> MultivariateNormalStatistics:
        """Summarize rows ``x`` (n_samples, n_features); a missing value is refused."""
        weights = as_weight(weight, len(np.asarray(x)))
        rows = as_complete_rows(x, weights)
        moments = Moments.of([rows], None if _all_one(weight) else weights)
        return cls(np.array(moments.weight), moments.mean, moments.scatter)

    @classmethod
    def by_group(
        cls, x: ArrayLike, label: ArrayLike, k: int, weight: ArrayLike = 1.0
    ) -> MultivariateNormalStatistics:
        """Summarize each of ``k`` groups, each row read once; arrays get a group axis."""
        weights = as_weight(weight, len(np.asarray(x)))
        rows = as_complete_rows(x, weights)
        labels = as_label(label, len(rows), k)
        return cls(
            *group_scatter_matrices(rows, labels, k, None if _all_one(weight) else weights)
        )

    @classmethod
    def by_share(cls, x: ArrayLike, share: ArrayLike) -> MultivariateNormalStatistics:
        """Summarize components in which every row has a share (n, K)."""
        shares = as_share(share, len(np.asarray(x)))
        rows = as_complete_rows(x, shares.sum(axis=1))
        found = share_scatters(rows, shares)
        if found is not None:
            return cls(*found)
        parts = [Moments.of([rows], np.ascontiguousarray(each)) for each in shares.T]
        return cls(
            np.array([part.weight for part in parts], dtype=np.float64),
            np.stack([part.mean for part in parts]),
            np.stack([part.scatter for part in parts]),
        )

    def __add__(self, other: MultivariateNormalStatistics) -> MultivariateNormalStatistics:
        # Raw sums of squares would cancel when |mean| >> std; this form does not [chan1983]_.
        weight = self.weight + other.weight
        share = other.weight / np.where(weight > 0, weight, 1.0)
        shift = other.mean - self.mean
        scatter = self.scatter + other.scatter + _outer(self.weight * share, shift)
        return MultivariateNormalStatistics(
            weight, self.mean + share[..., None] * shift, scatter
        )

    def __sub__(self, other: MultivariateNormalStatistics) -> MultivariateNormalStatistics:
        weight = remaining(self.weight, other.weight)
        ratio = other.weight / np.where(weight > 0, weight, 1.0)
        shift = self.mean - other.mean
        mean = self.mean + ratio[..., None] * shift
        scatter = self.scatter - other.scatter - _outer(self.weight * ratio, shift)
        return MultivariateNormalStatistics(
            weight,
            np.where(weight[..., None] > 0, mean, 0.0),
            np.where(weight[..., None, None] > 0, scatter, 0.0),
        )

    def pooled(self) -> MultivariateNormalStatistics:
        """Return the statistics of all groups together."""
        weight = self.weight.sum(axis=0)
        share = self.weight / np.where(weight > 0, weight, 1.0)
        mean = (share[..., None] * self.mean).sum(axis=0)
        between = _outer(self.weight, self.mean - mean)
        return MultivariateNormalStatistics(weight, mean, (self.scatter + between).sum(axis=0))

    def covariance(self) -> Array:
        """Return the maximum likelihood covariance, with 1/n; zero without observations."""
        weight = np.where(self.weight > 0, self.weight, 1.0)
        return np.asarray(self.scatter / weight[..., None, None])

    def maximum_likelihood(self) -> MultivariateNormal:
        """Return the observation distribution at the observed mean and covariance."""
        return MultivariateNormal(self.mean, _definite(self.covariance()))

    def tied_maximum_likelihood(self) -> MultivariateNormal:
        """Return one observation distribution per group, with one covariance for all."""
        within = self.scatter.sum(axis=0) / max(float(self.weight.sum()), 1e-300)
        return MultivariateNormal(self.mean, _definite(within))


@dataclass(frozen=True, eq=False)
class NormalInverseWishart(Belief):
    """Belief about the mean vector and covariance of a normal; prior and posterior alike.

    Attributes
    ----------
    location, strength
        Expected mean, shape (..., d), and the number of observations it is worth.
    df, scale_matrix
        Parameters of the inverse Wishart belief about the covariance: ``df > d - 1`` and a
        positive definite matrix, shape (..., d, d).

    Examples
    --------
    >>> prior = NormalInverseWishart([0.0, 0.0], 1.0, 4.0, np.eye(2))
    >>> rows = MultivariateNormalStatistics.of([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]])
    >>> posterior = prior.update(rows)
    >>> posterior.location, float(posterior.df), posterior.scale_matrix
    (array([1.5, 0. ]), 7.0, array([[6., 0.], [0., 1.]]))
    """

    location: Array
    strength: Array
    df: Array
    scale_matrix: Array
    _event_dims: ClassVar[dict[str, int]] = {"location": 1, "scale_matrix": 2}
    learns_from: ClassVar[type[MultivariateNormalStatistics]] = MultivariateNormalStatistics
    _is_joint: ClassVar[bool] = True

    def __init__(
        self, location: ArrayLike, strength: ArrayLike, df: ArrayLike, scale_matrix: ArrayLike
    ) -> None:
        matrix = square("scale_matrix", scale_matrix)
        self._fill(
            location=np.atleast_1d(real("location", location)),
            strength=positive("strength", strength),
            df=degrees_of_freedom(df, matrix.shape[-1]),
            scale_matrix=matrix,
        )

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return examples for the laws, and for saving."""
        data = MultivariateNormalStatistics.examples()[0].arguments
        return (
            Example(
                cls([0.3, -1.0], 0.7, 4.5, [[2.0, 0.6], [0.6, 1.0]]),
                statistics=MultivariateNormalStatistics,
                **data,
            ),
        )

    @classmethod
    def weak(cls, pooled: MultivariateNormalStatistics) -> NormalInverseWishart:
        """Return a prior worth a hundredth of an observation, in the units of the data.

        The expected covariance is the diagonal of the pooled one.
        """
        d = pooled.mean.shape[-1]
        return cls(pooled.mean, 0.01, d + 2.0, diagonal_covariance(pooled))

    def update(self, statistics: MultivariateNormalStatistics) -> NormalInverseWishart:
        """Return the posterior; updating by parts equals updating by their sum."""
        n, shift = statistics.weight, statistics.mean - self.location
        strength = self.strength + n
        between = _outer(self.strength * n / strength, shift)
        return NormalInverseWishart(
            location=self.location + (n / strength)[..., None] * shift,
            strength=strength,
            df=self.df + n,
            scale_matrix=self.scale_matrix + statistics.scatter + between,
        )

    def marginal_mean(self) -> MultivariateStudentT:
        """Return the belief about the mean vector, the covariance integrated out."""
        return self._student_t(1.0 / self.strength)

    def marginal_covariance(self) -> InverseWishart:
        """Return the belief about the covariance."""
        return InverseWishart(self.df, self.scale_matrix)

    def mean(self) -> MultivariateNormal:
        """Return the observation distribution at the expected mean and covariance."""
        d = self.location.shape[-1]
        excess = require(
            "df",
            self.df,
            lambda df: df > d + 1,
            f"above {d + 1} for the covariance to have an expectation",
            "Use mode(), or a prior with more degrees of freedom.",
        )
        return MultivariateNormal(self.location, _over(self.scale_matrix, excess - d - 1.0))

    def mode(self) -> MultivariateNormal:
        """Return the observation distribution at the jointly most probable parameters."""
        d = self.location.shape[-1]
        return MultivariateNormal(self.location, _over(self.scale_matrix, self.df + d + 2.0))

    def log_density_at(self, observation: MultivariateNormal) -> Array:
        """Return the log density of mean and covariance of an observation distribution."""
        covariance = observation.form.dense()
        about = MultivariateNormal(self.location, _over(covariance, self.strength))
        return np.asarray(
            about.log_prob(observation.loc) + self.marginal_covariance().log_prob(covariance)
        )

    def sample(self, rng: np.random.Generator, n: int | None = None) -> MultivariateNormal:
        """Return the observation distribution at ``n`` drawn means and covariances."""
        covariance = self.marginal_covariance().sample(rng, n)
        means = MultivariateNormal(self.location, _over(covariance, self.strength))
        return MultivariateNormal(means.sample(rng), covariance)

    def predictive(self) -> MultivariateStudentT:
        """Return the distribution of the next row."""
        return self._student_t(1.0 + 1.0 / self.strength)

    def log_evidence(self, statistics: MultivariateNormalStatistics) -> Array:
        """Return the log density of the summarized data under this belief, shape (...)."""
        d = self.location.shape[-1]
        gain = self._log_normalizer() - self.update(statistics)._log_normalizer()
        return np.asarray(gain - 0.5 * d * statistics.weight * np.log(2 * np.pi))

    def expected_log_density(self, x: ArrayLike) -> Array:
        """Return the mean over this belief of ``log p(row | mean, covariance)``."""
        d = self.location.shape[-1]
        half_df = 0.5 * (self.df[..., None] - np.arange(d))
        log_gap = special.digamma(half_df).sum(axis=-1) - d * np.log(0.5 * self.df)
        return np.asarray(
            self.expected_precision().log_prob(x) + 0.5 * log_gap - 0.5 * d / self.strength
        )

    def kl(self, other: NormalInverseWishart) -> Array:
        """Return the divergence of ``other`` from this belief, in nats."""
        ratio = other.strength / self.strength
        distance = (self.expected_precision().whiten(other.location) ** 2).sum(axis=-1)
        d = self.location.shape[-1]
        about_mean = 0.5 * (d * (ratio - 1.0 - np.log(ratio)) + other.strength * distance)
        about_covariance = self.marginal_covariance().kl(other.marginal_covariance())
        return np.asarray(about_mean + about_covariance)

    def expected_precision(self) -> MultivariateNormal:
        """Return the observation distribution at the expected mean and inverse covariance."""
        return MultivariateNormal(self.location, _over(self.scale_matrix, self.df))

    def _student_t(self, factor: Array) -> MultivariateStudentT:
        """Return the t whose scale matrix is the typical covariance times ``factor``."""
        df = self.df - self.location.shape[-1] + 1.0
        return MultivariateStudentT(df, self.location, _over(self.scale_matrix, df / factor))

    def _log_normalizer(self) -> Array:
        d = self.location.shape[-1]
        return np.asarray(
            log_inverse_wishart_normalizer(self.df, self.scale_matrix)
            + 0.5 * d * np.log(self.strength)
        )


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
    learns_from: ClassVar[type[MultivariateNormalStatistics]] = MultivariateNormalStatistics
    _is_joint: ClassVar[bool] = True
    has_components: ClassVar[bool] = True

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

    def maximum_likelihood(
        self, statistics: MultivariateNormalStatistics
    ) -> MultivariateNormal:
        """Return the k observation distributions of largest likelihood, one covariance."""
        return statistics.tied_maximum_likelihood()

    def component(self, c: int) -> NormalInverseWishart:
        """Return the belief about one group by itself."""
        return self.groups()[c]

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

    def log_density_at(self, observation: MultivariateNormal) -> Array:
        """Return the log density of the means and of the covariance that they share."""
        shared = observation.form.dense()
        covariance = shared[..., 0, :, :] if shared.ndim > 2 else shared
        about = MultivariateNormal(
            self.location, covariance[..., None, :, :] / self.strength[..., None, None]
        )
        log_means = about.log_prob(observation.loc).sum(axis=-1)
        return np.asarray(log_means + self.marginal_covariance().log_prob(covariance))

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


def degrees_of_freedom(df: ArrayLike, dimension: int) -> Array:
    """Return ``df`` if it is enough for a matrix of ``dimension`` rows."""
    return require(
        "df",
        df,
        lambda v: (v > dimension - 1) & np.isfinite(v),
        f"above n_features - 1 = {dimension - 1}",
        f"Pass {dimension + 2} for a weak belief whose expected covariance is scale_matrix.",
    )


def diagonal_covariance(pooled: MultivariateNormalStatistics) -> Array:
    """Return the observed variances as a diagonal matrix, a usual one where nothing varies."""
    variance = usual_variance(pooled.mean, np.diagonal(pooled.covariance(), axis1=-2, axis2=-1))
    return np.asarray(variance[..., None] * np.eye(variance.shape[-1]))


def log_inverse_wishart_normalizer(df: Array, scale_matrix: Array) -> Array:
    """Return the log of what makes an inverse Wishart density integrate to one."""
    d = scale_matrix.shape[-1]
    log_det = cholesky(scale_matrix, largest_jitter=0.0).log_det()
    return np.asarray(
        0.5 * df * (log_det - d * np.log(2.0)) - special.multigammaln(0.5 * df, d)
    )


def _all_one(weight: ArrayLike) -> bool:
    return np.ndim(weight) == 0 and float(np.asarray(weight)) == 1.0


def _outer(weight: Array, shift: Array) -> Array:
    return np.asarray(weight[..., None, None] * shift[..., :, None] * shift[..., None, :])


def _over(matrix: Array, divisor: Array) -> Array:
    return np.asarray(matrix / divisor[..., None, None])


def _definite(covariance: Array) -> Array:
    """Return ``covariance`` unless some direction has no variance."""
    std = np.sqrt(np.maximum(np.diagonal(covariance, axis1=-2, axis2=-1), 0.0))
    unit = np.where(std > 0, std, 1.0)
    correlation = covariance / (unit[..., :, None] * unit[..., None, :])
    require(
        "the smallest variance of any direction, in units of its features,",
        np.linalg.eigvalsh(correlation)[..., 0],
        lambda smallest: smallest > 1e-12,
        "positive for maximum likelihood",
        "Observe more rows than features, drop columns that repeat others, or use a belief.",
    )
    return covariance
