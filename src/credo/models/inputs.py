"""Inputs of estimators: checked by scikit-learn, and refused in credo's words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.validation import validate_data

__all__ = ["require_distinct_names", "validated"]


def validated(estimator: Any, X: Any, *y: Any, **options: Any) -> Any:
    """Return what scikit-learn's ``validate_data`` returns; say what to do about gaps and text.

    Parameters
    ----------
    estimator
        Whose features are learned from ``X``, or compared with it if ``reset=False``.
    y
        Outcomes, if the estimator has them.
    options
        As of ``validate_data``.
    """
    require_distinct_names(X)
    try:
        checked = validate_data(estimator, X, *y, **options)
    except ValueError as error:
        said = _in_own_words(estimator, X, str(error))
        if not said:
            raise
        raise ValueError(said) from None
    # scikit-learn lets text pass as the outcome of a regression.
    if y and is_regressor(estimator) and _is_text(checked[1]):
        raise ValueError(_about_outcomes_of_text(type(estimator).__name__))
    return checked


def require_distinct_names(X: Any) -> None:
    """Refuse a pandas table in which two columns share a name."""
    if isinstance(X, pd.DataFrame) and not X.columns.is_unique:
        repeated = X.columns[X.columns.duplicated()].unique().tolist()
        raise ValueError(
            f"columns of X must have names of their own; found {repeated[:5]} more than once. "
            "Rename these columns or drop the copies, or pass X.to_numpy()."
        )


def _in_own_words(estimator: Any, X: Any, error: str) -> str:
    """Return what must hold, what was found and what to do; empty if there is no advice."""
    name, is_class = type(estimator).__name__, is_classifier(estimator)
    if error.startswith("Input X contains NaN"):
        other = ", or use NaiveBayes or GaussianClassConditional, which average over them"
        return (
            f"X must have a number in every cell for {name}; found NaN. Fill the gaps or leave "
            f"out these rows{other if is_class else ''}."
        )
    if error.startswith(("Input y contains NaN", "Input contains NaN")):
        other = ", or use GaussianClassConditional, which learns from unlabeled rows"
        return (
            f"y must have a {'class' if is_class else 'number'} in every row for {name}; found "
            f"NaN or None. Leave out these rows{other if is_class else ''}."
        )
    if error.startswith("could not convert string to float"):
        is_input = _is_text(X)
        return _about_text(name, is_class, X) if is_input else _about_outcomes_of_text(name)
    return ""


def _about_outcomes_of_text(name: str) -> str:
    return f"y must hold numbers for {name}; found text. Use a classifier to learn classes."


def _about_text(name: str, is_class: bool, X: Any) -> str:
    named = [column for column in getattr(X, "columns", ()) if _is_text(X[column])]
    where = f" in columns {named[:5]}" if named else ""
    other = ", or use NaiveBayes, which takes them as they are"
    return (
        f"X must hold numbers for {name}; found text{where}. Write categories as "
        f"numbers first, as scikit-learn's OneHotEncoder does{other if is_class else ''}."
    )


def _is_text(values: Any) -> bool:
    try:
        np.asarray(values, dtype=np.float64)
    except ValueError:
        return True
    return False
