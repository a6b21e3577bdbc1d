"""Minima under constraints by Lagrange multipliers: stationary points, residuals and the dual.

A problem is to minimize ``f(x)`` where every ``g_i(x) = 0`` and every ``h_j(x) <= 0``. Its
Lagrangian ``L = f + sum_i u_i g_i + sum_j v_j h_j`` is a saddle in x and multipliers (u, v): no
search may minimize it over both. Where ``h >= 0`` or a minus sign is written elsewhere, change
the signs of the functions or of the multipliers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from credo.numerics.array import Array, as_float
from credo.numerics.linear.linear_algebra import symmetrize
from credo.numerics.optimize.descent import newton
from credo.numerics.optimize.difference import finite_difference_gradient, separate
from credo.numerics.optimize.minimum import (
    Function,
    Gradient,
    KKTResidual,
    Minimum,
    Termination,
    largest,
)
from credo.numerics.optimize.quadratic import QuadraticForm, SumOfSquares
from credo.numerics.optimize.quasi_newton import bfgs
from credo.numerics.status import Status

__all__ = [
    "ConstrainedProblem",
    "DualMaximum",
    "Multipliers",
    "SmoothFunction",
    "StationaryPoint",
    "dual_maximum",
    "stationary_points",
]

MOST_INEQUALITIES = 12
"""Inequalities of which every subset is tried."""

_TOLERANCE = 1e-8
_FLAT = 1e-7
_TO_ROUNDING = Termination(200, value_change=0.0, parameter_change=0.0, gradient_norm=1e-15)
# Where second derivatives vanish, squares of the equations are flat long before their root.
_TO_ROOT = Termination(200, value_change=0.0, parameter_change=0.0, gradient_norm=1e-26)


@dataclass(frozen=True, eq=False)
class SmoothFunction:
    """A function of a vector with its gradient and, if it is known, its Hessian.

    Without a Hessian, differences of the gradient stand for it.

    Examples
    --------
    >>> circle = SmoothFunction(lambda x: x @ x - 1, lambda x: 2 * x)
    >>> circle.curvature(np.array([1.0, 2.0])).round(6)
    array([[2., 0.],
           [0., 2.]])
    """

    value: Function
    gradient: Gradient
    hessian: Callable[[Array], Array] | None = None

    @classmethod
    def of(cls, form: QuadraticForm) -> SmoothFunction:
        """Return a quadratic form, or a linear one if its matrix is zero."""
        return cls(lambda x: float(form(x)), form.gradient, lambda x: 2.0 * form.A)

    def curvature(self, x: Array) -> Array:
        """Return the Hessian at ``x``, shape (d, d)."""
        if self.hessian is not None:
            return as_float(self.hessian(x))

        def slope_along(direction: Array) -> Array:
            return finite_difference_gradient(lambda at: self.gradient(at) @ direction, x)

        return symmetrize(np.array([slope_along(unit) for unit in np.eye(len(x))]))


@dataclass(frozen=True, eq=False)
class Multipliers:
    """One number per equality, and one per inequality; those are 0 or more at a minimum."""

    equality: Array = field(default_factory=lambda: np.zeros(0))
    inequality: Array = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True, eq=False)
class ConstrainedProblem:
    """Minimize ``objective`` where ``equalities`` are zero and ``inequalities`` at most zero.

    Examples
    --------
    The least of ``x + y`` on the unit circle is at ``x = y = -1 / sqrt(2)``.

    >>> problem = ConstrainedProblem(
    ...     SmoothFunction(lambda x: x.sum(), np.ones_like),
    ...     equalities=[SmoothFunction(lambda x: x @ x - 1, lambda x: 2 * x)],
    ... )
    >>> corner, multipliers = np.full(2, -(0.5**0.5)), Multipliers(np.full(1, 0.5**0.5))
    >>> problem.kkt_residual(corner, multipliers).largest < 1e-15
    True
    """

    objective: SmoothFunction
    equalities: Sequence[SmoothFunction] = ()
    inequalities: Sequence[SmoothFunction] = ()

    def lagrangian(self, multipliers: Multipliers) -> SmoothFunction:
        """Return ``f + u'g + v'h`` as a function of x alone."""
        weights = np.concatenate([[1.0], multipliers.equality, multipliers.inequality])
        parts = [self.objective, *self.equalities, *self.inequalities]
        if len(weights) != len(parts):
            raise ValueError(
                f"multipliers must be one per constraint, {len(parts) - 1}; found "
                f"{len(weights) - 1}. Pass zeros for inequalities that do not bind."
            )
        pairs = list(zip(weights, parts, strict=True))
        return SmoothFunction(
            lambda x: sum(w * float(part.value(x)) for w, part in pairs),
            lambda x: np.sum([w * as_float(part.gradient(x)) for w, part in pairs], axis=0),
            lambda x: np.sum([w * part.curvature(x) for w, part in pairs], axis=0),
        )

    def kkt_residual(self, x: ArrayLike, multipliers: Multipliers) -> KKTResidual:
        """Return how far a point and its multipliers are from being optimal.

        The gradient is relative to its largest term, values of constraints to the largest of
        their slopes, multipliers to the largest of them, products to both; none to less than 1.
        """
        x = np.atleast_1d(as_float(x))
        g, h = _values(self.equalities, x), _values(self.inequalities, x)
        v = multipliers.inequality
        slopes = _slopes([self.objective, *self.equalities, *self.inequalities], x)
        weights = np.concatenate([[1.0], multipliers.equality, v])
        force = max(1.0, largest(weights[:, None] * slopes))
        size = max(1.0, largest(slopes[1:]))
        return KKTResidual(
            largest(self.lagrangian(multipliers).gradient(x)) / force,
            largest(g) / size,
            float(np.maximum(h, 0.0).max(initial=0.0)) / size,
            float(np.maximum(-v, 0.0).max(initial=0.0)) / max(1.0, largest(v)),
            largest(v * h) / max(force, size),
        )

    def dual_value(self, multipliers: Multipliers, start: ArrayLike) -> float:
        """Return the least of the Lagrangian over x, -inf where it falls forever.

        At multipliers whose inequality part is 0 or more it is at most the least of the
        objective under the constraints (weak duality). Newton's steps from ``start`` find it; a
        Lagrangian that is not convex may have lower places elsewhere.

        Examples
        --------
        >>> problem = ConstrainedProblem(
        ...     SmoothFunction(lambda x: x @ x, lambda x: 2 * x),
        ...     inequalities=[SmoothFunction(lambda x: 1 - x[0], lambda x: -np.ones(1))],
        ... )
        >>> [problem.dual_value(Multipliers(inequality=np.full(1, v)), [0.0]) for v in (1, 2)]
        [0.75, 1.0]
        """
        return self._least(multipliers, np.atleast_1d(as_float(start))).value

    def duality_gap(self, x: ArrayLike, multipliers: Multipliers) -> float:
        """Return the objective at ``x`` minus the dual value; 0 proves that both are optimal.

        For allowed ``x`` and inequality multipliers of 0 or more it bounds how far the
        objective is above its least.
        """
        at = np.atleast_1d(as_float(x))
        return float(self.objective.value(at)) - self.dual_value(multipliers, at)

    def _least(self, multipliers: Multipliers, start: Array) -> Minimum:
        """Return where the Lagrangian is least; its value is -inf if it falls forever."""
        dual = self.lagrangian(multipliers)
        with np.errstate(over="ignore", invalid="ignore"):
            found = newton(dual.value, dual.gradient, dual.curvature, start, _TO_ROUNDING)
        if found.status not in (Status.DIVERGED, Status.MAX_STEPS):
            force = max(1.0, largest(as_float(self.objective.gradient(found.x))))
            curvature = as_float(np.linalg.eigvalsh(dual.curvature(found.x)))
            is_bowl = curvature[0] >= -_TOLERANCE * max(1.0, largest(curvature))
            if is_bowl and largest(found.gradient) <= _TOLERANCE * force:
                return found
        return replace(found, value=-np.inf)


def _values(functions: Sequence[SmoothFunction], x: Array) -> Array:
    return np.array([float(each.value(x)) for each in functions])


def _slopes(functions: Sequence[SmoothFunction], x: Array) -> Array:
    return np.array([each.gradient(x) for each in functions]).reshape(-1, len(x))


@dataclass(frozen=True, eq=False)
class StationaryPoint:
    """Where the gradient of the Lagrangian is zero and the constraints hold.

    Attributes
    ----------
    x, value, multipliers
        The point, the objective there, and its multipliers.
    kind
        "minimum", "maximum", "saddle"; "isolated" if the equalities allow no move; or
        "degenerate" if second derivatives do not tell.
    curvature
        Eigenvalues of the Hessian of the Lagrangian along the binding constraints.
    """

    x: Array
    value: float
    multipliers: Multipliers
    kind: str
    curvature: Array


def stationary_points(
    problem: ConstrainedProblem, starts: ArrayLike
) -> tuple[StationaryPoint, ...]:
    """Return the stationary points that Newton's method finds, lowest objective first.

    Every choice of inequalities is tried as those that bind; with them the equations ``dL/dx =
    0``, ``g = 0`` and ``h = 0`` where it binds are solved for x and multipliers.

    Parameters
    ----------
    starts
        Where to start, shape (k, d). What cannot be reached from them is not found.

    Notes
    -----
    A point is a minimum if no binding inequality has a negative multiplier and the Hessian of
    the Lagrangian is positive definite on the directions along the constraints that pull; a
    maximum with both signs turned.

    Examples
    --------
    >>> problem = ConstrainedProblem(
    ...     SmoothFunction(lambda x: x.sum(), np.ones_like),
    ...     equalities=[SmoothFunction(lambda x: x @ x - 1, lambda x: 2 * x)],
    ... )
    >>> for point in stationary_points(problem, [[1.0, 0.0], [-1.0, 0.0]]):
    ...     print(point.kind, point.x.round(4), point.multipliers.equality.round(4))
    minimum [-0.7071 -0.7071] [0.7071]
    maximum [0.7071 0.7071] [-0.7071]
    """
    begins = np.atleast_2d(as_float(starts))
    n_inequalities = len(problem.inequalities)
    if n_inequalities > MOST_INEQUALITIES:
        raise ValueError(
            f"inequalities must be at most {MOST_INEQUALITIES}, because each choice of them is "
            f"tried; found {n_inequalities}. Use QuadraticProgram if they are linear."
        )
    found: list[StationaryPoint] = []
    for binding in _choices(n_inequalities, begins.shape[1] - len(problem.equalities)):
        for start in begins:
            point = _stationary_point(problem, binding, start)
            if point is not None and not any(_is_near(point.x, each.x) for each in found):
                found.append(point)
    return tuple(sorted(found, key=lambda point: point.value))


def _choices(n_inequalities: int, most: int) -> Iterator[tuple[int, ...]]:
    for size in range(min(n_inequalities, max(most, 0)) + 1):
        yield from combinations(range(n_inequalities), size)


def _is_near(a: Array, b: Array) -> bool:
    return largest(a - b) <= 1e-6 * max(1.0, largest(a))


def _stationary_point(
    problem: ConstrainedProblem, binding: tuple[int, ...], start: Array
) -> StationaryPoint | None:
    """Return the solution with these inequalities binding, or None if none is allowed."""
    bound = [*problem.equalities, *(problem.inequalities[j] for j in binding)]
    tight = ConstrainedProblem(problem.objective, bound)
    d = len(start)

    def equations(v: Array) -> Array:
        slope = tight.lagrangian(Multipliers(v[d:])).gradient(v[:d])
        return np.concatenate([slope, _values(bound, v[:d])])

    def jacobian(v: Array) -> Array:
        curved = tight.lagrangian(Multipliers(v[d:])).curvature(v[:d])
        return _bordered(curved, _slopes(bound, v[:d]))

    loss = SumOfSquares(np.zeros(d + len(bound)), equations, jacobian)
    # Steps of least squares: a start where the equations are dependent has one too.
    with np.errstate(over="ignore", invalid="ignore"):
        root = newton(
            loss.value,
            loss.gradient,
            lambda v: 2.0 * jacobian(v).T @ jacobian(v),
            np.concatenate([start, _pull(tight, start)]),
            _TO_ROOT,
        ).x
    n_equalities = len(problem.equalities)
    pull = np.zeros(len(problem.inequalities))
    pull[list(binding)] = root[d + n_equalities :]
    multipliers = Multipliers(root[d : d + n_equalities], pull)
    residual = problem.kkt_residual(root[:d], multipliers)
    if not max(residual._replace(dual=0.0)) <= _TOLERANCE:
        return None
    return _judged(problem, root[:d], multipliers)


def _bordered(hessian: Array, slopes: Array) -> Array:
    zero = np.zeros((len(slopes), len(slopes)))
    return np.block([[hessian, slopes.T], [slopes, zero]])


def _pull(tight: ConstrainedProblem, x: Array) -> Array:
    """Return the multipliers that leave the least gradient at ``x``."""
    slopes = _slopes(tight.equalities, x)
    return as_float(np.linalg.lstsq(slopes.T, -as_float(tight.objective.gradient(x)))[0])


def _judged(problem: ConstrainedProblem, x: Array, multipliers: Multipliers) -> StationaryPoint:
    h, v = _values(problem.inequalities, x), multipliers.inequality
    slopes, reach = _slopes(problem.inequalities, x), _slopes(problem.equalities, x)
    is_binding = np.abs(h) <= _TOLERANCE * max(1.0, largest(slopes))
    is_pulling = np.abs(v) > _TOLERANCE * max(1.0, largest(v))
    hessian = problem.lagrangian(multipliers).curvature(x)
    wide = _curvature_along(hessian, np.vstack([reach, slopes[is_pulling]]))
    narrow = _curvature_along(hessian, np.vstack([reach, slopes[is_binding]]))
    flat = _FLAT * max(largest(hessian), np.finfo(np.float64).tiny)
    kind = _kind(wide, narrow, v[is_pulling], flat)
    return StationaryPoint(x, float(problem.objective.value(x)), multipliers, kind, narrow)


def _curvature_along(hessian: Array, slopes: Array) -> Array:
    """Return the eigenvalues of a Hessian on the directions that leave constraints alone."""
    _, sizes, directions = np.linalg.svd(slopes)
    rank = int((sizes > _TOLERANCE * max(1.0, largest(sizes))).sum())
    tangent = directions[rank:]
    return as_float(np.linalg.eigvalsh(symmetrize(tangent @ hessian @ tangent.T)))


def _kind(wide: Array, narrow: Array, pull: Array, flat: float) -> str:
    """Return what second derivatives say of a stationary point.

    ``wide`` are curvatures along the constraints that pull, ``narrow`` along all that bind.
    """
    if not len(wide) and not len(pull):
        return "isolated"
    if (wide > flat).all() and (pull > 0).all():
        return "minimum"
    if (wide < -flat).all() and (pull < 0).all():
        return "maximum"
    rises = (narrow > flat).any() or (pull > 0).any()
    falls = (narrow < -flat).any() or (pull < 0).any()
    return "saddle" if rises and falls else "degenerate"


@dataclass(frozen=True, eq=False)
class DualMaximum:
    """The largest dual value, its multipliers, and where the Lagrangian is least with them.

    ``gap`` is the objective there minus the dual value: 0 for convex problems, if ``x`` meets
    the constraints, which `ConstrainedProblem.kkt_residual` tells.
    """

    x: Array
    value: float
    multipliers: Multipliers
    gap: float


def dual_maximum(
    problem: ConstrainedProblem, start: ArrayLike, multipliers: Multipliers | None = None
) -> DualMaximum:
    """Return the solution of the dual problem: the multipliers of largest dual value.

    The dual is concave in the multipliers, and its slope is the value of each constraint where
    the Lagrangian is least; quasi-Newton steps climb it with inequality multipliers at 0 or
    more. Of a convex problem it is the least of the objective under the constraints.

    Parameters
    ----------
    start
        Where the search for the least of the Lagrangian starts, shape (d,).
    multipliers
        First multipliers, at which the Lagrangian must have a least; by default zeros.

    Examples
    --------
    >>> problem = ConstrainedProblem(
    ...     SmoothFunction(lambda x: x @ x, lambda x: 2 * x),
    ...     inequalities=[SmoothFunction(lambda x: 1 - x[0], lambda x: -np.ones(1))],
    ... )
    >>> best = dual_maximum(problem, [0.0])
    >>> best.value, best.multipliers.inequality, best.x, abs(best.gap) < 1e-15
    (1.0, array([2.]), array([1.]), True)
    """
    n_equalities, n_inequalities = len(problem.equalities), len(problem.inequalities)
    first = multipliers or Multipliers(np.zeros(n_equalities), np.zeros(n_inequalities))
    at = np.atleast_1d(as_float(start))

    def parted(weights: Array) -> Multipliers:
        return Multipliers(weights[:n_equalities], weights[n_equalities:])

    def fall(weights: Array) -> tuple[float, Array]:
        least = problem._least(parted(weights), at)
        constraints = [*problem.equalities, *problem.inequalities]
        return -least.value, -_values(constraints, least.x)

    begin = np.concatenate([first.equality, first.inequality])
    if not np.isfinite(fall(begin)[0]):
        raise ValueError(
            "the Lagrangian must have a least at the first multipliers; found that it falls "
            "forever there. Pass multipliers at which it is convex in x."
        )
    bounds = [(None, None)] * n_equalities + [(0.0, None)] * n_inequalities
    rules = Termination(value_change=1e-15, parameter_change=1e-12, gradient_norm=1e-12)
    best = parted(bfgs(*separate(fall), begin, bounds=bounds, termination=rules).x)
    return _sharpened(problem, best, at)


def _sharpened(problem: ConstrainedProblem, found: Multipliers, start: Array) -> DualMaximum:
    """Return the dual maximum near multipliers that are right to half of their digits.

    Values of the dual hardly change there; the equations of the binding constraints do.
    """
    least = problem._least(found, start)
    size = _TOLERANCE * max(1.0, largest(found.inequality))
    binding = tuple(int(j) for j in np.flatnonzero(found.inequality > size))
    point = _stationary_point(problem, binding, least.x)
    if point is not None and (point.multipliers.inequality >= 0).all():
        found, least = point.multipliers, problem._least(point.multipliers, point.x)
    gap = float(problem.objective.value(least.x)) - least.value
    return DualMaximum(least.x, least.value, found, gap)
