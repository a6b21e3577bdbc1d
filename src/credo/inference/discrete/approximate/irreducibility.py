"""Whether single-variable moves connect all possible joint states of a problem."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from credo.inference.discrete.loops.flat_tables import FlatTables, log_densities

__all__ = ["is_connected"]

_MOST_STATES = 1 << 14


def is_connected(net: FlatTables) -> bool | None:
    """Return whether changing one variable at a time can reach every possible joint state.

    If not, a Gibbs chain sees only the part it starts in.

    Returns
    -------
    is_connected
        True without impossible cells. Otherwise found by listing all joint states, and None
        where those are too many.

    Examples
    --------
    >>> from credo.inference.discrete.loops.flat_tables import flat_tables
    >>> is_connected(flat_tables([2, 2], [(0, 1)], [np.eye(2)]))
    False
    """
    if not net.has_zeros:
        return True
    if float(np.log2(net.n_states.astype(float)).sum()) > np.log2(_MOST_STATES):
        return None
    shape = tuple(net.n_states.tolist())
    states = np.indices(shape).reshape(len(shape), -1).T
    possible = states[np.isfinite(log_densities(net, states))]
    return _n_parts(possible, shape) <= 1


def _n_parts(possible: NDArray[np.intp], shape: tuple[int, ...]) -> int:
    """Return the number of connected parts; neighbors agree in all variables but one."""
    links = [_links(possible, shape, i) for i in range(len(shape))]
    start, stop = (np.concatenate(ends) for ends in zip(*links, strict=True))
    n = len(possible)
    graph = sparse.coo_array((np.ones(len(start)), (start, stop)), shape=(n, n))
    return int(csgraph.connected_components(graph, directed=False)[0])


def _links(
    possible: NDArray[np.intp], shape: tuple[int, ...], i: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return chains of joint states that differ in variable ``i`` only."""
    rest = possible.copy()
    rest[:, i] = 0
    key = np.ravel_multi_index(tuple(rest.T), shape)
    order = np.argsort(key, kind="stable")
    is_same = key[order[1:]] == key[order[:-1]]
    return order[:-1][is_same], order[1:][is_same]
