"""Where chains and searches begin: a random point of positive density."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from credo.inference.engine.problem import LogDensity
from credo.numerics.array import Array

__all__ = ["BadDensity", "NoStart", "find_start", "require_density"]

MOST_TRIES = 100


class BadDensity(ValueError):
    """A log density or its gradient is not what it must be."""


class NoStart(ValueError):
    """No point of positive density was found to start from."""


def find_start(
    problem: LogDensity, rng: Generator, width: float = 2.0
) -> tuple[Array, float, Array]:
    """Return a random point of positive density, its log density and the gradient there.

    Parameters
    ----------
    width
        How far free numbers may lie from those of the problem to start from.

    Raises
    ------
    NoStart
        If 100 random points have density zero.
    BadDensity
        If the density is infinite or no number somewhere, or a gradient is not finite.
    """
    d = problem.parameters.n_free
    for _ in range(MOST_TRIES):
        free = problem.start + rng.uniform(-width, width, d)
        with np.errstate(all="ignore"):
            value, slope = problem.log_density_and_gradient(free)
        require_density(problem, value, free)
        if np.isneginf(value):
            continue
        _require_slope(problem, slope, free)
        return free, value, slope
    raise NoStart(
        f"log_density must be above minus infinity near the start; found density zero at "
        f"{MOST_TRIES} random points around {_shown(problem, problem.start)}. Give a start "
        "of positive density, or supports that leave out what is impossible."
    )


def require_density(problem: LogDensity, value: float, free: Array) -> None:
    """Refuse a log density that is plus infinity or no number."""
    if np.isnan(value) or value == np.inf:
        raise BadDensity(
            f"log_density must be a number below infinity; found {value} at "
            f"{_shown(problem, free)}. Return -inf where the density is zero, and look for a "
            "logarithm of a negative number or a division by zero."
        )


def _require_slope(problem: LogDensity, slope: Array, free: Array) -> None:
    if not np.isfinite(slope).all():
        raise BadDensity(
            f"a gradient must be finite where the density is positive; found "
            f"{slope[~np.isfinite(slope)][0]} at {_shown(problem, free)}, for "
            f"{problem.parameters.label(int(np.argmin(np.isfinite(slope))))}. Correct it."
        )


def _shown(problem: LogDensity, free: Array) -> str:
    """Return values by name in few digits."""
    values = problem.parameters.constrain(free)
    with np.printoptions(precision=4, threshold=6, edgeitems=2):
        return ", ".join(f"{name} = {np.asarray(x)}" for name, x in values.items())
