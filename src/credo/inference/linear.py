"""Linear regression as a problem, and the way each kind of inference solves it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from credo.distributions.gamma import Gamma
from credo.families.linear import LinearStatistics
from credo.families.ridge import Intercept, Noise, Spectrum
from credo.families.ridge_belief import RidgeBelief
from credo.inference.engine import Inference, Status, run
from credo.inference.evidence import EvidenceMaximization, PrecisionProblem
from credo.inference.relevance import RelevanceDetermination, RelevanceProblem
from credo.numerics.array import Array

__all__ = ["LinearProblem", "WeightPrecision", "infer", "prior_precision"]

WeightPrecision = float | Literal["evidence", "ard", "none"]
"""A number in the units of the data, one learned for all, one for each, or no prior at all."""


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
        is_constant = variance <= (16 * np.finfo(float).eps) ** 2 * mean_square
        square = np.where(is_constant, 0.0, variance)
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


def infer(problem: LinearProblem, is_point: bool = False) -> Inference:
    """Return the posterior of weights and noise, and the evidence.

    Parameters
    ----------
    is_point
        Whether to keep only the most probable weights and noise, as if they were known.
    """
    if problem.weight_precision == "none":
        return _least_squares(problem)
    if problem.weight_precision == "ard":
        inference = _relevances(problem)
    else:
        inference = run(EvidenceMaximization(), problem.precisions)
    if not is_point:
        return inference
    known = np.full(problem.statistics.n_outputs, np.inf)
    return replace(
        inference, posterior=replace(inference.posterior, is_point=True, noise_shape=known)
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
    return Inference(belief, float("nan"), "none", Status.CONVERGED, ())


def _relevances(problem: LinearProblem) -> Inference:
    """Search once for each output, from the best shared precision."""
    shared = run(EvidenceMaximization(), problem.precisions).posterior
    common = problem.statistics, problem.scale, problem.intercept, problem.noise
    parts = [
        run(RelevanceDetermination(), RelevanceProblem(*common, k, shared))
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
    worst = max(parts, key=lambda part: part.status is not Status.CONVERGED)
    return replace(worst, posterior=joint, log_evidence=sum(p.log_evidence for p in parts))
