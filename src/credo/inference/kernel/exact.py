"""Exact Gaussian process regression by one Cholesky factor of the covariance of the outcomes.

With ``S = K + diag(noise)``, mean columns H under a flat prior, ``G = H' S^-1 H``,
``P = S^-1 - S^-1 H G^-1 H' S^-1`` and ``a = P y``, the log evidence of one output is
``-(y'a + log|S| + log|G| + (n - q) log 2 pi) / 2`` and its derivative ``tr((a a' - P) dS) / 2``
[rasmussen2006]_. The inverse is written over the factor, and the weights over the inverse.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Annotated, Any, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.features.kernels.kernel import Kernel
from credo.inference.kernel.process import (
    JOINT_MATRICES,
    LARGEST_JITTER,
    NoisyEvidence,
    ProcessData,
    centered_moments,
    row_blocks,
    sampled,
)
from credo.numerics.array import Array
from credo.numerics.form import Form
from credo.numerics.linear.linear_algebra import (
    LOG_TWO_PI,
    SMALLEST_JITTER,
    NotPositiveDefinite,
    cholesky,
    dpotrf,
    dpotri,
    dpotrs,
    solve_lower,
    symmetrize,
)
from credo.numerics.parallel.threads import threads_for_factors

__all__ = ["ExactBelief", "ExactProcess", "PartBelief", "mean_factor", "process_loops"]

MATRICES = 5
"""Matrices of the size of the covariance that learning holds at a time.

Less than three with a squared exponential kernel, less than four with one of Matern; sums
hold more.
"""


@dataclass(frozen=True)
class ExactProcess:
    """Gaussian process regression without approximation: n^3 / 3 multiplications, n^2 numbers.

    Examples
    --------
    >>> from credo.features import SquaredExponential
    >>> x, y = np.array([[0.0], [1.0]]), np.array([[1.0], [2.0]])
    >>> data = ProcessData(x, y, np.empty((2, 0)))
    >>> found = ExactProcess().evidence(data, SquaredExponential(1.0), np.full(2, 0.1))
    >>> round(found.value, 6)
    -3.577043
    """

    def evidence(self, data: ProcessData, kernel: Kernel, noise: Array) -> NoisyEvidence:
        """Return the log evidence and its gradient, summed over outputs."""
        n, k = data.y.shape
        with threads_for_factors(n):
            matrix, pull = kernel.written(data.x)
            factor, _ = _factored(matrix, noise)
            del matrix
            weighted = _Weighted.of(data, factor)
            half, _ = dpotri(factor, overwrite_c=True)
            weights = np.ascontiguousarray(half.T)
            plus = np.vstack([weighted.dual.T, np.sqrt(k) * weighted.pinned.T])
            process_loops().weigh_inverse(weights, plus, float(k))
            by_noise = 0.5 * np.diagonal(weights)
            return NoisyEvidence(weighted.log_evidence(data), 0.5 * pull(weights), by_noise)

    def log_evidence(self, data: ProcessData, kernel: Kernel, noise: Array) -> float:
        """Return the log evidence alone, for a third of the cost."""
        with threads_for_factors(len(data.y)):
            factor, _ = _factored(kernel.written(data.x)[0], noise)
            return _Weighted.of(data, factor).log_evidence(data)

    def bytes_needed(self, n_rows: int) -> float:
        """Return the memory that learning from so many rows takes besides them."""
        return 8.0 * MATRICES * float(n_rows) ** 2

    def belief(self, data: ProcessData, kernel: Kernel, noise: Array) -> ExactBelief:
        """Return the posterior of the function."""
        with threads_for_factors(len(data.y)):
            factor, jitter = _factored(kernel.written(data.x)[0], noise)
            lower = np.tril(factor)
            found = _Weighted.of(data, factor)
        return ExactBelief(
            kernel,
            data,
            noise,
            lower,
            found.dual,
            found.coefficients,
            found.pinned,
            jitter,
            found.log_evidence(data),
        )


@dataclass(frozen=True, eq=False)
class ExactBelief:
    """The posterior of a function, by the factor of the covariance of the outcomes.

    Attributes
    ----------
    kernel, data, noise
        What it was computed from.
    lower
        ``L`` with ``L L' = K + diag(noise) + jitter I``, shape (n, n).
    dual
        ``P y``, shape (n, k).
    coefficients
        Mean coefficients of the mean functions, shape (q, k).
    pinned
        ``S^-1 H R^-1`` with ``R R' = H' S^-1 H``, shape (n, q).
    jitter
        What had to be added to the diagonal.
    log_evidence
        Log probability of the outcomes.
    """

    kernel: Kernel
    data: ProcessData
    noise: Annotated[Array, Form("n", 0.0)]
    lower: Annotated[Array, Form("n n")]
    dual: Annotated[Array, Form("n k")]
    coefficients: Annotated[Array, Form("q k")]
    pinned: Annotated[Array, Form("n q")]
    jitter: float = 0.0
    log_evidence: float = 0.0

    @property
    def jitter_shift(self) -> Array:
        """By how much jitter moves the function at the rows, root mean square, shape (k,)."""
        return np.asarray(self.jitter * np.sqrt(np.mean(np.square(self.dual), axis=0)))

    def mean(self, X: Array, columns: Array) -> Array:
        """Return the mean of the function at rows alone, for n numbers of work each, (m, k)."""
        mean = columns @ self.coefficients
        for rows in row_blocks(len(X), len(self.dual)):
            mean[rows] += self.kernel.evaluated(X[rows], self.data.x)[0] @ self.dual
        return mean

    def moments(self, X: Array, columns: Array) -> tuple[Array, Array]:
        """Return mean (m, k) and variance (m,) of the function at rows, without noise."""
        mean, variance = np.empty((len(X), self.dual.shape[1])), np.empty(len(X))
        with threads_for_factors(len(self.lower)):
            for rows in row_blocks(len(X), len(self.lower)):
                cross = self.kernel.evaluated(X[rows], self.data.x)[0]
                mean[rows] = cross @ self.dual + columns[rows] @ self.coefficients
                spread = solve_lower(self.lower, cross.T)
                open_mean = self._open_mean(columns[rows], cross)
                variance[rows] = self.kernel.evaluated_diagonal(X[rows])[0]
                variance[rows] -= np.einsum("ij,ij->j", spread, spread)
                variance[rows] += np.einsum("ij,ij->i", open_mean, open_mean)
        return mean, np.maximum(variance, 0.0)

    def components(self, X: Array, is_centered: bool) -> list[tuple[Array, Array]]:
        """Return mean (m, k) and variance (m,) of the part of each addend of the kernel.

        With ``K_j`` the covariance of part j at new rows and at those of the data, ``K_j P y``
        and the diagonal of ``k_j - K_j P K_j'`` [rasmussen2006]_.

        Parameters
        ----------
        is_centered
            Whether to take from each part its average over the rows.
        """
        found = []
        for part in self.kernel.addends:
            cross = part.evaluated(X, self.data.x)[0]
            spread, open_mean = solve_lower(self.lower, cross.T).T, cross @ self.pinned
            variance = part.evaluated_diagonal(X)[0] - np.einsum("ij,ij->i", spread, spread)
            variance += np.einsum("ij,ij->i", open_mean, open_mean)
            moments = cross @ self.dual, np.maximum(variance, 0.0)
            if is_centered:
                shared = part.evaluated(X)[0].mean(axis=1) - spread @ spread.mean(axis=0)
                moments = centered_moments(
                    *moments, shared + open_mean @ open_mean.mean(axis=0)
                )
            found.append(moments)
        return found

    def mean_function(self, columns: Array) -> tuple[Array, Array]:
        """Return mean (m, k) and variance (m,) of the mean functions at rows."""
        if not columns.shape[1]:
            return columns @ self.coefficients, np.zeros(len(columns))
        open_mean = solve_lower(self._mean_root, columns.T)
        return columns @ self.coefficients, np.einsum("ij,ij->j", open_mean, open_mean)

    def joint_bytes(self, m: int) -> float:
        """Return the memory that `joint` and draws of so many rows take."""
        return 8.0 * m * (JOINT_MATRICES * m + 2.0 * len(self.lower))

    def joint(self, X: Array, columns: Array) -> tuple[Array, Array]:
        """Return mean (m, k) and covariance (m, m) of the function at rows, without noise."""
        cross = self.kernel.evaluated(X, self.data.x)[0]
        mean = cross @ self.dual + columns @ self.coefficients
        spread = solve_lower(self.lower, cross.T)
        open_mean = self._open_mean(columns, cross)
        covariance = self.kernel.evaluated(X)[0] - spread.T @ spread + open_mean @ open_mean.T
        return mean, symmetrize(covariance)

    def sample(self, rng: Generator, X: Array, columns: Array, n: int) -> Array:
        """Return values of ``n`` functions drawn from the posterior, shape (n, m, k)."""
        return sampled(rng, *self.joint(X, columns), n)

    def leave_one_out(self) -> tuple[Array, Array]:
        """Return mean (n, k) and variance (n,) of each outcome given all others.

        ``y_i - a_i / P_ii`` and ``1 / P_ii``, noise included [sundararajan2001]_.
        """
        precision = np.diagonal(self._inverse) - np.einsum("ij,ij->i", self.pinned, self.pinned)
        return self.data.y - self.dual / precision[:, None], 1.0 / precision

    def extended(self, x: Array, y: Array, columns: Array, noise: Array) -> Self:
        """Return the posterior with more rows, at the same settings, for n^2 m operations.

        The factor gets new rows; the old ones stay as they are.
        """
        n = len(self.lower)
        data = self.data.joined(x, y, columns)
        beside = solve_lower(self.lower, self.kernel.evaluated(self.data.x, x)[0])
        corner = self.kernel.evaluated(x)[0] + np.diag(noise) - beside.T @ beside
        lower = np.zeros((n + len(x), n + len(x)))
        lower[:n, :n], lower[n:, :n] = self.lower, beside.T
        own = cholesky(corner, largest_jitter=LARGEST_JITTER)
        lower[n:, n:] = own.lower
        found = _Weighted.of(data, np.asfortranarray(lower))
        return replace(
            self,
            data=data,
            noise=np.concatenate([self.noise, noise]),
            lower=lower,
            dual=found.dual,
            coefficients=found.coefficients,
            pinned=found.pinned,
            jitter=max(self.jitter, own.jitter),
            log_evidence=found.log_evidence(data),
        )

    def without(self, rows: NDArray[np.intp], kept: Array, y: Array) -> PartBelief:
        """Return the posterior with some outcomes forgotten, or noisier, in closed form.

        ``(S + E D E')^-1 = S^-1 - S^-1 E (D^-1 + E' S^-1 E)^-1 E' S^-1`` for noise ``D`` that
        is added at some rows, whose columns of the identity are ``E``; endless noise forgets.

        Parameters
        ----------
        rows
            Places of the rows, shape (f,).
        kept
            One over the variance that is added to each, shape (f,); zero forgets it.
        y
            Outcomes of all rows from now on, shape (n, k); what is forgotten does not matter.
        """
        data = replace(self.data, y=y)
        root = cholesky(self._inverse[np.ix_(rows, rows)] + np.diag(kept)).lower
        relieved = np.asarray(solve_lower(root, self._inverse[rows]).T)
        solved, _ = dpotrs(np.asfortranarray(self.lower), data.sides)
        solved -= relieved @ (relieved.T @ data.sides)
        is_kept = kept > 0
        log_det = 2.0 * float(np.log(np.diagonal(self.lower)).sum())
        log_det += 2.0 * float(np.log(np.diagonal(root)).sum())
        log_det -= float(np.log(kept[is_kept]).sum())
        found = _Weighted.solved(data, solved, log_det)
        rest = replace(
            self,
            data=data,
            dual=found.dual,
            coefficients=found.coefficients,
            pinned=found.pinned,
            log_evidence=found.log_evidence(data, len(y) - int(np.sum(~is_kept))),
        )
        return PartBelief(rest, relieved)

    @cached_property
    def _inverse(self) -> Array:
        """``S^-1``."""
        half, _ = dpotri(np.asfortranarray(self.lower))
        return np.asarray(np.tril(half) + np.tril(half, -1).T)

    def _open_mean(self, columns: Array, cross: Array) -> Array:
        """Return what is not known of the mean functions at rows, whitened, shape (m, q)."""
        if not columns.shape[1]:
            return columns
        own = solve_lower(self._mean_root, (columns - cross @ self._solved).T)
        return np.asarray(own.T)

    @cached_property
    def _solved(self) -> Array:
        """``S^-1 H``."""
        return np.asarray(self.pinned @ self._mean_root.T)

    @cached_property
    def _mean_root(self) -> Array:
        """``R``, lower triangular, with ``R R' = H' S^-1 H``, from ``H' pinned = R``."""
        return np.tril(self.data.columns.T @ self.pinned)


@dataclass(frozen=True, eq=False)
class PartBelief:
    """The posterior of a function after a part of the outcomes, by the factor of them all.

    Attributes
    ----------
    rest
        Weights of the outcomes that were kept, zero for the others, beside the whole factor.
    relieved
        ``W`` with ``S^-1 - W W'`` the inverse covariance of the outcomes that were kept, shape
        (n, f).
    """

    rest: ExactBelief
    relieved: Annotated[Array, Form("n f")]

    @property
    def kernel(self) -> Kernel:
        """The kernel."""
        return self.rest.kernel

    @property
    def log_evidence(self) -> float:
        """Log probability of the outcomes that were kept."""
        return self.rest.log_evidence

    def moments(self, X: Array, columns: Array) -> tuple[Array, Array]:
        """Return mean (m, k) and variance (m,) of the function at rows, without noise."""
        mean, variance = self.rest.moments(X, columns)
        for rows in row_blocks(len(X), len(self.relieved)):
            lost = self.kernel.evaluated(X[rows], self.rest.data.x)[0] @ self.relieved
            variance[rows] += np.einsum("ij,ij->i", lost, lost)
        return mean, variance

    def mean(self, X: Array, columns: Array) -> Array:
        """Return the mean of the function at rows alone, shape (m, k)."""
        return self.rest.mean(X, columns)


@dataclass(frozen=True, eq=False)
class _Weighted:
    """What the factor says of outcomes and mean functions."""

    dual: Array
    coefficients: Array
    pinned: Array
    log_det: float
    log_det_mean: float

    @classmethod
    def of(cls, data: ProcessData, factor: Array) -> Self:
        """Return the weights from the factor ``L`` in Fortran order."""
        solved, _ = dpotrs(factor, data.sides)
        return cls.solved(data, solved, 2.0 * float(np.log(np.diagonal(factor)).sum()))

    @classmethod
    def solved(cls, data: ProcessData, solved: Array, log_det: float) -> Self:
        """Return the weights from ``S^-1`` times the sides of the data, and log|S|."""
        k, q = data.y.shape[1], data.columns.shape[1]
        dual = solved[:, :k]
        if not q:
            return cls(dual, np.empty((0, k)), np.empty((len(dual), 0)), log_det, 0.0)
        beside = solved[:, k:]
        root = mean_factor(data.columns.T @ beside)
        coefficients, _ = dpotrs(root, beside.T @ data.centered)
        pinned = solve_lower(root, beside.T).T
        log_det_mean = 2.0 * float(np.log(np.diagonal(root)).sum())
        dual = dual - beside @ coefficients
        coefficients[0] += data.origin
        return cls(dual, coefficients, pinned, log_det, log_det_mean)

    def log_evidence(self, data: ProcessData, n_kept: int | None = None) -> float:
        """Return the log evidence, summed over outputs; of all rows if ``n_kept`` is None."""
        n, k = data.y.shape
        fit = float(np.vdot(data.centered, self.dual))
        free = (n if n_kept is None else n_kept) - data.columns.shape[1]
        scale = self.log_det + self.log_det_mean + free * LOG_TWO_PI
        return float(-0.5 * (fit + k * scale))


@cache
def process_loops() -> Any:
    """Return the compiled loops, which take a moment to load."""
    return importlib.import_module("credo.inference.kernel._loops_process")


def mean_factor(information: Array) -> Array:
    """Return the lower factor of ``H' S^-1 H`` in Fortran order."""
    try:
        return np.asfortranarray(cholesky(information, largest_jitter=0.0).lower)
    except NotPositiveDefinite:
        raise ValueError(
            "mean functions must differ from each other on the training rows; found columns "
            "that are sums of others. Use a smaller basis for the mean, or more rows."
        ) from None


def _factored(matrix: Array, noise: Array) -> tuple[Array, float]:
    """Return the lower factor of ``matrix + diag(noise)`` in Fortran order, and its jitter.

    It is written over the matrix, whose other triangle is left as it was.
    """
    in_matrix = np.einsum("ii->i", matrix)
    diagonal = in_matrix + noise
    jitter, fraction = 0.0, 0.0
    while True:
        in_matrix[:] = diagonal + jitter
        factor, failed = dpotrf(matrix.T, overwrite_a=True)
        if not failed:
            return factor, jitter
        fraction = 10.0 * fraction if fraction else SMALLEST_JITTER
        if fraction > LARGEST_JITTER * (1 + 1e-9):
            raise NotPositiveDefinite(_about(matrix, diagonal))
        jitter = fraction * (float(np.abs(diagonal).mean()) or 1.0)
        matrix[...] = np.tril(matrix, -1) + np.tril(matrix, -1).T


def _about(matrix: Array, diagonal: Array) -> str:
    whole = np.tril(matrix, -1) + np.tril(matrix, -1).T + np.diag(diagonal)
    is_finite = bool(np.isfinite(whole).all())
    smallest = float(np.linalg.eigvalsh(whole)[0]) if is_finite else float("nan")
    return (
        "the covariance of the outcomes must be positive definite; found the eigenvalue "
        f"{smallest:.3g} beside a mean diagonal of {float(diagonal.mean()):.3g}. If rows "
        "repeat and there is no noise, leave out the copies or let noise be learned; a kernel "
        "of your own must be positive semidefinite (credo.features.check_mercer)."
    )
