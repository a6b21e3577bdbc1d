"""A Gaussian process whose kernel parameters and noise are learned, and what it then believes.

The evidence of kernel parameters and noise, all on the log scale, is climbed (see
`credo.inference.kernel.search`). A few draws of the normal around the best, weighed by how
probable they are, carry the doubt about settings into the predictions.

Settings of a sparse process are learned from more and more rows: those that are best for some
of the rows by the exact process choose the inducing inputs, a tenth of the rows brings them
near the best for all and gives the curvature there, and a few steps with that curvature on all
rows do the rest. Inducing inputs are then chosen anew, and kept if the bound rises.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import special

from credo.distributions.normal import Normal
from credo.distributions.predictive import Predictive
from credo.features.basis import distinct_rows
from credo.features.kernels.equality import White
from credo.features.kernels.kernel import Kernel
from credo.inference.density.trajectory import FACTS, NoUTurnSampling
from credo.inference.engine.draws import Draws
from credo.inference.engine.engine import Inference, run
from credo.inference.engine.problem import LogDensity, Parameters
from credo.inference.kernel.exact import ExactProcess
from credo.inference.kernel.process import ProcessData, ProcessMethod
from credo.inference.kernel.search import (
    FAILED,
    Learned,
    Search,
    SettingsProblem,
    SettingsSearch,
    best_start,
    climb,
    curvature,
    learn,
    more_bent,
    normal_around,
    some_rows,
)
from credo.inference.kernel.sparse import SparseProcess
from credo.numerics.array import Array, as_float, rounded
from credo.numerics.form import Form
from credo.numerics.linear.linear_algebra import LOG_TWO_PI, NotPositiveDefinite
from credo.numerics.special.bijection import Interval

__all__ = [
    "Copies",
    "ProcessPosterior",
    "ProcessProblem",
    "RowNoise",
    "draw_settings",
    "learn_process",
]

NOISE_SHARES = (1e-8, 10.0)
"""Least and largest noise variance, as shares of the variance of the outcomes."""

NOISE_SPREAD = 1.5
"""Prior standard deviation of what a scaled function of the inputs adds to the log noise."""


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
class ProcessProblem(SettingsProblem):
    """A Gaussian process of which kernel parameters and noise are to be learned.

    Free numbers are the logs of the kernel parameters, then what the noise learns.

    Attributes
    ----------
    data, kernel, noise
        What is learned from, with a kernel whose values are the first to try.
    method
        How the evidence is computed.
    has_prior
        Whether kernel parameters have a log-normal prior around their natural values, and the
        noise one that is flat in its log, of density one, where it is large, so that evidences
        of models compare, and flat in its standard deviation where it is small beside the
        spread of the outcomes [gelman2006]_: few rows that a function can go through say
        nothing against no noise at all, which a prior flat in the log takes for granted.
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
        return super().names + self.noise.names()

    @cached_property
    def natural(self) -> Array:
        """Free numbers that are natural in the units of the data."""
        kernel = self.kernel.natural(distinct_rows(self.data.x), self.y_variance)
        level = [np.log(0.1 * self.y_variance)] if self.noise.level is None else []
        return np.concatenate([kernel, level, np.zeros(self.noise.columns.shape[1])])

    @cached_property
    def spread(self) -> Array:
        """Prior standard deviation of each free number, infinite where the prior is flat."""
        kernel = [p.log_spread for p in self.kernel.parameters]
        level = [np.inf] if self.noise.level is None else []
        return np.array(kernel + level + [NOISE_SPREAD] * self.noise.columns.shape[1])

    @cached_property
    def bounds(self) -> Array:
        """Least and largest value of each free number, shape (p, 2)."""
        found = super().bounds
        if self.noise.level is None:
            low, high = np.array(NOISE_SHARES) * self.y_variance
            floor = self.noise.floor
            found[self.n_kernel] = np.log([max(low, floor), max(high, 10.0 * floor)])
        return found

    def log_prior(self, free: Array) -> tuple[float, Array]:
        """Return the log density of the prior, and its gradient.

        With ``s`` the noise variance as a share of that of the outcomes, the log of s has the
        density ``sqrt(s / (1 + s))``.
        """
        value, slope = super().log_prior(free)
        if self.has_prior and self.noise.level is None:
            share = float(np.exp(free[self.n_kernel])) / self.y_variance
            value -= 0.5 * float(np.log1p(1.0 / share))
            slope[self.n_kernel] += 0.5 / (1.0 + share)
        return value, slope

    def split(self, free: Array) -> tuple[Kernel, Array]:
        """Return the kernel and what the noise learned, from free numbers."""
        return self.kernel.at(free[: self.n_kernel]), free[self.n_kernel :]

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

    def log_density(self, free: Array) -> float:
        """Return the log of evidence times prior alone; minus infinity without a factor."""
        kernel, learned = self.split(free)
        noise = self.noise
        variance = noise.known + noise.varying(learned, noise.columns)
        try:
            value = self.method.log_evidence(self.data, kernel, variance / noise.weight)
        except NotPositiveDefinite:
            return -np.inf
        if (noise.weight != 1.0).any():
            value += noise.copies(variance, self.data.y.shape[1])[0]
        return value + self.log_prior(free)[0]

    def taken(self, rows: Any, method: ProcessMethod | None = None) -> Self:
        """Return the problem of some of the rows, under the same priors; exact if not said."""
        data, chosen = self.data, method or ExactProcess()
        part = ProcessData(data.x[rows], data.y[rows], data.columns[rows])
        small = replace(self, data=part, noise=self.noise.taken(rows), method=chosen)
        for name in ("natural", "bounds", "y_variance"):
            small.__dict__[name] = getattr(self, name)
        return small


EXACT_ROWS = 1_000
"""Rows whose exact evidence chooses the first inducing inputs."""

PART, SMALLEST_PART = 10, 2_000
"""All rows have so many parts, of which one is climbed before; and its least size."""

WORTH = 1e-3
"""Rise of the bound, in nats a row, for which settings are learned again with other inputs."""

SPARSE_TOLERANCE = 0.05
"""Rise of the bound, in nats, that is not worth another step on all rows."""

SCALED_ROWS = 20_000
"""Rows from which on the curvature of a part, scaled, is taken for that of all."""


def learn_process(
    problem: ProcessProblem, search: SettingsSearch | None = None
) -> tuple[ProcessProblem, Learned]:
    """Return the problem, with inducing inputs if it has none yet, and its best settings."""
    method = problem.method
    if not isinstance(method, SparseProcess):
        return problem, learn(problem, search)
    rule = search or SettingsSearch()
    if not len(problem.natural):
        placed = _placed(problem, method, problem.natural)
        return placed, learn(placed, rule)
    some = problem.taken(some_rows(problem, method.n_learning or EXACT_ROWS))
    if method.n_learning is not None:
        return _kept(problem, some, learn(some, rule))
    first = best_start(problem).free
    start = climb(some, first, None, rule.max_steps, SPARSE_TOLERANCE).free
    placed = _placed(problem, method, start)
    near, hessian = _near(placed, start, rule)
    found = climb(placed, near, hessian, rule.max_steps, SPARSE_TOLERANCE)
    if found.value >= FAILED:
        # Say why there is no factor.
        problem.log_evidence(found.free)
    again = _placed(problem, method, found.free)
    if found.value - again.objective(found.free)[0] > WORTH * len(problem.data.x):
        placed = again
        found = climb(again, found.free, hessian, rule.max_steps, SPARSE_TOLERANCE)
    if not problem.has_prior:
        return placed, normal_around(placed, found, None)
    if len(problem.data.x) < SCALED_ROWS:
        hessian = curvature(placed, found)
    return placed, normal_around(placed, found, hessian)


def _kept(
    problem: ProcessProblem, some: ProcessProblem, learned: Learned
) -> tuple[ProcessProblem, Learned]:
    """Return the problem at settings learned from some rows, with the doubt that these left.

    The evidence of all rows has the volume of a normal that is narrower by about as much as
    there are more of them.
    """
    assert isinstance(problem.method, SparseProcess)
    placed = _placed(problem, problem.method, learned.free)
    density, free = placed.log_density(learned.free), learned.free
    found = Search(free, -density, np.zeros_like(free), learned.status, learned.n_steps, None)
    if not problem.has_prior:
        return placed, normal_around(placed, found, None)
    is_inside = np.diagonal(learned.covariance) > 0
    inside, hessian = np.ix_(is_inside, is_inside), np.zeros_like(learned.covariance)
    hessian[inside] = np.linalg.inv(learned.covariance[inside])
    share = len(some.data.x) / len(problem.data.x)
    around = normal_around(placed, found, more_bent(placed, hessian, share))
    return placed, replace(around, covariance=learned.covariance)


def _placed(problem: ProcessProblem, method: SparseProcess, free: Array) -> ProcessProblem:
    """Return the problem with inducing inputs that are best at free numbers, or given."""
    if method.inducing is None:
        kernel, learned = problem.split(free)
        noise = problem.noise
        variance = noise.known + noise.varying(learned, noise.columns)
        method = method.placed(problem.data, kernel, variance / noise.weight)
    return replace(problem, method=method)


def _near(problem: ProcessProblem, start: Array, rule: SettingsSearch) -> tuple[Array, Array]:
    """Return the best settings for a part of the rows, and about the curvature for all."""
    n = len(problem.data.x)
    size = min(n, max(n // PART, SMALLEST_PART))
    part = problem.taken(some_rows(problem, size), problem.method)
    found = climb(part, start, None, rule.max_steps, SPARSE_TOLERANCE)
    hessian = more_bent(problem, curvature(part, found), size / n)
    # A setting that was at a bound may leave it, by small steps.
    level = np.abs(np.diagonal(hessian))
    return found.free, hessian + np.diag(np.where(level == 0, level.max() or 1.0, 0.0))


MOST_ENTRIES = 4_000_000
"""Numbers in all factors that predictions are averaged over together."""

NEAR_DRAWS = 16
"""Draws of the normal around the most probable settings."""

FEW_DRAWS = 48
"""Rows and wide draws together: fewer rows leave more open."""

NEGLIGIBLE = 1e-2
"""Share of the mean weight below which a draw is left out."""

OPEN_SPREAD = 2.0
"""Standard deviation of wide draws of a log whose prior is flat."""


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
    def of(cls, problem: ProcessProblem, learned: Learned) -> Self:
        """Return the posterior at the settings found, or at draws around them."""
        parts = (problem.data, problem.kernel, problem.noise, problem.method)
        points, weights = _draws(problem, learned)
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

    def sample(self, rng: Generator, X: Array, columns: Array, n: int) -> Array:
        """Return draws of the function at rows, settings included, shape (n, m, k)."""
        counts = rng.multinomial(n, self.weights)
        parts = [
            belief.sample(rng, X, columns, int(count))
            for belief, count in zip(self.beliefs, counts, strict=True)
            if count
        ]
        return np.asarray(rng.permutation(np.concatenate(parts)))

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

    def mean(self, X: Array, columns: Array) -> Array:
        """Return the mean of the function at rows, which is that of outcomes, (m, k)."""
        means = [belief.mean(X, columns) for belief in self.beliefs]
        return np.asarray(np.tensordot(self.weights, means, axes=1))

    def merged(self) -> Self:
        """Return the posterior with rows in rising order, copies of one made one.

        Rows that came later stand behind the others, at the same settings.
        """
        data, noise = self.data, self.noise
        rows = Copies.of(data.x, data.y, noise.weight, noise.known)
        place, n = rows.place, len(rows.x)
        if np.array_equal(place, np.arange(n)):
            return self
        first = np.unique(place, return_index=True)[1]
        inside = as_float(np.bincount(place, noise.scatter, n))
        return self.conditioned(
            ProcessData(rows.x, rows.y, data.columns[first]),
            replace(
                noise,
                known=rows.known,
                weight=rows.weight,
                scatter=rows.scatter + inside,
                columns=noise.columns[first],
            ),
        )

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
        """Log evidence at the most probable settings, or its bound."""
        value = float(self.at_mode.log_evidence)
        rows = np.flatnonzero(self.noise.weight > 0)
        noise = self.noise.taken(rows)
        if (noise.weight == 1.0).all():
            return value
        variance = noise.known + self.noise_at(self.mode, noise.columns)
        return value + noise.copies(variance, self.data.y.shape[1])[0]

    def extended(self, data: ProcessData, noise: RowNoise) -> Self:
        """Return the posterior with more rows at the same settings, by growing the factors."""
        joined = self.data.joined(data.x, data.y, data.columns)
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


def _draws(problem: ProcessProblem, learned: Learned) -> tuple[Array, Array]:
    """Return settings to average over, and their weights: few rows leave more of them open.

    Draws of the normal around the maximum, and for few rows of a wide one around the natural
    values as well, where other peaks and long tails are; each weighs what its density is above
    that of the mixture it was drawn from.
    """
    n, is_open = len(problem.data.x), np.diagonal(learned.covariance) > 0
    n_near = min(NEAR_DRAWS, MOST_ENTRIES // max(n * n, 1)) // 2
    if n_near < 1 or not is_open.any() or not problem.has_prior:
        return learned.free[None], np.ones(1)
    n_wide, p = max(0, FEW_DRAWS - n), int(is_open.sum())
    normal = _even_normals(n_near, p)
    near = _Normals.of(learned.free[is_open], learned.covariance[np.ix_(is_open, is_open)])
    spread = np.where(np.isfinite(problem.spread), problem.spread, OPEN_SPREAD)[is_open]
    wide = _Normals.of(problem.natural[is_open], np.diag(spread**2))
    drawn = [near.at(np.vstack([normal, -normal])), wide.at(_even_normals(n_wide, p))]
    points = np.tile(learned.free, (2 * n_near + n_wide, 1))
    points[:, is_open] = np.vstack(drawn)
    points = np.clip(points, *problem.bounds.T)
    logs = np.array([problem.log_density(point) for point in points])
    sources = [near.log_density(points[:, is_open]) + np.log(2 * n_near)]
    if n_wide:
        sources.append(wide.log_density(points[:, is_open]) + np.log(n_wide))
    weights = logs - np.logaddexp.reduce(sources)
    shares = np.exp(weights - weights.max())
    # One draw far out must not stand for all.
    shares = np.minimum(shares, 2.0 * np.sqrt(len(shares)) * shares.mean())
    is_kept = shares > NEGLIGIBLE * shares.mean()
    return points[is_kept], shares[is_kept] / shares[is_kept].sum()


CHAINS, MOST_POINTS, FEWEST_POINTS = 4, 200, 8
USUAL_DRAWS = NoUTurnSampling(n_draws=250, warm_up=200, metric="dense")


def draw_settings(
    problem: ProcessProblem, learned: Learned, engine: NoUTurnSampling | None, rng: Generator
) -> tuple[ProcessPosterior, Inference]:
    """Return the process averaged over draws of its settings, and these draws by name.

    By the evidence and its gradient, between the bounds of the search. What is rounded is that
    in which copies and weights of rows differ by rounding errors alone.
    """
    data, noise = problem.data, problem.noise
    steady = replace(
        problem,
        data=replace(data, y=rounded(data.y, 10, axis=0)),
        noise=replace(noise, scatter=rounded(noise.scatter, 10)),
    )
    low, high = problem.bounds.T
    names = {f"s{i}": Interval(*ends) for i, ends in enumerate(problem.bounds.tolist())}
    parameters = Parameters(names)

    def density(values: dict[str, Array]) -> tuple[float, dict[str, Array]]:
        free = np.array([float(values[name]) for name in names])
        value, slope = steady.objective(free)
        if value >= FAILED:
            return -np.inf, dict.fromkeys(names, np.zeros(()))
        return -value, {
            name: np.asarray(-part) for name, part in zip(names, slope, strict=True)
        }

    margin = 1e-3 * (high - low)
    start = rounded(np.clip(learned.free, low + margin, high - margin), 6)
    guess = parameters.free(dict(zip(names, start, strict=True)))
    found = run(
        engine or USUAL_DRAWS, LogDensity(parameters, density, guess), rng, chains=CHAINS
    )
    drawn = np.stack([found.posterior[name] for name in names], axis=-1)
    facts = {
        name: found.state.facts[..., FACTS.index(name)]
        for name in ("is_divergent", "depth", "energy")
    }
    pooled = drawn.reshape(-1, drawn.shape[-1])
    most = MOST_ENTRIES // max(len(data.x) ** 2, 1)
    n_points = min(int(np.clip(most, FEWEST_POINTS, MOST_POINTS)), len(pooled))
    chosen = np.linspace(0, len(pooled) - 1, n_points).astype(np.intp)
    parts = (data, problem.kernel, noise, problem.method, learned.free)
    belief = ProcessPosterior(*parts, pooled[chosen], np.full(n_points, 1.0 / n_points))
    return belief, replace(
        found, posterior=Draws({"log_parameters": drawn, **facts}), state=None
    )


class _Normals(NamedTuple):
    """A normal to draw from: its center (p,) and a root (p, p) of its covariance."""

    center: Array
    root: Array

    @classmethod
    def of(cls, center: Array, covariance: Array) -> Self:
        values, vectors = np.linalg.eigh(covariance)
        return cls(center, vectors * np.sqrt(values))

    def at(self, standard: Array) -> Array:
        """Return draws from standard ones, shape (s, p)."""
        return np.asarray(self.center + standard @ self.root.T)

    def log_density(self, points: Array) -> Array:
        """Return the log density at points, but for a constant that all have, shape (s,)."""
        standard = np.linalg.solve(self.root, (points - self.center).T)
        log_det = np.linalg.slogdet(self.root)[1]
        return np.asarray(-0.5 * np.square(standard).sum(axis=0) - log_det)


def _even_normals(n: int, p: int) -> Array:
    """Return normal draws that fill the space evenly: a lattice by Weyl's sequence."""
    root = (
        np.roots([1.0, *([0.0] * (p - 1)), -1.0, -1.0]) if p > 1 else np.array([1.6180339887])
    )
    base = float(np.abs(root[np.isreal(root) & (root.real > 1)].real[0]))
    places = np.arange(1, n + 1)[:, None] * base ** -np.arange(1.0, p + 1) + 0.5
    return np.asarray(special.ndtri(places % 1.0))
