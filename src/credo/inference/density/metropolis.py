"""Metropolis and Metropolis-Hastings: chains that propose a move and take or refuse it.

A move from ``x`` to ``x'`` is taken with probability
``min(1, p(x') q(x | x') / (p(x) q(x' | x)))``. For a step that is as likely there as back the
two ``q`` cancel, which is the method of Metropolis; any other needs Hastings' factor. A
refused move records ``x`` once more: to leave it out would favor places that are easy to leave
[mackay2003]_.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from credo.distributions.multivariate_normal import MultivariateNormal
from credo.inference.density.importance import finite_log_densities
from credo.inference.engine.draws import effective_draws, mean_error, r_hat
from credo.inference.engine.engine import (
    Account,
    ConvergenceWarning,
    Drawn,
    Inference,
    Step,
)
from credo.inference.engine.problem import BatchedDensity, Parameters, PointDensity
from credo.numerics.array import Array, as_float
from credo.numerics.example import Example
from credo.numerics.form import Form
from credo.numerics.linear.linear_algebra import NotPositiveDefinite, cholesky
from credo.numerics.special.bijection import positive, real
from credo.numerics.warning import warn_user

__all__ = [
    "Metropolis",
    "MetropolisHastings",
    "MetropolisState",
    "MetropolisStep",
    "MoveProblem",
    "chain_account",
    "possible_starts",
]

MOST_TRIES = 100
MOST_R_HAT = 1.05
FEWEST_EFFECTIVE = 100.0
# Best rates of acceptance of a random walk, in one dimension and in many.
GOOD_ACCEPTANCE = (0.44, 0.234)

Values = dict[str, Array]
Propose = Callable[[Values, Generator], tuple[Mapping[str, Any], ArrayLike]]


@dataclass(frozen=True)
class MetropolisStep(Step):
    """A block of moves.

    Attributes
    ----------
    n_draws
        Draws of each chain so far, of the warm-up or of those that count.
    acceptance
        Share of the moves of this block that were taken.
    """

    n_draws: int
    acceptance: float


@dataclass(frozen=True, eq=False)
class MetropolisState:
    """Where chains are and have been.

    Attributes
    ----------
    free
        Free numbers of each chain now, shape (c, d).
    log_density
        Log density there, shape (c,).
    draws
        Free numbers after each move, shape (c, n, d); after a refused one those before it.
    log_densities
        Log density of each draw, shape (c, n).
    is_accepted
        Whether each move was taken, shape (c, n).
    proposals
        Free numbers that were proposed, shape (c, n, d), if they are kept; NaN for a value
        outside its support. Else shape (c, 0, d).
    scale, factor
        Steps of a chain are ``scale * factor @ z`` for normal ``z``, shapes (c,) and (d, d).
    is_warm
        Whether the warm-up is over, after which nothing adapts.
    """

    free: Annotated[Array, Form("c d")]
    log_density: Annotated[Array, Form("c")]
    draws: Annotated[Array, Form("c n d")]
    log_densities: Annotated[Array, Form("c n")]
    is_accepted: Annotated[NDArray[np.bool_], Form("c n")]
    proposals: Annotated[Array, Form("c p d", has_gaps=True)]
    scale: Annotated[Array, Form("c", 0.0)]
    factor: Annotated[Array, Form("d d")]
    is_warm: bool

    @property
    def acceptance_rate(self) -> float:
        """Share of the moves that were taken."""
        return float(self.is_accepted.mean()) if self.is_accepted.size else float("nan")

    @classmethod
    def at(cls, problem: PointDensity, free: Array, scale: float) -> MetropolisState:
        """Return chains that have not moved yet."""
        c, d = free.shape
        return cls(
            free,
            finite_log_densities(problem, free),
            np.empty((c, 0, d)),
            np.empty((c, 0)),
            np.empty((c, 0), dtype=np.bool_),
            np.empty((c, 0, d)),
            np.full(c, scale),
            np.eye(d),
            is_warm=False,
        )

    @classmethod
    def joined(cls, parts: Sequence[MetropolisState]) -> MetropolisState:
        """Return the chains of several states side by side, as long as the shortest."""
        cut = [part.first(min(one.draws.shape[1] for one in parts)) for part in parts]
        return replace(
            parts[0],
            free=np.concatenate([part.free for part in cut]),
            log_density=np.concatenate([part.log_density for part in cut]),
            draws=np.concatenate([part.draws for part in cut]),
            log_densities=np.concatenate([part.log_densities for part in cut]),
            is_accepted=np.concatenate([part.is_accepted for part in cut]),
            proposals=np.concatenate([part.proposals for part in cut]),
            scale=np.concatenate([part.scale for part in cut]),
        )

    def first(self, n: int) -> MetropolisState:
        """Return the same with the first ``n`` draws of each chain."""
        return replace(
            self,
            draws=self.draws[:, :n],
            log_densities=self.log_densities[:, :n],
            is_accepted=self.is_accepted[:, :n],
            proposals=self.proposals[:, :n],
        )

    def warmed(self) -> MetropolisState:
        """Return the chains where they are, with no draw that counts, and steps alike."""
        scale = np.full(len(self.scale), np.median(self.scale))
        return replace(self.first(0), scale=scale, is_warm=True)


@dataclass(frozen=True, eq=False)
class _Proposals:
    """Where each chain may go: free numbers, log densities, and logs of Hastings' factors."""

    free: Array
    log_density: Array
    log_factor: Array | float


class _Block:
    """Moves of all chains, one after the other."""

    def __init__(self, state: MetropolisState, keeps_proposals: bool) -> None:
        self.state, self.keeps = state, keeps_proposals
        self.free, self.log_density = state.free, state.log_density
        self.draws: list[Array] = []
        self.logs: list[Array] = []
        self.accepted: list[NDArray[np.bool_]] = []
        self.proposals: list[Array] = []

    def move(self, proposed: _Proposals, rng: Generator) -> Array:
        """Take or refuse a move of each chain; return the probabilities of taking them."""
        log_ratio = proposed.log_density - self.log_density + proposed.log_factor
        chance = np.exp(np.minimum(log_ratio, 0.0))
        is_accepted = rng.random(len(chance)) < chance
        self.free = np.where(is_accepted[:, None], proposed.free, self.free)
        self.log_density = np.where(is_accepted, proposed.log_density, self.log_density)
        self.draws.append(self.free)
        self.logs.append(self.log_density)
        self.accepted.append(is_accepted)
        if self.keeps:
            self.proposals.append(proposed.free)
        return np.asarray(chance)

    def end(self) -> tuple[MetropolisState, MetropolisStep]:
        """Return the state after the block, and what it reports."""
        state = self.state
        is_accepted = np.stack(self.accepted, axis=1)
        proposals = state.proposals
        if self.keeps:
            proposals = np.concatenate([proposals, np.stack(self.proposals, axis=1)], axis=1)
        after = replace(
            state,
            free=self.free,
            log_density=self.log_density,
            draws=np.concatenate([state.draws, np.stack(self.draws, axis=1)], axis=1),
            log_densities=np.concatenate(
                [state.log_densities, np.stack(self.logs, axis=1)], axis=1
            ),
            is_accepted=np.concatenate([state.is_accepted, is_accepted], axis=1),
            proposals=proposals,
        )
        level, n_draws = float(self.log_density.mean()), after.draws.shape[1]
        return after, MetropolisStep(level, n_draws, float(is_accepted.mean()))


@dataclass(frozen=True)
class Metropolis:
    """Walk at random with normal steps, whose size and shape are learned in the warm-up.

    Attributes
    ----------
    n_draws
        Draws of each chain that count.
    warm_up
        Draws of each chain before those. Their size is led to a good rate of acceptance, their
        shape to the covariance of the draws; both stay as they are afterwards. Zero leaves
        them at ``scale`` and a sphere.
    n_chains
        Chains that move together.
    scale
        Standard deviation of the first steps, in free numbers.
    spread
        How far starts lie from ``start`` of the problem, in free numbers.
    keeps_proposals
        Whether refused moves are kept as well, to look at.

    Examples
    --------
    >>> from credo.inference import run
    >>> problem = Metropolis.examples()[0].arguments["problem"]
    >>> found = run(Metropolis(500, 300, 20), problem, np.random.default_rng(0))
    >>> found.posterior
    Draws(x[2]: 20 chains of 500)
    >>> bool(0.2 < found.state.acceptance_rate < 0.5), bool(found.r_hat < 1.05)
    (True, True)
    """

    n_draws: int = 1000
    warm_up: int = 1000
    n_chains: int = 4
    scale: float = 1.0
    spread: float = 2.0
    keeps_proposals: bool = False

    name: ClassVar[str] = "metropolis"
    block_size: ClassVar[int] = 100
    problem = PointDensity
    is_random: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _require_positive(scale=self.scale, n_chains=self.n_chains, n_draws=self.n_draws)

    @property
    def stop(self) -> Drawn:
        """All is drawn."""
        return Drawn(self.n_draws, self.warm_up)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return engines for the laws, each with a problem to solve."""
        law = MultivariateNormal([1.0, -1.0], [[1.0, 0.6], [0.6, 1.0]])
        target = BatchedDensity(
            Parameters({"x": real(2)}), lambda values: law.log_prob(values["x"])
        )
        return (
            Example(cls(200, 150, 2), problem=target),
            Example(cls(150, 0, 1, keeps_proposals=True), problem=target),
        )

    def init(self, problem: PointDensity, rng: Generator) -> MetropolisState:
        """Return chains that start apart, where the density is positive."""
        starts = possible_starts(problem, self.n_chains, self.spread, rng)
        return MetropolisState.at(problem, starts, self.scale)

    def step(
        self, problem: PointDensity, state: MetropolisState, rng: Generator
    ) -> tuple[MetropolisState, MetropolisStep]:
        """Make one block of moves."""
        block = _Block(state, self.keeps_proposals)
        is_adapting = not state.is_warm and self.warm_up > 0
        best = GOOD_ACCEPTANCE[min(state.free.shape[1], 2) - 1]
        scale, n_before = state.scale, state.draws.shape[1]
        for i in range(self._block(state)):
            steps = rng.standard_normal(state.free.shape) @ state.factor.T
            free = block.free + scale[:, None] * steps
            log_density = finite_log_densities(problem, free)
            chance = block.move(_Proposals(free, log_density, 0.0), rng)
            if is_adapting:
                # Changes that die out, so that the size settles.
                scale = scale * np.exp((chance - best) / (1.0 + (n_before + i) / 20.0) ** 0.6)
        after, report = block.end()
        after = replace(after, scale=scale)
        return (_reshaped(after) if is_adapting else after), report

    def warmed(self, problem: PointDensity, state: MetropolisState) -> MetropolisState:
        """Return the chains from which draws count."""
        return state.warmed()

    def joined(
        self, problem: PointDensity, states: Sequence[MetropolisState]
    ) -> MetropolisState:
        """Return the chains of several states side by side."""
        return MetropolisState.joined(states)

    def posterior(self, problem: PointDensity, state: MetropolisState) -> Inference:
        """Return the draws by name."""
        draws = problem.parameters.draws(state.draws)
        is_over = state.is_warm or not self.warm_up
        return Inference(draws, account=chain_account("Metropolis", state.draws, is_over))

    def _block(self, state: MetropolisState) -> int:
        most = self.n_draws if state.is_warm or not self.warm_up else self.warm_up
        return _block_size(most - state.draws.shape[1], self.block_size)


@dataclass(frozen=True, eq=False)
class MoveProblem:
    """A density, and a way to propose moves in it.

    Attributes
    ----------
    target
        Log density of named parameters, not normalized.
    propose
        From values by name of all chains, shape (c, *shape) each, and a Generator, new values
        and the logs of Hastings' factors, shape (c,): the log density of the move back, less
        that of the move there, both densities of values. Zero for moves that are as likely
        back. Values outside their support are refused.

    Examples
    --------
    A positive number that is multiplied by a factor, whose logarithm is as likely up as down:

    >>> def stretched(values, rng):
    ...     log_factor = rng.normal(size=values["x"].shape)
    ...     # q(x | x') / q(x' | x) = x' / x
    ...     return {"x": values["x"] * np.exp(log_factor)}, log_factor
    >>> target = BatchedDensity(
    ...     Parameters({"x": positive()}), lambda v: 2 * np.log(v["x"]) - v["x"]
    ... )
    >>> from credo.inference import run
    >>> problem = MoveProblem(target, stretched)
    >>> found = run(MetropolisHastings(300, 50, 40), problem, np.random.default_rng(0))
    >>> bool(abs(found.posterior.mean("x") - 3.0) < 0.2)  # Gamma(3, 1)
    True
    """

    target: PointDensity
    propose: Propose

    @property
    def parameters(self) -> Parameters:
        """Names, shapes and supports."""
        return self.target.parameters

    def proposed(self, free: Array, rng: Generator) -> _Proposals:
        """Return a move for each chain, shape (c, d)."""
        moved, log_factor = self._moved(free, rng)
        is_possible = np.isfinite(moved).all(axis=1)
        # Factors are of densities of values, those of the target of free numbers.
        volume = self.parameters.log_jacobian
        if is_possible.all():
            log_density = finite_log_densities(self.target, moved)
            return _Proposals(moved, log_density, log_factor + volume(free) - volume(moved))
        log_density, shift = np.full(len(free), -np.inf), np.zeros(len(free))
        log_density[is_possible] = finite_log_densities(self.target, moved[is_possible])
        shift[is_possible] = volume(free[is_possible]) - volume(moved[is_possible])
        return _Proposals(moved, log_density, log_factor + shift)

    def _moved(self, free: Array, rng: Generator) -> tuple[Array, Array]:
        values, given = self.propose(self.parameters.constrain(free), rng)
        supports, log_factor = self.parameters.supports, as_float(given)
        shapes = {name: np.shape(value) for name, value in values.items()}
        expected = {name: (len(free), *part.shape) for name, part in supports.items()}
        if shapes != expected or log_factor.shape not in ((), (len(free),)):
            raise ValueError(
                f"propose must return values of the shapes {expected} and a number for each; "
                f"found the shapes {shapes} and {log_factor.shape}. Return every parameter, "
                "moved or not."
            )
        if np.isnan(log_factor).any():
            raise ValueError(
                "propose must return the log of a factor; found NaN. Give zero for a move that "
                "is as likely back."
            )
        with np.errstate(invalid="ignore", divide="ignore"):
            parts = [part.free(as_float(values[name])) for name, part in supports.items()]
        return np.concatenate(parts, axis=-1), log_factor


@dataclass(frozen=True)
class MetropolisHastings:
    """Propose moves by any rule, and correct for those that are not as likely back as there.

    Attributes
    ----------
    n_draws
        Draws of each chain that count.
    warm_up
        Draws of each chain before those, in which it leaves its start.
    n_chains
        Chains that move together.
    spread
        How far starts lie from ``start`` of the problem, in free numbers.
    keeps_proposals
        Whether refused moves are kept as well, to look at.
    """

    n_draws: int = 1000
    warm_up: int = 1000
    n_chains: int = 4
    spread: float = 2.0
    keeps_proposals: bool = False

    block_size: ClassVar[int] = 100
    problem = MoveProblem
    is_random: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _require_positive(n_chains=self.n_chains, n_draws=self.n_draws)

    @property
    def stop(self) -> Drawn:
        """All is drawn."""
        return Drawn(self.n_draws, self.warm_up)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return engines for the laws, each with a problem to solve."""
        return (Example(cls(200, 150, 2, keeps_proposals=True), problem=_stretched_gamma()),)

    def init(self, problem: MoveProblem, rng: Generator) -> MetropolisState:
        """Return chains that start apart, where the density is positive."""
        starts = possible_starts(problem.target, self.n_chains, self.spread, rng)
        return MetropolisState.at(problem.target, starts, 1.0)

    def step(
        self, problem: MoveProblem, state: MetropolisState, rng: Generator
    ) -> tuple[MetropolisState, MetropolisStep]:
        """Make one block of moves."""
        most = self.n_draws if state.is_warm or not self.warm_up else self.warm_up
        block = _Block(state, self.keeps_proposals)
        for _ in range(_block_size(most - state.draws.shape[1], self.block_size)):
            block.move(problem.proposed(block.free, rng), rng)
        return block.end()

    def warmed(self, problem: MoveProblem, state: MetropolisState) -> MetropolisState:
        """Return the chains from which draws count."""
        return state.warmed()

    def joined(
        self, problem: MoveProblem, states: Sequence[MetropolisState]
    ) -> MetropolisState:
        """Return the chains of several states side by side."""
        return MetropolisState.joined(states)

    def posterior(self, problem: MoveProblem, state: MetropolisState) -> Inference:
        """Return the draws by name."""
        is_over = state.is_warm or not self.warm_up
        account = chain_account("Metropolis-Hastings", state.draws, is_over)
        return Inference(problem.parameters.draws(state.draws), account=account)


def possible_starts(
    problem: PointDensity, n_chains: int, spread: float, rng: Generator
) -> Array:
    """Return free numbers of positive density around ``start``, one row for each chain.

    Raises
    ------
    ValueError
        If a chain finds none in a hundred tries.
    """
    start = problem.start
    found = np.tile(start, (n_chains, 1))
    is_open = np.ones(n_chains, dtype=np.bool_)
    for _ in range(MOST_TRIES):
        tried = start + spread * rng.uniform(-1.0, 1.0, size=found.shape)
        found[is_open] = tried[is_open]
        is_open = np.isneginf(finite_log_densities(problem, found))
        if not is_open.any():
            return found
    raise ValueError(
        f"some start must have positive probability; found none for {int(is_open.sum())} of "
        f"{n_chains} chains in {MOST_TRIES} tries. Give a guess inside, or a smaller spread."
    )


def chain_account(title: str, draws: Array, is_over: bool = True) -> Account:
    """Return the account of chains of free numbers, shape (c, n, d); warn if it is bad.

    Parameters
    ----------
    title
        Name of the method.
    is_over
        Whether the warm-up is over; draws of one are not from the target.
    """
    kind = "largest standard error of a mean, in standard deviations"
    if not is_over or draws.shape[1] < 4:
        return Account(title, False, float("inf"), kind)
    is_still = (np.ptp(draws, axis=1) == 0.0).all(axis=1)
    if is_still.any():
        warn_user(
            f"chains of {title} must move; found {int(is_still.sum())} of {len(draws)} that "
            "never did. Do not trust their means: take smaller steps, or a longer warm-up.",
            ConvergenceWarning,
        )
        return Account(title, False, float("inf"), kind, 0.0, float("inf"))
    spread = draws.std(axis=(0, 1), ddof=1)
    # A quantity that does not vary has no error, and chains agree about it.
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.where(spread > 0, mean_error(draws) / spread, 0.0)
    ratio = float(np.where(spread > 0, r_hat(draws), 1.0).max())
    worth = float(effective_draws(draws).min())
    if ratio > MOST_R_HAT or worth < FEWEST_EFFECTIVE:
        warn_user(
            f"chains of {title} must have an R-hat of at most {MOST_R_HAT} and draws worth "
            f"{FEWEST_EFFECTIVE:.0f} independent ones; found {ratio:.3f} and {worth:.0f}. Do "
            "not trust their means: draw more, or start nearer.",
            ConvergenceWarning,
        )
    return Account(title, False, float(error.max()), kind, worth, ratio)


def _reshaped(state: MetropolisState) -> MetropolisState:
    """Return chains whose steps have the shape of the later half of their draws.

    Only the better half of the chains counts: others may still be on their way.
    """
    n, d = state.draws.shape[1:]
    level = state.log_densities[:, n // 2 :].mean(axis=1)
    later = state.draws[level >= np.median(level), n // 2 :]
    n_later = len(later) * (later.shape[1] - 1)
    if n_later < 10 * d:
        return state
    shift = (later - later.mean(axis=1, keepdims=True)).reshape(-1, d)
    covariance = shift.T @ shift / n_later
    share = n_later / (n_later + 10.0)
    covariance = share * covariance + (1.0 - share) * np.diag(np.diagonal(covariance))
    try:
        factor = cholesky(covariance).lower
    except NotPositiveDefinite:
        return state
    size = np.log(np.diagonal(state.factor)).mean() - np.log(np.diagonal(factor)).mean()
    return replace(state, factor=factor, scale=state.scale * np.exp(size))


def _block_size(left: int, block_size: int) -> int:
    """Return how many moves to make: no more than are left, if any are."""
    return min(block_size, left) if left > 0 else block_size


def _require_positive(**settings: float) -> None:
    for name, value in settings.items():
        if not value > 0:
            raise ValueError(f"{name} must be positive; found {value}. Leave it out.")


def _stretched_gamma() -> MoveProblem:
    """Return Gamma(3, 1), with moves that multiply by a factor."""
    target = BatchedDensity(
        Parameters({"x": positive()}), lambda values: 2 * np.log(values["x"]) - values["x"]
    )

    def stretched(values: Values, rng: Generator) -> tuple[Values, Array]:
        log_factor = rng.normal(size=values["x"].shape)
        return {"x": values["x"] * np.exp(log_factor)}, log_factor

    return MoveProblem(target, stretched)
