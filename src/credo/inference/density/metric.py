"""Metrics (mass matrices) of trajectories: covariances as scales and a few directions."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from credo.numerics.array import Array
from credo.numerics.parallel.threads import threads_for, threads_for_matrix

__all__ = ["Metric", "clipped", "learned_metric"]


class Metric(NamedTuple):
    """The matrix ``S (I + U' diag(w) U) S``, a guess of the covariance.

    Attributes
    ----------
    scale
        Scales, the diagonal of S, shape (d,).
    directions
        Orthonormal rows U, shape (k, d).
    weights
        Excess w of the variance along each, shape (k,).
    """

    scale: Array
    directions: Array
    weights: Array

    def momenta(self, noise: Array) -> tuple[Array, Array]:
        """Return momenta of the inverse covariance, and velocities, from standard normals."""
        if not len(self.weights):
            return noise / self.scale, noise * self.scale
        # Threads of such small products go on waiting for work while the loops run.
        with threads_for(0.0):
            return self._momenta(noise)

    def _momenta(self, noise: Array) -> tuple[Array, Array]:
        root = np.sqrt(1.0 + self.weights)
        more = [(1.0 / root - 1.0)[:, None], (root - 1.0)[:, None]]
        both = np.concatenate([self.directions * part for part in more], axis=1)
        d = len(self.scale)
        if not self._is_narrow:
            both = self.directions.T @ both
            both[np.arange(d), np.arange(d)] += 1.0
            both[np.arange(d), d + np.arange(d)] += 1.0
            found = noise @ both
            return found[:, :d] / self.scale, found[:, d:] * self.scale
        found = (noise @ self.directions.T) @ both
        return (noise + found[:, :d]) / self.scale, (noise + found[:, d:]) * self.scale

    @property
    def _is_narrow(self) -> bool:
        """Whether to multiply by directions takes less than by a whole matrix."""
        return 2 * len(self.weights) < len(self.scale)

    def rows(self) -> Array:
        """Return the directions, or the whole matrix where that is quicker to multiply by."""
        if self._is_narrow:
            return self.directions
        found = np.eye(len(self.scale)) + (self.directions.T * self.weights) @ self.directions
        return np.asarray(self.scale[:, None] * found * self.scale)

    def diagonal(self) -> Self:
        """Return the metric of the variances alone."""
        variance = 1.0 + self.weights @ self.directions**2
        d = len(self.scale)
        return self._replace(
            scale=self.scale * np.sqrt(variance),
            directions=np.zeros((0, d)),
            weights=np.zeros(0),
        )

    def times(self, vector: Array) -> Array:
        """Return the matrix times a vector."""
        scaled = self.scale * vector
        along = self.weights * (self.directions @ scaled)
        return np.asarray(self.scale * (scaled + along @ self.directions))


STEADY = 1e-10
"""Spread of slopes, as a share of their size, that is rounding alone."""


def learned_metric(draws: Array, gradients: Array, kind: str) -> Metric:
    """Return the metric that draws and gradients at them, (n, d) each, tell.

    The diagonal is ``sqrt(var(q) / var(g))``, or ``var(q)`` where gradients do not vary, as on
    one side of a kink. The rest is the geometric mean of the covariance
    of draws and the inverse of that of gradients, in the space that both span, with directions
    left out in which it hardly differs from one.
    """
    spread, slope = draws.std(axis=0), gradients.std(axis=0)
    varies = slope > STEADY * np.abs(gradients).max(axis=0, initial=0.0)
    plain = np.where(spread > 0.0, clipped(spread), 1.0)
    scale = np.where(varies, np.sqrt(clipped(spread) / clipped(slope)), plain)
    d = len(scale)
    if kind == "diagonal":
        return Metric(scale, np.zeros((0, d)), np.zeros(0))
    with threads_for_matrix(d):
        return _with_directions(scale, draws, gradients, kind)


def _with_directions(scale: Array, draws: Array, gradients: Array, kind: str) -> Metric:
    n, d = draws.shape
    spread, slope = draws.std(axis=0), gradients.std(axis=0)
    # Away from the mode both are large alike, which does not change what they say together.
    unit = np.sqrt(max(float((spread * slope).max()), 1e-200))
    parts = [
        (draws - draws.mean(axis=0)) / (scale * unit),
        (gradients - gradients.mean(axis=0)) * (scale / unit),
    ]
    span = np.eye(d)
    if 2 * n < d:
        span = np.linalg.qr(np.concatenate(parts).T)[0].T
    # As if a hundredth of a draw more had been seen of a standard normal distribution.
    cov, slope_cov = (
        (part.T @ part + 0.01 * np.eye(len(span))) / n
        for part in (part @ span.T for part in parts)
    )
    values, vectors = np.linalg.eigh(_geometric_mean(cov, slope_cov))
    values = np.clip(values, 1e-8, 1e8)
    least = 2.0 if kind == "low_rank" else 1.0 + 1e-9
    is_kept = np.abs(np.log(values)) > np.log(least)
    directions = np.ascontiguousarray(vectors[:, is_kept].T @ span)
    return Metric(scale, directions, values[is_kept] - 1.0)


def clipped(spread: Array) -> Array:
    """Return spreads that can be divided by, one where they are not finite."""
    return np.clip(np.where(np.isfinite(spread), spread, 1.0), 1e-100, 1e100)


def _geometric_mean(cov: Array, slope_cov: Array) -> Array:
    """Return the matrix M with ``M slope_cov M = cov``."""
    values, vectors = np.linalg.eigh(slope_cov)
    root = (vectors * np.sqrt(values)) @ vectors.T
    inverse = (vectors / np.sqrt(values)) @ vectors.T
    middle, axes = np.linalg.eigh(root @ cov @ root)
    found = inverse @ ((axes * np.sqrt(np.maximum(middle, 0.0))) @ axes.T) @ inverse
    return np.asarray(0.5 * (found + found.T))
