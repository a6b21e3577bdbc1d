"""The best of many greedy orders of elimination of one connected part of a graph."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.numerics.array import Array
from credo.numerics.elimination import HEURISTICS, PackedGraph

__all__ = ["best_order"]

MAX_PACKED = 12_000
NOISE = (0.0, 0.0, 0.1, 0.3)
N_BETTERED = 3
# One unit of work takes about as long as two or three cells of a plan take to run once.
WORK_PER_CELL, TRIAL_WORK = 3.0, 4e3
LEAST_WORK, MOST_WORK = 9e5, 6e8


class _Candidate(NamedTuple):
    cells: float
    kind: int
    order: NDArray[np.int64]


def best_order(
    graph: Sequence[set[int]],
    n_states: Sequence[int],
    part: Sequence[int],
    rng: np.random.Generator,
    effort: float,
) -> tuple[list[int], float, str]:
    """Return an order of ``part``, its cells, and the name of the heuristic that found it.

    The number of trials depends on the cells at stake and on a count of operations, never on a
    clock, so the same seed gives the same order on every machine.

    Examples
    --------
    >>> square = [{1, 3}, {0, 2}, {1, 3}, {0, 2}]
    >>> rng = np.random.default_rng(0)
    >>> order, cells, _ = best_order(square, [2, 5, 2, 5], [0, 1, 2, 3], rng, effort=0.0)
    >>> sorted(order[:2]), round(cells)
    ([1, 3], 46)
    """
    border: set[int] = set().union(*(graph[v] for v in part)).difference(part)
    if len(part) + len(border) > MAX_PACKED:
        return _by_lowest_degree(graph, n_states, part)
    names = [*part, *sorted(border)]
    place = {v: i for i, v in enumerate(names)}
    neighbors = [[place[u] for u in graph[v] if u in place] for v in names]
    packed = PackedGraph.of(neighbors, [n_states[v] for v in names], len(part))
    found = _search(packed, rng, effort)
    return [names[i] for i in found.order], found.cells, HEURISTICS[found.kind]


def _search(packed: PackedGraph, rng: np.random.Generator, effort: float) -> _Candidate:
    """Try heuristics with more and more noise, better the best few, then the best of them."""
    found = _trials(packed, rng, effort)
    stage = effort * _worth(found[0].cells) / 3
    if stage > 0:
        found = [_bettered(packed, each, stage / len(found), rng) for each in found]
        found.sort(key=lambda each: each.cells)
        found[0] = _bettered(packed, found[0], stage, rng)
    return found[0]


def _worth(cells: float) -> float:
    """Return how much work may be spent to save some of these cells."""
    return min(max(LEAST_WORK, WORK_PER_CELL * cells), MOST_WORK)


def _trials(packed: PackedGraph, rng: np.random.Generator, effort: float) -> list[_Candidate]:
    """Return the best few greedy orders, the best first."""
    best: list[_Candidate] = []
    work, trial = 0.0, 0
    n_kinds = len(HEURISTICS)
    while trial < n_kinds or work < effort * _worth(best[0].cells) / 3:
        kind = trial % n_kinds
        limit = best[-1].cells if len(best) == N_BETTERED else math.inf
        found = packed.eliminate(kind, _noise(packed, rng, trial // n_kinds), limit)
        if found.cells < limit and found.cells not in [each.cells for each in best]:
            candidate = _Candidate(found.cells, kind, found.order)
            best = sorted([*best, candidate], key=lambda each: each.cells)[:N_BETTERED]
        work += found.work + TRIAL_WORK
        trial += 1
    return best


def _bettered(
    packed: PackedGraph, candidate: _Candidate, work: float, rng: np.random.Generator
) -> _Candidate:
    found = packed.improve(candidate.order, work, int(rng.integers(1, 2**63)))
    return _Candidate(found.cells, candidate.kind, found.order)


def _noise(packed: PackedGraph, rng: np.random.Generator, turn: int) -> Array:
    """Return what breaks ties: many states first, then at random, then true noise."""
    if turn == 0:
        return -1e-9 * packed.log_states
    noise = 1e-9 * rng.random(packed.log_states.size)
    scale = NOISE[turn % len(NOISE)]
    return noise + scale * rng.gumbel(size=noise.size) if scale else noise


def _by_lowest_degree(
    graph: Sequence[set[int]], n_states: Sequence[int], part: Sequence[int]
) -> tuple[list[int], float, str]:
    """Return the order of lowest degree first, for graphs too large for anything dearer."""
    around = {v: set(graph[v]) for v in part}
    heap = [(len(around[v]), v) for v in part]
    heapq.heapify(heap)
    order: list[int] = []
    log_cells: list[float] = []
    while heap:
        degree, v = heapq.heappop(heap)
        if v not in around or degree != len(around[v]):
            continue
        clique = around.pop(v)
        order.append(v)
        log_cells.append(sum(math.log(n_states[u]) for u in (v, *clique)))
        for u in clique.intersection(around):
            around[u] |= clique
            around[u] -= {u, v}
            heapq.heappush(heap, (len(around[u]), u))
    cells = math.fsum(math.exp(min(each, 690.0)) for each in log_cells)
    return order, cells, "min-degree"
