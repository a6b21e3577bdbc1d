"""The candidates that a table of numbers is offered: from the mean alone to curved surfaces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from credo.app.span import Span
from credo.features.basis import MAX_COLUMNS, Basis
from credo.features.linear import LinearBasis
from credo.features.placement import distinct_rows
from credo.features.polynomial import PolynomialBasis
from credo.features.radial import RadialBasis
from credo.features.spline import SplineBasis
from credo.models.linear_regression import LinearRegression
from credo.numerics.array import Array

__all__ = [
    "AVERAGE",
    "CONSTANT",
    "LINEAR",
    "MAX_CENTERS",
    "MAX_COMPARED",
    "MAX_TERMS",
    "READABLE",
    "Slate",
    "regression_slate",
]

AVERAGE = "average"
CONSTANT = "constant"
LINEAR = "linear"
READABLE = (CONSTANT, LINEAR, "quadratic", "cubic")
"""Candidates whose terms mean something to people."""

MAX_TERMS = 600
"""No candidate has more terms than this, nor more than there are training rows."""

MAX_CENTERS = 200
"""Radial centers, where three fifths of the training rows allow as many."""

MAX_COMPARED = 2000
"""Rows, chosen at random, on which candidates are compared with each other."""


class Slate(NamedTuple):
    """Names and unfitted regressions, simplest first, and a sentence for each one left out."""

    candidates: tuple[tuple[str, LinearRegression], ...]
    notes: tuple[str, ...]


class _Proposal(NamedTuple):
    """A basis, None for the inputs themselves, and its number of terms on these inputs."""

    name: str
    basis: Basis | None
    n_terms: int


def regression_slate(X: ArrayLike) -> Slate:
    """Return the candidates for training inputs ``X``, shape (n_rows, n_columns).

    Each is a linear regression whose precisions are learned by evidence. The constant and
    the linear one are always there; one with more terms than rows, or than `MAX_TERMS`, is
    left out with a note, and so is one that can say no more and no less about these inputs
    than a simpler one: twice the same candidate would have twice its probability.

    Examples
    --------
    >>> slate = regression_slate(np.random.default_rng(0).normal(size=(40, 3)))
    >>> [name for name, _ in slate.candidates]
    ['constant', 'linear', 'quadratic', 'cubic', 'spline', 'radial', 'spline + quadratic']
    >>> slate.notes
    ('spline + radial was left out: its 51 terms are more than the 40 training rows allow.',)
    """
    rows = np.asarray(X, dtype=np.float64)
    comparison = _Comparison(rows)
    candidates, notes = [], []
    for name, basis, n_terms in _proposals(rows):
        is_needed = name in (CONSTANT, LINEAR)
        if n_terms > min(len(rows), MAX_TERMS) and not is_needed:
            notes.append(f"{name} was left out: {_excess(n_terms, len(rows))}.")
            continue
        same_as = comparison.add(name, basis)
        if same_as and not is_needed:
            notes.append(f"{name} was left out: on these columns it is the same as {same_as}.")
        else:
            candidates.append((name, LinearRegression(basis)))
    return Slate(tuple(candidates), tuple(notes))


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


def _proposals(X: Array) -> Iterator[_Proposal]:
    n_rows, n_columns = X.shape
    # Orthogonal columns do not depend on where the zero of an input lies.
    quadratic, cubic = (PolynomialBasis(degree, orthogonal=True) for degree in (2, 3))
    spline = SplineBasis()
    n_centers = max(1, min(MAX_CENTERS, 3 * n_rows // 5))
    radial = RadialBasis(n_centers)
    n_quadratic = _n_terms(quadratic, X, PolynomialBasis(2).n_columns(n_columns))
    n_cubic = _n_terms(cubic, X, PolynomialBasis(3).n_columns(n_columns))
    n_spline = _n_terms(spline, X, (spline.n_knots + 1) * n_columns)
    yield _Proposal(CONSTANT, PolynomialBasis(0), 0)
    yield _Proposal(LINEAR, None, n_columns)
    yield _Proposal("quadratic", quadratic, n_quadratic)
    yield _Proposal("cubic", cubic, n_cubic)
    yield _Proposal("spline", spline, n_spline)
    yield _Proposal("radial", LinearBasis() + radial, n_columns + n_centers)
    yield _Proposal("spline + quadratic", spline + quadratic, n_spline + n_quadratic)
    yield _Proposal("spline + radial", spline + radial, n_spline + n_centers)


def _n_terms(basis: Basis, X: Array, at_most: int) -> int:
    """Return the number of terms; inputs with few distinct values have fewer than others."""
    return at_most if at_most > MAX_COLUMNS else basis.place(X).n_columns(X.shape[1])


def _excess(n_terms: int, n_rows: int) -> str:
    if n_rows < MAX_TERMS:
        return f"its {n_terms:,} terms are more than the {n_rows:,} training rows allow"
    return f"its {n_terms:,} terms are more than the {MAX_TERMS} that a candidate may have"
