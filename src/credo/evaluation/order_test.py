"""Tests of whether outcomes depend on the place of their rows.

Their p-values come from smooth curves, whose tails fall without end; so none is returned that
is smaller than the share of all arrangements of the outcomes that are as extreme for sure.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from credo.numerics.array import Array

__all__ = ["kruskal_p", "runs_p", "spearman_p", "stated_p"]

SMALLEST = 1e-6


def kruskal_p(codes: NDArray[np.intp]) -> float:
    """Return the p-value of the row numbers having the same distribution in all classes."""
    n, counts = len(codes), np.bincount(codes)
    place = np.bincount(codes, weights=np.arange(1.0, n + 1))
    used = counts > 0
    mean = place[used] / counts[used]
    spread = 12 / (n * (n + 1)) * (counts[used] * (mean - (n + 1) / 2) ** 2).sum()
    return max(float(special.chdtrc(used.sum() - 1, spread)), _share_alike(counts[used]))


def runs_p(codes: NDArray[np.intp]) -> float:
    """Return the two-sided p-value of the number of runs of equal classes (normal)."""
    n, counts = len(codes), np.bincount(codes).astype(np.float64)
    n_runs = 1 + int((codes[1:] != codes[:-1]).sum())
    square, cube = (counts**2).sum(), (counts**3).sum()
    mean = (n * (n + 1) - square) / n
    variance = (square * (square + n * (n + 1)) - 2 * n * cube - n**3) / (n**2 * (n - 1))
    if variance <= 0:
        return 1.0
    # Half a run towards the mean, as a count is compared with a smooth curve.
    distance = max(abs(n_runs - mean) - 0.5, 0.0)
    p = float(2 * special.ndtr(-distance / np.sqrt(variance)))
    # There are no fewer runs than where each class is in one piece, in any order of classes.
    pieces = np.exp(special.gammaln((counts > 0).sum() + 1) - _log_arrangements(counts))
    return max(p, float(pieces) if n_runs < mean else _share_alike(counts[counts > 0]))


def spearman_p(y: Array) -> float:
    """Return the two-sided p-value of the rank correlation of numbers with their place."""
    rank, n = pd.Series(y).rank().to_numpy(), len(y)
    alike = _share_alike(np.unique(rank, return_counts=True)[1], is_named=False)
    r = float(np.corrcoef(rank, np.arange(n))[0, 1])
    t = abs(r) * np.sqrt((n - 2) / max(1 - r**2, 1e-300))
    return max(float(2 * special.stdtr(n - 2, -t)), alike)


def stated_p(p: float, digits: int) -> str:
    """Return a p-value in words; below a millionth the curves behind it are guesses.

    Examples
    --------
    >>> stated_p(0.00123, 1), stated_p(3e-19, 1)
    ('p = 0.001', 'p < 1e-6')
    """
    return "p < 1e-6" if p < SMALLEST else f"p = {p:.{digits}g}"


def _share_alike(counts: NDArray[Any], is_named: bool = True) -> float:
    """Return the share of arrangements that a test cannot tell from one with an effect.

    Those are the reverse and, if outcomes are but names, those in which classes of as many
    rows have changed places; one may be the other.
    """
    alike = np.unique(counts, return_counts=True)[1] if is_named else np.ones(1)
    n_alike = max(float(special.gammaln(alike + 1).sum()), np.log(2))
    return float(min(np.exp(n_alike - _log_arrangements(counts)), 1.0))


def _log_arrangements(counts: NDArray[Any]) -> float:
    """Return the log of the number of different orders of outcomes with these counts."""
    return float(special.gammaln(counts.sum() + 1) - special.gammaln(counts + 1).sum())
