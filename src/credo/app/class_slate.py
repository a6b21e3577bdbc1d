"""The classifiers that a table is offered: from class frequencies to curved boundaries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from credo.app.proposal import Proposal, n_terms, worthwhile
from credo.app.slate import LINEAR
from credo.features.linear import LinearBasis
from credo.features.radial import RadialBasis
from credo.features.spline import SplineBasis
from credo.models.ada_boost import AdaBoost
from credo.models.baseline_classifier import BaselineClassifier
from credo.models.class_conditional import GaussianClassConditional
from credo.models.logistic_regression import LogisticRegression
from credo.models.naive_bayes import NaiveBayes
from credo.models.nearest_neighbors import NearestNeighborsClassifier
from credo.numerics.array import Array

__all__ = [
    "BASELINE",
    "CLASS_MEANINGS",
    "MAX_PARAMETERS",
    "STACK",
    "ClassSlate",
    "binary_kinds",
    "class_slate",
]

BASELINE = "baseline"
STACK = "stack"

MAX_PARAMETERS = 600
"""No logistic candidate has more weights than this, over all of its classes."""

MAX_CENTERS = 60
"""Radial centers, where a fifth of the training rows allows as many."""

CLASS_MEANINGS = MappingProxyType(
    {
        BASELINE: "how often each class occurs, whatever the columns say",
        LINEAR: "log odds that are a straight line in each column",
        "spline": "log odds that are a smooth curve in each column, added up",
        "radial": "linear, and bumps around clusters of rows",
        "tied gaussian": "a normal cloud of rows for each class, all of one shape",
        "gaussian": "a normal cloud of rows for each class, each of its own shape",
        "naive bayes": "each column by itself, as if independent within a class",
        "neighbors": "the classes of the most similar training rows",
        "boosting": "a vote of many rules with one threshold each",
    }
)
"""One line for each classifier that a slate may hold."""


class ClassSlate(NamedTuple):
    """Names and unfitted classifiers, simplest first, and a sentence for each left out."""

    candidates: tuple[tuple[str, Any], ...]
    notes: tuple[str, ...]


def class_slate(X: ArrayLike, n_classes: int, binary: Sequence[str] = ()) -> ClassSlate:
    """Return the classifiers for training inputs ``X``, shape (n_rows, n_columns).

    Those that differ from a simpler one only in a basis that says no more about these inputs
    are left out with a note, and so are those with more weights than rows or than
    `MAX_PARAMETERS`, and densities in more dimensions than that.

    Parameters
    ----------
    n_classes
        Each class but one has weights of its own.
    binary
        Names of the columns that hold 0 or 1 in any table.
    """
    rows = np.asarray(X, dtype=np.float64)
    logistic, notes = worthwhile(
        rows, _proposals(rows, n_classes), (LINEAR,), MAX_PARAMETERS // (n_classes - 1)
    )
    found: list[tuple[str, Any]] = [(BASELINE, BaselineClassifier())]
    found += [(proposal.name, LogisticRegression(proposal.basis)) for proposal in logistic]
    if rows.shape[1] <= MAX_PARAMETERS:
        found.append(("tied gaussian", GaussianClassConditional("tied")))
        found.append(("gaussian", GaussianClassConditional()))
    else:
        notes.append(
            f"gaussian was left out: the {rows.shape[1]:,} columns are more than the "
            f"{MAX_PARAMETERS} that it may have."
        )
    found.append(("naive bayes", NaiveBayes(kinds=binary_kinds(binary))))
    found.append(("neighbors", NearestNeighborsClassifier()))
    found.append(("boosting", AdaBoost()))
    return ClassSlate(tuple(found), tuple(notes))


def binary_kinds(names: Sequence[str]) -> dict[str, str] | None:
    """Return what tells naive Bayes that columns hold 0 or 1; None if there are none."""
    return dict.fromkeys(names, "bernoulli") or None


def _proposals(X: Array, n_classes: int) -> Iterator[Proposal]:
    n_rows, n_columns = X.shape
    spline = SplineBasis()
    room = MAX_PARAMETERS // (n_classes - 1) - n_columns
    n_centers = max(1, min(MAX_CENTERS, n_rows // 5, room))
    yield Proposal(LINEAR, None, n_columns)
    yield Proposal("spline", spline, n_terms(spline, X, (spline.n_knots + 1) * n_columns))
    yield Proposal("radial", LinearBasis() + RadialBasis(n_centers), n_columns + n_centers)
