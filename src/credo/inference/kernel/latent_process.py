"""Latent Gaussian processes: hidden functions behind outcomes of any likelihood.

``f ~ GP(level, k)``, and each outcome depends on ``f`` at its row alone: classes, counts,
grades, numbers with outliers. Laplace's method or expectation propagation gives the Gaussian
belief about ``f`` and the evidence. Exact processes factor n x n matrices. Beyond some thousand
rows the prior is that of features of a few inducing inputs, ``A = K_nm L^-T`` with
``L L' = K_mm``, and independent noise that restores the variance of each row (FITC)
[rasmussen2006]_: the same engines then work on m x m matrices.

Several classes have one function each, under one joint softmax model by Laplace's method.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.features.basis import distinct_rows
from credo.features.kernels.kernel import Kernel
from credo.inference.engine.engine import Inference, run
from credo.inference.kernel.search import SettingsProblem
from credo.inference.logistic.problem import LogisticProblem, mode_of
from credo.inference.logistic.softmax import SoftmaxRows, class_coding
from credo.inference.site.expectation_propagation import (
    ExpectationPropagation,
    Sites,
    followed_sites,
)
from credo.inference.site.laplace import SiteLaplace, followed_mode
from credo.inference.site.likelihood import Likelihood, LogitLikelihood
from credo.inference.site.prior import (
    CovariancePrior,
    LinearConditioned,
    LinearPrior,
    SitePrior,
)
from credo.inference.site.problem import SitePosterior, SiteProblem
from credo.inference.site.softmax import (
    ClassMode,
    SoftmaxLaplace,
    SoftmaxProblem,
    SoftmaxSites,
)
from credo.numerics.array import Array
from credo.numerics.form import Form
from credo.numerics.linear.linear_algebra import Cholesky, cholesky, solve_lower
from credo.numerics.parallel.threads import threads_for_factors
from credo.numerics.special.log_domain import softmax

__all__ = [
    "ClassData",
    "ExactLatent",
    "ExactSoftmax",
    "HiddenRows",
    "InducedBelief",
    "InducedLatent",
    "InducedSoftmax",
    "InducedSoftmaxBelief",
    "LatentBelief",
    "LatentData",
    "LatentEvidence",
    "LatentMethod",
    "LatentProcessProblem",
    "SoftmaxBelief",
]

INDUCING_JITTER = 1e-8
FINE = 1e-6
"""Tolerance of engines for curvatures of the evidence."""

SiteEngine = ExpectationPropagation | SiteLaplace


class HiddenRows(Protocol):
    """Rows with outcomes."""

    @property
    def x(self) -> Array:
        """Inputs, shape (n, d)."""
        ...

    @property
    def y(self) -> Array:
        """Outcomes, shape (n,)."""
        ...

    @property
    def weight(self) -> Array:
        """Positive weights, shape (n,)."""
        ...

    def taken(self, rows: Any) -> Self:
        """Return some of the rows."""
        ...


@dataclass(frozen=True, eq=False)
class LatentData:
    """Rows with outcomes: inputs (n, d), outcomes (n,) and positive weights (n,)."""

    x: Annotated[Array, Form("n d")]
    y: Annotated[Array, Form("n")]
    weight: Annotated[Array, Form("n", 0.0)]

    def taken(self, rows: Any) -> Self:
        """Return some of the rows."""
        return replace(self, x=self.x[rows], y=self.y[rows], weight=self.weight[rows])


class LatentEvidence(NamedTuple):
    """Log evidence, its gradient by free numbers, and the state of the engine."""

    value: float
    gradient: Array
    state: Any


class LatentMethod(ABC):
    """A way to compute hidden functions, which may have parameters of its own."""

    @property
    def own_names(self) -> tuple[str, ...]:
        """Names of its own parameters."""
        return ()

    @property
    def own_parameters(self) -> Array:
        """Its own parameters as numbers without bounds, shape (q,)."""
        return np.empty(0)

    @property
    def own_spread(self) -> Array:
        """Prior standard deviation of each, shape (q,)."""
        return np.empty(0)

    def at(self, own_parameters: ArrayLike) -> Self:
        """Return the method with other parameters."""
        return self

    @property
    @abstractmethod
    def refined(self) -> Self:
        """The method with an engine whose evidence has slopes of many digits."""

    @abstractmethod
    def evidence(self, data: Any, kernel: Kernel, state: Any = None) -> LatentEvidence:
        """Return the log evidence and its gradient, going on from an earlier state."""

    @abstractmethod
    def belief(self, data: Any, kernel: Kernel, state: Any = None) -> tuple[Any, Inference]:
        """Return what is believed of the hidden functions, and how it came about.

        An earlier state shows where to look as well.
        """


@dataclass(frozen=True)
class _OneFunction(LatentMethod):
    """One hidden function behind each outcome.

    Attributes
    ----------
    engine
        Expectation propagation, or Laplace's method.
    likelihood
        Of an outcome given the function there.
    level
        Prior mean of the function.
    """

    engine: SiteEngine
    likelihood: Likelihood = field(default_factory=LogitLikelihood)
    level: float = 0.0

    @property
    def own_names(self) -> tuple[str, ...]:
        """Names of the likelihood's parameters."""
        return self.likelihood.parameter_names

    @property
    def own_parameters(self) -> Array:
        """The likelihood's parameters."""
        return self.likelihood.free_parameters

    @property
    def own_spread(self) -> Array:
        """Prior standard deviations of the likelihood's parameters."""
        return self.likelihood.prior_spread

    def at(self, own_parameters: ArrayLike) -> Self:
        """Return the method with other parameters of the likelihood."""
        return replace(self, likelihood=self.likelihood.at(own_parameters))

    @property
    def refined(self) -> Self:
        """The method with an engine whose evidence has slopes of many digits."""
        return replace(self, engine=replace(self.engine, tolerance=FINE))

    def _problem(self, prior: SitePrior, data: HiddenRows) -> SiteProblem:
        weight = None if np.all(data.weight == 1.0) else data.weight
        return SiteProblem(prior, self.likelihood, data.y, weight)

    def _levels(self, data: HiddenRows) -> Array | None:
        return np.full(len(data.x), self.level) if self.level else None


@dataclass(frozen=True)
class ExactLatent(_OneFunction):
    """One hidden function behind each outcome, without inducing inputs."""

    def evidence(self, data: HiddenRows, kernel: Kernel, state: Any = None) -> LatentEvidence:
        """Return the log evidence and its gradient, going on from an earlier state."""
        with threads_for_factors(len(data.x)):
            matrix, pull = kernel.evaluated(data.x)
            problem = self._problem(CovariancePrior(matrix, self._levels(data)), data)
            found, last = self._followed(problem, state)
            by_kernel = 0.5 * pull(found.prior_gradient())
        gradient = np.concatenate([by_kernel, found.parameter_gradient()])
        return LatentEvidence(found.log_evidence, gradient, last)

    def _followed(self, problem: SiteProblem, state: Any) -> tuple[SitePosterior, Any]:
        """Return the belief, and what the next one starts from."""
        if isinstance(self.engine, ExpectationPropagation):
            return followed_sites(problem, state, self.engine)
        found = followed_mode(problem, state, self.engine)
        return found, found

    def belief(
        self, data: HiddenRows, kernel: Kernel, state: Any = None
    ) -> tuple[LatentBelief, Inference]:
        """Return what is believed of the hidden function, and how it came about.

        Outliers leave several modes: of that reached from an earlier state and that reached
        from the prior, the one of higher evidence is taken.
        """
        with threads_for_factors(len(data.x)):
            prior = CovariancePrior(kernel.evaluated(data.x)[0], self._levels(data))
            problem = self._problem(prior, data)
            found = run(self.engine, problem)
            if state is not None and not self.likelihood.is_log_concave:
                near = self._followed(problem, state)[1]
                start = near if isinstance(near, Sites) else near.state
                other = run(self.engine, problem, state=start)
                found = max(found, other, key=lambda one: one.log_evidence)
        sites = found.posterior.belief
        belief = LatentBelief(kernel, data.x, found.posterior.dual, sites.precision, self.level)
        belief.__dict__["_sites"] = sites
        return belief, found


@dataclass(frozen=True, eq=False)
class LatentBelief:
    """A hidden function as a Gaussian process after the data.

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
        Precisions of their sites, shape (n,); an outlier's may be negative.
    level
        Prior mean of the function.
    """

    kernel: Kernel
    x: Annotated[Array, Form("n d")]
    dual: Annotated[Array, Form("n")]
    precision: Annotated[Array, Form("n")]
    level: float = 0.0

    @cached_property
    def _sites(self) -> Any:
        prior = CovariancePrior(self.kernel.evaluated(self.x)[0])
        return prior.conditioned(self.precision, np.zeros_like(self.dual))

    def moments(self, X: Array) -> tuple[Array, Array]:
        """Return mean and variance of the function at rows, shape (m,)."""
        with threads_for_factors(len(self.x)):
            near = self.kernel.evaluated(self.x, X)[0]
            taken = (near * self._sites.residual_precision_times(near)).sum(axis=0)
        variance = self.kernel.evaluated_diagonal(X)[0] - taken
        return self.level + self.dual @ near, np.maximum(variance, 0.0)


@dataclass(frozen=True, eq=False)
class InducedLatent(_OneFunction):
    """One hidden function behind each outcome, by way of inducing inputs.

    Attributes
    ----------
    inducing
        Inducing inputs, shape (m, d).
    """

    inducing: Array = field(default_factory=lambda: np.empty((0, 0)))

    def evidence(self, data: HiddenRows, kernel: Kernel, state: Any = None) -> LatentEvidence:
        """Return the log evidence and its gradient; the inducing inputs stay."""
        with threads_for_factors(len(data.x)):
            induced = _Induced.of(kernel, self.inducing, data.x, self._levels(data))
            found = run(self.engine, self._problem(induced.prior, data))
            by_design, by_variance = found.posterior.prior_gradient()
            by_kernel = induced.pulled(by_design, by_variance)
        gradient = np.concatenate([by_kernel, found.posterior.parameter_gradient()])
        return LatentEvidence(found.log_evidence, gradient, None)

    def belief(
        self, data: HiddenRows, kernel: Kernel, state: Any = None
    ) -> tuple[InducedBelief, Inference]:
        """Return what is believed of the hidden function, and how it came about."""
        with threads_for_factors(len(data.x)):
            induced = _Induced.of(kernel, self.inducing, data.x, self._levels(data))
            found = run(self.engine, self._problem(induced.prior, data))
        sites: LinearConditioned = found.posterior.belief
        belief = InducedBelief(
            kernel, self.inducing, sites.weight_mean, sites.weight_precision, self.level
        )
        return belief, found


@dataclass(frozen=True, eq=False)
class InducedBelief:
    """A hidden function after the data, by way of inducing inputs.

    Attributes
    ----------
    kernel
        The kernel.
    x
        Inducing inputs, shape (m, d).
    mean, precision
        Of the weights of their features, shape (m,) and (m, m).
    level
        Prior mean of the function.
    """

    kernel: Kernel
    x: Annotated[Array, Form("m d")]
    mean: Annotated[Array, Form("m")]
    precision: Annotated[Array, Form("m m")]
    level: float = 0.0

    @cached_property
    def _factor(self) -> Cholesky:
        return cholesky(self.precision)

    def moments(self, X: Array) -> tuple[Array, Array]:
        """Return mean and variance of the function at rows, shape (q,)."""
        design, rest = _features(self.kernel, self.x, X)
        known = (self._factor.whiten(design) ** 2).sum(axis=1)
        return self.level + design @ self.mean, known + rest


@dataclass(frozen=True, eq=False)
class ClassData:
    """Labeled rows: inputs (n, d), classes 0 to K - 1, and positive weights (n,)."""

    x: Annotated[Array, Form("n d")]
    code: Annotated[NDArray[np.intp], Form("n", 0)]
    weight: Annotated[Array, Form("n", 0.0)]
    n_classes: Annotated[int, Form(low=2)]

    @property
    def y(self) -> Array:
        """Classes as real numbers, shape (n,)."""
        return self.code.astype(np.float64)

    def taken(self, rows: Any) -> Self:
        """Return some of the rows."""
        return replace(self, x=self.x[rows], code=self.code[rows], weight=self.weight[rows])


@dataclass(frozen=True)
class ExactSoftmax(LatentMethod):
    """Several classes without inducing inputs.

    Attributes
    ----------
    engine
        Laplace's method.
    """

    engine: SoftmaxLaplace

    @property
    def refined(self) -> Self:
        """The method with an engine whose evidence has slopes of many digits."""
        return replace(self, engine=replace(self.engine, tolerance=FINE))

    def evidence(self, data: ClassData, kernel: Kernel, state: Any = None) -> LatentEvidence:
        """Return the log evidence and its gradient, going on from an earlier state."""
        with threads_for_factors(len(data.x)):
            matrix, pull = kernel.evaluated(data.x)
            problem = SoftmaxProblem(matrix, data.code, data.n_classes, data.weight)
            if state is not None:
                hidden = state.dual @ matrix
                state = ClassMode(hidden, state.dual, problem.log_density(hidden, state.dual))
            found = run(self.engine, problem, state=state)
            gradient = 0.5 * pull(found.posterior.prior_gradient())
        return LatentEvidence(found.log_evidence, gradient, found.state)

    def belief(
        self, data: ClassData, kernel: Kernel, state: Any = None
    ) -> tuple[SoftmaxBelief, Inference]:
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
class InducedSoftmax(LatentMethod):
    """Several classes by way of inducing inputs, rows being functions of these alone.

    Attributes
    ----------
    inducing
        Inducing inputs, shape (m, d).
    """

    inducing: Array

    @property
    def refined(self) -> Self:
        """The same method: its mode is exact to rounding."""
        return self

    def evidence(self, data: ClassData, kernel: Kernel, state: Any = None) -> LatentEvidence:
        """Return the log evidence and its gradient; the inducing inputs stay."""
        induced = _Induced.of(kernel, self.inducing, data.x, None)
        design = induced.prior.design
        found = self._mode(data, design, state)
        with threads_for_factors(len(self.inducing) * (data.n_classes - 1)):
            by_design = _by_features(data, design, *self._weights(data, found))
            gradient = induced.pulled(by_design, np.zeros(len(design)))
        return LatentEvidence(found.log_evidence, gradient, found.posterior.loc)

    def belief(
        self, data: ClassData, kernel: Kernel, state: Any = None
    ) -> tuple[InducedSoftmaxBelief, Inference]:
        """Return what is believed of the functions of the classes, and how it came about."""
        found = self._mode(data, _features(kernel, self.inducing, data.x)[0], state)
        mean, precision = self._weights(data, found)
        return InducedSoftmaxBelief(kernel, self.inducing, mean, precision), found

    def _mode(self, data: ClassData, design: Array, guess: Array | None) -> Inference:
        zero, one = np.zeros(design.shape[1]), np.ones(design.shape[1])
        coding = class_coding(data.n_classes)
        rows = SoftmaxRows(design, data.code, data.weight, zero, one, coding, False)
        with threads_for_factors(len(one) * coding.shape[1]):
            return mode_of(LogisticProblem(rows, 1.0, guess))

    def _weights(self, data: ClassData, found: Inference) -> tuple[Array, Array]:
        """Return mean (K - 1, m) and precision of the weights of the features."""
        gaussian, n_codes, m = found.posterior, data.n_classes - 1, len(self.inducing)
        # The last weight of each is an intercept that no row has.
        kept = (np.arange(n_codes)[:, None] * (m + 1) + np.arange(m)).ravel()
        mean = gaussian.loc[kept].reshape(n_codes, m)
        return mean, gaussian.form.precision[np.ix_(kept, kept)]


def _by_features(data: ClassData, design: Array, weights: Array, precision: Array) -> Array:
    """Return the gradient of Laplace's log evidence of several classes by the features, (n, m).

    With ``f_i = W a_i`` for features ``a_i`` of a row, ``g_i`` and ``-T_i`` the slope and the
    curvature of its log likelihood by ``f_i``, ``H`` the precision of the weights and
    ``u_i`` the slope of ``-log|H| / 2`` by ``f_i``, the mode moves by
    ``H dW = sum_i (g_i - T_i W) da_i``, so that the gradient by ``a_i`` is

    ``W'(g_i + u_i - T_i Q a_i) + Q'g_i - sum_jl T_ijl (H^-1)_jl a_i``

    where ``H Q = sum_i u_i a_i'`` [rasmussen2006]_.

    Parameters
    ----------
    weights, precision
        ``W``, shape (K - 1, m), and ``H``, shape ((K - 1) m, (K - 1) m).
    """
    coding, factor = class_coding(data.n_classes), cholesky(precision)
    n_codes, m = weights.shape
    share = softmax(design @ weights.T @ coding.T, axis=1)
    slope = data.weight[:, None] * (coding[data.code] - share @ coding)
    mixed = share @ coding
    bend = np.einsum("nc,ci,cj->nij", share, coding, coding, optimize=True)
    bend = data.weight[:, None, None] * (bend - mixed[:, :, None] * mixed[:, None])
    covariance = factor.inverse().reshape(n_codes, m, n_codes, m)
    between, spread = np.empty_like(bend), np.zeros_like(design)
    for i in range(n_codes):
        for j in range(n_codes):
            part = design @ covariance[i, :, j].T
            between[:, i, j] = np.einsum("na,na->n", part, design)
            spread += bend[:, i, j, None] * part
    by_class = coding @ between @ coding.T
    lean = np.diagonal(by_class, axis1=1, axis2=2)
    lean = lean - 2.0 * np.einsum("ncd,nd->nc", by_class, share)
    pull = share * (lean - np.sum(share * lean, axis=1, keepdims=True))
    by_score = -0.5 * data.weight[:, None] * (pull @ coding)
    moved = factor.solve((by_score.T @ design).reshape(-1, 1)).reshape(n_codes, m)
    by_moved = np.einsum("nij,nj->ni", bend, design @ moved.T)
    return np.asarray((slope + by_score - by_moved) @ weights + slope @ moved - spread)


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

    @cached_property
    def _covariance(self) -> Array:
        return cholesky(self.precision).inverse()

    def moments(self, X: Array) -> tuple[Array, Array]:
        """Return means (q, K) and covariances (q, K, K) of the functions at rows."""
        design, rest = _features(self.kernel, self.x, X)
        n_codes, m = self.mean.shape
        coding = class_coding(n_codes + 1)
        S = self._covariance.reshape(n_codes, m, n_codes, m)
        between = np.einsum("qa,iajb,qb->qij", design, S, design, optimize=True)
        between += rest[:, None, None] * np.eye(n_codes)
        mean = design @ self.mean.T @ coding.T
        return mean, coding @ between @ coding.T


@dataclass(frozen=True, eq=False)
class LatentProcessProblem(SettingsProblem):
    """Hidden functions of which parameters of kernel and likelihood are to be learned.

    Attributes
    ----------
    data, kernel
        What is learned from, with a kernel whose values are the first to try.
    method
        How the evidence is computed, with natural values of its own parameters.
    hidden_variance
        Variance that is natural for the functions.
    has_prior
        Whether parameters have a log-normal prior around their natural values.
    own_least
        The least that parameters of the method may become, shape (q,), if anything.
    """

    data: HiddenRows
    kernel: Kernel
    method: LatentMethod
    hidden_variance: float
    has_prior: bool = True
    own_least: Array | None = None
    _last: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def race_steps(self) -> tuple[int, int]:
        """Steps of all starts, and of the better half: one evidence tells starts apart."""
        return 0, 4

    @property
    def n_sides(self) -> int:
        """To how many sides differences go: an evidence takes many steps of an engine."""
        return 1

    @property
    def refined(self) -> Self:
        """The problem with an engine that does not stop early."""
        return replace(self, method=self.method.refined)

    @property
    def names(self) -> list[str]:
        """Names of the parameters of the kernel, then of those of the likelihood."""
        return [*super().names, *self.method.own_names]

    @cached_property
    def natural(self) -> Array:
        """Free numbers that are natural in the units of inputs and outcomes."""
        by_kernel = self.kernel.natural(distinct_rows(self.data.x), self.hidden_variance)
        return np.concatenate([by_kernel, self.method.own_parameters])

    @cached_property
    def spread(self) -> Array:
        """Prior standard deviation of each free number."""
        by_kernel = [p.log_spread for p in self.kernel.parameters]
        return np.concatenate([by_kernel, self.method.own_spread])

    @cached_property
    def bounds(self) -> Array:
        """Least and largest value of each free number, shape (p, 2)."""
        found = super().bounds.copy()
        if self.own_least is not None:
            own = found[self.n_kernel :]
            own[:, 0] = np.maximum(own[:, 0], self.own_least)
        return found

    def log_evidence(self, free: Array) -> tuple[float, Array]:
        """Return the log evidence at free numbers, and its gradient."""
        n = self.n_kernel
        kernel, method = self.kernel.at(free[:n]), self.method.at(free[n:])
        # Steps of a search may lead where an engine needs long, which matters for the last.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = method.evidence(self.data, kernel, self._last.get("state"))
        self._last["state"] = found.state
        return found.value, found.gradient

    @property
    def last_state(self) -> Any:
        """State of the engine at the settings that were looked at last."""
        return self._last.get("state")

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
    def of(cls, kernel: Kernel, inducing: Array, x: Array, levels: Array | None) -> _Induced:
        factor, pull_inducing = _inducing_factor(kernel, inducing)
        cross, pull_cross = kernel.evaluated(x, inducing)
        variance, pull_variance = kernel.evaluated_diagonal(x)
        design = factor.whiten(cross)
        noise = np.maximum(variance - (design**2).sum(axis=1), 0.0)
        prior = LinearPrior(design, np.ones(design.shape[1]), levels, noise)
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
    matrix, pull = kernel.written(inducing)
    matrix[np.diag_indices_from(matrix)] += INDUCING_JITTER * matrix.diagonal().mean()
    return cholesky(matrix, largest_jitter=1e-4), pull


def _features(kernel: Kernel, inducing: Array, x: Array) -> tuple[Array, Array]:
    """Return features of rows, and the variance that they leave unexplained."""
    factor, _ = _inducing_factor(kernel, inducing)
    design = factor.whiten(kernel.evaluated(x, inducing)[0])
    rest = kernel.evaluated_diagonal(x)[0] - (design**2).sum(axis=1)
    return design, np.maximum(rest, 0.0)
