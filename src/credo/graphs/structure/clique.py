"""Maximal cliques of an undirected graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

__all__ = ["maximal_cliques"]

Branch = tuple[dict[str, None], set[str], list[str]]
"""Nodes that may still enter, nodes tried before, and those to try now."""


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
    joined = {name: dict.fromkeys(others) for name, others in neighbors.items()}
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
        inner = dict.fromkeys(n for n in joined[name] if n in candidates)
        outer = {n for n in joined[name] if n in excluded}
        excluded.add(name)
        if inner:
            members.append(name)
            stack.append(_branch(inner, outer, joined))
        elif not outer:
            yield tuple(sorted((*members, name)))


def _branch(
    candidates: dict[str, None], excluded: set[str], joined: dict[str, dict[str, None]]
) -> Branch:
    """Return a branch with the candidates that are not neighbors of the best pivot."""
    pivot, most = "", -1
    for name in chain(candidates, excluded):
        n_joined = sum(other in candidates for other in joined[name])
        if n_joined > most:
            pivot, most = name, n_joined
        # No pivot can do better than to leave one candidate, so a clique takes one look each.
        if most >= len(candidates) - 1:
            break
    return candidates, excluded, [n for n in candidates if n not in joined[pivot]]
