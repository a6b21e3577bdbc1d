"""The candidates that a table of numbers is offered: from the mean alone to curved surfaces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from credo.features.basis import MAX_COLUMNS, Basis
from credo.features.linear import LinearBasis
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


class Slate(NamedTuple):
    """Names and unfitted regressions, simplest first, and a sentence for each one left out."""

    candidates: tuple[tuple[str, LinearRegression], ...]
    notes: tuple[str, ...]


class _Proposal(NamedTuple):
    """A basis, its number of terms on the training inputs, and one that it contains."""

    name: str
    basis: Basis | None
    n_terms: int
    contains: str = ""


def regression_slate(X: ArrayLike) -> Slate:
    """Return the candidates for training inputs ``X``, shape (n_rows, n_columns).

    Each is a linear regression whose precisions are learned by evidence. The constant and
    the linear one are always there; one with more terms than rows, or than `MAX_TERMS`, is
    left out with a note, and so is one that is the same as a simpler one on these inputs.

    Examples
    --------
    >>> slate = regression_slate(np.random.default_rng(0).normal(size=(20, 3)))
    >>> [name for name, _ in slate.candidates]
    ['constant', 'linear', 'quadratic', 'cubic', 'radial']
    >>> slate.notes
    ('spline was left out: its 27 terms are more than the 20 training rows allow.',
    'spline + radial was left out: its 39 terms are more than the 20 training rows allow.')
    """
    rows = np.asarray(X, dtype=np.float64)
    proposals = {proposal.name: proposal for proposal in _proposals(rows)}
    candidates, notes = [], []
    for name, basis, n_terms, simpler in proposals.values():
        if simpler and n_terms == proposals[simpler].n_terms:
            notes.append(f"{name} was left out: on these columns it is the same as {simpler}.")
        elif simpler and n_terms > min(len(rows), MAX_TERMS):
            notes.append(f"{name} was left out: {_excess(n_terms, len(rows))}.")
        else:
            candidates.append((name, LinearRegression(basis)))
    return Slate(tuple(candidates), tuple(notes))


def _proposals(X: Array) -> Iterator[_Proposal]:
    n_rows, n_columns = X.shape
    n_centers = max(1, min(MAX_CENTERS, 3 * n_rows // 5))
    spline, radial = SplineBasis(), RadialBasis(n_centers)
    # Orthogonal columns do not depend on where the zero of an input lies.
    quadratic, cubic = (PolynomialBasis(degree, orthogonal=True) for degree in (2, 3))
    at_most = (spline.n_knots + 1) * n_columns
    n_spline = _n_terms(spline, X, at_most)
    yield _Proposal(CONSTANT, PolynomialBasis(0), 0)
    yield _Proposal(LINEAR, None, n_columns)
    for name, basis, simpler in (
        ("quadratic", quadratic, LINEAR),
        ("cubic", cubic, "quadratic"),
    ):
        at_most = PolynomialBasis(basis.degree).n_columns(n_columns)
        yield _Proposal(name, basis, _n_terms(basis, X, at_most), simpler)
    yield _Proposal("spline", spline, n_spline, LINEAR)
    yield _Proposal("radial", LinearBasis() + radial, n_columns + n_centers, LINEAR)
    yield _Proposal("spline + radial", spline + radial, n_spline + n_centers, "radial")


def _n_terms(basis: Basis, X: Array, at_most: int) -> int:
    """Return the number of terms; inputs with few distinct values have fewer than others."""
    return at_most if at_most > MAX_COLUMNS else basis.place(X).n_columns(X.shape[1])


def _excess(n_terms: int, n_rows: int) -> str:
    if n_rows < MAX_TERMS:
        return f"its {n_terms} terms are more than the {n_rows} training rows allow"
    return f"its {n_terms} terms are more than the {MAX_TERMS} that a candidate may have"
