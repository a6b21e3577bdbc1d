"""Laplace's approximation: the Gaussian at the mode of a posterior.

The mode is found by Newton steps with a Cholesky factor, halved until the value falls. Near it
``Z = integral exp(-E)`` is close to ``exp(-E(mode)) (2 pi)^(d/2) / sqrt(det curvature)``
[mackay2003]_. Of the curvature all may be kept, its blocks of named parameters, or its
diagonal: the closest Gaussian in which those parts are independent, as in mean field.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator

from credo.distributions.multivariate_normal import MultivariateNormal
from credo.inference.engine.engine import Account, Inference, Move, Settled
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
from credo.numerics.quotation import quote
from credo.numerics.special.bijection import positive

__all__ = [
    "LaplaceApproximation",
    "Mode",
    "approach",
    "poisson_rate",
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
    curvature
        What is kept of the curvature at the mode: "full", "block" for one block for each
        named parameter of a `LogDensity`, or "diagonal". What is dropped makes deviations
        smaller, and the evidence with them.
    """

    tolerance: float = 1e-4
    max_steps: int = 200
    curvature: str = "full"

    problem = CurvedProblem
    is_random: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.curvature not in ("full", "block", "diagonal"):
            raise ValueError(
                "curvature must be 'full', 'block' or 'diagonal'; found "
                f"{quote(self.curvature)}. Say what is kept of it at the mode."
            )

    @property
    def stop(self) -> Settled:
        """The last step was short, or there were too many."""
        return Settled(self.tolerance, self.max_steps)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return engines for the laws, each with a problem to solve."""
        return (
            Example(cls(), problem=poisson_rate()),
            Example(cls(curvature="diagonal"), problem=poisson_rate()),
        )

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
        gaussian = MultivariateNormal.from_precision(
            state.parameters, self._kept(problem, state.curvature)
        )
        d = len(state.parameters)
        log_evidence = -state.value + 0.5 * (d * LOG_TWO_PI + float(gaussian.form.log_det()))
        return Inference(gaussian, log_evidence, "laplace", account=ACCOUNT)

    def _kept(self, problem: CurvedProblem, curvature: Array) -> Array:
        """Return the curvature with zeros where it is dropped."""
        if self.curvature == "full":
            return curvature
        block = np.arange(len(curvature))
        if self.curvature == "block":
            if not isinstance(problem, LogDensity):
                raise ValueError(
                    "curvature='block' needs a density of named parameters; found a problem "
                    f"of type {type(problem).__name__}. Keep 'full' or 'diagonal'."
                )
            block = problem.parameters.block
        return np.where(block[:, None] == block, curvature, 0.0)


def poisson_rate() -> LogDensity:
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
