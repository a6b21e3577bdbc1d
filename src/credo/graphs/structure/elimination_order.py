"""The order in which variables are eliminated, which decides what exact inference costs.

Eliminating a variable multiplies the tables it occurs in into one over its clique, the variable
and its neighbors, and links the neighbors. The sum of the cells of these cliques is what a plan
costs. Finding the best order is NP-hard; here nodes whose elimination links nobody new go
first, which is safe, and the rest is the best of many greedy orders [kjaerulff1990]_, bettered
by putting small pieces of its tree into their best order.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from credo.graphs.structure.order_search import best_order
from credo.graphs.structure.simplicial import eliminate_simplicial

__all__ = ["EliminationOrder", "elimination_cliques", "elimination_order"]


@dataclass(frozen=True, slots=True)
class EliminationOrder:
    """An order of elimination and what it costs.

    Attributes
    ----------
    order
        Every variable once, the first to be eliminated first.
    width
        Number of variables in the largest clique, less one.
    cells
        Sum over all eliminations of the number of cells of the clique.
    maximal_cells
        The same sum over cliques that no other clique contains, as in a junction tree.
    largest
        Number of cells of the largest clique.
    heuristic
        What found the order of the costliest part; ``"simplicial"`` if no choice was needed.
    """

    order: tuple[int, ...]
    width: int
    cells: float
    maximal_cells: float
    largest: float
    heuristic: str


def elimination_order(
    neighbors: Sequence[Collection[int]],
    n_states: Sequence[int],
    last: Collection[int] = (),
    rng: np.random.Generator | None = None,
    effort: float = 1.0,
) -> EliminationOrder:
    """Return an order of elimination with few cells.

    Parameters
    ----------
    neighbors
        Neighbors of variable 0, 1, ...; symmetric.
    n_states
        Number of states of every variable.
    last
        Variables eliminated only after all others: targets, or those maximized over after sums.
    rng
        Source of ties and noise; the same seed gives the same order. Seed 0 by default.
    effort
        Multiplies the time spent on the search, which grows with the cells at stake; 0 tries
        each heuristic once.

    Examples
    --------
    A square needs one link across; the two cliques of three are the best possible.

    >>> found = elimination_order([[1, 3], [0, 2], [1, 3], [0, 2]], [2, 2, 2, 2])
    >>> found.width, found.cells, found.maximal_cells
    (2, 22.0, 16.0)
    """
    rng = np.random.default_rng(0) if rng is None else rng
    graph = [set(around) - {v} for v, around in enumerate(neighbors)]
    late = set(last)
    _check(graph, n_states, late)
    order: list[int] = []
    costliest = (0.0, "simplicial")
    for turn in ([v for v in range(len(graph)) if v not in late], sorted(late)):
        order += eliminate_simplicial(graph, turn, n_states)
        for part in _parts(graph, set(turn).difference(order)):
            found, cells, heuristic = best_order(graph, n_states, part, rng, effort)
            order += found
            costliest = max(costliest, (cells, heuristic))
            _remove(graph, part)
    return _measured(neighbors, n_states, order, costliest[1])


def elimination_cliques(
    neighbors: Sequence[Collection[int]], order: Sequence[int]
) -> list[set[int]]:
    """Return the clique of each elimination, in the order of elimination.

    Examples
    --------
    >>> elimination_cliques([[1], [0, 2], [1]], [1, 0, 2])
    [{0, 1, 2}, {0, 2}, {2}]
    """
    place = {v: i for i, v in enumerate(order)}
    cliques = [{u for u in neighbors[v] if place[u] > i} | {v} for i, v in enumerate(order)]
    for v, clique in zip(order, cliques, strict=True):
        later = clique - {v}
        if later:
            cliques[min(place[u] for u in later)] |= later
    return cliques


def _measured(
    neighbors: Sequence[Collection[int]],
    n_states: Sequence[int],
    order: list[int],
    heuristic: str,
) -> EliminationOrder:
    cliques = elimination_cliques(neighbors, order)
    cells = [_cells(clique, n_states) for clique in cliques]
    place = {v: i for i, v in enumerate(order)}
    inside: set[int] = set()
    for i, (v, clique) in enumerate(zip(order, cliques, strict=True)):
        successor = min((place[u] for u in clique if u != v), default=i)
        if successor > i and len(cliques[successor]) == len(clique) - 1:
            inside.add(successor)
    return EliminationOrder(
        order=tuple(order),
        width=max((len(clique) for clique in cliques), default=0) - 1,
        cells=math.fsum(cells),
        maximal_cells=math.fsum(size for i, size in enumerate(cells) if i not in inside),
        largest=max(cells, default=0.0),
        heuristic=heuristic,
    )


def _cells(clique: Iterable[int], n_states: Sequence[int]) -> float:
    cells = math.prod(int(n_states[v]) for v in clique)
    return float(cells) if cells.bit_length() < 1024 else math.inf


def _parts(graph: Sequence[set[int]], nodes: set[int]) -> list[list[int]]:
    """Return the connected parts of the graph on ``nodes``, each sorted."""
    parts: list[list[int]] = []
    seen: set[int] = set()
    for start in sorted(nodes):
        if start in seen:
            continue
        part = [start]
        seen.add(start)
        for v in part:
            found = [u for u in graph[v] if u in nodes and u not in seen]
            seen.update(found)
            part += found
        parts.append(sorted(part))
    return parts


def _remove(graph: list[set[int]], part: list[int]) -> None:
    """Eliminate a connected part; whoever is left around it becomes a clique."""
    border: set[int] = set().union(*(graph[v] for v in part)).difference(part)
    for u in border:
        graph[u] |= border
        graph[u].difference_update(part, (u,))


def _check(graph: list[set[int]], n_states: Sequence[int], last: set[int]) -> None:
    n = len(graph)
    if len(n_states) != n or any(k < 1 for k in n_states):
        raise ValueError(
            f"n_states must hold one positive number for each of {n} variables; found "
            f"{len(n_states)} numbers, the smallest {min(n_states, default=0)}. "
            "Pass one count per variable."
        )
    named = set().union(last, *graph)
    if named and not (min(named) >= 0 and max(named) < n):
        raise ValueError(
            f"variables must be numbered 0 to {n - 1}; found {min(named)} to {max(named)}. "
            "Number them in the order of neighbors."
        )
    for v, around in enumerate(graph):
        for u in around:
            if v not in graph[u]:
                raise ValueError(
                    f"neighbors must be symmetric; found {u} beside {v}, not {v} beside {u}. "
                    "Name each link at both ends."
                )
