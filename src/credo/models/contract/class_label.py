"""Class labels: found once, coded 0 to K - 1, refused where they cannot be learned from."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from credo.numerics.array import in_byte_order, unmasked
from credo.numerics.form import Form
from credo.numerics.lookup import ABSENT, places
from credo.numerics.quotation import quote

__all__ = ["MISSING", "ClassLabels", "class_labels", "label_codes"]

Codes = NDArray[np.intp]
ClassLabels = Annotated[NDArray[Any], Form("K", is_rising=True)]
"""Distinct labels in rising order."""

MISSING = -1
"""Code of a row whose label is not known."""


def class_labels(
    y: ArrayLike,
    weight: ArrayLike | None = None,
    allow_missing: bool = False,
    classes: ArrayLike | None = None,
) -> tuple[NDArray[Any], Codes]:
    """Return the distinct labels of ``y`` in rising order, and the code of each row.

    Parameters
    ----------
    weight
        Weight of each row; a class all of whose rows weigh nothing is still a class, but two
        must carry weight.
    allow_missing
        Whether NaN and None mean an unknown label, coded `MISSING`, instead of an error.
    classes
        All labels that will ever come, where ``y`` is only a first chunk; it may then lack
        some.

    Examples
    --------
    >>> classes, codes = class_labels(["no", "yes", "no"])
    >>> classes.tolist(), codes.tolist()
    (['no', 'yes'], [0, 1, 0])
    """
    if classes is not None:
        named, _ = class_labels(classes)
        return named, label_codes(y, named, allow_missing)
    labels, is_missing = _known(y, allow_missing)
    distinct, found = _coded(labels)
    codes = np.full(len(is_missing), MISSING, dtype=np.intp)
    codes[~is_missing] = found
    _require_two(distinct, codes, weight)
    return distinct, codes


def label_codes(y: ArrayLike, classes: NDArray[Any], allow_missing: bool = False) -> Codes:
    """Return the code of each label among known classes; an unknown label is refused."""
    known, is_missing = _known(y, allow_missing)
    place = places(known, classes)
    is_other = place == ABSENT
    if np.any(is_other):
        raise ValueError(
            f"y must hold classes seen at the first fit, {quote(classes[:8].tolist())}; found "
            f"{quote(np.unique(known[is_other])[:5].tolist())}. Name all classes in the first "
            "call."
        )
    codes = np.full(len(is_missing), MISSING, dtype=np.intp)
    codes[~is_missing] = place
    return codes


def _known(y: ArrayLike, allow_missing: bool) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the labels that are known, and which rows have none."""
    labels = column_or_1d(np.asarray(unmasked(y)), warn=True)
    is_missing = np.asarray(pd.isna(labels))
    if not is_missing.any():
        return _plain(labels), is_missing
    if not allow_missing:
        raise ValueError(
            f"y must have a class in every row; found NaN or None in {is_missing.sum()} of "
            f"{len(labels)} rows. Leave out these rows, or use GaussianClassConditional, which "
            "learns from unlabeled rows."
        )
    return _plain(labels[~is_missing]), is_missing


def _coded(labels: NDArray[Any]) -> tuple[NDArray[Any], Codes]:
    """Return the distinct labels in rising order, and the code of each."""
    if labels.dtype.kind in "biu":
        # Whole numbers are labels as they are, and hashing is quicker than sorting.
        codes, classes = pd.factorize(labels, sort=True)
        return np.asarray(classes), codes
    check_classification_targets(labels)
    return np.unique(labels, return_inverse=True)


def _plain(labels: NDArray[Any]) -> NDArray[Any]:
    """Return labels in the narrowest type, so that what held a gap compares as the rest."""
    if labels.dtype.kind != "O" or not len(labels):
        return in_byte_order(labels)
    kinds = {type(label) for label in labels}
    is_text = {issubclass(kind, str) for kind in kinds}
    if is_text == {True, False}:
        raise ValueError(
            "y must hold labels of one kind; found text beside "
            f"{sorted(kind.__name__ for kind in kinds if not issubclass(kind, str))}. Write "
            "all labels as text, or all as numbers."
        )
    if is_text == {True}:
        return labels.astype(str) if kinds == {str} else labels
    plain = np.array(labels.tolist())
    if plain.dtype.kind == "O":
        raise ValueError(
            "y must hold labels that are text, truth values or whole numbers of at most 64 "
            f"bits; found {sorted(kind.__name__ for kind in kinds)} that are none of these. "
            "Write the labels as text."
        )
    return plain


def _require_two(classes: NDArray[Any], codes: Codes, weight: ArrayLike | None) -> None:
    counted = classes
    if weight is not None:
        is_heavy = np.broadcast_to(np.asarray(weight) > 0, codes.shape) & (codes >= 0)
        counted = classes[np.bincount(codes[is_heavy], minlength=len(classes)) > 0]
    if len(counted) < 2:
        raise ValueError(
            f"y must hold at least 2 classes with rows of positive weight; found "
            f"{len(counted)} class, {quote(counted[:1].tolist())}. Add rows of another class."
        )
