"""Sums by group, in one fused pass over the rows.

numba loads on the first call, never at import.
"""

from __future__ import annotations

import importlib
from functools import cache
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from credo.numerics.array import Array
from credo.numerics.moments import Moments

__all__ = [
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
    total, mean, scatter = _loops().moments(*_contiguous(x, label, weight), n_groups)
    return total, mean, scatter


def group_totals(
    x: Array, label: NDArray[np.intp], n_groups: int, weight: Array
) -> tuple[Array, Array]:
    """Return weight and weighted sum, each (n_groups, n_columns); NaN carries no weight."""
    total, value = _loops().totals(*_contiguous(x, label, weight), n_groups)
    return total, value


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


def _contiguous(
    x: Array, label: NDArray[np.intp], weight: Array
) -> tuple[Array, NDArray[np.intp], Array]:
    return (
        np.ascontiguousarray(x, dtype=np.float64),
        np.ascontiguousarray(label, dtype=np.intp),
        np.ascontiguousarray(weight, dtype=np.float64),
    )
