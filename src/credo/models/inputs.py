"""Inputs of estimators: checked by scikit-learn, and refused in credo's words."""

from __future__ import annotations

from typing import Any

from sklearn.base import is_classifier
from sklearn.utils.validation import validate_data

__all__ = ["validated"]


def validated(estimator: Any, X: Any, *y: Any, **options: Any) -> Any:
    """Return what scikit-learn's ``validate_data`` returns; say what to do about gaps.

    Parameters
    ----------
    estimator
        Whose features are learned from ``X``, or compared with it if ``reset=False``.
    y
        Outcomes, if the estimator has them.
    options
        As of ``validate_data``.
    """
    try:
        return validate_data(estimator, X, *y, **options)
    except ValueError as error:
        if not str(error).startswith("Input X contains NaN"):
            raise
    other = ", or use NaiveBayes or GaussianClassConditional, which average over them"
    raise ValueError(
        f"X must have a number in every cell for {type(estimator).__name__}; found NaN. Fill "
        f"the gaps or leave out these rows{other if is_classifier(estimator) else ''}."
    )
