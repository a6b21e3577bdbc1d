"""Means of the softmax function over normal class scores.

For learning, in closed form. The probability of class k is, with the logistic function ``f``,

    p_k = 1 / (2 - K + sum over j of 1 / f(s_k - s_j))

exactly; its mean is close to the same with the means of ``f`` [daunizeau2017]_, and that of
``-log p_k`` to ``log(2 - K + sum over j of exp E log 1 / f(s_k - s_j))``: within 0.06 and six
percent where differences of scores have a standard deviation of about one, twice that at twice
the spread, and much less where one class leads. Two classes: both are exact. The logistic
function is a mixture of normal distribution functions within 3e-6
[monahan1992]_, and so are its means.

For predictions, to about a percent: a fixed set of nodes, of even directions and radii at the
quantiles of the chi distribution, each beside its mirror image, so that all odd moments are
zero; they are scaled to the right covariance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from credo.numerics.array import Array, as_float
from credo.numerics.linear.linear_algebra import solve_lower
from credo.numerics.parallel.cores import in_parts

__all__ = ["ExpectedSoftmax", "class_pairs", "expected_softmax", "log_expected_softmax"]

# The mixture of five normal distribution functions closest to the logistic function.
_SHARES = (0.06403652285, 0.3375820735, 0.40887544456, 0.17219341862, 0.01731254047)
_WIDTHS = (0.92573057251, 1.30207689887, 1.81621919782, 2.52648882098, 3.52179092253)
_BLOCK_NUMBERS = 1 << 17
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class ExpectedSoftmax:
    """What the mean over scores gives for each row.

    Attributes
    ----------
    loss
        Mean of minus the log probability of the class of the row, shape (n,).
    probability
        Mean class probabilities, shape (n, K).
    bend
        Mean products of the probabilities of two classes, pair by pair, shape (n, n_pairs):
        the second derivative of the loss between them.
    """

    loss: Array
    probability: Array
    bend: Array


@lru_cache(maxsize=64)
def class_pairs(n_classes: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first and the second class of each pair.

    Examples
    --------
    >>> class_pairs(3)
    (array([0, 0, 1]), array([1, 2, 2]))
    """
    first, second = np.triu_indices(n_classes, 1)
    first.setflags(write=False)
    second.setflags(write=False)
    return first, second


def expected_softmax(scores: Array, variance: Array, code: NDArray[np.intp]) -> ExpectedSoftmax:
    """Return means over normal scores, row by row.

    Parameters
    ----------
    scores
        Means of the scores of the classes, shape (n, K).
    variance
        Variances of the differences of two scores, pair by pair, shape (n, n_pairs).
    code
        Class of each row.

    Examples
    --------
    >>> found = expected_softmax(np.array([[0.0, 1.0]]), np.array([[4.0]]), np.array([1]))
    >>> found.probability.round(4), found.loss.round(4)
    (array([[0.3523, 0.6477]]), array([0.6425]))
    """
    n_classes = scores.shape[1]
    first, second = class_pairs(n_classes)
    ahead = scores[:, first] - scores[:, second]
    wins, slope, trail = _logistic_means(ahead, variance)
    loses = np.maximum(1.0 - wins, _TINY)
    wins = np.maximum(wins, _TINY)
    is_first, is_second = np.eye(n_classes)[first], np.eye(n_classes)[second]
    inverse = 2.0 - n_classes + (1.0 / wins) @ is_first + (1.0 / loses) @ is_second
    probability = 1.0 / inverse
    probability /= probability.sum(axis=1, keepdims=True)
    # Of each pair: how probable it is that one of the two is the class.
    both = np.maximum(probability[:, first] / wins, probability[:, second] / loses)
    bend = np.minimum(both, 1.0) ** 2 * slope
    return ExpectedSoftmax(_own_loss(trail, ahead, code, n_classes), probability, bend)


def _logistic_means(mean: Array, variance: Array) -> tuple[Array, Array, Array]:
    """Return the means of the logistic function, its slope, and minus its logarithm."""
    found = np.zeros((3, mean.size))
    means, variances = mean.ravel(), variance.ravel()

    def add(start: int, stop: int) -> None:
        own, (value, slope, loss) = means[start:stop], found[:, start:stop]
        for share, width in zip(_SHARES, _WIDTHS, strict=True):
            spread = np.sqrt(variances[start:stop] + width**2)
            place = own / spread
            below = special.ndtr(place)
            below *= share
            value += below
            density = np.multiply(place, place, out=place)
            density *= -0.5
            np.exp(density, out=density)
            density *= share / np.sqrt(2.0 * np.pi)
            slope += np.divide(density, spread, out=below)
            loss += np.multiply(density, spread, out=below)
        loss -= own * (1.0 - value)

    in_parts(add, mean.size, len(_SHARES) * mean.size)
    value, slope, loss = found.reshape(3, *mean.shape)
    return value, slope, loss


def _own_loss(trail: Array, ahead: Array, code: NDArray[np.intp], n_classes: int) -> Array:
    """Return the mean loss of each row from those of its class against each other one.

    Parameters
    ----------
    trail, ahead
        Mean loss of the first class of a pair against the second, and by how much its mean
        score is ahead, shape (n, n_pairs).
    """
    first, second = class_pairs(n_classes)
    pair = np.zeros((n_classes, n_classes), dtype=int)
    pair[first, second] = pair[second, first] = np.arange(len(first))
    others = np.array([[j for j in range(n_classes) if j != k] for k in range(n_classes)])
    own = pair[code[:, None], others[code]]
    row = np.arange(len(code))[:, None]
    each = trail[row, own] + np.where(others[code] > code[:, None], 0.0, ahead[row, own])
    each = np.maximum(each, 0.0)
    most = each.max(axis=1, keepdims=True)
    total = (2.0 - n_classes) * np.exp(-most[:, 0]) + np.exp(each - most).sum(axis=1)
    return np.asarray(np.log(total) + most[:, 0])


def log_expected_softmax(mean: Array, root: Array, coding: Array) -> Array:
    """Return the logs of the mean probabilities alone, however small they are, shape (n, K)."""
    found = np.empty((len(mean), len(coding)))
    for rows, scores, weight in _scores(mean, root, coding):
        scores -= scores.max(axis=1, keepdims=True)
        share = np.exp(scores)
        total = share.sum(axis=1, keepdims=True)
        probability = (share / total) @ weight
        is_tiny = probability.min(axis=1) < _TINY
        part = np.log(np.maximum(probability, _TINY))
        if is_tiny.any():
            logs = scores[is_tiny] - np.log(total[is_tiny])
            part[is_tiny] = special.logsumexp(logs, axis=2, b=weight)
        found[rows] = part
    return np.asarray(found - special.logsumexp(found, axis=1, keepdims=True))


def _scores(mean: Array, root: Array, coding: Array) -> Iterator[tuple[slice, Array, Array]]:
    """Yield rows, their scores at every node (n, K, n_nodes), and the weights of the nodes."""
    nodes, weight = _nodes(mean.shape[1])
    size = max(1, _BLOCK_NUMBERS // (len(coding) * len(weight)))
    center, spread = mean @ coding.T, coding @ root
    for start in range(0, len(mean), size):
        rows = slice(start, min(start + size, len(mean)))
        scores = spread[rows] @ nodes
        scores += center[rows, :, None]
        yield rows, scores, weight


@lru_cache(maxsize=16)
def _nodes(n: int) -> tuple[Array, Array]:
    """Return nodes (n, n_nodes) and weights for a standard normal in n dimensions."""
    n_half = 2 * max(32, 256 >> n, 2 * n)
    points = _even_points(n_half, n + 1)
    direction = special.ndtri(points[:, 1:])
    direction /= np.sqrt((direction**2).sum(axis=1, keepdims=True))
    radius = np.sqrt(2.0 * special.gammaincinv(0.5 * n, points[:, 0]))
    half = (direction * radius[:, None]).T
    half = solve_lower(np.linalg.cholesky(half @ half.T / n_half), half)
    nodes = as_float(np.concatenate([half, -half], axis=1))
    return nodes, np.full(2 * n_half, 0.5 / n_half)


def _even_points(n_points: int, n: int) -> Array:
    """Return points that fill the unit cube evenly, from powers of a generalized golden ratio.

    The first coordinate is stratified, the others are multiples of irrational numbers.
    """
    ratio = 2.0
    for _ in range(64):
        ratio = (1.0 + ratio) ** (1.0 / n)
    step = ratio ** -np.arange(1.0, n)
    index = np.arange(n_points)[:, None]
    return np.hstack([(index + 0.5) / n_points, (0.5 + (index + 1) * step) % 1.0])
