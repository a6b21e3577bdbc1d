"""Gaps in the columns of a table: what they mean, and what was done about them.

Some gaps are written as numbers that stand for something missing, such as -999 among prices:
sentinels.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.data.table.column_name import quoted
from credo.families.categorical import CategoricalStatistics, DirichletCategorical
from credo.families.normal import NormalInverseGamma, NormalStatistics
from credo.numerics.array import Array

__all__ = ["Gap", "Sentinel", "gap_evidence", "gap_note", "sentinels"]

FEWEST = 2
"""A mark is used more than once."""

LEAST_GAP = 0.5
"""How far from all other values a number like 999 lies, in their range."""

APART = 0.1
"""How far below all others -1 or 0 lies, in their range."""

FEW = 0.4
"""Share of the rows in which 0 may stand for missing; of more it is a value like others."""


class Gap(NamedTuple):
    """Missing values of a column.

    Attributes
    ----------
    name, n
        The column, and how many of its values are missing.
    fate
        What was done about them.
    """

    name: str
    n: int
    fate: str


def gap_note(gaps: Sequence[Gap], where: str = "") -> str:
    """Return one sentence on gaps that were treated alike.

    Parameters
    ----------
    where
        Which rows have them, after a blank; empty if all that there are.

    Examples
    --------
    >>> dose = Gap("dose", 1, "averaged over")
    >>> gap_note([dose])
    "1 missing value of 'dose' was averaged over."
    >>> gap_note([dose, Gap("age", 2, "averaged over")])
    "3 missing values in 2 columns ('dose', 'age') were averaged over."
    >>> gap_note([dose], " in the training rows")
    "1 missing value of 'dose' in the training rows was averaged over."
    """
    n = sum(gap.n for gap in gaps)
    if len(gaps) == 1:
        what = "1 missing value" if n == 1 else f"{n:,} missing values"
        verb = "was" if n == 1 else "were"
        return f"{what} of {gaps[0].name!r}{where} {verb} {gaps[0].fate}."
    names = quoted(gap.name for gap in gaps)
    what = f"{n:,} missing values in {len(gaps)} columns ({names}){where}"
    return f"{what} were {gaps[0].fate}."


def gap_evidence(is_missing: NDArray[np.bool_], y: NDArray[Any]) -> float:
    """Return the log evidence that outcomes are others where a value is missing.

    Outcomes of rows with and without the value in two distributions, above all in one: normal
    ones of numbers, frequencies of classes.

    Examples
    --------
    >>> y = np.array(["a", "b"] * 20)
    >>> gap_evidence(y == "b", y) > 5, gap_evidence(np.arange(40) < 20, y) < 0
    (True, True)
    """
    parts = (is_missing, ~is_missing)
    if np.issubdtype(y.dtype, np.number):
        numbers = [NormalStatistics.of(y[part, None]) for part in (slice(None), *parts)]
        belief = NormalInverseGamma.weak(numbers[0])
        whole, apart, other = (float(belief.log_evidence(part).sum()) for part in numbers)
    else:
        labels, codes = np.unique(y, return_inverse=True)
        counts = [
            CategoricalStatistics(
                np.bincount(codes[part], minlength=len(labels)).astype(np.float64)
            )
            for part in (slice(None), *parts)
        ]
        shares = DirichletCategorical(np.ones(len(labels)))
        whole, apart, other = (float(shares.log_evidence(part)) for part in counts)
    return apart + other - whole


class Sentinel(NamedTuple):
    """A value that is unlike all others of its column.

    Attributes
    ----------
    value, n_rows
        The value, and how many rows have it.
    lowest, highest
        The range of the others.
    """

    value: float
    n_rows: int
    lowest: float
    highest: float

    def sentence(self, name: str) -> str:
        """Return what was noticed in the column of that name, and what to do."""
        return (
            f"{name!r} is exactly {self.value:g} in {self.n_rows:,} rows and {self.lowest:g} "
            f"to {self.highest:g} in all others: if that stands for missing, leave those cells "
            "empty and fit again."
        )


def sentinels(x: Array) -> list[Sentinel]:
    """Return the values of a column that look like marks of missing values.

    Such is a repeated lowest or highest value that is written with nines alone, as -999 or
    9999, or is -1 or 0, and lies apart from all others: nines below zero where no other value
    is negative, or farther away than `LEAST_GAP` of the range of the others; -1 and 0 below
    others that are all positive, by at least `APART` of their range; 0 in at most a `FEW` of
    the rows and with a hole above it as others have none. NaN is no value.

    Examples
    --------
    >>> [found.value for found in sentinels(np.array([120.0, -999.0, 80.0, 95.0, -999.0]))]
    [-999.0]
    >>> sentinels(np.array([1.0, 2.0, 3.0, 3.0]))
    []
    """
    known = x[np.isfinite(x)]
    ends = (float(known.min()), float(known.max())) if len(known) else ()
    return [found for value in ends if (found := _sentinel(known, value)) is not None]


def _sentinel(x: Array, value: float) -> Sentinel | None:
    if value not in (-1, 0) and not _is_nines(value):
        return None
    rest = x[x != value]
    n_rows = len(x) - len(rest)
    if n_rows < FEWEST or len(rest) == 0 or rest.min() == rest.max():
        return None
    if value == 0 and not (n_rows <= FEW * len(x) and _is_hole(rest)):
        return None
    found = Sentinel(value, n_rows, float(rest.min()), float(rest.max()))
    return found if _is_apart(found) else None


def _is_apart(found: Sentinel) -> bool:
    value, extent = found.value, found.highest - found.lowest
    gap = max(found.lowest - value, value - found.highest)
    if value in (-1, 0):
        return found.lowest > 0 and gap >= APART * extent
    return value < 0 <= found.lowest or gap > LEAST_GAP * extent


def _is_hole(positive: Array) -> bool:
    """Return whether no neighbors are half as far apart as the lowest is from 0.

    Counts from 0 on have no such hole.
    """
    others = np.unique(positive)
    return bool(others[0] > 2 * np.diff(others).max())


def _is_nines(value: float) -> bool:
    """Whether a number is written with two nines or more, and nothing else."""
    digits = f"{abs(value):.15g}"
    return len(digits) > 1 and set(digits) == {"9"}
