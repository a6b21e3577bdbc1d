"""Orders of elimination of a graph, greedy and bettered; neighbors packed into 64-bit words.

numba loads on the first call, never at import.
"""

from __future__ import annotations

import importlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.numerics.array import Array

__all__ = ["HEURISTICS", "Elimination", "PackedGraph"]

HEURISTICS = ("min-fill", "weighted min-fill", "min-weight", "min-degree")
MAX_SUBTREE = 8


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
        row = np.repeat(np.arange(n), [len(around) for around in neighbors])
        column = np.array([v for around in neighbors for v in around], dtype=np.int64)
        words = np.zeros((n, (n + 63) // 64), dtype=np.uint64)
        bits = np.left_shift(np.uint64(1), (column & 63).astype(np.uint64))
        np.bitwise_or.at(words, (row, column >> 6), bits)
        states = np.asarray(n_states, dtype=np.float64)
        weight = np.stack([np.ones(n), states])
        missing = np.stack([_loops().missing_pairs(words, each) for each in weight])
        return cls(words, n_free, np.log2(states), weight, missing)

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
    return importlib.import_module("credo.numerics.graph._loops_elimination")
