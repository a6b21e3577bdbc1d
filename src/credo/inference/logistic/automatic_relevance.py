"""Automatic relevance determination of classes: one prior precision for each weight.

Two classes have one function of the columns, the log odds of the second; several have one
function each, and their softmax. Every weight is normal around zero with a precision of its
own, and intercepts are flat.

At the most probable weights the likelihood is replaced by its second-order expansion, which is
a linear regression with known noise: what a column adds is measured by ``s`` and ``q`` as
there, and coordinate ascent decides which precisions are set, dropped and taken in
[tipping2003fast]_. A few of the columns that promise most join those in use; then the most
probable weights are found anew. The curvature of the likelihood counts as known while
precisions are set, so that where it ends each weight in use has ``precision = s^2 / (q^2 - s)``
and each other ``q^2 <= s``.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.distributions.multivariate_normal import MultivariateNormal
from credo.inference.engine.engine import Account, Inference, Settled
from credo.inference.linear.automatic_relevance import (
    GRID,
    Columns,
    RelevanceStep,
    is_own,
    log_prior_shares,
    penalized_solution,
    shrunk_log_det,
)
from credo.inference.logistic.softmax import (
    class_coding,
    coordinate_covariance,
    integrated_log_probability,
)
from credo.numerics.array import Array, as_float, is_constant
from credo.numerics.example import Example
from credo.numerics.form import SMALLEST, SMALLEST_SPREAD, Form
from credo.numerics.linear.linear_algebra import symmetrize
from credo.numerics.special.log_domain import log_normalize

__all__ = [
    "LogisticRelevance",
    "LogisticRelevanceBelief",
    "LogisticRelevanceProblem",
    "LogisticRelevances",
]

ACCOUNT = Account("automatic relevance determination", False, float("nan"), "unknown")

INTERCEPT = 1e-6
"""Prior precision of intercepts, which keeps that of a class without rows finite."""

NEW_COLUMNS, NEW_PER_FUNCTION = 10, 3
"""Weights that may join those in use at a time: of all functions, or of each of many."""

SWEEPS = 10
"""Sweeps over the columns before the most probable weights are found anew."""

LEAST_PROMISE = 1e-6
"""Rise of the evidence for which a column joins; ten times as much each time it was dropped."""

LONG = 50
"""Steps after which precisions go half of the way, on the log scale."""

NEWTON_STEPS, NEWTON_TOLERANCE = 50, 1e-10
LONGEST_MOVE = 20.0
"""Change of a function at any row in one step: odds of a class times or by 5e8."""

LOG_TWO_PI = float(np.log(2 * np.pi))


def _function_classes(n_classes: int) -> Columns:
    """Return the classes that have a function: the second of two, or all."""
    return np.arange(n_classes) if n_classes > 2 else np.array([1])


@dataclass(frozen=True, eq=False)
class LogisticRelevanceProblem:
    """Labeled rows, in which every column has a precision of its own for each function.

    Attributes
    ----------
    columns
        Functions of the inputs at each row, shape (n, m).
    code
        Class of each row, 0 to K - 1.
    weight
        How much each row counts.
    """

    columns: Array
    code: NDArray[np.intp]
    weight: Array
    n_classes: int

    @cached_property
    def center(self) -> Array:
        """Mean of each column."""
        return np.asarray(self.weight @ self.columns / self.weight.sum())

    @cached_property
    def scale(self) -> Array:
        """One over the spread of each column; zero if it is constant."""
        share = self.weight / self.weight.sum()
        spread = np.sqrt(share @ (self.columns - self.center) ** 2)
        is_flat = is_constant(self.center, spread)
        return np.where(is_flat, 0.0, 1.0 / np.where(is_flat, 1.0, spread))

    @cached_property
    def seen(self) -> Array:
        """The columns, centered and scaled, one after the other, shape (m, n)."""
        return np.ascontiguousarray(((self.columns - self.center) * self.scale).T)

    @cached_property
    def labels(self) -> Array:
        """One for the class of each row and zero for others, shape (K, n)."""
        return np.asarray(np.eye(self.n_classes)[self.code].T)

    @property
    def functions(self) -> Columns:
        """The classes that have a function."""
        return _function_classes(self.n_classes)

    @cached_property
    def coding(self) -> Array:
        """How functions are shifted by free intercepts, shape (F, J)."""
        return class_coding(self.n_classes)[self.functions]

    @property
    def capacity(self) -> int:
        """Number of weights that may be in use: half as many as there are rows."""
        return max(len(self.weight) // 2, 1)

    @property
    def n_weights(self) -> int:
        """Number of weights, one for each function and column."""
        return len(self.functions) * len(self.seen)


@dataclass(frozen=True, eq=False)
class _Expansion:
    """The likelihood around some weights: its value, slopes and second derivatives.

    Attributes
    ----------
    slope
        Derivative of the log likelihood by each function at each row, shape (F, n).
    bend
        Minus the second derivatives, shape (F, F, n).
    """

    value: float
    slope: Array
    bend: Array

    @classmethod
    def of(cls, problem: LogisticRelevanceProblem, height: Array) -> _Expansion:
        """Expand around functions that have these heights at the rows, shape (F, n)."""
        scores = np.zeros((problem.n_classes, height.shape[1]))
        scores[problem.functions] = height
        logs = log_normalize(scores, axis=0)
        share = np.exp(logs)[problem.functions]
        slope = problem.weight * (problem.labels[problem.functions] - share)
        bend = -(problem.weight * share)[:, None] * share
        index = np.arange(len(share))
        others = 1.0 - share if len(share) == 1 else share.sum(axis=0) - share
        bend[index, index] = problem.weight * share * others
        return cls(float((logs * problem.labels).sum(axis=0) @ problem.weight), slope, bend)


@dataclass(frozen=True, eq=False)
class _Terms:
    """Some weights and the intercepts: their columns at the rows, and whose function they are.

    Attributes
    ----------
    rows
        Columns of the weights, then a row of ones for each function, shape (p + F, n).
    owner
        Function that each of these belongs to, shape (p + F,).
    coding
        How functions are shifted by the J free intercepts, shape (F, J).
    """

    rows: Array
    owner: Columns
    coding: Array

    @classmethod
    def of(cls, problem: LogisticRelevanceProblem, chosen: Columns) -> _Terms:
        """Take weights by number: those of the first function come first."""
        owner, column = np.divmod(chosen, len(problem.seen))
        n_functions = len(problem.functions)
        ones = np.ones((n_functions, problem.seen.shape[1]))
        return cls(
            np.concatenate([problem.seen[column], ones]),
            np.concatenate([owner, np.arange(n_functions)]),
            problem.coding,
        )

    @property
    def n_weights(self) -> int:
        """Number of weights p."""
        return len(self.rows) - len(self.coding)

    def heights(self, parameters: Array) -> Array:
        """Return the functions at the rows for weights and intercepts (p + J,)."""
        p = self.n_weights
        each = np.concatenate([parameters[:p], self.coding @ parameters[p:]])
        return np.array([each[own] @ self.rows[own] for own in self._parts])

    def gradient(self, slope: Array) -> Array:
        """Return the slope of the log likelihood by weights and intercepts, shape (p + J,)."""
        each = np.einsum("in,in->i", self.rows, slope[self.owner])
        return np.concatenate([each[: self.n_weights], self.coding.T @ each[self.n_weights :]])

    def curvature(self, bend: Array) -> Array:
        """Return minus the second derivatives by weights and intercepts (p + J, p + J)."""
        found = np.empty((len(self.rows), len(self.rows)))
        for k, own in enumerate(self._parts):
            found[own] = self.rows[own] @ (self.rows * bend[k, self.owner]).T
        return symmetrize(self._coded(self._coded(found).T))

    def between(self, seen: Array, function: int, bend: Array) -> Array:
        """Return the same between a function's weights of all columns, and these (m, p + J)."""
        return self._coded(seen @ (self.rows * bend[function, self.owner]).T)

    @cached_property
    def _parts(self) -> list[Columns]:
        return [np.flatnonzero(self.owner == k) for k in range(len(self.coding))]

    def _coded(self, matrix: Array) -> Array:
        p = self.n_weights
        return np.hstack([matrix[:, :p], matrix[:, p:] @ self.coding])


@dataclass(frozen=True, eq=False)
class LogisticRelevances:
    """Where the search stands.

    Attributes
    ----------
    precision
        Of each weight of the scaled columns, function by function; infinite if dropped.
    weights, intercept
        The most probable ones; zero if dropped.
    n_dropped
        How often each weight was dropped.
    n_steps
        Steps so far.
    """

    precision: Annotated[Array, Form("w", SMALLEST, np.inf)]
    weights: Annotated[Array, Form("w")]
    intercept: Annotated[Array, Form("j")]
    n_dropped: Annotated[NDArray[np.intp], Form("w", 0)]
    n_steps: Annotated[int, Form(low=0)] = 0

    @property
    def used(self) -> Columns:
        """Numbers of the weights in use."""
        return np.flatnonzero(np.isfinite(self.precision))


@dataclass(frozen=True, eq=False)
class LogisticRelevanceBelief:
    """Normal belief about the weights of a few columns, and the intercepts.

    A row of these columns is seen as ``b = (x - center) * scale``.

    Attributes
    ----------
    gaussian
        Joint distribution of the weights, and of J intercepts after them.
    owner, column
        Class whose function each weight belongs to, and number of its column.
    precision
        Prior precision of each weight.
    """

    gaussian: MultivariateNormal
    center: Annotated[Array, Form("c")]
    scale: Annotated[Array, Form("c", 0.0, 1 / SMALLEST_SPREAD)]
    owner: Annotated[NDArray[np.intp], Form("p", 0)]
    column: Annotated[NDArray[np.intp], Form("p", 0, "c")]
    precision: Annotated[Array, Form("p", SMALLEST)]
    n_classes: Annotated[int, Form(low=2)]

    def coordinates(self, design: Array) -> tuple[Array, Array]:
        """Return means (n, J) and covariances (n, J, J) of what class scores are made of."""
        seen = np.column_stack([(design - self.center) * self.scale, np.ones(len(design))])
        mean = seen @ (self._spread_out @ self.gaussian.loc).reshape(len(self._units[0]), -1).T
        return mean, coordinate_covariance(seen, self._covariance)

    def log_probability(self, design: Array) -> Array:
        """Return log class probabilities, the weights integrated out, shape (n, K)."""
        mean, covariance = self.coordinates(design)
        return integrated_log_probability(mean, covariance, class_coding(self.n_classes))

    def weights(self) -> tuple[Array, Array]:
        """Return weights (F, c) and intercepts (F,) of functions in the units of the design.

        Two classes have one function, the log odds of the second; several have one each.
        """
        p, functions = len(self.owner), self._functions
        weights = np.zeros((len(functions), len(self.center)))
        weights[np.searchsorted(functions, self.owner), self.column] = self.gaussian.loc[:p]
        weights *= self.scale
        intercept = self._units[functions] @ self.gaussian.loc[p:]
        return weights, intercept - weights @ self.center

    def weight_precision(self) -> Array:
        """Return the prior precision of each of these weights (F, c), infinite if dropped."""
        functions = self._functions
        found = np.full((len(functions), len(self.center)), np.inf)
        found[np.searchsorted(functions, self.owner), self.column] = self.precision
        return np.asarray(found / self.scale**2)

    def n_effective_parameters(self) -> float:
        """Return how many parameters the data determine."""
        variance = self.gaussian.form.diagonal()[: len(self.precision)]
        n_intercepts = len(self.gaussian.loc) - len(self.precision)
        return float((1.0 - self.precision * variance).sum() + n_intercepts)

    @property
    def _units(self) -> Array:
        return class_coding(self.n_classes)

    @property
    def _functions(self) -> Columns:
        return _function_classes(self.n_classes)

    @cached_property
    def _spread_out(self) -> Array:
        """From weights and intercepts to one number for each coordinate and column."""
        coding, p = self._units, len(self.owner)
        n_free, size = coding.shape[1], len(self.center) + 1
        found = np.zeros((n_free, size, p + n_free))
        found[:, self.column, np.arange(p)] = coding[self.owner].T
        found[np.arange(n_free), -1, p + np.arange(n_free)] = 1.0
        return found.reshape(n_free * size, -1)

    @cached_property
    def _covariance(self) -> Array:
        shape = self._units.shape[1], len(self.center) + 1
        spread = self._spread_out @ self.gaussian.form.dense() @ self._spread_out.T
        return np.asarray(spread.reshape(*shape, *shape))


@dataclass(frozen=True)
class LogisticRelevance:
    """Sequential choice of the columns that classes need, each with a precision of its own.

    Attributes
    ----------
    tolerance
        Rise of the evidence, in nats, below which precisions have settled.
    """

    tolerance: float = 1e-6
    max_steps: int = 300

    problem = LogisticRelevanceProblem
    is_random: ClassVar[bool] = False

    @property
    def stop(self) -> Settled:
        """No precision promises more evidence, or there were too many steps."""
        return Settled(self.tolerance, self.max_steps)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return engines for the laws, each with a problem to solve."""
        x = np.cos(np.outer(np.arange(24.0), [1.0, 2.0, 5.0]))
        lean = x[:, 0] + 0.7 * np.sin(np.arange(24.0) ** 2)
        two, three = (lean > 0.1).astype(np.intp), np.digitize(lean, [-0.5, 0.5])
        weight = np.ones(24)
        return (
            Example(cls(), problem=LogisticRelevanceProblem(x, two, weight, 2)),
            Example(cls(), problem=LogisticRelevanceProblem(x, three, weight, 3)),
        )

    def init(self, problem: LogisticRelevanceProblem, rng: Generator) -> LogisticRelevances:
        """Start without any column."""
        n, n_free = problem.n_weights, problem.coding.shape[1]
        nowhere, never = np.full(n, np.inf), np.zeros(n, dtype=np.intp)
        empty = LogisticRelevances(nowhere, np.zeros(n), np.zeros(n_free), never)
        return _at_mode(problem, empty)

    def step(
        self, problem: LogisticRelevanceProblem, state: LogisticRelevances, rng: Generator
    ) -> tuple[LogisticRelevances, RelevanceStep]:
        """Let the most promising columns join, set all precisions, and find the mode anew."""
        used = state.used
        terms = _Terms.of(problem, used)
        expansion = _Expansion.of(problem, terms.heights(_parameters(state, used)))
        new = _promising(problem, state, terms, expansion)
        swept, gain = _swept(problem, state, np.concatenate([new, used]), expansion)
        after = _at_mode(problem, swept)
        value = _log_evidence_at(problem, after)
        return after, RelevanceStep(value, gain, len(after.used))

    def posterior(
        self, problem: LogisticRelevanceProblem, state: LogisticRelevances
    ) -> Inference:
        """Return the belief about the columns in use, and the evidence.

        The evidence is integrated over each log precision in turn.
        """
        used = state.used
        terms, precision = _Terms.of(problem, used), _prior(problem, state.precision[used])
        parameters = _parameters(state, used)
        expansion = _Expansion.of(problem, terms.heights(parameters))
        curvature = terms.curvature(expansion.bend) + np.diag(precision)
        owner, column = np.divmod(used, len(problem.seen))
        kept, place = np.unique(column, return_inverse=True)
        belief = LogisticRelevanceBelief(
            MultivariateNormal(parameters, _inverse(curvature, precision)),
            problem.center[kept],
            problem.scale[kept],
            problem.functions[owner],
            place.astype(np.intp),
            state.precision[used],
            problem.n_classes,
        )
        log_evidence = _log_evidence_at(problem, state) + _log_shares(
            problem, state, terms, expansion
        )
        return Inference(belief, log_evidence, "laplace", account=ACCOUNT)


def _parameters(state: LogisticRelevances, used: Columns) -> Array:
    return np.concatenate([state.weights[used], state.intercept])


def _prior(problem: LogisticRelevanceProblem, precision: Array) -> Array:
    """Return the prior precision of weights and intercepts."""
    return np.concatenate([precision, np.full(problem.coding.shape[1], INTERCEPT)])


def _inverse(curvature: Array, precision: Array) -> Array:
    """Return the inverse of likelihood and prior together, in units of the prior."""
    size = np.sqrt(np.maximum(precision, np.diagonal(curvature)))
    inverse = np.linalg.inv(curvature / np.outer(size, size)) / np.outer(size, size)
    return symmetrize(inverse)


def _at_mode(
    problem: LogisticRelevanceProblem, state: LogisticRelevances
) -> LogisticRelevances:
    """Return the state with the most probable weights, by Newton's method."""
    used = state.used
    terms, prior = _Terms.of(problem, used), _prior(problem, state.precision[used])

    def expanded(parameters: Array) -> tuple[_Expansion, float]:
        found = _Expansion.of(problem, terms.heights(parameters))
        return found, found.value - 0.5 * float(parameters**2 @ prior)

    parameters = _parameters(state, used)
    expansion, height = expanded(parameters)
    for _ in range(NEWTON_STEPS):
        slope = terms.gradient(expansion.slope) - prior * parameters
        curvature = terms.curvature(expansion.bend) + np.diag(prior)
        size = np.sqrt(np.diagonal(curvature))
        move = np.linalg.solve(curvature / np.outer(size, size), slope / size) / size
        promised = float(slope @ move)
        # Where classes are sure there is hardly any curvature, and steps know no measure.
        share = min(1.0, LONGEST_MOVE / max(float(np.abs(terms.heights(move)).max()), SMALLEST))
        trial, reached = expanded(parameters + share * move)
        while reached < height + 1e-4 * share * promised and share > 1e-8:
            share *= 0.5
            trial, reached = expanded(parameters + share * move)
        if not reached >= height:
            break
        parameters, expansion, height = parameters + share * move, trial, reached
        if promised < NEWTON_TOLERANCE:
            break
    weights = np.zeros(len(state.weights))
    weights[used] = parameters[: len(used)]
    return replace(state, weights=weights, intercept=parameters[len(used) :])


def _additions(
    problem: LogisticRelevanceProblem,
    state: LogisticRelevances,
    terms: _Terms,
    expansion: _Expansion,
) -> tuple[Array, Array]:
    """Return ``s`` and ``q`` of every weight, each without itself, shape (w,)."""
    used = state.used
    prior = _prior(problem, state.precision[used])
    spread = _inverse(terms.curvature(expansion.bend) + np.diag(prior), prior)
    s, q = np.empty((2, len(problem.functions), len(problem.seen)))
    for k in range(len(problem.functions)):
        squares = np.einsum("in,in,n->i", problem.seen, problem.seen, expansion.bend[k, k])
        between = terms.between(problem.seen, k, expansion.bend)
        s[k] = squares - np.einsum("ij,ij->i", between @ spread, between)
        q[k] = np.where(is_own(s[k], squares), problem.seen @ expansion.slope[k], 0.0)
        s[k] = np.where(is_own(s[k], squares), s[k], SMALLEST)
    s, q = s.ravel(), q.ravel()
    own = np.diagonal(spread)[: len(used)]
    s[used] = np.maximum(1.0 / own - state.precision[used], SMALLEST)
    q[used] = state.weights[used] / own
    return s, q


def _promising(
    problem: LogisticRelevanceProblem,
    state: LogisticRelevances,
    terms: _Terms,
    expansion: _Expansion,
) -> Columns:
    """Return the weights outside those in use that would raise the evidence most."""
    s, q = _additions(problem, state, terms, expansion)
    ratio = np.where(np.isfinite(state.precision), 0.0, q**2 / s)
    gain = np.where(ratio > 1.0, 0.5 * (ratio - 1.0 - np.log(np.maximum(ratio, 1.0))), 0.0)
    most = max(NEW_COLUMNS, NEW_PER_FUNCTION * len(problem.functions))
    most = min(most, max(problem.capacity - len(state.used), 0))
    best = np.argsort(-gain, kind="stable")[:most]
    # Where the curvature changes with it, a column may promise to be of use, and be of none.
    promised = LEAST_PROMISE * 10.0 ** np.minimum(state.n_dropped[best], 300)
    return best[gain[best] > promised]


def _swept(
    problem: LogisticRelevanceProblem,
    state: LogisticRelevances,
    working: Columns,
    expansion: _Expansion,
) -> tuple[LogisticRelevances, float]:
    """Set the precisions of some weights, at the expansion; return the gain in evidence."""
    gram, cross, shift = _normal_equations(problem, state, working, expansion)
    loops = importlib.import_module("credo.inference.linear._loops_automatic_relevance")
    ratio, before = state.precision[working], -np.inf
    first = -np.inf
    for sweep in range(SWEEPS + 1):
        spread, weights = penalized_solution(gram, cross, ratio)
        value = 0.5 * float(cross @ weights) - shrunk_log_det(gram, ratio)
        first = value if sweep == 0 else first
        if sweep == SWEEPS or value - before < 1e-3 * (value - first):
            break
        before = value
        loops.relevance_sweep(gram, cross, ratio, spread, weights, 0.0, 1.0, 1.0)
    precision, found = np.full_like(state.precision, np.inf), np.zeros_like(state.weights)
    precision[working], found[working] = ratio, weights
    intercept = state.intercept + shift @ (state.weights[working] - weights)
    n_dropped = state.n_dropped.copy()
    n_dropped[working[np.isinf(ratio)]] += 1
    if state.n_steps >= LONG:
        # Precisions that swing, since the curvature follows them, come to rest in between.
        stays = np.isfinite(precision) & np.isfinite(state.precision)
        precision[stays] = np.sqrt(precision[stays] * state.precision[stays])
    after = LogisticRelevances(precision, found, intercept, n_dropped, state.n_steps + 1)
    return after, value - first


def _normal_equations(
    problem: LogisticRelevanceProblem,
    state: LogisticRelevances,
    working: Columns,
    expansion: _Expansion,
) -> tuple[Array, Array, Array]:
    """Return products of columns and outputs in the expansion, intercepts taken out.

    And by how much intercepts move against each weight, shape (J, w).
    """
    terms, size = _Terms.of(problem, working), len(working)
    curvature, slope = terms.curvature(expansion.bend), terms.gradient(expansion.slope)
    free = curvature[size:, size:] + INTERCEPT * np.eye(len(curvature) - size)
    shift = as_float(np.linalg.solve(free, curvature[size:, :size]))
    gram = symmetrize(curvature[:size, :size] - curvature[:size, size:] @ shift)
    rest = slope[size:] - INTERCEPT * state.intercept
    cross = gram @ state.weights[working] + slope[:size] - rest @ shift
    return gram, cross, shift


def _log_evidence_at(problem: LogisticRelevanceProblem, state: LogisticRelevances) -> float:
    """Return the log evidence at given precisions by Laplace's method."""
    used = state.used
    terms, precision = _Terms.of(problem, used), state.precision[used]
    expansion = _Expansion.of(problem, terms.heights(_parameters(state, used)))
    curvature = terms.curvature(expansion.bend) + np.diag(_prior(problem, precision))
    root = np.sqrt(_prior(problem, precision))
    root[len(used) :] = 1.0
    _, log_det = np.linalg.slogdet(curvature / np.outer(root, root))
    penalty = float(state.weights[used] ** 2 @ precision)
    n_free = len(state.intercept)
    return expansion.value - 0.5 * (penalty + float(log_det) - n_free * LOG_TWO_PI)


def _log_shares(
    problem: LogisticRelevanceProblem,
    state: LogisticRelevances,
    terms: _Terms,
    expansion: _Expansion,
) -> float:
    """Return the log of the share of prior probability that the precisions have."""
    s, q = _additions(problem, state, terms, expansion)
    varies = np.tile(problem.scale > 0, len(problem.functions))
    s, q, best = s[varies, None], q[varies, None], state.precision[varies, None]
    # Outcomes of two classes weigh at most a fourth, as if their noise had a variance of four.
    ratio = 0.25 * np.count_nonzero(problem.scale) * np.exp(-GRID)

    def curve(r: Array) -> Array:
        return np.asarray(-0.5 * np.log1p(s / r) + 0.5 * q**2 / (r + s))

    return log_prior_shares(curve(ratio) - curve(best))
