"""Linear regression as a problem, and the way each kind of inference solves it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from credo.distributions.gamma import Gamma
from credo.families.linear import LinearStatistics
from credo.families.ridge import Intercept, Noise, Spectrum, log_evidence
from credo.families.ridge_belief import RidgeBelief
from credo.inference.engine.engine import Inference, run
from credo.inference.engine.model_evidence import bic_evidence, laplace_evidence, width_evidence
from credo.inference.linear.automatic_relevance import RelevanceDetermination, RelevanceProblem
from credo.inference.linear.precision_learning import (
    EvidenceMaximization,
    PrecisionProblem,
    curvature,
)
from credo.numerics.array import Array, as_float, is_constant

__all__ = [
    "LinearProblem",
    "WeightPrecision",
    "evidence_approximations",
    "infer",
    "log_evidence_at",
    "prior_precision",
]

WeightPrecision = float | Gamma | Literal["evidence", "ard", "none"]
"""A number or a belief in the units of the data, one learned for all or each, or no prior."""


@dataclass(frozen=True, eq=False)
class LinearProblem:
    """Data and what is known beforehand about weights, noise and intercept.

    Attributes
    ----------
    statistics
        What is kept of the data.
    source
        The statistics to diagonalize: the same, or kept rows where moments would lose digits.
    """

    statistics: LinearStatistics
    intercept: Intercept
    weight_precision: WeightPrecision
    noise: Noise
    source: LinearStatistics | None = None

    @cached_property
    def scale(self) -> Array:
        """Multiplier of each column: one over its spread, unless a precision is given."""
        s = self.statistics
        n_columns = s.n_features + (self.intercept == "penalized")
        if not isinstance(self.weight_precision, str):
            return np.ones(n_columns)
        mean_square, variance = s.x_mean**2, s.x_scatter_diagonal / s.weight
        # A column whose spread is rounding error is constant, and says nothing.
        square = np.where(is_constant(s.x_mean, np.sqrt(variance)), 0.0, variance)
        if self.intercept == "none":
            square = square + mean_square
        with np.errstate(divide="ignore"):
            scale = np.where(square > 0, 1 / np.sqrt(square), 0.0)
        return np.append(scale, 1.0) if self.intercept == "penalized" else scale

    @cached_property
    def spectrum(self) -> Spectrum:
        """The scaled data, diagonalized."""
        return Spectrum.of(self.source or self.statistics, self.scale, self.intercept)

    @property
    def is_ill_conditioned(self) -> bool:
        """Whether moments have lost half of the digits of least squares."""
        values = self.spectrum.eigenvalues
        return bool(len(values) and values.min() < 1e-10 * values.max())

    @property
    def precisions(self) -> PrecisionProblem:
        """The search for one precision shared by all weights."""
        given = None if isinstance(self.weight_precision, str) else self.weight_precision
        return PrecisionProblem(self.spectrum, given, self.noise)


def infer(
    problem: LinearProblem,
    is_point: bool = False,
    relevance: RelevanceDetermination | None = None,
) -> Inference:
    """Return the posterior of weights and noise, and the evidence.

    Parameters
    ----------
    is_point
        Whether to keep only the most probable weights and noise, as if they were known.
    relevance
        The search for one precision per weight, if that is asked for; the usual one if None.
    """
    if problem.weight_precision == "none":
        return _least_squares(problem)
    if problem.weight_precision == "ard":
        inference = _relevances(problem, relevance or RelevanceDetermination())
    else:
        inference = run(EvidenceMaximization(), problem.precisions)
    if not is_point:
        return inference
    known = np.full(problem.statistics.n_outputs, np.inf)
    return replace(
        inference, posterior=replace(inference.posterior, is_point=True, noise_shape=known)
    )


def log_evidence_at(
    statistics: LinearStatistics,
    intercept: Intercept,
    weight_precision: ArrayLike,
    noise_precision: ArrayLike,
) -> float:
    """Return the log evidence at given precisions, exact, summed over outputs.

    Parameters
    ----------
    weight_precision
        In the units of the data: one number, or one for each column (a penalized intercept is
        the last), or such a row for each output.
    noise_precision
        One number, or one for each output.
    """
    k, size = statistics.n_outputs, statistics.n_features + (intercept == "penalized")
    weights = np.broadcast_to(as_float(weight_precision), (k, size))
    noise = np.broadcast_to(as_float(noise_precision), (k,))
    total = 0.0
    for output in range(k):
        spectrum = Spectrum.of(statistics, 1 / np.sqrt(weights[output]), intercept)
        ratio, precision = np.asarray(1 / noise[output]), float(noise[output])
        total += float(log_evidence(spectrum, output, ratio, precision))
    return total


def evidence_approximations(problem: LinearProblem, inference: Inference) -> dict[str, float]:
    """Return the log evidence beside three classical approximations to it, by name.

    "laplace" puts a normal at the maximum over learned precisions (and is exact without
    them), "bic" penalizes the least-squares likelihood by the number of parameters, "width"
    multiplies the likelihood of the most probable weights by the share of prior width left.
    """
    belief, spectrum = inference.posterior, problem.spectrum
    outputs = range(problem.statistics.n_outputs)
    least = _least_squares(problem).posterior
    return {
        inference.evidence_method: inference.log_evidence,
        "laplace": _laplace(problem.precisions),
        "bic": sum(
            bic_evidence(
                _log_likelihood(spectrum, k, 0.0, least.noise_precision[k]),
                len(spectrum.eigenvalues)
                + (spectrum.intercept == "flat")
                + (problem.noise is None),
                spectrum.weight,
            )
            for k in outputs
        ),
        "width": sum(_width(spectrum, belief, k) for k in outputs),
    }


def _log_likelihood(spectrum: Spectrum, output: int, ratio: float, precision: float) -> float:
    """Return the log likelihood at the most probable weights for a ratio."""
    shrunk = ratio / (ratio + spectrum.eigenvalues)
    shares = spectrum.projection[output] ** 2 / spectrum.eigenvalues
    squares = float(spectrum.residual[output] + shrunk**2 @ shares)
    return float(
        0.5 * spectrum.weight * np.log(precision / (2 * np.pi)) - 0.5 * precision * squares
    )


def _width(spectrum: Spectrum, belief: RidgeBelief, output: int) -> float:
    ratio, precision = float(belief.ratio[output]), float(belief.noise_precision[output])
    posterior = 1 / np.sqrt(ratio + spectrum.eigenvalues)
    prior = np.full_like(posterior, 1 / np.sqrt(ratio))
    if spectrum.intercept == "flat":
        posterior = np.append(posterior, np.sqrt(2 * np.pi / (precision * spectrum.weight)))
        prior = np.append(prior, 1.0)
    return width_evidence(_log_likelihood(spectrum, output, ratio, precision), posterior, prior)


def _laplace(problem: PrecisionProblem) -> float:
    """Return the normal approximation at the most probable precisions."""
    outputs = range(problem.n_outputs)
    best = run(EvidenceMaximization(with_prior=True), problem).state.best
    log_joint = [
        float((problem.objective(k, t[None]) + problem.log_prior(t[None]))[0])
        for k, t in enumerate(best)
    ]
    if not (problem.learns_weights or problem.learns_noise):
        return sum(log_joint)
    curvatures = [curvature(problem, k, float(best[k]), with_prior=True) for k in outputs]
    return sum(
        laplace_evidence(joint, max(curve, 1e-300))
        for joint, curve in zip(log_joint, curvatures, strict=True)
    )


def prior_precision(belief: RidgeBelief) -> Array:
    """Return the prior precision of each weight in the units of the data, shape (k, d)."""
    size = len(belief.spectra[0].center)
    scales = np.array([belief.spectrum(k).scale[:size] for k in range(belief.n_outputs)])
    level = (belief.ratio * belief.noise_precision)[:, None]
    with np.errstate(divide="ignore"):
        return np.where(scales > 0, level / np.where(scales > 0, scales, 1) ** 2, np.inf)


def _least_squares(problem: LinearProblem) -> Inference:
    spectrum = problem.spectrum
    precision = spectrum.weight / spectrum.residual
    if isinstance(problem.noise, Gamma):
        shape = problem.noise.shape + 0.5 * spectrum.weight
        precision = shape / (problem.noise.rate + 0.5 * spectrum.residual)
    elif problem.noise is not None:
        precision = np.full_like(precision, problem.noise)
    none = np.zeros_like(precision)
    belief = RidgeBelief((spectrum,), none, precision, none + np.inf, is_point=True)
    return Inference(belief)


def _relevances(problem: LinearProblem, engine: RelevanceDetermination) -> Inference:
    """Search once for each output, from the best shared precision."""
    shared = run(EvidenceMaximization(), problem.precisions).posterior
    common = problem.statistics, problem.scale, problem.intercept, problem.noise
    parts = [
        run(engine, RelevanceProblem(*common, k, shared))
        for k in range(problem.statistics.n_outputs)
    ]
    if len(parts) == 1:
        return parts[0]
    beliefs = [part.posterior for part in parts]
    joint = RidgeBelief(
        spectra=tuple(belief.spectra[0] for belief in beliefs),
        ratio=np.ones(len(beliefs)),
        noise_precision=np.concatenate([belief.noise_precision for belief in beliefs]),
        noise_shape=np.concatenate([belief.noise_shape for belief in beliefs]),
    )
    worst = max(parts, key=lambda part: not part.status.has_converged)
    return replace(worst, posterior=joint, log_evidence=sum(p.log_evidence for p in parts))
