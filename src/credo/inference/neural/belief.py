"""What is believed of the parameters of a network: a Gaussian at a mode, or draws."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

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
    n_effective
        How many parameters the rows determine.
    """

    network: LayeredNetwork
    parameters: Annotated[Array, Form("p")]
    precision: FullPrecision | DiagonalPrecision | KroneckerPrecision | None
    first: int
    settings: NetworkSettings
    freedom: Annotated[Array, Form("k", 0.0)]
    n_effective: float

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

    def sample_outputs(self, x: Array, rng: Generator, n: int) -> Array:
        """Return the outputs (n, m, k) of rows under draws, linear in a Gaussian's as above."""
        draws = self.sample(rng, n)
        if self.precision is None:
            return np.stack([self.network.outputs(draw, x) for draw in draws])
        begin = self.network.ends[self.first]
        moved, found = draws[:, begin:] - self.parameters[begin:], []
        for rows in self._blocks(x):
            seen = self.network.forward(self.parameters, rows)
            jacobian = self.network.jacobian_of(self.parameters, seen, self.first)
            shift = moved @ jacobian.reshape(-1, moved.shape[1]).T
            found.append(seen.outputs + shift.reshape(n, *seen.outputs.shape))
        return np.concatenate([np.empty((n, 0, self.network.n_outputs)), *found], axis=1)

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

    @property
    def n_effective(self) -> float:
        """How many parameters the rows determine, the mean over the parts."""
        return float(self.shares @ [part.n_effective for part in self.parts])

    def sample(self, rng: Generator, n: int) -> Array:
        """Return draws of all parameters, shape (n, p)."""
        draws = np.empty((n, self.network.n_parameters))
        for part, own in self._chosen(rng, n):
            draws[own] = part.sample(rng, int(own.sum()))
        return draws

    def sample_outputs(self, x: Array, rng: Generator, n: int) -> Array:
        """Return the outputs (n, m, k) of rows under draws, linear in those of Gaussians."""
        found = np.empty((n, len(x), self.network.n_outputs))
        for part, own in self._chosen(rng, n):
            found[own] = part.sample_outputs(x, rng, int(own.sum()))
        return found

    def _chosen(
        self, rng: Generator, n: int
    ) -> Iterator[tuple[NetworkBelief, NDArray[np.bool_]]]:
        chosen = rng.choice(len(self.parts), n, p=self.shares)
        for i in np.unique(chosen):
            yield self.parts[i], chosen == i
