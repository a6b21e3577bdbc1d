"""Paths between groups of nodes, in breadth."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Set
from typing import TypeVar

__all__ = ["closure", "shortest_path", "trace_back"]

Place = TypeVar("Place", bound=Hashable)


def closure(
    neighbors: Callable[[Place], Iterable[Place]], start: Iterable[Place]
) -> set[Place]:
    """Return all places that one or more steps lead to.

    Examples
    --------
    >>> sorted(closure({"a": "b", "b": "c", "c": ""}.__getitem__, "a"))
    ['b', 'c']
    """
    seen: set[Place] = set()
    stack = list(start)
    while stack:
        for place in neighbors(stack.pop()):
            if place not in seen:
                seen.add(place)
                stack.append(place)
    return seen


def shortest_path(
    neighbors: Callable[[Place], Iterable[Place]],
    start: Iterable[Place],
    goal: Set[Place],
    avoid: Set[Place] = frozenset(),
) -> tuple[Place, ...] | None:
    """Return a path with the fewest steps from a place of ``start`` to one of ``goal``.

    Examples
    --------
    >>> graph = {"a": "bc", "b": "ad", "c": "ad", "d": "bc"}
    >>> shortest_path(graph.__getitem__, "a", {"d"}, avoid={"b"})
    ('a', 'c', 'd')
    """
    came_from: dict[Place, Place | None] = dict.fromkeys(p for p in start if p not in avoid)
    queue = deque(came_from)
    while queue:
        here = queue.popleft()
        if here in goal:
            return trace_back(came_from, here)
        for there in neighbors(here):
            if there not in came_from and there not in avoid:
                came_from[there] = here
                queue.append(there)
    return None


def trace_back(came_from: Mapping[Place, Place | None], end: Place) -> tuple[Place, ...]:
    """Return the path that led to ``end``, first place first."""
    path = [end]
    before = came_from[end]
    while before is not None:
        path.append(before)
        before = came_from[before]
    return tuple(reversed(path))
