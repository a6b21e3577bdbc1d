"""Routines of LAPACK and BLAS on triangles, called so that other threads work meanwhile.

SciPy's own wrappers keep the interpreter for themselves while they run, so that fits side by
side would take turns. These call the same routines of the library that SciPy brings, by the
pointers that it offers to compiled code. Names and arguments are those of SciPy's wrappers;
matrices are in Fortran's order, and only their lower triangles count.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np
from scipy.linalg import cython_blas, cython_lapack

from credo.numerics.array import Array

__all__ = ["dpotrf", "dpotri", "dpotrs", "dsyrk", "dtrsm"]

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
    factor, n = _writable(a, overwrite_a), len(a)
    failed = _call(_lapack("dpotrf"), LOWER, _integer(n), _at(factor), _integer(max(n, 1)))
    return factor, failed


def dpotri(c: Array, overwrite_c: bool = False) -> tuple[Array, int]:
    """Return the lower triangle of the inverse of a matrix from its lower Cholesky factor."""
    inverse, n = _writable(c, overwrite_c), len(c)
    failed = _call(_lapack("dpotri"), LOWER, _integer(n), _at(inverse), _integer(max(n, 1)))
    return inverse, failed


def dpotrs(c: Array, b: Array, overwrite_b: bool = False) -> tuple[Array, int]:
    """Return the solution ``x`` of ``c c' x = b`` from a lower factor; b may be a vector."""
    found = _writable(b, overwrite_b)
    factor, n = _writable(c, True), _integer(len(c))
    n_columns = _integer(found.shape[1] if found.ndim == 2 else 1)
    leading = _integer(max(len(c), 1))
    failed = _call(
        _lapack("dpotrs"), LOWER, n, n_columns, _at(factor), leading, _at(found), leading
    )
    return found, failed


def dtrsm(
    alpha: float, a: Array, b: Array, trans_a: bool = False, overwrite_b: bool = False
) -> Array:
    """Return ``alpha L^-1 b``, or with ``L'``, for the lower triangle L of ``a``.

    A triangle in C's order is the turned one of another in Fortran's, and needs no copy.

    Examples
    --------
    >>> dtrsm(1.0, np.array([[2.0, 0.0], [1.0, 3.0]]), np.array([[4.0], [5.0]]))
    array([[2.],
           [1.]])
    """
    found = _writable(b, overwrite_b)
    is_turned = not a.flags.f_contiguous and a.flags.c_contiguous
    triangle = a if is_turned else _writable(a, True)
    n, columns = len(a), found.shape[1]
    _blas("dtrsm")(
        LEFT,
        UPPER if is_turned else LOWER,
        TURNED if trans_a != is_turned else PLAIN,
        NOT_UNIT,
        _integer(n),
        _integer(columns),
        _number(alpha),
        _at(triangle),
        _integer(max(n, 1)),
        _at(found),
        _integer(max(n, 1)),
    )
    return found


def dsyrk(alpha: float, a: Array, beta: float, c: Array, overwrite_c: bool = False) -> Array:
    """Return the lower triangle of ``alpha a a' + beta c``, what is above as in ``c``."""
    found, rows = _writable(c, overwrite_c), _writable(a, True)
    n, k = a.shape
    _blas("dsyrk")(
        LOWER,
        PLAIN,
        _integer(n),
        _integer(k),
        _number(alpha),
        _at(rows),
        _integer(max(n, 1)),
        _number(beta),
        _at(found),
        _integer(max(n, 1)),
    )
    return found


def _writable(a: Array, may_be_written: bool) -> Array:
    """Return an array in Fortran's order, itself if it is one and may be written over."""
    if may_be_written and a.flags.f_contiguous and a.dtype == np.float64:
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
