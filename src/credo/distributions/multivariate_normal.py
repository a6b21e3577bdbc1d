"""The normal distribution of a vector, and the algebra of Gaussians."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from credo.distributions.elliptical import (
    Covariance,
    DenseCovariance,
    Elliptical,
    Given,
    LowRankCovariance,
    PrecisionForm,
    dense_form,
)
from credo.distributions.normal import LOG_ROOT_TWO_PI
from credo.distributions.parameter import positive, real, require, square
from credo.numerics.array import Array, as_float
from credo.numerics.linear.linear_algebra import cholesky, solve_lower, symmetrize

__all__ = ["MultivariateNormal"]


@dataclass(frozen=True, eq=False)
class MultivariateNormal(Elliptical):
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

    def __init__(self, loc: ArrayLike, covariance: ArrayLike) -> None:
        form = dense_form("covariance", covariance)
        self._set(loc=self._matching_center(loc, form), form=form)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        spread = [[2.0, 0.6], [0.6, 1.0]]
        return (
            cls([[0.0, 1.0], [2.0, 0.0]], spread),
            cls([0.0, 0.0], np.eye(2)),
            cls.from_precision([0.0, 1.0], spread),
            cls.from_low_rank([0.0, 1.0], [[1.0], [2.0]], 0.5),
        )

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
            "diagonal of correlation",
            np.diagonal(matrix, axis1=-2, axis2=-1),
            lambda v: np.abs(v - 1) < 1e-8,
            "one",
            "Pass a covariance to the constructor itself.",
        )
        return cls(loc, matrix * spread[..., :, None] * spread[..., None, :])

    @classmethod
    def _of(cls, loc: ArrayLike, form: Covariance) -> Self:
        new = object.__new__(cls)
        new._set(loc=new._matching_center(loc, form), form=form)
        return new

    def log_prob(self, x: ArrayLike) -> Array:
        """Return the log density of vectors along the last axis of ``x``."""
        return self.log_prob_at(self._distance(x))

    def log_prob_at(self, distance: Array) -> Array:
        """Return the log density at squared distances from the center, in its own metric."""
        return -0.5 * (distance + self.form.log_det()) - self.dimension * LOG_ROOT_TWO_PI

    def mean(self) -> Array:
        """Return the mean, shape (*batch, d)."""
        return self._vectors(self.loc)

    def entropy(self) -> Array:
        """Return the expectation of ``-log_prob``, in nats."""
        return self._full(0.5 * self.form.log_det() + self.dimension * (0.5 + LOG_ROOT_TWO_PI))

    def marginal(self, indices: Sequence[int] | int) -> Self:
        """Return the distribution of some coordinates, whatever the others are."""
        kept = np.atleast_1d(np.asarray(indices, dtype=np.intp))
        return self._of(self.loc[..., kept], self.form.marginal(kept))

    def condition(self, given: Given, values: ArrayLike | None = None) -> Self:
        """Return the distribution of the other coordinates once some are known.

        Parameters
        ----------
        given
            Known coordinates: a mapping from index to value, or indices with ``values``.
        values
            Values of the known coordinates along the last axis, shape (..., n_given).
        """
        free, known, shift = self._split(given, values)
        change, form = self.form.condition(free, known, shift)
        return self._of(self.loc[..., free] + change, form)

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
        factor = cholesky(first + second)
        half = solve_lower(factor.lower, first)
        pull = factor.whiten(other.loc - self.loc)
        loc = self.loc + np.einsum("...ij,...i->...j", half, pull)
        matrix = half.swapaxes(-1, -2) @ solve_lower(factor.lower, second)
        return self._of(loc, DenseCovariance(symmetrize(matrix))), total.log_prob(self.loc)

    def _draw(self, rng: Generator, shape: tuple[int, ...]) -> Array:
        return self.loc + self.form.color(rng.standard_normal(shape + self.event_shape))

    def _kl(self, other: Self) -> Array:
        # Columns of a root of one covariance, whitened by the other: their length is the trace.
        roots = self.form[..., None].color(np.eye(self.dimension))
        trace = (other.form[..., None].whiten(roots) ** 2).sum(axis=(-2, -1))
        change = other.form.log_det() - self.form.log_det()
        shift = other._distance(self.loc)
        return np.asarray(0.5 * (trace + shift - self.dimension + change))
