"""Interior point method for support vectors: a solution whatever C and the units of columns.

The kernel is a matrix of products ``F F'`` of few columns: inputs of a linear kernel, or a
Cholesky factor with pivots of any other, which is narrow where the kernel is smooth. With the
signed multiplier written ``b = p - q``, both parts between zero and a limit, a Newton step of
Mehrotra's method for all conditions at once is one least squares problem in the weights
``F' b`` and the intercept, weighted by how free each row is [ferris2002]_: n r^2 operations,
ten to forty times. Pairs of multipliers take ever more steps where the kernel is nearly
singular and C is large; this does not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpstrf

from credo.numerics.array import Array, as_float
from credo.numerics.linear.linear_algebra import cholesky

__all__ = ["balance", "balanced", "interior_multipliers", "narrow_factor"]

MAX_STEPS = 100
SHORT_OF_BORDER = 0.995
"""Share of the way to the border that a step may go."""

NO_PROGRESS = 30
"""Steps without a better answer after which no more are taken."""

ROUNDED = 1e-15
"""Pivot, as a share of the largest, below which what is left of a matrix is rounding."""


def narrow_factor(matrix: Array, error: float = 0.0) -> Array:
    """Return F, shape (n, r), with ``F F'`` equal to a semidefinite matrix up to an error.

    Examples
    --------
    >>> narrow_factor(np.ones((3, 3)))
    array([[1.],
           [1.],
           [1.]])
    """
    largest = float(np.diagonal(matrix).max(initial=0.0))
    tolerance = max(error, ROUNDED * largest)
    packed, pivots, rank, _ = dpstrf(matrix, lower=1, tol=tolerance)
    factor = np.empty((len(matrix), rank))
    factor[pivots - 1] = np.tril(packed)[:, :rank]
    return factor


@dataclass(frozen=True, eq=False)
class _Parts:
    """Positive and negative parts of the multipliers that may move, in units of the problem.

    Attributes
    ----------
    row, sign, limit
        Which multiplier each is a part of, 1 or -1, and its largest value, shape (m,).
    """

    row: NDArray[np.intp]
    sign: Array
    limit: Array

    @classmethod
    def of(cls, low: Array, high: Array) -> _Parts:
        """Return the parts that have room."""
        up, down = np.flatnonzero(high > 0), np.flatnonzero(low < 0)
        sign = np.repeat([1.0, -1.0], [len(up), len(down)])
        return cls(np.append(up, down), sign, np.append(high[up], -low[down]))

    def summed(self, value: Array, n: int) -> Array:
        """Return for each multiplier the sum over its parts of a value times their sign."""
        return as_float(np.bincount(self.row, self.sign * value, n))


def interior_multipliers(
    factor: Array, outcome: Array, low: Array, high: Array, epsilon: float, tolerance: float
) -> tuple[Array, int]:
    """Return signed multipliers close to the largest dual objective, and the steps taken.

    Parameters
    ----------
    factor
        F, shape (n, r), best with columns about their mean.
    outcome, low, high, epsilon
        As of a `SupportProblem`, with finite limits.
    tolerance
        Largest violation of the optimality conditions by a pair of rows.

    Examples
    --------
    >>> x, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    >>> limits = np.minimum(10 * y, 0), np.maximum(10 * y, 0)
    >>> interior_multipliers(x, y, *limits, 0.0, 1e-6)[0].round(6) + 0.0
    array([ 0. , -0.5,  0.5,  0. ])
    """
    n = len(outcome)
    length = _power_of_two((float(np.square(factor).sum()) / max(n, 1)) ** 0.5)
    size = _power_of_two(max(float(np.abs(outcome).max(initial=0.0)), epsilon))
    unit = size / length**2
    path = _Path(factor / length, outcome / size, low / unit, high / unit, epsilon / size)
    dual, n_steps = path.end(tolerance / size)
    found = np.where(dual >= high / unit, high, np.where(dual <= low / unit, low, dual * unit))
    return found, n_steps


def _power_of_two(size: float) -> float:
    """Return a unit near a size, by which numbers are divided without being rounded.

    What holds of an answer in such units holds of the answer, to the last digit.
    """
    return float(2.0 ** np.floor(np.log2(size))) if size > 0 else 1.0


class _Path:
    """The way to the optimum through the interior of the limits."""

    def __init__(
        self, columns: Array, outcome: Array, low: Array, high: Array, epsilon: float
    ) -> None:
        self._columns, self._outcome, self._epsilon = columns, outcome, epsilon
        self._design = np.column_stack([columns, np.ones(len(outcome))])
        self._low, self._high = low, high
        self._parts = _Parts.of(low, high)
        parts = self._parts
        self._level = 0.0
        self._value = 0.5 * parts.limit
        self._room = parts.limit - self._value
        self._weights = self._columns.T @ self._dual
        slope = parts.sign * (self._columns @ self._weights - outcome)[parts.row] + epsilon
        floor = 1.0 + float(np.abs(slope).mean())
        self._at_zero = np.maximum(slope, 0.0) + floor
        self._at_limit = np.maximum(-slope, 0.0) + floor

    def end(self, tolerance: float) -> tuple[Array, int]:
        """Return the best multipliers met, those at a limit put there, and the steps taken."""
        best, least, waited, n_steps = np.zeros(len(self._outcome)), np.inf, 0, 0
        while n_steps < MAX_STEPS and waited < NO_PROGRESS and least > tolerance:
            if not self._step():
                break
            n_steps += 1
            dual = self._settled()
            residual = self._residual(dual)
            waited += 1
            if residual < least:
                best, least, waited = dual, residual, 0
        return best, n_steps

    @property
    def _mean_product(self) -> float:
        total = self._value @ self._at_zero + self._room @ self._at_limit
        return float(total) / (2 * len(self._value))

    @property
    def _dual(self) -> Array:
        return self._parts.summed(self._value, len(self._outcome))

    def _settled(self) -> Array:
        """Return multipliers, put at zero or a limit where they are closer to it than usual.

        That is, closer in terms of a usual multiplier than the slack there, in terms of a usual
        one, is to zero.
        """
        usual = float(self._value.mean() / (self._at_zero + self._at_limit).mean())
        value = np.where(self._value < usual * self._at_zero, 0.0, self._value)
        value = np.where(self._room < usual * self._at_limit, self._parts.limit, value)
        dual = self._parts.summed(value, len(self._outcome))
        return balanced(np.clip(dual, self._low, self._high), self._low, self._high)

    def _residual(self, dual: Array) -> float:
        gradient = self._outcome - self._columns @ (self._columns.T @ dual)
        rise, fall, _ = balance(dual, self._low, self._high, gradient, self._epsilon)
        return max(rise - fall, 0.0)

    def _step(self) -> bool:
        """Take one predicted and corrected step; whether it was a step at all."""
        parts, dual = self._parts, self._dual
        value, room, at_zero, at_limit = self._value, self._room, self._at_zero, self._at_limit
        away = self._columns @ self._weights + self._level - self._outcome
        slope = parts.sign * away[parts.row] + self._epsilon - at_zero + at_limit
        newton = _Newton(self._design, parts, at_zero / value + at_limit / room)
        excess = self._design.T @ dual - np.append(self._weights, 0.0)
        mean = self._mean_product

        def direction(low: Array, high: Array) -> tuple[Array, ...]:
            change, moved = newton.solved(-slope - low / value + high / room, excess)
            by_zero = -(low + at_zero * change) / value
            by_limit = -(high - at_limit * change) / room
            return change, by_zero, by_limit, moved

        with np.errstate(all="ignore"):
            ahead = direction(value * at_zero, room * at_limit)
            length = self._longest(*ahead[:3])
            after = (value + length * ahead[0]) @ (at_zero + length * ahead[1])
            after += (room - length * ahead[0]) @ (at_limit + length * ahead[2])
            kept = mean * (float(after) / (2 * len(value)) / mean) ** 3
            change, by_zero, by_limit, turn = direction(
                value * at_zero + ahead[0] * ahead[1] - kept,
                room * at_limit - ahead[0] * ahead[2] - kept,
            )
        length = SHORT_OF_BORDER * self._longest(change, by_zero, by_limit)
        moved = (
            value + length * change,
            room - length * change,
            at_zero + length * by_zero,
            at_limit + length * by_limit,
        )
        if not (length > 0 and all(np.all(part > 0) for part in moved)):
            return False
        self._value, self._room, self._at_zero, self._at_limit = moved
        self._weights = self._weights + length * turn[:-1]
        self._level += length * float(turn[-1])
        return True

    def _longest(self, change: Array, by_zero: Array, by_limit: Array) -> float:
        """Return the longest step, at most 1, that stays inside."""
        pairs = (
            (self._value, change),
            (self._room, -change),
            (self._at_zero, by_zero),
            (self._at_limit, by_limit),
        )
        lengths = [(held[d < 0] / -d[d < 0]).min(initial=1.0) for held, d in pairs]
        return float(min(lengths))


class _Newton:
    """Newton's equations at one point, solved for any right side.

    With ``D`` for the sum over parts of one over the stiffness of each, the change of weights
    and intercept solves ``(Z' D Z + I) u = Z' h``, Z being the factor and a column of ones,
    whose own entry of ``I`` is zero.
    """

    def __init__(self, design: Array, parts: _Parts, stiffness: Array) -> None:
        self._design, self._parts, self._ease = design, parts, 1.0 / stiffness
        freedom = np.bincount(parts.row, self._ease, len(design))
        matrix = (design.T * freedom) @ design
        inner = np.arange(len(matrix) - 1)
        matrix[inner, inner] += 1.0
        self._scale = 1.0 / np.sqrt(np.diagonal(matrix))
        scaled = matrix * self._scale[:, None] * self._scale
        self._factor = cholesky(0.5 * (scaled + scaled.T), largest_jitter=1e-10)

    def solved(self, pull: Array, excess: Array) -> tuple[Array, Array]:
        """Return the changes of the parts, and of weights and intercept.

        ``excess`` is what rows times multipliers have more than the weights, and than zero.
        """
        parts = self._parts
        eased = self._ease * pull
        right = self._design.T @ parts.summed(eased, len(self._design)) + excess
        found = self._scale * self._factor.solve((self._scale * right)[:, None])[:, 0]
        score = self._design @ found
        return eased - self._ease * parts.sign * score[parts.row], found


def sharpened(
    factor: Array, dual: Array, low: Array, high: Array, gradient: Array, epsilon: float
) -> Array:
    """Return multipliers of which those between their limits are solved for anew.

    One step of refinement: what they leave of ``gradient``, outcomes less scores, is to be the
    same for all of them, the intercept, while their sum stays.
    """
    free = np.flatnonzero((dual > low) & (dual < high) & (dual != 0.0))
    rows = factor[free]
    level = float(np.square(rows).sum()) / max(len(free), 1) or 1.0
    system = np.ones((len(free) + 1, len(free) + 1))
    system[:-1, :-1] = (rows / level) @ rows.T
    system[-1, -1] = 0.0
    right = np.append((gradient - epsilon * np.sign(dual))[free] / level, 0.0)
    change = np.linalg.lstsq(system, right, rcond=None)[0][:-1]
    found = dual.copy()
    found[free] = np.clip(dual[free] + change, low[free], high[free])
    return balanced(found, low, high)


def balance(
    dual: Array, low: Array, high: Array, gradient: Array, kink: float
) -> tuple[float, float, float]:
    """Return the largest rise, the least fall, and the intercept that lies between them."""
    sign = np.sign(dual)
    can_rise, can_fall = dual < high, dual > low
    rise = (gradient - np.where(sign < 0, -kink, kink))[can_rise].max(initial=-np.inf)
    fall = (gradient - np.where(sign > 0, kink, -kink))[can_fall].min(initial=np.inf)
    is_free = can_rise & can_fall & (sign != 0)
    ends = min(rise, fall), max(rise, fall)
    known = [end for end in ends if np.isfinite(end)]
    intercept = sum(known) / max(len(known), 1)
    if is_free.any():
        intercept = np.clip((gradient - kink * sign)[is_free].mean(), *ends)
    return float(rise), float(fall), float(intercept)


def balanced(dual: Array, low: Array, high: Array) -> Array:
    """Return multipliers that add up to zero, moved by as little as there is too much."""
    for _ in range(10):
        excess = float(dual.sum())
        if excess == 0.0:
            break
        room = dual - low if excess > 0 else high - dual
        room = np.where((dual > low) & (dual < high) & (dual != 0.0), room, 0.0)
        if not room.any():
            room = dual - low if excess > 0 else high - dual
        share = min(abs(excess) / float(room.sum()), 1.0)
        dual = np.clip(dual - np.sign(excess) * share * room, low, high)
    return dual
