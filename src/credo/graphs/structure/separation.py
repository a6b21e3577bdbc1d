"""d-separation: which variables a directed graph says are independent, and why.

``X`` and ``Y`` are d-separated by ``Z`` if every path between them is blocked: by a node of
``Z`` where the arrows do not meet head-to-head, or by a head-to-head node that is not in ``Z``
and has no descendant there. Then ``X`` and ``Y`` are independent given ``Z`` in every
distribution that factorizes over the graph [pearl1988]_. A report lists the paths, shortest
first, and where each is blocked or opened.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from heapq import heappop, heappush
from itertools import count, islice, pairwise

from credo.graphs.structure.arrows import Arrows, arrows_of
from credo.graphs.structure.directed import DirectedGraph
from credo.graphs.structure.node_names import Names, disjoint_groups, group
from credo.graphs.structure.path import closure, shortest_path
from credo.numerics.quotation import quote

__all__ = [
    "Connection",
    "ExplainedPath",
    "PathBlock",
    "SeparationReport",
    "connection",
    "d_connected",
    "d_separated",
    "explain_separation",
    "moral_separated",
    "open_path",
    "path_blocks",
    "path_text",
    "simple_paths",
]


Ball = tuple[str, bool]
"""A node, and whether it was reached along an arrow, that is from a parent."""


def d_separated(graph: Arrows, x: Names, y: Names, given: Names = ()) -> bool:
    """Return whether ``x`` and ``y`` are independent once ``given`` is known.

    Examples
    --------
    >>> graph = DirectedGraph.from_text("burglar, earthquake -> alarm -> call")
    >>> d_separated(graph, "burglar", "earthquake")
    True
    >>> d_separated(graph, "burglar", "earthquake", given="call")
    False
    """
    return open_path(graph, x, y, given) is None


def open_path(graph: Arrows, x: Names, y: Names, given: Names = ()) -> tuple[str, ...] | None:
    """Return a shortest path that nothing blocks, or None if ``x`` and ``y`` are separated.

    Notes
    -----
    A ball rolls from ``x`` in breadth [shachter1998]_; whether it may pass a node depends only
    on how it came, so that each node is visited at most twice. A shortest open walk repeats no
    node: where it did, leaving out the loop would leave it open.

    Examples
    --------
    >>> graph = DirectedGraph.from_text("burglar, earthquake -> alarm -> call")
    >>> open_path(graph, "burglar", "earthquake", given="call")
    ('burglar', 'alarm', 'earthquake')
    """
    graph = arrows_of(graph)
    start, goal, known = disjoint_groups(x, y, given, graph)
    ends = {(name, came_down) for name in goal for came_down in (False, True)}
    balls = shortest_path(_roll(graph, known), [(name, False) for name in start], ends)
    return None if balls is None else tuple(name for name, _ in balls)


def d_connected(graph: Arrows, x: Names, given: Names = ()) -> tuple[str, ...]:
    """Return the nodes that ``given`` does not separate from ``x``, without these themselves.

    Examples
    --------
    >>> graph = DirectedGraph.from_text("burglar, earthquake -> alarm; earthquake -> radio")
    >>> d_connected(graph, "burglar"), d_connected(graph, "burglar", given="alarm")
    (('alarm',), ('earthquake', 'radio'))
    """
    graph = arrows_of(graph)
    start, known = group(x, graph), group(given, graph)
    balls = closure(_roll(graph, known), [(name, False) for name in start])
    reached = {name for name, _ in balls}.difference(start, known)
    return tuple(name for name in graph if name in reached)


def moral_separated(graph: Arrows, x: Names, y: Names, given: Names = ()) -> bool:
    """Return the same as `d_separated`, by the moral graph of the nodes asked about.

    The nodes named and their ancestors are kept, parents joined, directions forgotten: what is
    separated there by ``given`` is d-separated [lauritzen1990]_. Shorter to say, slower to run.

    Examples
    --------
    >>> graph = DirectedGraph.from_text("burglar, earthquake -> alarm -> call")
    >>> moral_separated(graph, "burglar", "earthquake", given="call")
    False
    """
    graph = arrows_of(graph)
    asked = [name for part in disjoint_groups(x, y, given, graph) for name in part]
    relevant = graph.subgraph([*asked, *graph.ancestors(asked)])
    return relevant.moral().separated(x, y, given)


def _roll(graph: DirectedGraph, known: tuple[str, ...]) -> Callable[[Ball], Iterable[Ball]]:
    """Return where a ball may go from a node, by how it came there."""
    blocked = frozenset(known)
    opened = blocked.union(graph.ancestors(known))

    def steps(ball: Ball) -> list[Ball]:
        name, came_down = ball
        passes = name not in blocked
        goes_up = name in opened if came_down else passes
        up = [(parent, False) for parent in graph.parents(name)] if goes_up else []
        down = [(child, True) for child in graph.children(name)] if passes else []
        return up + down

    return steps


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


Step = Callable[[str], Iterable[str]]
Candidate = tuple[int, int, tuple[str, ...], int, frozenset[str]]
"""Length, age, path, where it leaves earlier paths, next steps those took there."""


def simple_paths(
    neighbors: Step, start: Collection[str], goal: Collection[str]
) -> Iterator[tuple[str, ...]]:
    """Yield the paths from ``start`` to ``goal`` with no node of either inside.

    Each path found splits the others by the place where they leave it [yen1971]_,
    [lawler1972]_, and the shortest of each part is sought in breadth. The next path costs at
    most one search per node of the last one, however many paths there are.

    Examples
    --------
    >>> square = {"a": "bc", "b": "ad", "c": "ad", "d": "bc"}
    >>> list(simple_paths(square.__getitem__, ["a"], ["d"]))
    [('a', 'b', 'd'), ('a', 'c', 'd')]
    """
    starts, goals = frozenset(start), frozenset(goal)
    ages = count()
    heap: list[Candidate] = []

    def consider(prefix: tuple[str, ...], walls: set[str], taken: frozenset[str]) -> None:
        steps = neighbors(prefix[-1]) if prefix else start
        found = shortest_path(neighbors, [s for s in steps if s not in taken], goals, walls)
        if found is not None:
            path = prefix + found
            heappush(heap, (len(path), next(ages), path, len(prefix), taken))

    consider((), set(), frozenset())
    while heap:
        _, _, path, fork, taken = heappop(heap)
        yield path
        walls = {*starts, *path[:fork]}
        for i in range(fork, len(path)):
            used = taken | {path[i]} if i == fork else frozenset((path[i],))
            consider(path[:i], walls if i else set(used), used)
            walls.add(path[i])


@dataclass(frozen=True)
class ExplainedPath:
    """A path, what blocks it, and what opens its common effects.

    Attributes
    ----------
    nodes
        From one end to the other.
    arrows
        The path with its arrows, as in ``a -> b <- c``.
    blocks
        Nodes that block it; none if it is open.
    openings
        For each common effect that is passed, the given node that opens it.
    """

    nodes: tuple[str, ...]
    arrows: str
    blocks: tuple[PathBlock, ...]
    openings: tuple[tuple[str, str], ...]

    @property
    def is_open(self) -> bool:
        """Whether nothing blocks the path."""
        return not self.blocks

    def __str__(self) -> str:
        if self.blocks:
            return f"{self.arrows}: blocked, {self.blocks[0].reason}"
        return ", ".join([f"{self.arrows}: open", *map(_opening_text, self.openings)])


@dataclass(frozen=True)
class SeparationReport:
    """Whether a graph separates two groups of nodes, with the paths that show it.

    Attributes
    ----------
    x, y, given
        What was asked.
    is_separated
        Whether ``x`` and ``y`` are independent given ``given`` for every choice of tables.
    paths
        The shortest open path if they are not separated; else paths between them, all blocked,
        shortest first.
    has_all_paths
        Whether a separated pair has no other path than those.
    """

    x: tuple[str, ...]
    y: tuple[str, ...]
    given: tuple[str, ...]
    is_separated: bool
    paths: tuple[ExplainedPath, ...]
    has_all_paths: bool

    def __str__(self) -> str:
        verb = "are separated" if self.is_separated else "are not separated"
        ends = f"{', '.join(self.x)} and {', '.join(self.y)} {verb}"
        known = f" given {', '.join(self.given)}" if self.given else ""
        lines = [f"  {path}" for path in self.paths] or ["  no path joins them"]
        if self.is_separated and not self.has_all_paths:
            lines.append("  ... further paths, no shorter, are blocked too")
        return "\n".join([f"{ends}{known}:", *lines])


def explain_separation(
    graph: Arrows, x: Names, y: Names, given: Names = (), max_paths: int = 10
) -> SeparationReport:
    """Return whether ``given`` separates ``x`` from ``y``, and the paths that show why.

    Parameters
    ----------
    max_paths
        How many blocked paths to show, the shortest; there can be exponentially many.

    Examples
    --------
    >>> graph = DirectedGraph.from_text("cloud -> sprinkler, rain; sprinkler, rain -> wet")
    >>> print(explain_separation(graph, "sprinkler", "rain", given="cloud"))
    sprinkler and rain are separated given cloud:
      sprinkler <- cloud -> rain: blocked, cloud is a common cause and is given
      sprinkler -> wet <- rain: blocked, wet is a common effect, and neither it nor a
      descendant is given
    >>> print(explain_separation(graph, "sprinkler", "rain", given=["cloud", "wet"]))
    sprinkler and rain are not separated given cloud, wet:
      sprinkler -> wet <- rain: open, wet is a common effect and is given
    """
    graph = arrows_of(graph)
    start, goal, known = disjoint_groups(x, y, given, graph)
    found = open_path(graph, start, goal, known)
    if found is not None:
        shown = (_explained(graph, found, known),)
        return SeparationReport(start, goal, known, False, shown, False)
    paths = simple_paths(graph.skeleton().neighbors, start, goal)
    blocked = [_explained(graph, path, known) for path in islice(paths, max_paths)]
    has_all = next(paths, None) is None
    return SeparationReport(start, goal, known, True, tuple(blocked), has_all)


def _explained(
    graph: DirectedGraph, path: tuple[str, ...], known: Collection[str]
) -> ExplainedPath:
    blocks = path_blocks(graph, path, known)
    stopped = {block.node for block in blocks}
    openings = [
        (b, _opener(graph, b, known))
        for a, b, c in zip(path, path[1:], path[2:], strict=False)
        if connection(graph, a, b, c) is Connection.COMMON_EFFECT and b not in stopped
    ]
    return ExplainedPath(path, path_text(graph, path), blocks, tuple(openings))


def _opener(graph: DirectedGraph, node: str, known: Collection[str]) -> str:
    """Return the nearest given node that a common effect leads to."""
    way = shortest_path(graph.children, [node], set(known))
    return node if way is None else way[-1]


def _opening_text(opening: tuple[str, str]) -> str:
    node, opener = opening
    if node == opener:
        return f"{node} is a common effect and is given"
    return f"{node} is a common effect whose descendant {opener} is given"
