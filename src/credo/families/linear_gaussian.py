"""Conjugate beliefs about the weights of a linear-Gaussian regression.

``y = x^T w + noise`` with any normal prior on the weights. `LinearGaussianBelief` knows the
noise precision; `LinearGaussianGamma` does not, and keeps the prior of the weights in units of
the noise [murphy2007]_. Both update by parts: the posterior of one batch is the prior of the
next. A column of ones in ``x`` is an intercept under the prior; `RidgeBelief` has flat
intercepts and learned precisions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from credo.distributions.gamma import Gamma
from credo.distributions.multivariate_normal import MultivariateNormal
from credo.distributions.normal import Normal
from credo.distributions.student_t import StudentT
from credo.families.linear import LinearResponse, LinearStatistics, OutputLast
from credo.numerics.array import Array, as_float
from credo.numerics.example import Example
from credo.numerics.form import FINITE, Form

__all__ = ["LinearGaussianBelief", "LinearGaussianGamma", "LinearPredictive"]


@dataclass(frozen=True, eq=False)
class LinearPredictive:
    """Distribution of outputs at any inputs, weights integrated out."""

    belief: LinearGaussianBelief | LinearGaussianGamma

    def given(self, x: ArrayLike) -> Normal | StudentT:
        """Return the distribution of the output at each row of ``x``."""
        rows = np.atleast_2d(as_float(x))
        spread, location = _spread(self.belief.precision, rows), rows @ self.belief.location
        if isinstance(self.belief, LinearGaussianBelief):
            return Normal(location, np.sqrt(1 / self.belief.noise_precision + spread))
        noise = self.belief.noise
        return StudentT(2 * noise.shape, location, np.sqrt((1 + spread) / noise.mean()))

    def log_prob(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Return the log density of outputs ``y`` at rows ``x``."""
        return self.given(x).log_prob(y)


@dataclass(frozen=True, eq=False)
class LinearGaussianBelief:
    """Normal belief about the weights, noise precision known.

    Attributes
    ----------
    location, precision
        Mean (d,) and inverse covariance (d, d) of the weights.
    noise_precision
        Inverse variance of the output around the line.

    Examples
    --------
    >>> design = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
    >>> prior = LinearGaussianBelief(np.zeros(2), 0.5 * np.eye(2), noise_precision=4.0)
    >>> posterior = prior.update(LinearStatistics.of(design, [0.2, 0.9, 2.1, 2.8]))
    >>> posterior.location.round(6)
    array([0.168421, 0.884211])
    """

    location: Annotated[Array, Form("d")]
    precision: Annotated[Array, Form("d d", -FINITE, FINITE)]
    noise_precision: float

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return examples for the laws, and for saving."""
        data = LinearStatistics.examples()[0].arguments
        prior = cls(as_float([0.4, -0.3]), as_float([[2.0, 0.6], [0.6, 1.0]]), 2.5)
        return (Example(prior, **data, read=OutputLast.read, maximum_likelihood=False),)

    def update(self, statistics: LinearStatistics) -> LinearGaussianBelief:
        """Return the posterior; updating by parts equals updating by their sum."""
        gram, cross = statistics.products()
        precision = self.precision + self.noise_precision * gram
        pull = self.precision @ self.location + self.noise_precision * cross
        location = as_float(np.linalg.solve(precision, pull))
        return LinearGaussianBelief(location, precision, self.noise_precision)

    def weights(self) -> MultivariateNormal:
        """Return the distribution of the weights."""
        return MultivariateNormal.from_precision(self.location, self.precision)

    def mean(self) -> LinearResponse:
        """Return the response at the mean of the weights."""
        return LinearResponse(self.location, as_float(self.noise_precision))

    def mode(self) -> LinearResponse:
        """Return the response at the most probable weights, here their mean."""
        return self.mean()

    def sample(self, rng: np.random.Generator, n: int | None = None) -> LinearResponse:
        """Return the response at weights drawn from the belief, or ``n`` of them."""
        weights = self.weights().sample(rng, n)
        return LinearResponse(weights, np.full(weights.shape[:-1], self.noise_precision))

    def predictive(self) -> LinearPredictive:
        """Return the distribution of the next output, at any inputs."""
        return LinearPredictive(self)

    def log_evidence(self, statistics: LinearStatistics) -> float:
        """Return the log probability of the outputs under this belief."""
        after = self.update(statistics)
        residual = statistics.residual(after.location)
        penalty = _penalty(self, after) + self.noise_precision * residual
        scale = statistics.weight * np.log(self.noise_precision / (2 * np.pi))
        shrinkage = _log_det(self.precision) - _log_det(after.precision)
        return float(0.5 * (shrinkage + scale - penalty))

    def expected_log_density(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Return the log density of outputs, averaged over the belief."""
        rows = np.atleast_2d(as_float(x))
        spread = self.noise_precision * _spread(self.precision, rows)
        return np.asarray(self.mean().log_prob(rows, y) - 0.5 * spread)

    def kl(self, other: LinearGaussianBelief) -> float:
        """Return the divergence between the two beliefs about the weights."""
        return float(self.weights().kl(other.weights()))


@dataclass(frozen=True, eq=False)
class LinearGaussianGamma:
    """Belief about weights and noise: ``w | b ~ N(location, (b precision)^-1)``, b Gamma.

    Attributes
    ----------
    location, precision
        Mean (d,) of the weights, and their inverse covariance over the noise precision.
    noise
        Belief about the noise precision.
    """

    location: Annotated[Array, Form("d")]
    precision: Annotated[Array, Form("d d", -FINITE, FINITE)]
    noise: Gamma

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return examples for the laws, and for saving."""
        data = LinearStatistics.examples()[0].arguments
        prior = cls(as_float([0.4, -0.3]), as_float([[2.0, 0.6], [0.6, 1.0]]), Gamma(3.0, 2.0))
        return (Example(prior, **data, read=OutputLast.read),)

    def update(self, statistics: LinearStatistics) -> LinearGaussianGamma:
        """Return the posterior; updating by parts equals updating by their sum."""
        gram, cross = statistics.products()
        precision = self.precision + gram
        pull = self.precision @ self.location + cross
        location = as_float(np.linalg.solve(precision, pull))
        after = LinearGaussianGamma(location, precision, self.noise)
        misfit = statistics.residual(location) + _penalty(self, after)
        noise = Gamma(
            self.noise.shape + 0.5 * statistics.weight, self.noise.rate + 0.5 * misfit
        )
        return LinearGaussianGamma(location, precision, noise)

    def weights(self, noise_precision: ArrayLike) -> MultivariateNormal:
        """Return the distribution of the weights at one noise precision."""
        return MultivariateNormal.from_precision(
            self.location, self.precision * as_float(noise_precision)
        )

    def mean(self) -> LinearResponse:
        """Return the response at the mean weights and the mean noise precision."""
        return LinearResponse(self.location, self.noise.mean())

    def mode(self) -> LinearResponse:
        """Return the response where weights and noise precision are jointly most probable."""
        # The density of the weights at their mean grows with the noise precision, too.
        shape = self.noise.shape + 0.5 * len(self.location)
        return LinearResponse(self.location, as_float(Gamma(shape, self.noise.rate).mode()))

    def sample(self, rng: np.random.Generator, n: int | None = None) -> LinearResponse:
        """Return the response at weights and noise drawn from the belief, or ``n`` of them."""
        noise_precision = as_float(self.noise.sample(rng, n))
        around = MultivariateNormal.from_precision(np.zeros(len(self.location)), self.precision)
        moves = around.sample(rng, n) / np.sqrt(noise_precision)[..., None]
        return LinearResponse(self.location + moves, noise_precision)

    def predictive(self) -> LinearPredictive:
        """Return the distribution of the next output, at any inputs."""
        return LinearPredictive(self)

    def log_evidence(self, statistics: LinearStatistics) -> float:
        """Return the log probability of the outputs under this belief."""
        after = self.update(statistics)
        gain = _log_normalizer(self.noise) - _log_normalizer(after.noise)
        scale = statistics.weight * np.log(2 * np.pi)
        shrinkage = _log_det(self.precision) - _log_det(after.precision)
        return float(0.5 * (shrinkage - scale) + gain)

    def expected_log_density(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Return the log density of outputs, averaged over the belief."""
        rows = np.atleast_2d(as_float(x))
        log_precision = special.digamma(self.noise.shape) - np.log(self.noise.rate)
        squares = self.noise.mean() * (as_float(y) - rows @ self.location) ** 2
        return np.asarray(
            0.5 * (log_precision - np.log(2 * np.pi) - squares - _spread(self.precision, rows))
        )

    def kl(self, other: LinearGaussianGamma) -> float:
        """Return the divergence between the two beliefs about weights and noise."""
        step = self.location - other.location
        shape = np.trace(np.linalg.solve(self.precision, other.precision)) - len(self.location)
        spread = shape + _log_det(self.precision) - _log_det(other.precision)
        shift = float(self.noise.mean()) * _distance(step, other.precision)
        return float(self.noise.kl(other.noise) + 0.5 * (spread + shift))


def _penalty(
    before: LinearGaussianBelief | LinearGaussianGamma,
    after: LinearGaussianBelief | LinearGaussianGamma,
) -> float:
    return _distance(after.location - before.location, before.precision)


def _distance(step: Array, precision: Array) -> float:
    return float(step @ precision @ step)


def _spread(precision: Array, rows: Array) -> Array:
    return np.asarray(np.einsum("ij,ji->i", rows, np.linalg.solve(precision, rows.T)))


def _log_det(precision: Array) -> float:
    return 2 * float(np.log(np.diagonal(np.linalg.cholesky(precision))).sum())


def _log_normalizer(noise: Gamma) -> float:
    return float(noise.shape * np.log(noise.rate) - special.gammaln(noise.shape))
