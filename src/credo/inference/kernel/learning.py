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

from collections.abc import Iterator, Sequence
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
from credo.features.kernels.kernel import Kernel, ScaledKernel
from credo.features.kernels.parted import PartedKernel, is_noise
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
from credo.numerics.array import Array, as_float, last_digit, rounded, rounding_variance
from credo.numerics.form import Form
from credo.numerics.linear.linear_algebra import LOG_TWO_PI, NotPositiveDefinite
from credo.numerics.special.bijection import Interval

__all__ = [
    "Copies",
    "OutputBelief",
    "ProcessPosterior",
    "ProcessProblem",
    "RowNoise",
    "Settings",
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

    Each output has a level and weights of its own.

    Attributes
    ----------
    known
        Variance of each row that is known beforehand, shape (n, k).
    weight
        How many copies of it each row stands for, shape (n,).
    scatter
        Weighted squares of the outcomes of the copies about their mean, shape (n, k).
    columns
        Functions of the inputs that the log noise follows, shape (n, b); none if the noise is
        the same everywhere.
    level
        The variance of each output, shape (k,); None if it is learned.
    floor
        Least variance that may be learned, such as that of rounding, shape (k,); None if any
        may be.
    """

    known: Annotated[Array, Form("n k", 0.0)]
    weight: Annotated[Array, Form("n", 0.0)]
    scatter: Annotated[Array, Form("n k", 0.0)]
    columns: Annotated[Array, Form("n b")]
    level: Annotated[Array | None, Form("k", 0.0)] = None
    floor: Annotated[Array | None, Form("k", 0.0)] = None

    @property
    def n_outputs(self) -> int:
        """How many outputs there are."""
        return int(self.known.shape[1])

    @property
    def n_own(self) -> int:
        """How many numbers an output learns: the level, then a weight for each column."""
        return int(self.level is None) + int(self.columns.shape[1])

    @property
    def n_learned(self) -> int:
        """How many numbers are learned: those of the first output, then of the second."""
        return self.n_outputs * self.n_own

    def repeated(self, level: Array, weight: float) -> Array:
        """Return levels (k,) and one number for all weights, in the order of what is learned.

        Levels are left out where they are given.
        """
        parts = [level[:, None]] if self.level is None else []
        weights = np.full((self.n_outputs, self.columns.shape[1]), weight)
        return np.asarray(np.hstack([*parts, weights]).reshape(-1))

    @property
    def level_places(self) -> NDArray[np.intp]:
        """Places of the levels in what is learned; none if they are given."""
        if self.level is not None:
            return np.empty(0, dtype=np.intp)
        return np.arange(self.n_outputs, dtype=np.intp) * self.n_own

    def names(self) -> list[str]:
        """Return names of what is learned."""
        is_one, found = self.n_outputs == 1, []
        for output in range(self.n_outputs):
            level = "noise_variance" if is_one else f"noise_variance[{output}]"
            stem = "log_noise[" if is_one else f"log_noise[{output},"
            found += [level] if self.level is None else []
            found += [f"{stem}{column}]" for column in range(self.columns.shape[1])]
        return found

    def varying(self, learned: Array, columns: Array) -> Array:
        """Return the learned part of the variance at m rows with such columns, (m, k)."""
        own = learned.reshape(self.n_outputs, self.n_own)
        if self.level is None and not columns.shape[1]:
            return np.full((len(columns), self.n_outputs), np.exp(own[:, 0]))
        if self.level is None:
            log_level, weights = own[:, 0], own[:, 1:]
        else:
            with np.errstate(divide="ignore"):
                log_level, weights = np.log(self.level), own
        return np.asarray(np.exp(log_level + columns @ weights.T))

    def by_learned(self, by_variance: Array, varying: Array) -> Array:
        """Return the gradient by what is learned from that by the variances, both (n, k)."""
        by_log = by_variance * varying
        if self.level is None and not self.columns.shape[1]:
            return np.asarray(by_log.sum(axis=0))
        level = [by_log.sum(axis=0)[:, None]] if self.level is None else []
        return np.asarray(np.hstack([*level, by_log.T @ self.columns]).reshape(-1))

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

    def copies(self, variance: Array) -> tuple[float, Array]:
        """Return what copies add to the log evidence of their means, and its gradient (n, k).

        The product of w normal densities of variance v is that of their mean, with variance
        ``v / w``, times ``(2 pi v)^(-(w - 1) / 2) w^(-1 / 2) exp(-scatter / (2 v))``.
        """
        weight = self.weight[:, None]
        more = weight - 1.0
        shares = np.divide(self.scatter, variance, out=np.zeros_like(variance), where=more != 0)
        logs = more * (LOG_TWO_PI + np.log(variance)) + np.log(weight) + shares
        return -0.5 * float(logs.sum()), 0.5 * (shares - more) / variance


class Copies(NamedTuple):
    """Rows in rising order, copies of one row made one.

    Attributes
    ----------
    x, y
        Distinct inputs (n, d), and the weighted mean of the outcomes at each (n, k).
    known
        Known noise of each, shape (n, j).
    weight, scatter
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
        """Return distinct rows: equal inputs of equal known noise, (N, j), are copies."""
        rows = np.column_stack([x, known])
        both, first, place = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        place = place.reshape(-1)
        total, mean, scatter = _pooled(place, y, weight, y[first])
        inputs, noise = (
            np.ascontiguousarray(part) for part in np.split(both, [x.shape[1]], axis=1)
        )
        return cls(inputs, mean, noise, total, scatter, place)

    def rounding(self, y: Array) -> Array:
        """Return the variance of rounding of the outcomes (N, k) that were given, shape (k,).

        Outcomes that repeat with their rows are no sign of rounding, and count once.
        """
        pairs = (np.column_stack([self.place, output]) for output in y.T)
        return np.array([rounding_variance(np.unique(pair, axis=0)[:, 1]) for pair in pairs])

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
        total, mean, scatter = _pooled(self.place, y, left, self.y)
        return self._replace(y=mean, weight=total, scatter=scatter)


def _pooled(
    place: NDArray[np.intp], y: Array, weight: Array, origin: Array
) -> tuple[Array, Array, Array]:
    """Return the weight (n,), mean and scatter (n, k) of outcomes that have the same place.

    Means are sums about an origin (n, k), which is the mean where there is no weight: copies
    that are equal to it have it for their mean to the last digit, and no scatter.
    """
    n = len(origin)
    total = as_float(np.bincount(place, weight, n))[:, None]
    sums = _summed(place, weight[:, None] * (y - origin[place]), n)
    mean = origin + np.divide(sums, total, out=np.zeros_like(sums), where=total > 0)
    scatter = _summed(place, weight[:, None] * np.square(y - mean[place]), n)
    return total[:, 0], mean, scatter


def _summed(place: NDArray[np.intp], parts: Array, n: int) -> Array:
    """Return sums of rows (N, k) that have the same place, shape (n, k)."""
    return as_float(np.column_stack([np.bincount(place, part, n) for part in parts.T]))


class Settings(NamedTuple):
    """What free numbers stand for.

    Attributes
    ----------
    kernel
        What outputs share.
    variances
        What it is multiplied by for each output, shape (k,); None if it is the same for all.
    noise
        What the noise learned.
    """

    kernel: Kernel
    variances: Array | None
    noise: Array


@dataclass(frozen=True, eq=False)
class OutputBelief:
    """What is believed of each output, at given settings, by beliefs of groups of them.

    Attributes
    ----------
    groups
        Which outputs each belief is about.
    beliefs
        By a method of computing a process, one for each group.
    """

    groups: tuple[NDArray[np.intp], ...]
    beliefs: tuple[Any, ...]

    @property
    def log_evidence(self) -> float:
        """Log probability of the outcomes, summed over outputs."""
        return float(sum(belief.log_evidence for belief in self.beliefs))

    @property
    def jitter(self) -> float:
        """What had to be added to the diagonal of a covariance at the most."""
        return max(float(belief.jitter) for belief in self.beliefs)

    @property
    def jitter_shift(self) -> Array:
        """By how much jitter moves the function at the rows, shape (k,)."""
        return self._stacked([belief.jitter_shift for belief in self.beliefs])

    def mean(self, X: Array, columns: Array) -> Array:
        """Return the mean of the function at rows alone, shape (m, k)."""
        return self._stacked([belief.mean(X, columns) for belief in self.beliefs])

    def moments(self, X: Array, columns: Array) -> tuple[Array, Array]:
        """Return mean and variance of the function at rows, without noise, shapes (m, k)."""
        return self._both([belief.moments(X, columns) for belief in self.beliefs])

    def components(self, X: Array, is_centered: bool) -> list[tuple[Array, Array]]:
        """Return mean and variance (m, k) of the part of each addend of the kernel."""
        found = [belief.components(X, is_centered) for belief in self.beliefs]
        return [self._both(parts) for parts in zip(*found, strict=True)]

    def mean_function(self, columns: Array) -> tuple[Array, Array]:
        """Return mean and variance (m, k) of the mean functions at rows."""
        return self._both([belief.mean_function(columns) for belief in self.beliefs])

    def joint_bytes(self, m: int) -> float:
        """Return the memory that `joint` and draws of so many rows take."""
        return float(self.beliefs[0].joint_bytes(m))

    def joint(self, X: Array, columns: Array) -> tuple[Array, Array]:
        """Return mean (m, k) and covariance (m, m) of the function of the first group."""
        mean, covariance = self.beliefs[0].joint(X, columns)
        return mean, covariance

    def sample(self, rng: Generator, X: Array, columns: Array, n: int) -> Array:
        """Return values of ``n`` functions drawn from the posterior, shape (n, m, k)."""
        return self._stacked([belief.sample(rng, X, columns, n) for belief in self.beliefs])

    def leave_one_out(self) -> tuple[Array, Array]:
        """Return mean and variance (n, k) of each outcome given all others."""
        return self._both([belief.leave_one_out() for belief in self.beliefs])

    def extended(self, data: ProcessData, noise: Array) -> Self:
        """Return the posterior with more rows, whose noise is (m, k), at the same settings."""
        grown = tuple(
            belief.extended(data.x, data.y[:, group], data.columns, noise[:, group[0]])
            for group, belief in zip(self.groups, self.beliefs, strict=True)
        )
        return replace(self, beliefs=grown)

    def without(self, rows: NDArray[np.intp], kept: Array, y: Array) -> Self:
        """Return the posterior with some outcomes forgotten, or noisier.

        Parameters
        ----------
        rows
            Places of the rows, shape (f,).
        kept
            One over the variance that is added to each, shape (f, k); zero forgets it.
        y
            Outcomes of all rows from now on, shape (n, k).
        """
        left = tuple(
            belief.without(rows, kept[:, group[0]], y[:, group])
            for group, belief in zip(self.groups, self.beliefs, strict=True)
        )
        return replace(self, beliefs=left)

    def _both(self, pairs: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
        means, variances = zip(*pairs, strict=True)
        return self._stacked(means), self._stacked([own[:, None] for own in variances])

    def _stacked(self, parts: Sequence[Array]) -> Array:
        """Return what each group has in the order of the outputs, the last axis."""
        if len(self.groups) == 1 and parts[0].shape[-1] == len(self.groups[0]):
            return parts[0]
        k = sum(len(group) for group in self.groups)
        found = np.empty((*parts[0].shape[:-1], k))
        for group, part in zip(self.groups, parts, strict=True):
            found[..., group] = part
        return found


@dataclass(frozen=True, eq=False)
class ProcessProblem(SettingsProblem):
    """A Gaussian process of which kernel parameters and noise are to be learned.

    Free numbers are the logs of the kernel parameters, then of a variance for each output if
    these have their own, then what the noise learns. Outputs are independent, and each costs a
    factor of its own; those whose covariance cannot differ share one. What is white in the
    kernel is noise of the rows, which copies of a row have each for itself.

    Attributes
    ----------
    data, kernel, noise
        What is learned from, with a kernel whose values are the first to try.
    method
        How the evidence is computed.
    has_prior
        Whether kernel parameters have a log-normal prior around their natural values, and the
        noise one that is flat in its log, of density one, where it is large, and flat in its
        standard deviation where it is small beside the spread of the outcomes [gelman2006]_:
        few rows that a function can go through say nothing against no noise at all, which a
        prior flat in the log takes for granted.
    variance
        What the kernel is multiplied by, to be learned for each output by itself, and the
        first to be tried; None if the kernel is the same for all.
    """

    data: ProcessData
    kernel: Kernel
    noise: RowNoise
    method: ProcessMethod = field(default_factory=ExactProcess)
    has_prior: bool = True
    variance: float | None = None

    @cached_property
    def y_variances(self) -> Array:
        """Variance of each output over rows; that of the others where one does not vary."""
        total = float(self.noise.weight.sum())
        # Differences to the first of equal outcomes are zero to the last digit.
        y, share = self.data.y - self.data.y[0], self.noise.weight / total
        found = share @ np.square(y - share @ y) + self.noise.scatter.sum(axis=0) / total
        found = np.where(found > last_digit(self.data.y) ** 2, found, 0.0)
        return np.where(found > 0, found, found.mean() or 1.0)

    @cached_property
    def y_variance(self) -> float:
        """Mean variance of the outputs."""
        return float(self.y_variances.mean())

    @cached_property
    def names(self) -> list[str]:
        """Names of the free numbers."""
        own = [f"variance[{output}]" for output in range(self._n_variances)]
        return super().names + own + self.noise.names()

    @property
    def _n_variances(self) -> int:
        return 0 if self.variance is None else self.noise.n_outputs

    @property
    def n_function(self) -> int:
        """How many of the free numbers are of the function: all but those of the noise."""
        return self.n_kernel + self._n_variances

    @property
    def level_places(self) -> NDArray[np.intp]:
        """Places of the noise levels among the free numbers; none if they are given."""
        return self.n_function + self.noise.level_places

    @cached_property
    def natural(self) -> Array:
        """Free numbers that are natural in the units of the data."""
        rows, level = distinct_rows(self.data.x), np.log(self.y_variances)
        if self.variance is None:
            function = self.kernel.natural(rows, self.y_variance)
        else:
            first, *kernel = ScaledKernel(self.kernel).natural(rows, 1.0)
            function = np.concatenate([kernel, first + level])
        return np.concatenate([function, self.noise.repeated(np.log(0.1) + level, 0.0)])

    @property
    def given(self) -> Array:
        """Free numbers with the values of the kernel as it was given."""
        start = super().given
        if self.variance is not None:
            start[self.n_kernel : self.n_function] = np.log(self.variance)
        return start

    @cached_property
    def spread(self) -> Array:
        """Prior standard deviation of each free number, infinite where the prior is flat."""
        own = ScaledKernel(self.kernel).parameters[0].log_spread
        function = np.append(super().spread, [own] * self._n_variances)
        flat = np.full(self.noise.n_outputs, np.inf)
        return np.concatenate([function, self.noise.repeated(flat, NOISE_SPREAD)])

    @cached_property
    def bounds(self) -> Array:
        """Least and largest value of each free number, shape (p, 2)."""
        found, noise = super().bounds, self.noise
        if noise.level is None:
            low, high = np.outer(NOISE_SHARES, self.y_variances)
            floor = np.zeros_like(low) if noise.floor is None else noise.floor
            limits = np.maximum(low, floor), np.maximum(high, 10.0 * floor)
            found[self.level_places] = np.log(np.column_stack(limits))
        return found

    def log_prior(self, free: Array) -> tuple[float, Array]:
        """Return the log density of the prior, and its gradient."""
        value, slope = super().log_prior(free)
        if self.has_prior and self.noise.level is None:
            share = np.exp(free[self.level_places]) / self.y_variances
            slope[self.level_places] += 0.5 / (1.0 + share)
        return value + self.log_noise_prior(free), slope

    def log_noise_prior(self, free: Array) -> float:
        """Return what the prior of the noise is below one that is flat in the log.

        With ``s`` the noise variance as a share of that of the outcomes, the log of s has the
        density ``sqrt(s / (1 + s))``. Divided by its value at the most probable noise, the
        integral over settings becomes that under noise flat in its log with density one, which
        other regressions have, as far as the rows say what the noise is.
        """
        if not self.has_prior or self.noise.level is not None:
            return 0.0
        share = np.exp(free[self.level_places]) / self.y_variances
        return -0.5 * float(np.log1p(1.0 / share).sum())

    def split(self, free: Array) -> Settings:
        """Return what free numbers stand for."""
        kernel, own, noise = np.split(free, [self.n_kernel, self.n_function])
        variances = None if self.variance is None else np.exp(own)
        return Settings(self.kernel.at(kernel), variances, noise)

    @cached_property
    def _parted(self) -> PartedKernel:
        return PartedKernel.of(self.kernel)

    def _parts_at(self, free: Array) -> tuple[PartedKernel, Array]:
        """Return the kernel that outputs share, parted, and what each multiplies it by, (k,).

        The latter is one number if it is the same for all.
        """
        logs, own = free[: self.n_kernel], free[self.n_kernel : self.n_function]
        return self._parted.at(logs), np.ones(1) if self.variance is None else np.exp(own)

    @cached_property
    def groups(self) -> list[NDArray[np.intp]]:
        """Outputs that share a covariance: each is alone if it learns a part of its own."""
        noise, k = self.noise, self.noise.n_outputs
        if self.variance is not None or noise.n_learned or k == 1:
            return [np.array([output]) for output in range(k)]
        given = noise.known + noise.varying(np.empty(0), noise.columns)
        _, place = np.unique(given, axis=1, return_inverse=True)
        return [np.flatnonzero(place == group) for group in range(place.max() + 1)]

    @cached_property
    def _group_data(self) -> list[tuple[NDArray[np.intp], ProcessData]]:
        """Outputs that share a covariance, and the rows with their outcomes."""
        return [(group, replace(self.data, y=self.data.y[:, group])) for group in self.groups]

    @cached_property
    def _has_copies(self) -> bool:
        return bool((self.noise.weight != 1.0).any())

    def noise_at(self, free: Array, X: Array, columns: Array) -> Array:
        """Return the noise variance at rows but for what is known of them, shape (m, k)."""
        varying = self.noise.varying(free[self.n_function :], columns)
        if self._parted.white is None:
            return varying
        parted, shares = self._parts_at(free)
        return varying + parted.noise(X)[0][:, None] * shares

    def variance_of_rows(self, free: Array) -> Array:
        """Return the noise variance of one copy of each row, shape (n, k)."""
        return self.noise.known + self.noise_at(free, self.data.x, self.noise.columns)

    def parts(
        self, free: Array
    ) -> Iterator[tuple[NDArray[np.intp], ProcessData, Kernel, Array]]:
        """Yield groups of outputs, the data of each, its kernel, and its noise (n,).

        The kernel is that of the function, without white noise.
        """
        parted, shares = self._parts_at(free)
        variance = self.variance_of_rows(free) / self.noise.weight[:, None]
        for group, data in self._group_data:
            first = group[0]
            noise = np.ascontiguousarray(variance[:, first])
            kernel = parted.smooth
            if self.variance is not None:
                kernel = ScaledKernel(kernel, float(shares[first]))
            yield group, data, kernel, noise

    def log_evidence(self, free: Array) -> tuple[float, Array]:
        """Return the log evidence at free numbers, and its gradient."""
        noise, value, parted = self.noise, 0.0, self._parted
        by_kernel, by_own = np.zeros(self.n_kernel), np.zeros(self._n_variances)
        by_variance = np.empty_like(noise.known)
        for group, data, kernel, own in self.parts(free):
            found = self.method.evidence(data, kernel, own)
            first = len(by_own) and 1
            own_slope, slope = found.by_parameter[:first], found.by_parameter[first:]
            value, by_kernel = value + found.value, by_kernel + parted.by_parameter(slope)
            by_own[group[: len(own_slope)]] = own_slope
            by_variance[:, group] = found.by_noise[:, None] / noise.weight[:, None]
        if self._has_copies:
            more, by_more = noise.copies(self.variance_of_rows(free))
            value, by_variance = value + more, by_variance + by_more
        if parted.white is not None:
            now, shares = self._parts_at(free)
            white, pull = now.noise(self.data.x)
            by_kernel = by_kernel + pull((by_variance * shares).sum(axis=1))
            by_own = by_own + (shares * (white @ by_variance))[: len(by_own)]
        varying = noise.varying(free[self.n_function :], noise.columns)
        by_noise = noise.by_learned(by_variance, varying)
        return value, np.concatenate([by_kernel, by_own, by_noise])

    def log_density(self, free: Array) -> float:
        """Return the log of evidence times prior alone; minus infinity without a factor."""
        value = self.log_prior(free)[0]
        try:
            for _, data, kernel, noise in self.parts(free):
                value += self.method.log_evidence(data, kernel, noise)
        except NotPositiveDefinite:
            return -np.inf
        return value + self.log_copies(free)

    def log_copies(self, free: Array) -> float:
        """Return what copies of rows add to the log evidence of their means."""
        rows = np.flatnonzero(self.noise.weight > 0)
        kept = self.noise.taken(rows)
        if (kept.weight == 1.0).all():
            return 0.0
        return kept.copies(self.variance_of_rows(free)[rows])[0]

    def belief(self, free: Array) -> OutputBelief:
        """Return the posterior of the functions at free numbers."""
        parts = [
            (group, self.method.belief(data, kernel, noise))
            for group, data, kernel, noise in self.parts(free)
        ]
        groups, beliefs = zip(*parts, strict=True)
        return OutputBelief(groups, beliefs)

    def taken(self, rows: Any, method: ProcessMethod | None = None) -> Self:
        """Return the problem of some of the rows, under the same priors; exact if not said."""
        data, chosen = self.data, method or ExactProcess()
        part = ProcessData(data.x[rows], data.y[rows], data.columns[rows])
        small = replace(self, data=part, noise=self.noise.taken(rows), method=chosen)
        for name in ("natural", "bounds", "y_variances"):
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
        # What outputs share is bent alike; the largest signal beside its noise needs most.
        sharpest = max(problem.parts(free), key=_precision)
        method = method.placed(*sharpest[1:])
    return replace(problem, method=method)


def _precision(part: tuple[Any, ProcessData, Kernel, Array]) -> float:
    """Return the sum over rows of signal variance beside noise."""
    _, data, kernel, noise = part
    own = kernel.evaluated_diagonal(data.x)[0]
    return float(np.sum(np.divide(own, noise, out=np.zeros_like(own), where=noise > 0)))


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
    data, kernel, noise, method, variance
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
    variance: float | None = None

    @classmethod
    def of(cls, problem: ProcessProblem, learned: Learned) -> Self:
        """Return the posterior at the settings found, or at draws around them."""
        parts = (problem.data, problem.kernel, problem.noise, problem.method)
        points, weights = _draws(problem, learned)
        return cls(*parts, learned.free, points, weights, problem.variance)

    @property
    def problem(self) -> ProcessProblem:
        """The problem without a prior, to ask for its evidence again."""
        parts = (self.data, self.kernel, self.noise, self.method)
        return ProcessProblem(*parts, has_prior=False, variance=self.variance)

    @cached_property
    def at_mode(self) -> OutputBelief:
        """What is believed of the function at the most probable settings."""
        if len(self.points) == 1:
            return self.beliefs[0]
        return self.problem.belief(self.mode)

    @cached_property
    def beliefs(self) -> list[OutputBelief]:
        """What is believed of the function at each point."""
        return [self.problem.belief(point) for point in self.points]

    def sample(self, rng: Generator, X: Array, columns: Array, n: int) -> Array:
        """Return draws of the function at rows, settings included, shape (n, m, k)."""
        counts = rng.multinomial(n, self.weights)
        parts = [
            belief.sample(rng, X, columns, int(count))
            for belief, count in zip(self.beliefs, counts, strict=True)
            if count
        ]
        return np.asarray(rng.permutation(np.concatenate(parts)))

    def noise_at(self, point: Array, X: Array, columns: Array) -> Array:
        """Return the noise variance at new rows, under settings, shape (m, k)."""
        return self.problem.noise_at(point, X, columns)

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
        inside = _summed(place, noise.scatter, n)
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
            Variance that is added at the rows, (m, k), for each point.
        scale
            What outcomes were divided by, shape (k,).
        """
        parts = []
        for belief, own in zip(self.beliefs, noise, strict=True):
            mean, variance = belief.moments(X, columns)
            doubt, spread = (np.sqrt(v) * scale for v in (variance, own))
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
        names = [name for name, part in zip(names, addends, strict=True) if not is_noise(part)]
        if columns.shape[1]:
            names = ["mean", *names]
        by_point = []
        for belief in self.beliefs:
            found = [belief.mean_function(columns)] if columns.shape[1] else []
            found += belief.components(X, is_centered)
            by_point.append([_function(mean, variance, scale) for mean, variance in found])
        return {
            name: _averaged(self.weights, parts)
            for name, *parts in zip(names, *by_point, strict=True)
        }

    def left_out(
        self, place: NDArray[np.intp], y: Array, weight: Array
    ) -> tuple[Array, Array, Array]:
        """Return mean, variance of the function and of the noise (N, k) without each row.

        Copies of a row that stay are one more observation of the function there.

        Parameters
        ----------
        place
            Which of the distinct rows each row is, shape (N,).
        y, weight
            Outcomes (N, k) and weights (N,) of all rows.
        """
        own = self.problem.variance_of_rows(self.mode)
        mean, variance = self.at_mode.leave_one_out()
        total = self.noise.weight[:, None]
        doubt = np.maximum(variance - own / total, 0.0)[place]
        noise, left = own[place], total[place] - weight[:, None]
        sums = total[place] * self.data.y[place] - weight[:, None] * y
        rest = np.divide(sums, left, out=np.zeros_like(sums), where=left > 1e-9)
        # Without copies that stay there may be no noise either.
        total_doubt = noise + doubt * left
        gain = np.divide(
            doubt * left, total_doubt, out=np.zeros_like(doubt), where=total_doubt > 0
        )
        found = mean[place] + gain * (rest - mean[place])
        return found, doubt * (1.0 - gain), noise

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

        def part(belief: OutputBelief, point: Array) -> OutputBelief:
            own = self.problem.variance_of_rows(point)[rows]
            kept = np.zeros_like(own)
            np.divide(share[:, None], own, out=kept, where=share[:, None] > 0)
            return belief.without(rows, kept, left.y)

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
        if len(self.points) * noise.n_outputs * len(data.x) ** 2 <= MOST_ENTRIES:
            return found
        return replace(found, points=self.mode[None], weights=np.ones(1))

    @property
    def log_evidence_at_mode(self) -> float:
        """Log evidence at the most probable settings, or its bound."""
        return self.at_mode.log_evidence + self.problem.log_copies(self.mode)

    def extended(self, data: ProcessData, noise: RowNoise) -> Self:
        """Return the posterior with more rows at the same settings, by growing the factors."""
        joined = self.data.joined(data.x, data.y, data.columns)
        found = replace(self, data=joined, noise=self.noise.joined(noise))
        grown = []
        for belief, point in zip(self.beliefs, self.points, strict=True):
            variance = noise.known + self.noise_at(point, data.x, noise.columns)
            grown.append(belief.extended(data, variance / noise.weight[:, None]))
        found.__dict__["beliefs"] = grown
        return found


def _function(mean: Array, variance: Array, scale: Array) -> Predictive:
    doubt = np.sqrt(variance) * scale
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
    size = problem.noise.n_outputs * max(n * n, 1)
    n_near = min(NEAR_DRAWS, MOST_ENTRIES // size) // 2
    if n_near < 1 or not is_open.any() or not problem.has_prior:
        return learned.free[None], np.ones(1)
    n_wide, p = max(0, FEW_DRAWS - n), int(is_open.sum())
    normal = _even_normals(n_near, p)
    near = _Normals.of(learned.free[is_open], learned.covariance[np.ix_(is_open, is_open)])
    spread = np.where(np.isfinite(problem.spread), problem.spread, OPEN_SPREAD)[is_open]
    # Places of even draws go by values, so that the order of columns does not matter.
    order = np.argsort(learned.free[is_open], kind="stable")
    wide = _Normals(problem.natural[is_open], np.diag(spread)[:, order])
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
    shares = np.full(n_points, 1.0 / n_points)
    belief = ProcessPosterior(*parts, pooled[chosen], shares, problem.variance)
    return belief, replace(
        found, posterior=Draws({"log_parameters": drawn, **facts}), state=None
    )


class _Normals(NamedTuple):
    """A normal to draw from: its center (p,) and a root (p, p) of its covariance."""

    center: Array
    root: Array

    @classmethod
    def of(cls, center: Array, covariance: Array) -> Self:
        """Return a normal by its axes, each with its largest entry above zero."""
        values, vectors = np.linalg.eigh(covariance)
        largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None], axis=0)
        return cls(center, vectors * np.sign(largest) * np.sqrt(values))

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
