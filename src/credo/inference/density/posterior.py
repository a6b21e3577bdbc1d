"""The posterior of a model that is stated as a plain function: draws, evidence, verdict.

`posterior` is the front door to the engines of densities. By itself it looks for the mode from
several starts, takes Laplace's Gaussian there, and weighs draws of it by what they should have
been: if the weights have a light tail, the weighted draws are the answer, and else the density
is followed by the no-U-turn sampling. What was done is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator

from credo.inference.density.compiled import CompiledDensity
from credo.inference.density.laplace import LaplaceApproximation, approach
from credo.inference.density.stated import Parameter, stated_problem
from credo.inference.density.trajectory import (
    FACTS,
    NoUTurnSampling,
    TrajectoryState,
    find_start,
)
from credo.inference.engine.diagnosis import Diagnosis, diagnose_draws, is_mixed
from credo.inference.engine.draws import Draws
from credo.inference.engine.engine import ConvergenceWarning, Inference, run
from credo.inference.engine.method import density_engine
from credo.inference.engine.pareto import pareto_smoothed
from credo.inference.engine.problem import LogDensity
from credo.inference.engine.weighted_draws import ZeroWeights
from credo.numerics.array import Array
from credo.numerics.linear.linear_algebra import NotPositiveDefinite
from credo.numerics.parallel.threads import n_cores
from credo.numerics.special.log_domain import log_sum_exp
from credo.numerics.status import Status
from credo.numerics.warning import warn_user

__all__ = ["Posterior", "posterior"]

N_STARTS = 6
GOOD_K_HAT = 0.5
"""Shape of the tail of the weights up to which Laplace's Gaussian is good enough."""

OTHER_MODE = 10.0
"""Nats below the best mode up to which another one matters."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """What is believed about the parameters of a density, and how that was found.

    Attributes
    ----------
    draws
        Draws by name, with axes (chains, draws, ...).
    inference
        The answer of the engine, with its status, trace and state.
    method
        What it was drawn by.
    notes
        What was done, in words.
    log_evidence
        Log of the integral of the density, NaN where it is not known.
    log_evidence_error
        Its standard error, NaN where it is not known.
    mode
        The values of the highest density that was found; None if it was not looked for.
    facts
        What the engine tells of each draw by name, shape (chains, draws) each: log density,
        energy, acceptance, depth, steps, divergence; empty for other methods.
    """

    draws: Draws
    inference: Inference
    method: str
    notes: tuple[str, ...] = ()
    log_evidence: float = float("nan")
    log_evidence_error: float = float("nan")
    mode: Mapping[str, Array] | None = None
    facts: Mapping[str, Array] = field(default_factory=dict)
    max_depth: int | None = None

    @property
    def status(self) -> str:
        """Why the engine stopped, in words."""
        return str(self.inference.status.value)

    def summary(self, coverage: float = 0.9) -> pd.DataFrame:
        """Return a table of means, spreads and intervals, and how well each is known.

        What chains do not agree about has no mean: its row says so, and holds NaN.

        Parameters
        ----------
        coverage
            Probability of the interval from ``low`` to ``high``.
        """
        table = self.draws.summary(coverage)
        mixed = np.concatenate([np.ravel(x) for x in is_mixed(self.draws).values()])
        known = [name for name in table.columns if name not in _WORTHS]
        table.loc[~mixed, known] = np.nan
        table["verdict"] = np.where(mixed, "mixed", "chains do not agree")
        return table

    def diagnose(self) -> Diagnosis:
        """Return one verdict, with advice and the numbers behind it."""
        found = diagnose_draws(self.draws, self.facts, self.max_depth)
        if self.inference.status.has_converged:
            return found
        short = f"The run was cut short: it {self.status}. Give it more time or draws."
        return replace(found, is_sound=False, findings=(short, *found.findings))

    def to_arviz(self) -> Any:
        """Return what ArviZ reads, with what the engine tells of each draw."""
        return self.draws.to_arviz(_for_arviz(self.facts))

    def __str__(self) -> str:
        with pd.option_context("display.width", 96, "display.max_columns", 12):
            table = str(self.summary().round(4))
        return "\n".join(
            [f"{self.method}: {self.status}", *self.notes, str(self.diagnose()), table]
        )

    def __repr__(self) -> str:
        verdict = "sound" if self.diagnose().is_sound else "doubtful"
        return f"Posterior({self.draws!r}, {self.method}, {verdict})"


_WORTHS = ("effective_draws", "tail_effective_draws", "r_hat")
_ARVIZ_NAMES = {
    "log_density": "lp",
    "energy": "energy",
    "acceptance": "acceptance_rate",
    "depth": "tree_depth",
    "n_steps": "n_steps",
    "is_divergent": "diverging",
}


def _for_arviz(facts: Mapping[str, Array]) -> dict[str, Array]:
    found = {_ARVIZ_NAMES[name]: x for name, x in facts.items() if name in _ARVIZ_NAMES}
    if "diverging" in found:
        found["diverging"] = found["diverging"].astype(bool)
    return found


def posterior(
    log_density: Any,
    parameters: Mapping[str, Parameter],
    data: Any = None,
    inference: Any = "auto",
    chains: int = 4,
    draws: int = 1000,
    random_state: int | Generator | None = None,
    **settings: Any,
) -> Posterior:
    """Return the posterior of a model stated as a plain function of its parameters.

    Parameters
    ----------
    log_density
        Log of prior times likelihood, up to a constant. Called with the parameters by keyword
        if its arguments have their names, and else with one dictionary of arrays by name; then
        with the data. It returns a number, or a pair of that and the gradient: a dictionary of
        arrays by name, or an array if there is a single parameter. A pair ``(log_density,
        gradient)`` gives the gradient as a second function, or says how to find it:
        "complex", "differences" or "jax". Without a gradient complex steps are used if the
        function takes complex numbers, and else finite differences, for up to 100 numbers. A
        function compiled by numba whose first arguments are ``values`` and ``gradient`` is
        followed in machine code, see `CompiledDensity`.
    parameters
        A `Parameter` for each name.
    data
        Handed to the density: after the dictionary, as the argument ``data``, or, if a
        dictionary of names that are arguments, by keyword. To a compiled function, arrays.
    inference
        "auto": Laplace's approximation if importance ratios confirm it, else NUTS; "map",
        "laplace", "nuts", "hmc" or the name of another engine of densities; or an engine such
        as ``NoUTurnSampling(acceptance=0.95)``, whose own numbers of draws then hold.
    chains, draws
        Chains, and draws of each.
    settings
        Of `credo.inference.run`: ``stop``, ``executor``, ``on_step``, ``checkpoint``.

    Warns
    -----
    ConvergenceWarning
        If chains do not agree.

    Raises
    ------
    BadDensity
        If the density is infinite or no number, or its gradient is wrong.
    NoStart
        If no point of positive density is found.
    ImproperDensity
        If the density cannot be normalized, and that shows.

    Examples
    --------
    >>> def coin(probability, data):
    ...     heads, tails = data
    ...     return heads * np.log(probability) + tails * np.log1p(-probability)
    >>> found = posterior(
    ...     coin, {"probability": Parameter(support="unit")}, (7, 3), random_state=0
    ... )
    >>> found.draws
    Draws(probability: 4 chains of 1000)
    >>> round(float(found.draws.mean("probability")), 1)  # (7 + 1) / (10 + 2)
    0.7
    """
    _require_numbers(chains, draws)
    problem, gradient = stated_problem(log_density, parameters, data)
    rng = np.random.default_rng(random_state)
    asked = _Asked(problem, chains, draws, rng, settings, f"The gradient is {gradient}.")
    if isinstance(inference, str) and inference in _WAYS:
        return _WAYS[inference](asked)
    return _drawn(asked, density_engine(inference, draws), ())


def _require_numbers(chains: int, draws: int) -> None:
    for name, n in (("chains", chains), ("draws", draws)):
        if not isinstance(n, int | np.integer) or n < 1:
            raise ValueError(f"{name} must be a whole number of at least 1; found {n!r}.")


@dataclass(frozen=True, eq=False)
class _Asked:
    """What is asked for."""

    problem: LogDensity
    chains: int
    draws: int
    rng: Generator
    settings: Mapping[str, Any]
    note: str


def _auto(asked: _Asked) -> Posterior:
    """Return Laplace's approximation where importance ratios confirm it, else draws."""
    try:
        found = _laplace(asked)
    except (NotPositiveDefinite, FloatingPointError, ZeroWeights, np.linalg.LinAlgError):
        why = "No mode was found at which the density bends down in every direction"
    else:
        if not found.notes[-1].startswith("But"):
            return found
        why = found.notes[-1].removeprefix("But ").rstrip(".")
        why = why[0].upper() + why[1:]
    engine = NoUTurnSampling(n_draws=asked.draws)
    return _drawn(asked, engine, (f"{why}, so the density was followed by NUTS.",))


def _nuts(asked: _Asked) -> Posterior:
    return _drawn(asked, NoUTurnSampling(n_draws=asked.draws), ())


def _modes(asked: _Asked, problem: Any) -> list[tuple[float, Array]]:
    """Return where searches from several starts end, the highest log density first."""
    found = []
    with np.errstate(all="ignore"):
        for i in range(N_STARTS):
            start = (
                problem.start if i == 0 else find_start(asked.problem, asked.rng, 2.0 * i)[0]
            )
            if not np.isfinite(problem.value_and_gradient(start)[0]):
                continue
            end = approach(problem, start, np.ones(len(start)))
            if np.isfinite(end.value):
                found.append((-end.value, end.x))
    if not found:
        raise NotPositiveDefinite(
            "a search must end at a finite density; found none from "
            f"{N_STARTS} starts. Give starts of positive density."
        )
    return sorted(found, key=lambda each: -each[0])


@dataclass(frozen=True, eq=False)
class _Peak:
    """Minus the log density by the values themselves, of free numbers: no volume is added."""

    problem: LogDensity

    @property
    def start(self) -> Array:
        return self.problem.start

    def value_and_gradient(self, free: Array) -> tuple[float, Array]:
        value, gradient = self.problem.value_and_gradient(free)
        parameters = self.problem.parameters
        volume = float(parameters.log_jacobian(free))
        return value + volume, gradient + parameters.jacobian_slope(free)


def _map(asked: _Asked) -> Posterior:
    """Return the mode of the density of the values, as a single draw."""
    value, free = _modes(asked, _Peak(asked.problem))[0]
    mode = asked.problem.parameters.constrain(free)
    draws = Draws({name: x[None, None] for name, x in mode.items()})
    note = (
        f"The highest of {N_STARTS} searches, of log density {value:.6g}; a mode says nothing "
        "of how sure it is, and depends on how the parameters are written."
    )
    inference = Inference(draws, status=Status.CONVERGED)
    return Posterior(draws, inference, "mode", (asked.note, note), mode=mode)


def _laplace(asked: _Asked) -> Posterior:
    """Return draws of Laplace's Gaussian, resampled by importance ratios; say their tail."""
    problem = asked.problem
    modes = _modes(asked, problem)
    at_mode = replace(problem, guess=modes[0][1])
    with np.errstate(all="ignore"):
        found = run(LaplaceApproximation(), at_mode)
        gaussian = found.posterior
        n = asked.chains * asked.draws
        free = gaussian.sample(asked.rng, 2 * n).reshape(2 * n, -1)
        ratio = problem.log_densities(free) - gaussian.log_prob(free)
    smoothed = pareto_smoothed(np.where(np.isnan(ratio), -np.inf, ratio))
    k_hat = float(smoothed.k_hat)
    weight = np.exp(smoothed.log_weight - log_sum_exp(smoothed.log_weight))
    rows = asked.rng.choice(2 * n, size=n, p=weight)
    draws = problem.parameters.draws(free[rows].reshape(asked.chains, asked.draws, -1))
    worth = float(1.0 / (weight**2).sum())
    notes = [
        asked.note,
        f"Laplace's Gaussian at the highest of {len(modes)} searches, its draws resampled by "
        f"importance ratios (k-hat {k_hat:.2f}).",
    ]
    others = [value for value, x in modes if _is_other(found, x, modes[0][1])]
    if not k_hat < GOOD_K_HAT:
        notes.append(f"But k-hat {k_hat:.2f} of its importance ratios is above {GOOD_K_HAT}.")
    elif others and max(others) > modes[0][0] - OTHER_MODE:
        notes.append("But searches from several starts ended at different modes.")
    return Posterior(
        draws,
        replace(found, posterior=draws),
        "Laplace approximation",
        tuple(notes),
        float(log_sum_exp(ratio) - np.log(2 * n)),
        float(np.sqrt(max(2 * n / worth - 1.0, 0.0) / (2 * n))),
        problem.parameters.constrain(modes[0][1]),
    )


def _is_other(found: Inference, x: Array, best: Array) -> bool:
    """Return whether a search ended elsewhere, by more than rounding, in deviations."""
    shift = (x - best) / found.posterior.std()
    return bool(np.abs(shift).max() > 1.0)


_WAYS = {"auto": _auto, "map": _map, "laplace": _laplace, "nuts": _nuts}


def _drawn(asked: _Asked, engine: Any, notes: tuple[str, ...]) -> Posterior:
    """Return what an engine draws, and warn where its chains do not agree."""
    is_compiled = isinstance(asked.problem.density, CompiledDensity)
    settings = dict(asked.settings)
    n_threads = min(asked.chains, n_cores())
    own = is_compiled and n_threads > 1 and "executor" not in settings
    with ThreadPoolExecutor(n_threads) if own else nullcontext() as executor:
        settings.setdefault("executor", executor)
        found = run(engine, asked.problem, asked.rng, chains=asked.chains, **settings)
    facts: dict[str, Array] = {}
    if isinstance(found.state, TrajectoryState):
        facts = {name: found.state.facts[..., i] for i, name in enumerate(FACTS)}
    result = Posterior(
        found.posterior,
        found,
        found.account.method,
        (asked.note, *notes),
        found.log_evidence,
        facts=facts,
        max_depth=getattr(engine, "max_depth", None),
    )
    _warn(result)
    return result


def _warn(result: Posterior) -> None:
    mixed = is_mixed(result.draws)
    apart = [name for name, x in mixed.items() if not np.all(x)]
    if apart:
        warn_user(
            f"chains must agree to be averaged; found that those of {', '.join(apart)} do not. "
            "Do not use their means: read diagnose().",
            ConvergenceWarning,
        )
