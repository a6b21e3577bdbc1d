"""Maximum flow and minimum cut of a graph whose nodes may each touch source and sink.

numba loads on the first call, never at import.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.numerics.array import Array

__all__ = ["MinimumCut", "minimum_cut"]

Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class MinimumCut:
    """The cheapest way to part source and sink.

    Attributes
    ----------
    value
        Capacity of the cut, which is the maximum flow; infinity if every cut is infinite.
    is_source_side
        Whether a node stays with the source, shape (n,). Of several minimum cuts this is the
        one with the fewest nodes on the source side.
    """

    value: float
    is_source_side: NDArray[np.bool_]


def minimum_cut(
    source: Array, sink: Array, edges: Index, capacity: Array, back: Array | None = None
) -> MinimumCut:
    """Return the minimum cut, by growing two trees that are kept between paths [boykov2004]_.

    A cut costs ``source[i]`` for each node i on the sink side, ``sink[i]`` for each on the
    source side, and the capacity of each edge that leads from source side to sink side.

    Parameters
    ----------
    source, sink
        Capacities from the source to each node and on to the sink, not negative, shape (n,).
    edges
        Pairs (tail, head), shape (m, 2).
    capacity, back
        Capacity of each edge, and of the way back (zero if None), not negative, shape (m,).
        Infinity is allowed everywhere.

    Examples
    --------
    >>> cut = minimum_cut(np.array([3.0, 0.0]), np.array([0.0, 2.0]),
    ...                   np.array([[0, 1]]), np.array([5.0]))
    >>> cut.value, cut.is_source_side.tolist()
    (2.0, [True, True])
    """
    through = np.minimum(source, sink)
    if np.any(np.isinf(through)):
        return MinimumCut(float("inf"), np.zeros(len(source), dtype=np.bool_))
    residual = _loops().Residual(*_arcs(len(source), edges, capacity, back), source - sink)
    forest = _bare_forest(len(source))
    flow = float(_loops().saturate(residual, forest)) + float(through.sum())
    return MinimumCut(flow, (forest.parent != -1) & ~forest.is_sink)


def _arcs(
    n: int, edges: Index, capacity: Array, back: Array | None
) -> tuple[Index, Index, Index, Array]:
    """Return first arc of each node, and head, sister and capacity of arcs, by tail."""
    m = len(edges)
    tail = np.concatenate([edges[:, 0], edges[:, 1]])
    head = np.concatenate([edges[:, 1], edges[:, 0]])
    both = np.concatenate([capacity, np.zeros(m) if back is None else back])
    order = np.argsort(tail, kind="stable")
    place = np.empty(2 * m, dtype=np.intp)
    place[order] = np.arange(2 * m)
    sister = place[(order + m) % (2 * m)] if m else place
    first = np.concatenate([[0], np.cumsum(np.bincount(tail, minlength=n))]).astype(np.intp)
    return first, head[order].astype(np.intp), sister, both[order]


def _bare_forest(n: int) -> Any:
    return _loops().Forest(
        parent=np.full(n, -1, dtype=np.intp),
        is_sink=np.zeros(n, dtype=np.bool_),
        stamp=np.zeros(n, dtype=np.intp),
        depth=np.zeros(n, dtype=np.intp),
        active=np.empty(n, dtype=np.intp),
        is_active=np.zeros(n, dtype=np.bool_),
        orphans=np.empty(n, dtype=np.intp),
        counter=np.zeros(5, dtype=np.intp),
    )


@cache
def _loops() -> ModuleType:
    return importlib.import_module("credo.numerics.graph._loops_max_flow")
