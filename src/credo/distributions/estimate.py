"""Numbers estimated from draws, with the error they carry."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy import special

from credo.distributions.distribution import Distribution
from credo.distributions.parameter import non_negative, probability
from credo.distributions.univariate import Univariate
from credo.numerics.array import Array, as_float
from credo.numerics.form import ANYTHING

__all__ = [
    "Estimate",
    "box_muller",
    "clt_interval",
    "expectation",
    "monte_carlo",
    "polar_normal",
    "polynomial_regression_data",
    "root_mean_square",
    "sample_covariance",
    "sample_mean",
    "sample_variance",
    "standardize",
]


@dataclass(frozen=True, eq=False)
class Estimate:
    """A value and its standard error.

    Examples
    --------
    >>> Estimate(np.array(2.0), np.array(0.5)).interval(0.95).round(2)
    array([1.02, 2.98])
    """

    value: Annotated[Array, ANYTHING]
    standard_error: Annotated[Array, ANYTHING]

    def interval(self, coverage: float = 0.95) -> Array:
        """Return the normal interval around the value, shape (*shape, 2)."""
        reach = special.ndtri(0.5 + 0.5 * probability("coverage", coverage))
        step = reach * as_float(self.standard_error)
        return np.stack([self.value - step, self.value + step], axis=-1)


def sample_mean(values: ArrayLike) -> Estimate:
    """Return the mean along the first axis with its standard error, ``std / sqrt(n)``.

    The error is NaN for a single value, which says nothing about its own spread. The
    squares of its sum are taken in units of the largest value of a column, so that none
    overflows.
    """
    unit = _power_of_two(as_float(values))
    rows = as_float(values) / unit
    n = rows.shape[0]
    variance = sample_variance(rows) if n > 1 else np.full(rows.shape[1:], np.nan)
    return Estimate(unit * np.asarray(rows.mean(axis=0)), unit * np.sqrt(variance / n))


def root_mean_square(errors: ArrayLike) -> Estimate:
    """Return the root of the mean square along the first axis with its standard error.

    By the delta method the root's error is that of the mean square over twice the root; it
    is zero where all errors are.

    Examples
    --------
    >>> root = root_mean_square([3e200, -4e200, 0.0, 5e200])
    >>> print(f"{root.value:.3g} {root.standard_error:.2g}")
    3.54e+200 7.5e+199
    """
    unit = _power_of_two(as_float(errors))
    mean = sample_mean((as_float(errors) / unit) ** 2)
    root = np.sqrt(mean.value)
    slope = np.divide(0.5, root, out=np.zeros_like(root), where=root > 0)
    return Estimate(unit * root, unit * slope * mean.standard_error)


def _power_of_two(values: Array) -> Array:
    """Return powers of two near the largest finite values along the first axis.

    Dividing by them rounds nothing.
    """
    largest = np.abs(values).max(axis=0, initial=0.0, where=np.isfinite(values))
    return np.asarray(np.ldexp(1.0, np.clip(np.frexp(largest)[1], -1000, 1000)))


def sample_variance(values: ArrayLike, ddof: int = 1) -> Array:
    """Return the variance along the first axis by two passes.

    Parameters
    ----------
    ddof
        The divisor is ``n - ddof``: 1 is unbiased, 0 the maximum of the normal likelihood.
    """
    rows = as_float(values)
    if rows.shape[0] <= ddof:
        raise ValueError(
            f"values must hold more than ddof={ddof} rows; found {rows.shape[0]}. "
            "Pass more values or ddof=0."
        )
    return np.asarray(((rows - rows.mean(axis=0)) ** 2).sum(axis=0) / (rows.shape[0] - ddof))


def sample_covariance(values: ArrayLike, ddof: int = 0) -> Array:
    """Return the covariance matrix of rows, shape (d, d); singular when n <= d."""
    rows = as_float(values)
    centered = rows - rows.mean(axis=0)
    return np.asarray(centered.T @ centered / (rows.shape[0] - ddof))


def standardize(
    values: ArrayLike, mean: ArrayLike | None = None, std: ArrayLike | None = None
) -> Array:
    """Return ``(values - mean) / std``; by default those of the sample, with divisor n."""
    rows = as_float(values)
    center = rows.mean(axis=0) if mean is None else as_float(mean)
    spread = np.sqrt(sample_variance(rows, ddof=0)) if std is None else as_float(std)
    return np.asarray((rows - center) / spread)


def clt_interval(values: ArrayLike, coverage: float = 0.95) -> Array:
    """Return the interval for a mean that the central limit theorem gives, along axis 0.

    Trust it from about thirty values on.

    Examples
    --------
    >>> clt_interval([1.0, 2.0, 3.0, 4.0]).round(4)
    array([1.2348, 3.7652])
    """
    return sample_mean(values).interval(coverage)


def monte_carlo(
    function: Callable[[Array], ArrayLike], distribution: Distribution, rng: Generator, n: int
) -> Estimate:
    """Return the mean of ``function`` over ``n`` draws, with its standard error.

    Unbiased, with an error that falls like ``1 / sqrt(n)`` whatever the dimension.

    Parameters
    ----------
    function
        Takes draws of shape (n, *batch, *event) and keeps the first axis.
    """
    return sample_mean(function(distribution.sample(rng, n)))


def expectation(function: Callable[[Array], ArrayLike], distribution: Univariate) -> Array:
    """Return the mean of a function of one number, by sum or quadrature and not by draws.

    Examples
    --------
    >>> from credo.distributions.normal import Normal
    >>> float(expectation(np.square, Normal(1.0, 2.0)).round(10))
    5.0
    """
    return distribution.expectation(function)


def box_muller(rng: Generator, n: int) -> Array:
    """Return ``n`` standard normal numbers, two from each pair of uniform ones.

    ``sqrt(-2 log u) cos(2 pi v)`` and ``sqrt(-2 log u) sin(2 pi v)``: a transformation of a
    point in the square, which rejects nothing.
    """
    u, v = rng.uniform(size=(2, (n + 1) // 2))
    # 1 - u lies in (0, 1], where the logarithm is finite.
    radius, angle = np.sqrt(-2.0 * np.log1p(-u)), 2.0 * np.pi * v
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:n]


def polar_normal(rng: Generator, n: int) -> tuple[Array, float]:
    """Return ``n`` standard normal numbers by rejection, and the share of points kept.

    Points of a square are kept if they lie in the circle inside it, which a share of ``pi/4``
    does; a kept one at squared radius ``s`` gives two numbers, its coordinates times
    ``sqrt(-2 log(s) / s)``. No sine and no cosine are needed.

    Examples
    --------
    >>> x, share = polar_normal(np.random.default_rng(0), 100_000)
    >>> bool(abs(x.std() - 1.0) < 0.01), bool(abs(share - np.pi / 4) < 0.01)
    (True, True)
    """
    kept, n_tried = np.empty((0, 2)), 0
    while len(kept) < (n + 1) // 2:
        points = rng.uniform(-1.0, 1.0, size=(max(n, 16), 2))
        radius = (points**2).sum(axis=1)
        kept = np.concatenate([kept, points[(radius < 1.0) & (radius > 0.0)]])
        n_tried += len(points)
    share, used = len(kept) / n_tried, kept[: (n + 1) // 2]
    square = (used**2).sum(axis=1, keepdims=True)
    numbers = used * np.sqrt(-2.0 * np.log(square) / square)
    return np.asarray(numbers.ravel()[:n]), share


def polynomial_regression_data(
    rng: Generator, n: int, weights: ArrayLike, noise_variance: float = 0.1
) -> tuple[Array, Array]:
    """Return inputs uniform on (0, 3) and noisy values of a polynomial at them.

    Parameters
    ----------
    weights
        Coefficients, the constant first.
    noise_variance
        Variance, not standard deviation, of the normal noise.

    Returns
    -------
    x, y
        Each of shape (n,).
    """
    scale = np.sqrt(non_negative("noise_variance", noise_variance, "Pass a variance."))
    x = rng.uniform(0.0, 3.0, size=n)
    curve = np.polynomial.polynomial.polyval(x, as_float(weights))
    return x, np.asarray(curve + scale * rng.standard_normal(n))
