"""From labeled rows to a belief about the weights of a logistic regression.

Newton steps run on columns or on the space that rows span, gradients alone where both are many.
The precision of the prior is given, learned, or next to zero.

With Laplace's approximation the precision is learned by its evidence. Around the mode the
likelihood is quadratic, as if it came from a linear regression with known noise, whose evidence
is a closed form in the eigenvalues of the curvature; mode and precision are found in turn until
they agree [mackay1992]_. Where rows are few, the evidence itself is then climbed.

Gaussian variational inference seeks, of all Gaussians, the one closest to the posterior: the
one with the highest lower bound on the log evidence [opper2009]_. There the mean gradient of
the log posterior is zero, and its mean curvature is the precision of the Gaussian. Where scores
saturate the posterior leans away from its mode: unlike a Gaussian put there (the Laplace
approximation), this one follows, and is not as wide. For more than two classes the means of the
softmax function have no closed form; with those of `expected_softmax` the bound is approximate,
and may lie above the log evidence.

A precision that is learned is the most probable one, where the prior variance ``s`` of the
scores over that of the noise has the prior that linear regression has, ``s / (1 + s)`` uniform.
So a few rows that a plane separates do not widen the prior without end.

The weights can also be learned by expectation propagation. The log odds of the rows are linear
in few weights, so that sites are taken in by matrices of the size of the weights; those of more
than two classes are Gaussians in all scores of a row. Here too a learned precision is the most
probable one, and it is integrated out by Laplace's approximation in its logarithm.

The no-U-turn engine draws weights and precision from the posterior itself, in a loop that never
leaves machine code. It moves in units of the closest Gaussian, which the precision scales as
far as the data do not determine a weight, so that no funnel is left between the two
[papaspiliopoulos2007]_. A learned precision has the prior above with the signal of rows of
which no column tells the class, and intercepts then have a standard deviation of ten before the
data: if they were flat, classes without overlap would have no posterior.

At the closest Gaussian gradient and curvature are sums over rows: without some rows the
curvature is that of the others, and one step by it leads to where their gradient is nearly
zero. So one pass over the rows serves all folds; where it is small, the step is as good as a
fit.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import optimize, special

from credo.distributions.elliptical import PrecisionForm
from credo.distributions.multivariate_normal import MultivariateNormal
from credo.families.ridge import Spectrum
from credo.inference.density.laplace import LaplaceApproximation, Mode, approach
from credo.inference.density.posterior import Parameter, posterior
from credo.inference.density.trajectory import NoUTurnSampling
from credo.inference.engine.draws import Draws
from credo.inference.engine.engine import (
    Account,
    ConvergenceWarning,
    Inference,
    Move,
    Settled,
    run,
)
from credo.inference.linear.precision_learning import (
    EvidenceMaximization,
    PrecisionProblem,
    log_ratio_prior,
)
from credo.inference.logistic.problem import NO_ROWS, LogisticBelief, LogisticProblem, mode_of
from credo.inference.logistic.propagation import SoftmaxPropagation, followed_classes
from credo.inference.logistic.softmax import (
    ExpectedSoftmax,
    SoftmaxRows,
    class_coding,
    class_pairs,
)
from credo.inference.site.expectation_propagation import (
    ExpectationPropagation,
    followed_sites,
)
from credo.inference.site.likelihood import LogitLikelihood
from credo.inference.site.prior import LinearConditioned, LinearPrior
from credo.inference.site.problem import SiteProblem
from credo.numerics.array import Array, is_constant, merged_rows, rounded
from credo.numerics.example import Example
from credo.numerics.linear.linear_algebra import Cholesky, cholesky, solve_lower, symmetrize
from credo.numerics.parallel.threads import threads_for_matrix
from credo.numerics.special.logistic_integral import moderation
from credo.numerics.warning import warn_user

__all__ = [
    "LOGISTIC_ENGINES",
    "GaussianFit",
    "LogisticEvidence",
    "LogisticFolds",
    "LogisticLearning",
    "PrecisionState",
    "PropagatedPrecision",
    "SeparationWarning",
    "VariationalLogistic",
    "drawn",
    "propagated",
]

CLOSEST = Account("variational Gaussian", False, float("nan"), "unknown")

MOST_PARAMETERS = 4000
LEAST_PRECISION, FIRST_PRECISION, SEPARATED_PRECISION = 1e-13, 1e-8, 1e-5
"""Prior precisions per row of maximum likelihood: at the end, the start, if separated."""

SEPARATED_SCORE = 5.0
"""Scores along directions that rows hardly hold, above which classes count as separated."""

TOLERANCE_OF_TWO, TOLERANCE_OF_MORE = 0.02, 0.06
MOST_EXCESS = 0.1
"""How much more the likelihood may bend on average than at the mean, as a share."""


class SeparationWarning(UserWarning):
    """Classes are linearly separable, so that no finite weights are most likely."""


@dataclass(frozen=True)
class LogisticLearning:
    """How a logistic regression learns.

    Attributes
    ----------
    inference
        "variational" for the closest Gaussian, "laplace" for one at the mode, "ep" for that of
        expectation propagation, "nuts" for draws, "map" for the mode alone, "ml" for maximum
        likelihood.
    weight_precision
        Inverse prior variance of the weights in the units of the design, or "evidence".
    fit_intercept
        Whether there are intercepts.
    engine
        Engine with settings of its own; None for the usual one.
    rng
        Where draws come from.
    """

    inference: str
    weight_precision: float | str
    fit_intercept: bool
    engine: LogisticEngine | None = None
    rng: Generator | None = None

    @property
    def learns_precision(self) -> bool:
        """Whether the precision of the weights comes from the data."""
        return self.inference != "ml" and isinstance(self.weight_precision, str)

    @property
    def has_gaussian(self) -> bool:
        """Whether the belief is a Gaussian, or draws that begin at one."""
        return self.inference in ("variational", "laplace", "ep", "nuts")

    def learn(
        self, design: Array, codes: NDArray[np.intp], weight: Array, n_classes: int
    ) -> tuple[LogisticBelief, Inference]:
        """Return the belief about the weights, and how it came about."""
        with threads_for_matrix((n_classes - 1) * (min(design.shape) + 1)):
            return self._belief_and_inference(design, codes, weight, n_classes)

    def _belief_and_inference(
        self, design: Array, codes: NDArray[np.intp], weight: Array, n_classes: int
    ) -> tuple[LogisticBelief, Inference]:
        if not weight.all():
            is_heavy = weight > 0
            design, codes, weight = design[is_heavy], codes[is_heavy], weight[is_heavy]
        seen = self._rows(design, codes, weight, n_classes)
        rows, axes = _spanned(seen)
        problem = LogisticProblem(rows, self._first_precision(rows))
        inference = self._inferred(problem)
        precision = problem.precision
        if self.learns_precision and self.inference != "nuts":
            precision = inference.state.problem.precision
        found = inference.posterior
        draws = found if isinstance(found, Draws) else None
        if draws is not None:
            precision = float(np.exp(np.log(draws["precision"]).mean()))
            found = draws.mean("parameters")
        is_point = not (self.has_gaussian and isinstance(found, MultivariateNormal))
        mean = found.loc if isinstance(found, MultivariateNormal) else found
        belief = LogisticBelief(
            mean=mean.reshape(rows.shape),
            gaussian=None if is_point else found,
            coding=rows.coding,
            center=seen.center,
            scale=seen.scale,
            axes=axes,
            precision=precision,
            has_intercept=self.fit_intercept,
            draws=draws,
        )
        if self.inference == "ml":
            inference = replace(inference, log_evidence=float("nan"), evidence_method="none")
        # Where the engine stopped holds all rows, which a fitted model must not.
        return belief, replace(inference, posterior=belief, state=None)

    def _view(self, design: Array, weight: Array) -> tuple[Array, Array]:
        """Return what is subtracted from each column, and what the rest is multiplied by."""
        total = weight.sum()
        mean = weight @ design / total
        center = mean if self.fit_intercept else np.zeros_like(mean)
        if not (self.learns_precision or self.inference == "ml"):
            return center, np.ones_like(mean)
        spread = np.sqrt(_mean_square(design, center, weight / total))
        is_flat = is_constant(mean, spread) if self.fit_intercept else spread == 0
        return center, np.where(is_flat, 0.0, 1.0 / np.where(is_flat, 1.0, spread))

    def _rows(
        self, design: Array, codes: NDArray[np.intp], weight: Array, n_classes: int
    ) -> SoftmaxRows:
        center, scale = self._view(design, weight)
        coding = class_coding(n_classes)
        return SoftmaxRows(design, codes, weight, center, scale, coding, self.fit_intercept)

    def _first_precision(self, rows: SoftmaxRows) -> float:
        if self.inference == "ml":
            return FIRST_PRECISION * float(rows.weight.sum())
        if self.learns_precision:
            # A prior under which scores are about one.
            return max(float(np.count_nonzero(rows.scale)), 1.0)
        return float(self.weight_precision)

    def _inferred(self, problem: LogisticProblem) -> Inference:
        if problem.n_parameters <= MOST_PARAMETERS:
            return self._by_newton(problem)
        if self.has_gaussian or self.learns_precision:
            raise ValueError(
                f"a posterior must have at most {MOST_PARAMETERS} parameters to be kept; "
                f"found {problem.n_parameters}. Use inference='map' with a number for "
                "weight_precision, or fewer columns."
            )
        squares = (problem.rows.weight @ problem.rows.x**2) * problem.rows.scale**2
        guide = problem.prior_precision + 0.25 * np.tile(
            np.append(squares, problem.rows.weight.sum()), problem.rows.shape[0]
        )
        found = approach(problem, problem.start, guide, tolerance=1e-6, max_steps=10_000)
        if self.inference == "ml" and problem.rows.errors(found.x) == 0:
            _warn_of_separation()
        if found.status.has_converged:
            return Inference(found.x)
        warn_user(
            f"the search for the weights must settle; found that it ended with: "
            f"{found.status.value}. Scale the columns, or raise weight_precision.",
            ConvergenceWarning,
        )
        return Inference(found.x, status=found.status)

    def _by_newton(self, problem: LogisticProblem) -> Inference:
        if self.inference == "ml":
            return self._most_likely(problem)
        if self.inference == "nuts":
            near = replace(self, inference="variational", engine=None)._by_newton(problem)
            chains = self.engine if isinstance(self.engine, NoUTurnSampling) else USUAL_DRAWS
            return drawn(near, problem, self.learns_precision, chains, self.rng)
        if self.inference == "ep":
            own = self.engine if isinstance(self.engine, ExpectationPropagation) else None
            return propagated(problem, self.learns_precision, own or ExpectationPropagation())
        part = problem.subsample()
        if self.inference == "variational" and part is None:
            return self._closest(problem)
        found = _learned(problem) if self.learns_precision else mode_of(problem)
        if isinstance(self.engine, LaplaceApproximation):
            return self._at_mode(problem, found)
        if self.inference == "variational" and _leans(found.posterior, part):
            return self._closest(problem)
        return found

    def _closest(self, problem: LogisticProblem) -> Inference:
        # The means of two classes are exact; those of more are not worth a fine search.
        tolerance = TOLERANCE_OF_TWO if len(problem.rows.coding) == 2 else TOLERANCE_OF_MORE
        engine = self.engine
        if not isinstance(engine, VariationalLogistic):
            engine = VariationalLogistic(tolerance=tolerance)
        return run(replace(engine, learns_precision=self.learns_precision), problem)

    def _at_mode(self, problem: LogisticProblem, found: Inference) -> Inference:
        """Return what an engine with settings of its own finds, at the precision reached."""
        if not self.learns_precision:
            return run(cast(LaplaceApproximation, self.engine), problem)
        again = run(cast(LaplaceApproximation, self.engine), found.state.problem)
        return replace(found, posterior=again.posterior, status=again.status, trace=again.trace)

    def _most_likely(self, problem: LogisticProblem) -> Inference:
        """Return the mode under next to no prior, or a larger one if classes are separable."""
        found = mode_of(problem)
        per_row = problem.precision / FIRST_PRECISION
        problem = replace(problem, guess=found.state.parameters)
        if not _is_separated(problem, found.state):
            return mode_of(replace(problem, precision=LEAST_PRECISION * per_row))
        _warn_of_separation()
        return mode_of(replace(problem, precision=SEPARATED_PRECISION * per_row))


def _learned(problem: LogisticProblem) -> Inference:
    """Return the posterior at the precision of the highest evidence."""
    if problem.subsample() is not None:
        return run(LogisticEvidence(tolerance=1e-4), problem)
    found = run(LogisticEvidence(), problem)
    best = _highest_evidence(found.state)
    return replace(
        found, posterior=best.laplace.posterior, log_evidence=best.log_evidence, state=best
    )


def _leans(gaussian: MultivariateNormal, part: LogisticProblem | None) -> bool:
    """Return whether the rows, judged by some of them, say that the posterior is not normal."""
    form = gaussian.form
    assert part is not None
    assert isinstance(form, PrecisionForm)
    fit = GaussianFit.of(part, gaussian.loc, form.precision, cholesky(form.precision))
    return abs(fit.excess() - 1.0) > MOST_EXCESS


def _warn_of_separation() -> None:
    warn_user(
        "maximum likelihood needs classes that overlap; found classes, or values of a "
        "column, that are separated without error, so that the likelihood grows as "
        "weights go to infinity. The weights returned are finite but arbitrary in size; "
        "use inference='map' or 'laplace', whose prior keeps them sensible.",
        SeparationWarning,
    )


def _is_separated(problem: LogisticProblem, mode: Mode) -> bool:
    """Return whether only the prior, however slight, keeps some weights finite."""
    values, vectors = np.linalg.eigh(mode.curvature - np.diag(problem.prior_precision))
    loose = vectors[:, values < 1e3 * problem.precision]
    part = (loose @ (loose.T @ mode.parameters)).reshape(problem.rows.shape)
    return bool(np.abs(problem.rows.coordinates(part)).max(initial=0.0) > SEPARATED_SCORE)


def _mean_square(design: Array, center: Array, share: Array) -> Array:
    parts = [
        share[i : i + 4096] @ (design[i : i + 4096] - center) ** 2
        for i in range(0, len(design), 4096)
    ]
    return np.asarray(np.sum(parts, axis=0))


def _spanned(rows: SoftmaxRows) -> tuple[SoftmaxRows, Array | None]:
    """Return rows in coordinates of the space they span, if that has fewer dimensions.

    Under equal precisions weights outside that space stay as they were, so that nothing is
    lost, and the work grows with the number of rows instead of columns.
    """
    n, m = rows.x.shape
    n_codes = rows.coding.shape[1]
    if m <= n or n_codes * (n + 1) > MOST_PARAMETERS:
        return rows, None
    seen = (rows.x - rows.center) * rows.scale
    # Weighted, so that a row of weight two has the axes, in order and sign, of two rows.
    heavy = seen * np.sqrt(rows.weight)[:, None]
    values, vectors = np.linalg.eigh(heavy @ heavy.T)
    is_kept = values > n * np.finfo(float).eps * values.max(initial=0.0)
    axes = heavy.T @ (vectors[:, is_kept] / np.sqrt(values[is_kept]))
    largest = np.abs(axes).argmax(axis=0)
    axes *= np.sign(axes[largest, np.arange(axes.shape[1])])
    r = axes.shape[1]
    spanned = replace(rows, x=seen @ axes, center=np.zeros(r), scale=np.ones(r))
    return spanned, axes


LOG_TWO_PI = float(np.log(2 * np.pi))
LARGEST_CHANGE = float(np.log(100.0))
MOST_PARABOLAS, CLOSED = 8, 1e-2
LARGEST_BRACKET, LEAST_BEND = 2.0, 0.1


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
        move = float(np.clip(np.log(best / problem.precision), -LARGEST_CHANGE, LARGEST_CHANGE))
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
        return float(np.clip(stride, -LARGEST_CHANGE, LARGEST_CHANGE))

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

    problem = LogisticProblem
    is_random: ClassVar[bool] = False

    @property
    def stop(self) -> Settled:
        """The precision hardly moved, or there were too many steps."""
        return Settled(self.tolerance, self.max_steps)

    def init(self, problem: LogisticProblem, rng: Generator) -> PrecisionState:
        """Start from the precision of the problem."""
        return PrecisionState.of(problem)

    def step(
        self, problem: LogisticProblem, state: PrecisionState, rng: Generator
    ) -> tuple[PrecisionState, Move]:
        """Move to the best precision of the quadratic at the mode, and to the mode there."""
        if abs(state.move) <= self.tolerance:
            return state, Move(state.log_evidence, abs(state.move))
        ends = state.bracketed()
        target = ends.target()
        change = abs(target - ends.log_precision)
        if ends.high[0] - ends.low[0] <= self.tolerance:
            return state, Move(state.log_evidence, 0.0)
        after = ends.at(target)
        return after, Move(after.log_evidence, change)

    def posterior(self, problem: LogisticProblem, state: PrecisionState) -> Inference:
        """Return the Gaussian at the learned precision, and the integrated evidence."""
        return replace(state.laplace, log_evidence=state.log_evidence)


def _highest_evidence(state: PrecisionState) -> PrecisionState:
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
    while max(low.height, high.height) > middle.height and stride < LARGEST_BRACKET:
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


MOST_HALVINGS = 6
NEAR_START, MOST_LOOKS, LARGEST_STRIDE, FOLLOWED = 0.1, 8, 1.5, 0.25
MOST_SCALINGS, LONGEST, FLATTEST = 3, 1.0, 0.03
FEWEST_DRAWS, MOST_DRAWS, DRAWN_SCORES = 32, 256, 1 << 21
NO_SIGNAL = 1e-300


@dataclass(frozen=True, eq=False)
class GaussianFit:
    """A Gaussian about the parameters, and what it expects of the log likelihood.

    Attributes
    ----------
    problem
        Rows and the precision of the prior.
    mean, precision, covariance
        Of the Gaussian, shape (d,) and (d, d).
    log_det
        Log determinant of its precision.
    coordinates
        Means of the J numbers that make the scores of a row, shape (n, J).
    variance
        Variance of the difference of the scores of two classes, pair by pair, (n, n_pairs).
    expected
        Means of the softmax function over these scores.
    """

    problem: LogisticProblem
    mean: Array
    precision: Array
    covariance: Array
    log_det: float
    coordinates: Array
    variance: Array
    expected: ExpectedSoftmax

    @classmethod
    def of(
        cls, problem: LogisticProblem, mean: Array, precision: Array, factor: Cholesky
    ) -> GaussianFit:
        """Return the fit of a Gaussian with given mean, precision, and factor of that."""
        rows, shape = problem.rows, problem.rows.shape
        covariance = factor.inverse()
        coordinates = rows.coordinates(mean.reshape(shape))
        variance = rows.variances(covariance.reshape(*shape, *shape))
        return cls(
            problem,
            mean,
            precision,
            covariance,
            float(factor.log_det()),
            coordinates,
            variance,
            rows.expected(coordinates, variance),
        )

    @property
    def bound(self) -> float:
        """Lower bound on the log evidence at this precision of the prior.

        For more than two classes an approximation of it, which bounds nothing for sure.
        """
        prior, d = self.problem.prior_precision, len(self.mean)
        value = float(self.problem.rows.weight @ self.expected.loss)
        value += float(self.problem.penalty(self.mean)) + 0.5 * float(
            prior @ self.covariance.diagonal()
        )
        return -value + 0.5 * (d * (1.0 + LOG_TWO_PI) - self.log_det)

    def distance(self, precision: Array, factor: Cholesky) -> float:
        """Return by how much another precision differs, relatively, per parameter.

        From Stein's loss, ``sum(e - log(1 + e))`` over the relative differences ``e`` along
        all axes: where these are small, their root mean square.
        """
        d = len(self.mean)
        loss = np.vdot(precision, self.covariance) - d - (factor.log_det() - self.log_det)
        return float(np.sqrt(2.0 * max(float(loss), 0.0) / d))

    def scaled(self, learns_precision: bool, least: float) -> tuple[GaussianFit, float]:
        """Return about the best of all multiples of mean and width, and how far away it is.

        Long weights, a wide Gaussian and a wide prior go together, and slowly if one waits for
        the others. Here all move at once, for which the scores of the rows suffice; the
        precision of the prior is the best one for each multiple.

        Parameters
        ----------
        least
            Change of the logarithms that is not worth another look at the scores.
        """
        here = _Multiple(self, np.zeros(2), learns_precision, self.expected)
        for _ in range(MOST_SCALINGS):
            step = here.newton_step()
            size = float(np.abs(step).max())
            there = here.moved(step) if size >= least else here
            if there.lost > here.lost:
                break
            here = there
            # What is left after one of Newton's steps is about its square.
            if size**2 < least:
                break
        change = abs(np.log(here.precision / self.problem.precision))
        return here.fit(), float(max(np.abs(here.logs).max(), 0.5 * change))

    @cached_property
    def signal(self) -> float:
        """Mean squared length of a row, weighted as the likelihood bends."""
        return _signal(self.problem.rows, self.expected)

    @property
    def squares(self) -> Array:
        """Squared length of the mean weights, and the sum of their variances."""
        is_weight = self.problem.is_weight
        variance = self.covariance.diagonal()[is_weight]
        return np.array([(self.mean[is_weight] ** 2).sum(), variance.sum()])

    @property
    def log_ratio(self) -> float:
        """The log of the prior variance ``s`` of the scores."""
        return float(np.log(self.signal / self.problem.precision))

    def prior_gain(self, precision: float) -> float:
        """Return by how much another precision is more probable before the data, on the log.

        The density of s is ``1 / (1 + s)^2``: worth up to four weights that are zero.
        """
        other = np.log(self.signal / precision)
        return 2.0 * float(np.logaddexp(0.0, self.log_ratio) - np.logaddexp(0.0, other))

    def excess(self) -> float:
        """Return by what factor the likelihood bends more, on average, than at the mean."""
        rows = self.problem.rows
        point = rows.expected(self.coordinates, np.zeros_like(self.variance))
        bends = [rows.weight @ (e.bend * self.variance) for e in (self.expected, point)]
        return float(bends[0].sum() / max(bends[1].sum(), np.finfo(float).tiny))


def _signal(rows: SoftmaxRows, expected: ExpectedSoftmax) -> float:
    """Return the mean squared length of a row, weighted as the likelihood bends."""
    bend = rows.weight * (expected.bend @ rows.pair_variances(np.ones(1))[0])
    return max(float(bend @ rows.lengths) / float(rows.weight.sum()), NO_SIGNAL)


@dataclass(frozen=True, eq=False)
class _Multiple:
    """A Gaussian whose mean and width are multiplied by the exponentials of two numbers.

    Attributes
    ----------
    base
        The Gaussian itself.
    logs
        The two numbers.
    learns_precision
        Whether the precision of the prior is the best one for them.
    expected
        Means of the softmax function over the scores.
    """

    base: GaussianFit
    logs: Array
    learns_precision: bool
    expected: ExpectedSoftmax

    def moved(self, step: Array) -> _Multiple:
        """Return another multiple, by its scores."""
        by_mean, by_width = np.exp(self.logs + step)
        found = self.base.problem.rows.expected(
            by_mean * self.base.coordinates, by_width**2 * self.base.variance
        )
        return replace(self, logs=self.logs + step, expected=found)

    def fit(self) -> GaussianFit:
        """Return the Gaussian, at the best precision of the prior."""
        by_mean, by_width = np.exp(self.logs)
        base = self.base
        return GaussianFit(
            replace(base.problem, precision=self.precision),
            by_mean * base.mean,
            base.precision / by_width**2,
            base.covariance * by_width**2,
            base.log_det - 2.0 * len(base.mean) * float(self.logs[1]),
            by_mean * base.coordinates,
            by_width**2 * base.variance,
            self.expected,
        )

    @cached_property
    def squares(self) -> Array:
        """Squared length of the mean weights, and the sum of their variances."""
        return self.base.squares * np.exp(2.0 * self.logs)

    @cached_property
    def precision(self) -> float:
        """The best precision of the prior, or the given one."""
        if not self.learns_precision:
            return self.base.problem.precision
        # Where slopes of bound and prior add to zero: a quadratic equation.
        signal, count = self.base.signal, np.count_nonzero(self.base.problem.is_weight)
        length = max(float(self.squares.sum()), NO_SIGNAL)
        middle = 0.5 * (count / length - signal)
        root = np.sqrt(middle**2 + (count + 4.0) * signal / length)
        # Of two forms of the root, the one that adds.
        if middle >= 0:
            return float(middle + root)
        return float((count + 4.0) * signal / length / (root - middle))

    @cached_property
    def lost(self) -> float:
        """Minus bound and log prior, but for a constant."""
        value = float(self.base.problem.rows.weight @ self.expected.loss)
        value += 0.5 * float(self._prior_terms.sum())
        count = np.count_nonzero(self.base.problem.is_weight)
        value -= 0.5 * count * float(np.log(self.precision))
        value -= self.base.prior_gain(self.precision)
        return value - len(self.base.mean) * float(self.logs[1])

    def newton_step(self) -> Array:
        """Return the step to the minimum of a quadratic, or a long one towards it."""
        slope, bend = self._loss_derivatives()
        slope += self._prior_terms - [0.0, len(self.base.mean)]
        bend += np.diag(2.0 * self._prior_terms)
        if self.learns_precision:
            # The precision follows.
            prior = self.precision * self.squares
            held = self.base.signal / (self.base.signal + self.precision)
            bend -= np.outer(prior, prior) * 2.0 / (prior.sum() + 4.0 * held * (1.0 - held))
        values, vectors = np.linalg.eigh(bend)
        least = max(FLATTEST * float(np.abs(values).max()), np.finfo(float).tiny)
        step = -vectors @ ((slope @ vectors) / np.maximum(np.abs(values), least))
        return np.asarray(np.clip(step, -LONGEST, LONGEST))

    @property
    def _prior_terms(self) -> Array:
        """Squares of mean and width of all parameters, times the precisions of their prior."""
        problem = self.base.problem
        fixed = np.where(problem.is_weight, 0.0, problem.prior_precision)
        others = np.array([fixed @ self.base.mean**2, fixed @ self.base.covariance.diagonal()])
        return np.asarray(self.precision * self.squares + others * np.exp(2.0 * self.logs))

    def _loss_derivatives(self) -> tuple[Array, Array]:
        """Return first and second derivatives of the mean loss by the two numbers.

        Second ones as if the slope of the logistic function were a normal density, under which
        a difference of scores leans towards zero, the more the wider it is: where scores
        saturate, both may be multiplied by next to anything.
        """
        rows, (by_mean, by_width) = self.base.problem.rows, np.exp(self.logs)
        coordinates, variance = (
            by_mean * self.base.coordinates,
            by_width**2 * self.base.variance,
        )
        first, second = class_pairs(len(rows.coding))
        between = coordinates @ (rows.coding[first] - rows.coding[second]).T
        bend = self.expected.bend * rows.weight[:, None]
        along, across = bend * between**2, bend * variance
        left = moderation(variance) ** 2
        leans = along * (1.0 - left)
        common, wide = -leans.sum(), leans.sum() - np.vdot(leans - across, left)
        residual = rows.expected_residual(self.expected)
        slope = np.array([np.vdot(residual, coordinates), across.sum()])
        bends = np.array([[along.sum(), common], [common, wide]])
        return slope, bends + np.diag(slope)


@dataclass(frozen=True, eq=False)
class _State:
    """A fit on the way."""

    fit: GaussianFit

    @property
    def problem(self) -> LogisticProblem:
        """The problem at the precision reached."""
        return self.fit.problem


@dataclass(frozen=True)
class VariationalLogistic:
    """Go to the closest Gaussian by damped fixed-point steps.

    Attributes
    ----------
    learns_precision
        Whether the precision of the prior is moved to the highest bound as well.
    tolerance
        What counts as no change: of the mean in standard deviations per parameter, of the
        precision of the Gaussian relatively, and of the logs of length and width.
    max_steps
        Steps after which it gives up.
    """

    learns_precision: bool = True
    tolerance: float = 0.05
    max_steps: int = 100

    problem = LogisticProblem
    is_random: ClassVar[bool] = False

    @property
    def stop(self) -> Settled:
        """A step changed little, or there were too many."""
        return Settled(self.tolerance, self.max_steps)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return engines for the laws, each with a problem to solve."""
        x, code = np.cos(np.outer(np.arange(20.0), [1.0, 2.5])), np.arange(20) % 7 % 2
        coding = np.array([[0.0], [1.0]])
        rows = SoftmaxRows(x, code, np.ones(20), np.zeros(2), np.ones(2), coding, True)
        return (Example(cls(learns_precision=False), problem=LogisticProblem(rows, 1.0)),)

    @property
    def least_gain(self) -> float:
        """Change of the bound, per parameter, that counts as none."""
        return 0.05 * self.tolerance**2

    def init(self, problem: LogisticProblem, rng: Generator) -> _State:
        """Start with the Gaussian that the curvature under a simpler one asks for."""
        problem, mean, expected = _shared_start(problem, self.learns_precision)
        gradient, curvature = problem.expected_derivatives(mean, expected)
        factor = cholesky(curvature)
        mean = mean - factor.solve(gradient[:, None])[:, 0]
        fit = GaussianFit.of(problem, mean, curvature, factor)
        return _State(fit.scaled(self.learns_precision, 0.5 * self.tolerance)[0])

    def step(
        self, problem: LogisticProblem, state: _State, rng: Generator
    ) -> tuple[_State, Move]:
        """Go half the way to the precision that the curvature asks for, and to its mean.

        A wide Gaussian asks for a narrow one and a narrow one for a wide one, so that the
        whole way would be too far. If half of it is too, so that the bound falls, it is halved
        again.
        """
        fit, share = state.fit, 0.5
        gradient, curvature = fit.problem.expected_derivatives(fit.mean, fit.expected)
        least = self.least_gain * len(fit.mean)
        for _ in range(MOST_HALVINGS):
            precision = (1.0 - share) * fit.precision + share * curvature
            factor = cholesky(precision)
            drift = fit.distance(precision, factor) / share
            direction = -factor.solve(gradient[:, None])[:, 0]
            length = np.sqrt(max(-float(gradient @ direction), 0.0) / len(direction))
            mean = fit.mean + min(2.0 * share, 1.0) * direction
            near = GaussianFit.of(fit.problem, mean, precision, factor)
            best, far = near.scaled(self.learns_precision, 0.5 * self.tolerance)
            gain = best.bound - fit.bound + fit.prior_gain(best.problem.precision)
            change = float(max(length, 0.5 * drift, far))
            if gain >= -least:
                return _State(best), Move(-best.bound, change if gain > least else 0.0)
            share *= 0.5
        return state, Move(-fit.bound, change)

    def posterior(self, problem: LogisticProblem, state: _State) -> Inference:
        """Return the Gaussian, and the log evidence by weights of draws from it."""
        fit = state.fit
        gaussian = MultivariateNormal.from_precision(fit.mean, fit.precision)
        form = gaussian.form
        assert isinstance(form, PrecisionForm)
        log_evidence = _weighed_evidence(fit, form.factor)
        if self.learns_precision:
            log_evidence += min(_log_width(fit), 0.0)
        return Inference(gaussian, log_evidence, "importance", account=CLOSEST)


def _shared_start(
    problem: LogisticProblem, learns_precision: bool
) -> tuple[LogisticProblem, Array, ExpectedSoftmax]:
    """Return about the closest Gaussian with one covariance for each code, and none between.

    As the problem at the precision reached, mean, and means of the softmax function. Matrices
    have the size of the columns alone, and the scores of a row one variance. The mean goes
    along conjugate gradients, the precision of the prior to where the weights that the data
    determine have its variance [mackay1992]_, and weights follow it some of the way.
    """
    rows = problem.rows
    mean, variance = problem.start.reshape(rows.shape), np.zeros(len(rows.x))
    coordinates = rows.coordinates(mean)
    direction, earlier, length = np.zeros(rows.shape), np.zeros(rows.shape), 1.0
    for _ in range(MOST_LOOKS):
        prior = problem.prior_precision[: rows.shape[1]]
        near = rows.moderated(coordinates, variance)
        gradient = near.gradient() + prior * mean
        covariance = cholesky(near.shared_curvature() + np.diag(prior)).inverse()
        ahead = gradient @ covariance
        turn = max(float(np.vdot(gradient - earlier, ahead)) / length, 0.0)
        direction = turn * direction - ahead
        earlier, length = gradient, max(float(np.vdot(gradient, ahead)), NO_SIGNAL)
        move = rows.coordinates(direction)
        bend = near.bend_along(move) + float(np.vdot(prior * direction, direction))
        stride = np.clip(-np.vdot(gradient, direction) / max(bend, NO_SIGNAL), -1.0, 1.0)
        mean, coordinates = mean + stride * direction, coordinates + stride * move
        variance = rows.forms(covariance)
        precision = problem.precision
        if learns_precision:
            problem = _at_determined(problem, mean, covariance)
        wider = (precision / problem.precision) ** FOLLOWED
        mean, coordinates = wider * mean, wider * coordinates
        if max(abs(np.log(wider)), np.sqrt(length / mean.size)) <= NEAR_START:
            break
    expected = rows.expected(coordinates, rows.pair_variances(variance))
    return problem, mean.ravel(), expected


def _at_determined(problem: LogisticProblem, mean: Array, covariance: Array) -> LogisticProblem:
    """Return the problem at the precision of weights that the data determine, or on its way."""
    determined = 1.0 - problem.precision * covariance.diagonal()[:-1]
    count = len(mean) * max(float(determined.sum()), 0.0)
    squares = max(float((mean[:, :-1] ** 2).sum()), NO_SIGNAL)
    ratio = max(count / squares, NO_SIGNAL) / problem.precision
    stride = float(np.clip(np.log(ratio), -LARGEST_STRIDE, LARGEST_STRIDE))
    return replace(problem, precision=problem.precision * float(np.exp(stride)))


def _precision_slope(
    problem: LogisticProblem, mean: Array, covariance: Array
) -> tuple[float, float]:
    """Return slope and downward bend of the evidence by the log precision of the prior.

    As if the likelihood were the quadratic that the Gaussian stands for.
    """
    is_weight, ratio = problem.is_weight, problem.precision
    weights = np.where(is_weight, mean, 0.0)
    both = ratio * float(is_weight @ covariance.diagonal() + weights @ weights)
    less = is_weight @ covariance**2 @ is_weight + 2.0 * weights @ covariance @ weights
    return 0.5 * (np.count_nonzero(is_weight) - both), 0.5 * (both - ratio**2 * float(less))


def _weighed_evidence(fit: GaussianFit, factor: Cholesky) -> float:
    """Return the log evidence at the precision of the prior, by importance sampling.

    The draws are the same in every call and come in mirrored pairs, and the likelihood at each
    is exact. On average over draws this lies between the exact bound, whose approximation for
    more than two classes it does not use, and the log evidence. It closes the gap where that
    is small; of several nats, as with about as many parameters as rows, some are left. Many
    rows leave less of a gap, and make draws dear: they get fewer.
    """
    d, n_scores = len(fit.mean), fit.expected.probability.size
    n_half = int(np.clip(DRAWN_SCORES // n_scores, FEWEST_DRAWS, MOST_DRAWS)) // 2
    whitened = np.random.default_rng(0).standard_normal((n_half, d))
    steps = solve_lower(factor.lower, whitened.T, transposed=True).T
    log_density = 0.5 * (fit.log_det - d * LOG_TWO_PI - (whitened**2).sum(axis=1))
    log_weight = -fit.problem.mirrored_values(fit.mean, steps) - log_density
    return float(special.logsumexp(log_weight) - np.log(log_weight.size))


def _log_width(fit: GaussianFit) -> float:
    """Return the log of prior density times width of what is believed of the log precision."""
    if fit.signal <= NO_SIGNAL:
        return 0.0
    bend = max(_precision_slope(fit.problem, fit.mean, fit.covariance)[1], LEAST_BEND)
    log_prior = float(log_ratio_prior(np.asarray(fit.log_ratio)))
    return log_prior + 0.5 * (LOG_TWO_PI - float(np.log(bend)))


LARGEST_FOLD_MOVE = 0.25
"""Root mean square by which a step may move the scores of all rows, and of those left out."""

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class LogisticFolds:
    """A belief given all rows, ready to forget some of them.

    Attributes
    ----------
    belief
        A Gaussian, not a point.
    rows
        All rows in its coordinates.
    expected
        Means of the softmax function over the scores that it gives to the rows.
    gradient, curvature
        Means of the derivatives of minus the log posterior, shape (d,) and (d, d).
    """

    belief: LogisticBelief
    rows: SoftmaxRows
    expected: ExpectedSoftmax
    gradient: Array
    curvature: Array

    @classmethod
    def of(cls, belief: LogisticBelief, design: Array, code: Rows, weight: Array) -> Self:
        """Return what is needed of columns (n, n_columns), classes and weights (n,)."""
        assert belief.gaussian is not None
        rows = _seen(belief, design, code, weight)
        coordinates = rows.coordinates(belief.mean)
        covariance = belief.gaussian.form.dense().reshape(*rows.shape, *rows.shape)
        with threads_for_matrix(belief.mean.size):
            expected = rows.expected(coordinates, rows.variances(covariance))
            problem = LogisticProblem(rows, belief.precision)
            found = problem.expected_derivatives(belief.mean.ravel(), expected)
        return cls(belief, rows, expected, *found)

    def without(self, left_out: Rows) -> LogisticBelief | None:
        """Return what is believed without some rows; None if that is too far for a step.

        The precision of the prior and the view of the columns stay those of all rows.
        """
        part = self.rows.take(left_out)
        with threads_for_matrix(self.belief.mean.size):
            gradient, curvature = part.expected_derivatives(_some(self.expected, left_out))
            precision = self.curvature - curvature
            rest = (self.gradient - gradient.ravel())[:, None]
            step = -cholesky(precision).solve(rest).reshape(part.shape)
        squares = (self.rows.coordinates(step) ** 2).mean(axis=1)
        moves = _mean(squares, self.rows.weight), _mean(squares[left_out], part.weight)
        if max(moves) > LARGEST_FOLD_MOVE**2:
            return None
        mean = self.belief.mean + step
        gaussian = MultivariateNormal.from_precision(mean.ravel(), precision)
        return replace(self.belief, mean=mean, gaussian=gaussian)


def _seen(belief: LogisticBelief, design: Array, code: Rows, weight: Array) -> SoftmaxRows:
    center, scale = belief.center, belief.scale
    if belief.axes is not None:
        design = ((design - center) * scale) @ belief.axes
        center, scale = np.zeros(design.shape[1]), np.ones(design.shape[1])
    return SoftmaxRows(design, code, weight, center, scale, belief.coding, belief.has_intercept)


def _mean(values: Array, weight: Array) -> float:
    """Return a weighted mean; zero if nothing has weight."""
    total = float(weight.sum())
    return float(weight @ values) / total if total > 0 else 0.0


def _some(expected: ExpectedSoftmax, rows: Rows) -> ExpectedSoftmax:
    return ExpectedSoftmax(expected.loss[rows], expected.probability[rows], expected.bend[rows])


WIDEST, NEARBY = 12.0, 4.0
"""How far the log of a learned precision may be from a first guess, and from a good one."""

NEAR_BEST, BEND_STEP = 1e-3, 0.3
NEAR_BEST_OF_MORE = 0.05
"""Change of the log precision that counts as none where sweeps take long."""

SITES_OF_MORE = 1e-3
"""Change of a row's belief, in standard deviations, at which sites rest that take long."""

SEARCHED = SoftmaxPropagation(1e-2)
"""How sites are changed while a precision is looked for: the evidence is flat around them."""

SWEEPS = 100
"""Sweeps over all rows that learning a precision of several classes takes, about."""

SLOW_SWEEPS = 2e10
"""Products of all sweeps together that take most of a minute."""


@dataclass(frozen=True, eq=False)
class PropagatedPrecision:
    """Where a search of the precision ended: the problem with that precision."""

    problem: LogisticProblem


def propagated(
    problem: LogisticProblem, learns_precision: bool, engine: ExpectationPropagation
) -> Inference:
    """Return the Gaussian of the weights by expectation propagation."""
    log_volume, sites = 0.0, None
    if learns_precision:
        _warn_of_work(problem)
        problem, log_volume, sites = _learned_by_sites(problem)
    if len(problem.rows.coding) == 2:
        found = run(engine, _sites_of(problem))
        belief: LinearConditioned = found.posterior.belief
        found = replace(found, posterior=belief.weights)
    else:
        is_rough = _is_long(problem) and engine == ExpectationPropagation()
        tolerance = SITES_OF_MORE if is_rough else engine.tolerance
        own = SoftmaxPropagation(tolerance, engine.max_steps, engine.damping)
        found = run(own, problem, state=sites if is_rough else None)
    log_evidence = found.log_evidence + log_volume
    return replace(found, log_evidence=log_evidence, state=PropagatedPrecision(problem))


def _sites_of(problem: LogisticProblem) -> SiteProblem:
    rows = problem.rows
    prior = LinearPrior(rows.seen, problem.prior_precision)
    return SiteProblem(prior, LogitLikelihood(), rows.code.astype(np.float64), rows.weight)


def _is_long(problem: LogisticProblem) -> bool:
    """Return whether sweeps over sites of several classes take most of a minute."""
    n, d = len(problem.rows.code), len(problem.prior_precision)
    return len(problem.rows.coding) > 2 and SWEEPS * float(n) * d**2 > SLOW_SWEEPS


def _warn_of_work(problem: LogisticProblem) -> None:
    """Say beforehand that sweeps over sites of several classes will take long."""
    rows = problem.rows
    if _is_long(problem):
        warn_user(
            f"expectation propagation of {len(rows.coding)} classes takes minutes for "
            f"{len(rows.code)} rows and {len(problem.prior_precision)} weights, most of it to "
            f"learn their precision: it sweeps over all rows some {SWEEPS} times. Give a "
            "weight_precision, which takes less, or use inference='variational', which answers "
            "in seconds.",
            UserWarning,
        )


def _learned_by_sites(problem: LogisticProblem) -> tuple[LogisticProblem, float, Any]:
    """Return the problem with its best precision, what integrating over it adds, and sites.

    Several classes without overlap would gain more by a wider prior than it costs, without
    end. So their precision is the best under the prior that draws have, of which intercepts
    have an end and the signal does not fall with the fit.
    """
    if not problem.rows.lengths.any():
        return problem, 0.0, None
    near_best = NEAR_BEST
    base, first, widest, sites = problem, problem.precision, WIDEST, None
    known: float | None = None
    if len(problem.rows.coding) > 2:
        closest = run(VariationalLogistic(tolerance=TOLERANCE_OF_MORE), problem)
        base, first, widest = (
            replace(problem, is_proper=True),
            closest.state.problem.precision,
            NEARBY,
        )
        known = _first_signal(problem)
        near_best = NEAR_BEST_OF_MORE if _is_long(problem) else NEAR_BEST

    def height(log_precision: float, signal: float | None = known) -> tuple[float, float]:
        nonlocal sites
        near = replace(base, precision=float(np.exp(log_precision)))
        log_evidence, precision, sites = _followed(near, sites)
        log_signal = np.log(signal or _signal_of_sites(near, precision))
        return log_evidence, float(log_ratio_prior(np.asarray(log_signal - log_precision)))

    start = float(np.log(first))
    found = optimize.minimize_scalar(
        lambda t: -sum(height(t)),
        bounds=(start - widest, start + widest),
        method="bounded",
        options={"xatol": near_best},
    )
    best = float(found.x)
    values = [sum(height(best + step)) for step in (-BEND_STEP, 0.0, BEND_STEP)]
    bend = (2.0 * values[1] - values[0] - values[2]) / BEND_STEP**2
    width = 0.5 * (LOG_TWO_PI - float(np.log(max(bend, LEAST_BEND))))
    # Never above zero, since the prior of the log precision integrates to one.
    log_volume = min(height(best, None)[1] + width, 0.0)
    return replace(problem, precision=float(np.exp(best))), log_volume, sites


def _followed(problem: LogisticProblem, before: Any) -> tuple[float, Array, Any]:
    """Return log evidence, precision of the weights, and sites to go on from."""
    if len(problem.rows.coding) > 2:
        engine = SEARCHED if _is_long(problem) else SoftmaxPropagation(1e-4)
        several, sites = followed_classes(problem, before, engine)
        return several.log_evidence, several.weight_precision, sites
    pair, pair_sites = followed_sites(_sites_of(problem), before)
    belief = pair.belief
    assert isinstance(belief, LinearConditioned)
    return pair.log_evidence, belief.weight_precision, pair_sites


def _signal_of_sites(problem: LogisticProblem, precision: Array) -> float:
    """Return the signal of the rows, from the precision (d, d) given prior and rows."""
    likelihood = precision.diagonal() - problem.prior_precision
    total = float(problem.rows.weight.sum())
    return max(float(likelihood[problem.is_weight].sum()) / total, NO_SIGNAL)


CHAINS = 4
USUAL_DRAWS = NoUTurnSampling(metric="low_rank")
COARSE = 6
"""Digits of where a chain begins."""

WIDER = 20.0
"""How much wider a prior is under which it shows whether classes overlap."""


def drawn(
    near: Inference,
    problem: LogisticProblem,
    learns_precision: bool,
    engine: NoUTurnSampling,
    rng: Generator | None,
) -> Inference:
    """Return draws of parameters and precision, by a compiled density.

    Parameters
    ----------
    near
        A Gaussian close to the posterior, with the problem at its precision as its state's.
        The log evidence is the one found with it.
    """
    loops = importlib.import_module("credo.inference.logistic._loops_softmax_rows")
    if learns_precision:
        problem = near.state.problem
    rows, view = problem.rows, _Whitening.of(problem, near.posterior, learns_precision)
    arrays = (
        *_distinct_rows(rows, view.is_used[0]),
        rows.coding[1:] - rows.coding[0],
        view.place,
        rounded([view.at, np.log(_first_signal(problem))], 10),
    )
    found = posterior(
        loops.log_posterior, view.unknown, arrays, engine, chains=CHAINS, random_state=rng
    )
    facts = {name: found.facts[name] for name in ("is_divergent", "depth", "energy")}
    return replace(
        found.inference,
        posterior=Draws(view.values(found.draws) | facts),
        log_evidence=near.log_evidence,
        evidence_method=near.evidence_method,
    )


@dataclass(frozen=True, eq=False)
class _Whitening:
    """Units in which a chain moves; those of weights are scaled with the precision.

    Attributes
    ----------
    problem
        At the precision where weights have their center and width as they are.
    is_used
        Which parameters are drawn, shape (J, m + 1): not the weights of constant columns.
    place
        Center, width, and bend or own precision of those that are, shape (3, d).
    at
        The log of that precision.
    learns_precision
        Whether it is drawn as well.
    """

    problem: LogisticProblem
    is_used: NDArray[np.bool_]
    place: Array
    at: float
    learns_precision: bool

    @classmethod
    def of(
        cls, problem: LogisticProblem, gaussian: MultivariateNormal, learns_precision: bool
    ) -> _Whitening:
        """Return the units of a Gaussian near the posterior."""
        at, rows = float(np.log(problem.precision)), problem.rows
        is_used = np.tile(np.append(rows.scale > 0, True), (rows.shape[0], 1))
        last = problem.prior_precision
        if learns_precision:
            at = float(rounded(at, COARSE))
            bend = _bend_of_wide(problem, gaussian.loc)
            last = np.where(problem.is_weight, bend, np.maximum(last, NO_ROWS))
        place = np.stack([gaussian.loc, np.sqrt(gaussian.form.diagonal()), last])
        place = rounded(place[:, is_used.ravel(), None], COARSE, axis=2)[..., 0]
        return cls(problem, is_used, place, at, learns_precision)

    @property
    def unknown(self) -> dict[str, Parameter]:
        """What is drawn."""
        whitened = Parameter((len(self.is_used), int(self.is_used[0].sum())))
        if not self.learns_precision:
            return {"whitened": whitened}
        return {"whitened": whitened, "log_precision": Parameter(start=self.at)}

    def values(self, draws: Draws) -> dict[str, Array]:
        """Return draws of the parameters (c, n, J, m + 1) and of the precision (c, n)."""
        shape = (draws.n_chains, draws.n_draws)
        precision, ratio = np.full(shape, self.problem.precision), np.ones((*shape, 1))
        if self.learns_precision:
            precision = np.exp(draws["log_precision"])
            bend = self.place[2]
            ratio = (bend + np.exp(self.at)) / (bend + precision[..., None])
            ratio = np.where(self.problem.is_weight[self.is_used.ravel()], ratio, 1.0)
        seen = self.place[0] + self.place[1] * draws["whitened"].reshape(*shape, -1)
        parameters = np.zeros((*shape, *self.is_used.shape))
        parameters[..., self.is_used] = seen * np.sqrt(ratio)
        return {"parameters": parameters, "precision": precision}


def _distinct_rows(
    rows: SoftmaxRows, is_used: NDArray[np.bool_]
) -> tuple[Array, NDArray[np.intp], Array]:
    """Return rows with a column for the intercept, their classes and weights, each once.

    In an order of their own, so that draws are the same for any order of the rows, for copies
    and for weights, and in any unit.
    """
    seen = ((rows.x - rows.center) * rows.scale)[:, is_used[:-1]]
    once, weight = merged_rows(np.column_stack([seen, rows.code]), rows.weight)
    code = once[:, -1].astype(np.intp)
    once[:, -1] = float(rows.has_intercept)
    return once, code, weight


def _bend_of_wide(problem: LogisticProblem, guess: Array) -> Array:
    """Return how much the likelihood bends by each parameter under a wider prior.

    Where classes do not overlap it bends the less the wider the prior is.
    """
    wide = replace(problem, precision=problem.precision / WIDER, guess=guess)
    curvature = mode_of(wide).state.curvature
    return np.asarray(np.maximum(curvature.diagonal() - wide.prior_precision, 0.0))


def _first_signal(problem: LogisticProblem) -> float:
    """Return the signal of rows of which no column tells the class.

    Unlike that at a fit it is the same whatever the weights are, as what a prior depends on
    must be.
    """
    rows = problem.rows
    flat = replace(problem, guess=None).start.reshape(rows.shape)
    none = np.zeros((len(rows.x), len(class_pairs(len(rows.coding))[0])))
    return _signal(rows, rows.expected(rows.coordinates(flat), none))


LogisticEngine = (
    VariationalLogistic | LaplaceApproximation | ExpectationPropagation | NoUTurnSampling
)

LOGISTIC_ENGINES: Mapping[str, type | None] = MappingProxyType(
    {
        "variational": VariationalLogistic,
        "laplace": LaplaceApproximation,
        "ep": ExpectationPropagation,
        "nuts": NoUTurnSampling,
        "map": None,
        "ml": None,
    }
)
"""Ways in which a logistic regression learns, and the engines that they stand for."""
