"""Log densities of rows under every class, added to a score in one fused pass.

A score has shape (n_rows, n_classes) and is changed in place. numba loads on the first call.
"""

from __future__ import annotations

import importlib
import itertools
import math
from functools import cache
from types import ModuleType

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from credo.numerics.array import Array
from credo.numerics.parallel.threads import over_row_blocks
from credo.numerics.plain_time import PlainTime, by_element

__all__ = ["add_binary", "add_polya", "add_student_t", "class_probability"]

PLAIN_SECONDS = 0.05
"""Time that a process may spend on plain runs: then loading the compiled loops pays."""

PLAIN_SECOND_PER_LOG = 5e-7
"""What a plain run takes for each logarithm or exponential."""

_plain_time = PlainTime(PLAIN_SECONDS)

TILE, GROWN = 64, 1e30
"""Rows that the loop takes together, and how far it lets products of factors grow."""

FEW_WORDS = 16
"""Longer rows take gamma functions, which no two libraries round alike."""

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
    if _plain_time.allows(PLAIN_SECOND_PER_LOG * rows.size * len(given[0])):
        score += _plain_student_t(rows, *given)
        return not np.isinf(rows).any()
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
    cost = PLAIN_SECOND_PER_LOG * len(parts[0]) * len(concentration)
    if _is_short(parts[0], parts[2]) and _plain_time.allows(cost):
        _plain_polya(*parts, words, score)
        return
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
    if _plain_time.allows(PLAIN_SECOND_PER_LOG * score.size):
        return _plain_probability(score)
    probability, best = np.zeros_like(score), np.zeros(len(score), dtype=np.intp)
    found = over_row_blocks(
        lambda i: (i.start, _loops().softmax(score[i], probability[i], best[i])),
        len(score),
        score.shape[1] * EXPENSE,
    )
    impossible = [start + row for start, row in found if row >= 0]
    return probability, best, impossible[0] if impossible else None


def _plain_student_t(
    x: Array, loc: Array, steep: Array, power: Array, log_peak: Array
) -> Array:
    """Return what the loop would add, bit for bit."""
    d, added = x.shape[1], np.zeros((len(x), len(loc)))
    with np.errstate(all="ignore"):
        for start, k in itertools.product(range(0, len(x), TILE), range(len(loc))):
            tile = slice(start, start + TILE)
            total = grown = np.zeros(len(x[tile]))
            for j in range(d):
                z = steep[k, j] * (x[tile, j] - loc[k, j])
                grown = grown + (z * z + grown * (z * z))
                is_last = j == d - 1 or power[k, j + 1] != power[k, j]
                if is_last or (grown > GROWN).any():
                    total = total - power[k, j] * by_element(math.log1p, grown)
                    grown = np.zeros(len(grown))
            peak = np.add.accumulate(log_peak[k])[-1] if d else 0.0
            added[tile, k] = peak + total
            for i in start + np.flatnonzero(~np.isfinite(total)):
                added[i, k] = _by_terms(x[i], loc[k], steep[k], power[k], log_peak[k])
    return added


def _by_terms(row: Array, loc: Array, steep: Array, power: Array, log_peak: Array) -> float:
    """Return the same for a row with missing values, or far out."""
    total, grown = 0.0, 0.0
    for j, (z, p) in enumerate(zip(np.abs(steep * (row - loc)), power, strict=True)):
        if z > GROWN:
            total += log_peak[j] - p * 2.0 * math.log(z)
        elif not np.isnan(z):
            grown += z * z + grown * z * z
            total += log_peak[j]
        if j == len(row) - 1 or power[j + 1] != p or grown > GROWN:
            total -= p * math.log1p(grown)
            grown = 0.0
    return total


def _plain_polya(
    value: Array,
    column: NDArray[np.intp],
    row_end: NDArray[np.intp],
    concentration: Array,
    score: Array,
) -> None:
    """Add what the loop would, bit for bit."""
    known, whole = concentration.tolist(), np.zeros(concentration.shape[1])
    for row in concentration:
        whole = whole + row
    for i, (start, stop) in enumerate(itertools.pairwise(row_end.tolist())):
        length = 0.0
        for entry in range(start, stop):
            length += float(value[entry])
            score[i] += [_log_rise(a, int(value[entry])) for a in known[column[entry]]]
        score[i] -= [_log_rise(a, int(length)) for a in whole.tolist()]


def _is_short(value: Array, row_end: NDArray[np.intp]) -> bool:
    """Return whether rows hold few whole words, whose logs the loop adds one by one."""
    longest = np.add.reduceat(np.append(value, 0.0), row_end[:-1]).max(initial=0.0)
    return bool(longest <= FEW_WORDS and (value == np.floor(value)).all())


def _log_rise(a: float, n_steps: int) -> float:
    """Return ``lnG(a + n) - lnG(a)``, term by term."""
    total = 0.0
    for step in range(n_steps):
        total += math.log(a + step)
    return total


def _plain_probability(score: Array) -> tuple[Array, NDArray[np.intp], int | None]:
    """Return what the loop would, bit for bit."""
    largest = score.max(axis=1, initial=-np.inf)
    is_possible = largest > -np.inf
    some = score[is_possible]
    is_largest = some == largest[is_possible, None]
    below = np.where(is_largest, 0.0, some) - np.where(
        is_largest, 0.0, largest[is_possible, None]
    )
    term = np.where(is_largest, 1.0, by_element(math.exp, below))
    probability, best = np.zeros_like(score), np.zeros(len(score), dtype=np.intp)
    probability[is_possible] = term / np.add.accumulate(term, axis=1)[:, -1:]
    best[is_possible] = probability[is_possible].argmax(axis=1)
    impossible = np.flatnonzero(~is_possible)
    return probability, best, int(impossible[0]) if len(impossible) else None


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
    return importlib.import_module("credo.numerics.special._loops_class_score")
