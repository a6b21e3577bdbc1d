"""Rows grouped by which of their entries are missing, and normals of what they have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.numerics.array import Array, has_missing

__all__ = ["GapBlock", "gap_blocks", "missing_patterns", "present_precision"]

Indices = NDArray[np.intp]

BLOCK_SIZE = 1 << 18
"""Numbers in the matrices of the rows of one block."""


class GapBlock(NamedTuple):
    """Some rows with gaps, and the sets of missing columns that they share.

    Attributes
    ----------
    rows
        Which rows, shape (n,).
    code
        The pattern of each of them, shape (n,).
    is_missing
        The missing columns of each pattern, shape (n_patterns, d).
    """

    rows: Indices
    code: Indices
    is_missing: NDArray[np.bool_]

    def product(self, values: Array, matrices: Array) -> Array:
        """Return the product of each row (n, d) with the matrix of its pattern, (n, d)."""
        return np.asarray((values[:, None, :] @ matrices[self.code])[:, 0])


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


def gap_blocks(x: Array) -> Iterator[GapBlock]:
    """Yield the rows with gaps, a bounded number at a time, rows of one pattern together.

    Examples
    --------
    >>> x = np.array([[1.0, np.nan], [2.0, 3.0], [np.nan, 2.0], [4.0, np.nan]])
    >>> [block] = gap_blocks(x)
    >>> block.rows.tolist(), block.code.tolist(), block.is_missing.tolist()
    ([0, 3, 2], [0, 0, 1], [[False, True], [True, False]])
    """
    is_missing = np.isnan(x)
    has_gap = np.flatnonzero(is_missing.any(axis=1))
    packed = np.packbits(is_missing[has_gap], axis=1)
    order = np.lexsort(packed.T[::-1])
    is_new = np.any(np.diff(packed[order], axis=0, prepend=~packed[order[:1]]), axis=1)
    code, rows = np.cumsum(is_new), has_gap[order]
    size = max(1, BLOCK_SIZE // x.shape[1] ** 2)
    for start in range(0, len(rows), size):
        own, part = code[start : start + size], rows[start : start + size]
        first = np.flatnonzero(np.diff(own, prepend=-1))
        yield GapBlock(part, own - own[0], is_missing[part[first]])


def present_precision(covariance: Array, is_missing: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Return the inverse of the covariance of present columns, and its log determinant.

    With ``W`` for it and ``r`` for a row less the mean, zero where missing, ``r W r'`` is the
    squared distance of what is present; ``r W S`` is the row with its gaps at their
    regression, and ``S - S W S`` the covariance that is left about that.

    Parameters
    ----------
    covariance
        Of all columns, ``S``, shape (d, d).
    is_missing
        The missing columns of each pattern, shape (n_patterns, d).

    Returns
    -------
    tuple
        Inverses, zero in the rows and columns of what is missing, shape (n_patterns, d, d),
        and log determinants of what they invert, shape (n_patterns,).

    Examples
    --------
    >>> covariance = np.array([[2.0, 0.6], [0.6, 1.0]])
    >>> precision, _ = present_precision(covariance, np.array([[True, False]]))
    >>> (covariance @ precision[0]).round(4).tolist()
    [[0.0, 0.6], [0.0, 1.0]]
    >>> (covariance - covariance @ precision[0] @ covariance).round(4).tolist()
    [[1.64, 0.0], [0.0, 0.0]]
    """
    is_apart = is_missing[:, :, None] | is_missing[:, None, :]
    matrix = np.where(is_apart, np.eye(len(covariance)), covariance)
    inverse = np.where(is_apart, 0.0, np.linalg.inv(matrix))
    return inverse, np.asarray(np.linalg.slogdet(matrix)[1])
