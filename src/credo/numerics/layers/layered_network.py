"""Layers of units as one function of inputs and parameters, with all its derivatives.

The parameters are one vector ``w``: for each layer its weights ``W`` of shape (n_in, n_out),
row by row, then its biases ``b``. Rows ``A`` of the layer before become

    Z = A W + b,    A' = g(Z)

and the last layer is linear. Backpropagation goes the other way: of a loss with slopes ``D`` by
the last ``Z``, the gradient by ``W`` is ``A^T D``, that by ``b`` the sum of the rows of ``D``,
and the slopes one layer before are ``D W^T * g'(Z)``. The derivative of both passes along a
direction gives Hessian-vector products at the cost of two gradients [pearlmutter1994]_.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from credo.numerics.array import Array
from credo.numerics.layers.activation import Activation, activation_named
from credo.numerics.quotation import quote

__all__ = ["ForwardPass", "LayerParameters", "LayeredNetwork", "LossDerivatives"]


class LayerParameters(NamedTuple):
    """Weights (n_in, n_out) and biases (n_out,) of one layer."""

    weights: Array
    biases: Array


class LossDerivatives(NamedTuple):
    """A loss of outputs: its value, slopes (n, k) and curvatures (n, k, k) row by row."""

    value: float
    slope: Array
    curvature: Array


class ForwardPass(NamedTuple):
    """What rows become in each layer.

    Attributes
    ----------
    inputs
        Weighted inputs ``Z`` of each layer, shapes (n, n_out).
    units
        Rows, and the values of each hidden layer, shapes (n, n_in).
    """

    inputs: list[Array]
    units: list[Array]

    @property
    def outputs(self) -> Array:
        """Values of the last layer, shape (n, k)."""
        return self.inputs[-1]


@dataclass(frozen=True)
class LayeredNetwork:
    """A network of layers, each of which sees all units of the one before.

    Attributes
    ----------
    sizes
        Number of inputs, of units of each hidden layer, and of outputs.
    activation
        What hidden units do: "identity", "sigmoid", "tanh", "relu" or "threshold".

    Examples
    --------
    >>> network = LayeredNetwork((2, 3, 1), "tanh")
    >>> network.n_parameters
    13
    >>> network.outputs(np.zeros(13), np.ones((4, 2))).shape
    (4, 1)
    """

    sizes: tuple[int, ...]
    activation: str = "tanh"

    def __post_init__(self) -> None:
        if len(self.sizes) < 2 or any(size < 1 for size in self.sizes[1:]):
            raise ValueError(
                "sizes must be the number of inputs, units of each hidden layer, and outputs, "
                f"with at least one unit in each layer; found {quote(self.sizes)}. Leave out "
                "layers without units."
            )
        activation_named(self.activation)

    @property
    def unit(self) -> Activation:
        """What a hidden unit does."""
        return activation_named(self.activation)

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """Where the parameters of each layer begin, and where the last ends."""
        counts = [(a + 1) * b for a, b in zip(self.sizes, self.sizes[1:], strict=False)]
        return (0, *np.cumsum(counts).tolist())

    @property
    def n_layers(self) -> int:
        """Number of layers with weights, the last included."""
        return len(self.sizes) - 1

    @property
    def n_parameters(self) -> int:
        """Number of weights and biases."""
        return self.ends[-1]

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return self.sizes[-1]

    def layers(self, parameters: Array) -> list[LayerParameters]:
        """Return weights and biases of each layer, as views."""
        found = []
        for i, start in enumerate(self.ends[:-1]):
            n_in, n_out = self.sizes[i], self.sizes[i + 1]
            middle = start + n_in * n_out
            weights = parameters[start:middle].reshape(n_in, n_out)
            found.append(LayerParameters(weights, parameters[middle : middle + n_out]))
        return found

    def forward(self, parameters: Array, x: Array) -> ForwardPass:
        """Return what rows (n, d) become in each layer."""
        inputs, units = [], [x]
        layers = self.layers(parameters)
        for layer in layers:
            inputs.append(units[-1] @ layer.weights + layer.biases)
            if len(inputs) < len(layers):
                units.append(self.unit.value(inputs[-1]))
        return ForwardPass(inputs, units)

    def outputs(self, parameters: Array, x: Array) -> Array:
        """Return the outputs of rows (n, d), shape (n, k)."""
        return self.forward(parameters, x).outputs

    def pull_back(self, parameters: Array, seen: ForwardPass, slope: Array) -> Array:
        """Return the gradient (p,) of a loss with slopes (n, k) by the outputs."""
        gradient = np.empty(self.n_parameters)
        layers, parts = self.layers(parameters), self.layers(gradient)
        for i in range(self.n_layers - 1, -1, -1):
            np.matmul(seen.units[i].T, slope, out=parts[i].weights)
            slope.sum(axis=0, out=parts[i].biases)
            if i:
                slope = (slope @ layers[i].weights.T) * self._slope(seen, i)
        return gradient

    def jacobian(self, parameters: Array, x: Array, first: int = 0) -> Array:
        """Return the derivatives of the outputs of rows by the parameters, shape (n, k, p).

        Parameters
        ----------
        first
            Layer from which on parameters count; those before are left out.
        """
        return self.jacobian_of(parameters, self.forward(parameters, x), first)

    def jacobian_of(self, parameters: Array, seen: ForwardPass, first: int = 0) -> Array:
        """Return the same of rows that went through the network."""
        layers, begin = self.layers(parameters), self.ends[first]
        n, k = seen.outputs.shape
        found = np.empty((n, k, self.n_parameters - begin))
        for output in range(k):
            slope = np.zeros((n, k))
            slope[:, output] = 1.0
            for i in range(self.n_layers - 1, first - 1, -1):
                units = seen.units[i]
                middle = self.ends[i] + units.shape[1] * slope.shape[1] - begin
                part = found[:, output, self.ends[i] - begin : middle]
                np.multiply(
                    units[:, :, None],
                    slope[:, None, :],
                    out=_split(part, units.shape[1], slope.shape[1]),
                )
                found[:, output, middle : self.ends[i + 1] - begin] = slope
                if i > first:
                    slope = (slope @ layers[i].weights.T) * self._slope(seen, i)
        return found

    def push_forward(self, parameters: Array, seen: ForwardPass, direction: Array) -> Array:
        """Return the derivative of the outputs along a direction (p,), shape (n, k)."""
        return self._pushed(parameters, seen, direction)[0][-1]

    def hessian_product(
        self, parameters: Array, seen: ForwardPass, loss: LossDerivatives, direction: Array
    ) -> Array:
        """Return the Hessian of a loss of the outputs times a direction (p,), exactly."""
        layers, moves = self.layers(parameters), self.layers(direction)
        moved_inputs, moved_units = self._pushed(parameters, seen, direction)
        slope = loss.slope
        moved = np.einsum("nij,nj->ni", loss.curvature, moved_inputs[-1])
        product = np.empty(self.n_parameters)
        parts = self.layers(product)
        for i in range(self.n_layers - 1, -1, -1):
            parts[i].weights[:] = moved_units[i].T @ slope + seen.units[i].T @ moved
            parts[i].biases[:] = moved.sum(axis=0)
            if i:
                back = slope @ layers[i].weights.T
                own = self._slope(seen, i)
                bend = self.unit.bend(seen.inputs[i - 1], seen.units[i])
                moved = (moved @ layers[i].weights.T + slope @ moves[i].weights.T) * own
                moved += back * bend * moved_inputs[i - 1]
                slope = back * own
        return product

    def hessian(
        self, parameters: Array, x: Array, loss: Callable[[Array], LossDerivatives]
    ) -> Array:
        """Return the exact Hessian (p, p) of a loss of the outputs of rows."""
        seen = self.forward(parameters, x)
        derivatives = loss(seen.outputs)
        columns = [
            self.hessian_product(parameters, seen, derivatives, direction)
            for direction in np.eye(self.n_parameters)
        ]
        whole = np.stack(columns, axis=1)
        return np.asarray(0.5 * (whole + whole.T))

    def _slope(self, seen: ForwardPass, layer: int) -> Array:
        return self.unit.slope(seen.inputs[layer - 1], seen.units[layer])

    def _pushed(
        self, parameters: Array, seen: ForwardPass, direction: Array
    ) -> tuple[list[Array], list[Array]]:
        """Return the derivatives along a direction of weighted inputs and of units."""
        inputs: list[Array] = []
        units = [np.zeros_like(seen.units[0])]
        both = zip(self.layers(parameters), self.layers(direction), strict=True)
        for i, (layer, move) in enumerate(both):
            moved = units[i] @ layer.weights + seen.units[i] @ move.weights + move.biases
            inputs.append(moved)
            if i + 1 < self.n_layers:
                units.append(self._slope(seen, i + 1) * moved)
        return inputs, units


def _split(part: Array, n_in: int, n_out: int) -> Array:
    """Return a view (n, n_in, n_out) of columns (n, n_in * n_out) of a larger array."""
    shape, (step, size) = (len(part), n_in, n_out), part.strides
    return np.lib.stride_tricks.as_strided(part, shape, (step, size * n_out, size))
