"""How the log likelihood of a network bends at its parameters, and Gaussians made of that.

The Gauss-Newton matrix is ``H = sum of (R J)^T (R J)`` over rows, with the Jacobian ``J`` of
the outputs and a root ``R`` of the Fisher information of the outcome. It is kept whole, or its
diagonal, or for each layer as a Kronecker product of the second moments of what comes in and of
what comes back, ``H ~ A (x) G`` (K-FAC) [martens2015]_. With the precisions of a prior on top,
each is the precision matrix of a Gaussian. A prior precision of zero is flat.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, NamedTuple

import numpy as np
from numpy.random import Generator

from credo.inference.neural.outcome import Outcome
from credo.numerics.array import Array
from credo.numerics.form import Form
from credo.numerics.layers.layered_network import LayeredNetwork
from credo.numerics.linear.linear_algebra import (
    cholesky,
    dpotrf,
    dpotri,
    dsyrk,
    dtrsv,
    solve_lower,
)

__all__ = [
    "CURVATURES",
    "Curvature",
    "DiagonalCurvature",
    "DiagonalPrecision",
    "FullCurvature",
    "FullPrecision",
    "KroneckerCurvature",
    "KroneckerPrecision",
    "Precision",
    "weighted_jacobians",
]

ENTRIES_AT_ONCE = 1 << 22
"""Numbers of a Jacobian that are held at once."""

NEARLY_FLAT = 1e-6
"""Precision that stands for a flat prior where a product needs one."""


@dataclass(frozen=True, eq=False)
class FullPrecision:
    """A Gaussian by the factor ``L`` of its precision matrix ``L L^T``, zero above."""

    lower: Annotated[Array, Form("p p")]

    def log_det(self) -> float:
        """Return the log determinant of the precision matrix."""
        return 2.0 * float(np.log(np.diagonal(self.lower)).sum())

    def variances(self) -> Array:
        """Return the variance of each parameter."""
        return np.diagonal(self._covariance).copy()

    def log_det_slopes(self, rows: Array, moves: list[Array]) -> Array:
        """Return how the log determinant changes as rows (m, p) of a root move, each way."""
        pull = rows @ self._covariance
        return np.array([2.0 * float(np.vdot(pull, move)) for move in moves])

    def scaled(self, factor: float) -> FullPrecision:
        """Return the Gaussian with a precision so many times as high."""
        return FullPrecision(np.sqrt(factor) * self.lower)

    @cached_property
    def _covariance(self) -> Array:
        half, _ = dpotri(self.lower)
        whole = half + half.T
        whole[np.diag_indices_from(whole)] *= 0.5
        return np.asarray(whole)

    def output_covariance(self, jacobian: Array) -> Array:
        """Return covariances of linear functions."""
        n, k, p = jacobian.shape
        white = solve_lower(self.lower, jacobian.reshape(n * k, p).T).T.reshape(n, k, p)
        return white @ white.transpose(0, 2, 1)

    def sample(self, rng: Generator, n: int) -> Array:
        """Return draws of deviations."""
        noise = rng.standard_normal((len(self.lower), n))
        return solve_lower(self.lower, noise, transposed=True).T

    def solve(self, v: Array) -> Array:
        """Return the covariance times a vector (p,)."""
        return dtrsv(self.lower, dtrsv(self.lower, v), trans_a=True)

    def guide(self) -> Array:
        """Return the factor."""
        return self.lower


@dataclass(frozen=True, eq=False)
class DiagonalPrecision:
    """A Gaussian of independent parameters, by their precisions."""

    diagonal: Annotated[Array, Form("p", 0.0)]

    def log_det(self) -> float:
        """Return the log determinant of the precision matrix."""
        return float(np.log(self.diagonal).sum())

    def variances(self) -> Array:
        """Return the variance of each parameter."""
        return np.asarray(1.0 / self.diagonal)

    def output_covariance(self, jacobian: Array) -> Array:
        """Return covariances of linear functions."""
        return np.asarray((jacobian / self.diagonal) @ jacobian.transpose(0, 2, 1))

    def sample(self, rng: Generator, n: int) -> Array:
        """Return draws of deviations."""
        noise = rng.standard_normal((n, len(self.diagonal)))
        return np.asarray(noise / np.sqrt(self.diagonal))

    def solve(self, v: Array) -> Array:
        """Return the covariance times a vector (p,)."""
        return np.asarray(v / self.diagonal)

    def guide(self) -> Array:
        """Return the diagonal."""
        return self.diagonal

    def scaled(self, factor: float) -> DiagonalPrecision:
        """Return the Gaussian with a precision so many times as high."""
        return DiagonalPrecision(factor * self.diagonal)


class _Factors(NamedTuple):
    """Of one layer: scales of what comes in and goes out, and axes with their moments."""

    scale_in: Array
    scale_out: Array
    axes_in: Array
    axes_out: Array
    moments: Array


@dataclass(frozen=True, eq=False)
class KroneckerPrecision:
    """A Gaussian whose layers are independent, each with a Kronecker product for a precision.

    With the prior ``1 / (s_i t_j)^2`` of the weight from i to j, that over ``s_i t_j`` has the
    precision ``1 + A (x) G``, whose axes are those of ``A`` and ``G``.

    Attributes
    ----------
    n_in, n_out
        Rows (inputs and the bias) and columns of the weights of each layer.
    values
        For each layer: scales ``s``, ``t``, axes of ``A``, of ``G``, and the products of their
        moments, one after the other.
    """

    n_in: tuple[int, ...]
    n_out: tuple[int, ...]
    values: Annotated[Array, Form("v")]

    def log_det(self) -> float:
        """Return the log determinant of the precision matrix."""
        total = 0.0
        for part in self._layers():
            scales = np.log(part.scale_in)[:, None] + np.log(part.scale_out)
            total += float((np.log1p(part.moments) - 2.0 * scales).sum())
        return total

    def variances(self) -> Array:
        """Return the variance of each parameter."""
        found = []
        for part in self._layers():
            inner = part.axes_in**2 @ (1.0 / (1.0 + part.moments)) @ (part.axes_out**2).T
            found.append((np.outer(part.scale_in, part.scale_out) ** 2 * inner).ravel())
        return np.concatenate(found)

    def output_covariance(self, jacobian: Array) -> Array:
        """Return covariances of linear functions."""
        white = np.concatenate(
            [
                (self._turned(block, part) / np.sqrt(1.0 + part.moments)).reshape(
                    *jacobian.shape[:2], -1
                )
                for block, part in self._blocks(jacobian)
            ],
            axis=2,
        )
        return np.asarray(white @ white.transpose(0, 2, 1))

    def sample(self, rng: Generator, n: int) -> Array:
        """Return draws of deviations."""
        found = []
        for part in self._layers():
            noise = rng.standard_normal((n, *part.moments.shape)) / np.sqrt(1.0 + part.moments)
            turned = part.axes_in @ noise @ part.axes_out.T
            scaled = turned * part.scale_in[:, None] * part.scale_out
            found.append(scaled.reshape(n, -1))
        return np.concatenate(found, axis=1)

    def solve(self, v: Array) -> Array:
        """Return the covariance times a vector (p,)."""
        found = []
        for block, part in self._blocks(v[None, None]):
            turned = self._turned(block, part)[0, 0] / (1.0 + part.moments)
            back = part.axes_in @ turned @ part.axes_out.T
            found.append((back * part.scale_in[:, None] * part.scale_out).ravel())
        return np.concatenate(found)

    def guide(self) -> Array:
        """Return the inverse variance of each parameter."""
        return np.asarray(1.0 / self.variances())

    def scaled(self, factor: float) -> KroneckerPrecision:
        """Return the Gaussian with a precision so many times as high."""
        parts = []
        for part in self._layers():
            own = part._replace(scale_in=part.scale_in / np.sqrt(factor))
            parts += [piece.ravel() for piece in own]
        return KroneckerPrecision(self.n_in, self.n_out, np.concatenate(parts))

    def _turned(self, block: Array, part: _Factors) -> Array:
        scaled = block * part.scale_in[:, None] * part.scale_out
        return np.asarray(part.axes_in.T @ scaled @ part.axes_out)

    def _blocks(self, jacobian: Array) -> Iterator[tuple[Array, _Factors]]:
        begin = 0
        for part in self._layers():
            size = part.moments.size
            block = jacobian[..., begin : begin + size]
            yield block.reshape(*jacobian.shape[:2], *part.moments.shape), part
            begin += size

    def _layers(self) -> Iterator[_Factors]:
        place = 0
        for a, b in zip(self.n_in, self.n_out, strict=True):
            parts = []
            for shape in ((a,), (b,), (a, a), (b, b), (a, b)):
                size = int(np.prod(shape))
                parts.append(self.values[place : place + size].reshape(shape))
                place += size
            yield _Factors(*parts)


Precision = FullPrecision | DiagonalPrecision | KroneckerPrecision
"""A Gaussian around parameters, by its precision matrix."""


def weighted_jacobians(
    network: LayeredNetwork, parameters: Array, x: Array, outcome: Outcome, first: int = 0
) -> Iterator[Array]:
    """Yield ``R J`` of blocks of rows, shape (m, p)."""
    n_free = network.n_parameters - network.ends[first]
    size = max(1, ENTRIES_AT_ONCE // (n_free * network.n_outputs))
    for start in range(0, len(x), size):
        own = slice(start, start + size)
        seen = network.forward(parameters, x[own])
        jacobian = network.jacobian_of(parameters, seen, first)
        root = outcome.taken(own).root(seen.outputs)
        if root.shape[1:] == (1, 1):
            jacobian *= root
            yield jacobian[:, 0]
        else:
            yield (root @ jacobian).reshape(-1, n_free)


@dataclass(frozen=True, eq=False)
class FullCurvature:
    """The Gauss-Newton matrix (p, p) by its lower triangle; what is above is zero."""

    matrix: Array

    @classmethod
    def of(
        cls,
        network: LayeredNetwork,
        parameters: Array,
        x: Array,
        outcome: Outcome,
        first: int = 0,
    ) -> FullCurvature:
        """Return the curvature at parameters, by those of layers from ``first`` on."""
        n_free = network.n_parameters - network.ends[first]
        total = np.zeros((n_free, n_free), order="F")
        for rows in weighted_jacobians(network, parameters, x, outcome, first):
            total = dsyrk(1.0, rows.T, 1.0, total, overwrite_c=True)
        return cls(total)

    def precision(self, prior: Array) -> FullPrecision:
        """Return the Gaussian with prior precisions on top."""
        factor, failed = dpotrf(self._with(prior), overwrite_a=True)
        if failed:
            lower = np.tril(self._with(prior))
            factor = cholesky(lower + np.tril(lower, -1).T).lower
        return FullPrecision(factor)

    def _with(self, prior: Array) -> Array:
        whole = self.matrix.copy(order="F")
        whole[np.diag_indices_from(whole)] += prior
        return whole

    def scaled(self, factor: float) -> FullCurvature:
        """Return the curvature times a number."""
        return FullCurvature(factor * self.matrix)


@dataclass(frozen=True, eq=False)
class DiagonalCurvature:
    """The diagonal (p,) of the Gauss-Newton matrix."""

    diagonal: Array

    @classmethod
    def of(
        cls,
        network: LayeredNetwork,
        parameters: Array,
        x: Array,
        outcome: Outcome,
        first: int = 0,
    ) -> DiagonalCurvature:
        """Return the curvature at parameters, by those of layers from ``first`` on."""
        blocks = weighted_jacobians(network, parameters, x, outcome, first)
        return cls(np.sum([np.einsum("np,np->p", rows, rows) for rows in blocks], axis=0))

    def precision(self, prior: Array) -> DiagonalPrecision:
        """Return the Gaussian with prior precisions on top."""
        return DiagonalPrecision(np.maximum(self.diagonal + prior, NEARLY_FLAT))

    def scaled(self, factor: float) -> DiagonalCurvature:
        """Return the curvature times a number."""
        return DiagonalCurvature(factor * self.diagonal)


@dataclass(frozen=True, eq=False)
class KroneckerCurvature:
    """For each layer the moments ``A`` of what comes in, with the bias, and ``G``."""

    incoming: tuple[Array, ...]
    returning: tuple[Array, ...]

    @classmethod
    def of(
        cls,
        network: LayeredNetwork,
        parameters: Array,
        x: Array,
        outcome: Outcome,
        first: int = 0,
    ) -> KroneckerCurvature:
        """Return the curvature at parameters, by those of layers from ``first`` on."""
        seen = network.forward(parameters, x)
        layers = network.layers(parameters)
        weight, root = outcome.weight, outcome.root(seen.outputs)
        total = float(weight.sum())
        incoming, returning = [], []
        # The root holds the weight of a row already, which counts in the other factor alone.
        plain = np.where(weight > 0, 1.0 / np.sqrt(np.where(weight > 0, weight, 1.0)), 0.0)
        back = root * plain[:, None, None]
        for i in range(network.n_layers - 1, first - 1, -1):
            units = np.column_stack([seen.units[i], np.ones(len(x))])
            incoming.append((units * weight[:, None]).T @ units)
            flat = (back * np.sqrt(weight / total)[:, None, None]).reshape(-1, back.shape[2])
            returning.append(flat.T @ flat)
            if i > first:
                slope = network.unit.slope(seen.inputs[i - 1], seen.units[i])
                back = (back @ layers[i].weights.T) * slope[:, None, :]
        return cls(tuple(incoming[::-1]), tuple(returning[::-1]))

    def precision(self, prior: Array) -> KroneckerPrecision:
        """Return the Gaussian with prior precisions on top, of inputs times those of units."""
        parts: list[Array] = []
        begin = 0
        for a, g in zip(self.incoming, self.returning, strict=True):
            shape = (len(a), len(g))
            own = np.maximum(prior[begin : begin + a.shape[0] * g.shape[0]], NEARLY_FLAT)
            logs = -0.5 * np.log(own.reshape(shape))
            scale_in = np.exp(logs[:, 0])
            scale_out = np.exp(logs[0] - logs[0, 0])
            values_in, axes_in = np.linalg.eigh(a * np.outer(scale_in, scale_in))
            values_out, axes_out = np.linalg.eigh(g * np.outer(scale_out, scale_out))
            moments = np.outer(np.maximum(values_in, 0.0), np.maximum(values_out, 0.0))
            parts += [scale_in, scale_out, axes_in.ravel(), axes_out.ravel(), moments.ravel()]
            begin += len(a) * len(g)
        n_in = tuple(len(a) for a in self.incoming)
        n_out = tuple(len(g) for g in self.returning)
        return KroneckerPrecision(n_in, n_out, np.concatenate(parts))

    def scaled(self, factor: float) -> KroneckerCurvature:
        """Return the curvature times a number."""
        return KroneckerCurvature(self.incoming, tuple(factor * g for g in self.returning))


Curvature = FullCurvature | DiagonalCurvature | KroneckerCurvature
"""The Gauss-Newton matrix of the log likelihood, or what is kept of it."""

CURVATURES: dict[str, type[Curvature]] = {
    "full": FullCurvature,
    "kronecker": KroneckerCurvature,
    "diagonal": DiagonalCurvature,
}
