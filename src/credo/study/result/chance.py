"""What chance alone allows: counts of hits that do not speak against a promised share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from credo.validation.proportion import proportion_interval

__all__ = ["CONFIDENCE", "chance_range", "verdict"]

CONFIDENCE = 0.95


def chance_range(n: int, share: float, confidence: float = CONFIDENCE) -> tuple[int, int]:
    """Return the fewest and the most hits in ``n`` rows that neither binomial tail excludes.

    The same counts whose `proportion_interval` holds ``share``.

    Examples
    --------
    >>> chance_range(40, 0.9), chance_range(40, 0.9, confidence=0.8)
    ((32, 39), (34, 38))
    """
    tail = 0.5 * (1 - confidence)
    hits = np.arange(n + 1)
    at_most = special.bdtr(hits, n, share)
    at_least = 1 - np.concatenate([[0.0], at_most[:-1]])
    allowed = hits[(at_most >= tail) & (at_least >= tail)]
    return int(allowed[0]), int(allowed[-1])


def verdict(is_hit: NDArray[np.bool_], level: float) -> str:
    """Return "narrow" or "wide" if the share of hits excludes the level, else nothing."""
    if not len(is_hit):
        return ""
    low, high = proportion_interval(int(is_hit.sum()), len(is_hit), CONFIDENCE)
    return "narrow" if high < level else "wide" if low > level else ""
