"""Gaussians near the mode of a posterior: Laplace's approximation, and those along a path.

The mode is found by Newton steps with a Cholesky factor, halved until the value falls. Near it
``Z = integral exp(-E)`` is close to ``exp(-E(mode)) (2 pi)^(d/2) / sqrt(det curvature)``
[mackay2003]_. Where curvatures are dear, steps of L-BFGS lead to the mode, and each of them
says a Gaussian: the inverse Hessian that it would step by. `Pathfinder` takes the one that is
nearest to the density, which need not be the last [zhang2022]_.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator

from credo.distributions.multivariate_normal import MultivariateNormal
from credo.inference.density.trajectory import Metric, find_start
from credo.inference.engine.engine import Account, Inference, Move, Settled
from credo.inference.engine.pareto import pareto_smoothed
from credo.inference.engine.problem import CurvedProblem, LogDensity, Parameters
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.form import Form
from credo.numerics.linear.linear_algebra import (
    Cholesky,
    NotPositiveDefinite,
    cholesky,
    solve_lower,
)
from credo.numerics.optimize.minimum import Minimum, Termination
from credo.numerics.optimize.quasi_newton import lbfgs
from credo.numerics.special.bijection import positive
from credo.numerics.special.log_domain import log_sum_exp

__all__ = [
    "LaplaceApproximation",
    "Mode",
    "PathState",
    "Pathfinder",
    "approach",
    "path_metric",
]

ACCOUNT = Account("Laplace approximation", False, float("nan"), "unknown")

LOG_TWO_PI = float(np.log(2 * np.pi))
SHARE_OF_SLOPE = 1e-4
MAX_HALVINGS = 40


@dataclass(frozen=True, eq=False)
class Mode:
    """Parameters on the way to the mode, and ``E``, gradient and curvature there."""

    parameters: Annotated[Array, Form("d")]
    value: float
    gradient: Annotated[Array, Form("d")]
    curvature: Annotated[Array, Form("d d")]


@dataclass(frozen=True)
class LaplaceApproximation:
    """Go to the mode by Newton's method and stay there as a Gaussian.

    Attributes
    ----------
    tolerance
        Length of a Newton step, in standard deviations of the posterior and per parameter,
        that counts as the last one. It is still taken, and leaves about its square.
    max_steps
        Steps after which the search gives up.
    """

    tolerance: float = 1e-4
    max_steps: int = 200

    problem = CurvedProblem
    is_random: ClassVar[bool] = False

    @property
    def stop(self) -> Settled:
        """The last step was short, or there were too many."""
        return Settled(self.tolerance, self.max_steps)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return engines for the laws, each with a problem to solve."""
        return (Example(cls(), problem=_poisson_rate()),)

    def init(self, problem: CurvedProblem, rng: Generator) -> Mode:
        """Return the start with all derivatives."""
        start = problem.start
        return Mode(start, *problem.derivatives(start))

    def step(self, problem: CurvedProblem, state: Mode, rng: Generator) -> tuple[Mode, Move]:
        """Take one Newton step, halved until ``E`` falls enough."""
        factor = _factor(state.curvature)
        direction = -factor.solve(state.gradient[:, None])[:, 0]
        decrement = float(np.sqrt(max(-float(state.gradient @ direction), 0.0)))
        length = decrement / max(len(direction), 1) ** 0.5
        if length <= self.tolerance:
            # So close, the quadratic says what derivatives at the new point would say.
            last = Mode(
                state.parameters + direction,
                state.value - 0.5 * decrement**2,
                np.zeros_like(state.gradient),
                state.curvature,
            )
            return last, Move(last.value, length)
        after = _lower(problem, state, direction, decrement)
        return after, Move(after.value, length)

    def posterior(self, problem: CurvedProblem, state: Mode) -> Inference:
        """Return the Gaussian and the log of the integral of ``exp(-E)``."""
        if not np.all(np.diagonal(state.curvature) > 0):
            raise NotPositiveDefinite(
                "a density must have a peak, where it bends down in every direction, for "
                "Laplace's method; found one that is flat or rises where the search ended. "
                "Check that the density can be normalized, or start nearer to its peak."
            )
        gaussian = MultivariateNormal.from_precision(state.parameters, state.curvature)
        d = len(state.parameters)
        log_evidence = -state.value + 0.5 * (d * LOG_TWO_PI + float(gaussian.form.log_det()))
        return Inference(gaussian, log_evidence, "laplace", account=ACCOUNT)


def _poisson_rate() -> LogDensity:
    """Return the density of two positive rates of counts 3 and 5, each with a gamma prior."""

    def log_density(values: dict[str, Array]) -> tuple[float, dict[str, Array]]:
        rate, shape = values["rate"], np.array([4.0, 6.0])
        return float(shape @ np.log(rate) - 1.5 * rate.sum()), {"rate": shape / rate - 1.5}

    return LogDensity(Parameters({"rate": positive(2)}), log_density)


def _factor(curvature: Array) -> Cholesky:
    """Return the factor of a curvature, made positive where it is not so far from a mode.

    As much is added to the diagonal as turns every direction downhill, in the way of Levenberg.
    """
    try:
        return cholesky(curvature)
    except NotPositiveDefinite:
        values = np.linalg.eigvalsh(curvature)
        lift = 1e-3 * float(np.abs(values).max()) - 2.0 * float(values[0])
        return cholesky(curvature + lift * np.eye(len(values)))


def approach(
    problem: CurvedProblem,
    start: Array,
    guide: Array,
    tolerance: float = 2e-4,
    max_steps: int = 500,
) -> Minimum:
    """Return where values and gradients alone lead, close to the mode.

    Quasi-Newton steps in coordinates in which the ``guide`` is the identity, so that a rough
    curvature, such as that of some of the rows, makes them few.

    Parameters
    ----------
    guide
        Rough curvature, shape (d, d), or only its diagonal, shape (d,).
    tolerance
        Largest entry of the gradient in those coordinates that counts as zero.
    """
    to_parameters, to_gradient = _whitened(guide)
    last: dict[str, Array] = {}

    def value(u: Array) -> float:
        found, gradient = problem.value_and_gradient(start + to_parameters(u))
        last["gradient"] = to_gradient(gradient)
        return found

    rules = Termination(max_steps, value_change=1e-15, gradient_norm=tolerance)
    # L-BFGS asks for the gradient where it has just asked for the value.
    found = lbfgs(value, lambda u: last["gradient"], np.zeros_like(start), termination=rules)
    return replace(found, x=np.asarray(start + to_parameters(found.x)))


def _whitened(guide: Array) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
    """Return the maps from whitened coordinates to parameters, and of gradients back."""
    if guide.ndim == 1:
        root = np.sqrt(guide)
        return (lambda u: u / root), (lambda g: g / root)
    factor: Cholesky = cholesky(guide)

    def to_parameters(u: Array) -> Array:
        return solve_lower(factor.lower, u[:, None], transposed=True)[:, 0]

    return to_parameters, factor.whiten


def _lower(problem: CurvedProblem, state: Mode, direction: Array, decrement: float) -> Mode:
    """Return the first point along the direction, by halving, that is low enough."""
    size = 1.0
    for _ in range(MAX_HALVINGS):
        moved = state.parameters + size * direction
        found = problem.derivatives(moved)
        enough = state.value - SHARE_OF_SLOPE * size * decrement**2
        if found[0] <= enough + 1e-12 * abs(state.value):
            return Mode(moved, *found)
        size *= 0.5
    return state


N_JUDGES = 500
"""Draws of the Gaussian that tell its evidence and k-hat."""

STEEP = 0.1
"""Share of the slope along a line below which its search ends."""

MOST_TRIES = 30
LEAST_CURVATURE = 1e-12


@dataclass(frozen=True, eq=False)
class PathState:
    """A point on the way to the mode, pairs that tell of its curvature, and the best so far.

    Attributes
    ----------
    here
        Free numbers, the gradient of ``-log p`` there, and the diagonal of the first guess of
        the inverse Hessian, shape (3, d).
    value
        ``-log p`` here.
    steps, changes
        Last steps, and changes of the gradient along them, the oldest first, shape (m, d).
    mean
        Mean of the best Gaussian so far, shape (d,).
    scale, directions, weights
        Its covariance ``S (I + U' diag(w) U) S``, shapes (d,), (k, d) and (k,).
    bound
        Its bound of the log evidence; minus infinity before there is one.
    base, judges
        Standard normal draws that tell bounds along the way, and the worth of the best.
    """

    here: Annotated[Array, Form("3 d")]
    value: float
    steps: Annotated[Array, Form("m d")]
    changes: Annotated[Array, Form("m d")]
    mean: Annotated[Array, Form("d")]
    scale: Annotated[Array, Form("d", 0.0)]
    directions: Annotated[Array, Form("k d")]
    weights: Annotated[Array, Form("k", -1.0)]
    bound: float
    base: Annotated[Array, Form("b d")]
    judges: Annotated[Array, Form("j d")]

    @property
    def metric(self) -> Metric:
        """The covariance of the best Gaussian."""
        return Metric(self.scale, self.directions, self.weights)


@dataclass(frozen=True)
class Pathfinder:
    """Follow L-BFGS to the mode, and stay at the Gaussian that is nearest to the density.

    It needs gradients alone, some tens of them, and a start anywhere: the Gaussian before the
    mode is the better one where the mode is not typical. What is left between it and the
    density is measured by the k-hat of importance ratios [zhang2022]_.

    Attributes
    ----------
    n_pairs
        Last steps that tell of the curvature. A Gaussian of no more numbers is found exactly.
    n_draws
        Draws by which the Gaussian of each step is judged.
    tolerance
        Length of a step, in standard deviations and per parameter, that counts as the last.
    max_steps
        Steps after which the search gives up.

    Examples
    --------
    >>> from credo.inference import run
    >>> problem = Pathfinder.examples()[0].arguments["problem"]
    >>> found = run(Pathfinder(), problem, np.random.default_rng(0))
    >>> found.posterior.mean().round(1)  # of the logs of two rates
    array([1.2, 1.5])
    >>> found.evidence_method
    'importance'
    """

    n_pairs: int = 10
    n_draws: int = 10
    tolerance: float = 1e-4
    max_steps: int = 500

    problem = LogDensity
    name: ClassVar[str] = "pathfinder"
    is_random: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.n_pairs < 1 or self.n_draws < 1:
            raise ValueError(
                f"n_pairs and n_draws must be at least 1; found {self.n_pairs} and "
                f"{self.n_draws}. Use 10 and 10."
            )

    @property
    def stop(self) -> Settled:
        """The last step was short, or there were too many."""
        return Settled(self.tolerance, self.max_steps)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return engines for the laws, each with a problem to solve."""
        return (Example(cls(), problem=_poisson_rate()),)

    def init(self, problem: LogDensity, rng: Generator) -> PathState:
        """Return a random start of positive density, and all draws."""
        free, log_density, slope = find_start(problem, rng)
        return self.begin(free, log_density, slope, rng)

    def begin(self, free: Array, log_density: float, slope: Array, rng: Generator) -> PathState:
        """Return a path that begins at free numbers of which the density is known."""
        d = len(free)
        nothing, ones = np.zeros((0, d)), np.ones(d)
        return PathState(
            here=np.stack([free, -slope, ones / max(1.0, float(np.abs(slope).max()))]),
            value=-log_density,
            steps=nothing,
            changes=nothing,
            mean=free,
            scale=ones,
            directions=nothing,
            weights=np.zeros(0),
            bound=-np.inf,
            base=rng.standard_normal((self.n_draws, d)),
            judges=rng.standard_normal((N_JUDGES, d)),
        )

    def step(
        self, problem: LogDensity, state: PathState, rng: Generator
    ) -> tuple[PathState, Move]:
        """Take a step of L-BFGS, and judge the Gaussian where it ends."""
        position, slope, diagonal = state.here
        metric = path_metric(diagonal, state.steps, state.changes)
        direction = -metric.times(slope)
        length = float(np.sqrt(max(-(slope @ direction), 0.0) / len(slope)))
        found = _line_minimum(problem, position, slope, direction, state.value)
        if found is None:
            return state, Move(state.bound, length)
        value, after, gradient = found
        step, change = after - position, gradient - slope
        steps, changes = state.steps, state.changes
        if step @ change > LEAST_CURVATURE * np.sqrt((step @ step) * (change @ change)):
            steps = np.concatenate([steps, step[None]])[-self.n_pairs :]
            changes = np.concatenate([changes, change[None]])[-self.n_pairs :]
            diagonal = _next_diagonal(diagonal, step, change)
        moved = replace(
            state,
            here=np.stack([after, gradient, diagonal]),
            value=value,
            steps=steps,
            changes=changes,
        )
        moved = _judged(problem, moved)
        return moved, Move(moved.bound, length)

    def posterior(self, problem: LogDensity, state: PathState) -> Inference:
        """Return the best Gaussian of free numbers, the evidence by it, and its k-hat."""
        metric = state.metric
        spread = metric.momenta(state.judges)[1]
        with np.errstate(all="ignore"):
            log_density = problem.log_densities(state.mean + spread)
        ratio = log_density - _log_prob(metric, state.judges)
        ratio = np.where(np.isnan(ratio), -np.inf, ratio)
        k_hat = float(pareto_smoothed(ratio).k_hat)
        account = Account(
            "Pathfinder",
            False,
            max(k_hat, 0.0),
            "k-hat of its importance weights, at most 0.7 if it is near",
        )
        root = metric.directions * metric.scale
        covariance = np.diag(metric.scale**2) + (root.T * metric.weights) @ root
        gaussian = MultivariateNormal(state.mean, covariance)
        log_evidence = float(log_sum_exp(ratio)) - float(np.log(len(ratio)))
        return Inference(gaussian, log_evidence, "importance", account=account)


def _log_prob(metric: Metric, noise: Array) -> Array:
    """Return the log density of the Gaussian at the points that standard normals stand for."""
    log_det = 2.0 * np.log(metric.scale).sum() + np.log1p(metric.weights).sum()
    square = (noise**2).sum(axis=1)
    return np.asarray(-0.5 * (square + noise.shape[1] * LOG_TWO_PI + log_det))


def path_metric(diagonal: Array, steps: Array, changes: Array) -> Metric:
    """Return the inverse Hessian that pairs of L-BFGS stand for, as ``S (I + U' diag(w) U) S``.

    With steps ``s`` and changes ``z`` in columns, ``R`` the upper triangle of ``s' z`` with the
    diagonal ``e`` and ``D`` the first guess, it is ``D + B G B'`` for ``B = (D z, s)``, and
    G has the blocks ``0``, ``-R^-1`` and ``R^-T (diag(e) + z' D z) R^-1`` [byrd1994]_.

    Parameters
    ----------
    diagonal
        The first guess D, shape (d,).
    steps, changes
        Pairs of positive product, the oldest first, shape (m, d) each.

    Examples
    --------
    The inverse Hessian leads from the change of a gradient back to the step:

    >>> step, change = np.array([1.0, 2.0]), np.array([3.0, 1.0])
    >>> path_metric(np.ones(2), step[None], change[None]).times(change).round(12)
    array([1., 2.])
    """
    root = np.sqrt(diagonal)
    m = len(steps)
    if not m:
        return Metric(root, np.zeros((0, len(root))), np.zeros(0))
    triangle = np.triu(steps @ changes.T)
    inverse = np.linalg.inv(triangle)
    scaled = changes * root
    corner = inverse.T @ (np.diag(np.diagonal(triangle)) + scaled @ scaled.T) @ inverse
    middle = np.block([[np.zeros((m, m)), -inverse], [-inverse.T, corner]])
    basis, triangular = np.linalg.qr(np.concatenate([scaled, steps / root]).T)
    values, vectors = np.linalg.eigh(triangular @ middle @ triangular.T)
    # Rounding may leave a variance that is not positive.
    weights = np.maximum(values, -1.0 + 1e-12)
    return Metric(root, np.ascontiguousarray((basis @ vectors).T), weights)


def _next_diagonal(diagonal: Array, step: Array, change: Array) -> Array:
    """Return the guess of the inverse Hessian's diagonal after one more pair [gilbert1989]_."""
    a = float(change @ (diagonal * change))
    b = float(change @ step)
    c = float(step @ (step / diagonal))
    inverse = a / (b * diagonal) + change**2 / b - a * step**2 / (b * c * diagonal**2)
    return np.asarray(1.0 / np.clip(inverse, 1e-200, 1e200))


def _judged(problem: LogDensity, state: PathState) -> PathState:
    """Return the state with the Gaussian here, if its bound is higher than all before."""
    position, slope, diagonal = state.here
    metric = path_metric(diagonal, state.steps, state.changes)
    mean = position - metric.times(slope)
    spread = metric.momenta(state.base)[1]
    with np.errstate(all="ignore"):
        log_density = problem.log_densities(mean + spread)
        bound = float((log_density - _log_prob(metric, state.base)).mean())
    if not bound > state.bound:
        return state
    return replace(
        state,
        mean=mean,
        scale=metric.scale,
        directions=metric.directions,
        weights=metric.weights,
        bound=bound,
    )


def _line_minimum(
    problem: LogDensity, position: Array, slope: Array, direction: Array, value: float
) -> tuple[float, Array, Array] | None:
    """Return value, point and gradient near the lowest point of a line; None if none is lower.

    Secants of the slope along the line find it, at once if it is a parabola. It is bracketed,
    so that the gradient rises along the step, as L-BFGS needs it.
    """
    first = float(slope @ direction)
    low, high, size = 0.0, np.inf, 1.0
    low_slope, best = first, None
    for _ in range(MOST_TRIES):
        point = position + size * direction
        with np.errstate(all="ignore"):
            there, gradient = problem.value_and_gradient(point)
        along = float(gradient @ direction)
        is_lower = there <= value + SHARE_OF_SLOPE * size * first + 1e-12 * abs(value)
        if not (np.isfinite(there) and np.isfinite(along) and is_lower):
            high, size = size, 0.5 * (low + size)
            continue
        best = (float(there), point, gradient)
        if abs(along) <= STEEP * abs(first):
            break
        secant = size - along * (size - low) / (along - low_slope) if along != low_slope else 0
        if along < 0.0:
            low, low_slope = size, along
            size = secant if size < secant < min(high, 10.0 * size) else 4.0 * size
            size = size if size < high else 0.5 * (low + high)
        else:
            high = size
            size = secant if low < secant < high else 0.5 * (low + high)
    return best
