"""All paths between two groups of nodes that repeat no node, shortest first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from heapq import heappop, heappush
from itertools import count

from credo.graphs.structure.path import shortest_path

__all__ = ["simple_paths"]

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
