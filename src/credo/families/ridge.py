"""Linear regression with independent weights, in the eigenbasis of its Gram matrix.

``y = b + x^T w + noise``, ``w_j ~ N(0, scale_j^2 / (ratio * noise_precision))``. With the
Gram matrix of the scaled columns written ``V diag(l) V^T`` and ``c = V^T X^T y``, every
posterior, predictive and evidence costs one pass over the eigenvalues ``l``:

    Q(ratio)     = y^T y - sum c^2 / (ratio + l)
    log evidence = -1/2 sum log(1 + l / ratio) + log integral of the noise

with ``n`` reduced by one, and ``-1/2 log n`` added, for a flat intercept [bishop2006]_.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
from scipy import special
from scipy.linalg import lapack

from credo.distributions.gamma import Gamma
from credo.families.linear import LinearStatistics, Rows
from credo.numerics.array import Array, as_float
from credo.numerics.form import FINITE, SMALLEST, Form, directions

__all__ = ["Intercept", "Noise", "Spectrum", "log_evidence", "scaled_products", "scaled_rows"]

SMALLEST_SQUARES = 1e-280
MAX_SHIFTS = 50
Intercept = Literal["flat", "penalized", "none"]
Noise = float | Gamma | None
"""A known precision, a belief about it, or None: flat in its logarithm, with density one."""


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Scaled Gram matrix, diagonalized, with what it says about each output.

    Attributes
    ----------
    eigenvalues, vectors
        Nonzero eigenvalues (r,) and their orthonormal vectors (n_columns, r).
    projection
        ``V^T X^T y`` for each output, shape (n_outputs, r).
    total
        Sum of squares of each output, shape (n_outputs,).
    scale
        Multiplier of each column, shape (n_columns,); a penalized intercept is the last one.
    center, origin
        Point of inputs and outputs about which moments were taken; zero without a flat
        intercept.
    weight
        Total weight of the rows.
    resolution
        Sum of squares per output below which a residual is rounding error.
    """

    eigenvalues: Annotated[Array, Form("r", SMALLEST)]
    vectors: Annotated[Array, directions("c r")]
    projection: Annotated[Array, Form("k r")]
    total: Annotated[Array, Form("k", 0.0, FINITE)]
    scale: Annotated[Array, Form("c", 0.0)]
    center: Annotated[Array, Form("d")]
    origin: Annotated[Array, Form("k")]
    weight: Annotated[float, Form(low=0.0)]
    resolution: Annotated[Array, Form("k", SMALLEST)]
    intercept: Intercept

    @classmethod
    def of(cls, statistics: LinearStatistics, scale: Array, intercept: Intercept) -> Spectrum:
        """Diagonalize the smaller Gram matrix, of rows or of columns."""
        if isinstance(statistics.form, Rows):
            parts = _from_rows(*scaled_rows(statistics, scale, intercept))
        else:
            gram, cross, total = scaled_products(statistics, scale, intercept)
            parts = _from_products(gram, cross, total, _resolution(statistics, total))
        eigenvalues, vectors, projection, total = parts
        flat = intercept == "flat"
        return cls(
            eigenvalues=eigenvalues,
            vectors=vectors,
            projection=projection,
            total=total,
            scale=scale,
            center=statistics.x_mean if flat else np.zeros(statistics.n_features),
            origin=statistics.y_mean if flat else np.zeros(statistics.n_outputs),
            weight=statistics.weight,
            resolution=_resolution(statistics, total),
            intercept=intercept,
        )

    def only(self, output: int) -> Spectrum:
        """Return what the spectrum says about one output."""
        chosen = slice(output, output + 1)
        return replace(
            self,
            projection=self.projection[chosen],
            total=self.total[chosen],
            origin=self.origin[chosen],
            resolution=self.resolution[chosen],
        )

    @property
    def n_informative(self) -> float:
        """Rows left to learn the noise from: one less where a flat intercept takes it up."""
        return self.weight - (self.intercept == "flat")

    @cached_property
    def residual(self) -> Array:
        """Sum of squares that no weights can explain, per output, shape (n_outputs,)."""
        return np.asarray(np.maximum(self._left_over, self.resolution))

    @cached_property
    def _shares(self) -> Array:
        """Sum of squares that each eigenvector explains, ``c^2 / l``, shape (k, r)."""
        return np.asarray(self.projection**2 / self.eigenvalues)

    @cached_property
    def _left_over(self) -> Array:
        """What no eigenvector explains; below zero where a share is too large by rounding."""
        left_over = self.total - self._shares.sum(axis=1)
        return np.where(np.abs(left_over) <= self.resolution, 0.0, left_over)

    def quadratic(self, ratio: Array, output: int) -> Array:
        """Return ``Q`` at each ratio: squared residuals plus the penalty on the weights."""
        shrunk = ratio[..., None] / (ratio[..., None] + self.eigenvalues)
        quadratic = self._left_over[output] + shrunk @ self._shares[output]
        return np.asarray(np.maximum(quadratic, self.resolution[output]))

    def effective_parameters(self, ratio: Array) -> Array:
        """Return how many weights the data determine, at each ratio."""
        return np.asarray(
            (self.eigenvalues / (ratio[..., None] + self.eigenvalues)).sum(axis=-1)
        )


def log_evidence(spectrum: Spectrum, output: int, ratio: Array, noise: Noise | Array) -> Array:
    """Return the log probability of one output, weights and unknown noise integrated out.

    Parameters
    ----------
    ratio
        Prior precision of the scaled weights over the noise precision, any shape.
    noise
        What is known of the noise; as an array, or a belief of that shape, one for each ratio.
    """
    n = spectrum.n_informative
    shrinkage = -0.5 * np.log1p(spectrum.eigenvalues / ratio[..., None]).sum(axis=-1)
    if spectrum.intercept == "flat":
        shrinkage = shrinkage - 0.5 * np.log(spectrum.weight)
    half_q = 0.5 * spectrum.quadratic(ratio, output)
    if isinstance(noise, Gamma):
        a, b = noise.shape, noise.rate
        power = a + 0.5 * n
        constant = a * np.log(b) - special.gammaln(a) + special.gammaln(power)
        return np.asarray(
            shrinkage + constant - 0.5 * n * np.log(2 * np.pi) - power * np.log(b + half_q)
        )
    if noise is None:
        constant = special.gammaln(0.5 * n) - 0.5 * n * np.log(2 * np.pi)
        return np.asarray(shrinkage + constant - 0.5 * n * np.log(half_q))
    precision = np.asarray(noise)
    return np.asarray(
        shrinkage + 0.5 * n * np.log(precision / (2 * np.pi)) - precision * half_q
    )


def scaled_rows(
    statistics: LinearStatistics, scale: Array, intercept: Intercept
) -> tuple[Array, Array]:
    """Return the columns and outputs of kept rows, centered, scaled and weighted."""
    rows = statistics.form
    assert isinstance(rows, Rows)
    x, y = rows.x, rows.y
    if intercept == "flat":
        x, y = x - statistics.x_mean, y - statistics.y_mean
    if intercept == "penalized":
        x = np.hstack([x, np.ones((len(x), 1))])
    root = np.sqrt(rows.weight)[:, None]
    return x * (root * scale), y * root


def scaled_products(
    statistics: LinearStatistics, scale: Array, intercept: Intercept
) -> tuple[Array, Array, Array]:
    """Return ``X^T X``, ``X^T y`` and the squares of ``y`` for centered, scaled columns."""
    d = statistics.n_features
    moments = statistics.moments
    joint = moments.scatter if intercept == "flat" else moments.about_zero()
    gram, cross, total = joint[:d, :d], joint[:d, d:], np.diagonal(joint)[d:]
    if intercept == "penalized":
        sums = moments.weight * moments.mean
        corner = np.full((1, 1), moments.weight)
        gram = np.block([[gram, sums[:d, None]], [sums[None, :d], corner]])
        cross = np.vstack([cross, sums[None, d:]])
    return gram * np.outer(scale, scale), cross * scale[:, None], np.maximum(total, 0.0)


def _resolution(statistics: LinearStatistics, total: Array) -> Array:
    """Return the sum of squares that rounding leaves of an exact fit.

    Products of rows are good to one part in 2^52 of their sum, and outputs themselves to one
    part in 2^52 of their size.
    """
    eps = np.finfo(float).eps
    level = statistics.weight * statistics.y_mean**2
    return np.asarray(np.maximum(100 * eps * total + eps**2 * level, SMALLEST_SQUARES))


def _from_rows(x: Array, y: Array) -> tuple[Array, Array, Array, Array]:
    total = (y**2).sum(axis=0)
    if _is_graded((x**2).sum(axis=0)):
        vectors, singular, left = _graded_svd(x.T) if len(x) < x.shape[1] else _swapped(x)
        return singular**2, vectors, (y.T @ left) * singular, total
    if len(x) >= x.shape[1]:
        # Kept rows are asked for where a Gram matrix would square the condition number.
        left, singular, right = np.linalg.svd(x, full_matrices=False)
        kept = singular > len(x) * np.finfo(float).eps * singular.max(initial=0.0)
        left, singular = left[:, kept], singular[kept]
        return singular**2, right[kept].T, (y.T @ left) * singular, total
    values, vectors = np.linalg.eigh(x @ x.T)
    kept = values > len(x) * np.finfo(float).eps * values.max(initial=0.0)
    values, left = values[kept], vectors[:, kept]
    singular = np.sqrt(values)
    return values, x.T @ (left / singular), (y.T @ left) * singular, total


def _from_products(
    gram: Array, cross: Array, total: Array, resolution: Array
) -> tuple[Array, Array, Array, Array]:
    squares = np.diagonal(gram)
    size = np.sqrt(np.where(squares > 0, squares, 1.0)) if _is_graded(squares) else None
    values, vectors = np.linalg.eigh(gram if size is None else gram / np.outer(size, size))
    rounding = len(gram) * np.finfo(float).eps * values.max(initial=0.0)
    kept = values > rounding
    values, vectors = values[kept], vectors[:, kept]
    projection = (cross if size is None else cross / size[:, None]).T @ vectors
    values = values + _shift(values, projection, total + 0.5 * resolution, rounding)
    if size is not None:
        vectors, singular, _ = _graded_svd(size[:, None] * vectors * np.sqrt(values))
        values, projection = singular**2, cross.T @ vectors
    return values, vectors, projection, total


def _shift(values: Array, projection: Array, total: Array, most: float) -> float:
    """Return what eigenvalues lack for no output to be explained by more than all of it.

    An eigenvalue of products is good to rounding relative to the largest, so that a small one
    may be too small by a good part of itself. Where weights can pass through nearly all rows,
    the squares that they explain would then exceed ``total``: the residual would be negative,
    which no data are, and look as if there were no noise. The least shift that mends it is the
    root of a convex decreasing function, which Newton's method climbs to from the left.
    """
    shift = 0.0
    for explained, limit in zip(projection**2, total, strict=True):
        for _ in range(MAX_SHIFTS):
            parts = explained / (values + shift)
            excess = float(parts.sum() - limit)
            if excess <= 0 or shift >= most:
                break
            shift += excess / float((parts / (values + shift)).sum())
    return min(shift, most)


def _is_graded(squares: Array) -> bool:
    """Return whether columns differ so much in size that small ones drown in large ones."""
    used = squares[squares > 0]
    return bool(len(used) and used.max() > 1e8 * used.min())


def _graded_svd(a: Array) -> tuple[Array, Array, Array]:
    """Return ``u, s, v`` with ``a = u diag(s) v^T``, each to its own relative accuracy.

    By one-sided Jacobi rotations, for a tall matrix whose rows or columns are of very different
    size; the usual algorithms are accurate relative to the largest only.
    """
    if 0 in a.shape:
        return a, np.zeros(a.shape[1]), np.eye(a.shape[1])
    s, u, v, work, _, _ = lapack.dgejsv(a, joba=2, jobu=0, jobv=0, jobr=0, jobt=0, jobp=0)
    singular = as_float(s) * (work[0] / work[1])
    kept = singular > 0
    return as_float(u)[:, kept], singular[kept], as_float(v)[:, kept]


def _swapped(x: Array) -> tuple[Array, Array, Array]:
    left, singular, right = _graded_svd(x)
    return right, singular, left
