"""Parameters that must stay on a simplex or be a covariance: by projection, or by free ones."""

import numpy as np
from numpy.typing import ArrayLike

from credo.numerics.array import Array, as_float
from credo.numerics.linear.linear_algebra import symmetrize
from credo.numerics.special.log_domain import softmax

__all__ = ["FreeCovariance", "FreeSimplex", "project_to_simplex"]


def project_to_simplex(x: ArrayLike, method: str = "euclidean") -> Array:
    """Return probabilities near ``x``, along the last axis.

    ``"euclidean"``: the nearest point, ``max(x - t, 0)`` with t such that it sums to one.
    ``"clamp"``: negative entries set to zero, the rest divided by their sum; simpler, but not
    the nearest point. Without a positive entry to divide, it is the even distribution.

    Examples
    --------
    >>> project_to_simplex([0.5, 0.8, -0.1])
    array([0.35, 0.65, 0.  ])
    >>> project_to_simplex([0.6, 0.6, -0.1], method="clamp")
    array([0.5, 0.5, 0. ])
    """
    x = as_float(x)
    if method == "euclidean":
        ranked = -np.sort(-x, axis=-1)
        counts = np.arange(1, x.shape[-1] + 1)
        thresholds = (ranked.cumsum(axis=-1) - 1.0) / counts
        last = np.sum(ranked > thresholds, axis=-1, keepdims=True) - 1
        return np.maximum(x - np.take_along_axis(thresholds, last, axis=-1), 0.0)
    if method == "clamp":
        positive = np.maximum(x, 0.0)
        total = positive.sum(axis=-1, keepdims=True)
        even = np.full_like(x, 1.0 / x.shape[-1])
        return np.where(total > 0, positive / np.where(total > 0, total, 1.0), even)
    raise ValueError(
        f"method must be 'euclidean' or 'clamp'; found {method!r}. Name one of them."
    )


class FreeSimplex:
    """Probabilities as the softmax of free numbers: ``p_j = exp(b_j) / sum(exp(b))``.

    A constant added to all free numbers changes nothing.
    """

    @staticmethod
    def constrain(free: ArrayLike) -> Array:
        """Return the probabilities of free numbers, along the last axis."""
        return softmax(free)

    @staticmethod
    def free(probability: ArrayLike) -> Array:
        """Return free numbers of mean zero for positive probabilities."""
        logs = np.log(as_float(probability))
        return np.asarray(logs - logs.mean(axis=-1, keepdims=True))

    @staticmethod
    def pull_back(free: ArrayLike, gradient: ArrayLike) -> Array:
        """Return the gradient in the free numbers from that in the probabilities.

        ``p_j (g_j - sum_k p_k g_k)``.
        """
        p, g = softmax(free), as_float(gradient)
        return np.asarray(p * (g - (p * g).sum(axis=-1, keepdims=True)))


class FreeCovariance:
    """Covariance matrices as ``K = U'U`` with U upper triangular, from free numbers.

    The free numbers are the ``d (d + 1) / 2`` entries of U row by row; on the diagonal stands
    the logarithm, so every choice of them gives one positive definite matrix, and each
    matrix has one.
    """

    @staticmethod
    def constrain(free: ArrayLike) -> Array:
        """Return the covariance, shape (d, d), of free numbers, shape (d (d + 1) / 2,)."""
        U = _triangle(as_float(free))
        return symmetrize(U.T @ U)

    @staticmethod
    def free(covariance: ArrayLike) -> Array:
        """Return the free numbers of a positive definite matrix."""
        U = np.linalg.cholesky(as_float(covariance)).T.copy()
        diagonal = np.diag_indices(len(U))
        U[diagonal] = np.log(U[diagonal])
        return np.asarray(U[np.triu_indices(len(U))])

    @staticmethod
    def pull_back(free: ArrayLike, gradient: ArrayLike) -> Array:
        """Return the gradient in the free numbers from ``dE/dK``, shape (d, d)."""
        U = _triangle(as_float(free))
        slope = U @ (2.0 * symmetrize(as_float(gradient)))
        diagonal = np.diag_indices(len(U))
        slope[diagonal] *= U[diagonal]
        return np.asarray(slope[np.triu_indices(len(U))])


def _triangle(free: Array) -> Array:
    """Return U from its free numbers."""
    d = int(np.sqrt(2 * len(free)))
    if d * (d + 1) != 2 * len(free):
        raise ValueError(
            f"free must hold d (d + 1) / 2 numbers; found {len(free)}. "
            "Pass the upper triangle row by row."
        )
    U = np.zeros((d, d))
    U[np.triu_indices(d)] = free
    diagonal = np.diag_indices(d)
    U[diagonal] = np.exp(U[diagonal])
    return U
