"""Gaussian processes of classes: evidence of a kernel, and what is believed of new rows.

Two classes have one hidden function, the log odds of the second; several have one each, under
one joint softmax model. Exact processes factor n x n matrices. Beyond some thousand rows the
prior of two classes is that of features of a few inducing inputs, ``A = K_nm L^-T`` with
``L L' = K_mm``, and independent noise that restores the variance of each row (FITC)
[rasmussen2006]_: the same engines then work on m x m matrices.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from credo.features.kernels.kernel import Kernel
from credo.inference.engine.engine import Inference, run
from credo.inference.logistic.problem import LogisticProblem, mode_of
from credo.inference.logistic.softmax import SoftmaxRows, class_coding
from credo.inference.site.expectation_propagation import (
    ExpectationPropagation,
    followed_sites,
)
from credo.inference.site.laplace import SiteLaplace, followed_mode
from credo.inference.site.likelihood import LogitLikelihood
from credo.inference.site.prior import CovariancePrior, LinearConditioned, LinearPrior
from credo.inference.site.problem import SiteProblem
from credo.inference.site.softmax import (
    ClassMode,
    SoftmaxLaplace,
    SoftmaxProblem,
    SoftmaxSites,
)
from credo.numerics.array import Array
from credo.numerics.form import Form
from credo.numerics.linear.linear_algebra import (
    Cholesky,
    NotPositiveDefinite,
    cholesky,
    solve_lower,
)
from credo.numerics.optimize.minimum import Minimum
from credo.numerics.parallel.threads import threads_for_matrix
from credo.numerics.status import Status

__all__ = [
    "BinaryBelief",
    "ClassData",
    "ClassEvidence",
    "ClassMethod",
    "ClassProblem",
    "ExactBinary",
    "ExactSoftmax",
    "InducedBelief",
    "InducedBinary",
    "InducedSoftmax",
    "InducedSoftmaxBelief",
    "LearnedKernel",
    "SoftmaxBelief",
    "learned_kernel",
]

LOG_TWO_PI = float(np.log(2 * np.pi))
HIDDEN_VARIANCE = 4.0
"""Variance that is natural for log odds: most rows are then classed with some doubt."""

INDUCING_JITTER = 1e-8
FAILED = 1e20
"""Minus the log evidence where the covariance has no factor."""

WIDEST = 9.0
"""How far the log of a kernel parameter may be from its natural value."""

FEW_ROWS, MANY_ROWS = 300, 600
MOST_STEPS, MAX_HALVINGS = 200, 12
FINE, ROUGH = 1e-4, 1e-2
"""What another step must promise, in nats, on all rows and on some."""

LONGEST_STEP = 2.0
SHARE_OF_SLOPE = 1e-4
LEAST_BEND = 0.05
EngineOfTwo = ExpectationPropagation | SiteLaplace


@dataclass(frozen=True, eq=False)
class ClassData:
    """Labeled rows: inputs (n, d), classes 0 to K - 1, and positive weights (n,)."""

    x: Annotated[Array, Form("n d")]
    code: Annotated[NDArray[np.intp], Form("n", 0)]
    weight: Annotated[Array, Form("n", 0.0)]
    n_classes: Annotated[int, Form(low=2)]

    def taken(self, rows: Any) -> Self:
        """Return some of the rows."""
        return replace(self, x=self.x[rows], code=self.code[rows], weight=self.weight[rows])


class ClassEvidence(NamedTuple):
    """Log evidence, its gradient by log kernel parameters, and the state of the engine."""

    value: float
    gradient: Array
    state: Any


class ClassMethod(Protocol):
    """A way to compute a Gaussian process of classes."""

    def evidence(self, data: ClassData, kernel: Kernel, state: Any = None) -> ClassEvidence:
        """Return the log evidence and its gradient, going on from an earlier state."""
        ...

    def belief(self, data: ClassData, kernel: Kernel) -> tuple[Any, Inference]:
        """Return what is believed of the hidden functions, and how it came about."""
        ...


@dataclass(frozen=True)
class ExactBinary:
    """Two classes without inducing inputs.

    Attributes
    ----------
    engine
        Expectation propagation, or Laplace's method.
    """

    engine: EngineOfTwo

    def evidence(self, data: ClassData, kernel: Kernel, state: Any = None) -> ClassEvidence:
        """Return the log evidence and its gradient, going on from an earlier state."""
        with threads_for_matrix(len(data.x)):
            matrix, pull = kernel.evaluated(data.x)
            problem = _site_problem(CovariancePrior(matrix), data)
            found, last = self._followed(problem, state)
            gradient = 0.5 * pull(found.prior_gradient())
        return ClassEvidence(found.log_evidence, gradient, last)

    def _followed(self, problem: SiteProblem, state: Any) -> tuple[Any, Any]:
        """Return the belief, and what the next one starts from."""
        if isinstance(self.engine, ExpectationPropagation):
            return followed_sites(problem, state, self.engine.tolerance)
        found = followed_mode(problem, state, self.engine.tolerance)
        return found, found

    def belief(self, data: ClassData, kernel: Kernel) -> tuple[BinaryBelief, Inference]:
        """Return what is believed of the log odds, and how it came about."""
        with threads_for_matrix(len(data.x)):
            prior = CovariancePrior(kernel.evaluated(data.x)[0])
            found = run(self.engine, _site_problem(prior, data))
            sites = found.posterior.belief
            belief = BinaryBelief(kernel, data.x, found.posterior.dual, sites.precision)
        belief.__dict__["_sites"] = sites
        return belief, found


@dataclass(frozen=True, eq=False)
class BinaryBelief:
    """Log odds of the second of two classes, as a Gaussian process after the data.

    The factor is made when it is first needed, and is in no file.

    Attributes
    ----------
    kernel
        The kernel.
    x
        Rows that were learned from, shape (n, d).
    dual
        Weights of their kernels in the mean, shape (n,).
    precision
        Precisions of their sites, shape (n,).
    """

    kernel: Kernel
    x: Annotated[Array, Form("n d")]
    dual: Annotated[Array, Form("n")]
    precision: Annotated[Array, Form("n", 0.0)]

    @cached_property
    def _sites(self) -> Any:
        prior = CovariancePrior(self.kernel.evaluated(self.x)[0])
        return prior.conditioned(self.precision, np.zeros_like(self.dual))

    def moments(self, X: Array) -> tuple[Array, Array]:
        """Return mean and variance of the log odds at rows, shape (m,)."""
        with threads_for_matrix(len(self.x)):
            near = self.kernel.evaluated(self.x, X)[0]
            taken = (near * self._sites.residual_precision_times(near)).sum(axis=0)
        variance = self.kernel.evaluated_diagonal(X)[0] - taken
        return self.dual @ near, np.maximum(variance, 0.0)


@dataclass(frozen=True)
class ExactSoftmax:
    """Several classes without inducing inputs.

    Attributes
    ----------
    engine
        Laplace's method.
    """

    engine: SoftmaxLaplace

    def evidence(self, data: ClassData, kernel: Kernel, state: Any = None) -> ClassEvidence:
        """Return the log evidence and its gradient, going on from an earlier state."""
        with threads_for_matrix(len(data.x)):
            matrix, pull = kernel.evaluated(data.x)
            problem = SoftmaxProblem(matrix, data.code, data.n_classes, data.weight)
            if state is not None:
                hidden = state.dual @ matrix
                state = ClassMode(hidden, state.dual, problem.log_density(hidden, state.dual))
            found = run(self.engine, problem, state=state)
            gradient = 0.5 * pull(found.posterior.prior_gradient())
        return ClassEvidence(found.log_evidence, gradient, found.state)

    def belief(self, data: ClassData, kernel: Kernel) -> tuple[SoftmaxBelief, Inference]:
        """Return what is believed of the functions of the classes, and how it came about."""
        with threads_for_matrix(len(data.x)):
            matrix = kernel.evaluated(data.x)[0]
            problem = SoftmaxProblem(matrix, data.code, data.n_classes, data.weight)
            found = run(self.engine, problem)
        sites = found.posterior
        belief = SoftmaxBelief(kernel, data.x, sites.mean, sites.dual, data.weight)
        belief.__dict__["_sites"] = sites
        return belief, found


@dataclass(frozen=True, eq=False)
class SoftmaxBelief:
    """Hidden functions of several classes, as Gaussian processes after the data.

    The factors are made when they are first needed, and are in no file.

    Attributes
    ----------
    kernel
        The kernel of all classes.
    x
        Rows that were learned from, shape (n, d).
    hidden
        Most probable values of the functions there, shape (K, n).
    dual
        Weights of their kernels in the means, shape (K, n).
    weight
        Weights of the rows, shape (n,).
    """

    kernel: Kernel
    x: Annotated[Array, Form("n d")]
    hidden: Annotated[Array, Form("k n")]
    dual: Annotated[Array, Form("k n")]
    weight: Annotated[Array, Form("n", 0.0)]

    @cached_property
    def _sites(self) -> SoftmaxSites:
        matrix = self.kernel.evaluated(self.x)[0]
        code = self.hidden.argmax(axis=0)
        problem = SoftmaxProblem(matrix, code, len(self.hidden), self.weight)
        return SoftmaxSites(problem, self.hidden, self.dual)

    def moments(self, X: Array) -> tuple[Array, Array]:
        """Return means (m, K) and covariances (m, K, K) of the functions at rows."""
        with threads_for_matrix(len(self.x)):
            near = self.kernel.evaluated(self.x, X)[0]
            prior = self.kernel.evaluated_diagonal(X)[0]
            return (self.dual @ near).T, self._sites.row_covariance(near, prior)


@dataclass(frozen=True, eq=False)
class InducedBinary:
    """Two classes by way of inducing inputs.

    Attributes
    ----------
    engine
        Expectation propagation, or Laplace's method.
    inducing
        Inducing inputs, shape (m, d).
    """

    engine: EngineOfTwo
    inducing: Array

    def evidence(self, data: ClassData, kernel: Kernel, state: Any = None) -> ClassEvidence:
        """Return the log evidence and its gradient; the inducing inputs stay."""
        with threads_for_matrix(len(data.x)):
            induced = _Induced.of(kernel, self.inducing, data.x)
            found = run(self.engine, _site_problem(induced.prior, data))
            by_design, by_variance = found.posterior.prior_gradient()
            gradient = induced.pulled(by_design, by_variance)
        return ClassEvidence(found.log_evidence, gradient, None)

    def belief(self, data: ClassData, kernel: Kernel) -> tuple[InducedBelief, Inference]:
        """Return what is believed of the log odds, and how it came about."""
        with threads_for_matrix(len(data.x)):
            induced = _Induced.of(kernel, self.inducing, data.x)
            found = run(self.engine, _site_problem(induced.prior, data))
        sites: LinearConditioned = found.posterior.belief
        return InducedBelief(
            kernel, self.inducing, sites.weight_mean, sites.weight_precision
        ), found


@dataclass(frozen=True, eq=False)
class InducedBelief:
    """Log odds of the second of two classes by way of inducing inputs.

    Attributes
    ----------
    kernel
        The kernel.
    x
        Inducing inputs, shape (m, d).
    mean, precision
        Of the weights of their features, shape (m,) and (m, m).
    """

    kernel: Kernel
    x: Annotated[Array, Form("m d")]
    mean: Annotated[Array, Form("m")]
    precision: Annotated[Array, Form("m m")]

    def moments(self, X: Array) -> tuple[Array, Array]:
        """Return mean and variance of the log odds at rows, shape (q,)."""
        design, rest = _features(self.kernel, self.x, X)
        known = (cholesky(self.precision).whiten(design) ** 2).sum(axis=1)
        return design @ self.mean, known + rest


@dataclass(frozen=True, eq=False)
class InducedSoftmax:
    """Several classes by way of inducing inputs, rows being functions of these alone.

    Attributes
    ----------
    inducing
        Inducing inputs, shape (m, d).
    """

    inducing: Array

    def evidence(self, data: ClassData, kernel: Kernel, state: Any = None) -> ClassEvidence:
        """Return the log evidence; its gradient is not known."""
        found = self._mode(data, kernel)
        unknown = np.full(len(kernel.parameters), np.nan)
        return ClassEvidence(found.log_evidence, unknown, None)

    def belief(self, data: ClassData, kernel: Kernel) -> tuple[InducedSoftmaxBelief, Inference]:
        """Return what is believed of the functions of the classes, and how it came about."""
        found = self._mode(data, kernel)
        gaussian, m = found.posterior, len(self.inducing)
        n_codes = data.n_classes - 1
        # The last weight of each is an intercept that no row has.
        kept = (np.arange(n_codes)[:, None] * (m + 1) + np.arange(m)).ravel()
        belief = InducedSoftmaxBelief(
            kernel,
            self.inducing,
            gaussian.loc[kept].reshape(n_codes, m),
            gaussian.form.precision[np.ix_(kept, kept)],
        )
        return belief, found

    def _mode(self, data: ClassData, kernel: Kernel) -> Inference:
        design, _ = _features(kernel, self.inducing, data.x)
        zero, one = np.zeros(design.shape[1]), np.ones(design.shape[1])
        coding = class_coding(data.n_classes)
        rows = SoftmaxRows(design, data.code, data.weight, zero, one, coding, False)
        with threads_for_matrix(len(one) * coding.shape[1]):
            return mode_of(LogisticProblem(rows, 1.0))


@dataclass(frozen=True, eq=False)
class InducedSoftmaxBelief:
    """Hidden functions of several classes by way of inducing inputs.

    Attributes
    ----------
    kernel
        The kernel of all classes.
    x
        Inducing inputs, shape (m, d).
    mean, precision
        Of the weights of their features, for each of K - 1 coordinates of the classes, shape
        (K - 1, m), and (p, p) for all of them together.
    """

    kernel: Kernel
    x: Annotated[Array, Form("m d")]
    mean: Annotated[Array, Form("j m")]
    precision: Annotated[Array, Form("p p")]

    def moments(self, X: Array) -> tuple[Array, Array]:
        """Return means (q, K) and covariances (q, K, K) of the functions at rows."""
        design, rest = _features(self.kernel, self.x, X)
        n_codes, m = self.mean.shape
        coding = class_coding(n_codes + 1)
        S = cholesky(self.precision).inverse().reshape(n_codes, m, n_codes, m)
        between = np.einsum("qa,iajb,qb->qij", design, S, design, optimize=True)
        between += rest[:, None, None] * np.eye(n_codes)
        mean = design @ self.mean.T @ coding.T
        return mean, coding @ between @ coding.T


@dataclass(frozen=True, eq=False)
class ClassProblem:
    """A Gaussian process of classes of which kernel parameters are to be learned.

    Attributes
    ----------
    data, kernel
        What is learned from, with a kernel whose values are the first to try.
    method
        How the evidence is computed.
    has_prior
        Whether kernel parameters have a log-normal prior around their natural values.
    """

    data: ClassData
    kernel: Kernel
    method: ClassMethod
    has_prior: bool = True
    _last: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def names(self) -> list[str]:
        """Names of the free numbers."""
        return [p.name for p in self.kernel.parameters]

    @cached_property
    def natural(self) -> Array:
        """Free numbers that are natural in the units of the inputs."""
        return self.kernel.natural(self.data.x, HIDDEN_VARIANCE)

    @property
    def given(self) -> Array:
        """Free numbers with the values of the kernel as it was given."""
        return self.kernel.log_parameters

    @cached_property
    def bounds(self) -> Array:
        """Least and largest value of each free number, shape (p, 2)."""
        with np.errstate(divide="ignore"):
            low, high = (
                np.log([(p.low, p.high) for p in self.kernel.parameters]).reshape(-1, 2).T
            )
        least = np.minimum(self.natural - WIDEST, self.given - 1.0)
        most = np.maximum(self.natural + WIDEST, self.given + 1.0)
        return np.column_stack([np.maximum(least, low), np.minimum(most, high)])

    def log_evidence(self, free: Array) -> tuple[float, Array]:
        """Return the log evidence at free numbers, and its gradient."""
        # Steps of a search may lead where an engine needs long; only the last one is told.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = self.method.evidence(
                self.data, self.kernel.at(free), self._last.get("state")
            )
        self._last["state"] = found.state
        return found.value, found.gradient

    def log_prior(self, free: Array) -> tuple[float, Array]:
        """Return the log density of the prior, and its gradient."""
        if not self.has_prior:
            return 0.0, np.zeros_like(free)
        spread = np.array([p.log_spread for p in self.kernel.parameters])
        gap = (free - self.natural) / spread
        value = -0.5 * float(gap @ gap) - float(np.sum(np.log(spread) + 0.5 * LOG_TWO_PI))
        return value, -gap / spread

    def objective(self, free: Array) -> tuple[float, Array]:
        """Return minus the log of evidence times prior, and its gradient."""
        try:
            value, slope = self.log_evidence(free)
        except NotPositiveDefinite:
            return FAILED, np.zeros_like(free)
        prior, by_prior = self.log_prior(free)
        return -(value + prior), -(slope + by_prior)

    def taken(self, rows: Any) -> Self:
        """Return the problem of some of the rows, under the same priors."""
        small = replace(self, data=self.data.taken(rows), _last={})
        for name in ("natural", "bounds"):
            small.__dict__[name] = getattr(self, name)
        return small


@dataclass(frozen=True, eq=False)
class LearnedKernel:
    """A kernel whose parameters were learned.

    Attributes
    ----------
    kernel
        With the most probable parameters.
    log_evidence
        Log evidence there.
    log_volume
        What integrating over parameters adds to it: the log of prior density times volume of
        a normal around the most probable ones. Zero without a prior.
    at_bounds
        Names of parameters that ended at a bound.
    """

    kernel: Kernel
    log_evidence: float
    log_volume: float
    at_bounds: tuple[str, ...]


def learned_kernel(problem: ClassProblem) -> LearnedKernel:
    """Return the kernel with its most probable parameters.

    The best of a few starts is climbed from, on some of the rows first where they are many.
    Without a prior there is no normal: the evidence is that at its highest.
    """
    if not problem.names:
        value = problem.log_evidence(np.empty(0))[0]
        return LearnedKernel(problem.kernel, value, 0.0, ())
    found = _climbed(problem, *_start(problem), FINE)
    value = -found.value - problem.log_prior(found.x)[0]
    low, high = problem.bounds.T
    is_inside = (found.x > low + 1e-6) & (found.x < high - 1e-6)
    at_bounds = tuple(np.array(problem.names)[~is_inside].tolist())
    log_volume = 0.0
    if problem.has_prior and is_inside.any():
        values = np.linalg.eigvalsh(_bend(problem, found.x, is_inside))
        # Directions in which nothing was learned are as wide as the prior at the most.
        values = np.maximum(values, LEAST_BEND)
        log_volume = 0.5 * (len(values) * LOG_TWO_PI - float(np.log(values).sum()))
        log_volume += problem.log_prior(found.x)[0]
    return LearnedKernel(problem.kernel.at(found.x), value, log_volume, at_bounds)


def _start(problem: ClassProblem) -> tuple[Array, Array | None]:
    """Return where to climb from, and how the objective bends there if that is known.

    It is the best of the given values, natural ones, and longer and shorter scales. Of many
    rows, some lead to where all of them are climbed from.
    """
    n = len(problem.data.x)
    rows = np.random.default_rng(0).permutation(n)[:FEW_ROWS]
    small = problem if n < MANY_ROWS else problem.taken(np.sort(rows))
    is_length = np.array(["length_scale" in name for name in problem.names])
    tries = [
        problem.given,
        problem.natural,
        *(problem.natural + s * is_length for s in (-1, 1)),
    ]
    inside = {tuple(np.clip(start, *problem.bounds.T).tolist()) for start in tries}
    starts = [np.array(start) for start in sorted(inside)]
    best = min(starts, key=lambda start: small.objective(start)[0])
    if small is problem:
        return best, None
    near = _climbed(small, best, None, ROUGH).x
    values, vectors = np.linalg.eigh(_bend(small, near, np.ones(len(near), dtype=bool)))
    values = np.maximum(values, 0.1) * (n / len(rows))
    return near, (vectors * values) @ vectors.T


def _climbed(
    problem: ClassProblem, start: Array, bend: Array | None, tolerance: float
) -> Minimum:
    """Return the minimum of the objective by quasi-Newton steps inside the bounds.

    An evidence takes so much longer than algebra of its few parameters that the whole
    curvature is kept, from the first step on if it is known; the search ends when that
    promises no more than the tolerance.
    """
    low, high = problem.bounds.T
    x = start
    value, slope = problem.objective(x)
    curvature = np.eye(len(x)) * max(float(np.abs(slope).max()), 1.0) if bend is None else bend
    is_first = bend is None
    for n_steps in range(MOST_STEPS):
        direction, promise = _direction(x, slope, curvature, low, high)
        if promise <= tolerance:
            return Minimum(x, value, slope, Status.VALUE_STEADY, n_steps, ())
        moved = _lowered(problem, x, value, direction, promise)
        if moved is None:
            return Minimum(x, value, slope, Status.NO_DESCENT, n_steps, ())
        stride, bent = moved[0] - x, moved[2] - slope
        x, value, slope = moved
        across = float(stride @ bent)
        if across > 1e-10 * float(stride @ stride):
            if is_first:
                curvature = np.eye(len(x)) * (float(bent @ bent) / across)
                is_first = False
            held = curvature @ stride
            curvature = curvature - np.outer(held, held) / float(stride @ held)
            curvature = curvature + np.outer(bent, bent) / across
    return Minimum(x, value, slope, Status.MAX_STEPS, MOST_STEPS, ())


def _direction(
    x: Array, slope: Array, curvature: Array, low: Array, high: Array
) -> tuple[Array, float]:
    """Return the step that the curvature advises, inside bounds, and what it promises."""
    is_free = ~(((x <= low) & (slope > 0)) | ((x >= high) & (slope < 0)))
    direction = np.zeros_like(x)
    if is_free.any():
        part = np.linalg.solve(curvature[np.ix_(is_free, is_free)], slope[is_free])
        direction[is_free] = -part * min(1.0, LONGEST_STEP / float(np.abs(part).max()))
    direction = np.clip(x + direction, low, high) - x
    return direction, -0.5 * float(slope @ direction)


def _lowered(
    problem: ClassProblem, x: Array, value: float, direction: Array, promise: float
) -> tuple[Array, float, Array] | None:
    """Return the first point along the direction that is low enough, with value and slope."""
    size = 1.0
    for _ in range(MAX_HALVINGS):
        there = x + size * direction
        found, slope = problem.objective(there)
        if found <= value - SHARE_OF_SLOPE * size * promise:
            return there, found, slope
        # The least of the parabola through both values and the slope, within reason.
        size *= float(
            np.clip(size * promise / (found - value + 2.0 * size * promise), 0.1, 0.5)
        )
    return None


def _bend(problem: ClassProblem, free: Array, is_inside: NDArray[np.bool_]) -> Array:
    """Return the Hessian of the objective by differences of its gradient."""
    places, step = np.flatnonzero(is_inside), 1e-2
    here = problem.objective(free)[1]
    moved = [problem.objective(free + step * np.eye(len(free))[place])[1] for place in places]
    found = (np.array(moved) - here)[:, places] / step
    return np.asarray(0.5 * (found + found.T))


@dataclass(frozen=True, eq=False)
class _Induced:
    """The prior by inducing inputs, and how its parts change with the kernel."""

    prior: LinearPrior
    factor: Cholesky
    pulls: tuple[Any, Any, Any]

    @classmethod
    def of(cls, kernel: Kernel, inducing: Array, x: Array) -> _Induced:
        factor, pull_inducing = _inducing_factor(kernel, inducing)
        cross, pull_cross = kernel.evaluated(x, inducing)
        variance, pull_variance = kernel.evaluated_diagonal(x)
        design = factor.whiten(cross)
        noise = np.maximum(variance - (design**2).sum(axis=1), 0.0)
        prior = LinearPrior(design, np.ones(design.shape[1]), None, noise)
        return cls(prior, factor, (pull_inducing, pull_cross, pull_variance))

    def pulled(self, by_design: Array, by_variance: Array) -> Array:
        """Return the gradient by log parameters, from ``G A`` and the diagonal of ``G``."""
        A = self.prior.design
        # What the features explain of a variance, the noise of the row does not.
        own = by_design - by_variance[:, None] * A
        by_cross = solve_lower(self.factor.lower, own.T, transposed=True).T
        inner = solve_lower(self.factor.lower, A.T @ own, transposed=True)
        by_inducing = -0.5 * solve_lower(self.factor.lower, inner.T, transposed=True)
        pull_inducing, pull_cross, pull_variance = self.pulls
        found = pull_cross(by_cross) + pull_inducing(by_inducing)
        return np.asarray(found + 0.5 * pull_variance(by_variance))


def _inducing_factor(kernel: Kernel, inducing: Array) -> tuple[Cholesky, Any]:
    matrix, pull = kernel.evaluated(inducing)
    matrix[np.diag_indices_from(matrix)] += INDUCING_JITTER * matrix.diagonal().mean()
    return cholesky(matrix, largest_jitter=1e-4), pull


def _features(kernel: Kernel, inducing: Array, x: Array) -> tuple[Array, Array]:
    """Return features of rows, and the variance that they leave unexplained."""
    factor, _ = _inducing_factor(kernel, inducing)
    design = factor.whiten(kernel.evaluated(x, inducing)[0])
    rest = kernel.evaluated_diagonal(x)[0] - (design**2).sum(axis=1)
    return design, np.maximum(rest, 0.0)


def _site_problem(prior: CovariancePrior | LinearPrior, data: ClassData) -> SiteProblem:
    y = data.code.astype(np.float64)
    weight = None if np.all(data.weight == 1.0) else data.weight
    return SiteProblem(prior, LogitLikelihood(), y, weight)
