"""Maximum flow by two search trees, one from the source and one from the sink.

The trees grow until they touch, flow is pushed along the path where they do, and nodes cut off
by a saturated arc look for a new parent; the trees are kept from one path to the next
[boykov2004]_. Time stamps and distances keep paths short. Nodes and arcs are intp, capacities
float64. Arcs of node i are ``first[i]`` to ``first[i + 1] - 1``.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.numerics._loops_compilation import compiled, compiled_part
from credo.numerics.array import Array

__all__ = ["Forest", "Residual", "saturate"]

Index = NDArray[np.intp]
Flags = NDArray[np.bool_]

# Parents that are not arcs.
NONE, TERMINAL, ORPHAN = -1, -2, -3
# Places of the counters.
TIME, ACTIVE_AT, N_ACTIVE, ORPHAN_AT, N_ORPHANS = 0, 1, 2, 3, 4
FAR = 1 << 60


class Residual(NamedTuple):
    """What can still flow: along arcs, from the source (positive) and to the sink (negative).

    ``sister`` is the arc that leads back.
    """

    first: Index
    head: Index
    sister: Index
    capacity: Array
    terminal: Array


class Forest(NamedTuple):
    """The two trees: parent arcs, side, age and depth; rings of active nodes and orphans."""

    parent: Index
    is_sink: Flags
    stamp: Index
    depth: Index
    active: Index
    is_active: Flags
    orphans: Index
    counter: Index


@compiled()
def saturate(g: Residual, t: Forest) -> float:
    """Push flow until source and sink are parted; return how much, infinity if without end.

    Afterwards the source side of a minimum cut is the tree of the source: nodes that have a
    parent and are not of the sink.
    """
    for i in range(g.first.shape[0] - 1):
        if g.terminal[i] != 0.0:
            t.is_sink[i] = g.terminal[i] < 0.0
            t.parent[i] = TERMINAL
            t.depth[i] = 1
            _activate(t, i)
    flow, current = 0.0, -1
    while True:
        node = current
        if node >= 0:
            t.is_active[node] = False
            if t.parent[node] == NONE:
                node = -1
        if node < 0:
            node = _next_active(t)
            if node < 0:
                return flow
        bridge = _grow(g, t, node)
        t.counter[TIME] += 1
        current = -1
        if bridge >= 0:
            t.is_active[node] = True
            current = node
            amount = _augment(g, t, bridge)
            if amount == np.inf:
                return amount
            flow += amount
            while t.counter[N_ORPHANS] > 0:
                _adopt(g, t, _next_orphan(t))


@compiled_part()
def _activate(t: Forest, node: int) -> None:
    if not t.is_active[node]:
        t.is_active[node] = True
        size = t.active.shape[0]
        t.active[(t.counter[ACTIVE_AT] + t.counter[N_ACTIVE]) % size] = node
        t.counter[N_ACTIVE] += 1


@compiled_part()
def _next_active(t: Forest) -> int:
    """Return the first active node that is still in a tree, or -1."""
    while t.counter[N_ACTIVE] > 0:
        node = t.active[t.counter[ACTIVE_AT]]
        t.counter[ACTIVE_AT] = (t.counter[ACTIVE_AT] + 1) % t.active.shape[0]
        t.counter[N_ACTIVE] -= 1
        t.is_active[node] = False
        if t.parent[node] != NONE:
            return int(node)
    return -1


@compiled_part()
def _orphan(t: Forest, node: int, is_first: bool) -> None:
    """Cut a node off its parent and put it first or last in the line of orphans."""
    size = t.orphans.shape[0]
    t.parent[node] = ORPHAN
    if is_first:
        t.counter[ORPHAN_AT] = (t.counter[ORPHAN_AT] - 1) % size
        t.orphans[t.counter[ORPHAN_AT]] = node
    else:
        t.orphans[(t.counter[ORPHAN_AT] + t.counter[N_ORPHANS]) % size] = node
    t.counter[N_ORPHANS] += 1


@compiled_part()
def _next_orphan(t: Forest) -> int:
    node = t.orphans[t.counter[ORPHAN_AT]]
    t.counter[ORPHAN_AT] = (t.counter[ORPHAN_AT] + 1) % t.orphans.shape[0]
    t.counter[N_ORPHANS] -= 1
    return int(node)


@compiled_part()
def _grow(g: Residual, t: Forest, node: int) -> int:
    """Add free neighbors to the tree of a node; return an arc to the other tree, or -1."""
    is_sink = t.is_sink[node]
    for arc in range(g.first[node], g.first[node + 1]):
        outward = g.sister[arc] if is_sink else arc
        if g.capacity[outward] <= 0.0:
            continue
        other = g.head[arc]
        if t.parent[other] == NONE:
            t.is_sink[other] = is_sink
            _hang(g, t, other, g.sister[arc], node)
            _activate(t, other)
        elif t.is_sink[other] != is_sink:
            return int(outward)
        elif t.stamp[other] <= t.stamp[node] and t.depth[other] > t.depth[node]:
            _hang(g, t, other, g.sister[arc], node)
    return -1


@compiled_part()
def _hang(g: Residual, t: Forest, node: int, arc: int, parent: int) -> None:
    t.parent[node] = arc
    t.stamp[node] = t.stamp[parent]
    t.depth[node] = t.depth[parent] + 1


@compiled_part()
def _augment(g: Residual, t: Forest, bridge: int) -> float:
    """Push what fits from source to sink over an arc that joins the trees."""
    tail, head = g.head[g.sister[bridge]], g.head[bridge]
    amount = min(_room(g, t, tail, False), g.capacity[bridge], _room(g, t, head, True))
    if amount < np.inf:
        g.capacity[g.sister[bridge]] += amount
        g.capacity[bridge] -= amount
        _push(g, t, tail, False, amount)
        _push(g, t, head, True, amount)
    return float(amount)


@compiled_part()
def _room(g: Residual, t: Forest, node: int, is_sink: bool) -> float:
    """Return what can flow between a node and the terminal of its tree."""
    room = np.inf
    arc = t.parent[node]
    while arc != TERMINAL:
        room = min(room, g.capacity[arc if is_sink else g.sister[arc]])
        node = g.head[arc]
        arc = t.parent[node]
    return float(min(room, abs(g.terminal[node])))


@compiled_part()
def _push(g: Residual, t: Forest, node: int, is_sink: bool, amount: float) -> None:
    """Let flow pass between a node and its terminal; saturated arcs make orphans."""
    arc = t.parent[node]
    while arc != TERMINAL:
        down = arc if is_sink else g.sister[arc]
        g.capacity[g.sister[down]] += amount
        g.capacity[down] -= amount
        if g.capacity[down] <= 0.0:
            _orphan(t, node, True)
        node = g.head[arc]
        arc = t.parent[node]
    g.terminal[node] += amount if is_sink else -amount
    if g.terminal[node] == 0.0:
        _orphan(t, node, True)


@compiled_part()
def _adopt(g: Residual, t: Forest, node: int) -> None:
    """Find the nearest new parent of an orphan; without one, orphan its children too."""
    is_sink = t.is_sink[node]
    nearest, best = FAR, NONE
    for arc in range(g.first[node], g.first[node + 1]):
        other = g.head[arc]
        inward = arc if is_sink else g.sister[arc]
        if g.capacity[inward] <= 0.0 or t.is_sink[other] != is_sink or t.parent[other] == NONE:
            continue
        depth = _depth(g, t, other)
        if depth < FAR:
            if depth < nearest:
                nearest, best = depth, arc
            while t.stamp[other] != t.counter[TIME]:
                t.stamp[other] = t.counter[TIME]
                t.depth[other] = depth
                depth -= 1
                other = g.head[t.parent[other]]
    t.parent[node] = best
    if best != NONE:
        t.stamp[node] = t.counter[TIME]
        t.depth[node] = nearest + 1
    else:
        _release(g, t, node, is_sink)


@compiled_part()
def _depth(g: Residual, t: Forest, node: int) -> int:
    """Return how far a node is from its terminal, or FAR if an orphan is between."""
    depth = 0
    while True:
        if t.stamp[node] == t.counter[TIME]:
            return depth + int(t.depth[node])
        arc = t.parent[node]
        depth += 1
        if arc == TERMINAL:
            t.stamp[node] = t.counter[TIME]
            t.depth[node] = 1
            return depth
        if arc == ORPHAN:
            return FAR
        node = g.head[arc]


@compiled_part()
def _release(g: Residual, t: Forest, node: int, is_sink: bool) -> None:
    """Wake the neighbors of a node that left its tree, and orphan its children."""
    for arc in range(g.first[node], g.first[node + 1]):
        other = g.head[arc]
        above = t.parent[other]
        if t.is_sink[other] != is_sink or above == NONE:
            continue
        if g.capacity[arc if is_sink else g.sister[arc]] > 0.0:
            _activate(t, other)
        if above >= 0 and g.head[above] == node:
            _orphan(t, other, False)
