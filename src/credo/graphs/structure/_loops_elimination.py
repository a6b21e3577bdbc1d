"""Loops that eliminate the nodes of a graph one by one, and better the order by its tree.

Neighbors are bits of 64-bit words: row ``i`` of ``adjacency`` holds those of node ``i``, 64 to
a word. Only the first ``n_free`` nodes are eliminated; the others stay.

In the elimination tree the parent of a node is the first of its neighbors, at the time it is
eliminated, to be eliminated after it. A connected piece of this tree can be eliminated in any
order of its own without a change to the rest: what lies below is eliminated before, what lies
above sees the same links after. So each piece is put into its best order by dynamic programming
over its subsets.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.numerics._loops_compilation import compiled, compiled_part
from credo.numerics.array import Array

__all__ = ["eliminate_greedily", "elimination_tree", "missing_pairs", "reorder_subtrees"]

Words = NDArray[np.uint64]
Integers = NDArray[np.int64]
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
) -> tuple[Integers, float, float]:
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


class Tree(NamedTuple):
    """The neighbors of each node when it is eliminated, its parent (-1: none), its cells."""

    later: Words
    parent: Integers
    cells: Array


class Piece(NamedTuple):
    """Room for a connected piece of the tree; nodes are renamed 0, 1, ..., the piece first.

    ``rows[s, i]`` are the neighbors of node i after the subset s of the piece is eliminated.
    """

    node: Integers
    name: Integers
    log_states: Array
    rows: Words
    cost: Array
    choice: Integers
    order: Integers


@compiled()
def elimination_tree(
    adjacency: Words, log_states: Array, order: Integers
) -> tuple[Words, Integers, Array]:
    """Return the neighbors of each node when it is eliminated, its parent, and its cells."""
    n_free, n_words = order.shape[0], adjacency.shape[1]
    place = np.full(adjacency.shape[0], n_free)
    for i in range(n_free):
        place[order[i]] = i
    later = np.zeros((n_free, n_words), np.uint64)
    for v in range(n_free):
        for k in range(n_words):
            word = adjacency[v, k]
            while word:
                u = 64 * k + first_bit(word)
                word &= word - ONE
                if place[u] > place[v]:
                    later[v, k] |= bit(u)
    parent = np.full(n_free, -1)
    cells = np.empty(n_free)
    for i in range(n_free):
        v = order[i]
        soonest = n_free
        for k in range(n_words):
            word = later[v, k]
            while word:
                soonest = min(soonest, place[64 * k + first_bit(word)])
                word &= word - ONE
        cells[v] = _cells(v, later[v], n_words, log_states)
        if soonest < n_free:
            p = int(order[soonest])
            parent[v] = p
            for k in range(n_words):
                later[p, k] |= later[v, k]
            later[p, p >> 6] &= ~bit(p)
    return later, parent, cells


@compiled()
def reorder_subtrees(
    adjacency: Words,
    log_states: Array,
    later: Words,
    parent: Integers,
    cells: Array,
    max_size: int,
    max_work: float,
    seed: np.uint64,
) -> float:
    """Reorder pieces of 2 to ``max_size`` nodes until the work is done; return the work.

    The tree is brought up to date in place. Equal orders are exchanged at random, which lets
    later pieces move where the first could not.
    """
    tree = Tree(later, parent, cells)
    n_nodes, n_free = adjacency.shape[0], parent.shape[0]
    piece = Piece(
        np.empty(n_nodes, np.int64),
        np.full(n_nodes, -1),
        np.zeros(n_nodes),
        np.zeros((1 << max_size, max_size, adjacency.shape[1]), np.uint64),
        np.empty(1 << max_size),
        np.empty(1 << max_size, np.int64),
        np.empty(max_size, np.int64),
    )
    state = np.array([seed])
    work = 0.0
    while work < max_work:
        limit = max_size - int(3.0 * _draw(state))
        root = _dear_node(cells, state)
        size = _grow(piece, tree, root, limit, state)
        work += float(size * n_free + 100)
        n_named = size
        if size > 1:
            n_named = _link(piece, tree, adjacency, log_states, root, size)
            n_words = (n_named + 63) >> 6
            before = 0.0
            for i in range(size):
                before += cells[piece.node[i]]
            n_cliques = _solve(piece, size, n_words, before * (1.0 + 1e-9), state)
            work += float(15 * n_cliques + 2 * (size << size))
            if piece.cost[(1 << size) - 1] <= before:
                _store(piece, tree, size, n_words, parent[root])
        for i in range(n_named):
            piece.name[piece.node[i]] = -1
    return work


@compiled_part()
def _draw(state: Words) -> float:
    """Return a uniform number from shifted words [marsaglia2003]_."""
    x = state[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    state[0] = x
    return float(x >> np.uint64(11)) / 9007199254740992.0


@compiled_part()
def _cells(node: int, row: Words, n_words: int, log_states: Array) -> float:
    """Return the number of cells of a node with these neighbors."""
    total = log_states[node]
    for k in range(n_words):
        word = row[k]
        while word:
            total += log_states[64 * k + first_bit(word)]
            word &= word - ONE
    return math.pow(2.0, min(total, 1000.0))


@compiled_part()
def _dear_node(cells: Array, state: Words) -> int:
    """Return the dearest of 1 to 16 random nodes."""
    best = int(_draw(state) * cells.shape[0])
    for _ in range((1 << int(5.0 * _draw(state))) - 1):
        other = int(_draw(state) * cells.shape[0])
        if cells[other] > cells[best]:
            best = other
    return best


@compiled_part()
def _grow(piece: Piece, tree: Tree, root: int, limit: int, state: Words) -> int:
    """Grow a piece from its root down, to dear children rather than others; return its size."""
    piece.node[0] = root
    piece.name[root] = 0
    size = 1
    while size < limit:
        best, highest = -1, 0.0
        for v in range(tree.parent.shape[0]):
            p = tree.parent[v]
            if p >= 0 and piece.name[p] >= 0 and piece.name[v] < 0:
                appeal = math.log(tree.cells[v]) - 1.5 * math.log(
                    -math.log(_draw(state) + 1e-300)
                )
                if best < 0 or appeal > highest:
                    best, highest = v, appeal
        if best < 0:
            break
        piece.node[size] = best
        piece.name[best] = size
        size += 1
    return size


@compiled_part()
def _link(
    piece: Piece, tree: Tree, adjacency: Words, log_states: Array, root: int, size: int
) -> int:
    """Fill the links of a piece when all below it is gone; return the number of names."""
    n_local = size
    for k in range(adjacency.shape[1]):
        word = tree.later[root, k]
        while word:
            u = 64 * k + first_bit(word)
            word &= word - ONE
            piece.node[n_local] = u
            piece.name[u] = n_local
            n_local += 1
    for i in range(n_local):
        piece.log_states[i] = log_states[piece.node[i]]
    for i in range(size):
        for k in range(adjacency.shape[1]):
            piece.rows[0, i, k] = np.uint64(0)
        _add_links(piece, i, adjacency[piece.node[i]])
    for c in range(tree.parent.shape[0]):
        p = tree.parent[c]
        below = p >= 0 and 0 <= piece.name[p] < size
        if not below or 0 <= piece.name[c] < size:
            continue
        for i in range(size):
            v = piece.node[i]
            if tree.later[c, v >> 6] & bit(v):
                _add_links(piece, i, tree.later[c])
    return n_local


@compiled_part()
def _add_links(piece: Piece, i: int, row: Words) -> None:
    """Link node i of a piece to all nodes of ``row`` that have a name."""
    for k in range(row.shape[0]):
        word = row[k]
        while word:
            u = piece.name[64 * k + first_bit(word)]
            word &= word - ONE
            if u >= 0 and u != i:
                piece.rows[0, i, u >> 6] |= bit(u)


@compiled_part()
def _solve(piece: Piece, size: int, n_words: int, bound: float, state: Words) -> int:
    """Find the cost of the best order of each subset, and the node that comes last in it.

    A subset that costs more than ``bound`` is not followed. Returns the cliques looked at.
    """
    rows, costs = piece.rows, piece.cost
    for s in range(1 << size):
        costs[s] = np.inf if s else 0.0
    n_cliques = 0
    for s in range(1 << size):
        last = first_bit(np.uint64(s)) if s else np.int64(0)
        without = s & (s - 1)
        for i in range(size):
            if (s >> i) & 1:
                continue
            if s:
                joined = rows[without, i, 0] & bit(last)
                for k in range(n_words):
                    rows[s, i, k] = rows[without, i, k]
                    if joined:
                        rows[s, i, k] |= rows[without, last, k]
                rows[s, i, 0] &= ~(bit(last) | bit(i))
            if costs[s] > bound:
                continue
            n_cliques += 1
            cost = costs[s] + _cells(i, rows[s, i], n_words, piece.log_states)
            to = s | (1 << i)
            if cost < costs[to] or (cost == costs[to] and _draw(state) < 0.5):
                costs[to] = cost
                piece.choice[to] = i
    return n_cliques


@compiled_part()
def _store(piece: Piece, tree: Tree, size: int, n_words: int, above: int) -> None:
    """Write the best order of a piece into the tree."""
    done = (1 << size) - 1
    for j in range(size - 1, -1, -1):
        i = piece.choice[done]
        done &= ~(1 << i)
        piece.order[j] = i
        v = piece.node[i]
        tree.cells[v] = _cells(i, piece.rows[done, i], n_words, piece.log_states)
        for k in range(tree.later.shape[1]):
            tree.later[v, k] = np.uint64(0)
        for k in range(n_words):
            word = piece.rows[done, i, k]
            while word:
                u = piece.node[64 * k + first_bit(word)]
                word &= word - ONE
                tree.later[v, u >> 6] |= bit(u)
    for c in range(tree.parent.shape[0]):
        p = tree.parent[c]
        if 0 <= piece.name[c] < size or not (p >= 0 and 0 <= piece.name[p] < size):
            continue
        tree.parent[c] = _first_of(piece, tree.later[c], 0, size, p)
    for j in range(size):
        v = piece.node[piece.order[j]]
        tree.parent[v] = _first_of(piece, tree.later[v], j + 1, size, above)


@compiled_part()
def _first_of(piece: Piece, row: Words, start: int, size: int, otherwise: int) -> int:
    """Return the first node of the piece's order, from ``start`` on, that is in ``row``."""
    for j in range(start, size):
        v = piece.node[piece.order[j]]
        if row[v >> 6] & bit(v):
            return int(v)
    return otherwise
