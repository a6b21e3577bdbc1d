"""Expectation propagation: each row's likelihood stands for a site that has its moments.

Of the belief the site of a row is taken away, which leaves its cavity; the likelihood times the
cavity has moments that the belief should have, and the site is changed so that it does
[minka2001]_. All sites are changed at once, by a share of the way. A row of weight ``w > 1``
is ``w`` rows with equal sites, of which the cavity lacks one; a row of less weight has a
likelihood to the power ``w``. Where nothing moves any more,

``log Z = sum_i (log Z_i - log of the integral of cavity and site) + log integral of all``,

which is stationary in the sites, so that ``2 d log Z = sum(dK * (aa' - R))``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, ClassVar, Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.inference.engine.engine import Account, Inference, Move, Settled
from credo.inference.site.laplace import SiteLaplace
from credo.inference.site.likelihood import (
    LogitLikelihood,
    NegativeBinomialLikelihood,
    ProbitLikelihood,
    likelihood_nodes,
)
from credo.inference.site.prior import Conditioned, CovariancePrior, LinearPrior
from credo.inference.site.problem import SiteProblem
from credo.inference.site.tilting import Tilted, TiltedNodes
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.form import Form
from credo.numerics.linear.linear_algebra import NotPositiveDefinite

__all__ = [
    "ACCOUNT",
    "ExpectationPropagation",
    "PropagatedSites",
    "Sites",
    "followed_sites",
    "next_pace",
]

ACCOUNT = Account("expectation propagation", False, float("nan"), "unknown")
ROUGH_MODE, MOST_ROUGH_STEPS = 0.1, 20
LEAST_CAVITY = 1e-10
LEAST_SHRINKAGE = 1e-10
MAX_HALVINGS = 60
SLOWER, FASTER, SLOWEST = 0.7, 1.05, 0.2
"""Factors of the pace after a step that moved more, or less, than the one before; the least."""


@dataclass(frozen=True, eq=False)
class Sites:
    """Precision and shift of the site of each row, all of its weight together.

    Attributes
    ----------
    precision, shift
        Of the sites, shape (n,).
    pace
        Share of the way to go with the next step, at most.
    change
        How far the sites were from where they should be before the last step.
    """

    precision: Annotated[Array, Form("n")]
    shift: Annotated[Array, Form("n")]
    pace: Annotated[float, Form(low=0.0, high=1.0)] = 1.0
    change: Annotated[float, Form(low=0.0, high=np.inf)] = np.inf


@dataclass(frozen=True)
class ExpectationPropagation:
    """Change sites until the belief has the moments that every likelihood gives it.

    Attributes
    ----------
    tolerance
        Change of a row's belief by its own site, in standard deviations, that counts as none.
    max_steps
        Sweeps over all rows after which it gives up, and says so.
    damping
        Share of the way that sites are left behind, from 0 up to 1; more while they swing to
        and fro.

    Examples
    --------
    >>> from credo.inference import CovariancePrior, LogitLikelihood, SiteProblem, run
    >>> problem = SiteProblem(CovariancePrior(np.eye(1)), LogitLikelihood(), np.ones(1))
    >>> found = run(ExpectationPropagation(), problem)
    >>> round(found.log_evidence, 6), found.evidence_method
    (-0.693147, 'ep')
    """

    tolerance: float = 1e-6
    max_steps: int = 200
    damping: float = 0.1

    problem = SiteProblem
    is_random: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0 <= self.damping < 1:
            raise ValueError(
                f"damping must be from 0 up to, not including, 1; found {self.damping}. "
                "Sites move by the rest."
            )

    @property
    def stop(self) -> Settled:
        """No site moved its row, or there were too many sweeps."""
        return Settled(self.tolerance, self.max_steps)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return engines for the laws, each with a problem to solve."""
        x = np.linspace(0.0, 3.0, 6)
        prior = CovariancePrior(np.exp(-0.5 * np.subtract.outer(x, x) ** 2))
        y = np.array([0.0, 0.0, 1.0, 0.0, 1.0, 1.0])
        linear = LinearPrior(np.column_stack([x, np.ones(6)]), np.array([1.0, 0.0]))
        counts = NegativeBinomialLikelihood(0.5)
        return (
            Example(cls(), problem=SiteProblem(prior, LogitLikelihood(), y)),
            Example(cls(damping=0.5), problem=SiteProblem(linear, ProbitLikelihood(), y)),
            Example(cls(tolerance=1e-4), problem=SiteProblem(prior, counts, 3.0 * y)),
        )

    def init(self, problem: SiteProblem, rng: Generator) -> Sites:
        """Return sites with slope and curvature of the likelihood close to the mode."""
        engine = SiteLaplace()
        mode = engine.init(problem, rng)
        for _ in range(MOST_ROUGH_STEPS):
            mode, move = engine.step(problem, mode, rng)
            if move.change <= ROUGH_MODE:
                break
        first, second, _ = problem.likelihood.derivatives(problem.y, mode.hidden)
        precision = np.maximum(-problem.row_weight * second, 0.0)
        return Sites(precision, precision * mode.hidden + problem.row_weight * first)

    def step(self, problem: SiteProblem, state: Sites, rng: Generator) -> tuple[Sites, Move]:
        """Change every site so that its row has the moments of likelihood times cavity."""
        after, found, change = _swept(problem, state, 1.0 - self.damping)
        return after, Move(found.log_evidence, change)

    def posterior(self, problem: SiteProblem, state: Sites) -> Inference:
        """Return the Gaussian of prior and sites, and the evidence."""
        belief, _ = _definite(problem, state)
        found = PropagatedSites(problem, belief)
        return Inference(found, found.log_evidence, "ep", account=ACCOUNT)


@dataclass(frozen=True, eq=False)
class PropagatedSites:
    """The Gaussian of a prior and of sites that stand for likelihoods.

    Attributes
    ----------
    problem
        What was asked.
    belief
        The prior and one site for each row.
    """

    problem: SiteProblem
    belief: Conditioned

    @property
    def mean(self) -> Array:
        """Means of the hidden numbers, shape (n,)."""
        return self.belief.mean

    @property
    def variance(self) -> Array:
        """Variances of the hidden numbers, shape (n,)."""
        return self.belief.variance

    @property
    def dual(self) -> Array:
        """``a`` with ``mean = m + K a``, shape (n,)."""
        return self.belief.dual

    @cached_property
    def log_evidence(self) -> float:
        """Log evidence; it is stationary where the sites have settled."""
        mean, variance = self._cavity
        site = self._each
        widened = 1.0 + variance * site.precision
        own = variance * site.shift**2 + 2.0 * mean * site.shift - site.precision * mean**2
        log_site = 0.5 * (own / widened - np.log(widened))
        return float(self._copies @ (self._tilted.log_z - log_site)) + self.belief.log_integral

    def matched_sites(self) -> Sites:
        """Return sites that give each row the moments of likelihood times cavity.

        A row whose cavity cannot be normalized keeps its site.
        """
        mean, variance = self._cavity
        found = self._tilted
        shrunk = np.maximum(1.0 + variance * found.curvature, LEAST_SHRINKAGE)
        precision = -found.curvature / shrunk
        shift = (found.slope - mean * found.curvature) / shrunk
        if self.problem.likelihood.is_log_concave:
            precision = np.maximum(precision, 0.0)
        own = self.belief
        return Sites(
            np.where(self._has_cavity, self._copies * precision, own.precision),
            np.where(self._has_cavity, self._copies * shift, own.shift),
        )

    def prior_gradient(self) -> object:
        """Return the gradient of the log evidence for the prior."""
        dual = self.dual[:, None]
        return self.belief.evidence_gradient(dual, dual)

    def mean_gradient(self) -> Array:
        """Return the gradient of the log evidence by the prior means, shape (n,)."""
        return self.dual

    def parameter_gradient(self) -> Array:
        """Return the gradient of the log evidence by the likelihood's free parameters."""
        y, likelihood, (mean, variance) = self.problem.y, self.problem.likelihood, self._cavity
        slope = likelihood.tilted_slope(y, mean, variance)
        part = self._is_part
        if part.any() and len(slope):
            at = self._part_nodes
            slope[:, part] = at.mean(likelihood.parameter_derivatives(y[part], at.nodes).first)
        return np.asarray(slope @ self.problem.row_weight)

    @property
    def _copies(self) -> Array:
        """How many rows with equal sites a row stands for."""
        return np.maximum(self.problem.row_weight, 1.0)

    @property
    def _is_part(self) -> NDArray[np.bool_]:
        """Which rows weigh less than one."""
        return self.problem.row_weight < 1.0

    @cached_property
    def _each(self) -> Sites:
        """The site of one of the rows that a weight stands for."""
        return Sites(self.belief.precision / self._copies, self.belief.shift / self._copies)

    @cached_property
    def _left(self) -> Array:
        """Precision of each cavity, not yet made positive."""
        return np.asarray(1.0 / self.variance - self._each.precision)

    @property
    def _has_cavity(self) -> NDArray[np.bool_]:
        return self._left * self.variance > LEAST_CAVITY

    @cached_property
    def _cavity(self) -> tuple[Array, Array]:
        """Mean and variance of the belief without one site of each row."""
        variance = np.where(self._has_cavity, 1.0 / self._left, self.variance)
        shift = self.mean / self.variance - self._each.shift
        return np.where(self._has_cavity, variance * shift, self.mean), variance

    @cached_property
    def _tilted(self) -> Tilted:
        mean, variance = self._cavity
        found = self.problem.likelihood.tilted(self.problem.y, mean, variance)
        part = self._is_part
        if part.any():
            own = self._part_nodes.tilted(mean[part], variance[part])
            found.log_z[part] = own.log_z
            found.slope[part] = own.slope
            found.curvature[part] = own.curvature
        return found

    @cached_property
    def _part_nodes(self) -> TiltedNodes:
        """Nodes of the rows that weigh less than one."""
        part, (mean, variance) = self._is_part, self._cavity
        return likelihood_nodes(
            self.problem.likelihood,
            self.problem.y[part],
            mean[part],
            variance[part],
            self.problem.row_weight[part],
        )


def followed_sites(
    problem: SiteProblem,
    before: Sites | None = None,
    engine: ExpectationPropagation = ExpectationPropagation(1e-4),
) -> tuple[PropagatedSites, Sites]:
    """Return the belief under a prior that is close to one whose sites are known.

    Parameters
    ----------
    before
        Sites under a similar prior; None to start close to the mode.
    engine
        Says how sites are changed, and when they have settled.

    Returns
    -------
    belief, sites
        The belief, and sites to go on from.
    """
    sites = engine.init(problem, np.random.default_rng(0)) if before is None else before
    sites = Sites(sites.precision, sites.shift)
    for _ in range(engine.max_steps):
        sites, found, change = _swept(problem, sites, 1.0 - engine.damping)
        if change <= engine.tolerance:
            break
    return found, sites


def _swept(
    problem: SiteProblem, sites: Sites, share: float
) -> tuple[Sites, PropagatedSites, float]:
    """Return sites moved by a share of the way, the belief before, and how far they were."""
    belief, sites = _definite(problem, sites)
    found = PropagatedSites(problem, belief)
    wanted = found.matched_sites()
    by_precision, by_shift = wanted.precision - sites.precision, wanted.shift - sites.shift
    by_row = np.maximum(
        np.abs(by_precision) * belief.variance,
        np.abs(by_shift - by_precision * belief.mean) * np.sqrt(belief.variance),
    )
    change = float(np.max(by_row, initial=0.0))
    pace = next_pace(sites, change, share)
    after = Sites(
        sites.precision + pace * by_precision, sites.shift + pace * by_shift, pace, change
    )
    return after, found, change


class Paced(Protocol):
    """Sites that know how far they went, and how far they had to go."""

    @property
    def pace(self) -> float:
        """Share of the way to go with the next step, at most."""
        ...

    @property
    def change(self) -> float:
        """How far they were from where they should be before the last step."""
        ...


def next_pace(sites: Paced, change: float, share: float) -> float:
    """Return the share of the way to go: less after a step that led farther away."""
    pace = min(sites.pace, share) * (SLOWER if change > sites.change else FASTER)
    return min(max(pace, SLOWEST), share)


def _definite(problem: SiteProblem, sites: Sites) -> tuple[Conditioned, Sites]:
    """Return the belief, after negative precisions are halved until there is one."""
    for _ in range(MAX_HALVINGS):
        try:
            belief = problem.prior.conditioned(sites.precision, sites.shift)
            _ = belief.mean
            return belief, sites
        except NotPositiveDefinite:
            if sites.precision.min() >= 0:
                raise
            weaker = np.where(sites.precision < 0, 0.5 * sites.precision, sites.precision)
            sites = replace(sites, precision=weaker)
    belief = problem.prior.conditioned(np.maximum(sites.precision, 0.0), sites.shift)
    return belief, sites
