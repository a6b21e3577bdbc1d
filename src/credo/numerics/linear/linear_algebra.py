"""Linear algebra of symmetric positive definite matrices, always through a factor.

Matrices may carry leading batch axes. One matrix goes to LAPACK by SciPy, a stack of them
to NumPy's batched loops.

SciPy's own wrappers of LAPACK keep the interpreter for themselves while they run, so that fits
side by side would take turns. `dpotrf` and its like call the same routines of the library that
SciPy brings, by the pointers that it offers to compiled code. Their matrices are in Fortran's
order, and only lower triangles count.
"""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cython_blas, cython_lapack

from credo.numerics.array import Array, as_float

__all__ = [
    "LOG_TWO_PI",
    "SMALLEST_JITTER",
    "Cholesky",
    "NotPositiveDefinite",
    "block_inverse",
    "cholesky",
    "dpotrf",
    "dpotri",
    "dpotrs",
    "dsyrk",
    "dtrsm",
    "dtrsv",
    "independent_columns",
    "log_gaussian_integral",
    "solve_lower",
    "symmetrize",
]

LOG_TWO_PI = float(np.log(2 * np.pi))
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
            return dpotrs(self.lower, columns)[0]
        return solve_lower(self.lower, solve_lower(self.lower, columns), transposed=True)

    def inverse(self) -> Array:
        """Return ``A^-1`` itself, for the rare caller who wants to look at it."""
        if self.lower.ndim == 2 and len(self.lower):
            # The other triangle of the factor is zero, and so it stays.
            half, _ = dpotri(self.lower)
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
        return dtrsm(1.0, lower, b, trans_a=transposed)
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
    scale = 0.5 * slope.size * LOG_TWO_PI - 0.5 * float(factor.log_det())
    return scale + exponent


def _lower_factor(matrix: Array) -> Array:
    if matrix.ndim > 2:
        return as_float(np.linalg.cholesky(matrix))
    factor, failed = dpotrf(matrix)
    if failed:
        raise np.linalg.LinAlgError(f"the first {failed} rows are not positive definite")
    return np.tril(factor)


def _smallest_eigenvalue(matrix: Array) -> float:
    return float(np.linalg.eigvalsh(matrix).min()) if np.isfinite(matrix).all() else np.nan


LOWER, UPPER = ctypes.byref(ctypes.c_char(b"L")), ctypes.byref(ctypes.c_char(b"U"))
LEFT, NOT_UNIT = ctypes.byref(ctypes.c_char(b"L")), ctypes.byref(ctypes.c_char(b"N"))
PLAIN, TURNED = ctypes.byref(ctypes.c_char(b"N")), ctypes.byref(ctypes.c_char(b"T"))


def dpotrf(a: Array, overwrite_a: bool = False) -> tuple[Array, int]:
    """Return the lower Cholesky factor, and a number above 0 if there is none.

    What stands above the diagonal stays.

    Parameters
    ----------
    a
        Symmetric, shape (n, n).
    overwrite_a
        Whether the factor may be written over it.

    Examples
    --------
    >>> factor, failed = dpotrf(np.array([[4.0, 2.0], [2.0, 10.0]]))
    >>> np.tril(factor), failed
    (array([[2., 0.],
           [1., 3.]]), 0)
    """
    _require_square("dpotrf", a)
    factor, n = _writable(a, overwrite_a), len(a)
    failed = _call(_lapack("dpotrf"), LOWER, _integer(n), _at(factor), _integer(max(n, 1)))
    return factor, failed


def dpotri(c: Array, overwrite_c: bool = False) -> tuple[Array, int]:
    """Return the lower triangle of the inverse of a matrix from its lower Cholesky factor."""
    _require_square("dpotri", c)
    inverse, n = _writable(c, overwrite_c), len(c)
    failed = _call(_lapack("dpotri"), LOWER, _integer(n), _at(inverse), _integer(max(n, 1)))
    return inverse, failed


def dpotrs(c: Array, b: Array, overwrite_b: bool = False) -> tuple[Array, int]:
    """Return the solution ``x`` of ``c c' x = b`` from a lower factor; b may be a vector."""
    _require_square("dpotrs", c, len(b))
    found = _writable(b, overwrite_b)
    factor, n = _in_order(c), _integer(len(c))
    n_columns = _integer(found.shape[1] if found.ndim == 2 else 1)
    leading = _integer(max(len(c), 1))
    failed = _call(
        _lapack("dpotrs"), LOWER, n, n_columns, _at(factor), leading, _at(found), leading
    )
    return found, failed


def dtrsm(
    factor: float, a: Array, b: Array, trans_a: bool = False, overwrite_b: bool = False
) -> Array:
    """Return ``factor L^-1 b``, or with ``L'``, for the lower triangle L of ``a``.

    A triangle in C's order is the turned one of another in Fortran's, and needs no copy.

    Examples
    --------
    >>> dtrsm(1.0, np.array([[2.0, 0.0], [1.0, 3.0]]), np.array([[4.0], [5.0]]))
    array([[2.],
           [1.]])
    """
    _require_square("dtrsm", a, len(b))
    found = _writable(b, overwrite_b)
    is_turned = a.dtype == np.float64 and a.flags.c_contiguous and not a.flags.f_contiguous
    triangle = a if is_turned else _in_order(a)
    n, columns = len(a), found.shape[1]
    _blas("dtrsm")(
        LEFT,
        UPPER if is_turned else LOWER,
        TURNED if trans_a != is_turned else PLAIN,
        NOT_UNIT,
        _integer(n),
        _integer(columns),
        _number(factor),
        _at(triangle),
        _integer(max(n, 1)),
        _at(found),
        _integer(max(n, 1)),
    )
    return found


def dtrsv(a: Array, b: Array, trans_a: bool = False) -> Array:
    """Return ``L^-1 b``, or with ``L'``, of a vector, for the lower triangle L of ``a``.

    Examples
    --------
    >>> dtrsv(np.array([[2.0, 0.0], [1.0, 3.0]]), np.array([4.0, 5.0]))
    array([2., 1.])
    """
    _require_square("dtrsv", a, len(b))
    found, n = _writable(b, False), len(a)
    is_turned = a.dtype == np.float64 and a.flags.c_contiguous and not a.flags.f_contiguous
    triangle = a if is_turned else _in_order(a)
    _blas("dtrsv")(
        UPPER if is_turned else LOWER,
        TURNED if trans_a != is_turned else PLAIN,
        NOT_UNIT,
        _integer(n),
        _at(triangle),
        _integer(max(n, 1)),
        _at(found),
        _integer(1),
    )
    return found


def dsyrk(factor: float, a: Array, share: float, c: Array, overwrite_c: bool = False) -> Array:
    """Return the lower triangle of ``factor a a' + share c``, what is above as in ``c``."""
    _require_square("dsyrk", c, len(a))
    found, rows = _writable(c, overwrite_c), _in_order(a)
    n, k = a.shape
    _blas("dsyrk")(
        LOWER,
        PLAIN,
        _integer(n),
        _integer(k),
        _number(factor),
        _at(rows),
        _integer(max(n, 1)),
        _number(share),
        _at(found),
        _integer(max(n, 1)),
    )
    return found


def _require_square(name: str, a: Array, n: int | None = None) -> None:
    """Raise if a routine would read or write what is not in its arrays."""
    wanted = len(a) if n is None else n
    if a.shape != (wanted, wanted):
        raise ValueError(
            f"{name} must have a matrix of shape {(wanted, wanted)} for columns of length "
            f"{wanted}; found {a.shape}. Pass arrays that fit each other."
        )


def _writable(a: Array, may_be_written: bool) -> Array:
    """Return an array in Fortran's order, itself if it is one and may be written over."""
    found = _in_order(a)
    return found if found is not a or (may_be_written and a.flags.writeable) else a.copy("F")


def _in_order(a: Array) -> Array:
    """Return an array of float64 in Fortran's order to be read, itself if it is one."""
    if a.flags.f_contiguous and a.dtype == np.float64:
        return a
    return np.array(a, dtype=np.float64, order="F")


def _call(routine: Callable[..., None], *arguments: Any) -> int:
    info = ctypes.c_int(0)
    routine(*arguments, ctypes.byref(info))
    return info.value


@lru_cache(maxsize=1024)
def _integer(value: int) -> Any:
    return ctypes.byref(ctypes.c_int(value))


def _number(value: float) -> Any:
    return ctypes.byref(ctypes.c_double(value))


def _at(a: Array) -> Any:
    return a.__array_interface__["data"][0]


@cache
def _lapack(name: str) -> Callable[..., None]:
    return _routine(cython_lapack, name)


@cache
def _blas(name: str) -> Callable[..., None]:
    return _routine(cython_blas, name)


def _routine(module: Any, name: str) -> Callable[..., None]:
    """Return a routine by its pointer; while it runs the interpreter is free."""
    capsule = module.__pyx_capi__[name]
    python = ctypes.pythonapi
    text_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(
        ("PyCapsule_GetName", python)
    )
    address_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", python)
    )
    signature = text_of(capsule)
    pointers = [ctypes.c_void_p] * (signature.count(b",") + 1)
    return ctypes.CFUNCTYPE(None, *pointers)(address_of(capsule, signature))
