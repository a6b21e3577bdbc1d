"""Settings of a process, found by climbing their evidence: type-II likelihood, MAP, Laplace.

All free numbers are on the log scale, with weak priors in the units of the data (type-II MAP)
or none (type-II maximum likelihood). A few starts compete on few rows and the poor ones are
stopped early; the best is climbed from by quasi-Newton steps that keep the whole curvature,
which for many rows is learned from some of them first. A normal at the maximum (Laplace)
integrates over what was learned.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from credo.features.kernels.kernel import Kernel
from credo.numerics.array import Array
from credo.numerics.linear.linear_algebra import LOG_TWO_PI, NotPositiveDefinite
from credo.numerics.optimize.minimum import Termination
from credo.numerics.optimize.quasi_newton import bfgs
from credo.numerics.parallel.threads import threads_for_factors
from credo.numerics.status import Status

__all__ = [
    "FAILED",
    "MANY_ROWS",
    "Learned",
    "Search",
    "SettingsProblem",
    "SettingsSearch",
    "best_start",
    "climb",
    "curvature",
    "learn",
    "learn_more",
    "more_bent",
    "normal_around",
    "some_rows",
]

WIDEST = 8.0
"""How far the log of a kernel parameter may be from its natural value, in prior spreads."""

FAR = 3.5
"""How far from it, in prior spreads, a parameter does nothing more: as good as at a bound."""

FAILED = 1e20
"""Minus the log evidence where the covariance has no factor."""

RACE_ROWS = 300
"""Rows on which starts compete: on fewer a poorer peak is often ahead."""

FEW_ROWS, MANY_ROWS = 300, 600
"""Rows that show the way, and from how many on they do."""

ROUGH = 1e-2
"""What another step must promise, in nats, on rows that only show the way."""

MOST_PERIODS = 3
"""Peaks of a periodogram that are tried as periods."""

WAVE_ROWS = 1_000
"""Rows of which a periodogram is made at the most."""

LONGEST_STEP = 2.0
DIFFERENCE = 3e-3
LEAST_BEND = 0.05

NO_BEND = 1e-2
"""Share of the largest curvature below which a negative one may be an error of differences."""

MOST_SADDLES = 3
"""Saddles that a search leaves before it takes one for the best there is."""


class SettingsProblem(ABC):
    """A process of which kernel parameters, and maybe more, are to be learned."""

    data: Any
    kernel: Kernel
    has_prior: bool

    @property
    def race_steps(self) -> tuple[int, int]:
        """Steps after which the poorer half of the starts is stopped, and those after them."""
        return 5, 8

    @property
    def n_sides(self) -> int:
        """To how many sides differences go for a curvature: two, or one for half the cost.

        Zero if the curvature of few rows, scaled, is to be taken for that of many.
        """
        return 2 if len(self.data.x) <= FEW_ROWS else 1

    @property
    def refined(self) -> Self:
        """The problem with slopes that are accurate enough for a curvature."""
        return self

    @property
    def names(self) -> list[str]:
        """Names of the free numbers."""
        return [p.name for p in self.kernel.parameters]

    @property
    @abstractmethod
    def natural(self) -> Array:
        """Free numbers that are natural in the units of the data, shape (p,)."""

    @cached_property
    def spread(self) -> Array:
        """Prior standard deviation of each free number, infinite where the prior is flat."""
        return np.array([p.log_spread for p in self.kernel.parameters])

    @property
    def given(self) -> Array:
        """Free numbers with the values of the kernel as it was given."""
        start = self.natural.copy()
        start[: self.n_kernel] = self.kernel.log_parameters
        return start

    @cached_property
    def bounds(self) -> Array:
        """Least and largest value of each free number, shape (p, 2)."""
        natural, given, n = self.natural, self.given, self.n_kernel
        reach = WIDEST * np.where(np.isfinite(self.spread), self.spread, 0.0)
        found = np.column_stack([natural - reach, natural + reach])
        with np.errstate(divide="ignore"):
            limits = np.log([(p.low, p.high) for p in self.kernel.parameters]).reshape(-1, 2)
        found[:n, 0] = np.maximum(np.minimum(found[:n, 0], given[:n] - 1.0), limits[:, 0])
        found[:n, 1] = np.minimum(np.maximum(found[:n, 1], given[:n] + 1.0), limits[:, 1])
        return found

    @cached_property
    def n_kernel(self) -> int:
        """How many of the free numbers are parameters of the kernel: the first ones."""
        return len(self.kernel.parameters)

    @abstractmethod
    def log_evidence(self, free: Array) -> tuple[float, Array]:
        """Return the log evidence at free numbers, and its gradient."""

    @abstractmethod
    def taken(self, rows: Any) -> Self:
        """Return the problem of some of the rows, under the same priors."""

    def log_prior(self, free: Array) -> tuple[float, Array]:
        """Return the log density of the prior, and its gradient."""
        if not self.has_prior:
            return 0.0, np.zeros_like(free)
        gap = (free - self.natural) / self.spread
        return -0.5 * float(gap @ gap) - self._log_scale, -gap / self.spread

    @cached_property
    def _log_scale(self) -> float:
        logs = np.log(self.spread[np.isfinite(self.spread)])
        return float(np.sum(logs + 0.5 * LOG_TWO_PI))

    def objective(self, free: Array) -> tuple[float, Array]:
        """Return minus the log of evidence times prior, and its gradient."""
        try:
            value, slope = self.log_evidence(free)
        except NotPositiveDefinite:
            return FAILED, np.zeros_like(free)
        if not np.isfinite(value):
            return FAILED, np.zeros_like(free)
        prior, by_prior = self.log_prior(free)
        return -(value + prior), -(slope + by_prior)


class Search(NamedTuple):
    """Where a search ended: free numbers, minus the log density, its slope, status, steps.

    With about the curvature there, if enough steps have shown it.
    """

    free: Array
    value: float
    slope: Array
    status: Status
    n_steps: int
    hessian: Array | None

    def bend(self, share: float = 1.0) -> Array | None:
        """Return about the curvature for more rows, of which these are a share."""
        return None if self.hessian is None else self.hessian / share


@dataclass(frozen=True)
class SettingsSearch:
    """How settings are searched for.

    Attributes
    ----------
    max_steps
        Quasi-Newton steps after which the search gives up.
    tolerance
        What another step must promise, in nats of the log evidence.
    """

    max_steps: int = 200
    tolerance: float = 1e-8


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
        Log evidence with the settings integrated out; without a prior the same as ``value``.
    covariance
        Of the normal at the maximum; zero for settings at a bound, and without a prior, which
        takes the maximum for what is known.
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


def learn(problem: SettingsProblem, search: SettingsSearch | None = None) -> Learned:
    """Return the most probable settings, and a normal around them."""
    with threads_for_factors(len(problem.data.x)):
        return _learned(problem, search or SettingsSearch())


def _learned(problem: SettingsProblem, rule: SettingsSearch) -> Learned:
    if not len(problem.natural):
        value = problem.log_evidence(np.empty(0))[0]
        return Learned(np.empty(0), value, value, np.empty((0, 0)), Status.CONVERGED, 0, ())
    start, hessian = _start(problem, rule)
    found = climb(problem, start, hessian, rule.max_steps, rule.tolerance)
    if found.value >= FAILED:
        # Say why there is no factor.
        problem.log_evidence(found.free)
    if not problem.has_prior:
        if len(problem.kernel.addends) > 1:
            found = _off_saddle(problem, found, curvature(problem, found), rule)[0]
        return normal_around(problem, found, None)
    is_scaled = len(problem.data.x) >= MANY_ROWS and not problem.n_sides
    bend = hessian if is_scaled and hessian is not None else curvature(problem, found)
    return normal_around(problem, *_off_saddle(problem, found, bend, rule))


def learn_more(
    problem: SettingsProblem, learned: Learned, n_before: int, rule: SettingsSearch
) -> Learned:
    """Return settings that were learned from some of the rows, learned on from all of them.

    Parameters
    ----------
    n_before
        How many rows they were learned from.
    """
    n_free, is_open = len(learned.free), np.diagonal(learned.covariance) > 0
    hessian = np.eye(n_free)
    if is_open.any():
        inside = np.ix_(is_open, is_open)
        hessian[inside] = np.linalg.inv(learned.covariance[inside])
        hessian = more_bent(problem, hessian, n_before / len(problem.data.x))
    found = climb(problem, learned.free, hessian, rule.max_steps, rule.tolerance)
    bend = curvature(problem, found) if problem.has_prior else None
    return normal_around(problem, found, bend)


def _off_saddle(
    problem: SettingsProblem, found: Search, bend: Array, rule: SettingsSearch
) -> tuple[Search, Array]:
    """Return where a search ended and the curvature, after leaving points that are no peak.

    Settings that are alike at the start, such as those of two equal parts of a sum, have equal
    slopes: a search from there stays among settings that are alike, and ends at a saddle.
    """
    for _ in range(MOST_SADDLES):
        values, vectors = np.linalg.eigh(bend)
        if values[0] > -max(LEAST_BEND, NO_BEND * values[-1]):
            break
        down = vectors[:, 0]
        starts = [np.clip(found.free + step, *problem.bounds.T) for step in (down, -down)]
        ends = [climb(problem, one, None, rule.max_steps, rule.tolerance) for one in starts]
        best = min(ends, key=lambda end: end.value)
        if best.value > found.value - ROUGH:
            break
        found, bend = best, curvature(problem, best)
    return found, bend


def _start(
    problem: SettingsProblem, rule: SettingsSearch
) -> tuple[Array | Search, Array | None]:
    """Return where to climb from, and about the curvature there if some rows have shown it."""
    best, n = best_start(problem), len(problem.data.x)
    if n < MANY_ROWS:
        # Without priors there are flat valleys, in which an old curvature ends the search.
        bend = best.bend(min(1.0, RACE_ROWS / n)) if problem.has_prior else None
        return best if n <= RACE_ROWS else best.free, bend
    small = problem.taken(some_rows(problem, FEW_ROWS))
    near = climb(small, best.free, best.bend(RACE_ROWS / FEW_ROWS), rule.max_steps, ROUGH)
    if near.value >= FAILED:
        return best.free, None
    values, vectors = np.linalg.eigh(more_bent(problem, curvature(small, near), FEW_ROWS / n))
    values = np.maximum(values, 2 * LEAST_BEND)
    return near.free, (vectors * values) @ vectors.T


def more_bent(problem: SettingsProblem, hessian: Array, share: float) -> Array:
    """Return about the curvature for all rows from that for a share of them.

    What rows say grows with them, and what the prior says does not.
    """
    is_pulled = (np.diagonal(hessian) != 0) & problem.has_prior
    prior = np.diag(np.where(is_pulled, 1.0 / problem.spread**2, 0.0))
    return np.asarray((hessian - prior) / share + prior)


def normal_around(problem: SettingsProblem, found: Search, hessian: Array | None) -> Learned:
    """Return what a search found, with a normal of this curvature around it, if any."""
    n_free, is_inside = len(found.free), _inside(problem, found.free)
    value = -found.value - problem.log_prior(found.free)[0]
    covariance, log_evidence = np.zeros((n_free, n_free)), value
    if hessian is not None:
        values, vectors = np.linalg.eigh(hessian[np.ix_(is_inside, is_inside)])
        # Directions in which neither rows nor prior say much are wide, but not without end.
        values = np.maximum(values, LEAST_BEND)
        covariance[np.ix_(is_inside, is_inside)] = (vectors / values) @ vectors.T
        volume = 0.5 * (len(values) * LOG_TWO_PI - float(np.log(values).sum()))
        log_evidence = volume - found.value
    is_at_end = ~is_inside | (np.abs(found.free - problem.natural) > FAR * problem.spread)
    names = tuple(n for n, is_end in zip(problem.names, is_at_end, strict=True) if is_end)
    return Learned(
        found.free, value, log_evidence, covariance, found.status, found.n_steps, names
    )


def _inside(problem: SettingsProblem, free: Array) -> NDArray[np.bool_]:
    """Return which free numbers are not at a bound."""
    low, high = problem.bounds.T
    room = 1e-6 * np.maximum(1.0, np.abs(free))
    return np.asarray((free > low + room) & (free < high - room))


def some_rows(problem: SettingsProblem, size: int) -> NDArray[np.intp]:
    """Return the numbers of some rows, or of all if there are no more.

    Of one column half of them are a stretch without gaps: rows far apart do not show a wave
    that goes up and down between them.
    """
    x, rng = problem.data.x, np.random.default_rng(0)
    if x.shape[1] != 1 or len(x) <= size:
        return np.sort(rng.permutation(len(x))[:size])
    stretch = _stretch(x, size // 2)
    others = np.setdiff1d(np.arange(len(x)), stretch)
    rest = rng.choice(others, size - len(stretch), replace=False)
    return np.sort(np.concatenate([stretch, rest]))


def _stretch(x: Array, size: int) -> NDArray[np.intp]:
    """Return rows of one column that are next to each other, in the middle."""
    first = (len(x) - size) // 2
    return np.argsort(x[:, 0], kind="stable")[first : first + size]


def best_start(problem: SettingsProblem) -> Search:
    """Return where the start that is ahead after a few steps on few of the rows has come to."""
    is_small = len(problem.data.x) <= RACE_ROWS
    small = problem if is_small else problem.taken(some_rows(problem, RACE_ROWS))
    first, more = problem.race_steps
    starts = _starts(problem)
    ends = [climb(small, start, _periodic_bend(small, start), first, ROUGH) for start in starts]
    ahead = sorted(ends, key=lambda end: end.value)[: max(1, len(ends) // 2)]
    ends = [climb(small, end, end.hessian, more, ROUGH) for end in ahead]
    return min(ends, key=lambda end: end.value)


def _starts(problem: SettingsProblem) -> list[Array]:
    """Return the given values, the natural ones, and these with shorter or longer scales."""
    natural, given = problem.natural, problem.given
    is_length = np.array(["length_scale" in name for name in problem.names])
    is_noise = np.array([name.startswith("noise_variance") for name in problem.names])
    tries = [given, natural]
    tries += [natural - is_length - 2.3 * is_noise, natural + is_length + 1.5 * is_noise]
    part = _part_numbers(problem.names, is_length)
    if part.any():
        # Parts of a sum that are alike would stay so.
        tries.append(natural + (0.5 - 3.0 * part / part.max()) * is_length)
    if problem.data.x.shape[1] == 1:
        # A curve may go up and down many times over the rows, and over a stretch of them.
        tries.append(natural - 3.0 * is_length - is_noise)
        if len(problem.data.x) > RACE_ROWS:
            near = problem.data.x[_stretch(problem.data.x, RACE_ROWS // 2)]
            shorter = np.log(np.ptp(problem.data.x) / max(np.ptp(near), 1e-300))
            tries.append(natural - (shorter + 1.0) * is_length - is_noise)
    tries += _periodic_starts(problem)
    found: list[Array] = []
    for start in tries:
        inside = np.clip(start, *problem.bounds.T)
        if not any(np.allclose(inside, other) for other in found):
            found.append(inside)
    return found


def _periodic_starts(problem: SettingsProblem) -> list[Array]:
    """Return natural values with periods that outcomes show: evidence has a peak at each."""
    columns = _period_columns(problem)
    periods = {column: _periods(problem, column) for column in set(columns.values())}
    starts = []
    for first in range(max((len(found) for found in periods.values()), default=0)):
        start = problem.natural.copy()
        for number, (place, column) in enumerate(columns.items()):
            if periods[column]:
                # Several periods of one column differ.
                start[place] = np.log(periods[column][(first + number) % len(periods[column])])
        starts.append(start)
    return starts


def _period_columns(problem: SettingsProblem) -> dict[int, int]:
    """Return the columns of periods that are learned, by their places among free numbers."""
    return {
        place: parameter.period_column
        for place, parameter in enumerate(problem.kernel.parameters)
        if parameter.period_column is not None
    }


def _periodic_bend(problem: SettingsProblem, start: Array) -> Array | None:
    """Return a guess of the curvature where there are periods, shape (p, p); else None.

    Beside other settings a period is known sharply, the more the more often it is seen: a
    search that does not know would end after one short step.
    """
    columns = _period_columns(problem)
    if not columns:
        return None
    x, level = problem.data.x, 0.1 * len(problem.data.x)
    bend = np.full(len(start), level)
    for place, column in columns.items():
        turns = 2.0 * np.pi * float(np.ptp(x[:, column])) / np.exp(start[place])
        bend[place] *= 1.0 + turns**2
    return np.diag(bend)


def _periods(problem: SettingsProblem, column: int) -> list[float]:
    """Return the periods of one column that outcomes show most, and twice the first of them.

    Twice it, for a wave of two unequal halves. Of many rows, those of some from end to end
    and those of a stretch without gaps, which has shorter ones.
    """
    x = problem.data.x[:, column]
    y = np.asarray(problem.data.y, dtype=np.float64).reshape(len(x), -1)
    order = np.argsort(x, kind="stable")
    parts = [order]
    if len(x) > WAVE_ROWS:
        middle = (len(x) - WAVE_ROWS) // 2
        thin = np.random.default_rng(0).choice(order, WAVE_ROWS, replace=False)
        parts = [thin, order[middle : middle + WAVE_ROWS]]
    found: list[float] = []
    for rows in parts:
        peaks = _peaks(x[rows], y[rows])
        found += peaks + [2.0 * peak for peak in peaks[:1]]
    return found


def _peaks(x: Array, y: Array) -> list[float]:
    """Return the periods of the highest peaks of a periodogram, best first.

    Of outcomes (n, k) without a parabola, at four frequencies for each that n rows tell apart.
    """
    n, width = len(np.unique(x)), float(np.ptp(x))
    if n < 6 or not width > 0:
        return []
    bends = np.vander((x - x.mean()) / width, 3)
    rest = y - bends @ np.linalg.lstsq(bends, y, rcond=None)[0]
    spread = rest.std(axis=0)
    rest = rest[:, spread > 0] / spread[spread > 0]
    turns = np.arange(4, 2 * n + 1) / (4.0 * width)
    waves = np.exp(2j * np.pi * np.outer(turns, x - x.min()))
    power = np.square(np.abs(waves @ rest)).sum(axis=1)
    padded = np.concatenate([[0.0], power, [0.0]])
    is_peak = (power > padded[:-2]) & (power >= padded[2:])
    peaks = np.flatnonzero(is_peak)
    best = peaks[np.argsort(-power[peaks], kind="stable")[:MOST_PERIODS]]
    return [float(period) for period in 1.0 / turns[best]]


def _part_numbers(names: list[str], is_length: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the number of the part that each length scale is of, from zero in order."""
    stems = [name.partition(".")[0] for name in names]
    parts = list(dict.fromkeys(s for s, is_own in zip(stems, is_length, strict=True) if is_own))
    return np.array([parts.index(s) if s in parts else 0 for s in stems], dtype=np.intp)


def climb(
    problem: SettingsProblem,
    start: Array | Search,
    hessian: Array | None,
    max_steps: int,
    tolerance: float,
) -> Search:
    """Return where a search of the largest evidence times prior from a start ended.

    Parameters
    ----------
    start
        Free numbers, or a search of the same problem to go on with.
    hessian
        About the curvature of the objective, shape (p, p); None if it is not known.
    tolerance
        What another step must promise, in nats.
    """
    last: dict[str, Any] = {}
    known = start if isinstance(start, Search) else None
    first = start.free if isinstance(start, Search) else start

    def value(free: Array) -> float:
        if known is not None and np.array_equal(free, known.free):
            found, last["slope"] = known.value, known.slope
        else:
            found, last["slope"] = problem.objective(free)
        # Values about zero make the tolerance one in nats, whatever the unit of the outcomes.
        return float(found - last.setdefault("first", found))

    rules = Termination(max_steps, value_change=tolerance, gradient_norm=1e-7)
    # BFGS asks for the gradient where it has just asked for the value.
    found = bfgs(
        value,
        lambda free: last["slope"],
        first,
        hessian,
        problem.bounds.tolist(),
        rules,
        LONGEST_STEP,
    )
    there = found.value + last["first"]
    return Search(found.x, there, found.gradient, found.status, found.n_steps, found.hessian)


def curvature(problem: SettingsProblem, found: Search) -> Array:
    """Return the Hessian of the objective, zero for settings at a bound, shape (p, p).

    By differences of its gradient to both sides, or to one.
    """
    is_inside = _inside(problem, found.free)
    has_two, exact = problem.n_sides == 2, problem.refined
    center = found.slope if exact is problem else exact.objective(found.free)[1]
    rows = np.zeros((len(found.free), len(found.free)))
    for place in np.flatnonzero(is_inside):
        shift = DIFFERENCE * (np.arange(len(rows)) == place)
        high = exact.objective(found.free + shift)[1]
        low = exact.objective(found.free - shift)[1] if has_two else center
        rows[place] = (high - low) / (DIFFERENCE * (1 + has_two))
    rows[:, ~is_inside] = 0.0
    return 0.5 * (rows + rows.T)
