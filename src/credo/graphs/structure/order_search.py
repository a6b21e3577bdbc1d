"""The best of many greedy orders of one connected part of a graph, then bettered."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from credo.numerics.array import Array
from credo.numerics.graph.elimination import HEURISTICS, Elimination, PackedGraph

__all__ = ["best_order"]

MAX_PACKED = 12_000
NOISE = (0.0, 0.0, 0.1, 0.3)
TRIAL_WORK, TRIAL_SHARE = 4e3, 0.2
NODE_WORK, LEAST_WORK, MOST_WORK = 4e4, 9e5, 6e8
DEAR_CELLS = 3e7


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
) -> tuple[NDArray[np.int64], float, int]:
    """Search once, and once more from other trials if the order is still dear."""
    found = _search_once(packed, rng, effort)
    if effort > 0 and found[1] > DEAR_CELLS:
        again = _search_once(packed, rng, effort)
        found = min(found, again, key=lambda each: each[1])
    return found


def _search_once(
    packed: PackedGraph, rng: np.random.Generator, effort: float
) -> tuple[NDArray[np.int64], float, int]:
    """Try heuristics with more and more noise, then better what the best of them found."""
    best, kind, work = _best_trial(packed, rng, effort)
    left = effort * _worth(packed, best.cells) - work
    if left > 0:
        better = packed.improve(best.order, left, int(rng.integers(1, 2**63)))
        best = min(best, better, key=lambda each: each.cells)
    return best.order, best.cells, kind


def _worth(packed: PackedGraph, cells: float) -> float:
    """Return how much work may be spent to save some of these cells.

    One unit takes about as long as one cell of a plan. A small plan is run again and again, so
    that a search many times as long as one run pays; a large one may be run only once.
    """
    least = min(LEAST_WORK, NODE_WORK * packed.n_free)
    return min(max(least, min(10.0 * cells, 2e7 + cells)), MOST_WORK)


def _best_trial(
    packed: PackedGraph, rng: np.random.Generator, effort: float
) -> tuple[Elimination, int, float]:
    """Return the best greedy order, the index of its heuristic, and the work of all trials."""
    best, best_kind, work = packed.eliminate(0, _noise(packed, rng, 0)), 0, 0.0
    trial = 1
    while trial < len(HEURISTICS) or work < TRIAL_SHARE * effort * _worth(packed, best.cells):
        turn, kind = divmod(trial, len(HEURISTICS))
        found = packed.eliminate(kind, _noise(packed, rng, turn), best.cells)
        if found.cells < best.cells:
            best, best_kind = found, kind
        work += found.work + TRIAL_WORK
        trial += 1
    return best, best_kind, work


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
        for u in filter(around.__contains__, clique):
            around[u] |= clique
            around[u] -= {u, v}
            heapq.heappush(heap, (len(around[u]), u))
    cells = math.fsum(math.exp(min(each, 690.0)) for each in log_cells)
    return order, cells, "min-degree"
