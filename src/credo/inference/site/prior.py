"""Gaussian priors of one hidden number for each row, and what sites make of them.

A site is ``exp(shift f - precision f^2 / 2)``: what a likelihood looks like to a Gaussian. With
prior ``N(m, K)`` and sites of precisions ``T`` and shifts ``v`` the belief is Gaussian, with

=============  ==============================================================
covariance     ``S = (K^-1 + T)^-1``, never by the inverse of ``K``
mean           ``m + K a``, where ``a = v - T mean`` is called the dual
log integral   ``v'm - m'Tm / 2 + (v - Tm)'(mean - m) / 2 - log|I + K T| / 2``
=============  ==============================================================

`CovariancePrior` works on n x n matrices, by the Cholesky factor of ``B = I + T^1/2 K T^1/2``,
whose eigenvalues are at least one [rasmussen2006]_; `LinearPrior` on d x d matrices, where the
hidden numbers are linear in d weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Annotated, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from credo.distributions.multivariate_normal import MultivariateNormal
from credo.numerics.array import Array, work_array
from credo.numerics.form import Form
from credo.numerics.linear.linear_algebra import (
    Cholesky,
    NotPositiveDefinite,
    cholesky,
    dpotrf,
    dpotri,
    dpotrs,
    solve_lower,
)

__all__ = [
    "Conditioned",
    "CovarianceConditioned",
    "CovariancePrior",
    "LinearConditioned",
    "LinearPrior",
    "SitePrior",
]

LOG_TWO_PI = float(np.log(2 * np.pi))
WEAK_SITE = 1e-6
"""Share of a prior precision below which ``(1 - diag B^-1) / T`` has too few digits."""


class Conditioned(Protocol):
    """A Gaussian belief about the hidden numbers of n rows."""

    @property
    def precision(self) -> Array:
        """Precision of each site, shape (n,)."""
        ...

    @property
    def shift(self) -> Array:
        """Shift of each site, shape (n,)."""
        ...

    @property
    def mean(self) -> Array:
        """Mean, shape (n,)."""
        ...

    @property
    def variance(self) -> Array:
        """Variance of each, shape (n,)."""
        ...

    @property
    def dual(self) -> Array:
        """``a`` with ``mean = m + K a``, shape (n,)."""
        ...

    @property
    def log_det(self) -> float:
        """``log|I + K T|``."""
        ...

    @property
    def log_integral(self) -> float:
        """Log of the integral of prior times sites."""
        ...

    def covariance_times(self, x: Array) -> Array:
        """Return the covariance times columns ``x``, shape (n,) or (n, c)."""
        ...

    def evidence_gradient(self, left: Array, right: Array) -> Any:
        """Return, for the prior, the gradient of an evidence.

        It is that of the matrix ``G = sum_c left_c right_c' - R``, where
        ``R = T - T S T``, for columns ``left`` and ``right`` of shape (n, c), and means that
        the log evidence changes by ``sum(G * dK) / 2``.
        """
        ...


class SitePrior(Protocol):
    """A Gaussian about one hidden number for each of n rows."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        ...

    @property
    def mean(self) -> Array:
        """Prior means, shape (n,)."""
        ...

    def conditioned(self, precision: Array, shift: Array) -> Conditioned:
        """Return the belief after one site for each row."""
        ...


@dataclass(frozen=True, eq=False)
class CovariancePrior:
    """Hidden numbers with a given covariance matrix.

    Attributes
    ----------
    covariance
        ``K``, shape (n, n), symmetric and positive semidefinite.
    center
        Prior means, shape (n,); zero if None.

    Examples
    --------
    >>> belief = CovariancePrior(np.ones((2, 2))).conditioned(np.ones(2), np.array([1.0, 2.0]))
    >>> belief.mean, belief.variance.round(4)  # one number, seen twice
    (array([1., 1.]), array([0.3333, 0.3333]))
    """

    covariance: Annotated[Array, Form("n n")]
    center: Annotated[Array | None, Form("n")] = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.covariance)

    @property
    def mean(self) -> Array:
        """Prior means, shape (n,)."""
        return np.zeros(self.n_rows) if self.center is None else self.center

    def conditioned(self, precision: Array, shift: Array) -> CovarianceConditioned:
        """Return the belief after one site for each row."""
        return CovarianceConditioned(self, precision, shift)

    def at_dual(self, dual: Array) -> Array:
        """Return ``m + K a``."""
        return np.asarray(self.mean + self.covariance @ dual)


class _Belief:
    """What follows from the mean, for every prior."""

    prior: Any
    precision: Array
    shift: Array
    mean: Array
    log_det: float

    @property
    def dual(self) -> Array:
        """``a`` with ``mean = m + K a``, shape (n,)."""
        return np.asarray(self.shift - self.precision * self.mean)

    @property
    def log_integral(self) -> float:
        """Log of the integral of prior times sites."""
        m = self.prior.mean
        pull = self.shift - self.precision * m
        value = self.shift @ m - 0.5 * m @ (self.precision * m) + 0.5 * pull @ (self.mean - m)
        return float(value) - 0.5 * self.log_det


@dataclass(frozen=True, eq=False)
class CovarianceConditioned(_Belief):
    """The belief after sites under a `CovariancePrior`.

    Sites of negative precision ``-N`` are allowed as long as the belief can be normalized: the
    others come first, and the few are then taken off by a factor of their own size,
    ``R = R_+ - U D U'`` with ``U = E - R_+ K E`` for their columns ``E`` of the identity and
    ``D^-1 = N^-1 - E' S_+ E``.
    """

    prior: CovariancePrior
    precision: Array
    shift: Array

    @cached_property
    def mean(self) -> Array:  # type: ignore[override]
        """Mean, shape (n,)."""
        if self._is_signed:
            known = self._above.mean
            return np.asarray(known + self._few.covariance @ self._few.times(known))
        return np.asarray(self.prior.mean + self.prior.covariance @ self.dual)

    @cached_property
    def dual(self) -> Array:
        """``a`` with ``mean = m + K a``, shape (n,): ``R (v / T - m)`` where sites say much.

        Of large precisions nothing then cancels; what weak sites shift comes in by itself.
        """
        if self._is_signed:
            taken = self._few.columns @ self._few.times(self._above.mean)
            return np.asarray(self._above.dual + taken)
        K = self.prior.covariance
        pull = self.shift - self.precision * self.prior.mean
        is_weak = self.precision * K.diagonal() < WEAK_SITE
        target = np.where(is_weak, 0.0, pull / np.where(is_weak, 1.0, self.precision))
        if not is_weak.any():
            return self.residual_precision_times(target)
        weak = np.where(is_weak, pull, 0.0)
        return np.asarray(weak + self.residual_precision_times(target - K @ weak))

    @cached_property
    def variance(self) -> Array:
        """Variance of each, shape (n,)."""
        if self._is_signed:
            spread = self._few.root_of(self._few.covariance.T)
            return np.asarray(self._above.variance + (spread**2).sum(axis=0))
        K, prior = self.prior.covariance, self.prior.covariance.diagonal()
        is_weak = self.precision * prior < WEAK_SITE
        share = 1.0 - self._half_inverse.diagonal()
        found = share / np.where(is_weak, 1.0, self.precision)
        if is_weak.any():
            rows = K[:, is_weak]
            taken = (rows * self.residual_precision_times(rows)).sum(axis=0)
            found[is_weak] = prior[is_weak] - taken
        return np.asarray(np.maximum(found, 1e-12 * prior))

    @cached_property
    def log_det(self) -> float:  # type: ignore[override]
        """``log|I + K T|``."""
        if self._is_signed:
            return self._above.log_det + self._few.log_det
        return float(2.0 * np.log(self._factor.diagonal()).sum())

    def residual_precision_times(self, x: Array) -> Array:
        """Return ``R x = (T - T S T) x`` for columns ``x``, shape (n,) or (n, c)."""
        if self._is_signed:
            taken = self._few.columns @ self._few.inner(self._few.columns.T @ x)
            return np.asarray(self._above.residual_precision_times(x) - taken)
        root = np.sqrt(self.precision)
        columns = np.asfortranarray((root * x.T).T.reshape(len(x), -1))
        found, _ = dpotrs(self._factor, columns, overwrite_b=True)
        return np.asarray((root * found.reshape(x.shape).T).T)

    def covariance_times(self, x: Array) -> Array:
        """Return the covariance times columns ``x``, shape (n,) or (n, c)."""
        K = self.prior.covariance
        known = K @ x
        return np.asarray(known - K @ self.residual_precision_times(known))

    def evidence_gradient(self, left: Array, right: Array) -> Array:
        """Return ``G = left right' - R``, shape (n, n)."""
        gradient = left @ right.T
        gradient -= self.residual_precision
        return np.asarray(gradient)

    @property
    def residual_precision(self) -> Array:
        """``R = T - T S T``, shape (n, n)."""
        if self._is_signed:
            half = self._few.root_of(self._few.columns.T)
            return np.asarray(self._above.residual_precision - half.T @ half)
        root = np.sqrt(self.precision)
        found = np.multiply(self._inverse, root, out=work_array(self._inverse.shape))
        found *= root[:, None]
        return found

    @cached_property
    def _is_signed(self) -> bool:
        return bool(self.precision.min(initial=0.0) < 0)

    @cached_property
    def _factor(self) -> Array:
        """Lower triangular factor of ``B``, in Fortran's order; what is above it is no zero."""
        return _factor(self.prior.covariance, np.sqrt(self.precision))

    @cached_property
    def _half_inverse(self) -> Array:
        """Diagonal of ``B^-1`` and what is above it; what is below is something else."""
        factor = work_array(self._factor.shape)
        factor[...] = self._factor.T
        half, _ = dpotri(factor.T, overwrite_c=True)
        return np.asarray(half.T)

    @cached_property
    def _inverse(self) -> Array:
        """``B^-1``."""
        return _mirrored(self._half_inverse)

    @cached_property
    def _above(self) -> CovarianceConditioned:
        """The belief without the precisions that are negative."""
        return replace(self, precision=np.maximum(self.precision, 0.0))

    @cached_property
    def _few(self) -> _Few:
        """What the sites of negative precision change."""
        few, K = np.flatnonzero(self.precision < 0), self.prior.covariance
        near = K[:, few]
        columns = -self._above.residual_precision_times(near)
        columns[few, np.arange(len(few))] += 1.0
        covariance = K @ columns
        root = np.sqrt(-self.precision[few])
        corner = -root[:, None] * covariance[few] * root
        corner[np.diag_indices_from(corner)] += 1.0
        return _Few(few, root, columns, covariance, cholesky(corner, largest_jitter=0.0))


@dataclass(frozen=True, eq=False)
class _Few:
    """Sites of negative precision among others.

    Attributes
    ----------
    rows, root
        Where they are, and roots of minus their precisions, shape (k,).
    columns
        ``U``, shape (n, k).
    covariance
        Columns ``S_+ E = K U`` of the covariance after the other sites, shape (n, k).
    factor
        Of ``I - N^(1/2) E' S_+ E N^(1/2)``.
    """

    rows: NDArray[np.intp]
    root: Array
    columns: Array
    covariance: Array
    factor: Cholesky

    @property
    def log_det(self) -> float:
        """By how much the log determinant changes."""
        return float(self.factor.log_det())

    def root_of(self, x: Array) -> Array:
        """Return ``D^(1/2) x`` for rows ``x`` of the few, shape (k, c)."""
        return solve_lower(self.factor.lower, self.root[:, None] * x)

    def inner(self, x: Array) -> Array:
        """Return ``D x``, shape (k,) or (k, c)."""
        found = self.factor.solve(self.root[:, None] * x.reshape(len(x), -1))
        return np.asarray((self.root[:, None] * found).reshape(x.shape))

    def times(self, x: Array) -> Array:
        """Return ``D E' x``, shape (k,)."""
        return self.inner(x[self.rows])


def _factor(covariance: Array, root: Array) -> Array:
    B = np.multiply(covariance, root, out=work_array(covariance.shape))
    B *= root[:, None]
    B.reshape(-1)[:: len(B) + 1] += 1.0
    factor, info = dpotrf(B.T, overwrite_a=True)
    if info:
        raise NotPositiveDefinite(
            "the covariance of the hidden numbers must be positive semidefinite; found that "
            f"the first {info} rows are not. Check the kernel: every matrix that it makes of "
            "rows must have no negative eigenvalue."
        )
    return np.asarray(factor)


def _mirrored(upper: Array) -> Array:
    """Return the symmetric matrix of an upper triangle in C order, in place."""
    n, size = len(upper), 256
    for start in range(0, n, size):
        own = slice(start, min(start + size, n))
        corner = upper[own, own]
        np.copyto(corner, corner.T, where=_below(len(corner)))
        upper[own.stop :, own] = upper[own, own.stop :].T
    return upper


@lru_cache(maxsize=16)
def _below(n: int) -> NDArray[np.bool_]:
    """Return what is below the diagonal of an n x n matrix."""
    return np.tri(n, k=-1, dtype=bool)


@dataclass(frozen=True, eq=False)
class LinearPrior:
    """Hidden numbers ``f = m + A w + e`` of normal weights, and noise if there is some.

    Attributes
    ----------
    design
        ``A``, shape (n, d).
    weight_precision
        Prior precisions of the weights, shape (d,). Zero stands for a flat prior of density
        one, which leaves an evidence that compares only among models that share it.
    center
        Prior means ``m``, shape (n,); zero if None.
    noise_variance
        Variances of ``e``, shape (n,), independent between rows; none if None.

    Examples
    --------
    >>> prior = LinearPrior(np.ones((2, 1)), np.ones(1))
    >>> prior.conditioned(np.ones(2), np.array([1.0, 2.0])).mean
    array([1., 1.])
    """

    design: Annotated[Array, Form("n d")]
    weight_precision: Annotated[Array, Form("d", 0.0)]
    center: Annotated[Array | None, Form("n")] = None
    noise_variance: Annotated[Array | None, Form("n", 0.0)] = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.design)

    @property
    def mean(self) -> Array:
        """Prior means, shape (n,)."""
        return np.zeros(self.n_rows) if self.center is None else self.center

    def conditioned(self, precision: Array, shift: Array) -> LinearConditioned:
        """Return the belief after one site for each row."""
        return LinearConditioned(self, precision, shift)


@dataclass(frozen=True, eq=False)
class LinearConditioned(_Belief):
    """The belief after sites under a `LinearPrior`."""

    prior: LinearPrior
    precision: Array
    shift: Array

    @cached_property
    def weights(self) -> MultivariateNormal:
        """Belief about the weights."""
        return MultivariateNormal.from_precision(self.weight_mean, self.weight_precision)

    @cached_property
    def mean(self) -> Array:  # type: ignore[override]
        """Mean, shape (n,)."""
        linear = self.prior.mean + self.prior.design @ self.weight_mean
        return np.asarray((linear + self._noise * self.shift) / self._widened)

    @cached_property
    def variance(self) -> Array:
        """Variance of each, shape (n,)."""
        half = solve_lower(self._factor.lower, self.prior.design.T)
        linear = (half**2).sum(axis=0)
        return np.asarray(self._noise / self._widened + linear / self._widened**2)

    @cached_property
    def log_det(self) -> float:  # type: ignore[override]
        """``log|I + K T|``; a flat weight adds that of its precision, less ``log(2 pi)``."""
        prior = self.prior.weight_precision
        is_flat = prior == 0
        value = self._factor.log_det() - np.log(prior[~is_flat]).sum()
        value += np.log(self._widened).sum() - LOG_TWO_PI * np.count_nonzero(is_flat)
        return float(value)

    def covariance_times(self, x: Array) -> Array:
        """Return the covariance times columns ``x``, shape (n,) or (n, c)."""
        columns = (x.T / self._widened).T.reshape(len(x), -1)
        linear = self.prior.design @ self._factor.solve(self.prior.design.T @ columns)
        found = (linear.T / self._widened).T.reshape(x.shape)
        return np.asarray(found + ((self._noise / self._widened) * x.T).T)

    def evidence_gradient(self, left: Array, right: Array) -> tuple[Array, Array]:
        """Return ``G A``, shape (n, d), and the diagonal of ``G``, shape (n,)."""
        A, strength = self.prior.design, self.precision / self._widened
        kept = self._factor.solve(np.diag(self.prior.weight_precision))
        by_design = left @ (right.T @ A) - strength[:, None] * (A @ kept)
        diagonal = self.precision - self.precision**2 * self.variance
        return np.asarray(by_design), np.asarray((left * right).sum(axis=1) - diagonal)

    @cached_property
    def _noise(self) -> Array:
        noise = self.prior.noise_variance
        return np.zeros(self.prior.n_rows) if noise is None else noise

    @cached_property
    def _widened(self) -> Array:
        """``1 + T e``, by which sites are weaker for the noise."""
        widened = 1.0 + self.precision * self._noise
        if not np.all(widened > 0):
            raise NotPositiveDefinite(
                "sites must leave a belief that can be normalized; found one of precision "
                f"{self.precision.min():.3g} against noise. Raise negative precisions."
            )
        return np.asarray(widened)

    @cached_property
    def weight_precision(self) -> Array:
        """Precision of the weights, shape (d, d)."""
        A, strength = self.prior.design, self.precision / self._widened
        found = A.T @ (strength[:, None] * A)
        found[np.diag_indices_from(found)] += self.prior.weight_precision
        return np.asarray(found)

    @cached_property
    def _factor(self) -> Cholesky:
        return cholesky(self.weight_precision, largest_jitter=1e-12)

    @cached_property
    def weight_mean(self) -> Array:
        """Mean of the weights, shape (d,)."""
        pull = (self.shift - self.precision * self.prior.mean) / self._widened
        return self._factor.solve((self.prior.design.T @ pull)[:, None])[:, 0]
