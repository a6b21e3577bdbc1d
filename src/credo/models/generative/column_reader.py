"""Where the columns of a table come from: an array, a frame, or a sparse matrix.

Each source can tell what its columns are by nature, and give them as numbers, as counts, or
as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from credo.models.contract.inputs import is_block, require_distinct_names, validated
from credo.numerics.array import Array, as_float
from credo.numerics.quotation import quote

__all__ = ["Category", "Kind", "Source", "source_of"]

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
