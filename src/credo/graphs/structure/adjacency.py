"""Which nodes of a graph are joined: edges, and the parts that edges connect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["Edge", "connected_parts"]

Edge = tuple[str, str]
"""Tail and head of an arrow, or the two ends of an edge without direction."""


def connected_parts(neighbors: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Return the names in groups that no edge joins, each in the order of the mapping.

    Examples
    --------
    >>> connected_parts({"a": ["c"], "b": [], "c": ["a"]})
    [['a', 'c'], ['b']]
    """
    part: dict[str, int] = {}
    for i, start in enumerate(neighbors):
        ahead = [start]
        while ahead:
            name = ahead.pop()
            if name not in part:
                part[name] = i
                ahead.extend(neighbors[name])
    groups: dict[int, list[str]] = {}
    for name in neighbors:
        groups.setdefault(part[name], []).append(name)
    return list(groups.values())
