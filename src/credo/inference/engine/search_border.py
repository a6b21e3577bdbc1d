"""Chosen settings at the edge of the range that was searched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["EdgeSetting", "settings_at_edge"]


@dataclass(frozen=True)
class EdgeSetting:
    """A setting whose best value was the smallest or largest that was tried.

    Attributes
    ----------
    name, value
        The setting and what was chosen.
    low, high
        Range that was searched.
    """

    name: str
    value: float
    low: float
    high: float

    @property
    def sentence(self) -> str:
        """What was found, and what to do."""
        side, direction = (
            ("smallest", "below") if self.value == self.low else ("largest", "above")
        )
        return (
            f"the best {self.name} is {self.value:g}, the {side} tried ({self.low:g} to "
            f"{self.high:g}): extend the search {direction} it."
        )


def settings_at_edge(
    chosen: Mapping[str, Any], searched: Mapping[str, Iterable[Any]] | Iterable[Any]
) -> list[EdgeSetting]:
    """Return the numeric settings whose chosen value is at an end of those tried.

    Parameters
    ----------
    chosen
        The best value of each setting.
    searched
        The values tried of each, or a list of such grids, which are taken together. A
        setting with fewer than three values has no inside and is passed over.

    Examples
    --------
    >>> for edge in settings_at_edge({"degree": 5, "C": 1.0}, {"degree": [1, 3, 5]}):
    ...     print(edge.sentence)
    the best degree is 5, the largest tried (1 to 5): extend the search above it.
    """
    edges = []
    for name, value in chosen.items():
        tried = _numbers(name, searched)
        is_inside = len(tried) < 3 or not _is_number(value) or tried[0] < value < tried[-1]
        if not is_inside:
            edges.append(EdgeSetting(name, float(value), tried[0], tried[-1]))
    return edges


def _numbers(name: str, searched: Any) -> list[float]:
    """Return the distinct numbers tried of a setting, in rising order."""
    grids = [searched] if isinstance(searched, Mapping) else list(searched)
    values = [value for grid in grids for value in grid.get(name, ())]
    return sorted({float(value) for value in values if _is_number(value)})


def _is_number(value: Any) -> bool:
    is_real = isinstance(value, int | float | np.integer | np.floating)
    return is_real and not isinstance(value, bool)
