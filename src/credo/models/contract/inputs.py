"""What enters an estimator: settings, rows, outcomes, weights and class labels, checked once.

Arrays are checked by scikit-learn and refused in credo's words: what is masked is missing,
times are no numbers, and numbers so large that their squares or sums would not be finite are
refused before any work. Class labels are found once and coded 0 to K - 1. What weights of a
linear model are for is a design: a basis of the inputs, or the inputs themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral, Real
from typing import Annotated, Any, NamedTuple, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import check_array, check_random_state, column_or_1d, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_feature_names_in,
    _check_sample_weight,
    _num_samples,
    check_is_fitted,
    validate_data,
)

from credo.families.rows import as_weight
from credo.features.basis import Basis, distinct_rows
from credo.numerics.array import Array, in_byte_order, is_time, unmasked
from credo.numerics.form import MAX_FEATURES, Form
from credo.numerics.lookup import ABSENT, places
from credo.numerics.parallel.threads import in_parts
from credo.numerics.quotation import quote

__all__ = [
    "LARGEST",
    "MISSING",
    "ClassLabels",
    "FittedInputs",
    "GroupRows",
    "KnownOutcomes",
    "LabeledRows",
    "class_labels",
    "design",
    "design_blocks",
    "first_labeled_rows",
    "fitted_design",
    "fitted_inputs",
    "generator",
    "group_blocks",
    "inference_name",
    "is_block",
    "known_outcome",
    "known_weight",
    "label_codes",
    "labeled_chunk",
    "merged_rows",
    "more_labeled_rows",
    "placed_basis",
    "require_basis",
    "require_choice",
    "require_count",
    "require_distinct_names",
    "require_moderate",
    "require_precision",
    "row_blocks",
    "row_weight",
    "several",
    "single_column",
    "term_names",
    "validated",
    "weighted_by_class",
]


LARGEST = 1e140
"""Size of the largest number to learn from: its square times a weight is still finite."""

IN_CACHE = 1 << 16
"""Numbers that stay near the processor while both of their ends are found."""

BLOCK_ENTRIES = 1 << 20
"""Numbers in a part of a design: the whole of a large table would not fit into memory."""


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
    if sample_weight is None:
        return np.ones(_num_samples(x))
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


def merged_rows(x: Array, y: Array, weight: Array) -> tuple[Array, Array, Array]:
    """Return rows that differ in inputs or outcome, with the weight of all that are alike.

    They are in an order set by their values; rows without weight are left out.

    Examples
    --------
    >>> x, y = np.array([[1.0], [0.0], [1.0]]), np.array([3.0, 2.0, 3.0])
    >>> merged_rows(x, y, np.ones(3))[2]
    array([1., 2.])
    """
    is_heavy = weight > 0
    rows, place = np.unique(
        np.column_stack([y[is_heavy], x[is_heavy]]), axis=0, return_inverse=True
    )
    total = np.bincount(place.ravel(), weight[is_heavy], len(rows)).astype(np.float64)
    return np.ascontiguousarray(rows[:, 1:]), rows[:, 0], total


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
    # No product: the threads that BLAS starts for one keep a core busy long after it. Blocks
    # are read from memory once for both ends.
    in_parts(
        lambda start, stop: _require_moderate(name, flat[start * IN_CACHE : stop * IN_CACHE]),
        -(-len(flat) // IN_CACHE),
        len(flat),
    )


def _require_moderate(name: str, flat: NDArray[np.floating[Any]]) -> None:
    for first in range(0, len(flat), IN_CACHE):
        part = flat[first : first + IN_CACHE]
        if part.min() >= -LARGEST and part.max() <= LARGEST:
            continue
        with np.errstate(invalid="ignore"):
            is_large = np.abs(part) > LARGEST
        if is_large.any():
            found = part[is_large][0]
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


def generator(random_state: Any) -> np.random.Generator:
    """Return the generator that scikit-learn's ``random_state`` stands for."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None or isinstance(random_state, int | np.integer):
        return np.random.default_rng(random_state)
    return np.random.default_rng(check_random_state(random_state).randint(2**31))


def require_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Refuse a value that is not one of the named choices."""
    if value not in choices:
        raise ValueError(
            f"{name} must be one of {choices}; found {quote(value)}. Choose from these."
        )


def inference_name(setting: Any, engines: Mapping[str, type | None]) -> str:
    """Return the name of a way of learning, given by name or as an engine with settings.

    Parameters
    ----------
    engines
        The engine that each name stands for; None for one that needs none.

    Raises
    ------
    ValueError
        If it is neither.

    Examples
    --------
    >>> inference_name(3, {"three": int, "more": None})
    'three'
    """
    if isinstance(setting, str) and setting in engines:
        return setting
    for name, kind in engines.items():
        if kind is not None and isinstance(setting, kind):
            return name
    values = " or ".join(f"{kind.__name__}(...)" for kind in engines.values() if kind)
    raise ValueError(
        f"inference must be one of {tuple(engines)}, or an engine, {values}; found "
        f"{quote(setting)}. Choose from these."
    )


def require_count(name: str, value: Any) -> None:
    """Refuse a value that is not a whole number from 1 on."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(
            f"{name} must be a whole number, at least 1; found {quote(value)}. Pass an int."
        )


def require_precision(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Refuse a value that is neither a positive number nor one of the named choices."""
    is_known = isinstance(value, str) and value in choices
    if not is_known and not (isinstance(value, Real) and 0 < float(value) < np.inf):
        raise ValueError(
            f"{name} must be a positive number or one of {choices}; found {quote(value)}. "
            "Pass an inverse variance."
        )


def several(setting: Any) -> list[Any]:
    """Return the values of a setting, one or several.

    Examples
    --------
    >>> several(2.0), several((1.0, 2.0)), several(np.array([1.0]))
    ([2.0], [1.0, 2.0], [np.float64(1.0)])
    """
    if isinstance(setting, np.ndarray):
        return list(np.atleast_1d(setting))
    return list(setting) if isinstance(setting, list | tuple) else [setting]


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


Codes = NDArray[np.intp]
ClassLabels = Annotated[NDArray[Any], Form("K", is_rising=True)]
"""Distinct labels in rising order."""

MISSING = -1
"""Code of a row whose label is not known."""

FEW_LABELS = 4_000
"""Labels that are sorted as quickly as they are hashed."""


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
    labels = np.asarray(unmasked(y))
    if labels.ndim != 1:
        labels = column_or_1d(labels, warn=True)
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
    if labels.dtype.kind in "biu" and len(labels) > FEW_LABELS:
        # Whole numbers are labels as they are, and hashing is quicker than sorting.
        codes, classes = pd.factorize(labels, sort=True)
        return np.asarray(classes), codes
    if labels.dtype.kind not in "biu":
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
    x, labels, weight = _checked_rows(estimator, X, y, sample_weight, is_first=True)
    estimator.classes_, code = class_labels(labels, weight, classes=classes)
    return LabeledRows(x, code, weight)


def more_labeled_rows(
    estimator: Any, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
) -> LabeledRows:
    """Return rows for an estimator that knows its classes and features."""
    x, labels, weight = _checked_rows(estimator, X, y, sample_weight, is_first=False)
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


def _checked_rows(
    estimator: Any, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, is_first: bool
) -> tuple[Array, NDArray[Any], Array]:
    x, labels = validated(estimator, X, y, reset=is_first, dtype=np.float64)
    return x, labels, row_weight(sample_weight, x)


def require_basis(basis: Any) -> None:
    """Refuse what is neither None nor a basis."""
    if not (basis is None or isinstance(basis, Basis)):
        raise TypeError(
            "basis must be None or a basis from credo.features, such as SplineBasis(); found "
            f"{basis!r}. Pass an instance."
        )


def placed_basis(basis: Any, x: Array, weight: Array | None = None) -> Basis | None:
    """Return the basis placed on the rows that carry weight; None stays None."""
    require_basis(basis)
    return None if basis is None else basis.place(distinct_rows(x, weight))


def design(basis: Basis | None, x: Array) -> Array:
    """Return the columns that weights are for, shape (n, n_columns), all of moderate size."""
    if basis is None:
        require_moderate("X", x)
        return x
    with np.errstate(over="ignore"):
        columns = basis.design(x)
    require_moderate("the basis of X", columns)
    return columns


def design_blocks(basis: Basis | None, x: Array) -> Iterator[Array]:
    """Yield the columns of one block of rows after the other; of no rows, those of none.

    Inputs are those of ``validated`` with outcomes, which are of moderate size.
    """
    blocks = row_blocks(basis, x)
    return blocks if basis is None else (design(basis, rows) for rows in blocks)


def row_blocks(basis: Basis | None, x: Array) -> Iterator[Array]:
    """Yield one block of rows after the other whose designs fit into memory, at least one."""
    size = _block_size(basis, x)
    for start in range(0, max(len(x), 1), size):
        yield x[start : start + size]


def _block_size(basis: Basis | None, x: Array) -> int:
    """Return the number of rows whose columns fit into memory."""
    n_columns = x.shape[1] if basis is None else basis.n_columns(x.shape[1])
    return max(1, BLOCK_ENTRIES // max(n_columns, 1))


class GroupRows(NamedTuple):
    """Which group some rows are in, their places, and where in a block of columns they are."""

    group: int
    rows: NDArray[np.intp]
    own: slice


def group_blocks(
    basis: Basis | None, x: Array, groups: Sequence[NDArray[np.intp]]
) -> Iterator[tuple[Array, list[GroupRows]]]:
    """Yield columns of rows one group after the other, and which rows they are of.

    A basis is evaluated for as many rows at a time as fit into memory, of one group or several.
    """
    order = np.concatenate(groups)
    label = np.repeat(np.arange(len(groups)), [len(rows) for rows in groups])
    size = _block_size(basis, x)
    for start in range(0, max(len(order), 1), size):
        rows, own = order[start : start + size], label[start : start + size]
        ends = np.flatnonzero(np.diff(own, prepend=-1, append=len(groups)))
        parts = [GroupRows(int(own[a]), rows[a:b], slice(a, b)) for a, b in pairwise(ends)]
        yield design(basis, x[rows]), parts


def fitted_inputs(estimator: Any, X: ArrayLike) -> Array:
    """Return the rows that a fitted estimator is asked about, checked."""
    check_is_fitted(estimator, "coef_")
    return np.asarray(validated(estimator, X, reset=False, dtype=np.float64))


def fitted_design(estimator: Any, X: ArrayLike) -> Array:
    """Return the columns of rows that a fitted estimator is asked about."""
    inputs = fitted_inputs(estimator, X)
    return design(estimator.basis_, inputs)


def term_names(estimator: Any) -> list[str]:
    """Return the name of each column of a fitted estimator's design."""
    check_is_fitted(estimator)
    names = [str(name) for name in _check_feature_names_in(estimator)]
    return names if estimator.basis_ is None else estimator.basis_.names(names)
