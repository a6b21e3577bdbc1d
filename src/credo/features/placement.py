"""The rows that a basis is placed on, and how far they spread."""

import numpy as np

from credo.numerics.array import Array

__all__ = ["column_spread", "distinct_rows"]


def column_spread(X: Array, constant: float) -> Array:
    """Return the standard deviation of each column, and ``constant`` where nothing varies.

    Columns whose squares are below the range of floats count as constant too.

    Examples
    --------
    >>> column_spread(np.array([[1.0, 0.1, 1e-200], [3.0, 0.1, -1e-200]]), 1.0)
    array([1., 1., 1.])
    """
    spread = X.std(axis=0)
    # The deviation of equal numbers can be a rounding error above zero.
    return np.where((np.ptp(X, axis=0) > 0) & (spread > 0), spread, constant)


def distinct_rows(X: Array, weight: Array | None = None) -> Array:
    """Return each row that carries weight once, in an order that depends on values alone.

    A basis placed on these does not change when a row is repeated, weighted or moved.

    Examples
    --------
    >>> distinct_rows(np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])).shape
    (2, 2)
    """
    rows = X if weight is None else X[weight > 0]
    if rows.shape[1] == 0 or len(rows) < 2:
        return rows
    # Sorting one number per row is much faster than sorting rows.
    mixing = np.random.default_rng(0).uniform(1.0, 2.0, rows.shape[1])
    spread = np.abs(rows).max(axis=0)
    keys = (rows * (mixing / np.where(spread > 0, spread, 1.0))).sum(axis=1)
    return np.asarray(rows[np.unique(keys, return_index=True)[1]])
