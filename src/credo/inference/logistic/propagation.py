"""Logistic regression of two classes by expectation propagation, on weights.

The log odds of the rows are linear in few weights, so that sites are taken in by matrices of
the size of the weights. A precision that is learned is the most probable one under the prior
of `EvidenceMaximization`, and integrated out by Laplace's approximation in its logarithm.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from credo.inference.engine.engine import Inference, run
from credo.inference.linear.precision_learning import log_ratio_prior
from credo.inference.logistic.problem import LogisticProblem
from credo.inference.site.expectation_propagation import (
    ExpectationPropagation,
    PropagatedSites,
    followed_sites,
)
from credo.inference.site.likelihood import LogitLikelihood
from credo.inference.site.prior import LinearConditioned, LinearPrior
from credo.inference.site.problem import SiteProblem

__all__ = ["PropagatedPrecision", "propagated"]

LOG_TWO_PI = float(np.log(2 * np.pi))
WIDEST = 12.0
"""How far the log of a learned precision may be from where it starts."""

NEAR, BEND_STEP, LEAST_BEND = 1e-3, 0.3, 0.1
NO_SIGNAL = 1e-300


@dataclass(frozen=True, eq=False)
class PropagatedPrecision:
    """Where a search of the precision ended: the problem with that precision."""

    problem: LogisticProblem


def propagated(
    problem: LogisticProblem, learns_precision: bool, engine: ExpectationPropagation
) -> Inference:
    """Return the Gaussian of the weights by expectation propagation.

    Raises
    ------
    ValueError
        If there are more than two classes.
    """
    n_classes = len(problem.rows.coding)
    if n_classes != 2:
        raise ValueError(
            f"inference='ep' must be asked of two classes; found {n_classes}. Use "
            "inference='variational' or 'laplace', which take any number."
        )
    log_volume = 0.0
    if learns_precision:
        problem, log_volume = _learned(problem)
    found = run(engine, _sites_of(problem))
    belief: LinearConditioned = found.posterior.belief
    return replace(
        found,
        posterior=belief.weights,
        log_evidence=found.log_evidence + log_volume,
        state=PropagatedPrecision(problem),
    )


def _sites_of(problem: LogisticProblem) -> SiteProblem:
    rows = problem.rows
    seen = (rows.x - rows.center) * rows.scale
    design = np.column_stack([seen, np.full(len(seen), float(rows.has_intercept))])
    prior = LinearPrior(design, problem.prior_precision)
    return SiteProblem(prior, LogitLikelihood(), rows.code.astype(np.float64), rows.weight)


def _learned(problem: LogisticProblem) -> tuple[LogisticProblem, float]:
    """Return the problem with its best precision, and what integrating over it adds."""
    base, is_weight = _sites_of(problem), problem.is_weight
    assert isinstance(base.prior, LinearPrior)
    if not np.any(base.prior.design[:, :-1]):
        return problem, 0.0
    design, sites = base.prior.design, followed_sites(base)[1]

    def height(log_precision: float) -> tuple[float, float]:
        each = np.where(is_weight, np.exp(log_precision), problem.prior_precision)
        found, _ = followed_sites(replace(base, prior=LinearPrior(design, each)), sites)
        return found.log_evidence, _log_prior(found, is_weight, log_precision)

    start = float(np.log(problem.precision))
    found = optimize.minimize_scalar(
        lambda t: -sum(height(t)),
        bounds=(start - WIDEST, start + WIDEST),
        method="bounded",
        options={"xatol": NEAR},
    )
    best = float(found.x)
    values = [sum(height(best + step)) for step in (-BEND_STEP, 0.0, BEND_STEP)]
    bend = (2.0 * values[1] - values[0] - values[2]) / BEND_STEP**2
    width = 0.5 * (LOG_TWO_PI - float(np.log(max(bend, LEAST_BEND))))
    # Never above zero, since the prior of the log precision integrates to one.
    log_volume = min(height(best)[1] + width, 0.0)
    return replace(problem, precision=float(np.exp(best))), log_volume


def _log_prior(
    found: PropagatedSites, is_weight: NDArray[np.bool_], log_precision: float
) -> float:
    """Return the log prior density of the log precision, by the signal of the rows."""
    belief = found.belief
    assert isinstance(belief, LinearConditioned)
    prior = belief.prior.weight_precision
    likelihood = belief.weight_precision.diagonal() - prior
    total = float(found.problem.row_weight.sum())
    signal = max(float(likelihood[is_weight].sum()) / total, NO_SIGNAL)
    return float(log_ratio_prior(np.asarray(np.log(signal) - log_precision)))
