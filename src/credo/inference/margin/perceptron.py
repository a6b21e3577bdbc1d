"""Perceptron learning: passes over rows that change the weights at every mistake.

numba loads on the first call, never at import.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cache
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from credo.numerics.array import Array, as_float

__all__ = [
    "Codes",
    "Epoch",
    "distinct_labeled_rows",
    "perceptron_epoch",
    "row_order",
    "vote_shares",
]

Codes = NDArray[np.intp]

# Blocks of scores: large enough for a quick product, small enough to hold.
ROWS_AT_ONCE = 4096
SCORES_AT_ONCE = 1 << 20


@dataclass(frozen=True, eq=False)
class Epoch:
    """What happened in one pass over the rows.

    Attributes
    ----------
    mistaken, rival
        Row of each mistake, and the wrong class that won.
    votes
        Weight of the rows that the weights before each mistake had answered rightly.
    survived
        The same for the weights at the end.
    """

    mistaken: Codes
    rival: Codes
    votes: Array
    survived: float


def perceptron_epoch(
    x: Array, code: Codes, weight: Array, order: Codes, coef: Array, survived: float = 0.0
) -> Epoch:
    """Visit rows in ``order`` and change ``coef`` in place after each mistake.

    A row is right if its own class scores strictly highest. After a mistake the row, times its
    weight, is added to the weights of its class and taken from those of the rival.

    Parameters
    ----------
    x
        Rows, shape (n, d).
    code
        Class of each row, 0 to K - 1.
    coef
        Weights of each class, shape (K, d); changed.
    survived
        Weight of the rows that ``coef`` has answered rightly before.

    Examples
    --------
    >>> x, coef = np.array([[1.0], [-1.0]]), np.zeros((2, 1))
    >>> first = perceptron_epoch(x, np.array([1, 0]), np.ones(2), np.arange(2), coef)
    >>> first.mistaken.tolist(), coef.tolist()
    ([0], [[-1.0], [1.0]])
    """
    found = _loops().epoch(
        np.ascontiguousarray(x, dtype=np.float64),
        np.ascontiguousarray(code, dtype=np.intp),
        np.ascontiguousarray(weight, dtype=np.float64),
        np.ascontiguousarray(order, dtype=np.intp),
        coef,
        float(survived),
    )
    return Epoch(*found)


def vote_shares(x: Array, coef: Array, intercept: Array, votes: Array) -> Array:
    """Return the votes that linear classifiers give each class, shape (n, K).

    Parameters
    ----------
    x
        Rows, shape (n, d).
    coef, intercept
        Weights (m, k, d) and intercepts (m, k) of m classifiers: one score whose sign chooses
        between two classes, or one for each class.
    votes
        Strength of each vote, shape (m,).

    Examples
    --------
    >>> coef, intercept = np.array([[[1.0]], [[-1.0]]]), np.zeros((2, 1))
    >>> vote_shares(np.array([[2.0]]), coef, intercept, np.array([0.7, 0.3]))
    array([[0.3, 0.7]])
    """
    m, k, d = coef.shape
    if intercept.shape != (m, k) or votes.shape != (m,):
        raise ValueError(
            f"each of {m} classifiers must have {k} intercepts and a vote; found intercepts of "
            f"shape {intercept.shape} and votes of shape {votes.shape}. Pass one for each."
        )
    shares = np.zeros((len(x), max(k, 2)))
    n_together = max(SCORES_AT_ONCE // (ROWS_AT_ONCE * k), 1)
    for low in range(0, m, n_together):
        some = slice(low, low + n_together)
        weights = np.ascontiguousarray(coef[some].reshape(-1, d).T)
        offset = intercept[some].ravel()
        for first in range(0, len(x), ROWS_AT_ONCE):
            rows = slice(first, first + ROWS_AT_ONCE)
            scores = (x[rows] @ weights + offset).reshape(len(x[rows]), -1, k)
            _loops().count_votes(scores, as_float(votes[some]), shares[rows])
    return shares


def distinct_labeled_rows(x: Array, code: Codes, weight: Array) -> tuple[Array, Codes, Array]:
    """Return each pair of row and class once with its total weight, ordered by value.

    Neither the order of rows nor whether a row came twice or with a weight of two changes the
    answer; rows without weight are left out.

    Examples
    --------
    >>> x, code = np.array([[3.0], [1.0], [3.0]]), np.array([0, 1, 0])
    >>> rows, codes, weights = distinct_labeled_rows(x, code, np.ones(3))
    >>> rows.ravel(), codes, weights
    (array([1., 3.]), array([1, 0]), array([1., 2.]))
    """
    kept = weight > 0
    x, code, weight = x[kept], code[kept], weight[kept]
    order = row_order(x, code)
    x, code, weight = x[order], code[order], weight[order]
    is_new = (np.diff(x, axis=0) != 0).any(axis=1) | (np.diff(code) != 0)
    starts = np.flatnonzero(np.concatenate([[True], is_new]))
    return x[starts], code[starts], np.add.reduceat(weight, starts)


def row_order(x: Array, code: Codes | Array) -> Codes:
    """Return the order of rows by their columns, first column first, then class or outcome."""
    if x.shape[1]:
        order = np.argsort(x[:, 0], kind="stable")
        if (np.diff(x[order, 0]) > 0).all():
            return order
    return np.lexsort([code, *x.T[::-1]])


@cache
def _loops() -> ModuleType:
    return importlib.import_module("credo.inference.margin._loops_perceptron")
