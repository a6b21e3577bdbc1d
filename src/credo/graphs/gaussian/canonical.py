"""Arrays of the canonical form ``exp(g + h'x - x'Kx / 2)``, with any leading axes.

``K`` has shape (..., d, d), ``h`` (..., d) and ``g`` (...); coordinates come last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from credo.distributions.normal import LOG_ROOT_TWO_PI
from credo.numerics.array import Array
from credo.numerics.linear.linear_algebra import cholesky, symmetrize

__all__ = ["Canonical"]


class Canonical(NamedTuple):
    """``K``, ``h`` and ``g`` of one or many quadratic exponents."""

    precision: Array
    shift: Array
    log_scale: Array

    def placed(self, place: Sequence[int], dimension: int) -> Canonical:
        """Return the form over more coordinates, those of this one at ``place``."""
        lead = self.shift.shape[:-1]
        precision, shift = np.zeros((*lead, dimension, dimension)), np.zeros((*lead, dimension))
        index = np.asarray(place, dtype=np.intp)
        precision[..., index[:, None], index] = self.precision
        shift[..., index] = self.shift
        return Canonical(precision, shift, self.log_scale)

    def times(self, other: Canonical) -> Canonical:
        """Return the product of two forms over the same coordinates."""
        return Canonical(
            self.precision + other.precision,
            self.shift + other.shift,
            self.log_scale + other.log_scale,
        )

    def restricted(self, known: Sequence[int], values: Array) -> Canonical:
        """Return the form over the other coordinates where these have given values."""
        free, fixed = self._others(known), np.asarray(known, dtype=np.intp)
        cross = self.precision[..., free[:, None], fixed]
        inner = self.precision[..., fixed[:, None], fixed]
        change = self.shift[..., fixed] @ values - 0.5 * (inner @ values) @ values
        return Canonical(
            self.precision[..., free[:, None], free],
            self.shift[..., free] - cross @ values,
            self.log_scale + change,
        )

    def integrated(self, dropped: Sequence[int]) -> Canonical:
        """Return the form over the other coordinates, integrated over these.

        With blocks ``b`` dropped and ``a`` left: ``K = K_aa - K_ab K_bb^-1 K_ba``,
        ``h = h_a - K_ab K_bb^-1 h_b``, ``g + (n log 2 pi - log|K_bb| + h_b' K_bb^-1 h_b) / 2``.
        """
        free, gone = self._others(dropped), np.asarray(dropped, dtype=np.intp)
        factor = cholesky(self.precision[..., gone[:, None], gone], largest_jitter=0.0)
        both = np.concatenate(
            [self.precision[..., gone[:, None], free], self.shift[..., gone, None]], axis=-1
        )
        solved = factor.solve(both)
        cross, pull = both[..., :-1].swapaxes(-1, -2), solved[..., -1]
        energy = np.einsum("...i,...i->...", self.shift[..., gone], pull)
        gain = 0.5 * (energy - factor.log_det()) + gone.size * LOG_ROOT_TWO_PI
        return Canonical(
            symmetrize(self.precision[..., free[:, None], free] - cross @ solved[..., :-1]),
            self.shift[..., free] - np.einsum("...ij,...j->...i", cross, pull),
            self.log_scale + gain,
        )

    def moments(self) -> tuple[Array, Array, Array]:
        """Return the log integral, the mean and the covariance."""
        factor = cholesky(self.precision, largest_jitter=0.0)
        mean = factor.solve(self.shift[..., None])[..., 0]
        energy = np.einsum("...i,...i->...", self.shift, mean)
        n = self.shift.shape[-1]
        log_mass = self.log_scale + 0.5 * (energy - factor.log_det()) + n * LOG_ROOT_TWO_PI
        return log_mass, mean, factor.inverse()

    def _others(self, some: Sequence[int]) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        return np.setdiff1d(np.arange(self.shift.shape[-1]), np.asarray(some, dtype=np.intp))
