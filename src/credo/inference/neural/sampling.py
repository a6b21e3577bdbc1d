"""Beliefs about a network by the engines of any density: draws, and the closest Gaussian."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.random import Generator

from credo.inference.density.trajectory import FACTS, NoUTurnSampling
from credo.inference.density.variational import GaussianVariational
from credo.inference.engine.draws import Draws
from credo.inference.engine.engine import Inference, run
from credo.inference.neural.belief import NetworkBelief, NetworkMixture
from credo.inference.neural.curvature import DiagonalPrecision, FullPrecision
from credo.inference.neural.density import NetworkDensity, drawn_density, fixed_density
from credo.inference.neural.problem import NetworkProblem, NetworkSettings
from credo.numerics.linear.linear_algebra import cholesky

__all__ = ["USUAL_CLIMB", "USUAL_DRAWS", "closest_gaussian", "drawn_networks"]

USUAL_DRAWS = NoUTurnSampling(n_draws=250, warm_up=250)
USUAL_CLIMB = GaussianVariational(is_full_rank=False, tolerance=1e-3, max_steps=20)
CHAINS = 2
KEPT = 200
"""Draws that predictions are averaged over, spread over all of them."""


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
