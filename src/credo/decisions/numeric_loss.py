"""What a guess about a number costs, and the guess that costs least on average.

Under losses that grow exponentially (LINEX) the moment generating function decides.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from credo.distributions.empirical import Empirical
from credo.distributions.exponential import Exponential
from credo.distributions.gamma import Gamma
from credo.distributions.inverse_gamma import InverseGamma
from credo.distributions.laplace import Laplace
from credo.distributions.lomax import Lomax
from credo.distributions.mixture import Mixture
from credo.distributions.negative_binomial import NegativeBinomial
from credo.distributions.normal import Normal
from credo.distributions.poisson import Poisson
from credo.distributions.predictive import Predictive
from credo.distributions.student_t import StudentT
from credo.distributions.univariate import Univariate
from credo.numerics.array import Array, as_float
from credo.numerics.special.log_domain import log_sum_exp

__all__ = [
    "AbsoluteLoss",
    "AsymmetricLinearLoss",
    "LinexLoss",
    "NumericLoss",
    "PinballLoss",
    "QuadraticLoss",
    "ZeroOneLoss",
    "log_exponential_moment",
]


# Depth of the tail at which an integrand that has not died out never will.
TAIL_DEPTH = 100.0
LEAST_DECAY = 20.0


def log_exponential_moment(predictive: Univariate, t: float) -> Array:
    """Return ``log E[exp(t Y)]``, the cumulant generating function, shape (*batch).

    Infinite where the tail that ``t`` looks at is too heavy, as both are for Student's t.

    Examples
    --------
    >>> float(log_exponential_moment(Normal(1.0, 2.0), 0.5))
    1.0
    """
    if isinstance(predictive, Predictive):
        return log_exponential_moment(predictive.marginal, t)
    if isinstance(predictive, Mixture):
        return _mixture(predictive, t)
    if isinstance(predictive, Empirical):
        weights = predictive.weights.reshape(-1, *[1] * len(predictive.batch_shape))
        return log_sum_exp(t * predictive.draws, axis=0, weights=weights)
    if _is_heavy(predictive, t):
        return predictive._full(np.inf)
    closed = _closed_form(predictive, t)
    return predictive._full(_by_quadrature(predictive, t) if closed is None else closed)


def _closed_form(d: Univariate, t: float) -> Array | None:
    """Return the closed form of a family that has one, else None."""
    match d:
        case Normal():
            return t * d.loc + 0.5 * (t * d.scale) ** 2
        case Laplace():
            return t * d.loc - _log_rest((t * d.scale) ** 2)
        case Exponential():
            return -_log_rest(t / d.rate)
        case Gamma():
            return -d.shape * _log_rest(t / d.rate)
        case Poisson():
            return d.rate * float(np.expm1(t))
        case NegativeBinomial():
            gone = (1.0 - d.probability) * np.exp(t)
            return d.shape * (np.log(d.probability) - _log_rest(gone))
    return None


def _is_heavy(d: Univariate, t: float) -> bool:
    """Return whether a tail falls like a power, so that no exponential has a mean."""
    return isinstance(d, StudentT) or (t > 0 and isinstance(d, Lomax | InverseGamma))


def _log_rest(share: Array) -> Array:
    """Return ``log(1 - share)``, minus infinity from one on."""
    is_proper = share < 1
    return np.where(is_proper, np.log1p(-np.where(is_proper, share, 0.0)), -np.inf)


def _mixture(mixture: Mixture, t: float) -> Array:
    parts = [mixture._full(log_exponential_moment(part, t)) for part in mixture._univariate()]
    weights = np.moveaxis(
        np.broadcast_to(mixture.weights, (*mixture.batch_shape, len(parts))), -1, 0
    )
    is_infinite = np.any((np.stack(parts) == np.inf) & (weights > 0), axis=0)
    finite = [np.where(part == np.inf, 0.0, part) for part in parts]
    return np.where(is_infinite, np.inf, log_sum_exp(np.stack(finite), axis=0, weights=weights))


def _by_quadrature(d: Univariate, t: float) -> Array:
    """Return the moment relative to that of an outcome near the end where it is largest."""
    low, high = d.support()
    end = high if t > 0 else low
    extreme = (
        d.upper_quantile(np.exp(-TAIL_DEPTH)) if t > 0 else d.quantile(np.exp(-TAIL_DEPTH))
    )
    middle = d.quantile(0.5)
    anchor = np.where(np.isfinite(end), end, middle)
    growth = t * (d._full(extreme) - middle)
    is_infinite = ~np.isfinite(end) & (growth > TAIL_DEPTH - LEAST_DECAY)
    with np.errstate(over="ignore"):
        relative = d.expectation(lambda y: np.exp(t * (y - anchor)), order=16)
    return np.where(is_infinite, np.inf, t * anchor + np.log(relative))


@dataclass(frozen=True)
class NumericLoss(ABC):
    """A loss for actions that are numbers."""

    @abstractmethod
    def loss(self, action: ArrayLike, outcome: ArrayLike) -> Array:
        """Return what each action costs when each outcome comes true."""

    @abstractmethod
    def action(self, predictive: Univariate) -> Array:
        """Return the action of least expected loss, shape (*batch)."""

    @abstractmethod
    def expected_loss(self, predictive: Univariate, action: ArrayLike) -> Array:
        """Return what an action is expected to cost; infinite where the mean loss is."""


@dataclass(frozen=True)
class QuadraticLoss(NumericLoss):
    """``(action - outcome)^2``: the mean is best, and costs the variance.

    Examples
    --------
    >>> from credo.distributions import Gamma
    >>> skewed = Gamma(shape=2.0, rate=1.0)
    >>> float(QuadraticLoss().action(skewed)), float(QuadraticLoss().expected_loss(skewed, 3.0))
    (2.0, 3.0)
    """

    def loss(self, action: ArrayLike, outcome: ArrayLike) -> Array:
        """Return the squared distance."""
        return np.asarray((as_float(action) - as_float(outcome)) ** 2)

    def action(self, predictive: Univariate) -> Array:
        """Return the mean."""
        return _existing(predictive.mean(), "a mean", "Use AbsoluteLoss, whose action is")

    def expected_loss(self, predictive: Univariate, action: ArrayLike) -> Array:
        """Return the variance plus the squared distance from the mean."""
        shift = as_float(action) - predictive.mean()
        return _infinite_if_none(predictive.variance() + shift**2)


@dataclass(frozen=True)
class AsymmetricLinearLoss(NumericLoss):
    """``under`` for each unit that the action falls short, ``over`` for each in excess.

    The quantile at ``under / (under + over)`` is best: the critical ratio of the newsvendor.

    Attributes
    ----------
    under, over
        Positive, in loss per unit of the outcome.

    Examples
    --------
    A paper bought for 1 and sold for 4; what is not sold is returned for 0.5. Too few cost the
    margin of 3 for each missed sale, too many 0.5 each.

    >>> from credo.distributions import Normal
    >>> stock = AsymmetricLinearLoss(under=4 - 1, over=1 - 0.5)
    >>> demand = Normal(loc=100.0, scale=20.0)
    >>> float(stock.action(demand).round(2)), round(stock.level, 4)
    (121.35, 0.8571)
    """

    under: float
    over: float

    def __post_init__(self) -> None:
        _require_positive("under", self.under)
        _require_positive("over", self.over)

    @property
    def level(self) -> float:
        """Probability of an outcome not above the best action."""
        return self.under / (self.under + self.over)

    def loss(self, action: ArrayLike, outcome: ArrayLike) -> Array:
        """Return the distance times the cost of its direction."""
        short = as_float(outcome) - as_float(action)
        return np.maximum(self.under * short, -self.over * short)

    def action(self, predictive: Univariate) -> Array:
        """Return the quantile at ``level``."""
        # From the nearer end, so that a level close to one keeps its digits.
        if self.under > self.over:
            return predictive._full(predictive.upper_quantile(1.0 - self.level))
        return predictive._full(predictive.quantile(self.level))

    def expected_loss(self, predictive: Univariate, action: ArrayLike) -> Array:
        """Return the mean shortfall and the mean excess, each times its cost."""
        guess = as_float(action)
        distance, shift = predictive.expected_distance(guess), predictive.mean() - guess
        # E|Y - a| and E[Y] - a are the sum and the difference of shortfall and excess.
        short, excess = 0.5 * (distance + shift), 0.5 * (distance - shift)
        return _infinite_if_none(
            self.under * np.maximum(short, 0.0) + self.over * np.maximum(excess, 0.0)
        )


@dataclass(frozen=True)
class AbsoluteLoss(NumericLoss):
    """``|action - outcome|``: the median is best.

    Examples
    --------
    >>> from credo.distributions import Exponential
    >>> float(AbsoluteLoss().action(Exponential(1.0)).round(4))
    0.6931
    """

    def loss(self, action: ArrayLike, outcome: ArrayLike) -> Array:
        """Return the distance."""
        return np.abs(as_float(action) - as_float(outcome))

    def action(self, predictive: Univariate) -> Array:
        """Return the median."""
        return predictive._full(predictive.quantile(0.5))

    def expected_loss(self, predictive: Univariate, action: ArrayLike) -> Array:
        """Return the mean distance."""
        return _infinite_if_none(predictive.expected_distance(action))


@dataclass(frozen=True)
class PinballLoss(NumericLoss):
    """``q`` for each unit the action falls short, ``1 - q`` in excess: the quantile is best.

    Examples
    --------
    >>> from credo.distributions import Uniform
    >>> float(PinballLoss(0.9).action(Uniform(0.0, 10.0)))
    9.0
    """

    q: float

    def __post_init__(self) -> None:
        if not 0 < self.q < 1:
            raise ValueError(
                f"q must be above 0 and below 1; found {self.q!r}. Pass the level of a "
                "quantile, such as 0.9."
            )

    def loss(self, action: ArrayLike, outcome: ArrayLike) -> Array:
        """Return the distance times the cost of its direction."""
        return self._linear.loss(action, outcome)

    def action(self, predictive: Univariate) -> Array:
        """Return the quantile at ``q``."""
        return predictive._full(predictive.quantile(self.q))

    def expected_loss(self, predictive: Univariate, action: ArrayLike) -> Array:
        """Return the mean shortfall and the mean excess, each times its cost."""
        return self._linear.expected_loss(predictive, action)

    @property
    def _linear(self) -> AsymmetricLinearLoss:
        return AsymmetricLinearLoss(self.q, 1.0 - self.q)


@dataclass(frozen=True)
class ZeroOneLoss(NumericLoss):
    """One unless the action is the outcome: the most probable outcome is best.

    Under a density every point is missed with probability one; the mode is the best center of
    a window, in the limit of a small one.

    Examples
    --------
    >>> from credo.distributions import Poisson
    >>> guess = ZeroOneLoss().action(Poisson(2.5))
    >>> float(guess), float(ZeroOneLoss().expected_loss(Poisson(2.5), guess).round(4))
    (2.0, 0.7435)
    """

    def loss(self, action: ArrayLike, outcome: ArrayLike) -> Array:
        """Return one for each miss."""
        return as_float(as_float(action) != as_float(outcome))

    def action(self, predictive: Univariate) -> Array:
        """Return the mode."""
        advice = "Use AbsoluteLoss, whose action is"
        return _existing(as_float(predictive.mode()), "one mode", advice)

    def expected_loss(self, predictive: Univariate, action: ArrayLike) -> Array:
        """Return the probability of any other outcome; one under a density."""
        guess = as_float(action)
        if not predictive.is_discrete:
            return np.ones(np.broadcast_shapes(guess.shape, predictive.batch_shape))
        return np.asarray(1.0 - predictive.prob(guess))


@dataclass(frozen=True)
class LinexLoss(NumericLoss):
    """``exp(a d) - a d - 1`` of ``d = action - outcome``: about linear on one side only.

    Exponential in the excess for ``a > 0``, in the shortfall for ``a < 0``; near zero it is
    ``(a d)^2 / 2``. The best action is ``-log E[exp(-a Y)] / a``, for a normal
    ``mean - a variance / 2`` [varian1975]_ [zellner1986]_.

    Attributes
    ----------
    a
        Not zero, in units of one over the outcome.

    Examples
    --------
    >>> from credo.distributions import Normal
    >>> float(LinexLoss(0.5).action(Normal(10.0, 2.0)))
    9.0
    """

    a: float

    def __post_init__(self) -> None:
        if self.a == 0 or not np.isfinite(self.a):
            raise ValueError(
                f"a must be finite and not zero; found {self.a!r}. Use QuadraticLoss, which is "
                "the limit of small a."
            )

    def loss(self, action: ArrayLike, outcome: ArrayLike) -> Array:
        """Return the loss; it overflows to infinity for enormous distances."""
        d = self.a * (as_float(action) - as_float(outcome))
        with np.errstate(over="ignore"):
            return np.asarray(np.expm1(d) - d)

    def action(self, predictive: Univariate) -> Array:
        """Return ``-log E[exp(-a Y)] / a``; an error where that expectation is infinite."""
        moment = log_exponential_moment(predictive, -self.a)
        if not np.isfinite(moment).all():
            raise ValueError(
                f"the expected LINEX loss must be finite for some action; found a "
                f"{_family(predictive)} with tails too heavy for a={self.a:g}, under "
                "which every action costs infinity. Take a smaller |a|, a predictive with a "
                "known noise (Normal), or AsymmetricLinearLoss."
            )
        return np.asarray(-moment / self.a)

    def expected_loss(self, predictive: Univariate, action: ArrayLike) -> Array:
        """Return ``E[exp(a d)] - a E[d] - 1``."""
        guess = as_float(action)
        moment = log_exponential_moment(predictive, -self.a)
        with np.errstate(over="ignore", invalid="ignore"):
            growth = np.expm1(self.a * guess + moment)
            return _infinite_if_none(growth - self.a * (guess - predictive.mean()))


def _family(predictive: Univariate) -> str:
    inner = predictive.marginal if isinstance(predictive, Predictive) else predictive
    return type(inner).__name__


def _existing(values: Array, what: str, advice: str) -> Array:
    is_missing = np.isnan(values)
    if is_missing.any():
        raise ValueError(
            f"the predictive must have {what} for this loss; found none in "
            f"{is_missing.sum()} of {values.size} rows. {advice} the median."
        )
    return values


def _infinite_if_none(values: Array) -> Array:
    """Return losses, infinite where no expectation exists: a loss is never negative."""
    return np.where(np.isnan(values), np.inf, values)


def _require_positive(name: str, value: float) -> None:
    if not 0 < value < np.inf:
        raise ValueError(
            f"{name} must be a positive number; found {value!r}. Pass the loss per unit."
        )
