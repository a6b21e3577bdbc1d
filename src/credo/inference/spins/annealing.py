"""The log normalizer of many spins by annealed importance sampling [neal2001]_.

Chains start as draws of independent spins, the best of mean field, and their couplings grow in
small steps with a sweep of Gibbs sampling at each. The mean weight of the paths has the
normalizer as expectation, whatever the number of steps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from scipy import special
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from credo.inference.engine.engine import Account, Inference, StandardError, Step, Stop, run
from credo.inference.spins.cut import spin_cut
from credo.inference.spins.problem import IsingProblem, small_problem
from credo.inference.spins.sweep import SpinGraph
from credo.inference.spins.sweep_engine import IsingConditionalModes, best_means
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.form import ANYTHING

__all__ = ["AnnealingState", "AnnealingStep", "IsingAnnealing", "LowerBound"]

# Means of spins that hardly ever turn would make their starting field infinite.
_LARGEST_MEAN = 1.0 - 1e-12
_FEWEST_LEVELS = 128


@dataclass(frozen=True)
class LowerBound:
    """The largest known lower bound of a log normalizer.

    Attributes
    ----------
    value
        That of mean field, or the log density of one state.
    """

    value: float


@dataclass(frozen=True, eq=False)
class AnnealedPart:
    """What is known of one part of the spins after some rounds.

    Attributes
    ----------
    starts
        Fields of the independent spins that chains start from, those still to be tried.
    seeds
        One for each chain. Every round uses them, so that more levels are what differs.
    bound
        Largest known lower bound.
    n_levels
        Levels of the next round; 0 if the part has no edges and is known.
    value, noise
        Estimate of the last round, and its Monte Carlo error.
    error
        The same with what twice as many levels still changed; infinite before that is known.
    n_updates
        Draws of single spins so far.
    """

    starts: Annotated[tuple[Array, ...], ANYTHING]
    seeds: tuple[int, ...]
    bound: float
    n_levels: int
    value: float
    noise: float = float("inf")
    error: float = float("inf")
    n_updates: float = 0.0

    @property
    def log_normalizer(self) -> float:
        """The estimate, never below the bound."""
        return max(self.value, self.bound)

    @property
    def n_updates_after(self) -> float:
        """Draws of single spins after one more round."""
        each = [len(self.seeds) * self.n_levels * len(start) for start in self.starts]
        return self.n_updates + sum(each)


@dataclass(frozen=True, eq=False)
class AnnealingState:
    """The parts that no edge joins."""

    parts: tuple[AnnealedPart, ...]

    @property
    def error(self) -> float:
        """Largest error of a part."""
        return max((part.error for part in self.parts), default=0.0)


@dataclass(frozen=True)
class AnnealingStep(Step):
    """A round of paths.

    Attributes
    ----------
    standard_error
        Largest standard error of the log normalizer of a part.
    n_draws
        Draws of single spins in a part, with those that its next round would take.
    """

    standard_error: float
    n_draws: float


@dataclass(frozen=True)
class IsingAnnealing:
    """Anneal chains, with twice as many levels each time until their weights agree.

    Where no field acts the density is the same with all spins turned round; the chains then
    start from a symmetric mixture, so that they need not find both halves of the sum. Parts
    that no edge joins are annealed apart. Near a critical coupling many spins turn together
    and chains lag behind: a large grid there needs more updates, without which log Z is
    biased low.

    Attributes
    ----------
    n_chains
        Independent paths.
    error
        Standard error of a part at which it stops. Regions that no chain comes to are not in
        that error.
    max_updates
        Draws of single spins of a part after which it stops, after the second round at the
        earliest; a hundred million take some seconds.

    Examples
    --------
    >>> pair = IsingProblem(SpinGraph(np.array([[0, 1]]), np.array([0.5]), np.zeros(2)))
    >>> found = run(IsingAnnealing(), pair, np.random.default_rng(0))
    >>> abs(found.log_evidence - float(np.log(4 * np.cosh(0.5)))) < 5 * found.error
    True
    """

    n_chains: int = 16
    error: float = 0.05
    max_updates: float = 2e8

    name = "annealing"
    title = "annealed importance sampling"
    answers = ("total",)
    problem = IsingProblem
    is_random: ClassVar[bool] = True

    @property
    def stop(self) -> Stop:
        """Weights agree, or another round would take too many updates."""
        return StandardError(self.error, int(self.max_updates))

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return engines for the laws; the name of the method stands for the first."""
        engines = (cls(), cls(error=0.2))
        return tuple(Example(engine, problem=small_problem()) for engine in engines)

    def init(self, problem: IsingProblem, rng: Generator) -> AnnealingState:
        """Return the starts of every part."""
        parts = (_unknown_part(graph, self.n_chains, rng) for graph in _parts(problem.graph))
        return AnnealingState(tuple(parts))

    def step(
        self, problem: IsingProblem, state: AnnealingState, rng: Generator
    ) -> tuple[AnnealingState, AnnealingStep]:
        """Take a round in every part that is not known well enough."""
        pairs = zip(_parts(problem.graph), state.parts, strict=True)
        parts = tuple(
            _after_round(graph, part) if part.error > self.error else part
            for graph, part in pairs
        )
        after = AnnealingState(parts)
        is_first = any(np.isinf(part.error) for part in parts)
        rounds = (part.n_updates_after for part in parts)
        most = 0.0 if is_first else max(rounds, default=0.0)
        return after, AnnealingStep(_log_normalizer(problem, after), after.error, most)

    def posterior(self, problem: IsingProblem, state: AnnealingState) -> Inference:
        """Return the largest known lower bound; the log evidence is the estimate."""
        bound = problem.log_constant + sum(part.bound for part in state.parts)
        error = float(np.linalg.norm([part.error for part in state.parts]))
        account = Account(self.title, False, error, "standard error")
        value = _log_normalizer(problem, state)
        return Inference(LowerBound(bound), value, "importance", account=account)


def _after_round(graph: SpinGraph, part: AnnealedPart) -> AnnealedPart:
    """Return the part after paths from the better of its starts.

    Too few levels leave estimates too low: that is how the start is chosen, and how much
    twice as many still change is part of the error.
    """
    levels = np.linspace(0.0, 1.0, part.n_levels)
    tried = [(graph.annealed(start, levels, part.seeds), start) for start in part.starts]
    # The plain mean is too low where chains lag behind; the better start is higher.
    log_weight, start = max(tried, key=lambda pair: _log_mean(*pair) - np.std(pair[0]))
    value, noise = _estimate_of(log_weight, start)
    error = float("inf")
    if np.isfinite(part.noise):
        excess = (value - part.value) ** 2 - noise**2 - part.noise**2
        error = float(np.sqrt(noise**2 + max(excess, 0.0)))
    return replace(
        part,
        starts=(start,),
        n_levels=2 * part.n_levels,
        value=value,
        noise=noise,
        error=error,
        n_updates=part.n_updates_after,
    )


def _unknown_part(graph: SpinGraph, n_chains: int, rng: Generator) -> AnnealedPart:
    if not len(graph.edges):
        value = float(np.logaddexp(graph.field, -graph.field).sum())
        return AnnealedPart((), (), value, 0, value, 0.0, 0.0)
    problem = IsingProblem(graph)
    means = [best_means(problem), np.tanh(graph.field)]
    bound = max(problem.bound(means[0]), _best_state(problem))
    starts = tuple(_field_of(mean) for mean in means)
    seeds = tuple(rng.integers(1 << 62, size=n_chains).tolist())
    return AnnealedPart(starts, seeds, bound, _FEWEST_LEVELS, bound)


def _log_normalizer(problem: IsingProblem, state: AnnealingState) -> float:
    return problem.log_constant + sum(part.log_normalizer for part in state.parts)


def _parts(graph: SpinGraph) -> list[SpinGraph]:
    """Return the parts that edges join, and all spins without edges as one more."""
    n = len(graph.field)
    tail, head = graph.edges.T
    joined = coo_matrix((np.ones(len(tail)), (tail, head)), shape=(n, n))
    _, part = connected_components(joined, directed=False)
    label = np.where(np.bincount(part)[part] > 1, part, -1)
    parts = []
    for own in np.unique(label):
        nodes = np.flatnonzero(label == own)
        place = np.full(n, -1)
        place[nodes] = np.arange(len(nodes))
        inside = label[tail] == own
        edges = place[graph.edges[inside]].reshape(-1, 2)
        parts.append(SpinGraph(edges, graph.coupling[inside], graph.field[nodes]))
    return parts


def _field_of(mean: Array) -> Array:
    """Return the fields under which independent spins have these means."""
    return np.arctanh(np.clip(mean, -_LARGEST_MEAN, _LARGEST_MEAN))


def _best_state(problem: IsingProblem) -> float:
    """Return the log density of the best state if a cut finds it, and of a good one if not.

    Without fields its opposite counts as well.
    """
    if np.all(problem.graph.coupling >= 0):
        found = spin_cut(problem)
    else:
        found = run(IsingConditionalModes(), problem).posterior
    is_symmetric = not np.any(problem.graph.field)
    return found.log_density + (float(np.log(2.0)) if is_symmetric else 0.0)


def _log_mean(log_weight: Array, start: Array) -> float:
    """Return the log of the mean weight, with the normalizer of the start."""
    base = float(np.logaddexp(start, -start).sum())
    return base + float(special.logsumexp(log_weight) - np.log(len(log_weight)))


def _estimate_of(log_weight: Array, start: Array) -> tuple[float, float]:
    """Return the log normalizer that paths from a start give, and its standard error.

    Log weights are sums of many steps, nearly normal. If they spread wide the mean of a few
    weights misses the rare large ones; the mean of a log-normal does not.
    """
    n, variance = len(log_weight), float(np.var(log_weight, ddof=1))
    if variance <= 1.0:
        return _log_mean(log_weight, start), float(np.sqrt(np.expm1(variance) / n))
    base = float(np.logaddexp(start, -start).sum())
    error = np.sqrt(variance / n + variance**2 / (2.0 * (n - 1)))
    return base + float(np.mean(log_weight) + variance / 2.0), float(error)
