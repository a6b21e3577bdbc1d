"""The classifiers that a table is offered: from class frequencies to curved boundaries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from credo.data.table.preparation import TablePreparation
from credo.features.continued import ContinuedBasis
from credo.features.linear import LinearBasis
from credo.features.radial import RadialBasis
from credo.features.spline import SplineBasis
from credo.models.baseline.baseline_classifier import BaselineClassifier
from credo.models.gaps.gap_average import FoldCompletion, GapAverage
from credo.models.gaps.row_completion import Completion
from credo.models.generative.class_conditional import GaussianClassConditional
from credo.models.generative.naive_bayes import NaiveBayes
from credo.models.linear.logistic_regression import LogisticRegression
from credo.models.margin.ada_boost import AdaBoost
from credo.models.neighbors.nearest_neighbors import NearestNeighborsClassifier
from credo.numerics.array import Array
from credo.study.candidates.candidate import BASELINE
from credo.study.candidates.slate import LINEAR, Proposal, Slate, n_terms, worthwhile

__all__ = [
    "MAX_LINEAR_PARAMETERS",
    "MAX_PARAMETERS",
    "bayes_kinds",
    "class_slate",
    "over_gaps",
]

MAX_PARAMETERS = 600
"""No curved logistic candidate has more weights than this, over all of its classes."""

MAX_LINEAR_PARAMETERS = 1500
"""Nor has the linear one more than this: each step takes the cube of their number."""

MAX_CENTERS = 60
"""Radial centers, where a fifth of the training rows allows as many."""

MIN_CENTERS = 10
"""Where classes are so many that they leave room for fewer, there are no radial centers."""


def class_slate(X: ArrayLike, n_classes: int, kinds: Mapping[str, str] | None = None) -> Slate:
    """Return the classifiers for training inputs ``X``, shape (n_rows, n_columns).

    Those that differ from a simpler one only in a basis that says no more about these inputs
    are left out with a note, and so are those with more weights than rows or than
    `MAX_PARAMETERS` (linear: `MAX_LINEAR_PARAMETERS`), intercepts included, and densities in
    more dimensions than that.

    Parameters
    ----------
    n_classes
        Each class but one has weights of its own.
    kinds
        Kinds of columns for naive Bayes, see `bayes_kinds`.
    """
    rows = np.asarray(X, dtype=np.float64)
    logistic, notes = _logistic(rows, n_classes)
    found: list[tuple[str, Any]] = [(BASELINE, BaselineClassifier()), *logistic]
    if rows.shape[1] <= MAX_PARAMETERS:
        found.append(("tied gaussian", GaussianClassConditional("tied")))
        found.append(("gaussian", GaussianClassConditional()))
    else:
        notes += [
            f"{name} was left out: the {rows.shape[1]:,} columns are more than the "
            f"{MAX_PARAMETERS} that it may have."
            for name in ("tied gaussian", "gaussian")
        ]
    found.append(("naive bayes", NaiveBayes(kinds=kinds)))
    found.append(("neighbors", NearestNeighborsClassifier()))
    found.append(("boosting", AdaBoost()))
    return Slate(tuple(found), tuple(notes))


def bayes_kinds(preparation: TablePreparation) -> dict[str, str] | None:
    """Return the kinds of columns that are no measured numbers, for naive Bayes; None if none.

    The levels of categories are counted: each category of a row adds one to one of them, so
    that a row is as probable as the product over categories of their level's share. As truth
    values every level would count once more by its absence.
    """
    is_level = set(preparation.level_names)
    return {
        name: "counts" if name in is_level else "bernoulli" for name in preparation.binary_names
    } or None


def over_gaps(model: Any, completion: Completion | FoldCompletion) -> GapAverage:
    """Return a candidate that takes rows with gaps.

    Those that hold rows out while they learn get one completion of each.
    """
    is_single = isinstance(model, AdaBoost | NearestNeighborsClassifier)
    return GapAverage(model, completion, is_single)


def _logistic(X: Array, n_classes: int) -> tuple[list[tuple[str, Any]], list[str]]:
    """Return the logistic candidates by name, and notes on those left out."""
    # In a table with fewer rows than columns a class has no more weights than rows.
    n_weights = (n_classes - 1) * min(X.shape[1] + 1, len(X))
    if n_weights > MAX_LINEAR_PARAMETERS:
        return [], [
            f"{name} was left out: {n_classes:,} classes and {X.shape[1]:,} columns make "
            f"{n_weights:,} weights or more, too many to fit in reasonable time."
            for name in (LINEAR, "spline", "radial")
        ]
    max_terms = _max_terms(n_classes)
    kept, notes = worthwhile(X, _proposals(X, max_terms), (LINEAR,), max_terms)
    return [(proposal.name, LogisticRegression(proposal.basis)) for proposal in kept], notes


def _max_terms(n_classes: int) -> int:
    """Return how many terms a class may have, besides its intercept."""
    return max(MAX_PARAMETERS // (n_classes - 1) - 1, 0)


def _proposals(X: Array, max_terms: int) -> Iterator[Proposal]:
    n_rows, n_columns = X.shape
    spline = SplineBasis()
    room = max(max_terms - n_columns, MIN_CENTERS)
    n_centers = max(1, min(MAX_CENTERS, n_rows // 5, room))
    yield Proposal(LINEAR, None, n_columns)
    n_spline = n_terms(spline, X, (spline.n_knots + 1) * n_columns)
    # A tangent at the edge hangs on a few rows, and must not decide about all rows beyond.
    yield Proposal("spline", ContinuedBasis(spline), n_spline)
    yield Proposal("radial", LinearBasis() + RadialBasis(n_centers), n_columns + n_centers)
