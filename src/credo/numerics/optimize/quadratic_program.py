"""Convex quadratic programs with dense matrices: optimum, multipliers and proof of both.

The program and its dual are solved at once by an interior point method on a homogeneous
embedding: unknowns (x, y, z, s), for equalities y, inequalities z and their slack s, are found
up to a common factor tau together with a number kappa, such that

    P x + A'y + C'z + q tau = 0,    A x = b tau,    C x + s = d tau,
    x'P x / tau + q'x + b'y + d'z + kappa = 0,    s, z, tau, kappa >= 0,    s z = tau kappa = 0.

If tau stays positive, x / tau is the optimum. If kappa does, no point meets the constraints, or
the value falls forever, and the unknowns prove it. Steps are those of Mehrotra: a Newton step
to the end tells how much the products ``s z`` may shrink, a second one has them shrink so.

The plane of largest margin with a normal of length one is found by such programs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.lapack import dgetrf, dgetrs

from credo.numerics.array import Array, as_float
from credo.numerics.linear.linear_algebra import NotPositiveDefinite, symmetrize
from credo.numerics.optimize.minimum import KKTResidual, largest
from credo.numerics.parallel.threads import threads_for, threads_for_matrix
from credo.numerics.status import Status

__all__ = [
    "InfeasibleProgram",
    "MarginPlane",
    "ProgramMinimum",
    "ProgramMultipliers",
    "QuadraticProgram",
    "UnboundedProgram",
    "maximum_margin_plane",
]

_CONVERGED = 1e-9
_PRECISE = 1e-14
_PROOF, _NEARLY = 1e-10, 1e-6
_NEGATIVE = 1e-10
_JITTER = 1e-13
_FLOOR = 1e-6
_PATIENCE = 3
_REFINEMENTS = 3
_UNCLEAR = 1e3

Rows = tuple[ArrayLike, ArrayLike]


@dataclass(frozen=True, eq=False)
class ProgramMultipliers:
    """Multipliers of the equalities (p,), inequalities (m,) and bounds (n,) of a program.

    All but those of equalities are 0 or more at the optimum; those of infinite bounds are 0.
    """

    equality: Array
    inequality: Array
    lower: Array
    upper: Array


class InfeasibleProgram(ValueError):
    """A program whose constraints no point meets.

    ``proof`` holds multipliers, 0 or more but for equalities, with which the constraints add
    up to ``0 <= -1``.
    """

    def __init__(self, proof: ProgramMultipliers) -> None:
        super().__init__(
            "constraints must have a point in common; found none: weighted by the multipliers "
            "in `proof` they add up to 0 <= -1. Loosen one of those with a large multiplier."
        )
        self.proof = proof


class UnboundedProgram(ValueError):
    """A program whose value falls forever along ``direction``, which meets all constraints."""

    def __init__(self, direction: Array) -> None:
        super().__init__(
            "the value must have a least under the constraints; found that it falls forever "
            "along `direction`. Add bounds, or curvature to P."
        )
        self.direction = direction


@dataclass(frozen=True, eq=False)
class ProgramMinimum:
    """The optimum of a quadratic program, and the proof that it is one.

    Attributes
    ----------
    x, value
        The optimum and the value there.
    multipliers
        Of equalities, inequalities and bounds.
    dual_value
        ``-x'P x / 2 - b'y - d'z`` with the multipliers y of equalities and z of inequalities
        and bounds: no allowed point has a lower value, up to the stationarity of ``residual``.
    residual
        How far the point and its multipliers are from being optimal, unit-free.
    status, n_steps
        Why the iteration ended, and how many steps it took.
    """

    x: Array
    value: float
    multipliers: ProgramMultipliers
    dual_value: float
    residual: KKTResidual
    status: Status
    n_steps: int

    @property
    def gap(self) -> float:
        """The value minus the dual value."""
        return self.value - self.dual_value


@dataclass(frozen=True, eq=False)
class QuadraticProgram:
    """Minimize ``x'P x / 2 + q'x`` where ``A x = b``, ``G x <= h``, ``lower <= x <= upper``.

    Parameters
    ----------
    P
        Positive semidefinite, shape (n, n); zeros make a linear program. Only its symmetric
        part counts.
    q
        Shape (n,).
    equalities
        ``A``, shape (p, n), and ``b``, shape (p,).
    inequalities
        ``G``, shape (m, n), and ``h``, shape (m,).
    bounds
        ``lower`` and ``upper``, each a number or of shape (n,), infinite where there is none.

    Notes
    -----
    For up to about a thousand variables: a step costs ``n^3 + m n^2``, and 10 to 30 are taken.

    Examples
    --------
    >>> below = [[1.0, 1.0]], [1.0]
    >>> program = QuadraticProgram(np.eye(2), [-2.0, 0.0], inequalities=below, bounds=(0, 9))
    >>> found = program.minimum()
    >>> found.x, found.value, found.multipliers.inequality, found.multipliers.lower
    (array([1., 0.]), -1.5, array([1.]), array([0., 1.]))
    """

    P: Array
    q: Array
    A: Array
    b: Array
    G: Array
    h: Array
    lower: Array
    upper: Array

    def __init__(
        self,
        P: ArrayLike,
        q: ArrayLike,
        equalities: Rows | None = None,
        inequalities: Rows | None = None,
        bounds: tuple[ArrayLike, ArrayLike] = (-np.inf, np.inf),
    ) -> None:
        slope = np.atleast_1d(as_float(q))
        n = len(slope)
        held = {
            "P": _semidefinite(_checked("P", P, (n, n))),
            "q": _checked("q", slope, (n,)),
            **_rows(("A", "b"), equalities, n),
            **_rows(("G", "h"), inequalities, n),
            **_box(*bounds, n),
        }
        for name, array in held.items():
            object.__setattr__(self, name, array)

    def value(self, x: ArrayLike) -> float:
        """Return ``x'P x / 2 + q'x``."""
        at = as_float(x)
        return float(0.5 * at @ self.P @ at + self.q @ at)

    def minimum(self, max_steps: int = 100) -> ProgramMinimum:
        """Return the optimum, with multipliers that prove it.

        Raises
        ------
        InfeasibleProgram
            If no point meets the constraints.
        UnboundedProgram
            If the value falls forever.
        """
        # Products and factors by turns: threads of the two libraries would wait on each other.
        work = len(self.q) ** 3 + len(self.h) * len(self.q) ** 2
        with threads_for(work), np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            return self._solved(max_steps)

    def _solved(self, max_steps: int) -> ProgramMinimum:
        form = self._form()
        scaled = _Scaled(form)
        state, n_steps = _run(scaled.form, max_steps)
        direction = _fall(scaled.form, state.x)
        if direction is not None:
            state, _ = _run(scaled.form.without_value(), max_steps)
        proof = _contradiction(scaled.form, state.y, state.z)
        if proof is not None:
            raise InfeasibleProgram(self._multipliers(*scaled.proof(*proof)))
        if direction is not None:
            raise UnboundedProgram(scaled.direction(direction))
        x, y, z = scaled.back(*_polished(scaled.form, state))
        multipliers = self._multipliers(y, z)
        x = self._on_bounds(x)
        residual = scaled.residual(x, *self._flat(multipliers))
        stopped = Status.MAX_STEPS if n_steps == max_steps else Status.STUCK
        return ProgramMinimum(
            x,
            self.value(x),
            multipliers,
            form.dual_value(x, *self._flat(multipliers)),
            residual,
            Status.CONVERGED if residual.largest <= _CONVERGED else stopped,
            n_steps,
        )

    def kkt_residual(self, x: ArrayLike, multipliers: ProgramMultipliers) -> KKTResidual:
        """Return how far any point and multipliers are from being optimal.

        Each part is relative to the largest of the terms that cancel in it. The program is
        scaled first, so that units of variables, constraints and value do not matter.
        """
        return _Scaled(self._form()).residual(as_float(x), *self._flat(multipliers))

    @property
    def _is_fixed(self) -> NDArray[np.bool_]:
        return np.asarray(self.lower == self.upper)

    @property
    def _sides(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return which variables have an upper, and a lower bound and some room."""
        free = ~self._is_fixed
        above, below = free & np.isfinite(self.upper), free & np.isfinite(self.lower)
        return np.flatnonzero(above), np.flatnonzero(below)

    def _form(self) -> _Form:
        above, below = self._sides
        is_fixed = self._is_fixed
        return _Form(
            self.P,
            self.q,
            np.vstack([self.A, np.eye(len(self.q))[is_fixed]]),
            np.concatenate([self.b, self.lower[is_fixed]]),
            self.G,
            np.concatenate([self.h, self.upper[above], -self.lower[below]]),
            above,
            below,
        )

    def _flat(self, multipliers: ProgramMultipliers) -> tuple[Array, Array]:
        """Return the multipliers of equalities and of inequalities of the form."""
        above, below = self._sides
        net = (multipliers.upper - multipliers.lower)[self._is_fixed]
        inequality = [
            multipliers.inequality,
            multipliers.upper[above],
            multipliers.lower[below],
        ]
        return np.concatenate([multipliers.equality, net]), np.concatenate(inequality)

    def _multipliers(self, y: Array, z: Array) -> ProgramMultipliers:
        above, below = self._sides
        p, m = len(self.b), len(self.h)
        lower, upper = np.zeros(len(self.q)), np.zeros(len(self.q))
        upper[above], lower[below] = z[m : m + len(above)], z[m + len(above) :]
        upper[self._is_fixed], lower[self._is_fixed] = np.maximum([y[p:], -y[p:]], 0.0)
        return ProgramMultipliers(y[:p], z[:m], lower, upper)

    def _on_bounds(self, x: Array) -> Array:
        """Return x inside its bounds, and on those from which only rounding parts it."""
        for bound in (self.lower, self.upper):
            x = np.where(np.abs(x - bound) <= 1e-14 * largest(x), bound, x)
        return np.clip(x, self.lower, self.upper)


def _checked(name: str, array: ArrayLike, shape: tuple[int, ...]) -> Array:
    held = as_float(array)
    if held.shape != shape:
        raise ValueError(
            f"{name} must have shape {shape}; found {held.shape}. Match it to q, of shape (n,)."
        )
    if not np.isfinite(held).all():
        raise ValueError(
            f"{name} must be finite; found {held[~np.isfinite(held)][0]}. Leave out rows that "
            "constrain nothing; bounds alone may be infinite."
        )
    return held


def _semidefinite(P: Array) -> Array:
    matrix = symmetrize(P)
    with threads_for_matrix(len(matrix)):
        eigenvalues = as_float(np.linalg.eigvalsh(matrix))
    if len(eigenvalues) and eigenvalues[0] < -_NEGATIVE * largest(eigenvalues):
        raise NotPositiveDefinite(
            "P must be positive semidefinite, else the program is not convex; found smallest "
            f"eigenvalue {eigenvalues[0]:.3g} against a largest of {largest(eigenvalues):.3g}. "
            "Check its sign, or add to its diagonal."
        )
    return matrix


def _rows(names: tuple[str, str], rows: Rows | None, n: int) -> dict[str, Array]:
    left, right = (np.zeros((0, n)), np.zeros(0)) if rows is None else rows
    ends = np.atleast_1d(as_float(right))
    arrays = _checked(names[0], left, (len(ends), n)), _checked(names[1], ends, ends.shape)
    return dict(zip(names, arrays, strict=True))


def _box(lower: ArrayLike, upper: ArrayLike, n: int) -> dict[str, Array]:
    low, high = (np.array(np.broadcast_to(as_float(side), n)) for side in (lower, upper))
    is_wrong = ~(low <= high) | (low == np.inf) | (high == -np.inf)
    if is_wrong.any():
        i = int(np.flatnonzero(is_wrong)[0])
        raise ValueError(
            f"lower must be at most upper; found {low[i]:g} and {high[i]:g} at index {i}. "
            "Swap them, or use -inf and inf where there is no bound."
        )
    return {"lower": low, "upper": high}


@dataclass(frozen=True, eq=False)
class _Form:
    """A program as ``A x = b``, ``C x <= d``; in C stand G, then upper and lower bounds."""

    P: Array
    q: Array
    A: Array
    b: Array
    G: Array
    d: Array
    above: NDArray[np.intp]
    below: NDArray[np.intp]

    def rows(self, x: Array) -> Array:
        """Return ``C x``."""
        return np.concatenate([self.G @ x, x[self.above], -x[self.below]])

    def columns(self, z: Array) -> Array:
        """Return ``C'z``."""
        m, end = len(self.G), len(self.G) + len(self.above)
        found = np.asarray(z[:m] @ self.G)
        found[self.above] += z[m:end]
        found[self.below] -= z[end:]
        return found

    def gram(self, w: Array) -> Array:
        """Return ``C' diag(w) C``."""
        m, end = len(self.G), len(self.G) + len(self.above)
        found = (self.G.T * w[:m]) @ self.G
        diagonal = np.zeros(len(self.q))
        diagonal[self.above] += w[m:end]
        diagonal[self.below] += w[end:]
        found[np.diag_indices_from(found)] += diagonal
        return np.asarray(found)

    def chosen(self, is_chosen: NDArray[np.bool_]) -> Array:
        """Return some rows of C."""
        eye = np.eye(len(self.q))
        return np.vstack([self.G, eye[self.above], -eye[self.below]])[is_chosen]

    def without_value(self) -> _Form:
        """Return the same constraints with a value that is zero everywhere."""
        return replace(self, P=np.zeros_like(self.P), q=np.zeros_like(self.q))

    def dual_value(self, x: Array, y: Array, z: Array) -> float:
        return float(-0.5 * x @ self.P @ x - self.b @ y - self.d @ z)

    def residual(self, x: Array, y: Array, z: Array) -> KKTResidual:
        """Return the residual relative to what cancels, for a form that is scaled."""
        curved, by_equality, by_inequality = self.P @ x, y @ self.A, self.columns(z)
        reached, room = self.A @ x - self.b, self.d - self.rows(x)
        ends, slope = largest(np.append(self.b, self.d)) or 1.0, largest(self.q) or 1.0
        force = max(_FLOOR * slope, *map(largest, (curved, self.q, by_equality, by_inequality)))
        near = max(_FLOOR * ends, largest(np.abs(self.A) @ np.abs(x)), largest(self.b))
        far = max(_FLOOR * ends, largest(np.append(np.abs(self.G) @ np.abs(x), x)))
        pairs = ((x, curved), (self.q, x), (self.b, y), (self.d, z))
        total = max(_FLOOR * slope * ends, *(float(np.abs(a) @ np.abs(b)) for a, b in pairs))
        return KKTResidual(
            largest(curved + self.q + by_equality + by_inequality) / force,
            largest(reached) / near,
            largest(np.minimum(room, 0.0)) / far,
            largest(np.minimum(z, 0.0)) / max(force, largest(z)),
            largest(z * room) / total,
        )


class _Scaled:
    """A form in which rows and columns have entries of about one, and the way back.

    Rows and columns are divided by the roots of their largest entries until nothing changes
    (Ruiz); rows of bounds stay unit vectors.
    """

    def __init__(self, form: _Form) -> None:
        P, A, G = form.P, form.A, form.G
        column, near, far = np.ones(len(form.q)), np.ones(len(form.b)), np.ones(len(G))
        for _ in range(10):
            held = np.maximum.reduce([_widest(part, 0) for part in (P, A, G)])
            by_column = _root(np.where(held > 0, held, column * np.abs(form.q)))
            by_near, by_far = _root(_widest(A, 1)), _root(_widest(G, 1))
            P = P / by_column[:, None] / by_column
            A, G = A / by_near[:, None] / by_column, G / by_far[:, None] / by_column
            column, near, far = column / by_column, near / by_near, far / by_far
        q = column * form.q
        self._size = max(largest(P), largest(q)) or 1.0
        self._column, self._near = column, near
        self._far = np.concatenate([far, 1.0 / column[form.above], 1.0 / column[form.below]])
        self.form = _Form(
            P / self._size,
            q / self._size,
            A,
            near * form.b,
            G,
            self._far * form.d,
            form.above,
            form.below,
        )

    def back(self, x: Array, y: Array, z: Array) -> tuple[Array, Array, Array]:
        """Return a point and multipliers in the units of the program."""
        return self._column * x, self._size * self._near * y, self._size * self._far * z

    def residual(self, x: Array, y: Array, z: Array) -> KKTResidual:
        """Return the residual of a point and multipliers in the units of the program."""
        u, v = y / self._near / self._size, z / self._far / self._size
        return self.form.residual(x / self._column, u, v)

    def direction(self, x: Array) -> Array:
        """Return a direction whose largest entry is one."""
        found = self._column * x
        return np.asarray(found / largest(found))

    def proof(self, y: Array, z: Array) -> tuple[Array, Array]:
        """Return multipliers with which right sides add up to -1."""
        total = -float(self.form.b @ y + self.form.d @ z)
        return self._near * y / total, self._far * z / total


def _widest(matrix: Array, axis: int) -> Array:
    return np.asarray(np.abs(matrix).max(axis=axis, initial=0.0))


def _root(sizes: Array) -> Array:
    return np.sqrt(np.where(sizes > 0, sizes, 1.0))


@dataclass(frozen=True, eq=False)
class _State:
    """The unknowns of the embedding, or a direction in them."""

    x: Array
    y: Array
    z: Array
    s: Array
    tau: float
    kappa: float

    @property
    def positive(self) -> Array:
        """What must stay positive."""
        return np.concatenate([self.z, self.s, [self.tau, self.kappa]])

    @property
    def mean_product(self) -> float:
        """Mean of the products that are zero at the end."""
        return float(self.z @ self.s + self.tau * self.kappa) / (len(self.z) + 1)

    def moved(self, direction: _State, step: float) -> _State:
        """Return the state after a step, divided by the larger of tau and kappa."""
        tau, kappa = self.tau + step * direction.tau, self.kappa + step * direction.kappa
        size = max(tau, kappa)
        pairs = zip(self._arrays, direction._arrays, strict=True)
        x, y, z, s = ((a + step * b) / size for a, b in pairs)
        return _State(x, y, z, s, tau / size, kappa / size)

    def longest(self, direction: _State) -> float:
        """Return the longest step, at most 1, that keeps positive what must be."""
        held, change = self.positive, direction.positive
        falls = change < 0
        return float(min(1.0, (held[falls] / -change[falls]).min(initial=np.inf)))

    @property
    def solution(self) -> tuple[Array, Array, Array]:
        return self.x / self.tau, self.y / self.tau, self.z / self.tau

    @property
    def _arrays(self) -> tuple[Array, ...]:
        return self.x, self.y, self.z, self.s


def _run(form: _Form, max_steps: int) -> tuple[_State, int]:
    """Return the best state, or the one that proves that there is no optimum."""
    n, p, m = len(form.q), len(form.b), len(form.d)
    state = _State(np.zeros(n), np.zeros(p), np.ones(m), np.ones(m), 1.0, 1.0)
    best, least, waited, n_steps = state, np.inf, 0, 0
    while n_steps < max_steps and least > _PRECISE and waited < _PATIENCE:
        has_end = _fall(form, state.x) is None
        if not has_end or _contradiction(form, state.y, state.z) is not None:
            return state, n_steps
        state, n_steps = _step(form, state), n_steps + 1
        if not np.isfinite(state.positive).all() or state.mean_product <= 0:
            break
        residual = form.residual(*state.solution).largest
        waited = waited + 1 if min(residual, least) <= _CONVERGED else 0
        if residual < least:
            best, least, waited = state, residual, 0
    return best, n_steps


def _step(form: _Form, state: _State) -> _State:
    """Return the state after a predicting and a correcting Newton step."""
    newton = _Newton(form, state)
    products = state.z * state.s, state.tau * state.kappa
    ahead = newton.direction(1.0, *products)
    share = (1.0 - state.longest(ahead)) ** 3
    kept = share * state.mean_product
    direction = newton.direction(
        1.0 - share,
        products[0] - kept + ahead.z * ahead.s,
        products[1] - kept + ahead.tau * ahead.kappa,
    )
    return state.moved(direction, 0.99 * state.longest(direction))


class _Newton:
    """Newton's equations at a state: one factor serves every right side.

    With ``w = z / s`` the matrix is ``[P, A', C'; A, 0, 0; C, 0, -1 / w]``; z is eliminated,
    and errors of the rest are taken out by refinement.
    """

    def __init__(self, form: _Form, state: _State) -> None:
        self.form, self.state = form, state
        self.w = state.z / state.s
        self._factor = _Factor(form.P + form.gram(self.w), form.A)
        self._slope = self._solve(-form.q, form.b, form.d)
        self._ratio = state.x / state.tau
        x, _, z = self._slope
        apart = x - self._ratio
        self._bend = state.kappa / state.tau + apart @ form.P @ apart + z @ (z / self.w)

    def direction(self, share: float, products: Array, product: float) -> _State:
        """Return the step that takes out a share of the residuals, and these products."""
        form, state = self.form, self.state
        x, y, z, s, tau = state.x, state.y, state.z, state.s, state.tau
        curved = form.P @ x
        by_x = curved + y @ form.A + form.columns(z) + tau * form.q
        by_y, by_z = form.A @ x - tau * form.b, form.rows(x) + s - tau * form.d
        by_tau = state.kappa + x @ curved / tau + form.q @ x + form.b @ y + form.d @ z
        dx, dy, dz = self._solve(-share * by_x, -share * by_y, products / z - share * by_z)
        fall = (2.0 * form.P @ self._ratio + form.q) @ dx + form.b @ dy + form.d @ dz
        change = float((share * by_tau - product / tau + fall) / self._bend)
        dx, dy, dz = (a + change * b for a, b in zip((dx, dy, dz), self._slope, strict=True))
        ds, kappa = -(products + s * dz) / z, -(product + state.kappa * change) / tau
        return _State(dx, dy, dz, ds, change, float(kappa))

    def _solve(self, right_x: Array, right_y: Array, right_z: Array) -> tuple[Array, ...]:
        form, n = self.form, len(right_x)
        x, y, z = np.zeros(n), np.zeros(len(right_y)), np.zeros(len(right_z))
        for _ in range(_REFINEMENTS):
            left_x = right_x - form.P @ x - y @ form.A - form.columns(z)
            left_y = right_y - form.A @ x
            left_z = right_z - form.rows(x) + z / self.w
            right = np.append(left_x + form.columns(self.w * left_z), left_y)
            found = self._factor.solve(right)
            x, y = x + found[:n], y + found[n:]
            z = z + self.w * (form.rows(found[:n]) - left_z)
        return x, y, z


class _Factor:
    """A factor of ``[top, rows'; rows, 0]``, which a little jitter makes regular."""

    def __init__(self, top: Array, rows: Array) -> None:
        n, p = len(top), len(rows)
        whole = np.zeros((n + p, n + p))
        whole[:n, :n], whole[:n, n:], whole[n:, :n] = top, rows.T, rows
        inner = 1.0 / _root(np.diagonal(top))
        outer = 1.0 / _root(_widest(rows * inner, 1) ** 2)
        self._scale = np.append(inner, outer)
        whole *= self._scale[:, None] * self._scale
        whole[np.diag_indices(n + p)] += _JITTER * np.repeat([1.0, -1.0], [n, p])
        self._lu, self._pivots, _ = dgetrf(whole)

    def solve(self, right: Array) -> Array:
        found = dgetrs(self._lu, self._pivots, self._scale * right)[0]
        return np.asarray(self._scale * found)


def _contradiction(form: _Form, y: Array, z: Array) -> tuple[Array, Array] | None:
    """Return multipliers that prove that no point of moderate size meets the constraints."""

    def is_proof(both: Array, share: float) -> bool:
        total = -float(np.append(form.b, form.d) @ both)
        force = both[: len(y)] @ form.A + form.columns(both[len(y) :])
        return total > 0 and bool(largest(force) <= share * total)

    both = np.append(y, z)
    if is_proof(both, _NEARLY) and not is_proof(both, _PROOF):
        rows = np.vstack([form.A, form.chosen(np.ones(len(z), dtype=np.bool_))])
        both = _in_null_space(rows.T, both)
    if not is_proof(both, _PROOF) or np.any(both[len(y) :] < 0):
        return None
    return both[: len(y)], both[len(y) :]


def _fall(form: _Form, x: Array) -> Array | None:
    """Return the direction of x if the value falls along it forever, hitting no constraint."""

    def is_proof(x: Array, share: float) -> bool:
        fall = -float(form.q @ x)
        hits = np.concatenate([form.P @ x, form.A @ x, np.maximum(form.rows(x), 0.0)])
        return fall > 0 and bool(largest(hits) <= share * fall)

    if is_proof(x, _NEARLY) and not is_proof(x, _PROOF):
        hit = form.chosen(form.rows(x) > 0)
        x = _in_null_space(np.vstack([form.P, form.A, hit]), x)
    return x if is_proof(x, _PROOF) else None


def _in_null_space(matrix: Array, x: Array) -> Array:
    """Return the vector close to x that a matrix takes to zero, each entry moved in its unit.

    The last step to a proof is one of least squares: Newton's equations have no digits left
    where the solution is infinite.
    """
    size = np.abs(x)
    change = np.linalg.lstsq(matrix * size, matrix @ x, rcond=None)[0]
    return np.asarray(x - size * change)


def _polished(form: _Form, state: _State) -> tuple[Array, Array, Array]:
    """Return a state made exact: the equations of the constraints that bind are solved.

    A constraint that binds without pull has slack and multiplier of the size of the root of
    their product: it is tried with those that bind and without. What is closest to optimal of
    all that was tried, and of the state itself, is kept.
    """
    near = _UNCLEAR * np.sqrt(state.mean_product)
    choices = (state.z > state.s, state.s < near, state.z > near)
    tried = [state.solution, *(_sharp(form, state, is_binding) for is_binding in choices)]
    return min(tried, key=lambda each: form.residual(*each).largest)


def _sharp(
    form: _Form, state: _State, is_binding: NDArray[np.bool_]
) -> tuple[Array, Array, Array]:
    """Return the solution of the equations of some constraints, started at a state."""
    x, y, z = state.solution
    rows = np.vstack([form.A, form.chosen(is_binding)])
    ends = np.concatenate([form.b, form.d[is_binding]])
    factor, pull = _Factor(form.P, rows), np.concatenate([y, z[is_binding]])
    for _ in range(2 * _REFINEMENTS):
        left = np.append(-(form.P @ x + form.q + pull @ rows), ends - rows @ x)
        found = factor.solve(left)
        x, pull = x + found[: len(x)], pull + found[len(x) :]
    z = np.zeros_like(z)
    z[is_binding] = np.maximum(pull[len(y) :], 0.0)
    return x, pull[: len(y)], z


_APART = 1e-13
_MOST_AXES = 2
_MOST_TURNS = 50


@dataclass(frozen=True, eq=False)
class MarginPlane:
    """The plane ``normal . x + offset = 0``, and how far the nearest rows are from it.

    Attributes
    ----------
    normal
        Of length one, shape (d,).
    offset
        Signed distance of the origin.
    margin
        Least of ``sign (normal . x + offset)``; if negative, the rows overlap by as much.
    multipliers
        One per row, 0 or more and of sum one, half of it for each sign; positive only for rows
        at the margin. ``margin * normal`` is ``sum_i multiplier_i sign_i x_i``.
    """

    normal: Array
    offset: float
    margin: float
    multipliers: Array


def maximum_margin_plane(X: ArrayLike, sign: ArrayLike) -> MarginPlane:
    """Return the plane that maximizes m where ``sign_i (w . x_i + c) >= m`` and ``|w| = 1``.

    The canonical form, least ``|v|`` where ``sign_i (v . x_i + c) >= 1``, has the same plane
    with ``m = 1 / |v|``. This one also has an answer where no plane parts the rows.

    Parameters
    ----------
    X
        Rows, shape (n, d).
    sign
        1 or -1 for each row, both present, shape (n,).

    Notes
    -----
    Another length of w makes the multiplier of its length one half, which leaves a quadratic
    program: least ``|w|^2 / 2 - m`` where ``sign_i (w . x_i + c) >= m``. If the rows overlap,
    its solution is zero, and no convex program is left. Linear programs, in which ``w . w_last
    = 1`` stands for the length, then lower the overlap by turns until it rests, from several
    starts: what is found is an overlap that no small turn lowers.

    Examples
    --------
    >>> plane = maximum_margin_plane([[0, 0], [1, 0], [3, 0], [3, 2]], [-1, -1, 1, 1])
    >>> plane.normal.round(6) + 0.0, round(plane.offset, 6), round(plane.margin, 6)
    (array([1., 0.]), -2.0, 1.0)
    >>> round(maximum_margin_plane([[0.0], [2.0], [1.5], [4.0]], [-1, -1, 1, 1]).margin, 6)
    -0.25
    """
    rows, signs = _checked_rows(X, sign)
    center = rows.mean(axis=0)
    moved = rows - center
    scale = float(np.abs(moved).max()) or 1.0
    moved = moved / scale
    turn = np.eye(moved.shape[1])
    if moved.shape[1] > len(moved):
        turn, triangle = np.linalg.qr(moved.T)
        moved = triangle.T
    plane = _apart(moved, signs)
    if plane.margin <= _APART:
        plane = max((_turned(moved, signs, w) for w in _starts(moved, signs)), key=_margin)
    normal = turn @ plane.normal
    offset = float(scale * plane.offset - normal @ center)
    return MarginPlane(normal, offset, scale * plane.margin, plane.multipliers)


def _checked_rows(X: ArrayLike, sign: ArrayLike) -> tuple[Array, Array]:
    rows, signs = as_float(X), as_float(sign)
    if rows.ndim != 2 or signs.shape != rows.shape[:1]:
        raise ValueError(
            "X must have shape (n, d) and sign (n,); found "
            f"{rows.shape} and {signs.shape}. Pass one sign per row."
        )
    if not np.isfinite(rows).all():
        raise ValueError(
            f"X must be finite; found {rows[~np.isfinite(rows)][0]}. Fill gaps, or leave out "
            "those rows."
        )
    if set(np.unique(signs)) != {-1.0, 1.0}:
        raise ValueError(
            "sign must hold 1 and -1, both of them, and nothing else; found "
            f"{np.unique(signs)[:5].tolist()}. Code the two classes so."
        )
    return rows, signs


def _margin(plane: MarginPlane) -> float:
    return plane.margin


def _apart(rows: Array, signs: Array) -> MarginPlane:
    """Return the best plane of rows that one parts; of others, one of no meaning."""
    d = rows.shape[1]
    curvature = np.diag(np.repeat([1.0, 0.0], [d, 2]))
    slope = np.append(np.zeros(d + 1), -1.0)
    found = QuadraticProgram(curvature, slope, inequalities=_sides(rows, signs)).minimum()
    return _plane(rows, signs, found.x[:d], found.multipliers.inequality)


def _turned(rows: Array, signs: Array, normal: Array) -> MarginPlane:
    """Return the plane to which linear programs turn a first one until it rests."""
    d = rows.shape[1]
    slope = np.append(np.zeros(d + 1), -1.0)
    plane = _plane(rows, signs, normal, np.zeros(len(rows)))
    for _ in range(_MOST_TURNS):
        length = np.append(plane.normal, [0.0, 0.0])[None], [1.0]
        program = QuadraticProgram(np.zeros((d + 2, d + 2)), slope, length, _sides(rows, signs))
        found = program.minimum()
        before = plane
        plane = _plane(rows, signs, found.x[:d], found.multipliers.inequality)
        if plane.margin <= before.margin + _APART:
            break
    return plane


def _sides(rows: Array, signs: Array) -> tuple[Array, Array]:
    """Return ``m - sign_i (w . x_i + c) <= 0`` as rows in (w, c, m)."""
    signed = signs[:, None] * np.column_stack([rows, np.ones(len(rows))])
    return np.column_stack([-signed, np.ones(len(rows))]), np.zeros(len(rows))


def _plane(rows: Array, signs: Array, w: Array, multipliers: Array) -> MarginPlane:
    """Return the plane across ``w`` halfway between the nearest rows of each sign."""
    normal = w / (np.linalg.norm(w) or 1.0)
    scores = rows @ normal
    high, low = scores[signs > 0].min(), scores[signs < 0].max()
    return MarginPlane(
        normal, float(-0.5 * (high + low)), float(0.5 * (high - low)), multipliers
    )


def _starts(rows: Array, signs: Array) -> list[Array]:
    """Return the way from mean to mean, plain and by the spread, and the thinnest axes."""
    apart = rows[signs > 0].mean(axis=0) - rows[signs < 0].mean(axis=0)
    within = rows - np.where(signs[:, None] > 0, 0.5, -0.5) * apart
    _, sizes, axes = np.linalg.svd(within, full_matrices=False)
    floor = 1e-6 * float(sizes.max()) or 1.0
    spread = axes.T @ ((axes @ apart) / np.maximum(sizes, floor) ** 2)
    thin = axes[::-1][:_MOST_AXES]
    starts = [apart, spread, *thin, *-thin]
    return [start / np.linalg.norm(start) for start in starts if start.any()]
