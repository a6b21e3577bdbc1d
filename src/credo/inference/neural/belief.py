"""What is believed of the parameters of a network: a Gaussian at a mode, or draws."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from numpy.random import Generator

from credo.inference.neural.curvature import (
    ENTRIES_AT_ONCE,
    DiagonalPrecision,
    FullPrecision,
    KroneckerPrecision,
)
from credo.inference.neural.problem import NetworkSettings
from credo.numerics.array import Array
from credo.numerics.form import Form
from credo.numerics.layers.layered_network import LayeredNetwork

__all__ = ["NetworkBelief", "NetworkMixture"]


@dataclass(frozen=True, eq=False)
class NetworkBelief:
    """A Gaussian around the parameters of a network.

    Attributes
    ----------
    network
        The function of the inputs.
    parameters
        Its mean, the mode, shape (p,).
    precision
        How well parameters of layers from ``first`` on are known; None if for sure.
    first
        Layer from which on parameters are unknown.
    settings
        Learned precisions and noise.
    freedom
        Residuals by which the noise of each output is known, empty if it is not constant.
    """

    network: LayeredNetwork
    parameters: Annotated[Array, Form("p")]
    precision: FullPrecision | DiagonalPrecision | KroneckerPrecision | None
    first: int
    settings: NetworkSettings
    freedom: Annotated[Array, Form("k", 0.0)]

    def moments(self, x: Array) -> tuple[Array, Array]:
        """Return mean (n, k) and covariance (n, k, k) of the outputs, linear in parameters.

        ``h(x, w) ~ h(x, mode) + g^T (w - mode)`` gives the variance ``g^T A^-1 g``.
        """
        k = self.network.n_outputs
        means, covariances = [np.empty((0, self.network.n_outputs))], []
        for rows in self._blocks(x):
            seen = self.network.forward(self.parameters, rows)
            means.append(seen.outputs)
            if self.precision is None:
                covariances.append(np.zeros((len(rows), k, k)))
                continue
            jacobian = self.network.jacobian_of(self.parameters, seen, self.first)
            covariances.append(self.precision.output_covariance(jacobian))
        return np.concatenate(means), np.concatenate([np.empty((0, k, k)), *covariances])

    def sample(self, rng: Generator, n: int) -> Array:
        """Return draws of all parameters, shape (n, p)."""
        draws = np.tile(self.parameters, (n, 1))
        if self.precision is None:
            return draws
        draws[:, self.network.ends[self.first] :] += self.precision.sample(rng, n)
        return draws

    def points(self, rng: Generator, n: int) -> tuple[NetworkBelief, ...]:
        """Return draws of the parameters, each as a belief that knows them for sure."""
        draws = self.sample(rng, n)
        return tuple(replace(self, parameters=draw, precision=None) for draw in draws)

    def _blocks(self, x: Array) -> Iterator[Array]:
        size = max(1, ENTRIES_AT_ONCE // (self.network.n_parameters * self.network.n_outputs))
        for start in range(0, len(x), size):
            yield x[start : start + size]


@dataclass(frozen=True, eq=False)
class NetworkMixture:
    """Several beliefs about the parameters of one network, one of which holds.

    Attributes
    ----------
    parts
        Gaussians, or points.
    shares
        Probability of each, shape (m,).
    """

    parts: tuple[NetworkBelief, ...]
    shares: Annotated[Array, Form("m", 0.0, 1.0)]

    @property
    def network(self) -> LayeredNetwork:
        """The function of the inputs."""
        return self.parts[0].network

    def sample(self, rng: Generator, n: int) -> Array:
        """Return draws of all parameters, shape (n, p)."""
        chosen = rng.choice(len(self.parts), n, p=self.shares)
        draws = np.empty((n, self.network.n_parameters))
        for i in np.unique(chosen):
            own = chosen == i
            draws[own] = self.parts[i].sample(rng, int(own.sum()))
        return draws
