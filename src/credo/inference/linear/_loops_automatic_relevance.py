"""One sweep of coordinate ascent over the prior precisions of linear weights."""

import numpy as np

from credo.numerics._loops_compilation import compiled, compiled_part
from credo.numerics.array import Array

__all__ = ["relevance_sweep"]

LEAST_SHARE = 1e-8
"""Least ratio, as a share of what the column adds; far below, it would underflow to zero."""


@compiled(fastmath={"reassoc", "contract"})
def relevance_sweep(
    gram: Array,
    cross: Array,
    ratio: Array,
    spread: Array,
    weights: Array,
    quadratic: float,
    n: float,
    known_precision: float,
) -> float:
    """Set each prior ratio to its best value given the others; return the final quadratic.

    ``ratio``, ``spread`` and ``weights`` are changed in place. A ratio of infinity drops a
    column. ``spread`` is the inverse of ``gram + diag(ratio)`` on the columns in use and zero
    elsewhere, ``weights`` is ``spread @ cross``, ``quadratic`` is ``y^T y - cross^T weights``.
    ``known_precision`` is the noise precision, or zero where it is integrated out with ``n``
    degrees of freedom.
    """
    d = len(ratio)
    v = np.empty(d)
    for j in range(d):
        if np.isfinite(ratio[j]):
            pjj = spread[j, j]
            s = 1.0 / pjj - ratio[j]
            q = weights[j] / pjj
            without = quadratic + q * q * pjj
        else:
            s = gram[j, j]
            q = cross[j]
            for a in range(d):
                v[a] = 0.0
                if np.isfinite(ratio[a]):
                    q -= gram[j, a] * weights[a]
                    for b in range(d):
                        v[a] += spread[a, b] * gram[j, b]
                    s -= gram[j, a] * v[a]
            without = quadratic
        # What other columns leave of this one may be rounding error.
        if s <= 1e-10 * gram[j, j]:
            best = np.inf
        else:
            best = _best_ratio(s, q, without, n, known_precision)
        if np.isfinite(ratio[j]):
            if np.isfinite(best):
                change = best - ratio[j]
                gain = change / (1.0 + change * spread[j, j])
            else:
                gain = 1.0 / spread[j, j]
            move = gain * weights[j]
            for a in range(d):
                v[a] = spread[a, j]
            for a in range(d):
                weights[a] -= move * v[a]
                for b in range(d):
                    spread[a, b] -= gain * v[a] * v[b]
            if not np.isfinite(best):
                weights[j] = 0.0
                for a in range(d):
                    spread[a, j] = 0.0
                    spread[j, a] = 0.0
        elif np.isfinite(best):
            pjj = 1.0 / (best + s)
            for a in range(d):
                weights[a] -= pjj * q * v[a]
                for b in range(d):
                    spread[a, b] += pjj * v[a] * v[b]
            for a in range(d):
                spread[a, j] = -pjj * v[a]
                spread[j, a] = -pjj * v[a]
            spread[j, j] = pjj
            weights[j] = pjj * q
        ratio[j] = best
        quadratic = without
        if np.isfinite(best):
            quadratic -= q * q / (best + s)
    return quadratic


@compiled_part()
def _best_ratio(s: float, q: float, without: float, n: float, known_precision: float) -> float:
    """Return the ratio r that maximizes ``log(r / (r + s)) / 2`` plus the fit at ``r + s``."""
    if known_precision > 0.0:
        pull = known_precision * q * q
        if pull <= s:
            return np.inf
        return max(s * s / (pull - s), LEAST_SHARE * s)
    pull = n * q * q - s * without
    if pull <= 0.0 or n <= 1.0:
        return np.inf
    best = s * q * q * (n - 1.0) / pull - s
    return max(best, LEAST_SHARE * s)
