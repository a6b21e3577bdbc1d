"""Convergence of Markov chains: R-hat, effective sample size, Monte Carlo standard error.

Rank-normalised and split, as Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021) define
them: each chain is cut in two, so that a drift shows as a difference of halves, and values are
replaced by normal scores of their ranks, so that nothing needs a finite variance.
Autocorrelations are cut off by Geyer's initial monotone sequence.

Arrays have axes (chains, draws, ...); what comes back has the axes that are left. A draw that
is NaN makes its result NaN, and so do fewer than four draws; an infinite one has a rank, but no
mean.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import fft, special

from credo.numerics.array import Array, as_float

__all__ = [
    "effective_draws",
    "mean_error",
    "quantile_error",
    "r_hat",
    "std_error",
    "tail_effective_draws",
]

FEWEST_DRAWS = 4
"""Draws of a chain below which its halves say nothing."""

TAILS = (0.05, 0.95)
"""Quantiles whose effective draws are those of the tails."""

# Blom's offset makes normal scores of ranks nearly unbiased.
_OFFSET = 0.375
_CONSTANT = float(np.finfo(float).resolution)
_ROUNDING = 4.0 * float(np.finfo(float).eps)
_ONE_ERROR = special.ndtr(np.array([-1.0, 1.0]))


def r_hat(draws: ArrayLike) -> Array:
    """Return how much wider all chains together are than each alone; one if they agree.

    The larger of the values for normal scores, and for scores of distances from the median,
    which sees chains of different spread. A single chain is compared by its halves. NaN where
    all draws are equal.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> chains = rng.normal(size=(4, 1000))
    >>> bool(r_hat(chains) < 1.01), bool(r_hat(chains + [[0], [0], [0], [1]]) > 1.1)
    (True, True)
    """
    x = _checked(draws)
    halves = _split(x)
    with np.errstate(invalid="ignore"):
        folded = np.abs(halves - np.median(halves, axis=(0, 1)))
    found = np.fmax(_spread_ratio(_scores(halves)), _spread_ratio(_scores(folded)))
    return _known(found, x)


def effective_draws(draws: ArrayLike, *, is_ranked: bool = True) -> Array:
    """Return how many independent draws a mean over these draws is worth.

    Parameters
    ----------
    is_ranked
        Whether normal scores take the place of values: the effective number for the bulk of
        the distribution. If not, that of the mean of the values themselves.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> slow = np.repeat(rng.normal(size=(4, 100)), 10, axis=1)
    >>> bool(300 < effective_draws(slow) < 500)
    True
    """
    x = _checked(draws)
    halves = _split(x)
    return _known(_effective(_scores(halves) if is_ranked else _unitless(halves)), x)


def tail_effective_draws(draws: ArrayLike) -> Array:
    """Return the lesser of the effective draws of the 5 % and the 95 % quantile."""
    x = _checked(draws)
    return np.minimum(*(_quantile_effective(x, share) for share in TAILS))


def mean_error(draws: ArrayLike) -> Array:
    """Return the Monte Carlo standard error of the mean."""
    x = _checked(draws)
    with np.errstate(invalid="ignore"):
        spread = x.std(axis=(0, 1), ddof=1)
        return np.asarray(spread / np.sqrt(effective_draws(x, is_ranked=False)))


def std_error(draws: ArrayLike) -> Array:
    """Return the Monte Carlo standard error of the standard deviation; NaN if that is zero.

    By the effective number of the squared deviations, which is not that of the draws: chains
    that jump from side to side know their mean well, and their spread no better than others.
    """
    x = _checked(draws)
    with np.errstate(invalid="ignore", divide="ignore"):
        shift = x - x.mean(axis=(0, 1))
        # Fourth powers stay within the range of numbers whatever the unit is.
        unit = np.abs(shift).max(axis=(0, 1))
        squares = (shift / unit) ** 2
        variance = squares.mean(axis=(0, 1))
        worth = effective_draws(squares, is_ranked=False)
        spread = ((squares**2).mean(axis=(0, 1)) - variance**2) / worth
        return np.asarray(0.5 * unit * np.sqrt(spread / variance))


def quantile_error(draws: ArrayLike, share: float) -> Array:
    """Return half the distance of the draws one standard error beside a quantile.

    Of the quantile itself the error depends on the density there; the share of draws below it
    has a beta distribution, whose central two thirds are read off the sorted draws.
    """
    x = _checked(draws)
    worth = _quantile_effective(x, share)
    n = x.shape[0] * x.shape[1]
    ordered = np.sort(x.reshape(n, *x.shape[2:]), axis=0)
    ends = special.betaincinv(
        worth * share + 1.0,
        worth * (1.0 - share) + 1.0,
        _ONE_ERROR.reshape(2, *([1] * worth.ndim)),
    )
    place = np.where(np.isnan(ends), 0.0, ends * n - 1.0)
    low = np.floor(np.maximum(place[0], 0.0)).astype(np.intp)
    high = np.ceil(np.minimum(place[1], n - 1)).astype(np.intp)
    values = [np.take_along_axis(ordered, at[None], axis=0)[0] for at in (low, high)]
    with np.errstate(invalid="ignore"):
        return _known(0.5 * (values[1] - values[0]), x)


def _checked(draws: ArrayLike) -> Array:
    x = as_float(draws)
    if x.ndim < 2:
        raise ValueError(
            f"draws must have axes (chains, draws, ...); found the shape {x.shape}. Write "
            "draws[None] for a single chain."
        )
    return x


def _known(found: Array, x: Array) -> Array:
    """Return what was found, NaN where a draw is NaN or draws are too few."""
    is_known = ~np.isnan(x).any(axis=(0, 1)) & (x.shape[1] >= FEWEST_DRAWS)
    return np.where(is_known, found, np.nan)


def _split(x: Array) -> Array:
    """Return the halves of each chain as chains of their own; a middle draw is left out."""
    half = x.shape[1] // 2
    return np.concatenate([x[:, :half], x[:, x.shape[1] - half :]])


def _scores(x: Array) -> Array:
    """Return normal scores of the ranks of all draws, equal ones sharing their mean rank."""
    n = x.shape[0] * x.shape[1]
    columns = x.reshape(n, -1)
    found = np.empty_like(columns)
    for j in range(columns.shape[1]):
        _, place, count = np.unique(columns[:, j], return_inverse=True, return_counts=True)
        rank = np.cumsum(count) - 0.5 * (count - 1)
        found[:, j] = special.ndtri((rank - _OFFSET) / (n - 2.0 * _OFFSET + 1.0))[place]
    return found.reshape(x.shape)


def _unitless(x: Array) -> Array:
    """Return deviations from the mean in units of the largest, whose squares are numbers."""
    with np.errstate(invalid="ignore"):
        shift = x - x.mean(axis=(0, 1))
        unit, size = (np.abs(part).max(axis=(0, 1), initial=0.0) for part in (shift, x))
        is_constant = (unit <= _ROUNDING * size) & np.isfinite(size)
        return np.where(is_constant, 0.0, shift / np.where(is_constant, 1.0, unit))


def _spread_ratio(x: Array) -> Array:
    n = x.shape[1]
    if n < 2:
        return np.full(x.shape[2:], np.nan)
    between = n * x.mean(axis=1).var(axis=0, ddof=1)
    within = x.var(axis=1, ddof=1).mean(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.sqrt((between / within + n - 1.0) / n))


def _quantile_effective(x: Array, share: float) -> Array:
    with np.errstate(invalid="ignore"):
        is_below = x <= np.quantile(x, share, axis=(0, 1))
    return _known(_effective(_split(is_below.astype(np.float64))), x)


def _effective(x: Array) -> Array:
    """Return the effective number of draws by Geyer's initial monotone sequence."""
    n_chains, n = x.shape[:2]
    if n < 2:
        return np.full(x.shape[2:], np.nan)
    rho = _autocorrelation(x)
    pairs = rho[: 2 * (n // 2)].reshape(n // 2, 2, *x.shape[2:]).sum(axis=1)
    # The last pair that may count begins three lags before the end.
    last = max(0, (n - 3) // 2)
    place = np.arange(n // 2).reshape(-1, *([1] * (x.ndim - 2)))
    is_end = (pairs <= 0) | (place >= last)
    end = is_end.argmax(axis=0)
    summed = np.where(place < end, np.minimum.accumulate(pairs, axis=0), 0.0).sum(axis=0)
    even = np.take_along_axis(rho, 2 * end[None], axis=0)[0]
    pair = np.take_along_axis(pairs, end[None], axis=0)[0]
    rest = np.where((even > 0) | (pair >= 0), even, 0.0)
    time = np.maximum(2.0 * summed + rest - 1.0, 1.0 / np.log10(n_chains * n))
    found = np.where(np.isnan(rho).any(axis=0), np.nan, n_chains * n / time)
    with np.errstate(invalid="ignore"):
        is_constant = np.ptp(x, axis=(0, 1)) < _CONSTANT
    return np.where(is_constant, float(n_chains * n), found)


def _autocorrelation(x: Array) -> Array:
    """Return the autocorrelation at each lag, of chains taken as of one distribution."""
    n_chains, n = x.shape[:2]
    size = fft.next_fast_len(2 * n)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = x.mean(axis=1, keepdims=True)
        wave = fft.rfft(x - mean, size, axis=1)
        covariance = fft.irfft(wave * wave.conj(), size, axis=1)[:, :n].mean(axis=0) / n
        within = covariance[0] * n / (n - 1.0)
        total = covariance[0].copy()
        if n_chains > 1:
            total += mean[:, 0].var(axis=0, ddof=1)
        rho = 1.0 - (within - covariance) / total
    rho[0] = 1.0
    return np.asarray(rho)
