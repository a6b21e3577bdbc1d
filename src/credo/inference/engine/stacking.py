"""Stacking: weights of models by how well their mixture predicts rows that were held out."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.numerics.array import Array, as_float

__all__ = ["hopeless_models", "stacking_weights"]

MIN_ROWS = 200
NO_WEIGHT = 0.01
WORTH = 0.002
"""What a model must be able to add to the mean log score of a row to be asked further."""


def stacking_weights(
    log_score: ArrayLike,
    tolerance: float = 1e-5,
    max_steps: int = 2000,
    weight: ArrayLike | None = None,
) -> Array:
    """Return the weights whose mixture of models has the highest mean log score.

    ``maximize over w: mean_i log sum_k w_k p_ik``, ``w_k >= 0``, ``sum_k w_k = 1``, where
    ``p_ik`` is the predictive density of row i under model k fitted without it. Unlike the
    model posterior this does not assume that one of the models is true.

    Parameters
    ----------
    log_score
        Log predictive densities from the same folds for all models, shape (n_models,
        n_samples). Rows that no model deems possible say nothing and are passed over.
    tolerance
        How far below the best mean log score the answer may be.
    max_steps
        Steps after which the weights found so far are returned.
    weight
        How much each row counts, shape (n_samples,); all alike if None.

    Notes
    -----
    Each step multiplies ``w_k`` by ``g_k = mean_i p_ik / sum_j w_j p_ij``, which is
    expectation maximization and never lowers the score; two such steps are extrapolated as
    far as that raises it [varadhan2008]_. The score is concave, so that it is within
    ``max_k g_k - 1`` of its maximum, which is when to stop.

    Examples
    --------
    >>> stacking_weights(np.log([[0.9, 0.9, 0.1], [0.1, 0.1, 0.9]])).round(2)
    array([0.71, 0.29])
    """
    density, share = _density(as_float(log_score), weight)
    weights = np.full(len(density), 1 / len(density))
    if not density.size:
        return weights
    score, gain = _score(weights, density, share)
    for _ in range(max_steps):
        if gain.max() - 1 <= tolerance:
            break
        once = weights * gain
        twice = once * _score(once, density, share)[1]
        leap = _extrapolated(weights, once, twice)
        leapt, leap_gain = _score(leap, density, share)
        if leapt >= score:
            weights, score, gain = leap, leapt, leap_gain
        else:
            weights = twice
            score, gain = _score(weights, density, share)
    return np.asarray(weights / weights.sum())


def hopeless_models(log_score: ArrayLike, weight: ArrayLike | None = None) -> NDArray[np.bool_]:
    """Return which models can add next to nothing to the best mixture, shape (n_models,).

    A share t of model k changes the mean log score by ``mean_i log(1 + t (r_i - 1))``, with
    ``r_i = p_ik / sum_j w_j p_ij``; at best by ``(mean r - 1)^2 / (2 mean (r - 1)^2)``. A model
    of hardly any weight is hopeless if that is below 0.002 even where the mean of r is larger
    by two of its standard errors. Fewer than 200 rows say nothing of the sort.

    Parameters
    ----------
    log_score, weight
        As of `stacking_weights`, of the rows held out so far.

    Examples
    --------
    >>> sure = np.log(np.linspace(0.6, 0.9, 500))
    >>> hopeless_models([sure, sure - 1.0]).tolist()
    [False, True]
    """
    density, share = _density(as_float(log_score), weight)
    if density.shape[1] < MIN_ROWS:
        return np.zeros(len(density), dtype=bool)
    weights = stacking_weights(log_score, weight=weight)
    excess = density / (weights @ density) - 1
    mean, square = excess @ share, excess**2 @ share
    error = np.sqrt(np.maximum(square - mean**2, 0.0) * (share @ share))
    most = np.maximum(mean + 2 * error, 0.0) ** 2 / (2 * np.maximum(square, 1e-300))
    return np.asarray((weights < NO_WEIGHT) & (most < WORTH))


def _score(weights: Array, density: Array, share: Array) -> tuple[float, Array]:
    """Return the mean log score of a mixture, and by what each weight should grow."""
    mixed = weights @ density
    return float(share @ np.log(mixed)), density @ (share / mixed)


def _extrapolated(start: Array, once: Array, twice: Array) -> Array:
    """Return weights far along the way that two steps have begun; none reaches zero."""
    step = once - start
    bend = (twice - once) - step
    size = np.sqrt((step @ step) / max(float(bend @ bend), 1e-300))
    leap = start + 2 * size * step + size**2 * bend
    positive = np.maximum(leap, 1e-2 * twice)
    return np.asarray(positive / positive.sum())


def _density(log_score: Array, weight: ArrayLike | None) -> tuple[Array, Array]:
    """Return densities relative to the best of each row, and the share of each row.

    Rows without a best are left out.
    """
    if log_score.ndim != 2 or len(log_score) == 0:
        raise ValueError(
            "log_score must have shape (n_models, n_samples) with at least one model; found "
            f"shape {log_score.shape}. Stack one row of log scores per model."
        )
    known = np.where(np.isnan(log_score), -np.inf, log_score)
    best = known.max(axis=0, initial=-np.inf)
    counts = np.ones(len(best)) if weight is None else as_float(weight)
    is_known = np.isfinite(best) & (counts > 0)
    share = counts[is_known]
    return np.exp(known[:, is_known] - best[is_known]), share / max(share.sum(), 1e-300)
