"""K-means: a few centers for many rows, and the center nearest to each row."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.numerics.array import Array, squared_distances

__all__ = ["Clustering", "kmeans", "nearest"]


_BLOCK = 1 << 17
"""Distances found at a time: few enough to stay in cache until they are compared."""


def nearest(X: Array, centers: Array) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Return the index of the center nearest to each row; a tie goes to the lowest index."""
    labels = np.empty(len(X), dtype=np.intp)
    rows = max(1, _BLOCK // len(centers))
    for start in range(0, len(X), rows):
        block = squared_distances(X[start : start + rows], centers)
        labels[start : start + rows] = block.argmin(axis=1)
    return labels


@dataclass(frozen=True, eq=False)
class Clustering:
    """Centers, shape (k, n_features), and the nearest one of each row, shape (n_samples,).

    ``scatter`` is the sum of squared distances from the rows to their centers.
    """

    centers: Array
    labels: NDArray[np.intp]
    scatter: float


def kmeans(X: Array, k: int, rng: np.random.Generator, max_steps: int = 100) -> Clustering:
    """Return a local minimum of the scatter around ``k`` centers.

    Lloyd's alternation from k-means++ seeds [arthur2007]_, until the labels are stable. Fewer
    than ``k`` distinct rows give as many centers as there are distinct rows. A center that
    loses all its rows restarts at the row farthest from its own center.

    Examples
    --------
    >>> X = np.array([[0.0], [2.0], [10.0], [12.0]])
    >>> np.sort(kmeans(X, 2, np.random.default_rng(0)).centers, axis=0)
    array([[ 1.], [11.]])
    """
    centers = _seeds(X, k, rng)
    labels = nearest(X, centers)
    for _ in range(max_steps):
        centers = _means(X, labels, centers)
        previous, labels = labels, nearest(X, centers)
        if np.array_equal(labels, previous):
            break
    return Clustering(centers, labels, float(np.square(X - centers[labels]).sum()))


def _seeds(X: Array, k: int, rng: np.random.Generator) -> Array:
    """Return rows drawn one by one with probability proportional to the squared distance."""
    columns = np.ascontiguousarray(X.T)

    def squares(row: int) -> Array:
        away = columns - columns[:, row, None]
        away *= away
        return np.asarray(away.sum(axis=0))

    chosen = [int(rng.integers(len(X)))]
    gaps = squares(chosen[0])
    while len(chosen) < k and gaps.max() > 0:
        totals = gaps.cumsum()
        chosen.append(int(np.searchsorted(totals, rng.random() * totals[-1], side="right")))
        gaps = np.minimum(gaps, squares(chosen[-1]))
    return X[chosen]


def _means(X: Array, labels: NDArray[np.intp], centers: Array) -> Array:
    """Return the mean of the rows of each label; an empty one moves to the farthest row."""
    k = len(centers)
    counts = np.bincount(labels, minlength=k)
    sums = np.column_stack([np.bincount(labels, column, minlength=k) for column in X.T])
    means = sums / np.maximum(counts, 1)[:, None]
    empty = np.flatnonzero(counts == 0)
    if len(empty):
        gaps = np.square(X - means[labels]).sum(axis=1)
        means[empty] = X[np.argsort(gaps)[::-1][: len(empty)]]
    return means
