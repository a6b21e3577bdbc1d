"""Pareto smoothing of importance weights: a fit of their largest ones, which tells their worth.

The largest weights of an importance sample follow a generalized Pareto distribution. Its
quantiles take their place, and its shape ``k_hat`` says how many moments the weights have: above
0.5 no variance, above one no mean. Up to 0.7 averages can be used; above it the density that was
drawn from is too far from the one that is asked about [vehtari2024]_.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from credo.inference.engine.weighted_draws import ZeroWeights
from credo.numerics.array import Array, as_float

__all__ = ["ParetoSmoothed", "largest_k_hat", "pareto_smoothed"]

FEWEST_IN_TAIL = 5
SMALLEST_LOG = float(np.log(np.finfo(float).tiny))
# Weights closer than this are equal up to the rounding of the two densities.
EQUAL = 1e-9
# The prior of the shape: as much as ten large weights that say one half.
PRIOR_WEIGHT, PRIOR_SHAPE = 10.0, 0.5


class ParetoSmoothed(NamedTuple):
    """Log weights with a smoothed tail, and the shape of that tail.

    Attributes
    ----------
    log_weight
        Log weights, of the shape and in the order of those given, none above the largest of
        them; not normalized.
    k_hat
        Shape of the tail: minus infinity for weights that are all equal, infinity where fewer
        than five stand out. A number, or an array with one for each column.
    """

    log_weight: Array
    k_hat: Array


def pareto_smoothed(log_weight: ArrayLike, *, efficiency: float = 1.0) -> ParetoSmoothed:
    r"""Return importance weights whose largest ones are quantiles of a fitted Pareto tail.

    The tail has ``min(n / 5, 3 sqrt(n / efficiency))`` weights. Zhang and Stephens average
    ``b = -k / scale`` over a grid by its profile likelihood; with ``x`` the amounts by which
    weights exceed the cut, ``k = mean(log(1 - b x))`` [zhang2009]_, drawn towards one half by a
    weak prior.

    Parameters
    ----------
    log_weight
        Log of weights up to a constant, draws on the first axis: shape (n,) or (n, rows).
    efficiency
        Independent draws that a draw is worth, for draws of a Markov chain.

    Raises
    ------
    ValueError
        If a log weight is NaN or infinity.
    ZeroWeights
        If all weights are zero.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(scale=2.0, size=4000)
    >>> inside = -(x**2) / 2 + x**2 / 8  # of N(0, 1), drawn from N(0, 4)
    >>> beyond = -(x**2) / 72 + x**2 / 8  # of N(0, 36)
    >>> pareto_smoothed(np.column_stack([inside, beyond])).k_hat.round(2)
    array([-1.78,  0.8 ])
    """
    weight = as_float(log_weight)
    _require(weight, efficiency)
    columns = weight.reshape(len(weight), -1)
    n_tail = _tail_size(len(weight), efficiency)
    found = [_smoothed(columns[:, j], n_tail) for j in range(columns.shape[1])]
    smoothed = np.stack([part for part, _ in found], axis=1).reshape(weight.shape)
    shapes = np.array([k for _, k in found]).reshape(weight.shape[1:])
    return ParetoSmoothed(smoothed, shapes)


def largest_k_hat(n: int) -> float:
    """Return the largest shape with which averages over ``n`` weighted draws can be used.

    ``min(1 - 1 / log10(n), 0.7)``: with fewer than some 2200 draws less than 0.7.

    Examples
    --------
    >>> largest_k_hat(4000), round(largest_k_hat(100), 2)
    (0.7, 0.5)
    """
    return float(min(1.0 - 1.0 / np.log10(n), 0.7)) if n > 1 else -np.inf


def _require(weight: Array, efficiency: float) -> None:
    if weight.ndim not in (1, 2) or 0 in weight.shape:
        raise ValueError(
            "log_weight must have shape (n,) or (n, rows) with something in it; found "
            f"{weight.shape}. Put draws on the first axis."
        )
    if np.isnan(weight).any() or np.isposinf(weight).any():
        raise ValueError(
            "log_weight must be finite, or minus infinity for a weight of zero; found NaN or "
            "infinity. Check the two log densities whose difference it is."
        )
    if np.isneginf(weight).all(axis=0).any():
        raise ZeroWeights(len(weight))
    if not 0.0 < efficiency < np.inf:
        raise ValueError(
            f"efficiency must be positive and finite; found {efficiency}. Divide effective "
            "draws by draws."
        )


def _tail_size(n: int, efficiency: float) -> int:
    return int(np.ceil(min(n / 5.0, 3.0 * np.sqrt(n / efficiency))))


def _smoothed(log_weight: Array, n_tail: int) -> tuple[Array, float]:
    """Return one column of weights, smoothed, and the shape of their tail."""
    largest = log_weight.max()
    if largest - log_weight.min() <= EQUAL:
        return log_weight, -np.inf
    n = len(log_weight)
    if n_tail >= n:
        return log_weight, np.inf
    cut = max(np.partition(log_weight, n - n_tail - 1)[n - n_tail - 1], largest + SMALLEST_LOG)
    (tail,) = np.nonzero(log_weight > cut)
    if len(tail) < FEWEST_IN_TAIL:
        return log_weight, np.inf
    tail = tail[np.argsort(log_weight[tail], kind="stable")]
    shape, scale = _pareto_fit(np.expm1(log_weight[tail] - cut))
    if not np.isfinite(shape):
        return log_weight, np.inf
    log_left = np.log1p(-(np.arange(len(tail)) + 0.5) / len(tail))
    # The k-th power of what is left, less one and over k; its limit is a logarithm.
    with np.errstate(over="ignore"):
        excess = -scale * log_left * special.exprel(-shape * log_left)
    smoothed = log_weight.copy()
    smoothed[tail] = np.minimum(cut + np.log1p(excess), largest)
    return smoothed, shape


def _pareto_fit(x: Array) -> tuple[float, float]:
    """Return the shape and the scale of a generalized Pareto distribution of rising numbers."""
    n = len(x)
    n_grid = 30 + int(np.sqrt(n))
    place = np.arange(1, n_grid + 1) - 0.5
    b = 1.0 / x[-1] + (1.0 - np.sqrt(n_grid / place)) / (3.0 * x[int(n / 4 + 0.5) - 1])
    # Weights of very different size leave the range of numbers, and then have no fit.
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        k = np.log1p(-b[:, None] * x).mean(axis=1)
        b_mean = float(special.softmax(n * (np.log(-b / k) - k - 1.0)) @ b)
        shape = float(np.log1p(-b_mean * x).mean())
    return (n * shape + PRIOR_WEIGHT * PRIOR_SHAPE) / (n + PRIOR_WEIGHT), -shape / b_mean
