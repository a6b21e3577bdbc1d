"""Distances between rows, by matrix products."""

import numpy as np

from credo.numerics.array import Array

__all__ = ["nearest", "squared_distances"]

_BLOCK = 1 << 17
"""Distances found at a time: few enough to stay in cache until they are compared."""


def squared_distances(X: Array, Y: Array) -> Array:
    """Return ``|x_i - y_j|^2``, shape (n_x, n_y), never negative.

    Notes
    -----
    ``|x|^2 + |y|^2 - 2 x.y`` is one matrix product but cancels when both rows lie far from the
    origin, so the mean of ``Y`` becomes the origin first.

    Examples
    --------
    >>> import numpy as np
    >>> squared_distances(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 1.0]]))
    array([[25.,  1.]])
    """
    if len(Y) == 0:
        return np.empty((len(X), 0))
    origin = Y.mean(axis=0)
    X, Y = X - origin, Y - origin
    # Far outside, a square may overflow to infinity: that is the right answer there.
    with np.errstate(over="ignore"):
        squares = X @ (-2.0 * Y.T)
        squares += np.square(X).sum(axis=1)[:, None]
        squares += np.square(Y).sum(axis=1)
    return np.maximum(squares, 0.0, out=squares)


def nearest(X: Array, centers: Array) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Return the index of the center nearest to each row; a tie goes to the lowest index."""
    labels = np.empty(len(X), dtype=np.intp)
    rows = max(1, _BLOCK // len(centers))
    for start in range(0, len(X), rows):
        block = squared_distances(X[start : start + rows], centers)
        labels[start : start + rows] = block.argmin(axis=1)
    return labels
