"""Neighbors on a grid of any number of dimensions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["lattice_edges"]


def lattice_edges(shape: tuple[int, ...], is_periodic: bool = False) -> NDArray[np.intp]:
    """Return pairs of neighbors, each once, shape (n_edges, 2), axis by axis.

    Places are counted as in ``ravel``. On a periodic grid the last place along an axis is a
    neighbor of the first, unless the axis is so short that it already was.

    Examples
    --------
    >>> lattice_edges((2, 2)).tolist()
    [[0, 2], [1, 3], [0, 1], [2, 3]]
    >>> lattice_edges((3,), is_periodic=True).tolist()
    [[0, 1], [1, 2], [2, 0]]
    """
    place = np.arange(int(np.prod(shape)), dtype=np.intp).reshape(shape)
    parts = []
    for axis, length in enumerate(shape):
        along = np.moveaxis(place, axis, 0)
        parts.append((along[:-1], along[1:]))
        if is_periodic and length > 2:
            parts.append((along[-1:], along[:1]))
    pairs = [np.stack([a.ravel(), b.ravel()], axis=1) for a, b in parts]
    return np.concatenate(pairs) if pairs else np.empty((0, 2), dtype=np.intp)
