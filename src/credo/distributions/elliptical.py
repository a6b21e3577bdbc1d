"""Vectors whose density depends on the distance from a center in a covariance's metric."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.distributions.covariance import Covariance, DenseCovariance
from credo.distributions.distribution import Distribution
from credo.distributions.parameter import real, square
from credo.numerics.array import Array, as_float

__all__ = ["Elliptical", "dense_form"]

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
