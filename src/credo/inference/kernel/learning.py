"""Settings of a Gaussian process learned from the data: kernel parameters and noise.

The evidence of kernel parameters and noise, all on the log scale, is climbed with its gradient
from several starts; under weak priors in the units of the data (type-II MAP), or alone (type-II
maximum likelihood). A normal at the maximum (Laplace) integrates over what was learned: its
volume is the evidence of the model, and a few of its draws, weighed by how probable they are,
carry the doubt about settings into the predictions.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import special

from credo.distributions.normal import Normal
from credo.distributions.predictive import Predictive
from credo.features.basis import distinct_rows
from credo.features.kernels.equality import White
from credo.features.kernels.kernel import Kernel
from credo.inference.kernel.exact import ExactProcess
from credo.inference.kernel.process import ProcessData, ProcessMethod
from credo.numerics.array import Array, as_float
from credo.numerics.form import Form
from credo.numerics.linear.linear_algebra import NotPositiveDefinite, cholesky
from credo.numerics.optimize.minimum import Termination
from credo.numerics.optimize.quasi_newton import lbfgs
from credo.numerics.parallel.threads import threads_for_matrix
from credo.numerics.status import Status

__all__ = [
    "FAILED",
    "Copies",
    "Learned",
    "ProcessPosterior",
    "ProcessProblem",
    "RowNoise",
    "Search",
    "SettingsSearch",
    "best_start",
    "climb",
    "curvature",
    "learn",
    "normal_around",
]

LOG_TWO_PI = float(np.log(2 * np.pi))

WIDEST = 6.0
"""How far the log of a kernel parameter may be from its natural value, in prior spreads."""

FAR = 3.5
"""How far from it, in prior spreads, a parameter does nothing more: as good as at a bound."""

NOISE_SHARES = (1e-8, 10.0)
"""Least and largest noise variance, as shares of the variance of the outcomes."""

NOISE_SPREAD = 1.5
"""Prior standard deviation of what a scaled function of the inputs adds to the log noise."""

FAILED = 1e20
"""Minus the log evidence where the covariance has no factor."""

RACE_ROWS = 300
"""Rows on which starts compete."""

RACE_STEPS = 12


@dataclass(frozen=True, eq=False)
class RowNoise:
    """The noise variance of each row: ``known + exp(log level + columns w)``.

    Attributes
    ----------
    known
        Variance of each row that is known beforehand, shape (n,).
    weight
        How many copies of it each row stands for, shape (n,).
    scatter
        Weighted squares of the outcomes of the copies about their mean, over all outputs,
        shape (n,).
    columns
        Functions of the inputs that the log noise follows, shape (n, b); none if the noise is
        the same everywhere.
    level
        The variance; None if it is learned.
    floor
        Least variance that may be learned, such as that of rounding.
    """

    known: Annotated[Array, Form("n", 0.0)]
    weight: Annotated[Array, Form("n", 0.0)]
    scatter: Annotated[Array, Form("n", 0.0)]
    columns: Annotated[Array, Form("n b")]
    level: float | None = None
    floor: float = 0.0

    @property
    def n_learned(self) -> int:
        """How many numbers are learned: the level, then a weight for each column."""
        return int(self.level is None) + int(self.columns.shape[1])

    def names(self) -> list[str]:
        """Return names of what is learned."""
        level = ["noise_variance"] if self.level is None else []
        return level + [f"log_noise[{k}]" for k in range(self.columns.shape[1])]

    def varying(self, learned: Array, columns: Array) -> Array:
        """Return the learned part of the variance at rows with such columns."""
        if self.level is None:
            log_level, weights = learned[0], learned[1:]
        else:
            with np.errstate(divide="ignore"):
                log_level, weights = np.log(self.level), learned
        return np.asarray(np.exp(np.broadcast_to(log_level + columns @ weights, len(columns))))

    def by_learned(self, by_variance: Array, varying: Array) -> Array:
        """Return the gradient by what is learned from that by the variance of each row."""
        by_log = by_variance * varying
        level = [by_log.sum()] if self.level is None else []
        return np.concatenate([level, by_log @ self.columns])

    def taken(self, rows: Any) -> Self:
        """Return the noise of some rows."""
        return replace(
            self,
            known=self.known[rows],
            weight=self.weight[rows],
            scatter=self.scatter[rows],
            columns=self.columns[rows],
        )

    def joined(self, other: Self) -> Self:
        """Return the noise of these rows, then of others."""
        return replace(
            self,
            known=np.concatenate([self.known, other.known]),
            weight=np.concatenate([self.weight, other.weight]),
            scatter=np.concatenate([self.scatter, other.scatter]),
            columns=np.concatenate([self.columns, other.columns]),
        )

    def copies(self, variance: Array, n_outputs: int) -> tuple[float, Array]:
        """Return what copies add to the log evidence of their means, and its gradient.

        The product of w normal densities of variance v is that of their mean, with variance
        ``v / w``, times ``(2 pi v)^(-(w - 1) / 2) w^(-1 / 2) exp(-scatter / (2 v))``.
        """
        more = n_outputs * (self.weight - 1.0)
        shares = np.divide(self.scatter, variance, out=np.zeros_like(variance), where=more != 0)
        logs = more * (LOG_TWO_PI + np.log(variance)) + n_outputs * np.log(self.weight) + shares
        return -0.5 * float(logs.sum()), 0.5 * (shares - more) / variance


class Copies(NamedTuple):
    """Rows in rising order, copies of one row made one.

    Attributes
    ----------
    x, y
        Distinct inputs (n, d), and the weighted mean of the outcomes at each (n, k).
    known, weight, scatter
        As in `RowNoise`.
    place
        Which of them each of the rows that were given is, shape (N,).
    """

    x: Array
    y: Array
    known: Array
    weight: Array
    scatter: Array
    place: NDArray[np.intp]

    @classmethod
    def of(cls, x: Array, y: Array, weight: Array, known: Array) -> Copies:
        """Return distinct rows: equal inputs of equal known noise are copies."""
        both, place = np.unique(np.column_stack([x, known]), axis=0, return_inverse=True)
        place = place.reshape(-1)
        n = len(both)
        total = as_float(np.bincount(place, weight, n))
        sums = np.column_stack([np.bincount(place, weight * part, n) for part in y.T])
        mean = as_float(sums / total[:, None])
        squares = np.square(y - mean[place]).sum(axis=1)
        scatter = as_float(np.bincount(place, weight * squares, n))
        inputs = np.ascontiguousarray(both[:, :-1])
        return cls(inputs, mean, np.ascontiguousarray(both[:, -1]), total, scatter, place)

    def without(self, rows: NDArray[np.intp], y: Array, weight: Array) -> Copies:
        """Return the same distinct rows, those that have no copy left with weight zero.

        Parameters
        ----------
        rows
            Which of the rows that were given are forgotten.
        y, weight
            Outcomes and weights of all that were given.
        """
        left = weight.copy()
        left[rows] = 0.0
        n = len(self.x)
        total = as_float(np.bincount(self.place, left, n))
        sums = np.column_stack([np.bincount(self.place, left * part, n) for part in y.T])
        mean = self.y.copy()
        np.divide(sums, total[:, None], out=mean, where=total[:, None] > 0)
        squares = np.square(y - mean[self.place]).sum(axis=1)
        scatter = as_float(np.bincount(self.place, left * squares, n))
        return self._replace(y=mean, weight=total, scatter=scatter)


@dataclass(frozen=True, eq=False)
class ProcessProblem:
    """A Gaussian process of which kernel parameters and noise are to be learned.

    Free numbers are the logs of the kernel parameters, then what the noise learns.

    Attributes
    ----------
    data, kernel, noise
        What is learned from, with a kernel whose values are the first to try.
    method
        How the evidence is computed.
    has_prior
        Whether kernel parameters have a log-normal prior around their natural values; the log
        of the noise has a flat one of density one, so that evidences of models compare.
    """

    data: ProcessData
    kernel: Kernel
    noise: RowNoise
    method: ProcessMethod = field(default_factory=ExactProcess)
    has_prior: bool = True

    @cached_property
    def y_variance(self) -> float:
        """Mean variance of the outcomes over rows; one if they do not vary."""
        total = float(self.noise.weight.sum())
        y, share = self.data.y, self.noise.weight / total
        inside = float(self.noise.scatter.sum()) / (total * y.shape[1])
        found = float((share @ np.square(y - share @ y)).mean()) + inside
        return found if found > 0 else 1.0

    @cached_property
    def names(self) -> list[str]:
        """Names of the free numbers."""
        return [p.name for p in self.kernel.parameters] + self.noise.names()

    @property
    def reference(self) -> float:
        """Part of the objective that the unit of the outcomes adds."""
        return float(0.5 * self.data.y.size * np.log(self.y_variance))

    @cached_property
    def natural(self) -> Array:
        """Free numbers that are natural in the units of the data."""
        kernel = self.kernel.natural(distinct_rows(self.data.x), self.y_variance)
        level = [np.log(0.1 * self.y_variance)] if self.noise.level is None else []
        return np.concatenate([kernel, level, np.zeros(self.noise.columns.shape[1])])

    @property
    def given(self) -> Array:
        """Free numbers with the values of the kernel as it was given."""
        start = self.natural.copy()
        start[: self._n_kernel] = self.kernel.log_parameters
        return start

    @cached_property
    def bounds(self) -> Array:
        """Least and largest value of each free number, shape (p, 2)."""
        natural, given = self.natural, self.given
        reach = WIDEST * np.where(np.isfinite(self.spread), self.spread, 0.0)
        found = np.column_stack([natural - reach, natural + reach])
        n = self._n_kernel
        with np.errstate(divide="ignore"):
            limits = np.log([(p.low, p.high) for p in self.kernel.parameters]).reshape(-1, 2)
        found[:n, 0] = np.minimum(found[:n, 0], given[:n] - 1.0)
        found[:n, 1] = np.maximum(found[:n, 1], given[:n] + 1.0)
        found[:n, 0] = np.maximum(found[:n, 0], limits[:, 0])
        found[:n, 1] = np.minimum(found[:n, 1], limits[:, 1])
        if self.noise.level is None:
            low, high = np.array(NOISE_SHARES) * self.y_variance
            found[n] = np.log([max(low, self.noise.floor), max(high, 10.0 * self.noise.floor)])
        return found

    @property
    def _n_kernel(self) -> int:
        return len(self.kernel.parameters)

    def split(self, free: Array) -> tuple[Kernel, Array]:
        """Return the kernel and what the noise learned, from free numbers."""
        n = self._n_kernel
        return self.kernel.at(free[:n]), free[n:]

    def log_evidence(self, free: Array) -> tuple[float, Array]:
        """Return the log evidence at free numbers, and its gradient."""
        kernel, learned = self.split(free)
        noise, k = self.noise, self.data.y.shape[1]
        varying = noise.varying(learned, noise.columns)
        variance, weight = noise.known + varying, noise.weight
        found = self.method.evidence(self.data, kernel, variance / weight)
        value, by_variance = found.value, found.by_noise / weight
        if (weight != 1.0).any():
            more, by_more = noise.copies(variance, k)
            value, by_variance = value + more, by_variance + by_more
        by_noise = noise.by_learned(by_variance, varying)
        return value, np.concatenate([found.by_parameter, by_noise])

    def log_prior(self, free: Array) -> tuple[float, Array]:
        """Return the log density of the prior, and its gradient."""
        if not self.has_prior:
            return 0.0, np.zeros_like(free)
        gap = (free - self.natural) / self.spread
        is_proper = np.isfinite(self.spread)
        logs = np.log(self.spread[is_proper])
        value = -0.5 * float(gap @ gap) - float(np.sum(logs + 0.5 * LOG_TWO_PI))
        return value, -gap / self.spread

    @cached_property
    def spread(self) -> Array:
        """Prior standard deviation of each free number, infinite where the prior is flat."""
        kernel = [p.log_spread for p in self.kernel.parameters]
        level = [np.inf] if self.noise.level is None else []
        return np.array(kernel + level + [NOISE_SPREAD] * self.noise.columns.shape[1])

    def objective(self, free: Array) -> tuple[float, Array]:
        """Return minus the log of evidence times prior, and its gradient."""
        try:
            value, slope = self.log_evidence(free)
        except NotPositiveDefinite:
            return FAILED, np.zeros_like(free)
        prior, by_prior = self.log_prior(free)
        if not np.isfinite(value):
            return FAILED, np.zeros_like(free)
        return -(value + prior), -(slope + by_prior)

    def taken(self, rows: Any, method: ProcessMethod | None = None) -> Self:
        """Return the problem of some of the rows, under the same priors; exact if not said."""
        data, chosen = self.data, method or ExactProcess()
        part = ProcessData(data.x[rows], data.y[rows], data.columns[rows])
        small = replace(self, data=part, noise=self.noise.taken(rows), method=chosen)
        for name in ("natural", "bounds", "y_variance"):
            small.__dict__[name] = getattr(self, name)
        return small


class Search(NamedTuple):
    """Where a search ended: free numbers, minus the log density, its slope, status, steps."""

    free: Array
    value: float
    slope: Array
    status: Status
    n_steps: int


@dataclass(frozen=True)
class SettingsSearch:
    """How settings are searched for.

    Attributes
    ----------
    max_steps
        Quasi-Newton steps after which the search gives up.
    tolerance
        Change of the log evidence, relative to its size, that counts as none.
    n_draws
        Draws of the settings that predictions are averaged over, where the rows are few; None
        to choose by the number of rows.
    """

    max_steps: int = 200
    tolerance: float = 1e-9
    n_draws: int | None = None


@dataclass(frozen=True, eq=False)
class Learned:
    """What a search found.

    Attributes
    ----------
    free
        Free numbers at the maximum.
    value
        Log evidence there, without the prior.
    log_evidence
        Log evidence with the settings integrated out.
    covariance
        Of the normal at the maximum; zero for settings at a bound.
    status, n_steps
        Why and when the search ended.
    at_bounds
        Names of settings that ended at a bound.
    """

    free: Array
    value: float
    log_evidence: float
    covariance: Array
    status: Status
    n_steps: int
    at_bounds: tuple[str, ...]


def learn(problem: Any, search: SettingsSearch | None = None) -> Learned:
    """Return the most probable settings, and a normal around them.

    Parameters
    ----------
    problem
        A `ProcessProblem`, or another with its ``objective``, ``log_evidence``, ``log_prior``,
        ``bounds``, ``natural``, ``spread``, ``given``, ``names``, ``reference`` and ``taken``.
    """
    with threads_for_matrix(len(problem.data.x)):
        return _learned(problem, search or SettingsSearch())


def _learned(problem: Any, rule: SettingsSearch) -> Learned:
    n_free = len(problem.natural)
    if n_free == 0:
        value = -problem.objective(np.empty(0))[0]
        if value <= -FAILED:
            problem.log_evidence(np.empty(0))
        return Learned(np.empty(0), value, value, np.empty((0, 0)), Status.CONVERGED, 0, ())
    start = best_start(problem)
    found = climb(problem, start, rule.max_steps, rule.tolerance)
    if found.value >= FAILED:
        # Say why there is no factor.
        problem.log_evidence(found.free)
    hessian = curvature(problem, found)
    return normal_around(problem, _polished(problem, found, hessian), hessian)


def normal_around(problem: Any, found: Search, hessian: Array) -> Learned:
    """Return what a search found, with a normal of this curvature around it."""
    n_free, is_inside = len(found.free), _inside(problem, found.free)
    values, vectors = np.linalg.eigh(hessian[np.ix_(is_inside, is_inside)])
    # Directions in which nothing was learned are as wide as the prior at the most.
    values = np.maximum(values, 0.05)
    covariance = np.zeros((n_free, n_free))
    covariance[np.ix_(is_inside, is_inside)] = (vectors / values) @ vectors.T
    volume = 0.5 * (len(values) * LOG_TWO_PI - float(np.log(values).sum()))
    value = -found.value - problem.log_prior(found.free)[0]
    is_at_end = ~is_inside | (np.abs(found.free - problem.natural) > FAR * problem.spread)
    names = tuple(n for n, is_end in zip(problem.names, is_at_end, strict=True) if is_end)
    return Learned(
        found.free, value, volume - found.value, covariance, found.status, found.n_steps, names
    )


def _inside(problem: Any, free: Array) -> NDArray[np.bool_]:
    """Return which free numbers are not at a bound."""
    low, high = problem.bounds.T
    room = 1e-6 * np.maximum(1.0, np.abs(free))
    return np.asarray((free > low + room) & (free < high - room))


def best_start(problem: Any) -> Array:
    """Return the start that is ahead after a few steps on some of the rows."""
    n = len(problem.data.x)
    rows = np.random.default_rng(0).permutation(n)[:RACE_ROWS] if n > RACE_ROWS else None
    small = problem if rows is None else problem.taken(np.sort(rows))
    ends = [climb(small, start, RACE_STEPS, 1e-6) for start in _starts(problem)]
    return min(ends, key=lambda end: end.value).free


def _starts(problem: Any) -> list[Array]:
    """Return the given values, the natural ones, and these with shorter and longer scales."""
    natural, given = problem.natural, problem.given
    is_length = np.array(["length_scale" in name for name in problem.names])
    is_noise = np.array([name == "noise_variance" for name in problem.names])
    tries = [given, natural]
    tries += [natural - is_length - 2.3 * is_noise, natural + is_length + 1.5 * is_noise]
    found: list[Array] = []
    for start in tries:
        inside = np.clip(start, *problem.bounds.T)
        if not any(np.allclose(inside, other) for other in found):
            found.append(inside)
    return found


def climb(problem: Any, start: Array, max_steps: int, tolerance: float) -> Search:
    """Return where a search of the largest evidence times prior from a start ended."""
    last: dict[str, Any] = {}

    def value(free: Array) -> float:
        found, slope = problem.objective(free)
        last["slope"] = slope
        return float(found - problem.reference)

    rules = Termination(max_steps, value_change=tolerance, gradient_norm=1e-5)
    # L-BFGS asks for the gradient where it has just asked for the value.
    found = lbfgs(value, lambda free: last["slope"], start, problem.bounds.tolist(), rules)
    value_there = found.value + problem.reference
    return Search(found.x, value_there, found.gradient, found.status, found.n_steps)


def _polished(problem: Any, found: Search, hessian: Array) -> Search:
    """Return the end of a search after one Newton step, if that is better."""
    is_inside = _inside(problem, found.free)
    precision, slope = hessian[np.ix_(is_inside, is_inside)], found.slope[is_inside]
    try:
        step = cholesky(precision, largest_jitter=0.0).solve(slope[:, None])[:, 0]
    except NotPositiveDefinite:
        return found
    free = found.free.copy()
    free[is_inside] -= np.clip(step, -1.0, 1.0)
    free = np.clip(free, *problem.bounds.T)
    value, there = problem.objective(free)
    is_better = value <= found.value
    return found._replace(free=free, value=value, slope=there) if is_better else found


def curvature(problem: Any, found: Search, is_one_sided: bool = False) -> Array:
    """Return the Hessian of the objective, zero for settings at a bound, shape (p, p).

    By differences of its gradient to both sides, or to one for half of the cost.
    """
    is_inside = _inside(problem, found.free)
    step = 1e-3
    rows = np.zeros((len(found.free), len(found.free)))
    for place in np.flatnonzero(is_inside):
        shift = step * (np.arange(len(rows)) == place)
        high = problem.objective(found.free + shift)[1]
        if is_one_sided:
            rows[place] = (high - found.slope) / step
        else:
            rows[place] = (high - problem.objective(found.free - shift)[1]) / (2 * step)
    rows[:, ~is_inside] = 0.0
    return 0.5 * (rows + rows.T)


MOST_ENTRIES = 4_000_000
"""Numbers in all factors that predictions are averaged over together."""

MOST_DRAWS = 16


@dataclass(frozen=True, eq=False)
class ProcessPosterior:
    """A Gaussian process after the data, averaged over what is not known of its settings.

    Factors are made when they are first needed, and are in no file.

    Attributes
    ----------
    data, kernel, noise, method
        As in the problem.
    mode
        The most probable free numbers, shape (p,).
    points
        Free numbers to average over, shape (s, p).
    weights
        How probable each of them is, shape (s,).
    """

    data: ProcessData
    kernel: Kernel
    noise: RowNoise
    method: ProcessMethod
    mode: Annotated[Array, Form("p")]
    points: Annotated[Array, Form("s p")]
    weights: Annotated[Array, Form("s", 0.0, 1.0)]

    @classmethod
    def of(cls, problem: ProcessProblem, learned: Learned, n_draws: int | None = None) -> Self:
        """Return the posterior at the settings found, or at draws around them."""
        parts = (problem.data, problem.kernel, problem.noise, problem.method)
        points, weights = _draws(problem, learned, n_draws)
        return cls(*parts, learned.free, points, weights)

    @property
    def problem(self) -> ProcessProblem:
        """The problem without a prior, to ask for its evidence again."""
        return ProcessProblem(self.data, self.kernel, self.noise, self.method, False)

    @cached_property
    def at_mode(self) -> Any:
        """What is believed of the function at the most probable settings."""
        if len(self.points) == 1:
            return self.beliefs[0]
        return self._belief(self.mode)

    @cached_property
    def beliefs(self) -> list[Any]:
        """What is believed of the function at each point."""
        return [self._belief(point) for point in self.points]

    def _belief(self, point: Array) -> Any:
        variance = self.noise.known + self.noise_at(point, self.noise.columns)
        kernel = self.kernel.at(point[: self._n_kernel])
        return self.method.belief(self.data, kernel, variance / self.noise.weight)

    @property
    def _n_kernel(self) -> int:
        return len(self.kernel.parameters)

    def noise_at(self, point: Array, columns: Array) -> Array:
        """Return the learned noise variance at rows, under settings, shape (m,)."""
        return self.noise.varying(point[self._n_kernel :], columns)

    def predictive(
        self, X: Array, columns: Array, noise: list[Array], scale: Array
    ) -> Predictive:
        """Return the distribution of outcomes, or of the function, shape (m, k).

        Parameters
        ----------
        columns
            Mean functions at the rows, shape (m, q).
        noise
            Variance that is added at the rows, (m,), for each point.
        scale
            What outcomes were divided by, shape (k,).
        """
        parts = []
        for belief, own in zip(self.beliefs, noise, strict=True):
            mean, variance = belief.moments(X, columns)
            doubt, spread = (np.sqrt(v)[:, None] * scale for v in (variance, own))
            # A function that is known for sure still has a density, if a narrow one.
            std = np.maximum(np.hypot(doubt, spread), 1e-150)
            parts.append(Predictive(Normal(mean * scale, std), doubt, spread))
        return _averaged(self.weights, parts)

    def components(
        self, X: Array, columns: Array, scale: Array, is_centered: bool
    ) -> dict[str, Predictive]:
        """Return what is believed of each part of the function, shape (m, k).

        Parameters
        ----------
        columns, scale
            As for `predictive`.
        is_centered
            Whether to take from each part its average over the rows.
        """
        addends = self.kernel.addends
        if is_centered:
            columns = columns - columns.mean(axis=0)
        names = [f"part{k}" for k in range(1, len(addends) + 1)]
        is_kept = [not any(isinstance(leaf, White) for leaf in part.leaves) for part in addends]
        if columns.shape[1]:
            names, is_kept = ["mean", *names], [True, *is_kept]
        by_point = []
        for belief in self.beliefs:
            found = [belief.mean_function(columns)] if columns.shape[1] else []
            found += belief.components(X, is_centered)
            by_point.append([_function(mean, variance, scale) for mean, variance in found])
        return {
            name: _averaged(self.weights, parts)
            for name, kept, *parts in zip(names, is_kept, *by_point, strict=True)
            if kept
        }

    def left_out(
        self, place: NDArray[np.intp], y: Array, weight: Array
    ) -> tuple[Array, Array, Array]:
        """Return mean (N, k), variance of the function and of the noise (N,) without each row.

        Copies of a row that stay are one more observation of the function there.

        Parameters
        ----------
        place
            Which of the distinct rows each row is, shape (N,).
        y, weight
            Outcomes (N, k) and weights (N,) of all rows.
        """
        own = self.noise.known + self.noise_at(self.mode, self.noise.columns)
        mean, variance = self.at_mode.leave_one_out()
        total = self.noise.weight
        doubt = np.maximum(variance - own / total, 0.0)[place]
        noise, left = own[place], (total[place] - weight)[:, None]
        sums = total[place, None] * self.data.y[place] - weight[:, None] * y
        rest = np.divide(sums, left, out=np.zeros_like(sums), where=left > 1e-9)
        gain = (doubt * left[:, 0] / (noise + doubt * left[:, 0]))[:, None]
        found = mean[place] + gain * (rest - mean[place])
        return found, doubt * (1.0 - gain[:, 0]), noise

    def without(self, left: Copies) -> Self:
        """Return the posterior after a part of the outcomes, at the same settings.

        Parameters
        ----------
        left
            The same distinct rows with what is left of each.
        """
        total, weight = self.noise.weight, left.weight
        rows = np.flatnonzero(weight < (1.0 - 1e-12) * total)
        share = weight[rows] * total[rows] / (total[rows] - weight[rows])

        def part(belief: Any, point: Array) -> Any:
            own = self.noise.known + self.noise_at(point, self.noise.columns)
            return belief.without(rows, share / own[rows], left.y)

        found = replace(
            self,
            data=replace(self.data, y=left.y),
            noise=replace(self.noise, weight=weight, scatter=left.scatter),
        )
        beliefs = [part(b, p) for b, p in zip(self.beliefs, self.points, strict=True)]
        found.__dict__["beliefs"] = beliefs
        found.__dict__["at_mode"] = (
            beliefs[0] if len(beliefs) == 1 else part(self.at_mode, self.mode)
        )
        return found

    def conditioned(self, data: ProcessData, noise: RowNoise) -> Self:
        """Return the posterior of other rows at the same settings.

        Where these would have more than `MOST_ENTRIES`, only the most probable ones are kept.
        """
        found = replace(self, data=data, noise=noise)
        if len(self.points) * len(data.x) ** 2 <= MOST_ENTRIES:
            return found
        return replace(found, points=self.mode[None], weights=np.ones(1))

    @property
    def log_evidence_at_mode(self) -> float:
        """Log evidence at the most probable settings, of an exact process."""
        value = float(self.at_mode.log_evidence)
        rows = np.flatnonzero(self.noise.weight > 0)
        noise = self.noise.taken(rows)
        if (noise.weight == 1.0).all():
            return value
        variance = noise.known + self.noise_at(self.mode, noise.columns)
        return value + noise.copies(variance, self.data.y.shape[1])[0]

    def extended(self, data: ProcessData, noise: RowNoise) -> Self:
        """Return the posterior with more rows at the same settings, by growing the factors."""
        joined = ProcessData(
            *(
                np.vstack([getattr(self.data, n), getattr(data, n)])
                for n in ("x", "y", "columns")
            )
        )
        found = replace(self, data=joined, noise=self.noise.joined(noise))
        grown = []
        for belief, point in zip(self.beliefs, self.points, strict=True):
            variance = noise.known + self.noise_at(point, noise.columns)
            grown.append(belief.extended(data.x, data.y, data.columns, variance / noise.weight))
        found.__dict__["beliefs"] = grown
        return found


def _function(mean: Array, variance: Array, scale: Array) -> Predictive:
    doubt = np.sqrt(variance)[:, None] * scale
    # A function that is known for sure still has a density, if a narrow one.
    std = np.maximum(doubt, 1e-150)
    return Predictive(Normal(mean * scale, std), doubt, np.zeros_like(doubt))


def _averaged(weights: Array, parts: list[Predictive]) -> Predictive:
    return parts[0] if len(parts) == 1 else Predictive.mixed(weights, parts)


def _draws(
    problem: ProcessProblem, learned: Learned, n_draws: int | None
) -> tuple[Array, Array]:
    """Return settings to average over, and their weights: few rows leave more of them open."""
    n, p = len(problem.data.x), len(learned.free)
    chosen = min(MOST_DRAWS, MOST_ENTRIES // max(n * n, 1)) if n_draws is None else n_draws
    if chosen < 2 or p == 0 or not problem.has_prior:
        return learned.free[None], np.ones(1)
    values, vectors = np.linalg.eigh(learned.covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    normal = _even_normals(chosen // 2, p)
    normal = np.vstack([normal, -normal])
    points = np.clip(learned.free + normal @ root.T, *problem.bounds.T)
    logs = np.array([-problem.objective(point)[0] for point in points])
    weights = logs + 0.5 * np.square(normal).sum(axis=1)
    shares = np.exp(weights - weights.max())
    # One draw far out must not stand for all.
    shares = np.minimum(shares, 2.0 * np.sqrt(len(shares)) * shares.mean())
    return points, shares / shares.sum()


def _even_normals(n: int, p: int) -> Array:
    """Return normal draws that fill the space evenly: a lattice by Weyl's sequence."""
    root = (
        np.roots([1.0, *([0.0] * (p - 1)), -1.0, -1.0]) if p > 1 else np.array([1.6180339887])
    )
    base = float(np.abs(root[np.isreal(root) & (root.real > 1)].real[0]))
    places = np.arange(1, n + 1)[:, None] * base ** -np.arange(1.0, p + 1) + 0.5
    return np.asarray(special.ndtri(places % 1.0))
