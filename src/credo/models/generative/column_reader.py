"""The columns of a table by kind: where they come from, what each is, and rows read so.

They come from an array, a frame, or a sparse matrix. Each source can tell what its columns are
by nature, and give them as numbers, as counts, or as they are. Categories are counted by the
states that were seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Protocol, cast, get_args

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from credo.families.categorical import CategoricalStatistics
from credo.models.contract.inputs import (
    is_block,
    require_choice,
    require_distinct_names,
    validated,
)
from credo.numerics.array import Array, as_float, in_byte_order
from credo.numerics.form import Form
from credo.numerics.lookup import ABSENT, places
from credo.numerics.quotation import quote

__all__ = [
    "KINDS",
    "Category",
    "CategoryCount",
    "Kind",
    "Source",
    "TypedRows",
    "category_codes",
    "chosen_kinds",
    "require_mapping",
    "source_of",
    "typed_rows",
]


Kind = Literal["gaussian", "bernoulli", "categorical", "counts"]

_BY_CONTENT: dict[str, Kind] = {
    "boolean": "bernoulli",
    "integer": "gaussian",
    "floating": "gaussian",
    "mixed-integer-float": "gaussian",
    "decimal": "gaussian",
    "empty": "categorical",
    "string": "categorical",
    "categorical": "categorical",
}


@dataclass(frozen=True, eq=False)
class Category:
    """A column of labels as it came, and the labels that its type declares beforehand."""

    values: Any
    declared: NDArray[Any]


class Source(Protocol):
    """A table that can be read by column."""

    def kinds(self) -> tuple[Kind, ...]:
        """Return what each column is by nature."""

    def numbers(self, columns: Sequence[int]) -> Array:
        """Return columns as floats, NaN where missing, shape (n, len(columns))."""

    def category(self, column: int) -> Category:
        """Return a column of labels."""

    def counts(self, columns: Sequence[int]) -> sparse.csr_array:
        """Return columns of counts, shape (n, len(columns))."""


@dataclass(frozen=True, eq=False)
class ArraySource:
    """Columns of a NumPy array of two dimensions, of one type or of Python objects."""

    x: NDArray[Any]

    def kinds(self) -> tuple[Kind, ...]:
        """Return what each column is by nature."""
        if self.x.dtype.kind == "O":
            return tuple(_kind_by_content(column, i) for i, column in enumerate(self.x.T))
        if self.x.dtype.kind in "US":
            return _repeated("categorical", self.x.shape[1])
        kind: Kind = "bernoulli" if self.x.dtype.kind == "b" else "gaussian"
        return _repeated(kind, self.x.shape[1])

    def numbers(self, columns: Sequence[int]) -> Array:
        """Return columns as floats, NaN where missing, shape (n, len(columns))."""
        is_all = len(columns) == self.x.shape[1]
        chosen = self.x if is_all else self.x[:, list(columns)]
        if chosen.dtype.kind not in "OUS":
            return as_float(chosen)
        return _stacked([_floats(self.x[:, i], i) for i in columns], len(self.x))

    def category(self, column: int) -> Category:
        """Return a column of labels."""
        return Category(self.x[:, column], np.empty(0))

    def counts(self, columns: Sequence[int]) -> sparse.csr_array:
        """Return columns of counts, shape (n, len(columns))."""
        return sparse.csr_array(self.numbers(columns))


@dataclass(frozen=True, eq=False)
class FrameSource:
    """Columns of a pandas or polars frame, each of its own type."""

    frame: nw.DataFrame[Any]

    def kinds(self) -> tuple[Kind, ...]:
        """Return what each column is by nature."""
        return tuple(self._kind(i) for i in range(self.frame.shape[1]))

    def numbers(self, columns: Sequence[int]) -> Array:
        """Return columns as floats, NaN where missing, shape (n, len(columns))."""
        series = [self.frame[:, i] for i in columns]
        return _stacked([_floats(s.to_numpy(), s.name) for s in series], len(self.frame))

    def category(self, column: int) -> Category:
        """Return a column of labels, with those that its type declares."""
        series = self.frame[:, column]
        native = series.to_native()
        if isinstance(native, pd.Series) and isinstance(native.dtype, pd.CategoricalDtype):
            return Category(native.to_numpy(), native.cat.categories.to_numpy())
        if isinstance(series.dtype, nw.Enum):
            return Category(series.to_numpy(), np.array(series.dtype.categories, dtype=object))
        return Category(series.to_numpy(), np.empty(0))

    def counts(self, columns: Sequence[int]) -> sparse.csr_array:
        """Return columns of counts, shape (n, len(columns))."""
        return sparse.csr_array(self.numbers(columns))

    def _kind(self, column: int) -> Kind:
        series = self.frame[:, column]
        if series.dtype.is_numeric():
            return "gaussian"
        if series.dtype == nw.Boolean:
            return "bernoulli"
        if series.dtype in (nw.String, nw.Categorical, nw.Enum):
            return "categorical"
        return _kind_by_content(series.to_numpy(), series.name)


@dataclass(frozen=True, eq=False)
class SparseSource:
    """Columns of a compressed sparse matrix, such as the counts of words."""

    x: sparse.csr_array

    def kinds(self) -> tuple[Kind, ...]:
        """Return what each column is by nature: counts."""
        return _repeated("counts", self.x.shape[1])

    def numbers(self, columns: Sequence[int]) -> Array:
        """Return no columns; a sparse matrix is never filled up."""
        if columns:
            raise ValueError(
                f"columns of a sparse matrix must be counts; found {len(columns)} columns of "
                "another kind. Pass X.toarray(), or leave kinds to the data."
            )
        return np.empty((self.x.shape[0], 0))

    def category(self, column: int) -> Category:
        """Return a column of labels, which a sparse matrix does not have."""
        return Category(self.numbers([column]), np.empty(0))

    def counts(self, columns: Sequence[int]) -> sparse.csr_array:
        """Return columns of counts, shape (n, len(columns))."""
        is_all = len(columns) == self.x.shape[1]
        chosen = self.x if is_all else self.x[:, list(columns)]
        if (chosen.data == 0).any():
            chosen = chosen.copy()
            chosen.eliminate_zeros()
        return sparse.csr_array(chosen)


def source_of(estimator: Any, X: Any, is_first: bool) -> Source:
    """Return the table that ``X`` is; shape and names are checked, and kept if it is first."""
    if sparse.issparse(X):
        x = validated(
            estimator,
            X,
            reset=is_first,
            accept_sparse="csr",
            dtype=np.float64,
            ensure_all_finite="allow-nan",
        )
        return SparseSource(sparse.csr_array(x))
    if nw.dependencies.is_into_dataframe(X):
        require_distinct_names(X)
        frame = nw.from_native(X, eager_only=True)
        if 0 in frame.shape:
            raise ValueError(
                f"X must have at least one row and one column; found shape {frame.shape}. "
                "Check how the table was read or filtered."
            )
        validated(estimator, X, reset=is_first, skip_check_array=True)
        return ArraySource(X.to_numpy()) if is_block(X) else FrameSource(frame)
    # Statistics and scores refuse infinity themselves, so that no extra pass is needed.
    x = validated(estimator, X, reset=is_first, dtype=None, ensure_all_finite=False)
    return ArraySource(x)


def _repeated(kind: Kind, n: int) -> tuple[Kind, ...]:
    return tuple(kind for _ in range(n))


def _kind_by_content(values: Any, name: Any) -> Kind:
    """Return the kind of a column of Python objects, from what they are."""
    content = pd.api.types.infer_dtype(values, skipna=True)
    if content in _BY_CONTENT:
        return _BY_CONTENT[content]
    strange = {type(v).__name__ for v in values if not isinstance(v, str | float | int | None)}
    if content not in ("mixed", "mixed-integer") or strange:
        raise TypeError(
            "each argument must be a string or a number, a truth value or a category; found "
            f"{content} values {sorted(strange)[:3]} in column {quote(name)}. Turn them into "
            "numbers or text."
        )
    return "categorical"


def _floats(values: NDArray[Any], name: Any) -> Array:
    """Return a column as floats, NaN where missing."""
    if values.dtype.kind in "biuf":
        return as_float(values)
    is_missing = np.asarray(pd.isna(values))
    numbers = np.full(len(values), np.nan)
    try:
        numbers[~is_missing] = values[~is_missing].astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"column {quote(name)} must hold numbers, as it did at the first fit or as kinds "
            f"says; found {error}. Turn it into numbers, or name it 'categorical' in kinds."
        ) from error
    return numbers


def _stacked(columns: list[Array], n_rows: int) -> Array:
    table = np.empty((n_rows, len(columns)))
    for i, column in enumerate(columns):
        table[:, i] = column
    return table


KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, eq=False)
class TypedRows:
    """Rows by the kind of their columns, in the order of the columns.

    Attributes
    ----------
    numbers, binary
        Gaussian and Bernoulli columns, floats with NaN where missing.
    categories
        Categorical columns as they came.
    counts
        Columns of counts; ``is_counted`` is False for rows with a missing count.
    """

    numbers: Array
    binary: Array
    categories: tuple[Category, ...]
    counts: sparse.csr_array
    is_counted: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.numbers)


def chosen_kinds(source: Source, kinds: Any, names: NDArray[Any] | None) -> tuple[Kind, ...]:
    """Return the kind of each column: what the user says, else what the column is by nature.

    Parameters
    ----------
    kinds
        None, one kind for all columns, or a mapping from name or position to kind.
    names
        Names of the columns, if they have any.
    """
    if isinstance(kinds, str):
        require_choice("kinds", kinds, KINDS)
        return (cast(Kind, kinds),) * len(source.kinds())
    found = list(source.kinds())
    for column, kind in (kinds or {}).items():
        require_choice(f"kinds[{column!r}]", kind, KINDS)
        found[_position(column, names, len(found))] = kind
    return tuple(found)


def typed_rows(source: Source, kinds: Sequence[Kind]) -> TypedRows:
    """Return rows by kind; counts must not be negative."""
    places = {kind: [i for i, k in enumerate(kinds) if k == kind] for kind in KINDS}
    numbers = source.numbers(places["gaussian"])
    counts = source.counts(places["counts"])
    is_counted = np.ones(len(numbers), dtype=bool)
    if np.isnan(counts.data).any():
        with_gap = np.repeat(np.arange(len(numbers)), np.diff(counts.indptr))
        is_counted[with_gap[np.isnan(counts.data)]] = False
        counts = sparse.csr_array(counts.multiply(is_counted[:, None]))
        counts.data[np.isnan(counts.data)] = 0.0
        counts.eliminate_zeros()
    _require_counts(counts.data)
    return TypedRows(
        numbers,
        source.numbers(places["bernoulli"]),
        tuple(source.category(i) for i in places["categorical"]),
        counts,
        is_counted,
    )


def require_mapping(kinds: Any) -> None:
    """Refuse kinds that are neither absent, nor one kind, nor a mapping."""
    if not (kinds is None or isinstance(kinds, str | Mapping)):
        raise TypeError(
            "kinds must be None, one kind for all columns, or a mapping from columns to kinds; "
            f"found {type(kinds).__name__}. Pass a dict such as {{'age': 'gaussian'}}."
        )


def _position(column: Any, names: NDArray[Any] | None, n_columns: int) -> int:
    if isinstance(column, str) and names is not None and column in names:
        return int(np.flatnonzero(names == column)[0])
    if isinstance(column, int | np.integer) and 0 <= column < n_columns:
        return int(column)
    known = f"0 to {n_columns - 1}" if names is None else quote(names[:8].tolist())
    raise ValueError(
        f"kinds must name columns of X, {known}; found {quote(column)}. Use the name of a "
        "column of a frame, or its position."
    )


def _require_counts(values: Array) -> None:
    if ((values < 0) | np.isinf(values)).any():
        raise ValueError(
            "counts must be non-negative and finite; found Negative values in data or "
            f"infinity, such as {values.min():g}. Choose another kind for columns that are no "
            "counts."
        )


@dataclass(frozen=True, eq=False)
class CategoryCount:
    """Weight of each category in each group.

    Attributes
    ----------
    states
        Categories in rising order, all text or all numbers, shape (S,).
    statistics
        Their weights, counts of shape (n_groups, S).
    """

    states: Annotated[NDArray[Any], Form("m", is_rising=True)]
    statistics: CategoricalStatistics = field(repr=False)

    @classmethod
    def by_group(
        cls, column: Category, label: NDArray[np.intp], k: int, weight: Array
    ) -> CategoryCount:
        """Count the categories of each of ``k`` groups; missing values carry no weight."""
        codes, found = _numbered(column)
        names = _labels(found)
        # A category that only rows without weight hold is not known.
        is_held = np.bincount(codes[(codes >= 0) & (weight > 0)], minlength=len(names)) > 0
        states = _union(np.unique(names[is_held]), np.unique(_labels(column.declared)))
        code = _placed(codes, names, states)
        counts = CategoricalStatistics.by_group(
            code[:, None], label, k, weight, n_states=max(len(states), 1)
        )
        return cls(states, CategoricalStatistics(counts.counts[:, 0, : len(states)]))

    def __add__(self, other: CategoryCount) -> CategoryCount:
        states = _union(self.states, other.states)
        return CategoryCount(
            states, self._spread(states).statistics + other._spread(states).statistics
        )

    def __sub__(self, other: CategoryCount) -> CategoryCount:
        states = _union(self.states, other.states)
        return CategoryCount(
            states, self._spread(states).statistics - other._spread(states).statistics
        )

    def __getitem__(self, index: Any) -> CategoryCount:
        return CategoryCount(self.states, self.statistics[index])

    def _spread(self, states: NDArray[Any]) -> CategoryCount:
        counts = np.zeros((len(self.statistics.counts), len(states)))
        counts[:, np.searchsorted(states, self.states)] = self.statistics.counts
        return CategoryCount(states, CategoricalStatistics(counts))


def category_codes(column: Category, states: NDArray[Any]) -> NDArray[np.intp]:
    """Return the place of each value among the states; -1 if missing or none of them."""
    codes, found = _numbered(column)
    place = _placed(codes, _labels(found), states)
    return np.where(np.isnan(place), -1, place).astype(np.intp)


def _numbered(column: Category) -> tuple[NDArray[np.intp], Any]:
    """Return the number of each row's label, -1 where it is missing, and the labels."""
    values = column.values
    is_plain = isinstance(values, np.ndarray)
    return pd.factorize(in_byte_order(values) if is_plain else values)


def _placed(codes: NDArray[np.intp], found: NDArray[Any], states: NDArray[Any]) -> Array:
    """Return places among the states as floats, NaN where there is none."""
    if len(found) == 0 or len(states) == 0:
        return np.full(len(codes), np.nan)
    _require_same_type(found, states)
    place = places(found, states)
    known = np.where(place == ABSENT, np.nan, place)
    # Missing values have the code -1 and take the NaN at the end.
    return np.append(known, np.nan)[codes]


def _labels(values: Any) -> NDArray[Any]:
    """Return labels as floats if all are numbers, else as text."""
    array = np.asarray(values)
    if array.dtype.kind in "biuf" or all(isinstance(v, int | float | np.number) for v in array):
        return array.astype(np.float64)
    return array.astype(str)


def _union(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    if not (len(a) and len(b)):
        return a if len(a) else b
    _require_same_type(b, a)
    return np.union1d(a, b)


def _require_same_type(found: NDArray[Any], states: NDArray[Any]) -> None:
    if (found.dtype.kind == "U") != (states.dtype.kind == "U"):
        raise ValueError(
            "categories of a column must stay all text or all numbers; found "
            f"{quote(found[:3].tolist())} where {quote(states[:3].tolist())} were learned. "
            "Turn the column into the type it had."
        )
