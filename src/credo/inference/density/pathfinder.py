"""Pathfinder: the Gaussian nearest to a density among those that L-BFGS passes [zhang2022]_.

Steps of L-BFGS lead to the mode, and each of them says a Gaussian: the inverse Hessian that it
would step by. The nearest to the density need not be the last.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator

from credo.distributions.multivariate_normal import MultivariateNormal
from credo.inference.density.laplace import LOG_TWO_PI, poisson_rate
from credo.inference.density.metric import Metric
from credo.inference.density.start import find_start
from credo.inference.engine.engine import Account, Inference, Move, Settled
from credo.inference.engine.pareto import pareto_smoothed
from credo.inference.engine.problem import LogDensity
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.form import Form
from credo.numerics.special.log_domain import log_sum_exp

__all__ = ["PathState", "Pathfinder", "path_draw", "path_metric"]

N_JUDGES = 500
"""Draws of the Gaussian that tell its evidence and k-hat."""

STEEP = 0.1
"""Share of the slope along a line below which its search ends."""

MOST_TRIES, SHARE_OF_SLOPE = 30, 1e-4
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
        return (Example(cls(), problem=poisson_rate()),)

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


def path_draw(
    problem: LogDensity, free: Array, log_density: float, slope: Array, rng: Generator
) -> tuple[Array, Metric]:
    """Return a draw of the nearest Gaussian on the path from a point, and its covariance.

    The point itself, with the first guess of a covariance, if no step of the path could be
    judged.

    Parameters
    ----------
    free, log_density, slope
        Where the path begins, and the log density and its gradient there.
    """
    path = Pathfinder()
    state = path.begin(free, log_density, slope, rng)
    for _ in range(path.max_steps):
        before, (state, move) = state, path.step(problem, state, rng)
        if move.change <= path.tolerance or state is before:
            break
    if np.isneginf(state.bound):
        return free, state.metric
    noise = rng.standard_normal((1, len(free)))
    return state.mean + state.metric.momenta(noise)[1][0], state.metric


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
