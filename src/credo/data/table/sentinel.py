"""Numbers that stand for something missing, such as -999 among prices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from credo.numerics.array import Array

__all__ = ["Sentinel", "sentinels"]

FEWEST = 2
"""A mark is used more than once."""

LEAST_GAP = 0.5
"""How far from all other values a number like 999 lies, in their range."""

APART = 0.1
"""How far below all others -1 or 0 lies, in their range."""

FEW = 0.4
"""Share of the rows in which 0 may stand for missing; of more it is a value like others."""


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
