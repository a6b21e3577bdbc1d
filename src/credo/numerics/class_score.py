"""Log densities of rows under every class, added to a score in one fused pass.

A score has shape (n_rows, n_classes) and is changed in place. numba loads on the first call.
"""

from __future__ import annotations

import importlib
from functools import cache
from types import ModuleType

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from credo.numerics.array import Array
from credo.numerics.row_block import over_row_blocks

__all__ = ["add_binary", "add_polya", "add_student_t", "class_probability"]

EXPENSE = 8
"""An exponential takes about as long as this many plain steps."""


def add_student_t(
    score: Array, x: Array, parameters: tuple[Array, Array, Array, Array]
) -> bool:
    """Add the log density of rows under independent Student-t columns; NaN adds nothing.

    Return whether no entry is infinite; the score is of no use otherwise.

    Parameters
    ----------
    score
        Changed in place, shape (n_rows, K).
    x
        Rows, shape (n_rows, n_columns).
    parameters
        Location, steepness ``1 / (scale sqrt(df))``, power ``(df + 1) / 2`` and log density
        at the location, each (K, n_columns).

    Examples
    --------
    >>> score = np.zeros((1, 1))
    >>> one = np.ones((1, 1))
    >>> add_student_t(score, np.array([[3.0]]), (one, one, one, -np.log(np.pi) * one))
    True
    >>> bool(np.isclose(score[0, 0], -np.log(np.pi * 5)))
    True
    """
    rows = np.ascontiguousarray(x)
    given = [np.ascontiguousarray(part) for part in parameters]
    _require_by_class(score, rows.shape[1], *given)
    infinite = over_row_blocks(
        lambda i: _loops().student_t(rows[i], *given, score[i]), *rows.shape
    )
    return not any(infinite)


def add_binary(score: Array, x: Array, log_one: Array, log_zero: Array) -> bool:
    """Add the log probability of zeros and ones; return whether there was nothing else.

    Parameters
    ----------
    log_one, log_zero
        Log probability of a one and of a zero, each (K, n_columns); may be -inf.
    """
    rows = np.ascontiguousarray(x)
    one, zero = np.ascontiguousarray(log_one), np.ascontiguousarray(log_zero)
    _require_by_class(score, rows.shape[1], one, zero)
    others = over_row_blocks(
        lambda i: _loops().binary(rows[i], one, zero, score[i]), *rows.shape
    )
    return not any(others)


def add_polya(score: Array, counts: sparse.csr_array, concentration: Array) -> None:
    """Add the log probability of words with these counts, in some order.

    Parameters
    ----------
    counts
        Rows of counts, shape (n_rows, n_words).
    concentration
        Parameters of a Dirichlet belief, shape (K, n_words).
    """
    _require_by_class(score, counts.shape[1], concentration)
    words = np.ascontiguousarray(concentration.T)
    parts = (
        np.asarray(counts.data, dtype=np.float64),
        counts.indices.astype(np.intp),
        counts.indptr.astype(np.intp),
    )
    width = len(parts[0]) // max(len(score), 1)
    over_row_blocks(
        lambda i: _loops().polya(*parts[:2], parts[2][i.start : i.stop + 1], words, score[i]),
        len(score),
        width,
    )


def class_probability(score: Array) -> tuple[Array, NDArray[np.intp], int | None]:
    """Return probabilities from log scores, and the place of the first largest in each row.

    Last comes the first row that no class can explain, all of whose scores are -inf.

    Examples
    --------
    >>> probability, best, impossible = class_probability(np.log([[1.0, 3.0], [6.0, 2.0]]))
    >>> probability.round(2).tolist(), best.tolist(), impossible
    ([[0.25, 0.75], [0.75, 0.25]], [1, 0], None)
    """
    probability, best = np.zeros_like(score), np.zeros(len(score), dtype=np.intp)
    found = over_row_blocks(
        lambda i: (i.start, _loops().softmax(score[i], probability[i], best[i])),
        len(score),
        score.shape[1] * EXPENSE,
    )
    impossible = [start + row for start, row in found if row >= 0]
    return probability, best, impossible[0] if impossible else None


def _require_by_class(score: Array, n_columns: int, *parameters: Array) -> None:
    """Refuse parameters that the loops, which check no bounds, would read past their end."""
    shape = (score.shape[1], n_columns)
    wrong = [part.shape for part in parameters if part.shape != shape]
    if wrong:
        raise ValueError(
            f"parameters must have shape {shape}, a row for each class and an entry for each "
            f"column; found {wrong[0]}. Pass the columns that were learned from."
        )


@cache
def _loops() -> ModuleType:
    return importlib.import_module("credo.numerics._loops.class_score")
