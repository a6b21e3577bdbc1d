"""Moments of a normal density times a likelihood, by panels that follow both.

Edges of the panels are laid at multiples of three scales, that of the normal, that of the
likelihood and that of their product at its mode, so that none is lost however far apart or
different in width they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from credo.distributions.quadrature import panels
from credo.numerics.array import Array

__all__ = ["Tilted", "TiltedNodes", "tilted_nodes"]

MULTIPLES = np.array([-9.0, -5.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 5.0, 9.0])
FAR_MULTIPLES = np.concatenate([[-60.0, -30.0, -16.0], MULTIPLES, [16.0, 30.0, 60.0]])
ORDER = 8
MODE_STEPS = 30
LOG_TWO_PI = float(np.log(2 * np.pi))


@dataclass(frozen=True, eq=False)
class Tilted:
    """The log of ``Z = integral p(y | f) N(f | mean, variance) df``, one for each row.

    Attributes
    ----------
    log_z
        Log of the integral, shape (n,).
    slope, curvature
        Its first and second derivative by the mean: the density that is integrated has mean
        ``mean + variance slope`` and variance ``variance + variance^2 curvature``.
    """

    log_z: Array
    slope: Array
    curvature: Array


@dataclass(frozen=True, eq=False)
class TiltedNodes:
    """Nodes (q, n) of the product of a normal and a likelihood, and shares that sum to one."""

    nodes: Array
    share: Array
    log_z: Array

    def mean(self, values: Array) -> Array:
        """Return the mean of values at the nodes, shape (..., n)."""
        return np.asarray((values * self.share).sum(axis=-2))

    def tilted(self, mean: Array, variance: Array) -> Tilted:
        """Return the integral with its derivatives by the mean of the normal."""
        gap = (self.nodes - mean) / np.sqrt(variance)
        first = self.mean(gap)
        second = self.mean((gap - first) ** 2)
        return Tilted(self.log_z, first / np.sqrt(variance), (second - 1.0) / variance)


def tilted_nodes(
    log_prob: Callable[[Array], Array],
    bend: Callable[[Array], tuple[Array, Array]],
    mean: Array,
    variance: Array,
    landmark: tuple[Array, Array],
) -> TiltedNodes:
    """Return nodes that integrate a likelihood against a normal.

    Parameters
    ----------
    log_prob
        Log likelihood of each row at nodes of shape (q, n).
    bend
        First derivative of the log likelihood at (n,), and a bound on minus the second.
    mean, variance
        Of the normal, shape (n,).
    landmark
        Where the likelihood is highest, or changes most, and over what length; shape (n,).

    Examples
    --------
    >>> zero, one = np.zeros(1), np.ones(1)
    >>> bell, bend = lambda x: -0.5 * x**2, lambda x: (-x, one)
    >>> at = tilted_nodes(bell, bend, zero, one, (zero, one))
    >>> at.log_z.round(6)  # the integral of exp(-f^2) over that of exp(-f^2 / 2)
    array([-0.346574])
    """
    center, width = landmark
    spread = np.sqrt(variance)
    peak, curvature = _mode(bend, mean, variance, center)
    steps, far = MULTIPLES[:, None], FAR_MULTIPLES[:, None]
    edges = np.concatenate(
        [mean + spread * steps, center + width * far, peak + steps / np.sqrt(curvature)]
    )
    nodes, weight = panels(np.sort(edges, axis=0), ORDER)
    gap = (nodes - mean) / spread
    logs = log_prob(nodes) - 0.5 * gap**2
    top = logs.max(axis=0)
    share = weight * np.exp(logs - top)
    total = share.sum(axis=0)
    log_z = top + np.log(total) - 0.5 * LOG_TWO_PI - np.log(spread)
    return TiltedNodes(nodes, share / total, np.asarray(log_z))


def _mode(
    bend: Callable[[Array], tuple[Array, Array]], mean: Array, variance: Array, center: Array
) -> tuple[Array, Array]:
    """Return a mode of the product, which lies between the two, and its curvature."""
    low, high = np.minimum(mean, center), np.maximum(mean, center)
    at = mean
    curvature = 1.0 / variance
    for _ in range(MODE_STEPS):
        slope, bound = bend(at)
        curvature = 1.0 / variance + np.maximum(bound, 0.0)
        slope = slope - (at - mean) / variance
        low, high = np.where(slope > 0, at, low), np.where(slope > 0, high, at)
        moved = at + slope / curvature
        is_out = (moved < low) | (moved > high)
        moved = np.where(is_out, 0.5 * (low + high), moved)
        if np.all(np.abs(moved - at) * np.sqrt(curvature) < 0.1):
            break
        at = moved
    return at, curvature
