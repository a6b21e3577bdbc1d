"""How a node joins its two neighbors on a path of a directed graph, and when it blocks."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from credo.graphs.structure.directed import DirectedGraph
from credo.numerics.quotation import quote

__all__ = ["Connection", "PathBlock", "connection", "path_blocks", "path_text"]


class Connection(StrEnum):
    """One of the three ways in which two arrows meet in a node."""

    CHAIN = "chain"
    """Head-to-tail, ``a -> b -> c``: open until ``b`` is given."""

    COMMON_CAUSE = "common cause"
    """Tail-to-tail, ``a <- b -> c``: open until ``b`` is given."""

    COMMON_EFFECT = "common effect"
    """Head-to-head, ``a -> b <- c``: blocked until ``b`` or a descendant is given."""


@dataclass(frozen=True)
class PathBlock:
    """A node that blocks a path, how its two arrows meet, and why that blocks."""

    node: str
    connection: Connection

    @property
    def reason(self) -> str:
        """Why the node blocks, in words."""
        if self.connection is Connection.COMMON_EFFECT:
            return f"{self.node} is a common effect, and neither it nor a descendant is given"
        place = "in a" if self.connection is Connection.CHAIN else "a"
        return f"{self.node} is {place} {self.connection} and is given"


def connection(graph: DirectedGraph, a: str, b: str, c: str) -> Connection:
    """Return how ``b`` joins its neighbors ``a`` and ``c``.

    Examples
    --------
    >>> graph = DirectedGraph.from_text("burglar, earthquake -> alarm; earthquake -> radio")
    >>> str(connection(graph, "burglar", "alarm", "earthquake"))
    'common effect'
    >>> str(connection(graph, "alarm", "earthquake", "radio"))
    'common cause'
    """
    heads = [_points_at(graph, end, b) for end in (a, c)]
    if all(heads):
        return Connection.COMMON_EFFECT
    return Connection.CHAIN if any(heads) else Connection.COMMON_CAUSE


def path_blocks(
    graph: DirectedGraph, path: tuple[str, ...], given: Collection[str]
) -> tuple[PathBlock, ...]:
    """Return the inner nodes that block a path once ``given`` is known; none if it is open.

    Examples
    --------
    >>> graph = DirectedGraph.from_text("a -> b -> c <- d")
    >>> [block.reason for block in path_blocks(graph, ("a", "b", "c", "d"), ["b"])]
    ['b is in a chain and is given',
     'c is a common effect, and neither it nor a descendant is given']
    """
    known = set(given)
    opened = known.union(graph.ancestors(known)) if known else known
    blocks = []
    for a, b, c in zip(path, path[1:], path[2:], strict=False):
        kind = connection(graph, a, b, c)
        is_blocked = b not in opened if kind is Connection.COMMON_EFFECT else b in known
        if is_blocked:
            blocks.append(PathBlock(b, kind))
    return tuple(blocks)


def path_text(graph: DirectedGraph, path: tuple[str, ...]) -> str:
    """Return a path with its arrows.

    Examples
    --------
    >>> path_text(DirectedGraph.from_text("a -> b <- c"), ("a", "b", "c"))
    'a -> b <- c'
    """
    pieces = list(path[:1])
    for a, b in pairwise(path):
        pieces += ["->" if _points_at(graph, a, b) else "<-", b]
    return " ".join(pieces)


def _points_at(graph: DirectedGraph, a: str, b: str) -> bool:
    """Return whether the edge between two neighbors points at the second."""
    if graph.has_edge(a, b):
        return True
    if graph.has_edge(b, a):
        return False
    raise ValueError(
        f"nodes next to each other on a path must be joined by an edge; found {quote(a)} and "
        f"{quote(b)}. Pass neighbors."
    )
