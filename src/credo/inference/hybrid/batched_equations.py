"""Linear equations with unit noise, one set per group and setting, reduced by a QR each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from credo.numerics.array import Array

__all__ = ["applied", "cleared", "reduced"]


def cleared(
    matrix: Array, target: Array, columns: Sequence[int], seen: NDArray[np.bool_]
) -> tuple[Array, Array]:
    """Return equations of each group in which what it knows has an equation of its own.

    Parameters
    ----------
    matrix, target
        Equations ``A z = t``, shapes (n_groups or 1, *sizes, m, n) and (..., k, m), where the
        ``k`` targets are weights of given numbers.
    columns
        Columns of ``A`` that only some groups know.
    seen
        Whether each group knows each of them, (n_groups, n_columns).
    """
    if not columns:
        return matrix, target
    *sizes, m, n = matrix.shape
    n_groups, n_given = seen.shape
    full = np.zeros((n_groups, *sizes[1:], m + n_given, n))
    full[..., :m, :] = matrix
    axes = (n_groups, *[1] * len(sizes[1:]))
    for j, column in enumerate(columns):
        full[..., :m, column] *= ~seen[:, j].reshape(*axes, 1)
        full[..., m + j, column] = seen[:, j].reshape(axes)
    wide = np.zeros((n_groups, *sizes[1:], target.shape[-2], m + n_given))
    wide[..., :m] = target
    return full, wide


def reduced(matrix: Array, target: Array) -> tuple[Array, Array, Array]:
    """Return ``t Q``, ``R^-1`` and ``-log |det R|`` of every matrix ``A = Q R``.

    Entries of ``t Q`` beyond the rank of ``A`` keep their length, not their direction.
    """
    n = matrix.shape[-1]
    if n == 0:
        return target, np.zeros((*matrix.shape[:-2], 0, 0)), np.zeros(matrix.shape[:-2])
    # Householder reflections lose small rows below large ones, but not the other way round.
    order = np.argsort(-np.abs(matrix).max(axis=-1), axis=-1, kind="stable")
    matrix = np.take_along_axis(matrix, order[..., None], axis=-2)
    target = np.take_along_axis(target, order[..., None, :], axis=-1)
    # The rotation of the target is all that is needed of it, up to a turn of what is left.
    both = np.concatenate([matrix, target.swapaxes(-1, -2)], axis=-1)
    triangle = np.asarray(np.linalg.qr(both, mode="r"))
    upper, rotated = triangle[..., :n, :n], triangle[..., n:].swapaxes(-1, -2)
    log_volume = -np.log(np.abs(np.diagonal(upper, axis1=-2, axis2=-1))).sum(axis=-1)
    return rotated, np.linalg.inv(upper), log_volume


def applied(columns: Array, weights: Array, group: NDArray[np.intp]) -> Array:
    """Return ``columns @ weights[group]`` for each row, shape (n_rows, *sizes, m)."""
    n_groups, *sizes, k, m = weights.shape
    flat = np.moveaxis(weights, -2, 1).reshape(n_groups, k, -1)
    result = np.empty((len(columns), flat.shape[-1]))
    for g, rows in enumerate(_rows_by_group(group, n_groups)):
        result[rows] = columns[rows] @ flat[g]
    return result.reshape(len(columns), *sizes, m)


def _rows_by_group(group: NDArray[np.intp], n_groups: int) -> list[NDArray[np.intp]]:
    ends = np.cumsum(np.bincount(group, minlength=n_groups))[:-1]
    return np.split(np.argsort(group, kind="stable"), ends)
