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

from credo.numerics.array import Array
from credo.numerics.moments import Moments
from credo.numerics.row_block import over_row_blocks

__all__ = [
    "group_binary_totals",
    "group_counts",
    "group_log_factorials",
    "group_moments",
    "group_scatter_matrices",
    "group_totals",
]


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
    total, mean, scatter = reduce(
        _pooled_moments, _by_block("moments", x, label, weight, n_groups)
    )
    return total, mean, scatter


def group_totals(
    x: Array, label: NDArray[np.intp], n_groups: int, weight: Array
) -> tuple[Array, Array]:
    """Return weight and weighted sum, each (n_groups, n_columns); NaN carries no weight."""
    parts = _by_block("totals", x, label, weight, n_groups)
    return sum(part[0] for part in parts), sum(part[1] for part in parts)


def group_binary_totals(
    x: Array, label: NDArray[np.intp], n_groups: int, weight: Array
) -> tuple[Array, Array, bool]:
    """Return the weight of entries and of ones, and whether all are 0, 1 or NaN.

    NaN carries no weight; the weights are of shape (n_groups, n_columns).
    """
    parts = _by_block("binary_totals", x, label, weight, n_groups)
    total, ones = sum(part[0] for part in parts), sum(part[1] for part in parts)
    return total, ones, not any(part[2] for part in parts)


def group_log_factorials(
    x: Array, label: NDArray[np.intp], n_groups: int, weight: Array
) -> tuple[Array, Array, Array]:
    """Return weight and weighted sums of x and of log x!, each (n_groups, n_columns)."""
    total, value, log_factorial = _loops().log_factorials(
        *_contiguous(x, label, weight), n_groups
    )
    return total, value, log_factorial


def group_counts(
    x: Array, label: NDArray[np.intp], n_groups: int, weight: Array, n_states: int
) -> Array:
    """Return the weight of each state 0..n_states-1, shape (n_groups, n_columns, n_states)."""
    return np.asarray(
        _loops().counts(*_contiguous(x, label, weight), n_groups, n_states), dtype=np.float64
    )


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


@cache
def _loops() -> ModuleType:
    return importlib.import_module("credo.numerics._loops.grouped")


def _by_block(
    loop: str, x: Array, label: NDArray[np.intp], weight: Array, n_groups: int
) -> list[Any]:
    """Return the sums of each block of rows."""
    rows, labels, weights = _contiguous(x, label, weight)
    summed = getattr(_loops(), loop)
    return over_row_blocks(
        lambda i: summed(rows[i], labels[i], weights[i], n_groups), *rows.shape
    )


def _pooled_moments(
    a: tuple[Array, Array, Array], b: tuple[Array, Array, Array]
) -> tuple[Array, Array, Array]:
    """Return the moments of two samples together [chan1983]_."""
    weight = a[0] + b[0]
    share = b[0] / np.where(weight > 0, weight, 1.0)
    shift = b[1] - a[1]
    return weight, a[1] + share * shift, a[2] + b[2] + a[0] * share * shift**2


def _contiguous(
    x: Array, label: NDArray[np.intp], weight: Array
) -> tuple[Array, NDArray[np.intp], Array]:
    return (
        np.ascontiguousarray(x, dtype=np.float64),
        np.ascontiguousarray(label, dtype=np.intp),
        np.ascontiguousarray(weight, dtype=np.float64),
    )
