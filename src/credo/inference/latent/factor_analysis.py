"""Factor analysis and probabilistic PCA: few hidden numbers behind the columns of a row.

A row is ``y = W x + b + noise`` with ``x ~ N(0, I)`` of few dimensions and independent noise of
variance ``noise_j`` in column j; so ``y ~ N(b, W W' + diag(noise))``. Probabilistic PCA has one
variance for all columns. Of complete rows its likelihood is largest in closed form
[tipping1999]_, with ``v`` for the falling variances along principal axes ``V``:

    ``noise = mean of v_j beyond c``,  ``W = V_c (diag(v_c) - noise)^1/2``.

Of complete rows, factors with noise of its own in each column are found by their noise alone:
given it the best loading is in closed form, and what is left is minimized [joreskog1967]_.
With gaps, expectation maximization goes on from there. With the columns ``o`` that a row has,

* hidden numbers: ``x | y_o ~ N(C W_o' noise_o^-1 (y_o - b_o), C)``,
  ``C^-1 = I + W_o' diag(noise_o)^-1 W_o``;
* learning: each column is regressed on ``(x, 1)``, by the rows that have it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, special

from credo.distributions.multivariate_normal import MultivariateNormal
from credo.inference.engine.engine import Account, Inference
from credo.inference.engine.problem import Expectation
from credo.numerics.array import Array, as_float, is_constant
from credo.numerics.form import SMALLEST, Form
from credo.numerics.linear.linear_algebra import LOG_TWO_PI, cholesky
from credo.numerics.linear.moments import Moments
from credo.numerics.linear.principal_axes import PrincipalAxes
from credo.numerics.missing import missing_patterns
from credo.numerics.optimize.difference import separate
from credo.numerics.optimize.minimum import Termination
from credo.numerics.optimize.quasi_newton import lbfgs
from credo.numerics.status import Status

__all__ = [
    "FactorModel",
    "FactorProblem",
    "likeliest_factors",
    "log_evidence_of_dimensions",
    "relevant_pca",
]

Indices = NDArray[np.intp]

PROFILE = Account("profile likelihood", False, float("nan"), "unknown")

POLISHING_STEPS = 50

PSEUDO_ROWS = 2.0
"""Rows that a prior about noise is worth."""

ROUNDING = 1e-9
"""Standard deviation of the noise of a column that does not vary, as a share of its mean."""

LEAST_NOISE = 1e-9
"""Share of a column's variance that its noise is at least: a factor may copy a column."""


@dataclass(frozen=True, eq=False)
class FactorModel:
    """Rows made of few hidden numbers and noise.

    Attributes
    ----------
    center
        Mean of the rows, shape (d,).
    loading
        How columns follow the hidden numbers, shape (d, c).
    noise
        Variance of the noise of each column, shape (d,).
    """

    center: Annotated[Array, Form("d")]
    loading: Annotated[Array, Form("d c")]
    noise: Annotated[Array, Form("d", SMALLEST)]

    @classmethod
    def probabilistic_pca(cls, axes: PrincipalAxes, n_hidden: int) -> FactorModel:
        """Return the model of largest likelihood with one noise variance, from all axes."""
        d = len(axes.center)
        kept = axes.first(n_hidden)
        least = LEAST_NOISE * max(axes.total / d, SMALLEST / LEAST_NOISE)
        noise = max(kept.lost / (d - n_hidden), least)
        length = np.sqrt(np.maximum(kept.variance - noise, 0.0))
        return cls(axes.center, kept.axes.T * length, np.full(d, noise))

    @property
    def n_hidden(self) -> int:
        """Number of hidden numbers."""
        return int(self.loading.shape[1])

    @property
    def density(self) -> MultivariateNormal:
        """The distribution of a whole row."""
        return MultivariateNormal.from_low_rank(self.center, self.loading, self.noise)

    def log_prob(self, y: Array) -> Array:
        """Return the log density of what rows (n, d) have, shape (n,)."""
        found = np.zeros(len(y))
        for part in self.parts(y):
            found[part.rows] = part.log_prob
        return found

    def hidden(self, y: Array) -> MultivariateNormal:
        """Return the hidden numbers of each row (n, d), given what it has."""
        c = self.n_hidden
        mean, covariance = np.zeros((len(y), c)), np.zeros((len(y), c, c))
        for part in self.parts(y):
            mean[part.rows], covariance[part.rows] = part.mean, part.covariance
        return MultivariateNormal(mean, covariance)

    def restored(self, hidden: Array) -> Array:
        """Return the rows (n, d) expected at hidden numbers (n, c)."""
        return np.asarray(hidden @ self.loading.T + self.center)

    def parts(self, y: Array) -> Iterator[HiddenPart]:
        """Yield the hidden numbers of the rows that miss the same columns.

        With ``m`` for their mean, ``(y - b)' S^-1 (y - b)`` is the squared noise that is left
        at ``m``, over its variance, and ``m' m``; nothing cancels however small the noise is.
        """
        for columns, rows in missing_patterns(y):
            loading, noise = self.loading[columns], self.noise[columns]
            scaled = loading / noise[:, None]
            factor = cholesky(np.eye(self.n_hidden) + loading.T @ scaled)
            covariance = factor.inverse()
            away = y[np.ix_(rows, columns)] - self.center[columns]
            mean = away @ scaled @ covariance
            away -= mean @ loading.T
            distance = np.square(away) @ (1.0 / noise) + np.square(mean).sum(axis=1)
            log_det = float(factor.log_det()) + float(np.log(noise).sum())
            log_prob = -0.5 * (distance + log_det + len(columns) * LOG_TWO_PI)
            yield HiddenPart(columns, rows, mean, covariance, log_prob)


@dataclass(frozen=True, eq=False)
class HiddenPart:
    """Rows that have the same columns, and the normal of their hidden numbers.

    Attributes
    ----------
    columns, rows
        Which columns these rows have, and which rows they are.
    mean, covariance
        Shapes (n, c) and (c, c).
    log_prob
        Log density of what each row has, shape (n,).
    """

    columns: Indices
    rows: Indices
    mean: Array
    covariance: Array
    log_prob: Array


@dataclass(frozen=True, eq=False)
class FactorStatistics:
    """What each column's regression on the hidden numbers and a constant needs.

    Attributes
    ----------
    square
        Expected ``(x, 1) (x, 1)'`` over the rows that have the column, shape (d, c + 1, c + 1).
    cross
        Expected ``y_j (x, 1)``, shape (d, c + 1).
    total
        Sum of ``y_j^2``, shape (d,).
    """

    square: Array
    cross: Array
    total: Array


@dataclass(frozen=True, eq=False)
class FactorProblem:
    """Rows with gaps whose columns follow few hidden numbers, for expectation maximization.

    Attributes
    ----------
    y
        Rows, shape (n, d); NaN is missing. Every column has a value somewhere.
    weight
        Of each row, shape (n,).
    n_hidden
        Number of hidden numbers, less than d.
    is_isotropic
        Whether all columns have noise of one variance: probabilistic PCA.
    usual_noise
        Variance of the noise of each column in rows that were seen before, ``PSEUDO_ROWS`` of
        them, shape (d,): a prior that keeps noise from vanishing. None for none.
    """

    y: Array
    weight: Array
    n_hidden: int
    is_isotropic: bool
    usual_noise: Array | None = None

    evidence_method = "none"

    @property
    def size(self) -> float:
        """Total weight of the rows."""
        return float(self.weight.sum())

    @cached_property
    def _unit(self) -> tuple[Array, Array]:
        """Mean and variance of what each column has."""
        has = ~np.isnan(self.y)
        count = self.weight @ has
        mean = self.weight @ np.where(has, self.y, 0.0) / count
        variance = self.weight @ np.where(has, self.y - mean, 0.0) ** 2 / count
        return mean, variance

    def start(self) -> FactorModel:
        """Return probabilistic PCA of the rows with gaps at the mean of their column."""
        mean, variance = self._unit
        filled = np.where(np.isnan(self.y), mean, self.y)
        # Units of columns must not matter where each has noise of its own.
        unit = np.sqrt(np.where(variance > 0, variance, 1.0))
        unit = np.ones_like(unit) if self.is_isotropic else unit
        axes = PrincipalAxes.of_moments(Moments.of([filled / unit], self.weight))
        found = FactorModel.probabilistic_pca(axes, self.n_hidden)
        if self.is_isotropic:
            return found
        loading = found.loading * unit[:, None]
        rest = np.maximum(variance - (loading**2).sum(axis=1), 0.1 * variance)
        return FactorModel(mean, loading, np.maximum(rest, self._least))

    def expect(self, belief: FactorModel) -> Expectation:
        """Return expected statistics of rows and hidden numbers, and the log likelihood."""
        d, c = belief.loading.shape
        square, cross = np.zeros((d, c + 1, c + 1)), np.zeros((d, c + 1))
        mean, log_likelihood = self._unit[0], 0.0
        for part in belief.parts(self.y):
            weight = self.weight[part.rows]
            log_likelihood += float(weight @ part.log_prob)
            hidden = np.column_stack([part.mean, np.ones(len(part.rows))])
            weighted = hidden * weight[:, None]
            own = hidden.T @ weighted
            own[:c, :c] += weight.sum() * part.covariance
            square[part.columns] += own
            away = self.y[np.ix_(part.rows, part.columns)] - mean[part.columns]
            cross[part.columns] += away.T @ weighted
        total = self.weight @ np.where(np.isnan(self.y), 0.0, self.y - mean) ** 2
        return Expectation(FactorStatistics(square, cross, total), log_likelihood)

    def update(self, statistics: FactorStatistics) -> FactorModel:
        """Return the regression of each column on the hidden numbers."""
        found = as_float(
            np.linalg.solve(statistics.square, statistics.cross[..., None])[..., 0]
        )
        count = statistics.square[:, -1, -1]
        left = statistics.total - (found * statistics.cross).sum(axis=1)
        if self.usual_noise is not None:
            left, count = left + PSEUDO_ROWS * self.usual_noise, count + PSEUDO_ROWS
        shared = np.full_like(left, left.sum() / count.sum())
        noise = shared if self.is_isotropic else left / count
        center = self._unit[0] + found[:, -1]
        return FactorModel(center, found[:, :-1], np.maximum(noise, self._least))

    def penalty(self, belief: FactorModel) -> float:
        """Return minus the log density of the noise under its prior, up to a constant."""
        if self.usual_noise is None:
            return 0.0
        each = np.log(belief.noise) + self.usual_noise / belief.noise
        return float(0.5 * PSEUDO_ROWS * each.sum())

    @property
    def _least(self) -> Array:
        variance = self._unit[1]
        usual = variance.mean() if self.is_isotropic else variance
        return np.maximum(LEAST_NOISE * usual, SMALLEST) + np.zeros_like(variance)


def likeliest_factors(
    moments: Moments, n_hidden: int, termination: Termination | None = None
) -> Inference:
    """Return the factors of largest likelihood, from the statistics of complete rows.

    With ``u`` for the logs of the noise of columns of unit variance, ``R`` for their
    correlations and ``t``, ``V`` for eigenvalues and vectors of ``e^(-u/2) R e^(-u/2)``, the
    best loading is ``e^(u/2) V_c (t_c - 1)^1/2``. Twice the negative log likelihood of a row is
    then ``sum of u + sum over the first c of (log t + 1) + sum of the other t``, with gradient
    ``sum over the others of (1 - t) V^2``.

    Parameters
    ----------
    moments
        Of the rows.
    n_hidden
        Number of hidden numbers, less than d.
    """
    variance = np.diagonal(moments.scatter) / moments.weight
    is_flat = is_constant(moments.mean, np.sqrt(variance))
    scale = np.sqrt(np.where(is_flat, 1.0, variance))
    unit = moments.scatter / moments.weight / np.outer(scale, scale)
    unit[is_flat], unit[:, is_flat] = 0.0, 0.0
    np.fill_diagonal(unit, 1.0)

    def split(u: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
        root = np.exp(-0.5 * u)
        value, vector = linalg.eigh(unit * np.outer(root, root))
        return value, vector, (np.arange(len(u)) >= len(u) - n_hidden) & (value > 1.0)

    def objective(u: Array) -> tuple[float, Array]:
        value, vector, is_kept = split(u)
        rest = value[~is_kept]
        total = u.sum() + np.sum(np.log(value[is_kept]) + 1.0) + rest.sum()
        return float(total), np.asarray(np.square(vector[:, ~is_kept]) @ (1.0 - rest))

    rules = termination or Termination(5000, 1e-13, 0.0, 1e-7)
    start = np.log(np.clip(_own_share(unit) * (1.0 - 0.5 * n_hidden / len(unit)), 0.2, 1.0))
    box = [(float(np.log(LEAST_NOISE)), 0.0)] * len(unit)
    found = lbfgs(*separate(objective), start, box, rules)
    # Where a column has no noise of its own, rounding ends the search before any rule does.
    is_rounding = found.status is Status.NO_DESCENT and found.n_steps > 0
    status = Status.VALUE_STEADY if is_rounding else found.status
    u = _polished(found.x, split, box[0])
    value, vector, is_kept = split(u)
    length = np.sqrt(np.maximum(value - 1.0, 0.0) * is_kept)
    root = np.exp(0.5 * u) * scale
    loading = (root[:, None] * vector * length)[:, : -n_hidden - 1 : -1]
    # A factor has no sign of its own: its largest loading is positive.
    largest = np.abs(loading / scale[:, None]).argmax(axis=0)
    loading = loading * np.where(loading[largest, np.arange(n_hidden)] < 0.0, -1.0, 1.0)
    # A column that does not vary is known as far as its mean is, which is rounded.
    known = np.square(ROUNDING * moments.mean)
    noise = np.maximum(np.where(is_flat, known, root**2), SMALLEST)
    return Inference(FactorModel(moments.mean, loading, noise), status=status, account=PROFILE)


def _polished(
    u: Array, split: Callable[[Array], tuple[Array, Array, Any]], box: tuple[float, float]
) -> Array:
    """Return where Newton's steps end.

    Values are flat to rounding at their least long before the gradient is. With ``m``, ``l``
    for eigenvalues that are left and ``k`` for kept ones, the curvature between columns i and j
    is the sum of ``V_im V_jm V_il V_jl (t_m + t_l) / 2`` and of
    ``V_im V_jm V_ik V_jk (1 - t_m) (t_k + t_m) / (t_k - t_m)``.
    """
    best, least = u, np.inf
    for _ in range(POLISHING_STEPS):
        value, vector, is_kept = split(u)
        rest, others = value[~is_kept], vector[:, ~is_kept]
        slope = np.square(others) @ (1.0 - rest)
        is_free = ~((u <= box[0]) & (slope > 0)) & ~((u >= box[1]) & (slope < 0))
        size = np.abs(slope[is_free]).max(initial=0.0)
        if size < least:
            best, least = u, size
        if size < 1e-14:
            break
        bend = ((others * rest) @ others.T) * (others @ others.T)
        for top, axis in zip(value[is_kept], vector[:, is_kept].T, strict=True):
            share = (1.0 - rest) * (top + rest) / (top - rest)
            bend += np.outer(axis, axis) * ((others * share) @ others.T)
        bend = bend[np.ix_(is_free, is_free)]
        step = np.linalg.lstsq(bend, slope[is_free], rcond=1e-12)[0]
        u = u.copy()
        u[is_free] = np.clip(u[is_free] - np.clip(step, -0.1, 0.1), *box)
    return best


def _own_share(unit: Array) -> Array:
    """Return the share of each column that the others do not tell, of correlations (d, d)."""
    ridged = unit + 1e-6 * np.eye(len(unit))
    return np.asarray(1.0 / np.diagonal(cholesky(ridged).inverse()))


def relevant_pca(axes: PrincipalAxes, n_rows: float) -> FactorModel:
    """Return probabilistic PCA whose axes each have a prior, which drops those of no use.

    Bayesian PCA [bishop1999]_: the loading of axis i is normal about zero with a precision of
    its own, which is learned as ``d / |w_i|^2``. Where that settles, with ``t = |w|^2 + s`` for
    the variance along an axis that has ``v`` in the rows and s for the noise,

        ``(N + d) t^2 - N (v + s) t + N v s = 0``;

    axes without a real root are dropped. The noise is such that its own likelihood is largest.

    Parameters
    ----------
    axes
        All principal axes of the rows.
    n_rows
        Number of rows.
    """
    d, v = len(axes.center), axes.variance
    n_kept, least = d - 1, max(LEAST_NOISE * axes.total / d, SMALLEST)
    while True:
        noise, along = _relevant(v, n_kept, n_rows, d, least)
        n_real = int(np.sum(np.isfinite(along)))
        if n_real == n_kept:
            break
        n_kept = n_real
    loading = axes.axes[:n_kept].T * np.sqrt(np.maximum(along - noise, 0.0))
    return FactorModel(axes.center, loading, np.full(d, noise))


def _relevant(
    v: Array, n_kept: int, n_rows: float, d: int, least: float
) -> tuple[float, Array]:
    """Return noise and the variance along each kept axis, NaN where there is no real root."""
    kept, noise = v[:n_kept], max(float(v[n_kept:].mean()), least)
    along = kept
    for _ in range(1000):
        middle = n_rows * (kept + noise)
        root = middle**2 - 4.0 * n_rows * (n_rows + d) * kept * noise
        with np.errstate(invalid="ignore"):
            along = (middle + np.sqrt(root)) / (2.0 * (n_rows + d))
        if not np.isfinite(along).all():
            return noise, along
        # What the prior takes off the kept axes is noise of theirs.
        held = (along - noise) * noise / along + np.square(noise / along) * kept
        after = max(float((v[n_kept:].sum() + held.sum()) / d), least)
        if abs(after - noise) < 1e-12 * noise:
            break
        noise = after
    return noise, along


def log_evidence_of_dimensions(variance: Array, n_rows: float) -> Array:
    """Return the log evidence of rows with 0, 1, ... d - 1 hidden numbers, by Laplace's method.

    Minka's approximation [minka2000]_, with the axes uniform over rotations. With
    ``m = d k - k (k + 1) / 2`` free angles, ``v`` for the variances, and ``w`` for the same
    with those beyond k at their mean,

        ``log p(axes) - N/2 (sum of log w) + (m + k)/2 log 2 pi - 1/2 log|A| - k/2 log N``,
        ``log|A| = sum over i <= k < ... < j of log((1/w_j - 1/w_i) (v_i - v_j) N)``.

    Parameters
    ----------
    variance
        Variances along all principal axes, falling, shape (d,).
    n_rows
        Number of rows.
    """
    d = len(variance)
    least = max(np.finfo(float).eps * float(variance[0]), SMALLEST)
    v = np.maximum(variance, least)
    each = 0.5 * (d - np.arange(d))
    log_axes = np.cumsum(special.gammaln(each) - each * np.log(np.pi) - np.log(2.0))
    found = np.empty(d)
    for k in range(d):
        w = np.append(v[:k], np.full(d - k, v[k:].mean()))
        n_angles = d * k - 0.5 * k * (k + 1)
        rise = 1.0 / w[None, :] - 1.0 / w[:k, None]
        gap = v[:k, None] - v[None, :]
        pairs = np.triu(np.ones((k, d), dtype=bool), 1)
        bend = np.log(np.maximum(rise * gap, np.finfo(float).tiny)) + np.log(n_rows)
        found[k] = (
            (log_axes[k - 1] if k else 0.0)
            - 0.5 * n_rows * np.log(w).sum()
            + 0.5 * (n_angles + k) * np.log(2.0 * np.pi)
            - 0.5 * float(np.sum(bend, where=pairs))
            - 0.5 * k * np.log(n_rows)
        )
    return found
