"""What each column of a table is, and the rows read by kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from credo.models.contract.inputs import require_choice
from credo.models.generative.column_reader import Category, Kind, Source
from credo.numerics.array import Array
from credo.numerics.quotation import quote

__all__ = [
    "KINDS",
    "TypedRows",
    "chosen_kinds",
    "require_mapping",
    "typed_rows",
]

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
