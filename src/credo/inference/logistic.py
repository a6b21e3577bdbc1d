"""Logistic and softmax regression: the posterior of the weights, and their precision learned.

Weights are normal around zero with one precision; intercepts are flat. The posterior is
approximated by a Gaussian at its mode. A precision to be learned maximizes the evidence: around
the mode the likelihood is quadratic, as if it came from a linear regression with known noise,
whose evidence is a closed form in the eigenvalues of the curvature; mode and precision are
found in turn until they agree [mackay1992]_.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from credo.distributions.multivariate_normal import MultivariateNormal
from credo.families.ridge import Spectrum
from credo.inference.engine import Inference, Info, run
from credo.inference.evidence import EvidenceMaximization, PrecisionProblem
from credo.inference.laplace import LaplaceApproximation, Mode, approach
from credo.numerics.array import Array
from credo.numerics.linear_algebra import cholesky, solve_lower, symmetrize
from credo.numerics.softmax_rows import SoftmaxRows

__all__ = ["LogisticEvidence", "LogisticProblem", "PrecisionState", "mode_of"]

LOG_TWO_PI = float(np.log(2 * np.pi))
ROWS_PER_PARAMETER = 10
MIN_SUBSAMPLE = 5000
WORTHWHILE = 5
LARGEST_MOVE = float(np.log(100.0))
EXACT, CLOSE = 1e-9, 1e-3


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

    def value_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        """Return minus the log posterior, normalized in the prior, and its gradient."""
        value, gradient = self.rows.value_and_gradient(parameters.reshape(self.rows.shape))
        prior = self.prior_precision
        return (
            value + self.penalty(parameters),
            gradient.ravel() + prior * parameters,
        )

    def derivatives(self, parameters: Array) -> tuple[float, Array, Array]:
        """Return the same, and the curvature."""
        value, gradient, curvature = self.rows.derivatives(parameters.reshape(self.rows.shape))
        prior = self.prior_precision
        curvature[np.diag_indices_from(curvature)] += prior
        return (
            value + self.penalty(parameters),
            gradient.ravel() + prior * parameters,
            curvature,
        )

    def penalty(self, parameters: Array) -> float:
        """Return minus the log prior density, flat intercepts left out."""
        prior = self.prior_precision
        log_density = np.log(prior[prior > 0]) - LOG_TWO_PI
        return float(0.5 * (prior @ parameters**2 - log_density.sum()))

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
    start = problem.start
    if guide is None:
        rough = run(LaplaceApproximation(tolerance=0.1), part).state
        start, guide = rough.parameters, rough.curvature
    close = approach(problem, start, guide, tolerance=2 * CLOSE).x
    return run(LaplaceApproximation(tolerance=CLOSE), replace(problem, guess=close))


@dataclass(frozen=True, eq=False)
class PrecisionState:
    """The posterior at one precision, and what the quadratic there says of all precisions.

    Attributes
    ----------
    problem, laplace
        The problem at this precision and its Laplace approximation.
    log_evidence
        Log evidence integrated over precisions, under the prior of `EvidenceMaximization`.
    move
        How far in log precision the evidence of the quadratic is highest; zero is the goal.
    low, high
        Log precisions, and moves there, between which the move changes its sign.
    last
        Log precision and move before this one.
    """

    problem: LogisticProblem
    laplace: Inference
    log_evidence: float
    move: float
    low: tuple[float, float] = (-np.inf, np.inf)
    high: tuple[float, float] = (np.inf, -np.inf)
    last: tuple[float, float] = (np.nan, np.nan)

    @classmethod
    def of(cls, problem: LogisticProblem, guide: Array | None = None) -> PrecisionState:
        """Find the posterior at the precision of a problem, and look around from there."""
        laplace = mode_of(problem, guide)
        around, constant = _quadratic(problem, laplace.state)
        if around.signal == 0:
            return cls(problem, laplace, laplace.log_evidence, 0.0)
        found = run(EvidenceMaximization(), around)
        best = float(around.ratio(found.state.best)[0])
        move = float(np.clip(np.log(best / problem.precision), -LARGEST_MOVE, LARGEST_MOVE))
        return cls(problem, laplace, found.log_evidence + constant, move)

    @property
    def log_precision(self) -> float:
        """Logarithm of the precision."""
        return float(np.log(self.problem.precision))

    def bracketed(self) -> PrecisionState:
        """Return the state with itself as one of the two ends."""
        end = (self.log_precision, self.move)
        return replace(self, low=end) if self.move > 0 else replace(self, high=end)

    def target(self) -> float:
        """Return the log precision to try next, between the ends."""
        wanted = self.log_precision + self._stride()
        (low, up), (high, down) = self.low, self.high
        if low < wanted < high:
            return wanted
        # Moves that overshoot are replaced by where the line between the ends is zero.
        share = up / (up - down)
        return low + min(max(share, 0.1), 0.9) * (high - low)

    def _stride(self) -> float:
        """Return the move, or where a line through the last two moves is zero if it falls."""
        before, move = self.last
        slope = (self.move - move) / (self.log_precision - before)
        # Without an earlier move the slope is NaN, and the comparison false.
        stride = -self.move / slope if slope < -0.1 else self.move
        return float(np.clip(stride, -LARGEST_MOVE, LARGEST_MOVE))

    def at(self, log_precision: float) -> PrecisionState:
        """Return the state at another precision, between the same ends."""
        here, mode = self.problem, self.laplace.state
        there = replace(here, precision=float(np.exp(log_precision)), guess=mode.parameters)
        guide = mode.curvature + np.diag(there.prior_precision - here.prior_precision)
        last = (self.log_precision, self.move)
        return replace(PrecisionState.of(there, guide), low=self.low, high=self.high, last=last)


@dataclass(frozen=True)
class LogisticEvidence:
    """Learn the precision of the weights by maximizing the evidence.

    Attributes
    ----------
    tolerance
        Change of the log precision that counts as none.
    max_steps
        Steps after which it gives up.
    """

    tolerance: float = 1e-4
    max_steps: int = 100

    def init(self, problem: LogisticProblem) -> PrecisionState:
        """Start from the precision of the problem."""
        return PrecisionState.of(problem)

    def step(
        self, problem: LogisticProblem, state: PrecisionState
    ) -> tuple[PrecisionState, Info]:
        """Move to the best precision of the quadratic at the mode, and to the mode there."""
        if abs(state.move) <= self.tolerance:
            return state, Info(state.log_evidence, abs(state.move))
        ends = state.bracketed()
        target = ends.target()
        change = abs(target - ends.log_precision)
        if ends.high[0] - ends.low[0] <= self.tolerance:
            return state, Info(state.log_evidence, 0.0)
        after = ends.at(target)
        return after, Info(after.log_evidence, change)

    def posterior(
        self, problem: LogisticProblem, state: PrecisionState
    ) -> tuple[MultivariateNormal, float, str]:
        """Return the Gaussian at the learned precision, and the integrated evidence."""
        return state.laplace.posterior, state.log_evidence, "laplace"


def _quadratic(problem: LogisticProblem, mode: Mode) -> tuple[PrecisionProblem, float]:
    """Return the linear regression that the likelihood looks like at the mode.

    The curvature of the weights, intercepts integrated out, is the Gram matrix of its inputs;
    its noise has precision one. The constant is what its log evidence leaves out.
    """
    n_codes, m = problem.rows.shape
    is_weight = np.tile(np.arange(m) < m - 1, n_codes)
    likelihood = mode.curvature - np.diag(problem.prior_precision)
    gram = likelihood[np.ix_(is_weight, is_weight)]
    constant = 0.0
    if problem.rows.has_intercept:
        corner = cholesky(likelihood[np.ix_(~is_weight, ~is_weight)])
        half = solve_lower(corner.lower, likelihood[np.ix_(~is_weight, is_weight)])
        gram = symmetrize(gram - half.T @ half)
        constant = 0.5 * (len(half) * LOG_TWO_PI - float(corner.log_det()))
    weights = mode.parameters[is_weight]
    pull = gram @ weights + problem.precision * weights
    values, vectors = np.linalg.eigh(gram)
    is_kept = values > len(values) * np.finfo(float).eps * values.max(initial=0.0)
    values, vectors = values[is_kept], vectors[:, is_kept]
    projection = (pull @ vectors)[None]
    total = (projection**2 / values).sum(axis=1)
    n = float(problem.rows.weight.sum())
    log_likelihood = problem.penalty(mode.parameters) - mode.value
    constant += log_likelihood + float(weights @ (0.5 * gram @ weights - pull))
    constant += 0.5 * (float(total[0]) + n * LOG_TWO_PI)
    none = np.zeros(len(weights))
    spectrum = Spectrum(
        eigenvalues=values,
        vectors=vectors,
        projection=projection,
        total=total,
        scale=none + 1.0,
        center=none,
        origin=np.zeros(1),
        weight=n,
        resolution=np.finfo(float).eps * total,
        intercept="none",
    )
    return PrecisionProblem(spectrum, None, 1.0), float(constant)
