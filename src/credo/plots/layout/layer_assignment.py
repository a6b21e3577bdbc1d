"""Which layer each node of an acyclic graph is drawn in: children below all their parents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array

__all__ = ["layers_of_least_length", "narrowed_layers"]

Parents = Mapping[str, Sequence[str]]


def layers_of_least_length(parents: Parents) -> dict[str, int]:
    """Return the layer of each node that makes the sum of the edges' lengths smallest.

    Layers count from zero at the top, and an edge is one layer long at least. The linear
    program ``min sum (l[child] - l[parent])`` subject to ``l[child] - l[parent] >= 1`` has
    whole numbers at its corners, because its matrix is totally unimodular.

    Examples
    --------
    >>> layers_of_least_length({"a": [], "b": ["a"], "c": ["b"], "d": [], "e": ["c", "d"]})
    {'a': 0, 'b': 1, 'c': 2, 'd': 2, 'e': 3}
    """
    number = {name: i for i, name in enumerate(parents)}
    edges = [(number[p], number[child]) for child in parents for p in parents[child]]
    if not edges:
        return dict.fromkeys(parents, 0)
    top, bottom = np.array(edges).T
    rows = np.arange(len(edges))
    sign = np.repeat([1.0, -1.0], len(edges))
    place = (np.tile(rows, 2), np.concatenate([top, bottom]))
    matrix: Any = coo_array((sign, place), shape=(len(edges), len(number))).tocsr()
    pull = np.bincount(bottom, minlength=len(number)) - np.bincount(top, minlength=len(number))
    solved: Any = linprog(
        pull, matrix, -np.ones(len(edges)), bounds=(0, None), method="highs-ds"
    )
    layer = np.rint(solved.x).astype(int)
    return {name: int(layer[i] - layer.min()) for name, i in number.items()}


def narrowed_layers(
    parents: Parents, layer: Mapping[str, int], width: Mapping[str, float], most: float
) -> dict[str, int]:
    """Return layers of no more than a total width, by moving boxes down where they are wider.

    Parameters
    ----------
    layer
        Layer of each node, above those of its children.
    width
        Width of each node with the gap beside it.
    most
        Largest sum of widths in a layer; a node that is wider stands alone.

    Examples
    --------
    >>> leaves = {"a": [], "b": ["a"], "c": ["a"], "d": ["a"]}
    >>> layer = {"a": 0, "b": 1, "c": 1, "d": 1}
    >>> narrowed_layers(leaves, layer, dict.fromkeys(leaves, 1.0), 2.0)
    {'a': 0, 'b': 1, 'c': 2, 'd': 1}
    """
    moved: dict[str, int] = {}
    load: dict[int, float] = {}
    stagger = _staggered(parents, layer, width, most)
    for name in sorted(parents, key=lambda name: layer[name]):
        least = max([layer[name], *(moved[p] + 1 for p in parents[name])])
        place = least + stagger.get(name, 0)
        while load.get(place, 0.0) > 0 and load[place] + width[name] > most:
            place += 1
        moved[name] = place
        load[place] = load.get(place, 0.0) + width[name]
    return _without_gaps({name: moved[name] for name in parents})


def _staggered(
    parents: Parents, layer: Mapping[str, int], width: Mapping[str, float], most: float
) -> dict[str, int]:
    """Return how far down the childless nodes of layers that are too wide go, in turn.

    Edges to the lower ones then run between the upper ones, as bricks are laid.
    """
    with_children = {parent for child in parents for parent in parents[child]}
    rows: dict[int, list[str]] = {}
    for name in parents:
        rows.setdefault(layer[name], []).append(name)
    stagger: dict[str, int] = {}
    for row in rows.values():
        n_rows = int(np.ceil(sum(width[name] for name in row) / most))
        leaves = [name for name in row if name not in with_children]
        stagger |= {name: i % n_rows for i, name in enumerate(leaves)}
    return stagger


def _without_gaps(layer: dict[str, int]) -> dict[str, int]:
    number = {old: new for new, old in enumerate(sorted(set(layer.values())))}
    return {name: number[old] for name, old in layer.items()}
