"""Groups of node names as people write them: one name, or several."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from credo.graphs.variable import UnknownVariable, nearest
from credo.numerics.quotation import quote

__all__ = [
    "Names",
    "checked_edges",
    "checked_names",
    "disjoint_groups",
    "group",
    "unknown_node",
]

Names = str | Iterable[str]
"""One name or several."""


def checked_names(what: str, names: Iterable[object]) -> list[str]:
    """Return the names of nodes as a list, or say what is not one.

    Examples
    --------
    >>> checked_names("parents of wet", ("rain", "hose"))
    ['rain', 'hose']
    """
    if isinstance(names, str):
        raise TypeError(
            f"{what} must be a list of names; found the text {quote(names)}. Write "
            f"[{quote(names)}]."
        )
    listed = list(names)
    strange = [name for name in listed if not isinstance(name, str) or not name]
    if strange:
        raise TypeError(
            f"{what} must be names, text that is not empty; found {quote(strange[0])}. "
            "Name nodes by strings, as in {'wet': ['rain']}."
        )
    return [str(name) for name in listed]


def checked_edges(edges: Iterable[Iterable[str]]) -> list[tuple[str, str]]:
    """Return edges as pairs of names, or say what is not one.

    Examples
    --------
    >>> checked_edges([["rain", "wet"]])
    [('rain', 'wet')]
    """
    pairs = []
    for edge in edges:
        pair = tuple(edge)
        if len(pair) != 2:
            raise ValueError(
                f"edges must be pairs of names such as ('rain', 'wet'); found {quote(edge)}. "
                "Write text as one string, 'cloud -> rain -> wet'."
            )
        pairs.append((pair[0], pair[1]))
    return pairs


def group(names: Names, nodes: Collection[str]) -> tuple[str, ...]:
    """Return distinct names as a tuple, or say which is no node.

    Examples
    --------
    >>> group("rain", {"rain", "wet"}), group(["wet", "rain", "wet"], {"rain", "wet"})
    (('rain',), ('wet', 'rain'))
    """
    wanted = tuple(dict.fromkeys((names,) if isinstance(names, str) else names))
    for name in wanted:
        if name not in nodes:
            raise unknown_node(name, nodes)
    return wanted


def unknown_node(name: object, nodes: Collection[str]) -> UnknownVariable:
    """Return the error that names the most similar node."""
    return UnknownVariable(
        f"name must be a node of the graph, one of {_shown(nodes)}; found {name!r}."
        f"{nearest(name, nodes)}"
    )


def disjoint_groups(
    x: Names, y: Names, given: Names, nodes: Collection[str]
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the three groups of a question about separation, which share no node."""
    groups = group(x, nodes), group(y, nodes), group(given, nodes)
    for name, part in zip(("x", "y"), groups, strict=False):
        if not part:
            raise ValueError(
                f"{name} must name at least one node; found none. Say what is separated."
            )
    total = sum(len(part) for part in groups)
    if len(set().union(*groups)) < total:
        raise ValueError(
            f"x, y and given must share no node; found x={quote(list(groups[0]))}, "
            f"y={quote(list(groups[1]))}, given={quote(list(groups[2]))}. Name each node once."
        )
    return groups


def _shown(nodes: Collection[str]) -> str:
    few = list(nodes)[:8]
    return f"{few}" if len(nodes) <= 8 else f"{few} and {len(nodes) - 8} more"
