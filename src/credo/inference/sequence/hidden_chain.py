"""Hidden Markov chains of known densities: forward-backward passes and Viterbi's path.

With ``b_t(i)`` for the density of row t in state i, start ``a`` and transitions ``A``, beliefs
are normalized at every step [rabiner1989]_:

* forward: ``f_t(j) = b_t(j) sum_i A_ij f_(t-1)(i) / c_t``, and ``log p = sum of log c_t``;
* backward: ``g_(t-1)(i) = sum_j A_ij b_t(j) g_t(j) / c_t``; smoothed beliefs are ``f g``;
* transitions: ``f_(t-1)(i) A_ij b_t(j) g_t(j) / c_t``, summed over t by one product;
* best path: ``d_t(j) = log b_t(j) + max_i (d_(t-1)(i) + log A_ij)``, then back [viterbi1967]_.

Chains forget where they began. A long sequence is therefore cut into pieces, which are worked
on side by side, each after some steps of warm-up from an even belief; that the warm-up has led
to the belief that the piece before has ended with is verified, and what fails is done again
with a longer one, at last as a whole. Densities that underflow where a total needs them send
their sequence through slower loops in logarithms.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from types import ModuleType

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.numerics.array import Array
from credo.numerics.parallel.threads import in_parts, over_blocks, threads_for

__all__ = [
    "Filtered",
    "Smoothed",
    "best_path",
    "drawn_path",
    "filtered",
    "normal_log_densities",
    "smoothed",
]

Codes = NDArray[np.int64]

WARM_UPS = (64, 1024)
"""Steps of warm-up that are tried before a sequence is done as a whole."""

MOST_PIECES = 64
"""Pieces into which rows are cut: two groups of lanes."""

LEAST_PIECE = 8
"""Rows of a piece for each step of its warm-up, at least."""

SAME = 1e-10
"""Relative difference of beliefs, and difference of scores, that is rounding."""

NO_STATE = 1e-200
"""Probability below which the belief in a state is not compared."""

FAINT = 1e-250
LARGE = 1e290

WIDTH = 32
"""Pieces side by side, as in the loops."""


@dataclass(frozen=True, eq=False)
class Filtered:
    """Beliefs given the rows so far.

    Attributes
    ----------
    belief
        Probability of each state given rows up to its own, shape (n, K).
    ratio
        Density of each row in each state over its predicted density, shape (n, K).
    log_prob
        Log probability of each sequence, shape (n_sequences,).
    last
        Belief at the last row of each sequence, shape (n_sequences, K).
    """

    belief: Array
    ratio: Array
    log_prob: Array
    last: Array


@dataclass(frozen=True, eq=False)
class Smoothed:
    """Beliefs given all rows.

    Attributes
    ----------
    belief
        Probability of each state given all rows of its sequence, shape (n, K).
    transitions
        Expected number of transitions, all sequences together, shape (K, K).
    log_prob
        Log probability of each sequence, shape (n_sequences,).
    """

    belief: Array
    transitions: Array
    log_prob: Array


@dataclass(frozen=True, eq=False)
class _Pieces:
    """Sequences cut into pieces, longest first.

    Attributes
    ----------
    first, stop
        Rows of each piece, the last one excluded.
    sequence
        Which sequence it is of.
    is_first, is_last
        Whether its sequence begins, or ends, with it.
    """

    first: Codes
    stop: Codes
    sequence: Codes
    is_first: NDArray[np.bool_]
    is_last: NDArray[np.bool_]

    @classmethod
    def of(cls, ends: Codes, chosen: Codes, warm_up: int | None) -> _Pieces:
        """Cut some sequences so that few lanes are idle; None for no cut."""
        length = np.diff(ends)[chosen]
        n_pieces = np.ones(len(chosen), dtype=np.int64)
        if warm_up is not None and len(chosen) < MOST_PIECES:
            size = max(LEAST_PIECE * warm_up, -(-int(length.sum()) // MOST_PIECES))
            n_pieces = np.maximum(length // size, 1)
        place = np.repeat(np.arange(len(chosen)), n_pieces)
        turn = np.arange(len(place)) - np.repeat(np.cumsum(n_pieces) - n_pieces, n_pieces)
        begin, many = ends[chosen][place], n_pieces[place]
        first = begin + length[place] * turn // many
        stop = begin + length[place] * (turn + 1) // many
        order = np.argsort(first - stop, kind="stable")
        return cls(
            first[order],
            stop[order],
            chosen[place][order],
            turn[order] == 0,
            (turn == many - 1)[order],
        )


def filtered(
    log_density: Array,
    start: Array,
    table: Array,
    ends: Codes,
    *,
    is_kept: bool = True,
) -> Filtered:
    """Return beliefs given the rows so far, and the log probability of each sequence.

    Parameters
    ----------
    log_density
        Log density of each row in each state, shape (n, K).
    start
        Probability of each state at the first row, shape (K,), or (n_sequences, K).
    table
        Transition probabilities, shape (K, K).
    ends
        First row of each sequence, and one behind the last, shape (n_sequences + 1,).
    is_kept
        False to have no beliefs but the last ones.

    Examples
    --------
    >>> found = filtered(np.zeros((2, 2)), np.array([0.6, 0.4]), np.eye(2), np.array([0, 2]))
    >>> found.belief
    array([[0.6, 0.4],
           [0.6, 0.4]])
    """
    n, k = log_density.shape
    n_kept, n_sequences = (n if is_kept else 0), len(ends) - 1
    begun = np.broadcast_to(start, (n_sequences, k))
    belief, ratio = np.empty((n_kept, k)), np.empty((n_kept, k))
    log_prob, last = np.zeros(n_sequences), np.empty((n_sequences, k))
    chosen = np.arange(n_sequences)
    faint: list[int] = []
    for warm_up in (*WARM_UPS, None):
        pieces = _Pieces.of(ends, chosen, warm_up)
        edge = np.empty((len(pieces.first), 2, k))
        found = np.empty((len(pieces.first), 2))
        begin = np.maximum(pieces.first - (warm_up or 0), ends[pieces.sequence])
        is_start = begin == ends[pieces.sequence]
        ahead = np.where(is_start[:, None], begun[pieces.sequence], 1.0 / k)
        span = np.stack([begin, pieces.first, pieces.stop], axis=1)

        answers = (belief, ratio, edge, found)
        given = (log_density, table, ahead, span)
        _in_groups(_loops().forward, given, answers, int((pieces.stop - begin).sum()) * k)
        is_lost = np.zeros(n_sequences, dtype=np.bool_)
        is_lost[pieces.sequence[~(found[:, 1] >= FAINT)]] = True
        faint.extend(np.flatnonzero(is_lost).tolist())
        log_prob[chosen] = 0.0
        np.add.at(log_prob, pieces.sequence, found[:, 0])
        last[pieces.sequence[pieces.is_last]] = edge[pieces.is_last, 1]
        is_open = _mismatched(pieces, edge, n_sequences) & ~is_lost
        chosen = np.flatnonzero(is_open)
        if not len(chosen):
            break
    for s in faint:
        rows = slice(ends[s], ends[s + 1])
        own, _, _, log_prob[s] = _in_logarithms(log_density[rows], begun[s], table)
        last[s] = own[-1]
        if is_kept:
            belief[rows] = own
            ratio[rows] = np.nan
    return Filtered(belief, ratio, log_prob, last)


def _in_groups(
    loop: Callable[..., None],
    given: tuple[Array, ...],
    answers: tuple[Array, ...],
    size: int,
) -> None:
    """Run a loop over the groups of lanes that pieces fill, the last that is given."""
    n_groups = -(-len(given[-1]) // WIDTH)
    in_parts(lambda low, high: loop(*given, (low, high), *answers), n_groups, size)


def _mismatched(pieces: _Pieces, edge: Array, n_sequences: int) -> NDArray[np.bool_]:
    """Return which sequences have a piece that did not warm up to where the one before ends."""
    order = np.argsort(pieces.first, kind="stable")
    is_open = np.zeros(n_sequences, dtype=np.bool_)
    own = order[~pieces.is_first[order]]
    if not len(own):
        return is_open
    before = order[np.flatnonzero(~pieces.is_first[order]) - 1]
    is_apart = ~_agree(edge[own, 0], edge[before, 1])
    is_open[pieces.sequence[own[is_apart]]] = True
    return is_open


def _agree(one: Array, other: Array) -> NDArray[np.bool_]:
    """Return which rows of beliefs are the same to rounding, entry by entry."""
    most = np.maximum(np.abs(one), np.abs(other))
    is_near = np.abs(one - other) <= SAME * most
    return np.asarray((is_near | (most < NO_STATE)).all(axis=1))


def smoothed(log_density: Array, start: Array, table: Array, ends: Codes) -> Smoothed:
    """Return beliefs given all rows, expected transitions and log probabilities.

    Examples
    --------
    >>> log_density = np.log([[0.5, 0.1], [0.1, 0.5]])
    >>> even = np.full((2, 2), 0.5)
    >>> smoothed(log_density, even[0], even, np.array([0, 2])).transitions.round(3)
    array([[0.139, 0.694],
           [0.028, 0.139]])
    """
    ahead = filtered(log_density, start, table, ends)
    n, k = log_density.shape
    belief, pull = np.empty((n, k)), np.empty((n, k))
    n_sequences = len(ends) - 1
    is_faint = np.isnan(ahead.ratio[ends[:-1], 0])
    chosen = np.flatnonzero(~is_faint)
    across = np.ascontiguousarray(table.T)
    for warm_up in (*WARM_UPS, None):
        if not len(chosen):
            break
        pieces = _Pieces.of(ends, chosen, warm_up)
        end = np.minimum(pieces.stop + (warm_up or 0), ends[pieces.sequence + 1])
        span = np.stack([pieces.first, pieces.stop, end], axis=1)
        behind = np.empty((len(end), k))

        given = (ahead.belief, ahead.ratio, across, span)
        answers = (belief, pull, behind)
        _in_groups(_loops().backward, given, answers, int((end - pieces.first).sum()) * k)
        inner = np.flatnonzero(~pieces.is_last)
        is_apart = ~_agree(behind[inner], belief[pieces.stop[inner]])
        is_open = np.zeros(n_sequences, dtype=np.bool_)
        is_open[pieces.sequence[inner[is_apart]]] = True
        chosen = np.flatnonzero(is_open)
    counts = np.zeros((k, k))
    pull[ends[:-1]] = 0.0
    for s in np.flatnonzero(is_faint):
        rows = slice(ends[s], ends[s + 1])
        begun = start if start.ndim == 1 else start[s]
        _, belief[rows], own, _ = _in_logarithms(log_density[rows], begun, table)
        counts += own
        pull[rows] = 0.0
    counts += table * _products(ahead.belief, pull)
    return Smoothed(belief, counts, ahead.log_prob)


def _products(belief: Array, pull: Array) -> Array:
    """Return ``sum over t of belief_(t-1) pull_t'``, in blocks of rows."""
    n, k = belief.shape
    if n < 2:
        return np.zeros((k, k))
    with threads_for(0):
        parts = over_blocks(
            lambda rows: belief[:-1][rows].T @ pull[1:][rows], n - 1, max(1, (1 << 18) // k)
        )
    return np.asarray(sum(parts))


def _in_logarithms(
    log_density: Array, start: Array, table: Array
) -> tuple[Array, Array, Array, float]:
    """Return filtered and smoothed beliefs, transitions and log probability of a sequence."""
    n, k = log_density.shape
    belief, own, counts = np.zeros((n, k)), np.zeros((n, k)), np.zeros((k, k))
    with np.errstate(divide="ignore"):
        log_start, log_table = np.log(start), np.log(table)
    log_prob = _loops().log_smooth(
        np.ascontiguousarray(log_density), log_start, log_table, belief, own, counts
    )
    return belief, own, counts, float(log_prob)


def best_path(log_density: Array, start: Array, table: Array, ends: Codes) -> Codes:
    """Return the most probable path of each sequence, shape (n,).

    Examples
    --------
    >>> log_density = np.log([[0.9, 0.1], [0.4, 0.6]])
    >>> best_path(log_density, np.full(2, 0.5), np.eye(2), np.array([0, 2]))
    array([0, 0])
    """
    n, k = log_density.shape
    with np.errstate(divide="ignore"):
        log_start = np.maximum(np.log(start), -LARGE)
        log_table = np.maximum(np.log(table), -LARGE)
    score = np.empty((n, k))
    chosen = np.arange(len(ends) - 1)
    for warm_up in (*WARM_UPS, None):
        pieces = _Pieces.of(ends, chosen, warm_up)
        begin = np.maximum(pieces.first - (warm_up or 0), ends[pieces.sequence])
        is_start = begin == ends[pieces.sequence]
        ahead = np.where(is_start[:, None], log_start, 0.0)
        span = np.stack([begin, pieces.first, pieces.stop], axis=1)
        warm = np.empty((len(begin), k))

        given = (log_density, log_table, ahead, span)
        size = int((pieces.stop - begin).sum()) * k
        _in_groups(_loops().best_scores, given, (score, warm), size)
        inner = np.flatnonzero(~pieces.is_first)
        away = np.abs(warm[inner] - score[pieces.first[inner] - 1])
        is_open = np.zeros(len(ends) - 1, dtype=np.bool_)
        is_open[pieces.sequence[inner[away.max(axis=1, initial=0.0) > SAME]]] = True
        chosen = np.flatnonzero(is_open)
        if not len(chosen):
            break
    path = np.empty(n, dtype=np.int64)
    _loops().traced(score, log_table, ends, path)
    return path


def drawn_path(belief: Array, table: Array, ends: Codes, rng: Generator) -> Codes:
    """Return a path of each sequence drawn given all rows, by filtered beliefs, shape (n,)."""
    path = np.empty(len(belief), dtype=np.int64)
    _loops().draw_paths(belief, table, ends, rng.random(len(belief)), path)
    return path


def normal_log_densities(x: Array, offset: Array, center: Array, lower: Array) -> Array:
    """Return ``offset_k - |L_k^-1 (x_i - c_k)|^2 / 2`` of complete rows, shape (n, K).

    Parameters
    ----------
    lower
        Lower factors of covariances, (K, d, d), or standard deviations of columns, (K, d).
    """
    k, d = center.shape
    offset = np.ascontiguousarray(np.broadcast_to(offset, (k,)))
    center = np.ascontiguousarray(center)
    if lower.ndim == 2:
        root: Array = (1.0 / lower)[..., None] * np.eye(d)
    else:
        root = np.asarray(np.linalg.inv(lower), dtype=np.float64)
    out = np.empty((len(x), k))
    rows = np.ascontiguousarray(x)

    def passed(low: int, high: int) -> None:
        _loops().normal_logs(rows[low:high], offset, center, root, out[low:high])

    in_parts(passed, len(rows), rows.size * k)
    return out


@cache
def _loops() -> ModuleType:
    return importlib.import_module("credo.inference.sequence._loops_hidden_chain")
