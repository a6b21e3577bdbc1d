"""Beliefs about a network by the engines of any density: draws, and the closest Gaussian.

Draws are of ``w = z / sqrt(precision)`` with standard normal ``z``, so that what the data leave
open of a layer does not depend on its precision. Biases of outputs, flat elsewhere, have the
wide prior of the others here, so that there is something to draw from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from credo.inference.density.trajectory import FACTS, NoUTurnSampling
from credo.inference.density.variational import GaussianVariational
from credo.inference.engine.draws import Draws
from credo.inference.engine.engine import Inference, run
from credo.inference.engine.problem import LogDensity, Parameters
from credo.inference.neural.belief import NetworkBelief, NetworkMixture
from credo.inference.neural.curvature import DiagonalPrecision, FullPrecision
from credo.inference.neural.outcome import NormalOutcome
from credo.inference.neural.problem import (
    BIAS_PRECISION,
    PRIOR_COUNT,
    NetworkProblem,
    NetworkSettings,
)
from credo.numerics.array import Array
from credo.numerics.linear.linear_algebra import cholesky
from credo.numerics.special.bijection import real

__all__ = [
    "USUAL_CLIMB",
    "USUAL_DRAWS",
    "NetworkDensity",
    "closest_gaussian",
    "drawn_density",
    "drawn_networks",
    "fixed_density",
]

USUAL_DRAWS = NoUTurnSampling(n_draws=250, warm_up=250)
USUAL_CLIMB = GaussianVariational(is_full_rank=False, tolerance=1e-3, max_steps=20)
CHAINS = 2
KEPT = 200
"""Draws that predictions are averaged over, spread over all of them."""


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


def drawn_networks(
    problem: NetworkProblem, found: Inference, engine: NoUTurnSampling, rng: Generator
) -> tuple[NetworkMixture, Inference]:
    """Return networks drawn from the posterior of weights, precisions and noise.

    Parameters
    ----------
    found
        The Gaussian at a mode, from which chains start.
    """
    belief: NetworkBelief = found.posterior
    density = drawn_density(problem, belief.parameters, belief.settings)
    drawn = run(engine, density, rng, chains=CHAINS)
    draws: Draws = drawn.posterior
    standard, precision = draws.pooled("standard"), draws.pooled("log_precision")
    noise = draws.pooled("log_noise") if problem.has_noise else np.empty((len(standard), 0))
    chosen = np.linspace(0, len(standard) - 1, min(KEPT, len(standard))).astype(np.intp)
    parts = []
    for i in chosen:
        settings = NetworkSettings(precision[i], noise[i])
        parameters = standard[i] * NetworkDensity(problem).scale(settings)
        parts.append(
            replace(belief, parameters=parameters, precision=None, settings=settings, first=0)
        )
    facts = {
        name: drawn.state.facts[..., FACTS.index(name)]
        for name in ("is_divergent", "depth", "energy")
    }
    names = [name for name in ("log_precision", "log_noise") if name in draws.names]
    kept = Draws({**{name: draws[name] for name in names}, **facts})
    shares = np.full(len(parts), 1.0 / len(parts))
    answer = replace(
        drawn,
        posterior=kept,
        state=None,
        log_evidence=found.log_evidence,
        evidence_method=found.evidence_method,
    )
    return NetworkMixture(tuple(parts), shares), answer


def closest_gaussian(
    problem: NetworkProblem, belief: NetworkBelief, engine: GaussianVariational, rng: Generator
) -> tuple[NetworkBelief, Inference]:
    """Return the Gaussian closest to the posterior of the weights at learned settings."""
    density = fixed_density(problem, belief.parameters, belief.settings)
    found = run(engine, density, rng)
    gaussian = found.posterior
    covariance = gaussian.covariance()
    precision: DiagonalPrecision | FullPrecision
    if engine.is_full_rank:
        precision = FullPrecision(cholesky(np.linalg.inv(covariance)).lower)
    else:
        precision = DiagonalPrecision(1.0 / np.diagonal(covariance))
    near = replace(belief, parameters=gaussian.mean(), precision=precision, first=0)
    # The bound lacks the constants of the priors of the weights.
    bound = found.log_evidence + problem.log_prior_constant(belief.settings)
    return near, replace(found, log_evidence=bound, evidence_method="bound")
