"""Elliptical distributions, and the forms in which their covariance matrix is stored.

The density of a vector depends on its Mahalanobis distance from a center. The covariance is
dense, a precision, or low rank plus diagonal; each form answers the same few questions in the
way that is cheap and stable for it, so the Gaussian algebra above does not ask how its matrix
is kept.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.distributions.distribution import Distribution
from credo.distributions.parameter import Batched, positive, real, square
from credo.numerics.array import Array, as_float
from credo.numerics.form import FINITE, SMALLEST, Form
from credo.numerics.linear.linear_algebra import Cholesky, cholesky, solve_lower, symmetrize
from credo.numerics.parallel.threads import threads_for_matrix

__all__ = [
    "Covariance",
    "DenseCovariance",
    "Elliptical",
    "LowRankCovariance",
    "PrecisionForm",
    "dense_form",
]


Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Covariance(Batched, ABC):
    """A covariance matrix of dimension ``d``, or a batch of them, in some form."""

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Number of coordinates ``d``."""

    @property
    def jitter(self) -> float:
        """What had to be added to the diagonal to factor the stored matrix."""
        return 0.0

    @abstractmethod
    def require_valid(self) -> None:
        """Raise an error unless what is stored makes a positive definite matrix."""

    @abstractmethod
    def dense(self) -> Array:
        """Return the matrix, shape (*batch, d, d)."""

    @abstractmethod
    def diagonal(self) -> Array:
        """Return the variances, shape (*batch, d)."""

    @abstractmethod
    def log_det(self) -> Array:
        """Return the log determinant, shape (*batch)."""

    @abstractmethod
    def whiten(self, residual: Array) -> Array:
        """Return vectors of identity covariance from vectors of this one, shape (..., d)."""

    @abstractmethod
    def color(self, standard: Array) -> Array:
        """Return vectors of this covariance from standard normal ones, shape (..., d)."""

    @abstractmethod
    def transform(self, a: Array) -> "Covariance":
        """Return the covariance of ``a x``, for ``a`` of shape (m, d)."""

    @abstractmethod
    def marginal(self, kept: Indices) -> "Covariance":
        """Return the covariance of some coordinates."""

    @abstractmethod
    def condition(
        self, kept: Indices, given: Indices, shift: Array
    ) -> tuple[Array, "Covariance"]:
        """Return how the mean of ``kept`` moves with ``given``, and the covariance left."""


@dataclass(frozen=True, eq=False)
class DenseCovariance(Covariance):
    """The matrix itself, shape (*batch, d, d), with its Cholesky factor when needed."""

    matrix: Annotated[Array, Form("... d d", -FINITE, FINITE)]
    _event_dims: ClassVar[dict[str, int]] = {"matrix": 2}

    @cached_property
    def factor(self) -> Cholesky:
        """Cholesky factor, with the jitter a semi-definite matrix needed."""
        return cholesky(self.matrix)

    @property
    def jitter(self) -> float:
        """What had to be added to the diagonal to factor the matrix."""
        return self.factor.jitter

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return int(self.matrix.shape[-1])

    def require_valid(self) -> None:
        """Raise an error unless the matrix is symmetric and positive definite."""
        square("matrix", self.matrix)
        _ = self.factor

    def dense(self) -> Array:
        """Return the matrix."""
        return self.matrix

    def diagonal(self) -> Array:
        """Return the variances."""
        return np.asarray(np.diagonal(self.matrix, axis1=-2, axis2=-1))

    def log_det(self) -> Array:
        """Return the log determinant from the factor."""
        return self.factor.log_det()

    def whiten(self, residual: Array) -> Array:
        """Return ``L^-1 residual``."""
        return self.factor.whiten(residual)

    def color(self, standard: Array) -> Array:
        """Return ``L standard``."""
        return _rows_times(standard, self.factor.lower.swapaxes(-1, -2))

    def transform(self, a: Array) -> Covariance:
        """Return ``a S a'``."""
        return DenseCovariance(symmetrize(a @ self.matrix @ a.swapaxes(-1, -2)))

    def marginal(self, kept: Indices) -> Covariance:
        """Return the rows and columns ``kept``."""
        return DenseCovariance(_block(self.matrix, kept, kept))

    def condition(
        self, kept: Indices, given: Indices, shift: Array
    ) -> tuple[Array, Covariance]:
        """Return ``S_ab S_bb^-1 shift`` and ``S_aa - S_ab S_bb^-1 S_ba``."""
        factor = cholesky(_block(self.matrix, given, given))
        half = solve_lower(factor.lower, _block(self.matrix, given, kept))
        change = _rows_times(factor.whiten(shift), half)
        remaining = _block(self.matrix, kept, kept) - half.swapaxes(-1, -2) @ half
        return change, DenseCovariance(symmetrize(remaining))


@dataclass(frozen=True, eq=False)
class PrecisionForm(Covariance):
    """The inverse of the covariance, shape (*batch, d, d); never inverted to be used."""

    precision: Annotated[Array, Form("... d d", -FINITE, FINITE)]
    _event_dims: ClassVar[dict[str, int]] = {"precision": 2}

    @cached_property
    def factor(self) -> Cholesky:
        """Cholesky factor of the precision."""
        # On as many threads whoever asks first, so that a loaded belief has the same bits.
        with threads_for_matrix(self.dimension):
            return cholesky(self.precision)

    @property
    def jitter(self) -> float:
        """What had to be added to the diagonal to factor the precision."""
        return self.factor.jitter

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return int(self.precision.shape[-1])

    @cached_property
    def _root(self) -> Array:
        """A square root ``R`` of the covariance, ``R R' = P^-1``, upper triangular."""
        identity = np.broadcast_to(np.eye(self.dimension), self.precision.shape)
        with threads_for_matrix(self.dimension):
            return solve_lower(self.factor.lower, identity, transposed=True)

    def require_valid(self) -> None:
        """Raise unless the precision is symmetric and positive definite, its inverse finite."""
        square("precision", self.precision)
        root = np.diagonal(self.factor.lower, axis1=-2, axis2=-1)
        with np.errstate(over="ignore", divide="ignore"):
            is_finite = np.isfinite(root**-2.0)
        if not is_finite.all():
            raise ValueError(
                "precision must leave finite variances; found a conditional precision of "
                f"{root[~is_finite][0] ** 2:.3g}. Change the unit."
            )

    def dense(self) -> Array:
        """Return the covariance, by solves with the factor."""
        with threads_for_matrix(self.dimension):
            return symmetrize(self._root @ self._root.swapaxes(-1, -2))

    def diagonal(self) -> Array:
        """Return the variances."""
        return np.asarray((self._root**2).sum(axis=-1))

    def log_det(self) -> Array:
        """Return minus the log determinant of the precision."""
        return -self.factor.log_det()

    def whiten(self, residual: Array) -> Array:
        """Return ``L' residual``, a product and not a solve."""
        return _rows_times(residual, self.factor.lower)

    def color(self, standard: Array) -> Array:
        """Return ``L'^-1 standard``."""
        return _rows_times(standard, self._root.swapaxes(-1, -2))

    def transform(self, a: Array) -> Covariance:
        """Return ``a P^-1 a'``."""
        half = a @ self._root
        return DenseCovariance(symmetrize(half @ half.swapaxes(-1, -2)))

    def marginal(self, kept: Indices) -> Covariance:
        """Return the dense covariance of some coordinates."""
        return self.transform(np.eye(self.dimension)[kept])

    def condition(
        self, kept: Indices, given: Indices, shift: Array
    ) -> tuple[Array, Covariance]:
        """Return ``-P_aa^-1 P_ab shift`` and the precision ``P_aa``."""
        remaining = PrecisionForm(_block(self.precision, kept, kept))
        pull = _rows_times(shift, _block(self.precision, given, kept))
        return -remaining.factor.solve(pull[..., None])[..., 0], remaining


@dataclass(frozen=True, eq=False)
class LowRankCovariance(Covariance):
    """``W W' + diag(D)`` for a thin ``W``; every answer costs ``d r^2`` unless dense is asked.

    With ``U = D^-1/2 W = Q sqrt(m) V'``, the scaled matrix is ``I + U U'``, whose powers differ
    from the identity only on the ``r`` columns of ``U V``.
    """

    factor: Annotated[Array, Form("... d r")]
    noise: Annotated[Array, Form("... d", SMALLEST)]
    _event_dims: ClassVar[dict[str, int]] = {"factor": 2, "noise": 1}

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return int(self.factor.shape[-2])

    @cached_property
    def _axes(self) -> tuple[Array, Array]:
        """The columns ``U V``, shape (*batch, d, r), and their squared lengths ``m``."""
        scaled = self.factor / np.sqrt(self.noise)[..., None]
        lengths, rotation = np.linalg.eigh(scaled.swapaxes(-1, -2) @ scaled)
        return scaled @ rotation, np.maximum(lengths, 0.0)

    def require_valid(self) -> None:
        """Raise an error unless the factor is finite and all noise positive."""
        real("factor", self.factor)
        positive("noise", self.noise, "Pass variances.")
        np.broadcast_shapes(self.factor.shape[:-1], self.noise.shape)

    def dense(self) -> Array:
        """Return the matrix, at a cost of d squared."""
        noise = self.noise[..., None] * np.eye(self.dimension)
        return self.factor @ self.factor.swapaxes(-1, -2) + noise

    def diagonal(self) -> Array:
        """Return the variances."""
        return np.asarray((self.factor**2).sum(axis=-1) + self.noise)

    def log_det(self) -> Array:
        """Return ``sum log D + sum log(1 + m)``."""
        extra = np.log1p(self._axes[1]).sum(axis=-1)
        return np.asarray(np.log(self.noise).sum(axis=-1) + extra)

    def whiten(self, residual: Array) -> Array:
        """Return ``(I + U U')^-1/2 D^-1/2 residual``."""
        root = np.sqrt(1.0 + self._axes[1])
        return self._stretch(residual / np.sqrt(self.noise), -1.0 / (root * (1.0 + root)))

    def color(self, standard: Array) -> Array:
        """Return ``D^1/2 (I + U U')^1/2 standard``."""
        root = np.sqrt(1.0 + self._axes[1])
        return np.sqrt(self.noise) * self._stretch(standard, 1.0 / (1.0 + root))

    def _stretch(self, x: Array, amount: Array) -> Array:
        """Return ``x + (U V) diag(amount) (U V)' x``."""
        columns = self._axes[0]
        inner = amount * _rows_times(x, columns)
        return x + _rows_times(inner, columns.swapaxes(-1, -2))

    def transform(self, a: Array) -> Covariance:
        """Return ``a (W W' + D) a'`` without the d x d matrix."""
        thin, wide = a @ self.factor, a * np.sqrt(self.noise)[..., None, :]
        matrix = thin @ thin.swapaxes(-1, -2) + wide @ wide.swapaxes(-1, -2)
        return DenseCovariance(symmetrize(matrix))

    def marginal(self, kept: Indices) -> Covariance:
        """Return the same form for some coordinates."""
        return LowRankCovariance(self.factor[..., kept, :], self.noise[..., kept])

    def condition(
        self, kept: Indices, given: Indices, shift: Array
    ) -> tuple[Array, Covariance]:
        """Return the same form, with the hidden vector conditioned on the given coordinates."""
        seen, noise = self.factor[..., given, :], self.noise[..., given]
        scaled = seen / noise[..., None]
        hidden = PrecisionForm(np.eye(seen.shape[-1]) + seen.swapaxes(-1, -2) @ scaled)
        pull = _rows_times(shift, scaled)
        shown = self.factor[..., kept, :]
        hidden_mean = hidden.factor.solve(pull[..., None])[..., 0]
        change = _rows_times(hidden_mean, shown.swapaxes(-1, -2))
        return change, LowRankCovariance(shown @ hidden._root, self.noise[..., kept])


def _rows_times(x: Array, matrix: Array) -> Array:
    """Return ``x matrix`` for vectors along the last axis, by BLAS if there is one matrix."""
    if matrix.ndim == 2:
        return as_float(x @ matrix)
    return as_float((x[..., None, :] @ matrix)[..., 0, :])


def _block(matrix: Array, rows: Indices, columns: Indices) -> Array:
    return matrix[..., rows[:, None], columns]


Given = Mapping[int, ArrayLike] | Sequence[int]


@dataclass(frozen=True, eq=False)
class Elliptical(Distribution):
    """A center and a covariance-like matrix in some stored form.

    Attributes
    ----------
    loc
        Center, shape (*batch, d).
    form
        The matrix, as it is stored.
    """

    loc: Array
    form: Covariance
    _event_dims: ClassVar[dict[str, int]] = {"loc": 1}

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one outcome, (d,)."""
        return self.loc.shape[-1:]

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return int(self.loc.shape[-1])

    @property
    def jitter(self) -> float:
        """What had to be added to the diagonal to factor the stored matrix."""
        return self.form.jitter

    def mode(self) -> Array:
        """Return the center, where the density peaks."""
        return self._vectors(self.loc)

    def whiten(self, x: ArrayLike) -> Array:
        """Return coordinates in which the contours are unit spheres, shape (..., d)."""
        return self.form.whiten(as_float(x) - self.loc)

    def variance(self) -> Array:
        """Return the variance of each coordinate, shape (*batch, d)."""
        return self._vectors(self._spread()[..., None] * self.form.diagonal())

    def covariance(self) -> Array:
        """Return the covariance matrix, shape (*batch, d, d)."""
        matrix = self._spread()[..., None, None] * self.form.dense()
        return np.array(np.broadcast_to(matrix, self.batch_shape + self.event_shape * 2))

    def correlation(self) -> Array:
        """Return the correlation matrix, shape (*batch, d, d)."""
        std = np.sqrt(self.form.diagonal())
        return np.asarray(self.form.dense() / (std[..., :, None] * std[..., None, :]))

    def principal_axes(self) -> tuple[Array, Array]:
        """Return variances along the principal axes, largest first, and the axes as columns."""
        variances, axes = np.linalg.eigh(self.covariance())
        return variances[..., ::-1], axes[..., ::-1]

    @abstractmethod
    def log_prob_at(self, distance: Array) -> Array:
        """Return the log density at squared distances from the center, in its own metric."""

    def _spread(self) -> Array:
        """Return the factor from the stored matrix to the covariance, shape (*batch)."""
        return np.ones(())

    def _distance(self, x: ArrayLike) -> Array:
        value = as_float(x)
        is_infinite = np.isinf(value)
        distance = (self.whiten(np.where(is_infinite, 0.0, value)) ** 2).sum(axis=-1)
        # Whitening mixes coordinates, and infinities of either sign would make a NaN.
        return np.asarray(np.where(is_infinite.any(axis=-1), distance + np.inf, distance))

    def _vectors(self, values: Array) -> Array:
        return np.array(np.broadcast_to(values, self.batch_shape + self.event_shape))

    def require_valid(self) -> None:
        """Raise an error unless center and matrix are valid and agree."""
        self.form.require_valid()
        self._matching_center(self.loc, self.form)
        _ = self.batch_shape

    def _matching_center(self, loc: ArrayLike, form: Covariance) -> Array:
        center = np.atleast_1d(real("loc", loc))
        if center.shape[-1] != form.dimension:
            raise ValueError(
                "loc must have as many coordinates as the matrix; found "
                f"{center.shape[-1]} and {form.dimension}. The last axis of loc counts them."
            )
        return center

    def _split(
        self, given: Given, values: ArrayLike | None
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
        """Return the free and the known coordinates, and by how much the known ones are off."""
        if isinstance(given, Mapping) and given:
            values = np.stack(np.broadcast_arrays(*map(as_float, given.values())), axis=-1)
        known = np.array(list(given), dtype=np.intp)
        if values is None or not 0 < len(np.unique(known)) == known.size < self.dimension:
            raise ValueError(
                f"given must fix some but not all of {self.dimension} coordinates, each with a "
                f"value; found indices {known.tolist()}. Pass {{index: value}}."
            )
        free = np.delete(np.arange(self.dimension), known)
        return free, known, real("values", values) - self.loc[..., known]


def dense_form(name: str, matrix: ArrayLike) -> DenseCovariance:
    """Return a checked matrix in dense form, already factored."""
    form = DenseCovariance(square(name, matrix))
    _ = form.factor
    return form
