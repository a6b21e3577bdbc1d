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
_ALIKE = float(np.log(1e3))
_ROUNDS = 6
_NOTHING = 1e-24
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

    def in_units(self, length: float, size: float) -> SmoothFunction:
        """Return ``value(length z) / size`` as a function of z."""
        hessian = self.hessian
        return SmoothFunction(
            lambda z: float(self.value(length * z)) / size,
            lambda z: as_float(self.gradient(length * z)) * (length / size),
            None if hessian is None else lambda z: hessian(length * z) * (length**2 / size),
        )


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

    @property
    def constraints(self) -> list[SmoothFunction]:
        """The equalities, then the inequalities."""
        return [*self.equalities, *self.inequalities]

    def lagrangian(self, multipliers: Multipliers) -> SmoothFunction:
        """Return ``f + u'g + v'h`` as a function of x alone."""
        weights = np.concatenate([multipliers.equality, multipliers.inequality])
        if len(weights) != len(self.constraints):
            raise ValueError(
                f"multipliers must be one per constraint, {len(self.constraints)}; found "
                f"{len(weights)}. Pass zeros for inequalities that do not bind."
            )
        parts = [self.objective, *self.constraints]
        pairs = list(zip([1.0, *weights], parts, strict=True))
        return SmoothFunction(
            lambda x: sum(w * float(part.value(x)) for w, part in pairs),
            lambda x: np.sum([w * as_float(part.gradient(x)) for w, part in pairs], axis=0),
            lambda x: np.sum([w * part.curvature(x) for w, part in pairs], axis=0),
        )

    def kkt_residual(self, x: ArrayLike, multipliers: Multipliers) -> KKTResidual:
        """Return how far a point and its multipliers are from being optimal.

        Each part is relative to what cancels in it, in whatever units the functions and x are:
        the gradient and multipliers to the largest term of the gradient, or to what curvature
        makes of x; a constraint to its slope times x, or to its value at zero as its slope
        tells it; products to the largest of such sizes with their multipliers.
        """
        at = np.atleast_1d(as_float(x))
        length = _power(largest(at))
        inner = _Units(length, 1.0, np.ones(len(self.constraints))).of(self)
        return inner._residual(at / length, multipliers, largest(at / length))

    def _residual(self, x: Array, multipliers: Multipliers, length: float) -> KKTResidual:
        """Return the residual, x being measured by a length."""
        lagrangian, v = self.lagrangian(multipliers), multipliers.inequality
        p, values = len(self.equalities), _values(self.constraints, x)
        slopes = _slopes(self.constraints, x)
        steep = np.abs(slopes).max(axis=1, initial=0.0)
        near = np.maximum(steep * length, np.abs(slopes @ x - values))
        weights = np.concatenate([multipliers.equality, v])
        force = max(
            largest(as_float(self.objective.gradient(x))),
            largest(weights * steep),
            largest(lagrangian.curvature(x)) * length,
        )
        total = max(force * length, largest(weights * near))
        return KKTResidual(
            largest(_relative(lagrangian.gradient(x), force)),
            largest(_relative(values[:p], near[:p])),
            largest(_relative(np.maximum(values[p:], 0.0), near[p:])),
            largest(_relative(np.minimum(v, 0.0) * steep[p:], force)),
            largest(_relative(v * values[p:], total)),
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
        units = _Units.at(self, start)
        dual = units.of(self).lagrangian(units.inward(multipliers))
        begin = start / units.length
        with np.errstate(over="ignore", invalid="ignore"):
            found = newton(dual.value, dual.gradient, dual.curvature, begin, _TO_ROUNDING)
        x, value, slope = (
            found.x * units.length,
            found.value * units.value,
            found.gradient * (units.value / units.length),
        )
        if found.status not in (Status.DIVERGED, Status.MAX_STEPS):
            curvature = as_float(np.linalg.eigvalsh(dual.curvature(found.x)))
            is_bowl = curvature[0] >= -_TOLERANCE * largest(curvature)
            bend = largest(curvature) * max(1.0, largest(found.x))
            force = max(largest(as_float(self.objective.gradient(x))), bend * units.force)
            if is_bowl and largest(slope) <= _TOLERANCE * force:
                return replace(found, x=x, value=value, gradient=slope)
        return replace(found, x=x, value=-np.inf, gradient=slope)


@dataclass(frozen=True, eq=False)
class _Units:
    """Units in which x, objective and constraints are of about one.

    They are powers of two, so that nothing is rounded on the way there and back.
    """

    length: float
    value: float
    constraints: Array

    @classmethod
    def at(cls, problem: ConstrainedProblem, x: Array, length: float | None = None) -> _Units:
        """Return the size of x, and what slopes and curvatures make of it."""
        unit = _power(length or largest(x))
        parts = [each.in_units(unit, 1.0) for each in (problem.objective, *problem.constraints)]
        sizes = [
            _power(max(largest(each.gradient(x / unit)), largest(each.curvature(x / unit))))
            for each in parts
        ]
        return cls(unit, sizes[0], np.array(sizes[1:]))

    @property
    def force(self) -> float:
        """The unit of slopes of the objective."""
        return self.value / self.length

    def of(self, problem: ConstrainedProblem) -> ConstrainedProblem:
        """Return the problem in these units."""
        p = len(problem.equalities)
        held = [
            each.in_units(self.length, float(size))
            for each, size in zip(problem.constraints, self.constraints, strict=True)
        ]
        objective = problem.objective.in_units(self.length, self.value)
        return ConstrainedProblem(objective, held[:p], held[p:])

    def inward(self, multipliers: Multipliers) -> Multipliers:
        """Return multipliers of the problem in these units."""
        return _times(multipliers, self.constraints / self.value)

    def outward(self, multipliers: Multipliers) -> Multipliers:
        """Return multipliers of the problem from those in these units."""
        return _times(multipliers, self.value / self.constraints)

    def are_like(self, others: _Units) -> bool:
        """Return whether numbers of about one are so in other units."""
        mine, theirs = (
            np.array([units.length, units.value, *units.constraints])
            for units in (self, others)
        )
        return largest(np.log(mine) - np.log(theirs)) <= _ALIKE


def _times(multipliers: Multipliers, factors: Array) -> Multipliers:
    p = len(multipliers.equality)
    return Multipliers(multipliers.equality * factors[:p], multipliers.inequality * factors[p:])


def _power(size: float) -> float:
    """Return the nearest power of two, one for zero."""
    return float(np.exp2(np.rint(np.log2(size)))) if 0 < size < np.inf else 1.0


def _relative(parts: Array, sizes: Array | float) -> Array:
    """Return parts in units of what cancels in them; where that is zero, so are they."""
    return np.asarray(parts / np.where(np.equal(sizes, 0.0), 1.0, sizes))


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

    def in_units(self, units: _Units) -> StationaryPoint:
        """Return the point of the problem that was solved in some units."""
        return StationaryPoint(
            self.x * units.length,
            self.value * units.value,
            units.outward(self.multipliers),
            self.kind,
            self.curvature * (units.force / units.length),
        )


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
    return largest(a - b) <= 1e-6 * max(largest(a), largest(b))


def _stationary_point(
    problem: ConstrainedProblem, binding: tuple[int, ...], start: Array
) -> StationaryPoint | None:
    """Return the solution with these inequalities binding, or None if none is allowed."""
    bound = [*problem.equalities, *(problem.inequalities[j] for j in binding)]
    tight = ConstrainedProblem(problem.objective, bound)
    x, held = _tight_root(tight, start)
    if not (np.isfinite(x).all() and np.isfinite(held).all()):
        return None
    n_equalities = len(problem.equalities)
    pull = np.zeros(len(problem.inequalities))
    pull[list(binding)] = held[n_equalities:]
    units = _Units.at(problem, x, None if x.any() else largest(start))
    inner, z = units.of(problem), x / units.length
    multipliers = units.inward(Multipliers(held[:n_equalities], pull))
    residual = inner._residual(z, multipliers, 1.0)
    if not max(residual._replace(dual=0.0)) <= _TOLERANCE:
        return None
    return _judged(inner, z, multipliers).in_units(units)


def _tight_root(tight: ConstrainedProblem, start: Array) -> tuple[Array, Array]:
    """Return x and multipliers with which the gradient and all constraints are zero.

    They are sought in units of the start, then in those of what was found until these stay.
    """
    x, units = start, _Units.at(tight, start)
    held, nothing = np.zeros(len(tight.equalities)), _NOTHING * units.length
    for _ in range(_ROUNDS):
        x, held = _root_in_units(tight, x, units)
        if not np.isfinite(x).all():
            break
        # What is smaller in smaller units is zero, which has no unit of its own.
        if largest(x) <= nothing:
            x = np.zeros_like(x)
            return x, _pull(tight, x)
        before, units = units, _Units.at(tight, x)
        if units.are_like(before):
            break
    return x, held


def _root_in_units(
    tight: ConstrainedProblem, start: Array, units: _Units
) -> tuple[Array, Array]:
    inner, d = units.of(tight), len(start)

    def equations(v: Array) -> Array:
        slope = inner.lagrangian(Multipliers(v[d:])).gradient(v[:d])
        return np.concatenate([slope, _values(inner.equalities, v[:d])])

    def jacobian(v: Array) -> Array:
        curved = inner.lagrangian(Multipliers(v[d:])).curvature(v[:d])
        return _bordered(curved, _slopes(inner.equalities, v[:d]))

    loss = SumOfSquares(np.zeros(d + len(inner.equalities)), equations, jacobian)
    begin = start / units.length
    # Steps of least squares: a start where the equations are dependent has one too.
    with np.errstate(over="ignore", invalid="ignore"):
        root = newton(
            loss.value,
            loss.gradient,
            lambda v: 2.0 * jacobian(v).T @ jacobian(v),
            np.concatenate([begin, _pull(inner, begin)]),
            _TO_ROOT,
        ).x
    held = units.outward(Multipliers(root[d:])).equality
    return root[:d] * units.length, held


def _bordered(hessian: Array, slopes: Array) -> Array:
    zero = np.zeros((len(slopes), len(slopes)))
    return np.block([[hessian, slopes.T], [slopes, zero]])


def _pull(tight: ConstrainedProblem, x: Array) -> Array:
    """Return the multipliers that leave the least gradient at ``x``."""
    slopes = _slopes(tight.equalities, x)
    return as_float(np.linalg.lstsq(slopes.T, -as_float(tight.objective.gradient(x)))[0])


def _judged(problem: ConstrainedProblem, x: Array, multipliers: Multipliers) -> StationaryPoint:
    """Return the point with its kind, of a problem in its own units."""
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

    def in_units(self, units: _Units) -> DualMaximum:
        """Return the maximum of the problem that was solved in some units."""
        return DualMaximum(
            self.x * units.length,
            self.value * units.value,
            units.outward(self.multipliers),
            self.gap * units.value,
        )


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
    units = _Units.at(problem, at)
    inner, begin = units.of(problem), at / units.length

    def parted(weights: Array) -> Multipliers:
        return Multipliers(weights[:n_equalities], weights[n_equalities:])

    def fall(weights: Array) -> tuple[float, Array]:
        least = inner._least(parted(weights), begin)
        return -least.value, -_values(inner.constraints, least.x)

    inward = units.inward(first)
    weights = np.concatenate([inward.equality, inward.inequality])
    if not np.isfinite(fall(weights)[0]):
        raise ValueError(
            "the Lagrangian must have a least at the first multipliers; found that it falls "
            "forever there. Pass multipliers at which it is convex in x."
        )
    bounds = [(None, None)] * n_equalities + [(0.0, None)] * n_inequalities
    rules = Termination(value_change=1e-15, parameter_change=1e-12, gradient_norm=1e-12)
    best = parted(bfgs(*separate(fall), weights, bounds=bounds, termination=rules).x)
    return _sharpened(inner, best, begin).in_units(units)


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
