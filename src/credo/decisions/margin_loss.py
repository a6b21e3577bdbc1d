"""Losses of a two-class score: functions of the margin ``z = y f(x)``, with y coded -1 or 1.

Each is a value with `value`, `gradient` and, where it exists, `curvature` in z. What the score
means follows from its `best_score`: the f that minimizes the expected loss
``p L(f) + (1 - p) L(-f)`` when the second class has probability p.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from credo.numerics.array import Array, as_float
from credo.numerics.special.log_domain import log_sigmoid, sigmoid

__all__ = [
    "MARGIN_LOSSES",
    "ExponentialMargin",
    "HingeMargin",
    "LogisticMargin",
    "MarginLoss",
    "QuadraticMargin",
    "SmoothHingeMargin",
    "ZeroOneMargin",
]


@dataclass(frozen=True)
class MarginLoss(ABC):
    """What a margin costs.

    Attributes
    ----------
    has_probability
        Whether the best score tells the probability of the class; see `probability`.
    bound_factor
        Number by which the loss must be multiplied to be an upper bound on the 0-1 loss.
    """

    has_probability: ClassVar[bool] = False
    bound_factor: ClassVar[float] = 1.0

    @abstractmethod
    def value(self, z: ArrayLike) -> Array:
        """Return the loss at each margin."""

    @abstractmethod
    def gradient(self, z: ArrayLike) -> Array:
        """Return the derivative in the margin; at a kink, that of its right side."""

    @abstractmethod
    def best_score(self, probability: ArrayLike) -> Array:
        """Return the score of least expected loss where the second class has probability p."""

    def probability(self, score: ArrayLike) -> Array:
        """Return the probability of the second class of which a score is the best score."""
        raise TypeError(
            "probabilities need a loss whose best score tells them, such as LogisticMargin(); "
            f"found {type(self).__name__}(). Use the sign of the score, or another loss."
        )

    def expected(self, score: ArrayLike, probability: ArrayLike) -> Array:
        """Return ``p L(f) + (1 - p) L(-f)``, the expected loss of a score.

        Examples
        --------
        >>> float(HingeMargin().expected(0.5, 0.25))
        1.25
        """
        f, p = as_float(score), as_float(probability)
        return np.asarray(p * self.value(f) + (1.0 - p) * self.value(-f))


@dataclass(frozen=True)
class ConvexMarginLoss(MarginLoss):
    """A convex loss, which has a dual."""

    @abstractmethod
    def curvature(self, z: ArrayLike) -> Array:
        """Return the second derivative in the margin, zero at a kink."""

    @abstractmethod
    def dual(self, slope: ArrayLike) -> Array:
        """Return ``min over z of L(z) + slope * z``, the lower bound that a slope gives."""


@dataclass(frozen=True)
class ZeroOneMargin(MarginLoss):
    """One for an error: ``I[z < 0]``.

    A margin of zero counts as right here, whatever the class; a classifier answers a score of
    zero with its first class, which is an error on rows of the second.

    Examples
    --------
    >>> ZeroOneMargin().value([-0.1, 0.0, 0.1])
    array([1., 0., 0.])
    """

    def value(self, z: ArrayLike) -> Array:
        """Return the loss at each margin."""
        return np.where(as_float(z) < 0, 1.0, 0.0)

    def gradient(self, z: ArrayLike) -> Array:
        """Return zero, which is why no gradient can minimize this loss."""
        return np.zeros_like(as_float(z))

    def best_score(self, probability: ArrayLike) -> Array:
        """Return the sign of ``p - 1/2``."""
        return np.sign(2.0 * as_float(probability) - 1.0)


@dataclass(frozen=True)
class LogisticMargin(ConvexMarginLoss):
    """The negative log likelihood of logistic regression: ``log(1 + exp(-z))``.

    Grows like ``-z`` for large errors, with the slope of the hinge.

    Examples
    --------
    >>> LogisticMargin().value([-2.0, 0.0]).round(6)
    array([2.126928, 0.693147])
    """

    has_probability: ClassVar[bool] = True
    bound_factor: ClassVar[float] = float(1.0 / np.log(2.0))

    def value(self, z: ArrayLike) -> Array:
        """Return the loss at each margin."""
        return -log_sigmoid(z)

    def gradient(self, z: ArrayLike) -> Array:
        """Return the derivative in the margin."""
        return -sigmoid(-as_float(z))

    def curvature(self, z: ArrayLike) -> Array:
        """Return the second derivative in the margin."""
        return sigmoid(z) * sigmoid(-as_float(z))

    def dual(self, slope: ArrayLike) -> Array:
        """Return the entropy of a coin, for slopes from 0 to 1."""
        a = as_float(slope)
        return np.asarray(special.entr(a) + special.entr(1.0 - a))

    def best_score(self, probability: ArrayLike) -> Array:
        """Return the log odds."""
        return np.asarray(special.logit(as_float(probability)))

    def probability(self, score: ArrayLike) -> Array:
        """Return the logistic function of the score."""
        return sigmoid(score)


@dataclass(frozen=True)
class ExponentialMargin(ConvexMarginLoss):
    """The loss that boosting descends: ``exp(-z)``; one far outlier can outweigh all rows.

    Examples
    --------
    >>> ExponentialMargin().value([-2.0, 0.0]).round(6)
    array([7.389056, 1.      ])
    """

    has_probability: ClassVar[bool] = True

    def value(self, z: ArrayLike) -> Array:
        """Return the loss at each margin."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(-as_float(z)))

    def gradient(self, z: ArrayLike) -> Array:
        """Return the derivative in the margin."""
        return -self.value(z)

    def curvature(self, z: ArrayLike) -> Array:
        """Return the second derivative in the margin."""
        return self.value(z)

    def dual(self, slope: ArrayLike) -> Array:
        """Return ``a - a log a``, for slopes a that are not negative."""
        a = as_float(slope)
        return np.asarray(a + special.entr(a))

    def best_score(self, probability: ArrayLike) -> Array:
        """Return half the log odds."""
        return np.asarray(0.5 * special.logit(as_float(probability)))

    def probability(self, score: ArrayLike) -> Array:
        """Return the logistic function of twice the score."""
        return sigmoid(2.0 * as_float(score))


@dataclass(frozen=True)
class HingeMargin(ConvexMarginLoss):
    """The loss of support vector machines: ``max(0, 1 - z)``; zero beyond a margin of one.

    Its best score is the class itself, so that it cannot tell probabilities.

    Examples
    --------
    >>> HingeMargin().value([-2.0, 0.0, 3.0])
    array([3., 1., 0.])
    """

    def value(self, z: ArrayLike) -> Array:
        """Return the loss at each margin."""
        return np.maximum(0.0, 1.0 - as_float(z))

    def gradient(self, z: ArrayLike) -> Array:
        """Return the derivative in the margin; zero at the kink, of slopes from -1 to 0."""
        return np.where(as_float(z) < 1.0, -1.0, 0.0)

    def curvature(self, z: ArrayLike) -> Array:
        """Return zero."""
        return np.zeros_like(as_float(z))

    def dual(self, slope: ArrayLike) -> Array:
        """Return the slope, for slopes from 0 to 1."""
        return as_float(slope)

    def best_score(self, probability: ArrayLike) -> Array:
        """Return the sign of ``p - 1/2``."""
        return np.sign(2.0 * as_float(probability) - 1.0)

    def smoothed(self, width: float) -> SmoothHingeMargin:
        """Return this loss with its kink rounded to a parabola of a width, nowhere above it."""
        return SmoothHingeMargin(width)


@dataclass(frozen=True)
class SmoothHingeMargin(ConvexMarginLoss):
    """A hinge whose kink is a parabola from ``1 - width`` to 1; at most width / 2 below it.

    Examples
    --------
    >>> SmoothHingeMargin(0.5).value([0.0, 0.75, 1.0])
    array([0.75  , 0.0625, 0.    ])
    """

    width: float = 1.0

    def value(self, z: ArrayLike) -> Array:
        """Return the loss at each margin."""
        short = np.maximum(0.0, 1.0 - as_float(z))
        inside = np.minimum(short, self.width)
        return np.asarray(inside**2 / (2.0 * self.width) + (short - inside))

    def gradient(self, z: ArrayLike) -> Array:
        """Return the derivative in the margin."""
        return np.asarray(-np.clip((1.0 - as_float(z)) / self.width, 0.0, 1.0))

    def curvature(self, z: ArrayLike) -> Array:
        """Return the second derivative in the margin."""
        short = 1.0 - as_float(z)
        return np.where((short > 0) & (short < self.width), 1.0 / self.width, 0.0)

    def dual(self, slope: ArrayLike) -> Array:
        """Return ``a - width a^2 / 2``, for slopes a from 0 to 1."""
        a = as_float(slope)
        return np.asarray(a - 0.5 * self.width * a**2)

    def best_score(self, probability: ArrayLike) -> Array:
        """Return the score nearest zero at which the expected loss is least."""
        p = as_float(probability)
        weaker = np.minimum(p, 1.0 - p) / np.maximum(p, 1.0 - p)
        return np.asarray(np.sign(2.0 * p - 1.0) * np.maximum(0.0, 1.0 - self.width * weaker))

    @property
    def lag(self) -> float:
        """How far this loss is below the hinge at most."""
        return 0.5 * self.width


@dataclass(frozen=True)
class QuadraticMargin(ConvexMarginLoss):
    """Least squares on classes coded -1 and 1: ``(z - 1)^2``; being too right costs as well.

    Its best score is ``2 p - 1``, but scores of a linear function leave that range, so that
    they are not read as probabilities.

    Examples
    --------
    >>> QuadraticMargin().value([-1.0, 1.0, 3.0])
    array([4., 0., 4.])
    """

    def value(self, z: ArrayLike) -> Array:
        """Return the loss at each margin."""
        return np.asarray((as_float(z) - 1.0) ** 2)

    def gradient(self, z: ArrayLike) -> Array:
        """Return the derivative in the margin."""
        return np.asarray(2.0 * (as_float(z) - 1.0))

    def curvature(self, z: ArrayLike) -> Array:
        """Return the second derivative in the margin."""
        return np.full_like(as_float(z), 2.0)

    def dual(self, slope: ArrayLike) -> Array:
        """Return ``a - a^2 / 4``, for any slope a."""
        a = as_float(slope)
        return np.asarray(a - 0.25 * a**2)

    def best_score(self, probability: ArrayLike) -> Array:
        """Return ``2 p - 1``."""
        return np.asarray(2.0 * as_float(probability) - 1.0)


MARGIN_LOSSES = MappingProxyType(
    {
        "zero_one": ZeroOneMargin(),
        "logistic": LogisticMargin(),
        "hinge": HingeMargin(),
        "exponential": ExponentialMargin(),
        "quadratic": QuadraticMargin(),
    }
)
"""The losses by name."""
