"""Sequential Monte Carlo: particles that are led from a known distribution to a target.

The way goes over ``q(x)^(1 - t) p(x)^t`` for a temperature ``t`` that rises from zero to one.
Each step is as long as keeps a share of the particles effective; particles are weighed, picked
by their weights, and moved by Metropolis steps that leave the density of that temperature
alone. The product of the mean weights estimates the integral of ``p``, however many modes it
has [delmoral2006]_.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.distributions.mixture import Mixture
from credo.distributions.normal import Normal
from credo.inference.density.importance import ProposalProblem, finite_log_densities
from credo.inference.engine.draws import Draws
from credo.inference.engine.engine import Account, Inference, Move, Settled
from credo.inference.engine.problem import BatchedDensity, Parameters
from credo.inference.engine.weighted_draws import ZeroWeights
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.form import LATER, Form
from credo.numerics.special.bijection import real
from credo.numerics.special.log_domain import log_sum_exp, softmax

__all__ = ["Particles", "SequentialMonteCarlo", "TemperStep", "systematic"]

# Random walks in many dimensions mix best with this scale, and accept about a quarter.
WALK = 2.38
GOOD_ACCEPTANCE = 0.25
MOST_WALKS = 50


@dataclass(frozen=True, eq=False)
class Particles:
    """Particles on their way; those of several chains stand beside each other.

    Attributes
    ----------
    free
        Free numbers of each particle, shape (c, n, d).
    log_target, log_proposal
        Log densities of target and proposal there, shape (c, n).
    temperature
        How far the target counts, shape (c,).
    log_evidence
        Log of the product of mean weights so far, shape (c,).
    relative_variance
        Sum of the relative variances of these means, shape (c,).
    scale
        Length of the walks of each chain, shape (c,).
    """

    free: Annotated[Array, Form("c n d")]
    log_target: Annotated[Array, Form("c n", -np.inf)]
    log_proposal: Annotated[Array, Form("c n")]
    temperature: Annotated[Array, Form("c", 0.0, 1.0)]
    log_evidence: Annotated[Array, Form("c")]
    relative_variance: Annotated[Array, Form("c", 0.0)]
    scale: Annotated[Array, Form("c", 0.0)]


@dataclass(frozen=True)
class TemperStep(Move):
    """A step to a higher temperature; its change is what is left to one.

    Attributes
    ----------
    temperature
        How far the target counts.
    acceptance
        Share of the walks that moved.
    n_walks
        Walks that each particle took.
    n_draws
        Particles.
    """

    temperature: float
    acceptance: float
    n_walks: int
    n_draws: int = field(default=0, metadata=LATER)


@dataclass(frozen=True)
class SequentialMonteCarlo:
    """Lead particles from the proposal, such as a prior, to the target.

    Attributes
    ----------
    n_particles
        Particles of each chain.
    share
        Share of the particles that stays effective in each step.
    n_walks
        Walks after each step by which particles part again. More, up to fifty, are taken
        while few of them are accepted.
    max_steps
        Steps after which it gives up.

    Examples
    --------
    Two narrow peaks, of which one holds three quarters:

    >>> from credo.inference import run
    >>> example = SequentialMonteCarlo.examples()[0]
    >>> engine, problem = SequentialMonteCarlo(2000), example.arguments["problem"]
    >>> found = run(engine, problem, np.random.default_rng(0))
    >>> round(found.log_evidence, 1)  # the peaks are normalized
    -0.0
    >>> round(float((found.posterior["x"] > 0).mean()), 1)
    0.8
    """

    n_particles: int = 1000
    share: float = 0.5
    n_walks: int = 5
    max_steps: int = 500

    problem = ProposalProblem
    is_random: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.n_particles < 2 or not 0.0 < self.share < 1.0 or self.n_walks < 1:
            raise ValueError(
                "n_particles must be at least 2, share between 0 and 1, n_walks at least 1; "
                f"found {self.n_particles}, {self.share} and {self.n_walks}. Use 1000, 0.5, 5."
            )

    @property
    def stop(self) -> Settled:
        """The temperature is one."""
        return Settled(0.0, self.max_steps)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return engines for the laws, each with a problem to solve."""
        return (Example(cls(200, n_walks=2), problem=_two_peaks()),)

    def init(self, problem: ProposalProblem, rng: Generator) -> Particles:
        """Return draws of the proposal."""
        drawn = problem.draw(self.n_particles, rng)
        if np.isneginf(drawn.log_target).all():
            raise ZeroWeights(self.n_particles)
        nothing = np.zeros(1)
        return Particles(
            drawn.free[None],
            drawn.log_target[None],
            drawn.log_proposal[None],
            nothing,
            nothing,
            nothing,
            np.full(1, WALK / np.sqrt(drawn.free.shape[1])),
        )

    def step(
        self, problem: ProposalProblem, state: Particles, rng: Generator
    ) -> tuple[Particles, TemperStep]:
        """Raise the temperature of every chain, weigh, pick and move its particles."""
        if state.temperature.min() == 1.0:
            level = float(state.log_evidence[0])
            return state, TemperStep(level, 0.0, 1.0, 1.0, 0, state.log_target.size)
        moved = [self._chain(problem, state, c, rng) for c in range(len(state.temperature))]
        after = _stacked([part for part, _, _ in moved])
        temperature = float(after.temperature.min())
        report = TemperStep(
            float(after.log_evidence[0]),
            1.0 - temperature,
            temperature,
            float(np.mean([share for _, share, _ in moved])),
            max(n for _, _, n in moved),
            after.log_target.size,
        )
        return after, report

    def joined(self, problem: ProposalProblem, states: Sequence[Particles]) -> Particles:
        """Return the particles of several chains beside each other."""
        return _stacked(states)

    def posterior(self, problem: ProposalProblem, state: Particles) -> Inference:
        """Return the particles, and the mean of the evidences of all chains.

        Chains count by their evidence: one that has missed a mode has seen too little of it.
        Particles that are still on their way have no evidence, and are not from the target.
        """
        n_chains, n = state.log_target.shape
        log_evidence = float(log_sum_exp(state.log_evidence)) - float(np.log(n_chains))
        ratio = np.exp(state.log_evidence - log_evidence)
        within = float(np.sqrt((ratio**2 * state.relative_variance).sum())) / n_chains
        between = float(ratio.std(ddof=1) / np.sqrt(n_chains)) if n_chains > 1 else 0.0
        is_there = float(state.temperature.min()) == 1.0
        account = Account(
            "sequential Monte Carlo",
            False,
            max(within, between) if is_there else float("inf"),
            "standard error of the log evidence",
            _distinct(state.free),
        )
        values = problem.parameters.constrain(state.free)
        weight = None
        if n_chains > 1:
            weight = np.repeat(state.log_evidence[:, None] - log_evidence, n, axis=1)
        draws = Draws(values, weight)
        if not is_there:
            return Inference(draws, account=account)
        return Inference(draws, log_evidence, "importance", account=account)

    def _chain(
        self, problem: ProposalProblem, state: Particles, c: int, rng: Generator
    ) -> tuple[Particles, float, int]:
        """Return a chain after a step, the share of walks that moved, and their number."""
        before = float(state.temperature[c])
        ratio = state.log_target[c] - state.log_proposal[c]
        temperature = _next_temperature(ratio, before, self.share)
        log_weight = (temperature - before) * ratio
        log_mean = float(log_sum_exp(log_weight)) - float(np.log(len(log_weight)))
        weight = softmax(log_weight)
        picked = systematic(weight, rng)
        cloud = _Cloud(
            state.free[c][picked], state.log_target[c][picked], state.log_proposal[c][picked]
        )
        factor = _root(state.free[c], weight)
        scale = float(state.scale[c])
        cloud, acceptance, scale, n_walks = self._walked(
            problem, cloud, factor, temperature, scale, rng
        )
        relative = len(weight) * float(weight @ weight) - 1.0
        after = Particles(
            cloud.free[None],
            cloud.log_target[None],
            cloud.log_proposal[None],
            np.array([temperature]),
            state.log_evidence[c : c + 1] + log_mean,
            state.relative_variance[c : c + 1] + max(relative, 0.0) / len(weight),
            np.array([scale]),
        )
        return after, acceptance, n_walks

    def _walked(
        self,
        problem: ProposalProblem,
        cloud: _Cloud,
        factor: Array,
        temperature: float,
        scale: float,
        rng: Generator,
    ) -> tuple[_Cloud, float, float, int]:
        """Return particles after walks that keep the density of a temperature."""
        shares: list[float] = []
        # So many accepted walks as n_walks would give at a good rate.
        while len(shares) < self.n_walks or (
            sum(shares) < GOOD_ACCEPTANCE * self.n_walks and len(shares) < MOST_WALKS
        ):
            cloud, share = cloud.walked(problem, scale * factor, temperature, rng)
            shares.append(share)
            # The scale only changes with all particles together, which changes none of them.
            scale *= float(np.exp(share - GOOD_ACCEPTANCE))
        return cloud, float(np.mean(shares)), scale, len(shares)


@dataclass(frozen=True, eq=False)
class _Cloud:
    """Particles of one chain, shape (n, d), with both log densities, shape (n,)."""

    free: Array
    log_target: Array
    log_proposal: Array

    def walked(
        self, problem: ProposalProblem, factor: Array, temperature: float, rng: Generator
    ) -> tuple[_Cloud, float]:
        """Return all particles after one Metropolis step, and the share that moved."""
        free = self.free + rng.standard_normal(self.free.shape) @ factor.T
        log_target = finite_log_densities(problem.target, free)
        log_proposal = problem.log_proposal(free)
        rise = _tempered(log_target, log_proposal, temperature) - _tempered(
            self.log_target, self.log_proposal, temperature
        )
        is_moved = np.log1p(-rng.random(len(rise))) < rise
        after = _Cloud(
            np.where(is_moved[:, None], free, self.free),
            np.where(is_moved, log_target, self.log_target),
            np.where(is_moved, log_proposal, self.log_proposal),
        )
        return after, float(is_moved.mean())


def _tempered(log_target: Array, log_proposal: Array, temperature: float) -> Array:
    """Return the log density on the way; where either is impossible, so is the mixture."""
    is_possible = np.isfinite(log_target) & np.isfinite(log_proposal)
    with np.errstate(invalid="ignore"):
        mixed = (1.0 - temperature) * log_proposal + temperature * log_target
    return np.where(is_possible, mixed, -np.inf)


def _next_temperature(log_ratio: Array, before: float, share: float) -> float:
    """Return the highest temperature that leaves a share of the particles effective."""

    def worth(rise: float) -> float:
        weight = softmax(rise * log_ratio)
        return float(1.0 / (len(weight) * (weight @ weight)))

    if worth(1.0 - before) >= share:
        return 1.0
    low, high = 0.0, 1.0 - before
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if worth(middle) >= share else (low, middle)
    # Particles that are impossible leave no other step than the smallest.
    return before + max(low, 1e-12)


def systematic(weight: Array, rng: Generator, n: int | None = None) -> NDArray[np.intp]:
    """Return positions picked in proportion to weights that sum to one, as evenly as can be.

    Each is picked as often as ``n`` times its weight says, rounded down or up; as many as
    there are weights by default.

    Examples
    --------
    >>> systematic(np.array([0.5, 0.0, 0.25, 0.25]), np.random.default_rng(0)).tolist()
    [0, 0, 2, 3]
    """
    n = len(weight) if n is None else n
    ends = np.cumsum(weight)
    place = np.searchsorted(ends, ends[-1] * (rng.random() + np.arange(n)) / n, side="right")
    return np.asarray(np.minimum(place, len(weight) - 1), dtype=np.intp)


def _root(free: Array, weight: Array) -> Array:
    """Return a matrix whose product with its transpose is the covariance of particles."""
    shift = free - weight @ free
    covariance = (shift * weight[:, None]).T @ shift
    values, vectors = np.linalg.eigh(covariance)
    # Directions in which all particles agree still get a short step.
    least = 1e-12 * max(float(values[-1]), np.finfo(float).tiny)
    return np.asarray(vectors * np.sqrt(np.maximum(values, least)))


def _distinct(free: Array) -> float:
    """Return the number of different particles."""
    rows = free.reshape(-1, free.shape[-1])
    return float(len(np.unique(rows, axis=0)))


def _stacked(parts: Sequence[Particles]) -> Particles:
    names = ("free", "log_target", "log_proposal", "temperature", "log_evidence")
    rest = ("relative_variance", "scale")
    return Particles(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in (*names, *rest))
    )


def _two_peaks() -> ProposalProblem:
    """Return two normal peaks at -3 and 3, proposed by a normal that covers both."""
    peaks = Mixture([0.25, 0.75], [Normal(-3.0, 0.2), Normal(3.0, 0.2)])
    target = BatchedDensity(
        Parameters({"x": real()}), lambda values: peaks.log_prob(values["x"])
    )
    return ProposalProblem(target, {"x": Normal(0.0, 3.0)})
