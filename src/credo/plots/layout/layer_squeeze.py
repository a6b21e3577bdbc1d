"""Positions of the nodes of layers in a given width, such that edges bend little."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import block_array, coo_array, eye_array

from credo.numerics.array import Array
from credo.plots.layout.layers import Layers

__all__ = ["needed_width", "squeezed_positions"]

Pairs = NDArray[np.intp]

# Pieces between two boxes, a box and a bend, two bends: long edges cost most to bend.
COST = (1.0, 2.0, 8.0)
CENTERINGS = 8


def needed_width(layers: Layers, room: Array) -> float:
    """Return the width of the widest layer."""
    return float(max(room[list(row)].sum() for row in layers.rows))


def squeezed_positions(layers: Layers, room: Array, most: float) -> Array:
    """Return centers between 0 and ``most`` that make edges deviate least from the vertical.

    The linear program ``min sum_e cost_e |x[top] - x[bottom]|`` keeps the order in the layers
    and the room of each node [gansner1993]_; then boxes move to the middle of their neighbors
    as far as their layer has place.

    Parameters
    ----------
    room
        Width of each node with the free space it needs, shape (n_nodes,).
    most
        Width of the drawing, at least `needed_width`.
    """
    n = len(room)
    sides = np.array(
        [pair for row in layers.rows for pair in pairwise(row)], dtype=int
    ).reshape(-1, 2)
    ends = np.array([(u, v) for u in range(n) for v in layers.below[u]], dtype=int)
    apart = 0.5 * (room[sides[:, 0]] + room[sides[:, 1]])
    n_bends = (ends >= layers.n_boxes).sum(axis=1)
    cost = np.concatenate([np.zeros(n), np.array(COST)[n_bends]])
    bounds = [*zip(room / 2, most - room / 2, strict=True), *[(0.0, None)] * len(ends)]
    limit = np.concatenate([-apart, np.zeros(2 * len(ends))])
    solved: Any = linprog(cost, _rows(sides, ends, n), limit, bounds=bounds, method="highs")
    return _centered(layers, np.asarray(solved.x[:n]), room, most)


def _rows(sides: Pairs, ends: Pairs, n: int) -> Any:
    """Return ``left - right <= -apart`` and ``|top - bottom| - deviation <= 0`` as a matrix."""
    a, b = len(sides), len(ends)
    left_right = _difference(sides, n)
    top_bottom, deviation = _difference(ends, n), eye_array(b)
    none = coo_array((a, b))
    blocks = [[left_right, none], [top_bottom, -deviation], [-top_bottom, -deviation]]
    return block_array(blocks, format="csr")


def _difference(pairs: Pairs, n: int) -> Any:
    """Return the matrix that takes the second value of each pair from the first one."""
    k = len(pairs)
    sign = np.repeat([1.0, -1.0], k)
    return coo_array((sign, (np.tile(np.arange(k), 2), pairs.T.ravel())), shape=(k, n))


def _centered(layers: Layers, x: Array, room: Array, most: float) -> Array:
    """Return the positions after boxes have moved between their neighbors above and below."""
    x = x.copy()
    for _ in range(CENTERINGS):
        for row in layers.rows:
            for i, node in enumerate(row):
                near = [*layers.above[node], *layers.below[node]]
                if node >= layers.n_boxes or not near:
                    continue
                low = x[row[i - 1]] + room[row[i - 1]] / 2 if i else 0.0
                high = x[row[i + 1]] - room[row[i + 1]] / 2 if i < len(row) - 1 else most
                wish = float(np.mean(x[near]))
                x[node] = min(max(wish, low + room[node] / 2), high - room[node] / 2)
    return x
