"""Columns of a table as rows of numbers of named families: read, described, believed.

Categories become codes, what is missing NaN; a column is of the family that is named, or that
its type says. Columns that never vary say nothing of components or states, whose densities
would be endless there, and are left out.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from credo.families.bernoulli import BetaBernoulli
from credo.families.categorical import DirichletCategorical
from credo.families.exponential import GammaExponential
from credo.families.normal import NormalStatistics
from credo.families.normal_component import mixture_belief
from credo.families.poisson import GammaPoisson
from credo.families.product import Product
from credo.inference.latent.latent_class import IncompleteRows
from credo.models.contract.inputs import (
    FittedInputs,
    require_choice,
    require_moderate,
    validated,
)
from credo.numerics.array import Array
from credo.numerics.form import Form
from credo.numerics.quotation import quote

__all__ = ["ColumnKinds", "VaryingColumns", "column_belief", "read_columns"]


class VaryingColumns(FittedInputs):
    """A part of models of rows: which columns vary, and a value of those that do not.

    Attributes
    ----------
    varying_, constant_
        Columns that vary, and a value of each column.
    """

    varying_: Annotated[NDArray[np.intp], Form("v", 0)]
    constant_: Annotated[Array, Form("d")]

    def _without_constants(self, rows: Array, weight: Array, keep: bool = False) -> Array:
        """Note which columns vary, and return them; all if none does."""
        counts = weight > 0
        with warnings.catch_warnings():
            # What a column without any value is, is said later.
            warnings.simplefilter("ignore", RuntimeWarning)
            low, high = np.nanmin(rows[counts], axis=0), np.nanmax(rows[counts], axis=0)
        is_flat = (high == low) & (not keep)
        return self._with_varying(rows, low, is_flat)

    def _with_varying(self, rows: Array, value: Array, is_flat: NDArray[np.bool_]) -> Array:
        self.varying_ = np.flatnonzero(~is_flat if not is_flat.all() else is_flat)
        self.constant_ = np.where(np.isnan(value), 0.0, value)
        return rows if not is_flat.any() else np.ascontiguousarray(rows[:, self.varying_])


KINDS = ("normal", "vector", "student_t", "bernoulli", "categorical", "poisson", "exponential")


@dataclass(frozen=True, eq=False)
class ColumnKinds:
    """What each column of a table is.

    Attributes
    ----------
    kinds
        Family of each column.
    states
        Categories of each column, as text in rising order; none of columns of numbers.
    """

    kinds: tuple[str, ...]
    states: tuple[tuple[str, ...], ...]

    def chosen(self, places: NDArray[np.intp]) -> ColumnKinds:
        """Return what some columns are."""
        return ColumnKinds(
            tuple(self.kinds[j] for j in places), tuple(self.states[j] for j in places)
        )

    def table(self, rows: Array, names: Any) -> Any:
        """Return coded rows (n, d) as a table with categories, or as they are without."""
        if names is None and not any(self.states):
            return rows
        labels = range(rows.shape[1]) if names is None else list(names)
        columns = {}
        for j, name in enumerate(labels):
            states = self.states[j]
            code = rows[:, j]
            columns[name] = np.array(states)[code.astype(np.intp)] if states else code
        return pd.DataFrame(columns)


def read_columns(
    estimator: Any, X: Any, families: Any, usual: str, *, is_strict: bool = False
) -> tuple[Array, ColumnKinds]:
    """Return rows as numbers, categories as codes, and what each column is.

    Parameters
    ----------
    families
        A family for all columns, or by column; None for what types say. Columns that were
        learned, a `ColumnKinds`, are read again in the same way.
    usual
        The family of a column of numbers.
    is_strict
        Whether to refuse categories that were never seen, instead of taking them as missing.
    """
    known = families if isinstance(families, ColumnKinds) else None
    options = {"ensure_all_finite": "allow-nan", "reset": known is None}
    if _has_text(X):
        validated(estimator, X, skip_check_array=True, reset=known is None)
        columns = _columns(X)
        if known is None and not len(columns[0]):
            raise ValueError("X must have at least one row; found none. Pass rows.")
    else:
        rows = np.asarray(validated(estimator, X, dtype=np.float64, **options))
        columns = list(rows.T)
    if known is None:
        names = list(getattr(estimator, "feature_names_in_", range(len(columns))))
        known = _kinds(columns, names, families, usual, X)
    if is_strict:
        _require_seen(estimator, columns, known)
    coded = [
        _coded(column, states) for column, states in zip(columns, known.states, strict=True)
    ]
    answer = np.ascontiguousarray(np.column_stack(coded))
    require_moderate("X", answer)
    return answer, known


def _has_text(X: Any) -> bool:
    """Return whether a table or array holds anything but numbers and gaps."""
    if nw.dependencies.is_into_dataframe(X):
        frame = nw.from_native(X, eager_only=True)
        return any(not dtype.is_numeric() for dtype in frame.schema.values())
    values = np.asarray(X) if isinstance(X, list | tuple | np.ndarray) else None
    if values is None or values.dtype.kind not in "OUS" or values.ndim != 2:
        return False
    return any(isinstance(entry, str) for entry in values.ravel())


def _columns(X: Any) -> list[NDArray[Any]]:
    """Return the columns of a table; numbers as floats, all else as objects."""
    if not nw.dependencies.is_into_dataframe(X):
        X = pd.DataFrame(np.asarray(X, dtype=object))
    frame = nw.from_native(X, eager_only=True)
    found = []
    for name in frame.columns:
        series = frame.get_column(name)
        if series.dtype.is_numeric():
            found.append(np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64))
            continue
        values = np.array(series.to_list(), dtype=object)
        is_gap = np.asarray(pd.isna(values))
        try:
            numbers = np.where(is_gap, np.nan, values).astype(np.float64)
        except (TypeError, ValueError):
            found.append(values)
        else:
            is_number = all(not isinstance(v, str) for v in values[~is_gap])
            found.append(numbers if is_number else values)
    return found


def _kinds(
    columns: list[NDArray[Any]], names: list[Any], families: Any, usual: str, X: Any
) -> ColumnKinds:
    """Return what columns are: as named, or by their type."""
    kinds, states = [], []
    is_mapping = isinstance(families, Mapping)
    unknown = [] if not is_mapping else [key for key in families if not _names(key, names)]
    if unknown:
        raise ValueError(
            f"families must name columns of X; found {unknown[:3]}, and columns "
            f"{names[:5]}. Use their names or positions."
        )
    for j, column in enumerate(columns):
        given = families if not is_mapping else families.get(names[j], families.get(j))
        is_text = column.dtype == object
        kind = given or ("categorical" if is_text else _kind_of(X, j, column, usual))
        require_choice("families", kind, KINDS)
        if is_text and kind != "categorical":
            raise ValueError(
                f"column {names[j]!r} must hold numbers for the family {kind!r}; found text. "
                "Leave it out of families, or use 'categorical'."
            )
        own: tuple[str, ...] = ()
        if kind == "categorical":
            own = _states(column)
        kinds.append(kind)
        states.append(own)
        _require_values(column, kind, names[j])
    return ColumnKinds(tuple(kinds), tuple(states))


def _names(key: Any, names: list[Any]) -> bool:
    return key in names or (isinstance(key, int) and 0 <= key < len(names))


def _kind_of(X: Any, j: int, column: NDArray[Any], usual: str) -> str:
    if not nw.dependencies.is_into_dataframe(X):
        return usual
    frame = nw.from_native(X, eager_only=True)
    dtype = frame.get_column(frame.columns[j]).dtype
    return "bernoulli" if dtype == nw.Boolean else usual


def _is_gap(column: NDArray[Any]) -> NDArray[np.bool_]:
    return np.asarray(pd.isna(column))


def _require_values(column: NDArray[Any], kind: str, name: Any) -> None:
    """Refuse numbers that a family cannot have."""
    if kind not in ("bernoulli", "poisson", "exponential"):
        return
    values = column[~_is_gap(column)]
    is_right = {
        "bernoulli": (values == 0) | (values == 1),
        "poisson": (values >= 0) & (values == np.floor(values)),
        "exponential": values >= 0,
    }[kind]
    if not is_right.all():
        needs = {
            "bernoulli": "0 or 1",
            "poisson": "whole numbers from 0 on",
            "exponential": "numbers from 0 on",
        }[kind]
        raise ValueError(
            f"column {name!r} must hold {needs} for the family {kind!r}; found "
            f"{values[~is_right][0]:g}. Choose another family for it."
        )


def _states(column: NDArray[Any]) -> tuple[str, ...]:
    """Return the categories of a column in rising order, whole numbers without a point."""
    known = column[~_is_gap(column)]
    if column.dtype != object:
        return tuple(_name(value) for value in np.unique(known))
    return tuple(sorted({str(value) for value in known}))


def _name(value: Any) -> str:
    return str(int(value)) if float(value).is_integer() else str(float(value))


def _coded(column: NDArray[Any], states: tuple[str, ...]) -> Array:
    """Return a column as numbers: codes of categories, NaN of those never seen."""
    if not states:
        return np.asarray(column, dtype=np.float64)
    place = {state: float(i) for i, state in enumerate(states)}
    gap = _is_gap(column)
    if column.dtype != object:
        values, code = np.unique(column[~gap], return_inverse=True)
        answer = np.full(len(column), np.nan)
        answer[~gap] = np.array([place.get(_name(v), np.nan) for v in values])[code.ravel()]
        return answer
    return np.array(
        [np.nan if g else place.get(str(v), np.nan) for v, g in zip(column, gap, strict=True)]
    )


def _require_seen(estimator: Any, columns: list[NDArray[Any]], known: ColumnKinds) -> None:
    """Refuse categories that fitting has not seen."""
    for j, (column, states) in enumerate(zip(columns, known.states, strict=True)):
        is_new = np.isnan(_coded(column, states)) & ~_is_gap(column) if states else [False]
        if np.any(is_new):
            names = getattr(estimator, "feature_names_in_", None)
            where = f" of column {names[j]!r}" if names is not None else ""
            raise ValueError(
                f"X must hold symbols{where} that were seen at fit, {quote(list(states[:8]))}; "
                f"found {quote(str(column[is_new][0]))}. Write None or NaN where a symbol is "
                "not known, or fit with rows that have it."
            )


def column_belief(
    columns: ColumnKinds, data: IncompleteRows, n_components: int, is_point: bool
) -> Any:
    """Return a weak belief about rows of any component, in the units of the data."""
    pooled = data.pooled()
    by_kind: dict[tuple[str, int], list[int]] = {}
    for j, kind in enumerate(columns.kinds):
        # Categories differ in number: each column is a part of its own.
        by_kind.setdefault((kind, j if kind == "categorical" else 0), []).append(j)
    parts: dict[Any, Any] = {}
    for (kind, _), own in by_kind.items():
        some = NormalStatistics(pooled.weight[own], pooled.mean[own], pooled.scatter[own])
        n_states = max(len(columns.states[own[0]]), 1)
        parts[tuple(own)] = _weak_part(kind, some, n_states, n_components, is_point)
    if len(parts) == 1 and next(iter(parts)) == tuple(range(len(columns.kinds))):
        return next(iter(parts.values()))
    return Product.by_column(parts)


def _weak_part(
    kind: str, pooled: NormalStatistics, n_states: int, n_components: int, is_point: bool
) -> Any:
    """Return a weak belief about columns of one kind."""
    # A little more than one, so that the most probable share of a state is never zero.
    pseudo, d = 1.0 + 0.01 * is_point, len(pooled.mean)
    if kind in ("normal", "vector"):
        covariance = "diagonal" if kind == "normal" else "full"
        return mixture_belief(covariance, pooled, n_components, is_point)
    if kind == "categorical":
        return DirichletCategorical(np.full(n_states, pseudo))
    if kind == "bernoulli":
        return BetaBernoulli(np.full(d, pseudo), np.full(d, pseudo))
    level = np.maximum(pooled.mean, 1e-6)
    if kind == "poisson":
        return GammaPoisson(np.full(d, pseudo), 1.0 / level)
    return GammaExponential(np.full(d, pseudo), level)
