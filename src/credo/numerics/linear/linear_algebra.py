"""Linear algebra of symmetric positive definite matrices, always through a factor.

Matrices may carry leading batch axes. One matrix goes to LAPACK by SciPy, a stack of them
to NumPy's batched loops.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.numerics.array import Array, as_float
from credo.numerics.linear import lapack

__all__ = [
    "Cholesky",
    "NotPositiveDefinite",
    "block_inverse",
    "cholesky",
    "independent_columns",
    "log_gaussian_integral",
    "solve_lower",
    "symmetrize",
]

SMALLEST_JITTER = 1e-14
LARGEST_JITTER = 1e-8


class NotPositiveDefinite(ValueError):
    """A matrix that had to be positive definite is not."""


@dataclass(frozen=True, eq=False)
class Cholesky:
    """Lower triangular factor of a positive definite matrix, ``L L' = A + jitter I``.

    Attributes
    ----------
    lower
        ``L``, shape (..., d, d).
    jitter
        What had to be added to the diagonal of ``A``; zero when ``A`` was well conditioned.
    """

    lower: Array
    jitter: float = 0.0

    def log_det(self) -> Array:
        """Return the log determinant of the factored matrix, shape (...)."""
        diagonal = np.diagonal(self.lower, axis1=-2, axis2=-1)
        return np.asarray(2.0 * np.log(diagonal).sum(axis=-1))

    def whiten(self, x: ArrayLike) -> Array:
        """Return ``L^-1 x`` for each vector along the last axis of ``x``, shape (..., d)."""
        vectors = as_float(x)
        if self.lower.ndim == 2:
            rows = vectors.reshape(-1, vectors.shape[-1])
            return solve_lower(self.lower, rows.T).T.reshape(vectors.shape)
        n_leading = vectors.ndim + 1 - self.lower.ndim
        if n_leading < 1:
            return solve_lower(self.lower, vectors[..., None])[..., 0]
        # Many vectors for each of a few factors: one triangular inverse per factor, then
        # products in bulk, instead of one solve per vector.
        leading = vectors.shape[:n_leading]
        rows = np.moveaxis(vectors.reshape(-1, *vectors.shape[n_leading:]), 0, -2)
        transposed_inverse = np.linalg.inv(self.lower.swapaxes(-1, -2))
        found = np.moveaxis(rows @ transposed_inverse, -2, 0)
        return as_float(found.reshape(*leading, *found.shape[1:]))

    def solve(self, b: ArrayLike) -> Array:
        """Return ``A^-1 b`` for columns ``b``, shape (..., d, m)."""
        columns = as_float(b)
        if self.lower.ndim == columns.ndim == 2:
            return lapack.dpotrs(self.lower, columns)[0]
        return solve_lower(self.lower, solve_lower(self.lower, columns), transposed=True)

    def inverse(self) -> Array:
        """Return ``A^-1`` itself, for the rare caller who wants to look at it."""
        if self.lower.ndim == 2 and len(self.lower):
            # The other triangle of the factor is zero, and so it stays.
            half, _ = lapack.dpotri(self.lower)
            whole = half + half.T
            whole[np.diag_indices_from(whole)] *= 0.5
            return np.asarray(whole)
        identity = np.broadcast_to(np.eye(self.lower.shape[-1]), self.lower.shape)
        return symmetrize(self.solve(identity))


def symmetrize(a: Array) -> Array:
    """Return the symmetric part of ``a``, which rounding tends to lose."""
    return 0.5 * (a + np.swapaxes(a, -1, -2))


def cholesky(a: ArrayLike, largest_jitter: float = LARGEST_JITTER) -> Cholesky:
    """Return the Cholesky factor of ``a``, and the jitter that was needed to find it.

    Jitter grows tenfold from 1e-14 of the mean diagonal until the factor exists, so that a
    semi-definite matrix has one too; past ``largest_jitter`` the matrix is refused.

    Parameters
    ----------
    a
        Symmetric, shape (..., d, d).
    largest_jitter
        As a fraction of the mean diagonal; 0 refuses every matrix that is not definite.

    Raises
    ------
    NotPositiveDefinite
        With the smallest eigenvalue.

    Examples
    --------
    >>> factor = cholesky([[4.0, 2.0], [2.0, 3.0]])
    >>> factor.lower.round(4).tolist(), factor.jitter
    ([[2.0, 0.0], [1.0, 1.4142]], 0.0)
    """
    matrix = as_float(a)
    try:
        return Cholesky(_lower_factor(matrix))
    except np.linalg.LinAlgError:
        pass
    diagonal = np.diagonal(matrix, axis1=-2, axis2=-1)
    unit = float(np.abs(diagonal).mean()) or 1.0
    fraction = SMALLEST_JITTER
    while fraction <= largest_jitter * (1 + 1e-9):
        try:
            jittered = matrix + fraction * unit * np.eye(matrix.shape[-1])
            return Cholesky(_lower_factor(jittered), fraction * unit)
        except np.linalg.LinAlgError:
            fraction *= 10.0
    raise NotPositiveDefinite(
        "matrix must be positive definite; found smallest eigenvalue "
        f"{_smallest_eigenvalue(matrix):.3g} against a mean diagonal of {unit:.3g}. "
        "Check that it is a covariance and not a difference of two, or raise largest_jitter "
        f"above {largest_jitter:g}."
    )


def solve_lower(lower: Array, b: Array, transposed: bool = False) -> Array:
    """Return ``L^-1 b``, or ``L'^-1 b`` if ``transposed``, for columns ``b``, (..., d, m)."""
    if lower.ndim == b.ndim == 2:
        return lapack.dtrsm(1.0, lower, b, trans_a=transposed)
    if transposed:
        return as_float(np.linalg.solve(lower.swapaxes(-1, -2), b))
    # From the last row up it is an upper triangle, of which the solver swaps no rows: swapped
    # ones of columns in other units underflow.
    found = np.linalg.solve(lower[..., ::-1, ::-1], b[..., ::-1, :])
    return as_float(found[..., ::-1, :])


def block_inverse(a: Array, b: Array, c: Array, d: Array) -> tuple[Array, Array, Array, Array]:
    """Return the four blocks of the inverse of ``[[a, b], [c, d]]``.

    With the Schur complement ``S = a - b d^-1 c`` they are ``S^-1``, ``-S^-1 b d^-1``,
    ``-d^-1 c S^-1`` and ``d^-1 + d^-1 c S^-1 b d^-1``; note that the first is not ``a^-1``.

    Examples
    --------
    >>> one = np.ones((1, 1))
    >>> [float(block[0, 0]) for block in block_inverse(2 * one, one, one, one)]
    [1.0, -1.0, -1.0, 2.0]
    """
    d_c = np.linalg.solve(d, c)
    b_d = np.linalg.solve(d.T, b.T).T
    top_left = as_float(np.linalg.inv(a - b @ d_c))
    bottom_left = as_float(-d_c @ top_left)
    bottom_right = as_float(np.linalg.inv(d) - bottom_left @ b_d)
    return top_left, as_float(-top_left @ b_d), bottom_left, bottom_right


def independent_columns(a: Array) -> NDArray[np.intp]:
    """Return the numbers of columns, rising, of which none is a sum of the others.

    The first of equal columns is kept.

    Examples
    --------
    >>> independent_columns(np.array([[1.0, 2.0, 0.0], [1.0, 2.0, 5.0]])).tolist()
    [0, 2]
    """
    norms = np.linalg.norm(a, axis=0)
    kept: list[int] = []
    basis = np.empty((len(a), 0))
    for column in np.flatnonzero(norms > 0).tolist():
        unit = a[:, column] / norms[column]
        for _ in range(2):
            unit = unit - basis @ (basis.T @ unit)
        left = float(np.linalg.norm(unit))
        if left > 1e-8:
            kept.append(column)
            basis = np.column_stack([basis, unit / left])
    return np.array(kept, dtype=np.intp)


def log_gaussian_integral(a: ArrayLike, b: ArrayLike, c: float = 0.0) -> float:
    """Return the log of the integral of ``exp(-(x'ax + x'b + c) / 2)`` over all ``x``.

    ``n/2 log(2 pi) - log|a|/2 - (c - b'a^-1 b / 4) / 2``, for positive definite ``a``.

    Examples
    --------
    >>> log_integral = log_gaussian_integral([[2.0, 0.5], [0.5, 1.0]], [1.0, -1.0], 0.3)
    >>> round(float(np.exp(log_integral)), 10)
    5.4400239213
    """
    factor = cholesky(a, largest_jitter=0.0)
    slope = factor.whiten(b)
    exponent = -0.5 * (c - 0.25 * float(np.sum(slope**2)))
    scale = 0.5 * slope.size * float(np.log(2 * np.pi)) - 0.5 * float(factor.log_det())
    return scale + exponent


def _lower_factor(matrix: Array) -> Array:
    if matrix.ndim > 2:
        return as_float(np.linalg.cholesky(matrix))
    factor, failed = lapack.dpotrf(matrix)
    if failed:
        raise np.linalg.LinAlgError(f"the first {failed} rows are not positive definite")
    return np.tril(factor)


def _smallest_eigenvalue(matrix: Array) -> float:
    return float(np.linalg.eigvalsh(matrix).min()) if np.isfinite(matrix).all() else np.nan
