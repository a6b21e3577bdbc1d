"""Gaussian process regression by inducing inputs: the collapsed bound of the evidence.

With m inducing inputs, ``Q = K_nm K_mm^-1 K_mn`` and ``S = Q + N`` for noise
``N = diag(noise)``, the log density of the outcomes under covariance S, minus
``tr(N^-1 (K - Q)) / 2`` for each output, is below the log evidence [titsias2009]_, also with
mean functions under a flat prior integrated out of both. With ``L L' = K_mm``,
``A = L^-1 K_mn N^-1/2`` and ``B = I + A A'`` all of it follows from sums over rows, ``A A'``
and the products of ``A N^-1/2`` with outcomes and mean functions, so that rows come in blocks
and ``K_nm`` is never held.

The gradient comes from a second pass. The weight of the bound on ``K_nm`` is
``a c' + k p e' + k N^-1 K_nm T`` with ``a = P y`` as in the exact process,
``c = L'^-1 B^-1 A N^-1/2 (y - H b)``, p and e the same for whitened mean functions, and
``T = L'^-1 (I - B^-1) L^-1``; that on ``K_mm`` is
``-(c c' + k e e' + k L'^-1 (B - 2 I + B^-1) L^-1) / 2``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, NamedTuple, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.features.kernels.kernel import Kernel, multiplied
from credo.features.kernels.parted import PartedKernel
from credo.inference.kernel.exact import mean_factor
from credo.inference.kernel.inducing import candidate_rows, greedy_rows, usual_number
from credo.inference.kernel.process import (
    BLOCK_ENTRIES,
    JOINT_MATRICES,
    NoisyEvidence,
    ProcessData,
    centered_moments,
    row_blocks,
    sampled,
)
from credo.numerics.array import Array, as_float
from credo.numerics.form import Form
from credo.numerics.linear.linear_algebra import (
    LOG_TWO_PI,
    NotPositiveDefinite,
    dpotrf,
    dpotri,
    dpotrs,
    dsyrk,
    dtrsm,
    solve_lower,
    symmetrize,
)
from credo.numerics.parallel.threads import threads_for
from credo.numerics.quotation import quote

__all__ = ["SparseBelief", "SparseProcess"]

JITTERS = (1e-10, 1e-9, 1e-8, 1e-7, 1e-6)
"""Shares of the mean diagonal that are added to the covariance of the inducing values.

A bound stays one with any of them. The first is always there, so that the bound is a smooth
function of the settings.
"""

BLOCKS, SQUARES = 12, 10
"""Arrays of the size of a block, and of m x m numbers, that are held at a time."""


@dataclass(frozen=True, eq=False)
class SparseProcess:
    """Gaussian process regression by inducing inputs: ``2 n m^2`` multiplications.

    Memory is about ten times ``m^2`` numbers and does not grow with the rows.

    Parameters
    ----------
    n_inducing
        How many inducing inputs there are at the most; None to choose by the number of rows,
        500 for 10,000 and 1,000 for 100,000.
    inducing
        The inducing inputs, shape (m, d); None to choose them from the rows, where the
        function is least known from the others.
    n_learning
        Rows from which settings are learned, by the exact process, to be kept for all; None
        to learn them from all rows, which takes some ten times as long.

    Examples
    --------
    >>> from credo.features import SquaredExponential
    >>> x, y = np.array([[0.0], [1.0]]), np.array([[1.0], [2.0]])
    >>> data = ProcessData(x, y, np.empty((2, 0)))
    >>> found = SparseProcess(1).evidence(data, SquaredExponential(1.0), np.full(2, 0.1))
    >>> round(found.value, 6)
    -12.35639
    """

    n_inducing: int | None = None
    inducing: Annotated[Array | None, Form("m d")] = field(default=None, repr=False)
    n_learning: int | None = None

    def __post_init__(self) -> None:
        for name in ("n_inducing", "n_learning"):
            n = getattr(self, name)
            if n is not None and not (isinstance(n, int | np.integer) and n >= 1):
                raise ValueError(
                    f"{name} must be None or a whole number of 1 or more; found {quote(n)}. "
                    f"Write SparseProcess({name}=500)."
                )

    def placed(self, data: ProcessData, kernel: Kernel, noise: Array) -> Self:
        """Return the method with inducing inputs that are best at these settings."""
        parted = PartedKernel.of(kernel)
        total = _total_noise(parted, data.x, noise)
        n = len(data.x)
        n_inducing = usual_number(n) if self.n_inducing is None else min(self.n_inducing, n)
        among = candidate_rows(n, n_inducing)
        with threads_for(0):
            taken = greedy_rows(parted.smooth, data.x[among], total[among], n_inducing)
        return replace(self, inducing=data.x[among[taken]])

    def bytes_needed(self, n_rows: int) -> float:
        """Return the memory that work on so many rows takes besides them."""
        m = usual_number(n_rows) if self.n_inducing is None else min(self.n_inducing, n_rows)
        choice = m * min(n_rows, len(candidate_rows(n_rows, m)))
        return 8.0 * max(choice, SQUARES * m * m + BLOCKS * max(BLOCK_ENTRIES, m))

    def evidence(self, data: ProcessData, kernel: Kernel, noise: Array) -> NoisyEvidence:
        """Return the bound of the log evidence and its gradient, summed over outputs.

        Where no inducing inputs are given, they are chosen at these settings.
        """
        parted = PartedKernel.of(kernel)
        total = _total_noise(parted, data.x, noise)
        inducing = self._inducing(data, kernel, noise)
        with threads_for(len(data.y) * float(len(inducing)) ** 2):
            whole = _Whole.of(data, parted.smooth, inducing, total)
            by_smooth, by_noise = whole.gradient(data, total)
        by_parameter = parted.by_parameter(by_smooth) + parted.noise(data.x)[1](by_noise)
        return NoisyEvidence(whole.log_bound, by_parameter, by_noise)

    def log_evidence(self, data: ProcessData, kernel: Kernel, noise: Array) -> float:
        """Return the bound of the log evidence alone, for half of the cost."""
        return self.belief(data, kernel, noise).log_evidence

    def belief(self, data: ProcessData, kernel: Kernel, noise: Array) -> SparseBelief:
        """Return the posterior of the function."""
        parted = PartedKernel.of(kernel)
        total = _total_noise(parted, data.x, noise)
        inducing = self._inducing(data, kernel, noise)
        with threads_for(len(data.y) * float(len(inducing)) ** 2):
            whole = _Whole.of(data, parted.smooth, inducing, total)
        return SparseBelief(kernel, data, noise, whole)

    def _inducing(self, data: ProcessData, kernel: Kernel, noise: Array) -> Array:
        found = self.inducing
        if found is None:
            found = self.placed(data, kernel, noise).inducing
        assert found is not None
        return found


def _total_noise(parted: PartedKernel, x: Array, noise: Array) -> Array:
    """Return the noise of rows, white noise of the kernel included."""
    total = noise + parted.noise(x)[0]
    if not np.all(total > 0):
        raise ValueError(
            "a sparse process must have noise of positive variance in every row; found "
            f"{float(total.min()):.3g}. Let noise be learned, give some, or use "
            "method='exact'."
        )
    return np.asarray(total)


@dataclass(frozen=True, eq=False)
class _Sums:
    """What the bound needs of rows; those of two sets of rows add.

    Attributes
    ----------
    inner
        ``A A'``, of which the lower triangle counts, shape (m, m).
    cross
        ``A N^-1/2 V`` for outcomes and mean functions ``V = [y, H]``, shape (m, k + q).
    outer
        ``V' N^-1 V``, shape (k + q, k + q).
    log_noise
        ``log |N|``.
    left
        ``tr(N^-1 (K - Q))``.
    n
        Number of rows.
    """

    inner: Array
    cross: Array
    outer: Array
    log_noise: float
    left: float
    n: int

    @classmethod
    def of(cls, base: _Base, data: ProcessData, noise: Array) -> Self:
        """Return the sums over rows, block by block."""
        m, sides = len(base.inducing), np.hstack([data.y, data.columns])
        inner, cross = np.zeros((m, m), order="F"), np.zeros((m, sides.shape[1]))
        left = 0.0
        for rows in row_blocks(len(sides), m):
            variance = noise[rows]
            weight = 1.0 / np.sqrt(variance)
            gram = base.kernel.evaluated(data.x[rows], base.inducing)[0]
            weighted = multiplied(gram, weight[:, None])
            whitened = dtrsm(1.0, base.lower, weighted.T, overwrite_b=True)
            inner = dsyrk(1.0, whitened, 1.0, inner, overwrite_c=True)
            cross += whitened @ (sides[rows] * weight[:, None])
            known = np.einsum("ij,ij->j", whitened, whitened)
            own = base.kernel.evaluated_diagonal(data.x[rows])[0]
            left += float(np.sum(own / variance - known))
        outer = sides.T @ (sides / noise[:, None])
        return cls(inner, cross, outer, float(np.log(noise).sum()), left, len(sides))

    def __add__(self, other: _Sums) -> _Sums:
        return self._with(other, 1)

    def __sub__(self, other: _Sums) -> _Sums:
        return self._with(other, -1)

    def _with(self, other: _Sums, sign: int) -> _Sums:
        return _Sums(
            self.inner + sign * other.inner,
            self.cross + sign * other.cross,
            self.outer + sign * other.outer,
            self.log_noise + sign * other.log_noise,
            self.left + sign * other.left,
            self.n + sign * other.n,
        )


@dataclass(frozen=True, eq=False)
class _Base:
    """The inducing inputs, and the factor of the covariance of the function there.

    Attributes
    ----------
    jitter
        What was added to its diagonal.
    share
        That as a share of the mean diagonal.
    """

    kernel: Kernel
    inducing: Array
    lower: Array
    jitter: float
    share: float

    @classmethod
    def of(cls, kernel: Kernel, inducing: Array) -> Self:
        """Return the base of some inputs, with as little jitter as will do."""
        gram = kernel.evaluated(inducing)[0]
        diagonal = np.diagonal(gram).copy()
        level = float(diagonal.mean())
        for share in JITTERS:
            jittered = gram.copy(order="F")
            np.fill_diagonal(jittered, diagonal + share * level)
            lower, failed = dpotrf(jittered, overwrite_a=True)
            if not failed:
                return cls(kernel, inducing, lower, share * level, share)
        raise NotPositiveDefinite(
            "the covariance at the inducing inputs must be positive definite; found none with "
            f"jitter of {JITTERS[-1]:g} of its diagonal. A kernel of your own must be positive "
            "semidefinite (credo.features.check_mercer); or take fewer inducing inputs, "
            f"SparseProcess({max(1, len(inducing) // 2)})."
        )

    def pulled(self, weights: Array) -> Array:
        """Return the gradient of the sum of weights times covariance, jitter included."""
        jittered = weights.copy()
        level = self.share * np.trace(weights) / len(weights)
        np.fill_diagonal(jittered, np.diagonal(weights) + level)
        return self.kernel.evaluated(self.inducing)[1](jittered)


@dataclass(frozen=True, eq=False)
class _Whole:
    """A sparse process after the data: the inducing inputs, and the sums over rows.

    Attributes
    ----------
    origin
        Coefficients of the mean functions that were taken off the outcomes before they were
        summed, so that large levels do not cancel, shape (q, k).
    """

    base: _Base
    sums: _Sums
    origin: Array

    @classmethod
    def of(cls, data: ProcessData, kernel: Kernel, inducing: Array, noise: Array) -> Self:
        """Return what rows say of the function by its values at inducing inputs."""
        base = _Base.of(kernel, inducing)
        weight = 1.0 / np.sqrt(noise)[:, None]
        found = np.linalg.lstsq(data.columns * weight, data.y * weight, rcond=None)
        origin = as_float(found[0])
        return cls(base, _Sums.of(base, _centered(data, origin), noise), origin)

    def extended(self, data: ProcessData, noise: Array) -> _Whole:
        """Return it with more rows."""
        return replace(self, sums=self.sums + self._summed(data, noise))

    def reduced(self, data: ProcessData, noise: Array) -> _Whole:
        """Return it without some of its rows."""
        return replace(self, sums=self.sums - self._summed(data, noise))

    def _summed(self, data: ProcessData, noise: Array) -> _Sums:
        return _Sums.of(self.base, _centered(data, self.origin), noise)

    @cached_property
    def root(self) -> Array:
        """``R`` with ``R R' = B``, lower triangular."""
        matrix = self.sums.inner.copy(order="F")
        np.fill_diagonal(matrix, np.diagonal(matrix) + 1.0)
        factor, failed = dpotrf(matrix, overwrite_a=True)
        if failed:
            raise NotPositiveDefinite(
                "what rows tell of the inducing values must be positive definite; found that "
                f"the first {failed} are not. Take fewer inducing inputs."
            )
        return factor

    @cached_property
    def inverse(self) -> Array:
        """``B^-1``."""
        half, _ = dpotri(self.root)
        return np.asarray(np.tril(half) + np.tril(half, -1).T)

    @cached_property
    def sides(self) -> _Sides:
        """What is known of outcomes and mean functions."""
        k = self.origin.shape[1]
        whitened = solve_lower(self.root, self.sums.cross)
        # V' S^-1 V, and K_mm^-1 K_mn S^-1 V.
        inner = self.sums.outer - whitened.T @ whitened
        solved = self._unwhitened(solve_lower(self.root, whitened, transposed=True))
        weights, beside = solved[:, :k], solved[:, k:]
        fit = float(np.trace(inner[:k, :k]))
        if not len(self.origin):
            return _Sides(self.origin, np.empty((0, 0)), weights, beside, beside, fit)
        mean_root = mean_factor(inner[k:, k:])
        b, _ = dpotrs(mean_root, inner[k:, :k])
        pinned = solve_lower(mean_root, beside.T).T
        fit -= float(np.vdot(inner[k:, :k], b))
        return _Sides(b, mean_root, weights - beside @ b, beside, pinned, fit)

    @property
    def log_bound(self) -> float:
        """The bound of the log evidence, summed over outputs."""
        q, k = self.origin.shape
        log_det = 2.0 * float(np.log(np.diagonal(self.root)).sum())
        log_det_mean = 2.0 * float(np.log(np.diagonal(self.sides.mean_root)).sum())
        scale = self.sums.log_noise + log_det + log_det_mean + (self.sums.n - q) * LOG_TWO_PI
        return float(-0.5 * (self.sides.fit + k * (scale + self.sums.left)))

    def gradient(self, data: ProcessData, noise: Array) -> tuple[Array, Array]:
        """Return the gradient of the bound by log kernel parameters, and by noise (n,)."""
        base, sides, k = self.base, self.sides, float(self.origin.shape[1])
        identity = np.eye(len(self.inverse))
        spread = self._sandwiched(identity - self.inverse)
        flat = np.hstack([sides.weights, sides.pinned])
        middle = symmetrize(np.tril(self.sums.inner) + np.tril(self.sums.inner, -1).T)
        weights = k * self._sandwiched(middle - identity + self.inverse)
        weights += flat @ (flat * np.repeat([1.0, k], self.origin.shape[::-1])).T
        by_parameter = base.pulled(-0.5 * weights)
        by_noise = np.empty(len(noise))
        for rows in row_blocks(len(noise), len(spread)):
            precision = 1.0 / noise[rows]
            gram, pull = base.kernel.evaluated(data.x[rows], base.inducing)
            own, pull_own = base.kernel.evaluated_diagonal(data.x[rows])
            dual, pinned = self.residuals(data, rows, gram, precision)
            known = gram @ spread
            left = own - np.einsum("ij,ij->i", known, gram)
            known *= (k * precision)[:, None]
            known += np.hstack([dual, k * pinned]) @ flat.T
            by_parameter += pull(known) - 0.5 * k * pull_own(precision)
            squares = np.sum(dual**2, axis=1) + k * np.sum(pinned**2, axis=1)
            by_noise[rows] = 0.5 * (squares + k * precision * (left * precision - 1.0))
        return by_parameter, by_noise

    def residuals(
        self, data: ProcessData, rows: slice, gram: Array, precision: Array
    ) -> tuple[Array, Array]:
        """Return ``P y`` and ``S^-1 H G'^-1/2`` at some rows, shapes (b, k) and (b, q)."""
        sides, columns = self.sides, data.columns[rows]
        mean = gram @ sides.weights + columns @ (self.origin + sides.coefficients)
        dual = (data.y[rows] - mean) * precision[:, None]
        return dual, self.open_mean(columns, gram) * precision[:, None]

    def open_mean(self, columns: Array, gram: Array) -> Array:
        """Return what is not known of the mean functions at rows, whitened, shape (b, q)."""
        if not columns.shape[1]:
            return columns
        own = solve_lower(self.sides.mean_root, (columns - gram @ self.sides.beside).T)
        return np.asarray(own.T)

    def _sandwiched(self, middle: Array) -> Array:
        """Return ``L'^-1 M L^-1`` for symmetric M."""
        return symmetrize(self._unwhitened(self._unwhitened(middle).T))

    def _unwhitened(self, columns: Array) -> Array:
        return solve_lower(self.base.lower, columns, transposed=True)


class _Sides(NamedTuple):
    """What is known of the mean functions and of the outcomes beside them.

    Attributes
    ----------
    coefficients
        Mean coefficients of the mean functions, above the origin, shape (q, k).
    mean_root
        ``G^1/2``, lower triangular, of ``G = H' S^-1 H``.
    weights
        Of the covariances with the inducing inputs in the mean of the function, shape (m, k).
    beside
        The same for mean functions in place of outcomes, shape (m, q).
    pinned
        ``beside G'^-1/2``.
    fit
        ``y' P y``, summed over outputs.
    """

    coefficients: Array
    mean_root: Array
    weights: Array
    beside: Array
    pinned: Array
    fit: float


def _centered(data: ProcessData, origin: Array) -> ProcessData:
    return replace(data, y=data.y - data.columns @ origin)


@dataclass(frozen=True, eq=False)
class SparseBelief:
    """The posterior of a function, by its values at inducing inputs.

    Attributes
    ----------
    kernel, data, noise
        What it was computed from.
    whole
        The inducing inputs, and the sums over rows.
    """

    kernel: Kernel
    data: ProcessData
    noise: Annotated[Array, Form("n", 0.0)]
    whole: _Whole

    @property
    def jitter(self) -> float:
        """What was added to the diagonal of the covariance of the inducing values."""
        return self.whole.base.jitter

    @property
    def jitter_shift(self) -> Array:
        """Zeros (k,): jitter of inducing values makes the bound lower, which says so."""
        return np.zeros(self.data.y.shape[1])

    @property
    def log_evidence(self) -> float:
        """The bound of the log evidence."""
        return self.whole.log_bound

    @property
    def coefficients(self) -> Array:
        """Mean coefficients of the mean functions, shape (q, k)."""
        return self.whole.origin + self.whole.sides.coefficients

    def mean(self, X: Array, columns: Array) -> Array:
        """Return the mean of the function at rows alone, shape (m, k)."""
        base, mean = self.whole.base, columns @ self.coefficients
        for rows in row_blocks(len(X), len(base.inducing)):
            gram = base.kernel.evaluated(X[rows], base.inducing)[0]
            mean[rows] += gram @ self.whole.sides.weights
        return mean

    def moments(self, X: Array, columns: Array) -> tuple[Array, Array]:
        """Return mean (m, k) and variance (m,) of the function at rows, without noise."""
        mean, variance = np.empty((len(X), self.data.y.shape[1])), np.empty(len(X))
        for rows in row_blocks(len(X), len(self.whole.base.inducing)):
            mean[rows], known, doubt = self._parts(self._cross(X[rows]), columns[rows])
            variance[rows] = self.kernel.evaluated_diagonal(X[rows])[0]
            variance[rows] -= np.einsum("ij,ij->j", known, known)
            variance[rows] += np.einsum("ij,ij->j", doubt, doubt)
        return mean, np.maximum(variance, 0.0)

    def components(self, X: Array, is_centered: bool) -> list[tuple[Array, Array]]:
        """Return mean (m, k) and variance (m,) of the part of each addend of the kernel.

        By the covariances of each part with the inducing values in place of those of their
        sum.

        Parameters
        ----------
        is_centered
            Whether to take from each part its average over the rows.
        """
        return [self._component(part, X, is_centered) for part in self.kernel.addends]

    def _component(self, part: Kernel, X: Array, is_centered: bool) -> tuple[Array, Array]:
        inducing, n = self.whole.base.inducing, len(X)
        q, k = self.whole.origin.shape
        mean, variance, shared = np.empty((n, k)), np.empty(n), np.empty(n)
        blocks = list(row_blocks(n, max(n, len(inducing)) if is_centered else len(inducing)))
        if is_centered:
            sums = [part.evaluated(X[rows], inducing)[0].sum(axis=0) for rows in blocks]
            average = sum(sums, start=np.zeros(len(inducing))) / n
            _, known_average, open_average = self._parts(average[None], np.zeros((1, q)))
        for rows in blocks:
            cross = part.evaluated(X[rows], inducing)[0]
            mean[rows], known, doubt = self._parts(cross, np.zeros((len(cross), q)))
            variance[rows] = part.evaluated_diagonal(X[rows])[0]
            variance[rows] -= np.einsum("ij,ij->j", known, known)
            variance[rows] += np.einsum("ij,ij->j", doubt, doubt)
            if is_centered:
                shared[rows] = part.evaluated(X[rows], X)[0].mean(axis=1)
                shared[rows] += open_average[:, 0] @ doubt - known_average[:, 0] @ known
        if is_centered:
            return centered_moments(mean, variance, shared)
        return mean, np.maximum(variance, 0.0)

    def mean_function(self, columns: Array) -> tuple[Array, Array]:
        """Return mean (m, k) and variance (m,) of the mean functions at rows."""
        open_mean = solve_lower(self.whole.sides.mean_root, columns.T)
        return columns @ self.coefficients, np.einsum("ij,ij->j", open_mean, open_mean)

    def joint_bytes(self, m: int) -> float:
        """Return the memory that `joint` and draws of so many rows take."""
        return 8.0 * m * (JOINT_MATRICES * m + 3.0 * len(self.whole.base.inducing))

    def joint(self, X: Array, columns: Array) -> tuple[Array, Array]:
        """Return mean (m, k) and covariance (m, m) of the function at rows, without noise."""
        mean, known, doubt = self._parts(self._cross(X), columns)
        covariance = self.kernel.evaluated(X)[0] - known.T @ known + doubt.T @ doubt
        return mean, symmetrize(covariance)

    def sample(self, rng: Generator, X: Array, columns: Array, n: int) -> Array:
        """Return values of ``n`` functions drawn from the posterior, shape (n, m, k)."""
        return sampled(rng, *self.joint(X, columns), n)

    def leave_one_out(self) -> tuple[Array, Array]:
        """Return mean (n, k) and variance (n,) of each outcome given all others.

        With the inducing inputs kept: ``y_i - a_i / P_ii`` and ``1 / P_ii + k_ii - Q_ii``,
        noise included.
        """
        data, whole = self.data, self.whole
        kernel, inducing, lower = whole.base.kernel, whole.base.inducing, whole.base.lower
        noise = _total_noise(PartedKernel.of(self.kernel), data.x, self.noise)
        mean, variance = np.empty_like(data.y), np.empty(len(noise))
        for rows in row_blocks(len(noise), len(inducing)):
            precision = 1.0 / noise[rows]
            gram = kernel.evaluated(data.x[rows], inducing)[0]
            dual, pinned = whole.residuals(data, rows, gram, precision)
            known = solve_lower(lower, gram.T)
            doubt = solve_lower(whole.root, known)
            share = precision * np.einsum("ij,ij->j", doubt, doubt)
            own = precision * (1.0 - share) - np.sum(pinned**2, axis=1)
            mean[rows] = data.y[rows] - dual / own[:, None]
            own_variance = kernel.evaluated_diagonal(data.x[rows])[0]
            left = own_variance - np.einsum("ij,ij->j", known, known)
            variance[rows] = 1.0 / own + np.maximum(left, 0.0)
        return mean, variance

    def extended(self, x: Array, y: Array, columns: Array, noise: Array) -> Self:
        """Return the posterior with more rows, at the same settings and inducing inputs.

        What the bound needs of the new rows is added to that of the old ones.
        """
        more, data = ProcessData(x, y, columns), self.data.joined(x, y, columns)
        total = _total_noise(PartedKernel.of(self.kernel), x, noise)
        whole = self.whole.extended(more, total)
        joined = np.concatenate([self.noise, noise])
        return replace(self, data=data, noise=joined, whole=whole)

    def without(self, rows: NDArray[np.intp], kept: Array, y: Array) -> Self:
        """Return the posterior with some outcomes forgotten, or noisier, in closed form.

        What the bound needs of these rows is taken off; the inducing inputs stay, and so do
        the rows, of which `leave_one_out` cannot be asked any more.

        Parameters
        ----------
        rows
            Places of the rows, shape (f,).
        kept
            One over the variance that is added to each, shape (f,); zero forgets it.
        y
            Outcomes of all rows from now on, shape (n, k); what is forgotten does not matter.
        """
        before, after = (
            ProcessData(self.data.x[rows], values[rows], self.data.columns[rows])
            for values in (self.data.y, y)
        )
        noise = _total_noise(PartedKernel.of(self.kernel), before.x, self.noise[rows])
        whole = self.whole.reduced(before, noise)
        is_kept = kept > 0
        if is_kept.any():
            left = ProcessData(after.x[is_kept], after.y[is_kept], after.columns[is_kept])
            whole = whole.extended(left, noise[is_kept] + 1.0 / kept[is_kept])
        return replace(self, data=replace(self.data, y=y), whole=whole)

    def _cross(self, X: Array) -> Array:
        """Return covariances of the function at rows with the inducing values, (b, m)."""
        base = self.whole.base
        return base.kernel.evaluated(X, base.inducing)[0]

    def _parts(self, cross: Array, columns: Array) -> tuple[Array, Array, Array]:
        """Return the mean, what outcomes say of the function, and what they leave open."""
        whole = self.whole
        mean = cross @ whole.sides.weights + columns @ self.coefficients
        known = solve_lower(whole.base.lower, cross.T)
        doubt = solve_lower(whole.root, known)
        return mean, known, np.vstack([doubt, whole.open_mean(columns, cross).T])
