"""Which spins there are, what they are called, and which of them are neighbors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.numerics.array import Array, as_float
from credo.numerics.graph.lattice import lattice_edges
from credo.numerics.quotation import quote

__all__ = [
    "SpinStructure",
    "field_by_name",
    "is_certain",
    "places_of",
    "spread",
    "structure_of",
]


@dataclass(frozen=True, eq=False)
class SpinStructure:
    """Spins of a grid or of a graph.

    Attributes
    ----------
    shape
        Shape of arrays of spins; (n,) for a graph.
    names
        One per spin, in the order of ``ravel``: "2,3" on a grid, the node itself as text in a
        graph.
    edges
        Pairs of places, each pair of neighbors once, shape (n_edges, 2).
    is_grid, is_periodic
        Whether it is a grid, and whether its edges are joined.
    """

    shape: tuple[int, ...]
    names: tuple[str, ...]
    edges: NDArray[np.intp]
    is_grid: bool
    is_periodic: bool


def structure_of(shape_or_edges: Any, periodic: bool) -> SpinStructure:
    """Return the structure of a grid's shape, or of pairs of neighbors."""
    if isinstance(shape_or_edges, Integral):
        return _grid((int(shape_or_edges),), periodic)
    parts = list(getattr(shape_or_edges, "edges", shape_or_edges))
    if parts and all(isinstance(part, Integral) for part in parts):
        return _grid(tuple(int(part) for part in parts), periodic)
    if periodic:
        raise ValueError(
            "periodic must be False for a list of edges; found True. "
            "List the edges that close the ring, or pass the shape of a grid."
        )
    return _graph([tuple(pair) for pair in parts])


def spread(values: ArrayLike, shape: tuple[int, ...], name: str, unit: str) -> Array:
    """Return one finite number per edge or spin."""
    array = as_float(values)
    if array.shape not in ((), shape) or not np.all(np.isfinite(array)):
        raise ValueError(
            f"{name} must be one finite number, or one for each {unit}, shape {shape}; found "
            f"shape {array.shape}{'' if np.all(np.isfinite(array)) else ' with NaN or inf'}. "
            "Order numbers as `edges` and `names` do."
        )
    return np.broadcast_to(array, shape).copy()


def field_by_name(field: Mapping[str, float], structure: SpinStructure) -> Array:
    """Return fields in the shape of the spins, zero where none is named."""
    values = np.zeros(len(structure.names))
    for place, value in _by_place(field, structure, "field").items():
        values[place] = value
    return values.reshape(structure.shape)


def places_of(given: Any, structure: SpinStructure) -> dict[int, int]:
    """Return the values of spins that are given for certain, by place."""
    if not is_certain(given):
        raise ValueError(
            "given must be a dictionary of -1 and 1 by name of spin for annealing; found "
            f"{quote(given)}. Add what is uncertain to the field, or use another method."
        )
    return _by_place(given, structure, "given")


def is_certain(given: Any) -> bool:
    """Return whether findings are a dictionary of values -1 and 1."""
    return isinstance(given, Mapping) and all(
        np.ndim(value) == 0 and value in (-1, 1) for value in given.values()
    )


def _by_place(values: Mapping[str, Any], structure: SpinStructure, what: str) -> dict[int, Any]:
    place = {name: k for k, name in enumerate(structure.names)}
    unknown = [name for name in values if str(name) not in place]
    if unknown:
        raise ValueError(
            f"{what} must name spins of the model; found {quote(unknown[0])}. "
            f"Names are {quote(list(structure.names[:4]))} and so on."
        )
    return {place[str(name)]: value for name, value in values.items()}


def _grid(shape: tuple[int, ...], periodic: bool) -> SpinStructure:
    if min(shape) < 1:
        raise ValueError(
            f"shape must hold positive lengths; found {shape}. Pass (n_rows, n_columns), or a "
            "list of pairs of neighbors."
        )
    names = tuple(",".join(map(str, place)) for place in np.ndindex(*shape))
    return SpinStructure(shape, names, lattice_edges(shape, periodic), True, periodic)


def _graph(pairs: Sequence[tuple[Any, ...]]) -> SpinStructure:
    if not pairs or any(len(pair) != 2 for pair in pairs):
        raise ValueError(
            "edges must be pairs of nodes, at least one; found "
            f"{next((p for p in pairs if len(p) != 2), 'none')}. Pass [(0, 1), (1, 2), ...]."
        )
    seen: set[frozenset[Any]] = set()
    for pair in pairs:
        if pair[0] == pair[1] or frozenset(pair) in seen:
            raise ValueError(
                f"edges must join two different nodes, each pair once; found {pair} "
                f"{'twice' if pair[0] != pair[1] else 'at one node'}. Add up couplings first."
            )
        seen.add(frozenset(pair))
    nodes = _nodes(node for pair in pairs for node in pair)
    place = {node: k for k, node in enumerate(nodes)}
    edges = np.array([[place[a], place[b]] for a, b in pairs], dtype=np.intp)
    return SpinStructure((len(nodes),), _distinct_names(nodes), edges, False, False)


def _distinct_names(nodes: Sequence[Any]) -> tuple[str, ...]:
    """Return the nodes as text, by which spins are asked for."""
    named: dict[str, Any] = {}
    for node in nodes:
        if str(node) in named:
            raise ValueError(
                f"nodes must differ when written as text, for that names the spins; found "
                f"{quote(named[str(node)])} and {quote(node)}. Rename one of them."
            )
        named[str(node)] = node
    return tuple(named)


def _nodes(ends: Iterable[Any]) -> list[Any]:
    """Return all nodes: 0 to the largest if they are integers, else in order of appearance."""
    nodes = list(dict.fromkeys(ends))
    if all(isinstance(node, Integral) and int(node) >= 0 for node in nodes):
        return list(range(max(int(node) for node in nodes) + 1))
    return nodes
