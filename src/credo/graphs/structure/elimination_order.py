"""The order in which variables are eliminated, which decides what exact inference costs.

Eliminating a variable multiplies the tables it occurs in into one over its clique, the variable
and its neighbors, and links the neighbors. The sum of the cells of these cliques is what a plan
costs. Finding the best order is NP-hard; here nodes whose elimination adds no link
(simplicial nodes) go first, which is safe, and the rest is the best of many greedy orders
[kjaerulff1990]_, bettered by putting small pieces of its tree into their best order. The search
sees neighbors packed into 64-bit words; numba loads on its first call, never at import.
"""

from __future__ import annotations

import heapq
import importlib
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from heapq import heapify, heappop, heappush
from types import ModuleType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.numerics.array import Array

__all__ = [
    "HEURISTICS",
    "Elimination",
    "EliminationOrder",
    "PackedGraph",
    "best_order",
    "eliminate_simplicial",
    "elimination_cliques",
    "elimination_order",
    "found_order",
]

MAX_PACKED = 12_000
NOISE = (0.0, 0.0, 0.1, 0.3)
TRIAL_WORK, TRIAL_SHARE = 4e3, 0.2
NODE_WORK, CELL_WORK, LEAST_WORK, MOST_WORK = 4e4, 150.0, 9e5, 6e8
DEAR_CELLS = 3e7

HEURISTICS = ("min-fill", "weighted min-fill", "min-weight", "min-degree")
MAX_SUBTREE = 8


def best_order(
    graph: Sequence[set[int]],
    n_states: Sequence[int],
    part: Sequence[int],
    rng: np.random.Generator,
    effort: float,
    rank: Mapping[int, int] | None = None,
) -> tuple[list[int], float, str]:
    """Return an order of ``part``, its cells, and the name of the heuristic that found it.

    With a ``rank`` of every node, the order of these is the one to better. The number of trials
    depends on the cells at stake and on a count of operations, never on a clock, so the same
    seed gives the same order on every machine.

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
    ranked = [] if rank is None else sorted(range(len(part)), key=lambda i: rank[part[i]])
    order, cells, kind = _search(packed, rng, effort, ranked)
    return [names[i] for i in order], cells, HEURISTICS[kind]


def _search(
    packed: PackedGraph, rng: np.random.Generator, effort: float, start: Sequence[int]
) -> tuple[NDArray[np.int64], float, int]:
    """Search once, and once more from other trials if the order is still dear."""
    found = _search_once(packed, rng, effort, start)
    if effort > 0 and found[1] > DEAR_CELLS:
        again = _search_once(packed, rng, effort, start)
        found = min(found, again, key=lambda each: each[1])
    return found


def _search_once(
    packed: PackedGraph, rng: np.random.Generator, effort: float, start: Sequence[int]
) -> tuple[NDArray[np.int64], float, int]:
    """Try heuristics with more and more noise, then better what the best of them found."""
    best, kind, work = _best_trial(packed, rng, effort, start)
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
    least = min(LEAST_WORK, NODE_WORK * packed.n_free, CELL_WORK * cells)
    return min(max(least, min(10.0 * cells, 2e7 + cells)), MOST_WORK)


def _best_trial(
    packed: PackedGraph, rng: np.random.Generator, effort: float, start: Sequence[int]
) -> tuple[Elimination, int, float]:
    """Return the best greedy order, the index of its heuristic, and the work of all trials.

    A start is the order to beat.
    """
    known = packed.ordered(start) if start else None
    first = packed.eliminate(0, _noise(packed, rng, 0), known.cells if known else np.inf)
    best = first if known is None or first.cells < known.cells else known
    best_kind, work, trial = 0, 0.0, 1
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


MAX_DEGREE = 64


def eliminate_simplicial(
    graph: list[set[int]], nodes: Iterable[int], n_states: Sequence[int]
) -> list[int]:
    """Take simplicial nodes out of the graph until none is left, and return them in order.

    Isolated nodes, leaves and whole chordal graphs go this way, nodes of many states first so
    that what is left of a clique is small. Nodes of very many neighbors are left alone, which
    keeps the time in proportion to the size of a sparse graph.

    Parameters
    ----------
    graph
        Neighbors of node 0, 1, ...; changed in place.
    nodes
        The nodes that may be taken.
    n_states
        Number of states of every node.

    Examples
    --------
    >>> graph = [{1}, {0, 2}, {1}]
    >>> eliminate_simplicial(graph, [0, 2], [2, 2, 3])
    [2, 0]
    >>> graph
    [set(), set(), set()]
    """
    free = set(nodes)
    queued = set(free)
    waiting = [(-n_states[v], v) for v in free]
    heapify(waiting)
    order = []
    while waiting:
        _, v = heappop(waiting)
        queued.discard(v)
        if not _is_simplicial(graph, v):
            continue
        order.append(v)
        free.remove(v)
        for u in graph[v]:
            graph[u].remove(v)
            if u in free and u not in queued:
                queued.add(u)
                heappush(waiting, (-n_states[u], u))
        graph[v] = set()
    return order


def _is_simplicial(graph: list[set[int]], v: int) -> bool:
    around = graph[v]
    if len(around) < 2:
        return True
    if len(around) > MAX_DEGREE:
        return False
    return all(len(graph[u]) >= len(around) and around - graph[u] == {u} for u in around)


@dataclass(frozen=True, slots=True)
class EliminationOrder:
    """An order of elimination and what it costs.

    Attributes
    ----------
    order
        Every variable once, the first to be eliminated first.
    width
        Number of variables in the largest clique, less one.
    cells
        Sum over all eliminations of the number of cells of the clique.
    maximal_cells
        The same sum over cliques that no other clique contains, as in a junction tree.
    largest
        Number of cells of the largest clique.
    heuristic
        What found the order of the costliest part; ``"simplicial"`` if no choice was needed.
    """

    order: tuple[int, ...]
    width: int
    cells: float
    maximal_cells: float
    largest: float
    heuristic: str


def elimination_order(
    neighbors: Sequence[Collection[int]],
    n_states: Sequence[int],
    last: Collection[int] = (),
    rng: np.random.Generator | None = None,
    effort: float = 1.0,
    start: Sequence[int] = (),
) -> EliminationOrder:
    """Return an order of elimination with few cells.

    Parameters
    ----------
    neighbors
        Neighbors of variable 0, 1, ...; symmetric.
    n_states
        Number of states of every variable.
    last
        Variables eliminated only after all others: targets, or those maximized over after sums.
    rng
        Source of ties and noise; the same seed gives the same order. Seed 0 by default.
    effort
        Multiplies the time spent on the search, which grows with the cells at stake; 0 tries
        each heuristic once.
    start
        An order of all variables, and perhaps others, that may be a good one already, such as
        that of a larger graph.

    Examples
    --------
    A square needs one link across; the two cliques of three are the best possible.

    >>> found = elimination_order([[1, 3], [0, 2], [1, 3], [0, 2]], [2, 2, 2, 2])
    >>> found.width, found.cells, found.maximal_cells
    (2, 22.0, 16.0)
    """
    graph = [set(around) - {v} for v, around in enumerate(neighbors)]
    _check(graph, n_states, set(last))
    order, heuristic = found_order(graph, n_states, last, rng, effort, start)
    return _measured(neighbors, n_states, order, heuristic)


def found_order(
    neighbors: Sequence[set[int]],
    n_states: Sequence[int],
    last: Collection[int] = (),
    rng: np.random.Generator | None = None,
    effort: float = 1.0,
    start: Sequence[int] = (),
) -> tuple[list[int], str]:
    """Return the order of `elimination_order` alone, and what found it; nothing is checked.

    Examples
    --------
    >>> found_order([{1}, {0, 2}, {1}], [2, 2, 2], last=[0])
    ([2, 1, 0], 'simplicial')
    """
    rng = np.random.default_rng(0) if rng is None else rng
    rank = {v: i for i, v in enumerate(start)} if start else None
    graph = [set(around) for around in neighbors]
    late = set(last)
    order: list[int] = []
    costliest = (0.0, "simplicial")
    for turn in ([v for v in range(len(graph)) if v not in late], sorted(late)):
        order += eliminate_simplicial(graph, turn, n_states)
        for part in _parts(graph, set(turn).difference(order)):
            found, cells, heuristic = best_order(graph, n_states, part, rng, effort, rank)
            order += found
            costliest = max(costliest, (cells, heuristic))
            _remove(graph, part)
    return order, costliest[1]


def elimination_cliques(
    neighbors: Sequence[Collection[int]], order: Sequence[int]
) -> list[set[int]]:
    """Return the clique of each elimination, in the order of elimination.

    Examples
    --------
    >>> elimination_cliques([[1], [0, 2], [1]], [1, 0, 2])
    [{0, 1, 2}, {0, 2}, {2}]
    """
    place = {v: i for i, v in enumerate(order)}
    cliques = [{u for u in neighbors[v] if place[u] > i} | {v} for i, v in enumerate(order)]
    for v, clique in zip(order, cliques, strict=True):
        later = clique - {v}
        if later:
            cliques[min(place[u] for u in later)] |= later
    return cliques


def _measured(
    neighbors: Sequence[Collection[int]],
    n_states: Sequence[int],
    order: list[int],
    heuristic: str,
) -> EliminationOrder:
    cliques = elimination_cliques(neighbors, order)
    cells = [_cells(clique, n_states) for clique in cliques]
    place = {v: i for i, v in enumerate(order)}
    inside: set[int] = set()
    for i, (v, clique) in enumerate(zip(order, cliques, strict=True)):
        successor = min((place[u] for u in clique if u != v), default=i)
        if successor > i and len(cliques[successor]) == len(clique) - 1:
            inside.add(successor)
    return EliminationOrder(
        order=tuple(order),
        width=max((len(clique) for clique in cliques), default=0) - 1,
        cells=math.fsum(cells),
        maximal_cells=math.fsum(size for i, size in enumerate(cells) if i not in inside),
        largest=max(cells, default=0.0),
        heuristic=heuristic,
    )


def _cells(clique: Iterable[int], n_states: Sequence[int]) -> float:
    cells = math.prod(int(n_states[v]) for v in clique)
    return float(cells) if cells.bit_length() < 1024 else math.inf


def _parts(graph: Sequence[set[int]], nodes: set[int]) -> list[list[int]]:
    """Return the connected parts of the graph on ``nodes``, each sorted."""
    parts: list[list[int]] = []
    seen: set[int] = set()
    for start in sorted(nodes):
        if start in seen:
            continue
        part = [start]
        seen.add(start)
        for v in part:
            found = [u for u in graph[v] if u in nodes and u not in seen]
            seen.update(found)
            part += found
        parts.append(sorted(part))
    return parts


def _remove(graph: list[set[int]], part: list[int]) -> None:
    """Eliminate a connected part; whoever is left around it becomes a clique."""
    border: set[int] = set().union(*(graph[v] for v in part)).difference(part)
    for u in border:
        graph[u] |= border
        graph[u].difference_update(part, (u,))


def _check(graph: list[set[int]], n_states: Sequence[int], last: set[int]) -> None:
    n = len(graph)
    if len(n_states) != n or any(k < 1 for k in n_states):
        raise ValueError(
            f"n_states must hold one positive number for each of {n} variables; found "
            f"{len(n_states)} numbers, the smallest {min(n_states, default=0)}. "
            "Pass one count per variable."
        )
    named = set().union(last, *graph)
    if named and not (min(named) >= 0 and max(named) < n):
        raise ValueError(
            f"variables must be numbered 0 to {n - 1}; found {min(named)} to {max(named)}. "
            "Number them in the order of neighbors."
        )
    for v, around in enumerate(graph):
        for u in around:
            if v not in graph[u]:
                raise ValueError(
                    f"neighbors must be symmetric; found {u} beside {v}, not {v} beside {u}. "
                    "Name each link at both ends."
                )


class Elimination(NamedTuple):
    """An order of elimination, the cells of its cliques, and the work of finding it.

    The order is incomplete if the cells reached the limit that was set.
    """

    order: NDArray[np.int64]
    cells: float
    work: float


@dataclass(frozen=True, eq=False)
class PackedGraph:
    """A graph whose first ``n_free`` nodes are to be eliminated, in the form the loops want.

    Attributes
    ----------
    words
        Neighbors as bits, shape (n_nodes, n_words).
    n_free
        Number of nodes to eliminate.
    log_states
        Log to base 2 of the number of states of every node, shape (n_nodes,).
    pair_weight
        Weight of a node in a missing pair of neighbors, one row for each way of counting pairs.
    missing
        Weight of the missing pairs among the neighbors of every node, one row for each way.

    Examples
    --------
    >>> square = PackedGraph.of([[1, 3], [0, 2], [1, 3], [0, 2]], [2, 2, 2, 2], n_free=4)
    >>> square.eliminate(0, np.zeros(4)).cells
    22.0
    """

    words: NDArray[np.uint64]
    n_free: int
    log_states: Array
    pair_weight: Array
    missing: Array

    @classmethod
    def of(
        cls, neighbors: Sequence[Collection[int]], n_states: Sequence[int], n_free: int
    ) -> PackedGraph:
        """Pack the neighbors of nodes 0, 1, ..., each a symmetric collection of nodes."""
        n = len(neighbors)
        n_words = (n + 63) // 64
        rows = [sum([1 << v for v in set(around)]) for around in neighbors]
        packed = b"".join([row.to_bytes(8 * n_words, "little") for row in rows])
        words = np.frombuffer(packed, dtype="<u8").astype(np.uint64).reshape(n, n_words)
        states = np.asarray(n_states, dtype=np.float64)
        weight = np.stack([np.ones(n), states])
        missing = np.stack([_loops().missing_pairs(words, each) for each in weight])
        return cls(words, n_free, np.log2(states), weight, missing)

    def ordered(self, order: Sequence[int]) -> Elimination:
        """Return an order of all nodes to eliminate with its cells."""
        given = np.array(order, dtype=np.int64)
        _, _, cells = _loops().elimination_tree(self.words, self.log_states, given)
        return Elimination(given, float(cells.sum()), 0.0)

    def improve(self, order: NDArray[np.int64], work: float, seed: int) -> Elimination:
        """Return the order after its small subtrees were put into their best orders.

        Parameters
        ----------
        order
            Every node to eliminate once, shape (n_free,).
        work
            How much work to spend.
        seed
            Chooses the subtrees.
        """
        loops = _loops()
        later, parent, cells = loops.elimination_tree(self.words, self.log_states, order)
        done = loops.reorder_subtrees(
            self.words,
            self.log_states,
            later,
            parent,
            cells,
            MAX_SUBTREE,
            work,
            np.uint64(seed),
        )
        return Elimination(_children_first(parent), float(cells.sum()), done)

    def eliminate(self, kind: int, noise: Array, limit: float = np.inf) -> Elimination:
        """Return the order that takes the node of lowest cost plus noise at every step.

        Parameters
        ----------
        kind
            Index into ``HEURISTICS``; costs are logs.
        noise
            Added to the cost of each node, shape (n_nodes,).
        limit
            Cells at which to give up.
        """
        way = min(kind, 1)
        order, cells, work = _loops().eliminate_greedily(
            self.words.copy(),
            self.n_free,
            self.log_states,
            self.pair_weight[way],
            self.missing[way].copy(),
            kind,
            noise,
            limit,
        )
        return Elimination(order, cells, work)


def _children_first(parent: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the nodes of a forest, each subtree in one stretch that ends in its root."""
    children: list[list[int]] = [[] for _ in parent]
    stack: list[int] = []
    for v, p in enumerate(parent.tolist()):
        (children[p] if p >= 0 else stack).append(v)
    order = []
    while stack:
        v = stack.pop()
        order.append(v)
        stack += children[v]
    return np.array(order[::-1], dtype=np.int64)


@cache
def _loops() -> ModuleType:
    return importlib.import_module("credo.graphs.structure._loops_elimination")
