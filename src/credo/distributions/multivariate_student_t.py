"""Student's t distribution of a vector."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy import special

from credo.distributions.elliptical import Elliptical, Given, dense_form
from credo.distributions.parameter import positive
from credo.distributions.student_t import digamma_half_step, variance_at_unit_scale
from credo.numerics.array import Array

__all__ = ["MultivariateStudentT"]


@dataclass(frozen=True, eq=False)
class MultivariateStudentT(Elliptical):
    """Multivariate t: a normal whose covariance is scaled by an unknown inverse-gamma factor.

    Attributes
    ----------
    df
        Degrees of freedom, shape (*batch).
    loc
        Center, shape (*batch, d).
    form
        The scale matrix as it is stored; the covariance is ``df / (df - 2)`` times it.

    Examples
    --------
    >>> MultivariateStudentT(4.0, [0.0, 0.0], np.eye(2)).variance()
    array([2., 2.])
    """

    df: Array

    def __init__(self, df: ArrayLike, loc: ArrayLike, scale_matrix: ArrayLike) -> None:
        form = dense_form("scale_matrix", scale_matrix)
        self._set(
            df=positive("df", df, "Use MultivariateNormal for infinitely many."),
            loc=self._matching_center(loc, form),
            form=form,
        )

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return (cls(7.0, [0.0, 1.0], [[2.0, 0.6], [0.6, 1.0]]),)

    def require_valid(self) -> None:
        """Raise an error unless center, matrix and degrees of freedom are valid and agree."""
        positive("df", self.df)
        super().require_valid()

    @property
    def scale_matrix(self) -> Array:
        """The scale matrix, shape (*batch, d, d)."""
        return self.form.dense()

    def log_prob(self, x: ArrayLike) -> Array:
        """Return the log density of vectors along the last axis of ``x``."""
        return self.log_prob_at(self._distance(x))

    def log_prob_at(self, distance: Array) -> Array:
        """Return the log density at squared distances from the center, in its own metric."""
        growth = np.log1p(distance / self.df)
        return -self._log_normalizer() - 0.5 * (self.df + self.dimension) * growth

    def _log_normalizer(self) -> Array:
        half, size = 0.5 * self.df, 0.5 * self.dimension
        # One call keeps the digits that two large logarithms would cancel.
        ratio = special.betaln(half, size) - special.gammaln(size)
        return np.asarray(ratio + size * np.log(np.pi * self.df) + 0.5 * self.form.log_det())

    def mean(self) -> Array:
        """Return ``loc``, or NaN where ``df <= 1``."""
        return self._vectors(np.where(self.df[..., None] > 1, self.loc, np.nan))

    def entropy(self) -> Array:
        """Return the expectation of ``-log_prob``, in nats."""
        half, n_whole = 0.5 * self.df, self.dimension // 2
        # digamma(half + d / 2) - digamma(half), step by step so that nothing cancels.
        growth = np.zeros_like(half)
        for step in range(n_whole):
            growth = growth + 1.0 / (half + step)
        if self.dimension % 2:
            growth = growth + digamma_half_step(half + n_whole)
        return self._full(self._log_normalizer() + (half + 0.5 * self.dimension) * growth)

    def marginal(self, indices: Sequence[int] | int) -> Self:
        """Return the distribution of some coordinates, whatever the others are."""
        kept = np.atleast_1d(np.asarray(indices, dtype=np.intp))
        return self._rebuild(df=self.df, loc=self.loc[..., kept], form=self.form.marginal(kept))

    def condition(self, given: Given, values: ArrayLike | None = None) -> Self:
        """Return the distribution of the other coordinates once some are known.

        Each known coordinate adds a degree of freedom, and one that is further off than its
        scale widens what is left. Arguments as in `MultivariateNormal.condition`.
        """
        free, known, shift = self._split(given, values)
        change, form = self.form.condition(free, known, shift)
        distance = (self.form.marginal(known).whiten(shift) ** 2).sum(axis=-1)
        df = self.df + known.size
        widening = ((self.df + distance) / df)[..., None, None]
        return type(self)(df, self.loc[..., free] + change, widening * form.dense())

    def _spread(self) -> Array:
        return variance_at_unit_scale(self.df)

    def _draw(self, rng: Generator, shape: tuple[int, ...]) -> Array:
        direction = self.form.color(rng.standard_normal(shape + self.event_shape))
        shrink = np.sqrt(self.df / rng.chisquare(self.df, size=shape))
        return self.loc + shrink[..., None] * direction
