"""Likelihoods ``p(y | f)`` of an outcome given one hidden number, as values.

=============================  =====================================================
`LogitLikelihood`              0 or 1, log odds ``f``
`ProbitLikelihood`             0 or 1, probability ``Phi(f)``
`StudentTLikelihood`           a number around ``f``, with outliers
`PoissonLikelihood`            a count of mean ``exp(f)``
`NegativeBinomialLikelihood`   a count of mean ``exp(f)`` that varies more
`OrderedLikelihood`            one of several ordered classes
=============================  =====================================================

Engines ask for derivatives by ``f``, for the integral against a normal (`Tilted`), and for the
gradient by a likelihood's own parameters, as free numbers: logarithms of what must be positive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from credo.distributions.bernoulli import Bernoulli
from credo.distributions.categorical import Categorical
from credo.distributions.distribution import Distribution
from credo.distributions.mixture import Mixture
from credo.distributions.negative_binomial import NegativeBinomial
from credo.distributions.parameter import positive, require
from credo.distributions.poisson import Poisson
from credo.distributions.student_t import StudentT
from credo.inference.site.tilting import Tilted, TiltedNodes, tilted_nodes
from credo.numerics.array import Array, as_float, rounding_variance
from credo.numerics.quotation import quote
from credo.numerics.special.log_domain import log1m_exp
from credo.numerics.special.logistic_integral import log_logistic_normal_mean

__all__ = [
    "BINARY_VARIANCE",
    "Derivatives",
    "Likelihood",
    "LogitLikelihood",
    "Natural",
    "NegativeBinomialLikelihood",
    "OrderedLikelihood",
    "PoissonLikelihood",
    "ProbitLikelihood",
    "StudentTLikelihood",
    "likelihood_nodes",
]

FEWEST_NODES, MOST_NODES = 15, 400
REACH = 6.5
"""Nodes to either side of a normal, at least and at most, and how far they go in its spread."""

NORMAL_NODES = 0.5 * np.arange(-17, 18)
LOGISTIC_NODES = 0.5 * np.arange(-80, 81)
LARGEST_LOG_COUNT = 300.0

BINARY_VARIANCE, LOGIT_OVER_PROBIT = 4.0, 1.7
"""Variance that is natural for log odds, and how much longer these are than probits."""

COUNT_VARIANCE, ORDERED_VARIANCE = 1.0, 1.0
"""Variances that are natural for logs of mean counts, and beside the noise of grades."""

NOISE_SHARE, LEAST_NOISE = 0.3, 1e-3
"""Share of the spread of outcomes that is natural for noise, and the least that there is."""

LEAST_DF, LEAST_DISPERSION = 1.05, 1e-4
"""Fewer degrees of freedom have no mean; less dispersion is none."""

NORMAL_QUARTILE = float(special.ndtri(0.75))
FAR_LEFT = -1e3
HALF_LOG_TWO_PI = 0.5 * float(np.log(2 * np.pi))


class Derivatives(NamedTuple):
    """First, second and third derivative by ``f``, or these of several functions."""

    first: Array
    second: Array
    third: Array


class Natural(NamedTuple):
    """What is natural for some outcomes before anything is learned.

    Attributes
    ----------
    likelihood
        The likelihood with natural values of its parameters.
    level
        Mean of the hidden number.
    variance
        Variance of it.
    least
        The least that free parameters may become, shape (p,).
    """

    likelihood: Likelihood
    level: float
    variance: float
    least: Array


class Likelihood(Protocol):
    """What a likelihood answers, for outcomes ``y`` and hidden numbers ``f``, both (n,)."""

    is_log_concave: ClassVar[bool]

    @property
    def free_parameters(self) -> Array:
        """Its own parameters as numbers without bounds, shape (p,)."""
        ...

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of its own parameters."""
        ...

    @property
    def prior_spread(self) -> Array:
        """Prior standard deviation of each around a natural value, shape (p,)."""
        ...

    def at(self, free_parameters: ArrayLike) -> Self:
        """Return the likelihood with other parameters."""
        ...

    def natural(self, y: Array, weight: Array) -> Natural:
        """Return what is natural for outcomes before anything is learned."""
        ...

    def outcomes(self, y: ArrayLike) -> Array:
        """Return outcomes as numbers, or say what is wrong with them."""
        ...

    def log_prob(self, y: Array, f: Array) -> Array:
        """Return the log probability, or density, of outcomes."""
        ...

    def derivatives(self, y: Array, f: Array) -> Derivatives:
        """Return derivatives of ``log_prob`` by ``f``."""
        ...

    def bend_at_most(self, y: Array, f: Array) -> Array:
        """Return the curvature of a parabola below ``log_prob`` that touches it at ``f``.

        Where there is none, or no need for one, minus the second derivative.
        """
        ...

    def parameter_derivatives(self, y: Array, f: Array) -> Derivatives:
        """Return derivatives by parameters, of ``log_prob`` and its slopes, (p, n) each."""
        ...

    def landmark(self, y: Array) -> tuple[Array, Array]:
        """Return where the likelihood changes most as ``f`` does, and over what length."""
        ...

    def tilted(self, y: Array, mean: Array, variance: Array) -> Tilted:
        """Return the integral against ``N(f | mean, variance)`` and its derivatives."""
        ...

    def tilted_slope(self, y: Array, mean: Array, variance: Array) -> Array:
        """Return the derivatives of the log integral by the parameters, shape (p, n)."""
        ...

    def predictive(self, mean: Array, variance: Array) -> Distribution:
        """Return the distribution of a new outcome, ``f`` integrated out."""
        ...


class _Concave:
    """A likelihood whose logarithm bends down everywhere."""

    is_log_concave: ClassVar[bool] = True

    def bend_at_most(self, y: Array, f: Array) -> Array:
        """Return minus the second derivative."""
        return np.asarray(-cast(Likelihood, self).derivatives(y, f).second)


class _WithoutParameters:
    """A likelihood that has no parameters of its own."""

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """No names."""
        return ()

    @property
    def prior_spread(self) -> Array:
        """No numbers."""
        return np.empty(0)

    @property
    def free_parameters(self) -> Array:
        """No numbers."""
        return np.empty(0)

    def at(self, free_parameters: ArrayLike) -> Self:
        """Return the same."""
        return self

    def parameter_derivatives(self, y: Array, f: Array) -> Derivatives:
        """Return arrays of shape (0, n)."""
        none = np.empty((0, *np.shape(f)))
        return Derivatives(none, none, none)

    def tilted_slope(self, y: Array, mean: Array, variance: Array) -> Array:
        """Return an array of shape (0, n)."""
        return np.empty((0, *np.shape(mean)))


@dataclass(frozen=True)
class LogitLikelihood(_WithoutParameters, _Concave):
    """0 or 1 with ``p(1 | f) = 1 / (1 + exp(-f))``.

    Examples
    --------
    >>> LogitLikelihood().predictive(np.array([0.0, 2.0]), np.array([4.0, 4.0])).mean().round(4)
    array([0.5   , 0.7752])
    """

    def natural(self, y: Array, weight: Array) -> Natural:
        """Return log odds around zero, of which most leave some doubt."""
        return Natural(self, 0.0, BINARY_VARIANCE, np.empty(0))

    def outcomes(self, y: ArrayLike) -> Array:
        """Return zeros and ones."""
        return _binary(y)

    def log_prob(self, y: Array, f: Array) -> Array:
        """Return ``-log(1 + exp(-s f))`` with the sign ``s`` of the outcome."""
        return np.asarray(special.log_expit((2.0 * y - 1.0) * f))

    def derivatives(self, y: Array, f: Array) -> Derivatives:
        """Return ``y - p``, ``-p (1 - p)`` and ``-p (1 - p) (1 - 2 p)``."""
        p, q = special.expit(f), special.expit(-f)
        return Derivatives(np.where(y > 0, q, -p), -p * q, -p * q * (q - p))

    def landmark(self, y: Array) -> tuple[Array, Array]:
        """Return zero and one."""
        return np.zeros(y.shape), np.ones(y.shape)

    def tilted(self, y: Array, mean: Array, variance: Array) -> Tilted:
        """Return the integral by the trapezoid rule, accurate to rounding."""
        sign = 2.0 * y - 1.0
        log_z, slope, curvature = _log_logistic_mean(sign * mean, np.sqrt(variance))
        return Tilted(log_z, sign * slope, curvature)

    def predictive(self, mean: Array, variance: Array) -> Bernoulli:
        """Return the Bernoulli distribution with the mean probability."""
        return Bernoulli(np.exp(log_logistic_normal_mean(mean, np.sqrt(variance))))


@dataclass(frozen=True)
class ProbitLikelihood(_WithoutParameters, _Concave):
    """0 or 1 with ``p(1 | f) = Phi(f)``, the standard normal distribution function.

    Examples
    --------
    >>> ProbitLikelihood().predictive(np.array([1.0]), np.array([3.0])).mean().round(4)
    array([0.6915])
    """

    def natural(self, y: Array, weight: Array) -> Natural:
        """Return numbers around zero, of which most leave some doubt."""
        return Natural(self, 0.0, BINARY_VARIANCE / LOGIT_OVER_PROBIT**2, np.empty(0))

    def outcomes(self, y: ArrayLike) -> Array:
        """Return zeros and ones."""
        return _binary(y)

    def log_prob(self, y: Array, f: Array) -> Array:
        """Return ``log Phi(s f)`` with the sign ``s`` of the outcome."""
        return np.asarray(special.log_ndtr((2.0 * y - 1.0) * f))

    def derivatives(self, y: Array, f: Array) -> Derivatives:
        """Return derivatives by way of ``r(z) = phi(z) / Phi(z)``."""
        sign = 2.0 * y - 1.0
        first, second, third = _log_normal_cdf_slopes(sign * f)
        return Derivatives(sign * first, second, sign * third)

    def landmark(self, y: Array) -> tuple[Array, Array]:
        """Return zero and one."""
        return np.zeros(y.shape), np.ones(y.shape)

    def tilted(self, y: Array, mean: Array, variance: Array) -> Tilted:
        """Return ``log Phi(s mean / sqrt(1 + variance))`` and its derivatives."""
        sign, spread = 2.0 * y - 1.0, np.sqrt(1.0 + variance)
        z = sign * mean / spread
        first, second, _ = _log_normal_cdf_slopes(z)
        log_z = np.asarray(special.log_ndtr(z))
        return Tilted(log_z, sign * first / spread, second / spread**2)

    def predictive(self, mean: Array, variance: Array) -> Bernoulli:
        """Return the Bernoulli distribution with the mean probability."""
        return Bernoulli(special.ndtr(mean / np.sqrt(1.0 + variance)))


class _ByNodes:
    """A likelihood whose integrals against a normal have no closed form."""

    def outcomes(self, y: ArrayLike) -> Array:
        """Return counts: whole numbers from zero on."""
        values = as_float(y)
        if not np.all((values >= 0) & (values == np.floor(values)) & np.isfinite(values)):
            raise ValueError(
                "y must hold counts, whole numbers from 0 on; found "
                f"{quote(values[:5].tolist())}. Use StudentTLikelihood for measurements."
            )
        return values

    def landmark(self, y: Array) -> tuple[Array, Array]:
        """Return the log of the count, and how far the log of a mean may be from it."""
        return np.log(y + 0.5), 1.0 / np.sqrt(y + 0.5)

    def tilted(self, y: Array, mean: Array, variance: Array) -> Tilted:
        """Return the integral by panels."""
        nodes = likelihood_nodes(cast(Likelihood, self), y, mean, variance)
        return nodes.tilted(mean, variance)

    def tilted_slope(self, y: Array, mean: Array, variance: Array) -> Array:
        """Return mean derivatives of ``log_prob`` by the parameters under the product."""
        likelihood = cast(Likelihood, self)
        at = likelihood_nodes(likelihood, y, mean, variance)
        return at.mean(likelihood.parameter_derivatives(y, at.nodes).first)


@dataclass(frozen=True)
class StudentTLikelihood(_ByNodes):
    """A number whose distance from ``f`` has Student's t distribution: outliers may occur.

    Attributes
    ----------
    scale
        Spread, in the unit of the outcome.
    df
        Degrees of freedom; the fewer, the more outliers.

    Examples
    --------
    >>> robust = StudentTLikelihood(scale=1.0, df=4.0)
    >>> robust.derivatives(np.array([10.0]), np.array([0.0])).first.round(3)  # not 10
    array([0.481])
    """

    scale: float = 1.0
    df: float = 4.0

    is_log_concave: ClassVar[bool] = False

    def __post_init__(self) -> None:
        positive("scale", self.scale)
        positive("df", self.df)

    @property
    def free_parameters(self) -> Array:
        """Logs of scale and degrees of freedom."""
        return np.log([self.scale, self.df])

    def at(self, free_parameters: ArrayLike) -> Self:
        """Return the likelihood with other parameters."""
        scale, df = np.exp(as_float(free_parameters))
        return type(self)(float(scale), float(df))

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Scale and degrees of freedom."""
        return ("scale", "df")

    @property
    def prior_spread(self) -> Array:
        """Little is known of the scale; how many outliers there may be was chosen."""
        return np.array([1.0, 0.25])

    def natural(self, y: Array, weight: Array) -> Natural:
        """Return the median and a spread of the outcomes that outliers do not widen."""
        level = _median(y, weight)
        spread = _median(np.abs(y - level), weight) / NORMAL_QUARTILE
        if spread == 0.0:
            spread = float(np.sqrt(np.average((y - level) ** 2, weights=weight))) or 1.0
        least = max(np.sqrt(rounding_variance(y)), LEAST_NOISE * spread)
        scale = max(NOISE_SHARE * spread, least)
        bounds = np.log([least, min(LEAST_DF, self.df)])
        return Natural(type(self)(scale, self.df), level, spread**2, bounds)

    def bend_at_most(self, y: Array, f: Array) -> Array:
        """Return ``(df + 1) / q``: the precision if the outcome's own variance were known."""
        return np.asarray((self.df + 1.0) / self._parts(y, f)[2])

    def outcomes(self, y: ArrayLike) -> Array:
        """Return finite numbers."""
        values = as_float(y)
        if not np.isfinite(values).all():
            raise ValueError(
                "y must hold finite numbers; found NaN or infinity. Leave out these rows."
            )
        return values

    def log_prob(self, y: Array, f: Array) -> Array:
        """Return the log density of outcomes."""
        return StudentT(self.df, f, self.scale).log_prob(y)

    def derivatives(self, y: Array, f: Array) -> Derivatives:
        """Return derivatives by way of ``q = df scale^2 + (y - f)^2``."""
        r, c, q = self._parts(y, f)
        k = self.df + 1.0
        return Derivatives(
            k * r / q, k * (r**2 - c) / q**2, 2.0 * k * r * (r**2 - 3.0 * c) / q**3
        )

    def parameter_derivatives(self, y: Array, f: Array) -> Derivatives:
        """Return derivatives by the logs of scale and degrees of freedom."""
        r, c, q = self._parts(y, f)
        k, v, bent = self.df + 1.0, self.df, (3.0 * r**2 - c) / q**3
        rise = special.digamma(0.5 * k) - special.digamma(0.5 * v) - 1.0 / v
        by_df = 0.5 * (rise - np.log1p(r**2 / c) + k * r**2 / (v * q))
        return Derivatives(
            np.stack([k * r**2 / q - 1.0, v * by_df]),
            np.stack([-2.0 * k * r * c / q**2, v * r / q - k * r * c / q**2]),
            np.stack([-2.0 * k * c * bent, v * (r**2 - c) / q**2 - k * c * bent]),
        )

    def predictive(self, mean: Array, variance: Array) -> Mixture:
        """Return a mixture of Student's t over nodes of the normal."""
        f, share = _normal_nodes(mean, variance, self.scale)
        return Mixture(share, [StudentT(self.df, node, self.scale) for node in f])

    def _parts(self, y: Array, f: Array) -> tuple[Array, float, Array]:
        gap, constant = np.asarray(y - f), self.df * self.scale**2
        return gap, constant, constant + gap**2

    def landmark(self, y: Array) -> tuple[Array, Array]:
        """Return the outcome and the scale."""
        return y, np.full(y.shape, self.scale)


@dataclass(frozen=True)
class PoissonLikelihood(_WithoutParameters, _Concave, _ByNodes):
    """A count with mean ``exp(f)``.

    Examples
    --------
    >>> PoissonLikelihood().predictive(np.zeros(1), np.ones(1)).mean().round(4)  # exp(1 / 2)
    array([1.6487])
    """

    def natural(self, y: Array, weight: Array) -> Natural:
        """Return the log of the mean count."""
        return Natural(self, _log_mean_count(y, weight), COUNT_VARIANCE, np.empty(0))

    def log_prob(self, y: Array, f: Array) -> Array:
        """Return the log probability of counts."""
        return np.asarray(y * f - _exp(f) - special.gammaln(y + 1.0))

    def derivatives(self, y: Array, f: Array) -> Derivatives:
        """Return ``y - exp(f)``, then ``-exp(f)`` twice."""
        rate = _exp(f)
        return Derivatives(y - rate, -rate, -rate)

    def predictive(self, mean: Array, variance: Array) -> Mixture:
        """Return a mixture of Poisson distributions over nodes of the normal."""
        f, share = _normal_nodes(mean, variance, _count_width(mean, variance, 0.0))
        return Mixture(share, [Poisson(_exp(node)) for node in f])


@dataclass(frozen=True)
class NegativeBinomialLikelihood(_Concave, _ByNodes):
    """A count with mean ``m = exp(f)`` and variance ``m + dispersion m^2``.

    Attributes
    ----------
    dispersion
        Positive; Poisson counts are the limit of zero.

    Examples
    --------
    >>> counts = NegativeBinomialLikelihood(dispersion=0.5)
    >>> counts.derivatives(np.array([3.0]), np.array([0.0])).first.round(4)
    array([1.3333])
    """

    dispersion: float = 1.0

    def __post_init__(self) -> None:
        positive("dispersion", self.dispersion)

    @property
    def free_parameters(self) -> Array:
        """The log of the dispersion."""
        return np.log([self.dispersion])

    def at(self, free_parameters: ArrayLike) -> Self:
        """Return the likelihood with another dispersion."""
        return type(self)(float(np.exp(as_float(free_parameters)[0])))

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The dispersion."""
        return ("dispersion",)

    @property
    def prior_spread(self) -> Array:
        """Little is known of the dispersion."""
        return np.array([1.5])

    def natural(self, y: Array, weight: Array) -> Natural:
        """Return the log of the mean count."""
        least = np.log([LEAST_DISPERSION])
        return Natural(self, _log_mean_count(y, weight), COUNT_VARIANCE, least)

    def log_prob(self, y: Array, f: Array) -> Array:
        """Return the log probability of counts."""
        shape, odds = 1.0 / self.dispersion, f + np.log(self.dispersion)
        ways = -special.betaln(shape, y + 1.0) - np.log(shape + y)
        return np.asarray(ways + y * special.log_expit(odds) + shape * special.log_expit(-odds))

    def derivatives(self, y: Array, f: Array) -> Derivatives:
        """Return derivatives by way of ``p = m / (m + 1 / dispersion)``."""
        p, q = self._shares(f)
        total = y + 1.0 / self.dispersion
        return Derivatives(
            y * q - p / self.dispersion, -total * p * q, -total * p * q * (q - p)
        )

    def parameter_derivatives(self, y: Array, f: Array) -> Derivatives:
        """Return derivatives by the log of the dispersion."""
        p, q = self._shares(f)
        shape = 1.0 / self.dispersion
        total = y + shape
        by_shape = (
            special.digamma(total) - special.digamma(shape) + np.log(q) + p - y * q / shape
        )
        return Derivatives(
            (-shape * by_shape)[None],
            (shape * p - total * p * q)[None],
            (shape * p * q - total * p * q * (q - p))[None],
        )

    def predictive(self, mean: Array, variance: Array) -> Mixture:
        """Return a mixture of negative binomial distributions over nodes of the normal."""
        width = _count_width(mean, variance, self.dispersion)
        f, share = _normal_nodes(mean, variance, width)
        shape = 1.0 / self.dispersion
        return Mixture(share, [NegativeBinomial(shape, self._shares(node)[1]) for node in f])

    def _shares(self, f: Array) -> tuple[Array, Array]:
        odds = f + np.log(self.dispersion)
        return special.expit(odds), special.expit(-odds)

    def landmark(self, y: Array) -> tuple[Array, Array]:
        """Return the log of the count, and how far the log of a mean may be from it."""
        return np.log(y + 0.5), np.sqrt(1.0 / (y + 0.5) + self.dispersion)


@dataclass(frozen=True)
class OrderedLikelihood(_Concave):
    """One of the classes 0 to K - 1 in order: the interval of cut points that ``f + e`` is in.

    ``e`` is standard normal noise: ``p(k | f) = Phi(b_{k+1} - f) - Phi(b_k - f)``, where the
    first ``b`` is minus infinity and the last plus infinity.

    Attributes
    ----------
    cut_points
        The K - 1 finite cut points, rising.

    Examples
    --------
    >>> grades = OrderedLikelihood((-1.0, 1.0))
    >>> grades.predictive(np.zeros(1), np.zeros(1)).probability.round(4)
    array([[0.1587, 0.6827, 0.1587]])
    """

    cut_points: tuple[float, ...] = (-1.0, 1.0)

    def __post_init__(self) -> None:
        require(
            "cut_points",
            np.diff(self.cut_points),
            lambda gap: gap > 0,
            "rising",
            "Sort them, and give each once.",
        )

    @property
    def free_parameters(self) -> Array:
        """The first cut point, and logs of the distances from one to the next."""
        return np.concatenate([self.cut_points[:1], np.log(np.diff(self.cut_points))])

    def at(self, free_parameters: ArrayLike) -> Self:
        """Return the likelihood with other cut points."""
        first, *gaps = as_float(free_parameters).tolist()
        points = np.cumsum([first, *np.exp(gaps)])
        return type(self)(tuple(points.tolist()))

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The first cut point, and the distances between them."""
        n = len(self.cut_points)
        return ("first_cut_point", *(f"distance_{i}" for i in range(1, n)))

    @property
    def prior_spread(self) -> Array:
        """One for each: cut points follow from how frequent classes are."""
        return np.ones(len(self.cut_points))

    def natural(self, y: Array, weight: Array) -> Natural:
        """Return cut points that give classes their shares where nothing else is known."""
        count = 0.5 + np.bincount(y.astype(np.intp), weight, len(self.cut_points) + 1)
        share = np.cumsum(count)[:-1] / count.sum()
        points = special.ndtri(share) * np.sqrt(1.0 + ORDERED_VARIANCE)
        least = np.full(len(points), -np.inf)
        return Natural(type(self)(tuple(points.tolist())), 0.0, ORDERED_VARIANCE, least)

    def outcomes(self, y: ArrayLike) -> Array:
        """Return the numbers of classes."""
        values = as_float(y)
        n = len(self.cut_points) + 1
        if not np.isin(values, np.arange(n)).all():
            raise ValueError(
                f"y must hold classes 0 to {n - 1}, one more than there are cut points; found "
                f"{quote(np.unique(values)[:8].tolist())}. Number the classes in order."
            )
        return values

    def log_prob(self, y: Array, f: Array) -> Array:
        """Return the log probability of classes."""
        return self._interval(y, f).log_prob

    def derivatives(self, y: Array, f: Array) -> Derivatives:
        """Return derivatives by way of the densities at both ends of the interval."""
        return self._interval(y, f).derivatives()

    def parameter_derivatives(self, y: Array, f: Array) -> Derivatives:
        """Return derivatives by the first cut point and the logs of distances."""
        interval = self._interval(y, f)
        low, high, a, b = interval.low, interval.high, interval.at_high, interval.at_low
        first, bent = b - a, low * b - high * a
        parts = [
            (a, -b),
            (a * (high - first), -b * (low - first)),
            (
                a * (high**2 - 1.0 - bent - 2.0 * first * (high - first)),
                b * (1.0 - low**2 + bent + 2.0 * first * (low - first)),
            ),
        ]
        return Derivatives(*(self._by_free(y, *part) for part in parts))

    def landmark(self, y: Array) -> tuple[Array, Array]:
        """Return the cut point next to the class, and one."""
        points = np.asarray(self.cut_points)
        return points[np.minimum(y.astype(np.intp), len(points) - 1)], np.ones(y.shape)

    def tilted(self, y: Array, mean: Array, variance: Array) -> Tilted:
        """Return the integral in closed form: noise and normal add."""
        spread = np.sqrt(1.0 + variance)
        interval = self._interval(y, mean, spread)
        first, second, _ = interval.derivatives()
        return Tilted(interval.log_prob, first / spread, second / spread**2)

    def tilted_slope(self, y: Array, mean: Array, variance: Array) -> Array:
        """Return the derivatives of the log integral by the free parameters."""
        spread = np.sqrt(1.0 + variance)
        interval = self._interval(y, mean, spread)
        return self._by_free(y, interval.at_high / spread, -interval.at_low / spread)

    def predictive(self, mean: Array, variance: Array) -> Categorical:
        """Return the probabilities of the classes."""
        return Categorical(np.exp(self.log_probability(mean, variance)))

    def log_probability(self, mean: Array, variance: Array) -> Array:
        """Return log probabilities of the classes, ``f`` integrated out, shape (..., K)."""
        spread = np.sqrt(1.0 + as_float(variance))[..., None]
        edges = np.concatenate([[-np.inf], self.cut_points, [np.inf]])
        z = (edges - as_float(mean)[..., None]) / spread
        return _log_normal_between(z[..., :-1], z[..., 1:])

    def _interval(self, y: Array, f: Array, spread: Array | float = 1.0) -> _Interval:
        edges = np.concatenate([[-np.inf], self.cut_points, [np.inf]])
        code = y.astype(np.intp)
        return _Interval.of((edges[code] - f) / spread, (edges[code + 1] - f) / spread)

    def _by_free(self, y: Array, by_high: Array, by_low: Array) -> Array:
        """Return derivatives by free parameters from those by the ends of the interval."""
        shape = (-1, *[1] * np.ndim(by_high))
        number = np.arange(len(self.cut_points)).reshape(shape)
        gaps = np.concatenate([[1.0], np.diff(self.cut_points)]).reshape(shape)
        # An end moves with the first cut point, and with each distance below it.
        return np.asarray(gaps * ((number <= y) * by_high + (number <= y - 1) * by_low))


@dataclass(frozen=True, eq=False)
class _Interval:
    """An interval of a standard normal variable.

    Attributes
    ----------
    low, high
        Its ends, zero where there is none.
    log_prob
        Log probability of the interval.
    at_low, at_high
        Density at the ends over the probability, zero where there is no end.
    """

    low: Array
    high: Array
    log_prob: Array
    at_low: Array
    at_high: Array

    @classmethod
    def of(cls, low: Array, high: Array) -> _Interval:
        log_prob = _log_normal_between(low, high)
        at_low, at_high = (
            np.exp(-0.5 * end**2 - HALF_LOG_TWO_PI - log_prob) for end in (low, high)
        )
        low, high = (np.where(np.isinf(end), 0.0, end) for end in (low, high))
        return cls(low, high, log_prob, at_low, at_high)

    def derivatives(self) -> Derivatives:
        """Return derivatives of the log probability as both ends go down."""
        low, high, a, b = self.low, self.high, self.at_high, self.at_low
        first = b - a
        second = low * b - high * a - first**2
        third = (low**2 - 1.0 - low * first) * b - (high**2 - 1.0 - high * first) * a
        return Derivatives(first, second, third - 2.0 * first * second)


def likelihood_nodes(
    likelihood: Likelihood,
    y: Array,
    mean: Array,
    variance: Array,
    power: Array | float = 1.0,
) -> TiltedNodes:
    """Return nodes that integrate ``p(y | f)^power`` against ``N(f | mean, variance)``."""

    def bend(f: Array) -> tuple[Array, Array]:
        first, second, _ = likelihood.derivatives(y, f)
        return power * first, -power * second

    def log_prob(f: Array) -> Array:
        return np.asarray(power * likelihood.log_prob(y, f))

    return tilted_nodes(log_prob, bend, mean, variance, likelihood.landmark(y))


def _binary(y: ArrayLike) -> Array:
    values = as_float(y)
    if not np.isin(values, (0.0, 1.0)).all():
        raise ValueError(
            "y must hold 0 and 1; found "
            f"{quote(np.unique(values)[:8].tolist())}. Code the two classes as 0 and 1."
        )
    return values


def _log_mean_count(y: Array, weight: Array) -> float:
    """Return the log of the mean count, as if half a count had been seen besides."""
    return float(np.log((weight @ y + 0.5) / weight.sum()))


def _median(y: Array, weight: Array) -> float:
    return float(np.quantile(y, 0.5, weights=weight, method="inverted_cdf"))


def _exp(f: Array) -> Array:
    """Return the mean of a count, so large at most that sums of it are finite."""
    return np.exp(np.minimum(f, LARGEST_LOG_COUNT))


def _count_width(mean: Array, variance: Array, dispersion: float) -> Array:
    """Return how far the log of a mean may be from that of its count, for large counts."""
    large = _exp(as_float(mean) + 2.0 * np.sqrt(as_float(variance)))
    return np.sqrt(1.0 / (large + 0.5) + dispersion)


def _normal_nodes(mean: Array, variance: Array, width: ArrayLike) -> tuple[Array, Array]:
    """Return nodes (q, ...) and weights (q,) of normals, by the trapezoid rule.

    Parameters
    ----------
    width
        Over what length of ``f`` an outcome's probability changes: nodes farther apart would
        show as teeth of a comb.
    """
    spread = np.sqrt(as_float(variance))
    ratio = float(np.max(spread / as_float(width), initial=0.0))
    n = int(np.clip(np.ceil(REACH * ratio), FEWEST_NODES, MOST_NODES))
    nodes = np.linspace(-REACH, REACH, 2 * n + 1)
    weight = np.exp(-0.5 * nodes**2)
    f = as_float(mean) + np.multiply.outer(nodes, spread)
    return f, weight / weight.sum()


def _log_normal_between(low: Array, high: Array) -> Array:
    """Return the log probability that a standard normal variable is between two numbers."""
    # In the left tail, where logs of the distribution function have all their digits.
    is_right = low > 0
    low, high = np.where(is_right, -high, low), np.where(is_right, -low, high)
    upper, lower = special.log_ndtr(high), special.log_ndtr(low)
    with np.errstate(divide="ignore"):
        return np.asarray(upper + log1m_exp(lower - upper))


def _log_normal_cdf_slopes(z: Array) -> tuple[Array, Array, Array]:
    """Return the first three derivatives of ``log Phi(z)``."""
    ratio = np.exp(-0.5 * z**2 - HALF_LOG_TWO_PI - special.log_ndtr(z))
    is_far = z < FAR_LEFT
    far = np.where(is_far, z, FAR_LEFT)
    ratio = np.where(is_far, -far - 1.0 / far, ratio)
    excess = np.where(is_far, -1.0 / far, z + ratio)
    third = ratio * (excess * (excess + ratio) - 1.0)
    return ratio, -ratio * excess, np.where(is_far, -2.0 / far**3, third)


def _log_logistic_mean(mean: Array, spread: Array) -> tuple[Array, Array, Array]:
    """Return the log of ``E 1 / (1 + exp(-a))``, ``a ~ N(mean, spread^2)``, and two slopes.

    As `log_logistic_normal_mean`: far down the left tail
    ``E s(a) = exp(mean + spread^2 / 2) E s(-a - spread^2)`` leaves a mean that is not small.
    """
    is_far = mean < -0.5 * spread**2
    center = np.where(is_far, -mean - spread**2, mean)
    z, first, second = _logistic_moments(center, spread)
    slope, log_z = first / z, np.log(z)
    curvature = second / z - slope**2
    return (
        np.where(is_far, mean + 0.5 * spread**2 + log_z, log_z),
        np.where(is_far, 1.0 - slope, slope),
        curvature,
    )


def _logistic_moments(center: Array, spread: Array) -> tuple[Array, Array, Array]:
    """Return the mean of the logistic function and its first two derivatives by the center."""
    found = np.empty((3, len(center)))
    is_narrow = spread <= 1.0
    c, s = center[is_narrow, None], spread[is_narrow, None]
    p = special.expit(c + s * NORMAL_NODES)
    weight = np.exp(-0.5 * NORMAL_NODES**2)
    weight /= weight.sum()
    bump = p * (1.0 - p)
    found[:, is_narrow] = p @ weight, bump @ weight, (bump * (1.0 - 2.0 * p)) @ weight
    c, s = center[~is_narrow, None], spread[~is_narrow, None]
    weight = special.expit(LOGISTIC_NODES) * special.expit(-LOGISTIC_NODES)
    weight /= weight.sum()
    gap = (c - LOGISTIC_NODES) / s
    density = np.exp(-0.5 * gap**2 - HALF_LOG_TWO_PI) / s
    found[:, ~is_narrow] = (
        special.ndtr(gap) @ weight,
        density @ weight,
        -(density * gap / s) @ weight,
    )
    return found[0], found[1], found[2]
