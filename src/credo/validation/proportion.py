"""Intervals for a proportion, most of which stay honest when all or none were hits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from credo.distributions.parameter import count, probability
from credo.numerics.array import Array, as_float

__all__ = ["IntervalMethod", "proportion_interval", "share_interval"]

IntervalMethod = Literal["exact", "wilson", "normal"]


def proportion_interval(
    n_hits: ArrayLike, n: ArrayLike, coverage: float = 0.9, method: IntervalMethod = "exact"
) -> Array:
    """Return the interval of a proportion, shape (*shape, 2).

    Parameters
    ----------
    n_hits, n
        Number of hits and of trials; arrays broadcast.
    coverage
        Probability with which the interval holds the true proportion.
    method
        ``"exact"`` (Clopper-Pearson): all proportions that neither tail of the binomial
        distribution of the hits rules out; never too narrow. ``"wilson"``: all proportions
        fewer than z standard errors away; narrower, and right on average over proportions.
        ``"normal"``: ``p +- z sqrt(p (1 - p) / n)``, of no width at 0 and ``n`` hits; for
        comparison with texts, and for hundreds of hits and misses.

    Examples
    --------
    >>> proportion_interval([0, 9, 10], 10, coverage=0.9).round(3)
    array([[0.   , 0.259],
           [0.606, 0.995],
           [0.741, 1.   ]])
    >>> proportion_interval(18, 100, 0.95, method="normal").round(4)
    array([0.1047, 0.2553])
    """
    hits, trials = np.broadcast_arrays(count("n_hits", n_hits), count("n", n))
    if (hits > trials).any() or (trials == 0).any():
        raise ValueError(
            "n_hits must not exceed n, which must be at least 1; found "
            f"{hits.max():g} hits in {trials.min():g} trials. Pass counts of the same rows."
        )
    return share_interval(hits, trials, coverage, method)


def share_interval(
    hits: ArrayLike, trials: ArrayLike, coverage: float, method: IntervalMethod = "exact"
) -> Array:
    """Return the interval of ``hits / trials`` for counts of weighted rows.

    Counts need not be whole; no trials at all say nothing, which is the interval [0, 1].
    """
    if method not in _INTERVALS:
        raise ValueError(
            f"method must be one of {list(_INTERVALS)}; found {method!r}. Use 'exact' if in "
            "doubt."
        )
    n_hits, n = np.broadcast_arrays(as_float(hits), as_float(trials))
    tail = 0.5 * (1.0 - float(probability("coverage", coverage)))
    low, high = _INTERVALS[method](n_hits, np.where(n > 0, n, 1.0), tail)
    ends = np.where(n > 0, low, 0.0), np.where(n > 0, high, 1.0)
    return np.stack(ends, axis=-1)


def _exact(hits: Array, n: Array, tail: float) -> tuple[Array, Array]:
    # Rounding of sums of weights must not turn all hits into almost all.
    misses = np.where(n - hits > 1e-12 * n, n - hits, 0.0)
    low = special.betaincinv(np.where(hits > 0, hits, 1.0), misses + 1, tail)
    high = special.betainccinv(hits + 1, np.where(misses > 0, misses, 1.0), tail)
    return np.where(hits > 0, low, 0.0), np.where(misses > 0, high, 1.0)


def _wilson(hits: Array, n: Array, tail: float) -> tuple[Array, Array]:
    z = -special.ndtri(tail)
    share = hits / n
    center = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    low = np.where(share > 0, np.maximum(center - reach, 0.0), 0.0)
    return low, np.where(share < 1, np.minimum(center + reach, 1.0), 1.0)


def _normal(hits: Array, n: Array, tail: float) -> tuple[Array, Array]:
    share = hits / n
    reach = -special.ndtri(tail) * np.sqrt(share * (1 - share) / n)
    return share - reach, share + reach


_INTERVALS: dict[str, Callable[[Array, Array, float], tuple[Array, Array]]] = {
    "exact": _exact,
    "wilson": _wilson,
    "normal": _normal,
}
