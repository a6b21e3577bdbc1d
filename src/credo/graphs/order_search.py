"""The best of many greedy orders of elimination of one connected part of a graph."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence

import numpy as np

from credo.numerics.array import Array
from credo.numerics.elimination import HEURISTICS, PackedGraph

__all__ = ["best_order"]

MAX_PACKED = 12_000
NOISE = (0.0, 0.0, 0.1, 0.3)
LEAST_WORK, MOST_WORK, TRIAL_WORK = 3e5, 2e9, 4e3


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
    order, cells, kind = _search(packed, rng, effort)
    return [names[i] for i in order], cells, HEURISTICS[kind]


def _search(
    packed: PackedGraph, rng: np.random.Generator, effort: float
) -> tuple[list[int], float, int]:
    """Run each heuristic with more and more noise until the work is worth no more."""
    order, cells, kind = [0], math.inf, 0
    work, trial = 0.0, 0
    n_kinds = len(HEURISTICS)
    while trial < n_kinds or work < effort * min(max(LEAST_WORK, cells), MOST_WORK):
        this = trial % n_kinds
        noise = _noise(packed, rng, trial // n_kinds)
        found = packed.eliminate(this, noise, cells)
        if found.cells < cells:
            order, cells, kind = found.order.tolist(), found.cells, this
        work += found.work + TRIAL_WORK
        trial += 1
    return order, cells, kind


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
