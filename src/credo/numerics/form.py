"""Shape and range of what a class holds, beside its type: ``Annotated[Array, Form("n d")]``.

A model file may not say otherwise. The parts of one object agree: an axis of the same letter
has the same length in all of them. Distributions and beliefs check their parameters themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

__all__ = [
    "ANYTHING",
    "FINITE",
    "LARGEST",
    "LATER",
    "MAX_FEATURES",
    "MOST_COUNTED",
    "SMALLEST",
    "SMALLEST_SPREAD",
    "Form",
    "directions",
]

LARGEST = 1e300
SMALLEST = 1e-300
"""Numbers beyond these leave no room for sums and quotients in a prediction."""

SMALLEST_SPREAD = 1e-170
"""Columns that vary less count as constant, for the squares of their deviations vanish."""

MOST_COUNTED = 1e150
"""Logarithms of factorials of more than this have no digits left to compare."""

FINITE = float(np.finfo(np.float64).max)
MAX_FEATURES = 10_000_000

LATER: Mapping[str, bool] = MappingProxyType({"is_later": True})
"""Metadata of a field that earlier model files do not have: there it has its default."""


@dataclass(frozen=True)
class Form:
    """Axes and range of an array, a list or a number.

    Attributes
    ----------
    axes
        A letter for each axis, such as "n d"; "..." first stands for any number of axes, the
        same in all parts of an object. A number is an axis of that length.
    low, high
        Least and largest entry; as a letter, the length of an axis that entries are below.
    has_gaps
        Whether entries may be NaN.
    is_rising
        Whether each entry is above the one before.
    is_text
        Whether entries are text.
    above
        Name of another part of the object, of the same axes, whose entries are at most these.
    """

    axes: str = ""
    low: float = -LARGEST
    high: float | str = LARGEST
    has_gaps: bool = False
    is_rising: bool = False
    is_text: bool = False
    above: str | None = None

    def bound(self, shape: tuple[int, ...], sizes: dict[str, Any]) -> bool:
        """Whether a shape has these axes, whose lengths are noted in ``sizes`` when new."""
        letters = self.axes.split()
        if letters[:1] == ["..."]:
            letters = letters[1:]
            n_batch = len(shape) - len(letters)
            if n_batch < 0 or sizes.setdefault("...", shape[:n_batch]) != shape[:n_batch]:
                return False
            shape = shape[n_batch:]
        return len(shape) == len(letters) and all(
            size == (int(letter) if letter.isdigit() else sizes.setdefault(letter, size))
            for letter, size in zip(letters, shape, strict=True)
        )

    def holds(self, value: Any, sizes: Mapping[str, Any]) -> bool:
        """Whether all entries are in range, and rise if they must."""
        entries = np.asarray(value)
        if self.is_rising and not np.array_equal(np.unique(entries), entries):
            return False
        if self.is_text:
            return entries.dtype.kind == "U" or all(
                type(entry) is str for entry in entries.flat
            )
        if entries.dtype.kind not in "fiub":
            return True
        with np.errstate(invalid="ignore"):
            if isinstance(self.high, str):
                is_in = (entries >= self.low) & (entries < sizes[self.high])
            else:
                is_in = (entries >= self.low) & (entries <= self.high)
        return bool(np.all(is_in | (np.isnan(entries) & self.has_gaps)))


ANYTHING = Form("...", -np.inf, np.inf, has_gaps=True)
"""Any numbers, and gaps among them."""


def directions(axes: str) -> Form:
    """Return the form of orthonormal columns, with room for rounding."""
    return Form(axes, -1.01, 1.01)
