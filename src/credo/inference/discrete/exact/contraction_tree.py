"""A binary tree of products of tables, in which every variable is summed out once.

Leaves are the tables of a problem; an inner node multiplies its two children and sums out the
variables that no other live table has. Walked upwards it gives the partition function; walked
downwards as well, by reverse mode, it gives every marginal without a division.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import combinations
from math import log2
from typing import NamedTuple

__all__ = ["ContractionTree", "Leaf", "Node", "contraction_tree"]

MOST_COMPARED = 12
"""Above so many tables in one product, the two smallest are joined without comparing pairs."""

Scope = frozenset[int]


class Leaf(NamedTuple):
    """A table as the tree sees it.

    Attributes
    ----------
    scope
        Variables left after the observed ones are fixed.
    moves
        Whether the table depends on the row of findings.
    child
        Variable over which the table sums to one, if it is a conditional distribution of it.
    """

    scope: Scope
    moves: bool = False
    child: int | None = None


class Node(NamedTuple):
    """A leaf, or the product of one or two nodes with some variables summed out.

    Attributes
    ----------
    left, right
        Numbers of the children; None for a leaf, ``right`` None for a plain sum.
    leaf
        Number of the leaf, or None.
    scope
        Variables that the part of the network above may ask about.
    numeric
        Variables that the value depends on, a part of ``scope``.
    gone
        Variables summed out here.
    moves
        Whether the value depends on the row of findings.
    heads
        Variables whose conditional distributions, and nothing else, are multiplied here; None
        if other tables are. With none left the value is one and is never computed.
    """

    scope: Scope
    numeric: Scope
    moves: bool
    left: int | None = None
    right: int | None = None
    leaf: int | None = None
    gone: Scope = frozenset()
    heads: Scope | None = None

    @property
    def is_one(self) -> bool:
        """Whether the value is one whatever the findings."""
        return self.heads is not None and not self.heads


@dataclass(frozen=True)
class ContractionTree:
    """Nodes in an order in which children precede parents, and the tops of the parts."""

    nodes: tuple[Node, ...]
    roots: tuple[int, ...]


@dataclass
class _Forest:
    """The tables that are still to be multiplied, by the variables they have."""

    log_size: Sequence[float]
    kept: Collection[int]
    nodes: list[Node] = field(default_factory=list)
    alive: dict[int, set[int]] = field(default_factory=dict)
    live: dict[int, None] = field(default_factory=dict)

    def add(self, node: Node) -> int:
        number = len(self.nodes)
        self.nodes.append(node)
        self.live[number] = None
        for variable in node.scope:
            self.alive.setdefault(variable, set()).add(number)
        return number

    def size(self, scope: Scope) -> float:
        return sum(self.log_size[i] for i in scope)

    def join(self, left: int, right: int | None, allowed: Collection[int] | None) -> int:
        """Replace one or two live nodes by their product, private variables summed out."""
        a = self.nodes[left]
        b = self.nodes[right] if right is not None else None
        scope = a.scope | b.scope if b else a.scope
        for number in (left, right):
            if number is not None:
                del self.live[number]
                for variable in self.nodes[number].scope:
                    self.alive[variable].discard(number)
        gone = frozenset(
            i
            for i in scope
            if not self.alive[i] and i not in self.kept and (allowed is None or i in allowed)
        )
        return self.add(_product(a, b, left, right, scope, gone))


def contraction_tree(
    leaves: Sequence[Leaf],
    phases: Sequence[Sequence[int]],
    n_states: Sequence[int],
    kept: Collection[int] = (),
) -> ContractionTree:
    """Return the tree that sums variables out in the order of ``phases``.

    Parameters
    ----------
    phases
        Elimination orders; no variable of a later one is summed out before all of an earlier
        one are. One phase is the rule; a marginal mode needs two.
    kept
        Variables that are never summed out; what is left of them is multiplied at the end.
    """
    forest = _Forest([log2(n) if n > 0 else 0.0 for n in n_states], frozenset(kept))
    for i, leaf in enumerate(leaves):
        heads = None if leaf.child is None else frozenset((leaf.child,))
        forest.add(Node(leaf.scope, leaf.scope, leaf.moves, leaf=i, heads=heads))
    for order in phases:
        allowed = frozenset(order) if len(phases) > 1 else None
        for variable in order:
            _eliminate(forest, variable, allowed)
    if kept:
        _join_all(forest, list(forest.live), None)
    return ContractionTree(tuple(forest.nodes), tuple(forest.live))


def _eliminate(forest: _Forest, variable: int, allowed: Collection[int] | None) -> None:
    bucket = sorted(forest.alive.get(variable, ()))
    if len(bucket) == 1:
        forest.join(bucket[0], None, allowed)
    elif bucket:
        _join_all(forest, bucket, allowed)


def _join_all(forest: _Forest, bucket: list[int], allowed: Collection[int] | None) -> None:
    if len(bucket) == 2:
        forest.join(bucket[0], bucket[1], allowed)
        return
    heap = [(forest.size(forest.nodes[i].scope), i) for i in bucket]
    heapify(heap)
    while len(heap) > MOST_COMPARED:
        (_, left), (_, right) = heappop(heap), heappop(heap)
        joined = forest.join(left, right, allowed)
        heappush(heap, (forest.size(forest.nodes[joined].scope), joined))
    few = sorted(i for _, i in heap)
    while len(few) > 1:
        left, right = _smallest_product(forest, few)
        few = [i for i in few if i not in (left, right)]
        few.append(forest.join(left, right, allowed))


def _smallest_product(forest: _Forest, bucket: list[int]) -> tuple[int, int]:
    nodes = forest.nodes
    return min(
        combinations(bucket, 2),
        key=lambda pair: forest.size(nodes[pair[0]].scope | nodes[pair[1]].scope),
    )


def _product(
    a: Node, b: Node | None, left: int, right: int | None, scope: Scope, gone: Scope
) -> Node:
    heads = a.heads
    if b is not None:
        heads = None if heads is None or b.heads is None else heads | b.heads
    if heads is not None:
        heads = heads - gone if gone <= heads else None
    if heads is not None and not heads:
        return Node(scope - gone, frozenset(), False, left, right, None, gone, heads)
    numeric = (a.numeric | b.numeric if b else a.numeric) - gone
    moves = a.moves or (b.moves if b else False)
    return Node(scope - gone, numeric, moves, left, right, None, gone, heads)
