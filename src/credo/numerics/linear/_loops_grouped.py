"""Loops over rows that sum into one accumulator per group; NaN entries are skipped.

Arrays are C-contiguous float64, except labels, which are intp and known to be in range. Sums
start at the zeros that they are given.
"""

import math

import numpy as np
from numpy.typing import NDArray

from credo.numerics._loops_compilation import compiled
from credo.numerics.array import Array

__all__ = ["binary_totals", "counts", "log_factorials", "moments", "share_moments", "totals"]


@compiled()
def moments(
    x: Array,
    label: NDArray[np.intp],
    weight: Array,
    total: Array,
    mean: Array,
    scatter: Array,
) -> None:
    """Sum up weight, mean and scatter of every group and column.

    The mean runs along with the rows and is the shift of each square, so that nothing
    cancels, whatever the offset of the data and whichever row comes first [west1979]_.
    """
    for i in range(x.shape[0]):
        group, w = label[i], weight[i]
        for j in range(x.shape[1]):
            present = x[i, j] == x[i, j]
            amount = w if present else 0.0
            shift = x[i, j] - mean[group, j] if present else 0.0
            pooled = total[group, j] + amount
            share = amount / (pooled if pooled > 0.0 else 1.0)
            scatter[group, j] += total[group, j] * share * shift * shift
            mean[group, j] += share * shift
            total[group, j] = pooled


@compiled()
def totals(
    x: Array, label: NDArray[np.intp], weight: Array, total: Array, value: Array
) -> None:
    """Sum up the weight and the weighted sum of every group and column."""
    for i in range(x.shape[0]):
        group, w = label[i], weight[i]
        for j in range(x.shape[1]):
            present = x[i, j] == x[i, j]
            total[group, j] += w if present else 0.0
            value[group, j] += w * x[i, j] if present else 0.0


@compiled()
def binary_totals(
    x: Array, label: NDArray[np.intp], weight: Array, total: Array, ones: Array
) -> int:
    """Sum up the weight of entries and of ones; return how many are not 0, 1 or NaN."""
    n_other = 0
    for i in range(x.shape[0]):
        group, w = label[i], weight[i]
        for j in range(x.shape[1]):
            value = x[i, j]
            total[group, j] += w if value == value else 0.0
            ones[group, j] += w if value == 1.0 else 0.0
            n_other += (value != 0.0) & (value != 1.0) & (value == value)
    return n_other


@compiled()
def log_factorials(
    x: Array,
    label: NDArray[np.intp],
    weight: Array,
    total: Array,
    value: Array,
    log_factorial: Array,
) -> None:
    """Sum up the weight and the weighted sums of x and of log x! of every group and column."""
    for i in range(x.shape[0]):
        group, w = label[i], weight[i]
        for j in range(x.shape[1]):
            if x[i, j] == x[i, j]:
                total[group, j] += w
                value[group, j] += w * x[i, j]
                log_factorial[group, j] += w * math.lgamma(x[i, j] + 1.0)


@compiled()
def counts(x: Array, label: NDArray[np.intp], weight: Array, count: Array) -> None:
    """Sum up the weight of every state, shape (n_groups, n_columns, n_states)."""
    for i in range(x.shape[0]):
        group, w = label[i], weight[i]
        for j in range(x.shape[1]):
            if x[i, j] == x[i, j]:
                count[group, j, int(x[i, j])] += w


@compiled()
def share_moments(x: Array, share: Array, total: Array, mean: Array, scatter: Array) -> None:
    """Sum up weight, mean and scatter of columns where every row has a share in each group."""
    for i in range(x.shape[0]):
        for group in range(share.shape[1]):
            w = share[i, group]
            for j in range(x.shape[1]):
                present = x[i, j] == x[i, j]
                amount = w if present else 0.0
                shift = x[i, j] - mean[group, j] if present else 0.0
                pooled = total[group, j] + amount
                part = amount / (pooled if pooled > 0.0 else 1.0)
                scatter[group, j] += total[group, j] * part * shift * shift
                mean[group, j] += part * shift
                total[group, j] = pooled
