"""The normal distribution of a vector, and the algebra of Gaussians."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from credo.distributions.covariance import (
    Covariance,
    DenseCovariance,
    LowRankCovariance,
    PrecisionForm,
)
from credo.distributions.distribution import Distribution
from credo.distributions.normal import LOG_ROOT_TWO_PI
from credo.distributions.parameter import positive, real, require, square
from credo.numerics.array import Array, as_float
from credo.numerics.linear_algebra import cholesky, solve_lower, symmetrize

__all__ = ["MultivariateNormal"]


@dataclass(frozen=True, eq=False)
class MultivariateNormal(Distribution):
    """Normal distribution of a vector of ``d`` numbers.

    Attributes
    ----------
    loc
        Mean, shape (*batch, d).
    form
        The covariance as it is stored: dense, as a precision, or low rank plus diagonal.
        `covariance` returns the matrix.

    Examples
    --------
    >>> joint = MultivariateNormal(loc=[1.0, 2.0], covariance=[[2.0, 0.6], [0.6, 1.0]])
    >>> first = joint.condition({1: 3.0})
    >>> first.mean().round(4), first.covariance().round(4)
    (array([1.6]), array([[1.64]]))
    """

    loc: Array
    form: Covariance
    _event_dims: ClassVar[dict[str, int]] = {"loc": 1}

    def __init__(self, loc: ArrayLike, covariance: ArrayLike) -> None:
        form = DenseCovariance(square("covariance", covariance))
        _ = form.factor
        self._fill(loc, form)

    @classmethod
    def from_precision(cls, loc: ArrayLike, precision: ArrayLike) -> Self:
        """Return the distribution whose inverse covariance is ``precision``."""
        form = PrecisionForm(square("precision", precision))
        _ = form.factor
        return cls._of(loc, form)

    @classmethod
    def from_low_rank(cls, loc: ArrayLike, factor: ArrayLike, diagonal: ArrayLike) -> Self:
        """Return the distribution with covariance ``factor factor' + diag(diagonal)``.

        Densities and draws cost ``d r^2`` and never build the d x d matrix.

        Parameters
        ----------
        factor
            Shape (*batch, d, r).
        diagonal
            Positive variances, shape (*batch, d) or a number.
        """
        thin = real("factor", factor)
        noise = positive("diagonal", diagonal, "Pass variances.")
        noise = np.broadcast_to(noise, np.broadcast_shapes(noise.shape, thin.shape[-2:-1]))
        return cls._of(loc, LowRankCovariance(thin, noise))

    @classmethod
    def from_correlation(cls, loc: ArrayLike, scale: ArrayLike, correlation: ArrayLike) -> Self:
        """Return the distribution with standard deviations ``scale`` and these correlations.

        Conditioning it gives the linear rule
        ``E[b | a] = E[b] + correlation * scale_b * (a - E[a]) / scale_a``.

        Examples
        --------
        >>> correlation = [[1.0, 0.4], [0.4, 1.0]]
        >>> pair = MultivariateNormal.from_correlation([0.0, 2.0], [0.5, 3.0], correlation)
        >>> float(pair.condition({0: 1.0}).mean()[0].round(10))
        4.4
        """
        spread = positive("scale", scale)
        matrix = square("correlation", correlation)
        require(
            "correlation",
            np.diagonal(matrix, axis1=-2, axis2=-1),
            lambda v: np.abs(v - 1) < 1e-8,
            "one on its diagonal",
            "Pass a covariance to the constructor itself.",
        )
        return cls(loc, matrix * spread[..., :, None] * spread[..., None, :])

    @classmethod
    def _of(cls, loc: ArrayLike, form: Covariance) -> Self:
        new = object.__new__(cls)
        new._fill(loc, form)
        return new

    def _fill(self, loc: ArrayLike, form: Covariance) -> None:
        center = np.atleast_1d(real("loc", loc))
        if center.shape[-1] != form.dimension:
            raise ValueError(
                "loc must have as many coordinates as the covariance; found "
                f"{center.shape[-1]} and {form.dimension}. The last axis of loc counts them."
            )
        self._set(loc=center, form=form)

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one outcome, (d,)."""
        return self.loc.shape[-1:]

    @property
    def jitter(self) -> float:
        """What had to be added to the diagonal to factor the covariance or precision."""
        factor = getattr(self.form, "factor", None)
        return float(getattr(factor, "jitter", 0.0))

    def log_prob(self, x: ArrayLike) -> Array:
        """Return the log density of vectors along the last axis of ``x``."""
        distance = (self.whiten(x) ** 2).sum(axis=-1)
        size = self.loc.shape[-1]
        return -0.5 * (distance + self.form.log_det()) - size * LOG_ROOT_TWO_PI

    def mean(self) -> Array:
        """Return the mean, shape (*batch, d)."""
        return self._vectors(self.loc)

    def mode(self) -> Array:
        """Return the mean, where the density peaks."""
        return self._vectors(self.loc)

    def variance(self) -> Array:
        """Return the variance of each coordinate, shape (*batch, d)."""
        return self._vectors(self.form.diagonal())

    def covariance(self) -> Array:
        """Return the covariance matrix, shape (*batch, d, d)."""
        matrix = self.form.dense()
        return np.array(np.broadcast_to(matrix, self.batch_shape + matrix.shape[-2:]))

    def correlation(self) -> Array:
        """Return the correlation matrix, shape (*batch, d, d)."""
        std = self.std()
        return self.covariance() / (std[..., :, None] * std[..., None, :])

    def entropy(self) -> Array:
        """Return the expectation of ``-log_prob``, in nats."""
        size = self.loc.shape[-1]
        return self._full(0.5 * self.form.log_det() + size * (0.5 + LOG_ROOT_TWO_PI))

    def whiten(self, x: ArrayLike) -> Array:
        """Return coordinates in which this distribution is standard normal, shape (..., d)."""
        return self.form.whiten(as_float(x) - self.loc)

    def principal_axes(self) -> tuple[Array, Array]:
        """Return variances along the principal axes, largest first, and the axes as columns."""
        variances, axes = np.linalg.eigh(self.covariance())
        return variances[..., ::-1], axes[..., ::-1]

    def marginal(self, indices: Sequence[int] | int) -> Self:
        """Return the distribution of some coordinates, whatever the others are."""
        kept = np.atleast_1d(np.asarray(indices, dtype=np.intp))
        return self._of(self.loc[..., kept], self.form.marginal(kept))

    def condition(
        self, given: Mapping[int, ArrayLike] | Sequence[int], values: ArrayLike | None = None
    ) -> Self:
        """Return the distribution of the other coordinates once some are known.

        Parameters
        ----------
        given
            Known coordinates: a mapping from index to value, or indices with ``values``.
        values
            Values of the known coordinates along the last axis, shape (..., n_given).
        """
        if isinstance(given, Mapping):
            values = np.stack(np.broadcast_arrays(*map(as_float, given.values())), axis=-1)
        known = np.array(list(given), dtype=np.intp)
        if values is None or not 0 < known.size < self.loc.shape[-1]:
            raise ValueError(
                f"given must fix some but not all of {self.loc.shape[-1]} coordinates, each "
                f"with a value; found indices {known.tolist()}. Pass {{index: value}}."
            )
        kept = np.delete(np.arange(self.loc.shape[-1]), known)
        shift = real("values", values) - self.loc[..., known]
        change, form = self.form.condition(kept, known, shift)
        return self._of(self.loc[..., kept] + change, form)

    def affine(self, a: ArrayLike, b: ArrayLike = 0.0) -> Self:
        """Return the distribution of ``a x + b``, for ``a`` of shape (m, d)."""
        matrix = as_float(a)
        loc = np.einsum("...md,...d->...m", matrix, self.loc) + as_float(b)
        return self._of(loc, self.form.transform(matrix))

    def __add__(self, other: Self) -> Self:
        """Return the distribution of the sum of two independent vectors."""
        form = DenseCovariance(self.form.dense() + other.form.dense())
        return self._of(self.loc + other.loc, form)

    def product(self, other: Self) -> tuple[Self, Array]:
        """Return the Gaussian proportional to the product of two densities, and the log factor.

        ``N(x; m1, S1) N(x; m2, S2) = c N(x; m, S)`` with ``S = S1 (S1 + S2)^-1 S2``,
        ``m = m1 + S1 (S1 + S2)^-1 (m2 - m1)`` and ``c = N(m1; m2, S1 + S2)``.

        Examples
        --------
        >>> both, log_c = MultivariateNormal([0.0], 1.0).product(MultivariateNormal([3.0], 2.0))
        >>> both.mean(), both.variance().round(4), float(np.exp(log_c).round(10))
        (array([1.]), array([0.6667]), 0.0513934433)
        """
        first, second = self.form.dense(), other.form.dense()
        total = self._of(other.loc, DenseCovariance(first + second))
        factor = cholesky(total.form.dense())
        half = solve_lower(factor.lower, first)
        pull = factor.whiten(other.loc - self.loc)
        loc = self.loc + np.einsum("...ij,...i->...j", half, pull)
        matrix = half.swapaxes(-1, -2) @ solve_lower(factor.lower, second)
        return self._of(loc, DenseCovariance(symmetrize(matrix))), total.log_prob(self.loc)

    def _vectors(self, values: Array) -> Array:
        return np.array(np.broadcast_to(values, self.batch_shape + self.event_shape))

    def _draw(self, rng: Generator, shape: tuple[int, ...]) -> Array:
        return self.loc + self.form.color(rng.standard_normal(shape + self.event_shape))

    def _kl(self, other: Self) -> Array:
        size = self.loc.shape[-1]
        # Columns of a root of one covariance, whitened by the other: their length is the trace.
        roots = self[..., None].form.color(np.eye(size))
        trace = (other[..., None].form.whiten(roots) ** 2).sum(axis=(-2, -1))
        shift = (other.whiten(self.loc) ** 2).sum(axis=-1)
        return 0.5 * (trace + shift - size + other.form.log_det() - self.form.log_det())
