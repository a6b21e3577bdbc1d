"""The candidates that a table is offered: of the bases proposed for it, those worth one.

Bases are proposed the simplest first; one whose columns span what those of a simpler one span
is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import linalg

from credo.data.error import TableError
from credo.data.table.column_name import nearest_names, quoted
from credo.features.additive import LinearBasis
from credo.features.basis import MAX_COLUMNS, Basis, distinct_rows
from credo.numerics.array import Array

__all__ = [
    "AVERAGE",
    "CONSTANT",
    "LINEAR",
    "MAX_COMPARED",
    "NETWORK",
    "NETWORK_ROWS",
    "NETWORK_UNITS",
    "PROCESS",
    "READABLE",
    "RELEVANCE",
    "RELEVANCE_ROWS",
    "SUPPORT",
    "UNWEIGHED",
    "VARYING",
    "Proposal",
    "Slate",
    "Span",
    "n_terms",
    "spelled",
    "worthwhile",
]

AVERAGE = "average"
CONSTANT = "constant"
LINEAR = "linear"
PROCESS = "process"
RELEVANCE = "relevance vectors"
SUPPORT = "support vectors"

NETWORK = "neural network"

UNWEIGHED = (SUPPORT, RELEVANCE, NETWORK)
"""Regressions that are judged, and never averaged: what the first two say far away is too sure,
and the evidence of the last is that of one of many modes."""

NETWORK_ROWS, NETWORK_UNITS = (60, 1_000), (10,)
"""Fewest distinct rows, as many as a few weights for each unit; most on which networks of so
many units take a second."""

RELEVANCE_ROWS = (20, 300)
"""Fewest distinct rows for a choice among them; most on which that takes no second."""

VARYING = " + noise"
"""Behind the name of a process whose noise follows the columns."""

READABLE = (CONSTANT, LINEAR, "quadratic", "cubic")
"""Candidates whose terms mean something to people."""

MAX_COMPARED = 2000
"""Rows, chosen at random, on which candidates are compared with each other."""

# Columns have length one; rounding leaves about 1e-15 of one that others determine.
_TOLERANCE = 1e-9


class Slate(NamedTuple):
    """Names and unfitted candidates, simplest first, and a sentence for each one left out."""

    candidates: tuple[tuple[str, Any], ...]
    notes: tuple[str, ...]

    def only(self, names: Collection[str] | None) -> Slate:
        """Return the candidates of some names, and the simplest; all of them if None."""
        if names is None:
            return self
        offered = [name for name, _ in self.candidates]
        kept = {offered[0], *(spelled(name, offered, "that suit the table") for name in names)}
        return Slate(tuple(one for one in self.candidates if one[0] in kept), self.notes)

    def without(self, names: Collection[str], reason: str) -> Slate:
        """Return the slate without some names, with a note for each that it had."""
        kept = tuple(one for one in self.candidates if one[0] not in names)
        left_out = [
            f"{name} {'were' if name.endswith('vectors') else 'was'} left out: {reason}."
            for name, _ in self.candidates
            if name in names
        ]
        return Slate(kept, (*self.notes, *left_out))

    def joined(self, others: Iterable[Slate]) -> Slate:
        """Return the slate with the candidates and notes of others behind its own."""
        parts = (self, *others)
        return Slate(
            tuple(one for part in parts for one in part.candidates),
            tuple(note for part in parts for note in part.notes),
        )

    def within(self, n_rows: int, max_rows: int) -> Slate:
        """Return the slate, or notes alone if the training rows are too many for it."""
        if n_rows <= max_rows:
            return self
        return self.without(
            [name for name, _ in self.candidates],
            f"{n_rows:,} training rows are more than the {max_rows:,} on which it takes "
            "seconds",
        )


class Proposal(NamedTuple):
    """A basis, None for the inputs themselves, and its number of terms on these inputs."""

    name: str
    basis: Basis | None
    n_terms: int


@dataclass(frozen=True, eq=False)
class Span:
    """The centered functions of some rows that a design can make by weighing its columns.

    Attributes
    ----------
    directions
        Orthonormal columns, shape (n_rows, rank).
    probe
        A random member, shape (n_rows,): it lies in another span only if all members do,
        but for chances of measure zero.

    Examples
    --------
    >>> x = np.arange(4.0)
    >>> line, square = Span.of(x[:, None]), Span.of(np.stack([x, x**2], axis=1))
    >>> line.rank, square.rank, square.equals(line)
    (1, 2, False)
    >>> Span.of(5.0 - 2.0 * x[:, None]).equals(line)
    True
    """

    directions: Array
    probe: Array

    @classmethod
    def of(cls, design: Array) -> Self:
        """Return the span of a design matrix, shape (n_rows, n_columns)."""
        centered = design - design.mean(axis=0)
        length = np.linalg.norm(centered, axis=0)
        is_moving = length > _TOLERANCE * np.linalg.norm(design, axis=0)
        unit = centered[:, is_moving] / length[is_moving]
        probe = unit @ np.random.default_rng(0).normal(size=unit.shape[1])
        if not unit.size:
            return cls(unit, probe)
        directions, upper, _ = linalg.qr(unit, mode="economic", pivoting=True)
        rank = int(np.sum(np.abs(np.diag(upper)) > _TOLERANCE))
        return cls(np.asarray(directions[:, :rank]), probe)

    @property
    def rank(self) -> int:
        """The number of columns that no others determine."""
        return int(self.directions.shape[1])

    def equals(self, other: Span) -> bool:
        """Whether both hold the same functions of the same rows."""
        if self.rank != other.rank:
            return False
        missed = self.probe - other.directions @ (other.directions.T @ self.probe)
        return bool(np.linalg.norm(missed) <= 1e3 * _TOLERANCE * np.linalg.norm(self.probe))


def spelled(name: str, known: Sequence[str], kind: str) -> str:
    """Return a name as those known are spelled; an unknown one is refused with the nearest.

    Parameters
    ----------
    name
        As typed: letters may be large, and words joined by hyphens.
    known
        Names of models.
    kind
        What these models are, in the sentence that refuses another.

    Examples
    --------
    >>> spelled("Naive-Bayes", ["linear", "naive bayes"], "for this target")
    'naive bayes'
    """
    plain = " ".join(name.replace("-", " ").replace("_", " ").lower().split())
    if plain in known:
        return plain
    nearest = nearest_names(plain, known, n=1)
    hint = f"did you mean {nearest[0]!r}? " if nearest else ""
    raise TableError(
        f"`models` must name models {kind}; found {name.strip()!r}; {hint}choose from "
        f"{quoted(known, 20)}."
    )


def worthwhile(
    X: Array, proposals: Iterable[Proposal], needed: Collection[str], max_terms: int
) -> tuple[list[Proposal], list[str]]:
    """Return the proposals that are not too large and say something new, and notes on others.

    Parameters
    ----------
    X
        The training inputs, shape (n_rows, n_columns).
    proposals
        The simplest first.
    needed
        Names of those that are never left out.
    max_terms
        The most terms that any may have; nor may it have more than there are rows.
    """
    comparison = _Comparison(X)
    kept, notes = [], []
    for proposal in proposals:
        name, is_needed = proposal.name, proposal.name in needed
        if proposal.n_terms > min(len(X), max_terms) and not is_needed:
            excess = _excess(proposal.n_terms, len(X), max_terms)
            notes.append(f"{name} was left out: {excess}.")
            continue
        same_as = comparison.add(name, proposal.basis)
        if same_as and not is_needed:
            notes.append(f"{name} was left out: on these columns it is the same as {same_as}.")
        else:
            kept.append(proposal)
    return kept, notes


def n_terms(basis: Basis, X: Array, at_most: int) -> int:
    """Return the number of terms; inputs with few distinct values have fewer than others."""
    return at_most if at_most > MAX_COLUMNS else basis.place(X).n_columns(X.shape[1])


class _Comparison:
    """Remembers what each candidate can say about the distinct rows of the inputs."""

    def __init__(self, X: Array) -> None:
        distinct = distinct_rows(X)
        # Curves through all of a few rows differ between them, unless rows repeat: then
        # there is nothing between.
        self._is_discrete = 2 * len(distinct) <= len(X)
        kept = np.random.default_rng(0).permutation(len(distinct))[:MAX_COMPARED]
        self._placed_on, self._rows = distinct, distinct[np.sort(kept)]
        self._spans: dict[str, Span] = {}

    def add(self, name: str, basis: Basis | None) -> str:
        """Return the name of the first candidate that has the same span, or nothing."""
        span = self._span(basis)
        is_through_all = span.rank >= len(self._rows) - 1
        if self._is_discrete or not is_through_all:
            for simpler, other in self._spans.items():
                if span.equals(other):
                    return simpler
        self._spans[name] = span
        return ""

    def _span(self, basis: Basis | None) -> Span:
        placed = (LinearBasis() if basis is None else basis).place(self._placed_on)
        return Span.of(placed.design(self._rows))


def _excess(n_terms: int, n_rows: int, max_terms: int) -> str:
    if n_rows < max_terms:
        return f"its {n_terms:,} terms are more than the {n_rows:,} training rows allow"
    return f"its {n_terms:,} terms are more than the {max_terms} that a candidate may have"
