"""How much rows count, by their class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.numerics.array import Array
from credo.numerics.quotation import quote

__all__ = ["weighted_by_class"]


def weighted_by_class(
    class_weight: Any, classes: NDArray[Any], codes: NDArray[np.intp], weight: Array
) -> Array:
    """Return the weights of rows, multiplied by those of their classes.

    Parameters
    ----------
    class_weight
        None, a mapping from label to weight (1 for a label that it does not name), or
        "balanced", which gives all classes the same total and leaves the total of all.

    Examples
    --------
    >>> codes = np.array([0, 0, 0, 1])
    >>> weighted_by_class("balanced", np.array(["a", "b"]), codes, np.ones(4)).round(3)
    array([0.667, 0.667, 0.667, 2.   ])
    """
    if class_weight is None:
        return weight
    if isinstance(class_weight, str) and class_weight == "balanced":
        totals = np.bincount(codes, weight, len(classes))
        is_present = totals > 0
        share = totals.sum() / np.count_nonzero(is_present)
        factors = np.divide(share, totals, out=np.zeros(len(classes)), where=is_present)
        return np.asarray(weight * factors[codes])
    _require_mapping(class_weight, classes)
    factors = np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])
    return np.asarray(weight * factors[codes])


def _require_mapping(class_weight: Any, classes: NDArray[Any]) -> None:
    if not isinstance(class_weight, Mapping):
        raise ValueError(
            "class_weight must be None, 'balanced' or a mapping from class to weight; found "
            f"{quote(class_weight)}. Write {{label: weight}}."
        )
    unknown = [label for label in class_weight if label not in classes.tolist()]
    bad = {label: w for label, w in class_weight.items() if not 0 <= w < np.inf}
    if unknown or bad:
        raise ValueError(
            f"class_weight must give classes of y, {quote(classes[:8].tolist())}, finite "
            "weights of 0 "
            f"or more; found {quote(unknown or bad)}. Leave out what is not a class."
        )
