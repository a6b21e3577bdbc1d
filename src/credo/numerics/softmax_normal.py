"""Means of the softmax function over normal class scores.

A row whose J coordinates are ``mean + root z``, ``z`` standard normal, has class scores
``C (mean + root z)``. Two classes: one dimension, by the trapezoid rule, whose error falls
exponentially with the number of nodes. More: a fixed set of nodes in J dimensions, of even
directions and radii at the quantiles of the chi distribution, each beside its mirror image, so
that all odd moments are zero; they are scaled to the right covariance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np
from scipy import special

from credo.numerics.array import Array, as_float
from credo.numerics.linear_algebra import solve_lower

__all__ = ["ExpectedSoftmax", "expected_softmax", "log_expected_softmax", "mirrored"]

_LINE = 0.25 * np.arange(-24, 25)
_BLOCK_NUMBERS = 1 << 17
_PHASES = 10.0


@dataclass(frozen=True, eq=False)
class ExpectedSoftmax:
    """What the mean over scores gives for each row.

    Attributes
    ----------
    log_total
        Mean of the log of the sum of the exponentials of the scores, shape (n,).
    probability
        Mean class probabilities, shape (n, K).
    bend
        Mean products of the probabilities of two classes, pair by pair, shape (n, n_pairs):
        minus the second derivative of the log total between them.
    """

    log_total: Array
    probability: Array
    bend: Array

    @classmethod
    def empty(cls, n: int, n_classes: int) -> Self:
        """Return room for ``n`` rows."""
        n_pairs = n_classes * (n_classes - 1) // 2
        return cls(np.empty(n), np.empty((n, n_classes)), np.empty((n, n_pairs)))


def expected_softmax(mean: Array, root: Array, coding: Array) -> ExpectedSoftmax:
    """Return means over normal scores, row by row.

    Parameters
    ----------
    mean
        Means of the coordinates, shape (n, J).
    root
        Any root of their covariances, ``root root' = covariance``, shape (n, J, J).
    coding
        Scores of the K classes from J numbers, shape (K, J).

    Examples
    --------
    >>> coding = np.array([[0.0], [1.0]])
    >>> found = expected_softmax(np.array([[1.0]]), np.array([[[2.0]]]), coding)
    >>> found.probability.round(4)
    array([[0.3523, 0.6477]])
    """
    if len(coding) == 2:
        return _expected_logistic(mean, root, coding)
    found = ExpectedSoftmax.empty(len(mean), len(coding))
    first, second = np.triu_indices(len(coding), 1)
    for rows, scores, weight in _scores(mean, root, coding, n_times=1):
        highest = scores.max(axis=1, keepdims=True)
        scores -= highest
        share = np.exp(scores, out=scores)
        total = share.sum(axis=1)
        found.log_total[rows] = (np.log(total) + highest[:, 0]) @ weight
        share /= total[:, None]
        found.probability[rows] = share @ weight
        products = (share * weight) @ share.swapaxes(1, 2)
        found.bend[rows] = products[:, first, second]
    return found


def log_expected_softmax(mean: Array, root: Array, coding: Array) -> Array:
    """Return the logs of the mean probabilities alone, however small they are, shape (n, K)."""
    found = np.empty((len(mean), len(coding)))
    for rows, scores, weight in _scores(mean, root, coding, n_times=2):
        logs = scores - special.logsumexp(scores, axis=1, keepdims=True)
        found[rows] = special.logsumexp(logs, axis=2, b=weight)
    return np.asarray(found - special.logsumexp(found, axis=1, keepdims=True))


def _expected_logistic(mean: Array, root: Array, coding: Array) -> ExpectedSoftmax:
    """Return the same of two classes, where the difference of the scores says it all."""
    step = coding[1] - coding[0]
    found = ExpectedSoftmax.empty(len(mean), 2)
    spread = np.sqrt(((step @ root) ** 2).sum(axis=1))
    nodes, weight = _nodes(1, 1)
    size = _BLOCK_NUMBERS // len(weight)
    for start in range(0, len(mean), size):
        rows = slice(start, start + size)
        score = (mean[rows] @ step)[:, None] + spread[rows, None] * nodes[0]
        share = special.expit(score)
        second = share @ weight
        total = np.log1p(np.exp(-np.abs(score))) + np.maximum(score, 0.0)
        found.log_total[rows] = total @ weight + mean[rows] @ coding[0]
        found.probability[rows] = np.stack([1.0 - second, second], axis=1)
        found.bend[rows, 0] = (share * (1.0 - share)) @ weight
    return found


def mirrored(root: Array, rows: Array) -> Array:
    """Return the roots with a reflection of their own for each row, shape (n, J, J).

    A root times a reflection is another root of the same covariance, that has its nodes
    elsewhere. Its direction depends on J numbers of the row alone, quickly but smoothly: what
    the nodes get wrong then cancels in sums over rows, while neither the order of the rows nor
    copies of them matter.

    Parameters
    ----------
    root
        Shape (n, J, J).
    rows
        Numbers that tell rows apart, shape (n, J).
    """
    wave = np.sin(_PHASES * rows + np.arange(1.0, rows.shape[1] + 1.0))
    length = np.sqrt((wave**2).sum(axis=1, keepdims=True))
    direction = wave / np.maximum(length, np.finfo(float).tiny)
    return np.asarray(root - 2.0 * (root @ direction[:, :, None]) * direction[:, None])


def _scores(
    mean: Array, root: Array, coding: Array, n_times: int
) -> Iterator[tuple[slice, Array, Array]]:
    """Yield rows, their scores at every node (n, K, n_nodes), and the weights of the nodes."""
    nodes, weight = _nodes(mean.shape[1], n_times)
    size = max(1, _BLOCK_NUMBERS // (len(coding) * len(weight)))
    center, spread = mean @ coding.T, coding @ root
    for start in range(0, len(mean), size):
        rows = slice(start, min(start + size, len(mean)))
        scores = spread[rows] @ nodes
        scores += center[rows, :, None]
        yield rows, scores, weight


@lru_cache(maxsize=16)
def _nodes(n: int, n_times: int) -> tuple[Array, Array]:
    """Return nodes (n, n_nodes) and weights for a standard normal in n dimensions."""
    if n == 1:
        density = np.exp(-0.5 * _LINE**2)
        return as_float(_LINE[None]), as_float(density / density.sum())
    n_half = n_times * max(32, 256 >> n, 2 * n)
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
