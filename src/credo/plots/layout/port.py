"""Where edges meet the side of a box: toward their other ends, but not on each other."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from statistics import median
from typing import TypeVar

__all__ = ["spread_ports"]

Key = TypeVar("Key", bound=Hashable)

INSET = 0.12
APART = 0.13
# An arrow may leave the middle of a side, but not for its corners.
SHIFT = 0.6


def spread_ports(toward: Mapping[Key, float], center: float, width: float) -> dict[Key, float]:
    """Return the place of each edge on one side of a box, in the order of their other ends.

    Parameters
    ----------
    toward
        Where the other end of each edge is.
    center, width
        Of the box.

    Examples
    --------
    >>> spread_ports({"right": 9.0, "left": -9.0, "above": 0.1}, center=0.0, width=1.24)
    {'left': -0.03, 'above': 0.1, 'right': 0.23}
    """
    keys = sorted(toward, key=toward.__getitem__)
    half = max(width / 2 - INSET, 0.0)
    apart = min(APART, 2 * half / max(len(keys) - 1, 1))
    reach = apart * (len(keys) - 1) / 2
    most = max(SHIFT * half - reach, 0.0)
    shift = min(max(median(toward.values()) - center, -most), most)
    return {key: round(center + shift - reach + i * apart, 9) for i, key in enumerate(keys)}
