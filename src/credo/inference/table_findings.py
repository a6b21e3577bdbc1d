"""Rows of findings about coded variables, put into groups that one plan can serve."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.numerics.array import Array

__all__ = ["MISSING", "FindingsGroup", "TableFindings", "distinct_columns"]

MISSING = -1

WORTH_A_PLAN = 64
"""Rows with the same variables known that get a plan of their own, however many others do."""

FEW_PATTERNS = 4

Codes = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class FindingsGroup:
    """Distinct rows for one plan.

    Attributes
    ----------
    observed, weighted
        Variables with a state in every row, and of each likelihood.
    codes
        States, shape (n_observed, n_distinct).
    likelihood
        Likelihoods one below the other, (sum of n_states, n_distinct), or None.
    rows
        Rows of the findings that the group answers.
    place
        Which distinct row each of ``rows`` is.
    """

    observed: tuple[int, ...]
    weighted: tuple[tuple[int, ...], ...]
    codes: Codes
    likelihood: Array | None
    rows: NDArray[np.intp]
    place: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class TableFindings:
    """What is known in each of some rows.

    Attributes
    ----------
    n_rows
        Number of rows.
    codes
        States of variables by number, -1 where missing, each (n_rows,).
    weights
        Likelihoods of the states of variables by number, each (n_states, n_rows).
    """

    n_rows: int
    codes: Mapping[int, Codes] = field(default_factory=dict)
    weights: Mapping[int, Array] = field(default_factory=dict)

    def row(self, row: int) -> TableFindings:
        """Return one row alone."""
        only = slice(row, row + 1)
        return TableFindings(
            1,
            {i: codes[only] for i, codes in self.codes.items()},
            {i: weight[:, only] for i, weight in self.weights.items()},
        )

    def groups(self, n_states: tuple[int, ...]) -> Iterator[FindingsGroup]:
        """Yield groups of rows; each row is in one.

        Rows with the same variables known share a plan. Where almost every row has its own
        pattern of missing entries, those rows share one plan in which a state is a likelihood
        that is zero elsewhere, and a missing entry is one that is flat.
        """
        names = tuple(sorted(self.codes))
        if self.n_rows == 0:
            return
        if self.n_rows == 1:
            yield self._single(names)
            return
        table = np.array([self.codes[i] for i in names], dtype=np.intp).reshape(-1, self.n_rows)
        pattern, inverse = distinct_columns(table != MISSING)
        own = np.bincount(inverse) >= WORTH_A_PLAN
        if (~own).sum() <= FEW_PATTERNS:
            own[:] = True
        for at in np.flatnonzero(own):
            known = np.flatnonzero(pattern[:, at])
            yield self._group(np.flatnonzero(inverse == at), names, table, known, n_states)
        rest = np.flatnonzero(~own[inverse])
        if len(rest):
            known = np.flatnonzero(np.all(table[:, rest] != MISSING, axis=1))
            yield self._group(rest, names, table, known, n_states)

    def _single(self, names: tuple[int, ...]) -> FindingsGroup:
        known = tuple(i for i in names if self.codes[i][0] != MISSING)
        weighted = tuple(sorted(self.weights))
        codes = np.array([self.codes[i] for i in known], dtype=np.intp).reshape(-1, 1)
        likelihood = np.vstack([self.weights[i] for i in weighted]) if weighted else None
        only = np.zeros(1, dtype=np.intp)
        return FindingsGroup(known, _alone(weighted), codes, likelihood, only, only)

    def _group(
        self,
        rows: NDArray[np.intp],
        names: tuple[int, ...],
        table: Codes,
        known: NDArray[np.intp],
        n_states: tuple[int, ...],
    ) -> FindingsGroup:
        part = table[:, rows]
        if self.weights:
            place = np.arange(len(rows))
        else:
            part, place = distinct_columns(part)
        sometimes = [
            at for at in range(len(names)) if at not in known and np.any(part[at] != MISSING)
        ]
        soft = {names[at]: _one_hot(part[at], n_states[names[at]]) for at in sometimes}
        soft |= {i: weight[:, rows] for i, weight in self.weights.items()}
        weighted = tuple(sorted(soft))
        likelihood = np.vstack([soft[i] for i in weighted]) if weighted else None
        observed = tuple(names[at] for at in known)
        return FindingsGroup(observed, _alone(weighted), part[known], likelihood, rows, place)


def _alone(variables: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    return tuple((i,) for i in variables)


def distinct_columns(table: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the different columns of a matrix of small integers, and which each column is.

    Examples
    --------
    >>> distinct_columns(np.array([[1, -1, 1], [0, 2, 0]]))
    (array([[ 1, -1],
           [ 0,  2]]), array([0, 1, 0]))
    """
    # One random number per column sorts many times quicker than columns do; should two
    # different columns share it, the slow way decides.
    key = np.random.default_rng(0).integers(1 << 63, size=len(table), dtype=np.uint64)
    mark = key @ table.astype(np.uint64)
    _, first, place = np.unique(mark, return_index=True, return_inverse=True)
    if not np.array_equal(table[:, first[place]], table):
        _, first, place = np.unique(table, axis=1, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return table[:, first[order]], rank[place.ravel()]


def _one_hot(codes: Codes, n_states: int) -> Array:
    """Return likelihoods, (n_states, n_rows): one at the state, or everywhere if missing."""
    hit = codes == np.arange(n_states)[:, None]
    return np.where(codes == MISSING, 1.0, hit).astype(np.float64)
