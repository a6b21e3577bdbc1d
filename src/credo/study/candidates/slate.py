"""The candidates that a table of numbers is offered: from the mean alone to curved surfaces."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from credo.features.basis import Basis
from credo.features.continued import ContinuedBasis
from credo.features.linear import LinearBasis
from credo.features.polynomial import PolynomialBasis
from credo.features.radial import RadialBasis
from credo.features.spline import SplineBasis
from credo.models.linear.linear_regression import LinearRegression
from credo.numerics.array import Array
from credo.study.candidates.proposal import Proposal, Slate, n_terms, worthwhile

__all__ = [
    "AVERAGE",
    "CONSTANT",
    "LINEAR",
    "MAX_CENTERS",
    "MAX_TERMS",
    "READABLE",
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
    kept, notes = worthwhile(rows, _proposals(rows), (CONSTANT, LINEAR), MAX_TERMS)
    candidates = tuple((name, LinearRegression(_continued(basis))) for name, basis, _ in kept)
    return Slate(candidates, tuple(notes))


def _continued(basis: Basis | None) -> ContinuedBasis:
    """Return a basis that no odd row can make run away; None is the inputs themselves."""
    return ContinuedBasis(LinearBasis() if basis is None else basis)


def _proposals(X: Array) -> Iterator[Proposal]:
    n_rows, n_columns = X.shape
    # Orthogonal columns do not depend on where the zero of an input lies.
    quadratic, cubic = (PolynomialBasis(degree, orthogonal=True) for degree in (2, 3))
    spline = SplineBasis()
    n_centers = max(1, min(MAX_CENTERS, 3 * n_rows // 5))
    radial = RadialBasis(n_centers)
    n_quadratic = n_terms(quadratic, X, PolynomialBasis(2).n_columns(n_columns))
    n_cubic = n_terms(cubic, X, PolynomialBasis(3).n_columns(n_columns))
    n_spline = n_terms(spline, X, (spline.n_knots + 1) * n_columns)
    yield Proposal(CONSTANT, PolynomialBasis(0), 0)
    yield Proposal(LINEAR, None, n_columns)
    yield Proposal("quadratic", quadratic, n_quadratic)
    yield Proposal("cubic", cubic, n_cubic)
    yield Proposal("spline", spline, n_spline)
    yield Proposal("radial", LinearBasis() + radial, n_columns + n_centers)
    yield Proposal("spline + quadratic", spline + quadratic, n_spline + n_quadratic)
    yield Proposal("spline + radial", spline + radial, n_spline + n_centers)
