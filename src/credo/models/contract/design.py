"""What a linear model is linear in: a basis of the inputs, or the inputs themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from credo.features.basis import Basis, distinct_rows
from credo.models.contract.inputs import require_moderate, validated
from credo.numerics.array import Array

__all__ = [
    "GroupRows",
    "design",
    "design_blocks",
    "fitted_design",
    "fitted_inputs",
    "group_blocks",
    "placed_basis",
    "require_basis",
    "row_blocks",
    "term_names",
]

BLOCK_ENTRIES = 1 << 20
"""Numbers in a part of a design: the whole of a large table would not fit into memory."""


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
    """Yield the columns of one block of rows after the other; of no rows, those of none."""
    return (design(basis, rows) for rows in row_blocks(basis, x))


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
