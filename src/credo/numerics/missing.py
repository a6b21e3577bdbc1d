"""Rows grouped by which of their entries are missing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from credo.numerics.array import Array

__all__ = ["gap_regression", "has_missing", "missing_patterns"]

Indices = NDArray[np.intp]


def has_missing(x: Array) -> bool:
    """Return whether some entry is NaN."""
    # A sum meets every entry and makes no copy; it is finite only if all entries are.
    with np.errstate(over="ignore", invalid="ignore"):
        return not np.isfinite(x.sum()) and bool(np.isnan(x).any())


def missing_patterns(x: Array) -> list[tuple[Indices, Indices]]:
    """Return each distinct set of present columns, with the rows that have just these.

    Examples
    --------
    >>> x = np.array([[1.0, np.nan], [2.0, 3.0], [4.0, np.nan]])
    >>> [(columns.tolist(), rows.tolist()) for columns, rows in missing_patterns(x)]
    [([0, 1], [1]), ([0], [0, 2])]
    """
    if not has_missing(x):
        return [(np.arange(x.shape[1]), np.arange(len(x)))]
    packed = np.packbits(np.isnan(x), axis=1)
    distinct, code = np.unique(packed, axis=0, return_inverse=True)
    masks = np.unpackbits(distinct, axis=1, count=x.shape[1]).astype(bool)
    order = np.argsort(code.ravel(), kind="stable")
    members = np.split(order, np.cumsum(np.bincount(code.ravel()))[:-1])
    return [(np.flatnonzero(~mask), rows) for mask, rows in zip(masks, members, strict=True)]


def gap_regression(
    covariance: Array, present: Indices, missing: Indices
) -> tuple[Array, Array]:
    """Return the slopes of missing columns on present ones, and the covariance that is left.

    ``S_pp^-1 S_pm``, shape (n_present, n_missing), and ``S_mm - S_mp S_pp^-1 S_pm``.

    Examples
    --------
    >>> covariance = np.array([[2.0, 0.6], [0.6, 1.0]])
    >>> slope, left = gap_regression(covariance, np.array([1]), np.array([0]))
    >>> slope.round(4), left.round(4)
    (array([[0.6]]), array([[1.64]]))
    """
    between = covariance[np.ix_(present, missing)]
    slope = np.asarray(np.linalg.solve(covariance[np.ix_(present, present)], between))
    return slope, covariance[np.ix_(missing, missing)] - between.T @ slope
