"""Counts of categories whose list may grow while data stream in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from credo.families.categorical import CategoricalStatistics
from credo.models.generative.column_reader import Category
from credo.numerics.array import Array, in_byte_order
from credo.numerics.form import Form
from credo.numerics.lookup import ABSENT, places
from credo.numerics.quotation import quote

__all__ = ["CategoryCount", "category_codes"]


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
