"""Principal components: orthogonal directions of largest variance, and what they leave out.

With ``K = V diag(v) V'`` for the covariance of the rows (with 1/n) and ``v`` falling, the first
``c`` columns of ``V`` are the axes along which rows vary most; of all planes of ``c``
dimensions theirs has the least squared distance from the rows, ``n`` times the sum of the
other ``v``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Self

import numpy as np
from numpy.random import Generator
from scipy import linalg

from credo.numerics.array import Array
from credo.numerics.form import Form
from credo.numerics.linear.moments import Moments

__all__ = ["PrincipalAxes"]

OVERSAMPLES, POWERS = 10, 4
"""More directions than are wanted in a random search, and how often they are turned by the
rows towards those of large variance [halko2011]_."""

FEW = 0.8
"""Share of all axes above which finding them all is quicker than finding some."""


@dataclass(frozen=True, eq=False)
class PrincipalAxes:
    """Center, axes and variances of rows, those of largest variance first.

    Attributes
    ----------
    center
        Mean of the rows, shape (d,).
    axes
        Orthonormal directions, one a row, shape (c, d). The entry of each that is largest in
        size is positive, since a direction has no sign of its own.
    variance
        Variance of the rows along each axis, falling, shape (c,).
    total
        Variance in all directions together.

    Examples
    --------
    >>> rows = np.array([[0.0, 0.0], [2.0, 2.0], [4.0, 4.0], [2.0, 2.0]])
    >>> found = PrincipalAxes.of_rows(rows, 1)
    >>> found.axes.round(4), found.variance.round(4), round(found.lost, 4)
    (array([[0.7071, 0.7071]]), array([4.]), 0.0)
    """

    center: Annotated[Array, Form("d")]
    axes: Annotated[Array, Form("c d")]
    variance: Annotated[Array, Form("c", 0.0)]
    total: Annotated[float, Form(low=0.0)]

    @classmethod
    def of_moments(cls, moments: Moments, n_axes: int | None = None) -> Self:
        """Return the axes of summarized rows, all if ``n_axes`` is None."""
        covariance = moments.scatter / moments.weight
        d = len(covariance)
        n = d if n_axes is None else n_axes
        some = (d - n, d - 1) if n < FEW * d else None
        variance, columns = linalg.eigh(covariance, subset_by_index=some)
        last = slice(None, -n - 1, -1)
        return cls._oriented(
            moments.mean, columns.T[last], variance[last], float(np.trace(covariance))
        )

    @classmethod
    def of_rows(cls, x: Array, n_axes: int | None = None, weight: Array | None = None) -> Self:
        """Return the axes of rows (n, d), by whichever of their sides is shorter."""
        if len(x) > x.shape[1]:
            return cls.of_moments(Moments.of([x], weight), n_axes)
        center, scaled = _centered(x, weight)
        _, root, axes = linalg.svd(scaled, full_matrices=False)
        total = float(root @ root)
        return cls._oriented(center, axes[:n_axes], root[:n_axes] ** 2, total)

    @classmethod
    def by_random_directions(
        cls, x: Array, n_axes: int, rng: Generator, weight: Array | None = None
    ) -> Self:
        """Return the first axes of a large table, by random directions turned towards them.

        Each turn costs two products with the rows. Variances that differ from the next by a
        factor of ``r`` are known to about ``r^(2 turns + 1)`` digits.
        """
        center, scaled = _centered(x, weight)
        n_directions = min(n_axes + OVERSAMPLES, *scaled.shape)
        basis = scaled @ rng.standard_normal((scaled.shape[1], n_directions))
        for _ in range(POWERS):
            turned = linalg.qr(basis, mode="economic")[0]
            turned = linalg.qr(scaled.T @ turned, mode="economic")[0]
            basis = scaled @ turned
        within = linalg.qr(basis, mode="economic")[0]
        _, root, axes = linalg.svd(within.T @ scaled, full_matrices=False)
        total = float(np.vdot(scaled, scaled))
        return cls._oriented(center, axes[:n_axes], root[:n_axes] ** 2, total)

    @classmethod
    def _oriented(cls, center: Array, axes: Array, variance: Array, total: float) -> Self:
        largest = np.abs(axes).argmax(axis=1)
        sign = np.where(axes[np.arange(len(axes)), largest] < 0.0, -1.0, 1.0)
        return cls(center, sign[:, None] * axes, np.maximum(variance, 0.0), total)

    @property
    def lost(self) -> float:
        """Variance in the directions that are left out."""
        return max(self.total - float(self.variance.sum()), 0.0)

    def first(self, n_axes: int) -> Self:
        """Return the first axes alone."""
        return type(self)(self.center, self.axes[:n_axes], self.variance[:n_axes], self.total)

    def place(self, x: Array) -> Array:
        """Return coordinates (n, c) of rows (n, d) along the axes."""
        return np.asarray((x - self.center) @ self.axes.T)

    def restore(self, place: Array) -> Array:
        """Return the rows (n, d) at coordinates (n, c)."""
        return np.asarray(place @ self.axes + self.center)

    def squared_distance(self, x: Array) -> Array:
        """Return the squared distance of rows (n, d) from the plane of the axes, shape (n,)."""
        away = x - self.center
        away -= (away @ self.axes.T) @ self.axes
        return np.asarray(np.square(away).sum(axis=1))


def _centered(x: Array, weight: Array | None) -> tuple[Array, Array]:
    """Return the mean of rows, and rows less it that have the covariance as their product."""
    share = np.full(len(x), 1.0 / len(x)) if weight is None else weight / weight.sum()
    center = share @ x
    return center, (x - center) * np.sqrt(share)[:, None]
