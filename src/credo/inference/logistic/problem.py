"""Logistic and softmax regression at a given precision: the mode and curvature of its weights.

Weights are normal around zero with one precision; intercepts are flat. The posterior is
approximated by a Gaussian at its mode.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from credo.inference.density.laplace import LaplaceApproximation, approach
from credo.inference.engine.engine import Inference, run
from credo.inference.logistic.softmax_rows import SoftmaxRows
from credo.numerics.array import Array
from credo.numerics.parallel.threads import threads_for

__all__ = ["LogisticProblem", "mode_of"]

LOG_TWO_PI = float(np.log(2 * np.pi))
ROWS_PER_PARAMETER = 10
MIN_SUBSAMPLE = 5000
WORTHWHILE = 5
EXACT, CLOSE = 1e-9, 0.02


@dataclass(frozen=True, eq=False)
class LogisticProblem:
    """Labeled rows and the prior precision of the weights.

    Parameters of shape (J, m + 1) are handled flat; the last of each row is an intercept.

    Attributes
    ----------
    rows
        The likelihood.
    precision
        Inverse prior variance of every weight.
    guess
        Where to start; equal weights of zero if None.
    """

    rows: SoftmaxRows
    precision: float
    guess: Array | None = None

    @property
    def n_parameters(self) -> int:
        """Number of weights and intercepts."""
        return int(np.prod(self.rows.shape))

    @property
    def start(self) -> Array:
        """The guess, or weights of zero and intercepts that give the class frequencies."""
        if self.guess is not None:
            return self.guess
        parameters = np.zeros(self.rows.shape)
        if self.rows.has_intercept:
            counts = np.bincount(self.rows.code, self.rows.weight, len(self.rows.coding))
            share = np.log(np.maximum(counts, 1e-3 * counts.sum() / len(counts)))
            parameters[:, -1] = np.linalg.lstsq(
                self.rows.coding - self.rows.coding.mean(axis=0), share - share.mean()
            )[0]
        return parameters.ravel()

    @cached_property
    def prior_precision(self) -> Array:
        """Prior precision of each parameter; zero for a flat intercept."""
        each = np.full(self.rows.shape, self.precision)
        # An intercept that no row has is kept at zero by a prior of its own.
        each[:, -1] = 0.0 if self.rows.has_intercept else 1.0
        return each.ravel()

    @property
    def is_weight(self) -> NDArray[np.bool_]:
        """Which parameters are weights, and not intercepts."""
        n_codes, m = self.rows.shape
        return np.tile(np.arange(m) < m - 1, n_codes)

    def values(self, parameters: Array) -> Array:
        """Return minus the log posterior of several parameters (q, d), shape (q,)."""
        likelihood = self.rows.values(parameters.reshape(-1, *self.rows.shape))
        return np.asarray(likelihood + self.penalty(parameters))

    def value_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        """Return minus the log posterior, normalized in the prior, and its gradient."""
        value, gradient = self.rows.value_and_gradient(parameters.reshape(self.rows.shape))
        prior = self.prior_precision
        return (
            value + float(self.penalty(parameters)),
            gradient.ravel() + prior * parameters,
        )

    def derivatives(self, parameters: Array) -> tuple[float, Array, Array]:
        """Return the same, and the curvature."""
        value, gradient, curvature = self.rows.derivatives(parameters.reshape(self.rows.shape))
        prior = self.prior_precision
        curvature[np.diag_indices_from(curvature)] += prior
        return (
            value + float(self.penalty(parameters)),
            gradient.ravel() + prior * parameters,
            curvature,
        )

    def penalty(self, parameters: Array) -> Array:
        """Return minus the log prior density of (..., d), flat intercepts left out."""
        prior = self.prior_precision
        log_density = np.log(prior[prior > 0]) - LOG_TWO_PI
        return np.asarray(0.5 * (parameters**2 @ prior - log_density.sum()))

    def subsample(self) -> LogisticProblem | None:
        """Return a random part of the rows that stands for all, or None if too few are left."""
        n = len(self.rows.code)
        n_kept = max(ROWS_PER_PARAMETER * self.n_parameters, MIN_SUBSAMPLE)
        if n < WORTHWHILE * n_kept:
            return None
        kept = np.random.default_rng(0).choice(n, n_kept, replace=False)
        part = self.rows.take(kept)
        counts = np.bincount(part.code, part.weight > 0, len(part.coding))
        if counts.min() < self.rows.shape[1]:
            return None
        grown = replace(part, weight=part.weight * (self.rows.weight.sum() / part.weight.sum()))
        return LogisticProblem(grown, self.precision, self.guess)


def mode_of(problem: LogisticProblem, guide: Array | None = None) -> Inference:
    """Return the Laplace approximation at a given precision.

    Many rows: the mode of some of them is close to the mode of all. Many classes: with that
    curvature as a guide, gradients alone lead closer, and the full curvature, which costs
    much more than a gradient, is needed only there.

    Parameters
    ----------
    guide
        Curvature close to that at the mode, if it is known.
    """
    part = problem.subsample()
    if part is None:
        return run(LaplaceApproximation(tolerance=EXACT), problem)
    # Products of blocks are small, and threads for them fight those of the loop over rows.
    with threads_for(0):
        return _mode_of_many(problem, part, guide)


def _mode_of_many(
    problem: LogisticProblem, part: LogisticProblem, guide: Array | None
) -> Inference:
    start = problem.start
    if guide is None:
        rough = run(LaplaceApproximation(tolerance=0.1), part).state
        start, guide = rough.parameters, rough.curvature
    close = approach(problem, start, guide, tolerance=2 * CLOSE).x
    return run(LaplaceApproximation(tolerance=CLOSE), replace(problem, guess=close))
