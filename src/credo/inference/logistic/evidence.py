"""The precision of the weights of a logistic regression, learned by its evidence.

Around the mode the likelihood is quadratic, as if it came from a linear regression with known
noise, whose evidence is a closed form in the eigenvalues of the curvature; mode and precision
are found in turn until they agree [mackay1992]_. Where rows are few, the evidence itself is
then climbed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from credo.distributions.multivariate_normal import MultivariateNormal
from credo.families.ridge import Spectrum
from credo.inference.density.laplace import Mode
from credo.inference.engine.engine import Inference, Info, run
from credo.inference.linear.precision_learning import (
    EvidenceMaximization,
    PrecisionProblem,
    log_ratio_prior,
)
from credo.inference.logistic.problem import LogisticProblem, mode_of
from credo.numerics.array import Array
from credo.numerics.linear.linear_algebra import cholesky, solve_lower, symmetrize

__all__ = ["LogisticEvidence", "PrecisionState", "highest_evidence"]

LOG_TWO_PI = float(np.log(2 * np.pi))
LARGEST_MOVE = float(np.log(100.0))
MOST_PARABOLAS, CLOSED = 8, 1e-2
LARGEST_STRIDE, LEAST_BEND = 2.0, 0.1


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
    log_prior
        Log prior density of the log precision.
    low, high
        Log precisions, and moves there, between which the move changes its sign.
    last
        Log precision and move before this one.
    """

    problem: LogisticProblem
    laplace: Inference
    log_evidence: float
    move: float
    log_prior: float
    low: tuple[float, float] = (-np.inf, np.inf)
    high: tuple[float, float] = (np.inf, -np.inf)
    last: tuple[float, float] = (np.nan, np.nan)

    @classmethod
    def of(cls, problem: LogisticProblem, guide: Array | None = None) -> PrecisionState:
        """Find the posterior at the precision of a problem, and look around from there."""
        laplace = mode_of(problem, guide)
        around, constant = _quadratic(problem, laplace.state)
        if around.signal == 0:
            return cls(problem, laplace, laplace.log_evidence, 0.0, 0.0)
        found = run(EvidenceMaximization(), around)
        best = float(around.ratio(found.state.best)[0])
        move = float(np.clip(np.log(best / problem.precision), -LARGEST_MOVE, LARGEST_MOVE))
        log_prior = float(log_ratio_prior(np.log(around.signal / problem.precision)))
        return cls(problem, laplace, found.log_evidence + constant, move, log_prior)

    @property
    def height(self) -> float:
        """Log evidence at this precision."""
        return self.laplace.log_evidence

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

    tolerance: float = 1e-8
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


def highest_evidence(state: PrecisionState) -> PrecisionState:
    """Return the state of the highest Laplace evidence, climbing from another.

    Where rows are few for their parameters the curvature depends on the precision, which the
    quadratic at the mode leaves out, so that its best precision is not that of the evidence.
    Here the evidence itself is bracketed, and the bracket closed by parabolas. Where classes
    do not overlap it may rise without end as the prior widens, which is an error of Laplace's
    method and not of the prior; without a peak nearby the state stays.
    """
    low, middle, high = _bracket(state)
    if middle.height < max(low.height, high.height):
        return state
    for _ in range(MOST_PARABOLAS):
        target = _top(low, middle, high)
        if abs(target - middle.log_precision) <= CLOSED:
            break
        new = middle.at(target)
        if new.height < middle.height:
            ends = (low, new) if target > middle.log_precision else (new, high)
            low, high = ends
        else:
            low, high = (middle, high) if target > middle.log_precision else (low, middle)
            middle = new
    best = middle.at(_top(low, middle, high))
    return replace(best, log_evidence=_integrated(best, _falls(low, middle, high)[1]))


def _integrated(best: PrecisionState, bend: float) -> float:
    """Return the log evidence integrated over precisions by Laplace's method.

    Never above the highest, since the prior of the log precision integrates to one.
    """
    width = 0.5 * (LOG_TWO_PI - np.log(max(bend, LEAST_BEND)))
    return float(best.height + min(best.log_prior + width, 0.0))


def _bracket(state: PrecisionState) -> tuple[PrecisionState, PrecisionState, PrecisionState]:
    """Return three states of rising precision, the middle one the highest, or the last ones."""
    stride = 0.5
    low, high = state.at(state.log_precision - stride), state.at(state.log_precision + stride)
    middle = state
    while max(low.height, high.height) > middle.height and stride < LARGEST_STRIDE:
        stride *= 1.6
        if high.height > low.height:
            low, middle, high = middle, high, high.at(high.log_precision + stride)
        else:
            low, middle, high = low.at(low.log_precision - stride), low, middle
    return low, middle, high


def _top(low: PrecisionState, middle: PrecisionState, high: PrecisionState) -> float:
    """Return where the parabola through three evidences is highest, between the ends."""
    slope, bend = _falls(low, middle, high)
    if bend <= 0 or middle.height < max(low.height, high.height):
        return middle.log_precision
    return float(
        np.clip(
            middle.log_precision + slope / bend,
            0.2 * middle.log_precision + 0.8 * low.log_precision,
            0.2 * middle.log_precision + 0.8 * high.log_precision,
        )
    )


def _falls(
    low: PrecisionState, middle: PrecisionState, high: PrecisionState
) -> tuple[float, float]:
    """Return slope and downward bend, at the middle, of the parabola through three points."""
    left = middle.log_precision - low.log_precision
    right = high.log_precision - middle.log_precision
    before, after = (middle.height - low.height) / left, (middle.height - high.height) / right
    slope = (before * right - after * left) / (left + right)
    return slope, 2.0 * (before + after) / (left + right)


def _quadratic(problem: LogisticProblem, mode: Mode) -> tuple[PrecisionProblem, float]:
    """Return the linear regression that the likelihood looks like at the mode.

    The curvature of the weights, intercepts integrated out, is the Gram matrix of its inputs;
    its noise has precision one. The constant is what its log evidence leaves out.
    """
    is_weight = problem.is_weight
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
    log_likelihood = float(problem.penalty(mode.parameters)) - mode.value
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
