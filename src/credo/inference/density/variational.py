"""Variational inference: the closest distribution of a simple family, found by its bound.

For any ``q``, ``log p(data) = L(q) + KL(q || posterior)`` with
``L(q) = E_q[log p(x, data) - log q(x)]``. To raise ``L``, a lower bound of the log evidence, is
to bring ``q`` nearer to the posterior, in the sense that spares what the posterior rules out:
``q`` is too narrow rather than too wide [bishop2006]_.

Coordinate ascent takes a product of factors and gives each in turn its best form given the
others, ``log q_i = E_rest[log p] + constant``. A Gaussian is fitted to any density with a
gradient by draws ``mean + factor z`` of fixed ``z``, so that its bound is a smooth function of
mean and factor [kucukelbir2017]_ [giordano2018]_.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from credo.distributions.distribution import Distribution
from credo.distributions.gamma import Gamma
from credo.distributions.multivariate_normal import MultivariateNormal
from credo.distributions.normal import Normal
from credo.families.normal import NormalStatistics
from credo.inference.density.laplace import LaplaceApproximation
from credo.inference.engine.engine import Account, Inference, Move, Settled
from credo.inference.engine.pareto import pareto_smoothed
from credo.inference.engine.problem import LogDensity
from credo.numerics.array import Array, as_float
from credo.numerics.example import Example
from credo.numerics.form import Form
from credo.numerics.linear.linear_algebra import NotPositiveDefinite, cholesky
from credo.numerics.optimize.minimum import Termination
from credo.numerics.optimize.quasi_newton import lbfgs

__all__ = [
    "CoordinateAscent",
    "FactorState",
    "FactorizedProblem",
    "GaussianState",
    "GaussianVariational",
    "NormalMeanFieldProblem",
    "evidence_lower_bound",
]

LOG_TWO_PI = float(np.log(2 * np.pi))
STEPS_AT_ONCE = 25
N_JUDGES = 1000


def evidence_lower_bound(log_joint: ArrayLike, q: ArrayLike) -> float:
    """Return ``L(q) = sum_x q(x) (log p(x, data) - log q(x))`` over the states of ``x``.

    What it lacks to the log evidence is the divergence of ``q`` from the posterior.

    Parameters
    ----------
    log_joint
        Log probability of each state together with the data, of any shape.
    q
        Probability of each state, of the same shape.

    Examples
    --------
    >>> log_joint = np.log([0.1, 0.3])
    >>> round(evidence_lower_bound(log_joint, [0.25, 0.75]), 6)  # log 0.4, q is the posterior
    -0.916291
    >>> bool(evidence_lower_bound(log_joint, [0.5, 0.5]) < np.log(0.4))
    True
    """
    logs, share = as_float(log_joint), as_float(q)
    is_whole = np.isclose(share.sum(), 1.0, rtol=0, atol=1e-9) and (share >= 0).all()
    if logs.shape != share.shape or not is_whole:
        raise ValueError(
            "q must be probabilities of the states of log_joint that sum to one; found the "
            f"shapes {share.shape} and {logs.shape}, and the sum {share.sum():.6g}. Divide by "
            "the sum."
        )
    is_there = share > 0
    return float((share[is_there] * (logs[is_there] - np.log(share[is_there]))).sum())


class FactorizedProblem(Protocol):
    """A posterior that is approximated by a product of factors, each with a best form."""

    def start(self) -> dict[str, Distribution]:
        """Return the factors to start from."""
        ...

    def updated(self, name: str, factors: dict[str, Distribution]) -> Distribution:
        """Return the best factor of a name, given all others."""
        ...

    def bound(self, factors: dict[str, Distribution]) -> float:
        """Return the lower bound of the log evidence."""
        ...


@dataclass(frozen=True, eq=False)
class NormalMeanFieldProblem:
    """Normal numbers whose mean and precision are believed in independently.

    ``x_i ~ N(mean, 1 / precision)``, with a normal prior of the mean and a gamma prior of the
    precision. The posterior of the two is no product, and has no closed form.

    Attributes
    ----------
    statistics
        Of one column of numbers.
    mean
        Prior of the mean.
    precision
        Prior of the precision.

    Examples
    --------
    >>> numbers = NormalStatistics.of([[1.0], [2.0], [4.0]])
    >>> problem = NormalMeanFieldProblem(numbers, Normal(0.0, 10.0), Gamma(1.0, 1.0))
    >>> from credo.inference import run
    >>> found = run(CoordinateAscent(), problem)
    >>> found.posterior["mean"].mean().round(2), found.evidence_method
    (np.float64(2.32), 'bound')
    """

    statistics: NormalStatistics
    mean: Normal
    precision: Gamma

    def __post_init__(self) -> None:
        if np.size(self.statistics.mean) != 1:
            raise ValueError(
                "statistics must be of one column of numbers; found "
                f"{np.size(self.statistics.mean)} columns. State a problem for each."
            )

    def start(self) -> dict[str, Distribution]:
        """Return the priors."""
        return {"mean": self.mean, "precision": self.precision}

    def updated(self, name: str, factors: dict[str, Distribution]) -> Distribution:
        """Return the best factor of a name, given the other."""
        n = float(np.squeeze(self.statistics.weight))
        if name == "precision":
            rate = float(self.precision.rate) + 0.5 * self._scatter(factors)
            return Gamma(float(self.precision.shape) + 0.5 * n, rate)
        precision = float(factors["precision"].mean())
        own = float(self.mean.scale) ** -2
        total = own + n * precision
        shift = float(np.squeeze(self.statistics.mean)) - float(self.mean.loc)
        return Normal(float(self.mean.loc) + n * precision * shift / total, total**-0.5)

    def bound(self, factors: dict[str, Distribution]) -> float:
        """Return the expected log likelihood, less both divergences from the priors."""
        n = float(np.squeeze(self.statistics.weight))
        precision: Any = factors["precision"]
        log_scale = 0.5 * n * (float(precision.mean_log()) - LOG_TWO_PI)
        log_likelihood = log_scale - 0.5 * float(precision.mean()) * self._scatter(factors)
        divergence = factors["mean"].kl(self.mean) + precision.kl(self.precision)
        return float(log_likelihood - divergence)

    def _scatter(self, factors: dict[str, Distribution]) -> float:
        """Return the expected sum of squares about the mean."""
        n = float(np.squeeze(self.statistics.weight))
        gap = float(np.squeeze(self.statistics.mean)) - float(factors["mean"].mean())
        spread = float(factors["mean"].variance())
        return float(np.squeeze(self.statistics.scatter)) + n * (gap**2 + spread)


@dataclass(frozen=True, eq=False)
class FactorState:
    """The factors by name, and their bound."""

    factors: Any
    bound: float


@dataclass(frozen=True)
class CoordinateAscent:
    """Give each factor in turn its best form, until a round gains less than the tolerance.

    The bound never falls. If the posterior is a product, it is found, and the bound is the log
    evidence.

    Attributes
    ----------
    tolerance
        Gain of the bound, in nats, below which the answer has settled.
    max_steps
        Rounds after which it gives up.
    """

    tolerance: float = 1e-10
    max_steps: int = 1000

    problem = FactorizedProblem
    is_random: ClassVar[bool] = False

    @property
    def stop(self) -> Settled:
        """A round gained little, or there were too many."""
        return Settled(self.tolerance, self.max_steps)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return engines for the laws, each with a problem to solve."""
        numbers = NormalStatistics.of([[1.0], [2.0], [4.0], [2.5]])
        problem = NormalMeanFieldProblem(numbers, Normal(0.0, 3.0), Gamma(2.0, 1.0))
        return (Example(cls(), problem=problem),)

    def init(self, problem: FactorizedProblem, rng: Generator) -> FactorState:
        """Return the factors to start from."""
        factors = problem.start()
        return FactorState(factors, problem.bound(factors))

    def step(
        self, problem: FactorizedProblem, state: FactorState, rng: Generator
    ) -> tuple[FactorState, Move]:
        """Renew every factor; report the bound and what it gained."""
        factors = dict(state.factors)
        for name in factors:
            factors[name] = problem.updated(name, factors)
        bound = problem.bound(factors)
        return FactorState(factors, bound), Move(bound, bound - state.bound)

    def posterior(self, problem: FactorizedProblem, state: FactorState) -> Inference:
        """Return the factors by name, and their bound."""
        account = Account("mean field", False, float("nan"), "unknown")
        return Inference(dict(state.factors), state.bound, "bound", account=account)


@dataclass(frozen=True, eq=False)
class GaussianState:
    """A Gaussian on its way, with the draws that it is fitted and judged by.

    Attributes
    ----------
    mean, factor
        Its mean (d,), and a lower triangle (d, d), whose product with its transpose is the
        covariance.
    base, judge
        Standard normal draws for the fit and for the judgement of it, shapes (n, d), (m, d).
    bound
        Bound by the draws of the fit.
    """

    mean: Annotated[Array, Form("d")]
    factor: Annotated[Array, Form("d d")]
    base: Annotated[Array, Form("n d")]
    judge: Annotated[Array, Form("m d")]
    bound: float


@dataclass(frozen=True)
class GaussianVariational:
    """Fit a Gaussian to any density with a gradient by raising its lower bound.

    The draws of the fit come in pairs ``z, -z`` and have the covariance of the identity, so
    that a Gaussian density is met exactly. Other draws judge the result: the bound that is
    returned is theirs, and the error is the k-hat of their importance weights.

    Attributes
    ----------
    is_full_rank
        Whether the Gaussian may have any covariance; else a diagonal one (mean field).
    n_draws
        Draws of the fit; at least four for each parameter are taken.
    tolerance
        Gain of the bound, in nats, below which the answer has settled.
    max_steps
        Steps after which it gives up, each of some iterations of L-BFGS.

    Examples
    --------
    >>> from credo.inference import run
    >>> problem = GaussianVariational.examples()[0].arguments["problem"]
    >>> found = run(GaussianVariational(), problem, np.random.default_rng(0))
    >>> found.posterior.mean().round(1), found.evidence_method  # of the logs of two rates
    (array([1.1, 1.5]), 'bound')
    """

    is_full_rank: bool = True
    n_draws: int = 64
    tolerance: float = 1e-6
    max_steps: int = 100

    name: ClassVar[str] = "variational"
    problem = LogDensity
    is_random: ClassVar[bool] = True

    @property
    def stop(self) -> Settled:
        """A step gained little, or there were too many."""
        return Settled(self.tolerance, self.max_steps)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return engines for the laws, each with a problem to solve."""
        problem = LaplaceApproximation.examples()[0].arguments["problem"]
        return (
            Example(cls(n_draws=16), problem=problem),
            Example(cls(is_full_rank=False, n_draws=16), problem=problem),
        )

    def init(self, problem: LogDensity, rng: Generator) -> GaussianState:
        """Return the Gaussian at the mode, and all draws."""
        d = problem.parameters.n_free
        base_rng, judge_rng = rng.spawn(2)
        base = _even_draws(max(self.n_draws, 4 * d), d, base_rng)
        judge = judge_rng.standard_normal((N_JUDGES, d))
        mean, factor = _first_gaussian(problem)
        if not self.is_full_rank:
            factor = np.diag(np.diagonal(factor))
        state = GaussianState(mean, factor, base, judge, float("-inf"))
        bound = -_negative_bound(problem, self, base, _packed(state, self.is_full_rank))[0]
        return replace(state, bound=bound)

    def step(
        self, problem: LogDensity, state: GaussianState, rng: Generator
    ) -> tuple[GaussianState, Move]:
        """Raise the bound by some steps of L-BFGS; report it and its gain."""
        last: dict[str, Array] = {}

        def value(numbers: Array) -> float:
            found, last["gradient"] = _negative_bound(problem, self, state.base, numbers)
            return found

        rules = Termination(STEPS_AT_ONCE, value_change=1e-15, gradient_norm=1e-9)
        start = _packed(state, self.is_full_rank)
        # L-BFGS asks for the gradient where it has just asked for the value.
        found = lbfgs(value, lambda numbers: last["gradient"], start, termination=rules)
        bound = -float(found.value)
        if not bound > state.bound:
            return state, Move(state.bound, 0.0)
        mean, factor = _unpacked(found.x, len(state.mean), self.is_full_rank)
        after = replace(state, mean=mean, factor=factor, bound=bound)
        return after, Move(bound, bound - state.bound)

    def posterior(self, problem: LogDensity, state: GaussianState) -> Inference:
        """Return the Gaussian of the free numbers, its bound, and how far off it is."""
        gaussian = MultivariateNormal(state.mean, state.factor @ state.factor.T)
        x = state.mean + state.judge @ state.factor.T
        ratio = problem.log_densities(x) - gaussian.log_prob(x)
        k_hat = float(pareto_smoothed(ratio).k_hat)
        account = Account(
            "variational Gaussian",
            False,
            max(k_hat, 0.0),
            "k-hat of its importance weights, at most 0.7 if it is near",
        )
        return Inference(gaussian, float(ratio.mean()), "bound", account=account)


def _first_gaussian(problem: LogDensity) -> tuple[Array, Array]:
    """Return mean and factor at the mode, or at the start where there is no peak."""
    engine = LaplaceApproximation()
    rng = np.random.default_rng(0)
    state = engine.init(problem, rng)
    for _ in range(engine.max_steps):
        after, report = engine.step(problem, state, rng)
        is_last = after is state or report.change <= engine.tolerance
        state = after
        if is_last:
            break
    try:
        gaussian = MultivariateNormal.from_precision(state.parameters, state.curvature)
        return state.parameters, cholesky(gaussian.form.dense()).lower
    except (NotPositiveDefinite, ValueError):
        return problem.start, 0.1 * np.eye(len(problem.start))


def _even_draws(n: int, d: int, rng: Generator) -> Array:
    """Return normal draws in pairs of opposites, whose covariance is the identity."""
    half = rng.standard_normal(((n + 1) // 2, d))
    moment = half.T @ half / len(half)
    white = np.linalg.solve(cholesky(moment).lower, half.T).T
    return np.concatenate([white, -white])


def _packed(state: GaussianState, is_full_rank: bool) -> Array:
    """Return mean, log diagonal and what is below it as one vector."""
    log_diagonal = np.log(np.diagonal(state.factor))
    parts = [state.mean, log_diagonal]
    if is_full_rank:
        parts.append(state.factor[np.tril_indices(len(state.mean), -1)])
    return np.concatenate(parts)


def _unpacked(numbers: Array, d: int, is_full_rank: bool) -> tuple[Array, Array]:
    factor = np.diag(np.exp(numbers[d : 2 * d]))
    if is_full_rank:
        factor[np.tril_indices(d, -1)] = numbers[2 * d :]
    return numbers[:d].copy(), factor


def _negative_bound(
    problem: LogDensity, engine: GaussianVariational, base: Array, numbers: Array
) -> tuple[float, Array]:
    """Return minus the bound by fixed draws, and its gradient."""
    d = base.shape[1]
    mean, factor = _unpacked(numbers, d, engine.is_full_rank)
    with np.errstate(over="ignore", invalid="ignore"):
        found = [problem.log_density_and_gradient(mean + factor @ z) for z in base]
    value = float(np.mean([log_density for log_density, _ in found]))
    if not np.isfinite(value):
        return float("inf"), np.zeros_like(numbers)
    gradients = np.stack([gradient for _, gradient in found])
    by_factor = gradients.T @ base / len(base)
    by_diagonal = np.diagonal(by_factor) * np.diagonal(factor) + 1.0
    parts = [gradients.mean(axis=0), by_diagonal]
    if engine.is_full_rank:
        parts.append(by_factor[np.tril_indices(d, -1)])
    entropy = float(numbers[d : 2 * d].sum()) + 0.5 * d * (1.0 + LOG_TWO_PI)
    return -(value + entropy), -np.concatenate(parts)
