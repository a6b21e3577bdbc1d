"""Normal observations with unknown mean and variance.

The conjugate prior is the normal-inverse-gamma [murphy2007]_: ``x ~ N(m, v)``,
``m | v ~ N(location, v / strength)``, ``v ~ InvGamma(shape, rate)``, one independent copy
per feature. In the usual notation (location, strength, shape, rate) are (m0, kappa0, a0, b0).

A spherical normal has one unknown variance that all its features share: ``x_j ~ N(m_j, v)``,
``m_j | v ~ N(location_j, v / strength_j)``, ``v ~ InvGamma(shape, rate)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from credo.distributions.gamma import Gamma
from credo.distributions.inverse_gamma import InverseGamma
from credo.distributions.multivariate_normal import MultivariateNormal
from credo.distributions.multivariate_student_t import MultivariateStudentT
from credo.distributions.normal import Normal
from credo.distributions.parameter import positive, real, require
from credo.distributions.student_t import StudentT
from credo.families.belief import Belief
from credo.families.rows import (
    as_label,
    as_rows,
    as_share,
    as_weight,
    flat_rows,
    weight_by_entry,
    weighted_sum,
)
from credo.families.statistics import Statistics, remaining
from credo.numerics.array import Array, as_float, is_constant, usual_variance
from credo.numerics.example import Example
from credo.numerics.form import FINITE, Form
from credo.numerics.linear.grouped import group_moments, share_moments

__all__ = ["NormalInverseGamma", "NormalStatistics", "SphericalNormalInverseGamma"]


@dataclass(frozen=True, eq=False)
class NormalStatistics(Statistics):
    """Weight, mean and scatter of a sample, feature by feature.

    ``a + b`` describes the pooled sample, so one object serves a batch, a stream, a
    map-reduce job and, with fractional weights, the E step of EM. ``a - b`` forgets
    ``b``, as a sliding window or a collapsed Gibbs sweep must.

    Attributes
    ----------
    weight, mean
        Summed weight and weighted mean, shape (..., n_features); no weight, mean zero.
    scatter
        Weighted sum of squares about the mean.
    """

    weight: Annotated[Array, Form("...", 0.0)]
    mean: Annotated[Array, Form("...")]
    scatter: Annotated[Array, Form("...", 0.0, FINITE)]

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return examples for the laws, and for saving."""
        rows = np.random.default_rng(0).normal(size=(7, 2)) @ [[2.0, 0.6], [0.6, 1.0]]
        return (Example(cls.of(rows), rows=rows),)

    @classmethod
    def of(cls, x: ArrayLike, weight: ArrayLike = 1.0) -> NormalStatistics:
        """Summarize the rows of ``x``; a NaN is a missing value and carries no weight."""
        rows = as_rows(x)
        values, weights = weight_by_entry(rows, as_weight(weight, len(rows)))
        total = weights.sum(axis=0)
        # Shares first: the product of a value and a subnormal weight has few digits.
        shares = weights / np.where(total > 0, total, 1.0)
        guess = weighted_sum(shares, values)
        shift = values - guess
        # The first mean of many rows has lost digits; what is left about it corrects both.
        rest = weighted_sum(shares, shift)
        scatter = np.einsum("i...,i...,i...->...", weights, shift, shift) - total * rest**2
        return cls(total, guess + rest, np.maximum(scatter, 0.0))

    @classmethod
    def by_group(
        cls, x: ArrayLike, label: ArrayLike, k: int, weight: ArrayLike = 1.0
    ) -> NormalStatistics:
        """Summarize each of ``k`` groups in one pass; arrays get a leading group axis."""
        rows = as_float(x) if np.ndim(x) else as_rows(x)
        n = len(rows)
        sums = group_moments(flat_rows(rows), as_label(label, n, k), k, as_weight(weight, n))
        # Infinity anywhere shows in the sums, so that rows need no pass of their own.
        if not all(np.isfinite(part).all() for part in sums):
            as_rows(x)
        return cls(*(part.reshape(k, *rows.shape[1:]) for part in sums))

    @classmethod
    def by_share(cls, x: ArrayLike, share: ArrayLike) -> NormalStatistics:
        """Summarize components in which every row has a share (n, K), in one pass."""
        rows = as_rows(x)
        shares = as_share(share, len(rows))
        shape = (shares.shape[1], *rows.shape[1:])
        sums = share_moments(flat_rows(rows), shares)
        return cls(*(part.reshape(shape) for part in sums))

    def __add__(self, other: NormalStatistics) -> NormalStatistics:
        # Raw sums of squares would cancel when |mean| >> std; this form does not [chan1983]_.
        weight = self.weight + other.weight
        share = other.weight / np.where(weight > 0, weight, 1.0)
        shift = other.mean - self.mean
        scatter = self.scatter + other.scatter + self.weight * share * shift**2
        return NormalStatistics(weight, self.mean + share * shift, scatter)

    def __sub__(self, other: NormalStatistics) -> NormalStatistics:
        weight = remaining(self.weight, other.weight)
        ratio = other.weight / np.where(weight > 0, weight, 1.0)
        shift = self.mean - other.mean
        scatter = self.scatter - other.scatter - self.weight * ratio * shift**2
        # Rounding may leave a scatter just below zero, which no sample has.
        return NormalStatistics(
            weight,
            np.where(weight > 0, self.mean + ratio * shift, 0.0),
            np.where(weight > 0, np.maximum(scatter, 0.0), 0.0),
        )

    def pooled(self) -> NormalStatistics:
        """Return the statistics of all groups together."""
        weight = self.weight.sum(axis=0)
        mean = (self.weight * self.mean).sum(axis=0) / np.where(weight > 0, weight, 1.0)
        between = self.weight * (self.mean - mean) ** 2
        return NormalStatistics(weight, mean, (self.scatter + between).sum(axis=0))

    def variance(self) -> Array:
        """Return the maximum likelihood variance, with 1/n; zero without observations."""
        return np.asarray(self.scatter / np.where(self.weight > 0, self.weight, 1.0))

    def is_constant(self) -> NDArray[np.bool_]:
        """Return which features vary by no more than rounding error, or were never observed."""
        return is_constant(self.mean, np.sqrt(self.variance()))

    def usual_variance(self) -> Array:
        """Return the variance; where nothing varies the squared mean, or one if it is zero."""
        return usual_variance(self.mean, self.variance())

    def maximum_likelihood(self) -> Normal:
        """Return the observation distribution at the observed mean and variance."""
        variance = require(
            "scatter",
            self.variance(),
            lambda v: v > 0,
            "positive for maximum likelihood",
            "Observe two different values, or use the mode or mean of a belief.",
        )
        return Normal(self.mean, np.sqrt(variance))


@dataclass(frozen=True, eq=False)
class NormalInverseGamma(Belief):
    """Belief about the mean and variance of a normal; prior and posterior alike.

    Attributes
    ----------
    location, strength
        Expected mean, and the number of observations that knowledge is worth.
    shape, rate
        Parameters of the inverse gamma belief about the variance.

    Examples
    --------
    >>> prior = NormalInverseGamma(location=0.0, strength=1.0, shape=1.0, rate=1.0)
    >>> posterior = prior.update(NormalStatistics.of([[1.0], [2.0], [3.0]]))
    >>> float(posterior.location[0]), float(posterior.strength[0])
    (1.5, 4.0)
    """

    location: Array
    strength: Array
    shape: Array
    rate: Array
    learns_from: ClassVar[type[NormalStatistics]] = NormalStatistics

    def __init__(
        self, location: ArrayLike, strength: ArrayLike, shape: ArrayLike, rate: ArrayLike
    ) -> None:
        self._fill(
            location=real("location", location),
            strength=positive("strength", strength),
            shape=positive("shape", shape),
            rate=positive("rate", rate),
        )

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return examples for the laws, and for saving."""
        data = NormalStatistics.examples()[0].arguments
        return (Example(cls([0.3, -1.0], 0.7, 1.5, 2.0), statistics=NormalStatistics, **data),)

    @classmethod
    def weak(cls, pooled: NormalStatistics) -> NormalInverseGamma:
        """Return a prior worth a hundredth of an observation, in the units of the data."""
        return cls(pooled.mean, 0.01, 1.0, pooled.usual_variance())

    def update(self, statistics: NormalStatistics) -> NormalInverseGamma:
        """Return the posterior; updating by parts equals updating by their sum."""
        n, shift = statistics.weight, statistics.mean - self.location
        strength = self.strength + n
        scatter = statistics.scatter + self.strength * n / strength * shift**2
        return NormalInverseGamma(
            location=self.location + n / strength * shift,
            strength=strength,
            shape=self.shape + 0.5 * n,
            rate=self.rate + 0.5 * scatter,
        )

    def marginal_mean(self) -> StudentT:
        """Return the belief about the mean, the variance integrated out."""
        return StudentT(
            2.0 * self.shape, self.location, np.sqrt(self.rate / (self.shape * self.strength))
        )

    def marginal_variance(self) -> InverseGamma:
        """Return the belief about the variance."""
        return InverseGamma(self.shape, self.rate)

    def mean(self) -> Normal:
        """Return the observation distribution at the expected mean and variance."""
        excess = require(
            "shape - 1",
            self.shape - 1.0,
            lambda v: v > 0,
            "positive for the variance to have an expectation",
            "Use mode(), or a prior with a shape above 1.",
        )
        return Normal(self.location, np.sqrt(self.rate / excess))

    def mode(self) -> Normal:
        """Return the observation distribution at the jointly most probable parameters."""
        return Normal(self.location, np.sqrt(self.rate / (self.shape + 1.5)))

    def log_density_at(self, observation: Normal) -> Array:
        """Return the log density of mean and variance of an observation distribution."""
        about = Normal(self.location, observation.scale / np.sqrt(self.strength))
        log_variance = self.marginal_variance().log_prob(observation.scale**2)
        return np.asarray(about.log_prob(observation.loc) + log_variance)

    def sample(self, rng: np.random.Generator, n: int | None = None) -> Normal:
        """Return the observation distribution at ``n`` drawn means and variances."""
        scale = np.sqrt(self.marginal_variance().sample(rng, n))
        loc = Normal(self.location, scale / np.sqrt(self.strength)).sample(rng)
        return Normal(loc, scale)

    def predictive(self) -> StudentT:
        """Return the distribution of the next observation."""
        variance = self.rate * (self.strength + 1.0) / (self.shape * self.strength)
        return StudentT(2.0 * self.shape, self.location, np.sqrt(variance))

    def log_evidence(self, statistics: NormalStatistics) -> Array:
        """Return the log density of the summarized data under this belief."""
        gain = self._log_normalizer() - self.update(statistics)._log_normalizer()
        return np.asarray(gain - 0.5 * statistics.weight * np.log(2 * np.pi))

    def expected_log_density(self, x: ArrayLike) -> Array:
        """Return the mean over this belief of ``log p(x | mean, variance)``; NaN gives NaN."""
        log_variance = np.log(self.rate) - special.digamma(self.shape)
        square = (as_float(x) - self.location) ** 2 * self.shape / self.rate
        return np.asarray(
            -0.5 * (np.log(2 * np.pi) + log_variance + square + 1.0 / self.strength)
        )

    def kl(self, other: NormalInverseGamma) -> Array:
        """Return the divergence of ``other`` from this belief, in nats."""
        precision = self.shape / self.rate
        ratio = other.strength / self.strength
        shift = other.strength * precision * (self.location - other.location) ** 2
        about_mean = 0.5 * (ratio - 1.0 - np.log(ratio) + shift)
        # A divergence does not change when both sides speak of 1 / v instead of v.
        return about_mean + Gamma(self.shape, self.rate).kl(Gamma(other.shape, other.rate))

    def _log_normalizer(self) -> Array:
        log_power = self.shape * np.log(self.rate) + 0.5 * np.log(self.strength)
        return np.asarray(log_power - special.gammaln(self.shape))


@dataclass(frozen=True, eq=False)
class SphericalNormalInverseGamma(Belief):
    """Belief about the means and the one variance of a spherical normal.

    It learns from `NormalStatistics`; features may miss different rows.

    Attributes
    ----------
    location, strength
        Expected mean of each feature, and the number of observations that knowledge is
        worth, shape (..., n_features).
    shape, rate
        Parameters of the inverse gamma belief about the variance, shape (...).

    Examples
    --------
    >>> prior = SphericalNormalInverseGamma([0.0, 0.0], strength=1.0, shape=1.0, rate=1.0)
    >>> posterior = prior.update(NormalStatistics.of([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]]))
    >>> posterior.location, float(posterior.shape), float(posterior.rate)
    (array([1.5, 0. ]), 4.0, 3.5)
    """

    location: Array
    strength: Array
    shape: Array
    rate: Array
    _event_dims: ClassVar[dict[str, int]] = {"location": 1, "strength": 1}
    learns_from: ClassVar[type[NormalStatistics]] = NormalStatistics
    _is_joint: ClassVar[bool] = True

    def __init__(
        self, location: ArrayLike, strength: ArrayLike, shape: ArrayLike, rate: ArrayLike
    ) -> None:
        centers, worth = np.broadcast_arrays(
            np.atleast_1d(real("location", location)), positive("strength", strength)
        )
        self._fill(
            location=centers,
            strength=worth,
            shape=positive("shape", shape),
            rate=positive("rate", rate),
        )

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return examples for the laws, and for saving."""
        data = NormalStatistics.examples()[0].arguments
        return (
            Example(
                cls([0.3, -1.0], [0.7, 1.1], 1.5, 2.0),
                statistics=NormalStatistics,
                **data,
                maximum_likelihood=False,
            ),
        )

    @classmethod
    def weak(cls, pooled: NormalStatistics) -> SphericalNormalInverseGamma:
        """Return a prior worth a hundredth of an observation, in the units of the data."""
        is_flat, usual = pooled.is_constant(), pooled.usual_variance()
        # Features in one unit: those that vary say what variance is usual for all.
        is_seen = ~is_flat | is_flat.all(axis=-1, keepdims=True)
        return cls(pooled.mean, 0.01, 1.0, np.where(is_seen, usual, 0.0).mean(axis=-1))

    def update(self, statistics: NormalStatistics) -> SphericalNormalInverseGamma:
        """Return the posterior; updating by parts equals updating by their sum."""
        n, shift = statistics.weight, statistics.mean - self.location
        strength = self.strength + n
        scatter = statistics.scatter + self.strength * n / strength * shift**2
        return SphericalNormalInverseGamma(
            location=self.location + n / strength * shift,
            strength=strength,
            shape=self.shape + 0.5 * n.sum(axis=-1),
            rate=self.rate + 0.5 * scatter.sum(axis=-1),
        )

    def maximum_likelihood(self, statistics: NormalStatistics) -> Normal:
        """Return the normals of one variance, the mean of those of the features."""
        alike = NormalStatistics(
            statistics.weight.sum(axis=-1, keepdims=True),
            statistics.mean,
            statistics.scatter.sum(axis=-1, keepdims=True),
        )
        return alike.maximum_likelihood()

    def marginal_mean(self) -> MultivariateStudentT:
        """Return the belief about the means, the variance integrated out."""
        return self._student_t(1.0 / self.strength)

    def marginal_variance(self) -> InverseGamma:
        """Return the belief about the variance."""
        return InverseGamma(self.shape, self.rate)

    def mean(self) -> MultivariateNormal:
        """Return the observation distribution at the expected means and variance."""
        excess = require(
            "shape - 1",
            self.shape - 1.0,
            lambda v: v > 0,
            "positive for the variance to have an expectation",
            "Use mode(), or a prior with a shape above 1.",
        )
        return self._observation(self.location, self.rate / excess)

    def mode(self) -> MultivariateNormal:
        """Return the observation distribution at the jointly most probable parameters."""
        n_features = self.location.shape[-1]
        return self._observation(
            self.location, self.rate / (self.shape + 1.0 + 0.5 * n_features)
        )

    def log_density_at(self, observation: MultivariateNormal) -> Array:
        """Return the log density of the means and of the one variance."""
        variance = observation.form.dense()[..., 0, 0]
        scale = np.sqrt(variance[..., None] / self.strength)
        log_means = Normal(self.location, scale).log_prob(observation.loc).sum(axis=-1)
        return np.asarray(log_means + self.marginal_variance().log_prob(variance))

    def sample(self, rng: np.random.Generator, n: int | None = None) -> MultivariateNormal:
        """Return the observation distribution at ``n`` drawn means and variances."""
        variance = self.marginal_variance().sample(rng, n)
        scale = np.sqrt(variance[..., None] / self.strength)
        return self._observation(Normal(self.location, scale).sample(rng), variance)

    def predictive(self) -> MultivariateStudentT:
        """Return the joint distribution of the next row."""
        return self._student_t(1.0 + 1.0 / self.strength)

    def log_evidence(self, statistics: NormalStatistics) -> Array:
        """Return the log density of the summarized data, all features together."""
        gain = self._log_normalizer() - self.update(statistics)._log_normalizer()
        return np.asarray(gain - 0.5 * statistics.weight.sum(axis=-1) * np.log(2 * np.pi))

    def expected_log_density(self, x: ArrayLike) -> Array:
        """Return the mean over this belief of ``log p(row | means, variance)``, shape (...).

        A missing feature adds nothing.
        """
        log_variance = np.log(self.rate) - special.digamma(self.shape)
        squares = (as_float(x) - self.location) ** 2 * (self.shape / self.rate)[..., None]
        terms = np.log(2 * np.pi) + log_variance[..., None] + squares + 1.0 / self.strength
        return np.asarray(-0.5 * np.where(np.isnan(terms), 0.0, terms).sum(axis=-1))

    def kl(self, other: SphericalNormalInverseGamma) -> Array:
        """Return the divergence of ``other`` from this belief, in nats."""
        precision = (self.shape / self.rate)[..., None]
        ratio = other.strength / self.strength
        shift = other.strength * precision * (self.location - other.location) ** 2
        about_means = 0.5 * (ratio - 1.0 - np.log(ratio) + shift).sum(axis=-1)
        about_variance = Gamma(self.shape, self.rate).kl(Gamma(other.shape, other.rate))
        return np.asarray(about_means + about_variance)

    def _observation(self, loc: Array, variance: Array) -> MultivariateNormal:
        return MultivariateNormal(loc, variance[..., None, None] * np.eye(loc.shape[-1]))

    def _student_t(self, factor: Array) -> MultivariateStudentT:
        """Return the t whose scale matrix is the typical variance times ``factor``."""
        diagonal = (self.rate / self.shape)[..., None] * factor
        scale_matrix = diagonal[..., None] * np.eye(diagonal.shape[-1])
        return MultivariateStudentT(2.0 * self.shape, self.location, scale_matrix)

    def _log_normalizer(self) -> Array:
        log_power = self.shape * np.log(self.rate) + 0.5 * np.log(self.strength).sum(axis=-1)
        return np.asarray(log_power - special.gammaln(self.shape))
