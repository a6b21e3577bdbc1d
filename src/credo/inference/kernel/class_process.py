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
from credo.inference.kernel.search import MANY_ROWS, SettingsProblem
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
    cholesky,
    solve_lower,
)
from credo.numerics.parallel.threads import threads_for_factors

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
    "SoftmaxBelief",
]

HIDDEN_VARIANCE = 4.0
"""Variance that is natural for log odds: most rows are then classed with some doubt."""

INDUCING_JITTER = 1e-8
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
        with threads_for_factors(len(data.x)):
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
        with threads_for_factors(len(data.x)):
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
        with threads_for_factors(len(self.x)):
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
        with threads_for_factors(len(data.x)):
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
        with threads_for_factors(len(data.x)):
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
        with threads_for_factors(len(self.x)):
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
        with threads_for_factors(len(data.x)):
            induced = _Induced.of(kernel, self.inducing, data.x)
            found = run(self.engine, _site_problem(induced.prior, data))
            by_design, by_variance = found.posterior.prior_gradient()
            gradient = induced.pulled(by_design, by_variance)
        return ClassEvidence(found.log_evidence, gradient, None)

    def belief(self, data: ClassData, kernel: Kernel) -> tuple[InducedBelief, Inference]:
        """Return what is believed of the log odds, and how it came about."""
        with threads_for_factors(len(data.x)):
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
        with threads_for_factors(len(one) * coding.shape[1]):
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
class ClassProblem(SettingsProblem):
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
    def race_steps(self) -> tuple[int, int]:
        """Steps of all starts, and of the better half: one evidence tells starts apart."""
        return 0, 4

    @property
    def n_sides(self) -> int:
        """To how many sides differences go: an evidence takes many steps of an engine."""
        return int(len(self.data.x) < MANY_ROWS)

    @cached_property
    def natural(self) -> Array:
        """Free numbers that are natural in the units of the inputs."""
        return self.kernel.natural(self.data.x, HIDDEN_VARIANCE)

    def log_evidence(self, free: Array) -> tuple[float, Array]:
        """Return the log evidence at free numbers, and its gradient."""
        # Steps of a search may lead where an engine needs long, which matters for the last.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = self.method.evidence(
                self.data, self.kernel.at(free), self._last.get("state")
            )
        self._last["state"] = found.state
        return found.value, found.gradient

    def taken(self, rows: Any) -> Self:
        """Return the problem of some of the rows, under the same priors."""
        small = replace(self, data=self.data.taken(rows), _last={})
        for name in ("natural", "bounds"):
            small.__dict__[name] = getattr(self, name)
        return small


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
