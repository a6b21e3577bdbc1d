"""Why two groups of nodes are separated or not: paths, and where each is blocked or opened."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import islice

from credo.graphs.structure.arrows import Arrows, arrows_of
from credo.graphs.structure.directed import DirectedGraph
from credo.graphs.structure.node_names import Names, disjoint_groups
from credo.graphs.structure.path import shortest_path
from credo.graphs.structure.path_block import (
    Connection,
    PathBlock,
    connection,
    path_blocks,
    path_text,
)
from credo.graphs.structure.separation import open_path
from credo.graphs.structure.simple_path import simple_paths

__all__ = ["ExplainedPath", "SeparationReport", "explain_separation"]


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
