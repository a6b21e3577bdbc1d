"""Expectations of exponentials, which decide under losses that grow exponentially."""

from __future__ import annotations

import numpy as np

from credo.distributions.empirical import Empirical
from credo.distributions.exponential import Exponential
from credo.distributions.gamma import Gamma
from credo.distributions.inverse_gamma import InverseGamma
from credo.distributions.laplace import Laplace
from credo.distributions.lomax import Lomax
from credo.distributions.mixture import Mixture
from credo.distributions.negative_binomial import NegativeBinomial
from credo.distributions.normal import Normal
from credo.distributions.poisson import Poisson
from credo.distributions.predictive import Predictive
from credo.distributions.student_t import StudentT
from credo.distributions.univariate import Univariate
from credo.numerics.array import Array
from credo.numerics.special.log_domain import log_sum_exp

__all__ = ["log_exponential_moment"]

# Depth of the tail at which an integrand that has not died out never will.
DEEP = 100.0
DIED_OUT = 20.0


def log_exponential_moment(predictive: Univariate, t: float) -> Array:
    """Return ``log E[exp(t Y)]``, the cumulant generating function, shape (*batch).

    Infinite where the tail that ``t`` looks at is too heavy, as both are for Student's t.

    Examples
    --------
    >>> float(log_exponential_moment(Normal(1.0, 2.0), 0.5))
    1.0
    """
    if isinstance(predictive, Predictive):
        return log_exponential_moment(predictive.marginal, t)
    if isinstance(predictive, Mixture):
        return _mixture(predictive, t)
    if isinstance(predictive, Empirical):
        weights = predictive.weights.reshape(-1, *[1] * len(predictive.batch_shape))
        return log_sum_exp(t * predictive.draws, axis=0, weights=weights)
    if _is_heavy(predictive, t):
        return predictive._full(np.inf)
    closed = _closed_form(predictive, t)
    return predictive._full(_by_quadrature(predictive, t) if closed is None else closed)


def _closed_form(d: Univariate, t: float) -> Array | None:
    """Return the closed form of a family that has one, else None."""
    match d:
        case Normal():
            return t * d.loc + 0.5 * (t * d.scale) ** 2
        case Laplace():
            return t * d.loc - _log_rest((t * d.scale) ** 2)
        case Exponential():
            return -_log_rest(t / d.rate)
        case Gamma():
            return -d.shape * _log_rest(t / d.rate)
        case Poisson():
            return d.rate * float(np.expm1(t))
        case NegativeBinomial():
            gone = (1.0 - d.probability) * np.exp(t)
            return d.shape * (np.log(d.probability) - _log_rest(gone))
    return None


def _is_heavy(d: Univariate, t: float) -> bool:
    """Return whether a tail falls like a power, so that no exponential has a mean."""
    return isinstance(d, StudentT) or (t > 0 and isinstance(d, Lomax | InverseGamma))


def _log_rest(share: Array) -> Array:
    """Return ``log(1 - share)``, minus infinity from one on."""
    is_proper = share < 1
    return np.where(is_proper, np.log1p(-np.where(is_proper, share, 0.0)), -np.inf)


def _mixture(mixture: Mixture, t: float) -> Array:
    parts = [mixture._full(log_exponential_moment(part, t)) for part in mixture._univariate()]
    weights = np.moveaxis(
        np.broadcast_to(mixture.weights, (*mixture.batch_shape, len(parts))), -1, 0
    )
    is_infinite = np.any((np.stack(parts) == np.inf) & (weights > 0), axis=0)
    finite = [np.where(part == np.inf, 0.0, part) for part in parts]
    return np.where(is_infinite, np.inf, log_sum_exp(np.stack(finite), axis=0, weights=weights))


def _by_quadrature(d: Univariate, t: float) -> Array:
    """Return the moment relative to that of an outcome near the end where it is largest."""
    low, high = d.support()
    end = high if t > 0 else low
    extreme = d.upper_quantile(np.exp(-DEEP)) if t > 0 else d.quantile(np.exp(-DEEP))
    middle = d.quantile(0.5)
    anchor = np.where(np.isfinite(end), end, middle)
    growth = t * (d._full(extreme) - middle)
    is_infinite = ~np.isfinite(end) & (growth > DEEP - DIED_OUT)
    with np.errstate(over="ignore"):
        relative = d.expectation(lambda y: np.exp(t * (y - anchor)), order=16)
    return np.where(is_infinite, np.inf, t * anchor + np.log(relative))
