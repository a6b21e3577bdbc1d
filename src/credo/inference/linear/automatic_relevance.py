"""Automatic relevance determination: one prior precision for each weight.

The evidence as a function of one ratio ``r`` of weight to noise precision, the others fixed,
is ``log(r / (r + s)) / 2`` plus a term in ``q^2 / (r + s)``, where ``s`` and ``q`` measure
what the column adds [tipping2003fast]_. Its maximum has a closed form also when the noise is
integrated out, so that coordinate ascent needs no step size and never goes down. A ratio that
goes to infinity drops the column; a later sweep may take it back.
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

from credo.distributions.gamma import Gamma
from credo.families.linear import LinearStatistics, Rows
from credo.families.ridge import (
    Intercept,
    Noise,
    Spectrum,
    log_evidence,
    scaled_products,
    scaled_rows,
)
from credo.families.ridge_belief import RidgeBelief
from credo.inference.engine.engine import Account, Inference, Move, Settled, run
from credo.inference.linear.precision_learning import (
    EvidenceMaximization,
    PrecisionProblem,
    log_ratio_prior,
    settled_shape,
)
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.form import SMALLEST, Form

__all__ = [
    "GRID",
    "Columns",
    "RelevanceDetermination",
    "RelevanceProblem",
    "RelevanceStep",
    "is_own",
    "log_prior_shares",
    "penalized_solution",
    "shrunk_log_det",
]

Columns = NDArray[np.intp]
GRID = np.arange(-30.0, 40.0, 0.25)
"""Logs of ratios at which evidences are added up."""

RESOLVED = 1e-10
"""Share of a column's squares below which what others leave of it is rounding error."""

SWEEPS, HARDLY = 10, 0.01
"""Sweeps of a step, which ends before if one raises the evidence by a small share of all."""

MOST_AT_ONCE = 50
"""Columns that may enter together."""

FEW = 200
"""Columns that are all looked at in every sweep, however few rows there are for them."""

ACCOUNT = Account("automatic relevance determination", False, float("nan"), "unknown")


@dataclass(frozen=True, eq=False)
class RelevanceProblem:
    """One output of a linear regression in which every column has a precision of its own.

    Attributes
    ----------
    statistics
        The data; with fewer rows than columns only products of columns in use are formed.
    scale
        Multiplier of each column.
    shared
        Belief under one precision for all columns, from which the search starts.
    """

    statistics: LinearStatistics
    scale: Array
    intercept: Intercept
    noise: Noise
    output: int
    shared: RidgeBelief

    @cached_property
    def rows(self) -> tuple[Array, Array] | None:
        """Scaled columns and the output, while the statistics hold rows."""
        if not isinstance(self.statistics.form, Rows):
            return None
        x, y = scaled_rows(self.statistics, self.scale, self.intercept)
        return x, y[:, self.output]

    @cached_property
    def products(self) -> tuple[Array, Array, float]:
        """Gram matrix (if there are more rows than columns), and products with the output."""
        if self.rows is not None:
            x, y = self.rows
            return np.empty((0, 0)), x.T @ y, float(y @ y)
        gram, cross, total = scaled_products(self.statistics, self.scale, self.intercept)
        return gram, cross[:, self.output], float(total[self.output])

    def gram(self, left: Columns, right: Columns) -> Array:
        """Return the products of the columns ``left`` with the columns ``right``."""
        if self.rows is None:
            return np.asarray(self.products[0][np.ix_(left, right)])
        return np.asarray(self.rows[0][:, left].T @ self.rows[0][:, right])

    @cached_property
    def squares(self) -> Array:
        """Sum of squares of each scaled column."""
        if self.rows is None:
            return np.diagonal(self.products[0]).copy()
        return np.asarray((self.rows[0] ** 2).sum(axis=0))

    @cached_property
    def candidates(self) -> Columns:
        """Columns that may be in use: those that are not zero, one of each direction.

        Columns that differ by a factor alone give one belief about functions, of which the
        evidence knows only the sum of their prior variances: rounding would choose among them.
        """
        columns = np.flatnonzero(self.squares > 0)
        if self.rows is None:
            return columns[_first_of_each_direction(self.gram(columns, columns))]
        # By chance, columns of one direction and no others are neighbors in this order.
        unit = self.rows[0][:, columns] / np.sqrt(self.squares[columns])
        place = np.cos(np.arange(len(unit)) ** 2) @ unit
        order = np.argsort(np.abs(place), kind="stable")
        one, two = unit[:, order[:-1]], unit[:, order[1:]]
        left = np.square(one - np.einsum("ij,ij->j", one, two) * two).sum(axis=0)
        group = np.cumsum(np.append(0, left > RESOLVED))
        first = np.full(len(columns), len(columns))
        np.minimum.at(first, group[: len(columns)], order)
        chosen: Columns = columns[np.sort(first[first < len(columns)])]
        return chosen

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the noise."""
        n = self.statistics.weight - (self.intercept == "flat")
        return n + 2 * float(self.noise.shape) if isinstance(self.noise, Gamma) else n

    @property
    def total(self) -> float:
        """Sum of squares of the output, with what a belief about the noise adds to it."""
        belief = 2 * float(self.noise.rate) if isinstance(self.noise, Gamma) else 0.0
        return self.products[2] + belief

    @cached_property
    def capacity(self) -> int | None:
        """Number of columns that may be in use, None for any.

        Where more columns than needed could interpolate the rows there is no noise left, and
        the evidence has no bound; and with few rows for each column their noise is fitted
        column by column. Then half as many columns as there are independent rows may enter,
        unless all columns together, under one precision, show outputs without noise.
        """
        spectrum, size = self.shared.spectra[0], int((self.squares > 0).sum())
        rank = len(spectrum.eigenvalues)
        if spectrum.residual[self.output] <= 1e-8 * self.products[2] and rank < size:
            return max(rank // 2, 1)
        noise = self.freedom / float(self.shared.noise_precision[self.output])
        if self.freedom < 2 * size and noise > 1e-6 * self.products[2]:
            return max(int(self.freedom) // 2, 1)
        return size if self.freedom < 2 * size and size > FEW else None

    @property
    def resolution(self) -> float:
        """Sum of squares below which a residual is rounding error."""
        return float(self.shared.spectra[0].resolution[self.output])

    @property
    def known_precision(self) -> float:
        """Noise precision, zero where it is not known."""
        return self.noise if isinstance(self.noise, float) else 0.0

    def fit(self, quadratic: Array | float) -> Array:
        """Return the part of the log evidence that depends on the quadratic."""
        if self.known_precision:
            return np.asarray(-0.5 * self.known_precision * np.asarray(quadratic))
        return np.asarray(-0.5 * self.freedom * np.log(np.maximum(quadratic, self.resolution)))


@dataclass(frozen=True, eq=False)
class Relevances:
    """Ratio of each column, infinite if dropped, and the columns that the sweeps look at."""

    ratio: Annotated[Array, Form("c", 0.0, np.inf)]
    working: Annotated[Columns, Form("m", 0)]
    objective: float


@dataclass(frozen=True)
class RelevanceStep(Move):
    """A sweep over the columns.

    Attributes
    ----------
    n_columns
        Columns in use after it.
    """

    n_columns: int


@dataclass(frozen=True)
class RelevanceDetermination:
    """Coordinate ascent of the evidence in one prior precision per weight."""

    tolerance: float = 1e-6
    max_steps: int = 500

    problem = RelevanceProblem
    is_random: ClassVar[bool] = False

    @property
    def stop(self) -> Settled:
        """The evidence hardly rose, or there were too many sweeps."""
        return Settled(self.tolerance, self.max_steps)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return engines for the laws, each with a problem to solve."""
        x = np.cos(np.outer(np.arange(12.0), [1.0, 2.0, 5.0]))
        statistics = LinearStatistics.of(x, 2.0 * x[:, 0] + 0.1 * np.sin(np.arange(12.0) ** 2))
        scale = np.ones(3)
        precisions = PrecisionProblem(Spectrum.of(statistics, scale, "flat"), None, None)
        shared = run(EvidenceMaximization(), precisions).posterior
        problem = RelevanceProblem(statistics, scale, "flat", None, 0, shared)
        return (Example(cls(), problem=problem),)

    def init(self, problem: RelevanceProblem, rng: Generator) -> Relevances:
        """Start from equal ratios on all columns, or on the best where few may be in use."""
        columns = problem.candidates
        gain = problem.products[1][columns] ** 2 / problem.squares[columns]
        size = len(columns)
        if problem.capacity is not None:
            size = min(size, _room(problem.capacity, 0))
        working = np.sort(columns[np.argsort(-gain, kind="stable")[:size]])
        ratio = np.full(len(problem.squares), np.inf)
        ratio[working] = problem.shared.ratio[problem.output]
        return Relevances(ratio, working, -np.inf)

    def step(
        self, problem: RelevanceProblem, state: Relevances, rng: Generator
    ) -> tuple[Relevances, RelevanceStep]:
        """Sweep over the working columns, then look for better ones outside them."""
        gram = problem.gram(state.working, state.working)
        cross = problem.products[1][state.working]
        ratio, value = _swept(
            problem, gram, cross, state.ratio[state.working], state.objective, self.tolerance
        )
        full = np.full(len(state.ratio), np.inf)
        full[state.working] = ratio
        working, is_new = _working(problem, full, state.working)
        change = np.inf if is_new else value - state.objective
        n_columns = int(np.isfinite(full).sum())
        report = RelevanceStep(value, float(abs(change)), n_columns)
        return Relevances(full, working, value), report

    def posterior(self, problem: RelevanceProblem, state: Relevances) -> Inference:
        """Return the belief, and the evidence integrated over each log precision in turn."""
        scale = problem.scale / np.sqrt(state.ratio)
        spectrum = Spectrum.of(problem.statistics, scale, problem.intercept).only(
            problem.output
        )
        quadratic = spectrum.quadratic(np.ones(1), 0)[0]
        shape, precision = np.inf, problem.known_precision
        if not precision:
            shape = settled_shape(0.5 * problem.freedom)
            precision = problem.freedom / (quadratic + problem.total - problem.products[2])
        belief = RidgeBelief((spectrum,), np.ones(1), np.array([precision]), np.array([shape]))
        log_evidence = _log_evidence(problem, state, spectrum)
        return Inference(belief, log_evidence, "laplace", account=ACCOUNT)


def _swept(
    problem: RelevanceProblem,
    gram: Array,
    cross: Array,
    ratio: Array,
    objective: float,
    tolerance: float,
) -> tuple[Array, float]:
    """Return the ratios of working columns after some sweeps, and what they reach.

    ``objective`` is what the ratios reach before, minus infinity if that is not known.
    """
    # Compiled loops load numba, which only those who ask for relevances should wait for.
    loops = importlib.import_module("credo.inference.linear._loops_automatic_relevance")
    ratio = ratio.copy()
    reached = [] if np.isneginf(objective) else [objective]
    for _ in range(SWEEPS):
        spread, weights, quadratic = _solve(problem, gram, cross, ratio)
        quadratic = loops.relevance_sweep(
            gram,
            cross,
            ratio,
            spread,
            weights,
            quadratic,
            problem.freedom,
            problem.known_precision,
        )
        reached.append(float(problem.fit(quadratic)) - shrunk_log_det(gram, ratio))
        if len(reached) > 1:
            gain, whole = reached[-1] - reached[-2], reached[-1] - reached[0]
            if gain < max(HARDLY * whole, tolerance):
                break
    return ratio, reached[-1]


def _first_of_each_direction(gram: Array) -> Columns:
    """Return the first of all columns that are multiples of each other, from their products."""
    root = np.sqrt(np.diagonal(gram))
    left = 1.0 - np.square(gram / root / root[:, None])
    is_first = ~np.any(np.tril(left <= RESOLVED, -1), axis=1)
    return np.flatnonzero(is_first)


def is_own(s: Array, squares: Array) -> NDArray[np.bool_]:
    """Return whether columns hold something that those in use do not make up.

    Parameters
    ----------
    s
        Sum of squares that columns in use leave of each.
    squares
        Sum of squares of each.
    """
    return np.asarray(s > RESOLVED * squares)


def log_prior_shares(gain: Array) -> float:
    """Return the log of the share of prior probability that best precisions have, in total.

    Parameters
    ----------
    gain
        Log evidence at each precision of the grid less that at the best one, (columns, grid).
    """
    # Nothing is better than the best, but for rounding where outputs have hardly any noise.
    shares = special.logsumexp(np.minimum(gain, 0.0) + log_ratio_prior(GRID), axis=1)
    return float((shares + np.log(GRID[1] - GRID[0])).sum())


def penalized_solution(gram: Array, cross: Array, ratio: Array) -> tuple[Array, Array]:
    """Return spread and weights from scratch, so that no rounding piles up.

    The spread is the inverse of ``gram + diag(ratio)`` on columns of finite ratio, and zero
    elsewhere; the weights are its product with ``cross``.
    """
    used = np.flatnonzero(np.isfinite(ratio))
    spread, weights = np.zeros_like(gram), np.zeros(len(gram))
    # In units of the prior no eigenvalue is below one, however alike the columns are.
    root = _roots(ratio[used])
    inverse = np.linalg.inv(gram[np.ix_(used, used)] / root + np.eye(len(used))) / root
    spread[np.ix_(used, used)] = 0.5 * (inverse + inverse.T)
    weights[used] = spread[np.ix_(used, used)] @ cross[used]
    return spread, weights


def shrunk_log_det(gram: Array, ratio: Array) -> float:
    """Return half the log determinant of ``1 + gram / ratio``, the cost of columns."""
    used = np.flatnonzero(np.isfinite(ratio))
    shrunk = gram[np.ix_(used, used)] / _roots(ratio[used])
    return 0.5 * float(np.linalg.slogdet(shrunk + np.eye(len(used)))[1])


def _roots(ratio: Array) -> Array:
    """Return the roots of products of ratios; the products themselves may underflow."""
    root = np.sqrt(ratio)
    return np.multiply.outer(root, root)


def _solve(
    problem: RelevanceProblem, gram: Array, cross: Array, ratio: Array
) -> tuple[Array, Array, float]:
    """Return spread, weights and quadratic."""
    spread, weights = penalized_solution(gram, cross, ratio)
    return spread, weights, max(float(problem.total - cross @ weights), problem.resolution)


def _additions(problem: RelevanceProblem, ratio: Array, columns: Columns) -> tuple[Array, ...]:
    """Return ``s``, ``q`` and the quadratic without the column, for each of ``columns``."""
    used = np.flatnonzero(np.isfinite(ratio))
    gram, cross = problem.gram(used, used), problem.products[1]
    spread, weights, quadratic = _solve(problem, gram, cross[used], ratio[used])
    between = problem.gram(columns, used)
    s = problem.squares[columns] - np.einsum("ij,ij->i", between @ spread, between)
    q = np.where(is_own(s, problem.squares[columns]), cross[columns] - between @ weights, 0.0)
    r = ratio[columns]
    inside = np.isfinite(r)
    place = np.searchsorted(used, columns[inside])
    own = spread[place, place]
    s[inside], q[inside] = 1 / own - r[inside], weights[place] / own
    without = np.full(len(columns), quadratic)
    without[inside] += q[inside] ** 2 * own
    return np.maximum(s, SMALLEST), q, without


def _working(problem: RelevanceProblem, ratio: Array, working: Columns) -> tuple[Columns, bool]:
    """Return the columns to sweep next: all, or those in use and the best of the others."""
    if problem.capacity is None:
        return working, False
    outside = np.setdiff1d(problem.candidates, working)
    if not len(outside):
        return working, False
    s, q, without = _additions(problem, ratio, outside)
    if problem.known_precision:
        pull = problem.known_precision * q**2 / s - 1
    else:
        pull = problem.freedom * (q / s) * (q / without) - 1
    wanted = outside[np.argsort(-pull, kind="stable")][: int((pull > 1e-9).sum())]
    if not len(wanted):
        return working, False
    used = np.flatnonzero(np.isfinite(ratio))
    wanted = wanted[: _room(problem.capacity, len(used))]
    return np.union1d(used, wanted), len(wanted) > 0


def _room(capacity: int, n_used: int) -> int:
    """Return how many columns may enter next: a few at a time, so that the best come first."""
    return max(0, min(max(capacity // 5, 1), MOST_AT_ONCE, capacity - n_used))


def _log_evidence(problem: RelevanceProblem, state: Relevances, spectrum: Spectrum) -> float:
    """Return the evidence at the maximum times, per column, its share of prior probability."""
    top = float(log_evidence(spectrum, 0, np.ones(1), problem.noise)[0])
    columns = np.flatnonzero(problem.squares > 0)
    s, q, without = _additions(problem, state.ratio, columns)
    # Together the columns are expected to explain as much as under one shared precision.
    strength = problem.squares[columns] / problem.statistics.weight * len(columns)
    ratio = strength[:, None] * np.exp(-GRID)
    best = state.ratio[columns, None]
    parts = s[:, None], q[:, None], without[:, None]
    gain = _curve(problem, ratio, *parts) - _curve(problem, best, *parts)
    return top + log_prior_shares(gain)


def _curve(
    problem: RelevanceProblem, ratio: Array, s: Array, q: Array, without: Array
) -> Array:
    """Return the log evidence as a function of one column's ratio, up to a constant."""
    return np.asarray(-0.5 * np.log1p(s / ratio) + problem.fit(without - q**2 / (ratio + s)))
