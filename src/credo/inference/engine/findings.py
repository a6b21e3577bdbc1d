"""Rows of coded findings, with gaps, and the groups of them that one plan can serve."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from credo.numerics.array import Array, as_float

__all__ = ["MISSING", "Findings", "FindingsGroup", "check_known", "distinct_columns"]

MISSING = -1

WORTH_A_PLAN = 64
"""Rows with the same variables known that get a plan of their own, however many others do."""

FEW_PATTERNS = 4

Codes = NDArray[np.intp]
Rows = NDArray[np.intp]
Key = TypeVar("Key", int, str)
Asked = TypeVar("Asked", int, str, contravariant=True)


class Sizes(Protocol[Asked]):
    """Number of states of each variable."""

    def __getitem__(self, key: Asked, /) -> int:
        """Return the number of states of one variable."""
        ...


@dataclass(frozen=True, eq=False)
class Findings(Generic[Key]):
    """What is known in each of some rows, about variables by name or by number.

    Attributes
    ----------
    n_rows
        Number of rows.
    codes
        Positions of states, `MISSING` where unknown, each (n_rows,).
    likelihood
        Likelihoods of the states of variables that were only hinted at, (n_states, n_rows).
    values
        Values of real variables, NaN where unknown, each (n_rows,).
    index
        Labels of the rows, if they come from a table.
    root
        Chooses the random numbers of answers by draws.
    """

    n_rows: int
    codes: Mapping[Key, Codes] = field(default_factory=dict)
    likelihood: Mapping[Key, Array] = field(default_factory=dict)
    values: Mapping[Key, Array] = field(default_factory=dict)
    index: pd.Index[Any] | None = None
    root: int = 0

    @classmethod
    def of(
        cls,
        codes: Mapping[Key, ArrayLike] | None = None,
        values: Mapping[Key, ArrayLike] | None = None,
        likelihood: Mapping[Key, ArrayLike] | None = None,
    ) -> Findings[Key]:
        """Return findings; single ones count as one row, and fill up longer columns.

        Examples
        --------
        >>> known = Findings.of({"kind": [0, 1]}, {"size": 2.5})
        >>> known.n_rows, known.values["size"].tolist()
        (2, [2.5, 2.5])
        """
        states = {k: np.atleast_1d(np.asarray(c, np.intp)) for k, c in (codes or {}).items()}
        numbers = {k: np.atleast_1d(as_float(v)) for k, v in (values or {}).items()}
        tables = {k: as_float(table) for k, table in (likelihood or {}).items()}
        tables = {k: t[:, None] if t.ndim == 1 else t for k, t in tables.items()}
        lengths: list[int] = [
            c.shape[-1] for part in (states, numbers, tables) for c in part.values()
        ]
        n = max([1, *lengths]) if all(lengths) else 0
        return cls(
            n,
            {key: np.broadcast_to(column, n) for key, column in states.items()},
            {key: np.broadcast_to(table, (len(table), n)) for key, table in tables.items()},
            {key: np.broadcast_to(column, n) for key, column in numbers.items()},
        )

    @property
    def names(self) -> frozenset[Key]:
        """Variables that something is known about in some row."""
        return frozenset(self.codes).union(self.likelihood, self.values)

    @cached_property
    def settled(self) -> frozenset[Key]:
        """Variables whose state or value is known in every row."""
        return frozenset(
            [k for k, codes in self.codes.items() if np.all(codes != MISSING)]
            + [k for k, values in self.values.items() if not np.any(np.isnan(values))]
        )

    def is_known(self, key: Key) -> bool:
        """Return whether the variable is given in every row."""
        return key in self.settled

    def without(self, keys: Collection[Key]) -> Findings[Key]:
        """Return the findings about all other variables."""
        return Findings(
            self.n_rows,
            {key: codes for key, codes in self.codes.items() if key not in keys},
            {key: table for key, table in self.likelihood.items() if key not in keys},
            {key: values for key, values in self.values.items() if key not in keys},
            self.index,
            self.root,
        )

    def numbered(self, numbers: Mapping[Key, int]) -> Findings[int]:
        """Return the findings about states by other keys."""
        return Findings(
            self.n_rows,
            {numbers[key]: codes for key, codes in self.codes.items()},
            {numbers[key]: table for key, table in self.likelihood.items()},
            root=self.root,
        )

    def take(self, rows: Rows | slice) -> Findings[Key]:
        """Return some rows, without their labels."""
        n_rows = len(range(self.n_rows)[rows]) if isinstance(rows, slice) else len(rows)
        return Findings(
            n_rows,
            {key: codes[rows] for key, codes in self.codes.items()},
            {key: table[:, rows] for key, table in self.likelihood.items()},
            {key: values[rows] for key, values in self.values.items()},
            root=self.root,
        )

    def row(self, row: int) -> Findings[Key]:
        """Return one row alone."""
        return self.take(slice(row, row + 1))

    def stream(self) -> Generator:
        """Return the random numbers that belong to what a single row knows.

        Equal findings have equal streams, so that an answer by draws does not depend on the
        rows around it; other findings, and other roots, have independent ones.

        Examples
        --------
        >>> known, same, other = (Findings.of({"kind": k}) for k in (1, 1, 2))
        >>> a, b, c = (part.stream().random() for part in (known, same, other))
        >>> a == b, a == c
        (True, False)
        """
        states = sorted((str(k), int(c[0])) for k, c in self.codes.items() if c[0] != MISSING)
        values = sorted((str(k), float(v[0])) for k, v in self.values.items() if v[0] == v[0])
        hints = sorted((str(k), t[:, 0].tolist()) for k, t in self.likelihood.items())
        facts = blake2b(repr((states, values, hints)).encode(), digest_size=16)
        return np.random.default_rng([self.root, int.from_bytes(facts.digest(), "little")])

    def groups(
        self, n_states: Sizes[Key], n_shared: int | None = None
    ) -> Iterator[FindingsGroup[Key]]:
        """Yield groups of rows; each row is in one.

        Rows with the same variables known make a group without gaps. Where almost every row
        has its own pattern of gaps, those rows share a group in which a state is a likelihood
        that is zero elsewhere, a missing state one that is flat, and a missing value NaN.

        Parameters
        ----------
        n_states
            Number of states of each variable.
        n_shared
            Number of rows with different gaps that may share a group; all if None.
        """
        if self.n_rows == 1:
            yield self._single()
        if self.n_rows <= 1:
            return
        keys = sorted(self.codes)
        table = np.array([self.codes[k] for k in keys], dtype=np.intp).reshape(-1, self.n_rows)
        gaps: list[NDArray[np.bool_]] = [np.isnan(self.values[key]) for key in self.values]
        pattern, inverse = distinct_columns(np.vstack([table == MISSING, *gaps]))
        n_each = np.bincount(inverse, minlength=pattern.shape[1])
        own = n_each >= (0 if n_shared == 0 else WORTH_A_PLAN)
        if (~own).sum() <= FEW_PATTERNS:
            own[:] = True
        for at in np.flatnonzero(own):
            yield self._group(np.flatnonzero(inverse == at), keys, table, n_states)
        rest = np.flatnonzero(~own[inverse])
        step = n_shared or max(1, len(rest))
        for start in range(0, len(rest), step):
            yield self._group(rest[start : start + step], keys, table, n_states)

    def _single(self) -> FindingsGroup[Key]:
        """Return the only row; most questions have one, so it is worth a way of its own."""
        codes = {k: self.codes[k] for k in sorted(self.codes) if self.codes[k][0] != MISSING}
        likelihood = {k: self.likelihood[k] for k in sorted(self.likelihood)}
        values = {k: v for k, v in self.values.items() if not np.isnan(v[0])}
        only = np.zeros(1, dtype=np.intp)
        return FindingsGroup(Findings(1, codes, likelihood, values), only, only)

    def _group(
        self, rows: Rows, keys: list[Key], table: Codes, n_states: Sizes[Key]
    ) -> FindingsGroup[Key]:
        """Return the findings of some rows, each different row once."""
        part = table[:, rows]
        values = {key: column[rows] for key, column in self.values.items()}
        values = {key: column for key, column in values.items() if not np.isnan(column).all()}
        place = np.arange(len(rows))
        if not self.likelihood and not values and len(rows) > 1:
            part, place = distinct_columns(part)
        known = part != MISSING
        codes = {k: part[at] for at, k in enumerate(keys) if known[at].all()}
        soft = {k: states[:, rows] for k, states in self.likelihood.items()}
        for at, key in enumerate(keys):
            if key not in codes and known[at].any():
                soft[key] = _one_hot(part[at], n_states[key])
        likelihood = {key: soft[key] for key in sorted(soft)}
        return FindingsGroup(Findings(part.shape[1], codes, likelihood, values), rows, place)


@dataclass(frozen=True, eq=False)
class FindingsGroup(Generic[Key]):
    """Rows for one plan.

    Attributes
    ----------
    known
        What the different ones among the rows know; no state is missing.
    rows
        Rows of the findings that the group answers.
    place
        Which row of ``known`` each of ``rows`` is.
    """

    known: Findings[Key]
    rows: Rows
    place: Rows

    @property
    def observed(self) -> tuple[Key, ...]:
        """Variables with a state in every row."""
        return tuple(self.known.codes)

    @property
    def weighted(self) -> tuple[tuple[Key, ...], ...]:
        """Variables of each likelihood."""
        return tuple((key,) for key in self.known.likelihood)

    @cached_property
    def codes(self) -> Codes:
        """States of the observed variables, (n_observed, n_distinct)."""
        table = np.array([*self.known.codes.values()], dtype=np.intp)
        return table.reshape(-1, self.known.n_rows)

    @property
    def stacked_likelihood(self) -> Array | None:
        """Likelihoods one below the other, (sum of n_states, n_distinct), or None."""
        return np.vstack([*self.known.likelihood.values()]) if self.known.likelihood else None


def check_known(findings: Findings[str], may_miss_values: bool) -> None:
    """Raise if a state is missing, or a value is not finite; NaN may be allowed."""
    for name, codes in findings.codes.items():
        if np.any(codes == MISSING):
            raise ValueError(
                f"states of {name} must be given in all rows that are asked about at once; "
                f"found none in row {int(np.argmax(codes == MISSING))}. Ask about the groups."
            )
    for name, column in findings.values.items():
        wrong = np.isinf(column) if may_miss_values else ~np.isfinite(column)
        if np.any(wrong):
            raise ValueError(
                f"given values of {name} must be finite; found {column[wrong][0]}. Leave out "
                "what is not known."
            )


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
    likelihood = np.zeros((n_states, len(codes)))
    likelihood[codes, np.arange(len(codes))] = 1.0
    likelihood[:, codes == MISSING] = 1.0
    return likelihood
