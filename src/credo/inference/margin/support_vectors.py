"""Support vectors: the largest dual objective of a margin or an insensitive loss, certified.

Classification and regression are one problem in the signed multipliers b, which are ``y_i
a_i`` for classes coded -1 and 1, and ``a_i - a_i^*`` for numbers::

    maximize   y.b - epsilon |b|_1 - b.K b / 2   over   low <= b <= high,  sum of b = 0.

Pairs of multipliers are moved by sequential minimal optimization, each chosen to the second
order [fan2005]_; with a linear kernel and many rows, single ones by dual coordinate descent
[hsieh2008]_, the intercept by the method of multipliers. Where neither comes to an end soon,
an interior point method does, if the kernel has few columns or few rows. Steps may be in
float32. What is returned was evaluated anew in float64, and steps go on, in float64, if it is
not good enough. Multipliers at a limit that gain nothing by leaving it are left out until the
others are settled (shrinking [joachims1999]_), and of two pairs that gain about as much the one
whose rows of the kernel are at hand is moved.

At first nearly every multiplier is to move, most of them once, from zero to a limit. Pairs are
then chosen among the entries that violate the conditions most, one or two of each stretch of
rows, between which alone the kernel is needed. What a few steps change is taken off the
gradient of all rows by sums of kernel values that never leave the core.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from credo.features.kernels.kernel import Kernel
from credo.inference.margin.interior_point import (
    balance,
    balanced,
    interior_multipliers,
    narrow_factor,
    sharpened,
)
from credo.inference.margin.kernel_values import (
    BLOCK,
    UNIT,
    GaussianValues,
    KernelValues,
    LinearValues,
    RowCache,
    kernel_values,
    loops,
    padded_size,
)
from credo.numerics.array import Array
from credo.numerics.form import Form
from credo.numerics.linear.linear_algebra import NotPositiveDefinite
from credo.numerics.memory import USUAL_BYTES, spare_bytes
from credo.numerics.optimize.quadratic_program import InfeasibleProgram, QuadraticProgram
from credo.numerics.parallel.threads import threads_for
from credo.numerics.status import Status

__all__ = [
    "Inseparable",
    "SupportProblem",
    "SupportSettings",
    "SupportSolution",
    "first_steps",
    "support_path",
    "support_vectors",
]

Places = NDArray[np.intp]
Move = Callable[["SupportProblem", "SupportSolution"], "SupportSolution"]

ALL_AT_ONCE = 2048
"""Rows up to which the whole matrix of the kernel is found first."""

STILL_ALL = 0.7
"""Share of the multipliers that must move for all to be kept in sight."""

SHARE_OF_GAP = 0.1
"""Violation, as a share of that at the start of a round, at which others may join in."""

STRETCHES = 80
"""Stretches of rows at most, each of which lends two entries."""

FEW_STEPS = 16
"""Pairs that are moved before the gradient of all rows is brought up to date."""

NARROW = 2e-5
"""Tolerance, as a share of the largest outcome, below which float32 is not tried."""

MODERATE = 1e12
"""Values of a kernel up to which, and above one over which, float32 is tried."""

ROUGH_EXPONENT = 0.01
"""Rounding error of the exponent of a kernel from which float32 is not tried."""

GROWN = 3.0
"""Rounding errors of sums, in those of one sum anew, up to which there is no need for one."""

NARROW_ROUNDS = 3
"""Times that steps in float32 may start from an exact gradient before float64 takes over."""

CAUTION = 0.9
"""Share of the tolerance that float32 must reach, so that rounding does not undo it."""

MANY_ROWS = 2_000
"""Rows from which a linear kernel is left to coordinate descent."""

MOST_ROUNDS, SMALL_ROUNDS = 1_000, 10
"""Times that steps begin from an exact gradient: of all multipliers, of a part of them."""

MOST_ACTIVE = 1_000
"""Multipliers that are moved while the others of a large linear problem are held."""

PATIENCE = 100
"""Steps for each row, in float32 or before an interior point method is tried."""

INTERIOR_WORK = 1e10
"""Rows times squared columns up to which an interior point method is tried."""

SHARE_OF_TOLERANCE, SHARE_OF_ERROR = 0.5, 0.01
"""Parts of the tolerance for that method, and for what its factor of the kernel leaves out."""

REFINEMENTS = 3
"""Times that the multipliers between their limits are solved for anew after that method."""

INTERIOR_PASSES = 30
"""Passes of coordinate descent for each column that cost as much as that method."""

MOST_PASSES = 5_000
"""Passes of coordinate descent at most."""

ROUGH = 0.03
"""Violation, as a share of the largest outcome, from which pairs are quicker than passes."""

HOT_BYTES = 1 << 25
"""Memory for rows that are found as quickly as they are read from far away."""

MODEST_BYTES = 1 << 26
"""Memory that is taken without a look at how much there is."""

FLAT = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-12}
"""Curvature of a pair, as a share of the mean diagonal, that rounding leaves unknown."""

FIRST_HARD, HARDER = 10.0, 10.0
"""Limit of multipliers, times the mean variance of the rows, that a hard margin starts with."""

SMALLEST_MARGIN = 1e-5
"""Margin, as a share of the spread of the rows, below which classes count as overlapping."""


class Inseparable(ValueError):
    """Classes that no function of a kernel parts, though a hard margin was asked for."""


@dataclass(frozen=True, eq=False)
class SupportProblem:
    """What is maximized over signed multipliers.

    Attributes
    ----------
    kernel, x
        The kernel and its inputs, shape (n, d).
    outcome
        Classes coded -1 and 1, or numbers, shape (n,).
    low, high
        Limits of the multipliers; infinite for a hard margin.
    epsilon
        Deviation that costs nothing; 0 for classes.
    """

    kernel: Kernel
    x: Array
    outcome: Array
    low: Array
    high: Array
    epsilon: float = 0.0

    @classmethod
    def of_classes(cls, kernel: Kernel, x: Array, sign: Array, cost: Array) -> SupportProblem:
        """Return the soft margin of classes -1 and 1, a cost of slack for each row."""
        signed = sign * cost
        return cls(kernel, x, sign, np.minimum(signed, 0.0), np.maximum(signed, 0.0))

    @classmethod
    def of_numbers(
        cls, kernel: Kernel, x: Array, y: Array, cost: Array, epsilon: float
    ) -> SupportProblem:
        """Return the problem of deviations beyond ``epsilon``, with a cost for each row."""
        return cls(kernel, x, y, -cost, cost, epsilon)

    def with_limits(self, factor: float) -> SupportProblem:
        """Return the problem with all costs multiplied."""
        return replace(self, low=factor * self.low, high=factor * self.high)


@dataclass(frozen=True)
class SupportSettings:
    """How a problem is solved.

    Attributes
    ----------
    tolerance
        Largest violation of the optimality (KKT) conditions, in units of the outcome.
    n_bytes
        Memory for rows of the kernel; fewer if the system has less to spare.
    max_steps
        Pairs of multipliers that are moved at most.
    """

    tolerance: float = 1e-3
    n_bytes: float = USUAL_BYTES
    max_steps: int = 20_000_000


@dataclass(frozen=True, eq=False)
class SupportSolution:
    """Multipliers, and what float64 says about how good they are.

    Attributes
    ----------
    dual
        Signed multipliers, shape (n,); they add up to zero.
    score
        ``K b``, shape (n,); with the intercept, the decision values of the rows. Those of rows
        on which nothing else here depends may have the digits of float32 only.
    intercept
        Mean over the rows whose multiplier is free, or the middle of what is possible.
    squared_norm
        ``b.K b``, which is ``|w|^2``.
    dual_objective, primal_objective
        Between them lies the optimum.
    residual
        Largest violation of the optimality conditions by a pair of rows; 0 at the optimum.
    n_steps
        Pairs moved, or passes of coordinate descent and pairs.
    method
        "pairs" or "coordinates".
    """

    dual: Annotated[Array, Form("n")]
    score: Annotated[Array, Form("n")]
    intercept: float
    squared_norm: float
    dual_objective: float
    primal_objective: float
    residual: float
    n_steps: int
    method: str
    status: Status

    @property
    def duality_gap(self) -> float:
        """How far the dual objective can be below its largest value."""
        return self.primal_objective - self.dual_objective

    @property
    def support(self) -> Places:
        """Rows whose multiplier is not zero."""
        return np.flatnonzero(self.dual)

    def scaled(self, unit: float) -> SupportSolution:
        """Return the solution in other units of the outcomes, limits being in these too."""
        return replace(
            self,
            dual=self.dual * unit,
            score=self.score * unit,
            intercept=self.intercept * unit,
            squared_norm=self.squared_norm * unit**2,
            dual_objective=self.dual_objective * unit**2,
            primal_objective=self.primal_objective * unit**2,
            residual=self.residual * unit,
        )

    @property
    def margin(self) -> float:
        """Distance ``1 / |w|`` between the boundary and scores of -1 and 1."""
        return 1.0 / self.squared_norm**0.5 if self.squared_norm > 0 else np.inf


def support_vectors(
    problem: SupportProblem,
    settings: SupportSettings | None = None,
    start: SupportSolution | None = None,
) -> SupportSolution:
    """Return the multipliers of the largest dual objective.

    Parameters
    ----------
    start
        A solution for the same rows, perhaps with other limits, to start from.

    Raises
    ------
    NotPositiveDefinite
        If steps met a direction along which the matrix of the kernel is negative.
    Inseparable
        If limits are infinite and no function of the kernel parts the classes.

    Examples
    --------
    >>> from credo.features import Linear
    >>> x, sign = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    >>> problem = SupportProblem.of_classes(Linear(), x, sign, np.full(4, 10.0))
    >>> found = support_vectors(problem)
    >>> found.dual.round(6), round(found.intercept, 6)
    (array([ 0. , -0.5,  0.5,  0. ]), -2.0)
    """
    return _Climb(problem, settings or SupportSettings()).solution(problem, start)


def support_path(
    problem: SupportProblem, factors: Sequence[float], settings: SupportSettings | None = None
) -> list[SupportSolution]:
    """Return solutions with all limits multiplied by each factor, each started from the last.

    Rows of the kernel are evaluated once for all of them.

    Examples
    --------
    >>> from credo.features import Linear
    >>> x, sign = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    >>> problem = SupportProblem.of_classes(Linear(), x, sign, np.ones(4))
    >>> [round(s.dual_objective, 6) for s in support_path(problem, [0.1, 0.3, 1.0])]
    [0.225, 0.42, 0.5]
    """
    climb = _Climb(problem, settings or SupportSettings())
    found: list[SupportSolution] = []
    for factor in factors:
        found.append(climb.solution(problem.with_limits(factor), found[-1] if found else None))
    return found


def first_steps(
    values: GaussianValues,
    dual: Array,
    limits: tuple[Array, Array, float],
    gradient: NDArray[np.float32],
    flat: float,
    goal: tuple[float, int],
) -> tuple[int, float]:
    """Move multipliers until few of them are left to move.

    It ends at the latest when as many were moved as there are rows, some of them twice.

    Parameters
    ----------
    dual, gradient
        Multipliers and ``y - K b`` of all rows, changed in place.
    limits
        The least and the most that multipliers can be, and what one costs.
    flat
        Curvature below which a pair counts as flat.
    goal
        Violation that is good enough, and the number of multipliers that are few.

    Returns
    -------
    n_steps, error
        Pairs that were moved, and how far off rounding can have left the gradient.
    """
    low, high, kink = limits
    loop, n, left = loops(), len(dual), values.narrow_rows
    sums = np.zeros((3, padded_size(n)), dtype=np.float32)
    sums[0, :n], sums[1], sums[2] = gradient, -1e30, 1e30
    own, up, down = sums.reshape(3, -1, BLOCK)
    loop.set_offsets(dual, low, high, kink, up, down)
    span = -(-own.shape[0] // STRETCHES)
    some = np.empty(2 * STRETCHES, dtype=np.intp)
    places, change, everywhere = np.empty_like(some), np.empty(len(some)), np.arange(n)
    n_steps, n_all, error = 0, 0, 0.0
    while n_all < n:
        n_chosen, gap, n_active = loop.violators(own, up, down, span, some)
        if gap <= goal[0] or n_active <= goal[1]:
            break
        n_moved, more = loop.few_steps(
            some[:n_chosen], left, values.variance, dual, low, high, kink, own, up, down, flat,
            SHARE_OF_GAP * gap, FEW_STEPS, places, change,
        )  # fmt: skip
        if not n_moved:
            break
        moved = change[:n_moved]
        sums[0, :n] -= values.moves(everywhere, places[:n_moved], moved, np.float32)
        error += values.moves_error(moved) + _narrow_rounding(sums[0])
        n_steps, n_all = n_steps + more, n_all + n_moved
    gradient[:] = sums[0, :n]
    return n_steps, error


def _narrow_rounding(numbers: NDArray[Any]) -> float:
    """Return the most by which rounding to float32 changes one of some numbers."""
    return float(UNIT * max(numbers.max(), -numbers.min()))


@dataclass(frozen=True, eq=False)
class _Standing:
    """Where a climb stands; its arrays are changed in place.

    Attributes
    ----------
    dual, gradient
        Multipliers, and ``y - K b`` of all rows less one number, in one precision.
    error
        How far off the gradient of each row may be, where that is known; of use in float32.
    """

    dual: Array
    gradient: NDArray[Any]
    error: Array


class _Climb:
    """Solves problems that differ in their limits alone, with rows of the kernel in common."""

    def __init__(self, problem: SupportProblem, settings: SupportSettings) -> None:
        self._settings = settings
        self._values: KernelValues = kernel_values(problem.kernel, problem.x)
        diagonal = np.abs(self._values.diagonal)
        self._level = float(diagonal.sum()) / max(len(diagonal), 1) or 1.0
        self._size = float(np.abs(problem.outcome).max(initial=0.0)) or 1.0
        self._cache: RowCache | None = None

    @property
    def _fits_float32(self) -> bool:
        """Whether values are in its range, and rows so close that distances have digits."""
        values = self._values
        error = values.exponent_error if isinstance(values, GaussianValues) else 0.0
        return error < ROUGH_EXPONENT and 1.0 / MODERATE < self._level < MODERATE

    def solution(
        self, problem: SupportProblem, start: SupportSolution | None
    ) -> SupportSolution:
        """Return the certified solution of one problem."""
        with threads_for(0):
            if np.isinf(problem.high).any():
                return self._hard(problem)
            return self._soft(problem, _placed(problem, start))

    def _soft(
        self, problem: SupportProblem, start: SupportSolution, is_hard: bool = False
    ) -> SupportSolution:
        found = start
        if start.dual.any() and start.residual <= self._settings.tolerance:
            score = self._values.own_sums(start.dual)
            found = _certified(problem, start.dual, score, 0, start.method, start.status)
        for move, n_rounds in self._stages(len(problem.x)):
            for _ in range(n_rounds):
                if found.residual <= self._settings.tolerance:
                    return replace(found, status=Status.CONVERGED)
                before = found
                found = move(problem, found)
                if found.n_steps >= self._settings.max_steps:
                    return replace(found, status=Status.MAX_STEPS)
                if is_hard and self._overlaps(found):
                    return found
                is_out = found.status is Status.MAX_STEPS
                if is_out or not found.dual_objective > before.dual_objective:
                    break
        is_good = found.residual <= self._settings.tolerance
        return replace(found, status=Status.CONVERGED if is_good else Status.STUCK)

    def _stages(self, n: int) -> list[tuple[Move, int]]:
        """Return ways to a better solution, in order, and how often each is tried at most."""
        is_linear = isinstance(self._values, LinearValues) and n >= MANY_ROWS
        stages: list[tuple[Move, int]] = []
        if is_linear:
            stages = [(self._by_coordinates, 1), (self._by_part, SMALL_ROUNDS)]
        elif self._settings.tolerance > NARROW * self._size and self._fits_float32:
            stages = [(self._by_narrow_pairs, NARROW_ROUNDS)]
        if self._has_factor:
            few: list[tuple[Move, int]] = [] if is_linear else [(self._by_few_pairs, 1)]
            return [*stages, *few, (self._by_interior_point, 1), (self._by_few_pairs, 2)]
        return [*stages, (self._by_pairs, MOST_ROUNDS)]

    def _hard(self, problem: SupportProblem) -> SupportSolution:
        """Raise the limits until no multiplier is at one: then it is as if there were none."""
        limit = FIRST_HARD / self._level
        found = None
        while True:
            high = np.where(problem.high > 0, limit, 0.0)
            low = np.where(problem.low < 0, -limit, 0.0)
            soft = replace(problem, low=low, high=high)
            found = self._soft(soft, _placed(soft, found), is_hard=True)
            if np.abs(found.dual).max() < limit:
                return found
            if self._overlaps(found) or found.status is Status.MAX_STEPS:
                return self._decided(soft, found)
            limit *= HARDER

    def _decided(self, problem: SupportProblem, found: SupportSolution) -> SupportSolution:
        """Return the hard margin of a quadratic program, which settles whether there is one.

        Without a program of moderate size, a margin that is next to nothing counts as none.
        """
        if not self._has_factor:
            if not self._overlaps(found):
                return replace(found, status=Status.MAX_STEPS)
            raise Inseparable(self._overlap_text(problem, found))
        factor, sign = self._factor(0.0), problem.outcome
        d = factor.shape[1]
        signed = -sign[:, None] * np.column_stack([factor, np.ones(len(factor))])
        program = QuadraticProgram(
            np.diag(np.append(np.ones(d), 0.0)),
            np.zeros(d + 1),
            inequalities=(signed, np.full(len(sign), -1.0)),
        )
        try:
            plane = program.minimum()
        except InfeasibleProgram:
            raise Inseparable(self._overlap_text(problem, found)) from None
        limit = 10.0 * max(float(plane.multipliers.inequality.max()), float(problem.high.max()))
        wide = replace(
            problem, low=np.minimum(limit * sign, 0.0), high=np.maximum(limit * sign, 0.0)
        )
        dual = balanced(sign * plane.multipliers.inequality, wide.low, wide.high)
        score, n_steps = self._values.own_sums(dual), found.n_steps + plane.n_steps
        hard = _certified(wide, dual, score, n_steps, found.method, Status.CONVERGED)
        if hard.residual > self._settings.tolerance:
            hard = replace(self._by_few_pairs(wide, hard), status=Status.STUCK)
        if np.any(sign * (hard.score + hard.intercept) <= 0.0):
            margin = 1.0 / (float(np.square(plane.x[:-1]).sum()) ** 0.5 or np.inf)
            raise Inseparable(
                "classes must be apart by more than rounding for a hard margin, C=inf; found a "
                f"margin of {margin:.3g} between rows that spread by {self._level**0.5:.3g}. "
                "Standardize the columns, or pass a finite C, such as C=10."
            )
        is_good = hard.residual <= self._settings.tolerance
        return replace(hard, status=Status.CONVERGED) if is_good else hard

    @property
    def _has_factor(self) -> bool:
        """Whether the kernel is a product of matrices that are small enough for other ways."""
        n = len(self._values.diagonal)
        width = n
        if isinstance(self._values, LinearValues):
            width = min(n, self._values.centered.shape[1])
        return n * float(width) ** 2 <= INTERIOR_WORK and (width < n or n <= ALL_AT_ONCE)

    def _factor(self, error: float) -> Array:
        """Return F with ``F F'`` the kernel, but for a constant in each row and column."""
        values, n = self._values, len(self._values.diagonal)
        if isinstance(values, LinearValues) and values.centered.shape[1] <= n:
            return values.centered
        matrix, places = np.empty((n, n)), np.arange(n)
        values.rows(places, matrix, places)
        factor = narrow_factor(matrix, error)
        return np.asarray(factor - factor.mean(axis=0))

    def _by_interior_point(
        self, problem: SupportProblem, start: SupportSolution
    ) -> SupportSolution:
        """Return the solution of an interior point method, or the start if that is better."""
        tolerance = self._settings.tolerance
        size = float((problem.high - problem.low).sum()) or 1.0
        factor = self._factor(SHARE_OF_ERROR * tolerance / size)
        with threads_for(len(factor) * factor.shape[1] ** 2):
            dual, more = interior_multipliers(
                factor, problem.outcome, problem.low, problem.high, problem.epsilon,
                SHARE_OF_TOLERANCE * tolerance,
            )  # fmt: skip
        score = self._values.own_sums(dual)
        n_steps = start.n_steps + more
        found = _certified(problem, dual, score, n_steps, start.method, Status.CONVERGED)
        for _ in range(REFINEMENTS):
            if found.residual <= tolerance:
                break
            gradient = problem.outcome - found.score
            dual = sharpened(
                factor, found.dual, problem.low, problem.high, gradient, problem.epsilon
            )
            again = _certified(
                problem, dual, self._values.own_sums(dual), n_steps, start.method, found.status
            )
            found = min(found, again, key=lambda each: each.residual)
        return found if found.residual < start.residual else start

    def _overlaps(self, found: SupportSolution) -> bool:
        """Whether the hulls of the classes, of which multipliers are a mixture, meet."""
        total = 0.5 * float(np.abs(found.dual).sum())
        distance = max(found.squared_norm, 0.0) ** 0.5 / total if total else np.inf
        return bool(0.5 * distance < SMALLEST_MARGIN * self._level**0.5)

    def _overlap_text(self, problem: SupportProblem, found: SupportSolution) -> str:
        margin = problem.outcome * (found.score + found.intercept)
        slack = np.maximum(1.0 - margin, 0.0)
        wrong = int(np.count_nonzero(margin <= 0.0))
        return (
            "classes must be separable by the kernel for a hard margin, C=inf; found an "
            f"overlap: a total slack of {slack.sum():.3g} is the smallest that was reached, "
            f"with {wrong} of {len(margin)} distinct rows on the wrong side. Pass a finite C, "
            "such as C=10, or a kernel that bends more."
        )

    def _by_pairs(self, problem: SupportProblem, start: SupportSolution) -> SupportSolution:
        return self._moved(problem, start, False, self._settings.max_steps)

    def _by_few_pairs(self, problem: SupportProblem, start: SupportSolution) -> SupportSolution:
        return self._moved(problem, start, False, self._patience(start, len(problem.x)))

    def _by_narrow_pairs(
        self, problem: SupportProblem, start: SupportSolution
    ) -> SupportSolution:
        return self._moved(problem, start, True, self._patience(start, len(problem.x)))

    def _patience(self, start: SupportSolution, n: int) -> int:
        """Return the number of steps after which a round of n rows is to end."""
        return min(start.n_steps + PATIENCE * n, self._settings.max_steps)

    def _moved(
        self, problem: SupportProblem, start: SupportSolution, is_narrow: bool, most: int
    ) -> SupportSolution:
        """Return the solution after steps in one precision, evaluated anew in float64.

        No more steps than ``most`` are taken, those of the start included.
        """
        dual = start.dual.copy()
        exact = problem.outcome - start.score
        # Only differences count, and small numbers have more digits.
        middle = float(exact.mean())
        gradient = (exact - middle).astype(np.float32 if is_narrow else np.float64)
        # Scores of other multipliers may be rough themselves, by how much is not known.
        rounding = np.inf if start.dual.any() else _narrow_rounding(gradient)
        here = _Standing(dual, gradient, np.full(len(dual), rounding))
        status, n_steps = self._climbed(problem, here, start.n_steps, most)
        values = self._values
        is_large = len(dual) > ALL_AT_ONCE
        if is_narrow and is_large and isinstance(values, GaussianValues):
            near = problem.outcome - middle - gradient.astype(np.float64)
            score = _telling_score(problem, dual, values, near, here.error)
            found = _certified(problem, dual, score, n_steps, start.method, status)
            if found.residual <= self._settings.tolerance:
                return found
        return _certified(problem, dual, values.own_sums(dual), n_steps, start.method, status)

    def _climbed(
        self, problem: SupportProblem, here: _Standing, n_steps: int, most: int
    ) -> tuple[Status, int]:
        """Move multipliers until float32, or float64, sees no more to gain.

        Multipliers at a limit that gain nothing by leaving it are left out, round by round.
        Returns why it ended, and the steps, those before included.
        """
        dual, gradient, n = here.dual, here.gradient, len(here.dual)
        is_narrow = gradient.dtype == np.float32
        tolerance = self._settings.tolerance * (CAUTION if is_narrow else 1.0)
        active = np.arange(n)
        if n <= ALL_AT_ONCE or isinstance(self._values, LinearValues):
            every = self._rows(n, gradient.dtype)
            status, more = self._round(problem, every, active, here, tolerance, most - n_steps)
            return status, n_steps + more
        if is_narrow and isinstance(self._values, GaussianValues):
            n_first, rounding = first_steps(
                self._values, dual, (problem.low, problem.high, problem.epsilon), gradient,
                FLAT[gradient.dtype] * self._level, (tolerance, ALL_AT_ONCE),
            )  # fmt: skip
            n_steps, here.error[:] = n_steps + n_first, here.error + rounding
        held: RowCache | None = None
        while True:
            rise, fall = _ends(problem, dual, gradient)
            gap = float(rise.max() - fall.min())
            if gap <= tolerance:
                return Status.CONVERGED, n_steps
            moving = np.flatnonzero((rise > fall.min()) | (fall < rise.max()))
            if held is None or not _keeps(active, moving):
                active, held = moving, None
                held = self._new_rows(self._values.part(active), gradient.dtype)
            is_whole = len(active) <= ALL_AT_ONCE
            goal = tolerance if is_whole else max(tolerance, SHARE_OF_GAP * gap)
            status, more = self._round(problem, held, active, here, goal, most - n_steps)
            n_steps += more
            if status is Status.MAX_STEPS or not more:
                return status, n_steps

    def _round(
        self,
        problem: SupportProblem,
        held: RowCache,
        active: Places,
        here: _Standing,
        goal: float,
        most: int,
    ) -> tuple[Status, int]:
        """Move some multipliers, and bring the gradient of all up to date."""
        dual, gradient, error = here.dual, here.gradient, here.error
        own = dual[active]
        part = replace(
            problem, x=problem.x[:0], outcome=problem.outcome[:0], low=problem.low[active],
            high=problem.high[active],
        )  # fmt: skip
        sums = np.zeros((4, held.width), dtype=gradient.dtype)
        sums[0, : len(own)] = gradient[active]
        sums[1], sums[2] = -1e30, 1e30
        sums[3, : len(own)] = held.diagonal
        ended = self._steps(part, held, own, sums.reshape(4, -1, BLOCK), goal, most)
        change, values = own - dual[active], self._values
        is_moved = change != 0.0
        # Few and quick sums leave the gradient of unused rows with a small error that is known.
        is_known = isinstance(values, GaussianValues) and len(active) < len(dual)
        stays = own != 0.0 if is_known else np.ones(len(own), dtype=np.bool_)
        rest = np.ones(len(dual), dtype=np.bool_)
        rest[active[stays]] = False
        if rest.any() and is_moved.any():
            moved, others = change[is_moved], np.flatnonzero(rest)
            gradient[others] -= values.moves(others, active[is_moved], moved, gradient.dtype)
            if isinstance(values, GaussianValues):
                error[others] += values.moves_error(moved) + _narrow_rounding(gradient)
        gradient[active[stays]], error[active[stays]] = sums[0, : len(own)][stays], np.inf
        dual[active] = own
        return ended

    def _by_part(self, problem: SupportProblem, start: SupportSolution) -> SupportSolution:
        """Return the solution with all but some multipliers held, which is soon found.

        What the others add to scores is taken off the outcomes.
        """
        active = _active(problem, start)
        most = self._settings.max_steps
        if self._has_factor:
            most = self._patience(start, len(active))
        dual, x = start.dual.copy(), problem.x[active]
        values = kernel_values(problem.kernel, x)
        part = SupportProblem(
            problem.kernel, x, (problem.outcome - start.score)[active] + values.own_sums(
                dual[active]), problem.low[active], problem.high[active], problem.epsilon,
        )  # fmt: skip
        inner = replace(start, dual=dual[active], score=values.own_sums(dual[active]))
        found = _Climb(part, self._settings)._moved(part, inner, False, most)
        dual[active] = found.dual
        score = self._values.own_sums(dual)
        return _certified(problem, dual, score, found.n_steps, start.method, found.status)

    def _steps(
        self,
        problem: SupportProblem,
        held: RowCache,
        dual: Array,
        sums: NDArray[Any],
        goal: float,
        most: int,
    ) -> tuple[Status, int]:
        """Move pairs of multipliers until the largest violation is at the goal."""
        loop = loops()
        flat = FLAT[sums.dtype] * self._level
        gradient, up, down, diagonal = sums
        loop.set_offsets(dual, problem.low, problem.high, problem.epsilon, up, down)
        n_steps, most = 0, max(most, 0)
        while True:
            ended, row, more = loop.climb(
                held.rows, held.slot, held.present, held.tick, dual, problem.low, problem.high,
                problem.epsilon, gradient, up, down, diagonal, flat, goal, most - n_steps,
            )  # fmt: skip
            n_steps += more
            if ended == loop.BOTH_SETTLED:
                return Status.CONVERGED, n_steps
            if ended == loop.OUT_OF_STEPS:
                return Status.MAX_STEPS, n_steps
            if ended == loop.NOT_CONVEX:
                raise NotPositiveDefinite(_NOT_CONVEX)
            chosen = np.empty(min(held.at_once, held.n_slots // 2), dtype=np.intp)
            n_chosen = loop.wanted_rows(held.present, gradient, up, down, row, chosen)
            held.add(chosen[:n_chosen])

    def _rows(self, n: int, dtype: np.dtype[Any]) -> RowCache:
        """Return all rows of the kernel kept so far, or new ones in another precision."""
        if self._cache is None or self._cache.rows.dtype != dtype:
            self._cache = None
            self._cache = self._new_rows(self._values, dtype)
        return self._cache

    def _new_rows(self, values: KernelValues, dtype: np.dtype[Any]) -> RowCache:
        """Return room for rows of the kernel, all of them known if they are few."""
        n, n_bytes = len(values.diagonal), self._settings.n_bytes
        if isinstance(values, GaussianValues):
            n_bytes = min(n_bytes, HOT_BYTES)
        if min(n_bytes, 8.0 * n * n) > MODEST_BYTES:
            n_bytes = min(n_bytes, 0.5 * spare_bytes())
        held = RowCache(values, dtype, n_bytes)
        held.add(np.arange(n if n <= min(ALL_AT_ONCE, held.n_slots) else 1))
        return held

    def _by_coordinates(
        self, problem: SupportProblem, start: SupportSolution
    ) -> SupportSolution:
        """Return the solution by dual coordinate descent, evaluated anew."""
        values = self._values
        assert isinstance(values, LinearValues)
        tolerance = max(ROUGH * self._size, 0.5 * self._settings.tolerance)
        passes = MOST_PASSES
        if self._has_factor:
            passes = min(passes, INTERIOR_PASSES * values.centered.shape[1])
        dual, n_passes = _coordinate_descent(values.centered, problem, start, tolerance, passes)
        return _certified(
            problem, dual, values.own_sums(dual), n_passes, "coordinates", Status.CONVERGED
        )


_NOT_CONVEX = (
    "a kernel must be positive semidefinite; found two rows with k(x, x) + k(z, z) - 2 k(x, z) "
    "below zero. Use a sum or product of kernels of credo.features, which are all valid, or "
    "check the formula."
)


def _placed(problem: SupportProblem, start: SupportSolution | None) -> SupportSolution:
    """Return where to start: at zero, or at multipliers brought within the limits.

    All are multiplied by the best number that the limits allow, so that they still add up to
    zero and scores are known.
    """
    n = len(problem.outcome)
    if start is None:
        return _certified(problem, np.zeros(n), np.zeros(n), 0, "pairs", Status.STUCK)
    limit = np.where(start.dual > 0, problem.high, -problem.low)
    size = np.abs(start.dual)
    used = size > 0
    room = float((limit[used] / size[used]).min(initial=np.inf))
    pull = float(problem.outcome @ start.dual - problem.epsilon * size.sum())
    best = pull / start.squared_norm if start.squared_norm > 0 else 1.0
    factor = max(min(room, best), 0.0)
    dual = np.clip(factor * start.dual, problem.low, problem.high)
    return _certified(problem, dual, factor * start.score, 0, "pairs", Status.STUCK)


def _certified(
    problem: SupportProblem,
    dual: Array,
    score: Array,
    n_steps: int,
    method: str,
    status: Status,
) -> SupportSolution:
    """Return multipliers with intercept, objectives and residual from scores in float64."""
    gradient, kink = problem.outcome - score, problem.epsilon
    rise, fall, intercept = balance(dual, problem.low, problem.high, gradient, kink)
    away = gradient - intercept
    squared = float(dual @ score)
    if squared < -1e-8 * float(np.abs(dual) @ np.abs(score)):
        raise NotPositiveDefinite(_NOT_CONVEX)
    loss = problem.high * np.maximum(away - kink, 0.0)
    loss = loss - problem.low * np.maximum(-away - kink, 0.0)
    value = float(problem.outcome @ dual - kink * np.abs(dual).sum())
    return SupportSolution(
        dual=dual,
        score=score,
        intercept=float(intercept),
        squared_norm=max(squared, 0.0),
        dual_objective=value - 0.5 * squared,
        primal_objective=0.5 * squared + float(loss.sum()),
        residual=max(float(rise - fall), 0.0),
        n_steps=n_steps,
        method=method,
        status=status,
    )


def _telling_score(
    problem: SupportProblem, dual: Array, values: GaussianValues, near: Array, error: Array
) -> Array:
    """Return sums in float64 for all rows on which a certificate depends.

    A row without a multiplier whose sum is known so well that whatever it is, objectives,
    intercept and residual are the same, keeps what is known.

    Parameters
    ----------
    near, error
        Sums that are known, and how far off each is at most.
    """
    used, is_exact = np.flatnonzero(dual), dual != 0.0
    weight, kink, score = dual[used], problem.epsilon, near.copy()
    score[used] = values.mirrored_sums(used, weight)
    error_anew = values.moves_error(weight)
    vague = np.flatnonzero((error > GROWN * error_anew) & ~is_exact)
    score[vague] = values.moves(vague, used, weight, np.float32)
    error = np.where(error > GROWN * error_anew, error_anew, error)
    while True:
        rise, fall, intercept = balance(
            dual[is_exact], problem.low[is_exact], problem.high[is_exact],
            (problem.outcome - score)[is_exact], kink,
        )  # fmt: skip
        gradient = problem.outcome - score
        rises = gradient - kink + error > min(rise, intercept)
        falls = gradient + kink - error < max(fall, intercept)
        in_doubt = (rises & (problem.high > 0)) | (falls & (problem.low < 0))
        more = np.flatnonzero(in_doubt & ~is_exact)
        if not len(more):
            return score
        score[more] = values.sums_at(more, used, weight)
        is_exact[more] = True


def _ends(
    problem: SupportProblem, dual: Array, gradient: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return what each multiplier gains by rising, and loses by falling."""
    kink = gradient.dtype.type(problem.epsilon)
    rise = gradient + np.where(dual < 0, kink, -kink)
    fall = gradient + np.where(dual > 0, -kink, kink)
    rise[dual >= problem.high] = -1e30
    fall[dual <= problem.low] = 1e30
    return rise, fall


def _keeps(active: Places, moving: Places) -> bool:
    """Whether rows for the multipliers that moved so far are still the right ones."""
    if len(moving) < STILL_ALL * len(active):
        return False
    return len(np.intersect1d(active, moving, assume_unique=True)) == len(moving)


def _active(problem: SupportProblem, found: SupportSolution) -> Places:
    """Return the multipliers that violate the conditions, or come closest to it."""
    away = problem.outcome - found.score - found.intercept
    kink, dual = problem.epsilon, found.dual
    rise = np.where(dual < problem.high, away + np.where(dual < 0, kink, -kink), -np.inf)
    fall = np.where(dual > problem.low, -away + np.where(dual > 0, kink, -kink), -np.inf)
    urgency = np.maximum(rise, fall)
    if len(dual) <= MOST_ACTIVE:
        return np.arange(len(dual))
    return np.sort(np.argpartition(urgency, -MOST_ACTIVE)[-MOST_ACTIVE:])


def _coordinate_descent(
    x: Array, problem: SupportProblem, start: SupportSolution, tolerance: float, most: int
) -> tuple[Array, int]:
    """Return multipliers of a linear kernel of centered rows, and the passes it took.

    The sum of multipliers is zero at the optimum and weighed by the intercept on the way, which
    grows by ``strength`` times the sum: the method of multipliers.
    """
    n = len(x)
    dual = start.dual.copy()
    squares = np.square(x).sum(axis=1)
    strength = float(squares.mean()) or 1.0
    weight = x.T @ dual
    level = np.array([start.intercept])
    order = np.arange(n)
    inner, n_passes = 1.0, 0
    while n_passes < most:
        n_left, ends = n, np.array([np.inf, -np.inf])
        while n_passes < most:
            n_passes += 1
            n_left = loops().visit_rows(
                x, squares + strength, problem.outcome, dual, problem.low, problem.high,
                problem.epsilon, weight, level, strength, order, n_left, ends, n_passes,
            )  # fmt: skip
            if ends[0] - ends[1] > inner and n_left:
                ends = np.array([ends[0] or np.inf, ends[1] or -np.inf])
                continue
            if n_left == n:
                break
            n_left, ends = n, np.array([np.inf, -np.inf])
        shift = strength * float(dual.sum())
        level += shift
        if abs(shift) <= tolerance and inner <= tolerance:
            break
        inner = max(0.3 * min(inner, max(abs(shift), tolerance)), tolerance)
    return balanced(dual, problem.low, problem.high), n_passes
