"""Laplace's method for hidden numbers: the mode, the curvature there, and the evidence.

Newton's steps in the dual, ``f = m + K a``: every step solves ``(K^-1 + W) f_new = W f + g``
for weights ``W`` and slopes ``g`` of the log likelihood, without an inverse of ``K``
[rasmussen2006]_. At the mode ``log Z = log p(y | f) - a'(f - m) / 2 - log|I + K W| / 2``, and

``2 d log Z = sum(dK * (aa' + ua' + au' - R))``, ``u = s - W S s``, ``s = diag(S) g'' / 2``,

whose terms in ``u`` come from the mode that moves with ``K``.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.random import Generator

from credo.inference.engine.engine import Account, Inference, Move, Settled
from credo.inference.site.likelihood import (
    LogitLikelihood,
    PoissonLikelihood,
    StudentTLikelihood,
)
from credo.inference.site.prior import Conditioned, CovariancePrior, LinearPrior
from credo.inference.site.problem import SiteProblem
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.form import Form
from credo.numerics.linear.linear_algebra import NotPositiveDefinite

__all__ = ["DualMode", "LaplaceSites", "SiteLaplace", "followed_mode"]

ACCOUNT = Account("Laplace approximation", False, float("nan"), "unknown")
SHARE_OF_SLOPE = 1e-4
MAX_HALVINGS = 40


@dataclass(frozen=True, eq=False)
class DualMode:
    """Hidden numbers on the way to the mode, and ``a`` with ``f = m + K a``."""

    hidden: Annotated[Array, Form("n")]
    dual: Annotated[Array, Form("n")]
    log_density: float


@dataclass(frozen=True)
class SiteLaplace:
    """Go to the mode of the hidden numbers by Newton's method and stay there as a Gaussian.

    Attributes
    ----------
    tolerance
        Length of a Newton step, in standard deviations and per row, that counts as the last
        one. It is still taken, and leaves about its square.
    max_steps
        Steps after which the search gives up.

    Examples
    --------
    >>> from credo.inference import CovariancePrior, LogitLikelihood, SiteProblem, run
    >>> problem = SiteProblem(CovariancePrior(np.eye(1)), LogitLikelihood(), np.ones(1))
    >>> round(run(SiteLaplace(), problem).log_evidence, 4)  # exactly log 1/2
    -0.7007
    """

    tolerance: float = 1e-5
    max_steps: int = 100

    problem = SiteProblem
    is_random: ClassVar[bool] = False

    @property
    def stop(self) -> Settled:
        """The last step was short, or there were too many."""
        return Settled(self.tolerance, self.max_steps)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return engines for the laws, each with a problem to solve."""
        x = np.linspace(0.0, 3.0, 6)
        prior = CovariancePrior(np.exp(-0.5 * np.subtract.outer(x, x) ** 2))
        y = np.array([0.0, 0.0, 1.0, 0.0, 1.0, 1.0])
        linear = LinearPrior(np.column_stack([x, np.ones(6)]), np.array([1.0, 0.0]))
        return (
            Example(cls(), problem=SiteProblem(prior, LogitLikelihood(), y)),
            Example(cls(), problem=SiteProblem(linear, PoissonLikelihood(), 3.0 * y)),
            Example(cls(), problem=SiteProblem(prior, StudentTLikelihood(0.1), 9.0 * y)),
        )

    def init(self, problem: SiteProblem, rng: Generator) -> DualMode:
        """Return the prior means."""
        return _first(problem)

    def step(
        self, problem: SiteProblem, state: DualMode, rng: Generator
    ) -> tuple[DualMode, Move]:
        """Take one Newton step, halved until the log density rises enough."""
        after, length, _ = _stepped(problem, state)
        return after, Move(after.log_density, length)

    def posterior(self, problem: SiteProblem, state: DualMode) -> Inference:
        """Return the Gaussian at the mode, and the evidence."""
        slope, bend = _slopes(problem, state.hidden)
        for _ in range(MAX_HALVINGS):
            belief = problem.prior.conditioned(bend, bend * state.hidden + slope)
            with suppress(NotPositiveDefinite):
                _ = belief.log_det
                break
            # A saddle, or a place on the way: outliers count for less than they bend.
            bend = np.where(bend < 0, 0.5 * bend, bend)
        found = LaplaceSites(problem, state.hidden, state.dual, belief)
        return Inference(found, found.log_evidence, "laplace", account=ACCOUNT)


@dataclass(frozen=True, eq=False)
class LaplaceSites:
    """The Gaussian at a mode of the hidden numbers.

    Attributes
    ----------
    problem
        What was asked.
    mean
        The mode, shape (n,).
    dual
        ``a`` with ``mean = m + K a``, shape (n,).
    belief
        The prior, and sites with slope and curvature of the likelihood at the mode, or where
        the last step towards it began if that was short.
    """

    problem: SiteProblem
    mean: Array
    dual: Array
    belief: Conditioned

    @cached_property
    def log_evidence(self) -> float:
        """Log evidence, to first order in what the curvature changed since the belief."""
        log_det = self.belief.log_det
        moved = self._precision - self.belief.precision
        if self.problem.likelihood.is_log_concave and moved.any():
            log_det += float(self.variance @ moved)
        return self.state.log_density - 0.5 * log_det

    @property
    def state(self) -> DualMode:
        """Where a search from here begins."""
        return _at(self.problem, self.mean, self.dual)

    @property
    def variance(self) -> Array:
        """Variances of the hidden numbers, shape (n,)."""
        return self.belief.variance

    def prior_gradient(self) -> object:
        """Return the gradient of the log evidence for the prior, the moving mode included."""
        moved = self._moved
        left = np.column_stack([self.dual, moved, self.dual])
        right = np.column_stack([self.dual, self.dual, moved])
        return self.belief.evidence_gradient(left, right)

    def mean_gradient(self) -> Array:
        """Return the gradient of the log evidence by the prior means, shape (n,)."""
        return np.asarray(self.dual + self._moved)

    def parameter_gradient(self) -> Array:
        """Return the gradient of the log evidence by the likelihood's free parameters."""
        weight = self.problem.row_weight
        value, first, second = self.problem.likelihood.parameter_derivatives(
            self.problem.y, self.mean
        )
        if not len(value):
            return np.empty(0)
        moved = self.belief.covariance_times((weight * first).T)
        return np.asarray(
            value @ weight + 0.5 * second @ (weight * self.variance) + moved.T @ self._pull
        )

    @cached_property
    def _slopes(self) -> tuple[Array, Array, Array]:
        return self.problem.likelihood.derivatives(self.problem.y, self.mean)

    @cached_property
    def _pull(self) -> Array:
        """How the log determinant changes with the mode, shape (n,)."""
        return np.asarray(0.5 * self.problem.row_weight * self._slopes[2] * self.variance)

    @cached_property
    def _moved(self) -> Array:
        """``u``, by which the evidence changes with the mode as the prior moves it."""
        site = self.belief.precision
        return np.asarray(self._pull - site * self.belief.covariance_times(self._pull))

    @property
    def _precision(self) -> Array:
        return np.asarray(-self.problem.row_weight * self._slopes[1])


def followed_mode(
    problem: SiteProblem,
    before: LaplaceSites | None = None,
    engine: SiteLaplace = SiteLaplace(1e-3),
) -> LaplaceSites:
    """Return the mode under a covariance that is close to one whose mode is known.

    A search over covariances asks for many such modes. With ``r = m + K a - f`` for the old
    ``a`` and ``f``, the new ``a`` is close to ``a - R r``, and the last step, being short,
    needs no factor after it.

    Parameters
    ----------
    before
        The mode under a similar `CovariancePrior`; None to start from the prior means.
    engine
        Says when to stop.
    """
    prior = problem.prior
    state = _first(problem)
    if isinstance(prior, CovariancePrior) and before is not None:
        known: Any = before.belief
        gap = prior.at_dual(before.dual) - before.mean
        dual = before.dual - known.residual_precision_times(gap)
        # Counts are exponential: what is close for small changes may be far off for large.
        state = max(
            state, _at(problem, prior.at_dual(dual), dual), key=lambda mode: mode.log_density
        )
    for _ in range(engine.max_steps):
        state, length, belief = _stepped(problem, state)
        if length <= engine.tolerance:
            break
    if problem.likelihood.is_log_concave:
        return LaplaceSites(problem, state.hidden, state.dual, belief)
    # The last step may have taken outliers for what they are not, and said too little.
    found: LaplaceSites = engine.posterior(problem, state).posterior
    return found


def _first(problem: SiteProblem) -> DualMode:
    return _at(problem, problem.prior.mean, np.zeros(problem.prior.n_rows))


def _at(problem: SiteProblem, hidden: Array, dual: Array) -> DualMode:
    value = problem.log_likelihood(hidden) - 0.5 * float(dual @ (hidden - problem.prior.mean))
    return DualMode(hidden, dual, value)


def _slopes(problem: SiteProblem, hidden: Array) -> tuple[Array, Array]:
    """Return first derivatives of the log likelihoods, and minus the second ones."""
    first, second, _ = problem.likelihood.derivatives(problem.y, hidden)
    return problem.row_weight * first, -problem.row_weight * second


def _stepped(problem: SiteProblem, state: DualMode) -> tuple[DualMode, float, Conditioned]:
    """Return the state after a step, the length of it, and the belief that led there."""
    slope, bend = _slopes(problem, state.hidden)
    target = _newton(problem, state.hidden, slope, bend)
    direction = target.mean - state.hidden, target.dual - state.dual
    gain = max(float((slope - state.dual) @ direction[0]), 0.0)
    after = _raised(problem, state, direction, gain)
    # Where rounding hides what a step would gain, the next one is the same.
    length = 0.0 if after is state else float(np.sqrt(gain / len(slope)))
    return after, length, target


def _newton(problem: SiteProblem, hidden: Array, slope: Array, bend: Array) -> Conditioned:
    """Return where the quadratic leads; if it has no top, outliers bend as if it had one."""
    try:
        found = problem.prior.conditioned(bend, bend * hidden + slope)
        _ = found.mean
    except NotPositiveDefinite:
        most = problem.row_weight * problem.likelihood.bend_at_most(problem.y, hidden)
        bend = np.where(bend < 0, most, bend)
        found = problem.prior.conditioned(bend, bend * hidden + slope)
    return found


def _raised(
    problem: SiteProblem, state: DualMode, direction: tuple[Array, Array], gain: float
) -> DualMode:
    """Return the first point along the direction, by halving, that is high enough."""
    slack = 1e-12 * abs(state.log_density)
    size = 1.0
    for _ in range(MAX_HALVINGS):
        moved = _at(
            problem, state.hidden + size * direction[0], state.dual + size * direction[1]
        )
        if moved.log_density >= state.log_density + SHARE_OF_SLOPE * size * gain - slack:
            return moved
        size *= 0.5
    return state
