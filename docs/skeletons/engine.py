"""Laplace's approximation of a density of one number: a skeleton for a new engine.

Copy it to ``src/credo/inference/<subject>/<name>.py`` and export it by a line in the stub of
the room. An engine knows a problem, never a model: whatever can state the problem is served.
An engine that networks are to ask for by name is in ``method.py`` beside this file.
"""

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.random import Generator

from credo.distributions.normal import Normal
from credo.inference.engine.engine import Account, Inference, Move, Settled
from credo.numerics.example import Example

__all__ = ["LogGamma", "NewtonLaplace", "SmoothDensity"]


class SmoothDensity(Protocol):
    """The problem: an unnormalized log density of one number, with two derivatives."""

    def log_density(self, x: float) -> float:
        """Return the log density, up to a constant if the evidence is not wanted."""
        ...

    def slope(self, x: float) -> float:
        """Return its first derivative."""
        ...

    def curvature(self, x: float) -> float:
        """Return its second derivative, which must be negative."""
        ...


@dataclass(frozen=True)
class LogGamma:
    """The density of the logarithm of a gamma variable, a problem to try the engine on."""

    shape: float = 3.0

    def log_density(self, x: float) -> float:
        """Return the log density, not normalized."""
        return float(self.shape * x - np.exp(x))

    def slope(self, x: float) -> float:
        """Return its first derivative."""
        return float(self.shape - np.exp(x))

    def curvature(self, x: float) -> float:
        """Return its second derivative."""
        return float(-np.exp(x))


@dataclass(frozen=True)
class NewtonLaplace:
    """Climb to the mode by Newton's steps, then fit a normal to the curvature there.

    Exact, after one step and one to confirm it, where the log density is quadratic.

    Attributes
    ----------
    start
        Where to start.
    tolerance
        Length of step below which the mode is found.
    max_steps
        Steps after which it gives up, and says so.
    """

    start: float = 0.0
    tolerance: float = 1e-9
    max_steps: int = 50

    is_random: ClassVar[bool] = False

    @property
    def stop(self) -> Settled:
        """The last step was short, or there were too many."""
        return Settled(self.tolerance, self.max_steps)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return engines for the laws, each with a problem to solve."""
        return (Example(cls(start=1.0), problem=LogGamma()),)

    def init(self, problem: SmoothDensity, rng: Generator) -> float:
        """Return the point to start from."""
        return self.start

    def step(self, problem: SmoothDensity, state: float, rng: Generator) -> tuple[float, Move]:
        """Return the maximum of the parabola that touches the log density at ``state``."""
        moved = state - problem.slope(state) / problem.curvature(state)
        return moved, Move(problem.log_density(moved), abs(moved - state))

    def posterior(self, problem: SmoothDensity, state: float) -> Inference:
        """Return the normal at the mode, and the integral under its parabola."""
        variance = -1.0 / problem.curvature(state)
        log_evidence = problem.log_density(state) + 0.5 * np.log(2 * np.pi * variance)
        normal = Normal(state, np.sqrt(variance))
        account = Account("Laplace approximation", False, float("nan"), "unknown")
        return Inference(normal, float(log_evidence), "laplace", account=account)
