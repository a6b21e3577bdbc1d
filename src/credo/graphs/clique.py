"""Maximal cliques of an undirected graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

__all__ = ["maximal_cliques"]


def maximal_cliques(neighbors: Mapping[str, Iterable[str]]) -> Iterator[tuple[str, ...]]:
    """Yield every group of nodes that are all joined and that no other node could enter.

    Bron and Kerbosch's search with pivoting [bron1973]_, [tomita2006]_: a clique grows by one
    candidate at a time; a neighbor of the pivot need not be tried, because a maximal clique
    without the pivot contains a node that is not its neighbor.

    Notes
    -----
    At worst ``3^(n / 3)`` cliques, as many as there can be. Memory is a stack as deep as the
    largest clique; there is no recursion.

    Examples
    --------
    >>> sorted(maximal_cliques({"a": "bc", "b": "ac", "c": "abd", "d": "c"}))
    [('a', 'b', 'c'), ('c', 'd')]
    """
    joined = {name: set(others) for name, others in neighbors.items()}
    if not joined:
        return
    members: list[str] = []
    stack = [_branch(dict.fromkeys(joined), set(), joined)]
    while stack:
        candidates, excluded, todo = stack[-1]
        if not todo:
            stack.pop()
            if members:
                members.pop()
            continue
        name = todo.pop()
        del candidates[name]
        inner = dict.fromkeys(n for n in candidates if n in joined[name])
        outer = excluded & joined[name]
        excluded.add(name)
        if inner:
            members.append(name)
            stack.append(_branch(inner, outer, joined))
        elif not outer:
            yield tuple(sorted((*members, name)))


Branch = tuple[dict[str, None], set[str], list[str]]


def _branch(
    candidates: dict[str, None], excluded: set[str], joined: dict[str, set[str]]
) -> Branch:
    """Return a branch with the candidates that are not neighbors of the best pivot."""
    pivot = max((*candidates, *excluded), key=lambda n: len(candidates.keys() & joined[n]))
    return candidates, excluded, [n for n in candidates if n not in joined[pivot]]
