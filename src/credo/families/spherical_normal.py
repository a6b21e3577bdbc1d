"""Normal observations whose features have unknown means and share one unknown variance.

``x_j ~ N(m_j, v)``, ``m_j | v ~ N(location_j, v / strength_j)``, ``v ~ InvGamma(shape, rate)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from credo.distributions.gamma import Gamma
from credo.distributions.inverse_gamma import InverseGamma
from credo.distributions.multivariate_normal import MultivariateNormal
from credo.distributions.multivariate_student_t import MultivariateStudentT
from credo.distributions.normal import Normal
from credo.distributions.parameter import positive, real, require
from credo.families.belief import Belief
from credo.families.normal import NormalStatistics
from credo.numerics.array import Array, as_float
from credo.numerics.example import Example

__all__ = ["SphericalNormalInverseGamma"]


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
        """Return the mean over this belief of ``log p(row | means, variance)``, shape (...)."""
        log_variance = np.log(self.rate) - special.digamma(self.shape)
        squares = (as_float(x) - self.location) ** 2 * (self.shape / self.rate)[..., None]
        terms = np.log(2 * np.pi) + log_variance[..., None] + squares + 1.0 / self.strength
        return np.asarray(-0.5 * terms.sum(axis=-1))

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
