"""Squared distances of rows from centers, each in the metric of a covariance of its own."""

from __future__ import annotations

import numpy as np

from credo.numerics.array import Array

__all__ = ["mahalanobis_squares"]

BLOCK_BYTES = 1 << 20


def mahalanobis_squares(x: Array, centers: Array, lower: Array) -> Array:
    """Return ``|L_k^-1 (x_i - c_k)|^2``, shape (n, K); not finite where squares overflow.

    Parameters
    ----------
    x
        Rows, shape (n, d).
    centers
        Shape (K, d).
    lower
        Cholesky factors of the covariances, shape (K, d, d), or one for all, (d, d).

    Examples
    --------
    >>> centers, lower = np.array([[0.0], [4.0]]), np.array([[[1.0]], [[2.0]]])
    >>> mahalanobis_squares(np.array([[2.0]]), centers, lower)
    array([[4., 1.]])
    """
    k, d = centers.shape
    # Rows are centered first: whitened coordinates of far-off rows would lose digits.
    origin = centers.mean(axis=0)
    # Of an upper triangle: rows of a lower one change places, and pivots of columns in other
    # units underflow.
    roots = np.linalg.inv(lower.swapaxes(-1, -2)).reshape(-1, d, d)
    offset = ((centers - origin)[:, None, :] @ roots)[:, 0, :]
    across = roots.transpose(1, 0, 2).reshape(d, -1)
    answer = np.empty((len(x), k))
    step = max(64, BLOCK_BYTES // (8 * max(k * d, 1)))
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, len(x), step):
            rows = slice(start, start + step)
            whitened = ((x[rows] - origin) @ across).reshape(-1, len(roots), d)
            shift = np.subtract(whitened, offset, out=whitened if len(roots) == k else None)
            np.einsum("ikj,ikj->ik", shift, shift, out=answer[rows])
    return answer
