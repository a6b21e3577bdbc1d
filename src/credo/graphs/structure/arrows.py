"""A directed graph, or anything that has one, such as a Bayesian network."""

from __future__ import annotations

from typing import Protocol

from credo.graphs.structure.directed import DirectedGraph

__all__ = ["Arrows", "HasArrows", "arrows_of"]


class HasArrows(Protocol):
    """Anything with a directed graph."""

    @property
    def graph(self) -> DirectedGraph:
        """The arrows."""
        ...


Arrows = DirectedGraph | HasArrows


def arrows_of(graph: Arrows) -> DirectedGraph:
    """Return a directed graph, that of a network if it is one.

    Examples
    --------
    >>> graph = DirectedGraph.from_text("a -> b")
    >>> arrows_of(graph) is graph
    True
    """
    found = getattr(graph, "graph", graph)
    if isinstance(found, DirectedGraph):
        return found
    raise TypeError(
        "graph must be a DirectedGraph or a Bayesian network; found a "
        f"{type(graph).__name__}. Write for example DirectedGraph.from_text('a -> b')."
    )
