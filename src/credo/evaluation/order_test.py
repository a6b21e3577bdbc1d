"""Tests of whether outcomes depend on the place of their rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from credo.numerics.array import Array

__all__ = ["kruskal_p", "runs_p", "spearman_p"]


def kruskal_p(codes: NDArray[np.intp]) -> float:
    """Return the p-value of the row numbers having the same distribution in all classes."""
    n, counts = len(codes), np.bincount(codes)
    place = np.bincount(codes, weights=np.arange(1.0, n + 1))
    used = counts > 0
    mean = place[used] / counts[used]
    spread = 12 / (n * (n + 1)) * (counts[used] * (mean - (n + 1) / 2) ** 2).sum()
    return float(special.chdtrc(used.sum() - 1, spread))


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
    return float(2 * special.ndtr(-distance / np.sqrt(variance)))


def spearman_p(y: Array) -> float:
    """Return the two-sided p-value of the rank correlation of numbers with their place."""
    rank, n = pd.Series(y).rank().to_numpy(), len(y)
    r = float(np.corrcoef(rank, np.arange(n))[0, 1])
    t = abs(r) * np.sqrt((n - 2) / max(1 - r**2, 1e-300))
    return float(2 * special.stdtr(n - 2, -t))
