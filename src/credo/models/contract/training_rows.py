"""Rows with class labels, as they enter a classifier: checked once, at the edge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.models.contract.class_label import class_labels, label_codes
from credo.models.contract.inputs import row_weight, validated
from credo.numerics.array import Array

__all__ = [
    "LabeledRows",
    "first_labeled_rows",
    "labeled_chunk",
    "more_labeled_rows",
]


@dataclass(frozen=True, eq=False)
class LabeledRows:
    """Inputs (n, d), the code of each row's class, and the weight of each row."""

    x: Array
    code: NDArray[np.intp]
    weight: Array


def first_labeled_rows(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    classes: ArrayLike | None = None,
) -> LabeledRows:
    """Return the rows of a first fit; it sets the classes and features of the estimator.

    Parameters
    ----------
    classes
        All classes that will ever come, where ``y`` is only a first chunk.
    """
    x, labels, weight = _checked(estimator, X, y, sample_weight, is_first=True)
    estimator.classes_, code = class_labels(labels, weight, classes=classes)
    return LabeledRows(x, code, weight)


def more_labeled_rows(
    estimator: Any, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
) -> LabeledRows:
    """Return rows for an estimator that knows its classes and features."""
    x, labels, weight = _checked(estimator, X, y, sample_weight, is_first=False)
    return LabeledRows(x, label_codes(labels, estimator.classes_), weight)


def labeled_chunk(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    classes: ArrayLike | None,
    sample_weight: ArrayLike | None,
) -> LabeledRows:
    """Return the rows of one more chunk; the first, before statistics, names all classes."""
    if hasattr(estimator, "statistics_"):
        return more_labeled_rows(estimator, X, y, sample_weight)
    if classes is None:
        raise ValueError(
            "classes must be given on the first call to partial_fit; found None. Pass every "
            "class that any chunk will hold."
        )
    return first_labeled_rows(estimator, X, y, sample_weight, classes)


def _checked(
    estimator: Any, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, is_first: bool
) -> tuple[Array, NDArray[Any], Array]:
    x, labels = validated(estimator, X, y, reset=is_first, dtype=np.float64)
    return x, labels, row_weight(sample_weight, x)
