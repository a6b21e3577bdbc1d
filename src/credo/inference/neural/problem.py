"""The weights of a network as unknowns: rows, outcomes, and priors of each layer.

    w of layer l ~ N(0, 1 / precision_l),    precision_l ~ Gamma(c / 2, c v_l / 2)

Weights of one layer share a precision, which is learned; outputs of two kinds, means and logs
of variances, have one each. ``v_l`` is the variance by which units neither saturate nor vanish,
and functions are wide beside the outcomes; it counts as much as ``c = 3`` weights, which is
little beside those of a layer. Biases are not decayed: those of outputs have a flat prior, and
those of hidden units one ten times as wide as the inputs, beyond which no unit turns within
reach of the rows. It cannot be flat, since the likelihood does not see the bias of a unit that
is constant, and nothing would be left to normalize. The precision of constant noise has the
prior ``Gamma(1 / 2, least / 2)``, of one more residual that is small.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import special

from credo.inference.neural.outcome import NormalOutcome, Outcome
from credo.numerics.array import Array
from credo.numerics.form import Form
from credo.numerics.layers.layered_network import LayeredNetwork
from credo.numerics.linear.linear_algebra import LOG_TWO_PI

__all__ = [
    "BIAS_PRECISION",
    "LEAST_NOISE",
    "PRIOR_COUNT",
    "NetworkProblem",
    "NetworkSettings",
]

BIAS, FLAT = -1, -2

BIAS_PRECISION = 0.01
"""Prior precision of biases of hidden units, of inputs with a standard deviation of one."""

PRIOR_COUNT = 3.0
"""Weights that the prior of a precision counts as much as."""

LEAST_NOISE = 1e-4
"""Square of a residual that is small for outcomes of variance one."""

WIDE = 25.0
"""Variance of the function before the data, over that of the outcomes, to start from."""

ROWS_AT_ONCE = 2_048
"""Rows that go through a network together."""

FIRST_NOISE = 0.1
"""Variance of the noise to start from."""


@dataclass(frozen=True, eq=False)
class NetworkSettings:
    """Logs of the precisions of the weights (g,), and of the noise (k,), empty if it varies."""

    log_precision: Annotated[Array, Form("g")]
    log_noise: Annotated[Array, Form("k")]

    def toward(self, other: Self, share: float) -> Self:
        """Return settings on the way to others, a share of it."""
        precision = (1.0 - share) * self.log_precision + share * other.log_precision
        noise = (1.0 - share) * self.log_noise + share * other.log_noise
        return replace(self, log_precision=precision, log_noise=noise)


@dataclass(frozen=True, eq=False)
class NetworkProblem:
    """Rows, outcomes and the network between them.

    Attributes
    ----------
    network
        As many outputs as the outcome needs.
    x
        Inputs, shape (n, d), of about unit variance.
    outcome
        Outcomes and weights of the rows.
    first
        Layer from which on parameters are unknown; those before stay as they are.
    least_noise
        Square of the residual that the prior of constant noise counts.
    """

    network: LayeredNetwork
    x: Array
    outcome: Outcome
    first: int = 0
    least_noise: float = LEAST_NOISE

    @cached_property
    def group(self) -> NDArray[np.intp]:
        """Which precision each parameter has, counted from 0; `BIAS` or `FLAT` for none."""
        network, last = self.network, self.network.n_layers - 1
        found = np.empty(network.n_parameters, dtype=np.intp)
        for i, layer in enumerate(network.layers(found.astype(np.float64))):
            own = np.full(layer.weights.shape, i)
            if i == last:
                own = own + self.outcome.output_group
            biases = np.full(layer.biases.shape, FLAT if i == last else BIAS)
            found[network.ends[i] : network.ends[i + 1]] = np.append(own.ravel(), biases)
        return found

    @cached_property
    def natural_variance(self) -> Array:
        """Variance of the weights of each group by which units stay moderate, shape (g,)."""
        network = self.network
        sizes = np.array(network.sizes[:-1], dtype=np.float64)
        n_last = int(self.outcome.output_group.max()) + 1
        by_layer = network.unit.gain**2 / np.maximum(sizes, 1.0)
        if network.n_layers > 1:
            by_layer[-1] *= WIDE
        return np.append(by_layer[:-1], np.full(n_last, by_layer[-1]))

    @cached_property
    def count(self) -> Array:
        """Number of weights of each group, shape (g,)."""
        own = self.group[self.network.ends[self.first] :]
        found = np.bincount(own[own >= 0], minlength=len(self.natural_variance))
        return found.astype(np.float64)

    @property
    def has_noise(self) -> bool:
        """Whether there is constant noise to learn."""
        return isinstance(self.outcome, NormalOutcome)

    @property
    def n_rows(self) -> float:
        """Total weight of the rows."""
        return float(self.outcome.weight.sum())

    def start(self, rng: Generator) -> tuple[Array, NetworkSettings]:
        """Return random parameters, and settings to start from."""
        network, found = self.network, np.zeros(self.network.n_parameters)
        layers = network.layers(found)
        for i, layer in enumerate(layers):
            scale = np.sqrt(self.natural_variance[i])
            layer.weights[:] = scale * rng.standard_normal(layer.weights.shape)
            if i < network.n_layers - 1:
                layer.biases[:] = self._first_biases(layer.weights, i, rng)
        layers[-1].weights[:] *= 0.1
        layers[-1].biases[:] = self.outcome.start
        n_noise = self.outcome.n_outputs if self.has_noise else 0
        return found, NetworkSettings(
            -np.log(self.natural_variance), np.full(n_noise, -np.log(FIRST_NOISE))
        )

    def _first_biases(self, weights: Array, layer: int, rng: Generator) -> Array:
        """Return biases by which units are about zero at a random row, or at random points."""
        if layer or not len(self.x):
            return np.asarray(rng.standard_normal(weights.shape[1]))
        rows = rng.integers(len(self.x), size=weights.shape[1])
        return np.asarray(-np.einsum("nd,dn->n", self.x[rows], weights))

    def at(self, settings: NetworkSettings) -> Self:
        """Return the problem with the noise of settings."""
        if not isinstance(self.outcome, NormalOutcome):
            return self
        return replace(self, outcome=self.outcome.at(np.exp(settings.log_noise)))

    def prior(self, settings: NetworkSettings) -> Array:
        """Return the prior precision of each parameter, zero where it is flat, shape (p,)."""
        table = np.append(np.exp(settings.log_precision), [0.0, BIAS_PRECISION])
        return np.asarray(table[self.group])

    def free_prior(self, settings: NetworkSettings) -> Array:
        """Return the prior precisions of the unknown parameters, shape (q,)."""
        return self.prior(settings)[self.network.ends[self.first] :]

    def by_group(self, values: Array) -> Array:
        """Return the sum over the weights of each group of something (q,), shape (g,)."""
        own = self.group[self.network.ends[self.first] :]
        is_weight = own >= 0
        found = np.bincount(own[is_weight], values[is_weight], len(self.natural_variance))
        return found.astype(np.float64)

    @property
    def is_linear(self) -> bool:
        """Whether outputs are linear in the unknown parameters, and noise is normal."""
        return self.first == self.network.n_layers - 1 and self.has_noise

    def value_and_gradient(self, parameters: Array, prior: Array) -> tuple[float, Array]:
        """Return minus the log of likelihood times prior, without its constant, and slopes."""
        loss, gradient = self._loss_and_gradient(parameters, self.x, self.outcome)
        pull = prior * parameters
        value = loss + 0.5 * float(pull @ parameters)
        gradient += pull
        gradient[: self.network.ends[self.first]] = 0.0
        return value, gradient

    def _loss_and_gradient(
        self, parameters: Array, x: Array, outcome: Outcome
    ) -> tuple[float, Array]:
        """Return the loss of rows and its slopes, of blocks that stay near the processor."""
        if len(x) > ROWS_AT_ONCE:
            loss, gradient = 0.0, np.zeros(self.network.n_parameters)
            for start in range(0, len(x), ROWS_AT_ONCE):
                own = slice(start, start + ROWS_AT_ONCE)
                part = self._loss_and_gradient(parameters, x[own], outcome.taken(own))
                loss += part[0]
                gradient += part[1]
            return loss, gradient
        seen = self.network.forward(parameters, x)
        loss, slope = outcome.loss(seen.outputs)
        return loss, self.network.pull_back(parameters, seen, slope)

    def thinned(self, most: int) -> Self:
        """Return at most so many rows, evenly chosen, that weigh as much as all together."""
        step = -(-len(self.x) // most)
        if step <= 1:
            return self
        rows = slice(None, None, step)
        part = self.outcome.taken(rows)
        share = self.n_rows / float(part.weight.sum())
        return replace(self, x=self.x[rows], outcome=part.weighed(share * part.weight))

    def log_prior_constant(self, settings: NetworkSettings) -> float:
        """Return the log of the constant of the prior of the unknown parameters."""
        n_bias = int(np.sum(self.group[self.network.ends[self.first] :] == BIAS))
        total = float(self.count @ (settings.log_precision - LOG_TWO_PI))
        return 0.5 * (total + n_bias * (float(np.log(BIAS_PRECISION)) - LOG_TWO_PI))

    def log_settings_prior(self, settings: NetworkSettings) -> float:
        """Return the log density of the logs of the precisions under their prior."""
        used = self.count > 0
        shape, logs = 0.5 * PRIOR_COUNT, settings.log_precision[used]
        rate = shape * self.natural_variance[used]
        each = shape * (np.log(rate) + logs) - special.gammaln(shape) - rate * np.exp(logs)
        return float(each.sum())

    def log_noise_prior(self, settings: NetworkSettings) -> float:
        """Return the log of what one more residual that is small says of the noise."""
        logs = settings.log_noise
        return 0.5 * float((logs - self.least_noise * np.exp(logs)).sum())
