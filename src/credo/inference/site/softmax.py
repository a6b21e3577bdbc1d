"""One joint softmax model of several classes over hidden numbers, by Laplace's method.

Every class has a hidden function with the same prior covariance ``K``; ``p(c | f)`` is the
softmax of their values at a row. With ``E_c = (K + D_c^-1)^-1``, where ``D_c`` holds the
probabilities of class c times the weights of the rows, and ``M = sum_c E_c``,

``R_cd = (K + W^-1)^-1 = E_c [c = d] - E_c M^-1 E_d``,
``log|I + K W| = sum_c log|I + K D_c| + log|M| - sum_i log weight_i``,

so that no matrix is larger than n x n [rasmussen2006]_.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import special

from credo.inference.engine.engine import Account, Inference, Move, Settled
from credo.inference.site.prior import CovarianceConditioned, CovariancePrior
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.form import Form
from credo.numerics.linear.linear_algebra import Cholesky, cholesky, solve_lower
from credo.numerics.special.log_domain import softmax

__all__ = ["ClassMode", "SoftmaxLaplace", "SoftmaxProblem", "SoftmaxSites"]

ACCOUNT = Account("Laplace approximation", False, float("nan"), "unknown")
SHARE_OF_SLOPE = 1e-4
MAX_HALVINGS = 40


@dataclass(frozen=True, eq=False)
class SoftmaxProblem:
    """Labeled rows, and a Gaussian prior of one hidden number for each row and class.

    Attributes
    ----------
    covariance
        Prior covariance of the hidden numbers of a class, shape (n, n); classes are
        independent.
    code
        Class of each row, 0 to ``n_classes - 1``, shape (n,).
    n_classes
        Number of classes.
    weight
        Positive weight of each row, shape (n,); one if None.
    """

    covariance: Array
    code: NDArray[np.intp]
    n_classes: int
    weight: Array | None = None

    @property
    def row_weight(self) -> Array:
        """Weight of each row, shape (n,)."""
        return np.ones(len(self.code)) if self.weight is None else self.weight

    @cached_property
    def indicator(self) -> Array:
        """One where a row is of a class, else zero; shape (K, n)."""
        return np.asarray(np.arange(self.n_classes)[:, None] == self.code, dtype=np.float64)

    def log_density(self, hidden: Array, dual: Array) -> float:
        """Return log likelihood and log prior, less what does not depend on them."""
        own = hidden[self.code, np.arange(len(self.code))]
        rows = own - special.logsumexp(hidden, axis=0)
        return float(self.row_weight @ rows) - 0.5 * float(np.vdot(dual, hidden))


@dataclass(frozen=True, eq=False)
class ClassMode:
    """Hidden numbers (K, n) on the way to the mode, and ``a`` with ``f_c = K a_c``."""

    hidden: Annotated[Array, Form("k n")]
    dual: Annotated[Array, Form("k n")]
    log_density: float


@dataclass(frozen=True)
class SoftmaxLaplace:
    """Go to the mode of the hidden numbers of all classes by Newton's method.

    Attributes
    ----------
    tolerance
        Length of a Newton step, in standard deviations and per number, that counts as the
        last one.
    max_steps
        Steps after which the search gives up.

    Examples
    --------
    >>> from credo.inference import SoftmaxProblem, run
    >>> problem = SoftmaxProblem(np.eye(3), np.array([0, 1, 2]), 3)
    >>> run(SoftmaxLaplace(), problem).posterior.mean[0].round(3)
    array([ 0.49 , -0.245, -0.245])
    """

    tolerance: float = 1e-5
    max_steps: int = 100

    problem = SoftmaxProblem
    is_random: ClassVar[bool] = False

    @property
    def stop(self) -> Settled:
        """The last step was short, or there were too many."""
        return Settled(self.tolerance, self.max_steps)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return engines for the laws, each with a problem to solve."""
        x = np.linspace(0.0, 3.0, 6)
        K = np.exp(-0.5 * np.subtract.outer(x, x) ** 2)
        code = np.array([0, 0, 1, 0, 2, 2])
        return (Example(cls(), problem=SoftmaxProblem(K, code, 3)),)

    def init(self, problem: SoftmaxProblem, rng: Generator) -> ClassMode:
        """Return zeros, the prior means."""
        nothing = np.zeros((problem.n_classes, len(problem.code)))
        return ClassMode(nothing, nothing, problem.log_density(nothing, nothing))

    def step(
        self, problem: SoftmaxProblem, state: ClassMode, rng: Generator
    ) -> tuple[ClassMode, Move]:
        """Take one Newton step, halved until the log density rises enough."""
        around = SoftmaxSites(problem, state.hidden, state.dual)
        probability = around.probability
        slope = problem.row_weight * (problem.indicator - probability)
        mixed = (probability * state.hidden).sum(axis=0)
        pull = problem.row_weight * probability * (state.hidden - mixed) + slope
        dual = pull - around.residual_precision_times(pull @ problem.covariance)
        direction = dual @ problem.covariance - state.hidden, dual - state.dual
        gain = max(float(np.vdot(slope - state.dual, direction[0])), 0.0)
        after = _raised(problem, state, direction, gain)
        return after, Move(after.log_density, float(np.sqrt(gain / slope.size)))

    def posterior(self, problem: SoftmaxProblem, state: ClassMode) -> Inference:
        """Return the Gaussian at the mode, and the evidence."""
        found = SoftmaxSites(problem, state.hidden, state.dual)
        log_evidence = state.log_density - 0.5 * found.log_det
        return Inference(found, log_evidence, "laplace", account=ACCOUNT)


@dataclass(frozen=True, eq=False)
class SoftmaxSites:
    """The Gaussian with the curvature of a softmax likelihood at given hidden numbers.

    Attributes
    ----------
    problem
        What was asked.
    mean
        Hidden numbers, shape (K, n).
    dual
        ``a`` with ``f_c = K a_c``, shape (K, n).
    """

    problem: SoftmaxProblem
    mean: Array
    dual: Array

    @cached_property
    def probability(self) -> Array:
        """Softmax of the hidden numbers, shape (K, n)."""
        return softmax(self.mean, axis=0)

    @cached_property
    def each(self) -> Array:
        """``E_c`` of every class, shape (K, n, n)."""
        return np.array([part.residual_precision for part in self._parts])

    @cached_property
    def joint(self) -> Cholesky:
        """Factor of ``M = sum_c E_c``."""
        return cholesky(self.each.sum(axis=0))

    @property
    def log_det(self) -> float:
        """``log|I + K W|``."""
        value = sum(part.log_det for part in self._parts) + float(self.joint.log_det())
        return value - float(np.log(self.problem.row_weight).sum())

    def residual_precision_times(self, x: Array) -> Array:
        """Return ``R x`` for a vector of every class, shape (K, n)."""
        own = np.array([e @ part for e, part in zip(self.each, x, strict=True)])
        shared = self.joint.solve(own.sum(axis=0)[:, None])[:, 0]
        return np.asarray(own - self.each @ shared)

    def row_covariance(self, K: Array, prior: Array) -> Array:
        """Return the covariance of the classes' hidden numbers at rows, shape (m, K, K).

        Parameters
        ----------
        K
            Prior covariances of the rows learned from with those asked about, shape (n, m).
        prior
            Prior variances of the latter, shape (m,).
        """
        own = self.each @ K
        taken = np.einsum("nm,cnm->mc", K, own, optimize=True)
        half = np.array([solve_lower(self.joint.lower, part) for part in own])
        found = np.einsum("cnm,dnm->mcd", half, half, optimize=True)
        index = np.arange(self.problem.n_classes)
        found[:, index, index] += prior[:, None] - taken
        return np.asarray(found)

    def prior_gradient(self) -> Array:
        """Return ``G``: the log evidence changes by ``sum(G * dK) / 2``, shape (n, n)."""
        moved = self._moved
        gradient = self.dual.T @ (self.dual + moved) + moved.T @ self.dual
        for e in self.each:
            half = solve_lower(self.joint.lower, e)
            gradient += half.T @ half - e
        return np.asarray(gradient)

    @cached_property
    def _parts(self) -> list[CovarianceConditioned]:
        """Beliefs as if each class had independent sites of its own."""
        prior = CovariancePrior(self.problem.covariance)
        strength = self.problem.row_weight * self.probability
        return [prior.conditioned(one, np.zeros_like(one)) for one in strength]

    @cached_property
    def _moved(self) -> Array:
        """How the evidence changes with the mode as the prior moves it, shape (K, n)."""
        K, share = self.problem.covariance, self.probability
        blocks = self.row_covariance(K, K.diagonal())
        spread = np.diagonal(blocks, axis1=1, axis2=2).T
        lean = spread - 2.0 * np.einsum("ncd,dn->cn", blocks, share)
        pull = share * (lean - (share * lean).sum(axis=0))
        pull *= -0.5 * self.problem.row_weight
        return np.asarray(pull - self.residual_precision_times(pull @ K))


def _raised(
    problem: SoftmaxProblem, state: ClassMode, direction: tuple[Array, Array], gain: float
) -> ClassMode:
    """Return the first point along the direction, by halving, that is high enough."""
    slack = 1e-12 * abs(state.log_density)
    size = 1.0
    for _ in range(MAX_HALVINGS):
        hidden, dual = state.hidden + size * direction[0], state.dual + size * direction[1]
        value = problem.log_density(hidden, dual)
        if value >= state.log_density + SHARE_OF_SLOPE * size * gain - slack:
            return ClassMode(hidden, dual, value)
        size *= 0.5
    return state
