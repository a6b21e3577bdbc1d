"""Loops that eliminate the nodes of a graph one by one; neighbors are bits of 64-bit words.

Row ``i`` of ``adjacency`` holds the neighbors of node ``i``, 64 to a word. Only the first
``n_free`` nodes are eliminated; the others stay.
"""

import math

import numpy as np
from numpy.typing import NDArray

from credo.numerics._loops_compilation import compiled, compiled_part
from credo.numerics.array import Array

__all__ = ["bit", "eliminate_greedily", "first_bit", "missing_pairs"]

Words = NDArray[np.uint64]
ONE = np.uint64(1)
LOW = np.uint64(63)
M1 = np.uint64(0x5555555555555555)
M2 = np.uint64(0x3333333333333333)
M4 = np.uint64(0x0F0F0F0F0F0F0F0F)
H1 = np.uint64(0x0101010101010101)
TWO = np.uint64(2)
FOUR = np.uint64(4)
TOP = np.uint64(56)


@compiled_part()
def _n_bits(word: np.uint64) -> np.uint64:
    word = word - ((word >> ONE) & M1)
    word = (word & M2) + ((word >> TWO) & M2)
    word = (word + (word >> FOUR)) & M4
    return (word * H1) >> TOP


@compiled()
def first_bit(word: np.uint64) -> np.int64:
    """Return the place of the lowest bit set in a word that is not zero."""
    return np.int64(_n_bits((word & (~word + ONE)) - ONE))


@compiled()
def bit(node: int | np.int64) -> np.uint64:
    """Return the bit of a node within its word."""
    return ONE << (np.uint64(node) & LOW)


@compiled_part()
def _weight_of_difference(a: Words, b: Words, weight: Array) -> float:
    """Return the weight of the nodes in ``a`` and not in ``b``."""
    total = 0.0
    for k in range(a.shape[0]):
        word = a[k] & ~b[k]
        while word:
            total += weight[64 * k + first_bit(word)]
            word &= word - ONE
    return total


@compiled()
def missing_pairs(adjacency: Words, weight: Array) -> Array:
    """Return, for every node, the sum of weight products over unlinked pairs of neighbors."""
    n, n_words = adjacency.shape
    missing = np.zeros(n)
    for v in range(n):
        for k in range(n_words):
            word = adjacency[v, k]
            while word:
                u = 64 * k + first_bit(word)
                word &= word - ONE
                beyond = _weight_of_difference(adjacency[v], adjacency[u], weight) - weight[u]
                missing[v] += 0.5 * weight[u] * beyond
    return missing


@compiled_part()
def _join(adjacency: Words, missing: Array, weight: Array, u: int, w: int) -> None:
    """Link ``u`` and ``w`` and bring the missing pairs of all who notice up to date."""
    pair = weight[u] * weight[w]
    for k in range(adjacency.shape[1]):
        word = adjacency[u, k] & adjacency[w, k]
        while word:
            missing[64 * k + first_bit(word)] -= pair
            word &= word - ONE
    missing[u] += weight[w] * _weight_of_difference(adjacency[u], adjacency[w], weight)
    missing[w] += weight[u] * _weight_of_difference(adjacency[w], adjacency[u], weight)
    adjacency[u, w >> 6] |= bit(w)
    adjacency[w, u >> 6] |= bit(u)


@compiled()
def eliminate_greedily(
    adjacency: Words,
    n_free: int,
    log_states: Array,
    weight: Array,
    missing: Array,
    kind: int,
    noise: Array,
    limit: float,
) -> tuple[NDArray[np.int64], float, float]:
    """Return an order that always takes the cheapest node, its cells, and the work it took.

    The log of the cost is ``noise`` plus that of the missing pairs (kinds 0 and 1), of the
    cells of the clique (kind 2) or of the number of neighbors (kind 3).

    ``adjacency`` and ``missing`` are consumed. The order is cut short as soon as its cells
    reach ``limit``; the cells are then at least that. Work counts words looked at.
    """
    n, n_words = adjacency.shape
    order = np.empty(n_free, np.int64)
    left = np.arange(n_free)
    degree = np.zeros(n, np.int64)
    log_cells = log_states.copy()
    factor = np.empty(n)
    neighbors = np.empty(n, np.int64)
    for v in range(n):
        factor[v] = math.pow(2.0, noise[v])
        for k in range(n_words):
            word = adjacency[v, k]
            while word:
                log_cells[v] += log_states[64 * k + first_bit(word)]
                degree[v] += 1
                word &= word - ONE
    total, work = 0.0, float(n * n_words)
    for step in range(n_free):
        n_left = n_free - step
        best, lowest = 0, np.inf
        for i in range(n_left):
            u = left[i]
            if kind < 2:
                key = factor[u] * (1.0 + max(missing[u], 0.0))
            else:
                key = noise[u] + log_cells[u] if kind == 2 else factor[u] * (1.0 + degree[u])
            if key < lowest:
                best, lowest = i, key
        v = left[best]
        left[best] = left[n_left - 1]
        order[step] = v
        total += math.pow(2.0, min(log_cells[v], 1000.0))
        if total >= limit:
            break
        work += n_left
        n_neighbors = 0
        for k in range(n_words):
            word = adjacency[v, k]
            while word:
                neighbors[n_neighbors] = 64 * k + first_bit(word)
                n_neighbors += 1
                word &= word - ONE
        for i in range(n_neighbors):
            u = neighbors[i]
            adjacency[u, v >> 6] &= ~bit(v)
            degree[u] -= 1
            log_cells[u] -= log_states[v]
            if kind < 2:
                missing[u] -= weight[v] * _weight_of_difference(
                    adjacency[u], adjacency[v], weight
                )
        work += float(n_neighbors * (n_words + n_neighbors))
        for i in range(n_neighbors):
            u = neighbors[i]
            for j in range(i + 1, n_neighbors):
                w = neighbors[j]
                if adjacency[u, w >> 6] & bit(w):
                    continue
                if kind < 2:
                    _join(adjacency, missing, weight, u, w)
                    work += float(4 * n_words)
                else:
                    adjacency[u, w >> 6] |= bit(w)
                    adjacency[w, u >> 6] |= bit(u)
                degree[u] += 1
                degree[w] += 1
                log_cells[u] += log_states[w]
                log_cells[w] += log_states[u]
    return order, total, work
