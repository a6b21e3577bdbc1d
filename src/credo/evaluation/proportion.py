"""Intervals for a proportion that stay honest when all or none of the trials were hits."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from credo.distributions.parameter import count, probability
from credo.numerics.array import Array

__all__ = ["proportion_interval"]


def proportion_interval(n_hits: ArrayLike, n: ArrayLike, coverage: float = 0.9) -> Array:
    """Return the exact (Clopper-Pearson) interval of a proportion, shape (*shape, 2).

    All proportions that neither tail of the binomial distribution of the hits rules out, at
    ``(1 - coverage) / 2`` each. Never too narrow, also at 0 and ``n`` hits.

    Parameters
    ----------
    n_hits, n
        Number of hits and of trials; arrays broadcast.
    coverage
        Smallest probability with which the interval holds the true proportion.

    Examples
    --------
    >>> proportion_interval([0, 9, 10], 10, coverage=0.9).round(3)
    array([[0.   , 0.259],
           [0.606, 0.995],
           [0.741, 1.   ]])
    """
    hits, trials = np.broadcast_arrays(count("n_hits", n_hits), count("n", n))
    if (hits > trials).any() or (trials == 0).any():
        raise ValueError(
            "n_hits must not exceed n, which must be at least 1; found "
            f"{hits.max():g} hits in {trials.min():g} trials. Pass counts of the same rows."
        )
    tail = 0.5 * (1.0 - probability("coverage", coverage))
    misses = trials - hits
    low = special.betaincinv(np.maximum(hits, 1), misses + 1, tail)
    high = special.betainccinv(hits + 1, np.maximum(misses, 1), tail)
    ends = np.where(hits > 0, low, 0.0), np.where(misses > 0, high, 1.0)
    return np.stack(ends, axis=-1)
