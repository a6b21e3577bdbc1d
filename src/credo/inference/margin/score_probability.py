"""Platt scaling: a sigmoid of the score as a probability, coupled pairs for several classes.

Scores of rows that were learned from are too sure; the sigmoid is fitted to scores of rows held
out [platt1999]_.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.numerics.array import Array
from credo.numerics.special.log_domain import log_sigmoid, sigmoid

__all__ = ["ScoreSigmoid", "coupled_probability"]

LEAST_SLOPE = 1e-3
"""Slope, in units of typical scores, below which scores tell nothing."""

MOST_STEPS, SMALLEST_STEP = 100, 1e-10

NUMBERS_AT_ONCE = 1 << 17
"""Numbers in the systems of several rows that are solved together."""

NEVER_SURE = 1e-7
"""Probability that a pair leaves to the other class at least, so that coupling is possible."""


@dataclass(frozen=True)
class ScoreSigmoid:
    """``P(second class | score f) = 1 / (1 + exp(-(slope f + offset)))``, slope above zero.

    Attributes
    ----------
    slope, offset
        A score of ``-offset / slope`` means one half.

    Examples
    --------
    >>> scores, is_second = np.array([-2.0, -1.0, 0.0, 1.0, 2.0]), np.array([0, 0, 1, 0, 1])
    >>> found = ScoreSigmoid.of(scores, is_second == 1, np.ones(5))
    >>> found.probability(np.array([-1.0, found.middle, 1.0])).round(2)
    array([0.3 , 0.5 , 0.53])
    """

    slope: float
    offset: float

    @classmethod
    def of(
        cls,
        score: Array,
        is_second: NDArray[np.bool_],
        weight: Array,
        factor: Array | None = None,
    ) -> ScoreSigmoid:
        """Return the sigmoid of the largest likelihood of held-out rows.

        Classes are not taken as sure: with weights n of the second class and m of the first,
        the outcomes are ``(n + 1) / (n + 2)`` and ``1 / (m + 2)``. Newton's steps are halved
        until they gain, in sums that do not overflow [lin2007]_. Without rows, a score of zero
        means one half.

        Parameters
        ----------
        score, is_second, weight
            Scores, classes and weights of rows, shape (n,).
        factor
            How much more than its weight each row is to count, as if its class were more
            frequent; that makes its class no surer. One by default.
        """
        if not len(score):
            return cls(1.0, 0.0)
        n_second, n_first = float(weight[is_second].sum()), float(weight[~is_second].sum())
        target = np.where(is_second, (n_second + 1.0) / (n_second + 2.0), 1.0 / (n_first + 2.0))
        if factor is not None:
            weight = weight * (factor / factor.max())
        size = float(np.sqrt((weight * score**2).sum() / weight.sum())) or 1.0
        share = float((weight * target).sum() / weight.sum())
        start = np.array([0.0, np.log(share / (1.0 - share))])
        columns = np.stack([score / size, np.ones(len(score))])
        slope, offset = _newton(columns, target, weight, start)
        # Scores that are worse than chance still decide: more is never less probable.
        if slope < LEAST_SLOPE:
            slope, offset = LEAST_SLOPE, start[1]
        return cls(float(slope / size), float(offset))

    @property
    def middle(self) -> float:
        """The score that means one half."""
        return -self.offset / self.slope

    def probability(self, score: Array) -> Array:
        """Return the probability of the second class, of the shape of scores."""
        return sigmoid(self.slope * (score - self.middle))


def coupled_probability(second: Array, n_classes: int) -> Array:
    """Return probabilities of several classes that agree best with those of pairs.

    With ``r_ab`` the probability of a where it is a or b, the p that add up to one and make
    the sum of ``(r_ba p_a - r_ab p_b)^2`` least [wu2004]_: a linear system for each row.

    Parameters
    ----------
    second
        Probability of the second class of each pair, shape (n, K (K - 1) / 2), pairs in the
        order of ``itertools.combinations``.

    Returns
    -------
    Array
        Shape (n, K).

    Examples
    --------
    >>> p = np.array([0.5, 0.3, 0.2])
    >>> pairs = np.array([[p[1] / (p[0] + p[1]), p[2] / (p[0] + p[2]), p[2] / (p[1] + p[2])]])
    >>> coupled_probability(pairs, 3).round(6)
    array([[0.5, 0.3, 0.2]])
    """
    rows = max(NUMBERS_AT_ONCE // (n_classes + 1) ** 2, 1)
    found = np.empty((len(second), n_classes))
    for start in range(0, len(second), rows):
        found[start : start + rows] = _coupled(second[start : start + rows], n_classes)
    return found


def _coupled(second: Array, n_classes: int) -> Array:
    """Return coupled probabilities of some rows, whose systems are in memory at once."""
    first_of, second_of = np.triu_indices(n_classes, 1)
    inner = np.clip(second, NEVER_SURE, 1.0 - NEVER_SURE)
    other = np.zeros((len(second), n_classes, n_classes))
    # other[:, a, b] is the probability of b where it is a or b.
    other[:, first_of, second_of] = inner
    other[:, second_of, first_of] = 1.0 - inner
    system = np.zeros((len(second), n_classes + 1, n_classes + 1))
    every = np.arange(n_classes)
    system[:, :n_classes, :n_classes] = -other * np.swapaxes(other, 1, 2)
    system[:, every, every] = np.square(other).sum(axis=2)
    system[:, :n_classes, n_classes] = system[:, n_classes, :n_classes] = 1.0
    right = np.zeros((len(second), n_classes + 1, 1))
    right[:, n_classes] = 1.0
    found = np.linalg.solve(system, right)[:, :n_classes, 0]
    found = np.maximum(found, 0.0)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _newton(columns: Array, target: Array, weight: Array, start: Array) -> Array:
    """Return the weights of columns (k, n) with the largest likelihood of outcomes in 0..1."""

    def loss(point: Array) -> float:
        eta = point @ columns
        log_prob = target * log_sigmoid(eta) + (1.0 - target) * log_sigmoid(-eta)
        return -float(weight @ log_prob)

    point, value = start, loss(start)
    for _ in range(MOST_STEPS):
        p = sigmoid(point @ columns)
        slope = columns @ (weight * (p - target))
        bend = (columns * (weight * p * (1.0 - p))) @ columns.T
        bend[np.diag_indices(len(bend))] += 1e-12 * weight.sum()
        direction = np.linalg.solve(bend, slope)
        step, gain = 1.0, float(slope @ direction)
        while (
            step > SMALLEST_STEP and loss(point - step * direction) > value - 1e-4 * step * gain
        ):
            step *= 0.5
        if step <= SMALLEST_STEP or gain <= 1e-14 * max(value, 1.0):
            break
        point = point - step * direction
        value = loss(point)
    return point
