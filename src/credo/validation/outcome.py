"""What came true: numbers, or classes coded by their place among known labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.utils import get_tags

from credo.distributions.parameter import non_negative
from credo.numerics.array import Array, as_float, in_byte_order, unmasked
from credo.numerics.quotation import quote

__all__ = [
    "MISSING",
    "Outcome",
    "class_codes",
    "coded",
    "flat_column",
    "row_weights",
]

Codes = NDArray[np.intp]

MISSING = -1
"""Code of a row whose class is not known."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came true in each row: numbers, or classes with their labels and codes.

    Attributes
    ----------
    y
        Numbers of shape (n_samples,) or (n_samples, n_outputs), or classes as they were given.
    classes, codes
        Labels in rising order, and the place of each row's among them; None for numbers.
    """

    y: NDArray[Any]
    classes: NDArray[Any] | None = None
    codes: Codes | None = None

    @classmethod
    def of(cls, estimator: Any, y: ArrayLike) -> Outcome:
        """Return outcomes as the kind of estimator needs them."""
        if not _expects_classes(estimator):
            numbers = as_float(y)
            return cls(numbers if _has_many_outputs(estimator) else flat_column(numbers))
        labels = flat_column(y)
        classes, codes = coded(labels)
        return cls(np.asarray(labels), classes, codes)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.y)

    def take(self, rows: Codes) -> Outcome:
        """Return the outcomes of some rows, with the labels of all."""
        return Outcome(
            self.y[rows], self.classes, None if self.codes is None else self.codes[rows]
        )


def class_codes(y: ArrayLike, labels: NDArray[Any]) -> Codes:
    """Return the place of each entry of ``y`` among ``labels``, `MISSING` for NaN and None.

    Labels may be of any kind and in any order; a class that is none of them is refused.

    Examples
    --------
    >>> class_codes(["yes", "no", None], np.array(["no", "yes"]))
    array([ 1,  0, -1])
    """
    outcomes = _one_axis(y)
    codes = pd.Index(labels.tolist()).get_indexer(pd.Index(outcomes.tolist()))
    is_missing = np.asarray(pd.isna(outcomes))
    is_other = (codes < 0) & ~is_missing
    if is_other.any():
        found = sorted({str(label) for label in outcomes[is_other][:1000].tolist()})
        raise ValueError(
            f"y must hold the labels {quote(labels[:8].tolist())} of the predictions; found "
            f"{quote(found[:5])}. Pass labels written as at fit, or leave these rows out."
        )
    return np.where(is_missing, MISSING, codes).astype(np.intp)


def coded(y: ArrayLike) -> tuple[NDArray[Any], Codes]:
    """Return the distinct labels of ``y`` in rising order, and the code of each row.

    Examples
    --------
    >>> labels, codes = coded(["b", "a", None, "b"])
    >>> labels.tolist(), codes.tolist()
    (['a', 'b'], [1, 0, -1, 1])
    """
    codes, labels = pd.factorize(_one_axis(y), sort=True)
    plain = np.array(labels.tolist())
    return plain, codes.astype(np.intp)


def flat_column(y: ArrayLike) -> Any:
    """Return outcomes of shape (n, 1) as (n,), and all others as they are.

    Examples
    --------
    >>> flat_column([[1.0], [2.0]])
    array([1., 2.])
    """
    return np.asarray(unmasked(y))[:, 0] if np.shape(y)[1:] == (1,) else y


def row_weights(weight: ArrayLike | None, n: int) -> Array:
    """Return how much each of ``n`` rows counts, shape (n,); 1 if None."""
    if weight is None:
        return np.ones(n)
    weights = non_negative("weight", weight, "Leave out rows instead.")
    if weights.shape not in ((), (n,)) or not weights.any():
        raise ValueError(
            f"weight must hold one number for each of the {n} rows, not all 0; found shape "
            f"{weights.shape}. Pass weights of the same rows."
        )
    return np.broadcast_to(weights, (n,))


def _has_many_outputs(estimator: Any) -> bool:
    """Return whether an estimator can learn several outcomes of a row at once."""
    has_tags = hasattr(estimator, "__sklearn_tags__")
    return has_tags and bool(get_tags(estimator).target_tags.multi_output)


def _expects_classes(estimator: Any) -> bool:
    return hasattr(estimator, "__sklearn_tags__") and bool(is_classifier(estimator))


def _one_axis(y: ArrayLike) -> NDArray[Any]:
    outcomes = in_byte_order(np.asarray(unmasked(y)))
    if outcomes.ndim != 1:
        raise ValueError(
            f"y must hold one class for each row; found shape {outcomes.shape}. Pass one "
            "column."
        )
    return outcomes
