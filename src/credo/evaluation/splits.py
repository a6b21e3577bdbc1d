"""Random and exhaustive partitions of rows into parts to learn from and parts to judge by."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

__all__ = ["fold_labels", "hold_out", "leave_one_out_labels"]

Rows = NDArray[np.intp]


def hold_out(n: int, share: float, rng: Generator) -> tuple[Rows, Rows]:
    """Return training rows and test rows, each in rising order; no row is in both.

    Parameters
    ----------
    n
        Number of rows.
    share
        Part of the rows to hold out, rounded to whole rows, at least one on each side.

    Examples
    --------
    >>> train, test = hold_out(10, 0.3, np.random.default_rng(0))
    >>> len(train), len(test)
    (7, 3)
    """
    if n < 2:
        raise ValueError(
            f"at least 2 rows are needed to hold some out; found {n}. Add rows, or judge by "
            "evidence, which needs no test part."
        )
    if not 0 < share < 1:
        raise ValueError(
            f"share must be above 0 and below 1; found {share:g}. Pass a part of all rows, "
            "such as 0.2."
        )
    n_test = min(max(round(share * n), 1), n - 1)
    order = rng.permutation(n)
    return np.sort(order[n_test:]), np.sort(order[:n_test])


def fold_labels(n: int, n_folds: int, rng: Generator) -> Rows:
    """Return the fold of each row, random, with sizes that differ by at most one.

    Examples
    --------
    >>> np.bincount(fold_labels(10, 3, np.random.default_rng(0)))
    array([4, 3, 3])
    """
    if not 2 <= n_folds <= n:
        raise ValueError(
            f"n_folds must be from 2 to the number of rows; found {n_folds} for {n} rows. Use "
            "fewer folds or more rows."
        )
    return rng.permutation(np.arange(n, dtype=np.intp) % n_folds)


def leave_one_out_labels(n: int) -> Rows:
    """Return the fold of each row when every row is a fold of its own."""
    if n < 2:
        raise ValueError(f"at least 2 rows are needed to leave one out; found {n}. Add rows.")
    return np.arange(n, dtype=np.intp)
