"""The posterior of a model that is stated as a plain function: draws, evidence, verdict.

`posterior` is the front door to the engines of densities. By itself it looks for the mode from
several starts, takes Laplace's Gaussian there, and weighs draws of it by what they should have
been: if the weights have a light tail, the weighted draws are the answer, and else the density
is followed by the no-U-turn sampling. Where searches found several modes that its chains do not
join, particles are led there. What was done is said.
"""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property, partial
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
from numpy.exceptions import ComplexWarning
from numpy.random import Generator
from numpy.typing import ArrayLike

from credo.distributions.distribution import Distribution
from credo.distributions.multivariate_normal import MultivariateNormal
from credo.inference.density.compiled import CompiledDensity
from credo.inference.density.importance import ProposalProblem
from credo.inference.density.laplace import LaplaceApproximation, approach
from credo.inference.density.metropolis import Metropolis
from credo.inference.density.pathfinder import Pathfinder
from credo.inference.density.start import BadDensity, find_start
from credo.inference.density.tempering import (
    Particles,
    SequentialMonteCarlo,
    systematic,
)
from credo.inference.density.trajectory import (
    FACTS,
    FAR,
    NoUTurnSampling,
    TrajectoryState,
    improper,
)
from credo.inference.engine.diagnosis import WORST_R_HAT, Diagnosis, diagnose_draws, is_mixed
from credo.inference.engine.draws import FEWEST_DRAWS, Draws
from credo.inference.engine.engine import ConvergenceWarning, Inference, Seconds, Stop, run
from credo.inference.engine.method import density_engine
from credo.inference.engine.pareto import largest_k_hat, pareto_smoothed
from credo.inference.engine.problem import LogDensity, Parameters
from credo.inference.engine.weighted_draws import ZeroWeights
from credo.numerics.array import Array, as_float
from credo.numerics.linear.linear_algebra import NotPositiveDefinite
from credo.numerics.optimize.difference import check_gradient
from credo.numerics.parallel.threads import n_cores
from credo.numerics.quotation import quote
from credo.numerics.special.bijection import (
    Bijection,
    Covariance,
    Interval,
    Ordered,
    Simplex,
)
from credo.numerics.special.log_domain import log_sum_exp
from credo.numerics.status import Status
from credo.numerics.warning import warn_user

__all__ = [
    "Parameter",
    "Posterior",
    "PredictiveCheck",
    "StatedDensity",
    "posterior",
    "stated_problem",
]

MODE = "mode"
"""The method that looks for the highest density alone."""

N_STARTS = 6
N_PATHS = 4
GOOD_K_HAT = 0.5
"""Shape of the tail of the weights up to which Laplace's Gaussian is good enough."""

CAREFUL = 0.9
"""Acceptance of chains where nobody chose it: a Gaussian failed, so steps are smaller."""

MOST_DENSE = 50
"""Free numbers up to which a whole covariance costs little beside the density."""

SETTINGS = ("seconds", "stop", "executor", "on_step", "checkpoint")
"""What may be said of a run beside its engine."""

WIDE = 3.0
"""Width of free numbers around modes from which particles begin."""

NO_MODE = "no mode was found at which the density bends down in every direction"
SEVERAL = "searches from several starts ended at different modes"

MOST_EVIDENCE_ERROR = 0.3
"""Error of the log evidence above which runs of particles may have seen different modes."""

MORE_PARTICLES = "Use more particles: inference=SequentialMonteCarlo(n_particles=5000)."

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
        What the engine says of each draw by name, shape (chains, draws) each: log density,
        energy, acceptance, depth, steps, divergence; empty for other methods.
    max_depth
        Depth at which trees of trajectories are cut off; None for other methods.
    k_hat
        Shape of the tail of importance ratios, of draws that were resampled by them; else NaN.
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
    k_hat: float = float("nan")

    @property
    def status(self) -> str:
        """Why the engine stopped, in words."""
        return str(self.inference.status.value)

    def summary(self, coverage: float = 0.9) -> pd.DataFrame:
        """Return a table of means, spreads and intervals, and how well each is known.

        What chains do not agree about has no mean: its row says so, and holds NaN. Of a mode
        alone the table has its values and no more.

        Parameters
        ----------
        coverage
            Probability of the interval from ``low`` to ``high``.
        """
        if self._is_mode:
            modes = {
                label: value
                for name in self.draws
                for label, value in zip(
                    self.draws.labels(name), np.ravel(self.draws[name]), strict=True
                )
            }
            return pd.DataFrame({MODE: modes})
        table = self.draws.summary(coverage)
        mixed = np.concatenate([np.ravel(x) for x in is_mixed(self.draws).values()])
        known = [name for name in table.columns if name not in _WORTHS]
        table.loc[~mixed, known] = np.nan
        apart = "too few draws" if self.draws.n_draws < FEWEST_DRAWS else "chains do not agree"
        table["verdict"] = np.where(mixed, "mixed", apart)
        return table

    def diagnose(self) -> Diagnosis:
        """Return one verdict, with advice and the numbers behind it."""
        if self._is_mode:
            alone = (
                "This is a mode and no draw: it does not say how sure it is. Leave inference "
                "out for draws."
            )
            return Diagnosis(self.inference.status.has_converged, (alone,), {})
        if isinstance(self.inference.state, Particles):
            found = self._of_particles()
        else:
            found = diagnose_draws(self.draws, self.facts, self.max_depth)
        if not np.isnan(self.k_hat):
            found = self._with_k_hat(found)
        if self.inference.status.has_converged:
            return found
        short = f"The run was cut short: it {self.status}. Give it more time or draws."
        return replace(found, is_sound=False, findings=(short, *found.findings))

    @property
    def _is_mode(self) -> bool:
        return self.method == MODE

    def predictive_check(
        self,
        simulate: Callable[..., ArrayLike],
        observed: ArrayLike,
        statistics: Mapping[str, Callable[[Array], float]] | None = None,
        prior: Mapping[str, Distribution] | None = None,
        n: int = 1000,
        random_state: int | Generator | None = None,
    ) -> PredictiveCheck:
        """Return statistics of data simulated from the posterior, beside those of the data.

        Parameters
        ----------
        simulate
            Makes new data, of the form of the observed ones, from the values of one draw:
            called with them and ``rng`` by keyword if its arguments have their names, and else
            with a dictionary of values and a Generator.
        observed
            The data.
        statistics
            Functions of data by name; mean, standard deviation and both ends by default.
        prior
            Distributions of all parameters by name, whose draws take the place of those of the
            posterior: what the model expected before it saw data.
        n
            Data sets to simulate.

        Examples
        --------
        >>> y = np.array([0.3, 1.2, -0.7, 0.4])
        >>> def density(level, data):
        ...     return -0.5 * np.sum((data - level) ** 2)
        >>> found = posterior(density, {"level": Parameter()}, y, random_state=0)
        >>> def simulate(level, rng):
        ...     return rng.normal(level, 1.0, 4)
        >>> check = found.predictive_check(simulate, y, random_state=0)
        >>> bool(abs(check.table().loc["mean", "share_above"] - 0.5) < 0.05)
        True
        """
        rng = np.random.default_rng(random_state)
        if not isinstance(n, int | np.integer) or n < 1:
            raise ValueError(f"n must be a whole number of at least 1; found {n!r}.")
        values = (
            self._drawn_values(n, rng)
            if prior is None
            else _prior_values(prior, self.draws, n, rng)
        )
        call = _simulation(simulate, list(self.draws))
        functions = dict(STATISTICS if statistics is None else statistics)
        seen = as_float(observed)
        new = [
            as_float(call({name: x[i] for name, x in values.items()}, rng)) for i in range(n)
        ]
        if new[0].shape != seen.shape:
            raise ValueError(
                f"simulate must return data of the shape of observed, {seen.shape}; found "
                f"{new[0].shape}. Simulate one row for each that was seen."
            )
        return PredictiveCheck(
            "posterior" if prior is None else "prior",
            {name: float(function(seen)) for name, function in functions.items()},
            {name: np.array([float(f(x)) for x in new]) for name, f in functions.items()},
        )

    def _drawn_values(self, n: int, rng: Generator) -> dict[str, Array]:
        """Return values of draws picked at random, by their weights if they have any."""
        rows = rng.choice(self.draws.n_chains * self.draws.n_draws, size=n, p=self.draws.weight)
        return {name: self.draws.pooled(name)[rows] for name in self.draws}

    def _with_k_hat(self, found: Diagnosis) -> Diagnosis:
        numbers = found.numbers | {"k-hat": self.k_hat}
        most = largest_k_hat(self.draws.n_chains * self.draws.n_draws)
        if self.k_hat <= most:
            return replace(found, numbers=numbers)
        far = (
            f"The Gaussian that was drawn from is far from the density: k-hat must be at most "
            f'{most:.2f}; found {self.k_hat:.2f}. Draw with inference="nuts".'
        )
        return Diagnosis(False, (*found.findings, far), numbers)

    def _of_particles(self) -> Diagnosis:
        """Return the verdict on particles, of which those of each run are a chain."""
        of_runs = replace(self.inference.posterior, log_weight=None)
        table = of_runs.summary()
        numbers = {
            "largest R-hat of runs": float(table["r_hat"].max()),
            "error of the log evidence": self.log_evidence_error,
        }
        findings = []
        if not numbers["largest R-hat of runs"] <= WORST_R_HAT:
            worst = table["r_hat"].fillna(np.inf).idxmax()
            findings.append(
                f"Runs of particles do not agree about {worst}: R-hat must be at most "
                f"{WORST_R_HAT}. {MORE_PARTICLES}"
            )
        if not self.log_evidence_error <= MOST_EVIDENCE_ERROR:
            findings.append(
                "The log evidence is rough, and modes may be missed: its error must be at most "
                f"{MOST_EVIDENCE_ERROR}; found {self.log_evidence_error:.2g}. {MORE_PARTICLES}"
            )
        return Diagnosis(not findings, tuple(findings), numbers)

    def to_arviz(self) -> Any:
        """Return what ArviZ reads, with what the engine says of each draw."""
        return self.draws.to_arviz(_for_arviz(self.facts))

    def __str__(self) -> str:
        table = _shown(self.summary())
        return "\n".join(
            [f"{self.method}: {self.status}", *self.notes, str(self.diagnose()), table]
        )

    def __repr__(self) -> str:
        verdict = "sound" if self.diagnose().is_sound else "doubtful"
        return f"Posterior({self.draws!r}, {self.method}, {verdict})"


def _shown(table: pd.DataFrame) -> str:
    """Return a summary in lines of a terminal, to the digits that its errors leave."""
    if "mean" in table:
        kept = ("mean", "std", "low", "high", "mean_error", "effective_draws", "r_hat")
        verdict = table["verdict"].where(table["verdict"] != "mixed", "")
        table = table[list(kept)].round({"effective_draws": 0})
        table = table.assign(verdict=verdict) if verdict.any() else table
    with pd.option_context("display.width", 120, "display.max_columns", 12):
        return table.to_string(float_format="{:.4g}".format)


STATISTICS: Mapping[str, Callable[[Array], Any]] = {
    "mean": np.mean,
    "std": np.std,
    "smallest": np.min,
    "largest": np.max,
}

SURPRISING = 0.025
"""Share of simulated statistics beyond the observed one below which it is a surprise."""


@dataclass(frozen=True, eq=False)
class PredictiveCheck:
    """Statistics of simulated data beside those of the data that were seen.

    Attributes
    ----------
    source
        "posterior" or "prior", of which parameters were drawn.
    observed
        Statistics of the data by name.
    simulated
        Those of simulated data sets by name, shape (n,) each.
    """

    source: str
    observed: Mapping[str, float]
    simulated: Mapping[str, Array]

    def table(self, coverage: float = 0.9) -> pd.DataFrame:
        """Return a row for each statistic: seen, simulated, and how it stands among those.

        Parameters
        ----------
        coverage
            Probability of the interval from ``low`` to ``high``.
        """
        ends = 0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage
        rows = {
            name: [self.observed[name], x.mean(), *np.quantile(x, ends), self.share_above(name)]
            for name, x in self.simulated.items()
        }
        columns = ["observed", "mean", "low", "high", "share_above"]
        return pd.DataFrame.from_dict(rows, orient="index", columns=columns)

    def share_above(self, name: str) -> float:
        """Return the share of simulated statistics above the observed one; ties count half."""
        simulated, seen = self.simulated[name], self.observed[name]
        return float((simulated > seen).mean() + 0.5 * (simulated == seen).mean())

    @property
    def surprises(self) -> tuple[str, ...]:
        """Names of statistics that the data have and simulated data hardly ever."""
        shares = {name: self.share_above(name) for name in self.simulated}
        return tuple(name for name, p in shares.items() if min(p, 1.0 - p) < SURPRISING)

    def __str__(self) -> str:
        found = ", ".join(self.surprises)
        verdict = (
            f"Simulated data hardly ever have the {found} of the data."
            if found
            else ("The data look like simulated ones in all of these.")
        )
        return f"Simulated from the {self.source}.\n{self.table().round(4)}\n{verdict}"


def _prior_values(
    prior: Mapping[str, Distribution], draws: Draws, n: int, rng: Generator
) -> dict[str, Array]:
    if set(prior) != set(draws):
        raise ValueError(
            f"prior must have a distribution for each of {list(draws)}; found {list(prior)}. "
            "Name all parameters."
        )
    found = {name: as_float(prior[name].sample(rng, n)) for name in draws}
    for name, x in found.items():
        shape = draws[name].shape[2:]
        if x.shape[1:] != shape:
            raise ValueError(
                f"the prior of {name} must have draws of shape {shape}; found {x.shape[1:]}. "
                "Give arrays of its parameters."
            )
    return found


def _simulation(
    simulate: Callable[..., Any], names: Sequence[str]
) -> Callable[[dict[str, Array], Generator], Any]:
    """Return a function of values and a Generator that calls another as it is written."""
    if {*names, "rng"} <= set(inspect.signature(simulate).parameters):
        return lambda values, rng: simulate(**values, rng=rng)
    return simulate


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
        "auto": Laplace's approximation if importance ratios confirm it, else NUTS, and "smc" if
        its chains do not join several modes that were found; "map", "laplace", "pathfinder",
        "variational", "nuts", "hmc", "metropolis"; "smc" for several modes and the evidence; or
        an engine such as ``NoUTurnSampling(acceptance=0.95)``, whose
        own numbers of draws hold.
    chains, draws
        Chains, and draws of each.
    settings
        ``seconds``, the most wall time that everything may take; and those of
        `credo.inference.run`: ``stop``, ``executor``, ``on_step``, ``checkpoint``. A run
        that is interrupted (Ctrl-C) answers with the draws it has.

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
    _require_known(settings)
    ends_at = _ends_at(settings.pop("seconds", None))
    problem, gradient = stated_problem(log_density, parameters, data)
    rng = np.random.default_rng(random_state)
    note = f"The gradient is {gradient}."
    asked = _Asked(problem, chains, draws, rng, settings, note, ends_at)
    if isinstance(inference, str) and inference in _WAYS:
        return _WAYS[inference](asked)
    engine = density_engine(inference, draws)
    if isinstance(engine, LaplaceApproximation):
        return _laplace(asked, engine)
    if isinstance(engine, Pathfinder):
        return _pathfinder(asked, engine)
    if isinstance(engine, SequentialMonteCarlo):
        return _tempered(asked, engine)
    return _drawn(asked, engine, ())


def _require_numbers(chains: int, draws: int) -> None:
    for name, n in (("chains", chains), ("draws", draws)):
        if not isinstance(n, int | np.integer) or n < 1:
            raise ValueError(f"{name} must be a whole number of at least 1; found {n!r}.")


def _require_known(settings: Mapping[str, Any]) -> None:
    unknown = sorted(set(settings) - set(SETTINGS))
    if unknown:
        close = get_close_matches(unknown[0], SETTINGS, 1)
        raise TypeError(
            f"settings of posterior must be among {list(SETTINGS)}; found {unknown}. "
            + (f"Did you mean {close[0]!r}? " if close else "")
            + "Settings of an engine go to the engine: inference=NoUTurnSampling(warm_up=500)."
        )


def _ends_at(seconds: float | None) -> float:
    """Return the time at which an answer must be there."""
    if seconds is None:
        return float("inf")
    if not isinstance(seconds, int | float) or not seconds > 0:
        raise ValueError(
            f"seconds must be a positive number; found {quote(seconds)}. It is the most wall "
            "time that an answer may take; leave it out for no limit."
        )
    return time.monotonic() + seconds


@dataclass(frozen=True, eq=False)
class _Asked:
    """What is asked for."""

    problem: Any
    chains: int
    draws: int
    rng: Generator
    settings: Mapping[str, Any]
    note: str
    ends_at: float = float("inf")

    @property
    def seconds_left(self) -> float:
        """Wall time that is left."""
        return max(self.ends_at - time.monotonic(), 0.0)

    def limited(self, rule: Stop, n_turns: int = 1) -> Stop:
        """Return a rule that also ends after the share of time left of one of some turns."""
        left = self.seconds_left / n_turns
        return rule if np.isinf(left) else rule | Seconds(left)


def _auto(asked: _Asked) -> Posterior:
    """Return Laplace's approximation where importance ratios confirm it, else draws."""
    doubt, has_several = NO_MODE, False
    try:
        with warnings.catch_warnings():
            # What Laplace's Gaussian did not reach is left to NUTS.
            warnings.simplefilter("ignore", ConvergenceWarning)
            tried = _tried(asked)
    except (NotPositiveDefinite, FloatingPointError, ZeroWeights, np.linalg.LinAlgError):
        pass
    else:
        if not tried.doubt or not asked.seconds_left:
            return tried.found
        doubt, has_several = tried.doubt, tried.has_several
    metric = "dense" if asked.problem.parameters.n_free <= MOST_DENSE else "diagonal"
    engine = NoUTurnSampling(n_draws=asked.draws, acceptance=CAREFUL, metric=metric)
    why = f"{doubt[0].upper()}{doubt[1:]}, so the density was followed by NUTS."
    drawn = _run(asked, engine, (why,))
    apart = ", ".join(_apart(drawn))
    if has_several and apart and asked.seconds_left and not asked.settings:
        led = _tempered(asked)
        but = f"Chains of NUTS did not agree about {apart}."
        return replace(led, notes=(asked.note, why, but, *led.notes[1:]))
    _warn(drawn)
    return drawn


def _nuts(asked: _Asked) -> Posterior:
    return _drawn(asked, NoUTurnSampling(n_draws=asked.draws), ())


def _modes(asked: _Asked, problem: Any) -> list[tuple[float, Array]]:
    """Return where searches from several starts end, the highest log density first."""
    found: list[tuple[float, Array]] = []
    with np.errstate(all="ignore"):
        for i in range(N_STARTS):
            start = (
                problem.start if i == 0 else find_start(asked.problem, asked.rng, 2.0 * i)[0]
            )
            if not np.isfinite(problem.value_and_gradient(start)[0]):
                continue
            if found and not asked.seconds_left:
                break
            end = approach(problem, start, np.ones(len(start)))
            if np.abs(end.x).max() > FAR:
                raise improper(asked.problem, [np.argmax(np.abs(end.x))])
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
    return Posterior(draws, inference, MODE, (asked.note, note), mode=mode)


@dataclass(frozen=True, eq=False)
class _Tried:
    """Laplace's answer, why it is doubtful if it is, and whether other modes matter."""

    found: Posterior
    doubt: str
    has_several: bool


def _laplace(asked: _Asked, engine: LaplaceApproximation | None = None) -> Posterior:
    return _tried(asked, engine).found


def _tried(asked: _Asked, engine: LaplaceApproximation | None = None) -> _Tried:
    """Return draws of Laplace's Gaussian, resampled by importance ratios; say their tail."""
    modes = _modes(asked, asked.problem)
    newton = engine or LaplaceApproximation()
    with np.errstate(all="ignore"):
        at_mode = replace(asked.problem, guess=modes[0][1])
        found = run(newton, at_mode, stop=asked.limited(newton.stop))
    title = f"Laplace's Gaussian at the highest of {len(modes)} searches"
    result = _resampled(asked, [found], title)
    others = [value for value, x in modes if _is_other(found, x, modes[0][1])]
    has_several = bool(others) and max(others) > modes[0][0] - OTHER_MODE
    doubt, notes = _doubt(result.k_hat), result.notes
    if has_several and not doubt:
        doubt = SEVERAL
        notes = (*notes, f"But {doubt}.")
    mode = asked.problem.parameters.constrain(modes[0][1])
    return _Tried(replace(result, notes=notes, mode=mode), doubt, has_several)


def _doubt(k_hat: float) -> str:
    """Return why importance ratios are not good enough, nothing if they are."""
    return (
        ""
        if k_hat < GOOD_K_HAT
        else f"k-hat {k_hat:.2f} of its importance ratios is above {GOOD_K_HAT}"
    )


def _pathfinder(asked: _Asked, engine: Pathfinder | None = None) -> Posterior:
    """Return draws of the best Gaussians of several paths, resampled by importance ratios."""
    path = engine or Pathfinder()
    found = [
        run(path, asked.problem, rng, stop=asked.limited(path.stop, N_PATHS - i))
        for i, rng in enumerate(asked.rng.spawn(N_PATHS))
    ]
    return _resampled(asked, found, f"Gaussians along {N_PATHS} paths to modes")


def _resampled(asked: _Asked, found: Sequence[Inference], title: str) -> Posterior:
    """Return draws of Gaussians of free numbers, resampled by what they should have been."""
    problem, n = asked.problem, asked.chains * asked.draws
    each = -(-2 * n // len(found))
    samples = [part.posterior.sample(asked.rng, each).reshape(each, -1) for part in found]
    logs = [part.posterior.log_prob(x) for part, x in zip(found, samples, strict=True)]
    # Side by side, so that the first ones are of all Gaussians if time runs out.
    free = np.stack(samples, axis=1).reshape(each * len(found), -1)
    with np.errstate(all="ignore"):
        log_density = _timed_log_densities(asked, free)
        ratio = log_density - np.stack(logs, axis=1).ravel()[: len(log_density)]
    ratio = np.where(np.isnan(ratio), -np.inf, ratio)
    smoothed = pareto_smoothed(ratio)
    weight = np.exp(smoothed.log_weight - log_sum_exp(smoothed.log_weight))
    m, worth, k_hat = len(ratio), float(1.0 / (weight**2).sum()), float(smoothed.k_hat)
    rows = asked.rng.permutation(systematic(weight, asked.rng, n))
    draws = problem.parameters.draws(free[rows].reshape(asked.chains, asked.draws, -1))
    notes = [
        asked.note,
        f"{title}, its draws resampled by importance ratios (k-hat {k_hat:.2f}).",
    ]
    if _doubt(k_hat):
        notes.append(f"But {_doubt(k_hat)}.")
    short = next((part for part in found if not part.status.has_converged), found[0])
    status = short.status if m == len(free) else Status.MAX_SECONDS
    return Posterior(
        draws,
        replace(found[0], posterior=draws, status=status),
        found[0].account.method,
        tuple(notes),
        float(log_sum_exp(ratio) - np.log(m)),
        float(np.sqrt(max(m / worth - 1.0, 0.0) / m)),
        k_hat=k_hat,
    )


def _timed_log_densities(asked: _Asked, free: Array) -> Array:
    """Return log densities of rows of free numbers, of the first ones if time runs out."""
    parts: list[Array] = []
    begin, size = 0, 16
    while begin < len(free) and (not parts or asked.seconds_left):
        parts.append(asked.problem.log_densities(free[begin : begin + size]))
        begin, size = begin + size, 2 * size
    return np.concatenate(parts)


def _is_other(found: Inference, x: Array, best: Array) -> bool:
    """Return whether a search ended elsewhere, by more than rounding, in deviations."""
    shift = (x - best) / found.posterior.std()
    return bool(np.abs(shift).max() > 1.0)


def _tempered(asked: _Asked, engine: SequentialMonteCarlo | None = None) -> Posterior:
    """Return particles that are led from a wide Gaussian around all modes to the density."""
    ends = np.array([free for _, free in _modes(asked, asked.problem)])
    center, width = ends.mean(axis=0), WIDE + np.ptp(ends, axis=0)
    wide = MultivariateNormal(center, np.diag(width**2))
    problem = ProposalProblem(asked.problem, wide)
    note = "Particles were led to the density from a wide Gaussian around its modes."
    led = engine or SequentialMonteCarlo(n_particles=asked.draws)
    found = _drawn(replace(asked, problem=problem), led, (note,))
    # Chains count by their evidence, which draws that are picked by it no longer need.
    values = found.draws.resampled(asked.chains * asked.draws, asked.rng).values
    shape = asked.chains, asked.draws
    picked = {name: x.reshape(*shape, *x.shape[2:]) for name, x in values.items()}
    return replace(found, draws=Draws(picked), log_evidence_error=found.inference.error)


_WAYS = {
    "auto": _auto,
    "map": _map,
    "laplace": _laplace,
    "nuts": _nuts,
    "pathfinder": _pathfinder,
    "smc": _tempered,
}


def _drawn(asked: _Asked, engine: Any, notes: tuple[str, ...]) -> Posterior:
    """Return what an engine draws, and warn where its chains do not agree."""
    result = _run(asked, engine, notes)
    _warn(result)
    return result


def _run(asked: _Asked, engine: Any, notes: tuple[str, ...]) -> Posterior:
    """Return what an engine draws."""
    is_compiled = isinstance(getattr(asked.problem, "density", None), CompiledDensity)
    settings = dict(asked.settings)
    if isinstance(engine, Metropolis):
        # It moves several chains at once by itself.
        engine, asked = replace(engine, n_chains=asked.chains), replace(asked, chains=1)
    n_threads = min(asked.chains, n_cores())
    own = is_compiled and n_threads > 1 and "executor" not in settings
    with ThreadPoolExecutor(n_threads) if own else nullcontext() as executor:
        settings.setdefault("executor", executor)
        at_once = 1 if settings["executor"] is None else n_threads
        rule = settings.get("stop") or engine.stop
        settings["stop"] = asked.limited(rule, -(-asked.chains // at_once))
        n_chains = asked.chains if hasattr(engine, "joined") else 1
        found = run(engine, asked.problem, asked.rng, chains=n_chains, **settings)
    if isinstance(found.posterior, MultivariateNormal):
        return _resampled(asked, [found], f"The Gaussian of {type(engine).__name__}")
    facts: dict[str, Array] = {}
    if isinstance(found.state, TrajectoryState):
        facts = {name: found.state.facts[..., i] for i, name in enumerate(FACTS)}
    if _is_warm_up(engine, found):
        notes = (*notes, "All draws are of the warm-up, in which chains are on their way.")
    return Posterior(
        found.posterior,
        found,
        found.account.method,
        (asked.note, *notes),
        found.log_evidence,
        facts=facts,
        max_depth=getattr(engine, "max_depth", None),
    )


def _is_warm_up(engine: Any, found: Inference) -> bool:
    """Return whether a run was cut short before its warm-up was over."""
    is_short = bool(engine.stop.n_warm_up) and not found.status.has_converged
    return is_short and not getattr(found.state, "is_warm", True)


def _apart(result: Posterior) -> list[str]:
    """Return names of what chains do not agree about."""
    return [name for name, x in is_mixed(result.draws).items() if not np.all(x)]


def _warn(result: Posterior) -> None:
    apart = _apart(result)
    if apart:
        warn_user(
            f"chains must agree to be averaged; found that those of {', '.join(apart)} do not. "
            "Do not use their means: read diagnose().",
            ConvergenceWarning,
        )


Values = dict[str, Array]

SUPPORTS = ("real", "positive", "unit", "simplex", "ordered", "covariance")

MOST_DIFFERENCES = 100
"""Numbers up to which a gradient is found by differences."""

WRONG = 1e-3
"""Relative error above which a gradient is wrong, and not merely rounded."""

SAME_AGAIN = 1e-9
"""Difference of two answers at one point that threads of a sum may make."""

SMALLEST_STEP = 1e-250
"""Imaginary step that is still far from the smallest number."""

ROUNDING = 1e-9
"""Difference of a slope, for a number of size one, that is rounding alone."""

GRADIENTS = {
    "own": "written by hand",
    "complex": "by complex steps, one call of the density for each number",
    "differences": "by finite differences, two calls of the density for each number",
    "jax": "by JAX",
    "compiled": "compiled",
}


@dataclass(frozen=True, eq=False)
class Parameter:
    """What a parameter of a density is: its shape, where it may lie, where to start.

    Attributes
    ----------
    shape
        Shape of the array; () for a number.
    support
        "real", "positive", "unit" (between 0 and 1), a pair of ends of which one may be
        infinite, "simplex" (probabilities that sum to one), "ordered" (rising numbers),
        "covariance" (a positive definite matrix), or a bijection of one's own.
    start
        Value inside the support near which searches and chains begin.

    Examples
    --------
    >>> Parameter(3, "positive").bijection
    Interval(low=0.0, high=inf, shape=(3,))
    >>> Parameter(support=(-1.0, 1.0)).bijection
    Interval(low=-1.0, high=1.0, shape=())
    """

    shape: int | tuple[int, ...] = ()
    support: str | tuple[float, float] | Bijection = "real"
    start: ArrayLike | None = field(default=None)

    def __post_init__(self) -> None:
        whole = (self.shape,) if isinstance(self.shape, int | np.integer) else tuple(self.shape)
        if not all(isinstance(n, int | np.integer) and n >= 1 for n in whole):
            raise ValueError(
                f"shape must be whole numbers of at least 1, or (); found {self.shape!r}. "
                "Write Parameter(3) for three numbers."
            )
        object.__setattr__(self, "shape", tuple(int(n) for n in whole))
        found = self.bijection
        if found.shape != self.shape:
            raise ValueError(
                f"shape must be that of the support, {found.shape}; found {self.shape}. A "
                "simplex and rising numbers have one axis, a covariance two equal ones."
            )

    @cached_property
    def bijection(self) -> Bijection:
        """The one-to-one function of free numbers that the support stands for."""
        shape: Any = self.shape
        if isinstance(self.support, tuple) and len(self.support) == 2:
            return Interval(float(self.support[0]), float(self.support[1]), shape)
        if not isinstance(self.support, str):
            if hasattr(self.support, "constrain"):
                return self.support
            raise _unknown_support(self.support)
        ends = {"real": (-np.inf, np.inf), "positive": (0.0, np.inf), "unit": (0.0, 1.0)}
        if self.support in ends:
            return Interval(*ends[self.support], shape)
        kinds: dict[str, Any] = {
            "simplex": Simplex,
            "ordered": Ordered,
            "covariance": Covariance,
        }
        if self.support not in kinds:
            raise _unknown_support(self.support)
        bounded: Bijection = kinds[self.support](shape[0] if shape else 1)
        return bounded


def _unknown_support(support: object) -> ValueError:
    return ValueError(
        f"support must be one of {SUPPORTS}, a pair of ends or a bijection; found "
        f"{quote(support)}. Write Parameter(support=(0.0, 10.0)) for numbers between two ends."
    )


@dataclass(frozen=True, eq=False)
class StatedDensity:
    """A function of people as the density of a `LogDensity`: values in, value and gradient out.

    Attributes
    ----------
    parameters
        Names, shapes and supports.
    function
        The log density, or that and its gradient.
    data
        What it is given besides.
    gradient
        "own" if the function returns it, a function of the same arguments, "complex",
        "differences" or "jax".
    """

    parameters: Parameters
    function: Callable[..., Any]
    data: Any
    gradient: str | Callable[..., Any]

    def __call__(self, values: Values) -> tuple[float, Mapping[str, Array]]:
        """Return the log density and its gradient by each parameter."""
        return self._answer(values)

    def many(self, values: Values) -> Array:
        """Return log densities alone, of values with an axis of points before their own."""
        n = len(next(iter(values.values())))
        rows = ({name: x[i] for name, x in values.items()} for i in range(n))
        found = [self._call(row) for row in rows]
        return np.array([each[0] for each in found] if self.gradient == "own" else found, float)

    def at(self, values: Values) -> Callable[[], tuple[float, Mapping[str, Array]]]:
        """Return a function of nothing that answers for what stands in these arrays by then."""
        if self.gradient == "own":
            return self._own(values)
        if callable(self.gradient):
            ask = _asking(self.function, self.parameters.names, self.data, values)
            slope = _asking(self.gradient, self.parameters.names, self.data, values)
            return lambda: (ask(), self._by_name(slope()))
        return lambda: self._answer(values)

    @cached_property
    def _call(self) -> Callable[[Values], Any]:
        return _call(self.function, self.parameters.names, self.data)

    @cached_property
    def _answer(self) -> Callable[[Values], tuple[float, Mapping[str, Array]]]:
        if callable(self.gradient) or self.gradient == "own":
            return lambda values: self.at(values)()
        if self.gradient == "jax":
            return _by_jax(self._call)
        by = _by_complex_steps if self.gradient == "complex" else _by_differences
        return lambda values: by(self._call, values, self.parameters)

    def _own(self, values: Values) -> Callable[[], tuple[float, Mapping[str, Array]]]:
        """Return what answers with both; each call more than one would be felt."""
        names, by_name, function = self.parameters.names, self._by_name, self.function
        single = names[0] if len(names) == 1 else None
        given = _given(function, names, self.data)
        places: tuple[Any, ...] = ()
        keywords: Mapping[str, Any] = {}
        if given is not None:
            keywords = {**given, **values}
        else:
            places = (values,) if self.data is None else (values, self.data)

        def answer() -> tuple[float, Mapping[str, Array]]:
            value, gradient = function(*places, **keywords)
            if type(gradient) is dict:
                return value, gradient
            if single is not None and type(gradient) is np.ndarray:
                return value, {single: gradient}
            return value, by_name(gradient)

        return answer

    def _by_name(self, gradient: Any) -> Mapping[str, Array]:
        """Return a gradient by name; of a single parameter it may be given as it is."""
        names = self.parameters.names
        if isinstance(gradient, Mapping):
            return gradient
        if len(names) == 1:
            return {names[0]: gradient}
        if isinstance(gradient, tuple | list) and len(gradient) == len(names):
            return dict(zip(names, gradient, strict=True))
        raise BadDensity(
            f"a gradient must be a dictionary of arrays for {list(names)}; found "
            f"{quote(gradient)}. Return one entry for each parameter."
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone."""
        names = ("parameters", "function", "data", "gradient")
        return {name: getattr(self, name) for name in names}


def _call(
    function: Callable[..., Any], names: Sequence[str], data: Any
) -> Callable[[Values], Any]:
    """Return a function of values by name that calls another in the way it is written."""
    given = _given(function, names, data)
    if given is not None:
        return lambda values: function(**given, **values)
    return function if data is None else lambda values: function(values, data)


def _asking(
    function: Callable[..., Any], names: Sequence[str], data: Any, values: Values
) -> Callable[[], Any]:
    """Return a function of nothing that calls another with arrays that stay where they are."""
    given = _given(function, names, data)
    if given is not None:
        # Quicker than partial, which joins keywords anew at every call.
        by_name = {**given, **values}
        return lambda: function(**by_name)
    return partial(function, values) if data is None else partial(function, values, data)


def _given(
    function: Callable[..., Any], names: Sequence[str], data: Any
) -> Mapping[str, Any] | None:
    """Return the data by keyword, or None for a function that takes a dictionary of values."""
    try:
        arguments = set(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        arguments = set()
    if not set(names) <= arguments:
        return None
    if data is None:
        return {}
    if "data" in arguments:
        return {"data": data}
    if not isinstance(data, Mapping):
        raise ValueError(
            f"data must be taken by an argument of that name, or be a dictionary; found "
            f"{quote(data)} for a function of {sorted(arguments)}. Name an argument data."
        )
    return data


def _by_jax(call: Callable[[Values], Any]) -> Callable[[Values], Any]:
    try:
        jax = import_module("jax")
    except ImportError as error:
        raise ImportError(
            'gradient "jax" must find JAX installed; found no module of that name. Install '
            "jax, or leave the gradient out."
        ) from error
    jax.config.update("jax_enable_x64", True)
    both = jax.jit(jax.value_and_grad(call))

    def answer(values: Values) -> Any:
        value, gradient = both(dict(values))
        return float(value), {name: np.asarray(x) for name, x in gradient.items()}

    return answer


def _by_complex_steps(
    call: Callable[[Values], Any], values: Values, parameters: Parameters
) -> tuple[float, Values]:
    """Return the value, and imaginary parts of values a tiny imaginary step away."""
    gradient = {}
    for name, x in values.items():
        slope = np.empty(x.shape)
        for place in np.ndindex(x.shape):
            moved = x.astype(complex)
            # Small beside the number itself: a logarithm near zero bends on its scale.
            size = max(1e-30 * abs(float(x[place])), SMALLEST_STEP)
            moved[place] += 1j * size
            slope[place] = complex(call({**values, name: moved})).imag / size
        gradient[name] = slope
    return float(call(values)), gradient


def _by_differences(
    call: Callable[[Values], Any], values: Values, parameters: Parameters
) -> tuple[float, Values]:
    """Return the value, and central differences that stay inside the supports."""
    gradient = {}
    for name, x in values.items():
        slope = np.empty(x.shape)
        if isinstance(parameters.supports[name], Covariance):
            gradient[name] = _symmetric_differences(partial(_called_at, call, values, name), x)
            continue
        for place in np.ndindex(x.shape):
            size = _step(float(x[place]), parameters.supports[name])
            ends = [x.copy(), x.copy()]
            ends[0][place] -= size
            ends[1][place] += size
            low, high = (float(call({**values, name: end})) for end in ends)
            slope[place] = (high - low) / (ends[1][place] - ends[0][place])
        gradient[name] = slope
    return float(call(values)), gradient


def _called_at(call: Callable[[Values], Any], values: Values, name: str, x: Array) -> float:
    return float(call({**values, name: x}))


def _symmetric_differences(call: Callable[[Array], float], x: Array) -> Array:
    """Return slopes by entries of a covariance, moved in pairs so that it remains one.

    Moving a pair by h changes no eigenvalue by more than h.
    """
    slope = np.empty(x.shape)
    room = 1e-4 * float(np.linalg.eigvalsh(x)[0])
    for i, j in zip(*np.tril_indices(len(x)), strict=True):
        size = 6e-6 * max(1.0, abs(float(x[i, j])))
        way = np.zeros(x.shape)
        way[i, j] = way[j, i] = min(size, room) if room > 0.0 else size
        high, low = x + way, x - way
        rise = (call(high) - call(low)) / (high[i, j] - low[i, j])
        slope[i, j] = slope[j, i] = rise if i == j else 0.5 * rise
    return slope


def _step(x: float, support: Bijection) -> float:
    size = 6e-6 * max(1.0, abs(x))
    if isinstance(support, Simplex):
        return min(size, 1e-3 * x) if x > 0.0 else size
    if isinstance(support, Interval):
        # Relative to the distance from an end a density has the digits it has elsewhere.
        near = min(x - support.low, support.high - x)
        return min(size, 1e-4 * near) if near > 0.0 else size
    return size


def stated_problem(
    log_density: Any, parameters: Mapping[str, Any], data: Any
) -> tuple[LogDensity, str]:
    """Return the problem that a function states, and how its gradient is found.

    Parameters
    ----------
    log_density
        A function of the parameters, which returns the log density or a pair of that and the
        gradient; a pair of two functions; a pair of a function and "complex", "differences" or
        "jax"; or a function compiled by numba as in `CompiledDensity`.

    Raises
    ------
    BadDensity
        If what it returns at the start is no number, or the gradient is wrong.
    """
    named = _checked_parameters(parameters)
    stated = Parameters({name: parameter.bijection for name, parameter in named.items()})
    guess = _guess(named, stated)
    function, gradient = _parts(log_density)
    if _is_compiled(function):
        density = CompiledDensity(stated, function, _arrays(data))
        problem = LogDensity(stated, density, guess)
        check_density(problem)
        return problem, GRADIENTS["compiled"]
    _require_apart(stated, data)
    if gradient is None:
        gradient = _gradient_of(stated, function, data, guess)
    problem = LogDensity(stated, StatedDensity(stated, function, data, gradient), guess)
    check_density(problem)
    return problem, GRADIENTS["own" if callable(gradient) else gradient]


def _checked_parameters(parameters: Any) -> dict[str, Parameter]:
    pairs = list(parameters.items()) if isinstance(parameters, Mapping) else list(parameters)
    is_right = all(
        isinstance(pair, tuple)
        and len(pair) == 2
        and isinstance(pair[0], str)
        and isinstance(pair[1], Parameter)
        for pair in pairs
    )
    if not pairs or not is_right:
        raise TypeError(
            f"parameters must be a Parameter for each name; found {quote(parameters)}. Write "
            "{'level': Parameter(), 'scale': Parameter(support='positive')}."
        )
    labels = [
        label
        for name, parameter in pairs
        for label in {name, *(name + str(list(k)) for k in np.ndindex(parameter.shape) if k)}
    ]
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        raise ValueError(
            f"names of parameters must not overlap; found {twice} more than once, counting "
            "entries of arrays. Rename one of them."
        )
    return dict(pairs)


def _require_apart(parameters: Parameters, data: Any) -> None:
    both = sorted(set(parameters.names) & set(data)) if isinstance(data, Mapping) else []
    if both:
        raise ValueError(
            f"names of parameters and data must not overlap; found {both} in both. Rename one."
        )


def _guess(named: Mapping[str, Parameter], stated: Parameters) -> Array | None:
    """Return the free numbers of the starts that were given, and zeros for others."""
    if all(parameter.start is None for parameter in named.values()):
        return None
    middle = stated.constrain(np.zeros(stated.n_free))
    values = {}
    for name, parameter in named.items():
        value = middle[name] if parameter.start is None else as_float(parameter.start)
        if value.shape != parameter.shape:
            raise ValueError(
                f"start of {name} must have shape {parameter.shape}; found {value.shape}. "
                "Give a value of the parameter."
            )
        values[name] = value
    return stated.free(values)


def _parts(log_density: Any) -> tuple[Any, Any]:
    """Return a function, and its gradient if that is given or named."""
    pair = log_density if isinstance(log_density, tuple) else (log_density, None)
    by_name = ("complex", "differences", "jax")
    is_right = (
        len(pair) == 2
        and (callable(pair[0]) or hasattr(pair[0], "address"))
        and (pair[1] is None or callable(pair[1]) or pair[1] in by_name)
    )
    if not is_right:
        raise TypeError(
            "log_density must be a function, or a pair of a function and its gradient, a "
            f"function or one of {by_name}; found {quote(log_density)}. Pass a function of the "
            "parameters."
        )
    return pair


def _is_compiled(function: Any) -> bool:
    """Return whether a function writes its gradient to an array, in machine code."""
    if hasattr(function, "address"):
        return True
    written: Any = getattr(function, "py_func", None)
    if written is None:
        return False
    return list(inspect.signature(written).parameters)[:2] == ["values", "gradient"]


def _arrays(data: Any) -> tuple[Any, ...]:
    if data is None:
        return ()
    if isinstance(data, Mapping):
        return tuple(np.asarray(x) for x in data.values())
    if isinstance(data, tuple | list):
        return tuple(np.asarray(x) for x in data)
    return (np.asarray(data),)


def _gradient_of(
    parameters: Parameters, function: Callable[..., Any], data: Any, guess: Array | None
) -> str:
    """Return how to find the gradient of a function that comes without one."""
    free = np.zeros(parameters.n_free) if guess is None else guess
    values = parameters.constrain(free)
    with np.errstate(all="ignore"):
        found = _first_answer(function, parameters.names, data, values)
    if isinstance(found, tuple) and len(found) == 2:
        return "own"
    _require_number(found)
    n = int(sum(x.size for x in values.values()))
    if n > MOST_DIFFERENCES:
        raise BadDensity(
            f"a density of more than {MOST_DIFFERENCES} numbers must come with its gradient; "
            f"found {n} and none. Return (value, gradient), pass a pair of functions, or "
            '(log_density, "jax").'
        )
    return "complex" if _takes_complex(parameters, function, data, free) else "differences"


def _first_answer(
    function: Callable[..., Any], names: Sequence[str], data: Any, values: Values
) -> Any:
    """Return what a function answers; say how it was called where that may be why it fails."""
    try:
        return _call(function, names, data)(values)
    except (TypeError, KeyError, IndexError) as error:
        if _given(function, names, data) is not None:
            raise
        called = "a dictionary of them" + ("" if data is None else " and the data")
        raise TypeError(
            f"log_density must have arguments named {list(names)}, or take {called}; found "
            f"{_signature(function)}, which failed: {error}. Name its arguments like the "
            "parameters."
        ) from error


def _signature(function: Callable[..., Any]) -> str:
    try:
        return f"arguments {inspect.signature(function)}"
    except (TypeError, ValueError):
        return "arguments that are not known"


def _takes_complex(
    parameters: Parameters, function: Callable[..., Any], data: Any, free: Array
) -> bool:
    """Return whether complex steps give what differences give, at the start and around it.

    At the start alone a slope may be zero, as that of ``abs`` is by complex steps everywhere.
    """
    for point in (free, *_around(free)):
        values = parameters.constrain(point)
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("error", ComplexWarning)
                slopes = [
                    StatedDensity(parameters, function, data, kind)(values)[1]
                    for kind in ("complex", "differences")
                ]
        except (TypeError, ValueError, ComplexWarning, AttributeError, np.linalg.LinAlgError):
            return False
        given, expected = (
            np.concatenate([np.ravel(slope[name]) for name in parameters.names])
            for slope in slopes
        )
        if not np.isfinite(expected).all():
            continue
        size = np.abs(expected).max(initial=0.0)
        if not np.all(np.abs(given - expected) <= 1e-4 * size + 1e-8):
            return False
    return True


def _around(free: Array) -> Iterator[Array]:
    """Yield points further and further from the start, the same ones each time."""
    rng = np.random.default_rng(0)
    for width in (0.1, 0.5, 1.0, 2.0):
        yield free + rng.uniform(-width, width, len(free))


def check_density(problem: LogDensity) -> None:
    """Refuse a density whose answer has the wrong form, or whose gradient is wrong.

    The gradient is compared with differences near the start, where the density is positive.

    Raises
    ------
    BadDensity
        With the component that is wrong.
    """
    for free in _around(problem.start):
        with np.errstate(all="ignore"):
            values = problem.parameters.constrain(free)
            _require_form(problem, values)
            value, slope = problem.log_density_and_gradient(free)
            if not np.isfinite(value) or not np.isfinite(slope).all():
                continue
            report = check_gradient(
                problem.log_density,
                lambda x: problem.log_density_and_gradient(x)[1],
                free,
                tolerance=np.inf,
            )
        _require_same_again(problem, value, free)
        place = report.index[0]
        away = abs(report.given - report.expected) * max(1.0, abs(float(free[place])))
        if report.error > WRONG and away > ROUNDING:
            label = problem.parameters.label(place)
            if getattr(problem.density, "gradient", None) == "differences":
                raise BadDensity(
                    "log_density must be smooth to many digits to be differenced; found slopes "
                    f"{report.given:.6g} and {report.expected:.6g} by two steps of the free "
                    f"number of {label}. Compute it in float64 and without rounding, return "
                    'its gradient too, or use inference="metropolis".'
                )
            raise BadDensity(
                "a gradient must be that of its log density; found, by the free number of "
                f"{label}, {report.given:.6g} where differences say {report.expected:.6g}. "
                f"Correct the derivative by {label.split('[')[0]}."
            )
        return


def _require_same_again(problem: LogDensity, value: float, free: Array) -> None:
    """Refuse a density that draws random numbers."""
    again = problem.log_density_and_gradient(free)[0]
    if not np.isclose(again, value, rtol=SAME_AGAIN, atol=SAME_AGAIN):
        raise BadDensity(
            f"log_density must answer the same each time; found {value:.8g} and {again:.8g} at "
            "one point. Draw random numbers beforehand, and hand them over as data."
        )


def _require_form(problem: LogDensity, values: Values) -> None:
    """Refuse an answer that is no number with a gradient of the shapes of the values."""
    answer: Any = problem.density(values)
    value, gradient = answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, {})
    _require_number(value)
    wrong = {
        name: np.shape(gradient[name]) if name in gradient else "nothing"
        for name, x in values.items()
        if name not in gradient or np.shape(gradient[name]) != x.shape
    }
    for name, found in wrong.items():
        raise BadDensity(
            f"the gradient by {name} must have the shape of {name}, {values[name].shape}; "
            f"found {found}. Return one derivative for each number."
        )


def _require_number(value: Any) -> None:
    kind = np.asarray(value).dtype.kind
    if np.shape(value) != () or kind not in "fiub":
        raise BadDensity(
            f"log_density must return one real number; found {quote(value)}. Sum over rows."
        )
