"""The posterior of a network as a log density, for engines that draw or climb.

Weights are ``w = z / sqrt(precision)`` with standard normal ``z``, so that what the data leave
open of a layer does not depend on its precision. Biases of outputs, flat elsewhere, have the
wide prior of the others here, so that there is something to draw from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from credo.inference.engine.problem import LogDensity, Parameters
from credo.inference.neural.outcome import NormalOutcome
from credo.inference.neural.problem import (
    BIAS_PRECISION,
    PRIOR_COUNT,
    NetworkProblem,
    NetworkSettings,
)
from credo.numerics.array import Array
from credo.numerics.special.bijection import real

__all__ = ["NetworkDensity", "drawn_density", "fixed_density"]


@dataclass(frozen=True, eq=False)
class NetworkDensity:
    """Log of likelihood times priors, of parameters and the logs of the settings.

    Attributes
    ----------
    problem
        Whose parameters are all unknown.
    """

    problem: NetworkProblem

    def __call__(self, values: Mapping[str, Array]) -> tuple[float, dict[str, Array]]:
        """Return the log density of "standard", "log_precision" and "log_noise", and slopes."""
        problem, z = self.problem, values["standard"]
        settings = NetworkSettings(
            values["log_precision"], values.get("log_noise", np.zeros(0))
        )
        scale = self.scale(settings)
        parameters, here = z * scale, problem.at(settings)
        with np.errstate(over="ignore", invalid="ignore"):
            seen = problem.network.forward(parameters, problem.x)
            loss, slope = here.outcome.loss(seen.outputs)
        if not np.isfinite(loss):
            return -np.inf, {name: np.zeros_like(value) for name, value in values.items()}
        gradient = -problem.network.pull_back(parameters, seen, slope)
        shape, precision = 0.5 * PRIOR_COUNT, np.exp(settings.log_precision)
        pull = shape * (1.0 - problem.natural_variance * precision)
        value = -loss - 0.5 * float(z @ z) + problem.log_settings_prior(settings)
        slopes = {
            "standard": gradient * scale - z,
            "log_precision": pull - 0.5 * problem.by_group(gradient * parameters),
        }
        if isinstance(here.outcome, NormalOutcome):
            noise, error = here.outcome.precision, here.outcome.squared_error(seen.outputs)
            value += problem.log_noise_prior(settings)
            square = error + problem.least_noise
            slopes["log_noise"] = 0.5 * (problem.n_rows + 1.0 - noise * square)
        return value, slopes

    def scale(self, settings: NetworkSettings) -> Array:
        """Return what standard numbers are multiplied by, shape (..., p)."""
        prior = self.problem.prior(settings)
        return np.asarray(1.0 / np.sqrt(np.where(prior > 0, prior, BIAS_PRECISION)))


def drawn_density(
    problem: NetworkProblem, parameters: Array, settings: NetworkSettings
) -> LogDensity:
    """Return the density of parameters and settings, to start from a mode."""
    density = NetworkDensity(problem)
    start = [parameters / density.scale(settings), settings.log_precision, settings.log_noise]
    names = ("standard", "log_precision", "log_noise")
    supports = {
        name: real(len(part)) for name, part in zip(names, start, strict=True) if len(part)
    }
    return LogDensity(Parameters(supports), density, np.concatenate(start))


def fixed_density(
    problem: NetworkProblem, parameters: Array, settings: NetworkSettings
) -> LogDensity:
    """Return the density of parameters at known settings, to start from a mode."""
    here, prior = problem.at(settings), problem.prior(settings)
    prior = np.where(prior > 0, prior, BIAS_PRECISION)

    def density(values: Mapping[str, Array]) -> tuple[float, dict[str, Array]]:
        value, gradient = here.value_and_gradient(values["parameters"], prior)
        return -value, {"parameters": -gradient}

    return LogDensity(
        Parameters({"parameters": real(len(parameters))}), density, parameters.copy()
    )
