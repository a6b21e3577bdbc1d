"""Engines that follow trajectories of a log density: Hamiltonian Monte Carlo and NUTS.

A point is given a random momentum and moves like a ball over ``-log p``, in steps that nearly
keep its energy; points far away are reached and nearly always taken [neal2011]_. The no-U-turn
engine doubles a trajectory until it begins to come back, and picks one of its points
[hoffman2014]_ [betancourt2017]_. During the warm-up the length of a step is adapted to a wanted
share of acceptance, and the metric, which is a guess of the covariance, to the later half of
draws and of gradients there: of a Gaussian the two together tell the covariance from few draws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.random import Generator

from credo.inference.density.compiled import CompiledDensity
from credo.inference.density.laplace import poisson_rate
from credo.inference.density.metric import Metric, clipped, learned_metric
from credo.inference.density.pathfinder import path_draw
from credo.inference.density.start import BadDensity, find_start, require_density
from credo.inference.engine.draws import worth_and_ratio
from credo.inference.engine.engine import Account, Drawn, Inference, Step
from credo.inference.engine.problem import LogDensity
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.form import Form
from credo.numerics.special.bijection import real, support_table

__all__ = [
    "FACTS",
    "FAR",
    "HamiltonianMonteCarlo",
    "ImproperDensity",
    "NoUTurnSampling",
    "TrajectoryState",
    "TrajectoryStep",
    "improper",
]

FACTS = ("log_density", "energy", "acceptance", "depth", "n_steps", "is_divergent")
"""What is kept of each transition, in this order."""

METRICS = ("diagonal", "low_rank", "dense")
BEGINNINGS = ("random", "pathfinder")
BLOCK = 100
FIRST_BLOCK = 10
GRADIENTS = 4000
"""Gradients after which, about, a step ends, so that limits of time are seen; of a compiled
density, which needs less time for each, four times as many."""

FIRST_DEPTH = 6
"""Doublings of a trajectory while next to nothing is known of the metric."""

LAST_SHARE = 0.1
"""Share of the warm-up, at its end, in which the metric stays as it is."""

FLAT = 1e6
"""Length of a step, in standard deviations, that only a density without end accepts."""

SAME = 1e-12
"""Share of the squares of slopes along a direction in which the density may be flat."""

NEAR_STEP = 10.0
"""How far from a draw a density with slopes of zero is looked at."""

OUTWARD = (1e3, 1e6, 1e9)
"""How many times further than draws have come a density must have begun to fall."""

ENDLESS = 1e9
"""Distance at which a flat density is what it is here, but for rounding."""

ROUNDED = 1e-5
"""Relative rounding of a log density so far away."""

FAR = 1e30
"""Free numbers beyond this are those of draws that ran away."""


class ImproperDensity(ValueError):
    """A density cannot be normalized."""


@dataclass(frozen=True)
class TrajectoryStep(Step):
    """What some transitions report; the objective is the last log density.

    Attributes
    ----------
    n_draws
        Draws so far, those of the warm-up until it ends.
    acceptance
        Mean probability of acceptance of these transitions.
    step_size
        Length of a step, in units of the metric.
    n_divergent
        Transitions among these that lost their energy.
    n_gradients
        Gradients that they took.
    """

    n_draws: int
    acceptance: float
    step_size: float
    n_divergent: int
    n_gradients: int


@dataclass(frozen=True, eq=False)
class TrajectoryState:
    """Where chains are, what they have drawn, and what they have learned; chains come first.

    Attributes
    ----------
    draws
        Free numbers drawn, shape (c, n, d); those of the warm-up until it ends.
    facts
        What is known of each transition, in the order of ``FACTS``, shape (c, n, 6).
    slopes
        Gradients at the draws of the warm-up, shape (c, m, d); none after it.
    here
        Position and gradient, shape (c, 2, d).
    scale, directions, weights
        The metric of each chain, shapes (c, d), (c, k, d), (c, k).
    step
        Step size, its log mean, shortfall, center and number of adaptations, shape (c, 5).
    log_density
        At the position, shape (c,).
    is_warm
        Whether the warm-up is over.
    """

    draws: Annotated[Array, Form("c n d")]
    facts: Annotated[Array, Form("c n 6", -np.inf, np.inf)]
    slopes: Annotated[Array, Form("c m d")]
    here: Annotated[Array, Form("c 2 d")]
    scale: Annotated[Array, Form("c d")]
    directions: Annotated[Array, Form("c k d")]
    weights: Annotated[Array, Form("c k")]
    step: Annotated[Array, Form("c 5")]
    log_density: Annotated[Array, Form("c")]
    is_warm: bool = False

    @property
    def n_draws(self) -> int:
        """Draws of each chain so far."""
        return int(self.draws.shape[1])

    @property
    def chains(self) -> list[Self]:
        """Each chain as a state of its own."""
        if len(self.draws) == 1:
            return [self]
        parts = range(len(self.draws))
        return [self._with({name: x[i : i + 1] for name, x in self._arrays}) for i in parts]

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return chains side by side, each as long as the shortest."""
        n, m = (min(x.shape[1] for x in each) for each in _columns(parts, "draws", "slopes"))
        k = max(part.weights.shape[1] for part in parts)
        cut = [
            part._with(
                {
                    "draws": part.draws[:, :n],
                    "facts": part.facts[:, :n],
                    "slopes": part.slopes[:, :m],
                    "directions": _padded(part.directions, k),
                    "weights": _padded(part.weights, k),
                }
            )
            for part in parts
        ]
        arrays = {
            name: np.concatenate([getattr(part, name) for part in cut])
            for name, _ in parts[0]._arrays
        }
        return cut[0]._with(arrays | {"is_warm": all(part.is_warm for part in parts)})

    @property
    def metric(self) -> Metric:
        """The metric of the first chain."""
        return Metric(self.scale[0], self.directions[0], self.weights[0])

    def with_metric(self, metric: Metric) -> Self:
        """Return a single chain with another metric, which adapts its step size anew."""
        size = float(self.step[0, 1])
        return self._with(
            {
                "scale": metric.scale[None],
                "directions": metric.directions[None],
                "weights": metric.weights[None],
                "step": _new_step(float(np.exp(size))),
            }
        )

    @property
    def _arrays(self) -> list[tuple[str, Array]]:
        return [(name, x) for name, x in vars(self).items() if isinstance(x, np.ndarray)]

    def _with(self, changes: dict[str, Any]) -> Self:
        return replace(self, **changes)


def _columns(parts: Sequence[Any], *names: str) -> list[list[Array]]:
    return [[getattr(part, name) for part in parts] for name in names]


def _padded(x: Array, k: int) -> Array:
    shape = (x.shape[0], k - x.shape[1], *x.shape[2:])
    return np.concatenate([x, np.zeros(shape)], axis=1)


def _new_step(size: float) -> Array:
    """Return step size, log mean, shortfall, center and number of adaptations."""
    return np.array([[size, np.log(size), 0.0, np.log(2.0 * size), 0.0]])


@dataclass(frozen=True)
class _Trajectories:
    """Settings and verbs that both engines share."""

    n_draws: int = 1000
    warm_up: int = 1000
    acceptance: float = 0.8
    metric: str = "diagonal"
    begin: str = "random"

    problem = LogDensity
    is_random: ClassVar[bool] = True
    title: ClassVar[str] = ""

    def __post_init__(self) -> None:
        if self.metric not in METRICS:
            raise ValueError(
                f"metric must be one of {METRICS}; found {self.metric!r}. Name one of them."
            )
        if self.begin not in BEGINNINGS:
            raise ValueError(
                f"begin must be one of {BEGINNINGS}; found {self.begin!r}. Name one of them."
            )
        if not 0.0 < self.acceptance < 1.0:
            raise ValueError(
                f"acceptance must lie between 0 and 1; found {self.acceptance}. It is the mean "
                "probability of acceptance that the step size is adapted to, such as 0.8."
            )
        self.stop  # noqa: B018

    @property
    def stop(self) -> Drawn:
        """So many draws after the warm-up."""
        return Drawn(self.n_draws, self.warm_up)

    @property
    def _limits(self) -> tuple[int, float]:
        """Largest depth of a tree, and length of a trajectory, zero if that is open."""
        raise NotImplementedError

    def init(self, problem: LogDensity, rng: Generator) -> TrajectoryState:
        """Return a start of positive density, with a first guess of metric and step size.

        Raises
        ------
        NoStart
            If 100 random points have density zero.
        BadDensity
            If the density is infinite or no number somewhere, or a gradient is not finite.
        """
        free, value, slope = find_start(problem, rng)
        d = len(free)
        metric = Metric(1.0 / np.sqrt(clipped(np.abs(slope))), np.zeros((0, d)), np.zeros(0))
        if self.begin == "pathfinder":
            drawn, covariance = path_draw(problem, free, value, slope, rng)
            found = problem.log_density_and_gradient(drawn)
            if np.isfinite(found[0]) and np.isfinite(found[1]).all():
                free, (value, slope) = drawn, found
                metric = covariance.diagonal() if self.metric == "diagonal" else covariance
        size = _first_step(problem, free, value, slope, metric, rng)
        return TrajectoryState(
            draws=np.zeros((1, 0, d)),
            facts=np.zeros((1, 0, len(FACTS))),
            slopes=np.zeros((1, 0, d)),
            here=np.stack([free, slope])[None],
            scale=metric.scale[None],
            directions=metric.directions[None],
            weights=metric.weights[None],
            step=_new_step(size),
            log_density=np.array([value]),
        )

    def step(
        self, problem: LogDensity, state: TrajectoryState, rng: Generator
    ) -> tuple[TrajectoryState, TrajectoryStep]:
        """Make some transitions, up to the next time that the metric is learned.

        Raises
        ------
        BadDensity
            If the density becomes infinite, or no number.
        ImproperDensity
            If the density is flat along a number, or draws run away.
        """
        moved = [self._moved(problem, chain, rng) for chain in state.chains]
        after = moved[0] if len(moved) == 1 else TrajectoryState.joined(moved)
        new = after.facts[:, state.n_draws :]
        report = TrajectoryStep(
            objective=float(after.log_density[0]),
            n_draws=after.n_draws,
            acceptance=float(new[..., 2].mean()),
            step_size=float(after.step[0, 0]),
            n_divergent=int(new[..., 5].sum()),
            n_gradients=int(new[..., 4].sum()),
        )
        return after, report

    def _moved(
        self, problem: LogDensity, state: TrajectoryState, rng: Generator
    ) -> TrajectoryState:
        n = self._n_next(problem, state)
        depth, length = self._limits
        if state.n_draws < FIRST_BLOCK and not state.is_warm:
            depth = min(depth, FIRST_DEPTH)
        after = _walked(problem, state, n, rng, (depth, length, self.acceptance))
        if not state.is_warm and after.n_draws > FIRST_BLOCK:
            _require_proper(problem, after, depth)
            if after.n_draws >= self.warm_up:
                _require_fall(problem, after)
        if state.is_warm or after.n_draws > (1.0 - LAST_SHARE) * self.warm_up:
            return after
        half = after.n_draws // 2
        metric = learned_metric(after.draws[0, half:], after.slopes[0, half:], self.metric)
        return after.with_metric(metric)

    def _n_next(self, problem: LogDensity, state: TrajectoryState) -> int:
        """Return how many transitions to make at once."""
        n = state.n_draws
        if state.is_warm:
            left = self.n_draws - n
            steps = state.facts[0, -BLOCK:, FACTS.index("n_steps")]
            most = GRADIENTS * (4 if isinstance(problem.density, CompiledDensity) else 1)
            block = int(np.clip(most / steps.mean(), 1, most)) if n else FIRST_BLOCK
            return min(block, left) if left > 0 else min(block, BLOCK)
        block = min(max(n // 2, FIRST_BLOCK), BLOCK)
        marks = [m for m in (int((1.0 - LAST_SHARE) * self.warm_up), self.warm_up) if m > n]
        return min([block, *(mark - n for mark in marks)])

    def warmed(self, problem: LogDensity, state: TrajectoryState) -> TrajectoryState:
        """Return the state from which draws count: metric and step size stay as they are."""
        chains = [_warmed(chain) for chain in state.chains]
        return chains[0] if len(chains) == 1 else TrajectoryState.joined(chains)

    def joined(self, problem: LogDensity, states: Sequence[TrajectoryState]) -> TrajectoryState:
        """Return the chains side by side."""
        return TrajectoryState.joined(states)

    def posterior(self, problem: LogDensity, state: TrajectoryState) -> Inference:
        """Return the draws by name, with the worst of their errors and R-hats."""
        return Inference(
            problem.parameters.draws(state.draws), account=_account(self.title, state.draws)
        )


@dataclass(frozen=True)
class NoUTurnSampling(_Trajectories):
    """The no-U-turn sampling: trajectories that are doubled until they begin to come back.

    Attributes
    ----------
    n_draws, warm_up
        Draws of each chain that count, and those before, which adapt step size and metric.
    acceptance
        Mean probability of acceptance that steps are adapted to; nearer to one steps are
        shorter, and divergences fewer.
    metric
        "diagonal"; "low_rank", which adds the directions that differ much; or "dense".
    begin
        Where chains begin: at a "random" point of positive density, or at a draw of the
        Gaussian that `Pathfinder` finds from there, with its covariance as the first metric.
    max_depth
        Doublings of a trajectory after which it ends.

    Examples
    --------
    >>> from credo.inference import LogDensity, Parameters, run
    >>> from credo.numerics.special.bijection import real
    >>> def normal(values):
    ...     x = values["level"]
    ...     return float(-0.5 * (x - 1.0) ** 2), {"level": 1.0 - x}
    >>> problem = LogDensity(Parameters({"level": real()}), normal)
    >>> found = run(NoUTurnSampling(n_draws=400), problem, np.random.default_rng(0), chains=2)
    >>> found.posterior
    Draws(level: 2 chains of 400)
    >>> bool(abs(found.posterior.mean("level") - 1.0) < 0.2)
    True
    """

    max_depth: int = 10

    name: ClassVar[str] = "nuts"
    title: ClassVar[str] = "no-U-turn sampling"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return engines for the laws, each with a problem to solve."""
        return tuple(
            Example(cls(n_draws=150, warm_up=120, metric=metric), problem=poisson_rate())
            for metric in METRICS
        )

    @property
    def _limits(self) -> tuple[int, float]:
        return self.max_depth, 0.0


@dataclass(frozen=True)
class HamiltonianMonteCarlo(_Trajectories):
    """Hamiltonian Monte Carlo with trajectories of about one length.

    Attributes
    ----------
    n_draws, warm_up, acceptance, metric, begin
        As of `NoUTurnSampling`.
    length
        Mean length of a trajectory, in standard deviations as the metric has them; each is
        drawn from 0.6 to 1.4 times that, so that none comes back to where it began.
    """

    length: float = 1.5

    name: ClassVar[str] = "hmc"
    title: ClassVar[str] = "Hamiltonian Monte Carlo"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return engines for the laws, each with a problem to solve."""
        return (Example(cls(n_draws=150, warm_up=120), problem=poisson_rate()),)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.length > 0:
            raise ValueError(
                f"length must be positive; found {self.length}. It is in standard deviations, "
                "such as 1.5."
            )

    @property
    def _limits(self) -> tuple[int, float]:
        return 1, self.length


def _account(title: str, draws: Array) -> Account:
    """Return the fewest effective draws of a free number, and the largest R-hat."""
    worth, ratio = worth_and_ratio(draws)
    is_known = not np.isnan(worth).all()
    fewest = float(np.nanmin(worth)) if is_known else float("nan")
    return Account(
        title,
        False,
        fewest**-0.5,
        "largest standard error of a mean, in standard deviations",
        fewest,
        float(np.nanmax(ratio)) if is_known and len(draws) > 1 else None,
    )


def _first_step(
    problem: LogDensity,
    free: Array,
    value: float,
    slope: Array,
    metric: Metric,
    rng: Generator,
) -> float:
    """Return a step size with which a single step is accepted with probability about 0.8."""
    momentum, velocity = (x[0] for x in metric.momenta(rng.standard_normal((1, len(free)))))
    size, factor = 1.0, 0.0
    for _ in range(60):
        push = momentum + 0.5 * size * slope
        point = free + size * metric.times(push)
        with np.errstate(all="ignore"):
            there, slope_there = problem.log_density_and_gradient(point)
            last = push + 0.5 * size * slope_there
            change = there - value + 0.5 * (momentum @ velocity - last @ metric.times(last))
        is_long = not change > np.log(0.8)
        if factor and is_long == (factor > 1.0):
            break
        factor = 0.5 if is_long else 2.0
        size *= factor
    return size


def _require_proper(problem: LogDensity, state: TrajectoryState, max_depth: int) -> None:
    """Refuse a density that is flat along a direction, or along which draws run away."""
    free, half = state.here[0, 0], state.n_draws // 2
    slopes = state.slopes[0, half:]
    is_flat = np.all(slopes == 0.0, axis=0)
    for place in np.flatnonzero(is_flat):
        _require_level(problem, free, int(place))
    if state.step[0, 0] > FLAT or is_flat.any() or np.abs(free).max() > FAR:
        raise improper(problem, [np.argmax(np.where(is_flat, np.inf, np.abs(free)))])
    depth = state.facts[0, half:, FACTS.index("depth")]
    # Some paths along a flat direction never come back.
    if len(slopes) > len(free) and depth.max() >= max_depth:
        _require_end(problem, free, slopes, float(state.log_density[0]))


def _require_fall(problem: LogDensity, state: TrajectoryState) -> None:
    """Refuse a density that rises further and further along the way draws have taken."""
    n = state.n_draws
    rise = state.facts[0, :, FACTS.index("log_density")]
    if rise[3 * n // 4 :].min() <= rise[n // 2 : 3 * n // 4].max(initial=-np.inf):
        return
    here = state.here[0, 0]
    way = here - state.draws[0, n // 2]
    found = _looked_at(problem, here + np.outer([0.0, *OUTWARD], way))
    if np.all(np.isfinite(found)) and np.all(np.diff(found) > 1.0):
        raise improper(problem, [np.argmax(np.abs(way))])


def _looked_at(problem: LogDensity, points: Array) -> Array:
    """Return log densities far from all draws, NaN where a density cannot bear that."""
    try:
        with np.errstate(all="ignore"):
            return problem.log_densities(points)
    except (ArithmeticError, ValueError):
        return np.full(len(points), np.nan)


def _require_level(problem: LogDensity, free: Array, place: int) -> None:
    """Refuse a density that changes along a number by which its slope is zero."""
    steps = np.zeros((5, len(free)))
    steps[1:, place] = [-NEAR_STEP, -1.0, 1.0, NEAR_STEP]
    value, *ends = _looked_at(problem, free + steps)
    if not all(
        np.isclose(x, value, rtol=ROUNDED, atol=ROUNDED) for x in ends if abs(x) < np.inf
    ):
        raise BadDensity(
            "log_density must change smoothly to be followed; found slopes of zero by "
            f"{problem.parameters.label(place)}, along which it changes in steps. Sum whole "
            'numbers out of it, or use inference="metropolis".'
        )


def _require_end(problem: LogDensity, free: Array, slopes: Array, value: float) -> None:
    """Refuse a density that far away is what it is here, along what no slope has a part in."""
    unit = clipped(np.abs(slopes).max(axis=0))
    shares, ways = np.linalg.eigh((slopes / unit).T @ (slopes / unit))
    if shares[0] > SAME * shares[-1]:
        return
    way = ways[:, 0] / unit
    way /= np.abs(way).max()
    ends = _looked_at(problem, free + np.outer([-ENDLESS, ENDLESS], way))
    if np.all(np.abs(ends - value) <= ROUNDED * max(1.0, abs(value))):
        raise improper(problem, np.flatnonzero(np.abs(way) > 0.5)[:3].tolist())


def improper(problem: LogDensity, places: Sequence[Any]) -> ImproperDensity:
    """Return the error that names the numbers along which a density does not end."""
    names = " and ".join(problem.parameters.label(int(place)) for place in places)
    return ImproperDensity(
        "log_density must fall off in every direction, or the posterior is improper; found "
        f"that it does not along {names}{' at once' if len(places) > 1 else ''}. Give it a "
        "proper prior or, if it ends somewhere, its ends, Parameter(support=(0, 1))."
    )


def _warmed(state: TrajectoryState) -> TrajectoryState:
    """Return a chain without its warm-up, with the mean of its step sizes."""
    size = float(np.exp(state.step[0, 1]))
    d = state.draws.shape[2]
    return replace(
        state,
        draws=np.zeros((1, 0, d)),
        facts=np.zeros((1, 0, len(FACTS))),
        slopes=np.zeros((1, 0, d)),
        step=np.array([[size, np.log(size), 0.0, 0.0, 0.0]]),
        is_warm=True,
    )


Answers = Callable[..., bool]


def _walked(
    problem: LogDensity,
    state: TrajectoryState,
    n: int,
    rng: Generator,
    limits: tuple[int, float, float],
) -> TrajectoryState:
    """Return a single chain after ``n`` transitions."""
    from credo.inference.density import _loops_trajectory as loops  # noqa: PLC0415

    max_depth, length, target = limits
    d = state.draws.shape[2]
    metric = state.metric
    record = np.zeros((n, 4 * d + loops.N_FACTS))
    record[:, :d], record[:, d : 2 * d] = metric.momenta(rng.standard_normal((n, d)))
    rows = metric.rows()
    vectors = np.zeros((loops.VECTORS + 3 * max_depth + len(rows), d))
    vectors[loops.CHOSEN : loops.CHOSEN + 2] = state.here[0]
    vectors[loops.CHOSEN + 2] = metric.times(state.here[0, 1])
    vectors[loops.SCALE] = metric.scale
    vectors[loops.VECTORS + 3 * max_depth :] = rows
    numbers = np.zeros(loops.NUMBERS + len(metric.weights))
    numbers[: loops.TARGET] = state.step[0, :4]
    numbers[loops.TARGET], numbers[loops.LENGTH] = target, length
    numbers[loops.CHOSEN_LOG_DENSITY] = state.log_density[0]
    numbers[loops.NUMBERS :] = metric.weights
    counts = np.zeros(loops.COUNTS, dtype=np.int64)
    counts[loops.HAS_STOPPED] = 1
    counts[loops.MAX_DEPTH] = max_depth
    counts[loops.IS_ADAPTING] = not state.is_warm
    counts[loops.N_ADAPTED] = int(state.step[0, 4])
    counts[loops.STREAM] = rng.integers(2**63)
    counts[loops.IS_MATRIX] = rows is not metric.directions
    counts[loops.N_DIRECTIONS] = len(rows)
    if isinstance(problem.density, CompiledDensity):
        counts[loops.ADDRESS], counts[loops.DATA] = problem.density.pointer
    _answer(problem, loops.answer, (vectors, numbers, counts, record))
    if counts[loops.FAULT]:
        value = np.nan if counts[loops.FAULT] == 1 else np.inf
        distance = np.abs(vectors[loops.POSITION])
        if distance.max() > FAR:
            raise improper(problem, [np.argmax(distance)])
        require_density(problem, value, vectors[loops.POSITION])
    slopes = record[None, :, 3 * d : 4 * d] if not state.is_warm else state.slopes[:, :0]
    step = np.append(numbers[: loops.TARGET], counts[loops.N_ADAPTED])
    return replace(
        state,
        draws=np.concatenate([state.draws, record[None, :, 2 * d : 3 * d]], axis=1),
        facts=np.concatenate([state.facts, record[None, :, 4 * d :]], axis=1),
        slopes=np.concatenate([state.slopes, slopes], axis=1),
        here=vectors[loops.CHOSEN : loops.CHOSEN + 2][None].copy(),
        step=step[None],
        log_density=numbers[[loops.CHOSEN_LOG_DENSITY]],
    )


def _answer(problem: LogDensity, answer: Answers, arrays: tuple[Any, ...]) -> None:
    """Answer all that an engine asks."""
    supports = problem.parameters.supports
    table = problem.parameters.table
    if table is None:
        _answer_free(problem, answer, arrays)
        return
    sizes = [int(np.prod(support.shape, dtype=np.intp)) for support in supports.values()]
    exchange = np.zeros((2, sum(sizes)))
    words = _words(*arrays, exchange, table)
    if isinstance(problem.density, CompiledDensity):
        answer(0.0, words.ctypes.data)
        return
    starts = np.cumsum([0, *sizes]).tolist()
    values, slopes = (
        {
            name: row[i : i + size].reshape(support.shape)
            for (name, support), i, size in zip(supports.items(), starts, sizes, strict=False)
        }
        for row in exchange
    )
    for view in values.values():
        view.flags.writeable = False
    density, row, value = problem.density, exchange[1], 0.0
    # A single number is set in less time by its place than through an array of it.
    places: list[tuple[str, Array, Any]] = [
        (name, slopes[name], ...) if support.shape else (name, row, i)
        for (name, support), i in zip(supports.items(), starts, strict=False)
    ]
    address = words.ctypes.data
    ask = density.at(values) if hasattr(density, "at") else partial(density, values)
    is_asked = answer(value, address)
    answer_again = _direct(answer)
    with np.errstate(all="ignore"):
        while is_asked:
            found, gradient = ask()
            value = float(found)
            for name, place, i in places:
                place[i] = gradient[name]
            is_asked = answer_again(value, address)


def _direct(answer: Answers) -> Answers:
    from credo.numerics._loops_compilation import direct  # noqa: PLC0415

    return direct(answer)


def _words(*arrays: Any) -> Any:
    from credo.inference.density._loops_pointer import words_of  # noqa: PLC0415

    return words_of(arrays)


def _answer_free(problem: LogDensity, answer: Answers, arrays: tuple[Any, ...]) -> None:
    """Answer for parameters of supports that compiled loops do not know."""
    d = problem.parameters.n_free
    exchange, table, value = np.zeros((2, d)), support_table([real(d)]), 0.0
    words = _words(*arrays, exchange, table)
    address = words.ctypes.data
    with np.errstate(all="ignore"):
        while answer(value, address):
            value, exchange[1] = problem.log_density_and_gradient(exchange[0].copy())
