"""Means and modes of spins by the name of a method or by an engine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from credo.inference.engine.engine import Engine, Inference, run
from credo.inference.spins.cut import spin_cut
from credo.inference.spins.gibbs import IsingGibbs
from credo.inference.spins.mean_field import IsingMeanField
from credo.inference.spins.modes import IsingConditionalModes
from credo.inference.spins.problem import IsingProblem, SpinAssignment

__all__ = ["DENOISERS", "Method", "check_method", "modes_by", "spin_inference"]

Method = str | Engine[IsingProblem, Any]

MEANS = ("auto", "exact", "gibbs", "mean_field")
MODES = ("max_flow", "icm", "exact")
DENOISERS = (*MEANS, "max_flow", "icm")
"""Methods that give every spin a value: its more probable one, or that of the best image."""


def spin_inference(
    problem: IsingProblem,
    method: Method,
    rng: np.random.Generator | int | None = None,
    max_seconds: float = float("inf"),
) -> Inference:
    """Return means of all spins by "gibbs", "mean_field" or an engine.

    Parameters
    ----------
    rng
        Replaces the seed of Gibbs sampling, if given.
    """
    engines: dict[str, Any] = {"gibbs": IsingGibbs(), "mean_field": IsingMeanField()}
    engine = engines.get(method) if isinstance(method, str) else method
    if engine is None:
        raise _unknown(method, MEANS)
    if isinstance(engine, IsingGibbs) and rng is not None:
        seed = int(np.random.default_rng(rng).integers(1 << 62))
        engine = replace(engine, seed=seed)
    return run(engine, problem, max_seconds=max_seconds)


def modes_by(problem: IsingProblem, method: str) -> SpinAssignment:
    """Return the most probable spins by "max_flow", or a local optimum by "icm"."""
    if method == "max_flow":
        return spin_cut(problem)
    if method == "icm":
        answer: SpinAssignment = run(IsingConditionalModes(), problem).posterior
        return answer
    raise _unknown(method, MODES)


def check_method(method: Method, known: tuple[str, ...]) -> None:
    """Raise if a method is a name that is not known."""
    if isinstance(method, str) and method not in known:
        raise _unknown(method, known)


def _unknown(method: object, known: tuple[str, ...]) -> ValueError:
    return ValueError(
        f"method must be one of {list(known)}; found {method!r}. Check the spelling, or pass "
        "an engine."
    )
