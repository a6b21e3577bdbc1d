"""The log normalizer of many spins by annealed importance sampling [neal2001]_.

Chains start as draws of independent spins, the best of mean field, and their couplings grow in
small steps with a sweep of Gibbs sampling at each. The mean weight of the paths has the
normalizer as expectation, whatever the number of steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from credo.inference.engine.engine import run
from credo.inference.spins.cut import spin_cut
from credo.inference.spins.mean_field import best_means, mean_field_bound
from credo.inference.spins.modes import IsingConditionalModes
from credo.inference.spins.problem import IsingProblem
from credo.inference.spins.sweep import SpinGraph
from credo.numerics.array import Array

__all__ = ["IsingAnnealing", "LogNormalizer"]

# Means of spins that hardly ever turn would make their starting field infinite.
_LARGEST_MEAN = 1.0 - 1e-12
_FEWEST_LEVELS = 128


@dataclass(frozen=True)
class LogNormalizer:
    """An estimate of the log of a normalizer, and what is known of it.

    Attributes
    ----------
    value
        The estimate, never below ``bound``.
    standard_error
        Monte Carlo error of the estimate, with what twice as many levels still changed;
        regions that no chain comes to are not in it.
    bound
        The largest known lower bound: of mean field, or the density of one state.
    """

    value: float
    standard_error: float
    bound: float


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
        Standard error at which it stops.
    max_updates
        Draws of single spins after which it stops, after the second round at the earliest; a
        hundred million take some seconds.
    seed
        Chooses the random numbers.

    Examples
    --------
    >>> pair = IsingProblem(SpinGraph(np.array([[0, 1]]), np.array([0.5]), np.zeros(2)))
    >>> found = IsingAnnealing().log_normalizer(pair)
    >>> abs(found.value - float(np.log(4 * np.cosh(0.5)))) < 5 * found.standard_error
    True
    """

    n_chains: int = 16
    error: float = 0.05
    max_updates: float = 2e8
    seed: int = 0

    def log_normalizer(self, problem: IsingProblem) -> LogNormalizer:
        """Return the log of the sum of the density over all values of the spins."""
        parts = [self._of_part(graph) for graph in _parts(problem.graph)]
        return LogNormalizer(
            problem.log_constant + sum(part.value for part in parts),
            float(np.linalg.norm([part.standard_error for part in parts])),
            problem.log_constant + sum(part.bound for part in parts),
        )

    def _of_part(self, graph: SpinGraph) -> LogNormalizer:
        if not len(graph.edges):
            value = float(np.logaddexp(graph.field, -graph.field).sum())
            return LogNormalizer(value, 0.0, value)
        problem = IsingProblem(graph)
        means = [best_means(problem), np.tanh(graph.field)]
        bound = max(mean_field_bound(problem, means[0]), _best_state(problem))
        value, error = self._estimate(graph, [_field_of(mean) for mean in means])
        return LogNormalizer(max(value, bound), error, bound)

    def _estimate(self, graph: SpinGraph, starts: list[Array]) -> tuple[float, float]:
        """Return estimate and error from the better of two starts.

        Too few levels leave estimates too low: that is how the start is chosen, and how much
        twice as many still change is part of the error.
        """
        seeds = np.random.default_rng(self.seed).integers(1 << 62, size=self.n_chains).tolist()
        n_levels, left = _FEWEST_LEVELS, self.max_updates
        before: tuple[float, float] | None = None
        while True:
            levels = np.linspace(0.0, 1.0, n_levels)
            tried = [(graph.annealed(start, levels, seeds), start) for start in starts]
            # The plain mean is too low where chains lag behind; the better start is higher.
            log_weight, start = max(tried, key=lambda pair: _log_mean(*pair) - np.std(pair[0]))
            value, noise = _estimate_of(log_weight, start)
            left -= len(starts) * self.n_chains * n_levels * len(start)
            n_levels *= 2
            if before is not None:
                excess = (value - before[0]) ** 2 - noise**2 - before[1] ** 2
                error = float(np.sqrt(noise**2 + max(excess, 0.0)))
                if error <= self.error or self.n_chains * n_levels * len(start) > left:
                    return value, error
            starts, before = [start], (value, noise)


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
