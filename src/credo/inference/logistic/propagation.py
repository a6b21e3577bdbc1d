"""Expectation propagation for softmax regression: the likelihood of a row stands for a site.

The site of a row is ``exp(e'u - u'Lu / 2)`` in the J numbers ``u = T b`` that its class scores
are made of, so that the belief about the parameters is Gaussian, and so is the belief ``q``
about the numbers of each row. Likelihood times cavity is ``q`` times the likelihood over the
site: its moments, and ``log E_q[likelihood / site]``, are means over nodes of ``q``. The site
is changed so that ``q`` has them [minka2001]_. With ``q = N(m, RR')`` and ``u = m + Rz``, in
which ``q`` is a standard normal, moments ``a`` and ``V`` of ``z`` change the site by

``V^-1 - I`` in its precision, ``V^-1 a`` in its shift.

Along the axis of ``z`` on which the score of the row's own class rises against all others
alike, the likelihood is a logistic function: it is integrated by nodes that crowd where it
rises. Across, the integral changes smoothly, however steep the scores, so that few nodes are
enough and sites settle. The log evidence is ``sum_i log E_q[likelihood_i / site_i] + log
integral of prior and sites``. A row of weight ``w > 1`` is ``w`` rows with equal sites; one of
less weight has its likelihood to the power ``w``.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import special

from credo.distributions.multivariate_normal import MultivariateNormal
from credo.inference.engine.engine import Inference, Move, Settled
from credo.inference.logistic.problem import LOG_TWO_PI, LogisticProblem, mode_of
from credo.inference.logistic.softmax import (
    SoftmaxRows,
    class_coding,
    coordinate_covariance,
    standard_nodes,
)
from credo.inference.site.expectation_propagation import (
    ACCOUNT,
    ExpectationPropagation,
    next_pace,
)
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.form import Form
from credo.numerics.linear.linear_algebra import Cholesky, cholesky
from credo.numerics.special.log_domain import softmax

__all__ = ["ClassSites", "PropagatedClasses", "SoftmaxPropagation", "followed_classes"]

NUMBERS_AT_ONCE = 1 << 20
"""Scores at nodes that are held at once."""

LINE_SIZE = 41
"""Nodes along a line."""

LEAST_VARIANCE = 1e-30
"""Of a number that nothing is unknown about."""

LEAST_SHARE = 1e-10
"""Variances of the numbers of a row below this share of their largest count as none."""


@dataclass(frozen=True, eq=False)
class ClassSites:
    """Precision and shift of the site of each row, all of its weight together.

    Attributes
    ----------
    precision, shift
        Of the sites, shapes (n, J, J) and (n, J).
    pace
        Share of the way to go with the next step, at most.
    change
        How far the sites were from where they should be before the last step.
    """

    precision: Annotated[Array, Form("n j j")]
    shift: Annotated[Array, Form("n j")]
    pace: Annotated[float, Form(low=0.0, high=1.0)] = 1.0
    change: Annotated[float, Form(low=0.0, high=np.inf)] = np.inf


@dataclass(frozen=True)
class SoftmaxPropagation:
    """Change sites until the belief has the moments that the likelihood of every row gives it.

    Attributes
    ----------
    tolerance
        Change of a row's belief by its own site, in standard deviations, that counts as none.
    max_steps
        Sweeps over all rows after which it gives up, and says so.
    damping
        Share of the way that sites are left behind, from 0 up to 1; more while they swing to
        and fro.
    """

    tolerance: float = 1e-6
    max_steps: int = 200
    damping: float = 0.1

    problem = LogisticProblem
    is_random: ClassVar[bool] = False

    def __post_init__(self) -> None:
        # The same settings, and the same refusals.
        ExpectationPropagation(self.tolerance, self.max_steps, self.damping)

    @property
    def stop(self) -> Settled:
        """No site moved its row, or there were too many sweeps."""
        return Settled(self.tolerance, self.max_steps)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return engines for the laws, each with a problem to solve."""
        x, code = np.cos(np.outer(np.arange(15.0), [1.0, 2.5])), np.arange(15) % 7 % 3
        coding = class_coding(3)
        rows = SoftmaxRows(x, code, np.ones(15), np.zeros(2), np.ones(2), coding, True)
        problem = LogisticProblem(rows, 1.0)
        return Example(cls(1e-4), problem=problem), Example(
            cls(1e-4, damping=0.5), problem=problem
        )

    def init(self, problem: LogisticProblem, rng: Generator) -> ClassSites:
        """Return sites with slope and curvature of the likelihood at the mode."""
        return _sites_at_mode(problem)

    def step(
        self, problem: LogisticProblem, state: ClassSites, rng: Generator
    ) -> tuple[ClassSites, Move]:
        """Change every site so that its row has the moments of likelihood times cavity."""
        found = PropagatedClasses(problem, state)
        after = found.moved_sites(1.0 - self.damping)
        return after, Move(found.log_evidence, after.change)

    def posterior(self, problem: LogisticProblem, state: ClassSites) -> Inference:
        """Return the Gaussian of prior and sites, and the evidence."""
        found = PropagatedClasses(problem, state)
        return Inference(found.weights, found.log_evidence, "ep", account=ACCOUNT)


@dataclass(frozen=True, eq=False)
class PropagatedClasses:
    """The Gaussian of a prior of weights and of sites that stand for likelihoods.

    Attributes
    ----------
    problem
        What was asked.
    sites
        One for each row.
    """

    problem: LogisticProblem
    sites: ClassSites

    @cached_property
    def weight_precision(self) -> Array:
        """Precision of the parameters, shape (d, d)."""
        seen, (n_codes, m) = self._seen, self.problem.rows.shape
        found = np.empty((n_codes, m, n_codes, m))
        for j in range(n_codes):
            for k in range(j + 1):
                block = seen.T @ (self.sites.precision[:, j, k, None] * seen)
                found[j, :, k], found[k, :, j] = block, block.T
        matrix = found.reshape(n_codes * m, -1)
        matrix[np.diag_indices_from(matrix)] += self.problem.prior_precision
        return np.asarray(matrix)

    @cached_property
    def weights(self) -> MultivariateNormal:
        """Belief about the parameters."""
        return MultivariateNormal.from_precision(self._mean, self.weight_precision)

    @cached_property
    def log_evidence(self) -> float:
        """Log evidence; it is stationary where the sites have settled."""
        prior = self.problem.prior_precision
        is_flat = prior == 0
        log_det = float(self._factor.log_det()) - np.log(prior[~is_flat]).sum()
        log_integral = 0.5 * (
            self._mean @ self._pull - log_det + LOG_TWO_PI * np.count_nonzero(is_flat)
        )
        return float(self._copies @ self._tilted[0] + log_integral)

    def moved_sites(self, share: float) -> ClassSites:
        """Return sites moved by a share of the way to those that match the moments."""
        (at, _, inverse, _), (_, mean, covariance) = self._numbers, self._tilted
        n_codes = at.shape[1]
        own, _ = self._own
        wanted = np.linalg.inv(covariance)
        # The likelihood is log-concave, so that no right site takes precision away.
        value, axes = np.linalg.eigh(own + wanted - np.eye(n_codes))
        matched = (axes * np.maximum(value, 0.0)[:, None]) @ axes.swapaxes(1, 2)
        by_precision = self._copies[:, None, None] * (matched - own)
        by_shift = self._copies[:, None] * (wanted @ mean[:, :, None])[:, :, 0]
        change = float(max(np.abs(by_precision).max(), np.abs(by_shift).max()))
        pace = next_pace(self.sites, change, share)
        precision = inverse @ by_precision @ inverse
        shift = (by_shift[:, None] @ inverse)[:, 0] + (precision @ at[:, :, None])[:, :, 0]
        return ClassSites(
            self.sites.precision + pace * precision,
            self.sites.shift + pace * shift,
            pace,
            change,
        )

    @cached_property
    def _seen(self) -> Array:
        return self.problem.rows.seen

    @property
    def _copies(self) -> Array:
        """How many rows with equal sites a row stands for."""
        return np.maximum(self.problem.rows.weight, 1.0)

    @cached_property
    def _factor(self) -> Cholesky:
        return cholesky(self.weight_precision, largest_jitter=1e-12)

    @cached_property
    def _pull(self) -> Array:
        return np.asarray((self.sites.shift.T @ self._seen).ravel())

    @cached_property
    def _mean(self) -> Array:
        return self._factor.solve(self._pull[:, None])[:, 0]

    @cached_property
    def _numbers(self) -> tuple[Array, Array, Array, Array]:
        """Means (n, J) of the numbers of each row, root of their covariance, its inverse.

        What counts as known has no part in these two. In a second root it has a little.
        """
        shape = self.problem.rows.shape
        covariance = self._factor.solve(np.eye(len(self._mean))).reshape(shape * 2)
        value, axes = np.linalg.eigh(coordinate_covariance(self._seen, covariance))
        least = LEAST_SHARE * value[:, -1:]
        is_known = value <= least
        spread = np.sqrt(np.where(is_known, 0.0, value))
        shrink = np.where(is_known, 0.0, 1.0 / np.where(is_known, 1.0, spread))
        at = self._seen @ self._mean.reshape(shape).T
        # Symmetric roots do not turn, as axes of nearly equal variances do.
        root, inverse, whole = [
            (axes * each[:, None]) @ axes.swapaxes(1, 2)
            for each in (spread, shrink, np.sqrt(np.maximum(value, least + LEAST_VARIANCE)))
        ]
        return at, root, inverse, whole

    @cached_property
    def _own(self) -> tuple[Array, Array]:
        """Precision and shift in ``z`` of the site of one of the rows of a weight."""
        at, root, _, _ = self._numbers
        precision = self.sites.precision / self._copies[:, None, None]
        shift = self.sites.shift / self._copies[:, None]
        left = shift - (precision @ at[:, :, None])[:, :, 0]
        return root @ precision @ root, (left[:, None] @ root)[:, 0]

    @cached_property
    def _tilted(self) -> tuple[Array, Array, Array]:
        """Log mean of likelihood over site, and with these weights mean and covariance of z."""
        rows, (at, _, _, root) = self.problem.rows, self._numbers
        frame, slope = _frames(rows.coding[rows.code], root)
        precision = frame.swapaxes(1, 2) @ self._own[0] @ frame
        pull = (self._own[1][:, None] @ frame)[:, 0]
        nodes, weight = standard_nodes(at.shape[1] - 1)
        first, second = np.triu_indices(len(nodes))
        products = np.concatenate([nodes, nodes[first] * nodes[second]])
        twice = np.where(first == second, 0.5, 1.0)
        site = np.hstack([pull[:, 1:], -twice * precision[:, 1:, 1:][:, first, second]])
        loops = importlib.import_module("credo.inference.logistic._loops_tilted_line")
        steps = np.linspace(-1.0, 1.0, LINE_SIZE)
        log_mean, mean = np.empty(len(at)), np.empty(at.shape)
        moments = np.empty((*at.shape, at.shape[1]))
        size = max(1, NUMBERS_AT_ONCE // (len(rows.coding) * len(weight)))
        for start in range(0, len(at), size):
            part = slice(start, start + size)
            behind = _log_odds(
                rows.coding, rows.code[part], at[part], root[part] @ frame[part], nodes
            )
            tilt = precision[part, 0, 1:] @ nodes - pull[part, :1]
            logs, one, two = loops.line_moments(
                behind,
                slope[part],
                np.minimum(rows.weight[part], 1.0),
                tilt,
                1.0 - precision[part, 0, 0],
                steps,
            )
            logs += np.log(weight) - 0.5 * LOG_TWO_PI - site[part] @ products
            log_mean[part] = special.logsumexp(logs, axis=1)
            ratio = np.exp(logs - log_mean[part, None])
            across = ratio @ products.T
            mean[part, 0], mean[part, 1:] = (ratio * one).sum(axis=1), across[:, : len(nodes)]
            moments[part, 0, 0] = (ratio * two).sum(axis=1)
            moments[part, 0, 1:] = moments[part, 1:, 0] = (ratio * one) @ nodes.T
            square = across[:, len(nodes) :]
            moments[part, 1 + first, 1 + second] = moments[part, 1 + second, 1 + first] = square
        moments -= mean[:, :, None] * mean[:, None]
        sites = self.sites
        shift, bend = sites.shift, (sites.precision @ at[:, :, None])[:, :, 0]
        height = ((shift - 0.5 * bend) * at).sum(axis=1) / self._copies
        return (
            log_mean - height,
            (frame @ mean[:, :, None])[:, :, 0],
            frame @ moments @ frame.swapaxes(1, 2),
        )


def _frames(own: Array, root: Array) -> tuple[Array, Array]:
    """Return orthonormal axes (n, J, J) of z for each row, and slopes (n,) along the first.

    Along the first the score of the row's own class rises against all the others alike.

    Parameters
    ----------
    own
        Coding (n, J) of the row's own class.
    root
        Roots (n, J, J) of covariances.
    """
    n_codes = own.shape[1]
    up = np.linalg.solve(root, own[:, :, None])[:, :, 0]
    length = np.linalg.norm(up, axis=1)
    up /= length[:, None]
    begin = own / np.linalg.norm(own, axis=1, keepdims=True)
    # A reflection that takes the first axis to the coding, then the least turn from there on:
    # the covariance of a row has positive eigenvalues, so that this is less than a right angle.
    axis = np.eye(n_codes)[0]
    normal = begin - axis
    square = (normal**2).sum(axis=1)
    is_there = square < np.finfo(float).eps
    normal *= np.sqrt(2.0 / np.where(is_there, 1.0, square))[:, None]
    base = np.eye(n_codes) - normal[:, :, None] * normal[:, None]
    between = begin + up
    turn = np.eye(n_codes) + 2.0 * up[:, :, None] * begin[:, None]
    turn -= (
        between[:, :, None] * between[:, None] / (1.0 + (begin * up).sum(axis=1))[:, None, None]
    )
    return turn @ base, 1.0 / length


def _log_odds(
    coding: Array, code: NDArray[np.intp], at: Array, root: Array, nodes: Array
) -> Array:
    """Return log odds (n, n_nodes) against a row's own class where the first axis begins."""
    scores = (coding @ root[:, :, 1:]) @ nodes
    scores += (at @ coding.T)[:, :, None]
    own = np.take_along_axis(scores, code[:, None, None], axis=1)
    np.put_along_axis(scores, code[:, None, None], -np.inf, axis=1)
    scores -= own
    top = scores.max(axis=1)
    scores -= top[:, None]
    np.exp(scores, out=scores)
    return np.asarray(top + np.log(scores.sum(axis=1)))


def followed_classes(
    problem: LogisticProblem,
    before: ClassSites | None = None,
    engine: SoftmaxPropagation = SoftmaxPropagation(1e-4),
) -> tuple[PropagatedClasses, ClassSites]:
    """Return the belief under a prior that is close to one whose sites are known.

    Parameters
    ----------
    before
        Sites under a similar prior; None to start at the mode.
    engine
        Says how sites are changed, and when they have settled.

    Returns
    -------
    belief, sites
        The belief, and sites to go on from.
    """
    sites = _sites_at_mode(problem) if before is None else before
    sites = ClassSites(sites.precision, sites.shift)
    for _ in range(engine.max_steps):
        found = PropagatedClasses(problem, sites)
        sites = found.moved_sites(1.0 - engine.damping)
        if sites.change <= engine.tolerance:
            break
    return found, sites


def _sites_at_mode(problem: LogisticProblem) -> ClassSites:
    rows = problem.rows
    mode = mode_of(problem).state.parameters.reshape(rows.shape)
    at = rows.coordinates(mode)
    share = softmax(at @ rows.coding.T)
    mean = share @ rows.coding
    bend = np.einsum("nk,ki,kj->nij", share, rows.coding, rows.coding, optimize=True)
    bend -= mean[:, :, None] * mean[:, None]
    pull = rows.coding[rows.code] - mean + (bend @ at[:, :, None])[:, :, 0]
    return ClassSites(rows.weight[:, None, None] * bend, rows.weight[:, None] * pull)
