"""Inputs of estimators: checked by scikit-learn, and refused in credo's words.

Arrays, outcomes and weights of every estimator enter here: what is masked is missing, times
are no numbers, and numbers so large that their squares or sums would not be finite are refused
before any work.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import check_array, column_or_1d, get_tags
from sklearn.utils.validation import _check_sample_weight, _num_samples, validate_data

from credo.families.rows import as_weight
from credo.numerics.array import Array, is_time, unmasked
from credo.numerics.form import MAX_FEATURES, Form
from credo.numerics.quotation import quote

__all__ = [
    "LARGEST",
    "FittedInputs",
    "KnownOutcomes",
    "is_block",
    "known_outcome",
    "known_weight",
    "require_distinct_names",
    "require_moderate",
    "row_weight",
    "single_column",
    "validated",
]

LARGEST = 1e140
"""Size of the largest number to learn from: its square times a weight is still finite."""


class FittedInputs:
    """A part of every estimator: what fitting notes of its inputs."""

    n_features_in_: Annotated[int, Form(low=1, high=MAX_FEATURES)]
    feature_names_in_: Annotated[NDArray[Any], Form("d", is_text=True)]
    fingerprint_: str


class KnownOutcomes(FittedInputs):
    """A part of estimators: scores by outcomes that are known, as ``fit`` learns from them."""

    def score(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the accuracy of classes, or the share of variance that is explained."""
        known, weight = known_outcome(self, y), known_weight(sample_weight, X)
        return float(cast(Any, super()).score(X, known, weight))


def known_weight(sample_weight: ArrayLike | None, X: Any) -> Array | None:
    """Return weights to score by, one for each row of ``X``; None if there are none."""
    return None if sample_weight is None else row_weight(sample_weight, X)


def known_outcome(estimator: Any, y: ArrayLike) -> Any:
    """Return outcomes to score by; refuse those of which some are missing."""
    values = unmasked(y)
    if np.asarray(pd.isna(np.asarray(values))).any():
        raise ValueError(
            f"y must have a {'class' if is_classifier(estimator) else 'number'} in every row "
            "to score by; found NaN, None or masked entries. Leave out these rows."
        )
    return values


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
    _require_table(X)
    require_distinct_names(X)
    X, y = unmasked(X), tuple(unmasked(values) for values in y)
    _require_no_times("X", X)
    if is_regressor(estimator):
        _require_no_times("y", *y)
    try:
        checked = _checked(estimator, X, *y, **options)
    except OverflowError:
        raise ValueError(_about_size("X and y", "an integer beyond 1.8e308")) from None
    except ValueError as error:
        said = _in_own_words(estimator, X, str(error))
        if not said:
            raise
        raise ValueError(said) from None
    # scikit-learn lets text pass as the outcome of a regression.
    if y and is_regressor(estimator) and _is_text(checked[1]):
        raise ValueError(_about_outcomes_of_text(type(estimator).__name__))
    if (y or options.get("reset", True)) and not options.get("skip_check_array"):
        for name, values in zip("Xy", checked if y else (checked,), strict=False):
            require_moderate(name, values)
    return checked


def is_block(X: Any) -> bool:
    """Return whether ``X`` is a pandas table of float64 alone: an array with names."""
    return isinstance(X, pd.DataFrame) and bool((X.dtypes == np.float64).all())


def row_weight(sample_weight: Any, x: Any) -> Array:
    """Return how much each row of ``x`` counts, shape (n,); 1 if ``sample_weight`` is None."""
    try:
        weight = _check_sample_weight(
            unmasked(sample_weight), x, dtype=np.float64, ensure_non_negative=True
        )
    except OverflowError:
        weight = sample_weight
    except ValueError as error:
        if "contains" not in str(error):
            raise
        raise ValueError(
            "sample_weight must be a finite number in every row; found NaN or infinity. Give "
            "rows that do not count the weight 0."
        ) from None
    return as_weight(weight, _num_samples(x), "sample_weight")


def single_column(estimator: Any, y: ArrayLike) -> Any:
    """Return outcomes of shape (n, 1) as (n,) if the estimator cannot have several outputs."""
    values = unmasked(y)
    if get_tags(estimator).target_tags.multi_output or np.shape(values)[1:] != (1,):
        return values
    return np.asarray(column_or_1d(values, warn=True))


def require_moderate(name: str, values: Any) -> None:
    """Refuse numbers whose squares would not be finite; NaN passes."""
    numbers = values
    if sparse.issparse(values):
        numbers = numbers.data
    numbers = np.asarray(numbers)
    if numbers.dtype.kind != "f":
        return
    flat = numbers.ravel(order="K")
    with np.errstate(over="ignore", invalid="ignore"):
        # One sum meets every entry and makes no copy; it is small only if all entries are.
        if np.dot(flat, flat) < LARGEST:
            return
        is_large = np.abs(flat) > LARGEST
    if is_large.any():
        found = flat[is_large][0]
        if np.isinf(found):
            raise ValueError(f"{name} must be finite; found {found:g}. Change the unit.")
        raise ValueError(_about_size(name, f"{found:g}"))


def _checked(estimator: Any, X: Any, *y: Any, **options: Any) -> Any:
    """Return what ``validate_data`` returns, which asks a table for the type of each column.

    Of a table of float64 alone, names are compared and the numbers are checked as one block.
    """
    if y or options.get("skip_check_array") or not is_block(X):
        return validate_data(estimator, X, *y, **options)
    validate_data(estimator, X, skip_check_array=True, reset=options.pop("reset", True))
    return check_array(X.to_numpy(), estimator=estimator, input_name="X", **options)


def _require_table(X: Any) -> None:
    """Refuse columns or rows by name, which look like rows of numbers to scikit-learn."""
    # Some sparse matrices are dicts of their entries.
    if sparse.issparse(X):
        return
    rows = X[:1] if isinstance(X, list | tuple) else [X]
    if any(isinstance(row, Mapping) for row in rows):
        found = "a dict" if isinstance(X, Mapping) else "rows that are dicts"
        raise ValueError(
            f"X must be a table or an array; found {found}. Pass pandas.DataFrame(X)."
        )


def _require_no_times(name: str, values: Any = None) -> None:
    first = np.asarray(values[:1]) if isinstance(values, list | tuple) else values
    is_of_times = isinstance(first, pd.DataFrame) and any(d.kind in "Mm" for d in first.dtypes)
    if is_of_times or is_time(first):
        raise ValueError(
            f"{name} must hold numbers; found dates or durations. Turn them into numbers of "
            "one unit first, such as days since a date: (dates - first) / "
            "np.timedelta64(1, 'D')."
        )


def _about_size(name: str, found: str) -> str:
    return (
        f"{name} must hold numbers within {LARGEST:g} of 0, so that their squares are finite; "
        f"found {found}. Change the unit: divide by a constant."
    )


def require_distinct_names(X: Any) -> None:
    """Refuse a pandas table in which two columns share a name."""
    if isinstance(X, pd.DataFrame) and not X.columns.is_unique:
        repeated = X.columns[X.columns.duplicated()].unique().tolist()
        raise ValueError(
            f"columns of X must have names of their own; found {quote(repeated[:5])} more "
            "than once. Rename these columns or drop the copies, or pass X.to_numpy()."
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
    except OverflowError:
        return False
    return False
