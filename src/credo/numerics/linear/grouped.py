"""Sums by group, in one fused pass over the rows.

numba loads on the first call, never at import.
"""

from __future__ import annotations

import importlib
from functools import cache, reduce
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from credo.numerics.array import Array
from credo.numerics.linear.moments import Moments
from credo.numerics.parallel.threads import over_row_blocks, threads_for

__all__ = [
    "group_binary_totals",
    "group_counts",
    "group_log_factorials",
    "group_moments",
    "group_scatter_matrices",
    "group_totals",
    "share_counts",
    "share_moments",
    "share_scatters",
    "share_totals",
]

MOST_PRODUCTS = 16
"""Columns up to which all products of pairs are formed at once."""

FAR = 1e4
"""Squared distance of a group from the origin, in its own units, that products resolve."""


def group_moments(
    x: Array, label: NDArray[np.intp], n_groups: int, weight: Array
) -> tuple[Array, Array, Array]:
    """Return weight, mean and scatter, each (n_groups, n_columns); NaN carries no weight.

    Parameters
    ----------
    x
        Rows, shape (n_samples, n_columns).
    label
        Group of each row, from 0 to ``n_groups - 1``.
    n_groups
        Number of groups; one without rows has weight, mean and scatter zero.
    weight
        Weight of each row, shape (n_samples,).

    Examples
    --------
    >>> x, label = np.array([[1.0], [5.0], [3.0]]), np.array([0, 1, 0])
    >>> weight, mean, scatter = group_moments(x, label, 2, np.ones(3))
    >>> weight.ravel(), mean.ravel(), scatter.ravel()
    (array([2., 1.]), array([2., 5.]), array([2., 0.]))
    """
    if n_groups == 1:
        # NumPy is as quick for one group, and nobody waits for the compiler.
        return _moments(x, weight)
    parts = _by_block("moments", 3, x, label, weight, n_groups)
    total, mean, scatter = reduce(_pooled_moments, [sums for sums, _ in parts])
    return total, mean, scatter


def group_totals(
    x: Array, label: NDArray[np.intp], n_groups: int, weight: Array
) -> tuple[Array, Array]:
    """Return weight and weighted sum, each (n_groups, n_columns); NaN carries no weight."""
    parts = _by_block("totals", 2, x, label, weight, n_groups)
    total, value = np.add.reduce([sums for sums, _ in parts])
    return total, value


def group_binary_totals(
    x: Array, label: NDArray[np.intp], n_groups: int, weight: Array
) -> tuple[Array, Array, bool]:
    """Return the weight of entries and of ones, and whether all are 0, 1 or NaN.

    NaN carries no weight; the weights are of shape (n_groups, n_columns).
    """
    parts = _by_block("binary_totals", 2, x, label, weight, n_groups)
    total, ones = np.add.reduce([sums for sums, _ in parts])
    return total, ones, not any(n_other for _, n_other in parts)


def group_log_factorials(
    x: Array, label: NDArray[np.intp], n_groups: int, weight: Array
) -> tuple[Array, Array, Array]:
    """Return weight and weighted sums of x and of log x!, each (n_groups, n_columns)."""
    total, value, log_factorial = sums = np.zeros((3, n_groups, x.shape[1]))
    if x.shape[1]:
        _loops().log_factorials(*_contiguous(x, label, weight), *sums)
    return total, value, log_factorial


def group_counts(
    x: Array, label: NDArray[np.intp], n_groups: int, weight: Array, n_states: int
) -> Array:
    """Return the weight of each state 0..n_states-1, shape (n_groups, n_columns, n_states)."""
    count = np.zeros((n_groups, x.shape[1], n_states))
    if count.size:
        _loops().counts(*_contiguous(x, label, weight), count)
    return count


def group_scatter_matrices(
    x: Array, label: NDArray[np.intp], n_groups: int, weight: Array | None
) -> tuple[Array, Array, Array]:
    """Return weight (k,), mean (k, d) and scatter (k, d, d) of k groups.

    Rows are put in order of their group once; each group is then one blocked product.
    """
    # NumPy sorts 16-bit integers in linear time.
    order = np.argsort(label.astype(np.uint16) if n_groups < 1 << 16 else label, kind="stable")
    ends = np.cumsum(np.bincount(label, minlength=n_groups))
    parts = [Moments.of([x], weight, rows) for rows in np.split(order, ends[:-1])]
    return (
        np.array([part.weight for part in parts], dtype=np.float64),
        np.stack([part.mean for part in parts]),
        np.stack([part.scatter for part in parts]),
    )


def share_moments(x: Array, share: Array) -> tuple[Array, Array, Array]:
    """Return weight, mean and scatter of groups in which every row has a share.

    Parameters
    ----------
    x
        Rows, shape (n_samples, n_columns); NaN carries no weight.
    share
        Weight of each row in each group, shape (n_samples, n_groups).

    Returns
    -------
    tuple
        Each (n_groups, n_columns).

    Examples
    --------
    >>> x, share = np.array([[1.0], [5.0]]), np.array([[1.0, 0.5], [1.0, 0.0]])
    >>> weight, mean, scatter = share_moments(x, share)
    >>> weight.ravel(), mean.ravel(), scatter.ravel()
    (array([2. , 0.5]), array([3., 1.]), array([8., 0.]))
    """
    rows = np.ascontiguousarray(x, dtype=np.float64)
    shares = np.ascontiguousarray(share, dtype=np.float64)

    def summed(i: slice) -> Array:
        sums = np.zeros((3, shares.shape[1], rows.shape[1]))
        if sums.size:
            _loops().share_moments(rows[i], shares[i], *sums)
        return sums

    blocks = over_row_blocks(summed, len(rows), rows.shape[1] * shares.shape[1])
    total, mean, scatter = reduce(_pooled_moments, blocks)
    return total, mean, scatter


def share_scatters(x: Array, share: Array) -> tuple[Array, Array, Array] | None:
    """Return weight (K,), mean (K, d) and scatter (K, d, d) of groups that share complete rows.

    By one product of shares with ``(1, z, z z')``, where z are rows less the mean of all; this
    cancels by the squared distance of a group from there in its own units. None where that is
    too far, or where there are too many columns for it to pay.

    Examples
    --------
    >>> x, share = np.array([[1.0], [5.0]]), np.array([[1.0, 0.5], [1.0, 0.5]])
    >>> share_scatters(x, share)[2].ravel()
    array([8., 4.])
    """
    n, d = x.shape
    if d > MOST_PRODUCTS or not n:
        return None
    first, second = np.triu_indices(d)
    origin = x.mean(axis=0)

    def summed(i: slice) -> Array:
        z = (x[i] - origin).T
        features = np.concatenate([np.ones((1, z.shape[1])), z, z[first] * z[second]])
        return features @ share[i]

    with threads_for(0):
        total = np.sum(over_row_blocks(summed, n, 8 * (len(first) + d + 1)), axis=0)
    weight, away = total[0], total[1 : d + 1]
    usual = np.where(weight > 0, weight, 1.0)
    mean = away / usual
    square = np.empty((d, d, share.shape[1]))
    square[first, second] = square[second, first] = total[d + 1 :]
    scatter = square - away[:, None] * mean
    diagonal = np.einsum("iik->ik", scatter)
    if not np.isfinite(total).all() or (weight * mean**2 > FAR * diagonal).any():
        return None
    return weight, mean.T + origin, np.moveaxis(scatter, -1, 0)


def share_totals(x: Array, share: Array) -> tuple[Array, Array]:
    """Return weight and weighted sum of groups in which every row has a share.

    Shapes are those of `share_moments`; NaN carries no weight.
    """
    is_there = ~np.isnan(x)
    values = x if is_there.all() else np.where(is_there, x, 0.0)
    return share.T @ is_there.astype(np.float64), share.T @ values


def share_counts(x: Array, share: Array, n_states: int) -> Array:
    """Return the weight of each state in groups in which every row has a share.

    The shape is (n_groups, n_columns, n_states); NaN carries no weight.
    """
    n, n_columns = x.shape
    row, column = np.nonzero(~np.isnan(x))
    cell = column * n_states + x[row, column].astype(np.intp)
    member = sparse.csr_array((np.ones(len(row)), (cell, row)), shape=(n_columns * n_states, n))
    counts = np.asarray(member @ share)
    return counts.T.reshape(share.shape[1], n_columns, n_states)


@cache
def _loops() -> ModuleType:
    return importlib.import_module("credo.numerics.linear._loops_grouped")


def _by_block(
    loop: str, n_sums: int, x: Array, label: NDArray[np.intp], weight: Array, n_groups: int
) -> list[tuple[Array, Any]]:
    """Return sums, (n_sums, n_groups, n_columns), and what the loop returns, of each block."""
    rows, labels, weights = _contiguous(x, label, weight)

    def summed(i: slice) -> tuple[Array, Any]:
        sums = np.zeros((n_sums, n_groups, rows.shape[1]))
        # Where there is nothing to sum, nobody waits for the compiler.
        found = (
            getattr(_loops(), loop)(rows[i], labels[i], weights[i], *sums) if sums.size else 0
        )
        return sums, found

    return over_row_blocks(summed, *rows.shape)


def _moments(x: Array, weight: Array) -> tuple[Array, Array, Array]:
    """Return weight, mean and scatter of all rows, each (1, n_columns)."""
    is_there = ~np.isnan(x)
    each = np.where(is_there, weight[:, None], 0.0)
    total = each.sum(axis=0, keepdims=True)
    divisor = np.where(total > 0, total, 1.0)
    values = np.where(is_there, x, 0.0)
    mean = (each * values).sum(axis=0, keepdims=True) / divisor
    scatter = (each * (values - mean) ** 2).sum(axis=0, keepdims=True)
    return total, mean, scatter


def _pooled_moments(a: Array, b: Array) -> Array:
    """Return the moments of two samples together [chan1983]_."""
    weight = a[0] + b[0]
    share = b[0] / np.where(weight > 0, weight, 1.0)
    shift = b[1] - a[1]
    return np.stack([weight, a[1] + share * shift, a[2] + b[2] + a[0] * share * shift**2])


def _contiguous(
    x: Array, label: NDArray[np.intp], weight: Array
) -> tuple[Array, NDArray[np.intp], Array]:
    return (
        np.ascontiguousarray(x, dtype=np.float64),
        np.ascontiguousarray(label, dtype=np.intp),
        np.ascontiguousarray(weight, dtype=np.float64),
    )
